//! Waits for changes of the graph.
//!
//! The graph lies in the files of one directory, so the kernel itself can tell of its changes (inotify):
//!
//! | change | what the kernel sees |
//! |---|---|
//! | a node is created | its file gets its name |
//! | an endpoint is created or dropped | a `write` to the file of its node |
//! | a node is dropped | its file is removed |
//! | a process dies, whatever the cause | its files are closed, among them the files that it had written |
//!
//! So nodes do nothing for their watchers. There is no memory that every participant may write, in which one
//! could hide a change from others. A wake-up that another process causes by touching a file does no harm.
//!
//! The kernel reports a file as closed just before it drops the lock of the file. A watch therefore looks at
//! the lock again, every millisecond until it is free, before it reports the death.
//!
//! The kernel allows each user a number of such watches (`fs.inotify.max_user_instances`, 128 by default). A
//! watch beyond them reports a possible change every 100 ms instead.

use std::ffi::{CStr, OsStr};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags};
use situ_memory::OpenRoot;
use situ_memory::fork::Process;

use crate::node::handle::Node;
use crate::node::liveness::{EXTENSION, NodeId, is_alive, number_of};
use crate::root::{Root, RootError};
use crate::wait_set::source::{Descriptor, Source, Waitable};

/// How often a watch looks whether a process that is ending has released its lock.
const LOOK: Duration = Duration::from_millis(1);
/// For how long it looks. Then the lock belongs to a process that lives on.
const MAX_LOOKING: Duration = Duration::from_secs(1);
/// How often a watch without inotify reports a possible change.
const POLLING: Duration = Duration::from_millis(100);
/// The name of the directory of nodes in the root.
const NODES: &CStr = c"nodes";

/// Why the graph cannot be watched.
#[derive(thiserror::Error)]
pub enum GraphWatchError {
    /// The root directory cannot be used, or was removed.
    #[error(transparent)]
    Root(#[from] RootError),
    /// The watch belongs to the parent process of a fork.
    #[error("the watch belongs to the process that this one was forked from: create a watch in this process")]
    Forked,
    /// The kernel refuses.
    #[error("cannot watch the graph: the kernel does not {action}: {source}")]
    System {
        /// What was tried.
        action: &'static str,
        /// The kernel's error.
        source: io::Error,
    },
}

situ_layout::debug_as_text!(GraphWatchError);

fn system(action: &'static str) -> impl Fn(Errno) -> GraphWatchError {
    move |error| GraphWatchError::System { action, source: error.into() }
}

/// Tells when the graph of a root has changed: nodes or endpoints were created or dropped, or a process has
/// died. It does not say what: compare two graphs ([`Graph::changes_since`](crate::Graph::changes_since)).
/// Create the watch first and read the graph then, so that no change is missed.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let node = situ_bus::Node::new("monitor")?;
/// let watch = node.watch_graph()?;
/// let mut graph = node.graph()?;
/// while watch.wait(None)? {
///     let now = node.graph()?;
///     for endpoint in now.changes_since(&graph).endpoints_joined {
///         println!("{:?} of {}", endpoint.role, endpoint.name);
///     }
///     graph = now;
/// }
/// # Ok(())
/// # }
/// ```
///
/// It has a descriptor for epoll, and is a source of wait sets and executors. Both are ready until
/// [`take`](Self::take) is called.
#[derive(Debug)]
pub struct GraphWatch {
    root: OpenRoot,
    /// Reports `events` and `timer` together.
    epoll: Arc<OwnedFd>,
    /// `None` if the kernel allows no more of them.
    events: Option<OwnedFd>,
    timer: OwnedFd,
    pending: Mutex<Pending>,
    process: Process,
}

/// What the watch looks for again by its timer.
#[derive(Debug, Default)]
struct Pending {
    /// The nodes whose files were closed, until their locks are free.
    closed: Vec<NodeId>,
    /// When the last of them was closed.
    closed_at: Option<Instant>,
    /// The directory of nodes was removed. The next node creates it again.
    is_detached: bool,
}

/// What the events of the kernel say.
#[derive(Debug, Default)]
struct Seen {
    has_changed: bool,
    closed: Vec<NodeId>,
    /// The directory of nodes is gone, or the root.
    is_removed: bool,
}

impl GraphWatch {
    /// Begins to watch the graph of a root. Creates the root if it does not exist.
    pub fn new(root: &Root) -> Result<Self, GraphWatchError> {
        Self::of(root.prepare()?)
    }

