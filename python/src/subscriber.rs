//! Subscribers: taking and waiting.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use situ_bus::{RawSample, RawSubscriber, Source, TakeError, Waitable};
use situ_memory::{DomainId, HOST};

use crate::content::Struct;
use crate::device::{adopted, handle_of, release_passed};
use crate::endpoint::Endpoint;
use crate::errors::Kind as Error;
use crate::events::EventHandle;
use crate::hold::{note_taken, places_of};
use crate::message::received;
use crate::node::NodeHandle;
use crate::process;
use crate::qos;
use crate::types::{TypeHandle, Types};

/// Whether the places are noted at which messages are taken.
static NOTES_PLACES: AtomicBool = AtomicBool::new(false);

/// Notes where messages are taken, so that the error of a subscriber that holds too many says it.
#[pyfunction]
pub fn note_places(on: bool) {
    NOTES_PLACES.store(on, Ordering::Relaxed);
}

/// Whether places are noted.
#[pyfunction]
pub fn notes_places() -> bool {
    NOTES_PLACES.load(Ordering::Relaxed)
}

/// A subscriber of a topic.
#[pyclass(frozen, subclass, module = "situ", name = "Subscriber")]
pub struct SubscriberHandle {
    endpoint: Endpoint<RawSubscriber>,
    domain: DomainId,
    types: Arc<Types>,
    topic: String,
}

impl SubscriberHandle {
    fn take_with(
        &self,
        py: Python<'_>,
        take: impl FnOnce(&RawSubscriber) -> Result<Option<RawSample>, TakeError> + Send,
    ) -> PyResult<Result<Option<RawSample>, TakeError>> {
        self.endpoint.without_gil(py, |raw| {
            release_passed();
            take(raw)
        })
    }

    fn taken_message<'py>(
        &self,
        py: Python<'py>,
        taken: Result<Option<RawSample>, TakeError>,
    ) -> PyResult<Option<Bound<'py, Struct>>> {
        let sample = match taken {
            Ok(Some(sample)) => sample,
            Ok(None) => return Ok(None),
            Err(error) => return Err(take_error(py, &error)),
        };
        let taken = notes_places().then(|| note_taken(&self.topic, place(py)));
        received(py, &self.types, sample, taken).map(Some)
    }

    /// The source by which a wait set waits for it.
    pub fn source(&self, py: Python<'_>) -> PyResult<Source> {
        self.endpoint.with(py, Waitable::source)
    }
}

/// The exception for a failed take.
pub fn take_error(py: Python<'_>, error: &TakeError) -> PyErr {
    match error {
        TakeError::Held { topic, .. } => {
            let places: Vec<String> = places_of(topic)
                .iter()
                .map(|(place, count)| format!("\n  {count} taken at {place}"))
                .collect();
            let more = match (places.is_empty(), notes_places()) {
                (true, false) => "; `situ.debug(True)` notes where they are taken".to_owned(),
                _ => places.concat(),
            };
            Error::Held.error(py, format!("{error}{more}"))
        }
        TakeError::Forked { .. } => Error::Forked.error(py, error),
        _ => Error::Take.error(py, error),
    }
}

/// Where Python's code is now, for the places of held messages.
fn place(py: Python<'_>) -> String {
    let found = py.import("situ._debug").and_then(|it| it.getattr("place")?.call0()?.extract());
    found.unwrap_or_default()
}

#[pymethods]
impl SubscriberHandle {
    #[new]
    #[pyo3(signature = (node, topic, handle, user_header, options))]
    fn new(
        py: Python<'_>,
        node: &NodeHandle,
        topic: &str,
        handle: &TypeHandle,
        user_header: u32,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let node = node.node(py)?;
        let (qos, placement) = (qos::of_subscriber(options)?, qos::placement(options)?);
        let description = match placement.domain {
            HOST => handle.describe_any_layout(user_header),
            // Only flat messages can be on a device.
            _ => handle.describe(true, user_header),
        };
        let raw =
            process::detached(py, || RawSubscriber::create_in(&node, topic, &description, qos, &placement));
        let raw = raw.map_err(|error| Error::Register.error(py, error))?;
        let endpoint = Endpoint::new(raw, format!("the subscriber of topic {topic:?}"));
        let domain = placement.domain;
        Ok(Self { endpoint, domain, types: handle.types.clone(), topic: topic.to_owned() })
    }

