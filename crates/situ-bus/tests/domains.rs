//! Topics across memory domains: which messages are taken in place, which are copied, how often, and by which
//! participant.
#![cfg(not(loom))]

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::messages::{Note, Pose, Scan, ScanBulkLengths};
use common::{Scratch, numbers, role};
use situ_bus::{
    CopyError, Durability, IncompleteError, Node, Placement, PublishError, PublisherQos, RawPublisher,
    RawSample, RawSubscriber, RegisterError, SubscriberQos, TakeError, inspect,
};
use situ_layout::Heap;
use situ_memory::{
    Domain, DomainError, DomainId, DomainKind, EmulatedDomain, EmulatedOptions, FaultPlan, Fence, FenceState,
    HOST, Memory, Stream, StreamOrder,
};
use situ_testkit::process::{Role, say};

const TIMEOUT: Duration = Duration::from_secs(20);

fn emulated(number: u32) -> DomainId {
    DomainId { kind: DomainKind::EMULATED, number }
}

/// Writes bytes to a device's memory and reads them back through the device's engine.
fn write(stream: &dyn Stream, memory: &Arc<dyn Memory>, offset: u64, bytes: &[u8]) {
    // SAFETY: the bytes live until the stream has passed, which is waited for.
    unsafe { stream.copy_from_host(bytes.as_ptr(), memory, offset, bytes.len() as u64).unwrap() };
    stream.synchronize(TIMEOUT).unwrap();
}

fn read(stream: &dyn Stream, memory: &Arc<dyn Memory>, offset: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    // SAFETY: as above.
    unsafe { stream.copy_to_host(memory, offset, bytes.as_mut_ptr(), len as u64).unwrap() };
    stream.synchronize(TIMEOUT).unwrap();
    bytes
}

fn stream(domain: DomainId) -> Arc<dyn Stream> {
    situ_memory::find(domain).unwrap().stream().unwrap()
}

/// The copies into a domain of a topic: messages and bytes.
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

/// Publishes a number in the head, and as many bytes of it in the body, in any memory.
fn send(publisher: &RawPublisher, stream: &dyn Stream, value: u8, body: usize) -> u64 {
    let mut loan = publisher.loan(8, 8, body).unwrap();
    loan.head_bytes().copy_from_slice(&u64::from(value).to_ne_bytes());
    let span = loan.span();
    assert_eq!(span.size(), body as u64);
    write(stream, span.memory(), span.offset(), &vec![value; body]);
    loan.publish().unwrap()
}

/// Checks a message of [`send`], with its body in any memory. Returns its number.
fn check(sample: &RawSample, stream: &dyn Stream) -> u8 {
    let value = u64::from_ne_bytes(sample.head_in_place().try_into().unwrap()) as u8;
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
                while !subscriber.wait(Some(TIMEOUT)) {}
                let sample = subscriber.take().unwrap().unwrap();
                assert_eq!(check(&sample, stream.as_ref()), value);
                assert_eq!(sample.was_brought(), domain == HOST);
                if domain == HOST {
                    assert_eq!(sample.body_in_place(), vec![value; BODY]);
                } else {
                    assert_eq!(sample.body_in_place(), b"");
                }
            }
            say("taken");
            std::thread::sleep(Duration::MAX);
        }
        other => panic!("no such role: {other}"),
    }
}

/// A publishes on a device, and B on the same device takes without a copy. C in host memory has each message
/// copied once. D, also in host memory but late, shares C's copies.
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
        assert_eq!(sample.body_in_place(), vec![value; BODY]);
        assert!(sample.was_brought());
    }
    assert_eq!(copies(&scratch, "image", HOST), (3, 3 * BODY as u64), "it shared the copies");
    assert_eq!(copies(&scratch, "image", emulated(0)), (0, 0), "no copy in the message's own domain");
}

/// A fence that a test completes. It holds a stream up.
fn gate() -> Fence {
    Fence::of_process(0, 1)
}

fn node_with(scratch: &Scratch, name: &str, options: EmulatedOptions) -> (Node, EmulatedDomain) {
    let device = EmulatedDomain::new(options);
    (scratch.node(name).with_domain(Arc::new(device.clone())), device)
}

