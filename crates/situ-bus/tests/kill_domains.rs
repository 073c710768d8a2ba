//! Processes are killed while messages go from one memory domain to another: copiers during a copy, owners of
//! bodies that others read, and holders of copies. No process hangs, nothing leaks, and nothing torn or
//! incomplete is read.
//!
//! `make chaos KILLS=10000` runs the same with more kills.
#![cfg(not(loom))]

mod common;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use common::pattern::{HEAD, Order, bytes, check_bytes};
use common::watched::{Beats, TIMEOUT, kill_at_random, kills};
use common::{Scratch, numbers, role};
use rustix::process::Signal;
use situ_bus::{
    CopyError, IncompleteError, Node, Placement, PublisherQos, RawPublisher, RawSample, RawSubscriber,
    SubscriberQos, TakeError, clean, inspect,
};
use situ_memory::{
    DomainError, DomainId, DomainKind, EmulatedDomain, EmulatedOptions, Fence, FenceState, HOST, Stream,
    ViewError,
};
use situ_testkit::Random;
use situ_testkit::process::{Role, say};

const DEVICE: DomainId = DomainId { kind: DomainKind::EMULATED, number: 0 };
const OTHER: DomainId = DomainId { kind: DomainKind::EMULATED, number: 1 };

fn stream(domain: DomainId) -> Arc<dyn Stream> {
    situ_memory::find(domain).unwrap().stream().unwrap()
}

fn publisher(node: &Node, domain: DomainId, eager_copies: bool) -> RawPublisher {
    let placement = Placement { domain, eager_copies, ..Default::default() };
    let qos = PublisherQos { depth: 4, ..Default::default() };
    RawPublisher::create_in(node, "image", &numbers(), qos, &placement).unwrap()
}

fn subscriber(node: &Node, domain: DomainId) -> RawSubscriber {
    let placement = Placement { domain, ..Default::default() };
    RawSubscriber::create_in(node, "image", &numbers(), SubscriberQos::default(), &placement).unwrap()
}

/// The way of publishing a message.
#[derive(Clone, Copy, PartialEq)]
enum When {
    Complete,
    InStreamOrder,
}

/// Publishes message `count` of `name`, with a body of this size, in any memory.
fn send(publisher: &RawPublisher, stream: &dyn Stream, (name, count): (u64, u64), size: usize, when: When) {
    let (head, body) = bytes(name, count, size);
    let mut loan = publisher.loan(HEAD, 8, body.len()).unwrap();
    loan.head_bytes().copy_from_slice(&head);
    if !body.is_empty() {
        let span = loan.span();
        // SAFETY: the bytes live until the stream has passed, which is waited for below in either case.
        unsafe {
            stream.copy_from_host(body.as_ptr(), span.memory(), span.offset(), body.len() as u64).unwrap();
        }
    }
    if when == When::InStreamOrder {
        loan.publish_on(stream).unwrap();
        stream.synchronize(TIMEOUT).unwrap();
    } else {
        stream.synchronize(TIMEOUT).unwrap();
        loan.publish().unwrap();
    }
}

/// The body of a message, from any memory. `None` if its publisher died before it was complete.
fn fetch(sample: &RawSample, stream: &dyn Stream) -> Option<Vec<u8>> {
    match sample.synchronize(TIMEOUT) {
        Ok(()) => {}
        Err(IncompleteError::Poisoned { .. }) => return None,
        Err(error) => panic!("{error}"),
    }
    let span = sample.span();
    let mut body = vec![0; sample.body_size()];
    if !body.is_empty() {
        // SAFETY: the bytes live until the stream has passed, which is waited for.
        unsafe {
            stream.copy_to_host(span.memory(), span.offset(), body.as_mut_ptr(), body.len() as u64).unwrap();
        }
        stream.synchronize(TIMEOUT).unwrap();
    }
    Some(body)
}

/// Whether a message may be lost: its publisher died, or was too busy to pass its memory.
fn is_lost(error: &TakeError) -> bool {
    matches!(
        error,
        TakeError::Copy { source: CopyError::Poisoned, .. }
            | TakeError::Pool { source: ViewError::Domain(DomainError::TimedOut { .. }), .. }
            | TakeError::Copy {
                source: CopyError::Pool(ViewError::Domain(DomainError::TimedOut { .. })),
                ..
            }
    )
}

