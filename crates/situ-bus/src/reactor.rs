//! Watching topics for those who cannot block: file descriptors for epoll, and wakers for async.
//!
//! One thread per node, started when first needed, sleeps on all watched topics at once (`futex_waitv`). Publishers
//! know nothing of it; they wake it as they wake any sleeper.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use rustix::event::EventfdFlags;

use crate::topic::Topic;
use crate::wait::sleep_on_any;
use crate::wake::{SLICE, WakeWord};

/// A file descriptor that becomes readable when something was published.
#[derive(Debug, Clone)]
pub struct EventFd {
    fd: Arc<OwnedFd>,
    _watch: Arc<Watch>,
}

impl EventFd {
    /// Makes the descriptor unreadable until the next message. Call it before taking, so that nothing is missed.
    pub fn clear(&self) {
        let mut count = [0u8; 8];
        let _ = rustix::io::read(&*self.fd, &mut count);
    }
}

impl AsFd for EventFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// One subscriber's interest in its topic; forgotten when dropped.
#[derive(Debug)]
pub(crate) struct Watch {
    topic: Arc<Topic>,
    state: Mutex<WatchState>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct WatchState {
    /// The first message that was not told of yet.
    next: u64,
    waker: Option<Waker>,
    fd: Option<Arc<OwnedFd>>,
}

impl Watch {
    /// Wakes `waker` when message `next` is published. It may be already: look after this.
    pub(crate) fn wake_at(&self, next: u64, waker: &Waker) {
        let mut state = lock(&self.state);
        state.next = next;
        match &mut state.waker {
            Some(known) => known.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
        drop(state);
        self.shared.kick();
    }

    /// Tells of what was published; whether anybody is interested in what will be.
    fn tell(&self) -> bool {
        let mut state = lock(&self.state);
        if self.topic.is_published(state.next) {
            state.next = self.topic.end();
            if let Some(fd) = &state.fd {
                let _ = rustix::io::write(&**fd, &1u64.to_ne_bytes());
            }
            if let Some(waker) = state.waker.take() {
                let interested = state.fd.is_some();
                // Without the lock: an executor may poll at once, and come back by `wake_at`.
                drop(state);
                waker.wake();
                return interested || lock(&self.state).waker.is_some();
            }
        }
        state.fd.is_some() || state.waker.is_some()
    }
}

#[derive(Debug)]
struct Shared {
    watches: Mutex<Vec<std::sync::Weak<Watch>>>,
    /// Its own word, beside those of the topics: new interests come by it.
    word: WakeWord,
    stop: AtomicBool,
}

impl Shared {
    fn kick(&self) {
        self.word.notify();
    }
}

/// The thread that watches, and what it watches.
#[derive(Debug)]
pub(crate) struct Reactor {
    shared: Arc<Shared>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Reactor {
    /// Starts the thread; an error if the system has none to give.
    pub(crate) fn start() -> io::Result<Self> {
        let shared = Arc::new(Shared {
            watches: Mutex::new(Vec::new()),
            word: WakeWord::new(),
            stop: AtomicBool::new(false),
        });
        let watched = shared.clone();
        let thread =
            std::thread::Builder::new().name("situ-watch".to_owned()).spawn(move || watch(&watched))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Watches a topic from message `next` on.
    pub(crate) fn watch(&self, topic: &Arc<Topic>, next: u64) -> Arc<Watch> {
        let state = Mutex::new(WatchState { next, ..WatchState::default() });
        let watch = Arc::new(Watch { topic: topic.clone(), state, shared: self.shared.clone() });
        lock(&self.shared.watches).push(Arc::downgrade(&watch));
        watch
    }

    /// A descriptor that becomes readable when message `next` or a later one is published.
    pub(crate) fn event_fd(&self, topic: &Arc<Topic>, next: u64) -> io::Result<EventFd> {
        let fd = Arc::new(rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let watch = self.watch(topic, next);
        lock(&watch.state).fd = Some(fd.clone());
        self.shared.kick();
        Ok(EventFd { fd, _watch: watch })
    }
}

impl Drop for Reactor {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        self.shared.kick();
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
        {
            let _ = thread.join();
        }
    }
}

fn watch(shared: &Shared) {
    loop {
        // First announce, then look, then sleep: see `wake`.
        let own = shared.word.announce();
        if shared.stop.load(Ordering::SeqCst) {
            return;
        }
        let watches: Vec<Arc<Watch>> = {
            let mut watches = lock(&shared.watches);
            watches.retain(|watch| watch.strong_count() > 0);
            watches.iter().filter_map(std::sync::Weak::upgrade).collect()
        };
        let mut words = vec![(&shared.word, own)];
        for watch in &watches {
            let word = watch.topic.wake();
            let announced = word.announce();
            if watch.tell() {
                words.push((word, announced));
            }
        }
        sleep_on_any(&words, SLICE);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What the lock guards is consistent at every step, so a panic of a waker elsewhere changes nothing.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
