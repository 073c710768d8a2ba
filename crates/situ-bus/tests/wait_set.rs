//! Wait sets: every kind of source, their order, their descriptor, and changes while a thread waits.
#![cfg(not(loom))]

mod common;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::messages::{Pose, publish_pose, take_pose};
use common::{Scratch, role};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use situ_bus::{
    AttachError, Clock, Descriptor, GuardCondition, IoReadiness, Publisher, ReadySources, SimulatedClock,
    Source, SourceId, Subscriber, Timer, TimerCall, TimerError, WaitError, WaitSet, Waitable,
};
use situ_testkit::process::{Role, say};

/// Longer than any step here.
const TIMEOUT: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(20);

/// The sources that are ready now.
fn now(set: &WaitSet) -> Vec<SourceId> {
    wait(set, Duration::ZERO)
}

fn wait(set: &WaitSet, time: Duration) -> Vec<SourceId> {
    let mut ready = ReadySources::new();
    set.wait(&mut ready, Some(time)).unwrap();
    ready.iter().map(|source| source.id).collect()
}

/// Whether a descriptor can be read within this time.
fn is_readable(fd: i32, time: Duration) -> bool {
    // SAFETY: the caller's descriptor is open.
    let fd = unsafe { BorrowedFd::borrow_raw(fd) };
    let mut polled = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
    let time = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() };
    poll(&mut polled, Some(&time)).unwrap() == 1
}

/// Waits while another thread publishes a message after some milliseconds. Returns the publisher as well.
fn wait_for_a_message(
    set: &WaitSet,
    publisher: Publisher<Pose>,
    count: u64,
) -> (Publisher<Pose>, Vec<SourceId>) {
    std::thread::scope(|scope| {
        let publishing = scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(3));
            publish_pose(&publisher, count);
            publisher
        });
        let reported = wait(set, TIMEOUT);
        (publishing.join().unwrap(), reported)
    })
}

fn seconds(number: u64) -> Duration {
    Duration::from_secs(number)
}

fn pipe() -> (Arc<OwnedFd>, OwnedFd) {
    let (read, write) = rustix::pipe::pipe().unwrap();
    (Arc::new(read), write)
}

#[test]
fn a_topic_is_reported_until_its_messages_are_taken() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let set = WaitSet::new(&node);
    let (one, other) =
        (node.subscriber::<Pose>("one").create().unwrap(), node.subscriber("other").create().unwrap());
    let (first, second) = (set.attach(&one).unwrap(), set.attach(&other).unwrap());
    assert_eq!(set.len(), 2);
    assert_eq!(wait(&set, SHORT), []);
    let publisher = node.publisher::<Pose>("other").create().unwrap();
    (0..2).for_each(|count| publish_pose(&publisher, count));
    assert_eq!(now(&set), [second]);
    assert_eq!(take_pose(&other), Some(0));
    assert_eq!(now(&set), [second]);
    assert_eq!(take_pose(&other), Some(1));
    assert_eq!(now(&set), []);
    publish_pose(&node.publisher::<Pose>("one").create().unwrap(), 7);
    publish_pose(&publisher, 8);
    let mut both = now(&set);
    both.sort();
    assert_eq!(both, [first, second]);
    assert!(set.detach(second));
    assert!(!set.detach(second));
    assert_eq!(now(&set), [first]);
}

#[test]
fn a_message_wakes_the_thread_that_waits() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let set = WaitSet::new(&node);
    let subscriber = node.subscriber::<Pose>("poses").create().unwrap();
    let id = set.attach(&subscriber).unwrap();
    let mut publisher = node.publisher::<Pose>("poses").create().unwrap();
    for count in 0..50 {
        let reported;
        (publisher, reported) = wait_for_a_message(&set, publisher, count);
        assert_eq!(reported, [id]);
        assert_eq!(take_pose(&subscriber), Some(count));
    }
}

