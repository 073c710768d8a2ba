//! The collector's thread. It makes rounds over all rings until the session ends.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use situ_memory::Beneath;

use crate::shm::control::Control;
use crate::shm::ring::EXTENSION;
use crate::shm::session::Session;

use super::cleanup::remove_rings;
use super::clocks;
use super::damage;
use super::ring_reader::{Drained, RingReader};
use super::scheduling::Scheduling;
use super::sink::TraceOutput;
use super::summary::{ProducerSummary, Summary};

/// The interval between checks for dead producers, and for writers that have left.
const LIVENESS_INTERVAL: Duration = Duration::from_millis(100);
/// The interval between clock snapshots.
const CLOCK_INTERVAL: Duration = Duration::from_secs(1);
/// The time after which an idle chunk is reclaimed, in milliseconds.
const IDLE_MS: u64 = 200;
/// The time limit for producers to react to the session's end. They are woken, but may be stopped, or the
/// machine may be busy.
const END_TIMEOUT: Duration = Duration::from_secs(1);

/// State that the collector's thread and its owner share.
#[derive(Debug)]
pub(super) struct SharedSession {
    pub(super) control: Control,
    pub(super) session: Session,
    pub(super) stop: AtomicBool,
    pub(super) producers: AtomicUsize,
    /// A process has requested the end, or writing has failed.
    pub(super) should_end: Mutex<bool>,
    pub(super) ended: Condvar,
}

pub(super) struct Worker {
    shared: Arc<SharedSession>,
    directory: Beneath,
    output: TraceOutput,
    period: Duration,
    scheduling: Option<Scheduling>,
    rings: Vec<RingReader>,
    /// The names of rings that were opened.
    known: HashSet<OsString>,
    arrivals: Option<u32>,
    summary: Summary,
    sequences: u32,
    start: Instant,
}

impl Worker {
    pub(super) fn new(
        shared: Arc<SharedSession>,
        directory: Beneath,
        output: TraceOutput,
        period: Duration,
        scheduling: Option<Scheduling>,
    ) -> Self {
        let period = period.max(Duration::from_micros(100));
        Self {
            shared,
            directory,
            output,
            period,
            scheduling,
            rings: Vec::new(),
            known: HashSet::new(),
            arrivals: None,
            summary: Summary::default(),
            sequences: clocks::SEQUENCE,
            start: Instant::now(),
        }
    }

    pub(super) fn run(mut self) -> io::Result<Summary> {
        clocks::snapshot(true, &mut self.output);
        let (mut checked, mut compared) = (Instant::now(), Instant::now());
        while !self.shared.stop.load(Ordering::Acquire) {
            let announced = self.shared.control.work().announce();
            self.open_new_rings();
            let everything = self.drain_all();
            if let Some(scheduling) = &mut self.scheduling {
                scheduling.read(&mut self.output);
            }
            if checked.elapsed() >= LIVENESS_INTERVAL {
                self.check_liveness();
                checked = Instant::now();
            }
            if compared.elapsed() >= CLOCK_INTERVAL {
                clocks::snapshot(false, &mut self.output);
                self.output.flush();
                compared = Instant::now();
            }
            self.output.write_due(false);
            if self.shared.control.is_stop_requested(&self.shared.session)
                || self.output.has_failed()
                || self.output.is_done()
            {
                self.signal_end();
            }
            // While more data is there, sleeping costs more than it saves.
            if everything == Drained::All && !self.shared.stop.load(Ordering::Acquire) {
                self.shared.control.work().sleep(announced, self.period);
            }
        }
        self.finish()
    }

    fn signal_end(&self) {
        let mut should_end = self.shared.should_end.lock().unwrap_or_else(PoisonError::into_inner);
        if !std::mem::replace(&mut *should_end, true) {
            self.shared.ended.notify_all();
        }
    }

