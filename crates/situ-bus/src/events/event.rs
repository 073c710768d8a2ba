//! One event of one publisher or subscriber: to be taken, waited for, or called back.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::events::endpoint_events::EndpointEvents;
use crate::events::status::EventStatus;
use crate::wait_set::source::{Source, SourceKind, Waitable};

/// An event of a publisher or a subscriber, with its status `S`.
///
/// [`take`](Self::take) returns the status. A wait set that it is attached to reports it as long as the
/// status has changed and was not taken. An executor calls back with the status:
/// [`Executor::event`](crate::Executor::event). Clones are the same event.
///
/// ```no_run
/// use situ_bus::{Executor, Node, QosProfile};
/// # fn demo<T: situ_layout::Message>(node: &Node) -> Result<(), Box<dyn std::error::Error>> {
/// let scans = node.subscriber::<T>("scan").profile(QosProfile::SensorData).create()?;
/// println!("{} publishers", scans.matched_event().take().current_count);
/// let executor = Executor::new(node)?;
/// executor.event(&scans.liveliness_changed_event(), |status| {
///     println!("{} alive, {} not", status.alive_count, status.not_alive_count);
/// })?;
/// # Ok(())
/// # }
/// ```
///
/// It may outlive its endpoint, and go to other threads. Nothing changes after the endpoint was dropped.
pub struct Event<S> {
    events: Arc<EndpointEvents>,
    status: PhantomData<fn() -> S>,
}

impl<S: EventStatus> Event<S> {
    pub(crate) fn new(events: &Arc<EndpointEvents>) -> Self {
        Self { events: events.clone(), status: PhantomData }
    }

    /// The status. Its changes are those since the last call.
    pub fn take(&self) -> S {
        self.events.take()
    }
}

impl<S: EventStatus> Waitable for Event<S> {
    fn source(&self) -> Source {
        Source { kind: SourceKind::Event(self.events.clone(), S::KIND) }
    }
}

impl<S> Clone for Event<S> {
    fn clone(&self) -> Self {
        Self { events: self.events.clone(), status: PhantomData }
    }
}

impl<S> fmt::Debug for Event<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event").field("status", &std::any::type_name::<S>()).finish_non_exhaustive()
    }
}