#[test]
fn a_dropped_subscriber_is_detached() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let set = WaitSet::new(&node);
    let subscriber = node.subscriber::<Pose>("poses").create().unwrap();
    set.attach(&subscriber).unwrap();
    let publisher = node.publisher::<Pose>("poses").create().unwrap();
    publish_pose(&publisher, 1);
    // The sample keeps the subscriber's place.
    let sample = subscriber.take().unwrap().unwrap();
    publish_pose(&publisher, 2);
    assert_eq!(now(&set).len(), 1);
    drop(subscriber);
    assert_eq!(now(&set), []);
    assert_eq!(set.len(), 0);
    assert_eq!(sample.count, 1);
}

#[test]
fn a_guard_condition_is_reported_once_for_each_trigger() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let set = WaitSet::new(&node);
    let guard = GuardCondition::new();
    guard.trigger();
    let id = set.attach(&guard).unwrap();
    assert_eq!(now(&set), [id], "it was triggered before it was attached");
    assert_eq!(now(&set), []);
    guard.trigger();
    guard.clone().trigger();
    assert!(guard.is_triggered());
    assert_eq!(now(&set), [id]);
    assert_eq!(now(&set), []);
    let other = WaitSet::new(&node);
    assert!(matches!(other.attach(&guard), Err(AttachError::Attached { what: "guard condition" })));
    set.detach(id);
    let there = other.attach(&guard).unwrap();
    guard.trigger();
    assert_eq!(now(&set), []);
    assert_eq!(now(&other), [there]);
    drop(other);
    assert!(set.attach(&guard).is_ok(), "a set that ends gives its conditions free");
}

#[test]
fn guard_conditions_are_triggered_by_many_threads() {
    let scratch = Scratch::new();
    let set = WaitSet::new(&scratch.node("n"));
    let guards: Vec<_> = (0..8).map(|_| GuardCondition::new()).collect();
    let ids: Vec<_> = guards.iter().map(|guard| set.attach(guard).unwrap()).collect();
    let rounds = 2_000;
    let mut counts = vec![0; ids.len()];
    std::thread::scope(|scope| {
        for guard in &guards {
            scope.spawn(move || {
                for _ in 0..rounds {
                    guard.trigger();
                    while guard.is_triggered() {
                        std::thread::yield_now();
                    }
                }
            });
        }
        let mut ready = ReadySources::new();
        while counts.iter().any(|count| *count < rounds) {
            assert!(set.wait(&mut ready, Some(TIMEOUT)).unwrap(), "a trigger was lost: {counts:?}");
            for source in &ready {
                counts[ids.iter().position(|id| *id == source.id).unwrap()] += 1;
            }
        }
    });
    assert_eq!(counts, vec![rounds; ids.len()]);
}

/// The condition that the signal handler triggers.
static TRIGGERED_BY_SIGNAL: std::sync::OnceLock<GuardCondition> = std::sync::OnceLock::new();

extern "C" fn trigger(_: libc::c_int) {
    TRIGGERED_BY_SIGNAL.get().into_iter().for_each(GuardCondition::trigger);
}

#[test]
fn a_signal_handler_triggers_a_guard_condition() {
    let scratch = Scratch::new();
    let set = WaitSet::new(&scratch.node("n"));
    let guard = TRIGGERED_BY_SIGNAL.get_or_init(GuardCondition::new);
    let id = set.attach(guard).unwrap();
    // SAFETY: the handler only triggers the condition.
    unsafe { libc::signal(libc::SIGUSR2, trigger as extern "C" fn(libc::c_int) as libc::sighandler_t) };
    // SAFETY: it names this thread, which outlives the one below.
    let this = unsafe { libc::pthread_self() };
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(SHORT);
            // SAFETY: the thread lives.
            unsafe { libc::pthread_kill(this, libc::SIGUSR2) };
        });
        assert_eq!(wait(&set, TIMEOUT), [id]);
    });
}

