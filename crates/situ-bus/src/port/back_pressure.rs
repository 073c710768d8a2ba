//! How a publisher waits for a reliable subscriber that has no room, and shows that it waits.

use std::time::Duration;

use situ_memory::sync::atomic::Ordering;

use crate::clock::{Deadline, now_ns};
use crate::node::liveness::{self, NodeId, is_alive};
use crate::observe::hook::{self, Began, Step};
use crate::port::publish_error::{PublishError, SlowSubscriber};
use crate::port::publisher::RawPublisher;
use crate::port::publisher_state::Inner;
use crate::port::thread_number::this_thread;
use crate::protocol::ring::{ClaimError, NewRow};
use crate::qos::WhenFull;
use crate::topic::format::{Descriptor, PublisherEntry};
use crate::wait::interrupt::Interrupter;

/// How long a blocked publisher sleeps before it checks again without a wake-up.
const BLOCKED_SLICE: Duration = Duration::from_millis(2);
/// How many times a blocked publisher checks before it sleeps.
const SPINS: u32 = 256;
/// How often it checks whether the awaited node is alive, in addition to asking the kernel which processes
/// have ended.
const LOOK_NS: u64 = 100_000_000;
/// How long a subscriber that was last used by the publishing thread may take to be used by another thread.
/// See [`PublishError::OwnThread`].
const GRACE: Duration = Duration::from_millis(20);

/// The subscriber that a publisher waits for.
#[derive(Debug, Clone, Copy)]
struct Behind {
    place: usize,
    cursor: u64,
    node: NodeId,
    thread: u64,
}

/// Shows in the publisher's entry which subscriber it waits for, until this is dropped. A publisher that dies
/// before that leaves an entry that repair finds dead.
struct Shown<'a>(&'a PublisherEntry);

impl<'a> Shown<'a> {
    fn new(entry: &'a PublisherEntry, since_ns: u64) -> Self {
        entry.waits_since_ns.store(since_ns, Ordering::Relaxed);
        Self(entry)
    }

    fn show(&self, behind: Behind) {
        // Release: a process that sees the subscriber also sees the time.
        self.0.waits_for.store(behind.place as u32 + 1, Ordering::Release);
    }
}

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        self.0.waits_for.store(0, Ordering::Release);
    }
}

impl RawPublisher {
    /// The waited-for subscriber with the smallest cursor.
    fn slowest_subscriber(&self) -> Option<Behind> {
        let behind = self.waited_for().map(|place| Behind {
            place: place.index,
            cursor: place.cursor(),
            node: NodeId(place.node()),
            thread: place.thread(),
        });
        behind.min_by_key(|behind| behind.cursor)
    }

    /// Returns the node and the process that the publisher would wait for now.
    pub(crate) fn waits_for(&self) -> (NodeId, u32) {
        let node = self.slowest_subscriber().map_or(NodeId(0), |behind| behind.node);
        (node, liveness::node(&self.topic.root, node).map_or(0, |node| node.pid))
    }

    /// Waits until a reliable subscriber has room or is found dead, within the limit of the quality of
    /// service, and then claims a number.
    #[cold]
    pub(crate) fn wait_and_claim(
        &self,
        inner: &mut Inner,
        descriptor: &Descriptor,
        row: &NewRow<'_>,
        began: &mut Option<Began>,
    ) -> Result<u64, PublishError> {
        let mut step = self.tell_full(began);
        let result = self.claim_when_there_is_room(inner, descriptor, row, (began, &mut step));
        self.tell_no_longer_full(began, step);
        result
    }

