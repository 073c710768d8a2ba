//! The containers of both storages: bounds, order, destruction, and lengths that another process has
//! corrupted.

use std::sync::Arc;

use situ_layout::{
    BoundedMap, BoundedString, BoundedVec, BoundedWString, FlatMap, FlatOptional, FlatSequence, FlatString,
    FlatWString, InPlace, MapField, OptionalField, RosSequence, RosString, RosWString, SequenceField,
    TextField, Validation, Value, WString, WideTextField, boxed,
};

fn texts<T: TextField + PartialEq<str>>() {
    let mut text = T::default();
    text.try_assign("1234").unwrap();
    assert_eq!(
        text.try_assign("12345678901").unwrap_err().to_string(),
        "this member: length 11 exceeds its bound 10; shorten the value or raise the bound in the schema"
    );
    assert!(text == *"1234", "a failure changes nothing");
    text.try_push_str("567890").unwrap();
    assert_eq!(text.try_push_str("é").unwrap_err().size, 12);
    assert_eq!((&*text, text.len()), ("1234567890", 10));
    text.clear();
    assert!(text.is_empty());
}

#[test]
fn strings_keep_their_bound() {
    texts::<FlatString<10>>();
    texts::<BoundedString<10>>();
    texts::<RosString<10>>();
    assert_eq!(<String as TextField>::BOUND, None);
}

fn wide_texts<T: WideTextField>() {
    let mut text = T::default();
    text.try_assign_str("a😀").unwrap();
    assert_eq!(*text, [0x61, 0xd83d, 0xde00]);
    assert_eq!(text.try_assign_str("a😀😀").unwrap_err().size, 5);
    text.try_assign(&[0xd800]).unwrap();
    text.try_assign_iter([1, 2, 3, 4].into_iter()).unwrap();
    assert_eq!(*text, [1, 2, 3, 4]);
    assert!(text.try_assign(&[0; 5]).is_err());
    text.clear();
    assert!(text.is_empty());
}

#[test]
fn wide_strings_keep_their_bound() {
    wide_texts::<FlatWString<4>>();
    wide_texts::<BoundedWString<4>>();
    wide_texts::<RosWString<4>>();
    assert_eq!(<WString as WideTextField>::BOUND, None);
}

fn lists<L: SequenceField<u32>>() {
    let mut list = L::default();
    list.try_extend_from_slice(&[1, 2]).unwrap();
    list.try_push(3).unwrap();
    *list.try_push_default().unwrap() += 4;
    assert_eq!(*list, [1, 2, 3, 4]);
    assert_eq!(list.try_push(5).unwrap_err().size, 5);
    assert_eq!(list.try_push_default().unwrap_err().bound, 4);
    assert_eq!(list.try_extend_from_slice(&[5, 6]).unwrap_err().size, 6);
    assert_eq!(list.try_resize(7).unwrap_err().size, 7);
    list.try_resize(1).unwrap();
    list.try_resize(3).unwrap();
    assert_eq!(*list, [1, 0, 0]);
    list.try_assign(&[9; 4]).unwrap();
    assert!(list.try_assign(&[9; 5]).is_err());
    list.truncate(2);
    list[0] = 7;
    assert_eq!(*list, [7, 9]);
}

#[test]
fn sequences_keep_their_bound() {
    lists::<FlatSequence<u32, 4>>();
    lists::<BoundedVec<u32, 4>>();
    lists::<RosSequence<u32, 4>>();
}

fn tables<M: MapField<i32, u8>>() {
    let mut table = M::default();
    for (key, value) in [(5, 50), (-1, 10), (3, 30)] {
        assert_eq!(table.try_insert(key, value).unwrap(), None);
    }
    assert_eq!(table.try_insert(3, 31).unwrap(), Some(30));
    assert_eq!(table.try_insert(4, 40).unwrap_err().size, 4);
    assert_eq!(table.try_entry(4).unwrap_err().bound, 3);
    let entries: Vec<_> = table.entries().map(|(key, value)| (*key, *value)).collect();
    assert_eq!(entries, [(-1, 10), (3, 31), (5, 50)]);
    assert_eq!((table.get(&5), table.get(&4)), (Some(&50), None));
    *table.get_mut(&5).unwrap() += 1;
    assert_eq!((table.remove(&5), table.remove(&5)), (Some(51), None));
    *table.try_entry(0).unwrap() = 1;
    assert_eq!(*table.try_entry(3).unwrap(), 0, "an entry begins with its default");
    let entries: Vec<_> = table.entries().map(|(key, value)| (*key, *value)).collect();
    assert_eq!(entries, [(-1, 10), (0, 1), (3, 0)]);
    table.clear();
    assert_eq!(table.entry_count(), 0);
}

#[test]
fn maps_are_sorted_and_keep_their_bound() {
    tables::<FlatMap<i32, u8, 3>>();
    tables::<BoundedMap<i32, u8, 3>>();
}

fn maybes<M: OptionalField<FlatString<3>> + Value>() {
    let mut maybe = M::default();
    assert!(maybe.as_ref().is_none());
    maybe.set_default().try_assign("abc").unwrap();
    let copy = maybe.clone();
    maybe.set("x".try_into().unwrap());
    assert_eq!((&**maybe.as_ref().unwrap(), &**copy.as_ref().unwrap()), ("x", "abc"));
    maybe.as_mut().unwrap().clear();
    assert_ne!(maybe, copy);
    maybe.clear();
    assert!(maybe.as_ref().is_none());
}

