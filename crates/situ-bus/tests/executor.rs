//! Executors: callbacks of every kind of source, on one thread or several; groups, order, errors, stopping.
#![cfg(not(loom))]

mod common;

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::time::{Duration, Instant};

use common::messages::{Pose, publish_pose};
use common::{Scratch, role};
use situ_bus::{
    AttachError, CallbackGroup, Descriptor, Executor, GuardCondition, Permanent, ReceiveError,
    SimulatedClock, SpinError, Stopper, Subscriber, TakeError, Temporary, Timer, Waitable,
};
use situ_testkit::process::{Role, say};

const TIMEOUT: Duration = Duration::from_secs(20);

fn seconds(number: u64) -> Duration {
    Duration::from_secs(number)
}

/// A list that callbacks append to.
type Log<T> = Arc<Mutex<Vec<T>>>;

fn log<T>() -> (Log<T>, Log<T>) {
    let log = Arc::new(Mutex::new(Vec::new()));
    (log.clone(), log)
}

#[test]
fn callbacks_of_every_kind_run_on_one_thread() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let executor = Executor::new(&node).unwrap();
    let (told, tell) = log();
    let subscriber = node.subscriber::<Pose>("poses").create().unwrap();
    let publisher = node.publisher::<Pose>("poses").create().unwrap();
    let log = tell.clone();
    executor
        .subscribe(subscriber, move |pose| log.lock().unwrap().push(format!("pose {}", pose.count)))
        .unwrap();
    let clock = SimulatedClock::new(Duration::ZERO);
    let timer = Timer::periodic_by(&clock.clock(), seconds(1)).unwrap();
    let log = tell.clone();
    executor
        .timer(&timer, move |call| log.lock().unwrap().push(format!("timer missed {}", call.missed)))
        .unwrap();
    let guard = GuardCondition::new();
    let log = tell.clone();
    let guard_id =
        executor.guard_condition(&guard, move || log.lock().unwrap().push("guard".to_owned())).unwrap();
    assert_eq!(executor.spin_some().unwrap(), 0);
    assert!(!executor.spin_once(Some(Duration::from_millis(2))).unwrap());
    (1..=3).for_each(|count| publish_pose(&publisher, count));
    clock.set(seconds(3));
    guard.trigger();
    // Each source once, and then the topic again until it is empty.
    assert_eq!(executor.spin_some().unwrap(), 3);
    told.lock().unwrap().sort();
    assert_eq!(*told.lock().unwrap(), ["guard", "pose 1", "timer missed 2"]);
    told.lock().unwrap().clear();
    while executor.spin_once(Some(Duration::ZERO)).unwrap() {}
    assert_eq!(*told.lock().unwrap(), ["pose 2", "pose 3"]);
    assert!(executor.remove(guard_id));
    assert!(!executor.remove(guard_id));
    guard.trigger();
    assert_eq!(executor.spin_some().unwrap(), 0);
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    let (reader, log) = (Arc::new(reader), tell);
    let pipe = Descriptor::readable(reader.clone());
    executor
        .descriptor(&pipe, move |readiness| {
            let mut bytes = [0; 8];
            let count = rustix::io::read(&*reader, &mut bytes)?;
            log.lock().unwrap().push(format!("read {count} {}", readiness.readable));
            Ok::<_, rustix::io::Errno>(())
        })
        .unwrap();
    rustix::io::write(&writer, b"abc").unwrap();
    assert_eq!(executor.spin_some().unwrap(), 1);
    assert_eq!(told.lock().unwrap().last().unwrap(), "read 3 true");
}

#[test]
fn a_source_of_any_kind_is_added_with_what_it_belongs_to() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let executor = Executor::new(&node).unwrap();
    let requests = node.subscriber::<Pose>("requests").create().unwrap();
    let (count, counted) = mpsc::channel();
    executor
        .add(requests.source(), move |_| {
            let request = requests.take()?;
            count.send(request.map(|request| request.count)).unwrap();
            Ok::<_, ReceiveError>(())
        })
        .unwrap();
    publish_pose(&node.publisher::<Pose>("requests").create().unwrap(), 9);
    assert_eq!(executor.spin_some().unwrap(), 1);
    assert_eq!(counted.try_recv(), Ok(Some(9)));
}