/// Takes a message, if there is one that was completed.
fn take(subscriber: &RawSubscriber) -> Option<RawSample> {
    match subscriber.take() {
        Ok(sample) => sample,
        Err(error) if is_lost(&error) => None,
        Err(error) => panic!("{error}"),
    }
}

/// The same in stream order.
fn take_on(subscriber: &RawSubscriber, stream: &dyn Stream) -> Option<RawSample> {
    match subscriber.take_on(stream) {
        Ok(sample) => sample,
        Err(error) if is_lost(&error) => None,
        Err(error) => panic!("{error}"),
    }
}

/// The role of a child until it is killed.
#[test]
#[ignore = "played by the children of the other tests"]
fn child() {
    let Some((role, scratch)) = role() else { return };
    match role.as_str() {
        "copy slowly" => return copy_slowly(&scratch),
        "copy behind a gate" => return copy_behind_a_gate(&scratch),
        "publish and stop" => return publish_and_stop(&scratch, Then::Stop),
        "publish and look dead" => return publish_and_stop(&scratch, Then::LookDead),
        "publish and leave" => return publish_and_stop(&scratch, Then::Leave),
        "hold all" => return hold_all(&scratch),
        _ => {}
    }
    let index = std::env::var("SITU_TEST_INDEX").unwrap().parse().unwrap();
    let beats = Beats::open(scratch.with_extension("beats"));
    let beat = || _ = beats.of(index).fetch_add(1, Ordering::Relaxed);
    // Includes the time, because process numbers are reused.
    let mut random = Random(situ_bus::now_ns() ^ u64::from(std::process::id()) << 40 ^ index as u64);
    let node = scratch.node(&role);
    let (what, domain) = role.split_once(' ').unwrap();
    let domain: DomainId = domain.parse().unwrap();
    match what {
        "publish" | "eager" => publish_for_ever(&node, domain, what == "eager", &mut random, beat),
        "hold" => hold_for_ever(&node, domain, &mut random, beat),
        other => panic!("no such role: {other}"),
    }
}

fn publish_for_ever(node: &Node, domain: DomainId, eager: bool, random: &mut Random, beat: impl Fn()) {
    let (publisher, stream) = (publisher(node, domain, eager), stream(domain));
    let name = random.number();
    for count in 0..=u64::MAX {
        let size = [0, 600, 5_000, 80_000][random.below(4) as usize];
        let in_order = random.below(2) == 0 && domain != HOST;
        let when = if in_order { When::InStreamOrder } else { When::Complete };
        send(&publisher, stream.as_ref(), (name, count), size, when);
        std::thread::sleep(Duration::from_micros(random.below(1000)));
        beat();
    }
}

fn hold_for_ever(node: &Node, domain: DomainId, random: &mut Random, beat: impl Fn()) {
    let (subscriber, stream) = (subscriber(node, domain), stream(domain));
    let mut order = Order::new(false);
    let mut held: VecDeque<RawSample> = VecDeque::new();
    loop {
        if !subscriber.wait(Some(Duration::from_millis(random.below(20)))) {
            beat();
            continue;
        }
        // On a device sometimes in stream order: then copies are enqueued, and their copier is killed while
        // they are under way.
        let taken = if random.below(2) == 0 { take(&subscriber) } else { take_on(&subscriber, &*stream) };
        if let Some(sample) = taken
            && let Some(body) = fetch(&sample, stream.as_ref())
        {
            order.note_bytes(&sample, &body);
            held.push_back(sample);
        }
        if held.len() > 4 || random.below(8) == 0 {
            let index = random.below(held.len().max(1) as u64) as usize;
            if let Some(sample) = held.remove(index) {
                // Unchanged after all that.
                check_bytes(&sample, &fetch(&sample, stream.as_ref()).unwrap());
            }
        }
        beat();
    }
}

const ROLES: [&str; 10] = [
    "publish emulated:0",
    "publish host",
    "eager host",
    "eager emulated:0",
    "hold host",
    "hold host",
    "hold emulated:0",
    "hold emulated:1",
    "hold emulated:1",
    "publish emulated:1",
];

/// Takes messages until a flag is set. Counts them.
fn witness(node: &Node, domain: DomainId, seen: &AtomicU64, stop: &AtomicBool) {
    let (subscriber, stream) = (subscriber(node, domain), stream(domain));
    let mut order = Order::new(false);
    while !stop.load(Ordering::Relaxed) {
        if let Some(sample) = take(&subscriber) {
            if let Some(body) = fetch(&sample, stream.as_ref()) {
                order.note_bytes(&sample, &body);
                seen.fetch_add(1, Ordering::Relaxed);
            }
        } else {
            subscriber.wait(Some(Duration::from_millis(50)));
        }
    }
}

