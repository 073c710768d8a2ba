//! A server's publishers of replies: one for each client that it has answered, or that has an open request.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use super::errors::AnswerError;
use super::request::{OpenCalls, RequestId};
use crate::clock::{coarse_ns, now_ns};
use crate::node::process_watch::ProcessWatch;
use crate::port::publisher::RawPublisher;
use crate::protocol::presence::Presence;
use crate::topic::RegisterError;

/// A client that has shown a sign of life within this time counts as alive.
const ALIVE_NS: u64 = 5_000_000;

/// The publisher of replies to one client.
#[derive(Debug)]
pub(super) struct ReplyPublisher {
    service: String,
    pub(super) publisher: RawPublisher,
    /// The number of the client.
    pub(super) client: u64,
    /// The requests that the server has taken.
    pub(super) calls: Rc<RefCell<OpenCalls>>,
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
        !self.presence.is_there(|| topic.changes(), || topic.places.active().next().is_some())
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
            _ => self.find(service, calls, number, create)?,
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
        number: u64,
        create: impl FnOnce() -> Result<RawPublisher, RegisterError>,
    ) -> Result<Rc<ReplyPublisher>, RegisterError> {
        let client = match self.known.get(&number) {
            Some(client) => client.clone(),
            None => self.add(service, calls, number, create()?),
        };
        self.last = Some((number, client.clone()));
        Ok(client)
    }

    /// Remembers a client that was not answered before.
    pub(super) fn add(
        &mut self,
        service: &str,
        calls: &Rc<RefCell<OpenCalls>>,
        number: u64,
        publisher: RawPublisher,
    ) -> Rc<ReplyPublisher> {
        let client = Rc::new(ReplyPublisher {
            service: service.to_owned(),
            publisher,
            client: number,
            calls: calls.clone(),
            watch: RefCell::default(),
            presence: Presence::default(),
            alive_ns: Cell::new(0),
        });
        self.known.insert(number, client.clone());
        client
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

    /// Leaves the topics of clients that have ended, among those that are `due`, and returns these clients.
    pub(super) fn forget_gone(&mut self, due: impl Fn(u64) -> bool) -> Vec<u64> {
        let gone = self.known.iter().filter(|(number, client)| due(**number) && client.is_gone(0));
        let gone: Vec<u64> = gone.map(|(number, _)| *number).collect();
        gone.iter().for_each(|number| self.forget(*number));
        gone
    }

    /// The number of clients that it knows and that have not ended.
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }
}
