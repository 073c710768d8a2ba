//! Copies of values, reordered vectors, and entries changed in turn; compared with standard containers.

use std::collections::BTreeMap;
use std::ops::Bound;

use situ_region::region_struct;
use situ_region::{
    Allocation, Full, HashMap, Monotonic, Options, OrderedMap, Region, SortedMap, SortedSet, Stored, Text,
    Vector,
};

use crate::source::{Source, travels};
use crate::types::*;

region_struct! {
    struct Lists: ListsRef, ListsMut { names: Vector<Text>, numbers: Vector<u16>, lists: Vector<Vector<u16>>, characters: SortedMap<u32, Character> }
}

/// Copies a value: into a new region, over itself and over `before`, with exactly enough room and with less.
fn copied<T: Stored>(from: &Region<T>, before: &Region<T>) {
    let wanted = from.canonical();
    for (zero_on_free, allocation) in
        [(true, Allocation::Bitmap), (false, Allocation::Bitmap), (true, Allocation::By(&Monotonic))]
    {
        let options = Options { zero_on_free, allocation, ..Options::default() };
        let mut r = Region::<T>::with_options(options);
        for source in [from, from, before, from] {
            r.root_mut().set(source.root()).unwrap();
            assert!(r.canonical() == source.canonical());
            travels(&r);
        }
        if zero_on_free {
            // Nothing of the old value is left, and nothing else is in use.
            r.compact_in_place();
            assert_eq!((r.canonical() == wanted, r.free_bytes()), (true, 0));
            assert!(r.bytes().len() <= wanted.len());
        }
    }
    let least = before.canonical().len() as u32;
    let (mut refused, mut done) = (0, 0);
    for limit in
        (least..least + 2 * wanted.len() as u32 + 256).step_by(if cfg!(miri) { wanted.len() / 2 } else { 64 })
    {
        let options = Options { limit, ..Options::default() };
        let mut r = Region::<T>::adopt_with(&before.canonical(), options).unwrap();
        let image = r.canonical();
        if r.root_mut().set(from.root()).is_ok() {
            assert!(r.canonical() == wanted);
            done += 1;
        } else {
            assert!(r.canonical() == image, "it is as it was");
            refused += 1;
        }
        travels(&r);
    }
    assert!(refused > 0 && done > 0, "{refused} {done}");
}

#[test]
fn a_value_becomes_a_copy_of_another() {
    copied(&kitchen().unwrap(), &Region::new());
    if cfg!(not(miri)) {
        copied(&character().unwrap(), &Region::new());
        copied(&Region::new(), &kitchen().unwrap());
        copied(&market().unwrap(), &Region::new());
        copied(&Region::new(), &market().unwrap());
    }
}

#[test]
fn parts_are_copied_from_region_to_region() -> Result<(), Full> {
    let (hero, kitchen) = (character()?, kitchen()?);
    let mut r = Region::<Lists>::new();
    let mut lists = r.root_mut();
    lists.characters().insert(7, hero.root())?;
    lists.characters().entry(7)?.name().set("somebody else")?;
    lists.characters().insert(9, hero.root())?;
    lists.names().push(kitchen.root().names().get(1).unwrap())?;
    lists.names().push(hero.root().name())?;
    lists.names().insert(0, String::from("a name that a program has"))?;
    lists.lists().push(kitchen.root().lists().get("odd").unwrap())?;
    lists.numbers().push(*kitchen.root().lists().get("even").unwrap().get(1).unwrap())?;
    lists.numbers().push(kitchen.root().lists().get("even").unwrap().get(0).unwrap())?;
    let numbers = [5_u16, 6];
    lists.numbers().extend_from_slice(&numbers)?;
    lists.lists().push(&numbers)?;
    lists.lists().push(&vec![7_u16; 40])?;
    let read = r.root();
    assert_eq!(read.characters().get(7).unwrap().name(), "somebody else");
    assert_eq!(read.characters().get(9).unwrap().to_region()?.canonical(), hero.canonical());
    let names: Vec<String> = read.names().into_iter().map(|name| name.to_string()).collect();
    assert_eq!(names, ["a name that a program has", "a name of more than eleven bytes", "Hero"]);
    assert_eq!(format!("{:?}", read.names().get(2).unwrap()), "\"Hero\"");
    assert_eq!(read.lists().get(0).unwrap().as_slice(), [1, 3, 5]);
    assert_eq!(read.lists().get(1).unwrap().as_slice(), numbers);
    assert_eq!(read.lists().get(2).unwrap().as_slice(), [7; 40]);
    assert_eq!(read.numbers().as_slice(), [4, 2, 5, 6]);
    // Copies within one region through another.
    let copy = r.root().characters().get(9).unwrap().to_region()?;
    r.root_mut().characters().insert(7, copy.root())?;
    assert_eq!(r.root().characters().get(7).unwrap().name(), "Hero");
    travels(&r);
    Ok(())
}

