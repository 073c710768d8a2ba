//! The processes of the endpoints on the other side, and which of them have ended.
//!
//! A process that ends reports nothing. A descriptor of it becomes readable then. One thread of a node sleeps
//! on the descriptors of all processes whose endpoints are waited for, as long as any event is. Without that
//! thread, one system call asks for all of them, at most every 5 ms, when a program asks for a status.
//!
//! Processes without a descriptor, in other namespaces for instance, are looked for once a second.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use situ_memory::OpenRoot;
use situ_memory::fork::Process;
use situ_memory::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::node::liveness::{NodeId, Peering, peering};

/// How many descriptors a node has at most.
const MAX_DESCRIPTORS: usize = 256;
/// How often a program that asks for statuses asks for processes.
const ASK_NS: u64 = 5_000_000;
/// How long to wait after the kernel has refused to wait for processes.
const PAUSE: Duration = Duration::from_millis(5);

/// A node on the other side.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) node: NodeId,
    process: Option<OwnedFd>,
    /// Its process is this one: its endpoints leave when they are dropped.
    is_own: bool,
    has_ended: AtomicBool,
}

impl Peer {
    /// Whether its process has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::SeqCst)
    }

    /// Whether only a look at its node's file tells whether it is alive.
    pub(crate) fn is_unwatched(&self) -> bool {
        self.process.is_none() && !self.is_own && !self.has_ended()
    }
}

/// All peers of a node.
#[derive(Debug)]
pub(crate) struct Peers {
    known: Mutex<HashMap<NodeId, Weak<Peer>>>,
    /// Changes when a peer has ended.
    ended: AtomicU64,
    asked_ns: AtomicU64,
    /// Wakes the thread; there is one once this is set.
    bell: OnceLock<Arc<OwnedFd>>,
    stop: AtomicBool,
    process: Process,
}

impl Peers {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            known: Mutex::default(),
            ended: AtomicU64::new(0),
            asked_ns: AtomicU64::new(0),
            bell: OnceLock::new(),
            stop: AtomicBool::new(false),
            process: Process::this(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<NodeId, Weak<Peer>>> {
        // Each change is one insertion or removal.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The peer of this node.
    pub(crate) fn meet(&self, root: &OpenRoot, node: NodeId) -> Arc<Peer> {
        let mut known = self.lock();
        if let Some(peer) = known.get(&node).and_then(Weak::upgrade) {
            return peer;
        }
        known.retain(|_, peer| peer.strong_count() > 0);
        let (process, is_own, has_ended) = match peering(root, node) {
            Peering::Own => (None, true, false),
            Peering::Ended => (None, false, true),
            Peering::Unknown => (None, false, false),
            Peering::Runs(process) => (Some(process).filter(|_| known.len() < MAX_DESCRIPTORS), false, false),
        };
        let peer = Arc::new(Peer { node, process, is_own, has_ended: has_ended.into() });
        known.insert(node, Arc::downgrade(&peer));
        drop(known);
        self.wake();
        peer
    }

    /// A number that changes whenever a peer has ended.
    pub(crate) fn ended(&self) -> u64 {
        self.ended.load(Ordering::SeqCst)
    }

    /// Notes that a peer's process has ended.
    pub(crate) fn note_end(&self, peer: &Peer) {
        if !peer.has_ended.swap(true, Ordering::SeqCst) {
            self.ended.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Asks which processes have ended, unless that was asked less than 5 ms ago.
    pub(crate) fn ask(&self, now: u64) {
        if now.saturating_sub(self.asked_ns.load(Ordering::Relaxed)) >= ASK_NS {
            self.asked_ns.store(now, Ordering::Relaxed);
            self.poll(None, Some(Duration::ZERO));
        }
    }

    /// Waits until a process has ended or the bell rings. Returns whether a process has ended.
    fn poll(&self, bell: Option<&OwnedFd>, time: Option<Duration>) -> bool {
        let peers: Vec<Arc<Peer>> = self.lock().values().filter_map(Weak::upgrade).collect();
        let running = peers.iter().filter(|peer| !peer.has_ended());
        let running: Vec<_> = running.filter_map(|peer| Some((&**peer, peer.process.as_ref()?))).collect();
        let mut polled: Vec<_> =
            running.iter().map(|(_, process)| PollFd::new(*process, PollFlags::IN)).collect();
        polled.extend(bell.map(|bell| PollFd::new(bell, PollFlags::IN)));
        if polled.is_empty() {
            return false;
        }
        let time = time.map(|time| Timespec {
            tv_sec: time.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: time.subsec_nanos().into(),
        });
        match poll(&mut polled, time.as_ref()) {
            Ok(0) | Err(Errno::INTR) => return false,
            Ok(_) => {}
            // Out of memory: the thread must not spin.
            Err(_) => {
                std::thread::sleep(PAUSE);
                return false;
            }
        }
        let mut any = false;
        for ((peer, _), polled) in running.iter().zip(&polled) {
            if !polled.revents().is_empty() {
                self.note_end(peer);
                any = true;
            }
        }
        any
    }

    /// Starts the thread that calls `tell` whenever a process has ended. Call it once.
    pub(crate) fn watch(self: &Arc<Self>, tell: impl Fn() + Send + 'static) -> io::Result<()> {
        let bell = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        self.stop.store(false, Ordering::SeqCst);
        let (peers, bell) = (self.clone(), Arc::new(bell));
        let theirs = bell.clone();
        situ_memory::thread::spawn("situ-peers", move || {
            while !peers.stop.load(Ordering::SeqCst) {
                if peers.poll(Some(&theirs), None) {
                    tell();
                }
                let mut count = [0u8; 8];
                let _ = rustix::io::read(theirs.as_fd(), &mut count);
            }
        })?;
        // Peers that were met before this did not ring. The thread looks at all of them now.
        let _ = self.bell.set(bell);
        self.wake();
        Ok(())
    }

    fn wake(&self) {
        // A forked child shares the descriptor with its parent, which it must not wake.
        if let Some(bell) = self.bell.get().filter(|_| self.process.is_this()) {
            let _ = rustix::io::write(bell, &1u64.to_ne_bytes());
        }
    }

    /// Ends the thread.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
        self.wake();
    }
}
