//! Memory before it is lent: reservations, fixed slots, and strategies of the program's own.
#![cfg(not(loom))]

mod common;

use std::ops::Range;
use std::time::Duration;

use common::messages::{NoteMut, NoteRef, NoteRegion};
use common::{Scratch, numbers, publish, role, take};
use situ_bus::{
    LoanError, Placement, PublisherQos, RawPublisher, RawSubscriber, RegisterError, SubscriberQos,
};
use situ_memory::{
    AllocateError, Allocator, DomainError, MemoryError, Misplacement, Outcome, PageOptions, PoolSpace,
    Strategy,
};
use situ_testkit::process::Role;
use situ_testkit::system_calls::{SURVIVED, forbid_system_calls, survive};

const MIB: usize = 1 << 20;

fn publisher(scratch: &Scratch, depth: usize, placement: &Placement) -> RawPublisher {
    let (node, qos) = (scratch.node("p"), PublisherQos { depth, ..PublisherQos::default() });
    RawPublisher::create_in(&node, "numbers", &numbers(), qos, placement).unwrap()
}

fn subscriber(scratch: &Scratch) -> RawSubscriber {
    RawSubscriber::create(&scratch.node("s"), "numbers", &numbers(), SubscriberQos::default()).unwrap()
}

fn fixed(slots: u32, size: usize) -> Placement {
    let strategy = Strategy::FixedSlots { slots, size: size as u64 };
    Placement { strategy, ..Placement::default() }
}

/// Slots of one size, the lowest free one first. Where `is_wrong` says so, it forgets which are in use.
struct Slots {
    used: Vec<bool>,
    size: u64,
    is_wrong: bool,
}

impl Slots {
    fn strategy(size: u64, is_wrong: bool) -> Strategy {
        Strategy::own(move |space: &PoolSpace| Self {
            used: vec![false; (space.bytes / size).min(64) as usize],
            size,
            is_wrong,
        })
    }
}

impl Allocator for Slots {
    fn allocate(&mut self, size: u64) -> Option<Range<u64>> {
        let free = self.used.iter().position(|used| !used).filter(|_| size <= self.size)?;
        self.used[free] = !self.is_wrong;
        let begin = free as u64 * self.size;
        Some(begin..begin + self.size)
    }

    fn deallocate(&mut self, range: Range<u64>) {
        self.used[(range.start / self.size) as usize] = false;
    }
}

/// Lends and fills so many messages at a time.
fn burst(publisher: &RawPublisher, loans: usize, size: usize) {
    let mut lent = Vec::with_capacity(loans);
    for _ in 0..loans {
        let mut loan = publisher.loan(8, 8, size - 8).unwrap();
        loan.body_bytes().fill(7);
        lent.push(loan);
    }
}

#[test]
#[ignore = "played by the children of the other tests"]
fn child() {
    let Some((role, scratch)) = role() else { return };
    let placement = match role.as_str() {
        "fixed" => fixed(8, MIB),
        "ring" => Placement { strategy: Strategy::Ring, ..Placement::default() },
        "own" => Placement { strategy: Slots::strategy(2 << 20, false), ..Placement::default() },
        _ => Placement::default(),
    };
    let subscriber = subscriber(&scratch);
    let publisher = publisher(&scratch, 2, &placement);
    if !matches!(role.as_str(), "fixed" | "unreserved") {
        publisher.reserve(8, MIB).unwrap();
    }
    // The subscriber maps the pool and the publisher learns of its ledger, each with the first message.
    if role == "published" {
        publish(&publisher, 1, 0);
        assert_eq!(take(&subscriber), Some((0, 1)));
    }
    forbid_system_calls();
    burst(&publisher, 8, MIB);
    if role == "published" {
        for value in 0..20 {
            publish(&publisher, value, MIB / 2);
        }
    }
    survive();
}

#[test]
fn the_first_loans_do_not_call_the_system() {
    for role in ["size classes", "ring", "own", "fixed", "published"] {
        let status = Role::start(&Scratch::new(), role).end(Duration::from_secs(60));
        assert_eq!(status.code(), Some(SURVIVED), "{role}: {status}");
    }
    let status = Role::start(&Scratch::new(), "unreserved").end(Duration::from_secs(60));
    assert_ne!(status.code(), Some(SURVIVED), "without a reservation they do");
}

