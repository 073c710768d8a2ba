//! The failures of a measurement.

use std::io;
use std::time::Duration;

/// The reason why a worker, a system under test or the whole run could not continue.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A call into the system under test failed.
    #[error("{system}: {what} failed: {why}")]
    System {
        /// The system's name.
        system: &'static str,
        /// The call.
        what: &'static str,
        /// The error of the system.
        why: String,
    },
    /// The operating system refused something.
    #[error("{what}: {source}")]
    Io {
        /// The attempted operation.
        what: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A worker got an unknown command, or the driver got an unknown answer.
    #[error("cannot understand `{line}`: {why}")]
    Protocol {
        /// The line, shortened.
        line: String,
        /// What is wrong with the line.
        why: &'static str,
    },
    /// A worker reported a failure.
    #[error("{0}")]
    Worker(String),
    /// A worker ended without an answer.
    #[error("the worker `{worker}` ended ({status}) during `{doing}`")]
    Died {
        /// Its name.
        worker: String,
        /// Exit status or signal.
        status: String,
        /// The command that it was given.
        doing: String,
    },
    /// A worker did not answer in time and was killed.
    #[error("the worker `{worker}` did not answer `{doing}` within {limit:?}")]
    Timeout {
        /// Its name.
        worker: String,
        /// The command that it was given.
        doing: String,
        /// The time limit.
        limit: Duration,
    },
    /// A message came out of order or with other content than was sent.
    #[error("{system}: expected message {expected}, got {got}")]
    Wrong {
        /// The system's name.
        system: &'static str,
        /// The expected sequence number.
        expected: u64,
        /// The received sequence number.
        got: u64,
    },
    /// Ctrl-C or a request to terminate.
    #[error("interrupted")]
    Interrupted,
    /// The machine has fewer cores than the measurement needs.
    #[error("{needed} cores are needed, but this process may use {found}: widen its affinity or pass --cpus")]
    Cores {
        /// The needed cores.
        needed: usize,
        /// The available cores.
        found: usize,
    },
    /// A plot could not be drawn.
    #[error("cannot draw {path}: {why}")]
    Plot {
        /// The file.
        path: String,
        /// The error of the drawing library.
        why: String,
    },
}

impl Failure {
    /// Wraps an error of the operating system.
    pub fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }

    /// Wraps an error of a system under test.
    pub fn system<E: std::fmt::Debug>(system: &'static str, what: &'static str) -> impl FnOnce(E) -> Self {
        move |error| Self::System { system, what, why: format!("{error:?}") }
    }
}
