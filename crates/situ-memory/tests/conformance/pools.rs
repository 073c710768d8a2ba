//! The part of the suite about pools: allocation, in all strategies, over the domain's memory.

use std::collections::VecDeque;

use situ_memory::{Access, AllocateError, PoolOwner, PoolView, SlotId, Strategy};

use super::{Site, read, write};

/// Numbers that look random but are the same in every run.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

/// A slot that was handed out, and what was written to it.
struct Lent {
    slot: SlotId,
    range: (u64, u64),
    mark: [u8; 8],
    generation: u16,
    /// How many readers hold it.
    holders: usize,
    retired: bool,
}

fn overlap(one: (u64, u64), other: (u64, u64)) -> bool {
    one.0 < other.0 + other.1 && other.0 < one.0 + one.1
}

/// An owner and readers act at random. Held slots keep their bytes, and are not handed out again.
pub fn what_somebody_holds_is_never_handed_out(site: &Site) {
    let fixed = Strategy::FixedSlots { slots: 12, size: 32 << 10 };
    for (strategy, seed) in [(Strategy::SizeClasses, 41), (Strategy::Ring, 42), (fixed, 43)] {
        let mut pool = site.pool(&format!("{seed}.pool"), 64, 256 << 10, strategy.clone());
        let view = PoolView::open(&site.domains(), &site.path(&format!("{seed}.pool")), Access::ReadWrite);
        let view = view.unwrap();
        let stream = site.stream();
        let mut random = Random(seed);
        let mut lent: VecDeque<Lent> = VecDeque::new();
        let (mut refused, mut most_held) = (0, 0);
        for turn in 0u64..600 {
            match random.below(8) {
                0..4 => {
                    let most = 1 << random.below(16);
                    let size = 1 + random.below(most);
                    match pool.allocate(size) {
                        Ok(slot) => {
                            let range = pool.place(slot);
                            assert!(range.1 >= size as u64 && range.0 + range.1 <= pool.bytes().size());
                            assert_eq!(view.place(slot), Some(range), "readers find it there too");
                            for other in &lent {
                                assert!(other.slot != slot, "{strategy:?}: {slot} was handed out twice");
                                assert!(!overlap(range, other.range), "{strategy:?}: overlap");
                            }
                            let mark = turn.to_le_bytes();
                            write(&*stream, pool.bytes(), range.0, &mark);
                            let generation = pool.share(slot);
                            lent.push_back(Lent {
                                slot,
                                range,
                                mark,
                                generation,
                                holders: 0,
                                retired: false,
                            });
                        }
                        Err(AllocateError::Exhausted { .. }) => refused += 1,
                        Err(error) => panic!("{error}"),
                    }
                }
                4..6 if !lent.is_empty() => {
                    // A reader takes: it finds the slot's generation exactly while the slot is in
                    // circulation.
                    let index = random.below(lent.len());
                    let one = &mut lent[index];
                    let control = view.control(one.slot).unwrap();
                    assert_eq!(control.has_generation(one.generation), !one.retired);
                    one.holders += usize::from(!one.retired);
                }
                6 if !lent.is_empty() => {
                    let index = random.below(lent.len());
                    let one = &mut lent[index];
                    if one.holders > 0 {
                        one.holders -= 1;
                        assert_eq!(read(&*stream, view.bytes(), one.range.0, 8), one.mark, "untouched");
                    }
                }
                _ if !lent.is_empty() => {
                    // The owner takes one back, as it may: it retires it, or looks again at one that was
                    // held.
                    let index = random.below(lent.len());
                    let one = &mut lent[index];
                    if !one.retired {
                        pool.control(one.slot).retire();
                    }
                    one.retired = true;
                    if one.holders == 0 {
                        let one = lent.remove(index).unwrap();
                        assert_eq!(read(&*stream, pool.bytes(), one.range.0, 8), one.mark);
                        pool.deallocate(one.slot);
                    }
                }
                _ => {}
            }
            most_held = most_held.max(lent.iter().filter(|one| one.holders > 0).count());
            assert_eq!(pool.statistics().in_use, lent.len());
        }
        assert!(refused > 0 && most_held > 3, "{strategy:?}: {refused} refused, {most_held} held");
        for one in lent {
            pool.deallocate(one.slot);
            pool.deallocate(one.slot);
        }
        assert_eq!(pool.statistics().in_use, 0, "returning one twice does no harm");
        pool.trim();
        if let Strategy::FixedSlots { slots, size } = strategy {
            assert!((0..slots).all(|_| pool.allocate(size as usize).is_ok()), "and all of them are free");
            continue;
        }
        let whole = pool.bytes().size() as usize;
        assert!(pool.allocate(whole.min(pool.header().capacity as usize)).is_ok(), "and all of it is free");
    }
}

/// Slots of one size have their places before the first one is lent.
pub fn fixed_slots_are_there_from_the_start(site: &Site) {
    let mut pool = site.pool("p.pool", 64, 0, Strategy::FixedSlots { slots: 5, size: 10_000 });
    let view = PoolView::open(&site.domains(), &site.path("p.pool"), Access::ReadWrite).unwrap();
    assert_eq!((pool.statistics().slots, view.metadata().slots()), (5, 5));
    let places: Vec<_> = (0..5).map(|slot| view.place(slot).unwrap()).collect();
    let slots: Vec<_> = (0..5).map(|size| pool.allocate(1 + size * 2499).unwrap()).collect();
    assert_eq!(slots, [0, 1, 2, 3, 4]);
    for (slot, place) in slots.iter().zip(&places) {
        assert_eq!(pool.place(*slot), *place);
        assert!(place.1 >= 10_000);
    }
    for pair in places.windows(2) {
        assert!(pair[0].0 + pair[0].1 <= pair[1].0, "{places:?}");
    }
    assert!(matches!(pool.allocate(1), Err(AllocateError::Exhausted { in_use: 5, .. })));
    pool.deallocate(2);
    assert_eq!(pool.allocate(10_000).unwrap(), 2);
    pool.deallocate(2);
    let slot = places[0].1;
    match pool.allocate(slot as usize + 1) {
        Err(AllocateError::LargerThanSlot { slot: told, .. }) => assert_eq!(told, slot),
        other => panic!("{other:?}"),
    }
}

