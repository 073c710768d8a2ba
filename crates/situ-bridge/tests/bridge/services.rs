//! Services between machines: single replies, refusals, replies in parts, cancelled calls, and servers that
//! end.

use std::time::{Duration, Instant};

use crate::common::{Machine, PATIENCE, description, until};
use situ_bus::{Encoding, RawClient, RawRequest, RawServer, ReplyError, ServiceDescription, ServiceOptions};

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
    let ReplyError::Refused { code, text, .. } = &error else { panic!("{error}") };
    assert_eq!((*code, text.as_str()), (7, "too small"));
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

/// Waits for the next request.
pub fn request(server: &RawServer) -> RawRequest {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(request) = server.take().unwrap() {
            return request;
        }
        assert!(Instant::now() < end, "no request");
        server.requests().wait(Some(Duration::from_millis(20)));
    }
}

fn send_part(server: &RawServer, request: &RawRequest, sum: i64) {
    let mut loan = server.loan(&request.id(), 8, 8, 0).unwrap();
    loan.head_bytes().copy_from_slice(&sum.to_le_bytes());
    loan.send_part_within(PATIENCE).unwrap();
}

/// The next reply to a call, or part of one: its number if it has content, and whether it is the last.
fn next(client: &RawClient, call: u64) -> Result<(Option<i64>, bool), ReplyError> {
    let reply = client.receive_of(call, Some(PATIENCE))?.expect("no reply");
    let content = reply.has_content().then(|| number(reply.sample().head_in_place()));
    Ok((content, reply.is_last()))
}

/// A server of a service on one machine, and a client on another that sees it.
pub fn across(from: &Machine, to: &Machine, name: &str) -> (RawServer, RawClient) {
    let server = RawServer::create(&from.node, name, &add_two_ints(), &ServiceOptions::default()).unwrap();
    let client = RawClient::create(&to.node, name, &add_two_ints(), &ServiceOptions::default()).unwrap();
    until("a server", || client.servers() == 1);
    (server, client)
}

#[test]
fn replies_in_parts_cross_both_ways_at_once() {
    let a = Machine::listening();
    let b = Machine::connected(&a);
    let ways = [across(&a, &b, "count/up"), across(&b, &a, "count/down")];
    // Two calls each way are under way at the same time.
    let calls = ways.each_ref().map(|(_, client)| [1, 100].map(|from| call(client, from, 0)));
    let requests = ways.each_ref().map(|(server, _)| [request(server), request(server)]);
    for step in 0..20 {
        for ((server, _), requests) in ways.iter().zip(&requests) {
            for request in requests {
                let from = number(request.sample().head_in_place());
                send_part(server, request, from + step);
            }
        }
    }
    for ((server, _), requests) in ways.iter().zip(&requests) {
        // One reply ends with a last part, the other one without content.
        for request in requests {
            let from = number(request.sample().head_in_place());
            if from == 100 {
                server.end(&request.id()).unwrap();
            } else {
                let mut loan = server.loan(&request.id(), 8, 8, 0).unwrap();
                loan.head_bytes().copy_from_slice(&(from + 20).to_le_bytes());
                loan.send().unwrap();
            }
        }
    }
    for ((_, client), calls) in ways.iter().zip(&calls) {
        for (call, from) in calls.iter().zip([1, 100]) {
            for step in 0..20 {
                assert_eq!(next(client, *call).unwrap(), (Some(from + step), false));
            }
            let last = if from == 100 { None } else { Some(from + 20) };
            assert_eq!(next(client, *call).unwrap(), (last, true));
            assert!(!client.is_under_way(*call));
        }
    }
}

#[test]
fn parts_that_come_faster_than_they_are_taken_arrive() {
    // More than the bridge holds back for a service.
    const PARTS: i64 = 6000;
    let a = Machine::listening();
    let b = Machine::connected(&a);
    let (server, client) = across(&a, &b, "count");
    let call = call(&client, 1, 0);
    let request = request(&server);
    std::thread::scope(|scope| {
        let server = scope.spawn(move || {
            for step in 0..PARTS {
                send_part(&server, &request, step);
            }
            let mut loan = server.loan(&request.id(), 8, 8, 0).unwrap();
            loan.head_bytes().copy_from_slice(&PARTS.to_le_bytes());
            loan.send_within(PATIENCE).unwrap();
            server
        });
        for step in 0..PARTS {
            if step < 60 {
                // Slowly, but not so slowly that it counts as without room.
                std::thread::sleep(Duration::from_millis(20));
            }
            assert_eq!(next(&client, call).unwrap(), (Some(step), false));
        }
        assert_eq!(next(&client, call).unwrap(), (Some(PARTS), true));
        drop(server.join());
    });
    assert!(b.warnings().is_empty(), "{:?}", b.warnings());
}