#[test]
fn a_timer_keeps_its_phase_and_counts_missed_periods() {
    let clock = SimulatedClock::new(seconds(100));
    let scratch = Scratch::new();
    let set = WaitSet::new(&scratch.node("n"));
    let timer = Timer::periodic_by(&clock.clock(), seconds(10)).unwrap();
    let id = set.attach(&timer).unwrap();
    assert_eq!(now(&set), []);
    clock.advance(seconds(9));
    assert_eq!((now(&set), timer.left()), (vec![], Some(seconds(1))));
    clock.advance(seconds(2));
    assert_eq!(now(&set), [id]);
    assert_eq!(now(&set), []);
    assert_eq!(timer.last_call(), TimerCall { scheduled: seconds(110), reported: seconds(111), missed: 0 });
    // 120, 130 and 140 pass: one report, never a burst. The next is due at 150.
    clock.set(seconds(147));
    assert_eq!(now(&set), [id]);
    assert_eq!(now(&set), []);
    assert_eq!(timer.last_call(), TimerCall { scheduled: seconds(120), reported: seconds(147), missed: 2 });
    assert_eq!((timer.calls(), timer.missed(), timer.left()), (2, 2, Some(seconds(3))));
    timer.cancel();
    clock.set(seconds(500));
    assert_eq!(now(&set), []);
    timer.reset();
    clock.set(seconds(509));
    assert_eq!(now(&set), []);
    clock.set(seconds(510));
    assert_eq!(now(&set), [id]);
    // A step back starts the period again: the next report is after 10 s, not after 417 s.
    clock.set(seconds(103));
    assert_eq!((now(&set), timer.left()), (vec![], Some(seconds(10))));
    clock.set(seconds(113));
    assert_eq!(now(&set), [id]);
    timer.set_period(seconds(1)).unwrap();
    clock.advance(seconds(1));
    assert_eq!(now(&set), [id]);
    assert_eq!(timer.calls(), 5);
}

#[test]
fn simulated_time_wakes_a_thread_that_waits_and_can_run_by_itself() {
    let clock = SimulatedClock::new(Duration::ZERO);
    let scratch = Scratch::new();
    let set = WaitSet::new(&scratch.node("n"));
    let hour = Timer::one_shot_by(&clock.clock(), seconds(3600)).unwrap();
    let id = set.attach(&hour).unwrap();
    assert_eq!(wait(&set, SHORT), []);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(SHORT);
            clock.set(seconds(3600));
        });
        assert_eq!(wait(&set, TIMEOUT), [id]);
    });
    assert!(!hour.is_running());
    hour.reset();
    // One hour in 36 ms.
    clock.run(100_000.0);
    let start = Instant::now();
    assert_eq!(wait(&set, TIMEOUT), [id]);
    assert!(start.elapsed() >= Duration::from_millis(30), "{:?}", start.elapsed());
    clock.pause();
    assert!(clock.is_paused());
    let stopped = clock.now();
    std::thread::sleep(Duration::from_millis(2));
    assert_eq!(clock.now(), stopped);
}

#[test]
fn timers_of_the_steady_clock_end_a_wait_in_time() {
    let scratch = Scratch::new();
    let set = WaitSet::new(&scratch.node("n"));
    let (often, once) = (
        Timer::periodic(Duration::from_millis(5)).unwrap(),
        Timer::one_shot(Duration::from_millis(12)).unwrap(),
    );
    let (often_id, once_id) = (set.attach(&often).unwrap(), set.attach(&once).unwrap());
    assert!(matches!(set.attach(&often), Err(AttachError::Attached { what: "timer" })));
    let start = Instant::now();
    let mut reports = Vec::new();
    while reports.len() < 6 {
        reports.extend(wait(&set, TIMEOUT));
    }
    assert!(start.elapsed() >= Duration::from_millis(20));
    assert_eq!(reports.iter().filter(|id| **id == once_id).count(), 1);
    assert_eq!(reports.iter().filter(|id| **id == often_id).count() as u64, often.calls());
    // Reports and missed periods together are the periods that have passed.
    let passed = (start.elapsed().as_millis() / 5) as u64;
    assert!(often.calls() + often.missed() <= passed + 1);
    // A watchdog that is reset in time is never due.
    let watchdog = Timer::one_shot(seconds(5)).unwrap();
    set.detach(often_id);
    set.attach(&watchdog).unwrap();
    for _ in 0..1000 {
        watchdog.reset();
        assert_eq!(now(&set), []);
    }
    watchdog.set_period(Duration::from_millis(1)).unwrap();
    assert_eq!(wait(&set, TIMEOUT).len(), 1);
}

