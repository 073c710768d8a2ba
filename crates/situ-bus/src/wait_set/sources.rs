//! The attached sources of a set, and the queue of those that may be ready.
//!
//! ```text
//!   bell: guard conditions, watched topics ──┐
//!   topics that the thread sleeps on ────────┤                     ready: report it.
//!   timers whose time has come ──────────────┼──▶ queue ──▶ check ─┤  A topic goes to the queue's end.
//!   descriptors that epoll reports ──────────┘                     not ready: nothing
//! ```
//!
//! Every source is at most once in the queue, and the queue is served in order. So a topic with messages
//! without end does not keep the others from being reported. The cost of a call depends on the sources in the
//! queue and on the topics that the thread sleeps on itself, which are at most [`MAX_DIRECT`].

use std::collections::VecDeque;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::node::handle::NodeInner;
use crate::topic::Topic;
use crate::wait::reactor::Removals;
use crate::wait::readiness::PendingFence;
use crate::wait::sleep::waits_for_several;
use crate::wait::sleep_until::slice_for;
use crate::wait_set::bell::{Bell, Link};
use crate::wait_set::clock::Clock;
use crate::wait_set::guard_condition::Target;
use crate::wait_set::polled::Polled;
use crate::wait_set::schedule::Schedule;
use crate::wait_set::source::{AttachError, IoReadiness, ReadySource, Source, SourceId, SourceKind};
use crate::wait_set::timer::{Looked, TimerShared};
use crate::wait_set::topic_source::{TopicLook, TopicSource};

/// How many topics the waiting thread sleeps on itself. The kernel takes 128 words: these, the bell's, and
/// the fences of some messages that are not complete.
pub(crate) const MAX_DIRECT: usize = 120;

/// One attached source.
#[derive(Debug)]
struct Entry {
    kind: SourceKind,
    link: Arc<Link>,
    /// Whether it is in the queue.
    is_queued: bool,
    /// It is not reported at present: an executor runs its callback.
    is_suspended: bool,
    /// It is suspended until a time of the schedule.
    is_delayed: bool,
    /// The entry of a timer in the schedule: an entry with another time was replaced.
    scheduled_ns: Option<u64>,
    /// What epoll reported for a descriptor.
    io: IoReadiness,
}

#[derive(Debug)]
struct Slot {
    generation: u32,
    entry: Option<Entry>,
}

/// The sources of a set.
#[derive(Debug)]
pub(crate) struct Sources {
    bell: Arc<Bell>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    count: usize,
    queue: VecDeque<u64>,
    /// The keys of topics that the waiting thread sleeps on itself.
    direct: Vec<u64>,
    /// Changes with each change of `direct`.
    version: u64,
    removals: Removals,
    schedule: Schedule,
    polled: Option<Polled>,
    /// Whether the program polls the set's descriptor.
    is_exposed: bool,
}

fn key_of(index: usize, generation: u32) -> u64 {
    u64::from(generation) << 32 | index as u64
}

impl Sources {
    pub(crate) fn new(bell: Arc<Bell>) -> Self {
        Self {
            bell,
            slots: Vec::new(),
            free: Vec::new(),
            count: 0,
            queue: VecDeque::new(),
            direct: Vec::new(),
            version: 0,
            removals: Removals::default(),
            schedule: Schedule::default(),
            polled: None,
            is_exposed: false,
        }
    }

