//! The events that the bus reports to an observer of the process: every step, in order, with the message's
//! number on both sides.
#![cfg(not(loom))]

mod common;

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use common::{Scratch, numbers, publish, take};
use situ_bus::hook::{self, CallEnd, Event, Hook, MessageId, Notice, Role, Step, Why};
use situ_bus::{
    History, Placement, PublishError, PublisherQos, RawClient, RawPublisher, RawServer, RawSubscriber,
    ReadySources, Reliability, ServiceDescription, ServiceOptions, SubscriberQos, WaitSet, WhenFull,
};
use situ_memory::{HOST, find};

/// An event that outlives its objects: the time, the topic, the member, and the step.
type Kept = (u64, Option<(String, u64, u32)>, Event);

thread_local! {
    static KEPT: RefCell<Vec<Kept>> = const { RefCell::new(Vec::new()) };
}

static TICKS: AtomicU64 = AtomicU64::new(1);

fn tick() -> u64 {
    TICKS.fetch_add(1, Ordering::Relaxed)
}

fn keep(notice: &Notice<'_>) {
    let subject = notice.subject.map(|it| (it.topic.to_owned(), it.id, it.member));
    KEPT.with_borrow_mut(|kept| kept.push((notice.at_ns, subject, notice.event)));
}

static HOOK: Hook = Hook { now_ns: tick, tell: keep };

/// The events of this thread while `work` ran. The tests run in one process, and all observe it.
fn told(work: impl FnOnce()) -> Vec<Kept> {
    hook::watch(Some(&HOOK));
    KEPT.take();
    work();
    let kept = KEPT.take();
    // The begin of a call has the time before its request was published.
    let in_order = kept.iter().filter(|(.., event)| !matches!(event, Event::CallBegins { .. }));
    assert!(in_order.is_sorted_by_key(|(at, ..)| *at), "in the order of time: {kept:?}");
    let mut open = Vec::new();
    for (_, _, event) in &kept {
        match event {
            Event::Begin { step, .. } => open.push(*step),
            Event::End { step, .. } => assert_eq!(open.pop(), Some(*step), "steps nest: {kept:?}"),
            _ => {}
        }
    }
    assert_eq!(open, [], "every step ends");
    kept
}

fn events(kept: &[Kept]) -> Vec<Event> {
    kept.iter().map(|(_, _, event)| *event).collect()
}

fn begin(step: Step, number: Option<u64>, bytes: u64) -> Event {
    Event::Begin { step, number, bytes }
}

fn end(step: Step, number: Option<u64>, bytes: u64) -> Event {
    Event::End { step, number, bytes }
}

#[test]
fn publisher_and_subscriber_report_the_same_message() {
    let scratch = Scratch::new();
    let node = scratch.node("watched");
    let publisher = RawPublisher::create(&node, "a/topic", &numbers(), PublisherQos::default()).unwrap();
    let subscriber = RawSubscriber::create(&node, "a/topic", &numbers(), SubscriberQos::default()).unwrap();
    assert_eq!(publish(&publisher, 7, 100), 0);
    assert_eq!(publish(&publisher, 8, 100), 1);

    let published = told(|| assert_eq!(publish(&publisher, 9, 100), 2));
    assert_eq!(
        events(&published),
        [
            begin(Step::Loan, None, 108),
            end(Step::Loan, None, 108),
            begin(Step::Publish, Some(2), 108),
            end(Step::Publish, Some(2), 108),
            Event::SlotsInUse(3),
        ]
    );
    let taken = told(|| {
        assert_eq!(take(&subscriber), Some((0, 7)));
        assert_eq!(take(&subscriber), Some((1, 8)));
        assert_eq!(take(&subscriber), Some((2, 9)));
        assert_eq!(take(&subscriber), None);
    });
    let expected = (0..3).flat_map(|number| {
        [begin(Step::Take, None, 0), end(Step::Take, Some(number), 108), Event::Queued(2 - number)]
    });
    assert_eq!(events(&taken), expected.collect::<Vec<_>>());

    let subject = published[0].1.clone().unwrap();
    assert_eq!((subject.0.as_str(), subject.2), ("a/topic", 0));
    assert!(published.iter().chain(&taken).all(|(_, other, _)| *other == Some(subject.clone())));
}

