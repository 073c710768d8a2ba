//! `situ service call` and `situ service echo` as a user sees them.

mod common;

use std::io::{BufRead, BufReader};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use common::{Sandbox, json, text};
use serde_json::{Value, json};
use situ::bus::{
    Encoding, Node, RawClient, RawRequest, RawServer, Root, ServiceDescription, ServiceOptions,
    TypeDescription, inspect,
};
use situ_schema::{Format, Loader, Schema, dynamic};

const TYPES: &str = "module demo { @flat struct Sum { long long a; long long b; }; @flat struct Total { long long sum; }; \
                     struct Word { string text; }; \
                     exception DivisionByZero { long long numerator; }; exception Unreadable { string text; }; \
                     interface Calculator { \
                       @flat long long divide(in long long a, in long long b) raises (DivisionByZero); \
                       double parse(in string text) raises (Unreadable); \
                     }; };";
const TIMEOUT: Duration = Duration::from_secs(30);

fn schema() -> Schema {
    Loader::new().sealed().text("demo.idl", TYPES, Format::Idl).load().unwrap()
}

/// A type as its participants describe it.
fn described(schema: &Schema, name: &str) -> TypeDescription {
    let id = schema.find(name).unwrap();
    let is_flat = schema.is_flat(id);
    TypeDescription {
        name: name.to_owned(),
        schema: schema.canonical(id),
        schema_hash: schema.schema_hash(id),
        layout_hash: if is_flat { schema.layout_hash(id) } else { 0 },
        encoding: if is_flat { Encoding::Flat } else { Encoding::Xcdr1 },
        fixed_size: schema.flat_layout(id).map_or(0, |it| it.extent.size as u32),
        user_header_size: 0,
    }
}

/// A server in a thread of this process.
struct Served {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

fn serve(
    sandbox: &Sandbox,
    name: &'static str,
    types: (&str, &str),
    answer: impl Fn(&RawServer, &RawRequest) + Send + 'static,
) -> Served {
    let schema = schema();
    let types =
        ServiceDescription { request: described(&schema, types.0), reply: described(&schema, types.1) };
    let node = Node::in_root("server", Root::at(sandbox.root(), None)).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    let server = RawServer::create(&node, name, &types, &ServiceOptions::default()).unwrap();
    let thread = std::thread::spawn(move || {
        while !stopped.load(Ordering::Relaxed) {
            server.wait(Some(Duration::from_millis(10)));
            while let Some(request) = server.take().unwrap() {
                answer(&server, &request);
            }
        }
    });
    Served { stop, thread: Some(thread) }
}

/// Adds. A sum of 13 is refused, and one of 3 is answered in parts.
fn add(server: &RawServer, request: &RawRequest) {
    let number =
        |at: usize| i64::from_le_bytes(request.sample().head_in_place()[at..at + 8].try_into().unwrap());
    let sum = number(0) + number(8);
    let loan = |value: i64| {
        let mut loan = server.loan(&request.id(), 8, 8, 0).unwrap();
        loan.head_bytes().copy_from_slice(&value.to_le_bytes());
        loan
    };
    match sum {
        13 => server.refuse(&request.id(), 7, "bad luck").unwrap(),
        3 => {
            loan(1).send_part().unwrap();
            loan(2).send_part().unwrap();
            loan(3).send().unwrap();
        }
        0 => {}
        _ => loan(sum).send().unwrap(),
    }
}

/// A client of requests with two numbers. It stays while an echo looks: one that comes and goes between two
/// looks is not seen.
struct RawCaller(RawClient);

impl RawCaller {
    fn new(sandbox: &Sandbox, name: &str, (request, reply): (&str, &str)) -> Self {
        let schema = schema();
        let types =
            ServiceDescription { request: described(&schema, request), reply: described(&schema, reply) };
        let node = Node::in_root("asker", Root::at(sandbox.root(), None)).unwrap();
        Self(RawClient::create(&node, name, &types, &ServiceOptions::default()).unwrap())
    }

