//! A service that a program on another machine serves, for clients here.
//!
//! A thread with a server on the bus takes the requests of clients here, sends them as queries of Zenoh, and
//! answers with the replies, or with the parts of each. A reply for which its client has no room waits for a
//! moment, and holds up no other client. Replies that come faster than the thread takes them wait in the
//! network, see [`Room`]; what ends a call, and its cancellation, never waits. The server exists as long as
//! a token of a server on another machine does: with its end, the calls of clients here fail as those of a
//! server here that ends.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
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
use crate::room::{Reserved, Room};
use crate::service_out::{CALL_LIMIT, ServiceError, ServiceTypes};
use crate::shared::Shared;
use crate::wire::attachment::{Attachment, ReplyPart};
use crate::wire::names::cancel_key;
use crate::wire::reply_error::ReplyFailure;

/// How long a wait is at most.
const SLICE: Duration = Duration::from_millis(200);
/// How long a reply waits for a client here that has no room.
const PATIENCE: Duration = Duration::from_millis(100);
/// The first pause before such a reply is tried again, and the longest one.
const PAUSES: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(32)];
/// How many replies of a service wait for the thread or for clients here.
const MAX_WAITING: usize = 4096;
/// How many bytes they have.
const MAX_WAITING_BYTES: usize = 64 << 20;
/// How long a thread of Zenoh waits for room for a reply. Zenoh closes a link that takes nothing for 5 s.
const ROOM_PATIENCE: Duration = Duration::from_secs(2);
/// How long replies that came before the end of a service may take to reach clients that have no room.
const FINISH_LIMIT: Duration = Duration::from_secs(1);
/// How many replies are taken before the thread looks at requests.
const TURN: usize = 256;
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

/// A reply, or a part of one, that its client does not have yet.
struct Arrived {
    payload: ZBytes,
    part: ReplyPart,
    _room: Reserved,
}

/// What a query brings.
enum Answer {
    Reply(Arrived),
    Failed(ReplyFailure, String),
    /// There was no room for a reply.
    NoRoom,
    /// There are no more replies.
    Over,
}

/// A request that is not answered.
struct Open {
    handle: RequestHandle,
    attachment: Attachment,
    /// Replies that its client does not have yet.
    waiting: VecDeque<Arrived>,
    /// If the client has no room.
    full: Option<Full>,
    /// When its last server was heard to have no more replies.
    over: Option<Instant>,
    /// Why it is refused, until its client has room for that.
    refusal: Option<(u64, String)>,
}

/// A client that has no room.
#[derive(Clone, Copy)]
struct Full {
    since: Instant,
    /// When it is tried again.
    next: Instant,
    pause: Duration,
}

/// Why a reply is not sent.
enum Unsent {
    /// The client has no room.
    Full(String),
    Failed(String),
}

