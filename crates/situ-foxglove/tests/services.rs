//! Services and parameters: what a screen may call and set, and what nodes answer.

use std::collections::BTreeMap;
use std::net::TcpStream;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use situ_bus::{
    Encoding, Node, PublisherQos, RawPublisher, RawServer, Root, ServiceDescription, ServiceOptions,
    TypeDescription,
};
use situ_foxglove::{Server, ServerOptions};
use situ_record::Selection;
use situ_schema::Schema;
use situ_schema::dynamic::{from_cdr, from_text, to_cdr};
use situ_testkit::Scratch;
use tungstenite::client::IntoClientRequest;
use tungstenite::{Message, WebSocket};

/// Time enough for a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The interfaces of ROS that the tests use.
const IDL: &str = "
module builtin_interfaces { module msg { struct Time { int32 sec; uint32 nanosec; }; }; };
module std_srvs { module srv {
  struct SetBool_Request { boolean data; };
  struct SetBool_Response { boolean success; string message; };
}; };
module rcl_interfaces {
  module msg {
    struct ParameterValue {
      uint8 type; boolean bool_value; int64 integer_value; double double_value; string string_value;
      sequence<octet> byte_array_value; sequence<boolean> bool_array_value; sequence<int64> integer_array_value;
      sequence<double> double_array_value; sequence<string> string_array_value;
    };
    struct Parameter { string name; rcl_interfaces::msg::ParameterValue value; };
    struct ListParametersResult { sequence<string> names; sequence<string> prefixes; };
    struct SetParametersResult { boolean successful; string reason; };
    struct ParameterEvent {
      builtin_interfaces::msg::Time stamp; string node;
      sequence<rcl_interfaces::msg::Parameter> new_parameters;
      sequence<rcl_interfaces::msg::Parameter> changed_parameters;
      sequence<rcl_interfaces::msg::Parameter> deleted_parameters;
    };
  };
  module srv {
    struct ListParameters_Request { sequence<string> prefixes; uint64 depth; };
    struct ListParameters_Response { rcl_interfaces::msg::ListParametersResult result; };
    struct GetParameters_Request { sequence<string> names; };
    struct GetParameters_Response { sequence<rcl_interfaces::msg::ParameterValue> values; };
    struct SetParameters_Request { sequence<rcl_interfaces::msg::Parameter> parameters; };
    struct SetParameters_Response { sequence<rcl_interfaces::msg::SetParametersResult> results; };
  };
};";

fn description(name: &str) -> TypeDescription {
    let schema = Schema::from_idl(IDL).unwrap();
    let root = schema.find(name).unwrap();
    TypeDescription {
        name: name.to_owned(),
        schema: schema.canonical(root),
        schema_hash: schema.schema_hash(root),
        layout_hash: 0,
        encoding: Encoding::Xcdr1,
        fixed_size: 0,
        user_header_size: 0,
    }
}

/// A message as CDR, from JSON.
fn cdr(name: &str, value: &Value) -> Vec<u8> {
    let schema = Schema::from_idl(IDL).unwrap();
    let root = schema.find(name).unwrap();
    let value = from_text(&schema, root, &value.to_string()).unwrap();
    to_cdr(&schema, root, &value, situ_wire::Encoding::Xcdr1).unwrap()
}

/// What a service answers to a request, or why it refuses it.
type Answer = Box<dyn FnMut(&Value) -> Result<Value, &'static str> + Send>;

/// A service of the node, and what it answers.
struct Served {
    server: RawServer,
    type_name: &'static str,
    answer: Answer,
}

impl Served {
    fn new(
        node: &Node,
        name: &str,
        type_name: &'static str,
        answer: impl FnMut(&Value) -> Result<Value, &'static str> + Send + 'static,
    ) -> Self {
        let side = |end: &str| description(&format!("{type_name}_{end}"));
        let description = ServiceDescription { request: side("Request"), reply: side("Response") };
        let server = RawServer::create(node, name, &description, &ServiceOptions::default()).unwrap();
        Self { server, type_name, answer: Box::new(answer) }
    }

    fn turn(&mut self) {
        let Some(request) = self.server.take().unwrap() else { return };
        let schema = Schema::from_idl(IDL).unwrap();
        let root = schema.find(&format!("{}_Request", self.type_name)).unwrap();
        let asked = from_cdr(&schema, root, request.sample().body_in_place()).unwrap();
        match (self.answer)(&serde_json::to_value(&asked).unwrap()) {
            Ok(answer) => {
                let body = cdr(&format!("{}_Response", self.type_name), &answer);
                let mut loan = self.server.loan(&request.id(), 0, 1, body.len()).unwrap();
                loan.body_bytes().copy_from_slice(&body);
                loan.send().unwrap();
            }
            Err(reason) => self.server.refuse(&request.id(), 7, reason).unwrap(),
        }
    }
}

