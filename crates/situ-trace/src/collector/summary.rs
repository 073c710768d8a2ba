//! The result of a session, as numbers.

use std::path::PathBuf;

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
    /// The files that were written: one, or with a trigger as many as events fired.
    pub files: Vec<PathBuf>,
    /// The kernel's scheduling events.
    pub scheduling_events: u64,
    /// Scheduling events that the kernel lost because they came faster than they were read.
    pub scheduling_lost: u64,
    /// All producers, in the order of arrival.
    pub producers: Vec<ProducerSummary>,
}

impl Summary {
    /// Returns the losses of all writers together.
    pub fn lost(&self) -> Lost {
        let losses = self.producers.iter().flat_map(|producer| {
            producer.writers.iter().map(|writer| writer.lost).chain([producer.unregistered_writers])
        });
        losses.fold(Lost::default(), |sum, lost| Lost {
            packets: sum.packets.saturating_add(lost.packets),
            bytes: sum.bytes.saturating_add(lost.bytes),
        })
    }

    /// Returns how many parts of rings were dropped because they were damaged: chunks, packets, and the rest
    /// of a ring that was not read.
    pub fn damaged(&self) -> u64 {
        let parts = |producer: &ProducerSummary| producer.malformed + u64::from(producer.given_up.is_some());
        self.producers.iter().map(parts).fold(0, u64::saturating_add)
    }
}

/// The result of one process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProducerSummary {
    /// Its name.
    pub name: String,
    /// Its process number.
    pub pid: u32,
    /// Whether the process ended, or died, before the session did.
    pub ended: bool,
    /// Its writers, in the order of arrival.
    pub writers: Vec<WriterSummary>,
    /// Losses of threads without a writer entry, because more than 1,024 threads were writing.
    pub unregistered_writers: Lost,
    /// Chunks and packets that were malformed and dropped: 0 unless a process overwrites a ring.
    pub malformed: u64,
    /// The problem of the ring as a whole, because of which the rest of it was not read.
    pub given_up: Option<String>,
}

/// The result of one writer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriterSummary {
    /// Its sequence number in the trace: `trusted_packet_sequence_id`.
    pub sequence: u32,
    /// The system's thread number.
    pub thread: u32,
    /// The number of its packets that were taken.
    pub packets: u64,
    /// The number of packets that it finished, by its own count.
    pub finished: u64,
    /// Its losses, by its own count.
    pub lost: Lost,
    /// Packets that were begun and never finished, because of a loss or a death. Lost packets also count in
    /// `lost`.
    pub unfinished: u64,
}
