//! Samples messages in the background: their sizes, and their ages at the time when a waiting subscriber
//! would wake up for them.
//!
//! It observes topics without joining them, so it neither holds memory nor delays a publisher. It reads only
//! a few messages per second and topic, because a publisher makes a system call for each waiting process.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use situ::bus::{Observer, Root, now_ns};

use super::snapshot::Samples;

/// The pause in a topic's samples after one of its messages was sampled.
const REST: Duration = Duration::from_millis(10);
/// The longest wait before the thread checks the list of topics and whether to stop.
const GLANCE: Duration = Duration::from_millis(50);
/// The greatest number of ages kept for a topic until they are fetched.
const MOST: usize = 4096;

#[derive(Debug, Default)]
struct Shared {
    /// The topics to watch.
    names: Mutex<Vec<String>>,
    found: Mutex<HashMap<String, Samples>>,
    stop: AtomicBool,
}

/// The thread that samples. It stops when this is dropped.
#[derive(Debug)]
pub struct Sampler {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Sampler {
    /// Starts the thread.
    pub fn start(root: Root) -> Self {
        let shared = Arc::new(Shared::default());
        let thread = std::thread::spawn({
            let shared = shared.clone();
            move || sample(&root, &shared)
        });
        Self { shared, thread: Some(thread) }
    }

    /// Sets the topics to watch.
    pub fn watch(&self, names: impl Iterator<Item = String>) {
        *self.shared.names.lock().unwrap_or_else(PoisonError::into_inner) = names.collect();
    }

    /// Returns the samples since the last call.
    pub fn take(&self) -> HashMap<String, Samples> {
        std::mem::take(&mut *self.shared.found.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A watched topic, and the time from which it is sampled.
struct Watched {
    observer: Observer,
    due: Instant,
}

fn sample(root: &Root, shared: &Shared) {
    let mut watched: HashMap<String, Watched> = HashMap::new();
    let mut checked = Instant::now();
    while !shared.stop.load(Ordering::Relaxed) {
        let names = shared.names.lock().unwrap_or_else(PoisonError::into_inner).clone();
        watched.retain(|name, _| names.contains(name));
        if checked.elapsed() > Duration::from_secs(1) {
            checked = Instant::now();
            watched.retain(|_, topic| topic.observer.is_current());
        }
        for name in names {
            if !watched.contains_key(&name)
                && let Ok(Some(observer)) = Observer::open(root, &name)
            {
                watched.insert(name, Watched { observer, due: Instant::now() });
            }
        }
        let now = Instant::now();
        // Messages that are published during a topic's pause are skipped: the sampler does not wait for them.
        let all = watched.len();
        let mut due: Vec<&mut Watched> = watched.values_mut().filter(|topic| topic.due <= now).collect();
        for topic in &mut due {
            topic.observer.latest();
        }
        let observers: Vec<&Observer> = due.iter().map(|topic| &topic.observer).collect();
        if observers.is_empty() {
            std::thread::sleep(REST);
            continue;
        }
        // Paused topics become due meanwhile.
        let timeout = if observers.len() == all { GLANCE } else { REST };
        if !Observer::wait_any(&observers, timeout) {
            continue;
        }
        let noticed = now_ns();
        let mut found = shared.found.lock().unwrap_or_else(PoisonError::into_inner);
        for topic in due {
            let Some(seen) = topic.observer.latest() else { continue };
            topic.due = Instant::now() + REST;
            let samples = found.entry(topic.observer.topic().to_owned()).or_default();
            samples.bytes = samples.bytes.saturating_add(seen.bytes);
            samples.messages += 1;
            if seen.published_at_ns != 0 && samples.ages_ns.len() < MOST {
                samples.ages_ns.push(noticed.saturating_sub(seen.published_at_ns));
            }
        }
    }
}
