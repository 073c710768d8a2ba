//! Topics on the devices of this machine, between processes: memory that is passed by descriptor, work that
//! is unfinished when it is published, and publishers that are killed. `domains.rs` tests topics across
//! domains in general.
#![cfg(not(loom))]

mod common;
#[path = "../../situ-memory/tests/cuda/played.rs"]
#[allow(dead_code, reason = "these tests do not read the driver's counters")]
mod played;

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use common::messages::{Scan, ScanBulkLengths};
use common::service::{SERVICE, call, sized, take, value_of};
use common::{Scratch, numbers, role};
use situ_bus::{
    IncompleteError, LoanError, Node, Placement, PublisherQos, RawClient, RawPublisher, RawSample, RawServer,
    RawSubscriber, ServiceOptions, SubscriberQos, inspect,
};
use situ_memory::{AllocateError, DomainId, DomainKind, Fence, FenceState, HOST, Stream, StreamOrder, find};
use situ_testkit::process::{Role, say};

const TIMEOUT: Duration = Duration::from_secs(20);
const BODY: usize = 300_000;
const DEPTH: usize = 8;

/// The devices of this machine. A device that the environment requires must be there.
fn devices() -> Vec<DomainId> {
    let required = std::env::var("SITU_TEST_REQUIRE").unwrap_or_default();
    let all = ["emulated:0", "vulkan:0", "cuda:0"];
    all.iter()
        .filter_map(|name| match find(name.parse().unwrap()) {
            Ok(domain) => Some(domain.id()),
            Err(error) => {
                let kind = name.trim_end_matches(":0");
                assert!(!required.split(',').any(|required| required == kind), "{error}");
                eprintln!("SKIPPED: {error}");
                None
            }
        })
        .collect()
}

fn node(scratch: &Scratch, name: &str, domain: DomainId) -> Node {
    scratch.node(name).with_domain(find(domain).unwrap())
}

fn publisher(node: &Node, domain: DomainId) -> RawPublisher {
    let placement = Placement { domain, capacity: Some(16 << 20), ..Placement::default() };
    let qos = PublisherQos { depth: DEPTH, ..PublisherQos::default() };
    RawPublisher::create_in(node, "image", &numbers(), qos, &placement).unwrap()
}

fn subscriber(node: &Node, domain: DomainId) -> RawSubscriber {
    let placement = Placement { domain, capacity: Some(16 << 20), ..Placement::default() };
    RawSubscriber::create_in(node, "image", &numbers(), SubscriberQos::default(), &placement).unwrap()
}

/// Bytes that no other message has.
fn body(value: u64) -> Vec<u8> {
    (0..BODY as u64).map(|index| (index * 7 + value * 31) as u8).collect()
}

/// Enqueues writing a message, and publishes it before that is done.
fn send(publisher: &RawPublisher, stream: &dyn Stream, value: u64, bytes: &[u8]) {
    let mut loan = publisher.loan(8, 8, BODY).unwrap();
    loan.head_bytes().copy_from_slice(&value.to_ne_bytes());
    let span = loan.span();
    // SAFETY: the caller keeps the bytes until the stream has passed.
    unsafe { stream.copy_from_host(bytes.as_ptr(), span.memory(), span.offset(), BODY as u64) }.unwrap();
    loan.publish_on(stream).unwrap();
}

/// Reads a message in stream order, in any memory.
fn read(sample: &RawSample, stream: &dyn Stream) -> (u64, Vec<u8>) {
    let mut bytes = vec![0; BODY];
    let span = sample.span();
    assert_eq!(span.size(), BODY as u64);
    sample.wait_on(stream, TIMEOUT).unwrap();
    // SAFETY: the bytes live until the stream is synchronized.
    unsafe { stream.copy_to_host(span.memory(), span.offset(), bytes.as_mut_ptr(), BODY as u64) }.unwrap();
    stream.synchronize(TIMEOUT).unwrap();
    (u64::from_ne_bytes(sample.head_in_place().try_into().unwrap()), bytes)
}

fn next(subscriber: &RawSubscriber) -> RawSample {
    let begin = Instant::now();
    loop {
        if let Some(sample) = subscriber.take().unwrap() {
            return sample;
        }
        assert!(begin.elapsed() < TIMEOUT, "no message comes");
        subscriber.wait(Some(TIMEOUT));
    }
}

/// A fence that is never completed.
fn never() -> Fence {
    Fence::of_process(0, 1)
}