    fn claim_when_there_is_room(
        &self,
        inner: &mut Inner,
        descriptor: &Descriptor,
        row: &NewRow<'_>,
        (began, step): (&mut Option<Began>, &mut Option<Step>),
    ) -> Result<u64, PublishError> {
        let start = now_ns();
        let full = |inner: &Inner| self.full(inner.window.slowest(), start);
        let deadline = match self.when_full.get() {
            WhenFull::Fail => {
                // A subscriber that has died needs no room.
                if self.has_removed_dead(inner, start) {
                    match self.claim(inner, descriptor, row) {
                        Err(ClaimError::Refused(())) => {}
                        claimed => return claimed.map_err(|error| self.unclaimed(error)),
                    }
                }
                return Err(full(inner));
            }
            WhenFull::Block(limit) => Deadline::after(limit),
        };
        // A limit within the grace period always ends as `Full`, however late this thread checks, so that the
        // error does not depend on scheduling.
        let asks_whose = !matches!(self.when_full.get(), WhenFull::Block(Some(limit)) if limit <= GRACE);
        let shown = Shown::new(self.topic.publisher(self.entry), start);
        let mut looked = start;
        let mut spins = 0;
        loop {
            let announced = (spins >= SPINS).then(|| self.topic.room().announce());
            self.note_attempt(began);
            match self.claim(inner, descriptor, row) {
                Ok(number) => return Ok(number),
                Err(ClaimError::Refused(())) => {}
                Err(error) => return Err(self.unclaimed(error)),
            }
            let Some(announced) = announced else {
                spins += 1;
                std::hint::spin_loop();
                continue;
            };
            let behind = self.slowest_subscriber();
            if let Some(behind) = behind {
                shown.show(behind);
                let waited = Duration::from_nanos(now_ns().saturating_sub(start));
                // If others were in the way until now, there may be room in the meantime.
                let was_in_the_way = behind.cursor <= inner.window.slowest();
                if asks_whose && waited >= GRACE && was_in_the_way && self.is_own_thread(behind) {
                    return Err(self.own_thread(behind));
                }
            }
            self.check_interrupter()?;
            let Some(slice) = deadline.slice(BLOCKED_SLICE) else { return Err(full(inner)) };
            self.topic.room().sleep(announced, slice);
            self.tell_late(began, step);
            // A subscriber's death sends no message. The publisher asks the kernel, and checks the node that
            // it waits for.
            let now = now_ns();
            self.look_around(inner, now);
            if self.topic.is_removed() {
                return Err(self.publish_removed());
            }
            let ended = inner.process_watch.noticed(&self.topic, &self.node.processes, now);
            let look = now.saturating_sub(looked) >= LOOK_NS;
            if look {
                looked = now;
            }
            let dead = || behind.is_some_and(|behind| look && !is_alive(&self.topic.root, behind.node));
            if (ended || dead()) && self.topic.mark_dead_places() > 0 {
                self.topic.repair_if_free();
            }
        }
    }

    /// Whether subscribers have died since the last look, which comes every few milliseconds at most.
    fn has_removed_dead(&self, inner: &mut Inner, now: u64) -> bool {
        let ended = inner.process_watch.noticed(&self.topic, &self.node.processes, now);
        let removed = ended && self.topic.mark_dead_places() > 0;
        if removed {
            self.topic.repair_if_free();
        }
        removed
    }

    /// Whether only this thread, which is waiting, could make room: it used the subscriber last.
    ///
    /// The subscriber may belong to another thread by now that has not used it yet, so the caller first lets
    /// the grace period pass. The subscriber of a process that was forked from this one may have the number
    /// of this thread; hence the check of the process.
    fn is_own_thread(&self, behind: Behind) -> bool {
        behind.thread != 0
            && behind.thread == this_thread()
            && (behind.node == self.node.life.id()
                || liveness::node(&self.topic.root, behind.node)
                    .is_some_and(|node| node.pid == std::process::id()))
    }

    #[cold]
    fn full(&self, waiting_for: u64, start: u64) -> PublishError {
        PublishError::Full {
            topic: self.topic.name.clone(),
            waiting_for,
            depth: self.qos.depth,
            waited: Duration::from_nanos(now_ns().saturating_sub(start)),
            subscriber: self
                .slowest_subscriber()
                .map(|behind| Box::new(SlowSubscriber::find(&self.topic.root, behind.node))),
        }
    }

    #[cold]
    fn own_thread(&self, behind: Behind) -> PublishError {
        PublishError::OwnThread {
            topic: self.topic.name.clone(),
            waiting_for: behind.cursor,
            depth: self.qos.depth,
            subscriber: Box::new(SlowSubscriber::find(&self.topic.root, behind.node)),
        }
    }

    /// Reports the wait to a tracer that was set after the wait began.
    fn tell_late(&self, began: &mut Option<Began>, step: &mut Option<Step>) {
        if began.is_none()
            && let Some(watcher) = hook::watcher()
        {
            *began = Some(Began { watcher, at_ns: watcher.now_ns() });
            *step = self.tell_full(began);
        }
    }
}

impl RawPublisher {
    /// Lets an interrupter end the waits for reliable subscribers that have no room. Publishing then fails
    /// with [`PublishError::Interrupted`] whenever it would have to wait, until the interrupter is reset.
    /// Without an interrupter, these waits cannot be interrupted.
    pub fn set_interrupter(&self, interrupter: Option<&Interrupter>) {
        self.interrupter.replace(interrupter.cloned());
    }

    pub(crate) fn check_interrupter(&self) -> Result<(), PublishError> {
        match &*self.interrupter.borrow() {
            Some(interrupter) if interrupter.is_interrupted() => {
                Err(PublishError::Interrupted { topic: self.topic.name.clone() })
            }
            _ => Ok(()),
        }
    }
}
