//! The model checker explores the protocol between writers and the collector. It tries every interleaving of
//! a few steps (up to a number of preemptions), and every value that a load may give under the memory model.
//!
//! ```sh
//! RUSTFLAGS="--cfg loom" cargo test -p situ-trace --test model --target-dir target/loom
//! ```
//!
//! Broken variants of the protocol stand beside the model. In each of them the checker must find the error.
#![cfg(loom)]

use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::thread;
use situ_memory::sync::atomic::{AtomicU32, Ordering};
use situ_trace::shm::chunk_state::{ChunkWord, State, Word};
use situ_trace::shm::free_list::{End, FreeList};

/// Explores a model with at most `preemptions` preemptions: most errors need two.
fn explore(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

/// The number of packets that fit into a chunk of the model.
const FITS: usize = 2;

/// A chunk with fragments that only the protocol protects: loom reports every unordered access.
struct Chunk {
    word: ChunkWord,
    fragments: [UnsafeCell<u32>; FITS],
}

/// A ring in private memory.
struct Ring {
    chunks: Vec<Chunk>,
    head: End,
    tail: End,
    list: Vec<AtomicU32>,
    steps: AtomicU32,
}

// SAFETY: the models check that no two accesses of a fragment race.
unsafe impl Sync for Ring {}
// SAFETY: numbers may be sent.
unsafe impl Send for Ring {}

impl Ring {
    fn new(chunks: u32) -> Arc<Self> {
        let chunk =
            |_| Chunk { word: ChunkWord::new(), fragments: std::array::from_fn(|_| UnsafeCell::new(0)) };
        let ring = Self {
            chunks: (0..chunks).map(chunk).collect(),
            head: End::new(),
            tail: End::new(),
            list: (0..chunks).map(|_| AtomicU32::new(0)).collect(),
            steps: AtomicU32::new(0),
        };
        (0..chunks).for_each(|number| ring.free().give(number.into(), number));
        Arc::new(ring)
    }

    /// Called before each step. Every thread changes this word, which orders no other access, so that loom
    /// explores every order of steps. Loom interleaves only accesses that it considers dependent, and keeps
    /// only the last access of a thread to a word. A thread that loads a word and then swaps it hides the
    /// load of another thread.
    fn step(&self) {
        self.steps.fetch_add(1, Ordering::Relaxed);
    }

    fn free(&self) -> FreeList<'_> {
        FreeList { head: &self.head, tail: &self.tail, list: &self.list }
    }
}

/// The steps that have broken variants.
#[derive(Clone, Copy)]
struct Steps {
    begin: fn(&ChunkWord, Word) -> bool,
    /// The packet is counted before it is written.
    counts_first: bool,
    /// The chunk is freed before it is read.
    frees_first: bool,
}

const RIGHT: Steps = Steps { begin: ChunkWord::begin, counts_first: false, frees_first: false };

/// A writer as in `chunk_writer.rs`, with packets of one fragment.
struct Writer<'a> {
    ring: &'a Ring,
    name: u16,
    chunk: Option<(&'a Chunk, Word)>,
    steps: Steps,
}

impl<'a> Writer<'a> {
    fn new(ring: &'a Ring, name: u16, steps: Steps) -> Self {
        Self { ring, name, chunk: None, steps }
    }

    /// Writes a packet. Returns false if no chunk was free, so that the packet is lost.
    fn write(&mut self, packet: u32) -> bool {
        self.ring.step();
        let (chunk, word) = match self.chunk.take() {
            Some((chunk, idle))
                if (idle.count() as usize) < FITS && (self.steps.begin)(&chunk.word, idle) =>
            {
                (chunk, idle.with(State::Busy))
            }
            other => {
                if let Some((chunk, idle)) = other {
                    chunk.word.hand_in(idle);
                }
                self.ring.step();
                let Some((number, _)) = self.ring.free().take() else { return false };
                self.ring.step();
                let (chunk, word) = (&self.ring.chunks[number as usize], Word::taken(self.name, false));
                chunk.word.publish(word);
                (chunk, word)
            }
        };
        let value = u32::from(self.name) * 100 + packet;
        let fragment = &chunk.fragments[word.count() as usize];
        // SAFETY: the pointer is valid; loom checks that no other thread uses it.
        let put = || fragment.with_mut(|fragment| unsafe { *fragment = value });
        let idle = word.plus(1).with(State::Idle);
        self.ring.step();
        if self.steps.counts_first {
            chunk.word.publish(idle);
            put();
        } else {
            put();
            chunk.word.publish(idle);
        }
        self.chunk = Some((chunk, idle));
        true
    }
}

/// The collector as in `ring_reader.rs`.
struct Collector<'a> {
    ring: &'a Ring,
    free: Vec<u32>,
    taken: u64,
    given: u64,
    /// The chunks that are taken, and the number of fragments of each that were read.
    out: Vec<(u32, u32)>,
    found: Vec<u32>,
    steps: Steps,
}