    fn of(root: OpenRoot) -> Result<Self, GraphWatchError> {
        Self::with(root, inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok())
    }

    /// A watch by these events, or by the timer alone.
    fn with(root: OpenRoot, events: Option<OwnedFd>) -> Result<Self, GraphWatchError> {
        let process = Process::this();
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = rustix::time::timerfd_create(TimerfdClockId::Monotonic, flags)
            .map_err(system("create a timer"))?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(system("create an epoll instance"))?;
        let add = |fd: BorrowedFd<'_>| {
            let data = epoll::EventData::new_u64(0);
            epoll::add(&epoll, fd, data, epoll::EventFlags::IN).map_err(system("poll a descriptor"))
        };
        add(timer.as_fd())?;
        if let Some(events) = &events {
            add(events.as_fd())?;
        }
        let epoll = Arc::new(epoll);
        let mut watch = Self { root, epoll, events, timer, pending: Mutex::default(), process };
        // The kernel limits the number of watched directories, too.
        if watch.watch_root().and_then(|()| watch.watch_nodes()).is_err() {
            watch.events = None;
        }
        if watch.is_polling() {
            watch.set_timer(POLLING, POLLING)?;
        }
        Ok(watch)
    }

    /// Whether the kernel allows this user no more watches, so that this one reports a possible change every
    /// 100 ms.
    pub fn is_polling(&self) -> bool {
        self.events.is_none()
    }

    /// The directory of nodes stays open for as long as a node's file is, so that its removal is an event of
    /// the root.
    fn watch_root(&self) -> Result<(), GraphWatchError> {
        self.add(self.root.descriptor(), WatchFlags::DELETE | WatchFlags::MOVED_FROM | WatchFlags::MOVE_SELF)
    }

    fn watch_nodes(&self) -> Result<(), GraphWatchError> {
        let open = |source| GraphWatchError::System { action: "open the directory of nodes", source };
        let directory = self.root.nodes().open_directory().map_err(open)?;
        let names = WatchFlags::MOVED_TO | WatchFlags::MOVED_FROM | WatchFlags::DELETE;
        self.add(directory.as_fd(), names | WatchFlags::MODIFY | WatchFlags::CLOSE_WRITE)
    }

    fn add(&self, directory: BorrowedFd<'_>, flags: WatchFlags) -> Result<(), GraphWatchError> {
        let Some(events) = &self.events else { return Ok(()) };
        // By its descriptor: a path may lead elsewhere by now.
        let path = format!("/proc/self/fd/{}", directory.as_raw_fd());
        let added = inotify::add_watch(events, path, flags | WatchFlags::ONLYDIR);
        added.map_err(system("watch a directory")).map(drop)
    }

