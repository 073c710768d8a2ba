//! Producers are killed at random moments: every finished packet is in the trace, and no torn packet.
//!
//! `make chaos KILLS=10000` runs the same tests with more kills. A failure prints its seed: set
//! `SITU_CHAOS_SEED` to it to kill in the same order again (the moments will differ).
#![cfg(not(loom))]

mod common;

use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use common::{LONG_STALL, Prepared, Scratch, TIMEOUT, Trace, role, write};
use situ_testkit::Random;
use situ_testkit::process::{Role, say};
use situ_testkit::step::{Steps, Stride, stepped};
use situ_trace::{Policy, Producer, Summary};

/// The number of kills: from the environment, or `usual`.
fn kills(usual: u64) -> u64 {
    std::env::var("SITU_CHAOS_KILLS").map_or(usual, |kills| kills.parse().unwrap())
}

/// The packets that a stepped child writes, in chunks of 256 bytes. The first does not fit and moves. The
/// second fits behind it. The third is cut and has three lengths to patch. The last lies behind the third.
const STEPPED: [(usize, u32); 4] = [(30, 1), (3, 0), (400, 2), (5, 1)];

/// The actions of a child until it is killed.
#[test]
#[ignore = "played by the children of the other tests"]
fn child() {
    let Some((role, scratch)) = role() else { return };
    if role == "collect" {
        let _collector =
            scratch.collect(|options| options.policy = Policy::Stall { at_most: Duration::from_secs(3600) });
        say("collecting");
        std::thread::sleep(TIMEOUT);
        return;
    }
    let producer = Producer::connect_within(&scratch.root(), &role, LONG_STALL, |_| {}).unwrap();
    assert!(producer.wait_for_session(TIMEOUT));
    let work = |salt: u64| {
        let mut writer = producer.writer();
        let mut random = Random(common::now_ns() ^ u64::from(std::process::id()) << 40 ^ salt);
        for number in 0.. {
            let (size, depth) = size(&mut random);
            if !write(&mut writer, number, size, depth) {
                return;
            }
            match random.below(256) {
                0 => std::thread::sleep(Duration::from_micros(random.below(500))),
                // A new writer begins a sequence of its own.
                1 if role == "come and go" => return,
                _ => {}
            }
        }
    };
    if role == "step" {
        let mut writer = producer.writer();
        assert!(write(&mut writer, 0, 150, 1));
        let prepared: Vec<_> = STEPPED
            .iter()
            .enumerate()
            .map(|(index, (size, depth))| (Prepared::new(1 + index as u64, *size), *depth))
            .collect();
        // SAFETY: it has no conditions.
        say(&format!("thread {}", unsafe { libc::gettid() }));
        return stepped(|| {
            for (packet, depth) in &prepared {
                assert!(packet.write(&mut writer, *depth));
            }
        });
    }
    say("ready");
    std::thread::scope(|scope| {
        for salt in 0..2 {
            let work = &work;
            let producer = &producer;
            scope.spawn(move || {
                while producer.is_enabled() {
                    work(salt);
                }
            });
        }
    });
}

/// Mostly small packets, some of a few chunks, rarely long ones, at any depth.
fn size(random: &mut Random) -> (usize, u32) {
    let size = match random.below(64) {
        0..50 => random.below(80),
        50..62 => random.below(1500),
        _ => random.below(20_000),
    };
    (size as usize, random.below(6) as u32)
}

/// Checks the numbers in the trace. Returns the number of packets.
fn verify(trace: &Trace, summary: &Summary, loses: bool) -> usize {
    let sequences = trace.sequences();
    let mut packets = 0;
    for process in &summary.producers {
        assert_eq!((process.malformed, &process.given_up), (0, &None), "{process:?}");
        for writer in &process.writers {
            let found = sequences.get(&writer.sequence).map_or(&[][..], |found| &found[..]);
            let numbers: Vec<_> = found.iter().map(|packet| packet.test.unwrap().0).collect();
            // A writer may be killed after it has finished a packet and before it has counted it.
            let taken = numbers.len() as u64;
            assert!(taken == writer.finished || taken == writer.finished + 1, "{taken} {writer:?}");
            assert_eq!(writer.packets, taken);
            assert!(writer.unfinished <= writer.lost.packets + 1, "{writer:?}");
            let mut next = 0;
            for (number, packet) in numbers.iter().zip(found) {
                assert!(*number >= next && (loses || *number == next), "{number} behind {next}");
                assert_eq!(packet.dropped, *number != next, "{number} behind {next}");
                next = number + 1;
            }
            if !loses {
                assert_eq!(writer.lost.packets, 0);
            }
            // A number that is missing was lost. Losses at the end leave no gap.
            assert!(next - taken <= writer.lost.packets, "{writer:?}");
            packets += numbers.len();
        }
    }
    packets
}

