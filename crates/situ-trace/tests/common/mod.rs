//! Common parts of the tests of traces: a scratch root directory, packets that can be checked, and a reader
//! of traces.
#![allow(dead_code, reason = "each test file uses its part")]

use std::collections::HashMap;
use std::ops::Deref;
use std::path::PathBuf;
use std::time::Duration;

use situ_memory::Root;
use situ_trace::{Collector, CollectorOptions, Limits, Producer, Writer};
use situ_wire::protobuf::{Fields, Message, Value};

/// Longer than any step of a test takes.
pub const TIMEOUT: Duration = Duration::from_secs(20);

/// Limits of a process that waits for its collector as long as the session requests.
pub const LONG_STALL: Limits = Limits::new().stall(Duration::from_secs(3600));

/// Returns a number that is seldom the same twice.
pub fn now_ns() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64
}

/// A root directory for a test.
pub struct Scratch(situ_testkit::Scratch);

impl Scratch {
    pub fn new() -> Self {
        Self(situ_testkit::Scratch::new("trace"))
    }

    pub fn root(&self) -> Root {
        Root::at(self.0.path(), None)
    }

    /// The path of the trace.
    pub fn file(&self) -> PathBuf {
        self.root().prepare_only(&[]).unwrap();
        self.0.join("test.pftrace")
    }

    pub fn collect(&self, change: impl FnOnce(&mut CollectorOptions)) -> Collector {
        let mut options = CollectorOptions::to_file(self.file());
        change(&mut options);
        Collector::start(&self.root(), options).unwrap()
    }

    /// A producer that has joined the session.
    pub fn producer(&self, name: &str) -> Producer {
        let producer = Producer::connect_within(&self.root(), name, LONG_STALL, |_| {}).unwrap();
        assert!(producer.wait_for_session(TIMEOUT));
        producer
    }

    pub fn trace(&self) -> Trace {
        Trace::read(&std::fs::read(self.file()).unwrap())
    }

    /// Returns the number of packets of producers in the file so far. The last one may be incomplete.
    pub fn packets_so_far(&self) -> usize {
        let bytes = std::fs::read(self.file()).unwrap();
        Fields::new(&bytes).map_while(Result::ok).count().saturating_sub(1)
    }

    /// Returns the names in the directory of the sessions.
    pub fn left(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.root().path().join("trace")).unwrap().flatten();
        entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
    }
}

/// The role of this process and its root directory, if a test has started it as a child.
pub fn role() -> Option<(String, Scratch)> {
    let (role, scratch) = situ_testkit::process::role_in_root()?;
    Some((role, Scratch(scratch)))
}