#[test]
#[ignore = "played by the children of the other tests"]
fn child() {
    let Some((role, scratch)) = role() else { return };
    let (what, domain) = role.split_once(' ').unwrap();
    let domain: DomainId = domain.parse().unwrap();
    let node = node(&scratch, "publisher", domain);
    if what == "serve" {
        return serve(&node, domain);
    }
    let (publisher, stream) = (publisher(&node, domain), find(domain).unwrap().stream().unwrap());
    while publisher.subscribers() < 2 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let bodies: Vec<_> = (0..DEPTH as u64).map(body).collect();
    for (value, bytes) in bodies.iter().enumerate() {
        if what == "hang" && value == DEPTH - 1 {
            stream.wait(&never(), Duration::from_secs(600)).unwrap();
        }
        send(&publisher, stream.as_ref(), value as u64, bytes);
    }
    say("published");
    if what == "publish" {
        stream.synchronize(TIMEOUT).unwrap();
        say("complete");
    }
    std::thread::sleep(Duration::MAX);
}

/// Replies that lie in a domain: made there by the server, or taken there by the client.
fn replies_in(domain: DomainId) -> ServiceOptions {
    let replies = Placement { domain, capacity: Some(16 << 20), ..Placement::default() };
    ServiceOptions { replies, ..ServiceOptions::default() }
}

/// Answers requests with bodies on the device that are not complete when the replies are sent.
fn serve(node: &Node, domain: DomainId) {
    let server = RawServer::create(node, SERVICE, &sized(8, 8), &replies_in(domain)).unwrap();
    let stream = find(domain).unwrap().stream().unwrap();
    say("ready");
    loop {
        let request = take(&server);
        let bytes = body(value_of(&request));
        let mut loan = server.loan(&request.id(), 8, 8, BODY).unwrap();
        assert_eq!(loan.span().memory().domain(), domain);
        loan.head_bytes().copy_from_slice(&value_of(&request).to_ne_bytes());
        let span = loan.span();
        // SAFETY: the bytes live until the stream is synchronized.
        unsafe { stream.copy_from_host(bytes.as_ptr(), span.memory(), span.offset(), BODY as u64) }.unwrap();
        loan.send_on(stream.as_ref()).unwrap();
        stream.synchronize(TIMEOUT).unwrap();
    }
}

/// The publisher's process. This process has a subscriber on its device and one in host memory.
fn play(what: &str, domain: DomainId, test: impl FnOnce(&Scratch, Role, RawSubscriber, RawSubscriber)) {
    let scratch = Scratch::new();
    let on_device = subscriber(&node(&scratch, "device", domain), domain);
    let on_host = subscriber(&node(&scratch, "host", domain), HOST);
    let mut publisher = Role::start(&scratch, &format!("{what} {domain}"));
    publisher.wait_for("published");
    test(&scratch, publisher, on_device, on_host);
}

#[test]
fn messages_are_read_where_they_are_and_copied_once_for_the_host() {
    for domain in devices() {
        play("publish", domain, |scratch, _publisher, on_device, on_host| {
            let stream = find(domain).unwrap().stream().unwrap();
            for value in 0..DEPTH as u64 {
                let sample = next(&on_device);
                assert_eq!((sample.domain(), sample.was_brought()), (domain, false));
                assert!(read(&sample, stream.as_ref()) == (value, body(value)), "{domain}: message {value}");
                let sample = next(&on_host);
                assert!(
                    sample.was_brought() && sample.body_in_place() == body(value),
                    "{domain}: message {value}"
                );
            }
            let topic = inspect::topic(&scratch.root(), "image").unwrap().unwrap();
            for used in &topic.domains {
                let expected = if used.domain == HOST { DEPTH as u64 } else { 0 };
                assert_eq!(used.copies, expected, "{domain}: copies into {}", used.domain);
            }
        });
    }
}

