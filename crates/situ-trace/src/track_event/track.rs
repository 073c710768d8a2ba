//! Tracks that a program names: for work that moves between threads, and for work that overlaps.

use std::borrow::Cow;

use situ_wire::protobuf::Message;

use super::process::{mix, process_track};
use crate::proto::TracePacketWriter;

/// The maximum number of tracks that enclose a track. The parents of further ones are omitted.
const MAX_PARENTS: usize = 16;

/// A track of the program's own. It has a name and a number: two tracks with the same parent, name and number
/// are the same track, in all threads. Slices of one track must nest; give activities that overlap tracks of
/// different numbers. Perfetto shows tracks of one parent and one name as one.
///
/// ```
/// use situ_trace::Track;
///
/// static ARM: Track<'static> = Track::new("arm", 0);
/// // Below it: one track for each grasp.
/// let grasp = Track::below(&ARM, "grasp", 17);
/// # _ = grasp;
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Track<'a> {
    parent: Parent<'a>,
    /// UTF-8, except from other languages.
    name: &'a [u8],
    id: u64,
}

#[derive(Debug, Clone, Copy)]
enum Parent<'a> {
    Process,
    Thread,
    Nothing,
    Track(&'a Track<'a>),
}

impl<'a> Track<'a> {
    /// Creates a track of this process.
    pub const fn new(name: &'a str, id: u64) -> Self {
        Self { parent: Parent::Process, name: name.as_bytes(), id }
    }

    /// Creates a track below that of the thread which writes the event.
    pub const fn of_thread(name: &'a str, id: u64) -> Self {
        Self { parent: Parent::Thread, name: name.as_bytes(), id }
    }

    /// Creates a track that belongs to no process: it is the same in all processes of the trace.
    pub const fn global(name: &'a str, id: u64) -> Self {
        Self { parent: Parent::Nothing, name: name.as_bytes(), id }
    }

    /// Creates a track below another.
    pub const fn below(parent: &'a Track<'a>, name: &'a str, id: u64) -> Self {
        Self { parent: Parent::Track(parent), name: name.as_bytes(), id }
    }

    /// Gives it a name of another language. Bytes that are not UTF-8 are replaced by U+FFFD.
    #[must_use]
    pub const fn with_foreign_name(self, name: &'a [u8]) -> Self {
        Self { name, ..self }
    }

    /// Returns its number in the trace, for events of a thread with this track.
    pub(super) fn uuid(&self, thread: u64) -> u64 {
        self.uuid_below(thread, MAX_PARENTS)
    }

    fn uuid_below(&self, thread: u64, parents: usize) -> u64 {
        let parent = self.parent_uuid(thread, parents);
        mix(parent, mix(hash(self.name), self.id))
    }

    fn parent_uuid(&self, thread: u64, parents: usize) -> u64 {
        match self.parent {
            Parent::Process => process_track(),
            Parent::Thread => thread,
            Parent::Track(parent) if parents > 0 => parent.uuid_below(thread, parents - 1),
            Parent::Track(_) | Parent::Nothing => 0,
        }
    }

    /// Returns the number of the track that encloses it, or 0.
    pub(super) fn parent_of(&self, thread: u64) -> u64 {
        self.parent_uuid(thread, MAX_PARENTS)
    }

    pub(super) fn name(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.name)
    }

    /// Returns the tracks that enclose it, the innermost first.
    pub(super) fn parents(&self) -> impl Iterator<Item = &Track<'a>> {
        let parent = |track: &Track<'a>| match track.parent {
            Parent::Track(parent) => Some(parent),
            _ => None,
        };
        std::iter::successors(parent(self), move |track| parent(track)).take(MAX_PARENTS)
    }

    /// Writes the packet that describes it.
    #[cold]
    pub(super) fn describe(&self, message: Message<'_>, thread: u64) {
        let mut packet = TracePacketWriter(message);
        let mut track = packet.set_track_descriptor();
        track.set_uuid(self.uuid(thread));
        match self.parent_of(thread) {
            0 => {}
            parent => track.set_parent_uuid(parent),
        }
        track.set_name(&self.name());
    }
}

/// FNV-1a.
fn hash(text: &[u8]) -> u64 {
    text.iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_fnv_1a() {
        // Values that the authors of the hash publish.
        assert_eq!(hash(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(hash(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn parent_name_and_number_tell_tracks_apart() {
        let arm = Track::global("arm", 0);
        let all = [
            arm,
            Track::global("arm", 1),
            Track::global("leg", 0),
            Track::below(&arm, "arm", 0),
            Track::of_thread("arm", 0),
        ];
        for (index, track) in all.iter().enumerate() {
            for (other_index, other) in all.iter().enumerate() {
                assert_eq!(track.uuid(7) == other.uuid(7), index == other_index);
            }
            assert_eq!(track.uuid(7), { *track }.uuid(7));
        }
        assert_ne!(all[4].uuid(7), all[4].uuid(8), "each thread has its own");
        assert_eq!(all[3].parents().count(), 1);
    }
}
