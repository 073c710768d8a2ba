//! Survives files that are shortened while they are mapped: a handler of `SIGBUS`, for programs that ask for
//! it.
//!
//! Touching a page of a mapping that its file no longer has raises `SIGBUS`. With the guard
//! [installed](install), the handler looks for the address among this process's mappings of shared memory.
//! From the faulting page on, it replaces that mapping by private zero pages, marks it as damaged, and the
//! access goes on.
//!
//! Code that reads the mapping then reads zeroes. It must cope with that anyway, because other processes may
//! write any bytes there. From then on operations on a damaged mapping are errors
//! ([`MemoryError::Truncated`](crate::MemoryError::Truncated)). Every other `SIGBUS` goes to the former
//! handler.
//!
//! # Concurrency
//!
//! The handler takes no lock and allocates nothing. It makes system calls (`mmap`, `nanosleep`, `sigaction`),
//! and reads a table of mappings whose places are never freed. A mapping enters the table after it is mapped
//! and leaves it before it is unmapped.
//!
//! * A thread that faults in a mapping uses that mapping. The mapping's place was filled before the thread
//!   could learn of the mapping, and is not emptied while the thread faults, so the handler finds it. (Safe
//!   code does not access a mapping that is being unmapped. After the mapping left the table, a fault in it
//!   goes to the former handler.)
//! * Other places may be filled and emptied while the handler reads them. Each has a version, which is odd
//!   while it changes. The handler skips a place whose version is odd, or changed while it was read: such a
//!   place is not the mapping of the fault. It therefore never combines begin and end of different mappings.
//! * Threads that fault in the same mapping agree by `intact`, the address from which on it is replaced. The
//!   thread that lowers it replaces the range between the two values. A thread that faults behind it returns
//!   after a pause, and its access is tried again. It neither does the work twice nor overwrites what was
//!   written to the zero pages since.
//! * If the kernel has no room for another mapping, nothing can be replaced, and the former handler decides.

use std::ffi::{c_int, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering, fence};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The fault is one of an address, and not of broken memory or a signal that a process sent.
const BUS_ADRERR: c_int = 2;

/// A place of the table. All zeroes are an empty one.
#[derive(Debug)]
struct Entry {
    /// Odd while the other fields change.
    version: AtomicUsize,
    begin: AtomicUsize,
    /// A multiple of the page size; 0 for none.
    end: AtomicUsize,
    /// Where the shared bytes end: at `end`, unless the mapping is damaged.
    intact: AtomicUsize,
    protection: AtomicUsize,
}

/// How many places the first chunk has; each further one has twice as many as the one before.
const FIRST: usize = 64;
/// More than mappings can need.
const CHUNKS: usize = 24;

static TABLE: [AtomicPtr<Entry>; CHUNKS] = [const { AtomicPtr::new(null_mut()) }; CHUNKS];
/// How many mappings are damaged.
static DAMAGED: AtomicUsize = AtomicUsize::new(0);
static PAGE: AtomicUsize = AtomicUsize::new(4096);
/// The handler for other faults.
static FORMER: OnceLock<libc::sigaction> = OnceLock::new();

