//! A service that a program on this machine serves, for clients on other machines.
//!
//! A queryable of Zenoh takes their requests. A thread with a client on the bus sends them to the server
//! here, and answers with its replies.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use situ_bus::{
    CallError, Interrupter, LoanError, Node, RawClient, RegisterError, ReplyError, ServiceDescription,
    ServiceOptions, Wait as BusWait,
};
use zenoh::Wait;
use zenoh::query::{Query, Queryable};
use zenoh::sample::Locality;

use crate::counts::Counts;
use crate::message_type::{MessageError, MessageType};
use crate::shared::Shared;
use crate::wire::attachment::{Attachment, AttachmentError};
use crate::wire::token::Space;

/// How long a wait is at most. Deadlines and dead servers are noticed that late.
const SLICE: Duration = Duration::from_millis(50);
/// How many calls may be under way at once.
const MAX_CALLS: usize = 1024;
/// How many requests may wait for the thread. Others are dropped: their clients get no reply.
const MAX_WAITING: usize = 256;
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
    // First: the end of the queryable ends the thread's channel.
    queryable: Option<Queryable<()>>,
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
        let interrupter = Interrupter::new();
        let counts = Arc::<Counts>::default();
        let serving = Serving {
            shared: shared.clone(),
            service: service.to_owned(),
            key: key.to_owned(),
            types: types.clone(),
            counts: counts.clone(),
            open: HashMap::new(),
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
            interrupter: interrupter.clone(),
            thread: Some(thread),
        };
        let lost = made.counts.clone();
        let take = move |query: Query| accept(&sender, &interrupter, &lost, query);
        let queryable = shared.session.declare_queryable(key.to_owned()).complete(true);
        made.queryable = Some(queryable.callback(take).allowed_origin(Locality::Remote).wait()?);
        Ok(made)
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
        // With the queryable goes its callback, with that the channel, and with that the thread.
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
    open: HashMap<u64, (Query, Attachment)>,
    has_warned: bool,
}

impl Serving {
    fn run(mut self, client: &RawClient, queries: &Receiver<Query>, interrupter: &Interrupter) {
        loop {
            interrupter.reset();
            loop {
                match queries.try_recv() {
                    Ok(query) => self.request(client, query),
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => return,
                }
            }
            while self.answer(client) {}
            let time = if self.open.is_empty() { Duration::from_millis(500) } else { SLICE };
            let _ = client.replies().wait_with(BusWait::at_most(time).until(interrupter));
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
                self.open.insert(call, (query, attachment));
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
                let Some((query, attachment)) = self.open.remove(&call) else { return true };
                if !reply.has_content() {
                    return true;
                }
                let is_last = reply.is_last();
                let attachment = Attachment {
                    time_ns: self.shared.since_1970(0),
                    origin: Some(self.shared.origin),
                    ..attachment
                };
                let sent = self.types.reply.to_wire(self.types.space, reply.into_sample());
                let sent = sent.map_err(|error| error.to_string()).and_then(|payload| {
                    let reply = query.reply(self.key.clone(), payload).attachment(attachment.to_bytes());
                    reply.wait().map_err(|error| error.to_string())
                });
                if let Err(error) = sent {
                    self.warn(&error);
                    let _ = query.reply_err(error).wait();
                } else if !is_last {
                    self.open.insert(call, (query, attachment));
                }
                true
            }
            Err(error) => {
                let failed = error.call().and_then(|call| self.open.remove(&call));
                if let Some((query, _)) = failed {
                    let _ = query.reply_err(error.to_string()).wait();
                }
                !matches!(error, ReplyError::Take(_))
            }
        }
    }
}