#[test]
fn a_timer_that_another_thread_shortens_ends_the_wait() {
    let scratch = Scratch::new();
    let set = WaitSet::new(&scratch.node("n"));
    let timer = Timer::one_shot(seconds(3600)).unwrap();
    let id = set.attach(&timer).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(SHORT);
            timer.set_period(Duration::from_millis(1)).unwrap();
        });
        assert_eq!(wait(&set, TIMEOUT), [id]);
    });
}

#[test]
fn impossible_timers_are_refused() {
    assert!(matches!(Timer::periodic(Duration::ZERO), Err(TimerError::ZeroPeriod)));
    assert!(matches!(Timer::one_shot(Duration::MAX), Err(TimerError::TooLong(_))));
    assert!(Timer::one_shot(Duration::ZERO).is_ok());
    assert!(Clock::steady().now() > Duration::ZERO);
}

#[test]
fn descriptors_are_reported_as_long_as_they_are_ready() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let set = WaitSet::new(&node);
    let subscriber = node.subscriber::<Pose>("poses").create().unwrap();
    let topic = set.attach(&subscriber).unwrap();
    let (reader, writer) = pipe();
    let id = set.attach(&Descriptor::readable(reader.clone())).unwrap();
    assert_eq!(wait(&set, SHORT), []);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(SHORT);
            rustix::io::write(&writer, b"x").unwrap();
        });
        assert_eq!(wait(&set, TIMEOUT), [id]);
    });
    assert_eq!(now(&set), [id]);
    rustix::io::read(&*reader, &mut [0u8; 8][..]).unwrap();
    assert_eq!(now(&set), []);
    // A topic in a set with descriptors: the node's threads watch it.
    let mut publisher = node.publisher::<Pose>("poses").create().unwrap();
    for count in 0..20 {
        let reported;
        (publisher, reported) = wait_for_a_message(&set, publisher, count);
        assert_eq!(reported, [topic]);
        assert_eq!(take_pose(&subscriber), Some(count));
        assert_eq!(now(&set), []);
    }
    let writer = Arc::new(writer);
    let out = set.attach(&Descriptor::writable(writer.clone())).unwrap();
    assert_eq!(now(&set), [out]);
    set.detach(out);
    drop(writer);
    let mut ready = ReadySources::new();
    assert!(set.wait(&mut ready, Some(TIMEOUT)).unwrap());
    let expected = IoReadiness { closed: true, ..IoReadiness::default() };
    assert_eq!((ready.as_slice()[0].id, ready.as_slice()[0].readiness), (id, expected));
    let file = Arc::new(std::fs::File::open("/proc/self/exe").unwrap());
    let refused = set.attach(&Descriptor::readable(file)).unwrap_err();
    assert!(matches!(refused, AttachError::Descriptor { .. }), "{refused}");
    assert!(matches!(set.attach(&Descriptor::readable(reader)), Err(AttachError::Descriptor { .. })));
}

