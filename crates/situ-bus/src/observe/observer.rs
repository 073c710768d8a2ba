//! Watching a topic without taking part in it.
//!
//! An observer has no place, holds no slot and causes no copy, so it does not change how participants behave.
//! It reads a message's descriptor in place, and then checks that the slot was not recycled in the meantime:
//! the owner raises a slot's generation before it writes anything else to it. If the generation is the same
//! before and after, all words that were read in between belong to the same message.

use std::collections::HashMap;
use std::time::Duration;

use situ_memory::sync::atomic::{Ordering, fence};
use situ_memory::{Access, Domains, Lent, PoolView, SlotId, guard, short_generation};

use crate::clock::Deadline;
use crate::node::liveness::NodeId;
use crate::observe::inspect::InspectError;
use crate::protocol::ring::{Look, Reference};
use crate::root::Root;
use crate::topic::format::{DESCRIPTOR, Descriptor};
use crate::topic::rights::Role;
use crate::topic::{StateWord, Topic};

/// How often a waiting observer looks.
const GLANCE: Duration = Duration::from_millis(2);

/// The data of a message that an observer reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Its number in the topic's order, from 0.
    pub sequence: u64,
    /// When it was published, by [`now_ns`](crate::now_ns); 0 if its publisher leaves out time stamps.
    pub published_at_ns: u64,
    /// The size of its head and body together, in bytes.
    pub bytes: u64,
    /// The node that published it.
    pub publisher: NodeId,
}

/// The slot of a message, which its owner may recycle while it is read.
pub(super) struct Slot<'o> {
    pub(super) view: &'o PoolView,
    pub(super) id: SlotId,
    pub(super) lent: Lent,
    pub(super) descriptor: &'o Descriptor,
}

/// Watches a topic without taking part in it: see [`latest`](Self::latest).
#[derive(Debug)]
pub struct Observer {
    pub(super) topic: Topic,
    /// The number of the next message.
    pub(super) next: u64,
    /// Messages that could not be read: they were recycled before, or lie on a device.
    pub(super) missed: u64,
    /// The mapped pools, by number. A pool that could not be opened is not tried again.
    pools: HashMap<u64, Option<PoolView>>,
}

impl Observer {
    /// Begins to watch a topic, after the messages that are already published. `None` if there is no topic of
    /// this name.
    pub fn open(root: &Root, name: &str) -> Result<Option<Self>, InspectError> {
        let Some(root) = root.open()? else { return Ok(None) };
        Ok(Topic::open(&root, &root.topic(name), Role::Observer)?.map(|topic| {
            let next = topic.end();
            Self { topic, next, missed: 0, pools: HashMap::new() }
        }))
    }

    /// The topic's name.
    pub fn topic(&self) -> &str {
        &self.topic.name
    }

    /// Whether the topic still exists, undamaged, and is not another one of the same name. Unmaps the pools
    /// of publishers that are gone, because their memory would otherwise stay mapped: call it from time to
    /// time.
    pub fn is_current(&mut self) -> bool {
        let there: Vec<u64> = (0..self.topic.used_entries())
            .map(|index| self.topic.publisher(index))
            .filter(|entry| StateWord::read(&entry.state).is_active())
            .map(|entry| entry.tenure.pool())
            .collect();
        self.pools.retain(|number, _| there.contains(number));
        !(guard::has_damage() && self.topic.is_damaged()) && self.topic.is_current()
    }

    /// Whether anything was published since the last [`latest`](Self::latest).
    pub fn has_next(&self) -> bool {
        self.topic.is_published(self.next)
    }

    /// Returns the newest message if it was not returned before. Earlier messages are skipped. Also `None` if
    /// the message was recycled while it was being read.
    pub fn latest(&mut self) -> Option<Seen> {
        let end = self.topic.end();
        if end == self.next {
            return None;
        }
        self.next = end;
        let sequence = end.checked_sub(1)?;
        let Look::Here(reference) = self.topic.ring_of(sequence).look(sequence) else { return None };
        self.read_slot(sequence, reference, |slot| {
            let Slot { view, descriptor, .. } = slot;
            Some(Seen {
                sequence,
                published_at_ns: descriptor.published_at_ns.load(Ordering::Relaxed),
                bytes: u64::from(descriptor.head_size.load(Ordering::Relaxed))
                    .saturating_add(descriptor.body_size.load(Ordering::Relaxed)),
                publisher: NodeId(view.header().owner),
            })
        })
    }

    /// Reads from the slot of a message. `None` if `read` returns nothing, or if the slot was recycled before
    /// it was done: then it may have read anything.
    pub(super) fn read_slot<R>(
        &mut self,
        sequence: u64,
        reference: Reference,
        read: impl FnOnce(Slot<'_>) -> Option<R>,
    ) -> Option<R> {
        let number = self.topic.named_entry(usize::from(reference.pool))?.tenure.of(sequence)?;
        let path = self.topic.pool_path(number);
        let view = self
            .pools
            .entry(number)
            .or_insert_with(|| PoolView::open(&Domains::host_only(), &path, Access::Read).ok())
            .as_ref()?;
        let slot = SlotId::from(reference.slot);
        let control = view.control(slot)?;
        let generation = control.generation();
        if short_generation(generation) != reference.generation {
            return None;
        }
        let lent = view.lent(slot)?;
        if lent.len < DESCRIPTOR {
            return None;
        }
        // SAFETY: the view checked that `len` bytes from `memory` lie in the pool and are aligned to 64. A
        // descriptor consists of atomics, for which any bits are valid, and a write by another process
        // meanwhile is no data race.
        let descriptor = unsafe { &*lent.memory.cast::<Descriptor>() };
        let found = read(Slot { view, id: slot, lent, descriptor })?;
        let here = descriptor.sequence.load(Ordering::Relaxed);
        // The loads above come before the load of the generation below (acquire fence). If any of them had
        // read a later message's bytes, the generation, which was raised before those bytes were written,
        // would be seen here. The message's number shows that the generation is the row's, and not one with
        // the same low bits.
        fence(Ordering::Acquire);
        (control.generation() == generation && here == sequence.wrapping_add(1)).then_some(found)
    }

    /// Waits until a message is published on one of the topics, at most for `timeout`. Returns whether there
    /// is one.
    ///
    /// It looks every 2 ms: a publisher does not know of an observer, and wakes none.
    pub fn wait_any(observers: &[&Observer], timeout: Duration) -> bool {
        let deadline = Deadline::after(Some(timeout));
        loop {
            if observers.iter().any(|observer| observer.has_next()) {
                return true;
            }
            let Some(slice) = deadline.slice(GLANCE) else { return false };
            std::thread::sleep(slice);
        }
    }
}
