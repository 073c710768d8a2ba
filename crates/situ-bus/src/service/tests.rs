//! Hostile participants of a service's topics, and moments that a program cannot choose.

use std::time::Duration;

use situ_memory::sync::atomic::Ordering;
use situ_testkit::Scratch;

use super::client::RawClient;
use super::description::ServiceDescription;
use super::errors::{AnswerError, ReplyError, RequestError};
use super::header::{ReplyHeader, ReplyKind, RequestHeader, RequestKind};
use super::options::ServiceOptions;
use super::qos;
use super::request::RequestId;
use super::server::RawServer;
use crate::node::endpoint::EndpointId;
use crate::node::handle::Node;
use crate::port::placement::Placement;
use crate::port::publisher::RawPublisher;
use crate::port::subscriber::RawSubscriber;
use crate::root::Root;
use crate::topic::{Encoding, MissingForms, TypeDescription, names};

const SERVICE: &str = "hostile";

fn described() -> ServiceDescription {
    let one = TypeDescription {
        name: "test::Number".to_owned(),
        schema: "module test {\n  struct Number {\n    uint64 value;\n  };\n};\n".to_owned(),
        schema_hash: 1,
        layout_hash: 2,
        encoding: Encoding::Flat,
        fixed_size: 8,
        user_header_size: 0,
    };
    ServiceDescription { request: one.clone(), reply: one }
}

fn node(scratch: &Scratch) -> Node {
    Node::in_root("node", Root::at(scratch.path(), None)).unwrap()
}

fn both(node: &Node) -> (RawClient, RawServer) {
    let options = ServiceOptions::default();
    let client = RawClient::create(node, SERVICE, &described(), &options).unwrap();
    (client, RawServer::create(node, SERVICE, &described(), &options).unwrap())
}

/// A publisher on a topic of a service.
fn intruder(node: &Node, topic: &str, description: &TypeDescription) -> RawPublisher {
    let (qos, place) = (qos::sending(&ServiceOptions::default()), Placement::default());
    RawPublisher::create_hidden(node, topic, description, qos, &place).unwrap()
}

fn publish(publisher: &RawPublisher, header: impl FnOnce(&mut [u8])) {
    let mut loan = publisher.loan(8, 8, 0).unwrap();
    header(loan.user_header_mut());
    loan.publish().unwrap();
}

#[test]
fn requests_without_a_valid_header_are_errors_that_name_the_client() {
    let scratch = Scratch::new("service");
    let node = node(&scratch);
    let (client, server) = both(&node);
    let intruder = intruder(&node, &names::of_requests(SERVICE), &described().of_requests());
    publish(&intruder, |_| {});
    publish(&intruder, |header| header.fill(0xff));
    // A cancellation of a call that does not exist, and a deadline that was over long ago.
    publish(&intruder, |header| {
        RequestHeader { call: 7, deadline_ns: 0, kind: RequestKind::Cancel }.write(header);
    });
    publish(&intruder, |header| {
        RequestHeader { call: 7, deadline_ns: 1, kind: RequestKind::Call }.write(header);
    });
    let call = client.loan(8, 8, 0).unwrap().send(None).unwrap();
    for _ in 0..2 {
        let error = server.take().unwrap_err();
        assert!(
            matches!(error, RequestError::Malformed { client, .. } if client == intruder.id()),
            "{error}"
        );
    }
    let request = server.take().unwrap().unwrap();
    assert_eq!((request.id().call, request.id().client, server.expired()), (call, client.id(), 1));
}

#[test]
fn a_request_of_a_client_without_a_topic_of_replies_cannot_be_answered() {
    let scratch = Scratch::new("service");
    let node = node(&scratch);
    let (_client, server) = both(&node);
    let intruder = intruder(&node, &names::of_requests(SERVICE), &described().of_requests());
    publish(&intruder, |header| {
        RequestHeader { call: 7, deadline_ns: 0, kind: RequestKind::Call }.write(header);
    });
    let request = server.take().unwrap().unwrap();
    let gone = |error| matches!(error, AnswerError::ClientGone { .. });
    assert!(gone(server.refuse(&request.id(), 0, "").unwrap_err()));
    // A program that makes an id up.
    let client = EndpointId { number: 99, ..intruder.id() };
    let id = RequestId { client, call: 1, sent_at_ns: u64::MAX };
    assert!(gone(server.end(&id).unwrap_err()));
    assert_eq!(std::fs::read_dir(scratch.path().join("topics")).unwrap().count(), 2);
}

