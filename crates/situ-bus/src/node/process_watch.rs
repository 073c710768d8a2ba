//! Finds out that a process died that holds slots of ours. A descriptor of a process becomes readable when
//! the process has ended, after the drivers of its devices have released everything. One system call tests
//! all descriptors.
//!
//! Only owners with slots that are held ask, and at most every few milliseconds.
//!
//! All other participants look once a second, when there is nothing else to do: subscribers when they find
//! nothing to take or wait in vain, and the thread that serves file descriptors and async code. So every way
//! to use the bus also finds dead participants.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::node::liveness::{NodeId, has_ended, is_alive, process_of};
use crate::topic::Topic;

/// How often an owner looks whether who holds its slots has died.
const ASK_NS: u64 = 5_000_000;
/// How often it has everything looked at, should there be processes that it has no descriptors of.
const ASK_ALL_NS: u64 = 1_000_000_000;
/// How many processes a node has descriptors of at most.
const MAX: usize = 64;
/// How long a process that died may take to end: until then a device may be working for it.
const ENDING: Duration = Duration::from_millis(200);

/// The processes that a node has descriptors of, for all who need them.
#[derive(Debug)]
pub(crate) struct Processes {
    /// The node itself, of which no descriptor is needed.
    own: NodeId,
    known: Mutex<Vec<(NodeId, Weak<OwnedFd>)>>,
}

impl Processes {
    pub(crate) fn new(own: NodeId) -> Self {
        Self { own, known: Mutex::default() }
    }

    /// A descriptor of a node's process. Nothing if it is this one, or has ended, or cannot be had.
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

/// What one owner has seen of those who may hold its slots.
#[derive(Debug, Default)]
pub(crate) struct ProcessWatch {
    asked_ns: u64,
    asked_all_ns: u64,
    /// The state of the registry that the rest was made for; nothing: it has to be made.
    epoch: Option<u64>,
    processes: Vec<Arc<OwnedFd>>,
    /// There is one without a descriptor.
    others: bool,
}

impl ProcessWatch {
    /// Whether it pays to repair the topic: a subscriber's process has ended. Asks only now and then.
    pub(crate) fn noticed(&mut self, topic: &Topic, processes: &Processes, now: u64) -> bool {
        if now.saturating_sub(self.asked_ns) < ASK_NS {
            return false;
        }
        self.asked_ns = now;
        let epoch = topic.places.epoch().get();
        if self.epoch != Some(epoch) {
            self.watch(topic, processes);
            self.epoch = Some(epoch);
        }
        let ended = have_ended(&self.processes, Duration::ZERO);
        let all = self.others && now.saturating_sub(self.asked_all_ns) > ASK_ALL_NS;
        if ended || all {
            self.asked_all_ns = now;
            // Their places are given away, or will be: not the same processes again.
            self.epoch = None;
        }
        ended || all
    }

    fn watch(&mut self, topic: &Topic, processes: &Processes) {
        self.processes.clear();
        self.others = false;
        for id in used_places(topic).filter(|id| *id != processes.own) {
            match processes.of(topic, id) {
                Some(process) if self.processes.iter().any(|known| Arc::ptr_eq(known, &process)) => {}
                Some(process) => self.processes.push(process),
                None => self.others = true,
            }
        }
    }
}

/// The nodes of the subscribers that are there, or gone while something of theirs is needed.
fn used_places(topic: &Topic) -> impl Iterator<Item = NodeId> {
    let used = topic.places.all().filter(|place| place.word.is_taken());
    used.map(|place| NodeId(place.node()))
}

/// Whether one of these processes has ended, or does within so long.
fn have_ended(processes: &[Arc<OwnedFd>], patience: Duration) -> bool {
    if processes.is_empty() {
        return false;
    }
    let mut polled: Vec<_> = processes.iter().map(|it| PollFd::new(&**it, PollFlags::IN)).collect();
    let patience = Timespec { tv_sec: patience.as_secs() as i64, tv_nsec: patience.subsec_nanos().into() };
    poll(&mut polled, Some(&patience)).is_ok_and(|ready| ready > 0)
}

/// Reclaims memory held by processes that are exiting: repairs, and waits for their end until `enough`
/// returns true. For owners that cannot go on without memory.
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
            // Another process repairs, or the processes cannot be watched.
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}
