//! The server and its clients: what they see, what they publish, slow ones, and hostile ones.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use situ_bus::{
    Durability, Encoding, Node, PublisherQos, RawPublisher, RawSubscriber, Reliability, Root, SubscriberQos,
    TypeDescription, WhenFull, inspect,
};
use situ_foxglove::{Rate, Server, ServerOptions};
use situ_record::Selection;
use situ_schema::Schema;
use situ_testkit::Scratch;
use tungstenite::client::IntoClientRequest;
use tungstenite::{Message, WebSocket};

const IDL: &str = "
module std_msgs { module msg { struct String { string data; }; }; };
module demo { module msg {
  @flat struct Pose { unsigned long long number; double x; };
  @flat struct Cloud { unsigned long number; @bulk sequence<uint8> points; };
}; };
module demo { struct Plain { long x; }; };";

/// Time enough for a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

struct Place {
    _scratch: Scratch,
    root: Root,
    node: Node,
}

impl Place {
    fn new() -> Self {
        let scratch = Scratch::created("foxglove");
        let root = Root::at(scratch.path().join("root"), None);
        let node = Node::in_root("sensor", root.clone()).unwrap();
        Self { _scratch: scratch, root, node }
    }

    fn serve(&self, change: impl FnOnce(&mut ServerOptions)) -> Server {
        let mut options = ServerOptions {
            address: ([127, 0, 0, 1], 0).into(),
            name: "situ".into(),
            selection: Selection::all(),
            rates: Vec::new(),
            publish: None,
            call: None,
            set_parameters: None,
            origins: Vec::new(),
        };
        change(&mut options);
        let node = Node::in_root("foxglove", self.root.clone()).unwrap();
        Server::start(&node, &self.root, options).unwrap()
    }

    fn publisher(&self, topic: &str, name: &str, encoding: Encoding, qos: PublisherQos) -> RawPublisher {
        RawPublisher::create(&self.node, topic, &description(name, encoding), qos).unwrap()
    }

    /// The subscribers of a topic.
    fn subscribers(&self, topic: &str) -> usize {
        inspect::topic(&self.root, topic).unwrap().map_or(0, |it| it.subscribers.len())
    }
}

fn description(name: &str, encoding: Encoding) -> TypeDescription {
    let schema = Schema::from_idl(IDL).unwrap();
    let root = schema.find(name).unwrap();
    TypeDescription {
        name: name.to_owned(),
        schema: schema.canonical(root),
        schema_hash: schema.schema_hash(root),
        layout_hash: if encoding == Encoding::Flat { schema.layout_hash(root) } else { 0 },
        encoding,
        fixed_size: 0,
        user_header_size: 0,
    }
}

fn publish(publisher: &RawPublisher, head: &[u8], body: &[u8]) {
    let mut loan = publisher.loan(head.len(), 8, body.len()).unwrap();
    loan.head_bytes().copy_from_slice(head);
    loan.body_bytes().copy_from_slice(body);
    loan.publish().unwrap();
}

