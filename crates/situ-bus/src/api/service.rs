//! Clients and servers of generated types.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::task::Poll;
use std::time::Duration;

use situ_layout::{BulkElement, BulkRef, FlatMessage, Message, Service};
use situ_memory::DomainId;

use crate::api::service_errors::{
    AnswerValueError, CallValueError, INVALID_REQUEST, ReceiveReplyError, ReceiveRequestError,
};
use crate::api::service_form::ServiceMessage;
use crate::api::write::lend_flat;
use crate::node::handle::Node;
use crate::port::loan::LoanError;
use crate::service::answer::RawReplyLoan;
use crate::service::client::{RawClient, RawReply, RawRequestLoan};
use crate::service::description::ServiceDescription;
use crate::service::errors::{AnswerError, CallError, RequestError};
use crate::service::options::ServiceOptions;
use crate::service::request::{RawRequest, RequestHandle, RequestId};
use crate::service::server::RawServer;
use crate::topic::{MissingForms, RegisterError};
use crate::trust::{Limits, Trust};
use crate::wait::interrupt::{Interrupted, Interrupter, Wait};

/// The description of a service of generated types, as its topics carry it.
pub fn describe_service<Q: ServiceMessage, P: ServiceMessage>() -> ServiceDescription {
    ServiceDescription { request: Q::describe(), reply: P::describe() }
}

impl Node {
    /// A client of a service with requests of type `Q` and replies of type `P`: set its options, then
    /// [`create`](ServiceBuilder::create) it.
    ///
    /// ```no_run
    /// # use situ_layout::FlatMessage;
    /// # type Outcome = Result<(), Box<dyn std::error::Error>>;
    /// # fn demo<Sum: FlatMessage, Total: FlatMessage>(node: &situ_bus::Node) -> Outcome {
    /// let client = node.client::<Sum, Total>("add").create()?;
    /// let request = client.loan()?;
    /// // ... fill the request, in the memory where the server reads it ...
    /// let total = request.send()?.wait()?;
    /// # drop(total);
    /// # Ok(())
    /// # }
    /// ```
    pub fn client<Q: ServiceMessage, P: ServiceMessage>(
        &self,
        service: &str,
    ) -> ServiceBuilder<Client<Q, P>> {
        ServiceBuilder::new(self, service)
    }

    /// A server of a service with requests of type `Q` and replies of type `P`: set its options, then
    /// [`create`](ServiceBuilder::create) it.
    pub fn server<Q: ServiceMessage, P: ServiceMessage>(
        &self,
        service: &str,
    ) -> ServiceBuilder<Server<Q, P>> {
        ServiceBuilder::new(self, service)
    }
}

impl Node {
    /// As [`client`](Self::client), for a service type that was generated from a `.srv` file or from an
    /// operation of an interface.
    ///
    /// ```no_run
    /// # use situ_layout::Service;
    /// # type Outcome = Result<(), Box<dyn std::error::Error>>;
    /// # fn demo<AddTwoInts: Service>(node: &situ_bus::Node, sum: AddTwoInts::Request) -> Outcome {
    /// let client = node.client_of::<AddTwoInts>("add").create()?;
    /// let reply = client.call(&sum)?.wait()?;
    /// # drop(reply);
    /// # Ok(())
    /// # }
    /// ```
    pub fn client_of<S: Service>(&self, service: &str) -> ServiceBuilder<ClientOf<S>> {
        self.client(service)
    }

    /// As [`server`](Self::server), for a service type that was generated from a `.srv` file or from an
    /// operation of an interface.
    pub fn server_of<S: Service>(&self, service: &str) -> ServiceBuilder<ServerOf<S>> {
        self.server(service)
    }
}

/// A client of a generated service type.
pub type ClientOf<S> = Client<<S as Service>::Request, <S as Service>::Response>;

/// A server of a generated service type.
pub type ServerOf<S> = Server<<S as Service>::Request, <S as Service>::Response>;

/// Builds a client or a server.
#[derive(Debug, Clone)]
pub struct ServiceBuilder<R> {
    node: Node,
    service: String,
    options: ServiceOptions,
    interrupter: Option<Interrupter>,
    role: PhantomData<fn() -> R>,
}

impl<R> ServiceBuilder<R> {
    fn new(node: &Node, service: &str) -> Self {
        let (node, service) = (node.clone(), service.to_owned());
        let options = ServiceOptions::default();
        Self { node, service, options, interrupter: None, role: PhantomData }
    }

