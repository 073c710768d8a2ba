//! Detects the end of processes that hold slots of this one. A descriptor of a process becomes readable when
//! the process has ended, after the drivers of its devices have released everything. One system call tests
//! all descriptors.
//!
//! Only owners with held slots check, clients with calls under way, and servers with late replies, and at
//! most every few milliseconds.
//!
//! All other participants check once a second when they are idle: subscribers when they find no message or
//! wait without success, and the thread that serves file descriptors and async code. So every way of using
//! the bus also finds dead participants.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::node::liveness::{NodeId, has_ended, is_alive, process_of};
use crate::topic::Topic;

/// How often an owner checks whether a holder of its slots has died.
const ASK_NS: u64 = 5_000_000;
/// How often an owner repairs the topic if it has no descriptors of some holders.
const ASK_ALL_NS: u64 = 1_000_000_000;
/// The maximum number of processes that a node has descriptors of.
const MAX: usize = 256;
/// Of how many nodes without descriptors an owner asks the file that each of them locks.
const MAX_UNWATCHED: usize = 16;
/// How long a process that died may take to end. Until then a device may be working for it.
const ENDING: Duration = Duration::from_millis(200);

/// The processes that a node has descriptors of, shared by its publishers and copiers.
#[derive(Debug)]
pub(crate) struct Processes {
    /// The node itself, which needs no descriptor.
    own: NodeId,
    known: Mutex<Vec<(NodeId, Weak<OwnedFd>)>>,
}

impl Processes {
    pub(crate) fn new(own: NodeId) -> Self {
        Self { own, known: Mutex::default() }
    }

    /// Returns a descriptor of a node's process. `None` if the process is this one, has ended, or cannot be
    /// opened.
    fn of(&self, topic: &Topic, id: NodeId) -> Option<Arc<OwnedFd>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|(_, process)| process.strong_count() > 0);
        if let Some(process) = known.iter().find(|(node, _)| *node == id).and_then(|(_, it)| it.upgrade()) {
            return Some(process);
        }
        if known.len() >= MAX {
            return None;
        }
        let process = Arc::new(process_of(&topic.root, id)?);
        known.push((id, Arc::downgrade(&process)));
        Some(process)
    }
}

/// The processes that may hold one owner's slots, as the owner last saw them.
#[derive(Debug, Default)]
pub(crate) struct ProcessWatch {
    asked_ns: u64,
    asked_all_ns: u64,
    /// The epoch of the registry that `processes` belongs to. `None` if it has to be rebuilt.
    epoch: Option<u64>,
    processes: Vec<Arc<OwnedFd>>,
    /// Nodes without a descriptor of their process: it belongs to another namespace, or there are too many.
    unwatched: Vec<NodeId>,
    /// There are more of them.
    others: bool,
}

impl ProcessWatch {
    /// Whether a repair of the topic is worthwhile, because a subscriber's process has ended. Checks at most
    /// every [`ASK_NS`].
    pub(crate) fn noticed(&mut self, topic: &Topic, processes: &Processes, now: u64) -> bool {
        if now.saturating_sub(self.asked_ns) < ASK_NS {
            return false;
        }
        self.notices(topic, processes, now)
    }

    /// The same, at once.
    pub(crate) fn notices(&mut self, topic: &Topic, processes: &Processes, now: u64) -> bool {
        self.asked_ns = now;
        let epoch = topic.places.epoch().get();
        if self.epoch != Some(epoch) {
            self.watch(topic, processes);
            self.epoch = Some(epoch);
        }
        let ended = have_ended(&self.processes, Duration::ZERO)
            || self.unwatched.iter().any(|id| !is_alive(&topic.root, *id));
        let all = self.others && now.saturating_sub(self.asked_all_ns) > ASK_ALL_NS;
        if ended || all {
            self.asked_all_ns = now;
            // Their places are released, or will be, and the list must not contain these processes again.
            self.epoch = None;
        }
        ended || all
    }

    fn watch(&mut self, topic: &Topic, processes: &Processes) {
        self.processes.clear();
        self.unwatched.clear();
        self.others = false;
        for id in used_places(topic).filter(|id| *id != processes.own) {
            match processes.of(topic, id) {
                Some(process) if self.processes.iter().any(|known| Arc::ptr_eq(known, &process)) => {}
                Some(process) => self.processes.push(process),
                None if self.unwatched.contains(&id) => {}
                None if self.unwatched.len() < MAX_UNWATCHED => self.unwatched.push(id),
                None => self.others = true,
            }
        }
    }
}

/// The nodes of subscribers that are present, or that are gone but whose state is still needed.
fn used_places(topic: &Topic) -> impl Iterator<Item = NodeId> {
    let used = topic.places.all().filter(|place| place.word.is_taken());
    used.map(|place| NodeId(place.node()))
}

/// Whether one of these processes has ended, or ends within `timeout`.
fn have_ended(processes: &[Arc<OwnedFd>], timeout: Duration) -> bool {
    if processes.is_empty() {
        return false;
    }
    let mut polled: Vec<_> = processes.iter().map(|it| PollFd::new(&**it, PollFlags::IN)).collect();
    let timeout = Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: timeout.subsec_nanos().into() };
    poll(&mut polled, Some(&timeout)).is_ok_and(|ready| ready > 0)
}

/// Reclaims memory held by processes that are exiting: repairs, and waits for their end until `enough`
/// returns true. For owners that cannot continue without memory.
pub(crate) fn wait_for_exiting_processes(
    topic: &Topic,
    processes: &Processes,
    mut enough: impl FnMut() -> bool,
) -> bool {
    let start = std::time::Instant::now();
    loop {
        let repaired = topic.repair_if_free();
        if enough() {
            return true;
        }
        let dying: Vec<NodeId> = used_places(topic)
            .filter(|id| !is_alive(&topic.root, *id) && !has_ended(&topic.root, *id))
            .collect();
        if (dying.is_empty() && repaired) || start.elapsed() > ENDING {
            return false;
        }
        let watched: Vec<_> = dying.iter().filter_map(|id| processes.of(topic, *id)).collect();
        if !have_ended(&watched, Duration::from_millis(5)) && watched.is_empty() {
            // Another process is repairing, or the processes cannot be watched.
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}