#[test]
fn replies_that_no_server_of_the_call_sends_are_ignored_or_errors() {
    let scratch = Scratch::new("service");
    let node = node(&scratch);
    let (client, server) = both(&node);
    let topic = names::of_replies(client.id().number);
    let intruder = intruder(&node, &topic, &described().of_replies());
    let send = |call, kind| {
        publish(&intruder, |header| ReplyHeader { call, code: 0, kind }.write(header));
    };
    let call = client.loan(8, 8, 0).unwrap().send(None).unwrap();
    for wrong in [0, call + 1, u64::MAX] {
        send(wrong, ReplyKind::Reply);
        send(wrong, ReplyKind::End);
    }
    assert!(client.take().unwrap().is_none());
    publish(&intruder, |header| header.fill(9));
    let error = client.take().unwrap_err();
    assert!(matches!(error, ReplyError::Malformed { server, .. } if server == intruder.id()), "{error}");
    // Once a server has begun to answer, another one cannot go on.
    let request = server.take().unwrap().unwrap();
    server.loan(&request.id(), 8, 8, 0).unwrap().send_part().unwrap();
    send(call, ReplyKind::Part);
    send(call, ReplyKind::End);
    server.refuse(&request.id(), 3, "\u{1b}").unwrap();
    assert!(!client.take().unwrap().unwrap().is_last());
    let limit = Some(Duration::from_secs(20));
    assert!(matches!(client.receive_of(call, limit), Err(ReplyError::Refused { code: 3, .. })));
    // Text that is no text.
    let call = client.loan(8, 8, 0).unwrap().send(None).unwrap();
    let mut loan = intruder.loan(2, 1, 0).unwrap();
    loan.head_bytes().copy_from_slice(&[0xff, 0xfe]);
    ReplyHeader { call, code: 4, kind: ReplyKind::Refusal }.write(loan.user_header_mut());
    loan.publish().unwrap();
    let Err(ReplyError::Refused { text, .. }) = client.take() else { panic!() };
    assert_eq!(text, "\u{fffd}\u{fffd}");
}

#[test]
fn topics_of_a_service_with_one_client_keep_the_rows_that_they_were_created_with() {
    for server_is_first in [false, true] {
        let scratch = Scratch::new("service");
        let node = node(&scratch);
        let options = ServiceOptions::default();
        let client = || RawClient::create(&node, SERVICE, &described(), &options).unwrap();
        let server = || RawServer::create(&node, SERVICE, &described(), &options).unwrap();
        let (client, server) = if server_is_first {
            let server = server();
            (client(), server)
        } else {
            both(&node)
        };
        client.loan(8, 8, 0).unwrap().send(None).unwrap();
        let request = server.take().unwrap().unwrap();
        server.end(&request.id()).unwrap();
        let files: Vec<_> = std::fs::read_dir(scratch.path().join("topics"))
            .unwrap()
            .flat_map(|topic| std::fs::read_dir(topic.unwrap().path()).unwrap())
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        assert!(!files.iter().any(|file| file.ends_with(".1")), "{files:?}");
    }
}

#[test]
fn a_server_that_is_joining_may_answer() {
    let scratch = Scratch::new("service");
    let node = node(&scratch);
    let (client, server) = both(&node);
    let call = client.loan(8, 8, 0).unwrap().send(None).unwrap();
    // It is among the servers, and has not written yet since when.
    let place = &server.requests().core().own;
    let joined_at = place.joined_at.swap(u64::MAX, Ordering::Relaxed);
    std::thread::sleep(Duration::from_millis(20));
    assert!(client.take_of(call).unwrap().is_none() && !client.has_next());
    place.joined_at.store(joined_at, Ordering::Relaxed);
    drop(server);
    let limit = Some(Duration::from_secs(20));
    assert!(matches!(client.receive_of(call, limit), Err(ReplyError::ServerGone { .. })));
}

#[test]
fn a_stranger_on_the_topic_of_replies_is_not_the_client() {
    let scratch = Scratch::new("service");
    let (own, strange) = (node(&scratch), node(&scratch));
    let (client, server) = both(&own);
    client.loan(8, 8, 0).unwrap().send(None).unwrap();
    let request = server.take().unwrap().unwrap();
    let topic = names::of_replies(client.id().number);
    let (qos, place) = (qos::taking(&ServiceOptions::default()), Placement::default());
    let replies = described().of_replies();
    let stranger =
        RawSubscriber::create_hidden(MissingForms::default(), &strange, &topic, &replies, qos, &place, 0);
    let stranger = stranger.unwrap();
    server.loan(&request.id(), 8, 8, 0).unwrap().send_part().unwrap();
    assert!(stranger.take().unwrap().is_some());
    // The client has its own node: another client in the server's node would be taken for it.
    drop(client);
    let error = server.end(&request.id()).unwrap_err();
    assert!(matches!(error, AnswerError::ClientGone { .. }), "{error}");
}

#[test]
fn deadlines_are_found_among_replies_to_others() {
    let scratch = Scratch::new("service");
    let node = node(&scratch);
    let (client, server) = both(&node);
    let busy = client.loan(8, 8, 0).unwrap().send(None).unwrap();
    let late = client.loan(8, 8, 0).unwrap().send(Some(Duration::from_millis(1))).unwrap();
    let request = server.take().unwrap().unwrap();
    std::thread::sleep(Duration::from_millis(30));
    let mut results = (0..200).map(|_| {
        server.loan(&request.id(), 8, 8, 0).unwrap().send_part().unwrap();
        client.take()
    });
    let error = results.find_map(Result::err);
    assert!(matches!(error, Some(ReplyError::Deadline { call, .. }) if call == late), "{error:?}");
    assert!(client.is_under_way(busy));
}

#[test]
fn an_alarm_finds_a_deadline_after_many_takes() {
    let scratch = Scratch::new("service");
    let node = node(&scratch);
    let (client, _server) = both(&node);
    let fd = client.event_fd().unwrap();
    let call = client.loan(8, 8, 0).unwrap().send(Some(Duration::from_secs(1))).unwrap();
    // So many that they stop reading the clock.
    for _ in 0..100 {
        assert!(client.take_of(call).unwrap().is_none());
    }
    std::thread::sleep(Duration::from_millis(1200));
    fd.clear();
    assert!(matches!(client.take_of(call), Err(ReplyError::Deadline { .. })));
}