    /// How many calls a client may have under way: see [`ServiceOptions::max_calls`].
    pub fn max_calls(mut self, calls: usize) -> Self {
        self.options.max_calls = calls;
        self
    }

    /// How many of its messages may wait to be taken: see [`ServiceOptions::depth`].
    pub fn depth(mut self, depth: usize) -> Self {
        self.options.depth = depth;
        self
    }

    /// How many messages of others may wait for it: see [`ServiceOptions::keep_last`].
    pub fn keep_last(mut self, messages: usize) -> Self {
        self.options.keep_last = messages;
        self
    }

    /// How many messages of others it may hold: see [`ServiceOptions::max_held`].
    pub fn max_held(mut self, samples: usize) -> Self {
        self.options.max_held = samples;
        self
    }

    /// Leaves out the time stamps of its messages: see [`ServiceOptions::stamps`].
    pub fn without_stamps(mut self) -> Self {
        self.options.stamps = false;
        self
    }

    /// Bytes that other participants find in the graph: see [`ServiceOptions::user_data`].
    pub fn user_data(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.options.user_data = bytes.into();
        self
    }

    /// Which participants' messages it reads in place.
    pub fn trust(mut self, trust: Trust) -> Self {
        self.options.trust = trust;
        self
    }

    /// How large the messages and pools of other participants may be.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.options.limits = limits;
        self
    }

    /// The memory domain of requests: of those that a client sends, or in which a server takes them.
    pub fn requests_in(mut self, domain: DomainId) -> Self {
        self.options.requests.domain = domain;
        self
    }

    /// The memory domain of replies: of those that a server sends, or in which a client takes them.
    pub fn replies_in(mut self, domain: DomainId) -> Self {
        self.options.replies.domain = domain;
        self
    }

    /// Lets an interrupter end the waits for participants that have no room: see
    /// [`RawClient::set_interrupter`] and [`RawServer::set_interrupter`].
    pub fn interrupted_by(mut self, interrupter: &Interrupter) -> Self {
        self.interrupter = Some(interrupter.clone());
        self
    }

    /// Sets all options.
    pub fn options(mut self, options: ServiceOptions) -> Self {
        self.options = options;
        self
    }
}

/// What the type of taken messages lacks.
fn missing<T: ServiceMessage>() -> MissingForms {
    let (flat, region) = T::lacks();
    MissingForms { flat, region }
}

impl<Q: ServiceMessage, P: ServiceMessage> ServiceBuilder<Client<Q, P>> {
    /// Joins the service.
    pub fn create(self) -> Result<Client<Q, P>, RegisterError> {
        let described = describe_service::<Q, P>();
        let raw =
            RawClient::create_without(missing::<P>(), &self.node, &self.service, &described, &self.options)?;
        raw.set_interrupter(self.interrupter.as_ref());
        Ok(Client { raw, memory: Q::Memory::default(), types: PhantomData })
    }
}

impl<Q: ServiceMessage, P: ServiceMessage> ServiceBuilder<Server<Q, P>> {
    /// Joins the service.
    pub fn create(self) -> Result<Server<Q, P>, RegisterError> {
        let described = describe_service::<Q, P>();
        let raw =
            RawServer::create_without(missing::<Q>(), &self.node, &self.service, &described, &self.options)?;
        raw.set_interrupter(self.interrupter.as_ref());
        Ok(Server { raw, memory: P::Memory::default(), types: PhantomData })
    }
}

/// A client of a service. One thread at a time; the replies may go to other threads.
#[derive(Debug)]
pub struct Client<Q: ServiceMessage, P> {
    raw: RawClient,
    memory: Q::Memory,
    types: PhantomData<fn() -> (Q, P)>,
}

impl<Q: ServiceMessage, P: ServiceMessage> Client<Q, P> {
    /// The untyped client.
    pub fn raw(&self) -> &RawClient {
        &self.raw
    }

    /// The untyped client, without the types, and what it keeps from one request to the next.
    pub(crate) fn into_parts(self) -> (RawClient, Q::Memory) {
        (self.raw, self.memory)
    }

    pub(crate) fn memory(&self) -> &Q::Memory {
        &self.memory
    }