#[test]
fn two_subscribers_on_a_device_share_a_copy_from_the_host() {
    let scratch = Scratch::new();
    let node = scratch.node("all");
    let publisher = publisher(&node, "image", HOST);
    let subscribers = [0, 0, 1].map(|number| subscriber(&node, "image", emulated(number)));
    let on_host = subscriber(&node, "image", HOST);
    for value in 1..=5 {
        send(&publisher, stream(HOST).as_ref(), value, BODY);
        for subscriber in &subscribers {
            let sample = subscriber.take().unwrap().unwrap();
            assert_eq!(sample.domain(), subscriber.domain());
            assert_eq!(check(&sample, stream(subscriber.domain()).as_ref()), value);
            assert!(sample.was_brought() && sample.fence().is_none());
        }
        let sample = on_host.take().unwrap().unwrap();
        assert_eq!((check(&sample, stream(HOST).as_ref()), sample.was_brought()), (value, false));
    }
    let all = (5, 5 * BODY as u64);
    assert_eq!(
        [HOST, emulated(0), emulated(1)].map(|domain| copies(&scratch, "image", domain)),
        [(0, 0), all, all]
    );
}

/// The device receives a message without a body as a whole.
#[test]
fn a_message_without_a_body_is_copied_with_its_head() {
    let scratch = Scratch::new();
    let node = scratch.node("all");
    let publisher = publisher(&node, "number", HOST);
    let subscriber = subscriber(&node, "number", emulated(0));
    common::publish(&publisher, 7, 0);
    let sample = subscriber.take().unwrap().unwrap();
    assert_eq!(sample.head_in_place(), 7u64.to_ne_bytes());
    let span = sample.span();
    let bytes = read(stream(emulated(0)).as_ref(), span.memory(), span.offset(), span.len());
    assert_eq!(bytes, 7u64.to_ne_bytes());
    assert_eq!(copies(&scratch, "number", emulated(0)), (1, 8));
}

#[test]
fn devices_that_do_not_reach_each_other_copy_through_the_host() {
    let scratch = Scratch::new();
    let node = scratch.node("all");
    let publisher = publisher(&node, "image", emulated(0));
    let subscriber = subscriber(&node, "image", emulated(1));
    send(&publisher, stream(emulated(0)).as_ref(), 9, 20_000_000);
    let sample = subscriber.take().unwrap().unwrap();
    assert_eq!(check(&sample, stream(emulated(1)).as_ref()), 9);
    let counted = [HOST, emulated(0), emulated(1)].map(|domain| copies(&scratch, "image", domain));
    assert_eq!(counted, [(0, 0), (0, 0), (1, 20_000_000)], "a staged copy counts once");
}

#[test]
fn typed_messages_have_spans() {
    let scratch = Scratch::new();
    let node = scratch.node("all");
    let stream = stream(emulated(0));
    let publisher = node.publisher::<Scan>("scan").domain(emulated(0)).create().unwrap();
    let on_device = node.subscriber::<Scan>("scan").domain(emulated(0)).create().unwrap();
    let on_host = node.subscriber::<Scan>("scan").create().unwrap();
    let mut loan = publisher.loan_with(ScanBulkLengths { ranges: 1000 }).unwrap();
    loan.count = 3;
    assert!(loan.bulk_mut(|scan| &scan.ranges).is_empty(), "the CPU has no access");
    let span = loan.span(|scan| &scan.ranges);
    assert_eq!((span.len(), span.size()), (1000, 4000));
    let ranges: Vec<u8> = (0..1000u32).flat_map(|index| (index as f32).to_ne_bytes()).collect();
    write(stream.as_ref(), span.memory(), span.offset(), &ranges);
    loan.publish().unwrap();

    let sample = on_device.take().unwrap().unwrap();
    assert_eq!((sample.count, sample.domain()), (3, emulated(0)));
    assert!(sample.bulk(|scan| &scan.ranges).is_empty() && !sample.raw().was_brought());
    let theirs = sample.span(|scan| &scan.ranges);
    assert_eq!(theirs.len(), 1000);
    assert_eq!(read(stream.as_ref(), theirs.memory(), theirs.offset(), 4000), ranges);

    let sample = on_host.take().unwrap().unwrap();
    assert_eq!((sample.count, sample.domain()), (3, HOST));
    assert_eq!(sample.bulk(|scan| &scan.ranges)[999], 999.0);
    let span = sample.span(|scan| &scan.ranges);
    assert_eq!(span.address(), sample.bulk(|scan| &scan.ranges).as_ptr() as u64);
    assert!(sample.span_of_message().is_empty(), "it has bulk members");
}

