//! Regions on topics: built in the slot, grown into larger ones, taken in place, passed on, and received by
//! other storages.

use std::sync::{Mutex, MutexGuard, PoisonError};

use situ::bus::{
    ApproximateTime, CopyCounter, Encoding, ExactTime, Node, RawPublisher, RawSubscriber, RegisterError,
    Root, Stamped, Synchronizer, SynchronizerCounts, describe_region,
};
use situ::layout::Heap;
use situ::region::{Region, view};
use situ::time::Timestamp;
use situ_generated::region::game::{
    Bounded, BoundedBulkLengths, BoundedMut, BoundedRegion, Character, CharacterMut, CharacterRef,
    CharacterRegion, Item, Pantry, PantryMut, PantryRef, PantryRegion, Skill,
};
use situ_generated::{profile::game as after, profile_before::game as before, profile_other::game as other};

/// A time of a message, as generated code has it.
struct Time(i32, u32);

impl Timestamp for Time {
    fn from_parts(sec: i32, nanosec: u32) -> Self {
        Self(sec, nanosec)
    }

    fn parts(&self) -> (i32, u32) {
        (self.0, self.1)
    }
}

/// Copies are counted for the whole process, so one test runs at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// A directory for topics. It is removed on drop.
struct Scratch(situ_testkit::Scratch, #[allow(dead_code, reason = "held")] MutexGuard<'static, ()>);

impl Scratch {
    fn new() -> Self {
        Self(situ_testkit::Scratch::new("region"), ALONE.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn node(&self, name: &str) -> Node {
        Node::in_root(name, Root::at(self.0.path(), None)).unwrap()
    }
}

#[test]
fn a_region_is_built_in_its_slot_and_read_there() {
    let scratch = Scratch::new();
    let node = scratch.node("a");
    let publisher = node.region_publisher::<CharacterRegion>("characters").create().unwrap();
    let subscriber = node.region_subscriber::<CharacterRegion>("characters").create().unwrap();
    let before = CopyCounter::of_process().get();
    let mut loan = publisher.loan().unwrap();
    loan.root_mut().name().set("Hero").unwrap();
    loan.root_mut().skills().push(Skill { id: 1054, level: 3 }).unwrap();
    loan.publish().unwrap();
    let sample = subscriber.take().unwrap().unwrap();
    assert_eq!((&*sample.root().name(), sample.root().skills().as_slice()[0].id), ("Hero", 1054));
    assert!(!sample.is_copy());
    assert_eq!(sample.bytes()[6], 1, "what is published is the live image");
    assert_eq!(CopyCounter::of_process().get(), before);
    assert!(subscriber.take().unwrap().is_none());
}

#[test]
fn a_region_grows_in_its_slot_and_is_never_copied() {
    let scratch = Scratch::new();
    let node = scratch.node("a");
    let publisher = node.region_publisher::<CharacterRegion>("characters").create().unwrap();
    let subscriber = node.region_subscriber::<CharacterRegion>("characters").create().unwrap();
    let fill = |count: u64| {
        let mut loan = publisher.loan().unwrap();
        for key in 0..count {
            let item = Item { id: key as u32, uuid: key * 7, ..Default::default() };
            loan.root_mut().items().insert(key, item).unwrap();
        }
        loan.publish().unwrap();
    };
    let before = CopyCounter::of_process().get().0;
    fill(5000);
    assert_eq!(CopyCounter::of_process().get().0, before);
    let sample = subscriber.take().unwrap().unwrap();
    assert_eq!(sample.root().items().len(), 5000);
    assert_eq!(sample.root().items().get(4999).unwrap().uuid, 4999 * 7);
    drop(sample);
    fill(5000);
    assert_eq!(CopyCounter::of_process().get().0, before);
    assert_eq!(subscriber.take().unwrap().unwrap().root().items().len(), 5000);
    assert!(publisher.raw().memory().in_use <= 2, "each message took one slot");
}

#[test]
fn a_loan_is_compacted_in_its_slot() {
    let scratch = Scratch::new();
    let node = scratch.node("a");
    let publisher = node.region_publisher::<CharacterRegion>("characters").create().unwrap();
    let subscriber = node.region_subscriber::<CharacterRegion>("characters").create().unwrap();
    let mut loan = publisher.loan().unwrap();
    for key in 0..8 {
        loan.root_mut().items().insert(key, Item { id: key as u32, ..Default::default() }).unwrap();
        loan.root_mut().name().push_str("a name that grows ").unwrap();
    }
    loan.root_mut().name().set("Hero").unwrap();
    let canonical = loan.canonical();
    assert!(loan.bytes().len() > canonical.len());
    loan.compact_in_place();
    // Without trees and tables it is as small as the canonical image.
    assert_eq!(loan.bytes().len(), canonical.len());
    loan.publish().unwrap();
    let sample = subscriber.take().unwrap().unwrap();
    assert_eq!(sample.root().name().as_str(), "Hero");
    assert_eq!(sample.root().items().get(7).unwrap().id, 7);
    assert_eq!(sample.to_region().unwrap().canonical(), canonical);
}

#[test]
fn a_loan_that_is_dropped_gives_its_slot_back() {
    let scratch = Scratch::new();
    let node = scratch.node("a");
    let publisher = node.region_publisher::<CharacterRegion>("characters").create().unwrap();
    let mut loan = publisher.loan().unwrap();
    loan.root_mut().path().reserve(10_000).unwrap();
    drop(loan);
    assert_eq!(publisher.raw().memory().in_use, 0);
}

#[test]
fn a_message_is_handed_on() {
    let scratch = Scratch::new();
    let node = scratch.node("a");
    let first = node.region_publisher::<CharacterRegion>("built").create().unwrap();
    let built = node.region_subscriber::<CharacterRegion>("built").create().unwrap();
    let second = node.region_publisher::<CharacterRegion>("edited").create().unwrap();
    let edited = node.region_subscriber::<CharacterRegion>("edited").create().unwrap();
    let mut loan = first.loan().unwrap();
    loan.root_mut().items().insert(5, Item::default()).unwrap();
    loan.publish().unwrap();

    let sample = built.take().unwrap().unwrap();
    let mut loan = second.edit(&sample).unwrap();
    loan.root_mut().items().remove(5);
    loan.root_mut().name().set("a name of more than eleven bytes").unwrap();
    loan.publish().unwrap();
    let after = edited.take().unwrap().unwrap();
    assert_eq!((after.root().items().len(), after.root().name().len()), (0, 32));
    assert_eq!(
        (sample.root().items().len(), sample.root().name().len()),
        (1, 0),
        "the one before stays as it is"
    );

    let mut expected = Region::<CharacterRegion>::new();
    expected.root_mut().name().set("a name of more than eleven bytes").unwrap();
    assert_eq!(after.to_region().unwrap().canonical(), expected.canonical());
}

#[test]
fn other_storages_meet_regions() {
    let scratch = Scratch::new();
    let node = scratch.node("a");
    let regions = node.region_publisher::<PantryRegion>("pantry").create().unwrap();
    let heap = node.publisher::<Pantry<Heap>>("pantry").create().unwrap();
    let take_region = node.region_subscriber::<PantryRegion>("pantry").create().unwrap();
    let take_heap = node.subscriber::<Pantry<Heap>>("pantry").create().unwrap();
    let value =
        Pantry::<Heap> { words: vec!["a word of many letters".into()], small: 3, ..Default::default() };
    regions.publish(&value).unwrap();
    heap.publish(&value).unwrap();
    let expected = Region::<PantryRegion>::of(&value, &[]).unwrap().canonical();
    for from_region in [true, false] {
        let region = take_region.take().unwrap().unwrap();
        assert_eq!(region.is_copy(), !from_region);
        assert_eq!(region.to_region().unwrap().canonical(), expected);
        assert_eq!(*take_heap.take().unwrap().unwrap(), value);
    }
}

#[test]
fn flat_messages_meet_regions() {
    let scratch = Scratch::new();
    let node = scratch.node("a");
    let flat = node.publisher::<Bounded<situ::layout::Flat>>("bounded").create().unwrap();
    let regions = node.region_subscriber::<BoundedRegion>("bounded").create().unwrap();
    let mut loan = flat.loan().unwrap();
    loan.set_name("flat").unwrap();
    loan.publish().unwrap();
    let sample = regions.take().unwrap().unwrap();
    let mut expected = Region::<BoundedRegion>::new();
    expected.root_mut().name().set("flat").unwrap();
    assert_eq!(sample.to_region().unwrap().canonical(), expected.canonical());
}

/// Regions wait in a synchronizer beside messages of another storage, and are not copied. The stamp of a
/// character is its number, and that of a bounded message the number of its samples, in nanoseconds.
#[test]
fn regions_come_in_sets_by_their_stamps() {
    let scratch = Scratch::new();
    let node = scratch.node("a");
    let characters = node.region_publisher::<CharacterRegion>("characters").create().unwrap();
    let bounded = node.publisher::<Bounded<situ::layout::Flat>>("bounded").create().unwrap();
    let pantries = node.region_publisher::<PantryRegion>("pantries").create().unwrap();
    let time = |nanos: u64| Time::from_nanos(nanos as i64).unwrap();
    let mut sets = Synchronizer::new(
        ExactTime::new(3),
        (
            Stamped::new(
                node.region_subscriber::<CharacterRegion>("characters").create().unwrap(),
                move |it| time(*it.root().id()),
            ),
            Stamped::new(
                node.subscriber::<Bounded<situ::layout::Flat>>("bounded").create().unwrap(),
                move |it| time(it.bulk(|it| &it.samples).len() as u64),
            ),
            Stamped::new(node.region_subscriber::<PantryRegion>("pantries").create().unwrap(), move |it| {
                time(*it.root().ratio() as u64)
            }),
        ),
    )
    .unwrap();
    let copies = CopyCounter::of_process().get();
    for stamp in [1, 2, 3, 5] {
        let mut character = characters.loan().unwrap();
        *character.root_mut().id() = stamp;
        // Larger than the first memory of a loan.
        for key in 0..1000 * stamp {
            character.root_mut().items().insert(key, Item { uuid: key * 7, ..Item::default() }).unwrap();
        }
        character.publish().unwrap();
    }
    for stamp in [2, 4, 5] {
        bounded.loan_with(BoundedBulkLengths { samples: stamp }).unwrap().publish().unwrap();
    }
    assert!(sets.take().unwrap().is_none(), "there is no pantry yet");
    for stamp in [1, 2, 4, 5] {
        let mut pantry = pantries.loan().unwrap();
        *pantry.root_mut().ratio() = f64::from(stamp);
        pantry.root_mut().long_text().set("a text of more than eleven bytes").unwrap();
        pantry.publish().unwrap();
    }
    for stamp in [2, 5] {
        let (character, bounded, pantry) = sets.take().unwrap().expect("a set");
        assert_eq!((*character.root().id(), *pantry.root().ratio()), (stamp, stamp as f64));
        assert_eq!(bounded.bulk(|it| &it.samples).len() as u64, stamp);
        assert_eq!(character.root().items().len() as u64, 1000 * stamp);
        assert_eq!(character.root().items().get(999).unwrap().uuid, 999 * 7);
        assert_eq!(&*pantry.root().long_text(), "a text of more than eleven bytes");
        assert!(!character.is_copy() && !bounded.is_copy() && !pantry.is_copy());
    }
    assert!(sets.take().unwrap().is_none());
    // 1 and 3 of the characters, 4 of the bounded ones, 1 and 4 of the pantries.
    let expected = SynchronizerCounts { sets: 2, unmatched: 5, ..SynchronizerCounts::default() };
    assert_eq!(sets.counts(), expected);
    assert_eq!(CopyCounter::of_process().get(), copies);
}

/// The time of publication needs no member of the region.
#[test]
fn regions_come_in_sets_by_the_times_of_publication() {
    let scratch = Scratch::new();
    let node = scratch.node("a");
    let characters = node.region_publisher::<CharacterRegion>("characters").create().unwrap();
    let pantries = node.region_publisher::<PantryRegion>("pantries").create().unwrap();
    let mut pairs = Synchronizer::new(
        ApproximateTime::new(10),
        (
            Stamped::as_published(node.region_subscriber::<CharacterRegion>("characters").create().unwrap()),
            Stamped::as_published(node.region_subscriber::<PantryRegion>("pantries").create().unwrap()),
        ),
    )
    .unwrap();
    for level in 0..3 {
        let mut character = characters.loan().unwrap();
        *character.root_mut().level() = level;
        character.publish().unwrap();
        let mut pantry = pantries.loan().unwrap();
        *pantry.root_mut().small() = level as i8;
        pantry.publish().unwrap();
    }
    let (character, pantry) = pairs.take().unwrap().expect("a pair");
    // The first pantry is between two characters; either may be the nearer one.
    assert!(*character.root().level() <= 1 && *pantry.root().small() == 0);
    assert!(0 < character.published_at_ns() && character.published_at_ns() <= situ::bus::now_ns());
}

/// They have no room for the content of a region's bulk members, and get an error before a message arrives.
#[test]
fn flat_subscribers_of_bulk_members_are_refused_beside_regions() {
    type FlatBounded = Bounded<situ::layout::Flat>;
    let scratch = Scratch::new();
    let node = scratch.node("a");
    let said = |error: Option<RegisterError>| {
        assert!(matches!(error, Some(RegisterError::Bulk { .. })), "{error:?}");
        assert!(error.unwrap().to_string().contains("in regions, or on the heap"));
    };
    let regions = node.region_publisher::<BoundedRegion>("bounded").create().unwrap();
    said(node.subscriber::<FlatBounded>("bounded").create().err());
    let heap = node.subscriber::<Bounded<Heap>>("bounded").create().unwrap();
    let flat = node.publisher::<FlatBounded>("bounded").create().unwrap();
    let also = node.region_subscriber::<BoundedRegion>("bounded").create().unwrap();
    drop((regions, heap, flat, also));
    let _flat = node.subscriber::<FlatBounded>("bounded").create().unwrap();
    said(node.region_publisher::<BoundedRegion>("bounded").create().err());
    assert!(node.publisher::<Bounded<Heap>>("bounded").create().is_ok());
}

#[test]
fn another_layout_is_refused() {
    let scratch = Scratch::new();
    let node = scratch.node("a");
    let _publisher = node.region_publisher::<CharacterRegion>("characters").create().unwrap();
    let mut other = describe_region::<CharacterRegion>();
    other.layout_hash ^= 1;
    let error =
        RawSubscriber::create(&node, "characters", &other, Default::default()).unwrap_err().to_string();
    assert!(error.contains("lays game::Character out differently"), "{error}");
    // A serialized message needs no layout.
    assert!(node.subscriber::<Character<Heap>>("characters").create().is_ok());
}

#[test]
fn hostile_bytes_are_errors() {
    let scratch = Scratch::new();
    let node = scratch.node("a");
    let publisher =
        RawPublisher::create(&node, "characters", &describe_region::<CharacterRegion>(), Default::default())
            .unwrap();
    let regions = node.region_subscriber::<CharacterRegion>("characters").create().unwrap();
    let heap = node.subscriber::<Character<Heap>>("characters").create().unwrap();
    let mut good = Region::<CharacterRegion>::new();
    good.root_mut().skills().push(Skill { id: 1, level: 2 }).unwrap();
    good.root_mut().name().set("a name of more than eleven bytes").unwrap();
    let send = |bytes: &[u8]| {
        let mut loan = publisher.loan(0, 1, bytes.len()).unwrap();
        loan.body_bytes().copy_from_slice(bytes);
        assert_eq!(loan.encoding(), Encoding::Region);
        loan.publish().unwrap();
    };
    let (mut refused, mut taken) = (0, 0);
    for at in 0..good.bytes().len() {
        for change in [1, 0x80, 0xff] {
            let mut bytes = good.bytes().to_vec();
            bytes[at] ^= change;
            send(&bytes);
            match regions.take() {
                Ok(sample) => {
                    let sample = sample.unwrap();
                    let root = sample.root();
                    let _ = (root.name().len(), root.items().len(), root.skills().as_slice().len());
                    assert!(view::<CharacterRegion>(sample.bytes()).is_ok());
                    taken += 1;
                }
                Err(error) => {
                    assert!(error.to_string().contains("game::Character"), "{error}");
                    refused += 1;
                }
            }
            let _ = heap.take();
        }
    }
    assert!(refused > 100 && taken > 100, "{refused} {taken}");
    for len in [0, 1, 63, 64, 100] {
        send(&good.bytes()[..len]);
        assert!(regions.take().is_err());
    }
}

/// A program with more members and one with fewer, on one topic, in either order.
#[test]
fn versions_understand_each_other() {
    use after::{ProfileMut as _, ProfileRef as _};
    use before::{ProfileMut as _, ProfileRef as _};
    let scratch = Scratch::new();
    let node = scratch.node("a");
    let old = node.region_publisher::<before::ProfileRegion>("profiles").create().unwrap();
    let new = node.region_publisher::<after::ProfileRegion>("profiles").create().unwrap();
    let old_reader = node.region_subscriber::<before::ProfileRegion>("profiles").create().unwrap();
    let new_reader = node.region_subscriber::<after::ProfileRegion>("profiles").create().unwrap();

    let mut loan = new.loan().unwrap();
    before_name(loan.root_mut().name());
    *loan.root_mut().level() = 9;
    loan.root_mut().tags().insert("a tag of more than eleven bytes").unwrap();
    loan.publish().unwrap();
    let seen = old_reader.take().unwrap().unwrap();
    assert_eq!((&*seen.root().name(), seen.is_copy()), (NAME, false), "a newer message is read in place");
    let taken = new_reader.take().unwrap().unwrap();
    assert_eq!((*taken.root().level(), taken.is_copy()), (9, false));

    // An older version that edits a newer message loses the unknown members. Others receive their defaults.
    let mut edited = old.edit(&seen).unwrap();
    *edited.root_mut().id() = 77;
    edited.publish().unwrap();
    let taken = new_reader.take().unwrap().unwrap();
    assert_eq!((*taken.root().id(), &*taken.root().name()), (77, NAME));
    assert_eq!((*taken.root().level(), taken.root().tags().len(), taken.is_copy()), (3, 0, true));
    let again = new.edit(&taken).unwrap();
    assert_eq!(*again.root().level(), 3);
}

const NAME: &str = "the name of this profile";

fn before_name(mut name: situ::region::Mut<'_, situ::region::Text>) {
    name.set(NAME).unwrap();
}

#[test]
fn what_is_no_version_is_refused_with_the_difference() {
    let scratch = Scratch::new();
    let node = scratch.node("a");
    let publisher = node.region_publisher::<after::ProfileRegion>("profiles").create().unwrap();
    // Its third member differs.
    let other = node.region_subscriber::<other::ProfileRegion>("profiles").create().unwrap();
    publisher.loan().unwrap().publish().unwrap();
    let error = other.take().err().unwrap();
    let why = std::error::Error::source(&error).unwrap().to_string();
    assert!(why.contains("game::Profile: member 3, here height, differs"), "{why}");
    assert!(other.take().unwrap().is_none());

    // Only regions have versions.
    let heap = node.subscriber::<after::Profile<Heap>>("profiles").create().err().unwrap().to_string();
    assert!(heap.contains("several versions, which only regions understand"), "{heap}");
    let heap = node.subscriber::<before::Profile<Heap>>("profiles").create().err().unwrap().to_string();
    assert!(heap.contains("first difference"), "{heap}");
    drop((publisher, other));
    let heap = node.publisher::<before::Profile<Heap>>("profiles").create().unwrap();
    let error =
        node.region_subscriber::<after::ProfileRegion>("profiles").create().err().unwrap().to_string();
    assert!(error.contains("not all members use regions"), "{error}");
    let same = node.region_subscriber::<before::ProfileRegion>("profiles").create().unwrap();
    heap.publish(&before::Profile { id: 4, ..Default::default() }).unwrap();
    assert_eq!(*before::ProfileRef::id(same.take().unwrap().unwrap().root()), 4);
    // Types that cannot be appended to have no versions.
    let error = node.region_subscriber::<CharacterRegion>("profiles").create().err().unwrap().to_string();
    assert!(error.contains("carries game::Profile"), "{error}");
}
