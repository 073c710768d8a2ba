//! One client: what it sees, what it asks for, and when its thread waits.

use std::collections::{BTreeMap, HashSet};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use situ_bus::{AttachError, Descriptor, ReadySources, WaitError, WaitSet};
use tungstenite::protocol::WebSocketConfig;
use tungstenite::{Error, HandshakeError, Message, WebSocket, accept_hdr_with_config};

use crate::caller::Place;
use crate::channels::Channel;
use crate::handshake;
use crate::inbound::{ENCODINGS, Inbound};
use crate::protocol::{
    ClientMessage, Level, ServerChannel, ServerMessage, ServerService, ServiceCall, ServiceSchema,
    SubscriptionRequest, client_call, client_data,
};
use crate::requests::{Answer, Requests};
use crate::services::{Service, Side};
use crate::shared::{ClientState, Shared};
use crate::stream::{Stall, Stream};
use crate::subscription::{Subscription, Taken};

/// How long a client may take for the request that opens the connection.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// How long a client may accept not a single byte, before its connection counts as dead.
const STALLED: Duration = Duration::from_secs(30);
/// How often a client is asked whether it is there, and how long it may be silent.
const PING: Duration = Duration::from_secs(15);
const SILENT: Duration = Duration::from_secs(60);
/// How often a client gets the counts of its drops.
const TELL: Duration = Duration::from_secs(1);
/// The longest sleep before a look at the clock.
const GLANCE: Duration = Duration::from_millis(100);
/// The messages of a client that are read before its topics have a turn.
const TURN: usize = 64;
/// The largest message of a client.
const MAX_MESSAGE: usize = 16 << 20;
/// The channels that one message tells.
const ADVERTISED: usize = 64;
/// The refusals that answer one message. A message may ask for millions of things, and all answers are kept
/// until the client reads them.
const MAX_REFUSALS: usize = 16;
/// The longest text of a refusal, which may quote the client.
const MAX_REFUSAL: usize = 2048;
/// What is buffered before bytes go to the connection.
const WRITE_BUFFER: usize = 64 << 10;

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// The client did not open the connection as the protocol says, or not in time.
    #[error("it did not open the connection: {0}")]
    Handshake(String),
    /// The connection failed, or the client broke the rules of WebSocket.
    #[error(transparent)]
    Socket(#[from] Box<Error>),
    /// The client accepts nothing, or is silent.
    #[error("it did not answer for {0:?}")]
    Dead(Duration),
    /// Waiting failed.
    #[error(transparent)]
    Attach(#[from] AttachError),
    /// Waiting failed.
    #[error(transparent)]
    Wait(#[from] WaitError),
}

impl From<Error> for ConnectionError {
    fn from(error: Error) -> Self {
        Self::Socket(Box::new(error))
    }
}

struct Connection<'s> {
    shared: &'s Shared,
    state: &'s ClientState,
    socket: WebSocket<Stream>,
    /// The channels that the client knows, and the state of the list that it knows.
    known: BTreeMap<u32, Arc<Channel>>,
    version: u64,
    subscriptions: Vec<Subscription>,
    /// Drops of subscriptions that ended.
    dropped_before: u64,
    told: Instant,
    inbound: Inbound,
    /// The services that the client knows, and the state of the list that it knows.
    services: BTreeMap<u32, Arc<Service>>,
    services_version: u64,
    requests: Requests,
    /// When something was heard of the client, and when it was asked last.
    heard: Instant,
    asked: Instant,
    /// Whether it accepts nothing now, and since when.
    stall: Stall,
    set: WaitSet,
}

/// Serves a client until it leaves, or the server ends.
pub fn serve(shared: &Shared, state: &ClientState, stream: TcpStream) -> Result<(), ConnectionError> {
    let io = |error: std::io::Error| ConnectionError::from(Error::Io(error));
    // Messages are whole when they are written, so nothing is gained by waiting for more.
    stream.set_nodelay(true).map_err(io)?;
    stream.set_nonblocking(true).map_err(io)?;
    let readable = Descriptor::readable(Arc::new(stream.try_clone().map_err(io)?));
    let socket = open(shared, stream)?;
    let set = WaitSet::new(&shared.node);
    set.attach(&readable)?;
    set.attach(&state.bell)?;
    let now = Instant::now();
    let mut connection = Connection {
        shared,
        state,
        socket,
        known: BTreeMap::new(),
        version: 0,
        subscriptions: Vec::new(),
        dropped_before: 0,
        told: now,
        inbound: Inbound::default(),
        services: BTreeMap::new(),
        services_version: 0,
        requests: Requests::default(),
        heard: now,
        asked: now,
        stall: Stall::default(),
        set,
    };
    match connection.run() {
        Err(ConnectionError::Socket(error)) if is_end(&error) => Ok(()),
        other => other,
    }
}

/// Whether the client left in order, or its connection did.
fn is_end(error: &Error) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset};
    match error {
        Error::ConnectionClosed | Error::AlreadyClosed => true,
        Error::Io(error) => matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset),
        Error::Protocol(tungstenite::error::ProtocolError::ResetWithoutClosingHandshake) => true,
        _ => false,
    }
}

