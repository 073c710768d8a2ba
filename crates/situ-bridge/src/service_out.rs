//! A service that a program on this machine serves, for clients on other machines.
//!
//! A queryable of Zenoh takes their requests. A thread with a client on the bus sends them to the server
//! here, and answers with its replies, or with the parts of each. A client that cancels its call says so by a
//! message of its own; a client whose token is gone needs no reply either.

use std::collections::{HashMap, HashSet};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use situ_bus::{
    CallError, Interrupter, LoanError, Node, RawClient, RegisterError, ReplyError, ServiceDescription,
    ServiceOptions, Wait as BusWait,
};
use zenoh::Wait;
use zenoh::bytes::ZBytes;
use zenoh::pubsub::Subscriber;
use zenoh::query::{Query, Queryable};
use zenoh::sample::{Locality, Sample};

use crate::counts::Counts;
use crate::message_type::{MessageError, MessageType};
use crate::shared::Shared;
use crate::wire::attachment::{Attachment, AttachmentError, Gid, ReplyPart};
use crate::wire::names::cancel_key;
use crate::wire::reply_error::ReplyFailure;
use crate::wire::token::Space;

/// How long a wait is at most. Deadlines and dead servers are noticed that late.
const SLICE: Duration = Duration::from_millis(50);
/// How many calls may be under way at once.
const MAX_CALLS: usize = 1024;
/// How many requests may wait for the thread. Others are dropped: their clients get no reply.
const MAX_WAITING: usize = 256;
/// How many cancellations may wait for the thread. It is more than there can be requests.
const MAX_CANCELLED: usize = 2 * (MAX_CALLS + MAX_WAITING);
/// How long a call may take. rmw_zenoh has no limit, and does not tell when its client gives up.
pub const CALL_LIMIT: Duration = Duration::from_secs(24 * 3600);

/// The types of a service, and where its keys lie.
#[derive(Debug, Clone)]
pub struct ServiceTypes {
    /// Of requests.
    pub request: Arc<MessageType>,
    /// Of replies.
    pub reply: Arc<MessageType>,
    /// Where its keys lie.
    pub space: Space,
}

impl ServiceTypes {
    /// The name of the service's type.
    pub fn name(&self) -> String {
        let name = self.request.name();
        name.strip_suffix("_Request").unwrap_or(name).to_owned()
    }
}

