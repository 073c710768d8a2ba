//! An allocator that counts the calls of each thread, for tests of code that must not allocate.
//!
//! A test program installs it:
//!
//! ```
//! use situ_testkit::allocator::CountingAllocator;
//!
//! #[global_allocator]
//! static ALLOCATOR: CountingAllocator = CountingAllocator;
//! ```

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, which counts the calls of each thread.
#[derive(Debug)]
pub struct CountingAllocator;

/// The calls of the allocator by one thread. Growing counts as a new allocation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// How often it allocated.
    pub allocated: usize,
    /// How many bytes.
    pub bytes: usize,
    /// How often it freed.
    pub freed: usize,
}

impl Calls {
    /// No call at all.
    pub const NONE: Self = Self { allocated: 0, bytes: 0, freed: 0 };
}

thread_local! {
    static CALLS: Cell<Calls> = const { Cell::new(Calls::NONE) };
}

/// Counts, also while a thread ends, when its counters may be gone.
fn count(change: impl FnOnce(&mut Calls)) {
    let _ = CALLS.try_with(|calls| {
        let mut new = calls.get();
        change(&mut new);
        calls.set(new);
    });
}

// SAFETY: the system's allocator does the work; counting neither allocates nor unwinds.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(|calls| {
            calls.allocated += 1;
            calls.bytes += layout.size();
        });
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count(|calls| calls.freed += 1);
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// What `work` returns, and the calls of the allocator that this thread makes meanwhile. The program must
/// have installed the [`CountingAllocator`]: a test should make sure that calls are counted at all.
pub fn counting<T>(work: impl FnOnce() -> T) -> (T, Calls) {
    let before = CALLS.get();
    let result = work();
    let after = CALLS.get();
    let calls = Calls {
        allocated: after.allocated - before.allocated,
        bytes: after.bytes - before.bytes,
        freed: after.freed - before.freed,
    };
    (result, calls)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[global_allocator]
    static ALLOCATOR: CountingAllocator = CountingAllocator;

    #[test]
    fn calls_of_this_thread_are_counted() {
        let ((), calls) = counting(|| {
            drop(std::hint::black_box(vec![1_u8; 64]));
            std::mem::forget(std::hint::black_box(Box::new(7_u64)));
        });
        assert_eq!(calls, Calls { allocated: 2, bytes: 72, freed: 1 });
        assert_eq!(counting(|| std::hint::black_box(7)), (7, Calls::NONE));
    }
}
