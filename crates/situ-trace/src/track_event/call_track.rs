//! The tracks of calls of services.
//!
//! Several calls of a client are under way at once, and slices of one track must nest. So each lane of a
//! client, and each of a server, has a track, whose parent is the process. Perfetto shows tracks of one parent
//! and one name as one.

use situ_bus::hook::{Role, Subject};
use situ_wire::protobuf::Message;

use super::bus_topics::service_of;
use super::process::{mix, process_track};
use crate::proto::TracePacketWriter;

/// The track of a lane.
pub(super) struct CallTrack<'a> {
    uuid: u64,
    service: &'a str,
    role: Role,
}

impl<'a> CallTrack<'a> {
    pub(super) fn new(subject: Subject<'a>, role: Role, lane: u32) -> Self {
        let of_server = u64::from(role == Role::Server);
        // Members and lanes have fewer than 31 bits.
        let place = of_server << 63 | u64::from(subject.member) << 31 | u64::from(lane);
        let uuid = mix(process_track(), mix(subject.id, place));
        Self { uuid, service: service_of(subject.topic).unwrap_or_default(), role }
    }

    /// Its number, which two processes or lanes hardly ever share.
    pub(super) fn uuid(&self) -> u64 {
        self.uuid
    }

    /// Writes the packet that describes it.
    #[cold]
    pub(super) fn describe(&self, message: Message<'_>) {
        let mut packet = TracePacketWriter(message);
        let mut track = packet.set_track_descriptor();
        track.set_uuid(self.uuid);
        track.set_parent_uuid(process_track());
        let what = if self.role == Role::Client { "calls of" } else { "requests of" };
        track.set_name(&format!("{what} {}", self.service));
    }
}
