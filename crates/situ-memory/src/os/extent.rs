//! The addresses of a mapping, and the replacement of its pages in a forked child.

use std::ffi::c_void;
use std::io;
use std::ptr::NonNull;

use rustix::mm::{MapFlags, ProtFlags};

/// The addresses of a mapping.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    pub(super) base: NonNull<u8>,
    pub(super) len: usize,
    pub(super) protection: ProtFlags,
}

// SAFETY: it is a range of addresses, and each access to the bytes says why it is sound.
unsafe impl Send for Extent {}

impl Extent {
    /// Replaces the shared bytes by private zeroes. Only a system call, so it may be called between `fork`
    /// and `exec`.
    pub(crate) fn detach(&self) -> io::Result<()> {
        let replace = |protection| {
            let flags = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE;
            // SAFETY: the range is a mapping, which is replaced by one of the same length, so pointers into
            // it stay pointers to memory of the same extent. It holds no Rust objects, only memory that
            // others may change at any time.
            unsafe {
                rustix::mm::mmap_anonymous(self.base.as_ptr().cast::<c_void>(), self.len, protection, flags)
            }
        };
        // Where the system accounts for all writable memory (no overcommit), there may be none left.
        replace(self.protection).or_else(|_| replace(self.protection & ProtFlags::READ))?;
        Ok(())
    }
}