/// A plain message lies on the device as a whole if it was written there, and in host memory if not.
#[test]
fn plain_messages_go_to_the_device_whole() {
    let scratch = Scratch::new();
    let node = scratch.node("all");
    let stream = stream(emulated(0));
    let publisher = node.publisher::<Pose>("pose").domain(emulated(0)).create().unwrap();
    let on_device = node.subscriber::<Pose>("pose").domain(emulated(0)).create().unwrap();
    let on_host = node.subscriber::<Pose>("pose").create().unwrap();

    // Written by the CPU: it lies in host memory, and the device gets a copy.
    common::messages::publish_pose(&publisher, 1);
    assert_eq!(on_host.take().unwrap().unwrap().count, 1);
    assert_eq!(copies(&scratch, "pose", HOST).0, 0);
    let sample = on_device.take().unwrap().unwrap();
    let span = sample.span_of_message();
    let bytes = read(stream.as_ref(), span.memory(), span.offset(), size_of::<Pose>());
    assert_eq!(bytes, sample.raw().head_in_place());
    assert_eq!(copies(&scratch, "pose", emulated(0)).0, 1);

    // Written by the device: the other way round.
    let pose = Pose { count: 2, place: [5.0; 6] };
    // SAFETY: a pose is plain numbers without padding.
    let bytes = unsafe { std::slice::from_raw_parts((&raw const pose).cast::<u8>(), size_of::<Pose>()) };
    let mut loan = publisher.loan().unwrap();
    loan.count = 99;
    let span = loan.span_of_message().unwrap();
    assert_eq!((span.len(), span.memory().domain()), (1, emulated(0)));
    write(stream.as_ref(), span.memory(), span.offset(), bytes);
    loan.publish().unwrap();
    let sample = on_host.take().unwrap().unwrap();
    assert_eq!((sample.count, sample.place), (2, [5.0; 6]));
    assert_eq!(copies(&scratch, "pose", HOST), (1, size_of::<Pose>() as u64));
    let sample = on_device.take().unwrap().unwrap();
    assert_eq!(sample.count, 99, "the CPU wrote the head");
    let span = sample.span_of_message();
    assert_eq!(read(stream.as_ref(), span.memory(), span.offset(), size_of::<Pose>()), bytes);
    assert_eq!(copies(&scratch, "pose", emulated(0)).0, 1, "no further copy was made");
}

