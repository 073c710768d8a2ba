//! Safe code that implements the traits of regions by hand and misuses their arguments. It can corrupt
//! values, but no other memory.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use situ_region::region_struct;
use situ_region::{
    Assign, Check, Full, Invalid, MAX_SIZE, MemoryMut, Mut, Region, Stored, Text, Vector, Writer, put_plain,
};

region_struct! { struct Small: SmallRef, SmallMut { number: u64 } }
region_struct! { struct Large: LargeRef, LargeMut { small: Small, rest: [u64; 1000], numbers: Vector<u64> } }

/// Exchanges the memories that it receives.
impl<'m> Assign<MemoryMut<'m>> for Small {
    fn assign(memory: MemoryMut<'_>, at: u32, other: MemoryMut<'m>) -> Result<(), Full> {
        let (mut one, mut two) = (memory, other);
        std::mem::swap(&mut one, &mut two);
        put_plain(one, at, &[1_u64]);
        put_plain(two, at, &[2_u64]);
        Ok(())
    }
}

/// Obtains the memory of a handle's region.
impl<'m> Assign<Mut<'m, Small>> for Small {
    fn assign(memory: MemoryMut<'_>, _: u32, mut other: Mut<'m, Small>) -> Result<(), Full> {
        other.set(memory)
    }
}

#[test]
fn a_handle_keeps_its_memory_whatever_a_hook_exchanges() {
    let (mut small, mut large) = (Region::<Small>::new(), Region::<Large>::new());
    let mut handle = large.root_mut();
    handle.numbers().set(&[3; 100][..]).unwrap();
    let mut rest = handle.reborrow();
    rest.small().set(small.root_mut()).unwrap();
    // The smaller region ends far before this place.
    rest.rest().get_mut(999).map(|mut last| *last = 7).unwrap();
    rest.numbers().push(4).unwrap();
    let (small, large) = (small.root(), large.root());
    assert_eq!((*small.number(), *large.small().number()), (2, 1));
    assert_eq!((large.rest()[999], large.numbers().len()), (7, 101));
    assert_eq!(large.numbers().as_slice()[99..], [3, 4]);
}

#[test]
fn handles_that_are_exchanged_stay_whole() {
    let (mut one, mut other) = (Region::<Large>::new(), Region::<Large>::new());
    let (mut a, mut b) = (one.root_mut(), other.root_mut());
    a.numbers().set(&[1; 500][..]).unwrap();
    std::mem::swap(&mut a, &mut b);
    a.numbers().push(2).unwrap();
    b.numbers().push(3).unwrap();
    assert_eq!((one.root().numbers().len(), one.root().numbers().as_slice()[500]), (501, 3));
    assert_eq!(other.root().numbers().as_slice(), [2]);
}

/// The action of a value on the memory that it receives when it begins.
type Deed = fn(MemoryMut<'_>, u32);

thread_local! {
    static DEED: Cell<Deed> = const { Cell::new(|_, _| {}) };
}

/// Eight bytes.
enum Rogue {}

impl Stored for Rogue {
    const SIZE: u32 = 8;
    const ALIGN: u32 = 8;
    const LINKS: bool = true;
    const DENSE: bool = false;
    const ANY: bool = true;
    fn kind() -> String {
        "rogue".to_owned()
    }
    fn begin(memory: MemoryMut<'_>, at: u32) {
        DEED.get()(memory, at);
    }
    fn write(writer: &mut Writer<'_>, from: u32, to: u32) {
        writer.copy(from, to, 8);
    }
    fn check<const CANONICAL: bool>(_: &mut Check<'_, CANONICAL>, _: u32) -> Result<(), Invalid> {
        Ok(())
    }
}

region_struct! { struct Host: HostRef, HostMut { name: Text, rogues: Vector<Rogue>, number: u64 } }

/// The offsets of the members of a host.
const NAME: u32 = 64;
const ROGUES: u32 = 80;
const FIRST_BLOCK: u32 = 112;

/// Whether a rogue begins, in a region that had a name. The name is then used, whatever the result was.
fn begins(deed: Deed) -> bool {
    let mut r = Region::<Host>::new();
    let mut host = r.root_mut();
    host.name().set("a name that needs a block").unwrap();
    host.rogues().reserve(1).unwrap();
    let mut place = host.reborrow();
    DEED.set(deed);
    let begun = catch_unwind(AssertUnwindSafe(|| place.rogues().push_default().is_ok()));
    DEED.set(|_, _| {});
    *place.number() = 5;
    let used = catch_unwind(AssertUnwindSafe(|| {
        for _ in 0..100 {
            place.rogues().push_default()?;
        }
        place.name().set("another name that needs a larger block")
    }));
    // Corrupted values may be unusable, but the number is not one of them.
    assert_eq!(*r.root().number(), 5, "{used:?}");
    begun.unwrap_or(false)
}

#[test]
fn a_hook_that_leaves_the_image_panics() {
    assert!(begins(|memory, at| put_plain(memory, at, &[1_u64])), "one that does what it should");
    assert!(!begins(|memory, _| put_plain(memory, u32::MAX - 3, &[0_u64])));
    assert!(!begins(|memory, at| put_plain(memory, at, &[0_u64; 1000])));
    assert!(!begins(|memory, _| <Text as Stored>::release(memory, u32::MAX - 15)));
    assert!(!begins(|memory, _| <Vector<Text> as Stored>::moved(memory, u32::MAX - 7, 16)));
    // Handles to containers have this alignment.
    assert!(!begins(|memory, _| <[Vector<u64>; 1] as Stored>::release(memory, ROGUES + 2)));
    assert!(!begins(|_, _| panic!("in the middle of it")));
}

#[test]
fn a_hook_that_spoils_its_region_spoils_no_other_memory() {
    // The block of the name is free and still belongs to the name.
    assert!(begins(|mut memory, _| {
        <Text as Stored>::release(memory.reborrow(), NAME);
        put_plain(memory, NAME, &[FIRST_BLOCK - NAME, 25, 32]);
    }));
    // The vector to which the rogue is pushed is another one, or ends far after the image.
    assert!(begins(|memory, _| <Vector<Rogue> as Stored>::release(memory, ROGUES)));
    assert!(begins(|memory, _| put_plain(memory, ROGUES, &[0x7fff_fff0_u32, 3, 1000])));
    assert!(begins(|memory, _| put_plain(memory, ROGUES, &[0_u32, u32::MAX, u32::MAX])));
    // The header has wrong values.
    assert!(begins(|memory, _| put_plain(memory, 0, &[u64::MAX; 8])));
}

#[test]
#[should_panic(expected = "may have")]
fn what_no_region_has_room_for_has_none() {
    drop(Region::<[u8; MAX_SIZE as usize]>::new());
}
