//! A peer that changes messages while they are taken. Each value in this process is valid. Also tests which
//! publishers' messages are read in place.
#![cfg(not(loom))]

mod common;

use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use common::Scratch;
use common::messages::{Letter, LetterRegion};
use situ_bus::{Limits, Node, Publisher, ReceiveError, Subscriber, TakeError, Trust};
use situ_layout::{Flat, Heap, Storage};
use situ_memory::{Access, Mapping};

/// The number of bytes of text, and of booleans.
const TEXT: usize = 30_000;
const FLAGS: usize = 512;

fn letter<S: Storage>() -> Box<Letter<S>> {
    let mut letter = situ_layout::boxed::<Letter<S>>();
    situ_layout::TextField::try_assign(&mut letter.text, &"x".repeat(TEXT)).unwrap();
    letter.flags = [true; FLAGS];
    letter
}

/// Whether the value is valid, by its bytes: for the compiler it always is.
fn is_valid(text: &str, flags: &[bool; FLAGS]) -> bool {
    // All of them were published as true. Any other value was changed meanwhile, to one that is no boolean.
    // SAFETY: a boolean is a byte.
    let flags = unsafe { std::slice::from_raw_parts(flags.as_ptr().cast::<u8>(), FLAGS) };
    std::str::from_utf8(std::hint::black_box(text.as_bytes())).is_ok()
        && std::hint::black_box(flags) == [1; FLAGS]
}

/// Takes messages while a peer changes one byte of a text, and one boolean, to an invalid value and back.
fn play(scratch: &Scratch, mut publish: impl FnMut(), mut take: impl FnMut() -> Option<bool>) {
    // Enough messages to use every slot once.
    for _ in 0..40 {
        publish();
        assert_eq!(take(), Some(true));
    }
    let maps: Vec<Mapping> = scratch
        .files()
        .iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "data"))
        .map(|path| {
            let file = File::options().read(true).write(true).open(path).unwrap();
            let len = file.metadata().unwrap().len() as usize;
            Mapping::new(file.as_fd(), 0, len, Access::ReadWrite).unwrap()
        })
        .collect();
    let mut targets: Vec<(&AtomicU8, u8, u8)> = Vec::new();
    for map in &maps {
        // SAFETY: the mapping is as long as its file, and bytes of shared memory may change at any time.
        let bytes = unsafe { std::slice::from_raw_parts(map.base().cast::<AtomicU8>(), map.len()) };
        for (good, bad) in [(b'x', 0xff), (1, 2)] {
            let mut run = 0;
            for (at, byte) in bytes.iter().enumerate() {
                run = if byte.load(Ordering::Relaxed) == good { run + 1 } else { 0 };
                if run == FLAGS {
                    targets.push((&bytes[at - FLAGS / 2], good, bad));
                }
            }
        }
    }
    assert!(targets.len() >= 2, "{}", targets.len());
    let over = AtomicBool::new(false);
    let (mut valid, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                for (byte, good, bad) in &targets {
                    byte.store(*bad, Ordering::Relaxed);
                    (0..200).for_each(|_| std::hint::spin_loop());
                    byte.store(*good, Ordering::Relaxed);
                }
            }
        });
        for _ in 0..1000 {
            publish();
            match take() {
                Some(true) => valid += 1,
                Some(false) => {
                    over.store(true, Ordering::Relaxed);
                    panic!("an invalid value, after {valid} valid and {refused} refused ones");
                }
                None => refused += 1,
            }
        }
        over.store(true, Ordering::Relaxed);
    });
    println!("{valid} valid, {refused} refused");
    assert!(valid > 0);
}

fn take_heap(subscriber: &Subscriber<Letter<Heap>>) -> Option<bool> {
    let letter = subscriber.take().ok().map(|letter| letter.unwrap())?;
    Some(is_valid(&letter.text, &letter.flags))
}

