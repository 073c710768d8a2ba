//! A message that a device is still filling does not count yet for a subscriber on the host. That holds for
//! every way of waiting: for one topic, for several, with epoll, or in async code.
#![cfg(not(loom))]

mod common;

use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::messages::{Scan, ScanBulkLengths};
use common::{Scratch, numbers};
use rustix::event::{Timespec, epoll};
use situ_bus::{
    CopyError, History, Node, Placement, PublisherQos, RawPublisher, RawSubscriber, SubscriberQos, TakeError,
    wait_any,
};
use situ_memory::{DomainId, DomainKind, Fence, HOST, Stream};

const DEVICE: DomainId = DomainId { kind: DomainKind::EMULATED, number: 0 };
const TIMEOUT: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(30);
const BODY: usize = 1000;

fn publisher(node: &Node, eager_copies: bool) -> RawPublisher {
    let placement = Placement { domain: DEVICE, eager_copies, ..Default::default() };
    let qos = PublisherQos { depth: 8, ..Default::default() };
    RawPublisher::create_in(node, "image", &numbers(), qos, &placement).unwrap()
}

fn subscriber(node: &Node, domain: DomainId, history: History) -> RawSubscriber {
    let placement = Placement { domain, ..Default::default() };
    let qos = SubscriberQos { history, ..Default::default() };
    RawSubscriber::create_in(node, "image", &numbers(), qos, &placement).unwrap()
}

/// Publishes on a stream that is held up until the gate is complete.
fn publish_behind(publisher: &RawPublisher, stream: &dyn Stream, gate: &Fence, value: u64) {
    let mut loan = publisher.loan(8, 8, BODY).unwrap();
    loan.head_bytes().copy_from_slice(&value.to_ne_bytes());
    stream.wait(gate, TIMEOUT).unwrap();
    assert_eq!(loan.publish_on(stream).unwrap(), value);
}

fn value_of(subscriber: &RawSubscriber) -> Option<u64> {
    let start = Instant::now();
    let sample = subscriber.take().unwrap();
    assert!(start.elapsed() < TIMEOUT / 2, "a take waits for no device");
    sample.map(|sample| u64::from_ne_bytes(sample.head_in_place().try_into().unwrap()))
}

fn gate() -> Fence {
    Fence::of_process(0, 1)
}

fn device_stream() -> Arc<dyn Stream> {
    situ_memory::find(DEVICE).unwrap().stream().unwrap()
}

#[test]
fn waits_for_one_topic_or_several_end_when_a_message_is_complete() {
    for eager in [false, true] {
        let scratch = Scratch::new();
        let (node, stream) = (scratch.node("all"), device_stream());
        let publisher = publisher(&node, eager);
        let on_host = subscriber(&node, HOST, History::KeepAll);
        let on_device = subscriber(&node, DEVICE, History::KeepAll);
        let other = RawSubscriber::create(&node, "other", &numbers(), SubscriberQos::default()).unwrap();
        let gates = [gate(), gate()];
        gates.iter().enumerate().for_each(|(value, gate)| {
            publish_behind(&publisher, &*stream, gate, value as u64);
        });
        let start = Instant::now();
        assert_eq!(wait_any(&[&on_host, &other], Some(SHORT)), None, "there is nothing to read yet");
        assert!(!on_host.wait(Some(SHORT)));
        assert_eq!(value_of(&on_host), None);
        assert!(start.elapsed() < TIMEOUT / 2, "waits end at their time-outs");
        assert_eq!(
            wait_any(&[&other, &on_device], Some(TIMEOUT)),
            Some(1),
            "on the device, the stream waits"
        );
        assert_eq!(value_of(&on_device), Some(0));
        let theirs = gates[0].clone();
        let opening = std::thread::spawn(move || {
            std::thread::sleep(SHORT);
            theirs.complete();
        });
        assert_eq!(wait_any(&[&other, &on_host], Some(TIMEOUT)), Some(1));
        opening.join().unwrap();
        assert_eq!(value_of(&on_host), Some(0));
        assert_eq!(value_of(&on_host), None, "the next one is not complete");
        assert_eq!(wait_any(&[&other, &on_host], Some(SHORT)), None);
        let mine = RawPublisher::create(&node, "other", &numbers(), PublisherQos::default()).unwrap();
        common::publish(&mine, 0, 8);
        assert_eq!(wait_any(&[&on_host, &other], Some(TIMEOUT)), Some(1), "other topics are not delayed");
        gates[1].complete();
        assert!(on_host.wait(Some(TIMEOUT)));
        assert_eq!(value_of(&on_host), Some(1));
        stream.synchronize(TIMEOUT).unwrap();
    }
}

