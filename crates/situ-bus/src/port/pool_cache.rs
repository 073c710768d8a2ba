//! The pools of other participants that a subscriber has mapped.

use std::cell::{RefCell, RefMut};
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use situ_memory::fork::Process;
use situ_memory::{Access, Domain, DomainError, Domains, PoolView, Registered, SlotId, ViewError};

use crate::node::handle::NodeInner;
use crate::node::liveness::NodeId;
use crate::port::cells::Cells;
use crate::protocol::tenure::NO_MESSAGES;
use crate::topic::{Matching, OwnPlace, StateWord, Topic};
use crate::trust::{Limits, Trust};

/// A subscriber's place. The subscriber and every sample that it took keep it.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) topic: Arc<Topic>,
    pub(crate) node: Arc<NodeInner>,
    /// The place, which only this process writes.
    pub(crate) own: OwnPlace,
    /// The process that owns the place. A forked child's copy releases nothing.
    pub(crate) process: Process,
    pub(crate) trust: Trust,
    pub(crate) limits: Limits,
    /// Memory for small messages that are copied out of rows; `None`: it takes the slots.
    pub(crate) cells: Option<Cells>,
    /// The records of its samples. Samples keep the core by them.
    pub(crate) records: Arc<dyn Records>,
}

/// The records of a subscriber's samples, as the core knows them.
pub(crate) trait Records: fmt::Debug + Send + Sync {
    /// The number of samples in cells.
    fn in_cells(&self) -> usize;
    /// Lets go of a pool, by its number. For the subscriber's thread.
    fn forget_pool(&self, number: u64);
}

impl Core {
    /// The number of samples that the subscriber holds. Copies in other domains are held beside the messages
    /// that they were made of, and do not count.
    #[cold]
    pub(crate) fn held(&self) -> usize {
        let of_copies = |pool: u16| {
            let entry = self.topic.named_entry(usize::from(pool));
            entry.is_some_and(|entry| StateWord::read(&entry.state).is_of_copies())
        };
        let in_slots = self.own.ledger.held().filter(|held| !of_copies(held.pool)).count();
        in_slots + self.records.in_cells()
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        if self.process.is_this() {
            self.own.leave();
        }
    }
}

/// A pool that a subscriber has mapped, and the subscriber's place.
#[derive(Debug)]
pub(crate) struct Mapped {
    pub(crate) number: u64,
    /// Rows of earlier messages that name its entry refer to another pool. Of a pool of copies
    /// [`NO_MESSAGES`].
    since: u64,
    pub(crate) view: PoolView,
    /// Whether its messages are read in place: only trusted users may write to it.
    pub(crate) in_place: bool,
    /// The parts of it that are registered with devices. Declared after the view, so that the view is dropped
    /// first.
    registered: Mutex<Registered>,
    pub(crate) core: Arc<Core>,
}

impl Mapped {
    /// The pool's owner, from its own header: its entry in the topic may belong to another pool by now.
    pub(crate) fn owner(&self) -> NodeId {
        NodeId(self.view.header().owner)
    }

    /// Registers `len` bytes of a held slot with a domain's driver, if that driver registers memory. The
    /// domain's streams copy these bytes.
    pub(crate) fn register(&self, domain: &dyn Domain, slot: SlotId, len: u64) {
        if let Some(place) = self.view.place(slot) {
            let mut registered = self.registered.lock().unwrap_or_else(PoisonError::into_inner);
            let note = || self.view.metadata().note_registered(slot);
            registered.add(domain, self.view.bytes(), len, (&note, place));
        }
    }
}

/// A held slot. Dropping this releases it.
#[derive(Debug)]
pub(crate) struct Pin {
    pub(crate) mapped: Arc<Mapped>,
    pub(crate) slot: SlotId,
    /// The word of the subscriber's ledger that names the slot.
    pub(crate) word: u16,
}

impl Drop for Pin {
    #[inline]
    fn drop(&mut self) {
        // In a forked child the ledger is private zeroes: the parent's name stays.
        self.mapped.core.own.ledger.release(usize::from(self.word));
    }
}

/// The pools that a subscriber has mapped, by the number of their entry in the topic.
#[derive(Debug)]
pub(crate) struct Pools {
    mapped: RefCell<Vec<Option<Arc<Mapped>>>>,
    /// Pools of publishers that do not match are not mapped. So a mapped pool needs no check.
    matching: RefCell<Matching>,
}

impl Pools {
    pub(crate) fn new(matching: Matching) -> Self {
        Self { mapped: RefCell::default(), matching: RefCell::new(matching) }
    }

