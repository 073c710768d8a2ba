//! Wait sets: attaching, detaching, waiting.
//!
//! A set waits in one of two ways:
//!
//! ```text
//!   directly   The thread sleeps on its bell and on up to 120 topics (`futex_waitv`). A message wakes it
//!              without a thread in between. The node's threads watch further topics and ring the bell.
//!   polled     Once the set has a descriptor, or its own descriptor was asked for, the thread sleeps in
//!              `poll`. The node's threads watch all topics and ring the bell.
//! ```

use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use situ_memory::fork::Process;

use crate::clock::{Deadline, coarse_ns, now_ns};
use crate::node::handle::{Node, NodeInner};
use crate::observe::hook::{self, Step};
use crate::timeouts::REPAIR_INTERVAL_NS;
use crate::wait::sleep::sleep_on_group;
use crate::wait::sleep_until::GLANCE;
use crate::wait_set::bell::Bell;
use crate::wait_set::polled;
use crate::wait_set::source::{AttachError, ReadySource, Source, SourceId, WaitError, Waitable};
use crate::wait_set::sources::{Sleep, Sources};
use crate::wait_set::spin::Spin;

/// The kernel waits for at most this many words in one call.
const MAX_WORDS: usize = 128;
/// The longest sleep without topics of its own: all that wakes the set rings its bell.
const LONG: Duration = Duration::from_secs(3600);

/// Waits for any number of sources: topics, guard conditions, timers, descriptors.
///
/// ```no_run
/// use std::time::Duration;
/// use situ_bus::{ReadySources, Timer, WaitSet};
/// # fn demo<T: situ_layout::Message>(
/// #     node: &situ_bus::Node,
/// #     scans: situ_bus::Subscriber<T>,
/// # ) -> Result<(), Box<dyn std::error::Error>> {
/// let set = WaitSet::new(node);
/// let tick = Timer::periodic(Duration::from_millis(100))?;
/// let (scan, timer) = (set.attach(&scans)?, set.attach(&tick)?);
/// let mut ready = ReadySources::new();
/// while set.wait(&mut ready, Some(Duration::from_secs(1)))? {
///     for source in &ready {
///         if source.id == scan {
///             drop(scans.take()?);
///         } else if source.id == timer {
///             println!("{:?}", tick.last_call());
///         }
///     }
/// }
/// # Ok(())
/// # }
/// ```
///
/// All threads may attach and detach, also while a thread waits. One thread at a time may wait. A ready topic
/// is reported at each wait until its messages are taken; a ready descriptor as long as it is ready; a guard
/// condition and a timer once.
#[derive(Debug)]
pub struct WaitSet {
    node: Arc<NodeInner>,
    bell: Arc<Bell>,
    sources: Mutex<Sources>,
    /// Both belong to the thread that waits.
    sleep: Mutex<(Sleep, Spin)>,
    /// Whether a thread waits. It is set before that thread locks the sources for the first time. So a thread
    /// that has changed the sources, and then finds it unset, knows that any wait sees the change.
    has_waiter: AtomicBool,
    /// How long a wait may look for something before it sleeps. 0: it sleeps at once.
    spin_ns: AtomicU64,
    process: Process,
    /// When the dead were looked for last.
    repaired_ns: AtomicU64,
}

/// The sources that a wait found ready, in a buffer that is used again and again.
#[derive(Debug, Default)]
pub struct ReadySources {
    sources: Vec<ReadySource>,
}

impl ReadySources {
    /// An empty buffer.
    pub fn new() -> Self {
        Self::default()
    }

    /// The sources, in the order in which they became ready.
    pub fn as_slice(&self) -> &[ReadySource] {
        &self.sources
    }

    /// Iterates over the sources.
    pub fn iter(&self) -> std::slice::Iter<'_, ReadySource> {
        self.sources.iter()
    }

    /// Whether this source is ready.
    pub fn contains(&self, id: SourceId) -> bool {
        self.sources.iter().any(|source| source.id == id)
    }
}