    /// The number of attached sources.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    fn entry(&mut self, key: u64) -> Option<&mut Entry> {
        let slot = self.slots.get_mut((key & 0xffff_ffff) as usize)?;
        slot.entry.as_mut().filter(|_| u64::from(slot.generation) == key >> 32)
    }

    /// Attaches a source. It is checked at the next wait.
    pub(crate) fn attach(&mut self, node: &NodeInner, source: Source) -> Result<SourceId, AttachError> {
        let index = self.free.pop().map_or(self.slots.len(), |index| index as usize);
        if index == self.slots.len() {
            self.slots.push(Slot { generation: 0, entry: None });
        }
        let key = key_of(index, self.slots[index].generation);
        let target = Target { bell: self.bell.clone(), link: Link::new(key) };
        let kind = match self.begin(node, source.kind, key, &target) {
            Ok(kind) => kind,
            Err(error) => {
                self.free.push(index as u32);
                return Err(error);
            }
        };
        self.slots[index].entry = Some(Entry {
            kind,
            link: target.link,
            is_queued: false,
            is_suspended: false,
            is_delayed: false,
            scheduled_ns: None,
            io: IoReadiness::default(),
        });
        self.count += 1;
        self.enqueue(key);
        Ok(SourceId(key))
    }

    /// Begins to watch a source.
    fn begin(
        &mut self,
        node: &NodeInner,
        mut kind: SourceKind,
        key: u64,
        target: &Target,
    ) -> Result<SourceKind, AttachError> {
        match &mut kind {
            SourceKind::Topic(topic) => {
                if let Some(alarm) = topic.alarm().cloned() {
                    if !alarm.timer().attach(target.clone()) {
                        return Err(AttachError::Attached { what: "client or server" });
                    }
                    self.schedule.add(alarm.timer().clock(), &self.bell);
                }
                if self.polled.is_none() && self.direct.len() < MAX_DIRECT && waits_for_several() {
                    self.direct.push(key);
                    self.version += 1;
                } else {
                    topic.watch(node, target).map_err(|source| {
                        self.end_alarm(topic);
                        AttachError::Watch { source }
                    })?;
                }
            }
            SourceKind::Guard(guard) => {
                if !guard.attach(target.clone()) {
                    return Err(AttachError::Attached { what: "guard condition" });
                }
            }
            SourceKind::Timer(timer) => {
                if !timer.attach(target.clone()) {
                    return Err(AttachError::Attached { what: "timer" });
                }
                self.schedule.add(timer.clock(), &self.bell);
            }
            SourceKind::Descriptor(descriptor) => {
                self.poll(node).map_err(|source| AttachError::Watch { source })?.attach(descriptor, key)?;
            }
            SourceKind::Event(events, kinds) => {
                let monitor = node.monitor().map_err(|source| AttachError::Watch { source })?;
                let must_look = events.listen(*kinds, &target.bell, &target.link);
                monitor.watch(events, must_look);
            }
        }
        Ok(kind)
    }

    /// Ends what makes a topic ready without a message.
    fn end_alarm(&mut self, topic: &TopicSource) {
        if let Some(alarm) = topic.alarm() {
            alarm.timer().detach();
            self.schedule.remove(alarm.timer().clock());
        }
    }

    /// Detaches a source, and returns what it was. `None` if there is none of this name.
    pub(crate) fn detach(&mut self, id: SourceId) -> Option<Source> {
        let index = (id.0 & 0xffff_ffff) as usize;
        self.entry(id.0)?;
        let slot = &mut self.slots[index];
        let entry = slot.entry.take()?;
        // The last generation is not used, because it would be the key of the set's own descriptors. A place
        // that has had all others stays empty.
        slot.generation += 1;
        if slot.generation < u32::MAX - 1 {
            self.free.push(index as u32);
        }
        self.count -= 1;
        match &entry.kind {
            SourceKind::Topic(topic) => {
                self.end_alarm(topic);
                let before = self.direct.len();
                self.direct.retain(|key| *key != id.0);
                self.version += u64::from(self.direct.len() != before);
            }
            SourceKind::Guard(guard) => guard.detach(),
            SourceKind::Timer(timer) => {
                timer.detach();
                self.schedule.remove(timer.clock());
            }
            SourceKind::Descriptor(descriptor) => {
                if let Some(polled) = &mut self.polled {
                    polled.detach(descriptor);
                }
            }
            SourceKind::Event(events, _) => events.forget(&entry.link),
        }
        Some(Source { kind: entry.kind })
    }

    /// Detaches all sources: guard conditions, timers, clients and servers may then be attached elsewhere.
    pub(crate) fn clear(&mut self) {
        for entry in self.slots.iter().filter_map(|slot| slot.entry.as_ref()) {
            match &entry.kind {
                SourceKind::Guard(guard) => guard.detach(),
                SourceKind::Timer(timer) => timer.detach(),
                SourceKind::Event(events, _) => events.forget(&entry.link),
                SourceKind::Topic(topic) => {
                    topic.alarm().into_iter().for_each(|alarm| alarm.timer().detach());
                }
                SourceKind::Descriptor(_) => {}
            }
        }
    }

    /// Makes the set one that epoll polls, if it is not. From here on the node's threads watch all topics.
    fn poll(&mut self, node: &NodeInner) -> std::io::Result<&mut Polled> {
        if self.polled.is_none() {
            for key in std::mem::take(&mut self.direct) {
                self.version += 1;
                let bell = self.bell.clone();
                let Some(Entry { kind: SourceKind::Topic(topic), link, .. }) = self.entry(key) else {
                    continue;
                };
                let target = Target { bell, link: link.clone() };
                if let Err(error) = topic.watch(node, &target) {
                    // The topics that are watched by now stay so. This one and the others stay direct.
                    let rest = self.slots.iter().enumerate().filter_map(|(index, slot)| match &slot.entry {
                        Some(Entry { kind: SourceKind::Topic(topic), .. }) if !topic.is_watched() => {
                            Some(key_of(index, slot.generation))
                        }
                        _ => None,
                    });
                    self.direct = rest.collect();
                    return Err(error);
                }
                self.enqueue(key);
            }
            self.polled = Some(Polled::new(&self.bell)?);
        }
        Ok(self.polled.as_mut().expect("made above"))
    }

    /// The number of the descriptor that is readable while something is ready.
    pub(crate) fn expose(&mut self, node: &NodeInner) -> std::io::Result<i32> {
        self.is_exposed = true;
        Ok(self.poll(node)?.fd().as_raw_fd())
    }

    /// The descriptors, if the set has any.
    pub(crate) fn polled(&self) -> Option<&Polled> {
        self.polled.as_ref()
    }

    fn enqueue(&mut self, key: u64) {
        if let Some(entry) = self.entry(key)
            && !entry.is_queued
            && !entry.is_suspended
        {
            entry.is_queued = true;
            self.queue.push_back(key);
        }
    }

    /// Stops reporting a source until [`resume`](Self::resume). A descriptor must not be reported twice.
    pub(crate) fn suspend(&mut self, id: SourceId) {
        let Some(entry) = self.entry(id.0) else { return };
        entry.is_suspended = true;
        if let SourceKind::Descriptor(descriptor) = &entry.kind {
            let descriptor = descriptor.clone();
            self.polled.as_ref().inspect(|polled| polled.set_reporting(&descriptor, id.0, false));
        }
    }

    /// Reports a source again.
    pub(crate) fn resume(&mut self, id: SourceId) {
        let Some(entry) = self.entry(id.0) else { return };
        entry.is_suspended = false;
        if let SourceKind::Descriptor(descriptor) = &entry.kind {
            let descriptor = descriptor.clone();
            self.polled.as_ref().inspect(|polled| polled.set_reporting(&descriptor, id.0, true));
        } else {
            self.enqueue(id.0);
        }
    }

    /// Reports a source again after this time, and not before.
    pub(crate) fn delay(&mut self, id: SourceId, time: Duration) {
        self.suspend(id);
        let clock = Clock::steady();
        let due_ns = clock.now_ns().saturating_add(time.as_nanos() as u64);
        if let Some(entry) = self.entry(id.0) {
            entry.is_delayed = true;
            self.schedule.add(&clock, &self.bell);
            self.schedule_at(id.0, &clock, due_ns);
        }
    }

    /// Collects the sources that may be ready, and reports those that are, at most `most`. Returns how many.
    /// With `suspend`, a reported source is not reported again until it is resumed.
    pub(crate) fn report(
        &mut self,
        most: usize,
        suspend: bool,
        report: &mut dyn FnMut(ReadySource),
    ) -> usize {
        self.collect();
        let mut reported = 0;
        for _ in 0..self.queue.len() {
            if reported == most {
                break;
            }
            let Some(key) = self.queue.pop_front() else { break };
            if let Some(readiness) = self.check(key) {
                if suspend {
                    self.suspend(SourceId(key));
                }
                report(ReadySource { id: SourceId(key), readiness });
                reported += 1;
            }
        }
        reported
    }

    /// Puts all sources that may be ready into the queue.
    fn collect(&mut self) {
        let bell = self.bell.clone();
        bell.drain(|link| self.enqueue(link.key));
        for index in 0..self.direct.len() {
            let key = self.direct[index];
            let Some(entry) = self.entry(key) else { continue };
            if !entry.is_queued
                && !entry.is_suspended
                && let SourceKind::Topic(topic) = &mut entry.kind
                && !topic.is_unchanged()
                && matches!(topic.look(), TopicLook::Ready | TopicLook::Gone)
            {
                self.enqueue(key);
            }
        }
        self.collect_timers();
        if let Some(polled) = self.polled.take() {
            polled.collect(|key, readiness| {
                if let Some(entry) = self.entry(key) {
                    entry.io = readiness;
                    self.enqueue(key);
                }
            });
            self.polled = Some(polled);
        }
    }

    fn collect_timers(&mut self) {
        let mut schedule = std::mem::take(&mut self.schedule);
        if schedule.has_jumped_back() {
            for index in 0..self.slots.len() {
                let key = key_of(index, self.slots[index].generation);
                if let Some(Entry { kind: SourceKind::Timer(timer), .. }) = self.entry(key) {
                    timer.restart_after_jump();
                    self.enqueue(key);
                }
            }
        }
        let mut delayed = Vec::new();
        schedule.pop_due(|due_ns, key| {
            if let Some(entry) = self.entry(key)
                && entry.scheduled_ns == Some(due_ns)
            {
                entry.scheduled_ns = None;
                if std::mem::take(&mut entry.is_delayed) {
                    delayed.push(key);
                }
                self.enqueue(key);
            }
        });
        self.schedule = schedule;
        for key in delayed {
            self.schedule.remove(&Clock::steady());
            self.resume(SourceId(key));
        }
    }

    /// What a source from the queue is ready for.
    fn check(&mut self, key: u64) -> Option<IoReadiness> {
        let ready = IoReadiness { readable: true, ..IoReadiness::default() };
        let entry = self.entry(key)?;
        entry.is_queued = false;
        if entry.is_suspended {
            return None;
        }
        match &mut entry.kind {
            SourceKind::Topic(topic) => {
                let look = topic.look();
                if matches!(look, TopicLook::Gone) {
                    self.detach(SourceId(key));
                    return None;
                }
                let once =
                    entry.link.once.load(Ordering::Relaxed) && entry.link.once.swap(false, Ordering::SeqCst);
                let (is_due, next) = match topic.alarm() {
                    Some(alarm) => look_at(alarm.timer()),
                    None => (false, None),
                };
                if let Some(due_ns) = next {
                    self.schedule_at(key, &Clock::steady(), due_ns);
                }
                let is_ready = matches!(look, TopicLook::Ready);
                if is_ready {
                    // It may have more messages than the caller takes.
                    self.enqueue(key);
                }
                (is_ready || once || is_due).then_some(ready)
            }
            SourceKind::Guard(guard) => guard.take().then_some(ready),
            SourceKind::Timer(timer) => {
                let timer = timer.clone();
                let (is_due, next) = look_at(&timer);
                if let Some(due_ns) = next {
                    self.schedule_at(key, timer.clock(), due_ns);
                }
                is_due.then_some(ready)
            }
            SourceKind::Descriptor(_) => {
                let readiness = std::mem::take(&mut entry.io);
                (readiness != IoReadiness::default()).then_some(readiness)
            }
            SourceKind::Event(events, kinds) => {
                let (has_news, has_ended) = (events.has_news(*kinds), events.has_ended());
                if has_news {
                    // It is ready until the status is taken.
                    self.enqueue(key);
                } else if has_ended {
                    self.detach(SourceId(key));
                }
                has_news.then_some(ready)
            }
        }
    }

    fn schedule_at(&mut self, key: u64, clock: &Clock, due_ns: u64) {
        let Some(entry) = self.entry(key) else { return };
        if entry.scheduled_ns.replace(due_ns) == Some(due_ns) {
            return;
        }
        let mut schedule = std::mem::take(&mut self.schedule);
        schedule.at(clock, due_ns, key, |due_ns, key| {
            let slot = self.slots.get((key & 0xffff_ffff) as usize);
            let entry =
                slot.and_then(|slot| slot.entry.as_ref().filter(|_| u64::from(slot.generation) == key >> 32));
            entry.is_some_and(|entry| entry.scheduled_ns == Some(due_ns))
        });
        self.schedule = schedule;
    }

    /// Whether a call of [`report`](Self::report) may find something, without a look at topics.
    pub(crate) fn is_quiet(&self) -> bool {
        self.queue.is_empty() && self.bell.is_empty()
    }

    /// The time until the next timer is due.
    pub(crate) fn next_timer(&self) -> Option<Duration> {
        self.schedule.next()
    }

    /// Sets the descriptor of the next timer, if the program polls the set.
    pub(crate) fn arm(&mut self) {
        if self.is_exposed {
            let left = self.schedule.next();
            if let Some(polled) = &mut self.polled {
                polled.arm(left);
            }
        }
    }

    /// Announces a sleeper on each topic that the thread sleeps on itself. Returns `false` if one has
    /// something to take: then do not sleep.
    pub(crate) fn announce(&mut self, sleep: &mut Sleep) -> bool {
        if sleep.version != Some(self.version) {
            sleep.topics.clear();
            for index in 0..self.direct.len() {
                let key = self.direct[index];
                if let Some(Entry { kind: SourceKind::Topic(topic), .. }) = self.entry(key) {
                    sleep.topics.push(topic.topic().clone());
                }
            }
            sleep.version = Some(self.version);
        }
        sleep.words.clear();
        sleep.fences.clear();
        let word = self.bell.word();
        sleep.words.push((std::ptr::from_ref(word.futex()).addr(), word.announce()));
        for index in 0..self.direct.len() {
            let key = self.direct[index];
            let Some(entry) = self.entry(key) else { continue };
            if entry.is_suspended {
                continue;
            }
            let SourceKind::Topic(topic) = &mut entry.kind else { continue };
            let (look, word, announced) = topic.announce_and_look();
            sleep.words.push((word, announced));
            match look {
                TopicLook::Nothing => {}
                TopicLook::Ready | TopicLook::Gone => return false,
                TopicLook::Incomplete(awaited) => sleep.fences.push((topic.topic().clone(), awaited)),
            }
        }
        self.is_quiet()
    }

    /// Whether the thread sleeps on topics itself.
    pub(crate) fn has_direct(&self) -> bool {
        !self.direct.is_empty()
    }

    /// Looks at all topics that the thread sleeps on itself at the next call, whether they have changed or
    /// not. A publisher that died before it could wake this thread has changed nothing.
    pub(crate) fn forget(&mut self) {
        for index in 0..self.direct.len() {
            let key = self.direct[index];
            if let Some(Entry { kind: SourceKind::Topic(topic), .. }) = self.entry(key) {
                topic.forget();
            }
        }
    }

    /// Repairs the state that dead members of the topics left that the thread sleeps on itself.
    pub(crate) fn look_after_the_dead(&mut self) {
        let removals = self.removals.next(self.direct.len());
        for index in 0..self.direct.len() {
            let key = self.direct[index];
            if let Some(entry) = self.entry(key)
                && let SourceKind::Topic(topic) = &mut entry.kind
                && topic.look_after_the_dead(removals.contains(&index))
            {
                entry.link.once.store(true, Ordering::SeqCst);
                self.enqueue(key);
            }
        }
    }
}

/// Whether a timer is due, and when it is due next.
fn look_at(timer: &TimerShared) -> (bool, Option<u64>) {
    match timer.look(timer.clock().now_ns()) {
        Looked::Due(next) => (true, next),
        Looked::Later(next) => (false, Some(next)),
        Looked::Idle => (false, None),
    }
}

impl Sleep {
    /// How long to sleep on the topics.
    pub(crate) fn slice(&self) -> Duration {
        slice_for(self.topics.iter())
    }

    /// Gives up the topics: the thread does not sleep on them any more.
    pub(crate) fn forget_topics(&mut self) {
        self.topics.clear();
        self.version = None;
    }
}

/// What a thread sleeps on. It is kept from one wait to the next, so that no wait allocates.
#[derive(Debug, Default)]
pub(crate) struct Sleep {
    /// Which topics these are.
    version: Option<u64>,
    /// Keeps the words mapped.
    topics: Vec<Arc<Topic>>,
    /// The addresses of the words, and their values.
    pub(crate) words: Vec<(usize, u32)>,
    /// When the thread looked last at topics that have not changed.
    pub(crate) looked_ns: u64,
    /// The fences of messages that are not complete.
    pub(crate) fences: Vec<(Arc<Topic>, PendingFence)>,
}