/// Lets this process survive files of shared memory that are shortened while it has them mapped: see the
/// [module](self).
///
/// A library should leave that to its program, because a signal's handler belongs to the whole process.
/// Calling it again does nothing. A handler that the program installs later comes first; it should pass on
/// the faults that are not its own.
pub fn install() -> io::Result<()> {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    if FORMER.get().is_some() {
        return Ok(());
    }
    PAGE.store(rustix::param::page_size(), Ordering::Relaxed);
    let mut former = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: it may be written, and nothing is installed by that.
    if unsafe { libc::sigaction(libc::SIGBUS, std::ptr::null(), former.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it was written.
    FORMER.get_or_init(|| unsafe { former.assume_init() });
    let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = handle;
    // SAFETY: all zeroes are a set of no signals and no flags.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    action.sa_sigaction = handler as libc::sighandler_t;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
    // SAFETY: the set may be written. No other handler runs inside this one: it could fault, too, and wait
    // for it.
    unsafe { libc::sigfillset(&mut action.sa_mask) };
    // SAFETY: the handler does only what may be done in one, see the module.
    if unsafe { libc::sigaction(libc::SIGBUS, &action, null_mut()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Whether any mapping of this process is damaged: one relaxed load. If so, look which one.
#[inline(always)]
pub fn has_damage() -> bool {
    // Relaxed: a thread that met the damage has run the handler, and sees it; another thread sees it a little
    // later.
    DAMAGED.load(Ordering::Relaxed) != 0
}

/// Whether this address lies in a mapping that is damaged somewhere.
pub fn is_damaged_at(address: *const u8) -> bool {
    entries().any(|entry| entry.has(address as usize).is_some_and(|end| entry.is_damaged(end)))
}

impl Entry {
    /// The end of the entry's mapping, if the address lies in it.
    fn has(&self, address: usize) -> Option<usize> {
        let version = self.version.load(Ordering::Acquire);
        let (begin, end) = (self.begin.load(Ordering::Relaxed), self.end.load(Ordering::Relaxed));
        // The loads above come before the one below, so the values belong to one version.
        fence(Ordering::Acquire);
        let is_one = version.is_multiple_of(2) && self.version.load(Ordering::Relaxed) == version;
        (is_one && (begin..end).contains(&address)).then_some(end)
    }

    fn is_damaged(&self, end: usize) -> bool {
        self.intact.load(Ordering::Acquire) < end
    }

    /// Only for the holder of the place: one thread at a time.
    fn set(&self, begin: usize, end: usize, protection: usize) {
        let version = self.version.load(Ordering::Relaxed);
        self.version.store(version.wrapping_add(1), Ordering::Relaxed);
        // A thread that sees one of the values below sees that the version is odd, or a later version.
        fence(Ordering::Release);
        self.begin.store(begin, Ordering::Relaxed);
        self.end.store(end, Ordering::Relaxed);
        self.intact.store(end, Ordering::Relaxed);
        self.protection.store(protection, Ordering::Relaxed);
        self.version.store(version.wrapping_add(2), Ordering::Release);
    }

    /// Replaces everything from the page of an address on by private zeroes. Runs in the handler.
    fn replace(&self, address: usize, end: usize) -> bool {
        let page = address & !(PAGE.load(Ordering::Relaxed) - 1);
        let mut intact = self.intact.load(Ordering::Acquire);
        loop {
            if page >= intact {
                // Another thread replaces it right now, or has done so. Its priority may be lower, so sleep.
                let pause = libc::timespec { tv_sec: 0, tv_nsec: 20_000 };
                // SAFETY: the argument is readable, and nothing is written.
                unsafe { libc::nanosleep(&pause, null_mut()) };
                return true;
            }
            match self.intact.compare_exchange(intact, page, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => break,
                Err(now) => intact = now,
            }
        }
        let is_first = intact == end;
        if is_first {
            // Before any thread can read zeroes.
            DAMAGED.fetch_add(1, Ordering::SeqCst);
        }
        let protection = self.protection.load(Ordering::Relaxed) as c_int;
        let put = |protection| {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
            // SAFETY: the range is the end of a mapping that the faulting thread uses, so it is not unmapped.
            // Pointers into it stay pointers to memory of the same extent. It holds no Rust objects, only
            // bytes that others may change at any time.
            unsafe { libc::mmap(page as *mut c_void, intact - page, protection, flags, -1, 0) }
        };
        // Where the system accounts for all writable memory (no overcommit), there may be none left.
        let done =
            put(protection) != libc::MAP_FAILED || put(protection & libc::PROT_READ) != libc::MAP_FAILED;
        if !done {
            let back = self.intact.compare_exchange(page, intact, Ordering::AcqRel, Ordering::Relaxed);
            if is_first && back.is_ok() {
                DAMAGED.fetch_sub(1, Ordering::SeqCst);
            }
        }
        done
    }
}

/// A mapping's place in the table, until it is dropped.
#[derive(Debug)]
pub(crate) struct Guarded(&'static Entry);

impl Guarded {
    /// Enters a new mapping. No other mapping may have the number until this is dropped. `None` if there is
    /// no memory for a larger table: then the mapping is not guarded.
    pub(crate) fn new(number: usize, begin: usize, len: usize, protection: u32) -> Option<Self> {
        let entry = place(number)?;
        let end = begin.checked_add(len)?.checked_next_multiple_of(rustix::param::page_size())?;
        entry.set(begin, end, protection as usize);
        Some(Self(entry))
    }

    pub(crate) fn is_damaged(&self) -> bool {
        self.0.is_damaged(self.0.end.load(Ordering::Relaxed))
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        if self.is_damaged() {
            DAMAGED.fetch_sub(1, Ordering::SeqCst);
        }
        self.0.set(0, 0, 0);
    }
}

/// Which chunk a number is in, and where in it.
fn locate(number: usize) -> (usize, usize) {
    let chunk = (number / FIRST + 1).ilog2() as usize;
    (chunk, number - FIRST * ((1 << chunk) - 1))
}

/// The place of a number; the table grows if needed.
fn place(number: usize) -> Option<&'static Entry> {
    let (index, within) = locate(number);
    let chunk = TABLE.get(index)?;
    let mut first = chunk.load(Ordering::Acquire);
    if first.is_null() {
        let layout = std::alloc::Layout::array::<Entry>(FIRST << index).ok()?;
        // SAFETY: the layout is not empty.
        let new = unsafe { std::alloc::alloc_zeroed(layout) }.cast::<Entry>();
        if new.is_null() {
            return None;
        }
        // Release: a thread that sees the chunk sees its zeroes.
        first = match chunk.compare_exchange(null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => new,
            Err(there) => {
                // SAFETY: it was just allocated with this layout, and no other thread has seen it.
                unsafe { std::alloc::dealloc(new.cast(), layout) };
                there
            }
        };
    }
    // SAFETY: the chunk has more than `within` places, which live as long as the process; all zeroes are a
    // valid one.
    Some(unsafe { &*first.add(within) })
}

/// All places of the table.
fn entries() -> impl Iterator<Item = &'static Entry> {
    TABLE.iter().enumerate().flat_map(|(index, chunk)| {
        let first = chunk.load(Ordering::Acquire);
        let len = if first.is_null() { 0 } else { FIRST << index };
        // SAFETY: as in `place`.
        (0..len).map(move |within| unsafe { &*first.add(within) })
    })
}

extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: it belongs to this thread.
    let errno = unsafe { &mut *libc::__errno_location() };
    let before = *errno;
    // SAFETY: the kernel gives a handler with `SA_SIGINFO` the details of the signal; a fault has an address.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as usize) };
    let is_ours = || entries().find_map(|entry| Some(entry.replace(address, entry.has(address)?)));
    if code != BUS_ADRERR || is_ours() != Some(true) {
        // SAFETY: these are the kernel's arguments for this signal.
        unsafe { pass_on(signal, info, context) };
    }
    *errno = before;
}

/// Does what the former handler would have done.
///
/// # Safety
///
/// Only in a handler, with the handler's arguments.
unsafe fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel's argument.
    let was_sent = unsafe { (*info).si_code } <= 0;
    let former = FORMER.get();
    let handler = former.map_or(libc::SIG_DFL, |former| former.sa_sigaction);
    let Some(former) = former.filter(|_| handler != libc::SIG_DFL && handler != libc::SIG_IGN) else {
        if was_sent && handler == libc::SIG_IGN {
            return;
        }
        // SAFETY: all zeroes are the default action. A fault recurs when this returns, and ends the process.
        // A signal that a process sent is sent again; it arrives when it is no longer blocked, which is also
        // after this returns.
        unsafe {
            let default: libc::sigaction = MaybeUninit::zeroed().assume_init();
            libc::sigaction(signal, &default, null_mut());
            if was_sent {
                libc::raise(signal);
            }
        }
        return;
    };
    // SAFETY: the third argument of such a handler is a context. The sets may be read and written.
    unsafe {
        let mut mask = (*context.cast::<libc::ucontext_t>()).uc_sigmask;
        for number in (1..=64).filter(|number| libc::sigismember(&former.sa_mask, *number) == 1) {
            libc::sigaddset(&mut mask, number);
        }
        if former.sa_flags & libc::SA_NODEFER == 0 {
            libc::sigaddset(&mut mask, signal);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &mask, null_mut());
    }
    if former.sa_flags & libc::SA_SIGINFO != 0 {
        // SAFETY: it was installed as a handler of three arguments.
        let call: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
            unsafe { std::mem::transmute(handler) };
        call(signal, info, context);
    } else {
        // SAFETY: it was installed as a handler of one argument.
        let call: extern "C" fn(c_int) = unsafe { std::mem::transmute(handler) };
        call(signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_has_a_place_of_its_own() {
        let places: Vec<_> = (0..FIRST * 7 + 3).map(locate).collect();
        let mut expected = (0..).flat_map(|chunk| (0..FIRST << chunk).map(move |within| (chunk, within)));
        assert!(places.iter().all(|place| expected.next() == Some(*place)));
    }
}
