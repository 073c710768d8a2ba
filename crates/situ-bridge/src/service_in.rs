//! A service that a program on another machine serves, for clients here.
//!
//! A thread with a server on the bus takes the requests of clients here, sends them as queries of Zenoh, and
//! answers with the replies, or with the parts of each. The server exists as long as a token of a server on
//! another machine does: with its end, the calls of clients here fail as those of a server here that ends.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use situ_bus::{
    AnswerError, EndpointId, Interrupter, Node, PublishError, RawRequest, RawServer, RequestError,
    RequestHandle, RequestId, ServiceDescription, ServiceOptions, Wait as BusWait,
};
use zenoh::Wait;
use zenoh::bytes::ZBytes;
use zenoh::qos::CongestionControl;
use zenoh::query::{ConsolidationMode, QueryTarget, Reply};
use zenoh::sample::Locality;

use crate::counts::Counts;
use crate::message_type::MessageError;
use crate::service_out::{CALL_LIMIT, ServiceError, ServiceTypes};
use crate::shared::Shared;
use crate::wire::attachment::{Attachment, ReplyPart};
use crate::wire::names::cancel_key;
use crate::wire::reply_error::ReplyFailure;

/// How long a wait is at most.
const SLICE: Duration = Duration::from_millis(200);
/// How long a reply waits for a client here that has no room.
const PATIENCE: Duration = Duration::from_millis(100);
/// How long a call that its server does not answer any more waits for the end of the server's token. Then
/// its client learns that the server is gone; otherwise the call is refused.
const GRACE: Duration = Duration::from_millis(500);
/// How long a wait is at most while calls wait so.
const GRACE_SLICE: Duration = Duration::from_millis(50);
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
    /// A reply, or a part of one, and the root that it is from.
    Reply(ZBytes, ReplyPart, Option<u64>),
    Failed(ReplyFailure, String),
    /// There are no more replies.
    Over,
}

/// A request that is not answered.
struct Open {
    handle: RequestHandle,
    attachment: Attachment,
    /// The root from which parts have come. Parts of other servers are ignored.
    replier: Option<Option<u64>>,
    /// When its last server was heard to have no more replies.
    over: Option<Instant>,
    /// Why it is refused, until its client has room for that.
    refusal: Option<(u64, String)>,
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
            open: HashMap::new(),
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
    /// By the client and the call.
    open: HashMap<(EndpointId, u64), Open>,
    sequence: i64,
    has_warned: bool,
}

impl Calling {
    fn run(mut self, server: &RawServer, answers: &Receiver<(RequestId, Answer)>, stop: &AtomicBool) {
        loop {
            self.interrupter.reset();
            // An end that came before the reset is seen here. Replies that came before the end still count.
            let is_stopped = stop.load(Ordering::Relaxed);
            for (id, answer) in answers.try_iter() {
                self.answer(server, id, answer);
            }
            if is_stopped {
                // What is left sees the end of the server.
                self.open.values().for_each(|open| self.tell_cancelled(open));
                return;
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
            self.look_after(server);
            let waits = self.open.values().any(|open| open.over.is_some() || open.refusal.is_some());
            let slice = if waits { GRACE_SLICE } else { SLICE };
            let _ = server.requests().wait_with(BusWait::at_most(slice).until(&self.interrupter));
        }
    }

    /// Ends calls that need no reply any more, or get none.
    fn look_after(&mut self, server: &RawServer) {
        for (_, open) in self.open.extract_if(|_, open| open.handle.is_cancelled()).collect::<Vec<_>>() {
            if open.over.is_none() {
                self.tell_cancelled(&open);
            }
        }
        let is_due = |open: &Open| open.over.is_some_and(|over| over.elapsed() >= GRACE);
        let due = self.open.iter().filter(|(_, open)| open.refusal.is_some() || is_due(open));
        let due: Vec<_> = due.map(|(_, open)| (open.handle.id(), open.refusal.clone())).collect();
        for (id, refusal) in due {
            let (code, text) = refusal
                .unwrap_or_else(|| (NO_ANSWER, "no server on another machine has answered".to_owned()));
            self.refuse(server, id, code, &text);
        }
    }

    /// Tells the server's bridge that a client needs no reply any more.
    fn tell_cancelled(&self, open: &Open) {
        let told = self.shared.session.put(cancel_key(&self.key), ZBytes::new());
        let told = told
            .congestion_control(CongestionControl::Block)
            .attachment(open.attachment.to_bytes())
            .allowed_destination(Locality::Remote)
            .wait();
        if let Err(error) = told {
            self.shared.warn(format!("service {:?}: a cancelled call goes on: {error}", self.service));
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
            let text = "a bridge does not pass on the request of another bridge";
            return self.refuse(server, id, NO_ANSWER, text);
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
            part: ReplyPart::Last,
        };
        let payload = match self.types.request.to_wire(self.types.space, sample) {
            Ok(payload) => payload,
            Err(error) => {
                self.counts.add_refused();
                return self.refuse(server, id, NO_ANSWER, &error.to_string());
            }
        };
        let size = payload.len();
        let over = Over { id, sender: self.sender.clone(), interrupter: self.interrupter.clone() };
        let receive = move |reply: Reply| match reply.into_result() {
            Ok(sample) => {
                // A server of another program may send none, and sends one reply.
                let attachment = sample.attachment().map(|it| Attachment::from_bytes(&it.to_bytes()));
                let attachment = attachment.and_then(Result::ok);
                let part = attachment.map_or(ReplyPart::Last, |it| it.part);
                let origin = attachment.and_then(|it| it.origin);
                over.tell(Answer::Reply(sample.payload().clone(), part, origin));
            }
            Err(error) => {
                let text = String::from_utf8_lossy(&error.payload().to_bytes()).chars().take(1000).collect();
                let failure = ReplyFailure::from_encoding(&error.encoding().to_string());
                over.tell(Answer::Failed(failure, text));
            }
        };
        let open = Open { handle, attachment, replier: None, over: None, refusal: None };
        self.open.insert((id.client, id.call), open);
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
            Err(error) => self.refuse(server, id, NO_ANSWER, &error.to_string()),
        }
    }

