//! The messages that a publisher copies into rows.

use crate::qos::PublisherQos;
use crate::topic::Topic;

/// The messages that a publisher copies into rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CopiedMessages {
    /// Their size in bytes.
    pub(crate) size: usize,
    /// The size of their user headers, which lie directly before them.
    pub(crate) user_header_size: usize,
    /// The publisher's first number.
    pub(crate) since: u64,
}

impl CopiedMessages {
    /// `None` if the publisher copies none. Messages with a lifespan are not copied: rows do not hold it.
    pub(crate) fn of(topic: &Topic, entry: usize, qos: &PublisherQos) -> Option<Self> {
        let size = topic.header.copied_size as usize;
        let since = topic.publisher(entry).tenure.since();
        let user_header_size = topic.user_header_size();
        (size != 0 && qos.lifespan.is_none()).then_some(Self { size, user_header_size, since })
    }
}
