//! What a forked child must not do: write into its parent's ring, or keep its parent's locks.
//!
//! A child begins with everything that its parent had mapped and open. So between `fork` and the child's first own
//! instruction, each ring is replaced by private zeroes at the same address, the descriptors that carry locks are closed, and the flag that
//! says whether there is a session is cleared. A packet that was open in the thread that forked ends in the private
//! zeroes; the parent's own copy of that thread goes on and ends it in the ring.
//!
//! The handlers run around `fork` in the thread that calls it. The first one waits for [`HELD`] to be free, so that the
//! child finds the list whole. (Whoever calls `clone` beside the C library runs no handlers, and must call `exec`.)

use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use situ_memory::Mapping;

/// Something that a child must give up.
#[derive(Debug)]
pub(crate) enum Hold {
    /// A ring.
    Ring(Arc<Mapping>),
    /// A descriptor that carries a lock.
    Lock(RawFd),
    /// The word that says which session there is.
    Session(Arc<AtomicU32>),
    /// Set in the child.
    Inherited(Arc<AtomicBool>),
}

struct Held {
    is_taken: AtomicBool,
    holds: UnsafeCell<Vec<(u64, Hold)>>,
}

// SAFETY: the vector is only touched by whoever has set `is_taken`.
unsafe impl Sync for Held {}

static HELD: Held = Held { is_taken: AtomicBool::new(false), holds: UnsafeCell::new(Vec::new()) };

unsafe extern "C" {
    fn pthread_atfork(
        prepare: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
    ) -> c_int;
}

extern "C" fn take() {
    while HELD.is_taken.swap(true, Ordering::Acquire) {
        std::thread::yield_now();
    }
}

extern "C" fn give_back() {
    HELD.is_taken.store(false, Ordering::Release);
}

/// Runs in the child: only system calls and plain stores.
extern "C" fn let_go() {
    // SAFETY: `take` ran in this thread before the fork.
    let holds = unsafe { &*HELD.holds.get() };
    for (_, hold) in holds {
        match hold {
            Hold::Ring(mapping) => _ = mapping.detach(),
            // SAFETY: it is open, and whoever has it sees that it is inherited and does not close it again.
            Hold::Lock(descriptor) => unsafe { rustix::io::close(*descriptor) },
            Hold::Session(word) => word.store(0, Ordering::Relaxed),
            Hold::Inherited(flag) => flag.store(true, Ordering::Relaxed),
        }
    }
    give_back();
}

/// Takes part until it is dropped.
#[derive(Debug)]
pub(crate) struct Registered(u64);

/// Has children let go of something.
pub(crate) fn register(hold: Hold) -> Registered {
    static ONCE: Once = Once::new();
    static NUMBER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    // It fails only where there is no memory; then children that go on without `exec` are not protected.
    // SAFETY: the handlers may run at any time from now on.
    ONCE.call_once(|| _ = unsafe { pthread_atfork(Some(take), Some(give_back), Some(let_go)) });
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    take();
    // SAFETY: taken.
    unsafe { (*HELD.holds.get()).push((number, hold)) };
    give_back();
    Registered(number)
}

impl Drop for Registered {
    fn drop(&mut self) {
        take();
        // SAFETY: taken.
        let holds = unsafe { &mut *HELD.holds.get() };
        let at = holds.iter().position(|(number, _)| *number == self.0);
        let hold = at.map(|at| holds.swap_remove(at));
        give_back();
        // It may end a mapping, which takes its time.
        drop(hold);
    }
}