/// The device's memory has room for two messages.
#[test]
fn a_message_that_is_released_on_a_stream_is_held_until_the_stream_has_passed() {
    const LARGE: usize = 6 << 20;
    // Devices on which streams wait for fences of the CPU, so that they can be held up.
    let streams = |domain: &DomainId| find(*domain).unwrap().capabilities().order != StreamOrder::Host;
    for domain in devices().into_iter().filter(streams) {
        let scratch = Scratch::new();
        let node = node(&scratch, "both", domain);
        let placement = Placement { domain, capacity: Some(16 << 20), ..Placement::default() };
        let qos = PublisherQos { depth: 1, ..PublisherQos::default() };
        let publisher = RawPublisher::create_in(&node, "image", &numbers(), qos, &placement).unwrap();
        let subscriber = subscriber(&node, domain);
        let stream = node.domain(domain).unwrap().stream().unwrap();
        publisher.loan(8, 8, LARGE).unwrap().publish().unwrap();
        let sample = next(&subscriber);
        let gate = never();
        stream.wait(&gate, TIMEOUT).unwrap();
        sample.release_on(stream.as_ref()).unwrap();
        publisher.loan(8, 8, LARGE).unwrap().publish().unwrap();
        let full = publisher.loan(8, 8, LARGE).map(drop);
        assert!(
            matches!(full, Err(LoanError::Memory(AllocateError::Exhausted { .. }))),
            "{domain}: {full:?}"
        );
        gate.complete();
        if domain.kind == DomainKind::CUDA {
            // A callback of a driver must not release anything itself.
            stream.synchronize(TIMEOUT).unwrap();
        }
        let begin = Instant::now();
        while publisher.loan(8, 8, LARGE).is_err() {
            assert!(begin.elapsed() < TIMEOUT, "{domain}: it is never released");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

#[test]
fn a_message_without_a_body_is_held_too_when_it_is_taken_in_stream_order() {
    let scratch = Scratch::new();
    let device: DomainId = "emulated:0".parse().unwrap();
    let node = scratch.node("both");
    let publisher = node.publisher::<Scan>("scan").depth(1).create().unwrap();
    let subscriber = node.subscriber::<Scan>("scan").domain(device).create().unwrap();
    let stream = find(device).unwrap().stream().unwrap();
    let publish = |count| {
        let mut scan = publisher.loan_with(ScanBulkLengths { ranges: 0 }).unwrap();
        scan.count = count;
        scan.publish().unwrap();
    };
    publish(1);
    let held = subscriber.take_on(stream.as_ref()).unwrap().unwrap();
    // More messages than it takes until the slot is used again.
    (2..40).for_each(publish);
    assert_eq!(held.count, 1);
}

#[test]
fn messages_outlive_a_publisher_that_is_killed() {
    for domain in devices() {
        play("publish", domain, |_, mut publisher, on_device, on_host| {
            let held = next(&on_device);
            // Before the publisher dies: it passes its memory only while it lives.
            let first = next(&on_host);
            publisher.wait_for("complete");
            publisher.kill();
            let stream = find(domain).unwrap().stream().unwrap();
            assert!(read(&held, stream.as_ref()) == (0, body(0)), "{domain}: the held message");
            assert!(first.body_in_place() == body(0));
            for value in 1..3 {
                let sample = next(&on_device);
                assert!(read(&sample, stream.as_ref()) == (value, body(value)), "{domain}: message {value}");
            }
        });
    }
}

#[test]
fn waits_for_work_of_a_dead_publisher_end() {
    for domain in devices() {
        if find(domain).unwrap().capabilities().order == StreamOrder::Host {
            eprintln!("SKIPPED: on {domain} nothing is published before it is done");
            continue;
        }
        play("hang", domain, |_, publisher, on_device, _on_host| {
            let stream = find(domain).unwrap().stream().unwrap();
            for value in 0..DEPTH as u64 - 1 {
                assert!(read(&next(&on_device), stream.as_ref()) == (value, body(value)), "{domain}");
            }
            let last = next(&on_device);
            assert_eq!(last.fence().unwrap().state(), FenceState::Pending);
            last.wait_on(stream.as_ref(), TIMEOUT).unwrap();
            publisher.kill();
            let begin = Instant::now();
            stream.synchronize(TIMEOUT).expect("the wait ends");
            assert!(begin.elapsed() < Duration::from_secs(10));
            assert_eq!(last.fence().unwrap().state(), FenceState::Poisoned);
            assert!(matches!(last.synchronize(TIMEOUT), Err(IncompleteError::Poisoned { .. })), "{domain}");
            // The device still works.
            let fine = find(domain).unwrap().stream().unwrap();
            fine.synchronize(TIMEOUT).unwrap();
            assert_eq!(never().word().load(Ordering::Relaxed), 0);
        });
    }
}

/// Again with a CUDA driver that emulates devices in host memory: see `situ-memory/tests/cuda`.
#[test]
fn everything_again_on_an_emulated_cuda_driver() {
    if played::is_played() {
        return;
    }
    played::play();
}

#[test]
fn replies_lie_on_every_device() {
    for domain in devices() {
        let scratch = Scratch::new();
        let mut server = Role::start(&scratch, &format!("serve {domain}"));
        server.wait_for("ready");
        let node = node(&scratch, "clients", domain);
        for into in [domain, HOST] {
            let client = RawClient::create(&node, SERVICE, &sized(8, 8), &replies_in(into)).unwrap();
            let stream = find(into).unwrap().stream().unwrap();
            for value in 0..2 * DEPTH as u64 {
                let call = call(&client, value);
                let reply = client.receive_of(call, Some(TIMEOUT)).unwrap().expect("it is answered");
                assert_eq!(reply.sample().domain(), into);
                assert_eq!(read(reply.sample(), stream.as_ref()), (value, body(value)), "{domain} to {into}");
            }
        }
        server.kill();
        let client = RawClient::create(&node, SERVICE, &sized(8, 8), &replies_in(domain)).unwrap();
        let begin = Instant::now();
        while client.loan(8, 8, 0).unwrap().send(None).is_ok() {
            assert!(begin.elapsed() < TIMEOUT, "the dead server is found");
        }
    }
}
