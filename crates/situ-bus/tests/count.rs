//! Counting: after the first rounds, loan, publish, take and release neither allocate nor call the system,
//! and nor do calls of services. Waking a sleeper costs one system call, and sleeping another.
#![cfg(not(loom))]

mod common;

use std::collections::VecDeque;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use common::messages::{NoteMut, NoteRef, NoteRegion, Pose, Scan, ScanBulkLengths, publish_pose, take_pose};
use common::{Scratch, numbers, role};
use situ_bus::{
    Node, Placement, Publisher, PublisherQos, RawClient, RawPublisher, RawRequest, RawServer, RawSubscriber,
    RegionPublisher, RegionSubscriber, Sample, ServiceDescription, ServiceOptions, Subscriber, SubscriberQos,
    TypeDescription, now_ns,
};
use situ_layout::{FlatMessage, Message};
use situ_memory::{DomainId, Fence, find};
use situ_testkit::allocator::{Calls, CountingAllocator, counting};
use situ_testkit::process::{Role, say};
use situ_testkit::step::{Steps, Stride, stepped};
use situ_testkit::system_calls::{SURVIVED, forbid_system_calls, survive};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// One publisher and some subscribers. Each subscriber holds the previous message while it takes the next.
struct Hop<T: Message> {
    publisher: Publisher<T>,
    subscribers: Vec<(Subscriber<T>, Option<Sample<T>>)>,
    count: u64,
}

impl<T: FlatMessage> Hop<T> {
    fn new(node: &Node, reliable: bool, subscribers: usize) -> Self {
        let publisher = node.publisher::<T>("hop").depth(4);
        let publisher = if reliable { publisher.reliable() } else { publisher };
        let subscribers = (0..subscribers).map(|_| {
            let subscriber = node.subscriber::<T>("hop");
            let subscriber = if reliable { subscriber.reliable() } else { subscriber };
            (subscriber.create().unwrap(), None)
        });
        let subscribers = subscribers.collect();
        Self { publisher: publisher.create().unwrap(), subscribers, count: 0 }
    }

    /// Loans, writes, publishes, takes, reads and releases.
    fn hops(&mut self, number: u64, write: impl Fn(&Publisher<T>, u64), read: impl Fn(&Sample<T>) -> u64) {
        for _ in 0..number {
            write(&self.publisher, self.count);
            for (subscriber, held) in &mut self.subscribers {
                let sample = subscriber.take().unwrap().unwrap();
                assert_eq!(read(&sample), self.count);
                *held = Some(sample);
            }
            // A loan that is not published.
            drop(self.publisher.raw().loan(64, 8, 0).unwrap());
            self.count += 1;
        }
    }
}

fn write_pose(publisher: &Publisher<Pose>, count: u64) {
    publish_pose(publisher, count);
}

fn read_pose(pose: &Sample<Pose>) -> u64 {
    pose.count
}

fn write_scan(publisher: &Publisher<Scan>, count: u64) {
    let mut scan = publisher.loan_with(ScanBulkLengths { ranges: 25_000 }).unwrap();
    scan.count = count;
    scan.frame.try_assign("lidar").unwrap();
    let ranges = scan.bulk_mut(|scan| &scan.ranges);
    (ranges[0], ranges[24_999]) = (1.0, count as f32);
    scan.publish().unwrap();
}

fn read_scan(scan: &Sample<Scan>) -> u64 {
    let ranges = scan.bulk(|scan| &scan.ranges);
    assert_eq!((ranges.len(), scan.frame.as_str()), (25_000, "lidar"));
    assert_eq!(ranges[24_999], scan.count as f32);
    scan.count
}

/// Regions that are built, taken, passed on and taken again.
struct RegionHop {
    publishers: [RegionPublisher<NoteRegion>; 2],
    subscribers: [RegionSubscriber<NoteRegion>; 2],
    count: u64,
}

impl RegionHop {
    fn new(node: &Node) -> Self {
        let topics = ["built", "edited"];
        Self {
            publishers: topics.map(|topic| node.region_publisher(topic).create().unwrap()),
            subscribers: topics.map(|topic| node.region_subscriber(topic).create().unwrap()),
            count: 0,
        }
    }

