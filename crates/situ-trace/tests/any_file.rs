//! The reader of traces accepts any file. It counts damaged parts, and every result can be summarized.

#[path = "common/readable.rs"]
mod readable;

use proptest::prelude::*;
use readable::check;
use situ_trace::reader::{ReadTrace, TraceSummary};
use situ_wire::protobuf::{Growing, Writer};

/// A message of numbers, texts and messages: like a packet, but with any fields.
fn message() -> impl Strategy<Value = Vec<u8>> {
    // The numbers that the format uses, and others.
    let field = || prop_oneof![1u32..=14, 20u32..=24, 42u32..=60, Just(87u32), 1u32..1000];
    let value = prop_oneof![
        (field(), any::<u64>()).prop_map(|(field, value)| encode(|message| message.uint64(field, value))),
        (field(), 0u64..5).prop_map(|(field, value)| encode(|message| message.uint64(field, value))),
        (field(), any::<u64>()).prop_map(|(field, value)| encode(|message| message.fixed64(field, value))),
        (field(), "[a-z ]{0,12}").prop_map(|(field, value)| encode(|message| message.string(field, &value))),
        (field(), prop::collection::vec(any::<u8>(), 0..20))
            .prop_map(|(field, value)| encode(|message| message.bytes(field, &value))),
    ];
    value.prop_recursive(5, 100, 12, move |inner| {
        (field(), prop::collection::vec(inner, 1..12))
            .prop_map(|(field, parts)| encode(|message| message.bytes(field, &parts.concat())))
    })
}

fn encode(write: impl FnOnce(&mut situ_wire::protobuf::Message<'_>)) -> Vec<u8> {
    let mut buffer = Growing::default();
    let mut writer = Writer::new(&mut buffer);
    write(&mut writer.message());
    writer.finish().unwrap();
    buffer.into_vec()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        check(&bytes);
    }

    #[test]
    fn any_packets(packets in prop::collection::vec(prop::collection::vec(message(), 0..8), 0..12)) {
        let file: Vec<u8> = packets.iter().flat_map(|fields| encode(|trace| trace.bytes(1, &fields.concat()))).collect();
        check(&file);
    }

    /// A valid trace of a few packets, with some bytes changed and the end cut off.
    #[test]
    fn a_damaged_trace(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6), cut in any::<prop::sample::Index>()) {
        let mut file = sensible();
        for (place, byte) in &changes {
            let place = place.index(file.len());
            file[place] = *byte;
        }
        file.truncate(cut.index(file.len()) + 1);
        check(&file);
    }
}

/// A thread that publishes, a thread that takes, and a counter.
fn sensible() -> Vec<u8> {
    let mut file = Vec::new();
    for sequence in [2u64, 3] {
        file.extend(packet(sequence, |packet| {
            packet.uint32(13, 1);
            packet.message(59).message(11).uint64(11, sequence * 10);
            let mut track = packet.message(60);
            track.uint64(1, sequence * 10);
            track.uint64(5, 1);
            let mut thread = track.message(4);
            thread.int32(1, 100);
            thread.int32(2, sequence as i32);
        }));
        let (name, from) = if sequence == 2 { ("publish t", 100) } else { ("take t", 150) };
        for (kind, at) in [(1, from), (2, from + 40), (4, from + 41)] {
            file.extend(packet(sequence, |packet| {
                packet.uint64(8, at);
                packet.uint32(13, 2);
                let mut data = packet.message(12);
                for (field, text) in [(1, "bus"), (2, name), (3, "number")] {
                    let mut entry = data.message(field);
                    entry.uint64(1, 1);
                    entry.string(2, text);
                }
                drop(data);
                let mut event = packet.message(11);
                event.int32(9, kind);
                event.uint64(3, 1);
                if kind == 4 {
                    event.int64(30, 7);
                } else {
                    event.uint64(10, 1);
                    event.fixed64(47, 99);
                    let mut argument = event.message(4);
                    argument.uint64(1, 1);
                    argument.uint64(3, 5);
                }
            }));
        }
    }
    file
}

fn packet(sequence: u64, write: impl FnOnce(&mut situ_wire::protobuf::Message<'_>)) -> Vec<u8> {
    encode(|trace| {
        let mut packet = trace.message(1);
        packet.uint64(10, sequence);
        write(&mut packet);
    })
}

#[test]
fn inputs_found_by_fuzzing_are_read() {
    let learned = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/trace_reader");
    let files: Vec<_> = std::fs::read_dir(learned).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() > 100);
    for file in files {
        check(&std::fs::read(file).unwrap());
    }
}

#[test]
fn a_valid_trace_is_summarized() {
    let file = sensible();
    let trace = ReadTrace::read(&file);
    assert_eq!(trace.troubles, Default::default());
    let summary = TraceSummary::of(&trace);
    let topic = &summary.topics[0];
    assert_eq!((topic.topic.as_str(), topic.published, topic.taken), ("t", 1, 1));
    // Published at 100, taken at 190.
    assert_eq!((topic.latency.count, topic.latency.p50_ns), (1, 90));
    assert_eq!((summary.duration_ns, summary.packets), (91, 8));
    check(&file);
}

#[test]
fn packets_without_their_state_are_counted() {
    let file = sensible();
    // Without the packet that begins the first sequence.
    let first = 2 + usize::from(file[1]);
    let trace = ReadTrace::read(&file[first..]);
    assert_eq!(trace.troubles.without_state, 3);
    assert_eq!(trace.slices.len(), 1);
    let cut = ReadTrace::read(&file[..file.len() - 1]);
    assert!(cut.troubles.unread_bytes > 0);
}