#[test]
fn no_callback_starves_another() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    for threads in [1, 3] {
        let executor = Executor::new(&node).unwrap();
        let counts: Arc<Vec<AtomicUsize>> = Arc::new((0..4).map(|_| AtomicUsize::new(0)).collect());
        for index in 0..3 {
            // Each callback publishes the message that it takes again: its topic always has messages.
            let topic = format!("topic/{index}");
            let subscriber = node.subscriber::<Pose>(&topic).create().unwrap();
            let publisher = node.publisher::<Pose>(&topic).create().unwrap();
            (0..3).for_each(|_| publish_pose(&publisher, 0));
            let counts = counts.clone();
            executor
                .subscribe(subscriber, move |pose| {
                    counts[index].fetch_add(1, Ordering::SeqCst);
                    publish_pose(&publisher, pose.count + 1);
                })
                .unwrap();
        }
        let guard = GuardCondition::new();
        guard.trigger();
        let (again, stopper, all) = (guard.clone(), executor.stopper(), counts.clone());
        executor
            .guard_condition(&guard, move || {
                if all[3].fetch_add(1, Ordering::SeqCst) == 1_000 {
                    stopper.stop();
                }
                again.trigger();
            })
            .unwrap();
        executor.spin_threads(threads).unwrap();
        let counts: Vec<_> = counts.iter().map(|count| count.load(Ordering::SeqCst)).collect();
        let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
        // The kernel may stop one of several threads in its callback while the others go on.
        let fair = if threads == 1 { most - least < 10 } else { *most < 2 * least };
        assert!(fair, "{counts:?} with {threads} threads");
    }
}

#[test]
fn executors_that_look_before_they_sleep_miss_nothing() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    // All waits count as short, so both sides look after the first few.
    let executor = || {
        let executor = Executor::new(&node).unwrap();
        executor.set_busy_wait(seconds(3600));
        executor
    };
    let (asking, answering) = (executor(), executor());
    let requests = node.publisher::<Pose>("requests").create().unwrap();
    let answers = node.publisher::<Pose>("answers").create().unwrap();
    let subscriber = node.subscriber::<Pose>("requests").create().unwrap();
    answering.subscribe(subscriber, move |pose| publish_pose(&answers, pose.count)).unwrap();
    let (seen, see) = log();
    let (stopper, other) = (asking.stopper(), answering.stopper());
    publish_pose(&requests, 0);
    let next = move |pose: situ_bus::Sample<Pose>| {
        see.lock().unwrap().push(pose.count);
        if pose.count == 499 {
            stopper.stop();
            other.stop();
        } else {
            publish_pose(&requests, pose.count + 1);
        }
    };
    asking.subscribe(node.subscriber::<Pose>("answers").create().unwrap(), next).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| answering.spin().unwrap());
        asking.spin().unwrap();
    });
    assert_eq!(*seen.lock().unwrap(), (0..500).collect::<Vec<_>>());
    // The limit of a wait holds, whether it looks or sleeps.
    (0..10).for_each(|_| assert!(!asking.spin_once(Some(Duration::from_millis(20))).unwrap()));
}

#[test]
fn an_executor_is_stopped_by_a_callback_a_thread_and_beforehand() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let executor = Executor::new(&node).unwrap();
    let guard = GuardCondition::new();
    let stopper = executor.stopper();
    executor.guard_condition(&guard, move || stopper.stop()).unwrap();
    for threads in [1, 4] {
        guard.trigger();
        executor.spin_threads(threads).unwrap();
        executor.stop();
        executor.spin_threads(threads).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(20));
                executor.stop();
            });
            executor.spin_threads(threads).unwrap();
        });
    }
    assert!(!executor.stopper().is_stopped());
}

