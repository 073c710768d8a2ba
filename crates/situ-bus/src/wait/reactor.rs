//! Watches topics for callers that must not block: file descriptors for epoll, and wakers for async tasks.
//!
//! One thread per node, started with the first use, sleeps on all watched topics at once (`futex_waitv`).
//! Publishers wake it as they wake any sleeper. Once a second it checks whether a participant has died.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use rustix::event::EventfdFlags;

use situ_memory::fork::Process;

use crate::clock::coarse_ns;
use crate::timeouts::REPAIR_INTERVAL_NS;
use crate::topic::Topic;
use crate::wait::readiness::{PendingFence, Readiness, ReadinessTracker};
use crate::wait::sleep_until::{GLANCE, announce, sleep_until_one_ends};
use crate::wake::{SLICE, WakeWord};

/// A file descriptor that becomes readable when there is something to take: see
/// [`RawSubscriber::wait`](crate::RawSubscriber::wait). It also becomes readable when a publisher is gone, so
/// that the next take, which finds no message, releases the publisher's memory.
#[derive(Debug, Clone)]
pub struct EventFd {
    fd: Arc<OwnedFd>,
    _watch: Arc<Watch>,
    process: Process,
}

impl EventFd {
    /// Makes the descriptor unreadable until the next message. Call it before taking, so that no message is
    /// missed. It has no effect in a forked child: the descriptor is its parent's.
    pub fn clear(&self) {
        if !self.process.is_this() {
            return;
        }
        let mut count = [0u8; 8];
        let _ = rustix::io::read(&*self.fd, &mut count);
    }
}

impl AsFd for EventFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// What the thread needs to watch a subscriber.
pub(crate) struct Watched {
    pub(crate) topic: Arc<Topic>,
    /// The subscriber's next message.
    pub(crate) next: u64,
    pub(crate) tracker: ReadinessTracker,
    pub(crate) takes_on_host: bool,
}

/// The watch of one subscriber's topic. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Watch {
    topic: Arc<Topic>,
    takes_on_host: bool,
    state: Mutex<WatchState>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct WatchState {
    /// The first message that was not reported yet.
    next: u64,
    /// Which messages are complete.
    tracker: ReadinessTracker,
    waker: Option<Waker>,
    fd: Option<Arc<OwnedFd>>,
    /// The pools that were present at the last check.
    pools: Vec<u64>,
}

impl Watch {
    /// Wakes `waker` when message `next` can be taken. The message may already be there: check after this
    /// call.
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

    /// Reports messages that can be taken to the subscriber. Returns whether the subscriber waits for more,
    /// and the fence that the next message waits for, if there is one.
    fn tell(&self) -> (bool, Option<PendingFence>) {
        let mut state = lock(&self.state);
        // A message that was ready may be incomplete again: its body was complete, and then a copy was
        // enqueued. A take in between was put off, so the subscriber has to be woken once more. If a take is
        // put off right after this, the next check finds it, at the latest when the sleep times out.
        state.next = state.next.min(state.tracker.take_put_off());
        let (news, awaited) = state.look(&self.topic);
        if news {
            if let Some(fd) = &state.fd {
                let _ = rustix::io::write(&**fd, &1u64.to_ne_bytes());
            }
            if let Some(waker) = state.waker.take() {
                let interested = state.fd.is_some();
                // The lock is not held here: an executor may poll at once, and call `wake_at`.
                drop(state);
                waker.wake();
                return (interested || lock(&self.state).waker.is_some(), awaited);
            }
        }
        (state.fd.is_some() || state.waker.is_some(), awaited)
    }
}

impl Watch {
    /// Repairs the state that dead members left. If a publisher is gone, wakes the subscriber, which may take
    /// only when it is woken: the take releases the publisher's memory.
    fn look_after_the_dead(&self) {
        self.topic.repair_if_free();
        let there: Vec<u64> = self.topic.pools().collect();
        let mut state = lock(&self.state);
        let before = std::mem::replace(&mut state.pools, there);
        if before.iter().all(|pool| state.pools.contains(pool)) && !self.topic.is_removed() {
            return;
        }
        // The take that finds no message then checks at once.
        self.topic.looked_ns.store(0, Ordering::Relaxed);
        if let Some(fd) = &state.fd {
            let _ = rustix::io::write(&**fd, &1u64.to_ne_bytes());
        }
        let waker = state.waker.take();
        // The lock is not held here: an executor may poll at once, and call `wake_at`.
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    }
}

