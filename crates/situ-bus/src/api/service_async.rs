//! Clients and servers for async code.
//!
//! The calls of a client share one watch of the topic of replies. Whichever task polls takes all replies that
//! have arrived, keeps those of other calls, and wakes the tasks of these.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use situ_layout::FlatMessage;

use crate::api::service::{Client, Part, Request, Server, open_reply};
use crate::api::service_errors::{CallValueError, ReceiveReplyError, ReceiveRequestError};
use crate::api::service_form::ServiceMessage;
use crate::api::write::lend_flat;
use crate::service::client::{RawClient, RawRequestLoan};
use crate::service::errors::{CallError, ReplyError};
use crate::wait::reactor::Watch;

/// Why an awaited call has no reply.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum AsyncCallError {
    /// The request could not be sent.
    #[error(transparent)]
    Call(#[from] CallValueError),
    /// There is no reply.
    #[error(transparent)]
    Reply(#[from] ReceiveReplyError),
}

situ_layout::debug_as_text!(AsyncCallError);

/// The tasks that wait for replies, by the number of their call.
#[derive(Debug, Default)]
struct Wakers(Mutex<Vec<(u64, Waker)>>);

impl Wakers {
    fn lock(&self) -> MutexGuard<'_, Vec<(u64, Waker)>> {
        // The guarded list is consistent at every step.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, call: u64, waker: &Waker) {
        let mut wakers = self.lock();
        match wakers.iter_mut().find(|(known, _)| *known == call) {
            Some((_, known)) => known.clone_from(waker),
            None => wakers.push((call, waker.clone())),
        }
    }

    fn remove(&self, call: u64) {
        self.lock().retain(|(known, _)| *known != call);
    }

    fn wake_all(&self) {
        // The lock is not held while they are woken: an executor may poll at once.
        let wakers = std::mem::take(&mut *self.lock());
        wakers.into_iter().for_each(|(_, waker)| waker.wake());
    }
}

impl Wake for Wakers {
    fn wake(self: Arc<Self>) {
        self.wake_all();
    }
}

struct Shared {
    client: Mutex<RawClient>,
    watch: Arc<Watch>,
    wakers: Arc<Wakers>,
    /// Wakes all tasks.
    all: Waker,
}

impl Shared {
    fn client(&self) -> MutexGuard<'_, RawClient> {
        // A client is consistent whenever a call of it returns or panics.
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A client for async code. Clones are the same client; its calls may be awaited on any thread.
pub struct AsyncClient<Q: ServiceMessage, P> {
    shared: Arc<Shared>,
    /// Used under the client's lock.
    memory: Arc<Mutex<Q::Memory>>,
    types: PhantomData<fn() -> (Q, P)>,
}

impl<Q: ServiceMessage, P> Clone for AsyncClient<Q, P> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone(), memory: self.memory.clone(), types: PhantomData }
    }
}

impl<Q: ServiceMessage, P> fmt::Debug for AsyncClient<Q, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncClient").field("client", &self.shared.client).finish_non_exhaustive()
    }
}

impl<Q: ServiceMessage, P: ServiceMessage> Client<Q, P> {
    /// A client for async code. An error if the thread that watches for replies cannot be started.
    pub fn into_async(self) -> std::io::Result<AsyncClient<Q, P>> {
        let (client, memory) = self.into_parts();
        let replies = client.replies();
        let watch = replies.core().node.reactor()?.watch(replies.watched())?;
        client.add_watch(Arc::downgrade(&watch));
        let wakers = Arc::<Wakers>::default();
        let all = Waker::from(wakers.clone());
        let shared = Arc::new(Shared { client: Mutex::new(client), watch, wakers, all });
        Ok(AsyncClient { shared, memory: Arc::new(Mutex::new(memory)), types: PhantomData })
    }
}

impl<Q: ServiceMessage, P: ServiceMessage> AsyncClient<Q, P> {
    /// Calls the service, and resolves to its reply. The request is sent at once, not with the first poll.
    /// Dropping the future cancels the call.
    ///
    /// It never waits for a server that has no room: that is an error.
    pub fn call(
        &self,
        request: &Q::Value,
    ) -> impl Future<Output = Result<P::Sample, AsyncCallError>> + Send + use<Q, P>
    where
        P::Sample: Send,
    {
        first(self.stream(request, None))
    }

    /// As [`call`](Self::call), for a call that is over after `limit`.
    pub fn call_within(
        &self,
        request: &Q::Value,
        limit: Duration,
    ) -> impl Future<Output = Result<P::Sample, AsyncCallError>> + Send + use<Q, P>
    where
        P::Sample: Send,
    {
        first(self.stream(request, Some(limit)))
    }

    /// Calls the service, and returns the parts of its reply as a stream.
    pub fn stream(
        &self,
        request: &Q::Value,
        limit: Option<Duration>,
    ) -> Result<AsyncCall<P>, CallValueError> {
        let client = self.shared.client();
        let memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let number = Q::write_request(&client, &memory, request)?.send_now(limit)?;
        drop((memory, client));
        Ok(self.pending(number))
    }

    fn pending(&self, number: u64) -> AsyncCall<P> {
        AsyncCall { shared: self.shared.clone(), number, reply: PhantomData }
    }

    /// The number of servers at the moment.
    pub fn servers(&self) -> usize {
        self.shared.client().servers()
    }
}