    /// Which publishers match.
    pub(crate) fn matching(&self) -> RefMut<'_, Matching> {
        self.matching.borrow_mut()
    }

    /// Whether the publisher of a message is known not to match. Its pool is then
    /// [gone](ViewError::Gone) for this subscriber.
    #[cold]
    pub(crate) fn is_stranger(&self, topic: &Topic, entry: u16, sequence: u64) -> bool {
        topic.is_mixed() && self.matching().matches(topic, entry, sequence) == Some(false)
    }

    /// Returns the pool of an entry that the row of message `sequence` or its descriptor names. The pool is
    /// mapped on first use.
    pub(crate) fn get(&self, core: &Arc<Core>, entry: u16, sequence: u64) -> Result<Arc<Mapped>, ViewError> {
        self.with(core, entry, sequence, Arc::clone)
    }

    /// The same for a function that uses the pool at once. It must not use `self`.
    #[inline(always)]
    pub(crate) fn with<R>(
        &self,
        core: &Arc<Core>,
        entry: u16,
        sequence: u64,
        then: impl FnOnce(&Arc<Mapped>) -> R,
    ) -> Result<R, ViewError> {
        if let Some(Some(mapped)) = self.mapped.borrow().get(usize::from(entry))
            && mapped.number == core.topic.publisher(usize::from(entry)).tenure.pool()
            && sequence >= mapped.since
        {
            return Ok(then(mapped));
        }
        Ok(then(&self.map(core, entry, Some(sequence))?))
    }

    /// Returns the pool of copies of an entry that the word of a copy names.
    pub(crate) fn get_copies(&self, core: &Arc<Core>, entry: u16) -> Result<Arc<Mapped>, ViewError> {
        if let Some(Some(mapped)) = self.mapped.borrow().get(usize::from(entry))
            && core.topic.named_entry(usize::from(entry)).is_some_and(|it| mapped.number == it.tenure.pool())
            && mapped.since == NO_MESSAGES
        {
            return Ok(mapped.clone());
        }
        self.map(core, entry, None)
    }

    /// Maps the pool of a message, or a pool of copies.
    #[cold]
    fn map(&self, core: &Arc<Core>, entry: u16, sequence: Option<u64>) -> Result<Arc<Mapped>, ViewError> {
        let Some(of_entry) = core.topic.named_entry(usize::from(entry)) else {
            return Err(ViewError::Gone(core.topic.file().path().to_owned()));
        };
        if sequence.is_some_and(|sequence| self.is_stranger(&core.topic, entry, sequence)) {
            return Err(ViewError::Gone(PathBuf::new()));
        }
        let number = of_entry.tenure.pool();
        let path = core.topic.pool_path(number);
        let since = of_entry.tenure.since();
        if sequence.is_some_and(|sequence| sequence < since) || sequence.is_none() != (since == NO_MESSAGES) {
            return Err(ViewError::Gone(path.path().to_owned()));
        }
        // Fences of messages are never pending, so there is nothing to write.
        let is_of_heads = StateWord::read(&of_entry.state).is_of_heads();
        let access = if is_of_heads { Access::Read } else { Access::ReadWrite };
        let open = |domains: &Domains| PoolView::open_within(domains, &path, access, core.limits.pool);
        let view = match open(&Domains::host_only()) {
            Err(ViewError::Domain(DomainError::Absent { domain, .. })) => {
                open(&core.node.domains_of_others(domain)?)?
            }
            view => view?,
        };
        let in_place = match core.trust {
            Trust::SameUser => view.is_only_ours(),
            Trust::Everyone => true,
            Trust::Nobody => false,
        };
        let registered = Mutex::default();
        let mapped = Arc::new(Mapped { number, since, view, in_place, registered, core: core.clone() });
        self.forget_gone(core);
        let mut pools = self.mapped.borrow_mut();
        let index = usize::from(entry);
        if pools.len() <= index {
            pools.resize(index + 1, None);
        }
        pools[index] = Some(mapped.clone());
        Ok(mapped)
    }

    /// Unmaps the pools of publishers that are gone, if all their messages were passed. Their memory returns
    /// to the system with the last mapping. Samples that are still held keep theirs.
    pub(crate) fn forget_gone(&self, core: &Core) {
        for (index, mapped) in self.mapped.borrow_mut().iter_mut().enumerate() {
            let entry = core.topic.publisher(index);
            let there = StateWord::read(&entry.state).has_pool();
            let gone = mapped.take_if(|mapped| !there || mapped.number != entry.tenure.pool());
            if let Some(gone) = gone {
                core.records.forget_pool(gone.number);
            }
        }
    }
}
