//! Services between machines.

use std::time::{Duration, Instant};

use crate::common::{Machine, PATIENCE, description, until};
use situ_bus::{Encoding, RawClient, RawServer, ReplyError, ServiceDescription, ServiceOptions};

pub fn add_two_ints() -> ServiceDescription {
    let flat = |name: &str| {
        let it = description(name);
        situ_bus::TypeDescription { encoding: Encoding::Flat, ..it }
    };
    ServiceDescription {
        request: flat("example_interfaces::srv::AddTwoInts_Request"),
        reply: flat("example_interfaces::srv::AddTwoInts_Response"),
    }
}

fn number(bytes: &[u8]) -> i64 {
    i64::from_le_bytes(bytes[..8].try_into().unwrap())
}

/// Answers one request with the sum.
pub fn answer(server: &RawServer) {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(request) = server.take().unwrap() {
            let head = request.sample().head_in_place();
            let sum = number(head) + number(&head[8..]);
            let mut loan = server.loan(&request.id(), 8, 8, 0).unwrap();
            loan.head_bytes().copy_from_slice(&sum.to_le_bytes());
            loan.send().unwrap();
            return;
        }
        assert!(Instant::now() < end, "no request");
        server.requests().wait(Some(Duration::from_millis(20)));
    }
}

pub fn call(client: &RawClient, a: i64, b: i64) -> u64 {
    let mut loan = client.loan(16, 8, 0).unwrap();
    loan.head_bytes().copy_from_slice(&[a.to_le_bytes(), b.to_le_bytes()].concat());
    loan.send(Some(PATIENCE)).unwrap()
}

pub fn reply(client: &RawClient, call: u64) -> Result<i64, ReplyError> {
    let end = Instant::now() + PATIENCE;
    loop {
        match client.take_of(call) {
            Ok(Some(reply)) => return Ok(number(reply.sample().head_in_place())),
            Ok(None) => client.replies().wait(Some(Duration::from_millis(20))),
            Err(error) => return Err(error),
        };
        assert!(Instant::now() < end, "no reply");
    }
}

#[test]
fn services_are_called_from_another_machine() {
    let a = Machine::listening();
    let b = Machine::connected(&a);
    let server = RawServer::create(&a.node, "add", &add_two_ints(), &ServiceOptions::default()).unwrap();
    let client = RawClient::create(&b.node, "add", &add_two_ints(), &ServiceOptions::default()).unwrap();
    until("a server", || client.servers() == 1);
    for (one, other) in [(1, 2), (-5, 3), (i64::MAX - 1, 1)] {
        let call = call(&client, one, other);
        answer(&server);
        assert_eq!(reply(&client, call).unwrap(), one + other);
    }
    // A request that the server refuses, and its reason.
    let refused = call(&client, 1, 1);
    let request = loop {
        if let Some(request) = server.take().unwrap() {
            break request;
        }
        server.requests().wait(Some(Duration::from_millis(20)));
    };
    server.refuse(&request.id(), 7, "too small").unwrap();
    let error = reply(&client, refused).unwrap_err();
    assert!(error.to_string().contains("too small"), "{error}");
    // The server goes, and so does the one here.
    drop(server);
    until("no server", || client.servers() == 0);
}

#[test]
fn a_server_here_is_nearer() {
    let a = Machine::listening();
    let b = Machine::connected(&a);
    let there = RawServer::create(&a.node, "add", &add_two_ints(), &ServiceOptions::default()).unwrap();
    let here = RawServer::create(&b.node, "add", &add_two_ints(), &ServiceOptions::default()).unwrap();
    until("both are offered", || {
        let has =
            |machine: &Machine| machine.status().crossings.iter().any(|it| it.is_service && it.name == "add");
        has(&a) && has(&b)
    });
    let client = RawClient::create(&b.node, "add", &add_two_ints(), &ServiceOptions::default()).unwrap();
    let call = call(&client, 20, 22);
    answer(&here);
    assert_eq!(reply(&client, call).unwrap(), 42);
    assert!(there.take().unwrap().is_none());
}