    fn hops(&mut self, number: u64) {
        let [build, edit] = &self.publishers;
        let [built, edited] = &self.subscribers;
        for _ in 0..number {
            let mut loan = build.loan().unwrap();
            *loan.root_mut().count() = self.count;
            for byte in 0..200 {
                loan.root_mut().text().push(byte as u8).unwrap();
            }
            loan.publish().unwrap();
            let sample = built.take().unwrap().unwrap();
            let mut loan = edit.edit(&sample).unwrap();
            loan.root_mut().text().pop();
            loan.publish().unwrap();
            let after = edited.take().unwrap().unwrap();
            assert_eq!((*after.root().count(), after.root().text().len()), (self.count, 199));
            self.count += 1;
        }
    }
}

/// Calls of a service: each is lent, sent, taken, answered, and its reply taken, with two more under way.
/// Every other reply comes in parts.
struct ServiceHop {
    client: RawClient,
    server: RawServer,
    /// Whether calls have a deadline.
    limit: Option<Duration>,
    size: usize,
    open: VecDeque<(u64, RawRequest)>,
}

impl ServiceHop {
    fn new(node: &Node, size: usize, limit: Option<Duration>) -> Self {
        let one = |name: &str| TypeDescription {
            name: name.to_owned(),
            fixed_size: if size == 64 { 64 } else { 0 },
            ..numbers()
        };
        let described = ServiceDescription { request: one("Request"), reply: one("Reply") };
        let options = ServiceOptions { depth: 4, ..ServiceOptions::default() };
        let client = RawClient::create(node, "hop", &described, &options).unwrap();
        let server = RawServer::create(node, "hop", &described, &options).unwrap();
        let mut calls = Self { client, server, limit, size, open: VecDeque::with_capacity(4) };
        calls.begin();
        calls.begin();
        calls
    }

    fn begin(&mut self) {
        let mut loan = self.client.loan(self.size, 8, 0).unwrap();
        loan.head_bytes()[0] = self.open.len() as u8;
        let call = loan.send(self.limit).unwrap();
        self.open.push_back((call, self.server.take().unwrap().unwrap()));
    }

    fn answer(&self, request: &RawRequest, is_last: bool) {
        let mut loan = self.server.loan(&request.id(), self.size, 8, 0).unwrap();
        loan.head_bytes()[0] = request.sample().head_in_place()[0];
        if is_last { loan.send().unwrap() } else { loan.send_part().unwrap() }
    }

    fn hops(&mut self, number: usize) {
        for round in 0..number {
            self.begin();
            assert!(self.client.take().unwrap().is_none() && self.server.take().unwrap().is_none());
            let (call, request) = self.open.pop_front().unwrap();
            if round % 2 == 1 {
                self.answer(&request, false);
                assert!(!self.client.take_of(call).unwrap().unwrap().is_last());
            }
            self.answer(&request, true);
            assert!(self.client.take_of(call).unwrap().unwrap().is_last());
            // A call that is cancelled.
            self.begin();
            let (call, request) = self.open.pop_back().unwrap();
            self.client.cancel(call).unwrap();
            self.server.collect().unwrap();
            assert!(request.is_cancelled());
        }
    }
}

/// All ways to send: the message, whether reliably, and the number of subscribers. Of calls: whether they
/// have a deadline, and the size of requests and replies.
const WAYS: [(&str, bool, usize); 12] = [
    ("call", false, 64),
    ("call", true, 64),
    ("call", false, 200),
    ("region", false, 1),
    ("pose", false, 1),
    ("pose", true, 1),
    ("pose", false, 3),
    ("pose", true, 3),
    ("scan", false, 1),
    ("scan", true, 1),
    ("scan", false, 3),
    ("scan", true, 3),
];