static STOPPED_BY_SIGNAL: OnceLock<Stopper> = OnceLock::new();

extern "C" fn stop(_: libc::c_int) {
    STOPPED_BY_SIGNAL.get().into_iter().for_each(Stopper::stop);
}

#[test]
fn a_signal_handler_stops_an_executor() {
    let scratch = Scratch::new();
    let executor = Executor::new(&scratch.node("n")).unwrap();
    STOPPED_BY_SIGNAL.set(executor.stopper()).unwrap();
    // SAFETY: the handler only stops the executor.
    unsafe { libc::signal(libc::SIGUSR1, stop as extern "C" fn(libc::c_int) as libc::sighandler_t) };
    // SAFETY: it names this thread, which outlives the one below.
    let this = unsafe { libc::pthread_self() };
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            // SAFETY: the thread lives.
            unsafe { libc::pthread_kill(this, libc::SIGUSR1) };
        });
        executor.spin_threads(2).unwrap();
    });
}

/// Runs `count` callbacks of a group, each of which sleeps, on four threads. Returns how many ran at once.
fn most_at_once(group: &CallbackGroup, count: usize) -> usize {
    let scratch = Scratch::new();
    let executor = Executor::new(&scratch.node("n")).unwrap();
    let (running, most, done) =
        (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let guards: Vec<_> = (0..count).map(|_| GuardCondition::new()).collect();
    for guard in &guards {
        let (running, most, done, stopper) =
            (running.clone(), most.clone(), done.clone(), executor.stopper());
        executor
            .in_group(group)
            .guard_condition(guard, move || {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(20));
                running.fetch_sub(1, Ordering::SeqCst);
                if done.fetch_add(1, Ordering::SeqCst) + 1 == count {
                    stopper.stop();
                }
            })
            .unwrap();
        guard.trigger();
    }
    executor.spin_threads(4).unwrap();
    most.load(Ordering::SeqCst)
}

#[test]
fn groups_decide_which_callbacks_run_at_once() {
    assert_eq!(most_at_once(&CallbackGroup::mutually_exclusive(), 8), 1);
    assert!(most_at_once(&CallbackGroup::reentrant(), 8) > 1);
}

#[test]
fn two_exclusive_groups_run_beside_each_other() {
    let scratch = Scratch::new();
    let executor = Executor::new(&scratch.node("n")).unwrap();
    // Each callback waits for the other one: with one group, or one thread, neither would end.
    let barrier = Arc::new(std::sync::Barrier::new(2));
    let (one, other) = (CallbackGroup::mutually_exclusive(), CallbackGroup::mutually_exclusive());
    let guards = [GuardCondition::new(), GuardCondition::new()];
    for (group, guard) in [&one, &other].into_iter().zip(&guards) {
        let (barrier, stopper) = (barrier.clone(), executor.stopper());
        executor
            .in_group(group)
            .guard_condition(guard, move || {
                barrier.wait();
                stopper.stop();
            })
            .unwrap();
        guard.trigger();
    }
    executor.spin_threads(2).unwrap();
    let elsewhere = Executor::new(&scratch.node("m")).unwrap();
    let refused = elsewhere.in_group(&one).guard_condition(&GuardCondition::new(), || ());
    assert!(matches!(refused, Err(AttachError::OtherExecutor)));
}