#[test]
fn the_descriptor_of_a_set_is_readable_while_something_is_ready() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let set = WaitSet::new(&node);
    let subscriber = node.subscriber::<Pose>("poses").create().unwrap();
    let (guard, clock) = (GuardCondition::new(), SimulatedClock::new(Duration::ZERO));
    let steady = Timer::one_shot(Duration::from_millis(30)).unwrap();
    let simulated = Timer::one_shot_by(&clock.clock(), seconds(1)).unwrap();
    let topic = set.attach(&subscriber).unwrap();
    let (guard_id, steady_id) = (set.attach(&guard).unwrap(), set.attach(&steady).unwrap());
    let simulated_id = set.attach(&simulated).unwrap();
    let fd = set.fd().unwrap();
    assert_eq!(set.fd().unwrap(), fd);
    assert_eq!(now(&set), []);
    assert!(!is_readable(fd, Duration::ZERO), "nothing is ready");
    assert!(is_readable(fd, TIMEOUT), "the timer");
    assert_eq!(now(&set), [steady_id]);
    assert_eq!(now(&set), []);
    assert!(!is_readable(fd, Duration::ZERO));
    guard.trigger();
    assert!(is_readable(fd, Duration::ZERO), "the guard condition");
    assert_eq!(now(&set), [guard_id]);
    assert_eq!(now(&set), []);
    clock.set(seconds(1));
    assert!(is_readable(fd, Duration::ZERO), "the clock");
    assert_eq!(now(&set), [simulated_id]);
    assert_eq!(now(&set), []);
    assert!(!is_readable(fd, Duration::ZERO));
    let publisher = node.publisher::<Pose>("poses").create().unwrap();
    for count in 0..200 {
        publish_pose(&publisher, 2 * count);
        publish_pose(&publisher, 2 * count + 1);
        for expected in [2 * count, 2 * count + 1] {
            assert!(is_readable(fd, TIMEOUT), "message {expected} is not reported");
            while now(&set) != [topic] {
                assert!(is_readable(fd, TIMEOUT), "message {expected} is not reported");
            }
            assert_eq!(take_pose(&subscriber), Some(expected));
        }
        while !now(&set).is_empty() {}
    }
    // The thread that watches the topic may run late, and report a message that was taken.
    let is_quiet = |_| {
        while !now(&set).is_empty() {}
        !is_readable(fd, Duration::from_millis(150))
    };
    assert!((0..20).any(is_quiet), "the descriptor never becomes quiet");
}

#[test]
fn no_source_starves_another() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let set = WaitSet::new(&node);
    let subscribers: Vec<Subscriber<Pose>> =
        (0..5).map(|index| node.subscriber(&format!("topic/{index}")).create().unwrap()).collect();
    let ids: Vec<_> = subscribers.iter().map(|subscriber| set.attach(subscriber).unwrap()).collect();
    let publishers: Vec<_> =
        (0..5).map(|index| node.publisher::<Pose>(&format!("topic/{index}")).create().unwrap()).collect();
    publishers.iter().for_each(|publisher| publish_pose(publisher, 1));
    // All five are ready all the time. A caller with room for two meets each of them equally often.
    let mut counts = [0; 5];
    for _ in 0..50 {
        let count = set
            .wait_with(2, Some(Duration::ZERO), &mut |source| {
                counts[ids.iter().position(|id| *id == source.id).unwrap()] += 1;
            })
            .unwrap();
        assert_eq!(count, 2);
    }
    assert_eq!(counts, [20; 5]);
}