#[allow(clippy::result_large_err, reason = "the trait of the library asks for it")]
fn open(shared: &Shared, stream: TcpStream) -> Result<WebSocket<Stream>, ConnectionError> {
    let end = Instant::now() + HANDSHAKE;
    let failed = |text: &str| ConnectionError::Handshake(text.to_owned());
    let config = WebSocketConfig::default()
        .read_buffer_size(16 << 10)
        .write_buffer_size(WRITE_BUFFER)
        .max_message_size(Some(MAX_MESSAGE))
        .max_frame_size(Some(MAX_MESSAGE));
    let waiting = stream.try_clone().map_err(Error::Io)?;
    let origins = shared.options.origins.clone();
    let callback =
        move |request: &_, response| handshake::answer(request, response, &origins).map_err(|it| *it);
    let mut turn = accept_hdr_with_config(Stream::new(stream), callback, Some(config));
    loop {
        match turn {
            Ok(socket) => return Ok(socket),
            Err(HandshakeError::Failure(error)) => return Err(failed(&reason(&error))),
            Err(HandshakeError::Interrupted(more)) => {
                let left = end.saturating_duration_since(Instant::now());
                if left.is_zero() || shared.is_stopped() {
                    return Err(failed("its request is not complete"));
                }
                wait_for(&waiting, PollFlags::IN | PollFlags::OUT, left.min(GLANCE));
                // A socket that can be written, and has nothing to read, would be asked again at once.
                std::thread::sleep(Duration::from_millis(1));
                turn = more.handshake();
            }
        }
    }
}

/// Why a request opens no connection: what the client was told, otherwise what is wrong with it.
fn reason(error: &Error) -> String {
    let told = match error {
        Error::Http(response) => response.body().as_deref(),
        _ => None,
    };
    told.map_or_else(|| error.to_string(), |text| String::from_utf8_lossy(text).into_owned())
}

/// The type of one side of a service.
fn schema(side: &Side) -> ServiceSchema<'_> {
    ServiceSchema {
        encoding: crate::channels::CDR,
        schema_name: &side.shown.name,
        schema_encoding: side.shown.encoding,
        schema: &side.shown.text,
    }
}

/// Obeys the parts of a message, until too many of them are refused. Returns why.
fn refusals<T>(parts: Vec<T>, mut obey: impl FnMut(T) -> Result<(), String>) -> Vec<String> {
    let mut refused = Vec::new();
    for part in parts {
        if refused.len() == MAX_REFUSALS {
            refused.push("the rest of the message is ignored: too much of it is refused".to_owned());
            break;
        }
        refused.extend(obey(part).err());
    }
    refused
}