#[test]
fn a_callback_runs_on_one_thread_at_a_time_and_a_parallel_one_on_several() {
    for is_parallel in [false, true] {
        let scratch = Scratch::new();
        let node = scratch.node("n");
        let executor = Executor::new(&node).unwrap();
        let subscriber = node.subscriber::<Pose>("poses").create().unwrap();
        let publisher = node.publisher::<Pose>("poses").depth(64).create().unwrap();
        (0..40).for_each(|count| publish_pose(&publisher, count));
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (told, tell) = log();
        let (stopper, at_once) = (executor.stopper(), most.clone());
        let callback = move |pose: situ_bus::Sample<Pose>| {
            at_once.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(2));
            running.fetch_sub(1, Ordering::SeqCst);
            let mut told = tell.lock().unwrap();
            told.push(pose.count);
            if told.len() == 40 {
                stopper.stop();
            }
        };
        if is_parallel {
            executor.subscribe_parallel(subscriber, callback).unwrap();
        } else {
            executor.in_group(&CallbackGroup::reentrant()).subscribe(subscriber, callback).unwrap();
        }
        executor.spin_threads(4).unwrap();
        let mut told = told.lock().unwrap().clone();
        if is_parallel {
            assert!(most.load(Ordering::SeqCst) > 1);
            told.sort_unstable();
        } else {
            assert_eq!(most.load(Ordering::SeqCst), 1);
        }
        assert_eq!(told, (0..40).collect::<Vec<_>>());
    }
}

#[test]
fn a_panic_of_a_callback_reaches_the_caller_of_spin() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    for threads in [1, 4] {
        let executor = Executor::new(&node).unwrap();
        let guard = GuardCondition::new();
        let defect = || -> () { panic!("the callback has a defect") };
        executor.guard_condition(&guard, defect).unwrap();
        guard.trigger();
        let panic = catch_unwind(AssertUnwindSafe(|| executor.spin_threads(threads))).unwrap_err();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"the callback has a defect"));
        // The executor is still of use.
        executor.stop();
        executor.spin_threads(threads).unwrap();
    }
}

#[derive(Debug, thiserror::Error)]
#[error("number {0} is too large")]
struct TooLarge(u64);

#[test]
fn errors_end_the_spin_or_go_to_the_handler() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let executor = Executor::new(&node).unwrap();
    let subscriber = node.subscriber::<Pose>("poses").create().unwrap();
    let publisher = node.publisher::<Pose>("poses").create().unwrap();
    let id = executor
        .subscribe(subscriber, |pose| if pose.count < 10 { Ok(()) } else { Err(TooLarge(pose.count)) })
        .unwrap();
    publish_pose(&publisher, 10);
    let Err(SpinError::Failed(failure)) = executor.spin() else { panic!("an error was swallowed") };
    assert_eq!(
        (failure.id(), failure.to_string().as_str()),
        (id, "a callback failed: number 10 is too large")
    );
    assert!(failure.error().downcast_ref::<TooLarge>().is_some());
    let (told, tell) = log();
    executor.on_error(move |failure| {
        tell.lock().unwrap().push(failure.error().to_string());
        if failure.error().downcast_ref::<TooLarge>().is_some_and(|error| error.0 > 20) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    [1, 11, 2, 12, 21].into_iter().for_each(|count| publish_pose(&publisher, count));
    assert!(matches!(executor.spin_threads(2), Err(SpinError::Failed(_))));
    assert_eq!(
        *told.lock().unwrap(),
        ["number 11 is too large", "number 12 is too large", "number 21 is too large"]
    );
}

#[test]
fn a_callback_tells_whether_its_error_lasts() {
    let scratch = Scratch::new();
    let executor = Executor::new(&scratch.node("n")).unwrap();
    let (told, tell) = log();
    executor.on_error(move |failure| {
        tell.lock().unwrap().push((failure.id(), failure.error().to_string()));
        ControlFlow::Continue(())
    });
    let (lasts, passes) = (GuardCondition::new(), GuardCondition::new());
    let first = executor.guard_condition(&lasts, || Err::<(), _>(Permanent("broken".into()))).unwrap();
    let second = executor.guard_condition(&passes, || Err::<(), _>(Temporary("not yet".into()))).unwrap();
    lasts.trigger();
    passes.trigger();
    assert_eq!(executor.spin_some().unwrap(), 2);
    assert_eq!(*told.lock().unwrap(), [(first, "broken".to_owned()), (second, "not yet".to_owned())]);
    lasts.trigger();
    passes.trigger();
    assert_eq!(executor.spin_some().unwrap(), 0, "one is removed, the other waits");
    assert!(!executor.remove(first));
    let start = Instant::now();
    assert!(executor.spin_once(Some(TIMEOUT)).unwrap());
    assert!(start.elapsed() >= Duration::from_millis(5));
}

#[test]
fn a_subscriber_that_holds_too_much_is_told_and_goes_on_later() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let executor = Executor::new(&node).unwrap();
    let subscriber = node.subscriber::<Pose>("poses").max_held(2).create().unwrap();
    let publisher = node.publisher::<Pose>("poses").create().unwrap();
    let (held, hold) = log();
    let (stopper, taken) = (executor.stopper(), Arc::new(AtomicU64::new(0)));
    executor
        .subscribe(subscriber, move |pose| {
            hold.lock().unwrap().push(pose);
            if taken.fetch_add(1, Ordering::SeqCst) == 4 {
                stopper.stop();
            }
        })
        .unwrap();
    let failures = Arc::new(AtomicU64::new(0));
    let count = failures.clone();
    executor.on_error(move |failure| {
        assert!(matches!(
            failure.error().downcast_ref::<ReceiveError>(),
            Some(ReceiveError::Take(TakeError::Held { .. }))
        ));
        // The samples are given back after the third failure.
        if count.fetch_add(1, Ordering::SeqCst) % 3 == 2 {
            held.lock().unwrap().clear();
        }
        ControlFlow::Continue(())
    });
    (0..5).for_each(|count| publish_pose(&publisher, count));
    let start = Instant::now();
    executor.spin().unwrap();
    assert_eq!(failures.load(Ordering::SeqCst), 6, "after two samples each");
    assert!(start.elapsed() >= Duration::from_millis(50), "it does not try again and again");
}

