//! Idle subscribers check for dead participants, in every way of using the bus. A killed publisher's memory
//! returns to the system even if no member joins, leaves or waits.
#![cfg(not(loom))]

mod common;

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Wake};
use std::time::{Duration, Instant};

use common::messages::Pose;
use common::{Scratch, role};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use situ_bus::Subscriber;
use situ_testkit::process::{Role, say};

const TIMEOUT: Duration = Duration::from_secs(30);

#[test]
#[ignore = "played by the children of the other tests"]
fn child() {
    let Some((_, scratch)) = role() else { return };
    let publisher = scratch.node("publisher").publisher::<Pose>("pose").create().unwrap();
    publisher.loan().unwrap().publish().unwrap();
    say("published");
    loop {
        // SAFETY: the child only waits to be killed.
        unsafe { libc::pause() };
    }
}

/// Whether a pool exists, or is mapped although it does not.
fn is_anything_left(scratch: &Scratch) -> bool {
    let is_pool = |path: &std::path::PathBuf| path.extension().is_some_and(|it| it == "pool" || it == "data");
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let is_mapped = |line: &&str| line.contains(scratch.to_str().unwrap()) && line.contains("(deleted)");
    scratch.files().iter().any(is_pool) || maps.lines().any(|line| is_mapped(&line))
}

/// A subscriber takes the messages of a publisher, which is then killed. `idle` is its work from there on, a
/// little at a time.
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
        assert!(start.elapsed() < TIMEOUT, "no participant has repaired");
        is_anything_left(&scratch)
    });
}

#[test]
fn a_subscriber_that_polls() {
    left_alone(|subscriber, is_anything_left| {
        while is_anything_left() {
            assert!(subscriber.take().unwrap().is_none());
            std::thread::sleep(Duration::from_millis(5));
        }
    });
}

#[test]
fn an_untyped_subscriber_that_polls() {
    left_alone(|subscriber, is_anything_left| {
        while is_anything_left() {
            assert!(subscriber.raw().take().unwrap().is_none());
            std::thread::sleep(Duration::from_millis(5));
        }
    });
}

#[test]
fn a_subscriber_with_a_file_descriptor() {
    left_alone(|subscriber, is_anything_left| {
        let event = subscriber.event_fd().unwrap();
        while is_anything_left() {
            let mut polled = [PollFd::from_borrowed_fd(event.as_fd(), PollFlags::IN)];
            // This subscriber takes only on command.
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
fn an_asynchronous_subscriber() {
    left_alone(|subscriber, is_anything_left| {
        let mut messages = subscriber.into_stream().unwrap();
        let mut receive = std::pin::pin!(messages.receive());
        let woken = Arc::new(Woken(AtomicBool::new(true)));
        while is_anything_left() {
            // Polls only when woken.
            if woken.0.swap(false, Ordering::SeqCst) {
                let waker = woken.clone().into();
                assert!(receive.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    });
}