#[test]
fn attaching_and_detaching_wake_a_thread_that_waits() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let set = WaitSet::new(&node);
    let old = node.subscriber::<Pose>("old").create().unwrap();
    let old_id = set.attach(&old).unwrap();
    let new = node.subscriber::<Pose>("new").create().unwrap();
    let publisher = node.publisher::<Pose>("new").create().unwrap();
    let (old_publisher, guard) = (node.publisher::<Pose>("old").create().unwrap(), GuardCondition::new());
    std::thread::scope(|scope| {
        let (set, guard) = (&set, &guard);
        scope.spawn(move || {
            std::thread::sleep(SHORT);
            assert!(set.detach(old_id));
            publish_pose(&old_publisher, 1);
            std::thread::sleep(SHORT);
            set.attach(guard).unwrap();
            guard.trigger();
        });
        let reported = wait(set, TIMEOUT);
        assert_eq!(reported.len(), 1);
        assert_ne!(reported[0], old_id, "it was detached before its message came");
    });
    std::thread::scope(|scope| {
        let set = &set;
        let attached = scope.spawn(move || {
            std::thread::sleep(SHORT);
            let id = set.attach(&new).unwrap();
            std::thread::sleep(SHORT);
            publish_pose(&publisher, 1);
            (id, new)
        });
        let reported = wait(set, TIMEOUT);
        let (id, _new) = attached.join().unwrap();
        assert_eq!(reported, [id]);
    });
    // The topic is unmapped when it is detached and its subscriber dropped, also while a thread waits.
    let (is_over, set) = (AtomicBool::new(false), &set);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                wait(set, Duration::from_millis(50));
            }
        });
        for _ in 0..100 {
            let subscriber = node.subscriber::<Pose>("short").create().unwrap();
            let id = set.attach(&subscriber).unwrap();
            std::thread::yield_now();
            set.detach(id);
        }
        is_over.store(true, Ordering::SeqCst);
        waiting.join().unwrap();
    });
}

#[test]
fn one_thread_waits_at_a_time() {
    let scratch = Scratch::new();
    let set = WaitSet::new(&scratch.node("n"));
    let guard = GuardCondition::new();
    set.attach(&guard).unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let mut ready = ReadySources::new();
            while set.wait(&mut ready, Some(TIMEOUT)).is_err() {}
            ready.as_slice().to_vec()
        });
        let mut ready = ReadySources::new();
        let start = Instant::now();
        while !matches!(set.wait(&mut ready, Some(Duration::ZERO)), Err(WaitError::InUse)) {
            assert!(start.elapsed() < TIMEOUT);
            std::thread::sleep(Duration::from_millis(1));
        }
        guard.trigger();
        assert_eq!(waiting.join().unwrap().len(), 1);
    });
}

/// As a service will be: something that has a subscriber inside.
struct Server {
    requests: Subscriber<Pose>,
}

impl Waitable for Server {
    fn source(&self) -> Source {
        self.requests.source()
    }
}

#[test]
fn other_things_are_waited_for_by_what_they_have_inside() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let set = WaitSet::new(&node);
    let server = Server { requests: node.subscriber("requests").create().unwrap() };
    let id = set.attach(&server).unwrap();
    publish_pose(&node.publisher::<Pose>("requests").create().unwrap(), 1);
    assert_eq!(now(&set), [id]);
}

#[test]
fn ten_thousand_sources_cost_nothing_until_they_are_ready() {
    let scratch = Scratch::new();
    let set = WaitSet::new(&scratch.node("n"));
    let guards: Vec<_> = (0..5_000).map(|_| GuardCondition::new()).collect();
    let timers: Vec<_> = (0..5_000).map(|_| Timer::one_shot(seconds(3600)).unwrap()).collect();
    let ids: Vec<_> = guards.iter().map(|guard| set.attach(guard).unwrap()).collect();
    timers.iter().for_each(|timer| _ = set.attach(timer).unwrap());
    assert_eq!((set.len(), now(&set).len()), (10_000, 0));
    for index in [4_999, 0, 1_234] {
        guards[index].trigger();
        assert_eq!(now(&set), [ids[index]]);
    }
    guards.iter().for_each(GuardCondition::trigger);
    assert_eq!(now(&set), ids);
    assert_eq!(now(&set), []);
}

