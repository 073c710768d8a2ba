//! The events of one publisher or subscriber: their counts, and the wait sets that wait for them.
//!
//! ```text
//!   the topic's members, processes that end ──┐
//!   deadlines, leases ────────────────────────┼──▶ look ──▶ counts ──▶ news ──▶ the bells of wait sets
//!   lost messages, late signs of life ────────┘               │
//!                                                             └──▶ take: the status, and no news
//! ```
//!
//! The endpoint, its [`Event`](crate::Event)s and the monitor share it. A look costs a few loads as long as
//! nothing has changed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use situ_memory::fork::Process;
use situ_memory::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use crate::clock::now_ns;
use crate::events::deadline_clock::DeadlineClock;
use crate::events::lease::Lease;
use crate::events::members::Members;
pub(crate) use crate::events::members::Side;
use crate::events::peers::Peers;
use crate::events::status::{Counts, EventStatus, kind};
use crate::node::living::Living;
use crate::qos::Terms;
use crate::timeouts::REPAIR_INTERVAL_NS;
use crate::topic::Topic;
use crate::wait_set::bell::{Bell, Link};

/// What an endpoint's events are worked out from.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) topic: Arc<Topic>,
    pub(crate) peers: Arc<Peers>,
    pub(crate) living: Arc<Living>,
    pub(crate) side: Side,
    pub(crate) terms: Terms,
    pub(crate) deadline: Option<Arc<DeadlineClock>>,
    pub(crate) lease: Option<Arc<Lease>>,
}

/// The events of one endpoint.
#[derive(Debug)]
pub(crate) struct EndpointEvents {
    origin: Origin,
    /// The kinds of events that have something to tell.
    news: AtomicU32,
    /// The endpoint was dropped: nothing changes any more.
    has_ended: AtomicBool,
    /// When the next look is due, whether something changes or not.
    due_ns: AtomicU64,
    /// The topic's number of changes, and that of ended peers, at the last look.
    seen_changes: AtomicU64,
    seen_ended: AtomicU64,
    looks: Mutex<Looks>,
    listeners: Mutex<Vec<Listener>>,
    process: Process,
}

#[derive(Debug, Default)]
struct Looks {
    members: Members,
    counts: Counts,
    /// When the nodes without a descriptor were looked for.
    asked_ns: u64,
    /// The kinds for which the last look found out when the next one is due.
    due_kinds: u32,
}

/// A source of a wait set.
#[derive(Debug)]
struct Listener {
    kinds: u32,
    bell: Arc<Bell>,
    link: Arc<Link>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code of others runs while one is locked.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl EndpointEvents {
    pub(crate) fn new(origin: Origin) -> Arc<Self> {
        Arc::new(Self {
            origin,
            news: AtomicU32::new(0),
            has_ended: AtomicBool::new(false),
            due_ns: AtomicU64::new(0),
            seen_changes: AtomicU64::new(u64::MAX),
            seen_ended: AtomicU64::new(u64::MAX),
            looks: Mutex::default(),
            listeners: Mutex::default(),
            process: Process::this(),
        })
    }

    /// The topic.
    pub(crate) fn topic(&self) -> &Arc<Topic> {
        &self.origin.topic
    }

    /// Takes a status: the changes since the last call count from here on.
    pub(crate) fn take<S: EventStatus>(&self) -> S {
        if !self.process.is_this() {
            // In a forked child, a thread of the parent may hold the lock for ever.
            return S::take(&mut Counts::default());
        }
        let mut looks = lock(&self.looks);
        let now = now_ns();
        self.origin.peers.ask(now);
        self.look_with(&mut looks, now);
        let status = S::take(&mut looks.counts);
        self.show(&looks);
        status
    }

    /// Whether one of these kinds has something to tell.
    pub(crate) fn has_news(&self, kinds: u32) -> bool {
        self.news.load(Ordering::SeqCst) & kinds != 0
    }

    /// Whether the endpoint was dropped.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::SeqCst)
    }

    /// Rings this bell when one of these kinds has something to tell. Returns whether the monitor must look
    /// again: the due time is that of other kinds, or from before a late sign of life. It need not when a
    /// listener comes back, as those of wait sets do that are made anew for each wait.
    pub(crate) fn listen(&self, kinds: u32, bell: &Arc<Bell>, link: &Arc<Link>) -> bool {
        if !self.process.is_this() {
            // In a forked child, nothing happens to it. A thread of the parent may hold the locks for ever.
            return false;
        }
        let listener = Listener { kinds, bell: bell.clone(), link: link.clone() };
        // A look that has begun ends first, and has noted its kinds. The next one knows this listener.
        let looks = lock(&self.looks);
        lock(&self.listeners).push(listener);
        if kinds & !looks.due_kinds != 0 {
            self.due_ns.store(0, Ordering::SeqCst);
        }
        // It is 0, too, if the endpoint has told something since the last look.
        self.due_ns.load(Ordering::SeqCst) == 0
    }

    /// Rings the bell no more for this link.
    pub(crate) fn forget(&self, link: &Arc<Link>) {
        lock(&self.listeners).retain(|listener| !Arc::ptr_eq(&listener.link, link));
    }

    /// Whether a wait set waits for any of them.
    pub(crate) fn is_waited_for(&self) -> bool {
        !self.has_ended() && !lock(&self.listeners).is_empty()
    }

