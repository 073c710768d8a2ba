//! What a forked child must not do: write into its parent's memory, keep its parent's locks, or take its parent's handles for its own.
//!
//! A child begins with everything that its parent had mapped and open. So between `fork` and the child's first own
//! instruction, each mapping of shared memory is replaced by private zeroes at the same address, the descriptors that carry locks are
//! closed, and the words that say whether there is something to do are cleared. Whatever the child then does with its parent's handles,
//! it does to memory that nobody else sees; and each handle knows, by [`Process`], that it is not this process' own.
//!
//! The handlers run around `fork` in the thread that calls it. The first one waits for `HELD` to be free, so that the
//! child finds the list whole. (Calling `clone` beside the C library runs no handlers: such a child must call `exec`. Whether its parent
//! lives is seen all the same, see [`process`](crate::process).)

use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::fs::File;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Once};

use rustix::fs::FlockOperation;

use crate::os::extent::Extent;

/// How often this process' line of ancestors has forked since the first handle was made.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// A process, as a handle remembers it that was made there: a forked child is another one than its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process(u32);

impl Process {
    /// This process.
    pub fn this() -> Self {
        prepare();
        Self(GENERATION.load(Ordering::Relaxed))
    }

    /// Whether it is this process, and not one that this was forked from: one relaxed load.
    #[inline(always)]
    pub fn is_this(self) -> bool {
        // Relaxed: it changes in a child that has one thread only, before that thread goes on.
        self.0 == GENERATION.load(Ordering::Relaxed)
    }

    /// Which of the line of ancestors it is.
    pub(crate) fn generation(self) -> u32 {
        self.0
    }
}

/// Something that a child must give up.
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

/// What children give up, by number; numbers that came back are given again.
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

/// Has the handlers run at each `fork` from now on.
fn prepare() {
    static ONCE: Once = Once::new();
    // It fails only where there is no memory; then children that go on without `exec` are not protected.
    // SAFETY: the handlers may run at any time from now on.
    ONCE.call_once(|| _ = unsafe { pthread_atfork(Some(take), Some(give_back), Some(let_go)) });
}

/// Takes part until it is dropped.
#[derive(Debug)]
pub struct Registered(usize);

impl Registered {
    /// Nobody else's as long as this takes part.
    pub(crate) fn number(&self) -> usize {
        self.0
    }
}

/// Has children let go of something.
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

/// A file whose lock is this process' alone: a forked child has it closed from the start. Dropping it unlocks it.
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

    /// Whether it was locked by this process, and not by one that this was forked from.
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
        // In this order. A child that is forked while this is being closed has the descriptor, and could keep a lock by it; and the
        // descriptor's number may be somebody else's as soon as it is closed.
        let _ = rustix::fs::flock(&*self.file, FlockOperation::Unlock);
        self.held = None;
        // SAFETY: it is dropped once, here.
        unsafe { ManuallyDrop::drop(&mut self.file) };
    }
}