impl WatchState {
    /// Advances to the first message that cannot be taken yet. Returns whether any message before it can be
    /// taken, and the fence that it waits for, if it is published.
    fn look(&mut self, topic: &Topic) -> (bool, Option<PendingFence>) {
        let mut news = false;
        let depth = topic.ring().depth();
        // With corrupt rows, the loop would not end without the limit.
        for _ in 0..2 * depth {
            match self.tracker.look(topic, self.next) {
                (Readiness::Nothing, _) => break,
                (Readiness::Incomplete(awaited), _) => return (news, Some(awaited)),
                (Readiness::Ready | Readiness::Stale | Readiness::TimedOut(_), number) => {
                    news = true;
                    let end = topic.end();
                    self.next = match topic.has_devices() && self.next < end {
                        // Messages further back are overwritten, and were reported by this.
                        true => number.wrapping_add(1).max(end.saturating_sub(depth)),
                        false => end,
                    };
                }
            }
        }
        (news, None)
    }
}

#[derive(Debug)]
struct Shared {
    watches: Mutex<Vec<std::sync::Weak<Watch>>>,
    /// The thread's own word, beside those of the topics: new watches wake the thread by it.
    word: WakeWord,
    stop: AtomicBool,
}

impl Shared {
    fn kick(&self) {
        self.word.notify();
    }
}

/// The thread, and its watches.
#[derive(Debug)]
pub(crate) struct Reactor {
    shared: Arc<Shared>,
    thread: Option<std::thread::JoinHandle<()>>,
    process: Process,
}

impl Reactor {
    /// Starts the thread. An error if the system cannot create one.
    pub(crate) fn start() -> io::Result<Self> {
        let shared = Arc::new(Shared {
            watches: Mutex::new(Vec::new()),
            word: WakeWord::new(),
            stop: AtomicBool::new(false),
        });
        let watched = shared.clone();
        let thread = situ_memory::thread::spawn("situ-watch", move || watch(&watched))?;
        Ok(Self { shared, thread: Some(thread), process: Process::this() })
    }

    /// Watches a subscriber's topic, from the subscriber's next message on.
    pub(crate) fn watch(&self, watched: Watched) -> Arc<Watch> {
        let Watched { topic, next, tracker, takes_on_host } = watched;
        let pools = topic.pools().collect();
        let state = Mutex::new(WatchState { next, tracker, waker: None, fd: None, pools });
        let watch = Arc::new(Watch { topic, takes_on_host, state, shared: self.shared.clone() });
        lock(&self.shared.watches).push(Arc::downgrade(&watch));
        watch
    }

    /// Returns a descriptor that becomes readable when there is something to take.
    pub(crate) fn event_fd(&self, watched: Watched) -> io::Result<EventFd> {
        let fd = Arc::new(rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let watch = self.watch(watched);
        lock(&watch.state).fd = Some(fd.clone());
        self.shared.kick();
        Ok(EventFd { fd, _watch: watch, process: Process::this() })
    }
}

impl Drop for Reactor {
    fn drop(&mut self) {
        if !self.process.is_this() {
            // This process has no such thread.
            std::mem::forget(self.thread.take());
            return;
        }
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
    let mut looked_ns = coarse_ns();
    loop {
        // Announce first, then check, then sleep: see `wake`.
        let own = shared.word.announce();
        if shared.stop.load(Ordering::SeqCst) {
            return;
        }
        let watches: Vec<Arc<Watch>> = {
            let mut watches = lock(&shared.watches);
            watches.retain(|watch| watch.strong_count() > 0);
            watches.iter().filter_map(std::sync::Weak::upgrade).collect()
        };
        let mut words = vec![(shared.word.futex(), own)];
        let mut incomplete = Vec::new();
        for watch in &watches {
            let word = watch.topic.wake();
            let announced = announce(word, watch.takes_on_host);
            let (interested, awaited) = watch.tell();
            if interested {
                words.push((word.futex(), announced));
                incomplete.extend(awaited.map(|awaited| (&watch.topic, awaited)));
            }
        }
        let slice = if incomplete.is_empty() { SLICE } else { GLANCE };
        sleep_until_one_ends(&mut words, &incomplete, slice, false);
        let now = coarse_ns();
        if now.saturating_sub(looked_ns) > REPAIR_INTERVAL_NS {
            looked_ns = now;
            watches.iter().for_each(|watch| watch.look_after_the_dead());
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The guarded data is consistent at every step, so a panic of a waker in another thread changes nothing.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
