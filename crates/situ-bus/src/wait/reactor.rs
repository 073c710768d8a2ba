//! Watches topics for callers that must not block: file descriptors for epoll, wakers for async tasks, and
//! wait sets.
//!
//! The threads of a node, started with the first use, sleep on all watched topics (`futex_waitv`). Publishers
//! wake them as they wake any sleeper. Once a second they check whether a participant has died.
//!
//! The kernel waits for at most 128 words in one call, so each thread watches at most [`SHARE`] topics, and a
//! node with 10,000 watched topics has 84 threads. A message wakes the thread of its topic only. That thread
//! looks at the topics whose word has changed, and so its work does not depend on the number of all topics.
//!
//! A kernel without `futex_waitv` waits for one word at a time. There each thread watches one topic.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Waker;
use std::time::Duration;

use rustix::event::EventfdFlags;

use situ_memory::fork::Process;

use crate::clock::{coarse_ns, now_ns};
use crate::node::living::Living;
use crate::timeouts::REPAIR_INTERVAL_NS;
use crate::topic::Topic;
use crate::wait::readiness::{PendingFence, Readiness, ReadinessTracker};
use crate::wait::sleep::{sleep_on_group, waits_for_several};
use crate::wait::sleep_until::{GLANCE, sleep_until_one_ends, slice_for};
use crate::wait_set::bell::{Bell, Link};
use crate::wake::{SLICE, Wake, WakeWord};

/// How many topics one thread watches. Its own word is added to theirs, and the fences of some messages that
/// are not complete.
const SHARE: usize = 120;

/// The sleep of a thread without topics.
const LONG: Duration = Duration::from_secs(3600);

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

impl EventFd {
    /// The watch behind it.
    pub(crate) fn watch(&self) -> Weak<Watch> {
        Arc::downgrade(&self._watch)
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
    /// Which nodes are alive.
    pub(crate) living: Arc<Living>,
}

/// The watch of one subscriber's topic. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Watch {
    watched: Arc<WatchedTopic>,
    shared: Arc<Shared>,
}

/// A watched topic, which its thread keeps until the watch has ended.
#[derive(Debug)]
struct WatchedTopic {
    topic: Arc<Topic>,
    living: Arc<Living>,
    takes_on_host: bool,
    state: Mutex<WatchState>,
    /// When to report without a message, by `now_ns`; `u64::MAX`: not at all.
    alarm_ns: AtomicU64,
    has_ended: AtomicBool,
}

#[derive(Debug)]
struct WatchState {
    /// The first message that was not reported yet.
    next: u64,
    /// Which messages are complete.
    tracker: ReadinessTracker,
    waker: Option<Waker>,
    fd: Option<Arc<OwnedFd>>,
    bell: Option<(Arc<Bell>, Arc<Link>)>,
    /// The pools that were present at the last check.
    pools: PresentPools,
}

/// The pools of a topic that were present when it was last checked.
#[derive(Debug)]
pub(crate) struct PresentPools(Vec<u64>);

impl PresentPools {
    pub(crate) fn of(topic: &Topic) -> Self {
        Self(topic.pools().collect())
    }

    /// Repairs the state that dead members left. Returns whether a publisher is gone, or the topic: then the
    /// subscriber should take, because that releases the publisher's memory.
    ///
    /// With `for_removal`, it also checks whether the topic was removed, which takes system calls.
    pub(crate) fn look(&mut self, topic: &Topic, living: &Living, for_removal: bool) -> bool {
        if topic.may_need_repair(|node| living.is_alive(&topic.root, node)) {
            topic.repair_if_free();
        } else if for_removal {
            topic.look_for_removal();
        }
        let is_gone = self.0.iter().any(|pool| !topic.pools().any(|other| other == *pool));
        self.0.clear();
        self.0.extend(topic.pools());
        if is_gone || topic.is_removed() {
            // The take that finds no message then checks at once.
            topic.looked_ns.store(0, Ordering::Relaxed);
            return true;
        }
        false
    }
}

/// Which of many topics are checked for their removal. A check takes system calls, and a removal is rare: so
/// of many topics, some are checked each second, in turn.
#[derive(Debug, Default)]
pub(crate) struct Removals {
    next: usize,
}

