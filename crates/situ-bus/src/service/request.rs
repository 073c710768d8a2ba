//! Requests, as a server takes them.

use std::sync::Arc;

use situ_memory::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::header::RequestHeader;
use crate::clock::now_ns;
use crate::node::endpoint::EndpointId;
use crate::node::liveness::NodeId;
use crate::observe::hook::{self, CallEnd};
use crate::port::sample::RawSample;
use crate::topic::Topic;

/// What a reply needs to know of its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestId {
    /// The client.
    pub client: EndpointId,
    /// The number of the call, unique for the client.
    pub call: u64,
    /// When the request was sent, by [`now_ns`](crate::now_ns): then the client was alive. 0 if the client
    /// leaves out time stamps.
    pub sent_at_ns: u64,
}

/// A request that a server has taken, as the server and the request itself see it. It is used again when the
/// request is gone, so that taking requests allocates nothing.
#[derive(Debug)]
pub(super) struct OpenCall {
    /// The client's node and number.
    node: AtomicU64,
    client: AtomicU64,
    call: AtomicU64,
    is_cancelled: AtomicBool,
    /// Whether a tracer knows of it, and not of its end.
    pub(super) is_traced: AtomicBool,
    /// Its place among the open requests.
    pub(super) lane: u32,
    /// The topic of requests, and the server's place there.
    pub(super) topic: Arc<Topic>,
    pub(super) member: usize,
}

impl OpenCall {
    fn begin(&self, client: EndpointId, call: u64) {
        self.node.store(client.node.0, Ordering::Relaxed);
        self.client.store(client.number, Ordering::Relaxed);
        self.call.store(call, Ordering::Relaxed);
        self.is_cancelled.store(false, Ordering::Relaxed);
    }

    fn client(&self) -> EndpointId {
        EndpointId {
            node: NodeId(self.node.load(Ordering::Relaxed)),
            number: self.client.load(Ordering::Relaxed),
        }
    }

    fn is_of(&self, client: EndpointId) -> bool {
        self.client() == client
    }
}

/// The requests that a server has taken and that still exist.
#[derive(Debug)]
pub(super) struct OpenCalls {
    calls: Vec<Arc<OpenCall>>,
    /// Where the last free one was.
    hint: usize,
    /// The topic of requests, and the server's place there.
    topic: Arc<Topic>,
    member: usize,
}

impl OpenCalls {
    pub(super) fn new(topic: Arc<Topic>, member: usize) -> Self {
        Self { calls: Vec::new(), hint: 0, topic, member }
    }

    /// Begins with a request.
    #[inline]
    pub(super) fn begin(&mut self, client: EndpointId, call: u64) -> Arc<OpenCall> {
        let number = self.calls.len();
        // Only the server clones them, so one that nothing else has stays its own.
        let is_free = |index: &usize| Arc::strong_count(&self.calls[*index]) == 1;
        let free = (self.hint..number).chain(0..self.hint).find(is_free);
        self.hint = free.unwrap_or_else(|| {
            self.calls.push(Arc::new(OpenCall {
                node: AtomicU64::new(0),
                client: AtomicU64::new(0),
                call: AtomicU64::new(0),
                is_cancelled: AtomicBool::new(false),
                is_traced: AtomicBool::new(false),
                lane: number as u32,
                topic: self.topic.clone(),
                member: self.member,
            }));
            number
        });
        let open = &self.calls[self.hint];
        open.begin(client, call);
        open.clone()
    }

    fn existing(&self) -> impl Iterator<Item = &OpenCall> {
        self.calls.iter().filter(|open| Arc::strong_count(open) > 1).map(|open| &**open)
    }

    /// A request, if it is open.
    pub(super) fn find(&self, client: EndpointId, call: u64) -> Option<&OpenCall> {
        self.existing().find(|open| open.is_of(client) && open.call.load(Ordering::Relaxed) == call)
    }

    /// Marks a request as cancelled, if it is open.
    pub(super) fn cancel(&self, client: EndpointId, call: u64) {
        if let Some(open) = self.find(client, call) {
            open.is_cancelled.store(true, Ordering::Relaxed);
        }
    }

    /// Marks all requests of a client that has ended as cancelled.
    pub(super) fn cancel_all(&self, client: EndpointId) {
        let of_it = self.existing().filter(|open| open.is_of(client));
        of_it.for_each(|open| open.is_cancelled.store(true, Ordering::Relaxed));
    }

    /// The clients of open requests that are not cancelled.
    pub(super) fn clients(&self) -> impl Iterator<Item = EndpointId> {
        let waiting = self.existing().filter(|open| !open.is_cancelled.load(Ordering::Relaxed));
        waiting.map(OpenCall::client)
    }
}

/// What a server and its program know of a request, apart from its content.
#[derive(Debug)]
pub struct RequestHandle {
    id: RequestId,
    deadline_ns: u64,
    open: Arc<OpenCall>,
}

impl RequestHandle {
    /// What a reply needs to know of it.
    #[inline]
    pub fn id(&self) -> RequestId {
        self.id
    }

    /// When its client stops waiting, by [`now_ns`](crate::now_ns). `None`: it waits until there is no
    /// server.
    pub fn deadline_ns(&self) -> Option<u64> {
        (self.deadline_ns != 0).then_some(self.deadline_ns)
    }

    /// Whether its client needs no reply any more: it has cancelled the call, has ended, or the call's time
    /// is over. A cancellation is known when the server has taken what its clients sent since: see
    /// [`RawServer::collect`](crate::RawServer::collect).
    pub fn is_cancelled(&self) -> bool {
        self.open.is_cancelled.load(Ordering::Relaxed)
            || (self.deadline_ns != 0 && self.deadline_ns <= now_ns())
    }
}

impl Drop for RequestHandle {
    /// A tracer learns that the server is done with it, if it was not answered.
    #[inline]
    fn drop(&mut self) {
        if self.open.is_traced.load(Ordering::Relaxed) {
            self.open.tell_done(CallEnd::Dropped, None);
        }
    }
}

/// A request that was taken. Its bytes do not change until it is dropped. It may go to other threads, and may
/// be answered in any order.
#[derive(Debug)]
pub struct RawRequest {
    sample: RawSample,
    handle: RequestHandle,
}

impl RawRequest {
    #[inline]
    pub(super) fn new(sample: RawSample, header: RequestHeader, calls: &mut OpenCalls) -> Self {
        let client = sample.publisher_id();
        let id = RequestId { client, call: header.call, sent_at_ns: sample.published_at_ns() };
        let open = calls.begin(client, header.call);
        if let Some(watcher) = hook::watcher() {
            open.tell_taken(watcher, header.call, sample.sequence());
        }
        Self { sample, handle: RequestHandle { id, deadline_ns: header.deadline_ns, open } }
    }

    /// The message.
    #[inline]
    pub fn sample(&self) -> &RawSample {
        &self.sample
    }

    /// The message, and what else is known of the request.
    #[inline]
    pub fn into_parts(self) -> (RawSample, RequestHandle) {
        (self.sample, self.handle)
    }
}

impl std::ops::Deref for RawRequest {
    type Target = RequestHandle;

    #[inline]
    fn deref(&self) -> &RequestHandle {
        &self.handle
    }
}
