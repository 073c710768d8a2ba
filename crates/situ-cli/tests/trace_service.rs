//! Calls of a service in a trace, from the client to the server and back.

mod common;
#[path = "../../situ-trace/tests/track_event/perfetto.rs"]
mod perfetto;
#[path = "../../situ-trace/tests/track_event/rules.rs"]
mod rules;
#[path = "../../situ-trace/tests/track_event/strict.rs"]
mod strict;

use std::io::{BufRead, BufReader};
use std::time::{Duration, Instant};

use common::{Sandbox, json, text};
use perfetto::Value;
use rules::{Checked, Whole};
use situ::bus::{
    Encoding, Node, RawClient, RawServer, Root, ServiceDescription, ServiceOptions, TypeDescription, hook,
};
use situ::trace::category;

const TIMEOUT: Duration = Duration::from_secs(30);
const ROUNDS: usize = 20;

category!(PROBE, "probe");

fn number() -> TypeDescription {
    TypeDescription {
        name: "test::Number".to_owned(),
        schema: "module test {\n@final struct Number {\n  uint64 value;\n};\n};\n".to_owned(),
        schema_hash: 1,
        layout_hash: 2,
        encoding: Encoding::Flat,
        fixed_size: 8,
        user_header_size: 0,
    }
}

/// Two calls at once, of which the second is answered first, and one that is refused.
fn round(client: &RawClient, server: &RawServer) {
    let send = || client.loan(8, 8, 0).unwrap().send(Some(TIMEOUT)).unwrap();
    let take = || {
        assert!(server.wait(Some(TIMEOUT)));
        server.take().unwrap().unwrap()
    };
    let calls = [send(), send()];
    let requests = [take(), take()];
    for index in [1, 0] {
        server.loan(&requests[index].id(), 8, 8, 0).unwrap().send().unwrap();
        assert!(client.receive_of(calls[index], Some(TIMEOUT)).unwrap().is_some());
    }
    let refused = send();
    server.refuse(&take().id(), 7, "no").unwrap();
    client.receive_of(refused, Some(TIMEOUT)).unwrap_err();
}

fn end(slice: &Whole) -> &str {
    match slice.arguments.iter().find(|(name, _)| name == "end") {
        Some((_, Value::Text(end))) => end,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_call_can_be_followed_to_its_server_and_back() {
    let sandbox = Sandbox::new();
    let file = sandbox.path("run.pftrace");
    let root = Root::at(sandbox.root(), None);
    situ::trace::join(&root, "both");
    let node = Node::in_root("both", root).unwrap();
    let types = ServiceDescription { request: number(), reply: number() };
    let options = ServiceOptions::default();
    let client = RawClient::create(&node, "add", &types, &options).unwrap();
    let server = RawServer::create(&node, "add", &types, &options).unwrap();
    let mut recorder = sandbox.spawn(&["trace", "record", "-o", &file]);
    BufReader::new(recorder.take_stdout()).read_line(&mut String::new()).unwrap();
    let begin = Instant::now();
    // The events of the bus are switched on directly after the categories, by another thread.
    while !PROBE.is_enabled() || !hook::is_watched() {
        assert!(begin.elapsed() < TIMEOUT, "the recording does not reach this process");
        std::thread::sleep(Duration::from_millis(1));
    }
    (0..ROUNDS).for_each(|_| round(&client, &server));
    text(&sandbox.run(&["trace", "stop"]));
    assert!(recorder.wait(TIMEOUT).status.success());

    let trace = Checked::read(&std::fs::read(&file).unwrap());
    assert_eq!(trace.losses, 0);
    let (calls, handled) = (trace.named("call add"), trace.named("handle add"));
    assert!(calls.len() > ROUNDS && calls.len() <= 3 * ROUNDS, "{}", calls.len());
    let with = |name: &str, flow: u64| {
        let all =
            trace.slices.iter().filter(|slice| slice.name.starts_with(name) && slice.flows.contains(&flow));
        all.collect::<Vec<_>>()
    };
    for call in &calls {
        let [request, reply] = call.flows[..] else { panic!("{call:?}") };
        let [handle] = handled.iter().filter(|it| it.flows == call.flows).collect::<Vec<_>>()[..] else {
            panic!("no server handled {call:?}")
        };
        assert_eq!(end(call), end(handle));
        assert!(call.begin <= handle.begin && handle.end <= call.end, "{call:?} {handle:?}");
        // The same arrows as those of the messages.
        let (sent, taken) =
            (with("publish situ:request/add", request), with("take situ:request/add", request));
        assert!(sent.len() == 1 && taken.len() == 1 && call.begin <= sent[0].begin, "{sent:?} {taken:?}");
        let (sent, taken) = (with("publish situ:reply/", reply), with("take situ:reply/", reply));
        assert!(sent.len() == 1 && taken.len() == 1 && taken[0].end <= call.end, "{sent:?} {taken:?}");
        let named = |slice: &Whole| trace.tracks[&slice.track].0.clone();
        assert_eq!((named(call).as_str(), named(handle).as_str()), ("calls of add", "requests of add"));
        assert!(call.depth == 0 && handle.depth == 0, "calls that overlap are on different tracks");
    }
    let refused = calls.iter().filter(|call| end(call) == "refused").count();
    assert!(refused > 5 && calls.iter().filter(|call| end(call) == "replied").count() >= 2 * refused - 2);
    let overlap = |one: &&&Whole| calls.iter().any(|it| it.begin < one.begin && one.end < it.end);
    assert!(calls.iter().filter(overlap).count() > 5);

    let view = json(&sandbox.run(&["--json", "trace", "view", &file, "--most", "0"]));
    let names: Vec<_> = view["slices"].as_array().unwrap().iter().map(|it| it["name"].clone()).collect();
    assert!(names.contains(&"call add".into()) && names.contains(&"handle add".into()), "{names:?}");
    let svg = sandbox.path("run.svg");
    text(&sandbox.run(&["trace", "view", &file, "--svg", &svg]));
    let svg = std::fs::read_to_string(svg).unwrap();
    assert!(svg.contains("<title>publish situ:request/add → handle add</title>"), "{svg}");
}
