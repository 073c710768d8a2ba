//! From writers to the trace: every finished packet arrives whole and in order, and losses are counted.
#![cfg(not(loom))]

mod common;

use std::time::Duration;

use common::{Scratch, TIMEOUT, write};
use situ_trace::{Lost, Policy, Producer};

#[test]
fn packets_arrive_in_order_on_a_sequence_for_each_thread() {
    let scratch = Scratch::new();
    let collector = scratch.collect(|_| {});
    let producer = scratch.producer("several threads");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let mut writer = producer.writer();
            scope.spawn(move || {
                for number in 0..2000 {
                    assert!(write(&mut writer, number, (number % 100) as usize, (number % 3) as u32));
                }
            });
        }
    });
    let summary = collector.stop().unwrap();
    assert!(producer.wait_for_end(TIMEOUT) && !producer.is_enabled());
    let trace = scratch.trace();
    let sequences = trace.sequences();
    assert_eq!(sequences.len(), 4);
    for (sequence, packets) in &sequences {
        assert!(*sequence > 1);
        let numbers: Vec<_> = packets.iter().map(|packet| packet.test.unwrap()).collect();
        assert_eq!(numbers, (0..2000).map(|number| (number, (number % 100) as usize)).collect::<Vec<_>>());
        assert!(packets[0].first && packets[1..].iter().all(|packet| !packet.first));
        assert!(packets.iter().all(|packet| !packet.dropped));
    }
    assert!(trace.packets[0].clocks && trace.packets[0].sequence == 1);
    assert_eq!(summary.packets, 8000);
    assert_eq!(summary.bytes, std::fs::metadata(scratch.file()).unwrap().len());
    let [process] = &summary.producers[..] else { panic!("{summary:?}") };
    assert_eq!((process.name.as_str(), process.pid), ("several threads", std::process::id()));
    assert_eq!((process.malformed, process.given_up.as_deref()), (0, None));
    assert_eq!(process.writers.len(), 4);
    for writer in &process.writers {
        assert_eq!((writer.packets, writer.finished, writer.unfinished), (2000, 2000, 0));
        assert_eq!(writer.lost, Lost::default());
    }
    assert_eq!(scratch.left(), ["control"]);
}

/// A writer uses the cache line that all writers of a process share once for each chunk, not for each packet.
#[test]
fn the_list_of_chunks_is_used_once_for_a_chunk() {
    const PACKETS: u64 = 10_000;
    let scratch = Scratch::new();
    let collector = scratch.collect(|options| {
        (options.ring_bytes, options.chunk_bytes) = (8 << 20, 4096);
        options.period = Duration::from_secs(100);
    });
    let producer = scratch.producer("one");
    let mut writer = producer.writer();
    let directory = scratch.root().path().join("trace").join(format!("{:016x}", collector.session().id));
    let ring = std::fs::read_dir(directory).unwrap().next().unwrap().unwrap().path();
    let head = || {
        // The offset is that of the specification.
        let bytes = std::fs::read(&ring).unwrap();
        u64::from_le_bytes(bytes[2048..2056].try_into().unwrap())
    };
    assert_eq!(head(), 0);
    for number in 0..PACKETS {
        assert!(write(&mut writer, number, 30, 1));
    }
    let taken = head();
    let summary = collector.stop().unwrap();
    assert_eq!(summary.packets, PACKETS);
    // A packet's size (slightly smaller in the ring than in the file), and at least 50 packets in a chunk.
    assert!(summary.bytes / PACKETS < 80, "{} bytes", summary.bytes);
    assert!((PACKETS / 100..=PACKETS / 50).contains(&taken), "{taken} chunks");
}

