//! What the network does to bridges: cut cables, dead bridges, and peers that send nonsense.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::{Machine, Setup, publish, string, take, until};
use crate::services::{across, answer, call, reply, request};
use situ_bus::{Durability, PublisherQos, ReplyError, SubscriberQos, inspect};
use zenoh::Wait;

const STRING: &str = "std_msgs::msg::String";
const DDS: &str = "std_msgs::msg::dds_::String_";
const HASH: &str = "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18";

/// A cable between two machines: a forwarder of TCP that can be cut.
struct Cable {
    locator: String,
    is_cut: Arc<AtomicBool>,
    ends: Arc<Mutex<Vec<TcpStream>>>,
}

impl Cable {
    fn to(locator: &str) -> Self {
        let target = locator.strip_prefix("tcp/").unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let locator = format!("tcp/{}", listener.local_addr().unwrap());
        let (is_cut, ends) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let (cut, open) = (is_cut.clone(), ends.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                if cut.load(Ordering::SeqCst) {
                    continue;
                }
                let Ok(other) = TcpStream::connect(&target) else { continue };
                open.lock().unwrap().extend([stream.try_clone().unwrap(), other.try_clone().unwrap()]);
                for (mut from, mut to) in
                    [(stream.try_clone().unwrap(), other.try_clone().unwrap()), (other, stream)]
                {
                    std::thread::spawn(move || {
                        let mut bytes = [0; 65536];
                        while let Ok(size @ 1..) = from.read(&mut bytes) {
                            if to.write_all(&bytes[..size]).is_err() {
                                break;
                            }
                        }
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
            }
        });
        Self { locator, is_cut, ends }
    }

    fn cut(&self) {
        self.is_cut.store(true, Ordering::SeqCst);
        for end in self.ends.lock().unwrap().drain(..) {
            let _ = end.shutdown(Shutdown::Both);
        }
    }

    fn mend(&self) {
        self.is_cut.store(false, Ordering::SeqCst);
    }
}

/// Two machines, and the cable over which the second one connects to the first.
fn over_a_cable() -> (Machine, Machine, Cable) {
    let a = Machine::listening();
    let cable = Cable::to(&a.locators[0]);
    let b = Machine::new(Setup {
        listen: false,
        connect: vec![cable.locator.clone()],
        mode: Some("client"),
        ..Setup::default()
    });
    (a, b, cable)
}

#[test]
fn a_cut_cable_is_seen_and_mended() {
    let (a, b, cable) = over_a_cable();
    let kept = PublisherQos { durability: Durability::TransientLocal, depth: 1, ..PublisherQos::default() };
    let (map, pose) =
        (a.publisher("map", STRING, kept), a.publisher("pose", STRING, PublisherQos::default()));
    let wants = SubscriberQos { durability: Durability::TransientLocal, ..SubscriberQos::default() };
    let (to_map, to_pose) = (b.subscriber_with("map", STRING, wants), b.subscriber("pose", STRING));
    let remote = |machine: &Machine| {
        let graph = machine.node.graph().unwrap();
        graph
            .endpoints()
            .filter(|(node, it)| {
                node.id != machine.node.id()
                    && it.name == "pose"
                    && it.role == situ_bus::EndpointRole::Publisher
            })
            .count()
    };
    a.wait_for_subscribers(&pose, 1);
    a.wait_for_subscribers(&map, 1);
    publish(&map, &[], &string("first"));
    assert_eq!(take(&to_map).1, string("first"));
    for _ in 0..2 {
        cable.cut();
        // The publisher of the other machine is gone here, and the subscriber there.
        until("the publisher is gone", || remote(&b) == 0);
        a.wait_for_subscribers(&pose, 0);
        cable.mend();
        until("the publisher is back", || remote(&b) == 1);
        a.wait_for_subscribers(&pose, 1);
        publish(&pose, &[], &string("again"));
        assert_eq!(take(&to_pose).1, string("again"));
    }
    publish(&map, &[], &string("second"));
    // What was kept may come again, since its publisher has come again.
    let mut text = take(&to_map).1;
    while text == string("first") {
        text = take(&to_map).1;
    }
    assert_eq!(text, string("second"));
}

#[test]
fn the_end_of_a_bridge_is_seen() {
    let a = Machine::listening();
    let mut b = Machine::connected(&a);
    let from = b.publisher("chatter", STRING, PublisherQos::default());
    let to = a.subscriber("chatter", STRING);
    b.wait_for_subscribers(&from, 1);
    assert_eq!(
        (a.status().bridges.len(), inspect::topic(&a.root, "chatter").unwrap().unwrap().publishers.len()),
        (1, 1)
    );
    b.end_bridge();
    until("no bridge, no node, no publisher", || {
        let status = a.status();
        let living = inspect::topic(&a.root, "chatter")
            .unwrap()
            .unwrap()
            .publishers
            .iter()
            .filter(|it| it.alive)
            .count();
        status.bridges.is_empty() && status.remote_nodes == 0 && living == 0
    });
    assert_eq!(from.subscribers(), 0);
    drop(to);
}

fn stranger(to: &Machine) -> zenoh::Session {
    let mut config = zenoh::Config::default();
    config.insert_json5("mode", "\"client\"").unwrap();
    config.insert_json5("scouting/multicast/enabled", "false").unwrap();
    config.insert_json5("connect/endpoints", &format!("[\"{}\"]", to.locators[0])).unwrap();
    zenoh::open(config).wait().unwrap()
}

#[test]
fn types_of_ros_need_no_program_here() {
    let a = Machine::listening();
    let session = stranger(&a);
    let zid = session.zid();
    let tokens: Vec<_> = [
        format!("@ros2_lv/0/{zid}/0/0/NN/%/%/talker"),
        format!("@ros2_lv/0/{zid}/0/1/MP/%/%/talker/%chatter/{DDS}/{HASH}/::,10:,:,:,,"),
        format!(
            "@ros2_lv/0/{zid}/0/2/MP/%/%/talker/%other/{DDS}/{}/::,10:,:,:,,",
            HASH.replace("df66", "df67")
        ),
    ]
    .into_iter()
    .map(|text| session.liveliness().declare_token(text).wait().unwrap())
    .collect();
    // Such a node does not tell its type. The bridge knows it, with this hash and with no other one.
    let known = || inspect::topic(&a.root, "chatter").unwrap().map(|topic| topic.description);
    until("the topic", || known().is_some());
    let expected = crate::common::description(STRING);
    let told = known().unwrap();
    assert_eq!(
        (told.name.as_str(), told.schema, told.schema_hash),
        (STRING, expected.schema, expected.schema_hash)
    );
    until("the topic of a type that is not known", || a.status().untyped == ["/other"]);
    assert!(inspect::topic(&a.root, "other").unwrap().is_none());
    drop(tokens);
}

#[test]
fn a_cut_cable_ends_calls() {
    let (a, b, cable) = over_a_cable();
    let (there, back) = (across(&a, &b, "there"), across(&b, &a, "back"));
    let calls = [&there, &back].map(|(_, client)| call(client, 1, 2));
    let requests = [&there, &back].map(|(server, _)| request(server));
    cable.cut();
    for (((server, client), call), request) in [&there, &back].into_iter().zip(calls).zip(&requests) {
        // For the client, its server has ended; for the server, its client.
        let error = reply(client, call).unwrap_err();
        assert!(matches!(error, ReplyError::ServerGone { .. }), "{error}");
        until("the server sees it", || {
            server.collect().unwrap();
            request.is_cancelled()
        });
    }
    cable.mend();
    for (server, client) in [&there, &back] {
        until("a server", || client.servers() == 1);
        let again = call(client, 3, 4);
        answer(server);
        assert_eq!(reply(client, again).unwrap(), 7);
    }
}

#[test]
fn nonsense_of_a_peer_is_refused_and_counted() {
    let a = Machine::listening();
    let to = a.subscriber("chatter", STRING);
    let session = stranger(&a);
    let zid = session.zid();
    let token = |text: String| session.liveliness().declare_token(text).wait().unwrap();
    let mut tokens = vec![token(format!("@ros2_lv/0/{zid}/0/0/NN/%/%/talker"))];
    let good = format!("@ros2_lv/0/{zid}/0/1/MP/%/%/talker/%chatter/{DDS}/{HASH}/::,10:,:,:,,");
    tokens.push(token(good));
    for bad in [
        format!("@ros2_lv/0/{zid}/0/2/XX/%/%/talker"),
        format!("@ros2_lv/0/{zid}/0/3/MP/%/%/talker/%chatter"),
        format!("@ros2_lv/0/{zid}/0/4/MP/%/%/talker/%chatter/{DDS}/{HASH}/nonsense"),
        format!("@ros2_lv/0/{zid}/0/5/MP/%/%/{}/%x/{DDS}/{HASH}/::,10:,:,:,,", "n".repeat(400)),
        format!("@ros2_lv/0/{zid}/0/6/MP/%/%/talker/%chatter/a::msg::dds_::Unknown_/RIHS01_0/::,10:,:,:,,"),
        format!("@situ_lv/0/{zid}/0/7/MP/%/%/talker/x/T/SITU_0/::,99999999:,:,:,,"),
        format!("@situ_bridge/0/{zid}/x"),
        format!("@situ_bridge/0/{zid}/00/\x1b[2J"),
    ] {
        tokens.push(token(bad));
    }
    let key = format!("0/chatter/{DDS}/{HASH}");
    let publisher = session.declare_publisher(key.clone()).wait().unwrap();
    until("the bridge subscribes", || publisher.matching_status().wait().unwrap().matching());
    let attachment = |gid_length: u8| {
        let mut bytes = vec![1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, gid_length];
        bytes.extend_from_slice(&[7; 16]);
        bytes
    };
    publisher.put(string("no attachment")).wait().unwrap();
    for bad in [vec![], vec![0; 32], attachment(15), vec![16; 5000]] {
        publisher.put(string("bad attachment")).attachment(bad).wait().unwrap();
    }
    publisher.put(vec![0, 1]).attachment(attachment(16)).wait().unwrap();
    // Everything after the nonsense is as if there had been none.
    publisher.put(string("good")).attachment(attachment(16)).wait().unwrap();
    assert_eq!(take(&to).1, string("good"));
    let crossing = a.status().crossings.into_iter().find(|it| it.name == "chatter" && it.is_active).unwrap();
    until("counts", || {
        let now = a.status().crossings.into_iter().find(|it| it.key == crossing.key).unwrap().counts;
        (now.messages, now.refused) == (1, 6)
    });
    assert!(a.warnings().iter().any(|text| text.contains("no attachment")), "{:?}", a.warnings());
    assert!(a.warnings().iter().any(|text| text.contains("malformed kind")), "{:?}", a.warnings());
    assert!(a.warnings().iter().any(|text| text.contains("bridge is malformed")), "{:?}", a.warnings());
    assert!(a.warnings().iter().all(|text| !text.contains('\x1b')), "{:?}", a.warnings());
    assert!(a.status().bridges.is_empty());
    // Queries for types that do not exist, and for others.
    for question in ["@situ_type/0/x/y", "@situ_type/0/**"] {
        assert!(session.get(question).timeout(Duration::from_secs(5)).wait().unwrap().recv().is_err());
    }
    session.close().wait().unwrap();
    until("the nodes are gone", || a.status().remote_nodes == 0);
}

#[test]
fn a_false_schema_is_refused() {
    let a = Machine::listening();
    let session = stranger(&a);
    let zid = session.zid();
    let false_type = "situ-type 1\nname demo::Pose\nencoding flat\nlayout 0000000000000000\nsize 0\n\n\
                      module demo { @flat struct Pose { int32 x; }; };";
    let _answers = session
        .declare_queryable("@situ_type/0/**")
        .callback(move |query| {
            let _ = query.reply(query.key_expr().clone(), false_type).wait();
        })
        .wait()
        .unwrap();
    let tokens: Vec<_> = [
        format!("@situ_bridge/0/{zid}/00/stranger"),
        format!("@situ_lv/0/{zid}/0/0/NN/%/%/talker"),
        format!("@situ_lv/0/{zid}/0/1/MP/%/%/talker/pose/demo::Pose/SITU_0123456789abcdef/::,10:,:,:,,"),
    ]
    .into_iter()
    .map(|text| session.liveliness().declare_token(text).wait().unwrap())
    .collect();
    until("a warning", || a.warnings().iter().any(|text| text.contains("other bridge told")));
    assert!(inspect::topic(&a.root, "pose").unwrap().is_none());
    assert_eq!(a.status().untyped, ["pose"]);
    drop(tokens);
}
