//! A server's publishers of replies: one for each client that it has answered, or that has an open request.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::errors::AnswerError;
use super::request::{OpenCalls, RequestId};
use crate::clock::{coarse_ns, now_ns};
use crate::node::endpoint::EndpointId;
use crate::node::process_watch::ProcessWatch;
use crate::port::publisher::RawPublisher;
use crate::protocol::presence::Presence;
use crate::topic::{PlaceView, RegisterError};

/// A client that has shown a sign of life within this time counts as alive.
const ALIVE_NS: u64 = 5_000_000;

/// The publisher of replies to one client.
#[derive(Debug)]
pub(super) struct ReplyPublisher {
    service: String,
    pub(super) publisher: RawPublisher,
    pub(super) client: EndpointId,
    /// The requests that the server has taken.
    pub(super) calls: Rc<RefCell<OpenCalls>>,
    /// Whether it had no room although a server waited for it.
    pub(super) is_slow: Cell<bool>,
    watch: RefCell<ProcessWatch>,
    presence: Presence,
    /// When the client was last known to be alive.
    alive_ns: Cell<u64>,
}

impl ReplyPublisher {
    /// The error of a reply to a client that has ended.
    #[cold]
    pub(super) fn gone(&self, request: &RequestId) -> AnswerError {
        AnswerError::client_gone(&self.service, request)
    }

    /// Whether its client has ended. It reads the coarse clock, and asks the kernel only if the client has
    /// shown no sign of life for some milliseconds. `sent_at_ns` is when it sent the request.
    #[inline]
    fn is_gone(&self, sent_at_ns: u64) -> bool {
        let now = coarse_ns();
        // The client wrote the time of its request: it may be any number.
        let alive_ns = self.alive_ns.get().max(sent_at_ns.min(now));
        if now.saturating_sub(alive_ns) > ALIVE_NS {
            self.check(now);
        }
        let topic = &self.publisher.topic;
        // Any participant may subscribe to the topic of replies; only the client's own place counts.
        let is_client = |place: PlaceView<'_>| place.node() == self.client.node.0;
        !self.presence.is_there(|| topic.changes(), || topic.places.active().any(is_client))
    }

    #[cold]
    fn check(&self, now: u64) {
        self.alive_ns.set(now);
        self.presence.forget();
        let topic = &self.publisher.topic;
        if self.watch.borrow_mut().notices(topic, &self.publisher.node.processes, now_ns()) {
            topic.mark_dead_places();
        }
    }
}

/// The publishers of a server.
#[derive(Debug, Default)]
pub(super) struct Clients {
    known: HashMap<u64, Rc<ReplyPublisher>>,
    /// Which one is looked at next, in the order of the map, which changes when a client comes or goes. One
    /// that is passed over then is looked at in the next round.
    next: usize,
    /// The client that was answered last.
    last: Option<(u64, Rc<ReplyPublisher>)>,
}

impl Clients {
    /// The publisher of replies to a client, made by `create` if it is the first reply. `None` if the client
    /// has ended.
    #[inline]
    pub(super) fn of(
        &mut self,
        service: &str,
        calls: &Rc<RefCell<OpenCalls>>,
        request: &RequestId,
        create: impl FnOnce() -> Result<RawPublisher, RegisterError>,
    ) -> Result<Option<Rc<ReplyPublisher>>, RegisterError> {
        let number = request.client.number;
        let known = match &self.last {
            Some((last, client)) if *last == number => client.clone(),
            _ => self.find(service, calls, request.client, create)?,
        };
        if known.is_gone(request.sent_at_ns) {
            self.forget(number);
            return Ok(None);
        }
        Ok(Some(known))
    }

    fn find(
        &mut self,
        service: &str,
        calls: &Rc<RefCell<OpenCalls>>,
        client: EndpointId,
        create: impl FnOnce() -> Result<RawPublisher, RegisterError>,
    ) -> Result<Rc<ReplyPublisher>, RegisterError> {
        let known = match self.known.get(&client.number) {
            Some(known) => known.clone(),
            None => self.add(service, calls, client, create()?),
        };
        self.last = Some((client.number, known.clone()));
        Ok(known)
    }

    /// Remembers a client that was not answered before.
    pub(super) fn add(
        &mut self,
        service: &str,
        calls: &Rc<RefCell<OpenCalls>>,
        client: EndpointId,
        publisher: RawPublisher,
    ) -> Rc<ReplyPublisher> {
        let made = Rc::new(ReplyPublisher {
            service: service.to_owned(),
            publisher,
            client,
            calls: calls.clone(),
            is_slow: Cell::new(false),
            watch: RefCell::default(),
            presence: Presence::default(),
            alive_ns: Cell::new(0),
        });
        self.known.insert(client.number, made.clone());
        made
    }

    /// Whether its end would be seen.
    pub(super) fn knows(&self, number: u64) -> bool {
        self.known.contains_key(&number)
    }

    fn forget(&mut self, number: u64) {
        self.last.take_if(|(last, _)| *last == number);
        self.known.remove(&number);
    }

    /// The publishers of replies.
    pub(super) fn publishers(&self) -> impl Iterator<Item = &RawPublisher> {
        self.known.values().map(|client| &client.publisher)
    }

    /// Leaves the topics of clients that have ended, and returns these clients. Looks at those with `open`
    /// requests, and at some `others`, which are the next ones each time.
    pub(super) fn forget_gone(&mut self, open: &HashSet<EndpointId>, others: usize) -> Vec<EndpointId> {
        let next = if self.next < self.known.len() { self.next } else { 0 };
        let due = next..next.saturating_add(others);
        self.next = due.end;
        let known = self.known.values().enumerate();
        let due = known.filter(|(index, it)| due.contains(index) || open.contains(&it.client));
        let gone: Vec<_> = due.filter(|(_, it)| it.is_gone(0)).map(|(_, it)| it.client).collect();
        gone.iter().for_each(|client| self.forget(client.number));
        gone
    }

    /// The number of clients that it knows and that have not ended.
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }
}