    pub(crate) fn pending(&self, number: u64) -> PendingCall<'_, Q, P> {
        PendingCall { client: self, number }
    }

    /// Waits until the service has a server: see [`RawClient::wait_for_server`].
    pub fn wait_for_server(&self, timeout: Option<Duration>) -> bool {
        self.raw.wait_for_server(timeout)
    }

    /// As [`wait_for_server`](Self::wait_for_server), but other events may end the wait: see [`Wait`].
    pub fn wait_for_server_with(&self, how: Wait<'_>) -> Result<bool, Interrupted> {
        self.raw.wait_for_server_with(how)
    }

    /// Sends a value from private memory as request. A flat value is copied, another one is serialized or
    /// stored in a region. A [`loan`](Self::loan) needs no copy.
    pub fn call(&self, request: &Q::Value) -> Result<PendingCall<'_, Q, P>, CallValueError> {
        self.send(request, None)
    }

    /// As [`call`](Self::call), for a call that is over after `limit`.
    pub fn call_within(
        &self,
        request: &Q::Value,
        limit: Duration,
    ) -> Result<PendingCall<'_, Q, P>, CallValueError> {
        self.send(request, Some(limit))
    }

    fn send(
        &self,
        request: &Q::Value,
        limit: Option<Duration>,
    ) -> Result<PendingCall<'_, Q, P>, CallValueError> {
        Ok(self.pending(Q::write_request(&self.raw, &self.memory, request)?.send(limit)?))
    }
}

impl<Q: FlatMessage, P: ServiceMessage> Client<Q, P> {
    /// Lends a request, default-initialized in place.
    #[inline]
    pub fn loan(&self) -> Result<RequestLoan<'_, Q, P>, LoanError> {
        self.loan_with(Q::BulkLengths::default())
    }

    /// Lends a request whose bulk members have these lengths.
    #[inline]
    pub fn loan_with(&self, lengths: Q::BulkLengths) -> Result<RequestLoan<'_, Q, P>, LoanError> {
        let lend = |head, align, body| self.raw.loan(head, align, body);
        let raw = lend_flat::<Q, _, LoanError>(&lengths, lend)?;
        Ok(RequestLoan { raw, client: self })
    }
}

/// A request under construction, in the memory where servers will read it. Dropping it sends nothing.
pub struct RequestLoan<'c, Q: FlatMessage, P: ServiceMessage> {
    pub(super) raw: RawRequestLoan<'c>,
    pub(super) client: &'c Client<Q, P>,
}

impl<'c, Q: FlatMessage, P: ServiceMessage> RequestLoan<'c, Q, P> {
    /// A bulk member's elements, for writing: `loan.bulk_mut(|cloud| &cloud.data)`.
    pub fn bulk_mut<U: BulkElement, const N: usize>(
        &mut self,
        member: impl FnOnce(&Q) -> &BulkRef<U, N>,
    ) -> &mut [U] {
        let descriptor = *member(self);
        descriptor.slice_mut(self.raw.body_bytes()).unwrap_or_default()
    }

    /// Sends the request.
    #[inline]
    pub fn send(self) -> Result<PendingCall<'c, Q, P>, CallError> {
        Ok(PendingCall { client: self.client, number: self.raw.send(None)? })
    }

    /// Sends the request of a call that is over after `limit`.
    #[inline]
    pub fn send_within(self, limit: Duration) -> Result<PendingCall<'c, Q, P>, CallError> {
        Ok(PendingCall { client: self.client, number: self.raw.send(Some(limit))? })
    }
}

impl<Q: FlatMessage, P: ServiceMessage> Deref for RequestLoan<'_, Q, P> {
    type Target = Q;
    #[inline]
    fn deref(&self) -> &Q {
        // SAFETY: `loan_with` initialized it, and only this loan reaches it.
        unsafe { &*self.raw.head().cast::<Q>() }
    }
}

impl<Q: FlatMessage, P: ServiceMessage> DerefMut for RequestLoan<'_, Q, P> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Q {
        // SAFETY: as in `deref`.
        unsafe { &mut *self.raw.head().cast::<Q>() }
    }
}

impl<Q: FlatMessage, P: ServiceMessage> fmt::Debug for RequestLoan<'_, Q, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RequestLoan").field(&**self).finish()
    }
}

/// A call under way. Dropping it cancels the call.
#[derive(Debug)]
#[must_use = "dropping it cancels the call"]
pub struct PendingCall<'c, Q: ServiceMessage, P: ServiceMessage> {
    client: &'c Client<Q, P>,
    number: u64,
}

