//! Services whose participants keep only the last messages of others.
#![cfg(not(loom))]

mod common;

use std::time::Duration;

use common::{Scratch, numbers};
use situ_bus::{
    Node, RawClient, RawReply, RawRequest, RawServer, RequestId, ServiceDescription, ServiceOptions,
    TypeDescription,
};

fn service() -> ServiceDescription {
    let one = |name: &str| TypeDescription { name: name.to_owned(), fixed_size: 8, ..numbers() };
    ServiceDescription { request: one("test::Request"), reply: one("test::Reply") }
}

fn client_with(node: &Node, options: &ServiceOptions) -> RawClient {
    RawClient::create(node, "add", &service(), options).unwrap()
}

fn server_with(node: &Node, options: &ServiceOptions) -> RawServer {
    RawServer::create(node, "add", &service(), options).unwrap()
}

fn call(client: &RawClient, value: u64) -> u64 {
    let mut loan = client.loan(8, 8, 0).unwrap();
    loan.head_bytes().copy_from_slice(&value.to_le_bytes());
    loan.send(None).unwrap()
}

fn value_of(request: &RawRequest) -> u64 {
    u64::from_le_bytes(request.sample().head_in_place().try_into().unwrap())
}

fn value(reply: &RawReply) -> u64 {
    u64::from_le_bytes(reply.sample().head_in_place().try_into().unwrap())
}

fn answer(server: &RawServer, request: &RequestId, value: u64) {
    let mut loan = server.loan(request, 8, 8, 0).unwrap();
    loan.head_bytes().copy_from_slice(&value.to_le_bytes());
    loan.send().unwrap();
}

fn take(server: &RawServer) -> RawRequest {
    assert!(server.wait(Some(Duration::from_secs(20))), "a request was sent");
    server.take().unwrap().expect("a request was sent")
}

fn reply_to(client: &RawClient, call: u64) -> u64 {
    value(&client.receive_of(call, Some(Duration::from_secs(20))).unwrap().expect("it was answered"))
}

#[test]
fn a_server_that_keeps_the_last_requests_holds_nobody_back() {
    let scratch = Scratch::new();
    let patient = ServiceOptions { max_calls: 100, ..Default::default() };
    let first = client_with(&scratch.node("first"), &patient);
    let second = client_with(&scratch.node("second"), &patient);
    let server = server_with(&scratch.node("server"), &ServiceOptions { keep_last: 3, ..Default::default() });
    // More than a client's requests have room, of two clients by turns.
    let calls: Vec<_> = (0..100).map(|value| (call(&first, value), call(&second, 1000 + value))).collect();
    let kept: Vec<_> = std::iter::from_fn(|| server.take().unwrap()).collect();
    assert_eq!(kept.iter().map(value_of).collect::<Vec<_>>(), [1098, 99, 1099]);
    for request in &kept {
        answer(&server, &request.id(), value_of(request) + 1);
    }
    assert_eq!(reply_to(&first, calls[99].0), 100);
    assert_eq!((reply_to(&second, calls[98].1), reply_to(&second, calls[99].1)), (1099, 1100));
    // A call whose request was skipped is under way until it is cancelled.
    assert!(first.take_of(calls[98].0).unwrap().is_none());
    first.cancel(calls[98].0).unwrap();
    assert!(!first.is_under_way(calls[98].0));
}

#[test]
fn a_client_that_keeps_the_last_replies_never_fills_up() {
    let scratch = Scratch::new();
    let options = ServiceOptions { keep_last: 2, max_calls: 100, ..Default::default() };
    let client = client_with(&scratch.node("client"), &options);
    let server = server_with(&scratch.node("server"), &ServiceOptions { depth: 4, ..Default::default() });
    let calls: Vec<_> = (0..20).map(|value| call(&client, value)).collect();
    for value in 0..20 {
        answer(&server, &take(&server).id(), value);
    }
    let replies: Vec<_> = std::iter::from_fn(|| client.take().unwrap()).collect();
    let taken: Vec<_> = replies.iter().map(|reply| (reply.call(), value(reply))).collect();
    assert_eq!(taken, [(calls[18], 18), (calls[19], 19)]);
}
