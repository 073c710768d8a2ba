//! How a pool allocates: fixed slots, strategies of the program's own, reserved memory, and wished pages.
#![cfg(not(loom))]

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use proptest::prelude::{
    Just, ProptestConfig, Strategy as _, any, prop_assert, prop_assert_eq, prop_oneof, proptest,
};
use situ_memory::{
    Access, AllocateError, Allocator, DomainError, Domains, EmulatedDomain, HostDomain, Misplacement,
    Outcome, PageOptions, PoolOptions, PoolOwner, PoolSpace, PoolView, SlotId, Strategy,
};

const MIB: usize = 1 << 20;

struct Scratch(situ_testkit::Scratch);

impl Scratch {
    fn new() -> Self {
        Self(situ_testkit::Scratch::created("strategies"))
    }
    fn control(&self) -> PathBuf {
        self.0.join("p.pool")
    }
    /// The memory of the pool's data, in bytes.
    fn memory(&self) -> u64 {
        fs::metadata(self.0.join("p.data")).unwrap().blocks() * 512
    }
    fn try_pool(
        &self,
        strategy: Strategy,
        capacity: usize,
        pages: PageOptions,
    ) -> Result<PoolOwner, DomainError> {
        let options = PoolOptions {
            id: 7,
            owner: 42,
            slots: 64,
            capacity: capacity as u64,
            strategy,
            pages,
            mode: 0o600,
            group: None,
            grows: false,
        };
        let mut pool = PoolOwner::create(&HostDomain, &self.control(), &options)?;
        pool.prepare()?;
        Ok(pool)
    }
    fn pool(&self, strategy: Strategy, capacity: usize) -> PoolOwner {
        self.try_pool(strategy, capacity, PageOptions::default()).unwrap()
    }
}

/// The first range with room: ranges in use, by their begins.
#[derive(Debug, Clone)]
struct FirstFit {
    space: PoolSpace,
    used: BTreeMap<u64, u64>,
}

impl Allocator for FirstFit {
    fn allocate(&mut self, size: u64) -> Option<Range<u64>> {
        assert!(size.is_multiple_of(self.space.unit), "{size}");
        let mut begin = 0;
        for (from, to) in &self.used {
            if begin + size <= *from {
                break;
            }
            begin = *to;
        }
        (begin + size <= self.space.bytes).then(|| {
            self.used.insert(begin, begin + size);
            begin..begin + size
        })
    }

    fn deallocate(&mut self, range: Range<u64>) {
        assert_eq!(self.used.remove(&range.start), Some(range.end), "a range that was lent");
    }
}

fn first_fit() -> Strategy {
    Strategy::own(|space| FirstFit { space: *space, used: BTreeMap::new() })
}

/// Gives the answers of the list, one after the other, to any request.
struct Told(Arc<Mutex<Vec<Option<Range<u64>>>>>);

impl Allocator for Told {
    fn allocate(&mut self, _size: u64) -> Option<Range<u64>> {
        self.0.lock().unwrap().pop().unwrap()
    }
    fn deallocate(&mut self, _range: Range<u64>) {}
}