#[test]
fn the_removal_of_a_topic_is_told_once() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let executor = Executor::new(&node).unwrap();
    let subscriber = node.subscriber::<Pose>("poses").create().unwrap();
    executor.subscribe(subscriber, |_| ()).unwrap();
    let (told, tell) = log();
    executor.on_error(move |failure| {
        let error = failure.error().downcast_ref::<ReceiveError>();
        tell.lock().unwrap().push(matches!(error, Some(ReceiveError::Take(TakeError::Removed { .. }))));
        ControlFlow::Continue(())
    });
    std::fs::remove_dir_all(scratch.topic("poses")).unwrap();
    let start = Instant::now();
    while told.lock().unwrap().is_empty() {
        executor.spin_once(Some(Duration::from_millis(100))).unwrap();
        assert!(start.elapsed() < TIMEOUT, "the removal is not told");
    }
    assert_eq!(executor.spin_some().unwrap(), 0);
    assert_eq!(*told.lock().unwrap(), [true]);
}

#[test]
fn a_callback_adds_and_removes_callbacks_and_must_not_spin() {
    let scratch = Scratch::new();
    let executor = Arc::new(Executor::new(&scratch.node("n")).unwrap());
    let (first, second) = (GuardCondition::new(), GuardCondition::new());
    let (this, other) = (Arc::downgrade(&executor), second.clone());
    let own = Arc::new(OnceLock::new());
    let itself = own.clone();
    let id = executor
        .guard_condition(&first, move || {
            let executor = this.upgrade().unwrap();
            assert!(matches!(executor.spin_some(), Err(SpinError::Spinning)));
            let stopper = executor.stopper();
            executor.guard_condition(&other, move || stopper.stop()).unwrap();
            assert!(executor.remove(*itself.get().unwrap()));
            other.trigger();
        })
        .unwrap();
    own.set(id).unwrap();
    first.trigger();
    executor.spin_threads(2).unwrap();
    assert!(!executor.remove(id));
    assert_eq!(Arc::strong_count(&executor), 1);
}

