//! Messages between host memory and CUDA devices, against a driver that plays them in host memory (see `situ-memory/tests/cuda`).
#![cfg(not(loom))]

mod common;
#[path = "../../situ-memory/tests/cuda/played.rs"]
mod played;

use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use common::{Scratch, numbers};
use played::{is_played, play};
use situ_bus::{Node, Placement, PublisherQos, RawPublisher, RawSubscriber, SubscriberQos};
use situ_memory::{DomainId, DomainKind, HOST, find};

const CUDA: DomainId = DomainId { kind: DomainKind::CUDA, number: 0 };
const PATIENCE: Duration = Duration::from_secs(20);
const BODY: usize = 1_000_000;

#[test]
fn everything_again_on_a_driver_of_ours() {
    if !is_played() {
        play(&[&[], &[("FAKE_CUDA_NO_WORDS", "1")], &[("FAKE_CUDA_NO_DESCRIPTORS", "1")]]);
    }
}

/// What the driver of ours counts: registrations of host memory, their ends, and copies straight from or to such memory.
fn counts() -> [c_int; 3] {
    let mut counts = [0; 3];
    // SAFETY: the library is loaded, stays so, and has this function of this type; the array is as long as it writes.
    unsafe {
        let library = libc::dlopen(c"libcuda.so".as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD);
        assert!(!library.is_null());
        let function = libc::dlsym(library, c"fakeCudaCounts".as_ptr());
        assert!(!function.is_null());
        let function: extern "C" fn(*mut c_int) = std::mem::transmute(function);
        function(counts.as_mut_ptr());
    }
    counts
}

/// The counts are those of the process: one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn publisher(node: &Node, placement: &Placement) -> RawPublisher {
    let qos = PublisherQos { depth: 4, ..Default::default() };
    RawPublisher::create_in(node, "image", &numbers(), qos, placement).unwrap()
}

fn subscriber(node: &Node, domain: DomainId) -> RawSubscriber {
    let placement = Placement { domain, ..Default::default() };
    RawSubscriber::create_in(node, "image", &numbers(), SubscriberQos::default(), &placement).unwrap()
}

/// Sends a message from one domain to the other, and checks what comes.
fn send(publisher: &RawPublisher, subscriber: &RawSubscriber, value: u8, size: usize) {
    let device = find(CUDA).unwrap().stream().unwrap();
    // Of a length that is not a divisor of anything, so that a piece in a wrong place shows.
    let pattern: Vec<u8> = (0..251).map(|at| value.wrapping_add(at)).collect();
    let body = &pattern.repeat(size / 251 + 1)[..size];
    let mut loan = publisher.loan(8, 8, size).unwrap();
    if loan.body().is_null() {
        let span = loan.span();
        // SAFETY: the bytes last until the stream has passed, which is waited for.
        unsafe { device.copy_from_host(body.as_ptr(), span.memory(), span.offset(), size as u64).unwrap() };
        device.synchronize(PATIENCE).unwrap();
    } else {
        loan.body_bytes().copy_from_slice(body);
    }
    loan.publish().unwrap();
    let sample = subscriber.take().unwrap().unwrap();
    assert!(sample.was_brought());
    if subscriber.domain() == HOST {
        assert!(sample.body() == body);
        return;
    }
    let (span, mut back) = (sample.span(), vec![0; size]);
    // SAFETY: as above.
    unsafe { device.copy_to_host(span.memory(), span.offset(), back.as_mut_ptr(), size as u64).unwrap() };
    device.synchronize(PATIENCE).unwrap();
    assert!(back == body);
}

fn registered_once(from: &Placement, into: DomainId) {
    if !is_played() {
        return;
    }
    let _alone = alone();
    let scratch = Scratch::new();
    let (publisher, subscriber) =
        (publisher(&scratch.node("from"), from), subscriber(&scratch.node("into"), into));
    let start = counts();
    assert_eq!(start[0], start[1], "nothing is left by the test before");
    send(&publisher, &subscriber, 0, 60_000);
    assert_eq!(counts(), start, "what is small is copied with a detour");
    (1..20).for_each(|value| send(&publisher, &subscriber, value, BODY));
    let warm = counts();
    assert!((1..=8).contains(&(warm[0] - start[0])), "one for each slot that was used: {start:?} {warm:?}");
    (20..40).for_each(|value| send(&publisher, &subscriber, value, BODY));
    let end = counts();
    assert_eq!((end[0], end[1]), (warm[0], warm[1]), "the slots come again, and are registered");
    // More than one for each, where two registrations meet within a message.
    assert!(end[2] - warm[2] >= 20, "{warm:?} {end:?}");
    drop((publisher, subscriber));
    let gone = counts();
    assert_eq!(gone[0], gone[1], "nothing stays registered");
}

#[test]
fn pools_that_a_device_copies_from_are_registered_once() {
    registered_once(&Placement::default(), CUDA);
}

#[test]
fn pools_that_a_device_copies_to_are_registered_once() {
    registered_once(&Placement { domain: CUDA, ..Default::default() }, HOST);
}

#[test]
fn pools_that_their_publisher_copies_from_are_registered_once() {
    registered_once(&Placement { eager_copies: true, ..Default::default() }, CUDA);
}
