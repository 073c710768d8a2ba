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

// SAFETY: it is a range of addresses, and nothing is done to the bytes without saying why.
unsafe impl Send for Extent {}

impl Extent {
    /// Puts private zeroes in the place of the shared bytes. Only a system call, so that it may be called between `fork` and `exec`.
    pub(crate) fn detach(&self) -> io::Result<()> {
        let replace = |protection| {
            let flags = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE;
            // SAFETY: the range is a mapping, which is replaced by one of the same length; what points into it goes on
            // pointing to memory of the same extent. What it holds is no Rust object but memory that others may change at any time.
            unsafe {
                rustix::mm::mmap_anonymous(self.base.as_ptr().cast::<c_void>(), self.len, protection, flags)
            }
        };
        // Where the system counts all memory that could be written, there may be none left for that.
        replace(self.protection).or_else(|_| replace(self.protection & ProtFlags::READ))?;
        Ok(())
    }
}