#[test]
fn a_descriptor_becomes_readable_when_a_message_is_complete() {
    for eager in [false, true] {
        let scratch = Scratch::new();
        let (node, stream) = (scratch.node("all"), device_stream());
        let publisher = publisher(&node, eager);
        let subscriber = subscriber(&node, HOST, History::KeepAll);
        let descriptor = subscriber.event_fd().unwrap();
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
        epoll::add(&epoll, &descriptor, epoll::EventData::new_u64(1), epoll::EventFlags::IN).unwrap();
        let gates = [gate(), gate(), gate()];
        gates.iter().enumerate().for_each(|(value, gate)| {
            publish_behind(&publisher, &*stream, gate, value as u64);
        });
        for (value, gate) in gates.iter().enumerate() {
            assert!(!readable(&epoll, SHORT), "message {value} is not complete");
            gate.complete();
            assert!(readable(&epoll, TIMEOUT), "message {value} was not reported");
            descriptor.clear();
            assert_eq!(value_of(&subscriber), Some(value as u64));
            assert_eq!(value_of(&subscriber), None);
        }
        stream.synchronize(TIMEOUT).unwrap();
    }
}

fn readable(epoll: &impl AsFd, time: Duration) -> bool {
    let time = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() };
    let mut events = [epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) }];
    epoll::wait(epoll, &mut events, Some(&time)).unwrap() > 0
}

#[tokio::test]
async fn async_code_goes_on_until_a_message_is_complete() {
    let scratch = Scratch::new();
    let (node, stream) = (scratch.node("all"), device_stream());
    for eager in [false, true] {
        let publisher = node.publisher::<Scan>("scan").domain(DEVICE);
        let publisher = if eager { publisher.eager_copies() } else { publisher }.create().unwrap();
        let mut messages = node.subscriber::<Scan>("scan").create().unwrap().into_stream().unwrap();
        for count in 0..3 {
            let kernel = gate();
            let mut loan = publisher.loan_with(ScanBulkLengths { ranges: 100 }).unwrap();
            loan.count = count;
            stream.wait(&kernel, TIMEOUT).unwrap();
            loan.publish_on(&*stream).unwrap();
            // The executor has one thread: if the future blocked, the time could not run out.
            let start = Instant::now();
            assert!(tokio::time::timeout(SHORT, messages.receive()).await.is_err(), "it is not complete");
            assert!(start.elapsed() < TIMEOUT / 2);
            let opening = tokio::spawn(async move {
                tokio::time::sleep(SHORT).await;
                kernel.complete();
            });
            let received = tokio::time::timeout(TIMEOUT, messages.receive()).await.expect("it is woken");
            assert_eq!(received.unwrap().count, count);
            opening.await.unwrap();
        }
        stream.synchronize(TIMEOUT).unwrap();
    }
}

/// Each message is published before the one before it is complete. A subscriber of the newest only still gets
/// one after another.
#[test]
fn a_subscriber_that_keeps_the_last_message_is_not_put_off_for_ever() {
    for by_descriptor in [false, true] {
        let scratch = Scratch::new();
        let (node, stream) = (scratch.node("all"), device_stream());
        let publisher = publisher(&node, true);
        let subscriber = subscriber(&node, HOST, History::KeepLast(1));
        let descriptor = by_descriptor.then(|| subscriber.event_fd().unwrap());
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
        if let Some(descriptor) = &descriptor {
            epoll::add(&epoll, descriptor, epoll::EventData::new_u64(1), epoll::EventFlags::IN).unwrap();
        }
        let mut kernel = gate();
        publish_behind(&publisher, &*stream, &kernel, 0);
        for value in 0..10 {
            assert!(!subscriber.wait(Some(Duration::from_millis(5))), "message {value} is not complete");
            let next = gate();
            publish_behind(&publisher, &*stream, &next, value + 1);
            assert_eq!(value_of(&subscriber), None);
            std::mem::replace(&mut kernel, next).complete();
            if let Some(descriptor) = &descriptor {
                assert!(readable(&epoll, TIMEOUT), "message {value} was not reported");
                descriptor.clear();
            }
            assert!(subscriber.wait(Some(TIMEOUT)));
            assert_eq!(value_of(&subscriber), Some(value), "the awaited message is taken");
        }
        kernel.complete();
        stream.synchronize(TIMEOUT).unwrap();
        // The newest of the complete messages.
        let open = gate();
        open.complete();
        (11..15).for_each(|value| publish_behind(&publisher, &*stream, &open, value));
        stream.synchronize(TIMEOUT).unwrap();
        assert!(subscriber.wait(Some(TIMEOUT)));
        assert_eq!(value_of(&subscriber), Some(14));
    }
}

/// A message that never becomes complete ends the wait with an error.
#[test]
fn a_message_that_never_becomes_complete_is_an_error_at_once() {
    let scratch = Scratch::new();
    let node = scratch.node("all");
    let publisher = publisher(&node, false);
    let subscriber = subscriber(&node, HOST, History::KeepAll);
    let loan = publisher.loan(8, 8, BODY).unwrap();
    let fence = loan.fence().unwrap();
    loan.publish_signalled().map_err(|(error, _)| error).unwrap();
    assert!(!subscriber.wait(Some(SHORT)));
    fence.poison();
    assert_eq!(wait_any(&[&subscriber], Some(TIMEOUT)), Some(0));
    let error = subscriber.take().unwrap_err();
    assert!(matches!(error, TakeError::Copy { source: CopyError::Poisoned, .. }), "{error}");
}