#[test]
fn what_was_shared_is_shared_again() {
    let market = market().unwrap();
    let mut r = Region::<Vector<Market>>::new();
    r.root_mut().push(market.root()).unwrap();
    r.root_mut().push(market.root()).unwrap();
    let mut copies = r.root_mut();
    let mut first = copies.get_mut(0).unwrap();
    first.textures().get_mut(0).unwrap().get_mut().unwrap().name().set("ash").unwrap();
    let read = r.root();
    let base = |index: usize| read.get(index).unwrap().texture().get().unwrap().base().get().unwrap().name();
    assert_eq!((base(0).as_str(), base(1).as_str()), ("ash", "wood"));
    travels(&r);
}

/// Random operations on vectors of numbers, of text and of vectors, and on those of the standard library.
#[test]
fn vectors_are_put_into_another_order_as_standard_ones_are() {
    let mut random = 1_u64;
    let program: Vec<u8> = std::iter::repeat_with(|| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 56) as u8
    })
    .take(if cfg!(miri) { 200 } else { 20_000 })
    .collect();
    let mut source = Source::new(&program);
    let mut r = Region::<Lists>::new();
    let (mut names, mut numbers, mut lists) =
        (Vec::<String>::new(), Vec::<u16>::new(), Vec::<Vec<u16>>::new());
    while !source.ended() {
        let (len, number) = (names.len(), source.number() as u16);
        let (a, b) = (source.below(len as u8 + 2) as usize, source.below(len as u8 + 2) as usize);
        let mut root = r.root_mut();
        match source.below(9) {
            0..=2 if len < 60 => {
                let text = source.text();
                root.names().push(text.as_str()).unwrap();
                root.numbers().push(number).unwrap();
                root.lists().push(&[number; 3][..]).unwrap();
                names.push(text);
                numbers.push(number);
                lists.push(vec![number; 3]);
            }
            3 if a < 60 => {
                root.names().resize_default(a).unwrap();
                root.numbers().resize_default(a).unwrap();
                root.lists().resize_default(a).unwrap();
                names.resize(a, String::new());
                numbers.resize(a, 0);
                lists.resize(a, Vec::new());
            }
            4 => {
                let there = a <= b && b <= len;
                assert_eq!(root.names().remove_range(a..b), there);
                assert_eq!(root.numbers().remove_range(a..b), there);
                assert_eq!(root.lists().remove_range(a..b), there);
                if there {
                    names.drain(a..b);
                    numbers.drain(a..b);
                    lists.drain(a..b);
                }
            }
            5 => {
                let is_kept = |byte: usize| byte % 3 != usize::from(number % 3);
                let before = [names.len(), numbers.len(), lists.len()];
                names.retain(|name| is_kept(name.len()));
                numbers.retain(|number| is_kept(usize::from(*number)));
                lists.retain(|list| is_kept(list.len() + usize::from(list.first().copied().unwrap_or(0))));
                let gone = [
                    root.names().retain(|name| is_kept(name.as_str().len())),
                    root.numbers().retain(|number| is_kept(usize::from(*number))),
                    root.lists().retain(|list| {
                        is_kept(list.len() + list.get(0).map_or(0, |number| usize::from(*number)))
                    }),
                ];
                assert_eq!(
                    gone,
                    [before[0] - names.len(), before[1] - numbers.len(), before[2] - lists.len()]
                );
                // Makes the lengths equal again.
                let least = names.len().min(numbers.len()).min(lists.len());
                root.names().truncate(least);
                root.numbers().truncate(least);
                root.lists().truncate(least);
                names.truncate(least);
                numbers.truncate(least);
                lists.truncate(least);
            }
            6 => {
                let there = a < len && b < len;
                assert_eq!(root.names().swap(a, b), there);
                assert_eq!(root.numbers().swap(a, b), there);
                assert_eq!(root.lists().swap(a, b), there);
                if there {
                    names.swap(a, b);
                    numbers.swap(a, b);
                    lists.swap(a, b);
                }
            }
            7 => {
                // Many are equal and keep their order.
                root.names().sort_by(|x, y| (x.len() % 5).cmp(&(y.len() % 5)));
                root.numbers().sort_by(|x, y| y.cmp(&x));
                root.lists().sort_by(|x, y| {
                    x.as_slice().iter().map(|n| n % 7).cmp(y.as_slice().iter().map(|n| n % 7))
                });
                names.sort_by_key(|name| name.len() % 5);
                numbers.sort_by(|x, y| y.cmp(x));
                lists.sort_by(|x, y| x.iter().map(|n| n % 7).cmp(y.iter().map(|n| n % 7)));
            }
            _ => {}
        }
        let read = r.root();
        assert!(read.names().iter().map(|name| name.as_str()).eq(names.iter()));
        assert!(read.names().iter().rev().map(|name| name.as_str()).eq(names.iter().rev()));
        assert_eq!(read.numbers().as_slice(), numbers);
        assert!(read.lists().iter().map(|list| list.as_slice()).eq(lists.iter()));
    }
    travels(&r);
}

