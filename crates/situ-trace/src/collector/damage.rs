//! Writes into the trace how many parts of rings were dropped because they were damaged.
//!
//! Perfetto has a count for this, `abi_violations` of a buffer, and shows it among the losses of data.

use situ_wire::protobuf::{Fixed, Writer};

use super::assembler::PacketSink;
use super::clocks::SEQUENCE;

/// Writes a packet of the collector with the number of damaged parts, if there are any.
pub(super) fn report(parts: u64, to: &mut dyn PacketSink) {
    if parts == 0 {
        return;
    }
    let mut memory = [0; 64];
    let mut buffer = Fixed::new(&mut memory);
    let mut writer = Writer::new(&mut buffer);
    {
        let mut packet = writer.message();
        packet.uint32(10, SEQUENCE);
        let mut stats = packet.message(35);
        stats.message(1).uint64(9, parts);
    }
    if writer.finish().is_ok() {
        to.put(SEQUENCE, buffer.written(), &[]);
    }
}
