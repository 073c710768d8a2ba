//! Weak links: to parents and across cycles, and to values that have ended.

use situ_region::{
    Allocation, InvalidProblem, Link, Monotonic, Mut, Options, Region, ShareError, Shared, Unique, Vector,
    Weak, layout_text, region_struct, view, view_packed,
};

use crate::family::*;
use crate::{Aligned, held_to, packed, vector};

/// A region that its own check accepts.
fn good(r: &Region<Family>) {
    let taken = Region::<Family>::adopt(r.bytes()).unwrap_or_else(|error| panic!("{error}"));
    assert!(taken.canonical() == r.canonical());
}

#[test]
fn the_vectors_are_written_and_read() {
    held_to("family", &family().unwrap());
    packed::held_to("family", &family().unwrap());
    good(&family().unwrap());
}

#[test]
fn the_layout_is_the_one_of_the_format() {
    assert_eq!(
        layout_text::<Home>(),
        "region-v2 Home\nHome 0 16 8 struct\nHome.rent 0 8 8 double\nHome.next 8 8 4 weak\nHome.next& 8 16 8 Home\n"
    );
}

#[test]
fn values_are_read_behind_weak_links() {
    let made = family().unwrap();
    for image in [made.bytes().to_vec(), made.canonical(), vector("family.live")] {
        let image = Aligned::of(&image);
        let f = view::<Family>(&image).unwrap();
        let dan = f.youngest().get().unwrap();
        assert_eq!(dan.parent().get().unwrap().parent().get().unwrap().name().as_str(), "Ann");
        assert!(dan.friends().get("an uncle who moved").unwrap().get().is_none());
        assert!(f.youngest().is_same(f.names().get("dan").unwrap()));
        assert!(!f.youngest().is_same(f.names().get("nobody").unwrap()));
        let ring = f.home().get().unwrap().get().unwrap();
        let again = ring.next().get().unwrap().next().get().unwrap().next().get().unwrap();
        assert_eq!((*ring.rent(), *again.rent()), (0.0, 0.0));
        assert!(f.sold().get(0).unwrap().get().is_none() && f.sold().get(1).unwrap().get().is_some());
        assert_eq!(f.sold().get(0).unwrap().is_expired(), image[6] == 1);
        assert_eq!(f.eldest().weak_links(), 4);
    }
    let image = Aligned::of(&made.packed());
    let f = view_packed::<Family>(&image).unwrap();
    let dan = f.youngest().get().unwrap();
    let ann = dan.parent().get().unwrap().parent().get().unwrap();
    assert_eq!(&*ann.name(), "Ann");
    // Ann begins with the link to herself.
    assert!(ann.parent().is_same(dan.parent().get().unwrap().parent()));
    assert_eq!(&*ann.parent().get().unwrap().name(), "Ann");
    assert!(f.names().get("nobody").unwrap().get().is_none());
    assert_eq!(*f.home().get().unwrap().get().unwrap().next().get().unwrap().rent(), 0.5);
}

#[test]
fn the_last_shared_link_ends_a_value_and_the_last_weak_link_frees_its_block() {
    let mut r = Region::<Family>::new();
    let mut f = r.root_mut();
    f.eldest().fill().unwrap().name().set("a name in a block of its own").unwrap();
    // A link within the value does not keep its block, nor free it twice.
    let linked = f.share(
        |f| Some(f.eldest()),
        |mut f, ann| {
            person_mut!(f).parent().link(ann)?;
            person_mut!(f).friends().entry("myself").unwrap().link(ann)?;
            f.youngest().link(ann)?;
            f.gone().get_mut(1).unwrap().link(ann)
        },
    );
    linked.unwrap();
    assert_eq!((r.root().eldest().links(), r.root().eldest().weak_links()), (1, 4));
    r.root_mut().eldest().clear();
    assert!(r.root().youngest().get().is_none() && r.root().youngest().is_expired());
    assert!(r.root_mut().youngest().get_mut().is_none());
    good(&r);
    // An ended value is not linked to again.
    let mut f = r.root_mut();
    let linked = f.upgrade(|f| Some(f.youngest()), |mut f, ann| f.eldest().link(ann));
    linked.unwrap();
    assert!(r.root().eldest().get().is_none());
    // One granule is left of the value and of all that belonged to it.
    let used = |r: &Region<Family>| r.bytes().len() - 64 - 112 - r.free_bytes();
    assert_eq!(used(&r), 16);
    r.root_mut().youngest().clear();
    assert_eq!(used(&r), 16);
    good(&r);
    r.root_mut().gone().get_mut(1).unwrap().clear();
    assert_eq!(used(&r), 0);
    good(&r);
}

