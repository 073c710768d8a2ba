//! Waits that are ended: by another thread, by a signal, or by neither. Also waits for very many topics,
//! which sleep.
#![cfg(not(loom))]

mod common;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use common::Scratch;
use common::messages::{Pose, publish_pose};
use situ_bus::{
    Interrupted, Interrupter, PublishError, ReceiveError, Subscriber, Wait, WhenFull, wait_any, wait_any_with,
};

const TIMEOUT: Duration = Duration::from_secs(30);

fn subscribers(scratch: &Scratch, number: usize) -> Vec<Subscriber<Pose>> {
    let node = scratch.node("n");
    (0..number).map(|index| node.subscriber(&format!("topic/{index}")).create().unwrap()).collect()
}

/// Waits in all ways that can be ended, and returns what ended each.
fn wait_in_all_ways(subscribers: &[Subscriber<Pose>], how: Wait<'_>) -> Vec<Result<bool, Interrupted>> {
    let all: Vec<_> = subscribers.iter().map(Subscriber::raw).collect();
    let received = match subscribers[0].recv_with(how) {
        Ok(sample) => Ok(sample.is_some()),
        Err(ReceiveError::Interrupted(by)) => Err(by),
        Err(error) => panic!("{error}"),
    };
    let any = |count: usize| wait_any_with(&all[..count], how).map(|index| index.is_some());
    vec![subscribers[0].raw().wait_with(how), received, any(1), any(2), any(all.len())]
}

#[test]
fn a_thread_ends_anothers_waits() {
    let scratch = Scratch::new();
    let stop = Interrupter::new();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let subscribers = subscribers(&scratch, 300);
            let ended = wait_in_all_ways(&subscribers, Wait::for_ever().until(&stop));
            assert_eq!(ended, [Err(Interrupted::ByInterrupter); 5]);
            // An interrupted wait ends even if there is a message to take.
            let publisher = scratch.node("p").publisher("topic/0").create().unwrap();
            publish_pose(&publisher, 1);
            assert_eq!(
                subscribers[0].raw().wait_with(Wait::for_ever().until(&stop)),
                Err(Interrupted::ByInterrupter)
            );
            stop.reset();
            assert!(!stop.is_interrupted());
            assert_eq!(subscribers[0].raw().wait_with(Wait::for_ever().until(&stop)), Ok(true));
            assert!(subscribers[0].recv_with(Wait::for_ever().until(&stop)).unwrap().is_some());
            assert_eq!(
                wait_in_all_ways(&subscribers, Wait::at_most(Duration::from_millis(1)).until(&stop)),
                [Ok(false); 5]
            );
        });
        std::thread::sleep(Duration::from_millis(20));
        stop.clone().interrupt();
        waiting.join().unwrap();
    });
}

#[test]
fn a_thread_ends_anothers_wait_for_room() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let stop = Interrupter::new();
    let subscriber = node.subscriber::<Pose>("pose").reliable().create().unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let publisher = scratch.node("p").publisher::<Pose>("pose").reliable().depth(2);
            let publisher =
                publisher.when_full(WhenFull::Block(None)).interrupted_by(&stop).create().unwrap();
            let ended = (0..3).find_map(|_| publisher.loan().unwrap().publish().err());
            assert!(matches!(ended, Some(PublishError::Interrupted { topic }) if topic == "pose"));
            stop.reset();
        });
        std::thread::sleep(Duration::from_millis(20));
        stop.interrupt();
        waiting.join().unwrap();
    });
    assert_eq!((0..3).filter(|_| subscriber.take().unwrap().is_some()).count(), 2);
}

static STOP: OnceLock<Interrupter> = OnceLock::new();
static HANDLED: AtomicU64 = AtomicU64::new(0);

extern "C" fn count(_: libc::c_int) {
    HANDLED.fetch_add(1, Ordering::SeqCst);
}

extern "C" fn stop(_: libc::c_int) {
    if let Some(stop) = STOP.get() {
        stop.interrupt();
    }
}

