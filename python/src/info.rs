//! What the bus tells of a message that was taken.

use pyo3::prelude::*;
use situ_bus::{Encoding, RawSample};

/// What the bus tells of a message that was taken.
#[pyclass(frozen, module = "situ", name = "MessageInfo", get_all)]
#[derive(Clone)]
pub struct Info {
    /// Its number in the topic's order.
    sequence: u64,
    /// When it was published, in nanoseconds of the clock of `situ.now_ns`.
    published_at_ns: u64,
    /// When it was taken; 0 unless the subscriber asked for it.
    received_at_ns: u64,
    /// The id of the publisher's node.
    publisher: String,
    /// How many messages its publisher had published before.
    publisher_sequence: u64,
    /// `flat`, `xcdr1`, `xcdr2` or `region`.
    encoding: &'static str,
    /// Its user header.
    user_header: Vec<u8>,
    /// The number of its bytes.
    size: usize,
}

#[pymethods]
impl Info {
    fn __repr__(&self) -> String {
        format!(
            "MessageInfo(sequence={}, published_at_ns={}, publisher={:?}, publisher_sequence={}, encoding={:?}, size={})",
            self.sequence,
            self.published_at_ns,
            self.publisher,
            self.publisher_sequence,
            self.encoding,
            self.size
        )
    }
}

/// The word for an encoding.
pub fn encoding_name(encoding: Encoding) -> &'static str {
    match encoding {
        Encoding::Flat => "flat",
        Encoding::Xcdr1 => "xcdr1",
        Encoding::Xcdr2 => "xcdr2",
        Encoding::Region => "region",
    }
}

/// What the bus tells of a sample.
pub fn info_of(sample: &RawSample) -> Info {
    Info {
        sequence: sample.sequence(),
        published_at_ns: sample.published_at_ns(),
        received_at_ns: sample.received_at_ns(),
        publisher: sample.publisher_id().to_string(),
        publisher_sequence: sample.publisher_sequence(),
        encoding: encoding_name(sample.encoding()),
        user_header: sample.user_header().to_vec(),
        size: sample.head_in_place().len() + sample.body_size(),
    }
}
