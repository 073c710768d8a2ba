//! Regions on topics grow in place: references into a loan stay valid, and unused memory is returned.

mod common;

use std::os::unix::fs::MetadataExt;

use common::messages::{Note, NoteMut, NoteRef, NoteRegion};
use common::{Scratch, role};
use rustix::io::Errno;
use rustix::mm::{MlockAllFlags, mlockall};
use situ_bus::{LoanError, Node, RegionPublisher, RegionSubscriber};
use situ_memory::AllocateError;
use situ_testkit::process::{Role, command, say};

fn both(node: &Node) -> (RegionPublisher<NoteRegion>, RegionSubscriber<NoteRegion>) {
    let publisher = node.region_publisher::<NoteRegion>("notes").create().unwrap();
    (publisher, node.region_subscriber::<NoteRegion>("notes").create().unwrap())
}

fn data_blocks(scratch: &Scratch) -> u64 {
    let data = |path: &std::path::PathBuf| path.extension().is_some_and(|extension| extension == "data");
    scratch.files().iter().filter(|path| data(path)).map(|path| path.metadata().unwrap().blocks() * 512).sum()
}

#[test]
#[ignore = "a role that the tests start"]
fn child() {
    let Some((role, scratch)) = role() else { return };
    assert_eq!(role, "locks");
    match mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE) {
        Err(Errno::PERM | Errno::NOMEM) => return say("memory 0"),
        result => result.unwrap(),
    }
    let node = scratch.node("locks");
    let (publisher, subscriber) = both(&node);
    for count in 0..20 {
        publisher.publish(&Note { count, text: vec![7; 100_000] }).unwrap();
        let sample = subscriber.take().unwrap().unwrap();
        assert_eq!((*sample.root().count(), sample.root().text().len()), (count, 100_000));
    }
    say(&format!("memory {}", data_blocks(&scratch)));
}

#[test]
fn a_loan_grows_in_place() {
    let scratch = Scratch::new();
    let (publisher, subscriber) = both(&scratch.node("n"));
    let mut others = Vec::new();
    for size in [100, 3_000, 70_000, 5_000_000, 40_000_000, 100] {
        let mut loan = publisher.loan().unwrap();
        let begin = loan.bytes().as_ptr();
        for index in 0..size / 100 {
            loan.root_mut().text().extend_from_slice(&[index as u8; 100]).unwrap();
            if index % 1000 == 0 {
                assert_eq!(loan.bytes().as_ptr(), begin, "{index} of {size}");
            }
        }
        assert_eq!(loan.bytes().as_ptr(), begin);
        // The next loan begins while this one is held.
        others.push(publisher.loan().unwrap());
        loan.publish().unwrap();
        let sample = subscriber.take().unwrap().unwrap();
        let text = sample.root().text().as_slice().to_vec();
        assert!(text.len() == size && text.chunks(100).enumerate().all(|(i, part)| part == [i as u8; 100]));
    }
}

#[test]
fn a_stale_reference_into_a_loan_changes_the_loan_and_nothing_that_is_published() {
    let scratch = Scratch::new();
    let (publisher, subscriber) = both(&scratch.node("n"));
    let mut loan = publisher.loan().unwrap();
    *loan.root_mut().count() = 5;
    let count = std::ptr::from_ref(loan.bytes()).cast::<u8>().cast_mut().wrapping_add(64).cast::<u64>();
    // Messages of all sizes are published meanwhile. At these sizes, a loan that cannot grow in place would
    // move to a larger slot.
    let mut samples = Vec::new();
    for size in (8..22).map(|bits| 1_usize << bits) {
        loan.root_mut().text().set(&vec![3; size][..]).unwrap();
        publisher.publish(&Note { count: 1, text: vec![1; size / 2] }).unwrap();
        samples.push(subscriber.take().unwrap().unwrap());
    }
    let images: Vec<Vec<u8>> = samples.iter().map(|sample| sample.bytes().to_vec()).collect();
    // SAFETY: the root lies there, and its first member is the count. The loan has not moved.
    unsafe { count.write(666) };
    assert_eq!(*loan.root().count(), 666);
    loan.publish().unwrap();
    assert_eq!(*subscriber.take().unwrap().unwrap().root().count(), 666);
    for (sample, image) in samples.iter().zip(images) {
        assert!(sample.bytes() == image && *sample.root().count() == 1);
    }
}

#[test]
fn unused_memory_of_a_loan_is_returned_when_it_is_published() {
    let scratch = Scratch::new();
    let (publisher, subscriber) = both(&scratch.node("n"));
    let mut samples = Vec::new();
    for _ in 0..5 {
        let mut loan = publisher.loan().unwrap();
        loan.root_mut().text().set(&vec![3; 30_000_000][..]).unwrap();
        loan.root_mut().text().set(&vec![3; 1000][..]).unwrap();
        loan.compact().unwrap();
        loan.publish().unwrap();
        samples.push(subscriber.take().unwrap().unwrap());
    }
    assert!(samples.iter().all(|sample| sample.root().text().len() == 1000));
    let (bytes, blocks) = (publisher.raw().memory().bytes, data_blocks(&scratch));
    assert!(blocks < 2 << 20 && bytes < 2 << 20, "{blocks} in the file, {bytes} counted");
    // So is the memory of a loan that is not published.
    let mut loan = publisher.loan().unwrap();
    loan.root_mut().text().set(&vec![3; 30_000_000][..]).unwrap();
    assert!(data_blocks(&scratch) > 30_000_000);
    drop(loan);
    assert!(data_blocks(&scratch) < 2 << 20);
}

#[test]
fn a_loan_has_the_room_that_was_asked_for() {
    let scratch = Scratch::new();
    let (publisher, _subscriber) = both(&scratch.node("n"));
    let mut loan = publisher.loan_up_to(1 << 30).unwrap();
    loan.reserve(300 << 20).unwrap();
    drop(loan);
    let other = scratch.node("other").region_publisher::<NoteRegion>("others").create().unwrap();
    let mut raw = other.raw().loan_growing(100, 1 << 20).unwrap();
    let body = raw.body();
    assert!(raw.grow_body(900_000).unwrap() >= 100 && raw.body() == body && raw.body_size() == 900_000);
    match raw.grow_body(2 << 20) {
        Err(LoanError::Memory(AllocateError::NoRoom { size, room })) => {
            assert!(size >= 2 << 20 && (1 << 20..2 << 20).contains(&room));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(raw.body_size(), 900_000, "the loan is unchanged");
}

#[test]
fn memory_that_is_limited_is_an_error_of_the_operation() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let publisher = node.region_publisher::<NoteRegion>("notes").capacity(1 << 20).create().unwrap();
    let mut loan = publisher.loan().unwrap();
    loan.root_mut().text().set(&vec![3; 300_000][..]).unwrap();
    assert!(loan.root_mut().text().reserve(3_000_000).is_err());
    assert_eq!(loan.root().text().len(), 300_000);
    loan.publish().unwrap();
    assert!(publisher.raw().memory().bytes <= 1 << 20);
}

#[test]
fn a_program_that_locks_its_memory_uses_only_what_its_regions_need() {
    let scratch = Scratch::new();
    let mut child = Role::of(command(&scratch, "locks"));
    let memory = child.number("memory");
    assert!(memory < 16 << 20, "messages of 100 kB take {memory} bytes");
    assert!(child.end(std::time::Duration::from_secs(60)).success());
}
