//! Whether the servers of a call are alive.
//!
//! A client asks the kernel every few milliseconds whether a process of a server has ended, in one call for
//! all of them, and only while calls are under way.

use std::cell::{Cell, RefCell};

use super::calls::Call;
use crate::clock::{coarse_ns, now_ns};
use crate::node::process_watch::ProcessWatch;
use crate::port::publisher::RawPublisher;
use crate::port::subscriber::RawSubscriber;
use crate::protocol::presence::Presence;
use crate::topic::PlaceView;

/// How often a client that waits checks its servers. The steps of the coarse clock, 4 ms, come in addition.
pub(super) const CHECK_NS: u64 = 3_000_000;

/// A client's view of its servers.
#[derive(Debug, Default)]
pub(super) struct Servers {
    watch: RefCell<ProcessWatch>,
    presence: Presence,
    checked_ns: Cell<u64>,
}

impl Servers {
    /// Whether a check is due. This is no system call.
    #[inline]
    pub(super) fn is_due(&self) -> bool {
        coarse_ns().saturating_sub(self.checked_ns.get()) >= CHECK_NS
    }

    /// Checks whether servers have died, and marks them.
    #[cold]
    pub(super) fn check(&self, requests: &RawPublisher) {
        self.checked_ns.set(coarse_ns());
        self.presence.forget();
        let topic = &requests.topic;
        if self.watch.borrow_mut().notices(topic, &requests.node.processes, now_ns())
            && topic.mark_dead_places() > 0
        {
            topic.repair_if_free();
        }
    }

    /// Whether the service has a server. A call to a server that was just dropped ends at the next check.
    #[inline]
    pub(super) fn is_there(&self, requests: &RawPublisher) -> bool {
        let topic = &requests.topic;
        self.presence.is_there(|| topic.changes(), || topic.places.active().next().is_some())
    }

    /// Whether a server is present that may still answer a call: one that has the request, or, once a server
    /// has answered, that one.
    pub(super) fn may_answer(requests: &RawPublisher, replies: &RawSubscriber, call: &Call) -> bool {
        let mut places = present(requests);
        match call.server {
            // Its node may have other servers of the service: only this one publishes this one's replies.
            Some(server) => {
                let is_its = |place: PlaceView<'_>| place.node() == server.node.0;
                places.any(is_its) && replies.core().topic.has_publisher(server.number)
            }
            // A server that joined later has not got the request. One that is joining writes the time last.
            None => places.any(|place| {
                let joined_at = place.joined_at();
                joined_at == u64::MAX || joined_at <= call.request
            }),
        }
    }
}

/// The places of the servers that take requests. A server that was dropped keeps its place as long as
/// requests that it took exist, but takes no more (`RawSubscriber`'s `Drop`).
fn present(requests: &RawPublisher) -> impl Iterator<Item = PlaceView<'_>> {
    requests.topic.places.active().filter(|place| place.cursor() != u64::MAX)
}

/// The number of servers at the moment.
pub(super) fn count(requests: &RawPublisher) -> usize {
    present(requests).count()
}
