//! Services whose messages carry no time stamps: calls work, and the death of a client is noticed as well.
#![cfg(not(loom))]

mod common;

use std::time::{Duration, Instant};

use common::{Scratch, numbers, role};
use situ_bus::{AnswerError, Node, RawClient, RawServer, ServiceDescription, ServiceOptions, now_ns};
use situ_testkit::process::{Role, say};

/// Long enough for a busy machine.
const LONG: Duration = Duration::from_secs(20);

fn options(stamps: bool) -> ServiceOptions {
    ServiceOptions { stamps, ..ServiceOptions::default() }
}

fn client(node: &Node, stamps: bool) -> RawClient {
    let description = ServiceDescription { request: numbers(), reply: numbers() };
    RawClient::create(node, "add", &description, &options(stamps)).unwrap()
}

fn server(node: &Node, stamps: bool) -> RawServer {
    let description = ServiceDescription { request: numbers(), reply: numbers() };
    RawServer::create(node, "add", &description, &options(stamps)).unwrap()
}

fn call(client: &RawClient) -> u64 {
    let mut loan = client.loan(8, 8, 0).unwrap();
    loan.head_bytes().fill(0);
    loan.send(None).unwrap()
}

/// The stamps of the request and of the reply of one call.
fn stamps(of_client: bool, of_server: bool) -> [u64; 2] {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let (server, client) = (server(&node, of_server), client(&node, of_client));
    let call = call(&client);
    let request = server.take().unwrap().unwrap();
    assert_eq!(request.id().sent_at_ns, request.sample().published_at_ns());
    let mut loan = server.loan(&request.id(), 8, 8, 0).unwrap();
    loan.head_bytes().fill(0);
    loan.send().unwrap();
    let reply = client.take_of(call).unwrap().unwrap();
    [request.sample().published_at_ns(), reply.sample().published_at_ns()]
}

#[test]
fn each_side_decides_whether_its_messages_have_stamps() {
    for (of_client, of_server) in [(true, true), (true, false), (false, true), (false, false)] {
        let before = now_ns();
        let found = stamps(of_client, of_server);
        let after = now_ns();
        for (stamp, has_one) in found.into_iter().zip([of_client, of_server]) {
            match has_one {
                true => assert!((before..=after).contains(&stamp), "{before} {stamp} {after}"),
                false => assert_eq!(stamp, 0),
            }
        }
    }
}

#[test]
#[ignore = "played by the children of the other tests"]
fn child() {
    let Some((_, scratch)) = role() else { return };
    let client = client(&scratch.node("child"), false);
    call(&client);
    say("called");
    std::thread::sleep(Duration::MAX);
}

#[test]
fn the_death_of_a_client_without_stamps_is_an_error() {
    let scratch = Scratch::new();
    let server = server(&scratch.node("server"), true);
    let mut child = Role::start(&scratch, "call");
    child.wait_for("called");
    let request = server.take().unwrap().unwrap();
    let part = || {
        let mut loan = server.loan(&request.id(), 8, 8, 0)?;
        loan.head_bytes().fill(0);
        loan.send_part()
    };
    part().unwrap();
    child.kill();
    let start = Instant::now();
    let error = loop {
        match part() {
            Err(error @ AnswerError::ClientGone { .. }) => break error,
            // Also while the client's room is full.
            _ => assert!(start.elapsed() < LONG),
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    assert!(error.to_string().contains("add"), "{error}");
    assert!(request.is_cancelled());
}
