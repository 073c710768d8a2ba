//! Idle subscribers look for dead participants, in whatever way they use the bus: a killed publisher's memory
//! goes back to the system even if no member joins, leaves or waits.
#![cfg(not(loom))]

mod common;

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Wake};
use std::time::{Duration, Instant};

use common::Scratch;
use common::messages::Pose;
use common::process::{Role, role, say};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use situ_bus::Subscriber;

const PATIENCE: Duration = Duration::from_secs(30);

#[test]
#[ignore = "played by the children of the other tests"]
fn child() {
    let Some((_, scratch)) = role() else { return };
    let publisher = scratch.node("publisher").publisher::<Pose>("pose").create().unwrap();
    publisher.loan().unwrap().publish().unwrap();
    say("published");
    loop {
        // SAFETY: it only waits to be killed.
        unsafe { libc::pause() };
    }
}

/// Whether a pool lies there, or is mapped though it does not.
fn is_anything_left(scratch: &Scratch) -> bool {
    let is_pool = |path: &std::path::PathBuf| path.extension().is_some_and(|it| it == "pool" || it == "data");
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let is_mapped = |line: &&str| line.contains(scratch.0.to_str().unwrap()) && line.contains("(deleted)");
    scratch.files().iter().any(is_pool) || maps.lines().any(|line| is_mapped(&line))
}

/// A subscriber takes what a publisher has published that is killed then; `idle` is what it does from there
/// on, a little at a time.
fn left_alone(idle: impl FnOnce(Subscriber<Pose>, &dyn Fn() -> bool)) {
    let scratch = Scratch::new();
    let subscriber = scratch.node("subscriber").subscriber::<Pose>("pose").create().unwrap();
    let mut publisher = Role::start(&scratch, "publisher");
    publisher.wait_for("published");
    assert!(subscriber.take().unwrap().is_some());
    assert!(is_anything_left(&scratch));
    publisher.kill();
    let start = Instant::now();
    idle(subscriber, &|| {
        assert!(start.elapsed() < PATIENCE, "nobody has repaired");
        is_anything_left(&scratch)
    });
}

#[test]
fn who_polls() {
    left_alone(|subscriber, is_anything_left| {
        while is_anything_left() {
            assert!(subscriber.take().unwrap().is_none());
            std::thread::sleep(Duration::from_millis(5));
        }
    });
}

#[test]
fn who_polls_without_a_type() {
    left_alone(|subscriber, is_anything_left| {
        while is_anything_left() {
            assert!(subscriber.raw().take().unwrap().is_none());
            std::thread::sleep(Duration::from_millis(5));
        }
    });
}

#[test]
fn who_has_a_file_descriptor() {
    left_alone(|subscriber, is_anything_left| {
        let event = subscriber.event_fd().unwrap();
        while is_anything_left() {
            let mut polled = [PollFd::from_borrowed_fd(event.as_fd(), PollFlags::IN)];
            // This one takes only when it is told.
            if poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 5_000_000 })).unwrap() == 1 {
                event.clear();
                assert!(subscriber.take().unwrap().is_none());
            }
        }
    });
}

/// Whether a thread was woken.
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn who_is_asynchronous() {
    left_alone(|subscriber, is_anything_left| {
        let mut messages = subscriber.into_stream().unwrap();
        let mut receive = std::pin::pin!(messages.receive());
        let woken = Arc::new(Woken(AtomicBool::new(true)));
        while is_anything_left() {
            // Only who is woken polls.
            if woken.0.swap(false, Ordering::SeqCst) {
                let waker = woken.clone().into();
                assert!(receive.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    });
}
