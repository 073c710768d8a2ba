//! Enqueued copies: behind the work that completes a message, and behind other work of the subscriber's
//! stream.
#![cfg(not(loom))]

mod common;

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::{Scratch, numbers};
use rustix::event;
use situ_bus::{
    CopyError, Durability, Node, Placement, PublisherQos, RawPublisher, RawSample, RawSubscriber,
    SubscriberQos, TakeError, inspect,
};
use situ_memory::{
    DomainError, DomainId, DomainKind, EmulatedDomain, EmulatedOptions, EmulatedStream, FaultPlan, Fence,
    FenceState, HOST, Memory, PoolMetadata, Strategy, Stream,
};

const DEVICE: DomainId = DomainId { kind: DomainKind::EMULATED, number: 0 };
const TIMEOUT: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(20);
const BODY: usize = 100_000;

fn stream(domain: DomainId) -> Arc<dyn Stream> {
    situ_memory::find(domain).unwrap().stream().unwrap()
}

fn publisher(node: &Node, domain: DomainId, eager_copies: bool) -> RawPublisher {
    let placement = Placement { domain, eager_copies, ..Default::default() };
    let qos = PublisherQos { depth: 1, ..Default::default() };
    RawPublisher::create_in(node, "image", &numbers(), qos, &placement).unwrap()
}

fn subscriber(node: &Node, domain: DomainId) -> RawSubscriber {
    let placement = Placement { domain, ..Default::default() };
    RawSubscriber::create_in(node, "image", &numbers(), SubscriberQos::default(), &placement).unwrap()
}

fn copies(scratch: &Scratch, domain: DomainId) -> (u64, u64) {
    let topic = inspect::topic(&scratch.root(), "image").unwrap().unwrap();
    let used = topic.domains.iter().find(|used| used.domain == domain).unwrap();
    (used.copies, used.bytes)
}

/// A fence that a test completes. It holds a stream up.
fn gate() -> Fence {
    Fence::of_process(0, 1)
}

/// Waits for a message that is not complete yet, and takes it when it is.
fn take_complete(subscriber: &RawSubscriber) -> Result<Option<RawSample>, TakeError> {
    assert!(subscriber.take()?.is_none(), "there is nothing to read yet");
    assert!(subscriber.wait(Some(TIMEOUT)));
    subscriber.take()
}

/// Makes a stream write a body of one value, and publishes it before that is done. Returns the body's place.
fn publish_early(publisher: &RawPublisher, stream: &dyn Stream, value: u8) -> u64 {
    let mut loan = publisher.loan(8, 8, BODY).unwrap();
    loan.head_bytes().copy_from_slice(&u64::from(value).to_ne_bytes());
    let (memory, offset) = (loan.span().memory().clone(), loan.span().offset());
    let stream_of_device = stream.as_any().downcast_ref::<EmulatedStream>().unwrap();
    stream_of_device
        .launch(move |view| {
            // SAFETY: the body belongs to the loan. Later only participants that wait for the fence read it.
            unsafe { view.bytes_mut(&memory, offset, BODY as u64)?.fill(value) };
            Ok(())
        })
        .unwrap();
    loan.publish_on(stream).unwrap();
    offset
}

fn publish_on_host(publisher: &RawPublisher, value: u8) -> *const u8 {
    let mut loan = publisher.loan(8, 8, BODY).unwrap();
    loan.head_bytes().copy_from_slice(&u64::from(value).to_ne_bytes());
    loan.body_bytes().fill(value);
    let at = loan.body_bytes().as_ptr();
    loan.publish().unwrap();
    at
}

/// Makes a stream read bytes of its device.
fn read_on(stream: &dyn Stream, memory: &Arc<dyn Memory>, offset: u64, into: &mut [u8]) {
    // SAFETY: the callers wait for the stream before they read, and keep the bytes until then.
    unsafe { stream.copy_to_host(memory, offset, into.as_mut_ptr(), into.len() as u64).unwrap() };
}