impl From<AnswerError> for Unsent {
    fn from(error: AnswerError) -> Self {
        match &error {
            AnswerError::Publish(PublishError::Full { .. }) => Self::Full(error.to_string()),
            _ => Self::Failed(error.to_string()),
        }
    }
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
        let room = Room::new(MAX_WAITING, MAX_WAITING_BYTES);
        let calling = Calling {
            shared: shared.clone(),
            service: service.to_owned(),
            key: key.to_owned(),
            types: types.clone(),
            counts: counts.clone(),
            sender,
            room,
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

/// A query, in the callback of Zenoh. It tells the thread what comes, and with its end that there is no more.
/// Peers may send replies without end: each reply that waits has reserved room, and all else is told once.
struct Query {
    id: RequestId,
    sender: Sender<(RequestId, Answer)>,
    room: Arc<Room>,
    interrupter: Interrupter,
    /// The root whose replies count: of several servers, that of the first one whose reply came.
    replier: OnceLock<Option<u64>>,
    /// Whether the call is over with what was told.
    is_answered: AtomicBool,
    /// Whether a server was told to have ended.
    is_gone: AtomicBool,
}

impl Query {
    fn tell(&self, answer: Answer) {
        let _ = self.sender.send((self.id, answer));
        self.interrupter.interrupt();
    }

    fn take(&self, reply: Reply) {
        if self.is_answered.load(Ordering::Relaxed) {
            return;
        }
        match reply.into_result() {
            Ok(sample) => {
                // A server of another program may send none, and sends one reply.
                let attachment = sample.attachment().map(|it| Attachment::from_bytes(&it.to_bytes()));
                let attachment = attachment.and_then(Result::ok);
                let origin = attachment.and_then(|it| it.origin);
                if *self.replier.get_or_init(|| origin) != origin {
                    return;
                }
                let part = attachment.map_or(ReplyPart::Last, |it| it.part);
                let payload = sample.payload().clone();
                let room = self.room.reserve(payload.len(), ROOM_PATIENCE);
                if part != ReplyPart::More || room.is_none() {
                    self.is_answered.store(true, Ordering::Relaxed);
                }
                let reply = |_room| Answer::Reply(Arrived { payload, part, _room });
                self.tell(room.map_or(Answer::NoRoom, reply));
            }
            Err(error) => {
                let failure = ReplyFailure::from_encoding(&error.encoding().to_string());
                let told = if failure == ReplyFailure::Gone { &self.is_gone } else { &self.is_answered };
                if !told.swap(true, Ordering::Relaxed) {
                    let text = error.payload().to_bytes();
                    let text = String::from_utf8_lossy(&text).chars().take(1000).collect();
                    self.tell(Answer::Failed(failure, text));
                }
            }
        }
    }
}

impl Drop for Query {
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
    room: Arc<Room>,
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
            // At the end all that has come, but not what peers go on to send.
            let turn = if is_stopped { 2 * MAX_WAITING } else { TURN };
            let mut taken = 0;
            for (id, answer) in answers.try_iter().take(turn) {
                taken += 1;
                self.answer(server, id, answer);
            }
            if is_stopped {
                self.finish(server);
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
            if taken < turn {
                let wait = BusWait::at_most(self.slice()).until(&self.interrupter);
                let _ = server.requests().wait_with(wait);
            }
        }
    }

    /// How long a wait is at most now.
    fn slice(&self) -> Duration {
        let now = Instant::now();
        let of = |open: &Open| match open.full {
            Some(full) => full.next.saturating_duration_since(now),
            None if open.over.is_some() || open.refusal.is_some() => GRACE_SLICE,
            None => SLICE,
        };
        self.open.values().map(of).min().unwrap_or(SLICE).min(SLICE)
    }

    /// Gives clients what came before the end. What is left sees the end of the server.
    fn finish(&mut self, server: &RawServer) {
        let end = Instant::now() + FINISH_LIMIT;
        while self.open.values().any(|open| !open.waiting.is_empty()) && Instant::now() < end {
            std::thread::sleep(PAUSES[0]);
            self.deliver_due(server);
        }
        self.open.values().for_each(|open| self.tell_cancelled(open));
    }

    /// Tries again to give replies to clients that had no room.
    fn deliver_due(&mut self, server: &RawServer) {
        let now = Instant::now();
        let due = self.open.values().filter(|open| open.full.is_some_and(|full| full.next <= now));
        let due: Vec<_> = due.map(|open| open.handle.id()).collect();
        due.into_iter().for_each(|id| self.deliver(server, id));
    }

    /// Ends calls that need no reply any more, or get none.
    fn look_after(&mut self, server: &RawServer) {
        for (_, open) in self.open.extract_if(|_, open| open.handle.is_cancelled()).collect::<Vec<_>>() {
            if open.over.is_none() {
                self.tell_cancelled(&open);
            }
        }
        self.deliver_due(server);
        let is_over = |open: &Open| open.over.is_some_and(|over| over.elapsed() >= GRACE);
        let is_due = |open: &Open| open.waiting.is_empty() && is_over(open);
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
        let query = Query {
            id,
            sender: self.sender.clone(),
            room: self.room.clone(),
            interrupter: self.interrupter.clone(),
            replier: OnceLock::new(),
            is_answered: AtomicBool::new(false),
            is_gone: AtomicBool::new(false),
        };
        let receive = move |reply: Reply| query.take(reply);
        let waiting = VecDeque::new();
        let open = Open { handle, attachment, waiting, full: None, over: None, refusal: None };
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
                    open.waiting.clear();
                    open.full = None;
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
            Answer::Reply(arrived) => {
                open.waiting.push_back(arrived);
                if open.full.is_none() {
                    self.deliver(server, id);
                }
            }
            Answer::NoRoom => {
                let text = "replies come faster than the clients of this service on this machine take them";
                self.warn(text);
                self.give_up(server, id, text);
            }
            Answer::Failed(ReplyFailure::Gone, _) | Answer::Over => open.over = Some(Instant::now()),
            Answer::Failed(ReplyFailure::Refused(code), text) => self.refuse(server, id, code, &text),
            Answer::Failed(ReplyFailure::Other, text) => self.refuse(server, id, NO_ANSWER, &text),
        }
    }