#[test]
fn lost_skipped_and_unpublished_messages_are_reported() {
    let scratch = Scratch::new();
    let node = scratch.node("watched");
    let qos = PublisherQos { depth: 4, ..PublisherQos::default() };
    let publisher = RawPublisher::create(&node, "dropped", &numbers(), qos).unwrap();
    let slow = RawSubscriber::create(&node, "dropped", &numbers(), SubscriberQos::default()).unwrap();
    let last = SubscriberQos { history: History::KeepLast(1), ..SubscriberQos::default() };
    let last = RawSubscriber::create(&node, "dropped", &numbers(), last).unwrap();

    let dropped = told(|| drop(publisher.loan(8, 8, 0).unwrap()));
    assert_eq!(events(&dropped)[2..], [Event::Dropped { why: Why::Unpublished, messages: 1 }]);

    (0..10).for_each(|value| assert_eq!(publish(&publisher, value, 0), value));
    let mut first = None;
    let taken = told(|| first = take(&slow));
    let number = first.unwrap().0;
    assert_eq!(slow.lost(), number);
    assert_eq!(
        events(&taken),
        [
            begin(Step::Take, None, 0),
            Event::Dropped { why: Why::Lost, messages: number },
            end(Step::Take, Some(number), 8),
            Event::Queued(9 - number),
        ]
    );
    let taken = told(|| assert_eq!(take(&last), Some((9, 9))));
    let (lost, skipped) = (last.lost(), last.skipped());
    assert_eq!(lost + skipped, 9);
    assert!(events(&taken).contains(&Event::Dropped { why: Why::Skipped, messages: skipped }));
}

#[test]
fn waits_are_reported_only_when_they_happen() {
    let scratch = Scratch::new();
    let node = scratch.node("watched");
    let publisher = RawPublisher::create(&node, "waits", &numbers(), PublisherQos::default()).unwrap();
    let subscriber = RawSubscriber::create(&node, "waits", &numbers(), SubscriberQos::default()).unwrap();
    let brief = Some(Duration::from_millis(1));
    let waited = told(|| assert!(!subscriber.wait(brief)));
    assert_eq!(events(&waited), [begin(Step::Wait, None, 0), end(Step::Wait, None, 0)]);
    assert_eq!(waited[0].1.as_ref().unwrap().0, "waits");
    let waited = told(|| assert_eq!(situ_bus::wait_any(&[&subscriber, &subscriber], brief), None));
    assert_eq!(events(&waited), [begin(Step::Wait, None, 0), end(Step::Wait, None, 0)]);
    assert_eq!(waited[0].1, None, "for several topics");
    let (set, mut ready) = (WaitSet::new(&node), ReadySources::new());
    set.attach(&subscriber).unwrap();
    let waited = told(|| assert!(!set.wait(&mut ready, brief).unwrap()));
    assert_eq!(events(&waited), [begin(Step::Wait, None, 0), end(Step::Wait, None, 0)]);
    let looked = told(|| assert!(!set.wait(&mut ready, Some(Duration::ZERO)).unwrap()));
    assert_eq!(events(&looked), [], "it did not sleep");

    publish(&publisher, 1, 0);
    let waited = told(|| assert!(set.wait(&mut ready, brief).unwrap()));
    assert_eq!(events(&waited), []);
    let waited = told(|| {
        assert!(subscriber.wait(brief));
        assert_eq!(situ_bus::wait_any(&[&subscriber], brief), Some(0));
    });
    assert_eq!(events(&waited), []);
}

#[test]
fn a_publication_begins_after_the_wait_for_room() {
    let scratch = Scratch::new();
    let node = scratch.node("watched");
    let qos = PublisherQos {
        depth: 2,
        reliability: Reliability::Reliable,
        when_full: WhenFull::Fail,
        ..PublisherQos::default()
    };
    let publisher = RawPublisher::create(&node, "full", &numbers(), qos.clone()).unwrap();
    let qos = PublisherQos { when_full: WhenFull::Block(None), ..qos };
    let patient = RawPublisher::create(&node, "full", &numbers(), qos).unwrap();
    let reliable = SubscriberQos { reliability: Reliability::Reliable, ..SubscriberQos::default() };
    let subscriber = RawSubscriber::create(&node, "full", &numbers(), reliable).unwrap();
    publish(&publisher, 0, 0);
    publish(&publisher, 1, 0);

    let failed = told(|| {
        let full = publisher.loan(8, 8, 0).unwrap().publish();
        assert!(matches!(full, Err(PublishError::Full { .. })));
    });
    let waits = Step::WaitForRoom { subscriber: node.id(), pid: std::process::id() };
    let room = [begin(waits, None, 0), end(waits, None, 0)];
    assert_eq!(events(&failed)[2..4], room);
    assert_eq!(events(&failed)[4..], [Event::Dropped { why: Why::Unpublished, messages: 1 }]);

    std::thread::scope(|scope| {
        scope.spawn(move || {
            // Very probably later than the other begins to wait. If not, the publisher waits for less.
            std::thread::sleep(Duration::from_millis(20));
            take(&subscriber).unwrap();
            // Kept, so that it still exists when the message arrives.
            subscriber
        });
        let waited = told(|| assert_eq!(publish(&patient, 2, 0), 2));
        assert_eq!(events(&waited)[2..4], room);
        assert_eq!(events(&waited)[4], begin(Step::Publish, Some(2), 8));
        assert_eq!(waited[3].0, waited[4].0, "the publication begins when the wait ends");
    });
}