    /// Opens new rings.
    fn open_new_rings(&mut self) {
        let arrivals = self.shared.control.arrivals();
        if self.arrivals == Some(arrivals) {
            return;
        }
        self.arrivals = Some(arrivals);
        let Ok(names) = self.directory.names() else { return };
        for name in names {
            if Path::new(&name).extension().is_none_or(|extension| extension != EXTENSION)
                || !self.known.insert(name.clone())
            {
                continue;
            }
            match RingReader::open(&self.directory.join(&name), self.shared.session.id) {
                Ok(Some(ring)) => self.rings.push(ring),
                Ok(None) => {}
                Err(reason) => {
                    let (name, given_up) = (name.to_string_lossy().into_owned(), Some(reason));
                    self.summary.producers.push(ProducerSummary { name, given_up, ..Default::default() });
                }
            }
        }
        self.shared.producers.store(self.rings.len(), Ordering::Relaxed);
    }

    /// One turn for each ring.
    fn drain_all(&mut self) -> Drained {
        let now = self.start.elapsed().as_millis() as u64;
        let mut all = Drained::All;
        for ring in &mut self.rings {
            let drained = ring.drain(now, IDLE_MS, false, &mut self.sequences, &mut self.output);
            if drained == Drained::Turn {
                all = Drained::Turn;
            }
        }
        all
    }

    /// Reads a ring to its present end.
    fn drain_to_the_end(ring: &mut RingReader, is_dead: bool, sequences: &mut u32, output: &mut TraceOutput) {
        // Bounded, because a producer may continue to write. The bound is several times the length of a ring.
        for _ in 0..10_000 {
            if ring.drain(u64::MAX, u64::MAX, is_dead, sequences, output) == Drained::All {
                return;
            }
        }
    }

    /// Finishes the rings of dead producers, and frees the entries of writers that have left.
    fn check_liveness(&mut self) {
        let mut index = 0;
        while index < self.rings.len() {
            let ring = &mut self.rings[index];
            if ring.is_alive() {
                ring.free_left_entries(&mut self.output);
                index += 1;
            } else {
                Self::drain_to_the_end(ring, true, &mut self.sequences, &mut self.output);
                self.summary.producers.push(ring.finish(true, &mut self.output));
                self.rings.remove(index);
            }
        }
        self.shared.producers.store(self.rings.len(), Ordering::Relaxed);
    }

    /// Ends the session.
    fn finish(mut self) -> io::Result<Summary> {
        let shared = self.shared.clone();
        shared.control.conclude(&shared.session);
        let deadline = Instant::now() + END_TIMEOUT;
        let mut checked = Instant::now();
        loop {
            let announced = shared.control.work().announce();
            self.open_new_rings();
            self.drain_all();
            let are_quiet = self.rings.iter().all(|ring| ring.is_quiet() || ring.is_given_up());
            if are_quiet || Instant::now() >= deadline {
                break;
            }
            if checked.elapsed() >= LIVENESS_INTERVAL {
                self.check_liveness();
                checked = Instant::now();
            }
            shared.control.work().sleep(announced, self.period.min(Duration::from_millis(5)));
        }
        for mut ring in std::mem::take(&mut self.rings) {
            let is_dead = !ring.is_alive();
            Self::drain_to_the_end(&mut ring, is_dead, &mut self.sequences, &mut self.output);
            self.summary.producers.push(ring.finish(is_dead, &mut self.output));
        }
        if let Some(mut scheduling) = self.scheduling.take() {
            scheduling.finish(&mut self.output);
            self.summary.scheduling_events = scheduling.events;
            self.summary.scheduling_lost = scheduling.lost;
        }
        clocks::snapshot(false, &mut self.output);
        damage::report(self.summary.damaged(), &mut self.output);
        let written = self.output.finish();
        remove_rings(&self.directory);
        written?;
        self.summary.packets =
            self.summary.producers.iter().flat_map(|producer| &producer.writers).map(|w| w.packets).sum();
        self.summary.bytes = self.output.bytes;
        self.summary.evicted = self.output.evicted;
        self.summary.files = std::mem::take(&mut self.output.files);
        Ok(self.summary)
    }
}