impl<Q: FlatMessage, P: ServiceMessage> AsyncClient<Q, P> {
    /// Calls the service with a request that `fill` writes in the memory where servers read it. It is
    /// default-initialized before.
    pub fn call_in_place(
        &self,
        limit: Option<Duration>,
        fill: impl FnOnce(&mut Q),
    ) -> Result<AsyncCall<P>, CallError> {
        let client = self.shared.client();
        let lend = |head, align, body| client.loan(head, align, body).map_err(CallError::from);
        let loan: RawRequestLoan<'_> = lend_flat::<Q, _, _>(&Q::BulkLengths::default(), lend)?;
        // SAFETY: the loan's head is an initialized `Q`, which only this loan reaches.
        fill(unsafe { &mut *loan.head().cast::<Q>() });
        let number = loan.send_now(limit)?;
        drop(client);
        Ok(self.pending(number))
    }
}

/// The first part of a reply.
async fn first<P: ServiceMessage>(
    call: Result<AsyncCall<P>, CallValueError>,
) -> Result<P::Sample, AsyncCallError> {
    let mut call = call?;
    match call.receive().await {
        Some(reply) => Ok(reply?),
        None => Err(call.empty().into()),
    }
}

/// A call under way, as a stream of the parts of its reply. Dropping it cancels the call.
#[must_use = "dropping it cancels the call"]
pub struct AsyncCall<P> {
    shared: Arc<Shared>,
    number: u64,
    reply: PhantomData<fn() -> P>,
}

impl<P> fmt::Debug for AsyncCall<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncCall").field("number", &self.number).finish_non_exhaustive()
    }
}

impl<P: ServiceMessage> AsyncCall<P> {
    /// The next part of the reply; `None` after the last one. Dropping the future loses nothing.
    pub fn receive(&mut self) -> impl Future<Output = Option<Result<P::Sample, ReceiveReplyError>>> + '_ {
        std::future::poll_fn(|context| self.poll(context))
    }

    fn empty(&self) -> ReceiveReplyError {
        let service = self.shared.client().service().to_owned();
        ReceiveReplyError::Empty { service, call: self.number }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<P::Sample, ReceiveReplyError>>> {
        let client = self.shared.client();
        if !client.is_under_way(self.number) {
            return Poll::Ready(None);
        }
        let arrived = client.arrived();
        let mut taken = client.take_of(self.number);
        if let Ok(None) = taken {
            // Replies from here on wake the task; the second take finds those that came before.
            self.shared.wakers.set(self.number, context.waker());
            self.shared.watch.wake_at(client.replies().cursor(), &self.shared.all);
            taken = client.take_of(self.number);
        }
        let others = client.arrived() > arrived;
        let polled = match taken {
            Ok(None) => Poll::Pending,
            Ok(Some(reply)) => match open_reply::<P>(&client, reply) {
                Ok(Part::Content(part)) => Poll::Ready(Some(Ok(part))),
                Ok(Part::End) => Poll::Ready(None),
                Err(error) => Poll::Ready(Some(Err(error))),
            },
            // It may be of a server of another call: this one goes on.
            Err(ReplyError::Malformed { .. }) => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
            Err(error) => Poll::Ready(Some(Err(error.into()))),
        };
        drop(client);
        if others {
            // Their tasks are not woken by the watch any more, because this one took their replies.
            self.shared.wakers.wake_all();
        }
        polled
    }
}

impl<P: ServiceMessage> futures_core::Stream for AsyncCall<P> {
    type Item = Result<P::Sample, ReceiveReplyError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll(context)
    }
}

impl<P> Drop for AsyncCall<P> {
    fn drop(&mut self) {
        self.shared.wakers.remove(self.number);
        // If the servers cannot be told, they answer in vain.
        let _ = self.shared.client().cancel(self.number);
    }
}

/// The requests of a server as an asynchronous stream.
#[derive(Debug)]
pub struct Requests<Q: ServiceMessage, P: ServiceMessage> {
    server: Server<Q, P>,
    watch: Arc<Watch>,
}

impl<Q: ServiceMessage, P: ServiceMessage> Server<Q, P> {
    /// Returns the requests as a stream, for async code. An error if the thread that watches for them cannot
    /// be started.
    pub fn into_stream(self) -> std::io::Result<Requests<Q, P>> {
        let requests = self.raw().requests();
        let watch = requests.core().node.reactor()?.watch(requests.watched())?;
        self.raw().add_watch(Arc::downgrade(&watch));
        Ok(Requests { server: self, watch })
    }
}

impl<Q: ServiceMessage, P: ServiceMessage> Requests<Q, P> {
    /// Returns the next request. Dropping the future loses nothing.
    pub fn receive(&mut self) -> impl Future<Output = Result<Request<Q>, ReceiveRequestError>> + '_ {
        std::future::poll_fn(|context| self.poll(context))
    }

    /// The server, for its replies.
    pub fn server(&self) -> &Server<Q, P> {
        &self.server
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<Request<Q>, ReceiveRequestError>> {
        if let Some(result) = self.server.take().transpose() {
            return Poll::Ready(result);
        }
        // Requests from here on wake the task; the second take finds those that came before.
        self.watch.wake_at(self.server.raw().requests().cursor(), context.waker());
        match self.server.take().transpose() {
            Some(result) => Poll::Ready(result),
            None => Poll::Pending,
        }
    }
}

impl<Q: ServiceMessage, P: ServiceMessage> futures_core::Stream for Requests<Q, P> {
    type Item = Result<Request<Q>, ReceiveRequestError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll(context).map(Some)
    }
}
