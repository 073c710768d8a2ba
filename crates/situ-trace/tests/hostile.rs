//! A producer whose ring is overwritten at random, and rings that are lies from the start: the collector neither crashes nor hangs,
//! and the packets of others are whole.
#![cfg(not(loom))]

mod common;

use std::fs::{self, OpenOptions};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::{Duration, Instant};

use common::process::{Random, Role, role, say};
use common::{PATIENCE, Scratch, write};
use situ_memory::{Access, Mapping};
use situ_trace::{Collector, Producer};

fn rounds(usual: u64) -> u64 {
    std::env::var("SITU_CHAOS_KILLS").map_or(usual, |kills| kills.parse::<u64>().unwrap() / 20 + 1)
}

/// Writes as long as there is a session.
#[test]
#[ignore = "played by the children of the other tests"]
fn child() {
    let Some((role, scratch)) = role() else { return };
    let producer = Producer::connect(&scratch.root(), &role, |_| {}).unwrap();
    assert!(producer.wait_for_session(PATIENCE));
    let mut writer = producer.writer();
    let mut random = Random(common::now_ns());
    for number in 0.. {
        let size = if random.below(10) == 0 { random.below(8000) } else { random.below(100) };
        if number == 100 {
            say("ready");
        }
        if !write(&mut writer, number, size as usize, random.below(5) as u32) {
            return;
        }
        if random.below(64) == 0 {
            std::thread::sleep(Duration::from_micros(50));
        }
    }
}

/// The rings of the session, in the order of their coming.
fn rings(collector: &Collector, scratch: &Scratch) -> Vec<PathBuf> {
    let directory = scratch.root().trace().join(format!("{:016x}", collector.session().id));
    let mut rings: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    rings.sort_by_key(|path| path.metadata().unwrap().modified().unwrap());
    rings
}

/// Flips bits of a ring, most often where they matter: in the header, the words, the list, the entries, the beginnings of chunks.
fn corrupt(map: &Mapping, random: &mut Random, chunk: u64) {
    let len = map.len() as u64;
    let at = match random.below(8) {
        0 => random.below(128),
        1 => 2048 + random.below(640),
        2 => 4096 + random.below(4096),
        3 => 8192 + random.below(1024),
        4 | 5 => 8192 + 65536 + random.below((len - 8192 - 65536) / chunk) * chunk + random.below(20),
        _ => random.below(len),
    };
    // SAFETY: the place lies in the mapping; atomics may be shared with anybody.
    let byte = unsafe { &*map.base().add(at as usize).cast::<AtomicU8>() };
    match random.below(3) {
        0 => byte.store(random.next() as u8, Ordering::Relaxed),
        _ => _ = byte.fetch_xor(1 << random.below(8), Ordering::Relaxed),
    }
}

#[test]
fn a_ring_that_is_overwritten_spoils_nothing_else() {
    let mut random = Random::seeded("overwritten rings");
    for _ in 0..rounds(12) {
        let scratch = Scratch::new();
        let chunk = 256 << random.below(3);
        let collector = scratch.collect(|options| {
            (options.ring_bytes, options.chunk_bytes) = (64 << 10, chunk);
            options.period = Duration::from_millis(1);
        });
        let mut child = Role::start(&scratch, "victim");
        child.wait_for("ready");
        let [ring] = &rings(&collector, &scratch)[..] else { panic!("one ring") };
        let file = OpenOptions::new().read(true).write(true).open(ring).unwrap();
        let len = file.metadata().unwrap().len() as usize;
        let map = Mapping::new(file.as_fd(), 0, len, Access::ReadWrite).unwrap();
        let producer = scratch.producer("honest");
        let mut writer = producer.writer();
        let (mut number, start) = (0, Instant::now());
        while start.elapsed() < Duration::from_millis(150) {
            for _ in 0..random.below(20) {
                corrupt(&map, &mut random, chunk.into());
            }
            assert!(write(&mut writer, number, random.below(300) as usize, 2));
            number += 1;
            std::thread::sleep(Duration::from_micros(random.below(200)));
        }
        assert_eq!(child.kill().signal(), Some(9), "the victim itself ended");
        let before = Instant::now();
        let summary = collector.stop().unwrap();
        assert!(before.elapsed() < PATIENCE);
        // The victim's packets may say anything, but each must be whole fields.
        let bytes = fs::read(scratch.file()).unwrap();
        let honest = summary.producers.iter().find(|producer| producer.name == "honest").unwrap();
        let sequence = honest.writers[0].sequence;
        let packets = common::packets_of(&bytes, sequence);
        let numbers: Vec<_> = packets.iter().map(|packet| packet.test.unwrap().0).collect();
        assert_eq!(numbers, (0..number).collect::<Vec<_>>());
        assert_eq!((honest.writers[0].packets, honest.malformed), (number, 0));
    }
}

/// While somebody writes over the words without a pause, the collector goes on.
#[test]
fn who_never_stops_writing_over_its_words_stalls_nobody() {
    let mut random = Random::seeded("never stopping");
    let scratch = Scratch::new();
    let collector = scratch.collect(|options| (options.ring_bytes, options.chunk_bytes) = (64 << 10, 256));
    let mut child = Role::start(&scratch, "victim");
    child.wait_for("ready");
    let [ring] = &rings(&collector, &scratch)[..] else { panic!("one ring") };
    let file = OpenOptions::new().read(true).write(true).open(ring).unwrap();
    let len = file.metadata().unwrap().len() as usize;
    let map = Mapping::new(file.as_fd(), 0, len, Access::ReadWrite).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (map, stop) = (&map, &stop);
        scope.spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                corrupt(map, &mut random, 256);
            }
        });
        let producer = scratch.producer("honest");
        let mut writer = producer.writer();
        for number in 0..1000 {
            assert!(write(&mut writer, number, 100, 1));
            std::thread::sleep(Duration::from_micros(100));
        }
        let summary = collector.stop().unwrap();
        stop.store(true, Ordering::Relaxed);
        let honest = summary.producers.iter().find(|producer| producer.name == "honest").unwrap();
        assert_eq!((honest.writers[0].packets, honest.malformed), (1000, 0));
    });
}

#[test]
fn what_is_no_ring_is_named_in_the_summary() {
    let scratch = Scratch::new();
    let collector = scratch.collect(|_| {});
    let directory = scratch.root().trace().join(format!("{:016x}", collector.session().id));
    fs::write(directory.join("0000000000000001.ring"), b"SITURING, I say").unwrap();
    fs::write(directory.join("0000000000000002.ring"), vec![0; 100_000]).unwrap();
    std::os::unix::fs::symlink("/dev/zero", directory.join("0000000000000003.ring")).unwrap();
    fs::create_dir(directory.join("0000000000000004.ring")).unwrap();
    let producer = scratch.producer("honest");
    assert!(write(&mut producer.writer(), 0, 5, 1));
    let summary = collector.stop().unwrap();
    assert_eq!(summary.packets, 1);
    let given_up = summary.producers.iter().filter(|producer| producer.given_up.is_some()).count();
    assert_eq!((given_up, summary.producers.len()), (4, 5), "{summary:?}");
    assert_eq!(scratch.left(), ["control"]);
}
