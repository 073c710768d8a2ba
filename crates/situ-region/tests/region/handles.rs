//! Handles stay within the memory of their region, whatever its bytes are.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use situ_region::region_struct;
use situ_region::{
    Allocation, Allocator, Granules, Mut, Options, Ref, Region, SortedMap, Taken, Unique, Vector,
    checked_root,
};

region_struct! { struct Node: NodeRef, NodeMut { id: u64, values: Vector<u64> } }
region_struct! {
    struct Root: RootRef, RootMut { node: Unique<Node>, nodes: Vector<Node>, map: SortedMap<u64, u32> }
}

/// The places of the links in the root's members, and the sizes of their targets in bytes.
const LINKS: [(usize, u32); 3] = [(64, 24), (72, 48), (88, 32)];

/// A root with a node, two nodes in a vector, and two entries; at a multiple of 16.
fn image() -> Vec<u128> {
    let mut r = Region::<Root>::new();
    let mut root = r.root_mut();
    *root.node().fill().unwrap().id() = 1;
    for id in [2, 3] {
        *root.nodes().push_default().unwrap().id() = id;
        root.map().insert(id, 10).unwrap();
    }
    r.canonical().as_chunks().0.iter().map(|granule| u128::from_ne_bytes(*granule)).collect()
}

fn bytes(image: &mut [u128]) -> &mut [u8] {
    // SAFETY: that many bytes exist, and any bytes are numbers.
    unsafe { std::slice::from_raw_parts_mut(image.as_mut_ptr().cast(), size_of_val(image)) }
}

/// The sum of the values that can be reached; `None` on a panic.
fn sum(of: Ref<'_, Root>) -> Option<u64> {
    let all = || {
        let node = of.node().get().map_or(0, |node| *node.id());
        let nodes: u64 = of.nodes().iter().map(|node| *node.id()).sum();
        let last = of.nodes().get(1).map_or(0, |node| *node.id());
        node + nodes + last + of.map().iter().map(|(key, value)| key + u64::from(*value)).sum::<u64>()
    };
    catch_unwind(AssertUnwindSafe(all)).ok()
}

#[test]
fn links_that_changed_after_the_check_lead_nowhere_else() {
    let mut image = image();
    let size = size_of_val(&*image) as u32;
    assert_eq!(sum(checked_root(bytes(&mut image))), Some(1 + 2 + 3 + 3 + (2 + 10) + (3 + 10)));
    for (at, extent) in LINKS {
        let kept = bytes(&mut image)[at..at + 4].to_vec();
        // Places whose last byte is after the image, far outside, before its beginning, and between the
        // multiples of 8.
        let place = at as u32;
        for to in [size - extent + 8, size, 0x7fff_fff0, u32::MAX - 7, 64 + 4] {
            bytes(&mut image)[at..at + 4].copy_from_slice(&to.wrapping_sub(place).to_le_bytes());
            let found = sum(checked_root(bytes(&mut image)));
            // Keys are read at any address, so entries between the multiples are only different ones.
            assert!(found.is_none() || (at == 88 && to == 64 + 4), "link at {at} to {to}: {found:?}");
        }
        bytes(&mut image)[at..at + 4].copy_from_slice(&kept);
    }
    // A length that reaches beyond the end.
    bytes(&mut image)[76..80].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(sum(checked_root(bytes(&mut image))), None);
}

#[test]
fn an_image_that_lies_anywhere_is_not_read() {
    let mut image = image();
    image.push(0);
    let size = size_of_val(&*image) - 16;
    let bytes = bytes(&mut image);
    // Addresses at which the root, which is aligned to 4, is misaligned, and at which only its nodes, aligned
    // to 8, are.
    bytes.copy_within(..size, 2);
    let root = AssertUnwindSafe(&bytes[2..2 + size]);
    assert!(catch_unwind(|| checked_root::<Root>(&root).nodes().len()).is_err());
    bytes.copy_within(2..2 + size, 4);
    let root = AssertUnwindSafe(&bytes[4..4 + size]);
    assert_eq!(checked_root::<Root>(&root).nodes().len(), 2);
    assert!(catch_unwind(|| checked_root::<Root>(&root).nodes().get(0).is_some()).is_err());
    assert!(catch_unwind(|| checked_root::<Root>(&root).nodes().iter().len()).is_err());
}

#[test]
fn what_is_no_part_of_a_value_cannot_be_reached_through_it() {
    let mut r = Region::<Root>::new();
    r.root_mut().node().fill().unwrap();
    let root = AssertUnwindSafe(r.root());
    // The root has 40 bytes and is aligned to 4.
    for offset in [37, 40, u32::MAX] {
        assert!(catch_unwind(|| root.part::<u32>(offset).at_least(0)).is_err(), "{offset}");
    }
    assert!(catch_unwind(|| root.part::<u32>(2).at_least(0)).is_err(), "not aligned");
    assert!(catch_unwind(|| root.part::<u64>(8).at_least(0)).is_err(), "aligned, but by chance");
    assert!(root.part::<u32>(36).at_least(0));
}

trait AtLeast {
    fn at_least(self, least: u32) -> bool;
}

impl<T: situ_region::Plain + Into<u64>> AtLeast for Ref<'_, T> {
    fn at_least(self, least: u32) -> bool {
        (*self).into() >= u64::from(least)
    }
}

thread_local! {
    /// The granules that an allocator took in another region.
    static STOLEN: RefCell<Option<Taken>> = const { RefCell::new(None) };
}

/// Takes granules and reports that there are none.
struct Thief;

impl Allocator for Thief {
    fn name(&self) -> &'static str {
        "Thief"
    }
    fn take(&self, granules: &mut Granules<'_>, count: u32) -> Option<Taken> {
        STOLEN.set(granules.grow(count));
        None
    }
}

/// Returns granules of another region if they have the right size.
struct Fence;

impl Allocator for Fence {
    fn name(&self) -> &'static str {
        "Fence"
    }
    fn take(&self, granules: &mut Granules<'_>, count: u32) -> Option<Taken> {
        STOLEN.take().or_else(|| granules.grow(count))
    }
}

fn with(allocation: &'static dyn Allocator) -> Region<Root> {
    Region::with_options(Options { allocation: Allocation::By(allocation), ..Options::default() })
}

#[test]
fn a_handle_stays_in_the_memory_when_a_wrong_allocator_lets_the_image_end_before_it() {
    let mut r = with(&Fence);
    // The header and 40 bytes of root take seven granules; the node takes the next two.
    let mut root = r.root_mut();
    let mut node = root.node();
    let mut node: Mut<'_, Node> = node.fill().unwrap();
    *node.id() = 6;
    // Uses the same granules of another region for the node's own values, which then lie at the node's place.
    assert!(with(&Thief).root_mut().node().fill().is_err());
    node.values().reserve(4).unwrap();
    // The node's granules are therefore freed, and the image ends before the node.
    assert!(catch_unwind(AssertUnwindSafe(|| node.values().shrink_to_fit())).is_err());
    assert_eq!(*node.id(), 0, "what is freed is zero");
    *node.id() = 7;
    assert_eq!((*node.id(), node.values().len()), (7, 0));
    assert!(catch_unwind(AssertUnwindSafe(|| node.as_ref().values().len())).is_err());
    assert_eq!(r.bytes().len(), 7 * 16);
    assert!(catch_unwind(AssertUnwindSafe(|| r.root().node().get().is_some())).is_err());
}
