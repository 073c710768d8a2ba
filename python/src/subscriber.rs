//! Subscribers: taking and waiting.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use situ_bus::{Encoding, EventFd, RawSubscriber, TakeError, TypeDescription, Wait};

use crate::content::Struct;
use crate::errors::Kind as Error;
use crate::events::EventHandle;
use crate::hold::{note_taken, places_of};
use crate::message::received;
use crate::node::NodeHandle;
use crate::process::{self, Process};
use crate::qos;
use crate::sync::lock;
use crate::types::{TypeHandle, Types};

/// How long one wait lasts before signals are looked for. A signal that arrives while the thread sleeps ends
/// the sleep at once; one that arrives right before is noticed after this time.
pub const SLICE: Duration = Duration::from_millis(200);

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
    raw: Arc<Mutex<Option<RawSubscriber>>>,
    fd: Mutex<Option<EventFd>>,
    types: Arc<Types>,
    topic: String,
    process: Process,
}

impl SubscriberHandle {
    /// Uses the subscriber. Another thread that waits gives it back within `SLICE`.
    pub fn with<R: Send>(
        &self,
        py: Python<'_>,
        with: impl FnOnce(&RawSubscriber) -> R + Send,
    ) -> PyResult<R> {
        self.check(py)?;
        let used = match self.raw.try_lock() {
            Ok(raw) => raw.as_ref().map(with),
            Err(_) => process::detached(py, || lock(&self.raw).as_ref().map(with)),
        };
        used.ok_or_else(|| self.closed(py))
    }

    fn check(&self, py: Python<'_>) -> PyResult<()> {
        if self.process.is_this() {
            return Ok(());
        }
        self.process.check(py, &format!("the subscriber of topic {:?}", self.topic))
    }

    #[cold]
    fn closed(&self, py: Python<'_>) -> PyErr {
        Error::Released.error(py, format!("the subscriber of topic {:?} is closed", self.topic))
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
        // Messages are read by their schema, so any layout is accepted.
        let types = handle.types.clone();
        let is_flat = types.schema.is_flat(handle.id);
        let description = TypeDescription {
            encoding: Encoding::Region,
            layout_hash: 0,
            ..handle.describe(is_flat, user_header)
        };
        let (qos, placement) = (qos::of_subscriber(options)?, qos::placement(options)?);
        let raw =
            process::detached(py, || RawSubscriber::create_in(&node, topic, &description, qos, &placement));
        let raw = raw.map_err(|error| Error::Register.error(py, error))?;
        let raw = Arc::new(Mutex::new(Some(raw)));
        Ok(Self { raw, fd: Mutex::new(None), types, topic: topic.to_owned(), process: Process::this() })
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
        let sample = match self.with(py, RawSubscriber::take)? {
            Ok(Some(sample)) => sample,
            Ok(None) => return Ok(None),
            Err(error) => return Err(take_error(py, &error)),
        };
        let taken = notes_places().then(|| note_taken(&self.topic, place(py)));
        received(py, &self.types, sample, taken).map(Some)
    }

    /// Waits until there is something to take. Returns whether there is.
    #[pyo3(signature = (timeout = None))]
    fn wait(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<bool> {
        let limit = qos::limit(py, "timeout", timeout)?;
        if self.with(py, RawSubscriber::has_next)? {
            return Ok(true);
        }
        let begun = Instant::now();
        loop {
            let left = limit.map(|limit| limit.saturating_sub(begun.elapsed()));
            let slice = left.map_or(SLICE, |left| left.min(SLICE));
            let found = process::detached(py, || {
                let raw = lock(&self.raw);
                raw.as_ref().map(|raw| raw.wait_with(Wait::at_most(slice).until_a_signal()).unwrap_or(false))
            });
            py.check_signals()?;
            self.check(py)?;
            match found {
                None => return Err(self.closed(py)),
                Some(true) => return Ok(true),
                Some(false) if left == Some(Duration::ZERO) => return Ok(false),
                Some(false) => {}
            }
        }
    }

    /// Whether there is something to take.
    #[getter]
    fn has_next(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, RawSubscriber::has_next)
    }

    /// How many publishers match.
    #[getter]
    fn publishers(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, RawSubscriber::publishers)
    }

    /// How many messages were taken.
    #[getter]
    fn taken(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, RawSubscriber::taken)
    }

    /// How many messages were lost, because publishers were faster.
    #[getter]
    fn lost(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, RawSubscriber::lost)
    }

    /// Its id.
    #[getter]
    fn id(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |raw| raw.id().to_string())
    }

    /// A descriptor for `select`, `epoll` and event loops. It is readable when there may be something to
    /// take: call `clear_fd`, and take until there is nothing.
    fn fileno(&self, py: Python<'_>) -> PyResult<i32> {
        use std::os::fd::{AsFd, AsRawFd};
        let known = lock(&self.fd).as_ref().map(|it| it.as_fd().as_raw_fd());
        if let Some(fd) = known {
            return Ok(fd);
        }
        let made = self.with(py, RawSubscriber::event_fd)?.map_err(|error| Error::Error.error(py, error))?;
        Ok(lock(&self.fd).insert(made).as_fd().as_raw_fd())
    }

    /// Makes the descriptor unreadable until the next message.
    fn clear_fd(&self) {
        if let Some(fd) = &*lock(&self.fd) {
            fd.clear();
        }
    }

    /// Leaves the topic. Messages that were taken stay valid.
    fn close(&self, py: Python<'_>) {
        if !self.process.is_this() {
            return;
        }
        let fd = lock(&self.fd).take();
        process::detached(py, || {
            drop(fd);
            drop(lock(&self.raw).take());
        });
    }

    /// Whether it is closed.
    #[getter]
    fn is_closed(&self) -> bool {
        self.raw.try_lock().is_ok_and(|raw| raw.is_none())
    }

    /// The event of this kind.
    fn _event(&self, py: Python<'_>, kind: &str) -> PyResult<EventHandle> {
        let event = self.with(py, |raw| EventHandle::of_subscriber(raw, kind))?;
        event.ok_or_else(|| Error::Error.error(py, format!("subscribers have no event {kind:?}")))
    }
}