impl Deref for Scratch {
    type Target = situ_testkit::Scratch;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

/// The field with the content of the tests' packets (`TracePacket.for_testing`), and the fields in it.
pub const TEST: u32 = 900;
const NUMBER: u32 = 1;
const NESTED: u32 = 2;
const FILL: u32 = 3;
const SUM: u32 = 4;

/// The byte at an index of a packet's filling.
fn fill(number: u64, index: usize) -> u8 {
    (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u8 ^ index as u8
}

/// Writes a packet: a number, `bytes` bytes that follow from the number, nested `depth` messages deep, and a
/// sum of the bytes. Returns whether there is a session.
pub fn write(writer: &mut Writer, number: u64, bytes: usize, depth: u32) -> bool {
    write_with(writer, number, depth, |message| {
        let mut sum = 0u64;
        {
            let mut field = message.bytes_in_pieces(FILL);
            for start in (0..bytes).step_by(64) {
                let mut piece = [0; 64];
                let piece = &mut piece[..64.min(bytes - start)];
                for (index, byte) in piece.iter_mut().enumerate() {
                    *byte = fill(number, start + index);
                }
                sum = add(sum, piece);
                field.push(piece);
            }
        }
        message.uint64(SUM, sum);
    })
}

/// The filling of a packet, computed beforehand, so that writing it takes few instructions.
pub struct Prepared {
    number: u64,
    filling: Vec<u8>,
    sum: u64,
}

impl Prepared {
    pub fn new(number: u64, bytes: usize) -> Self {
        let filling: Vec<_> = (0..bytes).map(|index| fill(number, index)).collect();
        let sum = add(0, &filling);
        Self { number, filling, sum }
    }

    /// The same packet as [`write`] writes.
    pub fn write(&self, writer: &mut Writer, depth: u32) -> bool {
        write_with(writer, self.number, depth, |message| {
            message.bytes(FILL, &self.filling);
            message.uint64(SUM, self.sum);
        })
    }
}

fn add(sum: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(sum, |sum, byte| sum.wrapping_mul(31).wrapping_add((*byte).into()))
}

fn write_with(writer: &mut Writer, number: u64, depth: u32, fill: impl Fn(&mut Message<'_>)) -> bool {
    let Some(mut packet) = writer.packet() else { return false };
    let mut message = packet.message();
    message.uint64(8, number);
    let mut test = message.message(TEST);
    test.fixed64(NUMBER, number);
    nest(&mut test, number, depth, &fill);
    true
}

fn nest(message: &mut Message<'_>, number: u64, depth: u32, fill: &impl Fn(&mut Message<'_>)) {
    if depth == 0 {
        return fill(message);
    }
    nest(&mut message.message(NESTED), number, depth - 1, fill);
    // Also behind the nested message, so that its length matters.
    message.uint64(SUM, number ^ u64::from(depth));
}

/// Checks a packet's content. Returns its number and the size of its filling.
pub fn check(test: &[u8]) -> (u64, usize) {
    let mut number = None;
    let (mut level, mut depth) = (test, Vec::new());
    loop {
        let (mut nested, mut sum, mut filling) = (None, None, None);
        for field in Fields::new(level) {
            let field = field.expect("whole fields");
            match (field.number, field.value) {
                (NUMBER, Value::Fixed64(value)) => number = Some(value),
                (NESTED, Value::Bytes(bytes)) => nested = Some(bytes),
                (FILL, Value::Bytes(bytes)) => filling = Some(bytes),
                (SUM, Value::Varint(value)) => sum = Some(value),
                other => panic!("no such field: {other:?}"),
            }
        }
        let number = number.expect("a number");
        match (nested, filling) {
            (Some(bytes), None) => {
                depth.push(sum.expect("a sum behind the nested message"));
                level = bytes;
            }
            (None, Some(filling)) => {
                let is = add(0, filling);
                assert_eq!(Some(is), sum, "packet {number}");
                assert!(filling.iter().enumerate().all(|(index, byte)| *byte == fill(number, index)));
                for (index, sum) in depth.iter().rev().enumerate() {
                    assert_eq!(*sum, number ^ (index as u64 + 1));
                }
                return (number, filling.len());
            }
            other => panic!("packet {number} is torn: {other:?}"),
        }
    }
}

/// A packet of a trace.
#[derive(Debug, Default, Clone)]
pub struct Found {
    pub sequence: u32,
    pub dropped: bool,
    pub first: bool,
    pub flags: u64,
    /// For the tests' packets: the number, and the size of the filling.
    pub test: Option<(u64, usize)>,
    pub clocks: bool,
    pub interned: Vec<u8>,
    pub tracks: Vec<u8>,
}

/// A trace, read as its format says: `Trace.packet` is field 1.
#[derive(Debug, Default)]
pub struct Trace {
    pub packets: Vec<Found>,
}

/// The packets of a trace, unparsed: `Trace.packet` is field 1.
fn packets(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    Fields::new(bytes).map(|field| {
        let field = field.expect("a trace consists of whole packets");
        let (1, Value::Bytes(packet)) = (field.number, field.value) else { panic!("{field:?}") };
        packet
    })
}

/// Returns a packet's fields, if it is of this sequence or `of` is `None`. Checks its content.
fn read(packet: &[u8], of: Option<u32>) -> Option<Found> {
    let mut found = Found::default();
    let mut content = None;
    for field in Fields::new(packet) {
        let field = field.expect("a packet consists of whole fields");
        match (field.number, field.value) {
            (10, Value::Varint(sequence)) => found.sequence = sequence as u32,
            (42, Value::Varint(1)) => found.dropped = true,
            (87, Value::Varint(1)) => found.first = true,
            (13, Value::Varint(flags)) => found.flags = flags,
            (6, _) => found.clocks = true,
            (12, Value::Bytes(bytes)) => found.interned = bytes.to_vec(),
            (60, Value::Bytes(bytes)) => found.tracks = bytes.to_vec(),
            (TEST, Value::Bytes(test)) => content = Some(test),
            _ => {}
        }
    }
    if of.is_some_and(|sequence| sequence != found.sequence) {
        return None;
    }
    found.test = content.map(check);
    Some(found)
}

/// The packets of one sequence, checked. Other packets must only consist of whole fields.
pub fn packets_of(bytes: &[u8], sequence: u32) -> Vec<Found> {
    packets(bytes).filter_map(|packet| read(packet, Some(sequence))).collect()
}

impl Trace {
    pub fn read(bytes: &[u8]) -> Self {
        Self { packets: packets(bytes).filter_map(|packet| read(packet, None)).collect() }
    }

    /// The tests' packets of each sequence, in order.
    pub fn sequences(&self) -> HashMap<u32, Vec<&Found>> {
        let mut sequences: HashMap<u32, Vec<&Found>> = HashMap::new();
        for packet in self.packets.iter().filter(|packet| packet.test.is_some()) {
            sequences.entry(packet.sequence).or_default().push(packet);
        }
        sequences
    }

    /// The numbers of the only sequence of tests' packets.
    pub fn numbers(&self) -> Vec<u64> {
        let sequences = self.sequences();
        assert!(sequences.len() <= 1, "{:?}", sequences.keys());
        sequences.into_values().flatten().map(|packet| packet.test.unwrap().0).collect()
    }
}