#[test]
fn a_client_without_room_holds_up_no_other() {
    let a = Machine::listening();
    let b = Machine::connected(&a);
    let (server, slow) = across(&a, &b, "count");
    let quick = RawClient::create(&b.node, "count", &add_two_ints(), &ServiceOptions::default()).unwrap();
    until("a server", || quick.servers() == 1);
    let stuck = call(&slow, 1, 0);
    let request = request(&server);
    // It has room for some, and takes none.
    for step in 0..500 {
        send_part(&server, &request, step);
    }
    for number in 0..50 {
        let call = call(&quick, number, 1);
        answer(&server);
        assert_eq!(reply(&quick, call).unwrap(), number + 1);
    }
    // The server learns that its parts are not wanted any more.
    until("the server sees it", || {
        server.collect().unwrap();
        request.is_cancelled()
    });
    // The client gets what it had room for, in order, and then learns why there is no more.
    let mut expected = 0;
    let error = loop {
        match next(&slow, stuck) {
            Ok((content, false)) => assert_eq!(content, Some(expected)),
            Ok(last) => panic!("{last:?}"),
            Err(error) => break error,
        }
        expected += 1;
    };
    assert!(matches!(error, ReplyError::Refused { code: 1, .. }), "{error}");
    assert!((1..500).contains(&expected), "{expected}");
    // And its next call is as any other.
    let again = call(&slow, 5, 6);
    answer(&server);
    assert_eq!(reply(&slow, again).unwrap(), 11);
}

#[test]
fn a_cancelled_call_is_cancelled_on_the_other_machine() {
    let a = Machine::listening();
    let b = Machine::connected(&a);
    let (server, client) = across(&a, &b, "count");
    let (stays, cancelled) = (call(&client, 1, 0), call(&client, 2, 0));
    let (first, second) = (request(&server), request(&server));
    send_part(&server, &second, 7);
    assert_eq!(next(&client, cancelled).unwrap(), (Some(7), false));
    client.cancel(cancelled).unwrap();
    until("the server sees it", || {
        server.collect().unwrap();
        second.is_cancelled()
    });
    assert!(!first.is_cancelled());
    let error = client.take_of(cancelled).unwrap_err();
    assert!(matches!(error, ReplyError::Unknown { .. }), "{error}");
    // A call whose client ends is cancelled, too.
    let other = RawClient::create(&b.node, "count", &add_two_ints(), &ServiceOptions::default()).unwrap();
    until("a server", || other.servers() == 1);
    call(&other, 3, 0);
    let third = request(&server);
    drop(other);
    until("the server sees it", || {
        server.collect().unwrap();
        third.is_cancelled()
    });
    // And one whose time is over.
    let mut loan = client.loan(16, 8, 0).unwrap();
    loan.head_bytes().fill(0);
    let late = loan.send(Some(Duration::from_millis(300))).unwrap();
    let fourth = request(&server);
    let error = next(&client, late).unwrap_err();
    assert!(matches!(error, ReplyError::Deadline { .. }), "{error}");
    until("the server sees it", || {
        server.collect().unwrap();
        fourth.is_cancelled()
    });
    // The first call goes on.
    assert!(!first.is_cancelled());
    send_part(&server, &first, 8);
    assert_eq!(next(&client, stays).unwrap(), (Some(8), false));
}

#[test]
fn the_end_of_a_server_or_a_bridge_ends_calls() {
    let mut a = Machine::listening();
    let b = Machine::connected(&a);
    // The server ends in the middle of its parts.
    let (server, client) = across(&a, &b, "count");
    let cut = call(&client, 1, 0);
    send_part(&server, &request(&server), 7);
    assert_eq!(next(&client, cut).unwrap(), (Some(7), false));
    drop(server);
    let error = next(&client, cut).unwrap_err();
    assert!(matches!(error, ReplyError::ServerGone { .. }), "{error}");
    // The machine of the client ends: the server's calls are cancelled.
    let (server, client) = across(&b, &a, "back");
    let open = call(&client, 1, 0);
    let request = request(&server);
    a.end_bridge();
    until("the server sees it", || {
        server.collect().unwrap();
        request.is_cancelled()
    });
    // And the client's call fails: its server's machine is gone.
    let error = next(&client, open).unwrap_err();
    assert!(matches!(error, ReplyError::ServerGone { .. }), "{error}");
}
