//! A trace that keeps the newest packets in memory: whole packets, and what they depend on.
#![cfg(not(loom))]

mod common;

use std::collections::HashMap;

use common::{Scratch, TIMEOUT, write};
use situ_trace::{Policy, Sink, Writer};
use situ_wire::protobuf::{Fields, Value};

const MAX_BYTES: usize = 128 << 10;

/// A packet that introduces a name. It may clear all names first.
fn introduce(writer: &mut Writer, number: u64, clears: bool) {
    let mut packet = writer.packet().unwrap();
    let mut packet = packet.message();
    packet.uint64(8, 1000);
    packet.uint32(13, if clears { 3 } else { 2 });
    {
        let mut interned = packet.message(12);
        let mut name = interned.message(2);
        name.uint64(1, number);
        name.string(2, "a name");
    }
    // An event, which must not be kept together with the name.
    packet.message(11).uint32(9, 1);
}

fn describe(writer: &mut Writer, uuid: u64, name: &str) {
    let mut packet = writer.packet().unwrap();
    let mut packet = packet.message();
    let mut track = packet.message(60);
    track.uint64(1, uuid);
    track.string(2, name);
}

/// The number of an interned name.
fn name(interned: &[u8]) -> u64 {
    let first = |bytes| match Fields::new(bytes).next() {
        Some(Ok(field)) => field.value,
        other => panic!("{other:?}"),
    };
    let Value::Bytes(entry) = first(interned) else { panic!("an entry") };
    let Value::Varint(number) = first(entry) else { panic!("a number") };
    number
}

#[test]
fn the_newest_packets_are_kept_with_their_dependencies() {
    let scratch = Scratch::new();
    let collector = scratch.collect(|options| {
        options.sink = Sink::Ring { path: scratch.file(), bytes: MAX_BYTES };
        options.policy = Policy::Stall { at_most: TIMEOUT };
    });
    let producer = scratch.producer("long");
    let mut writers = [producer.writer(), producer.writer()];
    for (index, writer) in writers.iter_mut().enumerate() {
        // State from before the last clearing is not needed.
        introduce(writer, 1, true);
        introduce(writer, 2, true);
        describe(writer, 5 + index as u64, "an older name");
        describe(writer, 5 + index as u64, "a track");
        (3..10).for_each(|number| introduce(writer, number, false));
    }
    for number in 0..50_000 {
        assert!(write(&mut writers[number as usize % 2], number, 20, 1));
        if number == 25_000 {
            introduce(&mut writers[0], 10, false);
        }
    }
    let summary = collector.stop().unwrap();
    let size = std::fs::metadata(scratch.file()).unwrap().len();
    assert!(size <= MAX_BYTES as u64 && size > MAX_BYTES as u64 / 4, "{size}");
    assert_eq!(size, summary.bytes);
    assert_eq!(summary.lost().packets, 0);
    let trace = scratch.trace();
    for packets in trace.sequences().into_values() {
        let kept: Vec<_> = packets.iter().map(|packet| packet.test.unwrap().0).collect();
        let first = 50_000 + kept[0] % 2 - 2 * kept.len() as u64;
        assert!(
            kept.iter().copied().eq((first..50_000).step_by(2)),
            "the newest, without a gap, from {first} on"
        );
    }
    assert!(summary.evicted > 40_000 && trace.packets.iter().any(|packet| packet.clocks));
    // Each sequence begins with its state from after its last clearing.
    let mut names: HashMap<u32, Vec<u64>> = HashMap::new();
    for (index, packet) in trace.packets.iter().enumerate() {
        if !packet.interned.is_empty() {
            let known = names.entry(packet.sequence).or_default();
            assert_eq!(packet.flags & 1 != 0, known.is_empty(), "the first clears");
            known.push(name(&packet.interned));
            assert!(
                !trace.packets[..index]
                    .iter()
                    .any(|before| { before.sequence == packet.sequence && before.test.is_some() })
            );
        }
    }
    let mut names: Vec<_> = names.into_values().collect();
    names.sort();
    assert_eq!(names, [(2..10).collect::<Vec<_>>(), (2..11).collect()]);
    let mut tracks: Vec<_> = trace.packets.iter().map(|packet| packet.tracks.clone()).collect();
    tracks.retain(|track| !track.is_empty());
    tracks.sort();
    assert_eq!(tracks, [b"\x08\x05\x12\x07a track", b"\x08\x06\x12\x07a track"]);
}