/// A node of ROS as far as its services and parameters go.
struct Robot {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Robot {
    fn start(node: &Node) -> Self {
        let parameters = Arc::new(std::sync::Mutex::new(BTreeMap::from([
            ("arm.gain".to_owned(), json!({"type": 3, "double_value": 2.0})),
            ("blob".to_owned(), json!({"type": 5, "byte_array_value": [65, 66, 67]})),
            ("limits".to_owned(), json!({"type": 8, "double_array_value": [0.5, 1.0]})),
            ("name".to_owned(), json!({"type": 4, "string_value": "left"})),
            ("on".to_owned(), json!({"type": 1, "bool_value": true})),
            ("speed".to_owned(), json!({"type": 2, "integer_value": 3})),
            ("words".to_owned(), json!({"type": 9, "string_array_value": ["a", "b"]})),
        ])));
        let (list, get, set) = (parameters.clone(), parameters.clone(), parameters);
        let mut all = [
            Served::new(node, "switch", "std_srvs::srv::SetBool", |request| {
                match request["data"].as_bool() {
                    Some(true) => Ok(json!({"success": true, "message": "on"})),
                    _ => Err("it stays on"),
                }
            }),
            Served::new(
                node,
                "arm/robot/list_parameters",
                "rcl_interfaces::srv::ListParameters",
                move |_| {
                    let names: Vec<String> = list.lock().unwrap().keys().cloned().collect();
                    Ok(json!({"result": {"names": names, "prefixes": ["arm"]}}))
                },
            ),
            Served::new(
                node,
                "arm/robot/get_parameters",
                "rcl_interfaces::srv::GetParameters",
                move |request| {
                    let known = get.lock().unwrap();
                    let value = |name: &Value| known.get(name.as_str().unwrap()).cloned();
                    let names = request["names"].as_array().unwrap();
                    let values = names.iter().map(|it| value(it).unwrap_or(json!({"type": 0})));
                    Ok(json!({"values": values.collect::<Vec<_>>()}))
                },
            ),
            Served::new(
                node,
                "arm/robot/set_parameters",
                "rcl_interfaces::srv::SetParameters",
                move |request| {
                    let results = request["parameters"].as_array().unwrap().iter().map(|it| {
                        let (name, value) = (it["name"].as_str().unwrap(), &it["value"]);
                        if name == "name" {
                            return json!({"successful": false, "reason": "it is read-only"});
                        }
                        set.lock().unwrap().insert(name.to_owned(), value.clone());
                        json!({"successful": true, "reason": ""})
                    });
                    Ok(json!({"results": results.collect::<Vec<_>>()}))
                },
            ),
        ];
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                all.iter_mut().for_each(Served::turn);
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Robot {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().map(JoinHandle::join);
    }
}

struct Place {
    _scratch: Scratch,
    root: Root,
    node: Node,
}

impl Place {
    fn new() -> Self {
        let scratch = Scratch::created("foxglove");
        let root = Root::at(scratch.path().join("root"), None);
        let node = Node::in_root("robot", root.clone()).unwrap();
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

    /// A server that lets screens call `switch`, and set the parameters of the robot.
    fn serve_all(&self) -> Server {
        self.serve(|it| {
            it.call = Some(Selection::of(|name| name == "switch"));
            it.set_parameters = Some(Selection::of(|node| node == "/arm/robot"));
        })
    }
}

struct Client {
    socket: WebSocket<TcpStream>,
    info: Value,
    seen: Vec<Value>,
}

impl Client {
    fn new(server: &Server) -> Self {
        let stream = TcpStream::connect(server.address()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut request = format!("ws://{}", server.address()).into_client_request().unwrap();
        request.headers_mut().insert("sec-websocket-protocol", "foxglove.sdk.v1".parse().unwrap());
        let (socket, _) = tungstenite::client::client(request, stream).unwrap();
        let mut client = Self { socket, info: Value::Null, seen: Vec::new() };
        client.info = client.next("serverInfo");
        client
    }

    fn say(&mut self, value: Value) {
        self.socket.send(Message::Text(value.to_string().into())).unwrap();
    }

    fn call(&mut self, service: u64, call: u32, encoding: &str, content: &[u8]) {
        let mut bytes = vec![2];
        for number in [service as u32, call, encoding.len() as u32] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(encoding.as_bytes());
        bytes.extend_from_slice(content);
        self.socket.send(Message::Binary(bytes.into())).unwrap();
    }

    /// The next message of a kind. Those before it are kept.
    fn next(&mut self, op: &str) -> Value {
        if let Some(at) = self.seen.iter().position(|it| it["op"] == op) {
            return self.seen.remove(at);
        }
        loop {
            if let Message::Text(text) = self.socket.read().unwrap() {
                let value: Value = serde_json::from_str(&text).unwrap();
                if value["op"] == op {
                    return value;
                }
                self.seen.push(value);
            }
        }
    }

    /// The next binary message.
    fn bytes(&mut self) -> Vec<u8> {
        loop {
            match self.socket.read().unwrap() {
                Message::Binary(bytes) => return bytes.to_vec(),
                Message::Text(text) => self.seen.push(serde_json::from_str(&text).unwrap()),
                _ => {}
            }
        }
    }

    fn refusal(&mut self) -> String {
        self.next("status")["message"].as_str().unwrap().to_owned()
    }

    /// Asks for parameters. Returns those of the answer.
    fn get(&mut self, names: &[&str], id: &str) -> Value {
        self.say(json!({"op": "getParameters", "parameterNames": names, "id": id}));
        self.values(id)
    }

    fn values(&mut self, id: &str) -> Value {
        let mut values = self.next("parameterValues");
        assert_eq!(values["id"], id);
        values["parameters"].take()
    }
}

#[test]
fn services_are_listed_and_called() {
    let place = Place::new();
    let server = place.serve_all();
    let mut client = Client::new(&server);
    let capabilities = client.info["capabilities"].as_array().unwrap().clone();
    for capability in ["parameters", "parametersSubscribe", "services"] {
        assert!(capabilities.contains(&json!(capability)), "{capabilities:?}");
    }
    assert_eq!(client.info["supportedEncodings"], json!(["cdr", "json"]));
    // One that appears later; those that are not allowed are not there.
    let robot = Robot::start(&place.node);
    let services = client.next("advertiseServices")["services"].clone();
    assert_eq!(services.as_array().unwrap().len(), 1, "{services}");
    let switch = &services[0];
    let id = switch["id"].as_u64().unwrap();
    assert_eq!((&switch["name"], &switch["type"]), (&json!("/switch"), &json!("std_srvs/srv/SetBool")));
    let request = json!({"encoding": "cdr", "schemaName": "std_srvs/srv/SetBool_Request",
        "schemaEncoding": "ros2msg", "schema": "bool data\n"});
    assert_eq!((&switch["request"], &switch["requestSchema"]), (&request, &json!("bool data\n")));
    assert_eq!(switch["response"]["schema"], "bool success\nstring message\n");
    // A reply, in the encoding of the request. The bytes are worked out by the rules of CDR.
    let head = |call: u8, encoding: &[u8]| {
        [&[3], &(id as u32).to_le_bytes()[..], &[call, 0, 0, 0, encoding.len() as u8, 0, 0, 0], encoding]
            .concat()
    };
    client.call(id, 5, "cdr", &[0, 1, 0, 0, 1]);
    let reply = [0, 1, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, b'o', b'n', 0];
    assert_eq!(client.bytes(), [head(5, b"cdr"), reply.to_vec()].concat());
    client.call(id, 6, "json", br#"{"data": true}"#);
    let reply = client.bytes();
    assert!(reply.starts_with(&head(6, b"json")), "{reply:?}");
    let reply: Value = serde_json::from_slice(&reply[17..]).unwrap();
    assert_eq!(reply, json!({"success": true, "message": "on"}));
    // What fails, each with its reason.
    for (service, encoding, content, reason) in [
        (id, "cdr", &[0, 1, 0, 0, 0][..], "it stays on"),
        (id, "cdr", &[0, 1], "malformed"),
        (id, "json", b"{\"data\": [", "malformed"),
        (id, "protobuf", b"", "cdr and json are"),
        (77, "cdr", &[0, 1, 0, 0, 1], "there is no service 77"),
    ] {
        client.call(service, 9, encoding, content);
        let failure = client.next("serviceCallFailure");
        assert_eq!((failure["serviceId"].as_u64(), failure["callId"].as_u64()), (Some(service), Some(9)));
        let message = failure["message"].as_str().unwrap();
        assert!(message.contains(reason), "{message}");
    }
    client.socket.send(Message::Binary(vec![2, 1].into())).unwrap();
    assert!(client.refusal().contains("byte 2"));
    // The service goes.
    drop(robot);
    assert_eq!(client.next("unadvertiseServices")["serviceIds"], json!([id]));
    client.call(id, 10, "cdr", &[0, 1, 0, 0, 1]);
    assert!(client.next("serviceCallFailure")["message"].as_str().unwrap().contains("there is no service"));
}

#[test]
fn parameters_are_read_and_set() {
    let place = Place::new();
    let _robot = Robot::start(&place.node);
    let server = place.serve_all();
    let mut client = Client::new(&server);
    let all = json!([
        {"name": "/arm/robot.arm.gain", "value": 2.0, "type": "float64"},
        {"name": "/arm/robot.blob", "value": "QUJD", "type": "byte_array"},
        {"name": "/arm/robot.limits", "value": [0.5, 1.0], "type": "float64_array"},
        {"name": "/arm/robot.name", "value": "left"},
        {"name": "/arm/robot.on", "value": true},
        {"name": "/arm/robot.speed", "value": 3},
        {"name": "/arm/robot.words", "value": ["a", "b"]},
    ]);
    assert_eq!(client.get(&[], "all"), all);
    let some = client.get(&["/arm/robot.speed", "/arm/robot.arm.gain", "/arm/robot.none"], "some");
    assert_eq!(some, json!([all[5], all[0], {"name": "/arm/robot.none"}]));
    assert_eq!(client.get(&["/other.speed", "speed"], "none"), json!([]));
    let refusals = [client.refusal(), client.refusal()];
    assert!(refusals.iter().any(|it| it.contains("\"speed\" has no name of a node")), "{refusals:?}");
    assert!(refusals.iter().any(|it| it.contains("\"/other\" is not there")), "{refusals:?}");
    // Set, with the values afterwards; one that the node refuses, and one without a value.
    client.say(json!({"op": "setParameters", "id": "set", "parameters": [
        {"name": "/arm/robot.speed", "value": 9}, {"name": "/arm/robot.name", "value": "right"},
        {"name": "/arm/robot.arm.gain", "value": 4, "type": "float64"}, {"name": "/arm/robot.on"},
    ]}));
    let set = client.values("set");
    let expected = json!([{"name": "/arm/robot.speed", "value": 9}, all[3],
        {"name": "/arm/robot.arm.gain", "value": 4.0, "type": "float64"}, {"name": "/arm/robot.on"}]);
    assert_eq!(set, expected);
    assert!(client.refusal().contains("\"/arm/robot.name\" is not set: it is read-only"));
    for (parameter, reason) in [
        (json!({"name": "/arm/other.speed", "value": 1}), "may not be set"),
        (json!({"name": "/arm/robot.words", "value": []}), "the type of an empty list is not known"),
        (json!({"name": "/arm/robot.words", "value": {"a": 1}}), "have no members"),
    ] {
        client.say(json!({"op": "setParameters", "parameters": [parameter]}));
        let refusal = client.refusal();
        assert!(refusal.contains(reason), "{refusal}");
    }
    assert_eq!(client.get(&["/arm/robot.words"], "after"), json!([all[6]]));
}

#[test]
fn without_leave_clients_neither_call_nor_set() {
    let place = Place::new();
    let _robot = Robot::start(&place.node);
    let server = place.serve(|_| {});
    let mut client = Client::new(&server);
    let capabilities = client.info["capabilities"].as_array().unwrap().clone();
    assert!(!capabilities.contains(&json!("services")), "{capabilities:?}");
    client.call(1, 1, "cdr", &[0, 1, 0, 0, 1]);
    assert!(client.next("serviceCallFailure")["message"].as_str().unwrap().contains("there is no service 1"));
    client.say(json!({"op": "setParameters", "parameters": [{"name": "/arm/robot.speed", "value": 1}]}));
    assert!(client.refusal().contains("--set-parameters"));
    assert_eq!(client.get(&["/arm/robot.speed"], "x"), json!([{"name": "/arm/robot.speed", "value": 3}]));
}

#[test]
fn changes_of_parameters_are_told() {
    let place = Place::new();
    let server = place.serve(|_| {});
    let mut client = Client::new(&server);
    client.say(json!({"op": "subscribeParameterUpdates", "parameterNames": ["/n.a", "/n.gone"]}));
    let event = description("rcl_interfaces::msg::ParameterEvent");
    let publisher =
        RawPublisher::create(&place.node, "parameter_events", &event, PublisherQos::default()).unwrap();
    let begin = Instant::now();
    while publisher.subscribers() == 0 {
        assert!(begin.elapsed() < PATIENCE, "the topic is not joined");
        std::thread::sleep(Duration::from_millis(5));
    }
    let publish = |value: Value| {
        let body = cdr("rcl_interfaces::msg::ParameterEvent", &value);
        let mut loan = publisher.loan(0, 1, body.len()).unwrap();
        loan.body_bytes().copy_from_slice(&body);
        loan.publish().unwrap();
    };
    let of = |name: &str, value: i64| json!({"name": name, "value": {"type": 2, "integer_value": value}});
    publish(json!({"node": "/n", "new_parameters": [of("other", 1)]}));
    publish(json!({"node": "/m", "changed_parameters": [of("a", 1)]}));
    publish(json!({"node": "/n", "new_parameters": [of("other", 1)], "changed_parameters": [of("a", 2)],
        "deleted_parameters": [of("gone", 3)]}));
    let told = client.next("parameterValues");
    assert_eq!(told["parameters"], json!([{"name": "/n.a", "value": 2}, {"name": "/n.gone"}]));
    assert!(told.get("id").is_none());
    client.say(json!({"op": "unsubscribeParameterUpdates", "parameterNames": ["/n.a"]}));
    client.say(json!({"op": "subscribeParameterUpdates", "parameterNames": ["/n.b"]}));
    // An answer to anything: the server has heard both.
    client.get(&["/n.a"], "heard");
    publish(json!({"node": "/n", "changed_parameters": [of("a", 4)]}));
    publish(json!({"node": "/n", "changed_parameters": [of("b", 5)]}));
    assert_eq!(client.next("parameterValues")["parameters"], json!([{"name": "/n.b", "value": 5}]));
    // All, and then none: the topic is left.
    client.say(json!({"op": "subscribeParameterUpdates", "parameterNames": []}));
    client.get(&["/n.a"], "heard");
    publish(json!({"node": "/x", "new_parameters": [of("y", 6)]}));
    assert_eq!(client.next("parameterValues")["parameters"], json!([{"name": "/x.y", "value": 6}]));
    client.say(json!({"op": "unsubscribeParameterUpdates", "parameterNames": []}));
    let begin = Instant::now();
    while publisher.subscribers() > 0 {
        assert!(begin.elapsed() < PATIENCE, "the topic is not left");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn questions_without_end_are_refused() {
    let place = Place::new();
    let _robot = Robot::start(&place.node);
    let server = place.serve_all();
    let mut client = Client::new(&server);
    let id = client.next("advertiseServices")["services"][0]["id"].as_u64().unwrap();
    // Names of a hundred thousand nodes that are not there: some refusals, and one answer.
    let names: Vec<String> = (0..100_000).map(|number| format!("/n{number}.a")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    assert_eq!(client.get(&names, "many"), json!([]));
    client.seen.clear();
    // More calls than may be under way: each gets a reply or a failure.
    for call in 0..1000 {
        client.call(id, call, "cdr", &[0, 1, 0, 0, 1]);
    }
    let mut ended = vec![false; 1000];
    while !ended.iter().all(|it| *it) {
        let call = match client.socket.read().unwrap() {
            Message::Binary(bytes) => u32::from_le_bytes(bytes[5..9].try_into().unwrap()),
            Message::Text(text) => {
                let failure: Value = serde_json::from_str(&text).unwrap();
                assert_eq!(failure["op"], "serviceCallFailure", "{failure}");
                failure["callId"].as_u64().unwrap() as u32
            }
            _ => continue,
        };
        assert!(!std::mem::replace(&mut ended[call as usize], true), "{call} ends twice");
    }
}

#[test]
fn another_implementation_calls_and_sets() {
    let Some(python) = std::env::var_os("SITU_TEST_PYTHON") else {
        println!("SKIPPED: SITU_TEST_PYTHON is not set; run scripts/test.sh");
        return;
    };
    let place = Place::new();
    let _robot = Robot::start(&place.node);
    let server = place.serve_all();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/client_services.py");
    let output = Command::new(python).args([script, &server.address().port().to_string()]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    let expected = json!({"reply": {"success": true, "message": "on"}, "failure": "it stays on",
        "before": {"/arm/robot.speed": 3}, "after": {"/arm/robot.speed": 12}});
    assert!(said["failure"].as_str().unwrap().contains("it stays on"), "{said}");
    for key in ["reply", "before", "after"] {
        assert_eq!(said[key], expected[key], "{said}");
    }
}
