//! Files that are truncated while they are mapped: with the guard, a reader gets an error and survives.
#![cfg(not(loom))]

mod common;

use std::ffi::c_int;
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::ptr::null_mut;
use std::time::Duration;

use common::{Scratch, numbers, publish, role};
use situ_bus::{
    Observer, PublishError, PublisherQos, RawPublisher, RawSubscriber, Reliability, RemovedPart,
    SubscriberQos, TakeError, inspect,
};
use situ_memory::{MemoryError, ViewError, guard};
use situ_testkit::process::Role;

const TIMEOUT: Duration = Duration::from_secs(120);
const BODY: usize = 50_000;
const FORMER: i32 = 42;

#[test]
#[ignore = "played by the children of the other tests"]
fn child() {
    let Some((role, scratch)) = role() else { return };
    match role.as_str() {
        "guarded" => {
            guard::install().unwrap();
            shorten_a_pool(&scratch);
        }
        "bare" => shorten_a_pool(&scratch),
        "topic" => {
            guard::install().unwrap();
            shorten_a_topic(&scratch);
        }
        "subscribers" => {
            guard::install().unwrap();
            shorten_the_subscribers(&scratch);
        }
        "threads" => {
            guard::install().unwrap();
            shorten_what_many_read(&scratch);
        }
        "elsewhere" => shorten_another_file(&scratch),
        "sent" | "default" => {
            // Rust's runtime has a handler that only removes itself. SAFETY: nothing in the process relies on
            // it.
            unsafe { libc::signal(libc::SIGBUS, libc::SIG_DFL) };
            guard::install().unwrap();
            if role == "default" {
                read_what_is_missing(&scratch);
            }
            // SAFETY: the call ends the process.
            unsafe { libc::raise(libc::SIGBUS) };
        }
        other => panic!("no such role: {other}"),
    }
}

fn played(role: &str) -> ExitStatus {
    let scratch = Scratch::new();
    Role::start(&scratch, role).end(TIMEOUT)
}

fn find(scratch: &Scratch, is_it: impl Fn(&PathBuf) -> bool) -> PathBuf {
    scratch.files().into_iter().find(is_it).unwrap()
}

fn open(path: &PathBuf) -> File {
    OpenOptions::new().read(true).write(true).open(path).unwrap()
}

fn joined(scratch: &Scratch) -> (RawPublisher, RawSubscriber) {
    let node = scratch.node("n");
    let publisher = RawPublisher::create(&node, "numbers", &numbers(), Default::default()).unwrap();
    let subscriber = RawSubscriber::create(&node, "numbers", &numbers(), Default::default()).unwrap();
    publish(&publisher, 7, BODY);
    publish(&publisher, 8, BODY);
    (publisher, subscriber)
}