/// Published before it is complete: the publisher does not wait. The same device waits in stream order. On
/// the host the message is there when it is complete.
#[test]
fn messages_are_published_in_stream_order() {
    let scratch = Scratch::new();
    let node = scratch.node("all");
    let theirs = stream(emulated(0));
    let publisher = publisher(&node, "image", emulated(0));
    let on_device = subscriber(&node, "image", emulated(0));
    let on_host = subscriber(&scratch.node("host"), "image", HOST);
    let gate = gate();
    let body = vec![4u8; BODY];
    let mut loan = publisher.loan(8, 8, BODY).unwrap();
    loan.head_bytes().copy_from_slice(&4u64.to_ne_bytes());
    let span = loan.span();
    theirs.wait(&gate, TIMEOUT).unwrap();
    // SAFETY: the bytes last until the stream has passed, which is waited for below.
    unsafe { theirs.copy_from_host(body.as_ptr(), span.memory(), span.offset(), BODY as u64).unwrap() };
    assert_eq!(loan.publish_on(theirs.as_ref()).unwrap(), 0);

    let sample = on_device.take().unwrap().unwrap();
    assert_eq!(sample.order(), StreamOrder::Words);
    assert_eq!(sample.fence().unwrap().state(), FenceState::Pending);
    let timeout = Duration::from_millis(20);
    assert!(matches!(sample.synchronize(timeout), Err(IncompleteError::Pending { sequence: 0, .. })));
    let ours = stream(emulated(0));
    sample.wait_on(ours.as_ref(), TIMEOUT).unwrap();
    let (span, mut read) = (sample.span(), vec![0u8; BODY]);
    // SAFETY: as above.
    unsafe { ours.copy_to_host(span.memory(), span.offset(), read.as_mut_ptr(), BODY as u64).unwrap() };
    assert!(matches!(ours.synchronize(timeout), Err(DomainError::TimedOut { .. })), "it waits");

    std::thread::scope(|scope| {
        let wanted = &body;
        let (looked, has_looked) = std::sync::mpsc::channel();
        let host = scope.spawn(move || {
            assert!(on_host.take().unwrap().is_none(), "there is nothing to read yet");
            looked.send(()).unwrap();
            assert!(on_host.wait(Some(TIMEOUT)));
            let sample = on_host.take().unwrap().unwrap();
            assert_eq!(sample.body_in_place(), *wanted);
        });
        has_looked.recv().unwrap();
        std::thread::sleep(Duration::from_millis(20));
        assert!(!host.is_finished(), "there is nothing to copy yet");
        gate.complete();
        host.join().unwrap();
    });
    ours.synchronize(TIMEOUT).unwrap();
    assert_eq!(read, body);
    sample.synchronize(TIMEOUT).unwrap();
    assert_eq!(copies(&scratch, "image", HOST).0, 1);
}