impl Removals {
    /// How many topics are checked at a time.
    const SHARE: usize = 16;

    /// The next ones of this many topics.
    pub(crate) fn next(&mut self, topics: usize) -> Range<usize> {
        let first = if self.next < topics { self.next } else { 0 };
        self.next = first.saturating_add(Self::SHARE);
        first..self.next
    }
}

impl Watch {
    /// Wakes `waker` when message `next` can be taken. The message may already be there: check after this
    /// call.
    pub(crate) fn wake_at(&self, next: u64, waker: &Waker) {
        let mut state = lock(&self.watched.state);
        state.next = next;
        match &mut state.waker {
            Some(known) => known.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
        drop(state);
        self.shared.kick();
    }

    /// Reports to the subscriber at this time, by `now_ns`, even if there is no message: once, and instead of
    /// an earlier or later time that was set before.
    pub(crate) fn alarm_at(&self, time_ns: u64) {
        self.watched.alarm_ns.store(time_ns, Ordering::SeqCst);
        self.shared.kick();
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.watched.has_ended.store(true, Ordering::SeqCst);
        // The thread drops the topic when it looks next, at the latest when its sleep times out.
        self.shared.count.fetch_sub(1, Ordering::SeqCst);
    }
}

impl WatchState {
    /// Whether anything waits for messages.
    fn is_interested(&self) -> bool {
        self.fd.is_some() || self.waker.is_some() || self.bell.is_some()
    }

