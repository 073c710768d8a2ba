//! Whether this process is the one in which an object was made.
//!
//! Publishers, subscribers and nodes belong to one process, and their locks may be held by a thread that does
//! not exist in a forked child. The package therefore counts forks (`os.register_at_fork`), which costs a
//! load at each use, in place of a system call.
//!
//! When the interpreter ends, it ends every other thread that asks for the GIL, by an unwinding that Rust's
//! frames do not allow: the process would abort. A thread that waits without the GIL therefore looks, before
//! it asks for the GIL again, whether the interpreter ends, and then sleeps until the process is gone:
//!
//! ```text
//!   thread                              at exit
//!   LEAVING += 1                        ENDS = true
//!   ENDS? LEAVING -= 1, sleep for ever  wait, without the GIL, until LEAVING = 0
//!   take the GIL
//!   LEAVING -= 1
//! ```
//!
//! All are sequentially consistent: either the thread sees that the interpreter ends, or the exit waits for
//! it. The thread that ends the interpreter goes on: it runs what is registered for the exit, and `__del__`.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::errors::Kind;

static FORKS: AtomicU64 = AtomicU64::new(0);

/// The number of forks between the first process that imported the package and this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process(u64);

impl Process {
    /// This process.
    pub fn this() -> Self {
        Self(FORKS.load(Ordering::Relaxed))
    }

    /// Whether it is this process.
    pub fn is_this(self) -> bool {
        self == Self::this()
    }

    /// An error in a forked child.
    pub fn check(self, py: Python<'_>, what: &str) -> PyResult<()> {
        if self.is_this() {
            return Ok(());
        }
        let text = format!(
            "{what} belongs to the process that this one was forked from: create a node in this process, or start processes with \
             the method `spawn`"
        );
        Err(Kind::Forked.error(py, text))
    }
}

/// Called in a child right after a fork.
#[pyfunction]
pub fn after_fork_in_child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

static ENDS: AtomicBool = AtomicBool::new(false);
static LEAVING: AtomicU64 = AtomicU64::new(0);
/// The thread that ends the interpreter.
static ENDING: OnceLock<ThreadId> = OnceLock::new();

/// How long the end of the interpreter waits for threads that are about to take the GIL.
const PATIENCE: Duration = Duration::from_secs(2);

/// Announces that this thread is about to take the GIL. Does not return if the interpreter ends.
fn announce() {
    LEAVING.fetch_add(1, Ordering::SeqCst);
    if ENDS.load(Ordering::SeqCst) && ENDING.get() != Some(&thread::current().id()) {
        LEAVING.fetch_sub(1, Ordering::SeqCst);
        loop {
            thread::park();
        }
    }
}

/// Runs something that may wait without the GIL. It must hold no lock when it returns.
pub fn detached<R: Send>(py: Python<'_>, run: impl FnOnce() -> R + Send) -> R {
    let result = py.detach(|| {
        let result = run();
        announce();
        result
    });
    LEAVING.fetch_sub(1, Ordering::SeqCst);
    result
}

/// Runs something with the GIL, within `detached`. It must hold no lock that others need.
pub fn attached<R>(run: impl FnOnce(Python<'_>) -> R) -> R {
    announce();
    Python::attach(|py| {
        LEAVING.fetch_sub(1, Ordering::SeqCst);
        run(py)
    })
}

/// Called at the end of the interpreter, by its main thread.
#[pyfunction]
pub fn at_exit(py: Python<'_>) {
    ENDING.get_or_init(|| thread::current().id());
    ENDS.store(true, Ordering::SeqCst);
    let begun = Instant::now();
    while LEAVING.load(Ordering::SeqCst) > 0 && begun.elapsed() < PATIENCE {
        py.detach(|| thread::sleep(Duration::from_micros(200)));
    }
}
