//! Poisons fences whose owner has died, for devices that wait for them.
//!
//! A device that waits for a fence cannot notice that the process that should complete it is gone. Each node
//! therefore runs one thread while its devices wait for pending fences. Every 5 ms the thread checks whether
//! the owners are alive. If one is dead, the thread repairs the topic, and poisons the fence as soon as the
//! owner's process has ended. The same thread keeps a node alive if its publisher was dropped before the
//! publisher's streams were done.
//!
//! The thread starts with the first pending fence and ends after one second without any: starting it costs
//! about 100 us. It polls, because waking it would cost a system call.
//!
//! Why the waiting process poisons, and not only repair: a publisher may be dropped before its stream is
//! done. Then its pool may be removed because all subscribers have taken its messages, or the whole topic
//! because it has no members left. Only processes that still map the fence can reach it then. Any number of
//! them may poison it, and each may die at any instruction. Poisoning is one compare-and-swap of a word. The
//! owner does not write that word any more, because its process has ended.

use std::any::Any;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use situ_memory::{Fence, FenceState};

use crate::node::liveness::NodeId;
use crate::topic::Topic;

/// How often the thread checks owners. A device waits at most this long for a dead owner, after the owner's
/// process has ended.
const PAUSE: Duration = Duration::from_millis(5);
/// How many checks without a fence end the thread: those of one second.
const IDLE: u32 = 200;

/// A fence that a device waits for, or has yet to complete.
#[derive(Debug)]
struct Pending {
    topic: Arc<Topic>,
    owner: NodeId,
    fence: Fence,
    /// The node that has to live until the fence ends.
    _keeps: Option<Arc<dyn Any + Send + Sync>>,
}

#[derive(Debug, Default)]
struct Watched {
    fences: Vec<Pending>,
    running: bool,
}

/// The fences that devices of this process wait for. The thread ends when this is dropped.
#[derive(Debug, Default)]
pub(crate) struct FenceWatch {
    watched: Arc<Mutex<Watched>>,
}

fn lock(watched: &Mutex<Watched>) -> MutexGuard<'_, Watched> {
    watched.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FenceWatch {
    /// Watches a fence of a message of `topic` that `owner` should complete.
    pub(crate) fn watch(&self, topic: &Arc<Topic>, owner: NodeId, fence: &Fence) -> io::Result<()> {
        self.add(topic, owner, fence, None)
    }

    /// Keeps a node alive until a fence that its publisher has left behind is complete. Without this, other
    /// participants would treat the owner as dead, and poison a fence that a stream of this process is still
    /// going to complete.
    pub(crate) fn keep_until(
        &self,
        topic: &Arc<Topic>,
        owner: NodeId,
        fence: &Fence,
        node: Arc<dyn Any + Send + Sync>,
    ) {
        // Without a thread the node ends sooner, and the fence may be poisoned.
        let _ = self.add(topic, owner, fence, Some(node));
    }

    fn add(
        &self,
        topic: &Arc<Topic>,
        owner: NodeId,
        fence: &Fence,
        keeps: Option<Arc<dyn Any + Send + Sync>>,
    ) -> io::Result<()> {
        let mut watched = lock(&self.watched);
        if !watched.running {
            let theirs = Arc::downgrade(&self.watched);
            situ_memory::thread::spawn("situ-fences", move || look(&theirs))?;
            watched.running = true;
        }
        watched.fences.push(Pending { topic: topic.clone(), owner, fence: fence.clone(), _keeps: keeps });
        Ok(())
    }
}

fn look(watched: &Weak<Mutex<Watched>>) {
    let mut idle = 0;
    loop {
        std::thread::sleep(PAUSE);
        let Some(watched) = watched.upgrade() else { return };
        let owners: Vec<(Arc<Topic>, NodeId)> = {
            let mut watched = lock(&watched);
            watched.fences.retain(|pending| pending.fence.state() == FenceState::Pending);
            if watched.fences.is_empty() {
                idle += 1;
                if idle == IDLE {
                    watched.running = false;
                    return;
                }
                continue;
            }
            idle = 0;
            let mut owners: Vec<(Arc<Topic>, NodeId)> = Vec::new();
            for Pending { topic, owner, .. } in &watched.fences {
                if !owners.iter().any(|(known, node)| Arc::ptr_eq(known, topic) && node == owner) {
                    owners.push((topic.clone(), *owner));
                }
            }
            owners
        };
        for (topic, owner) in owners {
            // The lock is not held here, because a repair may take a while.
            if topic.repair_if_dead(owner) {
                let watched = lock(&watched);
                watched.fences.iter().filter(|it| it.owner == owner).for_each(|it| _ = it.fence.poison());
            }
        }
    }
}