#[test]
fn state_without_end_takes_limited_memory() {
    let scratch = Scratch::new();
    let collector = scratch.collect(|options| {
        options.sink = Sink::Ring { path: scratch.file(), bytes: MAX_BYTES };
        options.policy = Policy::Stall { at_most: TIMEOUT };
    });
    let producer = scratch.producer("talkative");
    let mut writer = producer.writer();
    for number in 0..30_000 {
        introduce(&mut writer, number, number == 0);
        describe(&mut writer, number, "a track");
    }
    for number in 0..100 {
        assert!(write(&mut writer, number, 20, 1));
    }
    collector.stop().unwrap();
    assert!(std::fs::metadata(scratch.file()).unwrap().len() <= MAX_BYTES as u64);
    assert_eq!(scratch.trace().numbers(), (0..100).collect::<Vec<_>>());
}

/// The texts of logs are interned data that only their own packets use: they do not displace names.
#[test]
fn the_texts_of_logs_are_dropped_with_their_packets() {
    let scratch = Scratch::new();
    let collector = scratch.collect(|options| {
        options.sink = Sink::Ring { path: scratch.file(), bytes: MAX_BYTES };
        options.policy = Policy::Stall { at_most: TIMEOUT };
    });
    let producer = scratch.producer("verbose");
    let mut writer = producer.writer();
    introduce(&mut writer, 1, true);
    for number in 1..20_000 {
        let mut packet = writer.packet().unwrap();
        let mut packet = packet.message();
        packet.uint64(8, 1000);
        packet.uint32(13, 2);
        {
            let mut interned = packet.message(12);
            {
                let mut place = interned.message(4);
                place.uint64(1, number);
                place.string(2, "a_file.cpp");
            }
            let mut body = interned.message(20);
            body.uint64(1, number);
            body.string(2, "a text");
        }
        packet.message(11).uint32(9, 3);
    }
    assert!(write(&mut writer, 7, 20, 1));
    let summary = collector.stop().unwrap();
    assert!(summary.evicted > 15_000, "{}", summary.evicted);
    let trace = scratch.trace();
    assert_eq!(trace.numbers(), [7]);
    // The name stays, and each text comes with its event.
    let [state, logs @ ..] =
        &trace.packets.iter().filter(|it| !it.interned.is_empty()).collect::<Vec<_>>()[..]
    else {
        panic!("no names")
    };
    assert_eq!((state.flags, name(&state.interned)), (3, 1));
    let numbers = logs.iter().map(|packet| name(&packet.interned));
    assert!(numbers.eq(20_000 - logs.len() as u64..20_000), "the newest, each with its text");
}

/// Short-lived writers, each with a sequence, names and a track of its own. Together they send more state
/// than there is memory for, but the kept packets depend on only a few of them.
#[test]
fn the_state_of_writers_is_dropped_with_their_last_packets() {
    const WRITERS: u64 = 8000;
    // Half of this size is more than the state of 1024 writers, and less than the state of all of them. Up to
    // 1024 writers may have left before the collector reads their ends.
    const MAX_BYTES: usize = 1 << 20;
    let scratch = Scratch::new();
    let collector = scratch.collect(|options| {
        options.sink = Sink::Ring { path: scratch.file(), bytes: MAX_BYTES };
        options.policy = Policy::Stall { at_most: TIMEOUT };
        options.period = std::time::Duration::from_millis(1);
    });
    let producer = scratch.producer("short");
    // A silent writer: its state is still needed.
    let mut silent = producer.writer();
    introduce(&mut silent, 1, true);
    describe(&mut silent, 1, "a track of the silent");
    for number in 0..WRITERS {
        let mut writer = producer.writer();
        while writer.finished() == 0 {
            introduce(&mut writer, 1, true);
        }
        describe(&mut writer, 100 + number, "a track");
        assert!(write(&mut writer, number, 20, 1));
    }
    assert!(write(&mut silent, WRITERS, 20, 1));
    collector.stop().unwrap();
    assert!(std::fs::metadata(scratch.file()).unwrap().len() <= MAX_BYTES as u64);
    let trace = scratch.trace();
    let mut cleared = std::collections::HashSet::new();
    let (mut tracks, mut numbers) = (std::collections::HashSet::new(), Vec::new());
    for packet in &trace.packets {
        if packet.flags & 1 != 0 {
            cleared.insert(packet.sequence);
        }
        tracks.extend((!packet.tracks.is_empty()).then(|| packet.tracks.clone()));
        if let Some((number, _)) = packet.test {
            assert!(cleared.contains(&packet.sequence), "packet {number} has no names");
            let mut descriptor = vec![0x08];
            let mut uuid = if number == WRITERS { 1 } else { 100 + number };
            while uuid >= 0x80 {
                descriptor.push(uuid as u8 | 0x80);
                uuid >>= 7;
            }
            descriptor.push(uuid as u8);
            assert!(tracks.iter().any(|track| track.starts_with(&descriptor)), "the track of {number}");
            numbers.push(number);
        }
    }
    assert_eq!(numbers.last(), Some(&WRITERS));
    // The state of ended writers has displaced no packets: most of the memory holds the newest ones.
    assert!(numbers.len() > 1500, "{} packets", numbers.len());
}
