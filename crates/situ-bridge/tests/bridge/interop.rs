//! With a program that speaks rmw_zenoh's format from its published design: `tests/interop/rmw_zenoh.py`.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use situ_bus::{EndpointRole, PublisherQos, RawClient, RawServer, ServiceOptions, inspect};

use crate::common::{Machine, PATIENCE, publish, string, take, until};
use crate::services::{add_two_ints, answer, call, reply};

const STRING: &str = "std_msgs::msg::String";

/// The program. It ends with this.
struct Peer {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    seen: Vec<String>,
}

impl Peer {
    fn start(endpoint: &str) -> Option<Self> {
        let python = std::env::var("SITU_TEST_PYTHON").ok();
        let has = |python: &String| {
            let check = Command::new(python).args(["-c", "import zenoh"]).output();
            check.is_ok_and(|output| output.status.success())
        };
        let Some(python) = python.filter(has) else {
            println!("skipped: SITU_TEST_PYTHON names no Python with eclipse-zenoh");
            return None;
        };
        let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/interop/rmw_zenoh.py");
        let mut child = Command::new(python)
            .arg(script)
            .args([endpoint, "0"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take();
        Some(Self { child, input, lines, seen: Vec::new() })
    }

    fn tell(&mut self, command: &str) {
        writeln!(self.input.as_mut().unwrap(), "{command}").unwrap();
    }

    /// The next line with a text, of those that were not returned yet.
    fn line(&mut self, text: &str) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(at) = self.seen.iter().position(|line| line.contains(text)) {
                return self.seen.remove(at);
            }
            let left = end.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left);
            self.seen.push(line.unwrap_or_else(|_| panic!("no line with {text:?} among {:?}", self.seen)));
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // The end of its input ends it.
        self.input = None;
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end && self.child.try_wait().is_ok_and(|status| status.is_none()) {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn nodes_of_rmw_zenoh_exchange_messages_and_calls() {
    let a = Machine::listening();
    let Some(mut peer) = Peer::start(&a.locators[0]) else { return };
    // From Situ: its node, its publisher with the hash of ROS, and its messages with the GID of that token.
    let from = a.publisher("from_situ", STRING, PublisherQos::default());
    a.wait_for_subscribers(&from, 1);
    let node = peer.line("/NN/%/%/test\"");
    assert!(node.contains("\"alive\": true"), "{node}");
    let token = peer.line("%from_situ");
    let hash = "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18";
    assert!(
        token.contains(&format!("/MP/%/%/test/%from_situ/std_msgs::msg::dds_::String_/{hash}/2:2:1,8:")),
        "{token}"
    );
    for (number, text) in ["hello", "again"].iter().enumerate() {
        publish(&from, &[], &string(text));
        let line = peer.line(&format!("\"received\": \"{text}\""));
        assert!(line.contains(&format!("\"sequence\": {}", number + 1)), "{line}");
    }
    publish(&from, &[], &string(&"x".repeat(3_000_000)));
    peer.line("\"length\": 3000000");
    // To Situ: its topic before a program here uses its type; the node with its namespace, the publisher, and
    // its messages.
    until("the topic", || inspect::topic(&a.root, "from_zenoh").unwrap().is_some());
    let to = a.subscriber("from_zenoh", STRING);
    let shown = || {
        let graph = a.node.graph().unwrap();
        let node = graph.nodes.into_iter().find(|it| it.info.full_name() == "/robots/zenoh_node");
        node.is_some_and(|it| {
            it.endpoints.iter().any(|it| it.role == EndpointRole::Publisher && it.name == "from_zenoh")
        })
    };
    until("the node and its publisher", shown);
    peer.line("/MS/%/%/test/%from_zenoh/");
    until("the bridge subscribes", || {
        a.status().crossings.iter().any(|it| it.name == "from_zenoh" && it.is_active)
    });
    // Zenoh sends as soon as it knows of the subscriber, which takes a moment.
    let end = Instant::now() + PATIENCE;
    while to.take().unwrap().is_none() {
        assert!(Instant::now() < end);
        peer.tell("publish first");
        to.wait(Some(std::time::Duration::from_millis(100)));
    }
    peer.tell("publish last");
    let mut text = take(&to).1;
    while text == string("first") {
        text = take(&to).1;
    }
    assert_eq!(text, string("last"));
    // Its token goes, and so does the publisher here.
    peer.tell("forget");
    until("no publisher", || !shown());
    // Calls, both ways.
    let server = RawServer::create(&a.node, "add", &add_two_ints(), &ServiceOptions::default()).unwrap();
    let hash = "RIHS01_e118de6bf5eeb66a2491b5bda11202e7b68f198d6f67922cf30364858239c81a";
    let token = peer.line("/SS/%/%/test/%add/");
    assert!(token.contains(&format!("example_interfaces::srv::dds_::AddTwoInts_/{hash}/")), "{token}");
    until("the service is offered", || {
        a.status().crossings.iter().any(|it| it.is_service && it.name == "add")
    });
    peer.tell("call 40 2");
    answer(&server);
    let line = peer.line("\"sum\"");
    assert!(line.contains("\"sum\": 42") && line.contains("\"is_own\": true"), "{line}");
    let client = RawClient::create(&a.node, "multiply", &add_two_ints(), &ServiceOptions::default()).unwrap();
    until("the server of the other machine", || client.servers() == 1);
    peer.line("/SC/%/%/test/%multiply/");
    let number = call(&client, 6, 7);
    assert_eq!(reply(&client, number).unwrap(), 42);
    peer.line("\"asked\": [6, 7]");
}