    /// Wakes all that wait, except the waker.
    fn ring(&self) {
        if let Some(fd) = &self.fd {
            let _ = rustix::io::write(&**fd, &1u64.to_ne_bytes());
        }
        if let Some((bell, link)) = &self.bell {
            bell.ring(link);
        }
    }
}

impl WatchedTopic {
    fn wake(&self) -> Wake<'_> {
        self.topic.wakes().of(self.takes_on_host)
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
            state.ring();
            if let Some(waker) = state.waker.take() {
                let interested = state.is_interested();
                // The lock is not held here: an executor may poll at once, and call `wake_at`.
                drop(state);
                waker.wake();
                return (interested || lock(&self.state).waker.is_some(), awaited);
            }
        }
        (state.is_interested(), awaited)
    }

    /// Repairs the state that dead members left. If a publisher is gone, wakes the subscriber, which may take
    /// only when it is woken: the take releases the publisher's memory.
    fn look_after_the_dead(&self, for_removal: bool) {
        let mut state = lock(&self.state);
        if !state.pools.look(&self.topic, &self.living, for_removal) {
            return;
        }
        drop(state);
        self.report();
    }

    /// Reports to the subscriber although there is no message.
    fn report(&self) {
        let mut state = lock(&self.state);
        if let Some((_, link)) = &state.bell {
            link.once.store(true, Ordering::SeqCst);
        }
        state.ring();
        let waker = state.waker.take();
        // The lock is not held here: an executor may poll at once, and call `wake_at`.
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    }

    /// Reports to the subscriber if the time of its alarm has come. Returns the time of the next one.
    fn alarm(&self, now: u64) -> u64 {
        let time_ns = self.alarm_ns.load(Ordering::SeqCst);
        if time_ns > now {
            return time_ns;
        }
        // Another time may have been set in between: then it stays.
        let _ = self.alarm_ns.compare_exchange(time_ns, u64::MAX, Ordering::SeqCst, Ordering::SeqCst);
        self.report();
        self.alarm_ns.load(Ordering::SeqCst)
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

/// What a thread and its watches share.
#[derive(Debug)]
struct Shared {
    /// Watches that the thread has not seen yet.
    added: Mutex<Vec<Arc<WatchedTopic>>>,
    /// The number of watches that have not ended.
    count: AtomicUsize,
    /// The thread's own word, beside those of the topics: new watches wake the thread by it.
    word: WakeWord,
    stop: AtomicBool,
}

impl Shared {
    fn kick(&self) {
        self.word.notify();
    }
}

/// The threads, and their watches.
#[derive(Debug)]
pub(crate) struct Reactor {
    threads: Mutex<Vec<WatchThread>>,
    process: Process,
}

#[derive(Debug)]
struct WatchThread {
    shared: Arc<Shared>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl WatchThread {
    fn start() -> io::Result<Self> {
        let shared = Arc::new(Shared {
            added: Mutex::new(Vec::new()),
            count: AtomicUsize::new(0),
            word: WakeWord::new(),
            stop: AtomicBool::new(false),
        });
        let watched = shared.clone();
        let thread = situ_memory::thread::spawn("situ-watch", move || watch(&watched))?;
        Ok(Self { shared, thread: Some(thread) })
    }
}

impl Reactor {
    pub(crate) fn new() -> Self {
        Self { threads: Mutex::new(Vec::new()), process: Process::this() }
    }

    /// Watches a subscriber's topic, from the subscriber's next message on. An error if the system cannot
    /// create a thread.
    pub(crate) fn watch(&self, watched: Watched) -> io::Result<Arc<Watch>> {
        self.watch_for(watched, None, None)
    }

    /// Returns a descriptor that becomes readable when there is something to take.
    pub(crate) fn event_fd(&self, watched: Watched) -> io::Result<EventFd> {
        let fd = Arc::new(rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let watch = self.watch_for(watched, Some(fd.clone()), None)?;
        Ok(EventFd { fd, _watch: watch, process: Process::this() })
    }

    /// Rings a wait set's bell when there is something to take.
    pub(crate) fn ring_at(
        &self,
        watched: Watched,
        bell: &Arc<Bell>,
        link: &Arc<Link>,
    ) -> io::Result<Arc<Watch>> {
        self.watch_for(watched, None, Some((bell.clone(), link.clone())))
    }

    fn watch_for(
        &self,
        watched: Watched,
        fd: Option<Arc<OwnedFd>>,
        bell: Option<(Arc<Bell>, Arc<Link>)>,
    ) -> io::Result<Arc<Watch>> {
        let Watched { topic, next, tracker, takes_on_host, living } = watched;
        let pools = PresentPools::of(&topic);
        let state = Mutex::new(WatchState { next, tracker, waker: None, fd, bell, pools });
        let (alarm_ns, has_ended) = (AtomicU64::new(u64::MAX), AtomicBool::new(false));
        let watched = Arc::new(WatchedTopic { topic, living, takes_on_host, state, alarm_ns, has_ended });
        let most = if waits_for_several() { SHARE } else { 1 };
        let mut threads = lock(&self.threads);
        // The newest thread has room most often.
        let has_room = |thread: &&WatchThread| thread.shared.count.load(Ordering::SeqCst) < most;
        let shared = match threads.iter().rev().find(has_room) {
            Some(thread) => thread.shared.clone(),
            None => {
                let thread = WatchThread::start()?;
                let shared = thread.shared.clone();
                threads.push(thread);
                shared
            }
        };
        shared.count.fetch_add(1, Ordering::SeqCst);
        drop(threads);
        lock(&shared.added).push(watched.clone());
        shared.kick();
        Ok(Arc::new(Watch { watched, shared }))
    }
}

impl Drop for Reactor {
    fn drop(&mut self) {
        let threads = std::mem::take(self.threads.get_mut().unwrap_or_else(PoisonError::into_inner));
        if !self.process.is_this() {
            // This process has no such threads.
            std::mem::forget(threads);
            return;
        }
        for thread in &threads {
            thread.shared.stop.store(true, Ordering::SeqCst);
            thread.shared.kick();
        }
        for thread in threads.into_iter().filter_map(|thread| thread.thread) {
            if thread.thread().id() != std::thread::current().id() {
                let _ = thread.join();
            }
        }
    }
}

/// A topic, as its thread sees it.
struct Looked {
    watched: Arc<WatchedTopic>,
    /// The value of its word when the thread looked at it last.
    announced: u32,
    is_interested: bool,
    /// The fence that its next message waits for.
    awaited: Option<PendingFence>,
}

impl Looked {
    fn new(watched: Arc<WatchedTopic>) -> Self {
        Self { watched, announced: 0, is_interested: false, awaited: None }
    }
}

fn watch(shared: &Shared) {
    let mut topics: Vec<Looked> = Vec::new();
    let mut words: Vec<(usize, u32)> = Vec::new();
    let (mut repaired_ns, mut looked_ns, mut seen) = (coarse_ns(), 0, u32::MAX);
    let mut removals = Removals::default();
    loop {
        // Announce first, then check, then sleep: see `wake`.
        let own = shared.word.announce();
        if shared.stop.load(Ordering::SeqCst) {
            return;
        }
        topics.extend(lock(&shared.added).drain(..).map(Looked::new));
        topics.retain(|topic| !topic.watched.has_ended.load(Ordering::SeqCst));
        let now = coarse_ns();
        // After a call for this thread, or a time without any, all topics are looked at.
        let slice = slice_for(topics.iter().map(|topic| &topic.watched.topic));
        let all = own != seen || now.saturating_sub(looked_ns) >= slice.as_nanos() as u64;
        if all {
            looked_ns = now;
        }
        seen = own;
        words.clear();
        words.push((std::ptr::from_ref(shared.word.futex()).addr(), own));
        let mut is_complete = true;
        for topic in &mut topics {
            let Looked { watched, announced, is_interested, awaited } = topic;
            let wake = watched.wake();
            // A publisher that has published since the last look has changed the word, because it was armed.
            let is_same = wake.futex().load(Ordering::SeqCst) == *announced;
            // A message of a device may be incomplete again without a change.
            let is_still = *is_interested && is_same && awaited.is_none() && !watched.topic.has_devices();
            if all || !is_still {
                *announced = wake.announce();
                (*is_interested, *awaited) = watched.tell();
            }
            if *is_interested {
                words.push((std::ptr::from_ref(wake.futex()).addr(), *announced));
                is_complete &= awaited.is_none();
            }
        }
        let slice = slice.min(until_next_alarm(&topics));
        if is_complete {
            sleep(shared, &topics, &words, slice);
        } else {
            sleep_with_fences(shared, own, &topics, slice);
        }
        let now = coarse_ns();
        if now.saturating_sub(repaired_ns) > REPAIR_INTERVAL_NS {
            repaired_ns = now;
            let removals = removals.next(topics.len());
            for (index, topic) in topics.iter().enumerate() {
                topic.watched.look_after_the_dead(removals.contains(&index));
            }
        }
    }
}

/// Reports the alarms whose time has come. Returns the time until the next one.
fn until_next_alarm(topics: &[Looked]) -> Duration {
    let alarms = || topics.iter().map(|topic| &topic.watched);
    if alarms().all(|watched| watched.alarm_ns.load(Ordering::SeqCst) == u64::MAX) {
        return Duration::MAX;
    }
    let now = now_ns();
    let next = alarms().map(|watched| watched.alarm(now)).min().unwrap_or(u64::MAX);
    Duration::from_nanos(next.saturating_sub(now))
}

/// Sleeps on the thread's own word, which comes first, and on those of its topics.
fn sleep(shared: &Shared, topics: &[Looked], words: &[(usize, u32)], slice: Duration) {
    if topics.is_empty() {
        // Only calls for this thread wake it, and they are not lost.
        shared.word.sleep(words[0].1, LONG);
        return;
    }
    if waits_for_several() {
        sleep_on_group(words.iter().copied(), Some(slice));
        return;
    }
    // There is one topic at most. Without the thread's own word, it notices the end of its watch later.
    match topics.iter().find(|topic| topic.is_interested) {
        Some(topic) => topic.watched.wake().sleep(topic.announced, slice.min(SLICE)),
        None => shared.word.sleep(words[0].1, slice.min(SLICE)),
    }
}

/// Sleeps on words and fences.
fn sleep_with_fences(shared: &Shared, own: u32, topics: &[Looked], slice: Duration) {
    let mut words = vec![(shared.word.futex(), own)];
    let mut incomplete = Vec::new();
    for topic in topics.iter().filter(|topic| topic.is_interested) {
        words.push((topic.watched.wake().futex(), topic.announced));
        incomplete.extend(topic.awaited.as_ref().map(|awaited| (&topic.watched.topic, awaited)));
    }
    sleep_until_one_ends(&mut words, &incomplete, GLANCE.min(slice), false);
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The guarded data is consistent at every step, so a panic of a waker in another thread changes nothing.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