/// The publisher's stream copies behind its kernel. No thread waits for either, one copy serves all
/// subscribers, and no memory in use is lent meanwhile.
#[test]
fn eager_copies_follow_the_kernel() {
    let scratch = Scratch::new();
    let node = scratch.node("all");
    let publisher = publisher(&node, DEVICE, true);
    let subscribers = [subscriber(&node, HOST), subscriber(&scratch.node("other"), HOST)];
    let (stream, kernel) = (stream(DEVICE), gate());
    stream.wait(&kernel, TIMEOUT).unwrap();
    let mut used = vec![publish_early(&publisher, &*stream, 1)];
    assert_eq!(copies(&scratch, HOST), (1, BODY as u64), "enqueued");
    // Far beyond its depth: memory that streams use is still not lent.
    for value in 2..6 {
        let offset = publish_early(&publisher, &*stream, value);
        assert!(!used.contains(&offset), "{offset} is in use");
        used.push(offset);
    }
    std::thread::scope(|scope| {
        let waiting = subscribers.each_ref().map(|subscriber| {
            // SAFETY: only this thread uses the subscriber until it is joined.
            let subscriber = Alone(subscriber);
            scope.spawn(move || {
                let subscriber = subscriber;
                let sample = take_complete(subscriber.0).unwrap().unwrap();
                assert_eq!(sample.body_in_place(), [5; BODY]);
                assert!(sample.was_brought() && sample.fence().is_none());
            })
        });
        std::thread::sleep(SHORT);
        assert!(waiting.iter().all(|waiting| !waiting.is_finished()), "there is nothing to take yet");
        kernel.complete();
        waiting.into_iter().for_each(|waiting| waiting.join().unwrap());
    });
    stream.synchronize(TIMEOUT).unwrap();
    assert_eq!(copies(&scratch, HOST), (5, 5 * BODY as u64), "each once");
    assert!(used.contains(&publish_early(&publisher, &*stream, 6)), "a slot is free now");
    stream.synchronize(TIMEOUT).unwrap();
}

/// A stream that can be held up at several places.
#[derive(Debug)]
struct Hindered {
    stream: Arc<dyn Stream>,
    /// The time for returning its domain, which is called before a copy is enqueued.
    slow: Duration,
    /// The fence to wait for after completing a message.
    behind_signals: Option<Fence>,
    copies: CopiesFromHost,
}

/// The treatment of a copy from the host that is to be enqueued.
#[derive(Debug)]
enum CopiesFromHost {
    AtOnce,
    /// The call completes the first fence and waits for the second. Then it enqueues the copy, or refuses it.
    Gated {
        asked: Fence,
        gate: Fence,
        refuses: bool,
    },
}

impl Hindered {
    /// A stream that is not held up yet.
    fn new(stream: Arc<dyn Stream>) -> Self {
        Self { stream, slow: Duration::ZERO, behind_signals: None, copies: CopiesFromHost::AtOnce }
    }
}