/// Why a request from another machine is not sent to the server here.
#[derive(Debug, thiserror::Error)]
enum RequestFailure {
    #[error("the request has no payload")]
    NoPayload,
    #[error(transparent)]
    Attachment(#[from] AttachmentError),
    #[error(transparent)]
    Message(#[from] MessageError),
    #[error(transparent)]
    Loan(#[from] LoanError),
    #[error(transparent)]
    Call(#[from] CallError),
}

/// What needs no reply any more, until the thread has seen it.
#[derive(Debug, Default)]
struct Ended {
    /// Requests, by their clients and numbers.
    requests: HashSet<(Gid, i64)>,
    /// Clients whose tokens are gone.
    clients: HashSet<Gid>,
}

impl Ended {
    fn has(&self, request: &Attachment) -> bool {
        self.requests.contains(&(request.gid, request.sequence)) || self.clients.contains(&request.gid)
    }
}

/// A request that is under way.
struct Open {
    query: Query,
    attachment: Attachment,
}

/// Why a service is not offered.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The bus refuses the client or server.
    #[error(transparent)]
    Register(#[from] RegisterError),
    /// Zenoh refuses its key.
    #[error("{0}")]
    Zenoh(#[from] zenoh::Error),
    /// There is no thread.
    #[error("cannot start a thread: {0}")]
    Thread(#[from] std::io::Error),
}

/// A service that is served here.
pub struct ServiceOut {
    /// Its name on the bus.
    pub service: String,
    /// Its type, as ROS names it, or that of its requests.
    pub type_name: String,
    /// Its key.
    pub key: String,
    /// The requests that came.
    pub counts: Arc<Counts>,
    // First: the end of the queryable and the subscriber ends the thread's channel.
    queryable: Option<Queryable<()>>,
    cancellations: Option<Subscriber<()>>,
    ended: Arc<Mutex<Ended>>,
    interrupter: Interrupter,
    thread: Option<JoinHandle<()>>,
}

impl ServiceOut {
    /// Offers a service to other machines.
    pub fn offer(
        shared: &Arc<Shared>,
        node: &Node,
        (service, key): (&str, &str),
        types: &ServiceTypes,
    ) -> Result<Self, ServiceError> {
        let description = ServiceDescription {
            request: types.request.published(types.space, Some(types.request.description().encoding)),
            reply: types.reply.any(),
        };
        let options = ServiceOptions { max_calls: MAX_CALLS, ..ServiceOptions::default() };
        let client = RawClient::create(node, service, &description, &options)?;
        let (sender, queries) = sync_channel(MAX_WAITING);
        let ended = Arc::<Mutex<Ended>>::default();
        let interrupter = Interrupter::new();
        let counts = Arc::<Counts>::default();
        let serving = Serving {
            shared: shared.clone(),
            service: service.to_owned(),
            key: key.to_owned(),
            types: types.clone(),
            counts: counts.clone(),
            open: HashMap::new(),
            ended: ended.clone(),
            has_warned: false,
        };
        let interrupted = interrupter.clone();
        let thread = Builder::new().name("bridge-serve".into());
        let thread = thread.spawn(move || serving.run(&client, &queries, &interrupted))?;
        let mut made = Self {
            service: service.to_owned(),
            type_name: types.name(),
            key: key.to_owned(),
            counts,
            queryable: None,
            cancellations: None,
            ended: ended.clone(),
            interrupter: interrupter.clone(),
            thread: Some(thread),
        };
        let lost = made.counts.clone();
        let woken = interrupter.clone();
        let cancel = move |sample: Sample| {
            let attachment = sample.attachment().map(|it| Attachment::from_bytes(&it.to_bytes()));
            let Some(Ok(attachment)) = attachment else { return };
            let mut ended = ended.lock().unwrap_or_else(PoisonError::into_inner);
            if ended.requests.len() < MAX_CANCELLED {
                ended.requests.insert((attachment.gid, attachment.sequence));
                woken.interrupt();
            }
        };
        let cancellations = shared.session.declare_subscriber(cancel_key(key)).callback(cancel);
        made.cancellations = Some(cancellations.allowed_origin(Locality::Remote).wait()?);
        let take = move |query: Query| accept(&sender, &interrupter, &lost, query);
        let queryable = shared.session.declare_queryable(key.to_owned()).complete(true);
        made.queryable = Some(queryable.callback(take).allowed_origin(Locality::Remote).wait()?);
        Ok(made)
    }

    /// Cancels the calls of clients whose tokens are gone.
    pub fn cancel_clients(&self, gids: &[Gid]) {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).clients.extend(gids);
        self.interrupter.interrupt();
    }
}

/// Hands a request to the thread. A callback of Zenoh does not wait.
fn accept(sender: &SyncSender<Query>, interrupter: &Interrupter, counts: &Counts, query: Query) {
    match sender.try_send(query) {
        Ok(()) => interrupter.interrupt(),
        Err(_) => counts.add_lost(1),
    }
}

impl Drop for ServiceOut {
    fn drop(&mut self) {
        // With both go their callbacks, with those the channel, and with that the thread.
        if let Some(cancellations) = self.cancellations.take() {
            let _ = cancellations.undeclare().wait();
        }
        if let Some(queryable) = self.queryable.take() {
            let _ = queryable.undeclare().wait();
        }
        self.interrupter.interrupt();
        self.thread.take().map(JoinHandle::join);
    }
}

/// What the thread needs.
struct Serving {
    shared: Arc<Shared>,
    service: String,
    key: String,
    types: ServiceTypes,
    counts: Arc<Counts>,
    /// The requests that are under way, by their calls.
    open: HashMap<u64, Open>,
    ended: Arc<Mutex<Ended>>,
    has_warned: bool,
}

impl Serving {
    fn run(mut self, client: &RawClient, queries: &Receiver<Query>, interrupter: &Interrupter) {
        loop {
            interrupter.reset();
            // Taken before the queries: those that have ended came earlier, and are among these or known.
            let ended = std::mem::take(&mut *self.ended.lock().unwrap_or_else(PoisonError::into_inner));
            loop {
                match queries.try_recv() {
                    Ok(query) => self.request(client, query),
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => return,
                }
            }
            self.cancel(client, &ended);
            while self.answer(client) {}
            let time = if self.open.is_empty() { Duration::from_millis(500) } else { SLICE };
            let _ = client.replies().wait_with(BusWait::at_most(time).until(interrupter));
        }
    }

    /// Cancels calls. Their servers see it: see [`situ_bus::RequestHandle::is_cancelled`].
    fn cancel(&mut self, client: &RawClient, ended: &Ended) {
        let cancelled = self.open.extract_if(|_, open| ended.has(&open.attachment));
        for call in cancelled.map(|(call, _)| call).collect::<Vec<_>>() {
            if let Err(error) = client.cancel(call) {
                self.warn(&format!("a cancelled call goes on: {error}"));
            }
        }
    }

    fn warn(&mut self, reason: &str) {
        if !std::mem::replace(&mut self.has_warned, true) {
            self.shared.warn(format!("service {:?}: {reason}", self.service));
        }
    }

    fn request(&mut self, client: &RawClient, query: Query) {
        match self.send(client, &query) {
            Ok(None) => {}
            Ok(Some((call, attachment))) => {
                self.open.insert(call, Open { query, attachment });
            }
            Err(error) => {
                self.counts.add_refused();
                let text = error.to_string();
                self.warn(&format!("a request from another machine fails: {text}"));
                let _ = query.reply_err(text).wait();
            }
        }
    }

    fn send(
        &mut self,
        client: &RawClient,
        query: &Query,
    ) -> Result<Option<(u64, Attachment)>, RequestFailure> {
        let attachment = query.attachment().ok_or(AttachmentError::Missing)?.to_bytes();
        let attachment = Attachment::from_bytes(&attachment)?;
        if attachment.origin == Some(self.shared.origin) {
            self.counts.add_echo();
            return Ok(None);
        }
        let payload = query.payload().ok_or(RequestFailure::NoPayload)?;
        let published =
            self.types.request.published(self.types.space, Some(self.types.request.description().encoding));
        let arrived = self.types.request.arrived(self.types.space, payload, published.encoding)?;
        let (head, body) = arrived.sizes();
        let mut loan = client.loan(head, 64, body)?;
        arrived.fill(&mut loan);
        let call = loan.send_now(Some(CALL_LIMIT))?;
        self.counts.add(payload.len());
        Ok(Some((call, attachment)))
    }

    /// Sends a reply, if there is one. Returns whether there was.
    fn answer(&mut self, client: &RawClient) -> bool {
        match client.take() {
            Ok(None) => false,
            Ok(Some(reply)) => {
                let call = reply.call();
                let Some(open) = self.open.remove(&call) else { return true };
                let part = match (reply.has_content(), reply.is_last()) {
                    (false, _) => ReplyPart::End,
                    (true, true) => ReplyPart::Last,
                    (true, false) => ReplyPart::More,
                };
                let payload = match part {
                    ReplyPart::End => Ok(ZBytes::new()),
                    _ => self.types.reply.to_wire(self.types.space, reply.into_sample()),
                };
                let attachment = Attachment {
                    time_ns: self.shared.since_1970(0),
                    origin: Some(self.shared.origin),
                    part,
                    ..open.attachment
                };
                let sent = payload.map_err(|error| error.to_string()).and_then(|payload| {
                    let reply = open.query.reply(self.key.clone(), payload).attachment(attachment.to_bytes());
                    reply.wait().map_err(|error| error.to_string())
                });
                match sent {
                    Err(error) => {
                        self.warn(&error);
                        let _ = open.query.reply_err(error).wait();
                        // The server may have more parts, for which there is no client.
                        let _ = client.cancel(call);
                    }
                    Ok(()) if part == ReplyPart::More => drop(self.open.insert(call, open)),
                    Ok(()) => {}
                }
                true
            }
            Err(error) => {
                let failed = error.call().and_then(|call| self.open.remove(&call));
                if let Some(open) = failed {
                    let (failure, text) = match &error {
                        ReplyError::Refused { code, text, .. } => {
                            (ReplyFailure::Refused(*code), text.clone())
                        }
                        ReplyError::ServerGone { .. } => (ReplyFailure::Gone, error.to_string()),
                        _ => (ReplyFailure::Other, error.to_string()),
                    };
                    let _ = open.query.reply_err(text).encoding(failure.to_encoding()).wait();
                }
                !matches!(error, ReplyError::Take(_))
            }
        }
    }
}
