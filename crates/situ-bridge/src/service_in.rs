//! A service that a program on another machine serves, for clients here.
//!
//! A thread with a server on the bus takes the requests of clients here, sends them as queries of Zenoh, and
//! answers with the replies. The server exists as long as a token of a server on another machine does.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use situ_bus::{
    AnswerError, EndpointId, Interrupter, Node, RawRequest, RawServer, RequestError, RequestId,
    ServiceDescription, ServiceOptions, Wait as BusWait,
};
use zenoh::Wait;
use zenoh::bytes::ZBytes;
use zenoh::query::{ConsolidationMode, QueryTarget, Reply};
use zenoh::sample::Locality;

use crate::counts::Counts;
use crate::message_type::MessageError;
use crate::service_out::{CALL_LIMIT, ServiceError, ServiceTypes};
use crate::shared::Shared;
use crate::wire::attachment::Attachment;

/// How long a wait is at most.
const SLICE: Duration = Duration::from_millis(200);
/// How long a reply waits for a client here that has no room.
const PATIENCE: Duration = Duration::from_millis(100);
/// The number with which a call is refused that another machine does not answer.
const NO_ANSWER: u64 = 1;

/// A service that is served on another machine.
pub struct ServiceIn {
    /// Its name on the bus.
    pub service: String,
    /// Its type, as ROS names it, or that of its requests.
    pub type_name: String,
    /// Its key.
    pub key: String,
    /// The requests that left.
    pub counts: Arc<Counts>,
    /// The tokens of its servers.
    pub tokens: HashSet<String>,
    stop: Arc<AtomicBool>,
    interrupter: Interrupter,
    thread: Option<JoinHandle<()>>,
}

/// What a query brings.
enum Answer {
    Payload(ZBytes),
    Failed(String),
    /// There are no more replies.
    Over,
}

impl ServiceIn {
    /// Offers a service of another machine here.
    pub fn offer(
        shared: &Arc<Shared>,
        node: &Node,
        (service, key): (&str, &str),
        types: &ServiceTypes,
        user_data: Vec<u8>,
    ) -> Result<Self, ServiceError> {
        let (request, reply) = (&types.request, &types.reply);
        let description = ServiceDescription {
            request: request.any(),
            reply: reply.published(types.space, Some(reply.description().encoding)),
        };
        let options = ServiceOptions { user_data, ..ServiceOptions::default() };
        let server = RawServer::create(node, service, &description, &options)?;
        let (stop, interrupter) = (Arc::new(AtomicBool::new(false)), Interrupter::new());
        let counts = Arc::<Counts>::default();
        let (sender, answers) = channel();
        let calling = Calling {
            shared: shared.clone(),
            service: service.to_owned(),
            key: key.to_owned(),
            types: types.clone(),
            counts: counts.clone(),
            sender,
            interrupter: interrupter.clone(),
            open: HashSet::new(),
            sequence: 0,
            has_warned: false,
        };
        let stopped = stop.clone();
        let thread = Builder::new().name("bridge-call".into());
        let thread = thread.spawn(move || calling.run(&server, &answers, &stopped))?;
        Ok(Self {
            service: service.to_owned(),
            type_name: types.name(),
            key: key.to_owned(),
            counts,
            tokens: HashSet::new(),
            stop,
            interrupter,
            thread: Some(thread),
        })
    }
}

impl Drop for ServiceIn {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.interrupter.interrupt();
        self.thread.take().map(JoinHandle::join);
    }
}

/// Says that a query is over, when Zenoh drops its callback.
struct Over {
    id: RequestId,
    sender: Sender<(RequestId, Answer)>,
    interrupter: Interrupter,
}

impl Over {
    fn tell(&self, answer: Answer) {
        let _ = self.sender.send((self.id, answer));
        self.interrupter.interrupt();
    }
}

impl Drop for Over {
    fn drop(&mut self) {
        self.tell(Answer::Over);
    }
}

/// What the thread needs.
struct Calling {
    shared: Arc<Shared>,
    service: String,
    key: String,
    types: ServiceTypes,
    counts: Arc<Counts>,
    sender: Sender<(RequestId, Answer)>,
    interrupter: Interrupter,
    /// The client and the call of requests that are not answered.
    open: HashSet<(EndpointId, u64)>,
    sequence: i64,
    has_warned: bool,
}

