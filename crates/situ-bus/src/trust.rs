//! Which publishers' messages a subscriber reads where they lie, and how much it takes from them.
//!
//! A message was checked when it was taken, but a process that has its memory mapped writable can change it
//! afterwards. A reference to it (a `&str`, a `&[T]`, a checked link of a region) is only as good as the
//! processes that may write to it. The kernel says which these are: the owner of the pool's files and those
//! that their permission bits admit. So a subscriber reads in place what only its own user may write, and
//! copies everything else to private memory before it checks anything.

use situ_layout::NoMemory;

/// Which publishers' messages a subscriber reads where they lie. It copies all others to private memory
/// first, and checks the copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Trust {
    /// Messages in memory that only this process' user, and the superuser, may write. Files that are open to
    /// a group are not: any member of it may write to them.
    #[default]
    SameUser,
    /// All messages, whatever user may write to them.
    Everyone,
    /// None.
    Nobody,
}

/// How much a subscriber takes from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes that a message may have, head and body together.
    pub message: u64,
    /// How far into a pool messages may lie, in bytes. More of it is never mapped. A region takes its room
    /// there, 256 MiB, of which it uses a part.
    pub pool: u64,
}

impl Default for Limits {
    /// 4 GiB a message, 256 GiB a pool (as large as pools get).
    fn default() -> Self {
        Self { message: 4 << 30, pool: 256 << 30 }
    }
}

/// Private memory that begins at a multiple of 64 bytes, as heads and bodies do.
#[derive(Debug, Default)]
pub(crate) struct Private {
    lines: Vec<Line>,
    len: usize,
}

#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Line(#[allow(dead_code, reason = "read as bytes")] [u8; 64]);

impl Private {
    /// Zeroes of this length.
    pub(crate) fn new(len: usize) -> Result<Self, NoMemory> {
        let (mut lines, count) = (Vec::new(), len.div_ceil(64));
        lines.try_reserve_exact(count).map_err(|_| NoMemory { bytes: len })?;
        lines.resize(count, Line([0; 64]));
        Ok(Self { lines, len })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: the lines are `len` bytes or more of plain, initialized memory.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast::<u8>(), self.len) }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`; the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast::<u8>(), self.len) }
    }
}
