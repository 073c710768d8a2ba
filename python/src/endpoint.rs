//! A subscriber, client or server as Python's threads share it: one thread at a time uses it.
//!
//! A thread that waits does so without the GIL and in slices. Between two slices it looks for signals, and
//! gives the endpoint to threads that want it.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use situ_bus::{EventFd, Wait};

use crate::errors::Kind as Error;
use crate::process::{self, Process};
use crate::sync::lock;

/// How long one wait lasts before signals are looked for. A signal that arrives while the thread sleeps ends
/// the sleep at once; one that arrives right before is noticed after this time.
pub const SLICE: Duration = Duration::from_millis(200);

/// How long the next wait lasts: up to the limit, and at most a slice.
pub fn slice(limit: Option<Duration>, begun: Instant) -> Duration {
    limit.map_or(SLICE, |limit| limit.saturating_sub(begun.elapsed()).min(SLICE))
}

/// A participant of the bus, until it is closed.
pub struct Endpoint<T> {
    raw: Mutex<Option<T>>,
    /// Set before the thread that closes it asks for `raw`: a thread that waits in slices would otherwise get
    /// it again and again, because the mutex is not fair.
    is_closing: AtomicBool,
    shown: Mutex<Option<Shown>>,
    process: Process,
    /// What it is, for errors.
    what: String,
}

/// A descriptor that event loops wait for.
struct Shown {
    /// Makes it readable when there is something, until the endpoint is closed.
    watch: Option<EventFd>,
    /// The same, under a number that stays valid: event loops may still wait for it when the endpoint is
    /// closed.
    file: File,
}

impl Shown {
    /// Wakes event loops, which then find the endpoint closed.
    fn wake(&self) {
        let _ = (&self.file).write_all(&1u64.to_ne_bytes());
    }
}

impl<T: Send> Endpoint<T> {
    /// Shares a participant. `what` names it in errors.
    pub fn new(raw: T, what: String) -> Self {
        let (raw, shown) = (Mutex::new(Some(raw)), Mutex::new(None));
        Self { raw, is_closing: AtomicBool::new(false), shown, process: Process::this(), what }
    }

    /// Uses it. Another thread that waits gives it back within `SLICE`.
    pub fn with<R: Send>(&self, py: Python<'_>, with: impl FnOnce(&T) -> R + Send) -> PyResult<R> {
        self.check(py)?;
        let used = match self.raw.try_lock() {
            Ok(raw) => raw.as_ref().map(with),
            Err(_) => process::detached(py, || lock(&self.raw).as_ref().map(with)),
        };
        used.ok_or_else(|| self.closed(py))
    }

    fn check(&self, py: Python<'_>) -> PyResult<()> {
        self.process.check(py, &self.what)?;
        if self.is_closing.load(Ordering::Relaxed) { Err(self.closed(py)) } else { Ok(()) }
    }

    /// As `with`, without the GIL.
    pub fn without_gil<R: Send>(&self, py: Python<'_>, with: impl FnOnce(&T) -> R + Send) -> PyResult<R> {
        self.check(py)?;
        let used = process::detached(py, || lock(&self.raw).as_ref().map(with));
        used.ok_or_else(|| self.closed(py))
    }

    /// As `without_gil`. Then it looks for signals, whose exception takes the place of the result.
    pub fn with_detached<R: Send>(&self, py: Python<'_>, with: impl FnOnce(&T) -> R + Send) -> PyResult<R> {
        let used = self.without_gil(py, with);
        py.check_signals()?;
        used
    }

    /// Uses the participant, or `None` if it is closed, without Python. In a forked child nothing is done: it
    /// is the parent's, and its lock may be held for ever.
    pub fn locked(&self, with: impl FnOnce(Option<&T>)) {
        if self.process.is_this() {
            with(lock(&self.raw).as_ref());
        }
    }

    /// Waits in slices until `wait` returns true. Returns false when the time is over.
    pub fn wait(
        &self,
        py: Python<'_>,
        limit: Option<Duration>,
        wait: impl Fn(&T, Wait) -> bool + Sync,
    ) -> PyResult<bool> {
        let begun = Instant::now();
        loop {
            let slice = slice(limit, begun);
            let how = Wait::at_most(slice).until_a_signal();
            let found = self.with_detached(py, |raw| wait(raw, how))?;
            if found || slice.is_zero() {
                return Ok(found);
            }
        }
    }

    /// The descriptor that `make` makes at the first call.
    pub fn fileno(
        &self,
        py: Python<'_>,
        make: impl FnOnce(&T) -> std::io::Result<EventFd> + Send,
    ) -> PyResult<i32> {
        let known = lock(&self.shown).as_ref().map(|it| it.file.as_raw_fd());
        if let Some(fd) = known {
            return Ok(fd);
        }
        let made = self.with(py, |raw| {
            let watch = make(raw)?;
            let file = File::from(watch.as_fd().try_clone_to_owned()?);
            Ok(Shown { watch: Some(watch), file })
        })?;
        let made = made.map_err(|error: std::io::Error| Error::Error.error(py, error))?;
        // Of two threads that make one, the first has made the one that stays.
        let fd = lock(&self.shown).get_or_insert(made).file.as_raw_fd();
        // A thread that closes the endpoint wakes what it finds here, after the endpoint is closed. If it has
        // looked before, this thread sees that the endpoint is closed.
        if self.is_closed() {
            self.wake();
        }
        Ok(fd)
    }

    /// Makes the descriptor unreadable until it is ready again.
    pub fn clear_fd(&self) {
        if let Some(Shown { watch: Some(watch), .. }) = &*lock(&self.shown) {
            watch.clear();
        }
    }

    /// Leaves the bus. The descriptor is readable from then on. In a forked child nothing is done: it is
    /// the parent's.
    pub fn close(&self, py: Python<'_>) {
        if self.process.is_this() {
            self.is_closing.store(true, Ordering::Relaxed);
            let watch = lock(&self.shown).as_mut().and_then(|it| it.watch.take());
            process::detached(py, || {
                drop(watch);
                drop(lock(&self.raw).take());
                self.wake();
            });
        }
    }

    fn wake(&self) {
        if let Some(shown) = &*lock(&self.shown) {
            shown.wake();
        }
    }

    /// Whether it is closed.
    pub fn is_closed(&self) -> bool {
        self.is_closing.load(Ordering::Relaxed)
    }

    #[cold]
    fn closed(&self, py: Python<'_>) -> PyErr {
        Error::Released.error(py, format!("{} is closed", self.what))
    }
}
