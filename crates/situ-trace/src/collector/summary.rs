//! What a collector has done, in numbers.

use crate::shm::format::Lost;

/// What a session came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// How many packets of producers were taken.
    pub packets: u64,
    /// How many bytes the trace has.
    pub bytes: u64,
    /// How many packets left the ring in memory again because newer ones came.
    pub evicted: u64,
    /// All who took part, in the order in which they came.
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

/// What came of one process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProducerSummary {
    /// The name it gave itself.
    pub name: String,
    /// Its process.
    pub pid: u32,
    /// Whether it ended, or died, before the session did.
    pub ended: bool,
    /// Its writers, in the order in which they came.
    pub writers: Vec<WriterSummary>,
    /// What threads lost that found no place, because more than 1,024 were writing.
    pub unregistered_writers: Lost,
    /// How many chunks and packets were not what the format says, and were thrown away: 0 unless somebody writes over its own
    /// ring, or over ours.
    pub malformed: u64,
    /// What was wrong with the ring as a whole, so that the rest of it was not read.
    pub given_up: Option<String>,
}

/// What came of one thread's writer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriterSummary {
    /// Its number in the trace: `trusted_packet_sequence_id`.
    pub sequence: u32,
    /// Its thread, as the system numbers it.
    pub thread: u32,
    /// How many of its packets were taken.
    pub packets: u64,
    /// How many it says it has finished.
    pub finished: u64,
    /// How much it says it has lost.
    pub lost: Lost,
    /// How many packets were begun and, for a loss or a death, never ended. (Those that were lost are counted there too.)
    pub unfinished: u64,
}
