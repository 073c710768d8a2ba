//! The thread of a node that looks at endpoints whose events are waited for, when something changes.
//!
//! It sleeps on the words of their topics that change with the members, and until the next deadline or lease
//! ends. Another thread sleeps on the processes of their peers (`peers`), and wakes this one when one ends.
//! Both start with the first event that a wait set or an executor waits for.
//!
//! A process may die after it has changed a word and before it has woken this thread. So no sleep is longer
//! than a second.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use situ_memory::fork::Process;
use situ_memory::sync::atomic::{AtomicBool, Ordering};

use crate::clock::now_ns;
use crate::events::endpoint_events::EndpointEvents;
use crate::events::peers::Peers;
use crate::topic::Topic;
use crate::wait::sleep::{Word, sleep_on_any};
use crate::wake::WakeWord;

/// The longest sleep.
const LONGEST: Duration = Duration::from_secs(1);
/// The shortest sleep until a time: a deadline of some nanoseconds does not keep a core busy.
const SHORTEST: Duration = Duration::from_micros(100);

#[derive(Debug)]
struct Shared {
    watched: Mutex<Vec<Weak<EndpointEvents>>>,
    word: WakeWord,
    stop: AtomicBool,
}

/// The thread, and what it shares with the node.
#[derive(Debug)]
pub(crate) struct Monitor {
    shared: Arc<Shared>,
    peers: Arc<Peers>,
    thread: Option<JoinHandle<()>>,
    process: Process,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Vec<Weak<EndpointEvents>>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The endpoints that are waited for.
    fn endpoints(&self) -> Vec<Arc<EndpointEvents>> {
        let mut watched = self.lock();
        let endpoints: Vec<_> =
            watched.iter().filter_map(Weak::upgrade).filter(|endpoint| endpoint.is_waited_for()).collect();
        if endpoints.len() != watched.len() {
            watched.clear();
            watched.extend(endpoints.iter().map(Arc::downgrade));
        }
        endpoints
    }
}

impl Monitor {
    /// Starts the threads.
    pub(crate) fn start(peers: &Arc<Peers>) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            watched: Mutex::default(),
            word: WakeWord::new(),
            stop: AtomicBool::new(false),
        });
        let theirs = shared.clone();
        let thread = situ_memory::thread::spawn("situ-events", move || run(&theirs))?;
        let (bell, peers) = (shared.clone(), peers.clone());
        let monitor = Self { shared, peers, thread: Some(thread), process: Process::this() };
        // If it cannot be started, this ends the other thread.
        monitor.peers.watch(move || _ = bell.word.notify())?;
        Ok(monitor)
    }

    /// Looks at this endpoint from now on, as long as it is waited for; at once if `must_look`. The caller
    /// has made it one that is waited for.
    pub(crate) fn watch(&self, events: &Arc<EndpointEvents>, must_look: bool) {
        let mut watched = self.shared.lock();
        // The thread sleeps on the words of the listed endpoints. Under the lock, it removes those that are
        // not waited for.
        let is_known = watched.iter().any(|known| known.as_ptr() == Arc::as_ptr(events));
        if !is_known {
            watched.push(Arc::downgrade(events));
        }
        drop(watched);
        if must_look || !is_known {
            self.shared.word.notify();
        }
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        let thread = self.thread.take();
        if !self.process.is_this() {
            // This process has no such thread.
            std::mem::forget(thread);
            return;
        }
        self.peers.stop();
        self.shared.stop.store(true, Ordering::SeqCst);
        self.shared.word.notify();
        if let Some(thread) = thread.filter(|it| it.thread().id() != std::thread::current().id()) {
            let _ = thread.join();
        }
    }
}

fn run(shared: &Shared) {
    loop {
        // Announce first, then look, then sleep: see `wake`.
        let own = shared.word.announce();
        if shared.stop.load(Ordering::SeqCst) {
            return;
        }
        let endpoints = shared.endpoints();
        let mut topics: Vec<&Arc<Topic>> = endpoints.iter().map(|endpoint| endpoint.topic()).collect();
        // Each endpoint has mapped its topic itself: one word for each topic is enough.
        topics.sort_unstable_by_key(|topic| topic.header.id);
        topics.dedup_by_key(|topic| topic.header.id);
        let mut words: Vec<Word<'_>> = vec![(shared.word.futex(), own)];
        words.extend(
            topics
                .iter()
                .flat_map(|topic| topic.words_of_changes())
                .map(|word| (word, word.load(Ordering::SeqCst))),
        );
        let now = now_ns();
        endpoints.iter().filter(|endpoint| endpoint.needs_look(now)).for_each(|endpoint| endpoint.look(now));
        let due_ns = endpoints.iter().map(|endpoint| endpoint.due_ns()).min().unwrap_or(u64::MAX);
        let time = Duration::from_nanos(due_ns.saturating_sub(now_ns())).clamp(SHORTEST, LONGEST);
        sleep_on_any(&words, time, false);
    }
}