#[test]
fn packets_longer_than_a_chunk_are_assembled_and_patched() {
    for chunk_bytes in [256, 1024, 4096] {
        let scratch = Scratch::new();
        let collector = scratch.collect(|options| {
            options.chunk_bytes = chunk_bytes;
            options.policy = Policy::Stall { at_most: TIMEOUT };
        });
        let producer = scratch.producer("long");
        let mut writer = producer.writer();
        let sizes = [0, 1, 100, 200, 230, 240, 250, 1000, 5000, 100_000, 3];
        let mut expected = Vec::new();
        for depth in [0, 1, 5, 30, 120] {
            for size in sizes {
                expected.push((expected.len() as u64, size));
                assert!(write(&mut writer, expected.len() as u64 - 1, size, depth));
            }
        }
        // Longer than the whole ring.
        expected.push((77, 6 << 20));
        assert!(write(&mut writer, 77, 6 << 20, 3));
        assert_eq!(writer.lost(), Lost::default());
        let summary = collector.stop().unwrap();
        let trace = scratch.trace();
        let found: Vec<_> = trace.packets.iter().filter_map(|packet| packet.test).collect();
        assert_eq!(found, expected, "chunks of {chunk_bytes}");
        assert_eq!(summary.producers[0].malformed, 0);
        assert_eq!(summary.producers[0].writers[0].unfinished, 0);
    }
}

#[test]
fn losses_are_counted_exactly_and_change_the_epoch() {
    let scratch = Scratch::new();
    // The collector does not read before the ring is full.
    let collector = scratch.collect(|options| {
        options.ring_bytes = 64 << 10;
        options.chunk_bytes = 1024;
        options.period = Duration::from_secs(5);
    });
    let producer = scratch.producer("fast");
    let mut writer = producer.writer();
    let epoch = writer.state_epoch();
    assert_ne!(epoch, 0);
    let (mut written, mut lost) = (Vec::new(), Lost::default());
    let mut number = 0;
    let mut epochs = vec![epoch];
    while lost.packets < 100 || written.last() != Some(&(number - 1)) {
        let size = (number * 37 % 3000) as usize;
        let before = writer.lost();
        assert!(write(&mut writer, number, size, 2));
        let now = writer.lost();
        if now == before {
            written.push(number);
            assert_eq!(writer.state_epoch(), *epochs.last().unwrap());
        } else {
            assert_eq!(now.packets, before.packets + 1);
            assert!((now.bytes - before.bytes) as usize >= size);
            assert!(!epochs.contains(&writer.state_epoch()), "each loss is another epoch");
            epochs.push(writer.state_epoch());
            lost = now;
        }
        number += 1;
    }
    let summary = collector.stop().unwrap();
    let trace = scratch.trace();
    assert_eq!(trace.numbers(), written, "every packet that was not lost is in the trace");
    for pair in trace.sequences().values().flat_map(|packets| packets.windows(2)) {
        let [before, after] = [pair[0].test.unwrap().0, pair[1].test.unwrap().0];
        assert_eq!(pair[1].dropped, after != before + 1, "between {before} and {after}");
    }
    let [process] = &summary.producers[..] else { panic!("{summary:?}") };
    assert_eq!(process.writers[0].lost, lost);
    assert_eq!(
        (process.writers[0].packets, process.writers[0].finished),
        (written.len() as u64, written.len() as u64)
    );
    assert_eq!((summary.lost(), process.malformed), (lost, 0));
}

#[test]
fn without_a_session_nothing_is_written_and_the_next_one_begins_anew() {
    let scratch = Scratch::new();
    let producer = Producer::connect(&scratch.root(), "patient", |_| {}).unwrap();
    let mut writer = producer.writer();
    assert!(writer.packet().is_none() && writer.state_epoch() == 0 && !producer.is_enabled());
    let mut epochs = Vec::new();
    for round in 0..3 {
        let collector = scratch.collect(|options| options.categories = format!("bus,round{round}"));
        assert!(producer.wait_for_session(TIMEOUT));
        let session = producer.session().unwrap();
        assert_eq!(&session, collector.session());
        assert_eq!(session.categories, format!("bus,round{round}"));
        let epoch = writer.state_epoch();
        assert!(!epochs.contains(&epoch));
        epochs.push(epoch);
        assert!(write(&mut writer, round, 10, 0));
        collector.stop().unwrap();
        assert_eq!(scratch.trace().numbers(), [round]);
        assert!(producer.wait_for_end(TIMEOUT));
        assert!(writer.packet().is_none() && writer.state_epoch() == 0);
    }
    assert_eq!(scratch.left(), ["control"]);
}

