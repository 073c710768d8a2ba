//! Messages between host memory and a device that registers host memory: how often it registers, and that
//! registrations end.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use situ_bus::{Node, Placement, PublisherQos, RawPublisher, RawSubscriber, SubscriberQos};
use situ_memory::{DomainId, HOST, find};

use super::{Scratch, numbers};

const TIMEOUT: Duration = Duration::from_secs(20);
const BODY: usize = 1_000_000;
/// Copies of this size are too small to be registered.
const SMALL: usize = 60_000;

/// A driver's counters for host memory in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Registrations.
    pub begun: u64,
    /// Their ends.
    pub ended: u64,
    /// Copies directly from or to registered memory.
    pub straight: u64,
}

fn publisher(node: &Node, placement: &Placement) -> RawPublisher {
    let qos = PublisherQos { depth: 4, ..Default::default() };
    RawPublisher::create_in(node, "image", &numbers(), qos, placement).unwrap()
}

fn subscriber(node: &Node, domain: DomainId) -> RawSubscriber {
    let placement = Placement { domain, ..Default::default() };
    RawSubscriber::create_in(node, "image", &numbers(), SubscriberQos::default(), &placement).unwrap()
}

/// Sends a message from one domain to the other, and checks it.
fn send(device: DomainId, publisher: &RawPublisher, subscriber: &RawSubscriber, value: u8, size: usize) {
    let device = find(device).unwrap().stream().unwrap();
    // A length without small divisors, so that a piece in a wrong place is detected.
    let pattern: Vec<u8> = (0..251).map(|at| value.wrapping_add(at)).collect();
    let body = &pattern.repeat(size / 251 + 1)[..size];
    let mut loan = publisher.loan(8, 8, size).unwrap();
    if loan.body().is_null() {
        let span = loan.span();
        for (piece, bytes) in body.chunks(SMALL).enumerate() {
            let at = span.offset() + (piece * SMALL) as u64;
            // SAFETY: the bytes live until the stream has passed, which is waited for.
            unsafe { device.copy_from_host(bytes.as_ptr(), span.memory(), at, bytes.len() as u64).unwrap() };
        }
        device.synchronize(TIMEOUT).unwrap();
    } else {
        loan.body_bytes().copy_from_slice(body);
    }
    loan.publish().unwrap();
    let sample = subscriber.take().unwrap().unwrap();
    assert!(sample.was_brought());
    if subscriber.domain() == HOST {
        assert!(sample.body_in_place() == body);
        return;
    }
    let (span, mut back) = (sample.span(), vec![0; size]);
    for (piece, bytes) in back.chunks_mut(SMALL).enumerate() {
        let at = span.offset() + (piece * SMALL) as u64;
        // SAFETY: as above.
        unsafe { device.copy_to_host(span.memory(), at, bytes.as_mut_ptr(), bytes.len() as u64).unwrap() };
    }
    device.synchronize(TIMEOUT).unwrap();
    assert!(back == body);
}

/// Sends forty large messages into a domain. `device` is the domain that copies.
pub fn registered_once(device: DomainId, counts: impl Fn() -> Counts, from: &Placement, into: DomainId) {
    // The counters belong to the process, so one test runs at a time.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let scratch = Scratch::new();
    // A message on a device does not open a driver.
    let into_node = scratch.node("into").with_domain(find(device).unwrap());
    let (publisher, subscriber) = (publisher(&scratch.node("from"), from), subscriber(&into_node, into));
    let start = counts();
    assert_eq!(start.begun, start.ended, "the previous test left no registration");
    send(device, &publisher, &subscriber, 0, SMALL);
    assert_eq!(counts(), start, "small copies are not registered");
    (1..20).for_each(|value| send(device, &publisher, &subscriber, value, BODY));
    let warm = counts();
    assert!(
        (1..=8).contains(&(warm.begun - start.begun)),
        "one for each slot that was used: {start:?} {warm:?}"
    );
    (20..40).for_each(|value| send(device, &publisher, &subscriber, value, BODY));
    let end = counts();
    assert_eq!((end.begun, end.ended), (warm.begun, warm.ended), "the slots are reused, and stay registered");
    // More than one for each, because two registrations may meet within a message.
    assert!(end.straight - warm.straight >= 20, "{warm:?} {end:?}");
    drop((publisher, subscriber));
    let gone = counts();
    assert_eq!(gone.begun, gone.ended, "nothing stays registered");
}
