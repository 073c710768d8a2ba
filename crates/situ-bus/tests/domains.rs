//! Topics across memory domains: what is taken where it lies, what is copied, how often, and by whom.
#![cfg(not(loom))]

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::process::{Role, role, say};
use common::{Scratch, numbers};
use situ_bus::{
    Node, Placement, PublisherQos, RawPublisher, RawSample, RawSubscriber, SubscriberQos, inspect,
};
use situ_memory::{DomainId, DomainKind, HOST, Memory, Stream};

const PATIENCE: Duration = Duration::from_secs(20);

fn emulated(number: u32) -> DomainId {
    DomainId { kind: DomainKind::EMULATED, number }
}

/// Writes bytes to a device's memory, and reads them back, as only its engine can.
fn write(stream: &dyn Stream, memory: &Arc<dyn Memory>, offset: u64, bytes: &[u8]) {
    // SAFETY: the bytes last until the stream has passed, which is waited for.
    unsafe { stream.copy_from_host(bytes.as_ptr(), memory, offset, bytes.len() as u64).unwrap() };
    stream.synchronize(PATIENCE).unwrap();
}

fn read(stream: &dyn Stream, memory: &Arc<dyn Memory>, offset: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    // SAFETY: as above.
    unsafe { stream.copy_to_host(memory, offset, bytes.as_mut_ptr(), len as u64).unwrap() };
    stream.synchronize(PATIENCE).unwrap();
    bytes
}

fn stream(domain: DomainId) -> Arc<dyn Stream> {
    situ_memory::find(domain).unwrap().stream().unwrap()
}

/// What was copied into a domain of a topic: messages and bytes.
fn copies(scratch: &Scratch, topic: &str, domain: DomainId) -> (u64, u64) {
    let topic = inspect::topic(&scratch.root(), topic).unwrap().unwrap();
    let found = topic.domains.iter().find(|used| used.domain == domain);
    found.map_or((0, 0), |used| (used.copies, used.bytes))
}

fn publisher(node: &Node, topic: &str, domain: DomainId) -> RawPublisher {
    let placement = Placement { domain, ..Default::default() };
    RawPublisher::create_in(node, topic, &numbers(), PublisherQos::default(), &placement).unwrap()
}

fn subscriber(node: &Node, topic: &str, domain: DomainId) -> RawSubscriber {
    let placement = Placement { domain, ..Default::default() };
    RawSubscriber::create_in(node, topic, &numbers(), SubscriberQos::default(), &placement).unwrap()
}

/// Publishes a number in the head, and as many bytes of it in the body, wherever that lies.
fn send(publisher: &RawPublisher, stream: &dyn Stream, value: u8, body: usize) -> u64 {
    let mut loan = publisher.loan(8, 8, body).unwrap();
    loan.head_bytes().copy_from_slice(&u64::from(value).to_ne_bytes());
    let span = loan.span();
    assert_eq!(span.size(), body as u64);
    write(stream, span.memory(), span.offset(), &vec![value; body]);
    loan.publish().unwrap()
}

/// Checks a message of [`send`] wherever its body lies, and gives its number.
fn check(sample: &RawSample, stream: &dyn Stream) -> u8 {
    let value = u64::from_ne_bytes(sample.head().try_into().unwrap()) as u8;
    let span = sample.span();
    let bytes = read(stream, span.memory(), span.offset(), span.len());
    assert!(bytes.iter().all(|byte| *byte == value), "torn");
    assert_eq!(bytes.len(), sample.body_size());
    value
}

const BODY: usize = 100_000;

#[test]
#[ignore = "played by the children of the other tests"]
fn child() {
    let Some((role, scratch)) = role() else { return };
    let node = scratch.node(&role);
    let (name, domain) = role.split_once(" in ").unwrap();
    let domain: DomainId = domain.parse().unwrap();
    let stream = stream(domain);
    match name {
        // Publishes three messages, one when it is told to go on by each sample that is let go... by time.
        "publish" => {
            let publisher = publisher(&node, "image", domain);
            say("ready");
            while publisher.subscribers() < 3 {
                std::thread::sleep(Duration::from_millis(1));
            }
            for value in 1..=3 {
                send(&publisher, stream.as_ref(), value, BODY);
            }
            say("published");
            std::thread::sleep(Duration::MAX);
        }
        "take" => {
            let subscriber = subscriber(&node, "image", domain);
            say("ready");
            for value in 1..=3 {
                while !subscriber.wait(Some(PATIENCE)) {}
                let sample = subscriber.take().unwrap().unwrap();
                assert_eq!(check(&sample, stream.as_ref()), value);
                assert_eq!(sample.was_brought(), domain == HOST);
                if domain == HOST {
                    assert_eq!(sample.body(), vec![value; BODY]);
                } else {
                    assert_eq!(sample.body(), b"");
                }
            }
            say("taken");
            std::thread::sleep(Duration::MAX);
        }
        other => panic!("no such role: {other}"),
    }
}

/// A publishes on a device; B on the same device takes without a copy; C in host memory has each message copied once;
/// D, there too and late, shares what C copied.
#[test]
fn processes_share_one_copy_for_each_domain() {
    let scratch = Scratch::new();
    let mut a = Role::start(&scratch, "publish in emulated:0");
    a.wait_for("ready");
    let mut b = Role::start(&scratch, "take in emulated:0");
    b.wait_for("ready");
    let mut c = Role::start(&scratch, "take in host");
    c.wait_for("ready");
    let late = subscriber(&scratch.node("late"), "image", HOST);
    a.wait_for("published");
    b.wait_for("taken");
    c.wait_for("taken");
    assert_eq!(copies(&scratch, "image", HOST), (3, 3 * BODY as u64));
    let stream = stream(HOST);
    for value in 1..=3 {
        let sample = late.take().unwrap().unwrap();
        assert_eq!(check(&sample, stream.as_ref()), value);
        assert_eq!(sample.body(), vec![value; BODY]);
        assert!(sample.was_brought());
    }
    assert_eq!(copies(&scratch, "image", HOST), (3, 3 * BODY as u64), "it shared");
    assert_eq!(copies(&scratch, "image", emulated(0)), (0, 0), "nobody copied where the message was");
}