#[test]
fn a_wrong_answer_is_an_error_and_no_slot() {
    let scratch = Scratch::new();
    let answers = Arc::new(Mutex::new(Vec::new()));
    let told = answers.clone();
    let mut pool = scratch.pool(Strategy::own(move |_| Told(told.clone())), MIB);
    let mut allocate = |range: Option<Range<u64>>, size| {
        answers.lock().unwrap().push(range);
        match pool.allocate(size) {
            Ok(slot) => Ok(pool.place(slot)),
            Err(AllocateError::Misplaced { fault, .. }) => Err(Some(fault)),
            Err(AllocateError::Exhausted { .. }) => Err(None),
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(allocate(Some(4096..8192), 4000), Ok((4096, 4096)));
    assert_eq!(allocate(None, 4000), Err(None));
    let mib = MIB as u64;
    let outside = Err(Some(Misplacement::Outside { bytes: mib }));
    assert_eq!(allocate(Some(mib..mib + 4096), 4096), outside);
    assert_eq!(allocate(Some(mib - 64..mib + 64), 64), outside);
    assert_eq!(allocate(Some(0..u64::MAX), 64), outside);
    assert_eq!(
        allocate(Some(Range { start: u64::MAX - 64, end: 64 }), 64),
        Err(Some(Misplacement::TooSmall))
    );
    assert_eq!(allocate(Some(0..64), 65), Err(Some(Misplacement::TooSmall)));
    assert_eq!(allocate(Some(64..64), 1), Err(Some(Misplacement::TooSmall)));
    assert_eq!(allocate(Some(32..96), 64), Err(Some(Misplacement::Unaligned { unit: 64 })));
    assert_eq!(allocate(Some(0..100), 64), Err(Some(Misplacement::Unaligned { unit: 64 })));
    let overlaps = Err(Some(Misplacement::Overlaps { slot: 0, begin: 4096, end: 8192 }));
    for range in [4096..8192, 0..4160, 8128..12288, 4160..4224, 0..mib, 4032..4160] {
        assert_eq!(allocate(Some(range.clone()), 64), overlaps, "{range:?}");
    }
    // What only touches it is right.
    assert_eq!(allocate(Some(0..4096), 64), Ok((0, 4096)));
    assert_eq!(allocate(Some(8192..8256), 64), Ok((8192, 64)));
    assert_eq!(pool.statistics().in_use, 3);
    pool.deallocate(0);
    answers.lock().unwrap().push(Some(4096..8192));
    assert!(pool.allocate(64).is_ok(), "its range is free again");
    let text = AllocateError::Misplaced {
        size: 64,
        begin: 0,
        end: 128,
        fault: Misplacement::Unaligned { unit: 256 },
    };
    assert_eq!(
        text.to_string(),
        "the pool's own allocator placed a slot of 64 bytes at 0..128, whose begin and end must be multiples of \
         256; no slot was lent: correct the allocator"
    );
}

/// Where the CPU may not touch the memory, slots begin and end at other units, and nothing is written there.
#[test]
fn an_own_strategy_divides_memory_that_the_cpu_may_not_touch() {
    let scratch = Scratch::new();
    let options = PoolOptions {
        id: 7,
        owner: 42,
        slots: 64,
        capacity: MIB as u64,
        strategy: first_fit(),
        pages: PageOptions { huge: true, node: Some(0) },
        mode: 0o600,
        group: None,
        grows: false,
    };
    let mut pool = PoolOwner::create(&EmulatedDomain::default(), &scratch.control(), &options).unwrap();
    let slots = [pool.allocate(1).unwrap(), pool.allocate(257).unwrap()];
    assert_eq!(slots.map(|slot| pool.place(slot)), [(0, 256), (256, 512)]);
    assert_eq!(pool.memory(slots[0]).1, 0);
    pool.reserve(3, 100_000).unwrap();
    let refused = pool.pages();
    assert!(matches!((refused.huge, refused.node), (Outcome::Refused(_), Outcome::Refused(_))));
}

#[test]
fn fixed_slots_have_their_memory_before_they_are_lent() {
    let scratch = Scratch::new();
    let mut pool = scratch.pool(Strategy::FixedSlots { slots: 16, size: MIB as u64 }, 0);
    assert!(scratch.memory() >= 16 * MIB as u64);
    let statistics = pool.statistics();
    assert_eq!((statistics.slots, statistics.in_use), (16, 0));
    let lent = pool.allocate(MIB).unwrap();
    // Only the pages of that slot stay.
    let given = pool.trim();
    assert!(given >= 15 * MIB as u64 - 8192, "{given}");
    assert_eq!(
        (pool.statistics().bytes, scratch.memory()),
        (statistics.bytes - given, statistics.bytes - given)
    );
    let (memory, len) = pool.memory(lent);
    // SAFETY: the slot has `len` bytes, and no other code uses it.
    unsafe { memory.write_bytes(9, len) };
    assert_eq!(pool.trim(), 0);
    let others: Vec<_> = (0..15).map(|_| pool.allocate(MIB).unwrap()).collect();
    assert_eq!(pool.statistics().bytes, statistics.bytes);
    for slot in others {
        let (memory, len) = pool.memory(slot);
        // SAFETY: as above.
        unsafe { memory.write_bytes(1, len) };
        pool.deallocate(slot);
    }
    // SAFETY: as above; the slot was filled.
    assert!(unsafe { std::slice::from_raw_parts(memory, len) }.iter().all(|byte| *byte == 9));
    pool.trim();
    assert!(matches!(pool.reserve(16, MIB), Err(AllocateError::Exhausted { in_use: 1, .. })));
    pool.reserve(15, MIB).unwrap();
    assert_eq!(scratch.memory(), statistics.bytes);
}

#[test]
fn impossible_fixed_slots_are_refused() {
    let scratch = Scratch::new();
    for (slots, size) in [(0, 64), (65_537, 64), (2, u64::MAX), (65_536, 1 << 32)] {
        let strategy = Strategy::FixedSlots { slots, size };
        match scratch.try_pool(strategy, 0, PageOptions::default()) {
            Err(DomainError::Refused { action, .. }) => {
                assert!(action.contains(&slots.to_string()), "{action}")
            }
            other => panic!("{slots} {size}: {:?}", other.map(drop)),
        }
    }
    let mut most = scratch.pool(Strategy::FixedSlots { slots: 65_536, size: 1 }, 0);
    assert!((0..65_536).all(|slot| most.allocate(64).unwrap() == slot));
    assert!(most.allocate(1).is_err());
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

/// Lends as many slots as were reserved and writes every page; returns the page faults.
fn use_all(pool: &mut PoolOwner, messages: usize, size: usize) -> i64 {
    let mut slots = Vec::with_capacity(messages);
    let before = faults();
    for _ in 0..messages {
        let slot = pool.allocate(size).unwrap();
        let (memory, len) = pool.memory(slot);
        assert!(len >= size);
        // SAFETY: the slot has `len` bytes, and no other code uses it.
        unsafe { memory.write_bytes(3, len) };
        slots.push(slot);
    }
    let made = faults() - before;
    slots.into_iter().for_each(|slot| pool.deallocate(slot));
    made
}

/// 32 slots of a mebibyte have 8192 pages. Some faults may be the test's own: of its stack and its heap.
#[test]
fn reserved_slots_are_written_without_page_faults() {
    const FEW: i64 = 64;
    for strategy in [Strategy::SizeClasses, Strategy::Ring, first_fit()] {
        let scratch = Scratch::new();
        let mut pool = scratch.pool(strategy.clone(), 48 * MIB);
        // The second slot enlarges the window, so the pages of the first would not be present in the new one.
        pool.reserve(32, MIB).unwrap();
        let made = use_all(&mut pool, 32, MIB);
        assert!(made < FEW, "{strategy:?}: {made} page faults");
        assert!(scratch.memory() >= 32 * MIB as u64);
    }
    let scratch = Scratch::new();
    let mut pool = scratch.pool(Strategy::FixedSlots { slots: 32, size: MIB as u64 }, 0);
    let made = use_all(&mut pool, 32, MIB);
    assert!(made < FEW, "fixed: {made} page faults");
    pool.trim();
    pool.reserve(32, MIB).unwrap();
    let made = use_all(&mut pool, 32, MIB);
    assert!(made < FEW, "fixed, reserved again: {made} page faults");
}

#[test]
fn reserved_slots_stay_until_they_are_trimmed() {
    let scratch = Scratch::new();
    let mut pool = scratch.pool(Strategy::SizeClasses, 64 * MIB);
    pool.reserve(4, MIB).unwrap();
    let reserved = scratch.memory();
    assert!(reserved >= 4 * MIB as u64);
    let others: Vec<_> = (0..6).map(|_| pool.allocate(2 * MIB).unwrap()).collect();
    others.iter().for_each(|slot| pool.deallocate(*slot));
    // Two looks: what was free in between goes, but not what is reserved.
    pool.give_idle_back(u64::MAX);
    pool.give_idle_back(u64::MAX);
    pool.give_back_down_to(0);
    assert_eq!((scratch.memory(), pool.free_bytes()), (reserved, 0));
    // Smaller messages use them, too.
    let slots: Vec<_> = [MIB, 100_000, 700_000, 5000].map(|size| pool.allocate(size).unwrap()).into();
    assert!(slots.iter().all(|slot| pool.memory(*slot).1 >= MIB));
    assert_eq!(scratch.memory(), reserved);
    slots.iter().for_each(|slot| pool.deallocate(*slot));
    assert_eq!((pool.trim(), scratch.memory()), (reserved, 0));
    pool.give_idle_back(u64::MAX);
    assert_eq!(pool.statistics().slots, 0);
}

#[test]
fn what_cannot_be_reserved_is_an_error_that_says_why() {
    for strategy in [Strategy::SizeClasses, Strategy::Ring, first_fit()] {
        let scratch = Scratch::new();
        let mut pool = scratch.pool(strategy, 4 * MIB);
        for (messages, size) in [(5, MIB), (65, 1), (usize::MAX, 64), (1 << 40, 1 << 20)] {
            match pool.reserve(messages, size) {
                Err(AllocateError::Exhausted { in_use: 0, slots: 64, .. }) => {}
                other => panic!("{messages} of {size}: {other:?}"),
            }
        }
        assert!(matches!(pool.reserve(1, 5 * MIB), Err(AllocateError::TooLarge { .. })));
        let lent: Vec<_> = (0..3).map(|_| pool.allocate(MIB).unwrap()).collect();
        assert!(matches!(pool.reserve(2, MIB), Err(AllocateError::Exhausted { in_use: 3, .. })));
        pool.reserve(1, MIB - 100_000).unwrap();
        pool.reserve(0, MIB).unwrap();
        lent.into_iter().for_each(|slot| pool.deallocate(slot));
        assert!(pool.allocate(4 * MIB - 300_000).is_ok() || pool.trim() > 0);
    }
}

/// Regions are built in slots that grow: so many keep memory for that much.
#[test]
fn slots_that_grow_can_be_reserved() {
    let scratch = Scratch::new();
    let options = PoolOptions {
        id: 7,
        owner: 42,
        slots: 64,
        capacity: 64 << 20,
        strategy: Strategy::SizeClasses,
        pages: PageOptions::default(),
        mode: 0o600,
        group: None,
        grows: true,
    };
    let mut pool = PoolOwner::create(&HostDomain, &scratch.control(), &options).unwrap();
    pool.reserve_growing(3, 2 * MIB, 16 * MIB).unwrap();
    let reserved = scratch.memory();
    assert!(reserved >= 6 * MIB as u64);
    let before = faults();
    let slots: Vec<_> = (0..3).map(|_| pool.allocate_growing(100, 16 * MIB).unwrap()).collect();
    for slot in &slots {
        assert!(pool.grow(*slot, 2 * MIB).unwrap() >= 2 * MIB);
        let memory = pool.memory(*slot).0;
        // SAFETY: the slot has as many bytes, and no other code uses it.
        unsafe { memory.write_bytes(3, 2 * MIB) };
    }
    assert!(faults() - before < 64, "{} page faults", faults() - before);
    assert_eq!(scratch.memory(), reserved);
    for slot in slots {
        pool.give_tail_back(slot, 10);
        pool.deallocate(slot);
    }
    pool.give_idle_back(u64::MAX);
    pool.give_idle_back(u64::MAX);
    assert_eq!(scratch.memory(), reserved, "messages that use less keep it");
    assert!(pool.trim() >= 6 * MIB as u64);
    assert_eq!(scratch.memory(), 0);
}

/// Whether the kernel has such pages is its matter. That it has answered can be seen.
#[test]
fn wished_pages_have_an_outcome_and_ordinary_ones_work_too() {
    for strategy in
        [Strategy::SizeClasses, Strategy::Ring, Strategy::FixedSlots { slots: 8, size: MIB as u64 }]
    {
        let scratch = Scratch::new();
        let pages = PageOptions { huge: true, node: Some(0) };
        let mut pool = scratch.try_pool(strategy.clone(), 16 * MIB, pages).unwrap();
        pool.reserve(8, MIB - 4096).unwrap();
        let outcome = pool.pages();
        println!(
            "{strategy:?}: huge {}, {} bytes; node 0 {}",
            outcome.huge, outcome.huge_bytes, outcome.node
        );
        assert!(outcome.huge != Outcome::NotAsked && outcome.node != Outcome::NotAsked);
        assert!(outcome.huge_bytes <= 16 * MIB as u64);
        assert!(use_all(&mut pool, 8, MIB - 4096) < 64);
        let view = PoolView::open(&Domains::host_only(), &scratch.control(), Access::ReadWrite).unwrap();
        assert!(view.memory(0).is_some());
    }
    let scratch = Scratch::new();
    let absent = PageOptions { huge: false, node: Some(4000) };
    let mut pool = scratch.try_pool(Strategy::SizeClasses, 4 * MIB, absent).unwrap();
    assert_eq!((pool.pages().huge, pool.pages().node), (Outcome::NotAsked, Outcome::Refused(libc::EINVAL)));
    assert!(pool.allocate(MIB).is_ok());
}

/// What an owner does with its pool.
#[derive(Debug, Clone, Copy)]
enum Step {
    Allocate(usize),
    /// Returns one of its slots.
    Return(usize),
    Reserve(usize, usize),
    Trim,
    Idle,
}

/// Each slot's bytes, as the model knows them: where they lie, and what fills them.
struct Known {
    slot: SlotId,
    begin: u64,
    end: u64,
    mark: u8,
    size: usize,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn slots_in_use_lie_apart_and_keep_their_bytes(
        which in 0usize..4,
        steps in proptest::collection::vec(
            prop_oneof![
                4 => (1usize..40_000).prop_map(Step::Allocate),
                3 => any::<usize>().prop_map(Step::Return),
                1 => (0usize..8, 1usize..40_000).prop_map(|(messages, size)| Step::Reserve(messages, size)),
                1 => Just(Step::Trim),
                1 => Just(Step::Idle),
            ],
            1..120,
        )
    ) {
        let strategies =
            [Strategy::SizeClasses, Strategy::Ring, Strategy::FixedSlots { slots: 9, size: 40_000 }, first_fit()];
        let scratch = Scratch::new();
        let mut pool = scratch.pool(strategies[which].clone(), 256 << 10);
        let capacity = pool.header().capacity;
        let view = PoolView::open(&Domains::host_only(), &scratch.control(), Access::ReadWrite).unwrap();
        let mut known: Vec<Known> = Vec::new();
        for (turn, step) in steps.into_iter().enumerate() {
            match step {
                Step::Allocate(size) => match pool.allocate(size) {
                    Ok(slot) => {
                        let (begin, len) = pool.place(slot);
                        let end = begin + len;
                        prop_assert!(begin.is_multiple_of(64) && len >= size as u64 && end <= capacity);
                        for other in &known {
                            prop_assert!(other.slot != slot && (end <= other.begin || other.end <= begin));
                        }
                        prop_assert_eq!(view.place(slot), Some((begin, len)), "readers find it there");
                        let mark = turn as u8;
                        let (memory, has) = pool.memory(slot);
                        prop_assert!(has as u64 == len);
                        // SAFETY: the slot has as many bytes, and is lent only once.
                        unsafe { memory.write_bytes(mark, size) };
                        known.push(Known { slot, begin, end, mark, size });
                    }
                    Err(AllocateError::Exhausted { in_use, .. }) => prop_assert_eq!(in_use, known.len()),
                    Err(error) => panic!("{error}"),
                },
                Step::Return(one) if !known.is_empty() => {
                    let one = known.swap_remove(one % known.len());
                    pool.deallocate(one.slot);
                }
                Step::Return(_) => {}
                Step::Reserve(messages, size) => match pool.reserve(messages, size) {
                    Ok(()) => {}
                    Err(AllocateError::Exhausted { in_use, .. }) => prop_assert_eq!(in_use, known.len()),
                    Err(error) => panic!("{error}"),
                },
                Step::Trim => _ = pool.trim(),
                Step::Idle => _ = pool.give_idle_back(u64::MAX),
            }
            prop_assert_eq!(pool.statistics().in_use, known.len());
            for one in &known {
                let (memory, _) = pool.memory(one.slot);
                // SAFETY: the slot has as many bytes, which were filled.
                let bytes = unsafe { std::slice::from_raw_parts(memory, one.size) };
                prop_assert!(bytes.iter().all(|byte| *byte == one.mark), "{}", one.slot);
            }
        }
        known.iter().for_each(|one| pool.deallocate(one.slot));
        pool.trim();
        prop_assert_eq!((pool.statistics().in_use, pool.statistics().bytes, scratch.memory()), (0, 0, 0));
    }

    /// An allocator that answers at random, against a check of all bytes in use.
    #[test]
    fn a_slot_is_lent_exactly_if_its_range_is_right(
        answers in proptest::collection::vec(
            (0u64..70, 0u64..20, prop_oneof![9 => Just(0u64), 1 => 1u64..64], 1usize..700, any::<usize>()),
            1..80,
        )
    ) {
        let scratch = Scratch::new();
        let queue = Arc::new(Mutex::new(Vec::new()));
        let told = queue.clone();
        let mut pool = scratch.pool(Strategy::own(move |_| Told(told.clone())), 4096);
        let mut known: Vec<(SlotId, Range<u64>)> = Vec::new();
        for (begin, len, off, size, random) in answers {
            let range = begin * 64 + off..(begin + len) * 64;
            let needed = size.next_multiple_of(64) as u64;
            let in_use = |byte| known.iter().any(|(_, range)| range.contains(&byte));
            let is_right = off == 0
                && range.end <= 4096
                && range.end >= range.start + needed
                && !range.clone().any(in_use);
            queue.lock().unwrap().push(Some(range.clone()));
            match pool.allocate(size) {
                Ok(slot) => {
                    prop_assert!(is_right, "{range:?} for {size}");
                    prop_assert_eq!(pool.place(slot), (range.start, range.end - range.start));
                    prop_assert!(known.iter().all(|(other, _)| *other != slot));
                    known.push((slot, range));
                }
                Err(AllocateError::Misplaced { .. }) => prop_assert!(!is_right, "{range:?} for {size}"),
                Err(error) => panic!("{error}"),
            }
            if random % 3 == 0 && !known.is_empty() {
                let (slot, _) = known.swap_remove(random % known.len());
                pool.deallocate(slot);
            }
            prop_assert_eq!(pool.statistics().in_use, known.len());
        }
    }
}