    /// Sends a number and 0, waits for the reply, and returns the number of the call.
    fn ask(&self, a: i64) -> u64 {
        let mut loan = self.0.loan(16, 8, 0).unwrap();
        loan.head_bytes()[..8].copy_from_slice(&a.to_le_bytes());
        loan.head_bytes()[8..].fill(0);
        let call = loan.send(Some(TIMEOUT)).unwrap();
        let _ = self.0.receive_of(call, Some(TIMEOUT));
        call
    }
}

const SUM: (&str, &str) = ("demo::Sum", "demo::Total");

/// The exit code, and what is on standard error.
fn failed(output: &std::process::Output) -> (Option<i32>, String) {
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_service_is_called_by_its_own_types() {
    let sandbox = Sandbox::new();
    let _server = serve(&sandbox, "add", SUM, add);
    assert_eq!(text(&sandbox.run(&["service", "call", "add", "{a: 40, b: 2}"])), "sum: 42\n");
    let reply = json(&sandbox.run(&["--json", "service", "call", "add", r#"{"a": 5}"#]));
    assert_eq!(
        (&reply["message"], &reply["part"], &reply["is_last"]),
        (&json!({"sum": 5}), &json!(0), &json!(true))
    );
    assert!(reply["latency_ns"].as_u64() > Some(0) && reply["service"] == "add");

    let parts = sandbox.run(&["service", "call", "add", "{a: 1, b: 2}"]);
    assert_eq!(text(&parts), "sum: 1\n---\nsum: 2\n---\nsum: 3\n");
    let parts = text(&sandbox.run(&["--json", "service", "call", "add", "{a: 1, b: 2}"]));
    let parts: Vec<Value> = parts.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let shown: Vec<_> = parts.iter().map(|it| (it["part"].clone(), it["message"]["sum"].clone())).collect();
    assert_eq!(shown, [(json!(0), json!(1)), (json!(1), json!(2)), (json!(2), json!(3))]);
}

#[test]
fn types_on_the_heap_are_serialized() {
    let sandbox = Sandbox::new();
    let _server = serve(&sandbox, "shout", ("demo::Word", "demo::Word"), |server, request| {
        let schema = schema();
        let id = schema.find("demo::Word").unwrap();
        let word = dynamic::from_cdr(&schema, id, request.sample().body_in_place()).unwrap();
        let word = word.to_yaml(&dynamic::PrintOptions::default()).to_uppercase().replace("TEXT:", "text:");
        let word = dynamic::from_text(&schema, id, &word).unwrap();
        let word = dynamic::to_cdr(&schema, id, &word, situ_wire::Encoding::Xcdr1).unwrap();
        let mut loan = server.loan(&request.id(), 0, 1, word.len()).unwrap();
        loan.body_bytes().copy_from_slice(&word);
        loan.send().unwrap();
    });
    assert_eq!(text(&sandbox.run(&["service", "call", "shout", "{text: hello}"])), "text: HELLO\n");
}

const DIVISION: (&str, &str) = ("demo::Calculator_divide_In", "demo::Calculator_divide_Reply");

/// Divides, or raises an exception. To 99 it replies as a broken server, with neither.
fn divide(server: &RawServer, request: &RawRequest) {
    let number =
        |at: usize| i64::from_le_bytes(request.sample().head_in_place()[at..at + 8].try_into().unwrap());
    let (case, value) = match (number(0), number(8)) {
        (99, _) => (7_i64, 0),
        (a, 0) => (1, a),
        (a, b) => (0, a / b),
    };
    // The discriminator has 32 bits, and padding behind it.
    let mut loan = server.loan(&request.id(), 16, 8, 0).unwrap();
    loan.head_bytes()[..8].copy_from_slice(&case.to_le_bytes());
    loan.head_bytes()[8..].copy_from_slice(&value.to_le_bytes());
    loan.send().unwrap();
}

#[test]
fn a_reply_names_the_exception_that_was_raised() {
    let sandbox = Sandbox::new();
    let _divider = serve(&sandbox, "divide", DIVISION, divide);
    let call = |request: &str| text(&sandbox.run(&["service", "call", "divide", request]));
    assert_eq!(call("{a: 17, b: 5}"), "reply:\n  discriminator: 0\n  result:\n    return_: 3\n");
    assert_eq!(call("{a: 17}"), "reply:\n  discriminator: 1\n  division_by_zero:\n    numerator: 17\n");
    assert_eq!(call("{a: 99}"), "reply:\n  discriminator: 7\n");
    let reply = json(&sandbox.run(&["--json", "service", "call", "divide", "{a: 17}"]));
    let raised = json!({"reply": {"discriminator": 1, "division_by_zero": {"numerator": 17}}});
    assert_eq!(reply["message"], raised);
    let info = text(&sandbox.run(&["service", "info", "divide"]));
    assert!(info.contains("demo::Calculator_divide_In\n"), "{info}");
    assert!(info.contains("demo::Calculator_divide_Reply\n"), "{info}");

    // Its replies lie on the heap, and are serialized.
    let types = ("demo::Calculator_parse_In", "demo::Calculator_parse_Reply");
    let _parser = serve(&sandbox, "parse", types, |server, request| {
        let schema = schema();
        let named = |name: &str| schema.find(&format!("demo::Calculator_parse_{name}")).unwrap();
        let asked = dynamic::from_cdr(&schema, named("In"), request.sample().body_in_place()).unwrap();
        let reply = match asked.to_yaml(&dynamic::PrintOptions::default()).contains("2.5") {
            true => "{reply: {result: {return_: 2.5}}}",
            false => "{reply: {unreadable: {text: no number}}}",
        };
        let reply = dynamic::from_text(&schema, named("Reply"), reply).unwrap();
        let reply = dynamic::to_cdr(&schema, named("Reply"), &reply, situ_wire::Encoding::Xcdr1).unwrap();
        let mut loan = server.loan(&request.id(), 0, 1, reply.len()).unwrap();
        loan.body_bytes().copy_from_slice(&reply);
        loan.send().unwrap();
    });
    let call = |request: &str| text(&sandbox.run(&["service", "call", "parse", request]));
    assert_eq!(call("{text: '2.5'}"), "reply:\n  discriminator: 0\n  result:\n    return_: 2.5\n");
    assert_eq!(call("{text: x}"), "reply:\n  discriminator: 1\n  unreadable:\n    text: 'no number'\n");
}

#[test]
fn an_echo_names_the_exception_that_was_raised() {
    let sandbox = Sandbox::new();
    let _server = serve(&sandbox, "divide", DIVISION, divide);
    let client = RawCaller::new(&sandbox, "divide", DIVISION);
    let mut echo = sandbox.spawn(&["service", "echo", "divide", "-n", "3"]);
    let begin = Instant::now();
    while !echo.has_ended() {
        assert!(begin.elapsed() < TIMEOUT);
        client.ask(17);
        std::thread::sleep(Duration::from_millis(20));
    }
    let shown = text(&echo.wait(TIMEOUT));
    // It may begin between a request and its reply.
    let lines: Vec<&str> = shown.lines().skip_while(|line| !line.starts_with("# request")).take(9).collect();
    assert!(lines[0].ends_with(" of asker"), "{shown}");
    assert_eq!(lines[1..4], ["a: 17", "b: 0", "---"]);
    assert!(lines[4].starts_with("# reply, call "), "{shown}");
    assert_eq!(lines[5..], ["reply:", "  discriminator: 1", "  division_by_zero:", "    numerator: 17"]);
}

#[test]
fn what_goes_wrong_is_said() {
    let sandbox = Sandbox::new();
    let (code, complaint) = failed(&sandbox.run(&["service", "call", "add", "{}", "--wait", "0"]));
    assert_eq!(code, Some(3));
    assert!(complaint.contains("there is no service `add`"), "{complaint}");
    let (code, complaint) = failed(&sandbox.run(&["service", "echo", "add"]));
    assert!(code == Some(3) && complaint.contains("there is no service `add`"), "{complaint}");

    let server = serve(&sandbox, "add", SUM, add);
    let (code, complaint) = failed(&sandbox.run(&["service", "call", "ad", "--wait", "0"]));
    assert!(code == Some(3) && complaint.contains("there are: add"), "{complaint}");
    let (code, complaint) = failed(&sandbox.run(&["service", "call", "add", "{c: 1}"]));
    assert_eq!(code, Some(2));
    assert!(
        complaint.contains("the request does not fit demo::Sum: ") && complaint.contains('c'),
        "{complaint}"
    );

    let refused = sandbox.run(&["service", "call", "add", "{a: 13}"]);
    let (code, complaint) = failed(&refused);
    assert_eq!(
        (code, complaint.as_str()),
        (Some(1), "situ: service `add` refused the request (7): bad luck\n")
    );
    let refused = sandbox.run(&["--json", "service", "call", "add", "{a: 13}"]);
    let refused: Value = serde_json::from_slice(&refused.stderr).unwrap();
    assert_eq!(refused["refusal"], json!({"code": 7, "text": "bad luck"}));
    let (code, complaint) = failed(&sandbox.run(&["service", "call", "add", "--timeout", "0.2"]));
    assert!(code == Some(4) && complaint.contains("has not answered within"), "{complaint}");

    // A client of the service remains.
    let schema = schema();
    let types = ServiceDescription { request: described(&schema, SUM.0), reply: described(&schema, SUM.1) };
    let node = Node::in_root("client", Root::at(sandbox.root(), None)).unwrap();
    let _client = situ::bus::RawClient::create(&node, "add", &types, &ServiceOptions::default()).unwrap();
    drop(server);
    let (code, complaint) = failed(&sandbox.run(&["service", "call", "add", "--wait", "0"]));
    assert!(code == Some(1) && complaint.contains("has no server"), "{complaint}");
}

#[test]
fn an_echo_shows_calls_and_is_no_server() {
    let sandbox = Sandbox::new();
    let _server = serve(&sandbox, "add", SUM, add);
    let client = RawCaller::new(&sandbox, "add", SUM);
    let mut echo = sandbox.spawn(&["--json", "service", "echo", "add"]);
    let mut lines = BufReader::new(echo.take_stdout()).lines();
    let ask = |a: i64| client.ask(a);
    // It is ready once it shows a call. Until then, calls pass unseen.
    let asking = AtomicBool::new(true);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| {
            let first = lines.next().unwrap().unwrap();
            asking.store(false, Ordering::Relaxed);
            first
        });
        let begin = Instant::now();
        while asking.load(Ordering::Relaxed) {
            assert!(begin.elapsed() < TIMEOUT);
            ask(1000);
            std::thread::sleep(Duration::from_millis(20));
        }
        let first: Value = serde_json::from_str(&first.join().unwrap()).unwrap();
        assert!(first["service"] == "add" && first["node"] == "asker", "{first}");
    });
    let call = ask(13);
    let mut shown = Vec::new();
    while shown.len() < 2 {
        let event: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        if event["call"] == call {
            shown.push(event);
        }
    }
    assert_eq!((&shown[0]["event"], &shown[0]["message"]), (&json!("request"), &json!({"a": 13, "b": 0})));
    assert_eq!(shown[1]["event"], "refusal");
    assert_eq!(shown[1]["refusal"], json!({"code": 7, "text": "bad luck"}));
    assert!(shown[1]["latency_ns"].as_u64() > Some(0), "{:?}", shown[1]);
    let service = inspect::services(&Root::at(sandbox.root(), None)).unwrap().remove(0);
    assert_eq!((service.requests.subscribers.len(), service.requests.publishers.len()), (1, 1));
    assert!(echo.interrupt().status.success());

    let mut echo = sandbox.spawn(&["service", "echo", "add", "-n", "3"]);
    let begin = Instant::now();
    while !echo.has_ended() {
        assert!(begin.elapsed() < TIMEOUT);
        ask(1000);
        std::thread::sleep(Duration::from_millis(20));
    }
    let shown = text(&echo.wait(TIMEOUT));
    // It may begin between a request and its reply.
    let lines: Vec<&str> = shown.lines().skip_while(|line| !line.starts_with("# request")).take(7).collect();
    assert!(lines[0].starts_with("# request, call ") && lines[0].ends_with(" of asker"), "{shown}");
    assert_eq!(lines[1..4], ["a: 1000", "b: 0", "---"]);
    assert!(lines[4].starts_with("# reply, call ") && lines[4].contains(" of asker, after "), "{shown}");
    assert_eq!(lines[5..], ["sum: 1000", "---"]);

    let quiet = sandbox.run(&["service", "echo", "add", "--timeout", "0.1"]);
    assert_eq!(failed(&quiet), (Some(4), "situ: no call of service `add` for 100 ms\n".into()));
}