impl<'a> Collector<'a> {
    fn new(ring: &'a Ring, steps: Steps) -> Self {
        let chunks = ring.chunks.len() as u32;
        let (free, given) = ((0..chunks).collect(), chunks.into());
        Self { ring, free, taken: 0, given, out: Vec::new(), found: Vec::new(), steps }
    }

    /// A round. `reclaims`: idle chunks are reclaimed. `is_dead`: no writer writes any more.
    fn drain(&mut self, reclaims: bool, is_dead: bool) {
        self.ring.step();
        let taken = self.ring.free().taken();
        while self.taken != taken {
            self.out.push((self.free.remove(0), 0));
            self.taken += 1;
        }
        for (number, read) in std::mem::take(&mut self.out) {
            let chunk = &self.ring.chunks[number as usize];
            self.ring.step();
            let mut word = chunk.word.load();
            self.ring.step();
            if word.state() == Some(State::Free) && !is_dead {
                self.out.push((number, read));
                continue;
            }
            if word.state() == Some(State::Idle) && reclaims && chunk.word.reclaim(word) {
                word = word.with(State::Complete);
            }
            let is_done = is_dead || word.state() == Some(State::Complete);
            if is_done && self.steps.frees_first {
                self.give(number);
            }
            self.ring.step();
            for fragment in &chunk.fragments[read as usize..word.count() as usize] {
                // SAFETY: as above.
                self.found.push(fragment.with(|fragment| unsafe { *fragment }));
            }
            if !is_done {
                self.out.push((number, word.count()));
            } else if !self.steps.frees_first {
                self.give(number);
            }
        }
    }

    fn give(&mut self, number: u32) {
        self.ring.chunks[number as usize].word.free();
        self.ring.free().give(self.given, number);
        self.given += 1;
        self.free.push(number);
    }
}

/// Two writers, one of which writes again after a silence, and a collector that reclaims idle chunks. At the
/// end each packet that was not lost was found once, in its writer's order.
fn write_and_collect(chunks: u32, packets: [u32; 2], steps: Steps) {
    explore(2, move || {
        let ring = Ring::new(chunks);
        let writers = [1u16, 2].map(|name| {
            let ring = ring.clone();
            thread::spawn(move || {
                let mut writer = Writer::new(&ring, name, steps);
                let number = packets[name as usize - 1];
                (0..number)
                    .filter(|packet| writer.write(*packet))
                    .map(|packet| u32::from(name) * 100 + packet)
                    .collect::<Vec<_>>()
            })
        });
        let mut collector = Collector::new(&ring, steps);
        collector.drain(true, false);
        collector.drain(true, false);
        let written: Vec<Vec<u32>> = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
        // The writers have ended without handing in their chunks.
        collector.drain(false, true);
        for (name, written) in [1, 2].iter().zip(written) {
            let found: Vec<u32> =
                collector.found.iter().copied().filter(|value| value / 100 == *name).collect();
            assert_eq!(found, written, "finished packets are found once, in order");
        }
    });
}

#[test]
fn finished_packets_are_found_once_and_in_order() {
    write_and_collect(1, [2, 1], RIGHT);
    write_and_collect(2, [3, 1], RIGHT);
}

#[test]
#[should_panic]
fn broken_beginning_without_a_swap() {
    let begin = |word: &ChunkWord, idle: Word| {
        word.publish(idle.with(State::Busy));
        true
    };
    write_and_collect(1, [2, 1], Steps { begin, ..RIGHT });
}

#[test]
#[should_panic]
fn broken_counting_before_writing() {
    write_and_collect(1, [2, 1], Steps { counts_first: true, ..RIGHT });
}

#[test]
#[should_panic]
fn broken_freeing_before_reading() {
    write_and_collect(1, [2, 1], Steps { frees_first: true, ..RIGHT });
}

/// A writer dies at any step: its finished packets are found, and its chunk serves other writers.
#[test]
fn a_dead_writer_leaves_its_finished_packets() {
    for step in 0..4 {
        explore(3, move || {
            let ring = Ring::new(1);
            let dying = {
                let ring = ring.clone();
                thread::spawn(move || {
                    ring.step();
                    let Some((number, _)) = ring.free().take() else { return };
                    ring.step();
                    if step == 0 {
                        return;
                    }
                    let (chunk, word) = (&ring.chunks[number as usize], Word::taken(1, false));
                    chunk.word.publish(word);
                    ring.step();
                    if step == 1 {
                        return;
                    }
                    // SAFETY: as above.
                    chunk.fragments[0].with_mut(|fragment| unsafe { *fragment = 100 });
                    if step == 2 {
                        return;
                    }
                    chunk.word.publish(word.plus(1).with(State::Idle));
                })
            };
            let mut collector = Collector::new(&ring, RIGHT);
            collector.drain(true, false);
            dying.join().unwrap();
            collector.drain(false, true);
            assert_eq!(collector.found, if step == 3 { vec![100] } else { vec![] });
            assert_eq!((collector.out.len(), collector.free.len()), (0, 1), "the chunk is back");
            assert!(Writer::new(&ring, 2, RIGHT).write(0));
        });
    }
}
