//! Allocators of regions: the bitmap's, one that never reuses freed memory, and a user's own.

use situ_region::region_struct;
use situ_region::{Allocation, Allocator, Granules, Monotonic, Options, Region, Taken, Text, Vector};

region_struct! { struct Shelf: ShelfRef, ShelfMut { texts: Vector<Text> } }

/// The smallest run of free granules that is long enough.
struct BestFit;

impl Allocator for BestFit {
    fn name(&self) -> &'static str {
        "BestFit"
    }
    fn take(&self, granules: &mut Granules<'_>, count: u32) -> Option<Taken> {
        let mut best: Option<(u32, u32)> = None;
        let mut from = granules.next_free(0);
        while from < granules.end() {
            let to = granules.next_used(from);
            if to - from >= count && best.is_none_or(|(_, length)| to - from < length) {
                best = Some((from, to - from));
            }
            from = granules.next_free(to);
        }
        match best {
            Some((from, _)) => granules.take(from, count),
            None => granules.grow(count),
        }
    }
}

/// Always takes granules that are in use already.
struct Wrong;

impl Allocator for Wrong {
    fn name(&self) -> &'static str {
        "Wrong"
    }
    fn take(&self, granules: &mut Granules<'_>, count: u32) -> Option<Taken> {
        assert_eq!(granules.take(0, count), None);
        assert_eq!(granules.take(granules.end(), count), None);
        assert_eq!(granules.take(u32::MAX, count), None);
        assert_eq!(granules.take(granules.end(), 0), None);
        None
    }
}

const ALL: [Allocation; 3] = [Allocation::Bitmap, Allocation::By(&Monotonic), Allocation::By(&BestFit)];

fn shelf(allocation: Allocation, zero_on_free: bool) -> Region<Shelf> {
    Region::with_options(Options { allocation, zero_on_free, ..Options::default() })
}

/// The place of a text's block.
fn place(r: &Region<Shelf>, index: usize) -> usize {
    let text = r.root().texts().get(index).unwrap().as_str().as_ptr().addr();
    text - r.bytes().as_ptr().addr()
}

fn set(r: &mut Region<Shelf>, index: usize, granules: usize) {
    r.root_mut().texts().get_mut(index).unwrap().set("x".repeat(16 * granules).as_str()).unwrap();
}

/// Six texts, of which every second one is cleared: free runs of 20, 12 and 16 granules.
fn with_gaps(allocation: Allocation) -> (Region<Shelf>, [usize; 3]) {
    let mut r = shelf(allocation, true);
    r.root_mut().texts().reserve(8).unwrap();
    for (index, granules) in [20, 1, 12, 1, 16, 1].into_iter().enumerate() {
        r.root_mut().texts().push("").unwrap();
        set(&mut r, index, granules);
    }
    let places = [0, 2, 4].map(|index| place(&r, index));
    for index in [0, 2, 4] {
        set(&mut r, index, 0);
        r.root_mut().texts().get_mut(index).unwrap().shrink_to_fit();
    }
    assert_eq!(r.free_bytes(), (20 + 12 + 16) * 16);
    (r, places)
}

#[test]
fn each_allocator_takes_its_runs() {
    let taken = |allocation| {
        let (mut r, [first, second, third]) = with_gaps(allocation);
        let end = r.bytes().len();
        set(&mut r, 0, 11);
        let at = place(&r, 0);
        let which = [first, second, third, end].into_iter().position(|place| place == at);
        // The image is valid, whatever the allocator took.
        let again = Region::<Shelf>::adopt(r.bytes()).unwrap();
        assert_eq!(again.canonical(), r.canonical());
        which
    };
    // The first run that is long enough, none of them, the smallest that is long enough.
    assert_eq!(ALL.map(taken), [Some(0), Some(3), Some(1)]);
}

#[test]
fn freed_memory_of_a_monotonic_region_comes_back_when_it_is_compacted() {
    let mut r = shelf(Allocation::By(&Monotonic), true);
    r.root_mut().texts().push("").unwrap();
    r.root_mut().texts().push("behind them").unwrap();
    let most = if cfg!(miri) { 12 } else { 40 };
    for granules in 1..=most {
        set(&mut r, 0, granules);
        set(&mut r, 1, 1);
    }
    let (used, free) = (r.canonical().len(), r.free_bytes());
    // Two texts, the vector's block, the root. Each took new granules, of which only the last are in use.
    assert_eq!(used, 64 + 16 + 32 + most * 16 + 16);
    assert!(free >= (1..most).sum::<usize>() * 16, "{free}");
    assert!(!r.bytes()[used..used + 64].contains(&b'x'), "what was freed is zero");
    r.compact().unwrap();
    assert_eq!((r.bytes().len(), r.free_bytes()), (used, 0));
    let end = r.bytes().len();
    set(&mut r, 0, most + 1);
    assert_eq!(place(&r, 0), end, "it goes on behind the end");
    // Freed memory at the end becomes part of the end.
    r.root_mut().texts().pop();
    assert!(r.root_mut().texts().remove(0));
    assert!(r.bytes().len() < end + (most + 1) * 16);
}

#[test]
fn memory_that_was_not_cleared_is_cleared_when_it_is_taken() {
    for allocation in ALL {
        let mut r = shelf(allocation, false);
        for round in 1..if cfg!(miri) { 8 } else { 30 } {
            r.root_mut().texts().push("y".repeat(round * 13).as_str()).unwrap();
            if round % 3 == 0 {
                assert!(r.root_mut().texts().remove(round / 4));
            }
            r.root_mut().texts().get_mut(0).unwrap().reserve(round * 32).unwrap();
        }
        let image = r.bytes().to_vec();
        assert_eq!(Region::<Shelf>::adopt(&image).unwrap().canonical(), r.canonical(), "{allocation:?}");
    }
}

#[test]
fn an_allocator_cannot_take_what_is_in_use() {
    let mut r = shelf(Allocation::By(&Wrong), true);
    assert!(r.root_mut().texts().push("a text").is_err());
    assert_eq!(r.root().texts().len(), 0);
    assert_eq!(r.canonical(), Region::<Shelf>::new().canonical());
}

#[test]
fn allocations_are_known_by_their_names() {
    assert_eq!(format!("{ALL:?}"), "[Bitmap, Monotonic, BestFit]");
    assert_eq!(ALL[1], Allocation::By(&Monotonic));
    assert!(ALL[1] != ALL[2] && ALL[0] != ALL[1]);
}