/// Page faults of this thread that needed no disk.
fn faults() -> i64 {
    // SAFETY: all zeroes are a valid structure, which the call fills.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_THREAD, &mut usage), 0);
        usage.ru_minflt
    }
}

/// Sixteen messages have 4096 pages; some faults are those of the test's stack and heap.
#[test]
fn the_first_loans_make_no_page_faults() {
    let scratch = Scratch::new();
    let reserved = publisher(&scratch, 4, &Placement::default());
    reserved.reserve(16, MIB).unwrap();
    let other = Scratch::new();
    let fixed = publisher(&other, 4, &fixed(16, MIB));
    for publisher in [reserved, fixed] {
        let before = faults();
        burst(&publisher, 16, MIB);
        let made = faults() - before;
        assert!(made < 64, "{made} page faults");
    }
}

#[test]
fn a_reader_need_not_know_the_strategy() {
    for strategy in
        [Strategy::Ring, Strategy::FixedSlots { slots: 12, size: 100_008 }, Slots::strategy(128 << 10, false)]
    {
        let scratch = Scratch::new();
        let capacity = Some(2 * MIB as u64);
        let publisher = publisher(&scratch, 4, &Placement { strategy, capacity, ..Placement::default() });
        let subscriber = subscriber(&scratch);
        let mut held = Vec::new();
        for value in 0..40u64 {
            publish(&publisher, value, if value % 3 == 0 { 100_000 } else { 10 });
            let sample = subscriber.take().unwrap().unwrap();
            assert!(sample.body_in_place().iter().all(|byte| *byte == value as u8));
            held.push((value, sample));
            if held.len() > 4 {
                let (value, sample) = held.remove(0);
                assert!(sample.body_in_place().iter().all(|byte| *byte == value as u8), "{value}");
            }
        }
    }
}

/// No message of a subscriber changes because an allocator forgets that it is in use.
#[test]
fn a_wrong_allocator_is_an_error_of_the_loan() {
    let scratch = Scratch::new();
    let placement = Placement { strategy: Slots::strategy(1 << 20, true), ..Placement::default() };
    let publisher = publisher(&scratch, 4, &placement);
    let subscriber = subscriber(&scratch);
    publish(&publisher, 5, 1000);
    let sample = subscriber.take().unwrap().unwrap();
    match publisher.loan(8, 8, 1000).map(drop) {
        Err(LoanError::Memory(AllocateError::Misplaced { size: 1152, begin: 0, end, fault })) => {
            assert_eq!(end, 1 << 20);
            assert_eq!(fault, Misplacement::Overlaps { slot: 0, begin: 0, end: 1 << 20 });
        }
        other => panic!("{other:?}"),
    }
    assert!(sample.body_in_place().iter().all(|byte| *byte == 5));
}

#[test]
fn fixed_slots_hold_messages_of_their_size_and_no_larger_ones() {
    let scratch = Scratch::new();
    let publisher = publisher(&scratch, 2, &fixed(6, 4096));
    assert_eq!(publisher.memory().slots, 6);
    let loans: Vec<_> = (0..6).map(|_| publisher.loan(4000, 8, 96).unwrap()).collect();
    match publisher.loan(8, 8, 8) {
        Err(LoanError::Memory(AllocateError::Exhausted { in_use: 6, .. })) => {}
        other => panic!("{:?}", other.map(drop)),
    }
    drop(loans);
    match publisher.loan(8, 8, 8192) {
        Err(LoanError::Memory(AllocateError::LargerThanSlot { slot, .. })) => assert!(slot >= 4096),
        other => panic!("{:?}", other.map(drop)),
    }
    let qos = PublisherQos::default();
    match RawPublisher::create_in(&scratch.node("q"), "numbers", &numbers(), qos, &fixed(70_000, 64)) {
        Err(RegisterError::Domain(DomainError::Refused { action, .. })) => {
            assert!(action.contains("70000 slots"), "{action}");
        }
        other => panic!("{:?}", other.map(drop)),
    }
}

