//! A callback, its group, and what it returns.

use std::error::Error;
use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};

use crate::wait_set::source::{IoReadiness, SourceId};

/// The error of a callback, whatever its type is.
pub type CallbackError = Box<dyn Error + Send + Sync>;

/// What a callback may return: nothing, or a result. An error goes to the executor's handler.
pub trait CallbackResult {
    /// As a result.
    fn into_result(self) -> Result<(), CallbackError>;
}

impl CallbackResult for () {
    fn into_result(self) -> Result<(), CallbackError> {
        Ok(())
    }
}

impl<E: Into<CallbackError>> CallbackResult for Result<(), E> {
    fn into_result(self) -> Result<(), CallbackError> {
        self.map_err(Into::into)
    }
}

/// An error after which a callback can never run again: the executor removes the callback. The handler gets
/// the error inside.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Permanent(pub CallbackError);

/// An error that goes away by itself: the callback runs again after 10 ms, and not at once. The handler gets
/// the error inside.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Temporary(pub CallbackError);

/// What an executor does with a source after its callback has run.
#[derive(Debug)]
pub(crate) enum Next {
    /// It goes on.
    Again,
    /// It fails, and goes on.
    Failed(CallbackError),
    /// It fails for some time: goes on a little later.
    Later(CallbackError),
    /// It fails for ever: the callback is removed.
    Never(CallbackError),
}

impl Next {
    /// How a source goes on after its callback has returned.
    pub(crate) fn after(result: Result<(), CallbackError>) -> Self {
        let error = match result.map_err(|error| error.downcast::<Permanent>()) {
            Ok(()) => return Self::Again,
            Err(Ok(permanent)) => return Self::Never(permanent.0),
            Err(Err(error)) => error,
        };
        match error.downcast::<Temporary>() {
            Ok(temporary) => Self::Later(temporary.0),
            Err(error) => Self::Failed(error),
        }
    }
}

/// The code of a callback.
pub(crate) enum Code {
    /// Runs on one thread at a time.
    Serial(Mutex<Box<dyn FnMut(IoReadiness) -> Next + Send>>),
    /// Runs on any number of threads at once.
    Parallel(Box<dyn Fn(IoReadiness) -> Next + Send + Sync>),
}

/// A callback of an executor.
pub(crate) struct Callback {
    pub(crate) id: SourceId,
    pub(crate) group: Arc<Group>,
    pub(crate) code: Code,
    /// It is not run any more.
    pub(crate) is_removed: AtomicBool,
}

/// Which callbacks may run at the same time, on an executor with several threads. Clones are the same group.
/// A group belongs to the executor that it is first used with.
#[derive(Debug, Clone)]
pub struct CallbackGroup {
    pub(crate) group: Arc<Group>,
}

#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) is_exclusive: bool,
    /// The number of its executor, once a callback was added.
    pub(crate) executor: OnceLock<u64>,
    pub(crate) turn: Mutex<Turn>,
}

/// Which callback of a mutually exclusive group runs.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    /// A callback runs, or is about to.
    pub(crate) is_taken: bool,
    /// The ready callbacks that wait for it, in order.
    pub(crate) waiting: std::collections::VecDeque<Ready>,
}

/// A callback whose source is ready.
#[derive(Clone)]
pub(crate) struct Ready {
    pub(crate) callback: Arc<Callback>,
    pub(crate) readiness: IoReadiness,
    /// Whether it has its group's turn already.
    pub(crate) has_turn: bool,
    /// Whether its source is not reported until it has run.
    pub(crate) is_suspended: bool,
}

impl fmt::Debug for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ready").field("id", &self.callback.id).finish_non_exhaustive()
    }
}

impl CallbackGroup {
    /// One callback of the group runs at a time. The callbacks may share data without a lock of their own.
    pub fn mutually_exclusive() -> Self {
        Self::new(true)
    }

    /// Several callbacks of the group run at once. The same callback runs on one thread at a time, unless it
    /// was added as a [parallel](crate::Executor::subscribe_parallel) one.
    pub fn reentrant() -> Self {
        Self::new(false)
    }

    fn new(is_exclusive: bool) -> Self {
        Self { group: Arc::new(Group { is_exclusive, executor: OnceLock::new(), turn: Mutex::default() }) }
    }
}

/// An error of a callback, or of the take before it.
#[derive(Debug)]
pub struct CallbackFailure {
    pub(crate) id: SourceId,
    pub(crate) error: CallbackError,
}

impl CallbackFailure {
    /// The callback: what adding it returned.
    pub fn id(&self) -> SourceId {
        self.id
    }

    /// The error. `downcast_ref` finds its type: [`ReceiveError`](crate::ReceiveError) if a message could not
    /// be taken.
    pub fn error(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.error
    }
}

impl fmt::Display for CallbackFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a callback failed: {}", self.error)
    }
}

impl Error for CallbackFailure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.error)
    }
}