#[test]
fn serialized_messages_are_decoded_from_the_checked_bytes() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let publisher = node.publisher::<Letter<Heap>>("letters").depth(2).create().unwrap();
    let subscriber = node.subscriber("letters").create().unwrap();
    let letter = letter::<Heap>();
    play(&scratch, || _ = publisher.publish(&letter).unwrap(), || take_heap(&subscriber));
}

#[test]
fn flat_messages_are_converted_from_the_checked_bytes() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let publisher = node.publisher::<Letter<Flat>>("letters").depth(2).create().unwrap();
    let subscriber = node.subscriber("letters").create().unwrap();
    let letter = letter::<Flat>();
    play(&scratch, || _ = publisher.publish(&letter).unwrap(), || take_heap(&subscriber));
}

#[test]
fn regions_are_converted_from_the_checked_bytes() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let publisher = node.region_publisher::<LetterRegion>("letters").depth(2).create().unwrap();
    let subscriber = node.subscriber("letters").create().unwrap();
    let letter = letter::<Heap>();
    play(&scratch, || _ = publisher.publish(&letter).unwrap(), || take_heap(&subscriber));
}

/// The files of the existing pools.
fn pools(scratch: &Scratch) -> Vec<std::path::PathBuf> {
    let is_pool = |path: &std::path::PathBuf| {
        path.extension().is_some_and(|extension| extension == "data" || extension == "pool")
    };
    scratch.files().into_iter().filter(is_pool).collect()
}

fn publisher(node: &Node) -> Publisher<Letter> {
    node.publisher::<Letter>("letters").transient_local().depth(2).create().unwrap()
}

#[test]
fn messages_that_only_the_own_user_may_write_are_read_in_place_and_others_are_copied() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let publisher = publisher(&node);
    publisher.publish(&letter()).unwrap();
    let take = |trust: Trust| {
        let subscriber =
            node.subscriber::<Letter>("letters").transient_local().trust(trust).create().unwrap();
        let letter = subscriber.take().unwrap().unwrap();
        assert!(is_valid(&letter.text, &letter.flags));
        let head = letter.raw().head_in_place().as_ptr();
        let size = size_of::<Letter>() as u64;
        let is_shared = head.addr() as u64 == letter.raw().span().address();
        assert_eq!(letter.is_copy(), !is_shared);
        assert_eq!(letter.raw().span().len() as u64, size, "streams copy from the shared memory");
        letter.is_copy()
    };
    assert!(!take(Trust::SameUser));
    assert!(!take(Trust::Everyone));
    assert!(take(Trust::Nobody));
    // Open to the group: any member may write to it.
    for path in pools(&scratch) {
        fs::set_permissions(&path, fs::Permissions::from_mode(0o660)).unwrap();
        assert!(take(Trust::SameUser), "{path:?}");
        assert!(!take(Trust::Everyone), "{path:?}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    }
    assert!(!take(Trust::SameUser));
}

#[test]
fn messages_beyond_the_limits_of_a_subscriber_are_errors_with_their_values() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let publisher = publisher(&node);
    publisher.publish(&letter()).unwrap();
    let take = |limits: Limits| {
        let subscriber =
            node.subscriber::<Letter>("letters").transient_local().limits(limits).create().unwrap();
        subscriber.take().map(|letter| assert!(letter.is_some()))
    };
    let size = size_of::<Letter>() as u64;
    take(Limits { message: size, ..Limits::default() }).unwrap();
    match take(Limits { message: size - 1, ..Limits::default() }) {
        Err(ReceiveError::Take(TakeError::TooLarge { bytes, limit, .. })) => {
            assert_eq!((bytes, limit), (size, size - 1));
        }
        other => panic!("{other:?}"),
    }
    match take(Limits { pool: 8192, ..Limits::default() }) {
        Err(ReceiveError::Take(TakeError::TooFar { end, limit, .. })) => assert!(end > size && limit == 8192),
        other => panic!("{other:?}"),
    }
}