#[test]
fn a_weak_link_becomes_a_shared_one_but_makes_no_cycle_of_them() {
    let mut r = family().unwrap();
    let before = r.canonical();
    let mut f = r.root_mut();
    let made = f.upgrade(
        |f| Some(f.youngest()),
        |mut f, dan| {
            // Dan stays while he is held.
            person_mut!(f, 0).children().clear();
            person_mut!(f, 1).children().push_default()?.link(dan)
        },
    );
    made.unwrap();
    assert_eq!(person(r.root(), &[1, 0]).name().as_str(), "Daniel of the hill");
    good(&r);
    let mut f = r.root_mut();
    let cycle = f.upgrade(
        |f| person(f, &[0]).parent().into(),
        |mut f, ann| person_mut!(f, 1, 0).children().push_default()?.link(ann),
    );
    assert_eq!(cycle, Err(ShareError::Cycle));
    let mut other = family().unwrap();
    let elsewhere = f.share(|f| Some(f.eldest()), |_, ann| other.root_mut().youngest().link(ann));
    assert_eq!(elsewhere, Err(ShareError::OtherRegion));
    assert!(other.canonical() == before);
}

#[test]
fn links_lead_to_copies_within_a_copy_and_else_nowhere() {
    let r = family().unwrap();
    let mut copy = Region::<Family>::new();
    copy.root_mut().set(r.root()).unwrap();
    assert!(copy.canonical() == r.canonical());
    copy.root_mut().set(r.root()).unwrap();
    good(&copy);
    // Benjamin alone: his child leads to him, and neither to Ann nor to Cleo.
    let ben = person(r.root(), &[0]).to_region().unwrap();
    let ben = Region::<Person>::adopt(ben.bytes()).unwrap();
    let dan = ben.root().children().get(0).unwrap().get().unwrap();
    assert!(ben.root().parent().get().is_none() && dan.friends().get("aunt").unwrap().get().is_none());
    // The root has no links that could lead to it.
    assert!(dan.parent().get().is_none());
    let mut eldest = Region::<Family>::new();
    eldest.root_mut().eldest().set(link_to(r.root(), &[0]).unwrap()).unwrap();
    let dan = person(eldest.root(), &[0]);
    assert_eq!(dan.parent().get().unwrap().name().as_str(), "Benjamin the elder");
    good(&eldest);
}

#[test]
fn links_survive_moves_and_compaction() {
    let mut r = family().unwrap();
    for i in 0..if cfg!(miri) { 2 } else { 100 } {
        let mut f = r.root_mut();
        f.sold().push_default().unwrap();
        f.homes().push_default().unwrap();
        f.names().entry(&format!("another name {i}")).unwrap();
    }
    good(&r);
    assert!(r.root().sold().iter().any(|link| link.is_expired()));
    r.compact_in_place();
    good(&r);
    assert!(!r.root().sold().iter().any(|link| link.is_expired()));
    assert_eq!(r.root().youngest().get().unwrap().name().as_str(), "Daniel of the hill");
    r.root_mut().sold().swap(0, 1);
    r.compact().unwrap();
    good(&r);
    let mut clone = Region::<Family>::adopt_with(
        r.bytes(),
        Options { allocation: Allocation::By(&Monotonic), ..Options::default() },
    )
    .unwrap();
    person_mut!(clone.root_mut()).children().clear();
    good(&clone);
    assert!(clone.root().youngest().is_expired());
    clone.compact_in_place();
    assert!(!clone.root().youngest().is_expired());
    good(&clone);
}

#[test]
fn any_order_of_changes_leaves_a_good_region() {
    for round in 0..if cfg!(miri) { 1 } else { 200_u64 } {
        let mut r = family().unwrap();
        let mut random = round + 1;
        let mut next = |below: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) as usize % below
        };
        for _ in 0..20 {
            let (what, i) = (next(9), next(5));
            let mut f = r.root_mut();
            match what {
                0 => f.homes().get_mut(i).map(|mut home| home.clear()).unwrap_or_default(),
                1 => f.sold().get_mut(i).unwrap().clear(),
                2 => f
                    .upgrade(|f| f.sold().get(i), |mut f, home| f.homes().get_mut(4 - i).unwrap().link(home))
                    .unwrap(),
                3 => f
                    .share(|f| f.homes().get(i), |mut f, home| f.sold().get_mut(next(5)).unwrap().link(home))
                    .unwrap(),
                4 => f.homes().get_mut(i).unwrap().fill().map(drop).unwrap(),
                5 => r.compact_in_place(),
                6 => f.eldest().get_mut().map(|mut ann| ann.children().truncate(i / 2)).unwrap_or_default(),
                7 if i == 0 => f.eldest().clear(),
                _ => drop(f.guests().remove(next(100) as u16)),
            }
            good(&r);
        }
    }
}

region_struct! { struct Step: StepRef, StepMut { next: Unique<Step>, first: Weak<Stone> } }
region_struct! { struct Stone: StoneRef, StoneMut { steps: Unique<Step>, itself: Weak<Stone> } }
region_struct! { struct Wall: WallRef, WallMut { stone: Shared<Stone>, first: Weak<Stone> } }

