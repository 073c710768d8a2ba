//! Watching a service without taking part in it: requests, and the replies to them.
//!
//! A subscriber of the topic of requests would count as a server, and its place would hold clients back. So
//! this reads the topics of requests and of replies as an [`Observer`] does: clients and servers do not
//! notice it.

use std::collections::{HashMap, HashSet};

use crate::observe::inspect::InspectError;
use crate::observe::observer::Observer;
use crate::observe::read_message::{ObservedMessage, Read};
use crate::root::Root;
use crate::service::header::{ReplyHeader, ReplyKind, RequestHeader, RequestKind};
use crate::topic::{StateWord, names};

/// A message of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceEvent {
    /// The number of the client: the second half of its [`EndpointId`](crate::EndpointId).
    pub client: u64,
    /// The number of the call, unique for the client.
    pub call: u64,
    /// When the message was published, by [`now_ns`](crate::now_ns); 0 if its publisher leaves out time
    /// stamps.
    pub at_ns: u64,
    /// What it is.
    pub kind: ServiceEventKind,
}

/// What a message of a call is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServiceEventKind {
    /// A request.
    Request(ObservedMessage),
    /// The client needs no reply any more.
    Cancellation,
    /// The reply, or its last part.
    Reply(ObservedMessage),
    /// A part of a reply, which others follow.
    Part(ObservedMessage),
    /// The end of a reply in parts.
    End,
    /// A server refuses the request.
    Refusal {
        /// The server's number for the reason.
        code: u64,
        /// The server's text.
        text: String,
    },
}

/// Watches a service without taking part in it. Messages that are recycled before they are read are missed:
/// call [`poll`](Self::poll) often.
#[derive(Debug)]
pub struct ServiceObserver {
    root: Root,
    requests: Observer,
    /// The replies to each client; `None`: it had no topic of replies when it was looked for.
    replies: HashMap<u64, Option<Observer>>,
    /// Messages that were missed on topics of replies that are not watched any more.
    missed: u64,
}

impl ServiceObserver {
    /// Begins to watch a service, after the messages that are already published. `None` if there is no
    /// service of this name.
    pub fn open(root: &Root, service: &str) -> Result<Option<Self>, InspectError> {
        let Some(requests) = Observer::open(root, &names::of_requests(service))? else { return Ok(None) };
        let mut observer = Self { root: root.clone(), requests, replies: HashMap::new(), missed: 0 };
        for client in observer.clients() {
            let replies = Observer::open(&observer.root, &names::of_replies(client))?;
            observer.replies.insert(client, replies);
        }
        Ok(Some(observer))
    }

    /// Whether the service still exists, and is not another one of the same name: call it from time to time.
    pub fn is_current(&mut self) -> bool {
        for replies in self.replies.values_mut().flatten() {
            replies.is_current();
        }
        self.requests.is_current()
    }

    /// The number of messages that could not be read: they were recycled before, or lie in the memory of a
    /// device.
    pub fn missed(&self) -> u64 {
        let of_replies = self.replies.values().flatten().map(|it| it.missed);
        of_replies.fold(self.missed.saturating_add(self.requests.missed), u64::saturating_add)
    }

    /// The messages that were published since the last call, in the order of their time. It does not wait.
    pub fn poll(&mut self) -> Vec<ServiceEvent> {
        let clients = self.clients();
        for client in &clients {
            self.watch(*client);
        }
        // A request is published before its reply. Requests are therefore read after replies, so that none of
        // these comes without its request.
        let mut replies = Vec::new();
        for (client, observer) in &mut self.replies {
            // As many as the topic keeps: otherwise publishers that are faster would keep this busy.
            let most = observer.as_ref().map_or(0, Observer::depth);
            let read = std::iter::from_fn(|| observer.as_mut()?.read()).take(most);
            replies.extend(read.filter_map(|read| reply(*client, read)));
        }
        let most = self.requests.depth();
        let mut events: Vec<ServiceEvent> =
            std::iter::from_fn(|| self.requests.read()).take(most).filter_map(request).collect();
        for event in &events {
            // Its topic of replies exists by now.
            if self.replies.get(&event.client).is_none_or(Option::is_none) {
                self.replies.remove(&event.client);
                self.watch(event.client);
            }
        }
        events.append(&mut replies);
        // Stable: a request without a time stamp stays before its reply.
        events.sort_by_key(|event| event.at_ns);
        let missed = &mut self.missed;
        self.replies.retain(|client, observer| {
            let stays = clients.contains(client) || observer.as_ref().is_some_and(Observer::has_next);
            if !stays {
                *missed = missed.saturating_add(observer.as_ref().map_or(0, |it| it.missed));
            }
            stays
        });
        events
    }

    /// Watches the replies to a client that has come since.
    fn watch(&mut self, client: u64) {
        let root = &self.root;
        self.replies.entry(client).or_insert_with(|| {
            let mut replies = Observer::open(root, &names::of_replies(client)).ok().flatten()?;
            replies.rewind();
            Some(replies)
        });
    }

    /// The clients that are present.
    fn clients(&self) -> HashSet<u64> {
        let topic = &self.requests.topic;
        let entries = (0..topic.used_entries()).map(|index| topic.publisher(index));
        let present = entries.filter(|entry| StateWord::read(&entry.state).is_active());
        present.map(|entry| entry.tenure.pool()).collect()
    }
}

/// `None` if its header is malformed.
fn request(read: Read) -> Option<ServiceEvent> {
    let header = RequestHeader::read(&read.user_header)?;
    let at_ns = read.message.published_at_ns;
    let kind = match header.kind {
        RequestKind::Call => ServiceEventKind::Request(read.message),
        RequestKind::Cancel => ServiceEventKind::Cancellation,
    };
    Some(ServiceEvent { client: read.publisher, call: header.call, at_ns, kind })
}

/// `None` if its header is malformed.
fn reply(client: u64, read: Read) -> Option<ServiceEvent> {
    let header = ReplyHeader::read(&read.user_header)?;
    let at_ns = read.message.published_at_ns;
    let kind = match header.kind {
        ReplyKind::Reply => ServiceEventKind::Reply(read.message),
        ReplyKind::Part => ServiceEventKind::Part(read.message),
        ReplyKind::End => ServiceEventKind::End,
        ReplyKind::Refusal => {
            let text = String::from_utf8_lossy(&read.message.head).into_owned();
            ServiceEventKind::Refusal { code: header.code, text }
        }
    };
    Some(ServiceEvent { client, call: header.call, at_ns, kind })
}