fn handle(signal: libc::c_int, handler: extern "C" fn(libc::c_int), flags: libc::c_int) {
    // SAFETY: all zeroes are a valid action without flags. The handler only does what handlers may do.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as usize;
        action.sa_flags = flags;
        assert_eq!(libc::sigaction(signal, &action, std::ptr::null_mut()), 0);
    }
}

/// Sends a thread signals until it has finished its work.
fn pestered<R: Send>(signal: libc::c_int, work: impl FnOnce() -> R + Send) -> R {
    let done = &AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (tell, thread) = std::sync::mpsc::channel();
        let working = scope.spawn(move || {
            // SAFETY: the call returns this thread's number.
            tell.send(unsafe { libc::pthread_self() }).unwrap();
            let result = work();
            done.store(true, Ordering::SeqCst);
            result
        });
        let thread = thread.recv().unwrap();
        while !done.load(Ordering::SeqCst) {
            // SAFETY: the thread was not joined yet.
            unsafe { libc::pthread_kill(thread, signal) };
            std::thread::sleep(Duration::from_millis(2));
        }
        working.join().unwrap()
    })
}

#[test]
fn a_signal_ends_a_wait_only_if_that_is_asked_for() {
    for (signal, flags) in [(libc::SIGUSR1, 0), (libc::SIGUSR2, libc::SA_RESTART)] {
        handle(signal, count, flags);
        let scratch = Scratch::new();
        let ended = pestered(signal, || {
            wait_in_all_ways(&subscribers(&scratch, 300), Wait::for_ever().until_a_signal())
        });
        assert_eq!(ended, [Err(Interrupted::BySignal); 5]);
        // By default a wait continues.
        let before = HANDLED.load(Ordering::SeqCst);
        let waited = pestered(signal, || {
            let subscribers = subscribers(&scratch, 2);
            let all = [subscribers[0].raw(), subscribers[1].raw()];
            let time = Some(Duration::from_millis(30));
            (subscribers[0].wait(time), wait_any(&all, time), subscribers[1].recv(time).unwrap().is_some())
        });
        assert_eq!(waited, (false, None, false));
        assert!(HANDLED.load(Ordering::SeqCst) > before + 3);
    }
}

#[test]
fn a_signals_handler_interrupts() {
    let interrupter = STOP.get_or_init(Interrupter::new);
    handle(libc::SIGALRM, stop, libc::SA_RESTART);
    let scratch = Scratch::new();
    let subscribers = subscribers(&scratch, 2);
    // A signal before the wait begins is not lost. SAFETY: it has a handler.
    unsafe { libc::raise(libc::SIGALRM) };
    let ended = wait_in_all_ways(&subscribers, Wait::at_most(TIMEOUT).until(interrupter));
    assert_eq!(ended, [Err(Interrupted::ByInterrupter); 5]);
    interrupter.reset();
    // SAFETY: as above.
    unsafe { libc::alarm(1) };
    let ended = wait_in_all_ways(&subscribers, Wait::at_most(TIMEOUT).until(interrupter));
    assert_eq!(ended, [Err(Interrupted::ByInterrupter); 5]);
}

/// The number of times that this thread has given up its core to wait.
fn sleeps() -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")).unwrap();
    line.trim().parse().unwrap()
}

#[test]
fn a_wait_for_more_topics_than_the_kernel_supports_sleeps() {
    let scratch = Scratch::new();
    let subscribers = subscribers(&scratch, 300);
    let all: Vec<_> = subscribers.iter().map(Subscriber::raw).collect();
    // The first wait starts the helpers.
    assert_eq!(wait_any(&all, Some(Duration::from_millis(1))), None);
    let before = sleeps();
    assert_eq!(wait_any(&all, Some(Duration::from_millis(500))), None);
    // Checking every 200 us would make it 2500.
    assert!(sleeps() - before < 250, "{} times in half a second", sleeps() - before);
    for index in [299, 0, 126, 127, 128, 254, 255] {
        let publisher = scratch.node("p").publisher(&format!("topic/{index}")).create().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(Duration::from_millis(10));
                publish_pose(&publisher, 5);
            });
            assert_eq!(wait_any(&all, Some(TIMEOUT)), Some(index));
            assert!(subscribers[index].take().unwrap().is_some());
        });
    }
}
