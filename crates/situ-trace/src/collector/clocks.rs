//! Clock snapshots, which relate the clocks of timestamps to each other.

use rustix::time::ClockId;
use situ_wire::protobuf::{Fixed, Writer};

use crate::system::clock_ns;
use crate::track_event::sequence_clock;

use super::assembler::PacketSink;

/// The sequence of the collector's own packets.
pub(super) const SEQUENCE: u32 = 1;
/// Perfetto's numbers for the clocks.
const CLOCKS: [(u32, ClockId); 4] =
    [(6, ClockId::Boottime), (3, ClockId::Monotonic), (1, ClockId::Realtime), (5, ClockId::MonotonicRaw)];

/// Writes a packet of the collector with the current time on all clocks.
pub(super) fn snapshot(is_first: bool, to: &mut dyn PacketSink) {
    let mut memory = [0; 256];
    let mut buffer = Fixed::new(&mut memory);
    let mut writer = Writer::new(&mut buffer);
    {
        let mut packet = writer.message();
        packet.uint64(8, clock_ns(ClockId::Boottime));
        packet.uint32(58, 6);
        packet.uint32(10, SEQUENCE);
        if is_first {
            packet.bool(87, true);
        }
        let mut snapshot = packet.message(6);
        for (number, clock) in CLOCKS {
            let mut entry = snapshot.message(1);
            entry.uint32(1, number);
            entry.uint64(2, clock_ns(clock));
        }
        snapshot.uint32(2, 6);
    }
    if writer.finish().is_ok() {
        to.put(SEQUENCE, buffer.written(), &[]);
    }
}

/// Returns a packet that begins a sequence's own clock at a time, for a sequence whose first packets were
/// dropped.
pub(super) fn sequence_begins(sequence: u32, at_ns: u64) -> Vec<u8> {
    let mut memory = [0; 128];
    let mut buffer = Fixed::new(&mut memory);
    let mut writer = Writer::new(&mut buffer);
    {
        let mut packet = writer.message();
        packet.uint32(10, sequence);
        sequence_clock::describe_again(packet, at_ns);
    }
    // A few numbers always fit.
    if writer.finish().is_ok() { buffer.written().to_vec() } else { Vec::new() }
}