    fn set_timer(&self, first: Duration, every: Duration) -> Result<(), GraphWatchError> {
        let time = |time: Duration| rustix::time::Timespec {
            tv_sec: time.as_secs() as i64,
            tv_nsec: time.subsec_nanos().into(),
        };
        let spec = Itimerspec { it_interval: time(every), it_value: time(first) };
        let set = rustix::time::timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &spec);
        set.map_err(system("set a timer")).map(drop)
    }

    fn lock(&self) -> MutexGuard<'_, Pending> {
        // A list of nodes is consistent after each step of a thread that panicked.
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether the graph may have changed since the last call, or since the watch was created. Does
    /// not wait. If the root was removed, this is an error from then on.
    pub fn take(&self) -> Result<bool, GraphWatchError> {
        if !self.process.is_this() {
            return Err(GraphWatchError::Forked);
        }
        let mut pending = self.lock();
        let is_time = self.take_timer();
        let Some(events) = &self.events else {
            self.root.check()?;
            return Ok(is_time);
        };
        let seen = read_events(events)?;
        let mut has_changed = seen.has_changed;
        pending.is_detached |= seen.is_removed;
        if pending.is_detached {
            self.root.check()?;
            pending.is_detached = self.watch_nodes().is_err();
            has_changed |= !pending.is_detached;
        }
        if !seen.closed.is_empty() {
            pending.closed.extend(seen.closed);
            pending.closed.sort_unstable();
            pending.closed.dedup();
            pending.closed_at = Some(Instant::now());
        }
        if !pending.closed.is_empty() {
            let before = pending.closed.len();
            pending.closed.retain(|node| is_alive(&self.root, *node));
            has_changed |= pending.closed.len() < before;
            if pending.closed_at.is_none_or(|at| at.elapsed() > MAX_LOOKING) {
                pending.closed.clear();
            }
        }
        if !pending.closed.is_empty() {
            self.set_timer(LOOK, Duration::ZERO)?;
        } else if pending.is_detached {
            self.set_timer(POLLING, Duration::ZERO)?;
        }
        Ok(has_changed)
    }

    /// Waits until the graph may have changed, at most for `timeout` (without a limit if `None`). Returns
    /// whether it may.
    pub fn wait(&self, timeout: Option<Duration>) -> Result<bool, GraphWatchError> {
        let start = Instant::now();
        loop {
            if self.take()? {
                return Ok(true);
            }
            let left = timeout.map(|timeout| timeout.saturating_sub(start.elapsed()));
            if left == Some(Duration::ZERO) {
                return Ok(false);
            }
            let limit = left.map(|left| Timespec {
                tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: left.subsec_nanos().into(),
            });
            match poll(&mut [PollFd::new(&*self.epoll, PollFlags::IN)], limit.as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(system("wait for a descriptor")(error)),
            }
        }
    }

    /// Whether the timer has come since it was set.
    fn take_timer(&self) -> bool {
        rustix::io::read(&self.timer, &mut [0u8; 8]).is_ok()
    }
}

/// Takes the events that have come so far.
fn read_events(events: &OwnedFd) -> Result<Seen, GraphWatchError> {
    let mut seen = Seen::default();
    let mut buffer = [MaybeUninit::uninit(); 8192];
    let mut reader = inotify::Reader::new(events, &mut buffer);
    loop {
        let event = match reader.next() {
            Ok(event) => event,
            Err(Errno::AGAIN) => return Ok(seen),
            Err(Errno::INTR) => continue,
            Err(error) => return Err(system("report changes")(error)),
        };
        let flags = event.events();
        if flags.intersects(ReadFlags::QUEUE_OVERFLOW) {
            seen.has_changed = true;
        }
        let is_nodes = event.file_name().is_some_and(|name| name == NODES);
        if is_nodes || flags.intersects(ReadFlags::MOVE_SELF) {
            seen.is_removed = true;
        }
        let Some(node) = event.file_name().and_then(node_of) else { continue };
        if flags.intersects(ReadFlags::CLOSE_WRITE) {
            seen.closed.push(node);
        } else {
            seen.has_changed = true;
        }
    }
}

/// The node of a file's name. Files that are still being written have other names.
fn node_of(name: &CStr) -> Option<NodeId> {
    number_of(OsStr::from_bytes(name.to_bytes()), EXTENSION)
}

impl AsFd for GraphWatch {
    /// A descriptor for epoll and similar calls: readable until [`take`](Self::take) is called after a
    /// change.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

impl Waitable for GraphWatch {
    fn source(&self) -> Source {
        Descriptor::readable(self.epoll.clone()).source()
    }
}

impl Node {
    /// Begins to watch the graph of its root and graph domain.
    pub fn watch_graph(&self) -> Result<GraphWatch, GraphWatchError> {
        GraphWatch::of(self.inner.root.clone())
    }
}

#[cfg(test)]
mod tests {
    use situ_testkit::Scratch;

    use super::*;

    #[test]
    fn without_events_a_possible_change_is_told_from_time_to_time() {
        let scratch = Scratch::new("graph-watch");
        let root = Root::at(scratch.path(), None).prepare().unwrap();
        let watch = GraphWatch::with(root, None).unwrap();
        assert!(watch.is_polling());
        let limit = Some(Duration::from_secs(20));
        assert!(watch.wait(limit).unwrap() && watch.wait(limit).unwrap());
        std::fs::remove_dir_all(scratch.path()).unwrap();
        assert!(matches!(watch.take(), Err(GraphWatchError::Root(RootError::Removed { .. }))));
    }
}