    /// Ends a call whose server goes on.
    fn give_up(&mut self, server: &RawServer, id: RequestId, reason: &str) {
        self.counts.add_refused();
        if let Some(open) = self.open.get(&(id.client, id.call)) {
            self.tell_cancelled(open);
        }
        self.refuse(server, id, NO_ANSWER, reason);
    }

    /// Gives a client the replies that wait for it, as far as it has room.
    fn deliver(&mut self, server: &RawServer, id: RequestId) {
        let key = (id.client, id.call);
        while let Some(open) = self.open.get(&key)
            && let Some(Arrived { payload, part, .. }) = open.waiting.front()
        {
            let part = *part;
            let sent = self.reply(server, id, payload, part);
            let Some(open) = self.open.get_mut(&key) else { return };
            match sent {
                Ok(()) if part == ReplyPart::More => {
                    open.waiting.pop_front();
                    open.full = None;
                }
                Ok(()) => drop(self.open.remove(&key)),
                Err(Unsent::Full(reason)) => {
                    let now = Instant::now();
                    let Full { since, pause, .. } =
                        open.full.unwrap_or(Full { since: now, next: now, pause: PAUSES[0] });
                    open.full = Some(Full { since, next: now + pause, pause: (2 * pause).min(PAUSES[1]) });
                    if now.duration_since(since) >= PATIENCE {
                        self.warn(&reason);
                        self.give_up(server, id, &reason);
                    }
                    return;
                }
                Err(Unsent::Failed(reason)) if part == ReplyPart::More => {
                    self.warn(&reason);
                    return self.give_up(server, id, &reason);
                }
                Err(Unsent::Failed(reason)) => {
                    self.counts.add_refused();
                    self.warn(&reason);
                    return self.refuse(server, id, NO_ANSWER, &reason);
                }
            }
        }
    }

    /// Sends a reply, or a part of one, without a wait.
    fn reply(
        &self,
        server: &RawServer,
        id: RequestId,
        payload: &ZBytes,
        part: ReplyPart,
    ) -> Result<(), Unsent> {
        if part == ReplyPart::End {
            return Ok(server.end(&id)?);
        }
        let (space, reply) = (self.types.space, &self.types.reply);
        let encoding = reply.published(space, Some(reply.description().encoding)).encoding;
        let failed = |error: MessageError| Unsent::Failed(error.to_string());
        let arrived = reply.arrived(space, payload, encoding).map_err(failed)?;
        let (head, body) = arrived.sizes();
        let mut loan = server.loan(&id, head, 64, body)?;
        arrived.fill(&mut loan);
        match part {
            ReplyPart::More => loan.send_part()?,
            _ => loan.send()?,
        }
        Ok(())
    }
}

impl Drop for Calling {
    fn drop(&mut self) {
        self.room.end();
    }
}