    /// Whether a look may find something.
    pub(crate) fn needs_look(&self, now: u64) -> bool {
        self.due_ns.load(Ordering::SeqCst) <= now
            || self.seen_changes.load(Ordering::SeqCst) != self.origin.topic.changes()
            || self.seen_ended.load(Ordering::SeqCst) != self.origin.peers.ended()
    }

    /// When the next look is due, even if nothing changes.
    pub(crate) fn due_ns(&self) -> u64 {
        self.due_ns.load(Ordering::SeqCst)
    }

    /// Looks at everything, and rings the bells of what has changed.
    pub(crate) fn look(&self, now: u64) {
        let mut looks = lock(&self.looks);
        self.look_with(&mut looks, now);
        self.show(&looks);
    }

    /// Looks at everything. The first look after a change also finds out when the next look is due: the
    /// change has woken the monitor, which then sleeps until that.
    fn look_with(&self, looks: &mut Looks, now: u64) {
        let kinds = lock(&self.listeners).iter().fold(0, |kinds, listener| kinds | listener.kinds);
        let due_ns = self.look_at_all(looks, now, kinds);
        looks.due_kinds = kinds;
        self.due_ns.store(due_ns, Ordering::SeqCst);
    }

    /// Reports what the endpoint itself has counted. The next look is due: a lease that was lost runs again.
    /// The monitor looks when it wakes, within a second, or when the next listener comes.
    #[cold]
    pub(crate) fn tell(&self) {
        let mut looks = lock(&self.looks);
        self.due_ns.store(0, Ordering::SeqCst);
        self.count_own(&mut looks.counts, now_ns());
        self.show(&looks);
    }

    /// The endpoint is dropped.
    pub(crate) fn end(&self) {
        if !self.process.is_this() {
            return;
        }
        // The last counts are its own: the place may soon be another subscriber's.
        self.tell();
        self.has_ended.store(true, Ordering::SeqCst);
        lock(&self.listeners).iter().for_each(|listener| listener.bell.ring(&listener.link));
    }

    /// Shows what is new, and rings the bells of those that wait for it.
    fn show(&self, looks: &Looks) {
        let news = looks.counts.news();
        let fresh = news & !self.news.swap(news, Ordering::SeqCst);
        if fresh != 0 {
            let listeners = lock(&self.listeners);
            let told = listeners.iter().filter(|listener| listener.kinds & fresh != 0);
            told.for_each(|listener| listener.bell.ring(&listener.link));
        }
    }

    /// Returns when the next look is due for these kinds of events.
    fn look_at_all(&self, looks: &mut Looks, now: u64, kinds: u32) -> u64 {
        if self.has_ended() {
            return u64::MAX;
        }
        self.count_own(&mut looks.counts, now);
        let due_ns = self.look_at_members(looks, now, kinds);
        let Origin { deadline, lease, .. } = &self.origin;
        let deadline = deadline.as_ref().filter(|_| kinds & kind::DEADLINE != 0);
        let lease = lease.as_ref().filter(|_| kinds & kind::LIVELINESS != 0);
        due_ns
            .min(deadline.map_or(u64::MAX, |deadline| deadline.next_ns(now)))
            .min(lease.map_or(u64::MAX, |lease| lease.next_ns(now)))
    }

    fn look_at_members(&self, looks: &mut Looks, now: u64, kinds: u32) -> u64 {
        let Origin { topic, peers, living, side, terms, .. } = &self.origin;
        let mut due_ns = u64::MAX;
        if looks.members.unwatched().next().is_some() {
            if now.saturating_sub(looks.asked_ns) >= REPAIR_INTERVAL_NS {
                looks.asked_ns = now;
                let dead = looks.members.unwatched().filter(|peer| !living.is_alive(&topic.root, peer.node));
                dead.for_each(|peer| peers.note_end(peer));
            }
            due_ns = looks.asked_ns.saturating_add(REPAIR_INTERVAL_NS);
        }
        // Both numbers are read before the members: what changes later changes them again.
        let (changes, ended) = (topic.changes(), peers.ended());
        let seen = (self.seen_changes.load(Ordering::SeqCst), self.seen_ended.load(Ordering::SeqCst));
        if seen != (changes, ended) {
            let Looks { members, counts, .. } = &mut *looks;
            if members.compare(topic, (*side, *terms), (peers, &topic.root), counts) {
                // For the others. This endpoint knows it already.
                topic.repair_if_free();
            }
            self.seen_changes.store(changes, Ordering::SeqCst);
            self.seen_ended.store(ended, Ordering::SeqCst);
        }
        if *side == Side::Publisher {
            return due_ns;
        }
        let Looks { members, counts, .. } = looks;
        let lease_ends = members.look_at_leases(topic, now, counts);
        if kinds & kind::LIVELINESS != 0 { due_ns.min(lease_ends) } else { due_ns }
    }

    /// Counts what the endpoint itself did, or did not do.
    fn count_own(&self, counts: &mut Counts, now: u64) {
        if self.has_ended() {
            return;
        }
        let Origin { topic, side, deadline, lease, .. } = &self.origin;
        if let Some(deadline) = deadline {
            // A message may come between two reads of the clock.
            counts.deadlines.now = counts.deadlines.now.max(deadline.missed(now));
        }
        if let Some(lease) = lease {
            counts.leases_lost.now = lease.lost(now);
        }
        if let Side::Subscriber(place) = side
            && let Some(place) = topic.places.at(*place)
        {
            counts.messages_lost.now = counts.messages_lost.now.max(place.lost());
        }
    }
}
