//! Clients that receive replies by callbacks.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use crate::api::service::{Client, Part, open_reply};
use crate::api::service_errors::{CallValueError, ReceiveReplyError};
use crate::api::service_form::ServiceMessage;
use crate::service::client::RawClient;
use crate::service::errors::ReplyError;
use crate::wait::interrupt::Wait;

/// Receives the parts of a reply: `None` after the last one, unless there was an error.
type Callback<P> = Box<dyn FnMut(Result<Option<<P as ServiceMessage>::Sample>, ReceiveReplyError>) + Send>;

/// A client that receives replies by callbacks, which [`dispatch`](Self::dispatch) runs on its own thread.
pub struct CallbackClient<Q: ServiceMessage, P: ServiceMessage> {
    client: Client<Q, P>,
    callbacks: HashMap<u64, Callback<P>>,
}

impl<Q: ServiceMessage, P: ServiceMessage> fmt::Debug for CallbackClient<Q, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallbackClient").field("client", &self.client).finish_non_exhaustive()
    }
}

impl<Q: ServiceMessage, P: ServiceMessage> Client<Q, P> {
    /// A client that receives replies by callbacks.
    pub fn with_callbacks(self) -> CallbackClient<Q, P> {
        CallbackClient { client: self, callbacks: HashMap::new() }
    }
}

impl<Q: ServiceMessage, P: ServiceMessage> CallbackClient<Q, P> {
    /// The untyped client, for its statistics and for waiting.
    pub fn raw(&self) -> &RawClient {
        self.client.raw()
    }

    /// Sends a value as request, and returns the number of the call. `callback` receives each part of the
    /// reply, and then `None`; or an error, which ends the call. A single reply is one part.
    pub fn call(
        &mut self,
        request: &Q::Value,
        limit: Option<Duration>,
        callback: impl FnMut(Result<Option<P::Sample>, ReceiveReplyError>) + Send + 'static,
    ) -> Result<u64, CallValueError> {
        let call = Q::write_request(self.client.raw(), self.client.memory(), request)?.send(limit)?;
        self.callbacks.insert(call, Box::new(callback));
        Ok(call)
    }

    /// Cancels a call. Its callback is not called any more.
    pub fn cancel(&mut self, call: u64) {
        self.callbacks.remove(&call);
        // If the servers cannot be told, they answer in vain.
        let _ = self.client.raw().cancel(call);
    }

    /// Waits for replies, at most for `timeout` (without a limit if `None`), and runs the callbacks of all
    /// that are there. Returns the number of calls of callbacks. An error belongs to no call.
    pub fn dispatch(&mut self, timeout: Option<Duration>) -> Result<usize, ReplyError> {
        self.dispatch_with(Wait::limit(timeout))
    }

    /// As [`dispatch`](Self::dispatch), but other events may end the wait: see [`Wait`]. The error is then
    /// [`ReplyError::Interrupted`].
    pub fn dispatch_with(&mut self, how: Wait<'_>) -> Result<usize, ReplyError> {
        let raw = self.client.raw();
        if !raw.wait_with(how)? {
            return Ok(0);
        }
        let mut number = 0;
        loop {
            let (call, result) = match raw.take() {
                Ok(None) => return Ok(number),
                Ok(Some(reply)) => {
                    let (call, is_last) = (reply.call(), reply.is_last());
                    match open_reply::<P>(raw, reply) {
                        Ok(Part::Content(part)) if is_last => {
                            number += run::<P>(&mut self.callbacks, call, Ok(Some(part)));
                            (call, Ok(None))
                        }
                        Ok(Part::Content(part)) => (call, Ok(Some(part))),
                        Ok(Part::End) => (call, Ok(None)),
                        Err(error) => {
                            // The rest of a reply with an invalid part is not wanted.
                            let _ = raw.cancel(call);
                            (call, Err(error))
                        }
                    }
                }
                Err(error) => match error.call() {
                    Some(call) => (call, Err(error.into())),
                    None => return Err(error),
                },
            };
            let is_over = !matches!(result, Ok(Some(_)));
            number += run::<P>(&mut self.callbacks, call, result);
            if is_over {
                self.callbacks.remove(&call);
            }
        }
    }
}

fn run<P: ServiceMessage>(
    callbacks: &mut HashMap<u64, Callback<P>>,
    call: u64,
    result: Result<Option<P::Sample>, ReceiveReplyError>,
) -> usize {
    callbacks.get_mut(&call).map_or(0, |callback| {
        callback(result);
        1
    })
}
