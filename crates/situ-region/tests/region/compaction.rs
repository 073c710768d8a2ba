//! Compaction in place: sizes worked out by hand, buffers without room, shared links, large images.

use situ_region::region_struct;
use situ_region::{
    Allocation, Buffer, HashMap, Monotonic, Mut, Options, OrderedSet, Region, Shared, Text, Vector, total_for,
};

use crate::source::compact_in_place;

region_struct! { struct Shelf: ShelfRef, ShelfMut { texts: Vector<Text> } }
region_struct! { struct Twice: TwiceRef, TwiceMut { number: u32, left: Shared<Twice>, right: Shared<Twice> } }
region_struct! {
    struct Tables: TablesRef, TablesMut { known: HashMap<Text, Text>, numbers: OrderedSet<u64> }
}

/// The size of the header and a root that is a vector.
const FIRST: usize = 64 + 16;

/// A buffer at a multiple of 16, of `count` bytes with the value `fill`.
fn buffer(count: usize, fill: u8) -> Vec<u128> {
    vec![u128::from_ne_bytes([fill; 16]); count.div_ceil(16)]
}

fn bytes(buffer: &mut [u128]) -> &mut [u8] {
    // SAFETY: numbers are initialized bytes without padding, borrowed exclusively.
    unsafe { std::slice::from_raw_parts_mut(buffer.as_mut_ptr().cast(), size_of_val(buffer)) }
}

fn set(r: &mut Region<Shelf, Buffer>, index: usize, text: &str) {
    r.root_mut().texts().get_mut(index).unwrap().set(text).unwrap();
}

#[test]
fn freed_values_are_gone_and_their_bytes_are_zero() {
    for allocation in [Allocation::Bitmap, Allocation::By(&Monotonic)] {
        for zero_on_free in [true, false] {
            let mut memory = buffer(if cfg!(miri) { 1536 } else { 4096 }, 0xa5);
            let options = Options { allocation, zero_on_free, ..Options::default() };
            let mut r = Region::<Shelf, Buffer>::create_with(bytes(&mut memory), options).unwrap();
            r.root_mut().texts().reserve(10).unwrap();
            for text in ["erased ".repeat(40), "kept ".repeat(20), "shortened ".repeat(30), "kept ".repeat(7)]
            {
                r.root_mut().texts().push(&*text).unwrap();
            }
            assert!(r.root_mut().texts().remove(0));
            set(&mut r, 1, "a dozen bytes");
            r.root_mut().texts().push("a long text becomes short").unwrap();
            set(&mut r, 3, "short");
            let before = r.bytes().len();
            compact_in_place(&mut r);
            // Four texts of 16 bytes in the vector; 100, 13 and 35 characters in blocks of 7, 1 and 3
            // granules, and a short one.
            assert_eq!(r.bytes().len(), FIRST + 4 * 16 + (7 + 1 + 3) * 16);
            let texts: Vec<_> = r.root().texts().iter().map(|text| text.as_str().to_owned()).collect();
            assert_eq!(
                texts,
                ["kept ".repeat(20), "a dozen bytes".into(), "kept ".repeat(7), "short".into()]
            );
            let gone = |bytes: &[u8]| {
                let words = [&b"erased"[..], b"shortened", b"becomes"];
                !words.iter().any(|word| bytes.windows(word.len()).any(|bytes| bytes == *word))
            };
            assert!(gone(r.bytes()));
            let end = r.bytes().len();
            drop(r);
            if zero_on_free {
                assert!(bytes(&mut memory)[end..before].iter().all(|byte| *byte == 0), "{allocation:?}");
                assert!(gone(bytes(&mut memory)));
            }
        }
    }
}

#[test]
fn a_full_buffer_has_room_again() {
    let mut memory = buffer(total_for(2048), 0);
    let mut r = Region::<Shelf, Buffer>::create(bytes(&mut memory)).unwrap();
    let mut count = 0;
    while r.root_mut().texts().push(&*format!("{count}").repeat(30)).is_ok() {
        count += 1;
    }
    for index in (0..count / 2).rev() {
        assert!(r.root_mut().texts().remove(index * 2));
    }
    let large = "x".repeat(500);
    assert!(r.root_mut().texts().push(&*large).is_err(), "what is free lies in pieces");
    compact_in_place(&mut r);
    r.root_mut().texts().push(&*large).unwrap();
    assert_eq!(r.root().texts().get(count - count / 2).unwrap().as_str(), large);
    Region::<Shelf>::adopt(r.bytes()).unwrap();
}

