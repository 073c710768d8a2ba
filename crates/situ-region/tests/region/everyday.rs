//! What collections of the standard library can do as well, compared with them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use situ_region::{
    Full, HashMap, HashSet, Maybe, Options, OrderedMap, OrderedSet, Region, SortedMap, SortedSet, Text,
    Vector,
};
use situ_region::{region_plain, region_struct};

use crate::source::travels;

region_plain! { struct Pair { a: u32, b: f32 } }
region_struct! { struct Bag: BagRef, BagMut { name: Text, lists: Vector<Vector<u16>> } }

#[test]
fn vectors_take_iterators_or_stay_as_they_are() -> Result<(), Full> {
    let mut r = Region::<Vector<Text>>::with_options(Options { limit: 4096, ..Options::default() });
    let mut names = r.root_mut();
    names.extend((0..5).map(|i| format!("name {i} that needs a block")))?;
    assert_eq!(names.len(), 5);
    let more = std::iter::repeat_with(|| "one of many that do not fit");
    assert!(names.extend(more).is_err());
    assert_eq!(names.len(), 5);
    assert_eq!(names.last_mut().unwrap(), "name 4 that needs a block");
    // A wrong size is only a hint.
    assert!(r.root_mut().extend((0..usize::MAX).map(|_| "x")).is_err());
    assert_eq!(r.root().len(), 5);
    travels(&r);
    let none: [&str; 0] = [];
    Region::<Vector<Text>>::new().root_mut().extend(none)
}

#[test]
fn vectors_return_what_they_remove_and_are_changed_in_turn() -> Result<(), Full> {
    let mut r = Region::<Vector<Pair>>::new();
    let mut pairs = r.root_mut();
    let pair = |a: u32| Pair { a, b: a as f32 / 2.0 };
    assert_eq!((pairs.pop_value(), pairs.remove_value(0), pairs.swap_remove(0)), (None, None, false));
    assert!(pairs.first_mut().is_none() && pairs.last_mut().is_none());
    pairs.extend((0..6).map(pair))?;
    assert_eq!(
        (pairs.pop_value(), pairs.remove_value(1), pairs.remove_value(4)),
        (Some(pair(5)), Some(pair(1)), None)
    );
    assert_eq!(pairs, [pair(0), pair(2), pair(3), pair(4)]);
    assert!(pairs.swap_remove(1) && !pairs.swap_remove(3));
    assert_eq!(pairs, [pair(0), pair(4), pair(3)]);
    assert!(pairs.swap_remove(2));
    pairs.iter_mut().for_each(|pair| pair.a += 10);
    for pair in &mut pairs {
        pair.a += 10;
    }
    let (mut sum, mut count) = (0, 0);
    for pair in &pairs {
        sum += pair.a;
    }
    for pair in &pairs.as_ref() {
        sum += pair.a;
        count += 1;
    }
    assert_eq!((sum, count), (2 * (20 + 24), 2));
    pairs.first_mut().unwrap().b = 9.0;
    pairs.last_mut().unwrap().b = 8.0;
    assert_eq!(r.root().iter().map(|pair| pair.b).collect::<Vec<_>>(), [9.0, 8.0]);
    assert_eq!(r.root().first().unwrap().b, 9.0);
    assert_eq!(r.root().last().unwrap().b, 8.0);
    assert!(r.root().contains(&Pair { a: 20, b: 9.0 }) && !r.root().contains(&Pair { a: 20, b: 9.5 }));
    assert!(Region::<Vector<Text>>::new().root().first().is_none());
    Ok(())
}

#[test]
fn elements_with_parts_are_changed_sorted_and_reversed() -> Result<(), Full> {
    let mut r = Region::<Bag>::new();
    let mut model: Vec<Vec<u16>> = (0..20_u16).map(|i| vec![i; usize::from(i * 7 % 10)]).collect();
    r.root_mut().lists().extend(&model)?;
    let mut bag = r.root_mut();
    let mut lists = bag.lists();
    let mut elements = lists.elements();
    let mut turn = 0;
    while let Some(mut list) = elements.next() {
        list.push(turn)?;
        turn += 1;
    }
    for (i, list) in (0..).zip(&mut model) {
        list.push(i);
    }
    assert!(turn == 20 && lists == model);
    lists.sort_by_key(|list| list.len());
    model.sort_by_key(Vec::len);
    assert!(lists == model);
    // A key made of the elements of each.
    lists.sort_by_key(|list| list.iter().map(|number| *number % 6).collect::<Vec<_>>());
    model.sort_by_key(|list| list.iter().map(|number| number % 6).collect::<Vec<_>>());
    assert!(lists == model);
    lists.reverse();
    model.reverse();
    assert!(
        lists == model && lists.get(3).unwrap() == model[3] && lists.iter().next_back().unwrap() == model[19]
    );
    travels(&r);
    let mut empty = Region::<Vector<Text>>::new();
    empty.root_mut().reverse();
    empty.root_mut().sort_by_key(|text| text.len());
    assert!(empty.root().is_empty());
    Ok(())
}

/// The number of keys; smaller if the tests are interpreted.
const KEYS: u32 = if cfg!(miri) { 40 } else { 700 };