/// Sends warm-up messages, then measured ones.
fn send(
    scratch: &Scratch,
    (what, reliable, subscribers): (&str, bool, usize),
    measured: impl Fn(&mut dyn FnMut()),
) {
    let node = scratch.node("hop");
    if what == "region" {
        let mut hop = RegionHop::new(&node);
        hop.hops(100);
        return measured(&mut || hop.hops(500));
    }
    if what == "call" {
        let mut calls = ServiceHop::new(&node, subscribers, reliable.then_some(Duration::from_secs(100)));
        calls.hops(100);
        return measured(&mut || calls.hops(100));
    }
    if what == "pose" {
        let mut hop = Hop::<Pose>::new(&node, reliable, subscribers);
        hop.hops(100, write_pose, read_pose);
        measured(&mut || hop.hops(500, write_pose, read_pose));
    } else {
        let mut hop = Hop::<Scan>::new(&node, reliable, subscribers);
        hop.hops(100, write_scan, read_scan);
        measured(&mut || hop.hops(500, write_scan, read_scan));
    }
}

#[test]
fn the_hot_path_does_not_allocate() {
    for way in WAYS {
        send(&Scratch::new(), way, |work| assert_eq!(counting(work).1, Calls::NONE, "{way:?}"));
    }
    let counted = counting(|| drop(std::hint::black_box(vec![1u8; 64]))).1;
    assert_eq!(counted, Calls { allocated: 1, bytes: 64, freed: 1 }, "the counter counts");
}

#[test]
#[ignore = "played by the children of the other tests"]
fn child() {
    let Some((role, scratch)) = role() else { return };
    let forbidden = |work: &mut dyn FnMut()| {
        forbid_system_calls();
        work();
        survive();
    };
    if let Some(way) = role.strip_prefix("way ") {
        return send(&scratch, WAYS[way.parse::<usize>().unwrap()], forbidden);
    }
    let node = scratch.node("child");
    let publisher = || node.publisher::<Pose>("hop").create().unwrap();
    let subscriber = || node.subscriber::<Pose>("hop").create().unwrap();
    match role.as_str() {
        "ask for the parent" => forbidden(&mut || _ = std::os::unix::process::parent_id()),
        "publish to a sleeper" => {
            let publisher = publisher();
            publish_pose(&publisher, 0);
            say("ready");
            std::thread::sleep(Duration::from_millis(100));
            forbidden(&mut || publish_pose(&publisher, 1));
        }
        "ask for what is not complete" => {
            let device: DomainId = "emulated:0".parse().unwrap();
            let placement = Placement { domain: device, ..Placement::default() };
            let qos = PublisherQos { depth: 4, ..PublisherQos::default() };
            let publisher = RawPublisher::create_in(&node, "image", &numbers(), qos, &placement).unwrap();
            let subscriber =
                RawSubscriber::create(&node, "image", &numbers(), SubscriberQos::default()).unwrap();
            let stream = find(device).unwrap().stream().unwrap();
            let publish_behind = |gate: &Fence| {
                stream.wait(gate, Duration::from_secs(20)).unwrap();
                publisher.loan(8, 8, 4096).unwrap().publish_on(stream.as_ref()).unwrap();
            };
            let (first, second) = (Fence::of_process(0, 1), Fence::of_process(0, 1));
            publish_behind(&first);
            assert!(subscriber.take().unwrap().is_none());
            first.complete();
            assert!(subscriber.wait(None));
            drop(subscriber.take().unwrap().unwrap());
            publish_behind(&second);
            // Longer than the interval of checks for dead participants.
            std::thread::sleep(Duration::from_millis(20));
            forbidden(&mut || assert!(subscriber.take().unwrap().is_none()));
        }
        "publish more than ever" => {
            let publisher = node.publisher::<Scan>("more").create().unwrap();
            write_scan(&publisher, 0);
            let more = ScanBulkLengths { ranges: 1_000_000 };
            forbidden(&mut || _ = publisher.loan_with(more).unwrap().publish().unwrap());
        }
        "wake" => {
            let publisher = publisher();
            // As many as it takes until the pool has all slots that it needs.
            (0..100).for_each(|_| publish_pose(&publisher, 0));
            say("ready");
            say_thread();
            stepped(|| {
                for count in 1..=HOPS {
                    publish_pose(&publisher, count);
                    // Long enough for the other side to sleep again. Reading the clock is no system call.
                    let start = now_ns();
                    while now_ns() - start < 3_000_000 {}
                }
            });
        }
        "sleep" => {
            let subscriber = subscriber();
            say("ready");
            while take_pose(&subscriber).is_none() {
                subscriber.wait(None);
            }
            say_thread();
            stepped(|| {
                for count in 1..=HOPS {
                    while !subscriber.wait(None) {}
                    assert_eq!(take_pose(&subscriber), Some(count));
                }
            });
        }
        other => panic!("no such role: {other}"),
    }
}

