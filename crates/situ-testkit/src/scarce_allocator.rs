//! An allocator that refuses large allocations of a thread, for tests of code that must cope with that.
//!
//! A test program installs it:
//!
//! ```
//! use situ_testkit::scarce_allocator::{ScarceAllocator, with_at_most};
//!
//! #[global_allocator]
//! static ALLOCATOR: ScarceAllocator = ScarceAllocator;
//!
//! let mut bytes = Vec::<u8>::new();
//! assert!(with_at_most(1000, || bytes.try_reserve_exact(1001)).is_err());
//! assert!(with_at_most(1000, || bytes.try_reserve_exact(1000)).is_ok());
//! ```

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr::null_mut;

/// The system's allocator, which refuses what is larger than the limit of the thread.
#[derive(Debug)]
pub struct ScarceAllocator;

thread_local! {
    static LIMIT: Cell<usize> = const { Cell::new(usize::MAX) };
}

// SAFETY: every call is passed to the system's allocator, or answered as if that had no memory; neither
// unwinds.
unsafe impl GlobalAlloc for ScarceAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() > LIMIT.try_with(Cell::get).unwrap_or(usize::MAX) {
            return null_mut();
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Runs `work`. Every allocation of this thread of more than `limit` bytes fails meanwhile.
pub fn with_at_most<T>(limit: usize, work: impl FnOnce() -> T) -> T {
    LIMIT.set(limit);
    let done = work();
    LIMIT.set(usize::MAX);
    done
}