/// A subscriber holds a sample whose memory is truncated.
fn shorten_a_pool(scratch: &Scratch) {
    let (publisher, subscriber) = joined(scratch);
    let held = subscriber.take().unwrap().unwrap();
    let data = find(scratch, |path| path.extension().is_some_and(|it| it == "data"));
    open(&data).set_len(0).unwrap();
    assert!(!guard::has_damage(), "no access has hit the missing part");
    assert!(held.body_in_place().iter().all(|byte| *byte == 0));
    assert!(guard::has_damage());
    match subscriber.take() {
        Err(TakeError::Pool { source: ViewError::Memory(MemoryError::Truncated { path }), .. }) => {
            assert_eq!(path, data);
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(subscriber.take(), Ok(None)), "the message is skipped");
    drop((held, subscriber, publisher));
    assert!(!guard::has_damage(), "an unmapped file is not damaged");
}

/// Participants and observers of a topic get an error for its truncated file.
fn shorten_a_topic(scratch: &Scratch) {
    let (publisher, subscriber) = joined(scratch);
    let (first, second) = (publisher.loan(8, 8, 0).unwrap(), publisher.loan(8, 8, 0).unwrap());
    let mut observer = Observer::open(&scratch.root(), "numbers").unwrap().unwrap();
    assert!(observer.is_current());
    let file = find(scratch, |path| path.file_name().is_some_and(|name| name == "topic"));
    open(&file).set_len(0).unwrap();
    match subscriber.take() {
        Err(TakeError::Removed { removed, .. }) => {
            assert_eq!((removed.part, removed.path), (RemovedPart::Contents, file.clone()));
        }
        other => panic!("{other:?}"),
    }
    assert!(subscriber.wait(Some(TIMEOUT)), "there is an error to take");
    // The publisher has its own mapping of the file, and finds the damage through it.
    let _ = first.publish();
    match second.publish() {
        Err(PublishError::Removed { removed, .. }) => assert_eq!(removed.part, RemovedPart::Contents),
        other => panic!("{other:?}"),
    }
    assert_eq!(observer.latest(), None);
    assert!(!observer.is_current());
    let error = inspect::topic(&scratch.root(), "numbers").unwrap_err();
    assert!(error.to_string().contains(file.to_str().unwrap()), "{error}");
}

/// The same for the subscribers' file, by a publisher that waits for them.
fn shorten_the_subscribers(scratch: &Scratch) {
    let node = scratch.node("n");
    let qos = PublisherQos { reliability: Reliability::Reliable, depth: 1, ..PublisherQos::default() };
    let publisher = RawPublisher::create(&node, "numbers", &numbers(), qos).unwrap();
    let qos = SubscriberQos { reliability: Reliability::Reliable, ..SubscriberQos::default() };
    let subscriber = RawSubscriber::create(&node, "numbers", &numbers(), qos).unwrap();
    publish(&publisher, 7, BODY);
    let file = find(scratch, |path| path.file_name().is_some_and(|name| name == "subscribers"));
    open(&file).set_len(0).unwrap();
    // This take moves the cursor, and finds the damage through it.
    assert!(subscriber.take().unwrap().is_some());
    match subscriber.take() {
        Err(TakeError::Removed { removed, .. }) => {
            assert_eq!((removed.part, removed.path), (RemovedPart::Contents, file.clone()));
        }
        other => panic!("{other:?}"),
    }
    let _ = publisher.loan(8, 8, 0).unwrap().publish();
    match publisher.loan(8, 8, 0).unwrap().publish() {
        Err(PublishError::Removed { removed, .. }) => assert_eq!(removed.part, RemovedPart::Contents),
        other => panic!("{other:?}"),
    }
    let error = inspect::topic(&scratch.root(), "numbers").unwrap_err();
    assert!(error.to_string().contains(file.to_str().unwrap()), "{error}");
}

/// Threads that find the same damage at once, from the end and from the beginning, all continue.
fn shorten_what_many_read(scratch: &Scratch) {
    let (publisher, subscriber) = joined(scratch);
    let held = subscriber.take().unwrap().unwrap();
    let data = find(scratch, |path| path.extension().is_some_and(|it| it == "data"));
    open(&data).set_len(0).unwrap();
    let body = held.body_in_place();
    let together = std::sync::Barrier::new(8);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let together = &together;
            scope.spawn(move || {
                together.wait();
                let mut bytes = body.iter();
                let is_zero = |byte: &u8| *byte == 0;
                assert!(if thread % 2 == 0 { bytes.all(is_zero) } else { bytes.rev().all(is_zero) });
            });
        }
    });
    assert!(guard::has_damage());
    drop((held, subscriber, publisher));
    assert!(!guard::has_damage(), "each mapping counts once");
}

extern "C" fn former(_: c_int) {
    // SAFETY: the call ends the process. Its state is not needed any more.
    unsafe { libc::_exit(FORMER) };
}

/// If a file of the program itself is truncated, the program's own handler is called.
fn shorten_another_file(scratch: &Scratch) {
    let handler: extern "C" fn(c_int) = former;
    // SAFETY: the handler may run at any time.
    unsafe { libc::signal(libc::SIGBUS, handler as libc::sighandler_t) };
    guard::install().unwrap();
    // If it were installed twice, it would be its own former handler.
    guard::install().unwrap();
    read_what_is_missing(scratch);
}

/// Maps a file without Situ, and reads behind its end.
fn read_what_is_missing(scratch: &Scratch) {
    let _others = joined(scratch);
    let path = scratch.join("own");
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path).unwrap();
    file.set_len(4096).unwrap();
    // SAFETY: the kernel chooses the address, and no other code uses it.
    let byte = unsafe {
        let at = libc::mmap(null_mut(), 4096, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0);
        assert_ne!(at, libc::MAP_FAILED);
        file.set_len(0).unwrap();
        at.cast::<u8>().read_volatile()
    };
    panic!("{byte} was read");
}

#[test]
fn a_subscriber_survives_a_shortened_pool() {
    let status = played("guarded");
    assert!(status.success(), "{status}");
}

#[test]
fn a_subscriber_without_the_guard_does_not_survive() {
    assert_eq!(played("bare").signal(), Some(libc::SIGBUS));
}

#[test]
fn a_shortened_topic_is_an_error() {
    for file in ["topic", "subscribers"] {
        let status = played(file);
        assert!(status.success(), "{file}: {status}");
    }
}

#[test]
fn threads_that_meet_the_damage_together_survive() {
    let status = played("threads");
    assert!(status.success(), "{status}");
}

#[test]
fn without_a_former_handler_other_faults_and_sent_signals_end_the_process() {
    assert_eq!(played("default").signal(), Some(libc::SIGBUS));
    assert_eq!(played("sent").signal(), Some(libc::SIGBUS));
}

#[test]
fn another_fault_reaches_the_former_handler() {
    assert_eq!(played("elsewhere").code(), Some(FORMER));
}