impl<Q: ServiceMessage, P: ServiceMessage> PendingCall<'_, Q, P> {
    pub(crate) fn client(&self) -> &Client<Q, P> {
        self.client
    }

    /// The number of the call.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whether the call is under way, or has replies that were not taken.
    pub fn is_under_way(&self) -> bool {
        self.client.raw.is_under_way(self.number)
    }

    /// Waits for the reply. It ends with an error when the call's time is over, or when no server is left.
    pub fn wait(self) -> Result<P::Sample, ReceiveReplyError> {
        match self.receive(Wait::for_ever())? {
            Some(Part::Content(reply)) => Ok(reply),
            Some(Part::End) | None => Err(self.empty()),
        }
    }

    /// As [`wait`](Self::wait), but with a limit, and other events may end the wait: see [`Wait`]. Returns
    /// `None` if the time is over. Then, and after [`ReplyError::Interrupted`](crate::ReplyError), the call
    /// remains under way.
    pub fn wait_with(&mut self, how: Wait<'_>) -> Result<Option<P::Sample>, ReceiveReplyError> {
        match self.receive(how)? {
            Some(Part::Content(reply)) => Ok(Some(reply)),
            Some(Part::End) => Err(self.empty()),
            None => Ok(None),
        }
    }

    #[cold]
    fn empty(&self) -> ReceiveReplyError {
        ReceiveReplyError::Empty { service: self.client.raw.service().to_owned(), call: self.number }
    }

    /// Waits for the next part of a reply that is streamed, and takes it. `None` after the last one.
    ///
    /// A single reply is a stream of one part.
    #[allow(clippy::should_implement_trait, reason = "an iterator could not be used after an error")]
    pub fn next(&mut self) -> Result<Option<P::Sample>, ReceiveReplyError> {
        if !self.is_under_way() {
            return Ok(None);
        }
        match self.receive(Wait::for_ever())? {
            Some(Part::Content(part)) => Ok(Some(part)),
            Some(Part::End) | None => Ok(None),
        }
    }

    /// As [`next`](Self::next), but with a limit, and other events may end the wait: see [`Wait`]. Returns
    /// `Pending` if the time is over.
    pub fn next_with(&mut self, how: Wait<'_>) -> Result<Poll<Option<P::Sample>>, ReceiveReplyError> {
        if !self.is_under_way() {
            return Ok(Poll::Ready(None));
        }
        Ok(match self.receive(how)? {
            Some(Part::Content(part)) => Poll::Ready(Some(part)),
            Some(Part::End) => Poll::Ready(None),
            None => Poll::Pending,
        })
    }

    /// Takes the next part of the reply, if it is there. It does not wait.
    pub fn poll(&mut self) -> Result<Poll<Option<P::Sample>>, ReceiveReplyError> {
        if !self.is_under_way() {
            return Ok(Poll::Ready(None));
        }
        match self.client.raw.take_of(self.number)? {
            None => Ok(Poll::Pending),
            Some(reply) => match open_reply::<P>(&self.client.raw, reply)? {
                Part::Content(part) => Ok(Poll::Ready(Some(part))),
                Part::End => Ok(Poll::Ready(None)),
            },
        }
    }

    /// Lets the call go on without this. Returns its number, for
    /// [`RawClient::take_of`](RawClient::take_of).
    pub fn detach(self) -> u64 {
        std::mem::ManuallyDrop::new(self).number
    }

    fn receive(&self, how: Wait<'_>) -> Result<Option<Part<P>>, ReceiveReplyError> {
        let reply = self.client.raw.receive_of_with(self.number, how)?;
        reply.map(|reply| open_reply(&self.client.raw, reply)).transpose()
    }
}

impl<Q: ServiceMessage, P: ServiceMessage> Drop for PendingCall<'_, Q, P> {
    fn drop(&mut self) {
        // If the servers cannot be told, they answer in vain.
        let _ = self.client.raw.cancel(self.number);
    }
}

/// A part of a reply.
pub(crate) enum Part<P: ServiceMessage> {
    Content(P::Sample),
    End,
}

pub(crate) fn open_reply<P: ServiceMessage>(
    client: &RawClient,
    reply: RawReply,
) -> Result<Part<P>, ReceiveReplyError> {
    if !reply.has_content() {
        return Ok(Part::End);
    }
    Ok(Part::Content(P::open(client.replies(), reply.into_sample())?))
}

/// A server of a service. One thread at a time; the requests may go to other threads and come back.
#[derive(Debug)]
pub struct Server<Q, P: ServiceMessage> {
    raw: RawServer,
    memory: P::Memory,
    types: PhantomData<fn() -> (Q, P)>,
}

/// Why a server refuses a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// A number of the program's choice.
    pub code: u64,
    /// A text for the client.
    pub text: String,
}

