//! The collector's thread: rounds over all rings, until the session ends.

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
use super::ring_reader::{Drained, Remote};
use super::sink::Output;
use super::summary::{ProducerSummary, Summary};

/// How often it is looked who has died or left.
const CARE: Duration = Duration::from_millis(100);
/// How often the clocks are compared.
const SNAPSHOTS: Duration = Duration::from_secs(1);
/// How long an idle chunk stays its writer's, in milliseconds.
const IDLE_MS: u64 = 200;
/// How long it is waited for producers to hear that the session has ended. They are woken for it; but they may be stopped, or the
/// machine may be busy.
const GOODBYE: Duration = Duration::from_secs(1);

/// What the collector's thread and its owner share.
#[derive(Debug)]
pub(super) struct Common {
    pub(super) control: Control,
    pub(super) session: Session,
    pub(super) stop: AtomicBool,
    pub(super) producers: AtomicUsize,
    /// Somebody has asked for the end, or nothing can be written any more.
    pub(super) should_end: Mutex<bool>,
    pub(super) ended: Condvar,
}

pub(super) struct Worker {
    common: Arc<Common>,
    directory: Beneath,
    output: Output,
    period: Duration,
    rings: Vec<Remote>,
    /// The files that are rings of ours, or were.
    known: HashSet<OsString>,
    arrivals: Option<u32>,
    summary: Summary,
    sequences: u32,
    start: Instant,
}

impl Worker {
    pub(super) fn new(common: Arc<Common>, directory: Beneath, output: Output, period: Duration) -> Self {
        let period = period.max(Duration::from_micros(100));
        Self {
            common,
            directory,
            output,
            period,
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
        let (mut cared, mut compared) = (Instant::now(), Instant::now());
        while !self.common.stop.load(Ordering::Acquire) {
            let announced = self.common.control.work().announce();
            self.find();
            let everything = self.drain_all();
            if cared.elapsed() >= CARE {
                self.care();
                cared = Instant::now();
            }
            if compared.elapsed() >= SNAPSHOTS {
                clocks::snapshot(false, &mut self.output);
                self.output.flush();
                compared = Instant::now();
            }
            if self.common.control.is_stop_requested(&self.common.session) || self.output.has_failed() {
                self.say_that_it_should_end();
            }
            // Sleeping is worth it only if nothing is left.
            if everything == Drained::All && !self.common.stop.load(Ordering::Acquire) {
                self.common.control.work().sleep(announced, self.period);
            }
        }
        self.finish()
    }

    fn say_that_it_should_end(&self) {
        let mut should_end = self.common.should_end.lock().unwrap_or_else(PoisonError::into_inner);
        if !std::mem::replace(&mut *should_end, true) {
            self.common.ended.notify_all();
        }
    }

    /// Opens the rings that have come since the last time.
    fn find(&mut self) {
        let arrivals = self.common.control.arrivals();
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
            match Remote::open(&self.directory.join(&name), self.common.session.id) {
                Ok(Some(ring)) => self.rings.push(ring),
                Ok(None) => {}
                Err(reason) => {
                    let name = name.to_string_lossy().into_owned();
                    self.summary.producers.push(ProducerSummary {
                        name,
                        given_up: Some(reason),
                        ..Default::default()
                    });
                }
            }
        }
        self.common.producers.store(self.rings.len(), Ordering::Relaxed);
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

    /// Reads a ring to its end, as it is now.
    fn drain_to_the_end(ring: &mut Remote, is_dead: bool, sequences: &mut u32, output: &mut Output) {
        // A producer that goes on writing could keep us here: not longer than its ring is long, several times.
        for _ in 0..10_000 {
            if ring.drain(u64::MAX, u64::MAX, is_dead, sequences, output) == Drained::All {
                return;
            }
        }
    }

    /// Looks who has died, and which writers have left.
    fn care(&mut self) {
        let mut index = 0;
        while index < self.rings.len() {
            let ring = &mut self.rings[index];
            if ring.is_alive() {
                ring.look_after_writers(&mut self.output);
                index += 1;
            } else {
                Self::drain_to_the_end(ring, true, &mut self.sequences, &mut self.output);
                self.summary.producers.push(ring.finish(true, &mut self.output));
                self.rings.remove(index);
            }
        }
        self.common.producers.store(self.rings.len(), Ordering::Relaxed);
    }

    /// Ends the session.
    fn finish(mut self) -> io::Result<Summary> {
        let common = self.common.clone();
        common.control.conclude(&common.session);
        let deadline = Instant::now() + GOODBYE;
        let mut cared = Instant::now();
        loop {
            let announced = common.control.work().announce();
            self.find();
            self.drain_all();
            let are_quiet = self.rings.iter().all(|ring| ring.is_quiet() || ring.is_given_up());
            if are_quiet || Instant::now() >= deadline {
                break;
            }
            if cared.elapsed() >= CARE {
                self.care();
                cared = Instant::now();
            }
            common.control.work().sleep(announced, self.period.min(Duration::from_millis(5)));
        }
        for mut ring in std::mem::take(&mut self.rings) {
            let is_dead = !ring.is_alive();
            Self::drain_to_the_end(&mut ring, is_dead, &mut self.sequences, &mut self.output);
            self.summary.producers.push(ring.finish(is_dead, &mut self.output));
        }
        clocks::snapshot(false, &mut self.output);
        let written = self.output.finish();
        remove_rings(&self.directory);
        written?;
        self.summary.packets =
            self.summary.producers.iter().flat_map(|producer| &producer.writers).map(|w| w.packets).sum();
        self.summary.bytes = self.output.bytes;
        self.summary.evicted = self.output.evicted;
        Ok(self.summary)
    }
}