impl Stream for Hindered {
    fn domain(&self) -> DomainId {
        std::thread::sleep(self.slow);
        self.stream.domain()
    }
    unsafe fn copy_from_host(
        &self,
        from: *const u8,
        to: &Arc<dyn Memory>,
        offset: u64,
        len: u64,
    ) -> Result<(), DomainError> {
        if let CopiesFromHost::Gated { asked, gate, refuses } = &self.copies {
            asked.complete();
            assert_eq!(gate.wait(TIMEOUT), FenceState::Complete);
            if *refuses {
                let (action, reason) = ("copy".to_owned(), "it was told to".to_owned());
                return Err(DomainError::Refused { domain: self.stream.domain(), action, reason });
            }
        }
        // SAFETY: the caller promises the same.
        unsafe { self.stream.copy_from_host(from, to, offset, len) }
    }
    unsafe fn copy_to_host(
        &self,
        from: &Arc<dyn Memory>,
        offset: u64,
        to: *mut u8,
        len: u64,
    ) -> Result<(), DomainError> {
        // SAFETY: the caller promises the same.
        unsafe { self.stream.copy_to_host(from, offset, to, len) }
    }
    fn copy(
        &self,
        from: &Arc<dyn Memory>,
        from_offset: u64,
        to: &Arc<dyn Memory>,
        to_offset: u64,
        len: u64,
    ) -> Result<(), DomainError> {
        self.stream.copy(from, from_offset, to, to_offset, len)
    }
    fn wait(&self, fence: &Fence, timeout: Duration) -> Result<(), DomainError> {
        self.stream.wait(fence, timeout)
    }
    fn signal(&self, fence: &Fence) -> Result<(), DomainError> {
        self.stream.signal(fence)?;
        let Some(gate) = &self.behind_signals else { return Ok(()) };
        self.stream.synchronize(TIMEOUT)?;
        self.stream.wait(gate, TIMEOUT)
    }
    fn complete_copy(
        &self,
        fence: &Fence,
        source: Option<&Fence>,
        kept: Box<dyn Any + Send>,
    ) -> Result<(), DomainError> {
        self.stream.complete_copy(fence, source, kept)
    }
    fn synchronize(&self, timeout: Duration) -> Result<(), DomainError> {
        self.stream.synchronize(timeout)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Publishing on a stream does not wait for a copy, even if the stream has already finished the message.
#[test]
fn eager_copies_of_complete_messages_are_enqueued_too() {
    let scratch = Scratch::new();
    let node = scratch.node("all");
    let publisher = publisher(&node, DEVICE, true);
    let subscriber = subscriber(&node, HOST);
    let gate = gate();
    let stream = Hindered { behind_signals: Some(gate.clone()), ..Hindered::new(stream(DEVICE)) };
    let loan = publisher.loan(8, 8, BODY).unwrap();
    let fence = loan.fence().unwrap();
    loan.publish_on(&stream).unwrap();
    assert_eq!(fence.state(), FenceState::Complete);
    assert_eq!(copies(&scratch, HOST), (1, BODY as u64), "enqueued");
    std::thread::scope(|scope| {
        // SAFETY: only this thread uses the subscriber until it is joined.
        let subscriber = Alone(&subscriber);
        let waiting = scope.spawn(move || {
            let subscriber = subscriber;
            take_complete(subscriber.0).map(|sample| sample.is_some())
        });
        std::thread::sleep(SHORT);
        assert!(!waiting.is_finished(), "the stream has yet to copy it");
        gate.complete();
        assert!(waiting.join().unwrap().unwrap());
    });
    stream.synchronize(TIMEOUT).unwrap();
}

/// A message that is complete in its own domain is ready until a copy for the host is enqueued, and then no
/// longer. A subscriber that was woken for it and got nothing is woken again.
#[test]
fn a_descriptor_wakes_again_for_a_message_that_was_put_off() {
    let scratch = Scratch::new();
    let node = scratch.node("all");
    let publisher = publisher(&node, DEVICE, true);
    let subscriber = subscriber(&node, HOST);
    let descriptor = subscriber.event_fd().unwrap();
    let readable = || {
        let time = event::Timespec { tv_sec: TIMEOUT.as_secs() as i64, tv_nsec: 0 };
        event::poll(&mut [event::PollFd::new(&descriptor, event::PollFlags::IN)], Some(&time)).unwrap() == 1
    };
    // Long enough for the watching thread to check by the clock.
    let slow = Duration::from_millis(400);
    let gate = gate();
    let stream = Hindered { slow, behind_signals: Some(gate.clone()), ..Hindered::new(stream(DEVICE)) };
    publisher.loan(8, 8, BODY).unwrap().publish_on(&stream).unwrap();
    assert!(readable(), "it was complete while the copy was not enqueued yet");
    descriptor.clear();
    assert!(subscriber.take().unwrap().is_none(), "the copy is not complete");
    gate.complete();
    assert!(readable());
    assert!(subscriber.take().unwrap().is_some());
    stream.synchronize(TIMEOUT).unwrap();
}

/// A subscriber that was woken because a copy takes too long does not wait for that copy again.
#[test]
fn a_copy_that_timed_out_is_repeated_at_once() {
    let scratch = Scratch::new();
    let node = scratch.node("all");
    let publisher = publisher(&node, DEVICE, true);
    let subscriber = subscriber(&node, HOST);
    let gate = gate();
    let stream = Hindered { behind_signals: Some(gate.clone()), ..Hindered::new(stream(DEVICE)) };
    publisher.loan(8, 8, BODY).unwrap().publish_on(&stream).unwrap();
    assert!(subscriber.take().unwrap().is_none(), "the copy is not complete");
    assert!(subscriber.wait(Some(TIMEOUT)), "it takes longer than a copy may");
    let start = Instant::now();
    let sample = subscriber.take().unwrap().expect("another copy");
    assert!(start.elapsed() < Duration::from_millis(500), "it took {:?}", start.elapsed());
    assert_eq!(sample.body_in_place().len(), BODY);
    assert_eq!(copies(&scratch, HOST).0, 2);
    gate.complete();
    stream.synchronize(TIMEOUT).unwrap();
}

/// A subscriber that several threads use, one after another.
struct Alone<'s>(&'s RawSubscriber);

// SAFETY: only used here: the owner does not use it while the other thread runs.
unsafe impl Send for Alone<'_> {}

/// A subscriber on the host sleeps until it can read a message. One in stream order is woken at once. Both
/// check every 100 ms, woken or not, so one attempt may mislead; a woken subscriber returns well before that.
#[test]
fn a_subscriber_on_the_host_is_woken_when_the_copy_is_complete() {
    let scratch = Scratch::new();
    let publisher = publisher(&scratch.node("publisher"), DEVICE, true);
    let stream = stream(DEVICE);
    let attempt = |value: u8| {
        let (kernel, opened) = (gate(), AtomicBool::new(false));
        let subscribers = [HOST, DEVICE].map(|domain| subscriber(&scratch.node("subscriber"), domain));
        let woken = std::thread::scope(|scope| {
            let woken = subscribers.each_ref().map(|subscriber| {
                // SAFETY: only this thread uses the subscriber until it is joined.
                let subscriber = Alone(subscriber);
                let opened = &opened;
                scope.spawn(move || {
                    let subscriber = subscriber;
                    assert!(subscriber.0.wait(Some(TIMEOUT)));
                    (opened.load(Ordering::SeqCst), Instant::now())
                })
            });
            std::thread::sleep(SHORT);
            stream.wait(&kernel, TIMEOUT).unwrap();
            publish_early(&publisher, &*stream, value);
            std::thread::sleep(SHORT);
            opened.store(true, Ordering::SeqCst);
            let complete = Instant::now();
            kernel.complete();
            let [(late, told), (early, _)] = woken.map(|thread| thread.join().unwrap());
            late && !early && told - complete < 2 * SHORT
        });
        stream.synchronize(TIMEOUT).unwrap();
        let sample = subscribers[0].take().unwrap().unwrap();
        assert!(sample.body_in_place().iter().all(|byte| *byte == value));
        woken
    };
    assert!((1..=20).any(attempt), "woken before it was complete, or not before");
}

/// Completed by something unknown to Situ, or never.
#[test]
fn eager_copies_wait_for_any_fence_and_are_poisoned_with_it() {
    let scratch = Scratch::new();
    let node = scratch.node("all");
    let publisher = publisher(&node, DEVICE, true);
    let subscriber = subscriber(&node, HOST);
    for poisoned in [false, true, false] {
        let loan = publisher.loan(8, 8, BODY).unwrap();
        let fence = loan.fence().unwrap();
        loan.publish_signalled().map_err(|(error, _)| error).unwrap();
        let before = copies(&scratch, HOST).0;
        std::thread::scope(|scope| {
            // SAFETY: only this thread uses the subscriber until it is joined.
            let subscriber = Alone(&subscriber);
            let waiting = scope.spawn(move || {
                let subscriber = subscriber;
                take_complete(subscriber.0).map(|sample| sample.is_some())
            });
            std::thread::sleep(SHORT);
            assert!(!waiting.is_finished());
            if poisoned {
                fence.poison();
                let error = waiting.join().unwrap().unwrap_err();
                assert!(matches!(error, TakeError::Copy { source: CopyError::Poisoned, .. }), "{error}");
            } else {
                fence.complete();
                assert!(waiting.join().unwrap().unwrap());
            }
        });
        assert_eq!(copies(&scratch, HOST).0, before, "it was enqueued when it was published");
    }
}

/// A complete message is copied at once, and not behind other work of the publisher's stream.
#[test]
fn complete_messages_are_not_copied_behind_incomplete_ones() {
    let scratch = Scratch::new();
    let node = scratch.node("all");
    let qos = PublisherQos { depth: 4, ..Default::default() };
    let placement = Placement { domain: DEVICE, eager_copies: true, ..Default::default() };
    let publisher = RawPublisher::create_in(&node, "image", &numbers(), qos, &placement).unwrap();
    let subscriber = subscriber(&node, HOST);
    let loan = publisher.loan(8, 8, BODY).unwrap();
    let fence = loan.fence().unwrap();
    loan.publish_signalled().map_err(|(error, _)| error).unwrap();
    let theirs = fence.clone();
    // Waiting for it would end at some time.
    let late = std::thread::spawn(move || {
        std::thread::sleep(TIMEOUT / 4);
        theirs.complete();
    });
    let start = Instant::now();
    publisher.loan(8, 8, BODY).unwrap().publish().unwrap();
    assert!(start.elapsed() < TIMEOUT / 8, "it waited for another message");
    assert_eq!(copies(&scratch, HOST).0, 2);
    fence.complete();
    for _ in 0..2 {
        assert!(subscriber.wait(Some(TIMEOUT)) && subscriber.take().unwrap().is_some());
    }
    late.join().unwrap();
}

/// A failed copy on the publisher's own stream affects no other copy.
#[test]
fn a_failed_copy_fails_no_other() {
    let scratch = Scratch::new();
    let device = EmulatedDomain::default();
    let node = scratch.node("publisher").with_domain(Arc::new(device.clone()));
    let publisher = publisher(&node, DEVICE, true);
    let subscriber = subscriber(&scratch.node("subscriber"), HOST);
    for round in 0..4 {
        device.faults().plan(FaultPlan { fail_copy: (round == 1).then_some(0), ..Default::default() });
        let loan = publisher.loan(8, 8, BODY).unwrap();
        let fence = loan.fence().unwrap();
        loan.publish_signalled().map_err(|(error, _)| error).unwrap();
        fence.complete();
        let (before, start) = (copies(&scratch, HOST).0, Instant::now());
        assert_eq!(before, round + 1 + u64::from(round > 1), "enqueued when it was published");
        while !subscriber.wait(Some(SHORT)) {
            assert!(start.elapsed() < TIMEOUT);
        }
        assert!(subscriber.take().unwrap().is_some());
        // The next take repeats the failed copy.
        assert_eq!(copies(&scratch, HOST).0 - before, u64::from(round == 1), "round {round}");
    }
}

/// Copies in the publisher's call do not delay subscribers that need none. A waiting subscriber checks every
/// 100 ms, woken or not, so one attempt may mislead; a woken subscriber returns well before that.
#[test]
fn a_subscriber_that_needs_no_copy_is_woken_before_the_publisher_makes_one() {
    let scratch = Scratch::new();
    let slow = Duration::from_millis(300);
    let device = EmulatedDomain::new(EmulatedOptions { latency: slow, ..Default::default() });
    let node = scratch.node("publisher").with_domain(Arc::new(device));
    let publisher = publisher(&node, DEVICE, true);
    let [near, far] = [DEVICE, HOST].map(|domain| subscriber(&scratch.node("subscriber"), domain));
    let attempt = |value: u8| {
        let woken = std::thread::scope(|scope| {
            // SAFETY: only this thread uses the subscriber until it is joined.
            let near = Alone(&near);
            let woken = scope.spawn(move || {
                let near = near;
                assert!(near.0.wait(Some(TIMEOUT)));
                Instant::now()
            });
            std::thread::sleep(SHORT);
            // The message is complete: a subscriber on the host then finds it.
            publisher.loan(8, 8, BODY).unwrap().publish().unwrap();
            let published = Instant::now();
            published.checked_duration_since(woken.join().unwrap())
        });
        assert_eq!(copies(&scratch, HOST).0, u64::from(value), "made by the publisher");
        assert!(far.take().unwrap().is_some() && near.take().unwrap().is_some());
        woken > Some(slow - 2 * SHORT)
    };
    assert!((1..=8).any(attempt), "woken after the copy was made, or by a timeout");
}

/// A message in host memory is copied to a device while its publisher continues. Its memory is not lent again
/// before the copy is complete, and subscribers make their streams wait. A publisher that is faster than the
/// device enqueues no backlog of copies. Without subscribers on the device, nothing is copied.
#[test]
fn eager_copies_into_a_device_are_made_while_the_publisher_goes_on() {
    let scratch = Scratch::new();
    let slow = Duration::from_secs(1);
    let device = EmulatedDomain::new(EmulatedOptions { latency: slow, ..Default::default() });
    let node = scratch.node("publisher").with_domain(Arc::new(device));
    let publisher = publisher(&node, HOST, true);
    let subscriber = subscriber(&scratch.node("subscriber"), DEVICE);
    let start = Instant::now();
    let used = [1, 2].map(|value| publish_on_host(&publisher, value));
    assert_eq!(copies(&scratch, DEVICE), (2, 2 * BODY as u64), "enqueued");
    let stream = stream(DEVICE);
    let second = subscriber.take_on(&*stream).unwrap().unwrap();
    assert_eq!((second.was_brought(), second.fence().unwrap().state()), (true, FenceState::Pending));
    // Beyond its depth and one more: left to the take.
    let third = publish_on_host(&publisher, 3);
    assert_eq!(copies(&scratch, DEVICE).0, 2);
    assert!(start.elapsed() < slow, "the publisher waited for a copy");
    assert!(used[0] != used[1] && !used.contains(&third), "a slot was lent while it was copied");
    let third = subscriber.take_on(&*stream).unwrap().unwrap();
    assert_eq!((copies(&scratch, DEVICE).0, third.was_brought()), (3, true));
    let mut seen = [vec![0; BODY], vec![0; BODY]];
    for (sample, seen) in [&second, &third].into_iter().zip(&mut seen) {
        read_on(&*stream, sample.span().memory(), sample.span().offset(), seen);
    }
    stream.synchronize(TIMEOUT).unwrap();
    assert_eq!(seen, [vec![2; BODY], vec![3; BODY]]);
    drop((second, third, subscriber));
    // The copies have ended, and the slots are free again.
    assert!((4..20).any(|value| used.contains(&publish_on_host(&publisher, value))));
    assert_eq!(copies(&scratch, DEVICE).0, 3, "no subscriber is left on the device");
}

/// A publisher whose memory is used by unfinished copies waits for one of them. A publisher that is dropped
/// waits for all of them.
#[test]
fn memory_that_is_being_copied_is_freed_afterwards() {
    let scratch = Scratch::new();
    let slow = Duration::from_millis(100);
    let device = EmulatedDomain::new(EmulatedOptions { latency: slow, ..Default::default() });
    let node = scratch.node("publisher").with_domain(Arc::new(device));
    let placement =
        Placement { capacity: Some(5 * BODY as u64 / 2), eager_copies: true, ..Default::default() };
    let qos = PublisherQos { depth: 1, ..Default::default() };
    let publisher = RawPublisher::create_in(&node, "image", &numbers(), qos, &placement).unwrap();
    let subscriber = subscriber(&scratch.node("subscriber"), DEVICE);
    // There is room for two messages.
    for value in 1..=6 {
        publish_on_host(&publisher, value);
    }
    drop(subscriber);
    let subscriber = self::subscriber(&scratch.node("another"), DEVICE);
    std::thread::sleep(4 * slow);
    let before = copies(&scratch, DEVICE).0;
    publish_on_host(&publisher, 7);
    assert_eq!(copies(&scratch, DEVICE).0, before + 1);
    let stream = stream(DEVICE);
    let sample = subscriber.take_on(&*stream).unwrap().unwrap();
    assert_eq!(sample.fence().unwrap().state(), FenceState::Pending);
    drop(publisher);
    assert_eq!(sample.fence().unwrap().state(), FenceState::Complete);
    stream.synchronize(TIMEOUT).unwrap();
}

/// A copier shows a copy before its stream has the order. Another subscriber's stream then waits for it. If
/// enqueueing fails, the next subscriber makes the copy.
#[test]
fn a_copy_is_ready_before_it_is_enqueued() {
    let scratch = Scratch::new();
    let publisher = publisher(&scratch.node("publisher"), HOST, false);
    for refuses in [false, true] {
        let takers = [0, 1, 2].map(|_| subscriber(&scratch.node("taker"), DEVICE));
        let before = copies(&scratch, DEVICE).0;
        publish_on_host(&publisher, 7);
        let streams = [stream(DEVICE), stream(DEVICE)];
        let [asked, gate] = [gate(), gate()];
        let copies_from_host = CopiesFromHost::Gated { asked: asked.clone(), gate: gate.clone(), refuses };
        let gated = Hindered { copies: copies_from_host, ..Hindered::new(streams[0].clone()) };
        std::thread::scope(|scope| {
            // SAFETY: only this thread uses the subscriber until it is joined.
            let first = Alone(&takers[0]);
            let taking = scope.spawn(move || {
                let first = first;
                first.0.take_on(&gated).map(|sample| sample.is_some())
            });
            assert_eq!(asked.wait(TIMEOUT), FenceState::Complete);
            let start = Instant::now();
            let sample = takers[1].take_on(&*streams[1]).unwrap().unwrap();
            assert!(
                !taking.is_finished() && start.elapsed() < TIMEOUT / 8,
                "it waited for the other one's call"
            );
            let fence = sample.fence().unwrap().clone();
            assert_eq!(fence.state(), FenceState::Pending);
            gate.complete();
            assert_eq!(
                fence.wait(TIMEOUT),
                if refuses { FenceState::Poisoned } else { FenceState::Complete }
            );
            assert_eq!(taking.join().unwrap().is_ok_and(|taken| taken), !refuses);
            if !refuses {
                let mut seen = vec![0; BODY];
                read_on(&*streams[1], sample.span().memory(), sample.span().offset(), &mut seen);
                streams[1].synchronize(TIMEOUT).unwrap();
                assert_eq!(seen, [7; BODY]);
            }
        });
        // A refused copy does not count, and the next subscriber makes another.
        assert!(takers[2].take().unwrap().unwrap().was_brought());
        assert_eq!(copies(&scratch, DEVICE).0 - before, 1);
    }
}

/// A failed copy leaves nothing behind: its memory is used for the next.
#[test]
fn failed_copies_use_no_memory_up() {
    let scratch = Scratch::new();
    let device = EmulatedDomain::default();
    let node = scratch.node("taker").with_domain(Arc::new(device.clone()));
    // Room for two copies.
    let placement = Placement { domain: DEVICE, capacity: Some(5 * BODY as u64 / 2), ..Default::default() };
    let taker =
        RawSubscriber::create_in(&node, "image", &numbers(), SubscriberQos::default(), &placement).unwrap();
    let publisher = publisher(&scratch.node("publisher"), HOST, false);
    for _ in 0..5 {
        device.faults().plan(FaultPlan { fail_copy: Some(0), ..Default::default() });
        publish_on_host(&publisher, 1);
        let error = taker.take().unwrap_err();
        assert!(matches!(error, TakeError::Copy { source: CopyError::Domain(_), .. }), "{error}");
    }
    device.faults().plan(FaultPlan::default());
    publish_on_host(&publisher, 2);
    assert!(taker.take().unwrap().unwrap().was_brought());
    assert_eq!(copies(&scratch, DEVICE).0, 1, "failed copies do not count");
}

/// A subscriber's copy is enqueued on its own stream. Other subscribers share it before it is done. The
/// message is not overwritten while it is copied, even if the sample is dropped too early.
#[test]
fn a_takers_stream_makes_the_copy() {
    let scratch = Scratch::new();
    let node = scratch.node("all");
    let publisher = publisher(&node, HOST, false);
    let takers = [subscriber(&node, DEVICE), subscriber(&scratch.node("other"), DEVICE)];
    let streams = [stream(DEVICE), stream(DEVICE)];
    let busy = gate();
    streams[0].wait(&busy, TIMEOUT).unwrap();
    let first = publish_on_host(&publisher, 1);
    let samples = [0, 1].map(|taker| takers[taker].take_on(&*streams[taker]).unwrap().unwrap());
    assert_eq!(copies(&scratch, DEVICE), (1, BODY as u64));
    for sample in &samples {
        assert_eq!((sample.domain(), sample.was_brought()), (DEVICE, true));
        assert_eq!(sample.fence().unwrap().state(), FenceState::Pending);
        assert_eq!(sample.head_in_place(), 1u64.to_ne_bytes());
    }
    let mut seen = [vec![0u8; BODY], vec![0u8; BODY]];
    for (seen, (sample, stream)) in seen.iter_mut().zip(samples.iter().zip(&streams)) {
        read_on(&**stream, sample.span().memory(), sample.span().offset(), seen);
        assert!(matches!(stream.synchronize(SHORT), Err(DomainError::TimedOut { .. })), "it waits");
    }
    let [mine, theirs] = samples;
    drop(mine);
    for value in 2..5 {
        assert_ne!(publish_on_host(&publisher, value), first, "it has yet to be copied");
    }
    busy.complete();
    streams.iter().for_each(|stream| stream.synchronize(TIMEOUT).unwrap());
    assert!(seen.iter().all(|seen| *seen == [1; BODY]));
    drop(theirs);
    // The message is no longer held: a later message uses its memory.
    assert!((5..10).any(|value| publish_on_host(&publisher, value) == first));
    assert_eq!(copies(&scratch, DEVICE).0, 1);
}

/// A complete message, and one in the stream's domain, is taken in stream order too. On a stream of another
/// domain nothing is enqueued.
#[test]
fn taking_in_stream_order_copies_no_more_than_taking() {
    let scratch = Scratch::new();
    let node = scratch.node("all");
    let on_host = publisher(&node, HOST, false);
    let on_device = publisher(&node, DEVICE, false);
    let takers = [subscriber(&node, DEVICE), subscriber(&node, DEVICE), subscriber(&node, HOST)];
    let stream = stream(DEVICE);
    publish_on_host(&on_host, 1);
    let kernel = gate();
    stream.wait(&kernel, TIMEOUT).unwrap();
    publish_early(&on_device, &*stream, 2);
    let foreign = situ_memory::find(HOST).unwrap().stream().unwrap();
    let own = self::stream(DEVICE);
    let sample = takers[1].take_on(&*foreign).unwrap().unwrap();
    assert!(sample.fence().is_none() && sample.was_brought(), "copied in the call");
    let sample = takers[0].take_on(&*own).unwrap().unwrap();
    assert!(sample.fence().is_none(), "the copy is complete");
    let sample = takers[0].take_on(&*own).unwrap().unwrap();
    assert!(!sample.was_brought() && sample.fence().is_some());
    assert!(matches!(own.synchronize(SHORT), Err(DomainError::TimedOut { .. })), "it waits for the kernel");
    kernel.complete();
    own.synchronize(TIMEOUT).unwrap();
    for value in [1, 2] {
        let sample = takers[2].take_on(&*own).unwrap().unwrap();
        assert_eq!(sample.body_in_place(), [value; BODY], "complete, as the CPU reads it");
    }
    assert_eq!((copies(&scratch, DEVICE).0, copies(&scratch, HOST).0), (1, 1));
}

/// A copier's pool from before the topic grew has room for the topic's new depth.
#[test]
fn pools_of_copies_grow_with_the_topic() {
    const MANY: u64 = 3000;
    let scratch = Scratch::new();
    let node = scratch.node("all");
    let small = publisher(&node, HOST, false);
    let (copier, slow) = (subscriber(&node, DEVICE), subscriber(&node, DEVICE));
    common::publish(&small, 0, 64);
    assert!(copier.take().unwrap().unwrap().was_brought());
    let qos = PublisherQos { depth: 5000, ..Default::default() };
    let deep = RawPublisher::create(&node, "image", &numbers(), qos).unwrap();
    let pools =
        || scratch.files().iter().filter(|path| path.extension().is_some_and(|it| it == "pool")).count();
    assert_eq!(pools(), 3, "two publishers, and one pool of copies");
    // More than the slots of a pool for 1024 rows. Each copy is kept for the slow subscriber.
    for count in 1..MANY {
        common::publish(&deep, count, 64);
        assert_eq!(copier.take().unwrap().unwrap().head_in_place(), count.to_ne_bytes());
    }
    assert_eq!((copies(&scratch, DEVICE).0, pools()), (MANY, 4));
    while let Some(sample) = slow.take().unwrap() {
        assert!(sample.was_brought());
    }
    assert_eq!(
        (copies(&scratch, DEVICE).0, slow.taken() + slow.lost()),
        (MANY, MANY),
        "the slow subscriber shared them"
    );
    common::publish(&deep, MANY, 64);
    drop((copier.take().unwrap(), slow.take().unwrap()));
    common::publish(&deep, MANY + 1, 64);
    drop(copier.take().unwrap());
    assert_eq!(pools(), 3, "the small pool is removed when no subscriber needs its copies");
}

/// A message with empty bulk members needs no copy: its head stays on the host.
#[test]
fn an_empty_body_is_not_copied() {
    use common::messages::{Scan, ScanBulkLengths};
    let scratch = Scratch::new();
    let node = scratch.node("all");
    let publisher = node.publisher::<Scan>("image").create().unwrap();
    let subscriber = node.subscriber::<Scan>("image").domain(DEVICE).create().unwrap();
    for ranges in [0, 10] {
        let mut scan = publisher.loan_with(ScanBulkLengths { ranges }).unwrap();
        scan.count = ranges as u64;
        scan.publish().unwrap();
        let sample = subscriber.take().unwrap().unwrap();
        assert_eq!((sample.count, sample.span(|scan| &scan.ranges).len()), (ranges as u64, ranges));
    }
    assert_eq!(copies(&scratch, DEVICE), (1, 40));
}

/// A ring lends memory in order, and continues at its beginning after its end.
#[test]
fn publishers_may_allocate_in_a_ring() {
    let scratch = Scratch::new();
    let node = scratch.node("all");
    for domain in [HOST, DEVICE] {
        let placement =
            Placement { domain, capacity: Some(1 << 20), strategy: Strategy::Ring, ..Default::default() };
        let qos = PublisherQos { depth: 2, durability: Durability::TransientLocal, ..Default::default() };
        let publisher = RawPublisher::create_in(&node, "ring", &numbers(), qos, &placement).unwrap();
        let offsets: Vec<u64> = (0..40)
            .map(|_| {
                let loan = publisher.loan(8, 8, BODY).unwrap();
                let offset = loan.span().offset();
                loan.publish().unwrap();
                offset
            })
            .collect();
        let wraps = offsets.windows(2).filter(|pair| pair[1] < pair[0]).count();
        // Ten messages fit into a round.
        assert!((3..=4).contains(&wraps), "{offsets:?}");
    }
}

/// The copier retires a held copy, and dies. Repair does not poison a complete copy.
#[test]
fn a_held_copy_outlives_its_copier() {
    let scratch = Scratch::new();
    let node = scratch.node("all");
    let publisher = publisher(&node, HOST, false);
    let [copier, reader] = [subscriber(&scratch.node("copier"), DEVICE), subscriber(&node, DEVICE)];
    let stream = stream(DEVICE);
    publish_on_host(&publisher, 1);
    let busy = gate();
    stream.wait(&busy, TIMEOUT).unwrap();
    drop(copier.take_on(&*stream).unwrap().unwrap());
    let held = reader.take_on(&*stream).unwrap().unwrap();
    busy.complete();
    stream.synchronize(TIMEOUT).unwrap();
    assert_eq!(held.fence().unwrap().state(), FenceState::Complete);
    // The copier takes the next message, and retires the first copy.
    publish_on_host(&publisher, 2);
    drop(copier.take().unwrap().unwrap());
    for path in scratch.files().iter().filter(|path| path.extension().is_some_and(|it| it == "pool")) {
        PoolMetadata::open(path, situ_memory::Access::ReadWrite).unwrap().poison();
    }
    assert_eq!(held.fence().unwrap().state(), FenceState::Complete);
    held.synchronize(SHORT).unwrap();
}