impl<Q: ServiceMessage, P: ServiceMessage> Server<Q, P> {
    /// The untyped server.
    pub fn raw(&self) -> &RawServer {
        &self.raw
    }

    pub(crate) fn memory(&self) -> &P::Memory {
        &self.memory
    }

    /// Takes the next request, if there is one.
    #[inline]
    pub fn take(&self) -> Result<Option<Request<Q>>, ReceiveRequestError> {
        match self.raw.take()? {
            None => Ok(None),
            Some(request) => self.open(request).map(Some),
        }
    }

    /// Makes a typed request from an untyped one. A request that is not valid is refused.
    #[inline]
    fn open(&self, request: RawRequest) -> Result<Request<Q>, ReceiveRequestError> {
        let (sample, handle) = request.into_parts();
        match Q::open(self.raw.requests(), sample) {
            Ok(sample) => Ok(Request { sample, handle }),
            Err(error) => {
                let text = "the request is not a valid message of the service's type";
                // If the client cannot be told, its call ends at its deadline.
                let _ = self.raw.refuse(&handle.id(), INVALID_REQUEST, text);
                Err(error.into())
            }
        }
    }

    /// Waits for the next request and takes it. Returns `None` if the time is over.
    pub fn recv(&self, timeout: Option<Duration>) -> Result<Option<Request<Q>>, ReceiveRequestError> {
        self.recv_with(Wait::limit(timeout))
    }

    /// As [`recv`](Self::recv), but other events may end the wait: see [`Wait`]. The error is then
    /// [`ReceiveRequestError::Interrupted`], even if there is a request.
    pub fn recv_with(&self, how: Wait<'_>) -> Result<Option<Request<Q>>, ReceiveRequestError> {
        how.check()?;
        let deadline = crate::clock::Deadline::after(how.timeout);
        loop {
            if let Some(request) = self.take()? {
                return Ok(Some(request));
            }
            let Some(slice) = deadline.slice(Duration::from_secs(3600)) else { return Ok(None) };
            self.raw.wait_with(Wait { timeout: Some(slice), ..how })?;
        }
    }

    /// Takes what clients have sent meanwhile: see [`RawServer::collect`].
    pub fn collect(&self) -> Result<(), RequestError> {
        self.raw.collect()
    }

    /// Answers a request with a value from private memory. A flat value is copied, another one is serialized
    /// or stored in a region. A [`loan`](Self::loan) needs no copy.
    pub fn reply(&self, request: &Request<Q>, reply: &P::Value) -> Result<(), AnswerValueError> {
        Ok(self.write(request, reply)?.send()?)
    }

    /// Sends a value as a part of a reply, which other parts follow, or an [`end`](Self::end).
    pub fn part(&self, request: &Request<Q>, part: &P::Value) -> Result<(), AnswerValueError> {
        Ok(self.write(request, part)?.send_part()?)
    }

    fn write(&self, request: &Request<Q>, reply: &P::Value) -> Result<RawReplyLoan<'_>, AnswerValueError> {
        P::write_reply(&self.raw, &self.memory, &request.id(), reply)
    }

    /// Ends a reply that was streamed.
    pub fn end(&self, request: &Request<Q>) -> Result<(), AnswerError> {
        self.raw.end(&request.id())
    }

    /// Refuses a request: see [`RawServer::refuse`].
    pub fn refuse(&self, request: &Request<Q>, refusal: &Refusal) -> Result<(), AnswerError> {
        self.raw.refuse(&request.id(), refusal.code, &refusal.text)
    }

    /// Waits for requests, at most for `timeout` (without a limit if `None`), and answers all that are there
    /// with what `answer` returns. Returns their number. A client that has ended is passed over, and so is
    /// one that has no room for its reply and makes none within 50 ms. Its next replies do not wait then.
    pub fn serve(
        &self,
        timeout: Option<Duration>,
        answer: impl FnMut(&Request<Q>) -> Result<P::Value, Refusal>,
    ) -> Result<usize, ReceiveRequestError> {
        self.serve_with(Wait::limit(timeout), answer)
    }

    /// As [`serve`](Self::serve), but other events may end the wait: see [`Wait`]. The error is then
    /// [`ReceiveRequestError::Interrupted`].
    pub fn serve_with(
        &self,
        how: Wait<'_>,
        mut answer: impl FnMut(&Request<Q>) -> Result<P::Value, Refusal>,
    ) -> Result<usize, ReceiveRequestError> {
        let mut next = self.recv_with(how)?;
        let mut number = 0;
        while let Some(request) = next {
            number += 1;
            let answered = match answer(&request) {
                Ok(reply) => self
                    .write(&request, &reply)
                    .and_then(|loan| loan.send_patiently().map_err(AnswerValueError::from)),
                Err(Refusal { code, text }) => {
                    self.raw.refuse_patiently(&request.id(), code, &text).map_err(AnswerValueError::from)
                }
            };
            // There is no client that could be told of an error.
            drop(answered);
            next = self.take()?;
        }
        Ok(number)
    }
}