/// Publishers, copiers and holders in three domains are killed, and stopped for a while, at random moments.
#[test]
fn processes_are_killed_at_random() {
    kill_in_domains([HOST, DEVICE, OTHER], &ROLES, kills(120), "kills at random, in several domains");
}

/// The same with memory that is no file: it comes from its owner, which may be dead before it is asked. The
/// device is a Vulkan device here. One that computes on the CPU starts slowly, so there are fewer kills.
#[test]
fn processes_are_killed_at_random_on_vulkan() {
    const ROLES: [&str; 7] = [
        "publish vulkan:0",
        "eager host",
        "eager vulkan:0",
        "hold host",
        "hold vulkan:0",
        "hold vulkan:0",
        "hold emulated:0",
    ];
    const VULKAN: DomainId = DomainId { kind: DomainKind::VULKAN, number: 0 };
    match situ_memory::find(VULKAN) {
        Ok(_) => {
            kill_in_domains([HOST, VULKAN, DEVICE], &ROLES, kills(120) / 4, "kills at random, on Vulkan")
        }
        Err(error) => {
            let required = std::env::var("SITU_TEST_REQUIRE").unwrap_or_default();
            assert!(!required.split(',').any(|required| required == "vulkan"), "{error}");
            eprintln!("SKIPPED: {error}");
        }
    }
}

