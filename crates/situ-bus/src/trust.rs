//! Which publishers' messages a subscriber reads in place, and how large they may be.
//!
//! A subscriber checks a message when it takes it, but a process that has the memory mapped writable can
//! change it afterwards. A reference to the message (a `&str`, a `&[T]`, a checked link of a region) is valid
//! only as long as no process that may write to it does so. The kernel decides which processes may write:
//! those of the file's owner, and those that the permission bits admit. A subscriber therefore reads a
//! message in place only if no other user may write to it. It copies every other message to private memory
//! before it checks anything.

use situ_layout::NoMemory;

/// Which publishers' messages a subscriber reads in place. It copies all others to private memory and checks
/// the copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Trust {
    /// Messages in memory that only this process' user and the superuser may write. Files that a group may
    /// write are excluded: any member of the group could change them.
    #[default]
    SameUser,
    /// All messages, whichever user may write to them.
    Everyone,
    /// No messages.
    Nobody,
}

/// How large the messages and pools of publishers may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The maximum size of a message, head and body together, in bytes.
    pub message: u64,
    /// How far into a pool messages may lie, in bytes. The subscriber never maps more of it. A region
    /// reserves 256 MiB there, and uses a part of that.
    pub pool: u64,
}

impl Default for Limits {
    /// 4 GiB for a message, 256 GiB for a pool (the maximum size of a pool).
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
    /// Returns `len` zero bytes.
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