impl<Q: ServiceMessage, P: FlatMessage> Server<Q, P> {
    /// Lends a reply, default-initialized in place.
    #[inline]
    pub fn loan(&self, request: &Request<Q>) -> Result<ReplyLoan<'_, P>, AnswerError> {
        self.loan_with(request, P::BulkLengths::default())
    }

    /// Lends a reply whose bulk members have these lengths.
    #[inline]
    pub fn loan_with(
        &self,
        request: &Request<Q>,
        lengths: P::BulkLengths,
    ) -> Result<ReplyLoan<'_, P>, AnswerError> {
        let lend = |head, align, body| self.raw.loan(&request.id(), head, align, body);
        Ok(ReplyLoan { raw: lend_flat::<P, _, AnswerError>(&lengths, lend)?, message: PhantomData })
    }
}

/// A reply under construction, in the memory where its client will read it. Dropping it sends nothing.
pub struct ReplyLoan<'s, P: FlatMessage> {
    pub(super) raw: RawReplyLoan<'s>,
    message: PhantomData<P>,
}

impl<'s, P: FlatMessage> ReplyLoan<'s, P> {
    /// A bulk member's elements, for writing: `loan.bulk_mut(|cloud| &cloud.data)`.
    pub fn bulk_mut<U: BulkElement, const N: usize>(
        &mut self,
        member: impl FnOnce(&P) -> &BulkRef<U, N>,
    ) -> &mut [U] {
        let descriptor = *member(self);
        descriptor.slice_mut(self.raw.body_bytes()).unwrap_or_default()
    }

    /// Sends it as the reply, or as the last part of one: see [`RawReplyLoan::send`].
    #[inline]
    pub fn send(self) -> Result<(), AnswerError> {
        self.raw.send()
    }

    /// Sends it as a part of a reply: see [`RawReplyLoan::send_part`].
    #[inline]
    pub fn send_part(self) -> Result<(), AnswerError> {
        self.raw.send_part()
    }

    /// As [`send_part`](Self::send_part), but waits for room, at most for `limit`.
    pub fn send_part_within(self, limit: Duration) -> Result<(), AnswerError> {
        self.raw.send_part_within(limit)
    }

    /// The untyped loan.
    pub fn into_raw(self) -> RawReplyLoan<'s> {
        self.raw
    }
}

impl<P: FlatMessage> Deref for ReplyLoan<'_, P> {
    type Target = P;
    #[inline]
    fn deref(&self) -> &P {
        // SAFETY: `loan_with` initialized it, and only this loan reaches it.
        unsafe { &*self.raw.head().cast::<P>() }
    }
}

impl<P: FlatMessage> DerefMut for ReplyLoan<'_, P> {
    #[inline]
    fn deref_mut(&mut self) -> &mut P {
        // SAFETY: as in `deref`.
        unsafe { &mut *self.raw.head().cast::<P>() }
    }
}

impl<P: FlatMessage> fmt::Debug for ReplyLoan<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ReplyLoan").field(&**self).finish()
    }
}

/// A request that was taken: read-only, and unchanged until it is dropped.
#[derive(Debug)]
pub struct Request<Q: ServiceMessage> {
    sample: Q::Sample,
    handle: RequestHandle,
}

impl<Q: ServiceMessage> Request<Q> {
    /// The message, with its bulk members and its properties.
    pub fn sample(&self) -> &Q::Sample {
        &self.sample
    }

    /// What a reply needs to know of it.
    pub fn id(&self) -> RequestId {
        self.handle.id()
    }

    /// When its client stops waiting: see [`RequestHandle::deadline_ns`].
    pub fn deadline_ns(&self) -> Option<u64> {
        self.handle.deadline_ns()
    }

    /// Whether its client needs no reply any more: see [`RequestHandle::is_cancelled`].
    pub fn is_cancelled(&self) -> bool {
        self.handle.is_cancelled()
    }
}

impl<Q: Message> Deref for Request<Q> {
    type Target = Q;
    #[inline]
    fn deref(&self) -> &Q {
        &self.sample
    }
}