#[test]
fn a_timer_that_comes_too_often_is_not_made_up_for() {
    let scratch = Scratch::new();
    let executor = Executor::new(&scratch.node("n")).unwrap();
    let timer = Timer::periodic(Duration::from_millis(1)).unwrap();
    let (told, tell) = log();
    let stopper = executor.stopper();
    executor
        .timer(&timer, move |call| {
            let mut calls = tell.lock().unwrap();
            calls.push(call.missed);
            std::thread::sleep(Duration::from_millis(5));
            if calls.len() == 10 {
                stopper.stop();
            }
        })
        .unwrap();
    executor.spin_threads(2).unwrap();
    let calls = told.lock().unwrap().clone();
    assert_eq!(calls.len(), 10);
    assert!(calls[1..].iter().all(|missed| *missed >= 3), "{calls:?}");
    // The timer may be due again when the executor has been stopped.
    let after = if timer.calls() > 10 { timer.last_call().missed } else { 0 };
    assert_eq!(timer.missed(), calls.iter().sum::<u64>() + after);
}

#[test]
#[ignore = "played by the children of the other tests"]
fn child() {
    let Some((_, scratch)) = role() else { return };
    let publisher = scratch.node("publisher").publisher::<Pose>("poses").create().unwrap();
    say("publishing");
    for count in 0.. {
        publish_pose(&publisher, count);
    }
}

#[test]
fn a_killed_publisher_hangs_nothing() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let executor = Executor::new(&node).unwrap();
    let taken = Arc::new(AtomicU64::new(0));
    let count = taken.clone();
    let subscriber: Subscriber<Pose> = node.subscriber("poses").create().unwrap();
    executor.subscribe(subscriber, move |_| _ = count.fetch_add(1, Ordering::SeqCst)).unwrap();
    std::thread::scope(|scope| {
        let spinning = scope.spawn(|| executor.spin_threads(2));
        for _ in 0..3 {
            let before = taken.load(Ordering::SeqCst);
            let mut publisher = Role::start(&scratch, "publisher");
            publisher.wait_for("publishing");
            let start = Instant::now();
            while taken.load(Ordering::SeqCst) < before + 1_000 {
                assert!(start.elapsed() < TIMEOUT);
                std::thread::yield_now();
            }
            publisher.kill();
        }
        // The memory of the dead returns while the executor sleeps.
        let is_pool =
            |path: &std::path::PathBuf| path.extension().is_some_and(|it| it == "pool" || it == "data");
        let start = Instant::now();
        while scratch.files().iter().any(is_pool) {
            assert!(start.elapsed() < TIMEOUT, "no participant has repaired");
            std::thread::sleep(Duration::from_millis(5));
        }
        executor.stop();
        spinning.join().unwrap().unwrap();
    });
}

#[test]
fn another_event_loop_runs_an_executor() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let executor = Executor::new(&node).unwrap();
    let (told, tell) = log();
    let subscriber = node.subscriber::<Pose>("poses").create().unwrap();
    executor.subscribe(subscriber, move |pose| tell.lock().unwrap().push(pose.count)).unwrap();
    let fd = executor.fd().unwrap();
    let publisher = node.publisher::<Pose>("poses").create().unwrap();
    while executor.spin_some().unwrap() > 0 {}
    for count in 0..20 {
        publish_pose(&publisher, count);
        // SAFETY: the executor keeps it open.
        let fd = unsafe { std::os::fd::BorrowedFd::borrow_raw(fd) };
        let mut polled = [rustix::event::PollFd::from_borrowed_fd(fd, rustix::event::PollFlags::IN)];
        let start = Instant::now();
        while told.lock().unwrap().len() as u64 == count {
            assert!(start.elapsed() < TIMEOUT);
            rustix::event::poll(&mut polled, None).unwrap();
            while executor.spin_some().unwrap() > 0 {}
        }
    }
    assert_eq!(*told.lock().unwrap(), (0..20).collect::<Vec<_>>());
}