    /// Refuses a request. A client that has no room for that is told later.
    fn refuse(&mut self, server: &RawServer, id: RequestId, code: u64, text: &str) {
        let key = (id.client, id.call);
        match server.refuse(&id, code, text) {
            Err(AnswerError::Publish(PublishError::Full { .. })) => {
                if let Some(open) = self.open.get_mut(&key) {
                    open.refusal = Some((code, text.to_owned()));
                }
            }
            // The client may be gone.
            _ => drop(self.open.remove(&key)),
        }
    }

    fn answer(&mut self, server: &RawServer, id: RequestId, answer: Answer) {
        let key = (id.client, id.call);
        // Zenoh ends the query when the time of the call is over. As all cancelled calls, it then ends in
        // `look_after`, which tells the server.
        let counts = |open: &&mut Open| open.refusal.is_none() && !open.handle.is_cancelled();
        let Some(open) = self.open.get_mut(&key).filter(counts) else { return };
        match answer {
            // Of several servers, the one whose reply, or part of one, came first counts.
            Answer::Reply(_, _, origin) if open.replier.is_some_and(|replier| replier != origin) => {}
            Answer::Reply(payload, part, origin) => {
                open.replier = Some(origin);
                match self.reply(server, id, &payload, part) {
                    Ok(()) if part == ReplyPart::More => {}
                    Ok(()) => drop(self.open.remove(&key)),
                    Err(error) => {
                        self.counts.add_refused();
                        self.warn(&error);
                        if let Some(open) = self.open.get(&key).filter(|_| part == ReplyPart::More) {
                            self.tell_cancelled(open);
                        }
                        self.refuse(server, id, NO_ANSWER, &error);
                    }
                }
            }
            Answer::Failed(ReplyFailure::Gone, _) | Answer::Over => open.over = Some(Instant::now()),
            Answer::Failed(ReplyFailure::Refused(code), text) => self.refuse(server, id, code, &text),
            Answer::Failed(ReplyFailure::Other, text) => self.refuse(server, id, NO_ANSWER, &text),
        }
    }

    fn reply(
        &self,
        server: &RawServer,
        id: RequestId,
        payload: &ZBytes,
        part: ReplyPart,
    ) -> Result<(), String> {
        let failed = |error: AnswerError| error.to_string();
        if part == ReplyPart::End {
            return server.end_within(&id, PATIENCE).map_err(failed);
        }
        let (space, reply) = (self.types.space, &self.types.reply);
        let encoding = reply.published(space, Some(reply.description().encoding)).encoding;
        let arrived =
            reply.arrived(space, payload, encoding).map_err(|error: MessageError| error.to_string())?;
        let (head, body) = arrived.sizes();
        let mut loan = server.loan(&id, head, 64, body).map_err(failed)?;
        arrived.fill(&mut loan);
        let sent = match part {
            ReplyPart::More => loan.send_part_within(PATIENCE),
            _ => loan.send_within(PATIENCE),
        };
        sent.map_err(failed)
    }
}