fn kill_in_domains(domains: [DomainId; 3], roles: &[&'static str], kills: u64, what: &str) {
    let mut random = Random::seeded(what);
    let scratch = Scratch::new();
    let start = Instant::now();
    let mut used = Vec::new();
    let [first, second, third] = domains.map(|domain| {
        let scratch = &scratch;
        move |seen: &AtomicU64, stop: &AtomicBool| {
            let node = scratch.node("witness");
            let _ = domains.map(|domain| node.domain(domain).unwrap());
            witness(&node, domain, seen, stop)
        }
    });
    let pause = |random: &mut Random| random.below(40_000);
    let outcome =
        kill_at_random(&scratch, &mut random, roles, [&first, &second, &third], (kills, pause), || {
            used = inspect::topic(&scratch.root(), "image").unwrap().unwrap().domains;
        });
    println!(
        "{kills} kills in {:.1?}: the witnesses took {:?} messages, with {:?}; at most {} KiB of memory",
        start.elapsed(),
        outcome.seen,
        used.iter().map(|used| format!("{} copies to {}", used.copies, used.domain)).collect::<Vec<_>>(),
        outcome.most_memory >> 10
    );
    assert!(outcome.most_memory < 128 << 20, "memory leaks: {} bytes", outcome.most_memory);
    clean(&scratch.root()).unwrap();
    assert_eq!(scratch.files(), Vec::<PathBuf>::new(), "files leak");
}

const LARGE: usize = 8 << 20;

/// A device that takes a second for the test's message.
fn copy_slowly(scratch: &Scratch) {
    let options = EmulatedOptions { bandwidth_bytes_per_s: LARGE as u64 / 2, ..Default::default() };
    let node = scratch.node("slow").with_domain(Arc::new(EmulatedDomain::new(options)));
    let subscriber = subscriber(&node, DEVICE);
    say("ready");
    while !subscriber.wait(None) {}
    say("copying");
    let _sample = subscriber.take();
    std::thread::sleep(Duration::MAX);
}

/// A copier is killed during a copy. A waiting subscriber takes over, and the half copy is never seen.
#[test]
fn a_killed_copier_is_replaced() {
    let mut times = Vec::new();
    for round in 0..(kills(120) / 24).min(50) {
        let scratch = Scratch::new();
        let node = scratch.node("all");
        let publisher = publisher(&node, HOST, false);
        let subscribers = [subscriber(&node, DEVICE), subscriber(&scratch.node("third"), DEVICE)];
        let mut child = Role::start(&scratch, "copy slowly");
        child.wait_for("ready");
        send(&publisher, stream(HOST).as_ref(), (1, round), LARGE, When::Complete);
        child.wait_for("copying");
        std::thread::sleep(Duration::from_millis(30 + round * 7 % 100));
        assert_eq!(copies(&scratch, DEVICE), 0, "the copy is under way");
        child.signal(Signal::KILL);
        let start = Instant::now();
        for subscriber in &subscribers {
            let sample = subscriber.take().unwrap().unwrap();
            check_bytes(&sample, &fetch(&sample, stream(DEVICE).as_ref()).unwrap());
            times.push(start.elapsed());
        }
        assert_eq!(copies(&scratch, DEVICE), 1, "one subscriber copied again, the other shared the copy");
        child.kill();
    }
    println!("taken over from killed copiers after at most {:.1?}", times.iter().max().unwrap());
}

/// A stream that never finishes, with a copy on it.
fn copy_behind_a_gate(scratch: &Scratch) {
    let subscriber = subscriber(&scratch.node("gated"), DEVICE);
    let stream = stream(DEVICE);
    say("ready");
    while !subscriber.wait(None) {}
    stream.wait(&never(), Duration::MAX).unwrap();
    let _sample = subscriber.take_on(&*stream).unwrap().unwrap();
    say("enqueued");
    std::thread::sleep(Duration::MAX);
}

/// A fence that is never completed.
fn never() -> Fence {
    Fence::of_process(0, 1)
}

/// A process is killed while its stream has yet to make a copy that others already know. A waiting subscriber
/// makes another one.
#[test]
fn an_enqueued_copy_of_a_dead_process_is_replaced() {
    let mut times = Vec::new();
    for round in 0..(kills(120) / 24).min(50) {
        let scratch = Scratch::new();
        let node = scratch.node("all");
        let publisher = publisher(&node, HOST, false);
        let subscribers = [subscriber(&node, DEVICE), subscriber(&scratch.node("third"), DEVICE)];
        let mut child = Role::start(&scratch, "copy behind a gate");
        child.wait_for("ready");
        send(&publisher, stream(HOST).as_ref(), (1, round), 100_000, When::Complete);
        child.wait_for("enqueued");
        assert_eq!(copies(&scratch, DEVICE), 1, "it is enqueued");
        std::thread::scope(|scope| {
            let [subscriber, waiting] = subscribers;
            let waiting = scope.spawn(move || {
                let sample = waiting.take().unwrap().unwrap();
                check_bytes(&sample, &fetch(&sample, stream(DEVICE).as_ref()).unwrap());
            });
            std::thread::sleep(Duration::from_millis(10));
            assert!(!waiting.is_finished(), "it waits for the copy");
            child.kill();
            let start = Instant::now();
            let sample = subscriber.take().unwrap().unwrap();
            check_bytes(&sample, &fetch(&sample, stream(DEVICE).as_ref()).unwrap());
            waiting.join().unwrap();
            times.push(start.elapsed());
        });
        assert_eq!(copies(&scratch, DEVICE), 2, "one subscriber copied again, the other shared the copy");
    }
    println!(
        "enqueued copies of dead processes were replaced after at most {:.1?}",
        times.iter().max().unwrap()
    );
}

/// The number of messages that were copied into a domain.
fn copies(scratch: &Scratch, domain: DomainId) -> u64 {
    let topic = inspect::topic(&scratch.root(), "image").unwrap().unwrap();
    topic.domains.iter().find(|used| used.domain == domain).unwrap().copies
}

/// The role of a process after it has published.
#[derive(PartialEq)]
enum Then {
    Stop,
    /// Drops the lock that shows that it lives, like a process that was killed and has not ended yet.
    LookDead,
    /// Drops its publisher, and lives on.
    Leave,
}

/// Publishes a complete message, and one that its stream never completes.
fn publish_and_stop(scratch: &Scratch, then: Then) {
    let node = scratch.node("publisher");
    let publisher = publisher(&node, DEVICE, false);
    let stream = stream(DEVICE);
    say("ready");
    while publisher.subscribers() < 2 {
        std::thread::sleep(Duration::from_millis(1));
    }
    send(&publisher, stream.as_ref(), (1, 0), 50_000, When::Complete);
    stream.wait(&never(), Duration::MAX).unwrap();
    publisher.loan(8, 8, 50_000).unwrap().publish_on(stream.as_ref()).unwrap();
    if then == Then::LookDead {
        let open = std::fs::read_dir("/proc/self/fd").unwrap().map(|entry| entry.unwrap());
        let of_node =
            |path: &PathBuf| path.starts_with(scratch.path()) && path.to_str().unwrap().contains("/nodes/");
        let locks = open.filter(|it| std::fs::read_link(it.path()).is_ok_and(|path| of_node(&path)));
        let locks: Vec<i32> = locks.map(|it| it.file_name().to_str().unwrap().parse().unwrap()).collect();
        assert_eq!(locks.len(), 1, "the node has one lock");
        // SAFETY: no other code uses it: from now on this process only waits to be killed.
        unsafe { rustix::io::close(locks[0]) };
    }
    let publisher = (then != Then::Leave).then_some(publisher);
    say("published");
    std::thread::sleep(Duration::MAX);
    drop(publisher);
}

/// Complete messages of a dead publisher stay readable, in place and in other domains. Incomplete ones are
/// poisoned, for waiting subscribers on the host and for devices.
#[test]
fn readers_outlive_the_owner_of_a_body() {
    let scratch = Scratch::new();
    let mut child = Role::start(&scratch, "publish and stop");
    child.wait_for("ready");
    let node = scratch.node("all");
    let (on_device, on_host) = (subscriber(&node, DEVICE), subscriber(&node, HOST));
    child.wait_for("published");
    let complete = on_device.take().unwrap().unwrap();
    let pending = on_device.take().unwrap().unwrap();
    assert_eq!(pending.fence().unwrap().state(), FenceState::Pending);
    let (waiting, mut bytes) = (stream(DEVICE), vec![0u8; 50_000]);
    pending.wait_on(waiting.as_ref(), TIMEOUT).unwrap();
    let span = pending.span();
    // SAFETY: the bytes live until the stream has passed, which is waited for below.
    unsafe { waiting.copy_to_host(span.memory(), span.offset(), bytes.as_mut_ptr(), 50_000).unwrap() };
    let short = Duration::from_millis(30);
    assert!(matches!(pending.synchronize(short), Err(IncompleteError::Pending { .. })));
    let start = Instant::now();
    child.kill();
    // The node's own thread finds the owner dead, because no call checks.
    waiting.synchronize(TIMEOUT).unwrap();
    println!("a device that waits for a dead process goes on after {:.1?}", start.elapsed());
    assert_eq!(pending.fence().unwrap().state(), FenceState::Poisoned);
    assert!(matches!(pending.synchronize(TIMEOUT), Err(IncompleteError::Poisoned { sequence: 1, .. })));
    check_bytes(&complete, &fetch(&complete, stream(DEVICE).as_ref()).unwrap());
    // It can still be copied to another domain.
    let sample = on_host.take().unwrap().unwrap();
    check_bytes(&sample, sample.body_in_place());
    let error = on_host.take().unwrap_err();
    assert!(matches!(error, TakeError::Copy { source: CopyError::Poisoned, .. }), "{error}");
}

/// All subscribers have taken the incomplete message, so no row and no cursor needs its publisher's pool. A
/// repairing member finds the publisher dead, but its process has not ended. Waiting subscribers still get
/// the error once it has ended.
#[test]
fn a_wait_for_a_process_that_is_still_ending_gets_an_error() {
    let scratch = Scratch::new();
    let mut child = Role::start(&scratch, "publish and look dead");
    child.wait_for("ready");
    let node = scratch.node("all");
    let subscribers = [subscriber(&node, DEVICE), subscriber(&node, DEVICE)];
    child.wait_for("published");
    let pending = subscribers.each_ref().map(|subscriber| {
        subscriber.take().unwrap().unwrap();
        subscriber.take().unwrap().unwrap()
    });
    // The next member repairs.
    drop(subscriber(&scratch.node("next"), DEVICE));
    assert_eq!(inspect::topic(&scratch.root(), "image").unwrap().unwrap().publishers.len(), 0, "found dead");
    let short = Duration::from_millis(30);
    assert!(matches!(pending[0].synchronize(short), Err(IncompleteError::Pending { .. })));
    child.kill();
    for sample in &pending {
        assert!(matches!(sample.synchronize(TIMEOUT), Err(IncompleteError::Poisoned { sequence: 1, .. })));
    }
}

/// A publisher was dropped before its stream was done, and all its messages were taken. Its pool no longer
/// belongs to the topic when its process is killed. Waiting subscribers still get the error, on the host and
/// on a device, even if the topic itself is gone.
#[test]
fn a_wait_for_a_dropped_publisher_gets_an_error_when_its_process_dies() {
    let scratch = Scratch::new();
    let mut child = Role::start(&scratch, "publish and leave");
    child.wait_for("ready");
    let node = scratch.node("all");
    let subscribers = [subscriber(&node, DEVICE), subscriber(&node, DEVICE)];
    child.wait_for("published");
    let [host, device] = subscribers.each_ref().map(|subscriber| {
        subscriber.take().unwrap().unwrap();
        subscriber.take().unwrap().unwrap()
    });
    // The next member repairs.
    drop(subscriber(&scratch.node("next"), DEVICE));
    let pools =
        || scratch.files().iter().filter(|path| path.extension().is_some_and(|it| it == "pool")).count();
    assert_eq!(pools(), 0, "no subscriber needs them");
    let [stream, other] = [(), ()].map(|()| stream(DEVICE));
    device.wait_on(&*stream, TIMEOUT).unwrap();
    host.wait_on(&*other, TIMEOUT).unwrap();
    let short = Duration::from_millis(30);
    assert!(matches!(host.synchronize(short), Err(IncompleteError::Pending { .. })));
    assert!(matches!(stream.synchronize(short), Err(DomainError::TimedOut { .. })));
    child.kill();
    assert!(matches!(host.synchronize(TIMEOUT), Err(IncompleteError::Poisoned { sequence: 1, .. })));
    stream.synchronize(TIMEOUT).unwrap();
    other.synchronize(TIMEOUT).unwrap();
}

/// The same for a device without its subscriber.
#[test]
fn a_device_that_waits_goes_on_when_topic_and_publisher_are_gone() {
    let scratch = Scratch::new();
    let mut child = Role::start(&scratch, "publish and leave");
    child.wait_for("ready");
    let node = scratch.node("all");
    let subscribers = [subscriber(&node, DEVICE), subscriber(&node, DEVICE)];
    child.wait_for("published");
    let stream = stream(DEVICE);
    for subscriber in subscribers {
        subscriber.take().unwrap().unwrap();
        subscriber.take().unwrap().unwrap().wait_on(&*stream, TIMEOUT).unwrap();
    }
    assert!(inspect::topic(&scratch.root(), "image").unwrap().is_none(), "no member is left");
    assert!(matches!(stream.synchronize(Duration::from_millis(30)), Err(DomainError::TimedOut { .. })));
    child.kill();
    stream.synchronize(TIMEOUT).unwrap();
}

fn hold_all(scratch: &Scratch) {
    let node = scratch.node("hoarder");
    let subscribers = [HOST, DEVICE].map(|domain| subscriber(&node, domain));
    let mut held = Vec::new();
    say("ready");
    loop {
        if let [Some(host), Some(device)] = subscribers.each_ref().map(take) {
            held.extend([host, device]);
            say("taken");
        } else {
            subscribers[0].wait(None);
        }
    }
}

/// Slots that a killed subscriber held, of messages and of others' copies, are released.
#[test]
fn copies_held_by_a_dead_subscriber_return() {
    const HELD: u64 = 6;
    let scratch = Scratch::new();
    let node = scratch.node("all");
    let publisher = publisher(&node, DEVICE, false);
    let copier = subscriber(&node, HOST);
    let mut child = Role::start(&scratch, "hold all");
    child.wait_for("ready");
    for count in 0..HELD {
        send(&publisher, stream(DEVICE).as_ref(), (1, count), 50_000, When::Complete);
        let sample = take(&copier).unwrap();
        check_bytes(&sample, sample.body_in_place());
        child.wait_for("taken");
    }
    assert_eq!(scratch.held("image"), 3 * HELD as usize, "heads, by both, and copies in host memory, by one");
    assert_eq!(copies(&scratch, HOST), HELD);
    child.kill();
    let start = Instant::now();
    let mut count = HELD;
    while scratch.held("image") > 0 {
        assert!(start.elapsed() < TIMEOUT, "they do not return");
        send(&publisher, stream(DEVICE).as_ref(), (1, count), 50_000, When::Complete);
        drop(take(&copier));
        count += 1;
        std::thread::sleep(Duration::from_millis(5));
    }
    println!("slots held by a dead process returned after {:.1?}", start.elapsed());
    while publisher.memory().in_use > 6 {
        assert!(start.elapsed() < TIMEOUT, "{:?}", publisher.memory());
        send(&publisher, stream(DEVICE).as_ref(), (1, count), 50_000, When::Complete);
        count += 1;
    }
}