/// A text as CDR.
fn text(text: &str) -> Vec<u8> {
    let mut bytes = vec![0, 1, 0, 0];
    bytes.extend_from_slice(&(text.len() as u32 + 1).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
    bytes.push(0);
    bytes
}

/// The head of a pose, by `spec/flat.md`.
fn pose(number: u64, x: f64) -> Vec<u8> {
    [number.to_le_bytes(), x.to_le_bytes()].concat()
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

struct Client {
    socket: WebSocket<TcpStream>,
    channels: Vec<Value>,
    statuses: Vec<String>,
}

/// What a client received.
#[derive(Debug, PartialEq)]
enum Received {
    Text(Value),
    Data(u32, Vec<u8>),
}

fn connect(
    server: &Server,
    protocol: &str,
    origin: Option<&str>,
) -> tungstenite::Result<WebSocket<TcpStream>> {
    let stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut request = format!("ws://{}", server.address()).into_client_request().unwrap();
    request.headers_mut().insert("sec-websocket-protocol", protocol.parse().unwrap());
    if let Some(origin) = origin {
        request.headers_mut().insert("origin", origin.parse().unwrap());
    }
    match tungstenite::client::client(request, stream) {
        Ok((socket, _)) => Ok(socket),
        Err(tungstenite::HandshakeError::Failure(error)) => Err(error),
        Err(other) => panic!("{other}"),
    }
}

impl Client {
    fn new(server: &Server) -> Self {
        let socket = connect(server, "foxglove.sdk.v1", None).unwrap();
        let mut client = Self { socket, channels: Vec::new(), statuses: Vec::new() };
        let Received::Text(info) = client.receive() else { panic!("the first message is text") };
        assert_eq!((&info["op"], &info["name"]), (&json!("serverInfo"), &json!("situ")));
        client
    }

    fn receive(&mut self) -> Received {
        loop {
            match self.socket.read().unwrap() {
                Message::Text(text) => {
                    let value: Value = serde_json::from_str(&text).unwrap();
                    if value["op"] == "advertise" {
                        self.channels.extend(value["channels"].as_array().unwrap().iter().cloned());
                    }
                    if value["op"] == "unadvertise" {
                        let gone = value["channelIds"].as_array().unwrap();
                        self.channels.retain(|it| !gone.contains(&it["id"]));
                    }
                    if value["op"] == "status" {
                        self.statuses.push(value["message"].as_str().unwrap().to_owned());
                    }
                    return Received::Text(value);
                }
                Message::Binary(bytes) => {
                    assert_eq!(bytes[0], 1);
                    let id = u32::from_le_bytes(bytes[1..5].try_into().unwrap());
                    return Received::Data(id, bytes[13..].to_vec());
                }
                _ => {}
            }
        }
    }

    /// The channel of a topic, once it is there.
    fn channel(&mut self, topic: &str) -> Value {
        loop {
            if let Some(channel) = self.channels.iter().find(|it| it["topic"] == topic) {
                return channel.clone();
            }
            self.receive();
        }
    }

    /// The next message of any subscription.
    fn data(&mut self) -> (u32, Vec<u8>) {
        loop {
            if let Received::Data(id, data) = self.receive() {
                return (id, data);
            }
        }
    }

    /// The next status.
    fn status(&mut self) -> String {
        let before = self.statuses.len();
        while self.statuses.len() == before {
            self.receive();
        }
        self.statuses.last().unwrap().clone()
    }

    fn say(&mut self, value: Value) {
        self.socket.send(Message::Text(value.to_string().into())).unwrap();
    }

    fn subscribe(&mut self, id: u32, topic: &str) {
        let channel = self.channel(topic)["id"].clone();
        self.say(json!({"op": "subscribe", "subscriptions": [{"id": id, "channelId": channel}]}));
    }

    fn publish(&mut self, channel: u32, content: &[u8]) {
        let bytes = [&[1], &channel.to_le_bytes()[..], content].concat();
        self.socket.send(Message::Binary(bytes.into())).unwrap();
    }
}

#[test]
fn topics_become_channels_and_are_joined_only_while_somebody_looks() {
    let place = Place::new();
    let poses = place.publisher("pose", "demo::msg::Pose", Encoding::Flat, PublisherQos::default());
    let notes = place.publisher("note", "std_msgs::msg::String", Encoding::Xcdr1, PublisherQos::default());
    let plain = place.publisher("plain", "demo::Plain", Encoding::Xcdr1, PublisherQos::default());
    let server = place.serve(|_| {});
    let mut client = Client::new(&server);
    let channel = client.channel("/pose");
    assert_eq!((&channel["encoding"], &channel["schemaName"]), (&json!("cdr"), &json!("demo/msg/Pose")));
    assert_eq!(channel["schemaEncoding"], "ros2msg");
    assert_eq!(channel["schema"], "uint64 number\nfloat64 x\n");
    let channel = client.channel("plain");
    assert_eq!(
        (&channel["schemaName"], &channel["schemaEncoding"]),
        (&json!("demo/Plain"), &json!("ros2idl"))
    );
    assert_eq!(place.subscribers("pose"), 0);

    client.subscribe(3, "/pose");
    wait_until("the topic is joined", || place.subscribers("pose") == 1);
    publish(&poses, &pose(7, 1.5), &[]);
    assert_eq!(client.data(), (3, [&[0, 1, 0, 0][..], &pose(7, 1.5)].concat()));
    client.subscribe(4, "/note");
    wait_until("the topic is joined", || place.subscribers("note") == 1);
    publish(&notes, &[], &text("hello"));
    assert_eq!(client.data(), (4, text("hello")));
    assert_eq!((place.subscribers("plain"), server.clients()[0].subscriptions), (0, 2));

    client.say(json!({"op": "unsubscribe", "subscriptionIds": [3]}));
    wait_until("the topic is left", || place.subscribers("pose") == 0);
    drop(client);
    wait_until("all topics are left", || place.subscribers("note") == 0 && server.clients().is_empty());
    drop((notes, plain));
    let ended = server.take_ended();
    assert_eq!((ended.len(), ended[0].messages, ended[0].dropped), (1, 2, 0));
    assert_eq!(server.take_warnings(), Vec::<String>::new());
}

#[test]
fn topics_that_come_and_go_are_told() {
    let place = Place::new();
    let server = place.serve(|it| it.selection = Selection::of(|topic| topic != "secret"));
    let mut client = Client::new(&server);
    let _secret = place.publisher("secret", "demo::Plain", Encoding::Xcdr1, PublisherQos::default());
    let first = place.publisher("pose", "demo::msg::Pose", Encoding::Flat, PublisherQos::default());
    let id = client.channel("/pose")["id"].clone();
    client.subscribe(1, "/pose");
    wait_until("the topic is joined", || place.subscribers("pose") == 1);
    drop(first);
    while client.channels.iter().any(|it| it["id"] == id) {
        client.receive();
    }
    wait_until("the topic is left", || place.subscribers("pose") == 0);
    // The same topic with another type is another channel.
    let _second = place.publisher("pose", "std_msgs::msg::String", Encoding::Xcdr1, PublisherQos::default());
    let channel = client.channel("/pose");
    assert_eq!(channel["schemaName"], "std_msgs/msg/String");
    assert_ne!(channel["id"], id);
    assert!(client.channels.iter().all(|it| it["topic"] != "secret"));
}

#[test]
fn kept_messages_come_to_each_client() {
    let place = Place::new();
    let qos = PublisherQos { durability: Durability::TransientLocal, depth: 1, ..PublisherQos::default() };
    let map = place.publisher("map", "std_msgs::msg::String", Encoding::Xcdr1, qos);
    publish(&map, &[], &text("here"));
    let server = place.serve(|_| {});
    for _ in 0..2 {
        let mut client = Client::new(&server);
        client.subscribe(1, "/map");
        assert_eq!(client.data(), (1, text("here")));
    }
}

#[test]
fn a_client_that_does_not_read_loses_messages_and_publishers_do_not_wait() {
    let place = Place::new();
    // A publisher that fails instead of waiting.
    let qos = PublisherQos { when_full: WhenFull::Fail, depth: 8, ..PublisherQos::default() };
    let clouds = place.publisher("cloud", "demo::msg::Cloud", Encoding::Flat, qos);
    let server = place.serve(|_| {});
    let mut slow = Client::new(&server);
    let mut quick = Client::new(&server);
    slow.subscribe(1, "/cloud");
    quick.subscribe(2, "/cloud");
    wait_until("both look", || place.subscribers("cloud") == 2);
    let body = vec![9; 1 << 20];
    let head = |number: u32| {
        [&number.to_le_bytes()[..], &[0; 4], &0_u64.to_le_bytes(), &(1_u64 << 20).to_le_bytes()].concat()
    };
    // More than the kernel's buffers and the subscriber's history hold. The quick one gets each before the
    // next.
    for number in 0..96 {
        publish(&clouds, &head(number), &body);
        let (id, data) = quick.data();
        assert_eq!((id, data.len(), &data[4..8]), (2, 4 + 8 + (1 << 20), &number.to_le_bytes()[..]));
    }
    let slow_address = slow.socket.get_ref().local_addr().unwrap();
    let dropped =
        |address| server.clients().iter().find(|it| it.address == address).map_or(0, |it| it.dropped);
    // The slow one reads again: it gets old messages, then newer ones, and is told.
    let (mut last, mut told) = (None, None);
    while last != Some(95) || told.is_none() {
        match slow.receive() {
            Received::Data(_, data) => last = Some(u32::from_le_bytes(data[4..8].try_into().unwrap())),
            Received::Text(value) if value["op"] == "status" => told = Some(value),
            Received::Text(_) => {}
        }
    }
    let told = told.unwrap();
    assert_eq!(told["level"], 1);
    assert!(told["message"].as_str().unwrap().ends_with("of \"/cloud\""), "{told}");
    wait_until("drops are counted", || dropped(slow_address) > 0);
    assert_eq!(dropped(quick.socket.get_ref().local_addr().unwrap()), 0);
}

#[test]
fn rates_are_limited_by_topic() {
    let place = Place::new();
    let poses = place.publisher("pose", "demo::msg::Pose", Encoding::Flat, PublisherQos::default());
    let server = place.serve(|it| {
        let all = Rate { topics: Selection::all(), hertz: 1e6 };
        it.rates = vec![all, Rate { topics: Selection::of(|topic| topic == "pose"), hertz: 2.0 }];
    });
    let mut client = Client::new(&server);
    client.subscribe(1, "/pose");
    wait_until("the topic is joined", || place.subscribers("pose") == 1);
    publish(&poses, &pose(0, 0.0), &[]);
    client.data();
    let begin = Instant::now();
    // All of these come before the next one may be sent; then only the newest is.
    (1..=100).for_each(|number| publish(&poses, &pose(number, 0.0), &[]));
    let is_quick = begin.elapsed() < Duration::from_millis(400);
    let (_, data) = client.data();
    assert!(begin.elapsed() > Duration::from_millis(300) || !is_quick);
    if is_quick {
        assert_eq!(data[4..12], 100_u64.to_le_bytes());
    }
    assert_eq!(server.clients()[0].dropped, 0);
}

#[test]
fn clients_publish_on_topics_that_allow_it() {
    let place = Place::new();
    let server = place.serve(|it| it.publish = Some(Selection::of(|topic| topic != "alarm")));
    let mut client = Client::new(&server);
    let qos = SubscriberQos { reliability: Reliability::Reliable, ..SubscriberQos::default() };
    let poses = RawSubscriber::create(
        &place.node,
        "pose",
        &description("demo::msg::Pose", Encoding::Flat),
        qos.clone(),
    );
    let poses = poses.unwrap();
    let channel = |id: u32, topic: &str, encoding: &str, name: &str| json!({"op": "advertise", "channels": [{"id": id, "topic": topic, "encoding": encoding, "schemaName": name}]});
    // An existing topic gives the type; its messages are flat.
    client.say(channel(1, "/pose", "cdr", "demo/msg/Pose"));
    client.publish(1, &[&[0, 1, 0, 0][..], &pose(5, 2.5)].concat());
    client.say(channel(2, "/pose", "json", "demo/Pose"));
    client.publish(2, br#"{"number": 6, "x": 0.5}"#);
    for (number, x) in [(5, 2.5), (6, 0.5)] {
        let mut sample = None;
        wait_until("a pose comes", || {
            sample = poses.take().unwrap();
            sample.is_some()
        });
        let sample = sample.unwrap();
        assert_eq!((sample.encoding(), sample.head_in_place()), (Encoding::Flat, &pose(number, x)[..]));
    }
    // A new topic, with the definition of the client.
    client.say(json!({"op": "advertise", "channels": [{"id": 3, "topic": "/said", "encoding": "cdr",
        "schemaName": "std_msgs/msg/String", "schema": "string data", "schemaEncoding": "ros2msg"}]}));
    let topic = client.channel("/said");
    assert_eq!(topic["schemaName"], "std_msgs/msg/String");
    let said = description("std_msgs::msg::String", Encoding::Xcdr1);
    let said = RawSubscriber::create(&place.node, "said", &said, qos).unwrap();
    client.publish(3, &text("yes"));
    let mut sample = None;
    wait_until("a text comes", || {
        sample = said.take().unwrap();
        sample.is_some()
    });
    assert_eq!(sample.unwrap().body_in_place(), text("yes"));
    client.say(json!({"op": "unadvertise", "channelIds": [3]}));

    // What is refused, each with its reason.
    for (message, reason) in [
        (channel(1, "/other", "cdr", "demo/msg/Pose"), "the channel 1 is advertised already"),
        (channel(9, "/alarm", "cdr", "demo/msg/Pose"), "may not publish on \"/alarm\""),
        (channel(9, "/pose", "cdr", "std_msgs/msg/String"), "has the type demo::msg::Pose"),
        (channel(9, "/new", "cdr", "unknown/msg/Type"), "the type unknown/msg/Type is not known"),
        (channel(9, "/new", "protobuf", "demo/msg/Pose"), "cdr and json are"),
        (json!({"op": "unadvertise", "channelIds": [3]}), "there is no channel 3"),
    ] {
        client.say(message);
        let status = client.status();
        assert!(status.contains(reason), "{status}");
    }
    client.publish(8, &[]);
    assert!(client.status().contains("there is no channel 8"));
    client.publish(1, &[0, 1, 0, 0, 1]);
    assert!(client.status().contains("malformed"));
    client.publish(2, b"{\"number\": [");
    assert!(client.status().contains("malformed"));
    assert_eq!(server.clients()[0].published, 3);
}

#[test]
fn without_leave_clients_do_not_publish() {
    let place = Place::new();
    let server = place.serve(|_| {});
    let mut client = Client::new(&server);
    client.say(json!({"op": "advertise", "channels": [{"id": 1, "topic": "/a", "encoding": "cdr", "schemaName": "a/B",
        "schema": "int32 x", "schemaEncoding": "ros2msg"}]}));
    assert!(client.status().contains("--publish"));
    assert!(inspect::topic(&place.root, "a").unwrap().is_none());
}

#[test]
fn hostile_clients_harm_only_themselves() {
    let place = Place::new();
    let poses = place.publisher("pose", "demo::msg::Pose", Encoding::Flat, PublisherQos::default());
    let server = place.serve(|it| it.publish = Some(Selection::all()));
    let mut good = Client::new(&server);
    good.subscribe(1, "/pose");
    wait_until("the topic is joined", || place.subscribers("pose") == 1);

    // No WebSocket at all, a request that never ends, and one that is too long.
    let mut raw = TcpStream::connect(server.address()).unwrap();
    raw.write_all(b"\x16\x03\x01 not a request\r\n\r\n").unwrap();
    let _ = raw.read(&mut [0; 64]);
    let mut endless = TcpStream::connect(server.address()).unwrap();
    endless.write_all(b"GET / HTTP/1.1\r\n").unwrap();
    let mut long = TcpStream::connect(server.address()).unwrap();
    let line = [b'a'; 1024];
    // It ends when the server closes.
    while long.write_all(&line).is_ok() {}

    // Another protocol, and a foreign page.
    assert!(connect(&server, "chat", None).is_err());
    assert!(connect(&server, "foxglove.sdk.v1", Some("https://evil.example")).is_err());

    let mut bad = Client::new(&server);
    bad.channel("/pose");
    for text in ["", "{", "[1]", "{\"op\": 7}", "{\"op\": \"subscribe\", \"subscriptions\": [{\"id\": -1}]}"]
    {
        bad.socket.send(Message::Text(text.into())).unwrap();
        assert!(bad.status().contains("not understood"), "{text}");
    }
    let subscribe = |id: u64, channel: u64| json!({"op": "subscribe", "subscriptions": [{"id": id, "channelId": channel}]});
    bad.say(subscribe(1, 4_000_000_000));
    assert!(bad.status().contains("there is no channel 4000000000"));
    bad.say(json!({"op": "unsubscribe", "subscriptionIds": [5]}));
    assert!(bad.status().contains("there is no subscription 5"));
    bad.subscribe(1, "/pose");
    bad.subscribe(1, "/pose");
    assert!(bad.status().contains("in use already"));
    // A type whose flat messages would take 4 GB each: they are CDR, as long as their content.
    let schema = "@flat struct Big { sequence<octet, 4000000000> data; };";
    bad.say(json!({"op": "advertise", "channels": [{"id": 9, "topic": "/big", "encoding": "json",
        "schemaName": "Big", "schemaEncoding": "ros2idl", "schema": schema}]}));
    bad.publish(9, b"{data: [7]}");
    wait_until("it is published", || {
        inspect::topic(&place.root, "big").unwrap().is_some_and(|it| it.published == 1)
    });
    let big = inspect::topic(&place.root, "big").unwrap().unwrap();
    assert_eq!((big.description.encoding, big.description.fixed_size), (Encoding::Xcdr1, 0));
    bad.say(json!({"op": "fetchAsset", "uri": "package://a", "requestId": 1}));
    assert!(bad.status().contains("neither assets"));
    // A message that asks for a million things gets a few answers, and a long text is not sent back.
    let before = bad.statuses.len();
    bad.say(json!({"op": "unsubscribe", "subscriptionIds": vec![5; 1 << 20]}));
    while !bad.status().contains("the rest of the message is ignored") {}
    assert_eq!(bad.statuses.len() - before, 17);
    let encoding = "\u{7f}é".repeat(1 << 20);
    let channel = json!({"id": 1, "topic": "/pose", "encoding": encoding, "schemaName": "demo/msg/Pose"});
    bad.say(json!({"op": "advertise", "channels": [channel]}));
    let status = bad.status();
    assert!(status.starts_with("messages encoded as \"\\u{7f}é") && status.len() <= 2048, "{status}");
    for bytes in [&[][..], &[1, 2], &[9; 100]] {
        bad.socket.send(Message::Binary(bytes.to_vec().into())).unwrap();
        assert!(bad.status().contains("binary message"));
    }
    // A frame that says it is larger than allowed: the connection ends, nothing is allocated for it.
    let mut huge = vec![0x82, 0xff];
    huge.extend_from_slice(&(1_u64 << 40).to_be_bytes());
    huge.extend_from_slice(&[0; 4]);
    bad.socket.get_mut().write_all(&huge).unwrap();
    let end = Instant::now();
    while bad.socket.read().is_ok() {
        assert!(end.elapsed() < PATIENCE);
    }
    // The good one has noticed nothing.
    publish(&poses, &pose(9, 0.0), &[]);
    assert_eq!(good.data().1[4..12], 9_u64.to_le_bytes());
    wait_until("the bad one is gone", || {
        server.clients().iter().filter(|it| it.subscriptions > 0).count() == 1
    });
    let warnings = server.take_warnings();
    for expected in ["Space limit exceeded", "pages from \"https://evil.example\" may not connect"] {
        assert!(warnings.iter().any(|it| it.contains(expected)), "{expected}: {warnings:?}");
    }
    drop(endless);
}

#[test]
fn a_server_that_ends_says_so() {
    let place = Place::new();
    let server = place.serve(|_| {});
    let mut client = Client::new(&server);
    drop(server);
    loop {
        match client.socket.read() {
            Ok(Message::Close(_)) | Err(tungstenite::Error::ConnectionClosed) => break,
            Ok(_) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn another_implementation_reads_and_publishes() {
    let Some(python) = std::env::var_os("SITU_TEST_PYTHON") else {
        println!("SKIPPED: SITU_TEST_PYTHON is not set; run scripts/test.sh");
        return;
    };
    let place = Place::new();
    let poses = place.publisher("pose", "demo::msg::Pose", Encoding::Flat, PublisherQos::default());
    let server = place.serve(|it| it.publish = Some(Selection::of(|topic| topic == "said")));
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/client.py");
    let port = server.address().port().to_string();
    let mut child = Command::new(python)
        .args([script, &port, "/pose", "3", "from the screen"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("the client publishes", || {
        inspect::topic(&place.root, "said").unwrap().is_some_and(|it| it.published == 1)
    });
    wait_until("the client looks", || place.subscribers("pose") == 1);
    for number in 0..3 {
        publish(&poses, &pose(number, number as f64 / 4.0), &[]);
    }
    let lines: Vec<Value> = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
        .collect();
    assert!(child.wait().unwrap().success());
    let messages: Vec<&Value> = lines.iter().map(|it| &it["message"]).collect();
    assert_eq!(
        messages,
        [&json!({"number": 0, "x": 0.0}), &json!({"number": 1, "x": 0.25}), &json!({"number": 2, "x": 0.5}),]
    );
    // Nanoseconds since 1970.
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64;
    let time = lines[0]["time"].as_u64().unwrap();
    assert!(time < now && now - time < 3_600_000_000_000, "{time}");
}
