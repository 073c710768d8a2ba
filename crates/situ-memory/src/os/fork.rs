//! What a forked child must not do: write into its parent's memory, keep its parent's locks, or use its
//! parent's handles as its own.
//!
//! A child begins with everything that its parent had mapped and open. Handlers therefore change three things
//! between `fork` and the child's first own instruction. They replace each mapping of shared memory by
//! private zeroes at the same address. They close the descriptors that carry locks. They clear the words that
//! say whether there is work to do.
//!
//! If the child then uses its parent's handles, it changes only memory that no other process sees. Each
//! handle can tell, by [`Process`], that another process made it.
//!
//! The handlers run around `fork` in the thread that calls it. The first one waits until `HELD` is free, so
//! that the child finds a complete list. Calling `clone` without the C library runs no handlers: such a child
//! must call `exec`. Whether its parent lives is seen nevertheless, see [`process`](crate::process).

use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::fs::File;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Once};

use rustix::fs::FlockOperation;

use crate::os::extent::Extent;

/// How many forks lie between this process and the ancestor that made the first handle.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// Identifies the process that made a handle: a forked child is another process than its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process(u32);

impl Process {
    /// This process.
    pub fn this() -> Self {
        prepare();
        Self(GENERATION.load(Ordering::Relaxed))
    }

    /// Whether it is this process, and not an ancestor that this was forked from: one relaxed load.
    #[inline(always)]
    pub fn is_this(self) -> bool {
        // Relaxed: it changes in a child that has one thread only, before that thread continues.
        self.0 == GENERATION.load(Ordering::Relaxed)
    }

    /// Its number in the line of ancestors.
    pub(crate) fn generation(self) -> u32 {
        self.0
    }
}

/// A resource that a child must give up.
#[derive(Debug)]
pub enum Hold {
    /// A descriptor that carries a lock.
    Lock(RawFd),
    /// A word that is 0 in a child.
    Word(Arc<AtomicU32>),
    /// Shared memory.
    Mapping(Extent),
}

struct Held {
    is_taken: AtomicBool,
    list: UnsafeCell<List>,
}

/// The resources that children give up, by number. Returned numbers are given again.
struct List {
    holds: Vec<Option<Hold>>,
    free: Vec<usize>,
}

// SAFETY: the list is only touched by the thread that has set `is_taken`.
unsafe impl Sync for Held {}

static HELD: Held = Held {
    is_taken: AtomicBool::new(false),
    list: UnsafeCell::new(List { holds: Vec::new(), free: Vec::new() }),
};

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
    GENERATION.fetch_add(1, Ordering::Relaxed);
    // SAFETY: `take` ran in this thread before the fork.
    let list = unsafe { &*HELD.list.get() };
    for hold in list.holds.iter().flatten() {
        match hold {
            Hold::Mapping(extent) => _ = extent.detach(),
            // SAFETY: it is open, and its owner sees that it is inherited and does not close it again.
            Hold::Lock(descriptor) => unsafe { rustix::io::close(*descriptor) },
            Hold::Word(word) => word.store(0, Ordering::Relaxed),
        }
    }
    give_back();
}

/// Makes the handlers run at each `fork` from now on.
fn prepare() {
    static ONCE: Once = Once::new();
    // This fails only where there is no memory; then children that continue without `exec` are not protected.
    // SAFETY: the handlers may run at any time from now on.
    ONCE.call_once(|| _ = unsafe { pthread_atfork(Some(take), Some(give_back), Some(let_go)) });
}

/// An entry in the list of resources, until it is dropped.
#[derive(Debug)]
pub struct Registered(usize);

impl Registered {
    /// A number that no other entry has while this one lives.
    pub(crate) fn number(&self) -> usize {
        self.0
    }
}

/// Makes children give up `hold`.
pub fn register(hold: Hold) -> Registered {
    prepare();
    take();
    // SAFETY: taken.
    let list = unsafe { &mut *HELD.list.get() };
    let number = list.free.pop().unwrap_or(list.holds.len());
    match list.holds.get_mut(number) {
        Some(place) => *place = Some(hold),
        None => list.holds.push(Some(hold)),
    }
    give_back();
    Registered(number)
}

impl Drop for Registered {
    fn drop(&mut self) {
        take();
        // SAFETY: taken.
        let list = unsafe { &mut *HELD.list.get() };
        let hold = list.holds[self.0].take();
        list.free.push(self.0);
        give_back();
        drop(hold);
    }
}

/// A file that this process alone keeps locked: a forked child has it closed from the start. Dropping it
/// unlocks it.
#[derive(Debug)]
pub struct LockedFile {
    file: ManuallyDrop<File>,
    held: Option<Registered>,
    process: Process,
}

impl LockedFile {
    /// A file that was just locked by this descriptor.
    pub fn new(file: File) -> Self {
        let held = Some(register(Hold::Lock(file.as_raw_fd())));
        Self { file: ManuallyDrop::new(file), held, process: Process::this() }
    }

    /// The file. In a forked child its descriptor is closed, and its number may be another file's.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Whether this process locked it, and not an ancestor that this was forked from.
    pub fn is_ours(&self) -> bool {
        self.process.is_this()
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        if !self.process.is_this() {
            self.held = None;
            return;
        }
        // The order matters. A child that is forked while this file is being closed has the descriptor, and
        // could keep the lock by it. And the descriptor's number may be another file's as soon as it is
        // closed.
        let _ = rustix::fs::flock(&*self.file, FlockOperation::Unlock);
        self.held = None;
        // SAFETY: it is dropped once, here.
        unsafe { ManuallyDrop::drop(&mut self.file) };
    }
}