/// A vector takes as many elements as fit, or none.
#[test]
fn a_vector_that_cannot_become_longer_is_as_it_was() {
    let mut r = Region::<Vector<Text>>::with_options(Options { limit: 1024, ..Options::default() });
    r.root_mut().push("one").unwrap();
    assert!(r.root_mut().resize_default(1000).is_err());
    assert!(r.root().iter().map(|name| name.as_str()).eq(["one"]));
    assert!(r.root_mut().resize_default(20).is_ok());
    assert_eq!(r.root().len(), 20);
}

#[test]
fn sorted_sets_and_maps_have_ranges() {
    let mut r = Region::<SortedMap<u32, u64>>::new();
    let mut set = Region::<SortedSet<Text>>::new();
    let mut model = BTreeMap::new();
    for key in (0..60).map(|i| i * 37 % 61 * 2) {
        r.root_mut().insert(key, u64::from(key) + 1).unwrap();
        set.root_mut().insert(&format!("{key:03}")).unwrap();
        model.insert(key, u64::from(key) + 1);
    }
    let bounds = |key: u32| [Bound::Unbounded, Bound::Included(key), Bound::Excluded(key)];
    for (a, b) in (0..126)
        .step_by(if cfg!(miri) { 50 } else { 7 })
        .flat_map(|a| (a..126).step_by(5).map(move |b| (a, b)))
    {
        for (low, high) in bounds(a).into_iter().flat_map(|low| bounds(b).map(|high| (low, high))) {
            if matches!((low, high), (Bound::Excluded(a), Bound::Excluded(b)) if a == b) {
                // The standard library panics here.
                assert_eq!(r.root().range((low, high)).count(), 0);
                continue;
            }
            let wanted: Vec<_> = model.range((low, high)).map(|(key, value)| (*key, *value)).collect();
            let found = r.root().range((low, high)).map(|(key, value)| (key, *value));
            assert!(found.eq(wanted.iter().copied()), "{low:?} {high:?}");
            let found = r.root().range((low, high)).rev().map(|(key, value)| (key, *value));
            assert!(found.eq(wanted.iter().rev().copied()));
        }
    }
    let (low, high) = (3, 9);
    assert_eq!(r.root().range(high..low).count(), 0, "it ends before it begins");
    assert!(set.root().range("010".."015").eq(["010", "012", "014"]));
    assert_eq!(Region::<SortedSet<u8>>::new().root().range(..).count(), 0);
}

/// The number of entries; smaller if the tests are interpreted.
const ENTRIES: u32 = if cfg!(miri) { 12 } else { 100 };

macro_rules! entries_of {
    ($map:ident) => {{
        let mut r = Region::<$map<Text, Vector<Text>>>::new();
        for i in 0..ENTRIES {
            r.root_mut().entry(&format!("key {i:02}")).unwrap().push(format!("value {i}")).unwrap();
        }
        let (mut map, mut seen) = (r.root_mut(), Vec::new());
        let mut entries = map.entries();
        while let Some(mut entry) = entries.next() {
            let key = entry.key().to_owned();
            // More memory is needed, and it may move.
            for _ in 0..5 {
                entry.value().push(format!("more for {key}, which does not fit")).unwrap();
            }
            seen.push(key);
        }
        seen.sort();
        assert!(seen.iter().eq(&(0..ENTRIES).map(|i| format!("key {i:02}")).collect::<Vec<_>>()));
        for (key, value) in r.root().iter() {
            assert_eq!(value.len(), 6);
            assert_eq!(value.get(5).unwrap(), format!("more for {key}, which does not fit").as_str());
        }
        travels(&r);
    }};
}

#[test]
fn values_of_maps_are_changed_one_after_the_other() {
    entries_of!(SortedMap);
    entries_of!(HashMap);
    entries_of!(OrderedMap);
}
