//! Calls of operations that raise exceptions: their result is what the operation gives, or an exception.

use std::time::Duration;

use situ_layout::{Message, Outcome};

use crate::api::service::{PendingCall, Request, Server};
use crate::api::service_errors::{ReceiveReplyError, ReceiveRequestError};
use crate::api::service_form::ServiceMessage;
use crate::wait::interrupt::Wait;

/// Why a call of an operation that raises exceptions gave nothing.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum OperationError<E: std::error::Error + 'static> {
    /// The operation raised an exception.
    #[error("the operation raised {0}")]
    Raised(#[source] E),
    /// There is no reply, or not a valid one.
    #[error(transparent)]
    Call(#[from] ReceiveReplyError),
    /// The reply has neither.
    #[error(
        "the reply of call {call} of the service \"{service}\" has neither a result nor an exception: its server is broken"
    )]
    Neither {
        /// The service.
        service: String,
        /// The number of the call.
        call: u64,
    },
}

impl<E: std::error::Error + 'static> std::fmt::Debug for OperationError<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl<Q: ServiceMessage, P: Message + Outcome> PendingCall<'_, Q, P> {
    /// Waits for the reply of an operation that raises exceptions, and returns what it gives: a copy, if it
    /// lies in shared memory. To read a reply in place, [`wait`](Self::wait) for it.
    pub fn outcome(self) -> Result<P::Output, OperationError<P::Exception>> {
        let (service, call) = (self.client().raw().service().to_owned(), self.number());
        match self.wait()?.outcome() {
            Some(Ok(output)) => Ok(output),
            Some(Err(exception)) => Err(OperationError::Raised(exception)),
            None => Err(OperationError::Neither { service, call }),
        }
    }
}

impl<Q: ServiceMessage, P: Message + Outcome> Server<Q, P> {
    /// As [`serve`](Self::serve), for an operation that raises exceptions: `answer` returns what the
    /// operation gives, or an exception.
    pub fn serve_outcome(
        &self,
        timeout: Option<Duration>,
        answer: impl FnMut(&Request<Q>) -> Result<P::Output, P::Exception>,
    ) -> Result<usize, ReceiveRequestError> {
        self.serve_outcome_with(Wait::limit(timeout), answer)
    }

    /// As [`serve_outcome`](Self::serve_outcome), but other events may end the wait: see [`Wait`]. The error
    /// is then [`ReceiveRequestError::Interrupted`].
    pub fn serve_outcome_with(
        &self,
        how: Wait<'_>,
        mut answer: impl FnMut(&Request<Q>) -> Result<P::Output, P::Exception>,
    ) -> Result<usize, ReceiveRequestError> {
        self.serve_with(how, |request| Ok(P::of(answer(request))))
    }
}