#[test]
fn optional_values_come_and_go() {
    maybes::<FlatOptional<FlatString<3>>>();
    maybes::<Option<FlatString<3>>>();
    assert_eq!(FlatOptional::from(Some(3)).take(), Some(3));
    assert_eq!(FlatOptional::<i32>::from(None).take(), None);
}

#[test]
fn what_a_container_holds_is_dropped_once() {
    let element = Arc::new(());
    let count = || Arc::strong_count(&element) - 1;
    let mut sequence = BoundedVec::<Arc<()>, 3>::new();
    sequence.try_extend([element.clone(), element.clone()]).unwrap();
    assert!(sequence.try_extend([element.clone(), element.clone()]).is_err());
    assert_eq!(count(), 3);
    drop(sequence);
    assert_eq!(count(), 0);
    let mut optional = FlatOptional::some(element.clone());
    optional.set(element.clone());
    assert_eq!(count(), 1);
    assert!(optional.take().is_some());
    assert_eq!(count(), 0);
    drop(FlatOptional::some(element.clone()));
    assert_eq!(count(), 0);
    // Flat sequences of types that are not flat, which generated types never contain.
    let mut strings = FlatSequence::<String, 3>::default();
    strings.try_push("a".into()).unwrap();
    strings.try_push("b".into()).unwrap();
    assert_eq!(strings.clone().pop().unwrap(), "b");
    strings.truncate(1);
    strings.try_assign(&["c".into(), "d".into()]).unwrap();
    assert_eq!(*strings, ["c", "d"]);
}

/// A value whose length, its first bytes, another process has overwritten.
fn spoilt<T: InPlace>(length: u32) -> Box<T> {
    let mut value = boxed::<T>();
    // SAFETY: flat containers begin with a length, and any length is safe.
    unsafe { (&raw mut *value).cast::<u32>().write(length) };
    value
}

#[test]
fn lengths_are_clamped_at_every_access() {
    let mut text = spoilt::<FlatString<4>>(u32::MAX);
    // SAFETY: the characters follow the length.
    unsafe { (&raw mut *text).cast::<u8>().add(4).copy_from(b"abcd".as_ptr(), 4) };
    assert_eq!((text.len(), text.as_str()), (4, "abcd"));
    assert_eq!(text.try_push_str("e").unwrap_err().size, 5);
    // SAFETY: as above.
    unsafe { (&raw mut *text).cast::<u8>().add(6).write(0xff) };
    assert_eq!(text.as_str(), "ab", "up to the first malformed character");

    let mut sequence = FlatSequence::<u32, 2>::default();
    sequence.try_extend_from_slice(&[1, 2]).unwrap();
    // SAFETY: the length is first.
    unsafe { (&raw mut sequence).cast::<u32>().write(77) };
    assert_eq!(*sequence, [1, 2]);
    assert_eq!(sequence.pop(), Some(2));
    assert_eq!(*sequence, [1]);

    let mut map = FlatMap::<u32, u32, 2>::default();
    map.try_insert(1, 2).unwrap();
    map.try_insert(2, 3).unwrap();
    // SAFETY: the length is first.
    unsafe { (&raw mut map).cast::<u32>().write(u32::MAX) };
    assert_eq!(map.iter().count(), 2);
    assert!(map.try_insert(3, 4).is_err());
    map.clear();
    assert!(map.is_empty());

    let mut wide = FlatWString::<2>::default();
    wide.try_assign(&[1, 2]).unwrap();
    // SAFETY: the length is first.
    unsafe { (&raw mut wide).cast::<u32>().write(3) };
    assert_eq!(*wide, [1, 2]);
}

#[test]
fn validation_says_what_is_wrong() {
    fn check<T: Value>(value: &T) -> String {
        // SAFETY: a value of T; validation reads only its initialized part.
        unsafe { T::validate_at(value, &Validation { body_len: 0 }) }.unwrap_err().to_string()
    }
    assert_eq!(check(&*spoilt::<FlatString<4>>(5)), "message: length 5 exceeds its bound 4");
    assert_eq!(check(&*spoilt::<FlatWString<4>>(5)), "message: length 5 exceeds its bound 4");
    assert_eq!(check(&*spoilt::<FlatMap<u8, u8, 4>>(5)), "message: length 5 exceeds its bound 4");
    let mut words = FlatSequence::<FlatString<3>, 2>::default();
    words.try_push("ab".try_into().unwrap()).unwrap();
    words.try_push("cd".try_into().unwrap()).unwrap();
    // SAFETY: {u32 len} {u32 len; char[4]} {u32 len; char[4]}: the second character of the second word.
    unsafe { (&raw mut words).cast::<u8>().add(4 + 8 + 4 + 1).write(0xc3) };
    assert_eq!(check(&words), "[1]: the text is not UTF-8 from byte 1 on");
    let mut map = FlatMap::<u8, bool, 3>::default();
    for key in [1, 2, 3] {
        map.try_insert(key, true).unwrap();
    }
    // SAFETY: {u32 len} {u8 key; u8 value}...: the key of the last entry.
    unsafe { (&raw mut map).cast::<u8>().add(4 + 4).write(2) };
    assert_eq!(check(&map), "message: key 2 is not greater than the key before it");
    let mut optional = FlatOptional::some(1u8);
    // SAFETY: the presence byte is first.
    unsafe { (&raw mut optional).cast::<u8>().write(2) };
    assert!(optional.is_none());
    assert_eq!(check(&optional), "message: 2 is not a boolean; only 0 and 1 are");
}