macro_rules! keyed {
    ($test:ident, $map:ident, $set:ident) => {
        #[test]
        fn $test() -> Result<(), Full> {
            let (mut r, mut model) = (Region::<$map<Text, Vector<u32>>>::new(), BTreeMap::new());
            let (mut set, mut keys) = (Region::<$set<Text>>::new(), BTreeSet::new());
            let key = |i: u32| format!("a key of some length: {}", i * 37 % KEYS);
            let all: Vec<(String, [u32; 2])> = (0..KEYS).map(|i| (key(i), [i, i + 1])).collect();
            r.root_mut().extend(all.iter().map(|(key, value)| (key.as_str(), value)))?;
            set.root_mut().extend(all.iter().map(|(key, _)| key.as_str()))?;
            model.extend(all.iter().cloned());
            keys.extend(all.iter().map(|(key, _)| key.clone()));
            for divisor in [1_u32, 3, 2] {
                // Nothing, some, and then some more are removed.
                let is_kept =
                    |text: &str| divisor == 1 || text.bytes().map(u32::from).sum::<u32>() % divisor != 0;
                let mut seen = Vec::new();
                let gone = r.root_mut().retain(|key, value| {
                    seen.push(key.to_owned());
                    is_kept(key) || value.len() != 2
                });
                assert_eq!(seen.len(), model.len());
                assert_eq!(seen.iter().collect::<BTreeSet<_>>(), model.keys().collect());
                let before = model.len();
                model.retain(|key, _| is_kept(key));
                assert_eq!(gone, before - model.len());
                assert_eq!(gone != 0, divisor != 1);
                assert_eq!(set.root_mut().retain(is_kept), gone);
                keys.retain(|key| is_kept(key));
                let mut found = BTreeMap::new();
                for (key, value) in &r.root() {
                    found.insert(key.to_owned(), [*value.get(0).unwrap(), *value.get(1).unwrap()]);
                }
                assert_eq!(found, model);
                let mut found = BTreeSet::new();
                for key in set.root() {
                    found.insert(key.to_owned());
                }
                assert_eq!(found, keys);
                travels(&r);
                travels(&set);
            }
            let first = model.keys().next().unwrap().clone();
            let map = r.root_mut();
            assert!(map.contains(&first) && map.get("none").is_none() && map.get(&first).is_some());
            assert_eq!((&map).into_iter().count(), model.len());
            assert_eq!(map.iter().map(|(_, value)| value.len()).sum::<usize>(), 2 * model.len());
            assert!(r.root().keys().map(str::to_owned).eq(r.root().iter().map(|(key, _)| key.to_owned())));
            assert!(r.root().values().eq(r.root().iter().map(|(_, value)| value)));
            assert_eq!(set.root_mut().iter().count(), keys.len());
            assert!(set.root_mut().contains(&first) && !set.root_mut().contains("none"));
            assert_eq!(
                (r.root_mut().retain(|_, _| false), set.root_mut().retain(|_| false)),
                (model.len(), keys.len())
            );
            assert!(r.root().is_empty() && set.root().is_empty());
            Ok(())
        }
    };
}

keyed!(sorted_sets_and_maps_keep_some_keys, SortedMap, SortedSet);
keyed!(hash_sets_and_maps_keep_some_keys, HashMap, HashSet);
keyed!(ordered_sets_and_maps_keep_some_keys, OrderedMap, OrderedSet);

#[test]
fn maps_insert_what_is_missing_and_return_what_they_remove() -> Result<(), Full> {
    let mut r = Region::<HashMap<Text, Text>>::with_options(Options { limit: 2048, ..Options::default() });
    let mut map = r.root_mut();
    let mut calls = 0;
    for _ in 0..3 {
        map.get_or_insert_with("key", || {
            calls += 1;
            "value"
        })?
        .push_str("+")?;
    }
    assert_eq!((calls, map.get("key").unwrap().as_str()), (1, "value+++"));
    let long = "x".repeat(4096);
    assert!(map.get_or_insert_with("other", || long.as_str()).is_err());
    assert!(!map.contains("other"), "a key whose value finds no room is still missing");
    let mut numbers = Region::<SortedMap<u8, u64>>::new();
    numbers.root_mut().extend([(3, 30_u64), (1, 10), (2, 20)])?;
    assert_eq!(numbers.root_mut().remove_value(2), Some(20));
    assert_eq!(numbers.root_mut().remove_value(2), None);
    assert_eq!(numbers.root().first().map(|(key, value)| (key, *value)), Some((1, 10)));
    assert_eq!(numbers.root().last().map(|(key, value)| (key, *value)), Some((3, 30)));
    let mut set = Region::<SortedSet<u8>>::new();
    assert_eq!((set.root().first(), set.root().last()), (None, None));
    set.root_mut().extend([5, 4, 6])?;
    assert_eq!((set.root().first(), set.root().last()), (Some(4), Some(6)));
    let mut maybe = Region::<Maybe<f64>>::new();
    assert_eq!(maybe.root_mut().take_value(), None);
    maybe.root_mut().set(Some(1.5))?;
    assert_eq!((maybe.root_mut().take_value(), maybe.root_mut().take_value()), (Some(1.5), None));
    Ok(())
}

#[test]
fn a_map_that_is_full_keeps_what_was_added_before() {
    let mut r = Region::<OrderedMap<u32, Text>>::with_limit(2048);
    let texts = (0..1000).map(|i| (i, "a text that needs a block"));
    assert!(r.root_mut().extend(texts).is_err());
    let len = r.root().len() as u32;
    assert!(len > 10 && r.root().keys().eq(0..len));
    let mut r = Region::<HashSet<u32>>::with_limit(2048);
    assert!(r.root_mut().extend(0..1000).is_err());
    assert!(r.root().iter().eq(0..r.root().len() as u32));
}

#[test]
fn text_is_written_by_formatting() {
    let mut r = Region::<Text>::with_limit(128);
    let mut text = r.root_mut();
    write!(text, "part-{:03}", 7).unwrap();
    text.push('ß').unwrap();
    assert_eq!((text.len(), format!("{text}"), text.starts_with("part")), (10, "part-007ß".to_owned(), true));
    assert!(write!(text, "{:1000}", 1).is_err());
    assert!(r.root().starts_with("part-007ß"));
}