    /// The topic's name.
    #[getter]
    fn topic(&self) -> &str {
        &self.topic
    }

    /// The type of its messages.
    #[getter]
    fn r#type(&self) -> TypeHandle {
        TypeHandle::new(self.types.clone(), self.types.root)
    }

    /// Takes the next message, or `None` if there is none.
    fn take<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, Struct>>> {
        let taken = match self.domain {
            HOST => self.endpoint.with(py, RawSubscriber::take)?,
            // It may wait for a device.
            _ => self.take_with(py, RawSubscriber::take)?,
        };
        self.taken_message(py, taken)
    }

    /// As `take`, in the order of a stream: work that is enqueued on it from now on runs after the work that
    /// completes or copies the message. Nothing waits.
    fn take_on<'py>(
        &self,
        py: Python<'py>,
        stream: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, Struct>>> {
        let stream = adopted(py, self.domain, handle_of(stream)?)?;
        let taken = self.take_with(py, |raw| raw.take_on(&*stream))?;
        self.taken_message(py, taken)
    }

    /// Waits until there is something to take. Returns whether there is.
    #[pyo3(signature = (timeout = None))]
    fn wait(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<bool> {
        let limit = qos::limit(py, "timeout", timeout)?;
        if self.endpoint.with(py, RawSubscriber::has_next)? {
            return Ok(true);
        }
        self.endpoint.wait(py, limit, |raw, how| raw.wait_with(how).unwrap_or(false))
    }

    /// Whether there is something to take.
    #[getter]
    fn has_next(&self, py: Python<'_>) -> PyResult<bool> {
        self.endpoint.with(py, RawSubscriber::has_next)
    }

    /// How many publishers match.
    #[getter]
    fn publishers(&self, py: Python<'_>) -> PyResult<usize> {
        self.endpoint.with(py, RawSubscriber::publishers)
    }

    /// How many messages were taken.
    #[getter]
    fn taken(&self, py: Python<'_>) -> PyResult<u64> {
        self.endpoint.with(py, RawSubscriber::taken)
    }

    /// How many messages were lost, because publishers were faster.
    #[getter]
    fn lost(&self, py: Python<'_>) -> PyResult<u64> {
        self.endpoint.with(py, RawSubscriber::lost)
    }

    /// Its id.
    #[getter]
    fn id(&self, py: Python<'_>) -> PyResult<String> {
        self.endpoint.with(py, |raw| raw.id().to_string())
    }

    /// A descriptor for `select`, `epoll` and event loops. It is readable when there may be something to
    /// take: call `clear_fd`, and take until there is nothing.
    fn fileno(&self, py: Python<'_>) -> PyResult<i32> {
        self.endpoint.fileno(py, RawSubscriber::event_fd)
    }

    /// Makes the descriptor unreadable until the next message.
    fn clear_fd(&self) {
        self.endpoint.clear_fd();
    }

    /// Leaves the topic. Messages that were taken stay valid.
    fn close(&self, py: Python<'_>) {
        self.endpoint.close(py);
    }

    /// Whether it is closed.
    #[getter]
    fn is_closed(&self) -> bool {
        self.endpoint.is_closed()
    }

    /// The event of this kind.
    fn _event(&self, py: Python<'_>, kind: &str) -> PyResult<EventHandle> {
        let event = self.endpoint.with(py, |raw| EventHandle::of_subscriber(raw, kind))?;
        event.ok_or_else(|| Error::Error.error(py, format!("subscribers have no event {kind:?}")))
    }
}