#[test]
fn a_copy_is_a_step_of_the_take_that_makes_it() {
    let scratch = Scratch::new();
    let domain = find("emulated:0".parse().unwrap()).unwrap();
    let node = scratch.node("watched").with_domain(domain.clone());
    let publisher = RawPublisher::create(&node, "copied", &numbers(), PublisherQos::default()).unwrap();
    let placement = Placement { domain: domain.id(), capacity: Some(1 << 20), ..Placement::default() };
    let join = || {
        RawSubscriber::create_in(&node, "copied", &numbers(), SubscriberQos::default(), &placement).unwrap()
    };
    let (first, second) = (join(), join());
    publish(&publisher, 5, 1000);
    let step = Step::Copy { from: HOST, into: domain.id() };
    let copied = told(|| drop(first.take().unwrap().unwrap()));
    assert_eq!(
        events(&copied),
        [
            begin(Step::Take, None, 0),
            begin(step, Some(0), 1000),
            end(step, Some(0), 1000),
            end(Step::Take, Some(0), 1008),
            Event::Queued(0),
        ]
    );
    let shared = told(|| drop(second.take().unwrap().unwrap()));
    assert_eq!(events(&shared).len(), 3, "the second subscriber finds the copy");
}

/// Both sides of a service report its calls, with the numbers of request and reply on their topics.
#[test]
fn calls_are_followed_from_the_client_to_the_server_and_back() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let types = ServiceDescription { request: numbers(), reply: numbers() };
    let options = ServiceOptions::default();
    let client = RawClient::create(&node, "hooked", &types, &options).unwrap();
    let server = RawServer::create(&node, "hooked", &types, &options).unwrap();
    let send = || client.loan(8, 8, 0).unwrap().send(None).unwrap();
    let take = || server.take().unwrap().unwrap();
    let answer =
        |request: &situ_bus::RawRequest| server.loan(&request.id(), 8, 8, 0).unwrap().send().unwrap();

    let mut calls = Vec::new();
    let kept = told(|| {
        calls = vec![send(), send(), send(), send()];
        let requests = [take(), take(), take(), take()];
        // The second one is answered first.
        answer(&requests[1]);
        server.refuse(&requests[0].id(), 7, "no").unwrap();
        drop(requests);
        client.take_of(calls[1]).unwrap().unwrap();
        client.take_of(calls[0]).unwrap_err();
        client.cancel(calls[2]).unwrap();
    });
    let of = |role: Role| {
        let is_of = |event: &Event| match event {
            Event::CallBegins { role: it, .. } | Event::CallEnds { role: it, .. } => *it == role,
            _ => false,
        };
        kept.iter().filter(|(.., event)| is_of(event)).cloned().collect::<Vec<_>>()
    };
    let begins = |role, index: usize| Event::CallBegins {
        role,
        lane: index as u32,
        call: calls[index],
        number: index as u64,
    };
    let replies = client.replies();
    let topic = kept
        .iter()
        .find_map(|(_, subject, _)| subject.as_ref().filter(|it| it.0 == replies.topic()).map(|it| it.1));
    let reply = |number| Some(MessageId { topic: topic.unwrap(), number });
    let ends = |role, lane, end, reply| Event::CallEnds { role, lane, end, reply };
    let of_client = of(Role::Client);
    let expected = [
        begins(Role::Client, 0),
        begins(Role::Client, 1),
        begins(Role::Client, 2),
        begins(Role::Client, 3),
        ends(Role::Client, 1, CallEnd::Replied, reply(0)),
        ends(Role::Client, 0, CallEnd::Refused, reply(1)),
        ends(Role::Client, 2, CallEnd::Cancelled, None),
    ];
    assert_eq!(events(&of_client), expected);
    let expected = [
        begins(Role::Server, 0),
        begins(Role::Server, 1),
        begins(Role::Server, 2),
        begins(Role::Server, 3),
        ends(Role::Server, 1, CallEnd::Replied, reply(0)),
        ends(Role::Server, 0, CallEnd::Refused, reply(1)),
        ends(Role::Server, 2, CallEnd::Dropped, None),
        ends(Role::Server, 3, CallEnd::Dropped, None),
    ];
    assert_eq!(events(&of(Role::Server)), expected);
    assert!(of_client.iter().all(|(_, subject, _)| subject.as_ref().unwrap().0 == "situ:request/hooked"));
    // A call begins before its request is published.
    let published = |number| {
        let is_it = |event: &Event| matches!(event, Event::Begin { step: Step::Publish, number: it, .. } if *it == Some(number));
        kept.iter().find(|(_, subject, event)| {
            subject.as_ref().is_some_and(|it| it.0 == "situ:request/hooked") && is_it(event)
        })
    };
    for (index, (at, ..)) in of_client[..4].iter().enumerate() {
        assert!(*at < published(index as u64).unwrap().0);
    }
}
