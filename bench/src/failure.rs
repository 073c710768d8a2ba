//! What can go wrong in a measurement.

use std::io;
use std::time::Duration;

/// Why a worker, a system under test or the whole run could not go on.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A call into the system under test failed.
    #[error("{system}: {what} failed: {why}")]
    System {
        /// The system's name.
        system: &'static str,
        /// The call.
        what: &'static str,
        /// Its own words.
        why: String,
    },
    /// The operating system refused something.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// A worker got a command, or a reply came, that nobody understands.
    #[error("cannot understand `{line}`: {why}")]
    Protocol {
        /// The line, shortened.
        line: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A worker said that it failed.
    #[error("{0}")]
    Worker(String),
    /// A worker ended without a word.
    #[error("the worker `{worker}` ended ({status}) while it should {doing}")]
    Died {
        /// Which one.
        worker: String,
        /// Exit status or signal.
        status: String,
        /// The command it was given.
        doing: String,
    },
    /// A worker did not answer in time and was killed.
    #[error("the worker `{worker}` did not answer `{doing}` within {limit:?}")]
    Timeout {
        /// Which one.
        worker: String,
        /// The command it was given.
        doing: String,
        /// How long it had.
        limit: Duration,
    },
    /// Messages came out of order or with other content than was sent.
    #[error("{system}: expected message {expected}, got {got}")]
    Wrong {
        /// The system's name.
        system: &'static str,
        /// The sequence number that was due.
        expected: u64,
        /// The one that came.
        got: u64,
    },
    /// Ctrl-C or a request to terminate.
    #[error("interrupted")]
    Interrupted,
    /// Fewer cores than the measurement needs.
    #[error("{needed} cores are needed, this process may use {found}; widen its affinity or give --cpus")]
    Cores {
        /// How many are needed.
        needed: usize,
        /// How many there are.
        found: usize,
    },
    /// A plot could not be drawn.
    #[error("cannot draw {path}: {why}")]
    Plot {
        /// The file.
        path: String,
        /// What the drawing library said.
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