/// Slots of a ring follow each other, around the end, and a held slot keeps everything behind it.
pub fn a_ring_comes_free_in_order(site: &Site) {
    let mut pool = site.pool("p.pool", 64, 64 << 10, Strategy::Ring);
    let size = pool.header().capacity / 4;
    let take = |pool: &mut PoolOwner, quarters: u64| {
        pool.allocate((size * quarters) as usize).map(|slot| (slot, pool.place(slot).0 / size))
    };
    let slots: Vec<_> = (0..4).map(|_| take(&mut pool, 1).unwrap()).collect();
    assert_eq!(slots.iter().map(|(_, quarter)| *quarter).collect::<Vec<_>>(), [0, 1, 2, 3]);
    // Returned out of order: nothing is freed before the oldest slot is.
    pool.deallocate(slots[1].0);
    pool.deallocate(slots[2].0);
    assert!(matches!(take(&mut pool, 1), Err(AllocateError::Exhausted { in_use: 2, .. })));
    pool.deallocate(slots[0].0);
    let three = take(&mut pool, 3).unwrap();
    assert_eq!(three.1, 0);
    assert!(take(&mut pool, 1).is_err());
    pool.deallocate(slots[3].0);
    let last = take(&mut pool, 1).unwrap();
    assert_eq!(last.1, 3);
    pool.deallocate(three.0);
    // Around the end.
    let front = take(&mut pool, 1).unwrap();
    pool.deallocate(last.0);
    let middle = take(&mut pool, 2).unwrap();
    assert_eq!((front.1, middle.1), (0, 1));
    pool.deallocate(front.0);
    let around = take(&mut pool, 1).unwrap();
    assert_eq!(around.1, 3);
    pool.deallocate(middle.0);
    let after = take(&mut pool, 2).unwrap();
    assert_eq!(after.1, 0);
    assert!(take(&mut pool, 2).is_err(), "the oldest, at the end, is still lent");
    pool.deallocate(around.0);
    pool.deallocate(after.0);
    // A slot that does not fit before the end begins at 0, and the skipped part is not lent until the slot is
    // freed.
    let (two, one) = (take(&mut pool, 2).unwrap(), take(&mut pool, 1).unwrap());
    pool.deallocate(two.0);
    let over = take(&mut pool, 2).unwrap();
    assert_eq!((two.1, one.1, over.1), (0, 2, 0));
    assert!(take(&mut pool, 1).is_err());
    pool.deallocate(one.0);
    let next = take(&mut pool, 1).unwrap();
    assert_eq!(next.1, 2);
    pool.deallocate(over.0);
    pool.deallocate(next.0);
    let whole = pool.allocate(pool.header().capacity as usize).unwrap();
    assert_eq!(pool.place(whole).0, 0, "an empty ring holds a message of its whole size");
    assert!(matches!(
        pool.allocate(pool.header().capacity as usize + 1),
        Err(AllocateError::TooLarge { .. })
    ));
}

pub fn an_exhausted_pool_says_so(site: &Site) {
    for strategy in [Strategy::SizeClasses, Strategy::Ring] {
        let mut pool = site.pool(&format!("{strategy:?}.pool"), 64, 1 << 20, strategy.clone());
        let capacity = pool.header().capacity;
        // By numbers.
        let slots: Vec<_> = (0..64).map(|_| pool.allocate(64).unwrap()).collect();
        match pool.allocate(64) {
            Err(AllocateError::Exhausted { in_use: 64, slots: 64, .. }) => {}
            other => panic!("{strategy:?}: {other:?}"),
        }
        slots.iter().for_each(|slot| pool.deallocate(*slot));
        // By bytes.
        let half = pool.allocate(capacity as usize / 2).unwrap();
        match pool.allocate(capacity as usize / 2 + 4096) {
            Err(AllocateError::Exhausted { in_use: 1, .. }) => {}
            other => panic!("{strategy:?}: {other:?}"),
        }
        pool.deallocate(half);
        for impossible in [capacity as usize + 1, usize::MAX / 2, usize::MAX - 63, usize::MAX] {
            assert!(matches!(pool.allocate(impossible), Err(AllocateError::TooLarge { .. })));
        }
        assert!(pool.allocate(capacity as usize).is_ok(), "{strategy:?}: and it goes on");
    }
}

pub fn memory_that_was_given_back_comes_again(site: &Site) {
    for strategy in [Strategy::SizeClasses, Strategy::Ring] {
        let mut pool = site.pool(&format!("{strategy:?}.pool"), 64, 1 << 20, strategy.clone());
        let stream = site.stream();
        for turn in 0..3u8 {
            let slots: Vec<_> = (0..4).map(|_| pool.allocate(100_000).unwrap()).collect();
            for slot in &slots {
                let (offset, len) = pool.place(*slot);
                write(&*stream, pool.bytes(), offset, &vec![turn; len as usize]);
                assert!(read(&*stream, pool.bytes(), offset, len as usize).iter().all(|byte| *byte == turn));
            }
            assert!(pool.statistics().bytes >= 400_000);
            slots.iter().for_each(|slot| pool.deallocate(*slot));
            pool.trim();
            assert_eq!(pool.statistics().bytes, 0, "{strategy:?}");
        }
    }
}