#[test]
fn more_topics_than_the_kernel_waits_for() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let set = WaitSet::new(&node);
    let name = |index: usize| format!("topic/{index}");
    let subscribers: Vec<Subscriber<Pose>> =
        (0..400).map(|index| node.subscriber(&name(index)).create().unwrap()).collect();
    let ids: Vec<_> = subscribers.iter().map(|subscriber| set.attach(subscriber).unwrap()).collect();
    assert_eq!(wait(&set, SHORT), []);
    for index in [399, 0, 119, 120, 250, 399] {
        let publisher = node.publisher::<Pose>(&name(index)).create().unwrap();
        let (_publisher, reported) = wait_for_a_message(&set, publisher, 5);
        assert_eq!(reported, [ids[index]]);
        assert_eq!(take_pose(&subscribers[index]), Some(5));
    }
    // Also when another event loop polls the set.
    let fd = set.fd().unwrap();
    while !now(&set).is_empty() {}
    let publishers: Vec<_> =
        [300, 7].into_iter().map(|index| node.publisher::<Pose>(&name(index)).create().unwrap()).collect();
    publishers.iter().for_each(|publisher| publish_pose(publisher, 6));
    let mut reported = Vec::new();
    while reported.len() < 2 {
        assert!(is_readable(fd, TIMEOUT));
        for id in now(&set).into_iter().filter(|id| [ids[300], ids[7]].contains(id)) {
            let index = ids.iter().position(|other| *other == id).unwrap();
            reported.extend(take_pose(&subscribers[index]).map(|_| index));
        }
    }
    reported.sort_unstable();
    assert_eq!(reported, [7, 300]);
}

#[test]
#[ignore = "played by the children of the other tests"]
fn child() {
    let Some((role, scratch)) = role() else { return };
    match role.as_str() {
        "publisher" => {
            let publisher = scratch.node("publisher").publisher::<Pose>("pose").create().unwrap();
            publisher.loan().unwrap().publish().unwrap();
            say("published");
            loop {
                // SAFETY: the child only waits to be killed.
                unsafe { libc::pause() };
            }
        }
        "old kernel" => on_an_old_kernel(&scratch),
        other => panic!("no role {other}"),
    }
}

/// Whether a pool exists.
fn is_anything_left(scratch: &Scratch) -> bool {
    let is_pool = |path: &std::path::PathBuf| path.extension().is_some_and(|it| it == "pool" || it == "data");
    scratch.files().iter().any(is_pool)
}

#[test]
fn the_memory_of_a_killed_publisher_returns() {
    for is_polled in [false, true] {
        let scratch = Scratch::new();
        let node = scratch.node("subscriber");
        let subscriber = node.subscriber::<Pose>("pose").create().unwrap();
        let set = WaitSet::new(&node);
        let id = set.attach(&subscriber).unwrap();
        if is_polled {
            set.fd().unwrap();
        }
        let mut publisher = Role::start(&scratch, "publisher");
        publisher.wait_for("published");
        assert_eq!(wait(&set, TIMEOUT), [id]);
        assert!(subscriber.take().unwrap().is_some());
        assert!(is_anything_left(&scratch));
        publisher.kill();
        let start = Instant::now();
        while is_anything_left(&scratch) {
            assert!(start.elapsed() < TIMEOUT, "no participant has repaired");
            if wait(&set, SHORT) == [id] {
                assert!(subscriber.take().unwrap().is_none());
            }
        }
    }
}

/// Makes `futex_waitv` a call that the kernel does not have, for this thread and its threads.
fn forget_futex_waitv() {
    const FUTEX_WAITV: u32 = 449;
    let statement = |code: u32, k: u32, jt: u8, jf: u8| libc::sock_filter { code: code as u16, jt, jf, k };
    let filter = [
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, FUTEX_WAITV, 0, 1),
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32, 0, 0),
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, 0, 0),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    // SAFETY: the program is a valid filter that outlives the calls.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program), 0);
    }
}