/// A publisher may be dropped before its stream has completed its messages.
#[test]
fn a_stream_outlives_its_publisher_and_its_node() {
    let scratch = Scratch::new();
    let on_device = subscriber(&scratch.node("viewer"), "image", emulated(0));
    let (stream, gate) = (stream(emulated(0)), gate());
    let node = scratch.node("camera");
    let publisher = publisher(&node, "image", emulated(0));
    stream.wait(&gate, TIMEOUT).unwrap();
    publisher.loan(8, 8, BODY).unwrap().publish_on(stream.as_ref()).unwrap();
    drop((publisher, node));
    let sample = on_device.take().unwrap().unwrap();
    // The publisher checks for dead participants meanwhile, and finds none.
    let waited = sample.synchronize(Duration::from_millis(50));
    assert!(matches!(waited, Err(IncompleteError::Pending { .. })), "{waited:?}");
    gate.complete();
    sample.synchronize(TIMEOUT).unwrap();
    let start = std::time::Instant::now();
    while inspect::nodes(&scratch.root()).unwrap().len() > 1 {
        assert!(start.elapsed() < TIMEOUT, "the node stays");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A slot is not reused while a stream may still fill it, even if it is not held.
#[test]
fn a_slot_that_a_stream_is_filling_is_not_lent_again() {
    let scratch = Scratch::new();
    let node = scratch.node("all");
    let publisher = publisher(&node, "image", emulated(0));
    let stream = stream(emulated(0));
    let gate = gate();
    stream.wait(&gate, TIMEOUT).unwrap();
    let mut offsets = std::collections::HashSet::new();
    for round in 0..20 {
        let loan = publisher.loan(8, 8, BODY).unwrap();
        assert!(offsets.insert(loan.span().offset()), "message {round} has the body of one before it");
        loan.publish_on(stream.as_ref()).unwrap();
    }
    gate.complete();
    stream.synchronize(TIMEOUT).unwrap();
}

#[test]
fn eager_publishers_copy_before_a_subscriber_takes() {
    let scratch = Scratch::new();
    let node = scratch.node("all");
    let placement = Placement { domain: emulated(0), eager_copies: true, ..Default::default() };
    let qos = PublisherQos::default();
    let publisher = RawPublisher::create_in(&node, "image", &numbers(), qos, &placement).unwrap();
    let stream = stream(emulated(0));
    send(&publisher, stream.as_ref(), 1, BODY);
    assert_eq!(copies(&scratch, "image", HOST).0, 0, "no subscriber takes there");
    let subscribers = [HOST, HOST, emulated(0)].map(|domain| subscriber(&node, "image", domain));
    send(&publisher, stream.as_ref(), 2, BODY);
    assert_eq!(copies(&scratch, "image", HOST), (1, BODY as u64));
    for subscriber in &subscribers {
        let sample = subscriber.take().unwrap().unwrap();
        assert_eq!(sample.was_brought(), subscriber.domain() == HOST);
        assert_eq!(check(&sample, self::stream(subscriber.domain()).as_ref()), 2);
    }
    assert_eq!(copies(&scratch, "image", HOST).0, 1);
}

/// A late subscriber to a topic with history shares the existing copies.
#[test]
fn history_is_copied_once_too() {
    let scratch = Scratch::new();
    let node = scratch.node("all");
    let qos = PublisherQos { durability: Durability::TransientLocal, depth: 4, ..Default::default() };
    let placement = Placement { domain: emulated(0), ..Default::default() };
    let publisher = RawPublisher::create_in(&node, "map", &numbers(), qos, &placement).unwrap();
    let stream = stream(emulated(0));
    (1..=3).for_each(|value| _ = send(&publisher, stream.as_ref(), value, BODY));
    let wants = SubscriberQos { durability: Durability::TransientLocal, ..Default::default() };
    let mut subscribers = Vec::new();
    for _ in 0..3 {
        let subscriber = RawSubscriber::create(&node, "map", &numbers(), wants.clone()).unwrap();
        for value in 1..=3 {
            let sample = subscriber.take().unwrap().unwrap();
            assert_eq!(check(&sample, self::stream(HOST).as_ref()), value);
        }
        subscribers.push(subscriber);
        assert_eq!(copies(&scratch, "map", HOST).0, 3);
    }
}

/// The memory of bodies and copies is reused: the size of the files does not grow with the messages.
#[test]
fn memory_of_bodies_and_copies_is_reused() {
    use std::os::unix::fs::MetadataExt;
    let scratch = Scratch::new();
    let node = scratch.node("all");
    let publisher = publisher(&node, "image", emulated(0));
    let subscribers = [HOST, HOST, emulated(1)].map(|domain| subscriber(&node, "image", domain));
    let stream = stream(emulated(0));
    let mut most = 0;
    for round in 0..200 {
        send(&publisher, stream.as_ref(), round as u8, BODY);
        let samples = subscribers.each_ref().map(|subscriber| subscriber.take().unwrap().unwrap());
        drop(samples);
        let blocks = scratch.files().iter().map(|path| path.metadata().unwrap().blocks()).sum::<u64>();
        most = most.max(blocks * 512);
    }
    // 8 published messages, one or two copies in each of two domains, and the controls of five pools.
    assert!(most < 16 * BODY as u64 + (4 << 20), "{most} bytes");
    assert_eq!(copies(&scratch, "image", HOST).0, 200);
    drop((publisher, subscribers));
    assert!(inspect::topic(&scratch.root(), "image").unwrap().is_none());
}

#[test]
fn serialized_messages_are_on_a_device_only_for_participants_that_handle_them() {
    let scratch = Scratch::new();
    let node = scratch.node("all");
    let error = node.publisher::<Note<Heap>>("note").domain(emulated(0)).create().unwrap_err();
    assert!(matches!(error, RegisterError::Serialized { domain, .. } if domain == emulated(0)), "{error}");
    let error = node.subscriber::<Note<Heap>>("note").domain(emulated(0)).create().unwrap_err();
    assert!(matches!(error, RegisterError::Serialized { .. }), "{error}");
    // A serialized publisher and a subscriber on a device, in either order.
    let serialized = situ_bus::TypeDescription { encoding: situ_bus::Encoding::Xcdr1, ..numbers() };
    let create = |topic| RawPublisher::create(&node, topic, &serialized, PublisherQos::default());
    let placement = Placement { domain: emulated(0), ..Default::default() };
    let publisher = create("first").unwrap();
    let late = RawSubscriber::create_in(&node, "first", &numbers(), SubscriberQos::default(), &placement);
    assert!(matches!(late.unwrap_err(), RegisterError::Serialized { .. }));
    drop(publisher);
    let _subscriber = subscriber(&node, "second", emulated(0));
    assert!(matches!(create("second").unwrap_err(), RegisterError::Serialized { .. }));
    // Participants that handle serialized messages on a device meet others that do, and those on the host.
    let handles = Placement { serialized: true, ..placement };
    let qos = SubscriberQos::default();
    let here = RawSubscriber::create_in(&node, "third", &serialized, qos.clone(), &handles).unwrap();
    let there = RawSubscriber::create(&node, "third", &serialized, qos.clone()).unwrap();
    let publisher =
        RawPublisher::create_in(&node, "third", &serialized, PublisherQos::default(), &handles).unwrap();
    let loan = publisher.loan(0, 1, 64).unwrap();
    let span = loan.span();
    write(stream(emulated(0)).as_ref(), span.memory(), span.offset(), &[7; 64]);
    loan.publish().unwrap();
    assert_eq!(there.take().unwrap().unwrap().body_in_place(), [7; 64]);
    assert_eq!(here.take().unwrap().unwrap().encoding(), situ_bus::Encoding::Xcdr1);
    // Kernels would not find a flat message.
    let flat = RawSubscriber::create_in(&node, "third", &numbers(), qos, &handles);
    assert!(matches!(flat.unwrap_err(), RegisterError::Serialized { .. }));
    // A missing domain, and one too many.
    let nowhere = DomainId { kind: DomainKind::from_number(2000), number: 3 };
    let error = node.publisher::<Pose>("pose").domain(nowhere).create().unwrap_err();
    assert!(matches!(error, RegisterError::Domain(DomainError::Absent { domain, .. }) if domain == nowhere));
    let all: Vec<_> = (0..31).map(|number| subscriber(&node, "many", emulated(number))).collect();
    let placement = Placement { domain: emulated(31), ..Default::default() };
    let more = RawSubscriber::create_in(&node, "many", &numbers(), SubscriberQos::default(), &placement);
    assert!(matches!(more.unwrap_err(), RegisterError::Domains { domain, .. } if domain == emulated(31)));
    drop(all);
}

/// A copy that fails is an error of the subscriber that tried, and of no other.
#[test]
fn a_failed_copy_is_an_error_and_the_next_subscriber_tries_again() {
    let scratch = Scratch::new();
    let publisher = publisher(&scratch.node("publisher"), "image", HOST);
    let (node, device) = node_with(&scratch, "unlucky", EmulatedOptions::default());
    let unlucky = subscriber(&node, "image", emulated(0));
    let lucky = subscriber(&scratch.node("lucky"), "image", emulated(0));
    send(&publisher, stream(HOST).as_ref(), 1, BODY);
    send(&publisher, stream(HOST).as_ref(), 2, BODY);
    device.faults().plan(FaultPlan { fail_copy: Some(0), ..Default::default() });
    let error = unlucky.take().unwrap_err();
    assert!(
        matches!(&error, TakeError::Copy { sequence: 0, domain, source: CopyError::Domain(_), .. } if *domain == emulated(0)),
        "{error}"
    );
    let sample = lucky.take().unwrap().unwrap();
    assert_eq!(check(&sample, stream(emulated(0)).as_ref()), 1);
    assert_eq!(copies(&scratch, "image", emulated(0)).0, 1, "a failed copy does not count");
    // It continues behind it.
    let sample = unlucky.take().unwrap().unwrap();
    assert_eq!(check(&sample, stream(emulated(0)).as_ref()), 2);
}

/// A failing stream poisons the message that it should have completed. The slot's next message is valid
/// again.
#[test]
fn a_failed_stream_poisons_its_message_alone() {
    let scratch = Scratch::new();
    let (node, device) = node_with(&scratch, "all", EmulatedOptions::default());
    let placement = Placement { domain: emulated(0), ..Default::default() };
    let qos = PublisherQos { depth: 1, ..Default::default() };
    let publisher = RawPublisher::create_in(&node, "image", &numbers(), qos, &placement).unwrap();
    let on_device = subscriber(&node, "image", emulated(0));
    let on_host = subscriber(&node, "image", HOST);
    let stream = device.stream().unwrap();
    for round in 0..4 {
        let fails = round % 2 == 0;
        let mut loan = publisher.loan(8, 8, BODY).unwrap();
        loan.head_bytes().copy_from_slice(&5u64.to_ne_bytes());
        let (span, body) = (loan.span(), vec![5u8; BODY]);
        device.faults().plan(FaultPlan { fail_copy: fails.then_some(0), ..Default::default() });
        // SAFETY: the bytes last until the stream has passed, which is waited for below.
        unsafe { stream.copy_from_host(body.as_ptr(), span.memory(), span.offset(), BODY as u64).unwrap() };
        loan.publish_on(stream.as_ref()).unwrap();
        assert_eq!(stream.synchronize(TIMEOUT).is_err(), fails);
        let sample = on_device.take().unwrap().unwrap();
        let host = on_host.take();
        if fails {
            assert!(matches!(sample.synchronize(TIMEOUT), Err(IncompleteError::Poisoned { .. })));
            let error = host.unwrap_err();
            assert!(matches!(error, TakeError::Copy { source: CopyError::Poisoned, .. }), "{error}");
        } else {
            sample.synchronize(TIMEOUT).unwrap();
            assert_eq!(host.unwrap().unwrap().body_in_place(), body);
        }
    }
    device.faults().lose_device();
    let loan = publisher.loan(8, 8, BODY).unwrap();
    let error = loan.publish_on(stream.as_ref()).unwrap_err();
    assert!(matches!(error, PublishError::Stream { .. }), "{error}");
}

/// Subscribers that join, copy and leave exhaust nothing, even on a slow topic.
#[test]
fn copiers_come_and_go() {
    let scratch = Scratch::new();
    let node = scratch.node("all");
    let publisher = publisher(&node, "image", emulated(0));
    let stream = stream(emulated(0));
    for round in 0..300 {
        let subscriber = subscriber(&node, "image", HOST);
        send(&publisher, stream.as_ref(), round as u8, 100);
        let sample = subscriber.take().unwrap().unwrap();
        drop(subscriber);
        assert_eq!(check(&sample, self::stream(HOST).as_ref()), round as u8, "it outlives its copier");
    }
    assert_eq!(copies(&scratch, "image", HOST).0, 300);
}

/// A topic that grows while it is used in several domains keeps their columns.
#[test]
fn topics_grow_with_their_columns() {
    let scratch = Scratch::new();
    let node = scratch.node("all");
    let publisher = publisher(&node, "image", emulated(0));
    let subscribers = [HOST, HOST, emulated(1)].map(|domain| subscriber(&node, "image", domain));
    let stream = stream(emulated(0));
    let send_and_take = |value| {
        send(&publisher, stream.as_ref(), value, 1000);
        for subscriber in &subscribers {
            let sample = subscriber.take().unwrap().unwrap();
            assert_eq!(check(&sample, self::stream(subscriber.domain()).as_ref()), value);
        }
    };
    (0..50).for_each(send_and_take);
    send(&publisher, stream.as_ref(), 50, 1000);
    let deep = SubscriberQos { history: situ_bus::History::KeepLast(3000), ..Default::default() };
    let rows = || inspect::topic(&scratch.root(), "image").unwrap().unwrap().depth;
    let before = rows();
    let placement = Placement { domain: emulated(2), ..Default::default() };
    let late = RawSubscriber::create_in(&node, "image", &numbers(), deep, &placement).unwrap();
    assert!(rows() > before);
    for subscriber in &subscribers {
        let sample = subscriber.take().unwrap().unwrap();
        assert_eq!(check(&sample, self::stream(subscriber.domain()).as_ref()), 50, "from the old ring");
    }
    (51..100).for_each(send_and_take);
    for value in 51..100 {
        if let Some(sample) = late.take().unwrap() {
            assert!(check(&sample, self::stream(emulated(2)).as_ref()) >= value);
        }
    }
    assert_eq!(copies(&scratch, "image", HOST).0, 100);
    assert_eq!(copies(&scratch, "image", emulated(1)).0, 100);
}
