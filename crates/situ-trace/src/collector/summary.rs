//! The result of a session, in numbers.

use crate::shm::format::Lost;

/// The result of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Packets taken from producers.
    pub packets: u64,
    /// The size of the trace, in bytes.
    pub bytes: u64,
    /// Packets that the ring in memory evicted for newer ones.
    pub evicted: u64,
    /// All producers, in the order of arrival.
    pub producers: Vec<ProducerSummary>,
}

impl Summary {
    /// How much all writers lost.
    pub fn lost(&self) -> Lost {
        let losses = self.producers.iter().flat_map(|producer| {
            producer.writers.iter().map(|writer| writer.lost).chain([producer.unregistered_writers])
        });
        losses.fold(Lost::default(), |sum, lost| Lost {
            packets: sum.packets.saturating_add(lost.packets),
            bytes: sum.bytes.saturating_add(lost.bytes),
        })
    }
}

/// The result of one process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProducerSummary {
    /// Its name.
    pub name: String,
    /// Its process number.
    pub pid: u32,
    /// Whether it ended, or died, before the session did.
    pub ended: bool,
    /// Its writers, in the order of arrival.
    pub writers: Vec<WriterSummary>,
    /// What threads lost that found no writer entry, because more than 1,024 were writing.
    pub unregistered_writers: Lost,
    /// Chunks and packets that were malformed and dropped: 0 unless a process overwrites a ring.
    pub malformed: u64,
    /// What is wrong with the ring as a whole, so that the rest of it was not read.
    pub given_up: Option<String>,
}

/// The result of one writer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriterSummary {
    /// Its sequence number in the trace: `trusted_packet_sequence_id`.
    pub sequence: u32,
    /// The system's thread number.
    pub thread: u32,
    /// How many of its packets were taken.
    pub packets: u64,
    /// How many packets it finished, by its own count.
    pub finished: u64,
    /// How much it lost, by its own count.
    pub lost: Lost,
    /// Packets that were begun and never finished, because of a loss or a death. Lost ones also count in
    /// `lost`.
    pub unfinished: u64,
}
