//! The place of a subscriber of this process. The process writes no other place.

use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

use situ_memory::MemoryError;
use situ_memory::sync::atomic::Ordering;

use super::file::Topic;
use super::format::{Place, state};

/// The place of a subscriber of this process. Only this subscriber writes it.
#[derive(Debug)]
pub(crate) struct OwnPlace {
    place: NonNull<Place>,
    pub(crate) index: usize,
    /// Keeps the place mapped.
    topic: Arc<Topic>,
}

// SAFETY: A place consists of atomics, and its mapping lives as long as the topic that this keeps.
unsafe impl Send for OwnPlace {}
// SAFETY: as above.
unsafe impl Sync for OwnPlace {}

impl OwnPlace {
    /// A place of a topic that a subscriber opened: [`Access::ReadWrite`](situ_memory::Access).
    pub(super) fn new(topic: &Arc<Topic>, index: usize) -> Result<Self, MemoryError> {
        assert!(topic.places.are_writable(), "only a subscriber has a place");
        Ok(Self { place: topic.places.raw(index)?, index, topic: topic.clone() })
    }

    /// Leaves the topic, when the subscriber and the last of its samples are dropped.
    pub(crate) fn leave(&self) {
        self.state.fetch_or(state::GONE, Ordering::SeqCst);
        self.topic.note_change();
        self.topic.room().notify();
        self.topic.leave(Some(self.index));
    }
}

impl Deref for OwnPlace {
    type Target = Place;

    #[inline]
    fn deref(&self) -> &Place {
        // SAFETY: it lies in a mapping that `topic` keeps and that is writable, as `new` checked; a place
        // consists of atomics.
        unsafe { self.place.as_ref() }
    }
}