fn say_thread() {
    // SAFETY: the call has no conditions.
    say(&format!("thread {}", unsafe { libc::gettid() }));
}

fn play(scratch: &Scratch, role: &str) -> ExitStatus {
    Role::start(scratch, role).end(Duration::from_secs(20))
}

#[test]
fn the_hot_path_does_not_call_the_system() {
    for (index, way) in WAYS.iter().enumerate() {
        let status = play(&Scratch::new(), &format!("way {index}"));
        assert_eq!(status.code(), Some(SURVIVED), "{way:?}: {status}");
    }
}

#[test]
fn taking_an_incomplete_message_makes_no_system_call_at_first() {
    let status = play(&Scratch::new(), "ask for what is not complete");
    assert_eq!(status.code(), Some(SURVIVED), "{status}");
}

#[test]
fn system_calls_are_noticed() {
    for role in ["ask for the parent", "publish more than ever"] {
        let status = play(&Scratch::new(), role);
        assert_eq!(status.signal(), Some(libc::SIGSYS), "{role:?}: {status}");
    }
    // A sleeping subscriber: the system must wake it.
    let scratch = Scratch::new();
    let node = scratch.node("sleeper");
    let subscriber = node.subscriber::<Pose>("hop").create().unwrap();
    let mut child = Role::start(&scratch, "publish to a sleeper");
    child.wait_for("ready");
    assert_eq!(take_pose(&subscriber), Some(0));
    subscriber.wait(Some(Duration::from_millis(200)));
    let status = child.end(Duration::from_secs(20));
    assert_eq!(status.signal(), Some(libc::SIGSYS), "{status}");
}

const HOPS: u64 = 40;

/// Waking a sleeper takes one system call, and sleeping another.
#[test]
fn a_wake_up_costs_two_system_calls() {
    let scratch = Scratch::new();
    let node = scratch.node("parent");
    // Entry and exit are one step each.
    let calls = |child: Role, steps: Steps| {
        let calls = steps.count(Stride::SystemCall) / 2;
        steps.kill(child);
        calls as f64 / HOPS as f64
    };
    let waking = {
        let mut child = Role::start(&scratch, "wake");
        let subscriber = node.subscriber::<Pose>("hop").create().unwrap();
        child.wait_for("ready");
        std::thread::spawn(move || {
            while subscriber.wait(Some(Duration::from_secs(1))) {
                while subscriber.take().unwrap().is_some() {}
            }
        });
        let steps = Steps::begin(&mut child);
        calls(child, steps)
    };
    let sleeping = {
        let mut child = Role::start(&scratch, "sleep");
        let publisher = node.publisher::<Pose>("hop").create().unwrap();
        child.wait_for("ready");
        publish_pose(&publisher, 0);
        let steps = Steps::begin(&mut child);
        std::thread::spawn(move || {
            for count in 1..=HOPS {
                std::thread::sleep(Duration::from_millis(3));
                publish_pose(&publisher, count);
            }
        });
        calls(child, steps)
    };
    println!("system calls a hop: {waking:.2} to wake, {sleeping:.2} to sleep");
    // If the subscriber does not sleep yet, no call is needed. If the clock wakes it (every 100 ms), one more
    // is.
    assert!((0.5..=1.1).contains(&waking), "{waking} to wake");
    assert!((0.5..=1.5).contains(&sleeping), "{sleeping} to sleep");
}