impl Calling {
    fn run(mut self, server: &RawServer, answers: &Receiver<(RequestId, Answer)>, stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) {
            self.interrupter.reset();
            // An end that came before the reset is seen here.
            if stop.load(Ordering::Relaxed) {
                return;
            }
            for (id, answer) in answers.try_iter() {
                self.answer(server, id, answer);
            }
            loop {
                match server.take() {
                    Ok(Some(request)) => self.send(server, request),
                    Ok(None) => break,
                    Err(error) => {
                        self.warn(&error.to_string());
                        if matches!(error, RequestError::Take(_)) {
                            break;
                        }
                    }
                }
            }
            let _ = server.requests().wait_with(BusWait::at_most(SLICE).until(&self.interrupter));
        }
    }

    fn warn(&mut self, reason: &str) {
        if !std::mem::replace(&mut self.has_warned, true) {
            self.shared.warn(format!("service {:?}: {reason}", self.service));
        }
    }

    fn send(&mut self, server: &RawServer, request: RawRequest) {
        let (sample, handle) = request.into_parts();
        let id = handle.id();
        if self.shared.is_of_bridge(id.client.node) {
            return self.refuse(server, id, "a bridge does not pass on the request of another bridge");
        }
        let limit = handle.deadline_ns().map_or(CALL_LIMIT, |deadline| {
            let left = Duration::from_nanos(deadline.saturating_sub(situ_bus::now_ns()).max(1_000_000));
            left.min(CALL_LIMIT)
        });
        self.sequence += 1;
        let attachment = Attachment {
            sequence: self.sequence,
            time_ns: self.shared.since_1970(id.sent_at_ns),
            gid: self.shared.gid(id.client),
            origin: Some(self.shared.origin),
        };
        let payload = match self.types.request.to_wire(self.types.space, sample) {
            Ok(payload) => payload,
            Err(error) => {
                self.counts.add_refused();
                return self.refuse(server, id, &error.to_string());
            }
        };
        let size = payload.len();
        let over = Over { id, sender: self.sender.clone(), interrupter: self.interrupter.clone() };
        let receive = move |reply: Reply| match reply.into_result() {
            Ok(sample) => over.tell(Answer::Payload(sample.payload().clone())),
            Err(error) => {
                let text = String::from_utf8_lossy(&error.payload().to_bytes()).chars().take(1000).collect();
                over.tell(Answer::Failed(text));
            }
        };
        self.open.insert((id.client, id.call));
        let query =
            self.shared.session.get(self.key.clone()).payload(payload).attachment(attachment.to_bytes());
        let query = query
            .target(QueryTarget::AllComplete)
            .consolidation(ConsolidationMode::None)
            .allowed_destination(Locality::Remote)
            .timeout(limit)
            .callback(receive);
        match query.wait() {
            Ok(()) => self.counts.add(size),
            Err(error) => self.refuse(server, id, &error.to_string()),
        }
    }

    fn refuse(&mut self, server: &RawServer, id: RequestId, reason: &str) {
        self.open.remove(&(id.client, id.call));
        // The client may be gone.
        let _ = server.refuse(&id, NO_ANSWER, reason);
    }

    fn answer(&mut self, server: &RawServer, id: RequestId, answer: Answer) {
        // Of several servers, the first reply counts.
        if !self.open.contains(&(id.client, id.call)) {
            return;
        }
        match answer {
            Answer::Payload(payload) => match self.reply(server, id, &payload) {
                Ok(()) => {
                    self.open.remove(&(id.client, id.call));
                }
                Err(error) => {
                    self.counts.add_refused();
                    self.warn(&error);
                    self.refuse(server, id, &error);
                }
            },
            Answer::Failed(text) => self.refuse(server, id, &text),
            Answer::Over => self.refuse(server, id, "no server on another machine has answered"),
        }
    }

    fn reply(&self, server: &RawServer, id: RequestId, payload: &ZBytes) -> Result<(), String> {
        let (space, reply) = (self.types.space, &self.types.reply);
        let encoding = reply.published(space, Some(reply.description().encoding)).encoding;
        let arrived =
            reply.arrived(space, payload, encoding).map_err(|error: MessageError| error.to_string())?;
        let (head, body) = arrived.sizes();
        let failed = |error: AnswerError| error.to_string();
        let mut loan = server.loan(&id, head, 64, body).map_err(failed)?;
        arrived.fill(&mut loan);
        loan.send_within(PATIENCE).map_err(failed)
    }
}