/// Waits for the connection. A signal ends the wait, too.
fn wait_for(stream: &TcpStream, what: PollFlags, time: Duration) {
    let time = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() };
    let _ = poll(&mut [PollFd::new(stream, what)], Some(&time));
}

impl Connection<'_> {
    fn run(&mut self) -> Result<(), ConnectionError> {
        let options = &self.shared.options;
        let mut capabilities = vec!["parameters", "parametersSubscribe"];
        capabilities.extend(options.publish.as_ref().map(|_| "clientPublish"));
        capabilities.extend(options.call.as_ref().map(|_| "services"));
        let encodings: &[&str] =
            if options.publish.is_some() || options.call.is_some() { &ENCODINGS } else { &[] };
        self.say(&ServerMessage::ServerInfo {
            name: &self.shared.options.name,
            capabilities: &capabilities,
            supported_encodings: encodings,
            session_id: &self.shared.session,
        })?;
        let mut ready = ReadySources::new();
        while !self.shared.is_stopped() {
            if !self.flush()? {
                wait_for(self.socket.get_ref().socket(), PollFlags::OUT, GLANCE);
                continue;
            }
            self.tell_channels()?;
            self.tell_services()?;
            let has_read = self.read_turn()?;
            let has_taken = self.take_turn()?;
            let has_answered = self.answer_turn()?;
            self.look_after()?;
            if !has_read && !has_taken && !has_answered && !self.stall.is_on() {
                self.wait(&mut ready)?;
            }
        }
        // The client learns that the server ends; it need not answer.
        let _ = self.socket.close(None).and_then(|()| self.socket.flush());
        Ok(())
    }

    /// Writes what is buffered. Returns whether all of it is written.
    fn flush(&mut self) -> Result<bool, ConnectionError> {
        let flushed = self.socket.flush();
        self.is_written(flushed)
    }

    fn is_written(&mut self, result: Result<(), Error>) -> Result<bool, ConnectionError> {
        match result {
            Ok(()) => {
                if self.stall.end() {
                    // It was not read, and not asked, while it was behind.
                    self.heard = Instant::now();
                }
                Ok(true)
            }
            Err(Error::Io(error)) if error.kind() == std::io::ErrorKind::WouldBlock => {
                if self.stall.lasts(Instant::now(), self.socket.get_ref().written()) > STALLED {
                    return Err(ConnectionError::Dead(STALLED));
                }
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Gives a message to the connection, which keeps it until it is written.
    fn send(&mut self, message: Message) -> Result<(), ConnectionError> {
        let written = self.socket.write(message);
        self.is_written(written)?;
        Ok(())
    }

    fn say(&mut self, message: &ServerMessage) -> Result<(), ConnectionError> {
        self.send(Message::Text(message.to_text().into()))
    }

    fn refuse(&mut self, why: &dyn std::fmt::Display) -> Result<(), ConnectionError> {
        let mut message = why.to_string();
        message.truncate(message.floor_char_boundary(MAX_REFUSAL));
        self.say(&ServerMessage::Status { level: Level::Error, message: &message })
    }

    /// Tells the client of channels that are new or gone.
    fn tell_channels(&mut self) -> Result<(), ConnectionError> {
        let Some((version, channels)) = self.shared.channels_since(self.version) else { return Ok(()) };
        let is_first = self.version == 0;
        self.version = version;
        let present: HashSet<u32> = channels.iter().map(|it| it.id).collect();
        let gone: Vec<u32> = self.known.keys().copied().filter(|id| !present.contains(id)).collect();
        if !gone.is_empty() {
            for id in &gone {
                self.known.remove(id);
                self.end_subscriptions(|it| it.channel.id == *id);
            }
            self.say(&ServerMessage::Unadvertise { channel_ids: gone })?;
        }
        let new: Vec<_> = channels.into_iter().filter(|it| !self.known.contains_key(&it.id)).collect();
        if new.is_empty() && is_first {
            // The protocol wants at least one list.
            self.say(&ServerMessage::Advertise { channels: Vec::new() })?;
        }
        for part in new.chunks(ADVERTISED) {
            let channels = part.iter().map(|it| ServerChannel {
                id: it.id,
                topic: &it.name,
                encoding: crate::channels::CDR,
                schema_name: &it.shown.name,
                schema: &it.shown.text,
                schema_encoding: it.shown.encoding,
            });
            self.say(&ServerMessage::Advertise { channels: channels.collect() })?;
        }
        self.known.extend(new.into_iter().map(|it| (it.id, it)));
        Ok(())
    }

    /// Tells the client of services that are new or gone.
    fn tell_services(&mut self) -> Result<(), ConnectionError> {
        let Some((version, services)) = self.shared.services_since(self.services_version) else {
            return Ok(());
        };
        self.services_version = version;
        let present: HashSet<u32> = services.iter().map(|it| it.id).collect();
        let gone: Vec<u32> = self.services.keys().copied().filter(|id| !present.contains(id)).collect();
        if !gone.is_empty() {
            self.services.retain(|id, _| present.contains(id));
            self.say(&ServerMessage::UnadvertiseServices { service_ids: gone })?;
        }
        let new: Vec<_> = services.into_iter().filter(|it| !self.services.contains_key(&it.id)).collect();
        for part in new.chunks(ADVERTISED) {
            let services = part.iter().map(|it| ServerService {
                id: it.id,
                name: &it.name,
                type_name: &it.type_name,
                request: schema(&it.request),
                response: schema(&it.reply),
                request_schema: &it.request.shown.text,
                response_schema: &it.reply.shown.text,
            });
            self.say(&ServerMessage::AdvertiseServices { services: services.collect() })?;
        }
        self.services.extend(new.into_iter().map(|it| (it.id, it)));
        Ok(())
    }

    /// Gives the client what nodes have answered. Returns whether there was something.
    fn answer_turn(&mut self) -> Result<bool, ConnectionError> {
        for turn in 0..TURN {
            if self.stall.is_on() {
                return Ok(true);
            }
            let place = Place { node: &self.shared.node, set: &self.set };
            let Some(answer) = self.requests.take(place, &self.shared.root) else {
                return Ok(turn > 0);
            };
            match answer {
                Answer::Reply(bytes) => self.send(Message::Binary(bytes.into()))?,
                Answer::Failure { service, call, mut reason } => {
                    reason.truncate(reason.floor_char_boundary(MAX_REFUSAL));
                    let (service_id, call_id) = (service, call);
                    self.say(&ServerMessage::ServiceCallFailure { service_id, call_id, message: &reason })?;
                }
                Answer::Values { parameters, id } => {
                    let (parameters, id) = (parameters.as_slice(), id.as_deref());
                    self.say(&ServerMessage::ParameterValues { parameters, id })?;
                }
                Answer::Refusal(why) => self.refuse(&why)?,
            }
        }
        Ok(true)
    }

    /// Calls a service for the client.
    fn call(&mut self, call: ServiceCall) {
        let known = self.services.get(&call.service).cloned();
        let known = known.ok_or_else(|| format!("there is no service {}", call.service));
        let place = Place { node: &self.shared.node, set: &self.set };
        self.requests.call(place, known, call);
    }

    /// Reads what the client says. Returns whether it said something.
    fn read_turn(&mut self) -> Result<bool, ConnectionError> {
        for turn in 0..TURN {
            // What answers it must be written first, so that a client that does not read is not read.
            if self.stall.is_on() {
                return Ok(true);
            }
            match self.socket.read() {
                Ok(message) => {
                    self.heard = Instant::now();
                    self.hear(message)?;
                }
                Err(Error::Io(error)) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    return Ok(turn > 0);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }

    fn hear(&mut self, message: Message) -> Result<(), ConnectionError> {
        match message {
            Message::Text(text) => match serde_json::from_str(&text) {
                Ok(message) => self.obey(message),
                Err(error) => self.refuse(&format!("the message is not understood: {error}")),
            },
            Message::Binary(bytes) => match client_data(&bytes) {
                Some((id, content)) => match self.inbound.publish(id, content) {
                    Ok(()) => {
                        self.state.published.fetch_add(1, Ordering::Relaxed);
                        Ok(())
                    }
                    Err(error) => self.refuse(&error),
                },
                None => match client_call(&bytes) {
                    Some(call) => {
                        self.call(call);
                        Ok(())
                    }
                    None => self.refuse(
                        &"a binary message is that of a channel (byte 1) or the call of a service (byte 2)",
                    ),
                },
            },
            // Pings are answered with the next write; the end of the connection follows a close.
            _ => Ok(()),
        }
    }

    fn obey(&mut self, message: ClientMessage) -> Result<(), ConnectionError> {
        let refused = match message {
            ClientMessage::Subscribe { subscriptions } => {
                refusals(subscriptions, |request| self.subscribe(request))
            }
            ClientMessage::Unsubscribe { subscription_ids } => refusals(subscription_ids, |id| {
                let has_ended = self.end_subscriptions(|it| it.id == id);
                has_ended.then_some(()).ok_or_else(|| format!("there is no subscription {id}"))
            }),
            ClientMessage::Advertise { channels } => {
                let known = self.shared.channels();
                let publish = self.shared.options.publish.as_ref();
                let may = |topic: &str| publish.is_some_and(|it| it.has(topic));
                let bus = (&self.shared.node, &self.shared.root);
                refusals(channels, |channel| {
                    self.inbound.advertise(bus, &known, &channel, may).map_err(|error| error.to_string())
                })
            }
            ClientMessage::Unadvertise { channel_ids } => {
                refusals(channel_ids, |id| self.inbound.unadvertise(id).map_err(|error| error.to_string()))
            }
            ClientMessage::GetParameters { parameter_names, id } => {
                let place = Place { node: &self.shared.node, set: &self.set };
                self.requests.get(place, &self.shared.root, &parameter_names, id);
                Vec::new()
            }
            ClientMessage::SetParameters { parameters, id } => {
                let place = Place { node: &self.shared.node, set: &self.set };
                let allowed = self.shared.options.set_parameters.as_ref();
                let may = |node: &str| allowed.is_some_and(|it| it.has(node));
                self.requests.set(place, &self.shared.root, parameters, id, may);
                Vec::new()
            }
            ClientMessage::SubscribeParameterUpdates { parameter_names } => {
                self.requests.follow(parameter_names);
                Vec::new()
            }
            ClientMessage::UnsubscribeParameterUpdates { parameter_names } => {
                self.requests.unfollow(&parameter_names);
                Vec::new()
            }
            ClientMessage::Other => {
                vec![
                    "the server has neither assets nor a connection graph, and no time of its own".to_owned(),
                ]
            }
        };
        refused.iter().try_for_each(|why| self.refuse(why))
    }

    fn subscribe(&mut self, request: SubscriptionRequest) -> Result<(), String> {
        let SubscriptionRequest { id, channel_id } = request;
        // A client has at most one subscription of each channel, so their number is bounded.
        if self.subscriptions.iter().any(|it| it.id == id || it.channel.id == channel_id) {
            return Err(format!("subscription {id} or channel {channel_id} is in use already"));
        }
        let Some(channel) = self.known.get(&channel_id).cloned() else {
            return Err(format!("there is no channel {channel_id}"));
        };
        let rate = self.shared.options.rate_of(&channel.topic);
        let bus = (&self.shared.node, &self.shared.root);
        let subscription = Subscription::new(bus, id, channel.clone(), rate)
            .map_err(|error| format!("topic {:?}: {error}", channel.topic))?;
        self.subscriptions.push(subscription);
        self.state.subscriptions.store(self.subscriptions.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Ends subscriptions. Returns whether there were some.
    fn end_subscriptions(&mut self, which: impl Fn(&Subscription) -> bool) -> bool {
        let before = self.subscriptions.len();
        // A subscriber that is dropped leaves the wait set by itself.
        for ended in self.subscriptions.extract_if(.., |it| which(it)) {
            self.dropped_before += ended.dropped();
        }
        self.state.subscriptions.store(self.subscriptions.len() as u64, Ordering::Relaxed);
        self.subscriptions.len() < before
    }

    /// Sends a message of each topic. Returns whether there was one.
    fn take_turn(&mut self) -> Result<bool, ConnectionError> {
        let mut found = false;
        let mut index = 0;
        while index < self.subscriptions.len() && !self.stall.is_on() {
            let subscription = &mut self.subscriptions[index];
            index += 1;
            match subscription.take(Instant::now(), self.shared.offset) {
                Taken::Message(message) => {
                    found = true;
                    self.state.messages.fetch_add(1, Ordering::Relaxed);
                    self.state.bytes.fetch_add(message.len() as u64, Ordering::Relaxed);
                    self.send(Message::Binary(message.into()))?;
                }
                Taken::Nothing => {}
                Taken::Unreadable(why) => {
                    found = true;
                    if !std::mem::replace(&mut subscription.told_unreadable, true) {
                        let topic = subscription.channel.topic.clone();
                        self.refuse(&format!("topic {topic:?}: {why}"))?;
                    }
                }
                Taken::Gone => {
                    // Its channel goes, too. If the topic is there again already, the client hears of it
                    // next.
                    let id = subscription.channel.id;
                    self.known.remove(&id);
                    self.version = 0;
                    self.end_subscriptions(|it| it.channel.id == id);
                    self.say(&ServerMessage::Unadvertise { channel_ids: vec![id] })?;
                    index -= 1;
                }
            }
        }
        Ok(found)
    }

    /// Tells of drops, and asks whether the client is there.
    fn look_after(&mut self) -> Result<(), ConnectionError> {
        let now = Instant::now();
        if now - self.heard > SILENT {
            return Err(ConnectionError::Dead(SILENT));
        }
        if now - self.asked > PING {
            self.asked = now;
            self.send(Message::Ping(Vec::new().into()))?;
        }
        if now - self.told < TELL {
            return Ok(());
        }
        self.told = now;
        let mut texts = Vec::new();
        let mut all = self.dropped_before;
        for subscription in &mut self.subscriptions {
            let dropped = subscription.dropped();
            all += dropped;
            if dropped > subscription.told {
                texts.push(format!("{} of {:?}", dropped - subscription.told, subscription.channel.name));
                subscription.told = dropped;
            }
        }
        self.state.dropped.store(all, Ordering::Relaxed);
        if !texts.is_empty() {
            let message = format!(
                "the connection is slower than the topics; messages that were dropped in the last second: {}",
                texts.join(", ")
            );
            self.say(&ServerMessage::Status { level: Level::Warning, message: &message })?;
        }
        Ok(())
    }

    /// Waits for the client, for a message, or for the bell.
    fn wait(&mut self, ready: &mut ReadySources) -> Result<(), ConnectionError> {
        let now = Instant::now();
        let mut time = PING.min(TELL);
        for subscription in &mut self.subscriptions {
            // A topic that is not due yet would wake the thread for nothing.
            let is_due = subscription.due() <= now;
            match (is_due, subscription.source) {
                (true, None) => subscription.source = Some(self.set.attach(&subscription.subscriber)?),
                (false, Some(source)) => {
                    self.set.detach(source);
                    subscription.source = None;
                }
                _ => {}
            }
            if !is_due {
                time = time.min(subscription.due() - now);
            }
        }
        self.set.wait(ready, Some(time))?;
        Ok(())
    }
}
