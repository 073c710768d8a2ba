//! Wait sets, guard conditions and timers.

use std::os::fd::{AsFd, BorrowedFd, RawFd};
use std::sync::Arc;
use std::time::Instant;

use pyo3::prelude::*;
use situ_bus::{Descriptor, GuardCondition, ReadySources, Source, SourceId, Timer, WaitSet, Waitable};

use crate::endpoint::slice;
use crate::errors::Kind as Error;
use crate::events::EventHandle;
use crate::node::NodeHandle;
use crate::process::{self, Process};
use crate::qos;
use crate::service::{ClientHandle, ServerHandle};
use crate::subscriber::SubscriberHandle;

/// Wakes a wait set from another thread.
#[pyclass(frozen, module = "situ", name = "GuardCondition")]
pub struct GuardHandle {
    guard: GuardCondition,
}

#[pymethods]
impl GuardHandle {
    #[new]
    fn new() -> Self {
        Self { guard: GuardCondition::new() }
    }

    /// Makes it ready. A wait set reports it once.
    fn trigger(&self) {
        self.guard.trigger();
    }

    /// Whether it was triggered and not reported yet.
    #[getter]
    fn is_triggered(&self) -> bool {
        self.guard.is_triggered()
    }
}

/// Is ready after a time, once or again and again.
#[pyclass(frozen, module = "situ", name = "Timer")]
pub struct TimerHandle {
    timer: Timer,
}

#[pymethods]
impl TimerHandle {
    /// A timer of so many seconds.
    #[new]
    #[pyo3(signature = (seconds, *, once = false))]
    fn new(py: Python<'_>, seconds: f64, once: bool) -> PyResult<Self> {
        let time = qos::duration(py, "seconds", seconds)?;
        let timer = if once { Timer::one_shot(time) } else { Timer::periodic(time) };
        Ok(Self { timer: timer.map_err(|error| Error::Conversion.error(py, error))? })
    }

    /// Stops it.
    fn cancel(&self) {
        self.timer.cancel();
    }

    /// Starts it again.
    fn reset(&self) {
        self.timer.reset();
    }

    /// Whether it will be ready.
    #[getter]
    fn is_running(&self) -> bool {
        self.timer.is_running()
    }

    /// How often it was reported.
    #[getter]
    fn calls(&self) -> u64 {
        self.timer.calls()
    }

    /// How many periods passed without a report.
    #[getter]
    fn missed(&self) -> u64 {
        self.timer.missed()
    }
}

/// A descriptor of Python's code, with the object that keeps it open.
struct Foreign {
    fd: RawFd,
    _object: Py<PyAny>,
}

impl AsFd for Foreign {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the object keeps the descriptor open, unless Python's code closes it; then the kernel
        // reports an invalid descriptor, or another file's readiness, neither of which reaches memory.
        unsafe { BorrowedFd::borrow_raw(self.fd) }
    }
}

/// Waits for any number of sources.
#[pyclass(frozen, subclass, module = "situ", name = "WaitSet")]
pub struct WaitSetHandle {
    set: WaitSet,
    process: Process,
}

fn source(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<Source> {
    if let Ok(it) = object.cast::<SubscriberHandle>() {
        return it.get().source(py);
    }
    if let Ok(it) = object.cast::<GuardHandle>() {
        return Ok(it.get().guard.source());
    }
    if let Ok(it) = object.cast::<TimerHandle>() {
        return Ok(it.get().timer.source());
    }
    if let Ok(it) = object.cast::<EventHandle>() {
        return Ok(it.get().source());
    }
    if let Ok(it) = object.cast::<ClientHandle>() {
        return it.get().source(py);
    }
    if let Ok(it) = object.cast::<ServerHandle>() {
        return it.get().source(py);
    }
    let fd: RawFd = match object.extract() {
        Ok(fd) => fd,
        Err(_) => object.call_method0("fileno")?.extract()?,
    };
    if fd < 0 {
        return Err(Error::Conversion.error(py, format!("{fd} is no descriptor")));
    }
    Ok(Descriptor::readable(Arc::new(Foreign { fd, _object: object.clone().unbind() })).source())
}

#[pymethods]
impl WaitSetHandle {
    /// An empty set.
    #[new]
    fn new(py: Python<'_>, node: &NodeHandle) -> PyResult<Self> {
        Ok(Self { set: WaitSet::new(&node.node(py)?), process: Process::this() })
    }

    /// Attaches a subscriber, client, server, event, guard condition, timer, or anything with a descriptor
    /// that is read. Returns the number by which `wait` reports it.
    fn _attach(&self, py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<u64> {
        self.process.check(py, "the wait set")?;
        let source = source(py, object)?;
        let id = process::detached(py, || self.set.attach_source(source))
            .map_err(|error| Error::Error.error(py, error))?;
        Ok(id.to_number())
    }

    /// Detaches a source. Returns whether it was attached.
    fn _detach(&self, id: u64) -> bool {
        self.set.detach(SourceId::from_number(id))
    }

    /// Waits until a source is ready, and returns the numbers of all that are.
    #[pyo3(signature = (timeout = None))]
    fn _wait(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Vec<u64>> {
        self.process.check(py, "the wait set")?;
        let (limit, begun) = (qos::limit(py, "timeout", timeout)?, Instant::now());
        let mut ready = ReadySources::new();
        loop {
            let slice = slice(limit, begun);
            let waited = process::detached(py, || self.set.wait(&mut ready, Some(slice)));
            py.check_signals()?;
            let found = waited.map_err(|error| Error::Error.error(py, error))?;
            if found || slice.is_zero() {
                return Ok(ready.iter().map(|it| it.id.to_number()).collect());
            }
        }
    }

    /// A descriptor that is readable while something is ready.
    fn fileno(&self, py: Python<'_>) -> PyResult<RawFd> {
        self.set.fd().map_err(|error| Error::Error.error(py, error))
    }

    /// The number of attached sources.
    fn __len__(&self) -> usize {
        self.set.len()
    }
}