/// Sixty slots of 4 GiB are more than a tmpfs has, which has half of the machine's memory.
#[test]
fn fixed_slots_without_memory_are_an_error_and_leave_no_publisher() {
    let scratch = Scratch::new();
    let (node, qos) = (scratch.node("q"), PublisherQos::default());
    let free = rustix::fs::statvfs(scratch.path()).unwrap();
    if free.f_bavail * free.f_frsize > 200 << 30 {
        return eprintln!("skipped: this machine has memory for them");
    }
    let _subscriber = subscriber(&scratch);
    match RawPublisher::create_in(&node, "numbers", &numbers(), qos, &fixed(60, 4 << 30)) {
        Err(RegisterError::Memory(MemoryError::System { .. })) => {}
        other => panic!("{:?}", other.map(drop)),
    }
    let topic = situ_bus::inspect::topic(&scratch.root(), "numbers").unwrap().unwrap();
    assert_eq!(topic.publishers.len(), 0);
    let pools = scratch.files().into_iter().filter(|path| path.extension().is_some_and(|it| it == "data"));
    assert_eq!(pools.count(), 0, "its files are gone");
}

/// A region grows in a fixed slot as far as the slot goes.
#[test]
fn regions_are_built_in_fixed_slots_and_can_be_reserved() {
    for placement in [fixed(8, MIB), Placement::default()] {
        let is_fixed = placement != Placement::default();
        let scratch = Scratch::new();
        let node = scratch.node("n");
        let publisher = node
            .region_publisher::<NoteRegion>("notes")
            .strategy(placement.strategy)
            .depth(2)
            .create()
            .unwrap();
        let subscriber = node.region_subscriber::<NoteRegion>("notes").create().unwrap();
        publisher.reserve(4, MIB).unwrap();
        for count in 0..20 {
            let mut loan = publisher.loan().unwrap();
            *loan.root_mut().count() = count;
            (0..1000).for_each(|byte| loan.root_mut().text().push(byte as u8).unwrap());
            loan.publish().unwrap();
            let sample = subscriber.take().unwrap().unwrap();
            assert_eq!((*sample.root().count(), sample.root().text().len()), (count, 1000));
        }
        let mut loan = publisher.loan().unwrap();
        let grown = (0..3 * MIB).map(|byte| loan.root_mut().text().push(byte as u8)).find(Result::is_err);
        assert_eq!(grown.is_some(), is_fixed);
    }
}

#[test]
fn bodies_elsewhere_are_reserved_there() {
    let scratch = Scratch::new();
    let domain = "emulated:0".parse().unwrap();
    let pages = PageOptions { huge: false, node: Some(0) };
    let publisher = publisher(&scratch, 2, &Placement { domain, pages, ..Placement::default() });
    publisher.reserve(5, MIB).unwrap();
    assert!(publisher.memory().slots >= 5, "the heads");
    assert!(matches!(publisher.pages().node, Outcome::Refused(_)), "this domain has no such pages");
    assert!(publisher.trim() >= 5 * MIB as u64);
    let other = Scratch::new();
    let strategy = Strategy::FixedSlots { slots: 3, size: MIB as u64 };
    let publisher = self::publisher(&other, 2, &Placement { domain, strategy, ..Placement::default() });
    let loans: Vec<_> = (0..3).map(|_| publisher.loan(8, 8, MIB).unwrap()).collect();
    assert!(publisher.loan(8, 8, 1).is_err());
    drop(loans);
    assert!(publisher.trim() >= 3 * MIB as u64 - 8192);
}

#[test]
fn what_cannot_be_reserved_is_told_and_reserves_nothing() {
    let scratch = Scratch::new();
    let capacity = Some(4 * MIB as u64);
    let publisher = publisher(&scratch, 2, &Placement { capacity, ..Placement::default() });
    for (messages, bytes) in [(5, MIB), (usize::MAX, 1), (1, usize::MAX), (usize::MAX, usize::MAX)] {
        match publisher.reserve(messages, bytes) {
            Err(LoanError::Memory(AllocateError::Exhausted { .. } | AllocateError::TooLarge { .. })) => {}
            other => panic!("{other:?}"),
        }
    }
    publisher.reserve(2, MIB).unwrap();
    assert!(publisher.pages().node == Outcome::NotAsked);
    burst(&publisher, 2, MIB);
}