impl<'r> IntoIterator for &'r ReadySources {
    type Item = &'r ReadySource;
    type IntoIter = std::slice::Iter<'r, ReadySource>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl WaitSet {
    /// An empty set. The node's threads watch those topics that the waiting thread does not.
    pub fn new(node: &Node) -> Self {
        let bell = Bell::new();
        Self {
            node: node.inner.clone(),
            sources: Mutex::new(Sources::new(bell.clone())),
            bell,
            sleep: Mutex::default(),
            has_waiter: AtomicBool::new(false),
            spin_ns: AtomicU64::new(0),
            process: Process::this(),
            repaired_ns: coarse_ns().into(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Sources> {
        // Each call leaves the sources consistent before it calls code of others.
        self.sources.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Attaches a source. It is reported until it is detached. A subscriber that is dropped is detached by
    /// itself.
    pub fn attach(&self, source: &(impl Waitable + ?Sized)) -> Result<SourceId, AttachError> {
        self.attach_source(source.source())
    }

    /// As [`attach`](Self::attach), for something that was asked for its source before.
    pub fn attach_source(&self, source: Source) -> Result<SourceId, AttachError> {
        if !self.process.is_this() {
            return Err(AttachError::Forked);
        }
        let id = self.lock().attach(&self.node, source)?;
        // A thread that sleeps does not know of it.
        self.wake_waiter();
        Ok(id)
    }

    /// Detaches a source. Returns whether it was attached. A wait that has begun does not report it any more,
    /// unless it has returned already.
    pub fn detach(&self, id: SourceId) -> bool {
        if !self.process.is_this() {
            return false;
        }
        let detached = self.lock().detach(id);
        // A thread that sleeps keeps the topic mapped.
        self.wake_waiter();
        detached.is_some()
    }

    /// Lets waits look for something ready for up to `limit` before they sleep. Zero, as at the beginning:
    /// they sleep at once.
    ///
    /// They do so only if the last waits were shorter than the limit, for example those for the answers of
    /// another process. So the limit costs no time where messages come rarely. Good limits are twice the time
    /// in which a sleeping thread is woken: 10 us, or 50 us on a virtual machine. A set that has a
    /// descriptor, or whose own was asked for, always sleeps at once.
    pub fn set_spin(&self, limit: Duration) {
        let nanoseconds = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        // The next wait reads it. Nothing else depends on it.
        self.spin_ns.store(nanoseconds, Ordering::Relaxed);
    }

    /// Wakes the thread that waits, and makes the descriptor readable. Without both, it makes no system call.
    fn wake_waiter(&self) {
        if self.has_waiter.load(Ordering::SeqCst) || self.bell.has_fd() {
            self.bell.wake();
        }
    }

    /// The number of attached sources.
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether nothing is attached.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waits until a source is ready, at most for `timeout` (without a limit if `None`), and stores all
    /// sources that are ready. Returns whether there are any.
    ///
    /// If something is ready already, it makes no system call, except one for all attached descriptors. It
    /// allocates only to make the buffer larger.
    pub fn wait(&self, ready: &mut ReadySources, timeout: Option<Duration>) -> Result<bool, WaitError> {
        ready.sources.clear();
        let count = self.wait_with(usize::MAX, timeout, &mut |source| ready.sources.push(source))?;
        Ok(count > 0)
    }

    /// As [`wait`](Self::wait), with at most `most` sources, each reported by a call of `report`. The next
    /// wait continues with the others, so none is left out for long. `report` must not call the set.
    pub fn wait_with(
        &self,
        most: usize,
        timeout: Option<Duration>,
        report: &mut dyn FnMut(ReadySource),
    ) -> Result<usize, WaitError> {
        self.wait_and_suspend(most, timeout, false, report)
    }

    /// As [`wait_with`](Self::wait_with). With `suspend`, a reported source is not reported again until it is
    /// [resumed](Self::resume).
    pub(crate) fn wait_and_suspend(
        &self,
        most: usize,
        timeout: Option<Duration>,
        suspend: bool,
        report: &mut dyn FnMut(ReadySource),
    ) -> Result<usize, WaitError> {
        if !self.process.is_this() {
            return Err(WaitError::Forked);
        }
        let mut state = match self.sleep.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(state)) => state.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(WaitError::InUse),
        };
        self.has_waiter.store(true, Ordering::SeqCst);
        let _waiting = Waiting(&self.has_waiter);
        let (sleep, spin) = &mut *state;
        let (most, deadline) = (most.max(1), Deadline::after(timeout));
        let spin_ns = self.spin_ns.load(Ordering::Relaxed);
        // When this wait found nothing for the first time.
        let mut begin_ns = None;
        // In a trace, a wait is visible from its first sleep to its end.
        let mut step = None;
        loop {
            let mut sources = self.lock();
            let reported = sources.report(most, suspend, report);
            if reported > 0 {
                if let Some(begin_ns) = begin_ns {
                    spin.learn(now_ns() - begin_ns <= spin_ns);
                }
                return Ok(reported);
            }
            // Whatever rings after this makes the descriptor readable again.
            if self.bell.clear() {
                let reported = sources.report(most, suspend, report);
                if reported > 0 {
                    self.bell.wake();
                    return Ok(reported);
                }
            }
            if spin_ns != 0 && begin_ns.is_none() && sources.polled().is_none() {
                begin_ns = Some(now_ns());
                if let Some(time) = deadline.slice(Duration::from_nanos(spin_ns))
                    && spin.is_promising()
                {
                    // Other threads attach and detach while this one looks.
                    drop(sources);
                    let mut reported = 0;
                    spin.until(time, || {
                        reported = self.lock().report(most, suspend, report);
                        reported > 0
                    });
                    if reported > 0 {
                        spin.learn(true);
                        return Ok(reported);
                    }
                    continue;
                }
            }
            if step.is_none() && deadline.slice(LONG).is_some() {
                step = hook::watcher().map(|watcher| watcher.step(None, Step::Wait, None, 0));
            }
            sources.arm();
            match sources.polled() {
                Some(polled) => {
                    let fd = polled.fd().clone();
                    sleep.forget_topics();
                    self.sleep_polled(sources, &fd, &deadline)?;
                }
                None => self.sleep_directly(sources, sleep, &deadline),
            }
            if deadline.slice(LONG).is_none() {
                if begin_ns.is_some() {
                    spin.learn(false);
                }
                return Ok(self.lock().report(most, suspend, report));
            }
        }
    }

    /// Sleeps on the bell and on the topics' words.
    fn sleep_directly(&self, mut sources: MutexGuard<'_, Sources>, sleep: &mut Sleep, deadline: &Deadline) {
        // Publishers make a system call for each sleeper that is announced.
        if deadline.slice(LONG).is_none() || !sources.announce(sleep) {
            return;
        }
        let has_direct = sources.has_direct();
        let slice = if !sleep.fences.is_empty() {
            GLANCE
        } else if has_direct {
            sleep.slice()
        } else {
            LONG
        };
        let slice = sources.next_timer().map_or(slice, |timer| timer.min(slice));
        drop(sources);
        let Some(slice) = deadline.slice(slice) else { return };
        for (_, awaited) in &sleep.fences {
            match awaited.announce() {
                Some((word, value)) if sleep.words.len() < MAX_WORDS => {
                    sleep.words.push((std::ptr::from_ref(word).addr(), value));
                }
                Some(_) => {}
                None => return,
            }
        }
        match sleep.words.as_slice() {
            _ if slice.is_zero() => {}
            // A kernel that cannot wait for several words has only this case.
            [(_, announced)] => self.bell.word().sleep(*announced, slice),
            words => sleep_on_group(words.iter().copied(), Some(slice)),
        }
        for (topic, awaited) in &sleep.fences {
            awaited.look_after_if_pending(topic);
        }
        if has_direct {
            let now = coarse_ns();
            if now.saturating_sub(sleep.looked_ns) >= sleep.slice().as_nanos() as u64 {
                sleep.looked_ns = now;
                self.lock().forget();
            }
            if now.saturating_sub(self.repaired_ns.load(Ordering::Relaxed)) > REPAIR_INTERVAL_NS {
                self.repaired_ns.store(now, Ordering::Relaxed);
                self.lock().look_after_the_dead();
            }
        }
    }

    /// Sleeps until the bell is rung or a descriptor is ready.
    fn sleep_polled(
        &self,
        sources: MutexGuard<'_, Sources>,
        fd: &OwnedFd,
        deadline: &Deadline,
    ) -> Result<(), WaitError> {
        let slice = sources.next_timer().map_or(LONG, |timer| timer.min(LONG));
        let Some(slice) = deadline.slice(slice) else { return Ok(()) };
        // Other threads attach and detach while this one sleeps.
        drop(sources);
        polled::sleep(fd.as_fd(), slice).map_err(|source| WaitError::System { source })
    }

    /// A descriptor that is readable while something is ready: for epoll, tokio, asio, Qt. The set owns it.
    /// When it is readable, call [`wait`](Self::wait) with no time until it finds nothing.
    ///
    /// From the first call on, the node's threads watch the set's topics. A message then wakes one thread
    /// more.
    pub fn fd(&self) -> Result<RawFd, AttachError> {
        if !self.process.is_this() {
            return Err(AttachError::Forked);
        }
        let fd = self.lock().expose(&self.node).map_err(|source| AttachError::Watch { source })?;
        self.bell.wake();
        Ok(fd)
    }

    /// Reports a source again after this time, and not before.
    pub(crate) fn delay(&self, id: SourceId, time: Duration) {
        self.lock().delay(id, time);
        self.bell.wake();
    }

    /// Reports a source again.
    pub(crate) fn resume(&self, id: SourceId) {
        self.lock().resume(id);
        self.bell.wake();
    }
}

/// Tells at the end of a wait that no thread waits. The lock of [`WaitSet::sleep`] ends after it.
struct Waiting<'a>(&'a AtomicBool);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

impl AsRawFd for WaitSet {
    /// As [`fd`](Self::fd), or -1 on an error.
    fn as_raw_fd(&self) -> RawFd {
        self.fd().unwrap_or(-1)
    }
}

impl Drop for WaitSet {
    fn drop(&mut self) {
        // In a forked child, a thread of the parent may hold the lock of a timer for ever.
        if !self.process.is_this() {
            return;
        }
        self.sources.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
