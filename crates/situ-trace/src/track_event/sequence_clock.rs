//! The clock of a thread's packets: most times are written as the difference from the one before, in one to
//! three bytes instead of eight.

use crate::proto::TracePacketWriter;

/// Perfetto's number of the boot time.
pub(super) const BOOT_TIME: u32 = 6;
/// The number of the sequence's own clock: of 64 to 127, which each sequence has for itself, the one that
/// Perfetto's own writers use.
pub(crate) const INCREMENTAL: u32 = 64;

/// A time for a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stamp {
    /// Nanoseconds since the packet before that had one of these, or since the clock began.
    Difference(u64),
    /// Nanoseconds of the boot time.
    Absolute(u64),
}

impl Stamp {
    /// Writes it into a packet.
    #[inline]
    pub(super) fn put(self, packet: &mut TracePacketWriter<'_>) {
        match self {
            Self::Difference(difference) => packet.set_timestamp(difference),
            Self::Absolute(at_ns) => {
                packet.set_timestamp(at_ns);
                packet.set_timestamp_clock_id(BOOT_TIME);
            }
        }
    }
}

/// The clock. Each writer of packets must write each stamp that it takes, in order. If a packet is lost, the
/// clock begins anew.
#[derive(Debug, Default)]
pub(super) struct SequenceClock {
    last_ns: u64,
}

impl SequenceClock {
    /// Begins the clock at this time, or at its last one. It does not run backwards. Returns its time.
    pub(super) fn begin(&mut self, now_ns: u64) -> u64 {
        self.last_ns = self.last_ns.max(now_ns);
        self.last_ns
    }

    /// Returns whether a time is a second or more after the last one.
    #[inline]
    pub(super) fn is_far_ahead(&self, at_ns: u64) -> bool {
        at_ns.saturating_sub(self.last_ns) >= 1_000_000_000
    }

    /// Returns the stamp of an event that follows the one before in time. If it does not, it has its absolute
    /// time.
    #[inline]
    pub(super) fn next(&mut self, at_ns: u64) -> Stamp {
        match at_ns.checked_sub(self.last_ns) {
            Some(difference) => {
                self.last_ns = at_ns;
                Stamp::Difference(difference)
            }
            None => Stamp::Absolute(at_ns),
        }
    }
}

/// Writes what begins a sequence's clock at a time of the boot time: the packet's own time, and a snapshot of
/// both clocks.
pub(super) fn describe(packet: &mut TracePacketWriter<'_>, at_ns: u64) {
    Stamp::Absolute(at_ns).put(packet);
    let mut snapshot = packet.set_clock_snapshot();
    for clock in [BOOT_TIME, INCREMENTAL] {
        let mut entry = snapshot.add_clocks();
        entry.set_clock_id(clock);
        entry.set_timestamp(at_ns);
        if clock == INCREMENTAL {
            entry.set_is_incremental(true);
        }
    }
    snapshot.set_primary_trace_clock(BOOT_TIME);
}

/// Writes a packet that only begins the clock, for a sequence whose first packets were dropped.
#[cfg(feature = "collector")]
pub(crate) fn describe_again(message: situ_wire::protobuf::Message<'_>, at_ns: u64) {
    describe(&mut TracePacketWriter(message), at_ns);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_in_order_are_differences() {
        let mut clock = SequenceClock::default();
        assert_eq!(clock.begin(1000), 1000);
        let stamps = [1000, 1300, 1299, 5000].map(|at| clock.next(at));
        let expected = [0, 300].map(Stamp::Difference);
        assert_eq!(stamps[..2], expected);
        assert_eq!(stamps[2..], [Stamp::Absolute(1299), Stamp::Difference(3700)]);
        assert_eq!((clock.begin(4000), clock.begin(6000)), (5000, 6000));
    }
}
