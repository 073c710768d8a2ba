//! Watching a service without taking part in it.
#![cfg(not(loom))]

mod common;

use std::time::Duration;

use common::{Scratch, numbers};
use situ_bus::{
    Encoding, Node, RawClient, RawServer, ServiceDescription, ServiceEvent, ServiceEventKind,
    ServiceObserver, ServiceOptions, TypeDescription, inspect,
};

const SERVICE: &str = "watched";
const LONG: Duration = Duration::from_secs(20);

/// Messages of `fixed_size` bytes travel in rows, those without one in slots.
fn both(node: &Node, fixed_size: u32) -> (RawClient, RawServer) {
    let one = |name: &str| TypeDescription { name: name.to_owned(), fixed_size, ..numbers() };
    let types = ServiceDescription { request: one("test::Request"), reply: one("test::Reply") };
    let options = ServiceOptions::default();
    let client = RawClient::create(node, SERVICE, &types, &options).unwrap();
    (client, RawServer::create(node, SERVICE, &types, &options).unwrap())
}

fn send(client: &RawClient, value: u64) -> u64 {
    let mut loan = client.loan(8, 8, 0).unwrap();
    loan.head_bytes().copy_from_slice(&value.to_le_bytes());
    loan.send(None).unwrap()
}

/// What an event is, and its number.
fn shown(event: &ServiceEvent) -> (&'static str, u64) {
    let number = |head: &[u8]| u64::from_le_bytes(head.try_into().unwrap());
    match &event.kind {
        ServiceEventKind::Request(it) => ("request", number(&it.head)),
        ServiceEventKind::Cancellation => ("cancellation", 0),
        ServiceEventKind::Part(it) => ("part", number(&it.head)),
        ServiceEventKind::Reply(it) => ("reply", number(&it.head)),
        ServiceEventKind::End => ("end", 0),
        ServiceEventKind::Refusal { code, text } => {
            assert_eq!(text, "no");
            ("refusal", *code)
        }
        _ => ("?", 0),
    }
}

#[test]
fn requests_and_replies_are_seen_and_nobody_notices() {
    for fixed_size in [0, 8] {
        let scratch = Scratch::new();
        let node = scratch.node("n");
        assert!(ServiceObserver::open(&scratch.root(), SERVICE).unwrap().is_none());
        let (client, server) = both(&node, fixed_size);
        send(&client, 1);
        let mut observer = ServiceObserver::open(&scratch.root(), SERVICE).unwrap().unwrap();
        assert_eq!(observer.poll(), [], "it was sent before the observer came");

        let calls = [send(&client, 2), send(&client, 3), send(&client, 4)];
        for step in 0..4u64 {
            assert!(server.wait(Some(LONG)));
            let request = server.take().unwrap().unwrap();
            let mut loan = server.loan(&request.id(), 8, 8, 0).unwrap();
            loan.head_bytes().copy_from_slice(&(10 * (step + 1)).to_le_bytes());
            match step {
                1 => {
                    loan.send_part().unwrap();
                    server.end(&request.id()).unwrap();
                }
                2 => {
                    drop(loan);
                    server.refuse(&request.id(), 7, "no").unwrap();
                }
                _ => loan.send().unwrap(),
            }
        }
        client.cancel(calls[0]).unwrap();
        let events = observer.poll();
        let expected = [
            ("request", 2),
            ("request", 3),
            ("request", 4),
            ("reply", 10),
            ("part", 20),
            ("end", 0),
            ("refusal", 7),
            ("reply", 40),
            ("cancellation", 0),
        ];
        assert_eq!(events.iter().map(shown).collect::<Vec<_>>(), expected, "{fixed_size}");
        assert!(events.iter().all(|event| event.client == client.id().number));
        let of_calls: Vec<u64> = events[..3].iter().map(|event| event.call).collect();
        assert_eq!(of_calls, calls);
        assert_eq!((events[4].call, events[6].call, events[7].call), (calls[0], calls[1], calls[2]));
        assert!(events.is_sorted_by_key(|event| event.at_ns) && events[0].at_ns > 0);
        let ServiceEventKind::Request(request) = &events[0].kind else { panic!("{:?}", events[0]) };
        assert_eq!((request.encoding, request.body.len()), (Encoding::Flat, 0));
        assert_eq!((observer.poll(), observer.missed()), (Vec::new(), 0));

        let service = inspect::services(&scratch.root()).unwrap().remove(0);
        assert_eq!((service.requests.subscribers.len(), service.requests.publishers.len()), (1, 1));
        assert!(observer.is_current());
        drop((client, server));
        assert!(!observer.is_current());
    }
}

#[test]
fn replies_to_a_client_that_comes_later_are_seen_from_the_first_on() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let (_first, server) = both(&node, 8);
    let mut observer = ServiceObserver::open(&scratch.root(), SERVICE).unwrap().unwrap();
    let (client, second_server) = both(&node, 8);
    drop(second_server);
    send(&client, 5);
    assert!(server.wait(Some(LONG)));
    let request = server.take().unwrap().unwrap();
    let mut loan = server.loan(&request.id(), 8, 8, 0).unwrap();
    loan.head_bytes().copy_from_slice(&6u64.to_le_bytes());
    loan.send().unwrap();
    let events = observer.poll();
    assert_eq!(events.iter().map(shown).collect::<Vec<_>>(), [("request", 5), ("reply", 6)]);
}

#[test]
fn messages_that_were_recycled_are_counted() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let (client, server) = both(&node, 0);
    let mut observer = ServiceObserver::open(&scratch.root(), SERVICE).unwrap().unwrap();
    // Each request uses the slot of the one before it, which the server has given back.
    const CALLS: u64 = 500;
    for value in 0..CALLS {
        let call = send(&client, value);
        assert!(server.wait(Some(LONG)));
        let request = server.take().unwrap().unwrap();
        server.end(&request.id()).unwrap();
        assert!(client.receive_of(call, Some(LONG)).unwrap().is_some());
    }
    let events = observer.poll();
    let seen = events.len() as u64;
    assert!(
        events.iter().all(|event| matches!(event.kind, ServiceEventKind::Request(_) | ServiceEventKind::End))
    );
    assert!(observer.missed() > 0);
    assert_eq!(seen + observer.missed(), 2 * CALLS);
}