/// Makes a chain of steps, each with a weak link to the stone.
fn deepen(mut step: Mut<'_, Step>, levels: usize, stone: Link<'_, Stone>) -> Result<(), ShareError> {
    step.first().link(stone)?;
    if levels == 0 { Ok(()) } else { deepen(step.next().fill()?, levels - 1, stone) }
}

#[test]
fn a_value_that_ends_at_the_end_of_a_long_chain_is_freed_once() {
    // More than the 64 links that are followed by recursion: the last ones are visited after the value.
    for levels in if cfg!(miri) { [1, 64, 66].as_slice() } else { &[1, 62, 63, 64, 65, 200] } {
        let mut r = Region::<Wall>::new();
        let mut wall = r.root_mut();
        wall.stone().fill().unwrap();
        let linked = wall.share(
            |wall| Some(wall.stone()),
            |mut wall, stone| {
                wall.stone().fill()?.itself().link(stone)?;
                wall.first().link(stone)?;
                deepen(wall.stone().fill()?.steps().fill()?, *levels, stone)
            },
        );
        linked.unwrap();
        let canonical = r.canonical();
        assert!(Region::<Wall>::adopt(&canonical).unwrap().canonical() == canonical);
        assert!(Region::<Wall>::adopt(&r.packed()).unwrap().canonical() == canonical);
        r.compact_in_place();
        assert!(r.canonical() == canonical);
        r.root_mut().stone().clear();
        assert!(r.root().first().is_expired());
        view::<Wall>(r.bytes()).unwrap();
        r.root_mut().first().clear();
        r.trim();
        assert_eq!(r.bytes().len(), 64 + 16, "only the root is left");
    }
}

/// Each byte of the images is changed, in each way of a few. An image is refused, or a good one.
#[test]
fn every_spoilt_byte_is_refused_or_harmless() {
    let r = family().unwrap();
    for image in [r.canonical(), vector("family.live"), r.packed()] {
        let (step, flips) = if cfg!(miri) { (151, &[0xff][..]) } else { (1, &[1, 0x10, 0x80, 0xff][..]) };
        for at in (0..image.len()).step_by(step) {
            for flip in flips {
                let mut bad = image.clone();
                bad[at] ^= flip;
                let Ok(mut taken) = Region::<Family>::adopt(&bad) else { continue };
                if image[6] == 0 && at != 6 {
                    assert!(taken.canonical() == bad, "a canonical image is the only one of its value: {at}");
                }
                if image[6] == 2 {
                    assert!(taken.packed() == bad, "a packed image is the only one of its value: {at}");
                }
                taken.root_mut().eldest().clear();
                taken.root_mut().homes().clear();
                good(&taken);
                taken.compact_in_place();
                good(&taken);
            }
        }
    }
}

/// Many weak links to different places without values take no longer than their number.
#[test]
fn a_hostile_image_of_weak_links_is_refused_at_the_first_one() {
    region_struct! { struct Many: ManyRef, ManyMut { links: Vector<Weak<u64>>, value: Shared<u64> } }
    let count = if cfg!(miri) { 20 } else { 100_000 };
    let mut r = Region::<Many>::new();
    r.root_mut().links().resize_default(count).unwrap();
    r.root_mut().value().fill().unwrap();
    let mut image = r.bytes().to_vec();
    let first = image.windows(4).position(|four| four == (r.bytes().len() as u32).to_le_bytes());
    assert_eq!(first, Some(24));
    // All lead to the block of the vector itself, which is not a shared value.
    let begin = 64 + 32;
    for i in 0..count {
        let at = begin + 8 * i;
        image[at..at + 4].copy_from_slice(&(begin as i32 - at as i32).to_le_bytes());
    }
    let error = Region::<Many>::adopt(&image).map(drop).unwrap_err();
    assert!(matches!(error.problem, InvalidProblem::WeakTarget { .. }), "{error}");
}

#[test]
fn values_with_weak_links_print_and_compare() {
    let (one, mut other) = (family().unwrap(), family().unwrap());
    // Cycles of weak links end, and expired links equal links to nothing.
    assert_eq!(one.root(), other.root());
    let copy = Region::<Family>::adopt(&one.canonical()).unwrap();
    assert_eq!(one.root(), copy.root());
    let home = format!("{:?}", one.root().homes().get(0).unwrap());
    assert_eq!(home, "Some(Home { rent: 0.0, next: Weak(..) })");
    assert_eq!(format!("{:?} {:?}", one.root().gone(), one.root().youngest()), "[None, None] Weak(..)");
    *other.root_mut().homes().get_mut(3).unwrap().get_mut().unwrap().rent() = 7.0;
    assert_ne!(one.root().home(), other.root().home());
    assert_eq!(one.root().eldest(), other.root().eldest());
    other.root_mut().youngest().clear();
    assert_ne!(one.root().youngest(), other.root().youngest());
}
