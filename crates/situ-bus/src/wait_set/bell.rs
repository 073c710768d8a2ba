//! The list of a set's sources that may have become ready, and the word that wakes the thread that waits.
//!
//! Guard conditions, changed timers and the reactor's threads ring. A signal handler may ring as well.
//! Therefore the list is a stack of one compare-and-swap, without lock and without allocation: each source
//! brings its own link.
//!
//! ```text
//!   ringer                                        waiter
//!   1. change the source's state                  1. take the whole list
//!   2. link.queued = true; was it?  yes: done     2. each link: queued = false
//!   3. push the link                              3. check the source's state
//!   4. wake
//! ```
//!
//! All of these accesses are sequentially consistent. If a ringer finds `queued` true in 2, the waiter sets
//! it to false later, and then sees the state of 1.

use std::os::fd::OwnedFd;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Arc, OnceLock};

use situ_memory::fork::Process;

use crate::wake::WakeWord;

/// One source's place in the list.
#[derive(Debug)]
pub(crate) struct Link {
    /// The key of the source in its set.
    pub(crate) key: u64,
    /// The source is reported once even if there is nothing: a take releases a dead publisher's memory.
    pub(crate) once: AtomicBool,
    queued: AtomicBool,
    next: AtomicPtr<Link>,
}

impl Link {
    pub(crate) fn new(key: u64) -> Arc<Self> {
        let (once, queued) = (AtomicBool::new(false), AtomicBool::new(false));
        Arc::new(Self { key, once, queued, next: AtomicPtr::new(null_mut()) })
    }
}

/// What wakes the thread that waits for a set.
#[derive(Debug)]
pub(crate) struct Bell {
    /// The newest link of the list. It owns a count of each `Arc` in the list.
    head: AtomicPtr<Link>,
    /// The thread sleeps on this word.
    word: WakeWord,
    /// Is readable after a ring, once something polls the set.
    fd: OnceLock<OwnedFd>,
    /// Whether the descriptor was made readable.
    rung: AtomicBool,
    process: Process,
}

impl Bell {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            head: AtomicPtr::new(null_mut()),
            word: WakeWord::new(),
            fd: OnceLock::new(),
            rung: AtomicBool::new(false),
            process: Process::this(),
        })
    }

    /// Reports that the link's source may be ready. A signal handler may call it.
    pub(crate) fn ring(&self, link: &Arc<Link>) {
        if link.queued.swap(true, Ordering::SeqCst) {
            return;
        }
        let link = Arc::into_raw(link.clone()).cast_mut();
        let mut head = self.head.load(Ordering::SeqCst);
        loop {
            // SAFETY: the list owns the count that `into_raw` gave it, and no other thread writes `next`
            // while `queued` is set.
            unsafe { (*link).next.store(head, Ordering::Relaxed) };
            match self.head.compare_exchange_weak(head, link, Ordering::SeqCst, Ordering::SeqCst) {
                Ok(_) => break,
                Err(current) => head = current,
            }
        }
        self.wake();
    }

    /// Wakes the waiting thread, and makes the descriptor readable. A signal handler may call it.
    pub(crate) fn wake(&self) {
        self.word.notify();
        let Some(fd) = self.fd.get() else { return };
        // A forked child shares the descriptor with its parent, which it must not wake.
        if self.process.is_this() && !self.rung.swap(true, Ordering::SeqCst) {
            let _ = rustix::io::write(fd, &1u64.to_ne_bytes());
        }
    }

    /// Whether the list is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.head.load(Ordering::SeqCst).is_null()
    }

    /// Takes all links from the list, the oldest first.
    pub(crate) fn drain(&self, mut take: impl FnMut(&Link)) {
        if self.is_empty() {
            return;
        }
        let mut newest = self.head.swap(null_mut(), Ordering::SeqCst);
        let mut oldest: *mut Link = null_mut();
        while !newest.is_null() {
            // SAFETY: this call took the list with its counts, and ringers do not touch links that are
            // queued.
            let next = unsafe { (*newest).next.swap(oldest, Ordering::Relaxed) };
            oldest = newest;
            newest = next;
        }
        while !oldest.is_null() {
            // SAFETY: the count was given to the list by `into_raw`, and is taken back once.
            let link = unsafe { Arc::from_raw(oldest) };
            oldest = link.next.load(Ordering::Relaxed);
            // From here on a ringer may queue it again.
            link.queued.store(false, Ordering::SeqCst);
            take(&link);
        }
    }

    /// The word to sleep on. Announce first, then check, then sleep.
    pub(crate) fn word(&self) -> &WakeWord {
        &self.word
    }

    /// Makes each ring write to this descriptor, and makes it readable now.
    pub(crate) fn write_to(&self, fd: OwnedFd) {
        let _ = self.fd.set(fd);
        self.wake();
    }

    /// Whether rings write to a descriptor.
    pub(crate) fn has_fd(&self) -> bool {
        self.fd.get().is_some()
    }

    /// Makes the descriptor unreadable. Returns whether it was readable: then check again before sleeping.
    pub(crate) fn clear(&self) -> bool {
        let (Some(fd), true) = (self.fd.get(), self.rung.load(Ordering::SeqCst)) else { return false };
        let mut count = [0u8; 8];
        let _ = rustix::io::read(fd, &mut count);
        // After the read: a ringer in between writes nothing, and the check that follows finds its link.
        self.rung.store(false, Ordering::SeqCst);
        true
    }
}

impl Drop for Bell {
    fn drop(&mut self) {
        self.drain(|_| {});
    }
}