/// After a loss, the next packet that depends on earlier ones contains all state again.
#[test]
fn the_first_packet_behind_a_loss_contains_all_state_again() {
    let scratch = Scratch::new();
    let collector = scratch.collect(|options| {
        (options.ring_bytes, options.chunk_bytes) = (16 << 10, 256);
        options.period = Duration::from_millis(1);
    });
    let producer = scratch.producer("fast");
    let mut writer = producer.writer();
    let (mut epoch, mut number, mut losses) = (0, 0u64, 0);
    while losses < 200 {
        let before = writer.lost().packets;
        while writer.lost().packets == before {
            let now = writer.state_epoch();
            let clears = std::mem::replace(&mut epoch, now) != now;
            let mut packet = writer.packet().unwrap();
            let mut message = packet.message();
            message.uint64(8, number);
            message.uint32(13, if clears { 3 } else { 2 });
            // Some are longer than chunks, so that losses also occur within packets.
            message.bytes(12, &[7; 700][..(number * 37 % 700) as usize]);
            number += 1;
        }
        losses += 1;
        std::thread::sleep(Duration::from_micros(losses % 5 * 300));
    }
    let lost = writer.lost();
    let summary = collector.stop().unwrap();
    assert_eq!((summary.packets + lost.packets, summary.lost()), (number, lost));
    let trace = scratch.trace();
    let packets: Vec<_> = trace.packets.iter().filter(|packet| packet.sequence != 1).collect();
    assert_eq!(packets.len() as u64, summary.packets);
    let readable = packets.iter().scan(false, |known, packet| {
        *known = (*known && !packet.dropped) || packet.flags & 1 != 0;
        Some(*known)
    });
    assert_eq!(readable.filter(|readable| !readable).count(), 0, "of {} packets, {lost:?}", packets.len());
    assert!(packets.iter().filter(|packet| packet.dropped).count() > 10);
}

#[test]
fn a_leaked_packet_counts_as_lost_and_the_next_is_whole() {
    let scratch = Scratch::new();
    let collector = scratch.collect(|options| options.chunk_bytes = 256);
    let producer = scratch.producer("forgetful");
    let mut writer = producer.writer();
    assert!(write(&mut writer, 0, 10, 1));
    for size in [0, 10, 100, 1000] {
        let epoch = writer.state_epoch();
        let mut packet = writer.packet().unwrap();
        packet.message().bytes(900, &vec![0xff; size]);
        std::mem::forget(packet);
        assert_ne!(writer.state_epoch(), epoch, "known before the next packet begins");
        assert!(write(&mut writer, 1 + size as u64, 300, 3));
    }
    let packet = writer.packet().unwrap();
    std::mem::forget(packet);
    drop(writer);
    let summary = collector.stop().unwrap();
    assert_eq!(scratch.trace().numbers(), [0, 1, 11, 101, 1001]);
    assert_eq!((summary.lost().packets, summary.producers[0].malformed), (5, 0));
}

#[test]
fn a_field_that_only_the_collector_may_set_is_refused() {
    let scratch = Scratch::new();
    let collector = scratch.collect(|_| {});
    let producer = scratch.producer("pretender");
    let mut writer = producer.writer();
    writer.packet().unwrap().message().uint32(10, 1);
    writer.packet().unwrap().message().bool(42, true);
    // Incomplete: the bytes behind a length are missing.
    writer.packet().unwrap().message().raw(&[0x12, 0x7f, 1]);
    // An error of the caller: the packet is lost.
    writer.packet().unwrap().message().uint32(0, 1);
    assert!(write(&mut writer, 1, 10, 1));
    let summary = collector.stop().unwrap();
    assert_eq!((summary.packets, summary.lost().packets, summary.producers[0].malformed), (1, 1, 3));
    let trace = scratch.trace();
    assert!(trace.sequences().values().all(|packets| packets[0].dropped));
}

/// A waiting producer detects that the directory was removed, and finds the next session in the new one.
#[test]
fn a_removed_root_directory_is_found_again() {
    let scratch = Scratch::new();
    let producer = Producer::connect(&scratch.root(), "patient", |_| {}).unwrap();
    std::fs::remove_dir_all(scratch.path()).unwrap();
    let collector = scratch.collect(|_| {});
    assert!(producer.wait_for_session(TIMEOUT));
    assert!(write(&mut producer.writer(), 3, 10, 1));
    collector.stop().unwrap();
    assert_eq!(scratch.trace().numbers(), [3]);
}