fn kill_at_random(policy: Policy, what: &str) {
    let rounds = kills(60);
    let mut random = Random::seeded(what);
    let (mut packets, mut lost, mut unfinished) = (0, 0, 0);
    let mut left = rounds;
    while left > 0 {
        let scratch = Scratch::new();
        let collector = scratch.collect(|options| {
            options.policy = policy;
            (options.ring_bytes, options.chunk_bytes) = (64 << 10, 256 << random.below(4));
        });
        for _ in 0..left.min(20) {
            left -= 1;
            let name = ["go on", "come and go"][random.below(2) as usize];
            let mut children = [Role::start(&scratch, name), Role::start(&scratch, "go on")];
            children.iter_mut().for_each(|child| child.wait_for("ready"));
            std::thread::sleep(Duration::from_micros(random.below(3000)));
            for child in children {
                assert_eq!(child.kill().signal(), Some(9), "it ended by itself");
            }
        }
        let summary = collector.stop().unwrap();
        let trace = scratch.trace();
        packets += verify(&trace, &summary, policy == Policy::Drop);
        lost += summary.lost().packets;
        unfinished += summary.producers.iter().flat_map(|p| &p.writers).map(|w| w.unfinished).sum::<u64>();
        assert_eq!(scratch.left(), ["control"], "files leak");
    }
    println!(
        "{what}: {} kills, {packets} packets whole, {lost} lost and counted, {unfinished} unfinished",
        2 * rounds
    );
}

#[test]
fn packets_finished_before_a_kill_are_in_the_trace() {
    kill_at_random(Policy::Stall { at_most: TIMEOUT }, "writers that wait");
}

#[test]
fn packets_lost_before_a_kill_are_counted() {
    kill_at_random(Policy::Drop, "writers that lose");
}

/// A producer is killed at any instruction while it writes packets that fit, move, and are cut.
#[test]
fn a_kill_at_any_instruction_leaves_the_finished_packets() {
    // One of these kills takes as long as many of the others.
    let kills = kills(160) / 10;
    let mut random = Random::seeded("killed at any instruction");
    let (mut steps, mut left, mut found) = (0, kills, [0; STEPPED.len() + 1]);
    while left > 0 {
        let scratch = Scratch::new();
        let collector = scratch.collect(|options| {
            options.policy = Policy::Stall { at_most: TIMEOUT };
            (options.ring_bytes, options.chunk_bytes) = (64 << 10, 256);
        });
        for _ in 0..left.min(20) {
            left -= 1;
            let mut child = Role::start(&scratch, "step");
            let stepped = Steps::begin(&mut child);
            if steps == 0 {
                steps = stepped.count(Stride::Instruction);
            } else {
                let _ = stepped.go(Stride::Instruction, random.below(steps));
            }
            stepped.kill(child);
        }
        let summary = collector.stop().unwrap();
        let trace = scratch.trace();
        verify(&trace, &summary, false);
        for packets in trace.sequences().values() {
            found[packets.len() - 1] += 1;
            let sizes: Vec<_> = packets.iter().map(|packet| packet.test.unwrap().1).collect();
            let all: Vec<_> = [150].into_iter().chain(STEPPED.map(|(size, _)| size)).collect();
            assert_eq!(sizes, all[..sizes.len()]);
        }
        assert_eq!(found.iter().sum::<u64>(), kills - left, "the first packet of each was finished");
    }
    println!(
        "{kills} kills within {steps} instructions: the numbers of kills after 1, 2, ... finished packets are {found:?}"
    );
}

/// A collector is killed: producers detect it, continue without it, and join the next session.
#[test]
fn producers_of_a_killed_collector_join_the_next_session() {
    let scratch = Scratch::new();
    for _ in 0..3 {
        let mut doomed = Role::start(&scratch, "collect");
        doomed.wait_for("collecting");
        let mut child = Role::start(&scratch, "go on");
        child.wait_for("ready");
        doomed.kill();
        // The child does not wait for chunks of a ring without a collector, and ends when the session is
        // over.
        assert!(child.end(TIMEOUT).success());
    }
    let collector = scratch.collect(|_| {});
    let producer = scratch.producer("survivor");
    assert!(write(&mut producer.writer(), 0, 5, 1));
    collector.stop().unwrap();
    assert_eq!(scratch.trace().numbers(), [0]);
    assert_eq!(scratch.left(), ["control"], "the files of dead processes are removed");
}
