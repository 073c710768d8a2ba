//! Sets of samples from real topics: by stamps in messages, and by the times of publication.
#![cfg(not(loom))]

mod common;

use std::time::Duration;

use common::Scratch;
use common::messages::{Note, Pose, Scan, publish_pose};
use situ_bus::{
    ApproximateTime, ExactTime, Interrupter, ReceiveError, Stamped, Synchronizer, SynchronizerCounts,
    SynchronizerError, Wait,
};
use situ_layout::time::Timestamp;

/// Longer than any step here.
const PATIENCE: Duration = Duration::from_secs(20);

/// A time of a message, as generated code has it.
struct Time(i32, u32);

impl Timestamp for Time {
    fn from_parts(sec: i32, nanosec: u32) -> Self {
        Self(sec, nanosec)
    }

    fn parts(&self) -> (i32, u32) {
        (self.0, self.1)
    }
}

/// A time of so many nanoseconds.
fn nanos(count: u64) -> Time {
    Time::from_nanos(count as i64).unwrap()
}

#[test]
fn synchronizers_return_samples_of_two_topics_in_sets() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let poses = node.publisher::<Pose>("poses").create().unwrap();
    let scans = node.publisher::<Scan>("scans").create().unwrap();
    let bound = Duration::from_nanos(90);
    let mut pairs = Synchronizer::new(
        ApproximateTime::new(4).max_interval(Duration::from_nanos(50)),
        (
            Stamped::new(node.subscriber::<Pose>("poses").create().unwrap(), |pose| nanos(pose.count))
                .inter_message_lower_bound(bound),
            Stamped::new(node.subscriber::<Scan>("scans").create().unwrap(), |scan| nanos(scan.count))
                .inter_message_lower_bound(bound),
        ),
    )
    .unwrap();
    assert!(pairs.take().unwrap().is_none());
    assert!(pairs.recv(Some(Duration::from_millis(1))).unwrap().is_none());

    let publish = move |pose, scan| {
        publish_pose(&poses, pose);
        let mut loan = scans.loan().unwrap();
        loan.count = scan;
        loan.publish().unwrap();
    };
    publish(100, 110);
    publish(200, 290);
    publish(300, 391);
    publish(400, 480);
    // 200 and 480 have no partner within 50 ns.
    for expected in [(100, 110), (300, 290), (400, 391)] {
        let (pose, scan) = pairs.recv(Some(PATIENCE)).unwrap().unwrap();
        assert_eq!((pose.count, scan.count), expected);
        assert!(!pose.is_copy() && !scan.is_copy());
    }
    assert!(pairs.take().unwrap().is_none());
    let counts = SynchronizerCounts { sets: 3, unmatched: 1, ..SynchronizerCounts::default() };
    assert_eq!(pairs.counts(), counts);

    // Another thread publishes while this one waits.
    std::thread::scope(|scope| {
        scope.spawn(move || {
            publish(500, 580);
            publish(600, 680);
        });
        let (pose, scan) = pairs.recv(None).unwrap().unwrap();
        assert_eq!((pose.count, scan.count), (500, 480));
    });
}

#[test]
fn synchronizers_take_first_from_the_topic_that_is_behind() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let publishers: Vec<_> = ["a", "b", "c"]
        .map(|topic| node.publisher::<Pose>(topic).depth(64).create().unwrap())
        .into_iter()
        .collect();
    let topic = |name| {
        let subscriber = node.subscriber::<Pose>(name).max_held(4).create().unwrap();
        Stamped::new(subscriber, |pose| nanos(pose.count))
    };
    // Queues of 2, but 30 messages wait on each topic.
    let mut sets = Synchronizer::new(ExactTime::new(2), (topic("a"), topic("b"), topic("c"))).unwrap();
    for publisher in &publishers {
        (0..30).for_each(|count| publish_pose(publisher, count));
    }
    for count in 0..30 {
        let (a, b, c) = sets.take().unwrap().unwrap();
        assert_eq!((a.count, b.count, c.count), (count, count, count));
    }
    assert_eq!(sets.counts(), SynchronizerCounts { sets: 30, ..SynchronizerCounts::default() });
    assert!(sets.subscribers().iter().all(|subscriber| !subscriber.has_next()));
}

#[test]
fn synchronizers_can_use_the_times_of_publication() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let poses = node.publisher::<Pose>("poses").create().unwrap();
    let notes = node.publisher::<Note>("notes").create().unwrap();
    let mut pairs = Synchronizer::new(
        ApproximateTime::new(10),
        (
            Stamped::as_published(node.subscriber::<Pose>("poses").create().unwrap()),
            Stamped::as_published(node.subscriber::<Note>("notes").create().unwrap()),
        ),
    )
    .unwrap();
    for count in 0..3 {
        publish_pose(&poses, count);
        notes.publish(&Note { count, ..Note::new() }).unwrap();
    }
    // The first note is between two poses; either may be the nearer one.
    let (pose, note) = pairs.take().unwrap().unwrap();
    assert!(pose.count <= 1);
    assert_eq!(note.count, 0);
    assert!(pose.published_at_ns() > 0);
}

#[test]
fn synchronizers_refuse_what_cannot_work_and_waits_are_interrupted() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let topics = |max_held| {
        let subscriber = |name| node.subscriber::<Pose>(name).max_held(max_held).create().unwrap();
        (Stamped::as_published(subscriber("a")), Stamped::as_published(subscriber("b")))
    };
    let held = Synchronizer::new(ExactTime::new(4), topics(5)).unwrap_err();
    assert_eq!(
        held,
        SynchronizerError::MaxHeld { topic: "a".to_owned(), max_held: 5, queue_size: 4, needed: 6 }
    );
    let overflow = Synchronizer::new(ExactTime::new(usize::MAX), topics(5)).unwrap_err();
    assert!(matches!(overflow, SynchronizerError::MaxHeld { needed: usize::MAX, .. }));
    assert_eq!(Synchronizer::new(ExactTime::new(0), topics(5)).unwrap_err(), SynchronizerError::QueueSize);
    for age_penalty in [-0.1, f64::NAN, f64::INFINITY] {
        let policy = ApproximateTime::new(2).age_penalty(age_penalty);
        let refused = Synchronizer::new(policy, topics(5)).unwrap_err();
        assert!(matches!(refused, SynchronizerError::AgePenalty { .. }));
    }

    let mut pairs = Synchronizer::new(ExactTime::new(4), topics(6)).unwrap();
    let stop = Interrupter::new();
    stop.interrupt();
    let ended = pairs.recv_with(Wait::for_ever().until(&stop));
    assert!(matches!(ended, Err(ReceiveError::Interrupted(_))));
}