#[test]
fn it_is_done_already_where_nothing_is_free() {
    let mut r = Region::<Shelf>::new();
    assert_eq!(r.bytes().len(), FIRST);
    for _ in 0..2 {
        let before = r.bytes().to_vec();
        compact_in_place(&mut r);
        assert!(r.bytes() == before);
        r.root_mut().texts().push("one text in a block").unwrap();
        compact_in_place(&mut r);
    }
}

/// Two links in each of sixty levels (thirty if the tests are interpreted) lead to the same value. A walk
/// along all paths would never end.
#[test]
fn a_shared_value_is_visited_once() {
    fn twice(mut node: Mut<'_, Twice>, levels: u32) {
        *node.number() = levels;
        if levels != 0 {
            twice(node.left().fill().unwrap(), levels - 1);
            node.share(|node| Some(node.left()), |mut node, left| node.right().link(left)).unwrap();
        }
    }
    let levels = if cfg!(miri) { 30 } else { 60 };
    let mut r = Region::<Twice>::new();
    r.root_mut().right().fill().unwrap();
    twice(r.root_mut(), levels);
    compact_in_place(&mut r);
    let mut node = r.root();
    for level in (0..levels).rev() {
        assert!(node.left().is_same(node.right()));
        assert_eq!(node.left().links(), 2);
        node = node.right().get().unwrap();
        assert_eq!(*node.number(), level);
    }
}

#[test]
fn nodes_are_trimmed_and_empty_tables_end() {
    let mut r = Region::<Tables>::new();
    for number in 0..31 {
        assert!(r.root_mut().numbers().insert(number).unwrap());
        r.root_mut()
            .known()
            .insert(&format!("a key of some length {number}"), "a value of some length")
            .unwrap();
    }
    for number in 3..31 {
        assert!(r.root_mut().numbers().remove(number));
    }
    for number in 0..31 {
        assert!(r.root_mut().known().remove(&format!("a key of some length {number}")));
    }
    compact_in_place(&mut r);
    // A root of two containers, and one leaf of three numbers, which begin at 8.
    assert_eq!(r.bytes().len(), 64 + 32 + 32);
    assert!(r.root_mut().numbers().insert(100).unwrap());
    assert!(r.root().numbers().iter().eq([0, 1, 2, 100]));
}

/// More words of bitmap than the parts that are counted on the stack.
#[test]
fn a_large_image_is_compacted() {
    let mut r = Region::<Shelf>::new();
    // 2 MiB, or only enough for the words of the bitmap: Miri is slow.
    let count = if cfg!(miri) { 64 } else { 20_000 };
    for index in 0..count {
        r.root_mut().texts().push(&*format!("the text {index} ").repeat(1 + index % 12)).unwrap();
    }
    let size = r.bytes().len();
    assert!(cfg!(miri) || size > 1 << 20, "{size}");
    for index in (0..count).step_by(3) {
        r.root_mut().texts().get_mut(index).unwrap().set("").unwrap();
    }
    compact_in_place(&mut r);
    for (index, text) in r.root().texts().iter().enumerate() {
        let kept = format!("the text {index} ").repeat(if index % 3 == 0 { 0 } else { 1 + index % 12 });
        assert_eq!(text.as_str(), kept);
    }
}

#[test]
fn a_canonical_image_that_is_larger_needs_room() {
    region_struct! { struct Sorted: SortedRef, SortedMut { numbers: OrderedSet<u32> } }
    // Numbers inserted in order, in trimmed nodes. There are as many nodes as in the canonical form, but
    // split elsewhere.
    let made = |count: u32| {
        let mut r = Region::<Sorted>::new();
        (0..count).for_each(|number| assert!(r.root_mut().numbers().insert(number).unwrap()));
        r.compact_in_place();
        r
    };
    let larger = |r: &Region<Sorted>| r.canonical_size() > r.bytes().len();
    let mut r = (64..400).map(made).find(larger).expect("some canonical image is larger");
    let (live, canonical) = (r.bytes().to_vec(), r.canonical());

    let mut exact = buffer(live.len(), 0);
    bytes(&mut exact).copy_from_slice(&live);
    let mut full = Region::<Sorted, Buffer>::adopt_in_place(bytes(&mut exact)).unwrap();
    assert_eq!(full.compact().map_err(|full| full.limit as usize), Err(live.len()));
    assert!(full.bytes() == live, "nothing has changed");

    let mut roomy = buffer(total_for(canonical.len() as u32), 0);
    bytes(&mut roomy)[..live.len()].copy_from_slice(&live);
    let mut there = Region::<Sorted, Buffer>::adopt_in_place(bytes(&mut roomy)).unwrap();
    there.compact().unwrap();
    r.compact().unwrap();
    for compacted in [r.bytes(), there.bytes()] {
        assert!(compacted[64..] == canonical[64..] && compacted[6] == 1);
        assert!(Region::<Sorted>::adopt(compacted).is_ok());
    }
}
