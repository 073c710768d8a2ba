//! Calls of services for a client: their clients on the bus, and the calls that are under way.
//!
//! A client on the bus is made with the first call of its service, and stays for the next ones. There are at
//! most [`MAX_CLIENTS`]; a call of one more service waits until one has nothing under way.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use situ_bus::{
    AttachError, CallError, Encoding, LoanError, Node, RawClient, RegisterError, ReplyError, ServiceOptions,
    WaitSet,
};
use situ_schema::dynamic::Value;

use crate::services::{ContentError, Service};

/// How many services have a client at once.
const MAX_CLIENTS: usize = 32;
/// How many calls of a screen are under way, or wait.
const MAX_CALLS: usize = 256;
/// How long a call may take.
const CALL_LIMIT: Duration = Duration::from_secs(30);

/// Why a call has no reply.
#[derive(Debug, thiserror::Error)]
pub enum CallFailure {
    /// There are too many.
    #[error("{MAX_CALLS} calls are under way already")]
    TooMany,
    /// The service does not let the server join.
    #[error(transparent)]
    Register(#[from] Box<RegisterError>),
    /// It cannot be waited for.
    #[error(transparent)]
    Attach(#[from] AttachError),
    /// The request is malformed, or the reply.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// There is no memory for the request.
    #[error(transparent)]
    Loan(#[from] Box<LoanError>),
    /// The request cannot be sent.
    #[error(transparent)]
    Call(#[from] Box<CallError>),
    /// There is no reply.
    #[error(transparent)]
    Reply(#[from] Box<ReplyError>),
    /// The reply has no content.
    #[error("the reply has no content")]
    Empty,
}

/// Where calls are made.
#[derive(Clone, Copy)]
pub struct Place<'p> {
    /// The node of the server.
    pub node: &'p Node,
    /// The wait set of the client's thread.
    pub set: &'p WaitSet,
}

/// A reply, with its service, or why there is none.
pub type Outcome = Result<(Arc<Service>, Value), CallFailure>;

struct Client<P> {
    service: Arc<Service>,
    client: RawClient,
    /// The form of its requests.
    encoding: Encoding,
    calls: HashMap<u64, P>,
    used: u64,
}

struct Waiting<P> {
    service: Arc<Service>,
    request: Value,
    purpose: P,
}

/// The calls of a screen, each with its purpose.
pub struct Caller<P> {
    clients: HashMap<String, Client<P>>,
    waiting: VecDeque<Waiting<P>>,
    /// Calls that could not be sent.
    failed: VecDeque<(P, CallFailure)>,
    turns: u64,
}

impl<P> Default for Caller<P> {
    fn default() -> Self {
        Self { clients: HashMap::new(), waiting: VecDeque::new(), failed: VecDeque::new(), turns: 0 }
    }
}

impl<P> Caller<P> {
    /// Calls a service. What comes of it, [`take`](Self::take) returns.
    pub fn call(&mut self, place: Place, service: Arc<Service>, request: Value, purpose: P) {
        let under_way: usize = self.clients.values().map(|it| it.calls.len()).sum();
        if under_way + self.waiting.len() >= MAX_CALLS {
            return self.failed.push_back((purpose, CallFailure::TooMany));
        }
        self.waiting.push_back(Waiting { service, request, purpose });
        self.start(place);
    }

    /// The next reply or failure.
    pub fn take(&mut self, place: Place) -> Option<(P, Outcome)> {
        self.start(place);
        if let Some((purpose, failure)) = self.failed.pop_front() {
            return Some((purpose, Err(failure)));
        }
        for client in self.clients.values_mut().filter(|it| !it.calls.is_empty()) {
            while let Some(taken) = client.take() {
                if taken.is_some() {
                    return taken;
                }
            }
        }
        None
    }

    /// Starts calls that wait, as long as there is a client for them.
    fn start(&mut self, place: Place) {
        while let Some(next) = self.waiting.pop_front() {
            if !self.has_client(&next.service) {
                self.waiting.push_front(next);
                return;
            }
            if let Err((purpose, failure)) = self.send(place, next) {
                self.failed.push_back((purpose, failure));
            }
        }
    }

    /// Whether there is a client of a service, or room for one.
    fn has_client(&mut self, service: &Arc<Service>) -> bool {
        let name = &service.service;
        if self.clients.get(name).is_some_and(|it| Arc::ptr_eq(&it.service, service) || it.is_usable()) {
            return true;
        }
        // One of the same name has other types, or its server has ended and may come again with others.
        let is_idle = |it: &&Client<P>| it.calls.is_empty();
        let of_name = self.clients.get(name).filter(is_idle).map(|_| name.clone());
        let oldest = || {
            let idle = self.clients.iter().filter(|(_, it)| it.calls.is_empty());
            idle.min_by_key(|(_, it)| it.used).map(|(name, _)| name.clone())
        };
        let ends = match of_name {
            Some(name) => Some(name),
            None if self.clients.contains_key(name) => return false,
            None if self.clients.len() < MAX_CLIENTS => return true,
            None => oldest(),
        };
        ends.is_some_and(|name| self.clients.remove(&name).is_some())
    }

    fn send(&mut self, place: Place, next: Waiting<P>) -> Result<(), (P, CallFailure)> {
        let Waiting { service, request, purpose } = next;
        self.turns += 1;
        let begun = self.begin(place, &service, &request);
        match begun {
            Ok(call) => {
                if let Some(client) = self.clients.get_mut(&service.service) {
                    client.used = self.turns;
                    client.calls.insert(call, purpose);
                }
                Ok(())
            }
            Err(failure) => Err((purpose, failure)),
        }
    }

    fn begin(&mut self, place: Place, service: &Arc<Service>, request: &Value) -> Result<u64, CallFailure> {
        if !self.clients.contains_key(&service.service) {
            let (client, encoding) = join(place.node, service)?;
            place.set.attach(&client)?;
            let (service, calls, used) = (service.clone(), HashMap::new(), self.turns);
            self.clients.insert(service.service.clone(), Client { service, client, encoding, calls, used });
        }
        let Client { client, encoding, .. } = &self.clients[&service.service];
        let encoded = service.encode(request, *encoding)?;
        let (head, body) = (&encoded.head, &encoded.body);
        let mut loan = client.loan(head.len(), encoded.align, body.len()).map_err(Box::new)?;
        loan.head_bytes().copy_from_slice(head);
        loan.body_bytes().copy_from_slice(body);
        Ok(loan.send_now(Some(CALL_LIMIT)).map_err(Box::new)?)
    }
}

/// Joins a service, with requests in the first form that its servers take.
fn join(node: &Node, service: &Service) -> Result<(RawClient, Encoding), CallFailure> {
    let options = ServiceOptions { max_calls: MAX_CALLS, ..ServiceOptions::default() };
    let mut failure = None;
    for description in &service.descriptions {
        match RawClient::create(node, &service.service, description, &options) {
            Ok(client) => return Ok((client, description.request.encoding)),
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    // There is at least one form.
    Err(failure.map_or(CallFailure::Empty, |error| Box::new(error).into()))
}

impl<P> Client<P> {
    /// Whether a call of a service with the same types may use it.
    fn is_usable(&self) -> bool {
        self.client.servers() > 0
    }

    /// What came of a call. `Some(None)`: something that belongs to none.
    fn take(&mut self) -> Option<Option<(P, Outcome)>> {
        match self.client.take() {
            Ok(None) => None,
            Ok(Some(reply)) => {
                let (call, is_last) = (reply.call(), reply.is_last());
                let Some(purpose) = self.calls.remove(&call) else { return Some(None) };
                let content = match reply.has_content() {
                    true => self.service.reply(reply.sample()).map_err(CallFailure::from),
                    false => Err(CallFailure::Empty),
                };
                if !is_last {
                    // A screen gets one reply. If the server cannot be told, its other parts are ignored.
                    let _ = self.client.cancel(call);
                }
                Some(Some((purpose, content.map(|value| (self.service.clone(), value)))))
            }
            // The topic of replies fails, and with it all calls.
            Err(error @ ReplyError::Take(_)) => {
                let call = self.calls.keys().next().copied()?;
                let purpose = self.calls.remove(&call);
                Some(purpose.map(|purpose| (purpose, Err(Box::new(error).into()))))
            }
            Err(error) => {
                let purpose = error.call().and_then(|call| self.calls.remove(&call));
                Some(purpose.map(|purpose| (purpose, Err(Box::new(error).into()))))
            }
        }
    }
}