/// The number of times that the threads of this process have given up their cores to wait.
fn sleeps() -> u64 {
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    let of = |thread: std::io::Result<std::fs::DirEntry>| {
        let status = std::fs::read_to_string(thread.ok()?.path().join("status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        line.trim().parse::<u64>().ok()
    };
    threads.filter_map(of).sum()
}

fn on_an_old_kernel(scratch: &Scratch) {
    forget_futex_waitv();
    let node = scratch.node("n");
    let set = WaitSet::new(&node);
    let subscribers: Vec<Subscriber<Pose>> =
        (0..5).map(|index| node.subscriber(&format!("topic/{index}")).create().unwrap()).collect();
    let ids: Vec<_> = subscribers.iter().map(|subscriber| set.attach(subscriber).unwrap()).collect();
    let guard = GuardCondition::new();
    let guard_id = set.attach(&guard).unwrap();
    for index in [4, 0, 2] {
        let publisher = node.publisher::<Pose>(&format!("topic/{index}")).create().unwrap();
        let (_publisher, reported) = wait_for_a_message(&set, publisher, 5);
        assert_eq!(reported, [ids[index]]);
        assert_eq!(take_pose(&subscribers[index]), Some(5));
        assert_eq!(now(&set), []);
    }
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(10));
            guard.trigger();
        });
        assert_eq!(wait(&set, TIMEOUT), [guard_id]);
    });
    // It sleeps, and does not look again and again: five threads wake every 100 ms.
    while !now(&set).is_empty() {}
    let before = sleeps();
    assert_eq!(wait(&set, Duration::from_secs(1)), []);
    assert!(sleeps() - before < 150, "{} sleeps", sleeps() - before);
    say("done");
}

#[test]
fn a_kernel_without_futex_waitv_is_no_reason_to_poll() {
    let scratch = Scratch::new();
    let mut child = Role::start(&scratch, "old kernel");
    child.wait_for("done");
}

#[test]
fn a_set_is_inert_in_a_forked_child() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let set = WaitSet::new(&node);
    let (guard, other) = (GuardCondition::new(), GuardCondition::new());
    let id = set.attach(&guard).unwrap();
    let fd = set.fd().unwrap();
    assert_eq!(now(&set), []);
    // SAFETY: the child calls only what works after a fork, and ends without destructors of its own.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let mut ready = ReadySources::new();
        guard.trigger();
        let inert = matches!(set.wait(&mut ready, Some(TIMEOUT)), Err(WaitError::Forked))
            && matches!(set.attach(&other), Err(AttachError::Forked))
            && matches!(set.fd(), Err(AttachError::Forked))
            && !set.detach(id);
        drop(set);
        // SAFETY: ends the child.
        unsafe { libc::_exit(if inert { 0 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: the status may be written.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0);
    assert!(!is_readable(fd, Duration::ZERO), "the child did not ring its parent's bell");
    assert_eq!(now(&set), []);
    guard.trigger();
    assert_eq!(now(&set), [id]);
}

#[test]
fn an_event_loop_that_wants_edges_sees_each() {
    // As tokio and asio do, which register the set's descriptor once.
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let set = WaitSet::new(&node);
    let guard = GuardCondition::new();
    let id = set.attach(&guard).unwrap();
    use rustix::event::epoll;
    let outer = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
    // SAFETY: the set keeps it open.
    let fd = unsafe { BorrowedFd::borrow_raw(set.fd().unwrap()) };
    while !now(&set).is_empty() {}
    epoll::add(&outer, fd, epoll::EventData::new_u64(1), epoll::EventFlags::IN | epoll::EventFlags::ET)
        .unwrap();
    for _ in 0..10 {
        guard.trigger();
        assert!(is_readable(std::os::fd::AsRawFd::as_raw_fd(&outer.as_fd()), TIMEOUT));
        let mut events =
            [epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) }];
        assert_eq!(epoll::wait(&outer, &mut events, Some(&Timespec::default())).unwrap(), 1);
        assert_eq!(now(&set), [id]);
        assert_eq!(now(&set), []);
    }
}
