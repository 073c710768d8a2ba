//! ROS storage without C: memory, spare elements, and text that C wrote.

use std::mem::MaybeUninit;

use situ_layout::ros::shares_memory_with_c;
use situ_layout::{BoundError, RosSequence, RosString, RosWString, SequenceField, TextField};

/// The fields of a C string or sequence.
#[repr(C)]
struct Raw<T> {
    data: *mut T,
    size: usize,
    capacity: usize,
}

/// The fields as C sees them.
fn raw<T, U>(of: &U) -> &Raw<T> {
    assert_eq!((size_of::<U>(), align_of::<U>()), (size_of::<Raw<T>>(), align_of::<Raw<T>>()));
    // SAFETY: the tests hand over strings and sequences of T, which have this layout.
    unsafe { &*(&raw const *of).cast() }
}

#[test]
fn an_empty_string_has_its_nul() {
    let string = RosString::<8>::default();
    let c: &Raw<u8> = raw(&string);
    // SAFETY: there is memory for at least one byte.
    assert_eq!((c.size, unsafe { *c.data }, c.capacity > c.size), (0, 0, true));
    let wide = RosWString::<8>::default();
    let c: &Raw<u16> = raw(&wide);
    // SAFETY: as above.
    assert_eq!((c.size, unsafe { *c.data }, c.capacity > c.size), (0, 0, true));
    let list = RosSequence::<u32>::new();
    assert!(raw::<u32, _>(&list).data.is_null());
}

#[test]
fn the_capacity_of_a_string_counts_the_nul() {
    let mut string = RosString::<{ usize::MAX }>::default();
    for end in 1..200 {
        string.try_push_str("x").unwrap();
        let c: &Raw<u8> = raw(&string);
        assert!(c.size == end && c.capacity > end);
        // SAFETY: the capacity is greater than the size.
        assert_eq!(unsafe { *c.data.add(end) }, 0);
    }
    assert_eq!(string.clone(), string);
    assert_eq!(string.into_string(), "x".repeat(199));
}

#[test]
fn text_that_c_wrote_need_not_be_utf8() {
    let mut string = RosString::<9>::try_from_str("abcde").unwrap();
    // SAFETY: the third of five bytes.
    unsafe { raw::<u8, _>(&string).data.add(2).write(0xff) };
    assert_eq!((string.as_str(), string.as_bytes()), ("ab", &b"ab\xffde"[..]));
    assert_eq!(string.to_text(), "ab\u{fffd}de");
    assert_eq!(string.clone().as_bytes(), b"ab\xffde");
    assert_eq!(string.clone().into_string(), "ab\u{fffd}de");
    string.try_assign("whole").unwrap();
    assert_eq!(string, "whole");
}

#[test]
fn spare_places_hold_what_c_may_finalize() {
    let mut words = RosSequence::<RosString>::new();
    for at in 0..9 {
        words.try_push(RosString::from(format!("word {at}"))).unwrap();
    }
    words.truncate(2);
    assert_eq!(words.pop().unwrap(), "word 1");
    let c: &Raw<RosString> = raw(&words);
    assert!(c.size == 1 && c.capacity >= 9);
    for at in c.size..c.capacity {
        // SAFETY: all places are valid values.
        let spare = unsafe { &*c.data.add(at) };
        assert!(raw::<u8, _>(spare).data.is_null(), "a place that is not used owns nothing");
    }
    words.try_resize(3).unwrap();
    assert_eq!(*words, ["word 0", "", ""]);
    assert!(!raw::<u8, _>(&words[2]).data.is_null(), "a default string has its NUL");
    // C shrinks a sequence by changing the size.
    // SAFETY: the elements stay valid values.
    unsafe { (&raw mut words).cast::<usize>().add(1).write(1) };
    assert_eq!(*words, ["word 0"]);
    words.try_push("again".into()).unwrap();
    assert_eq!(*words.into_vec(), ["word 0", "again"]);
}

#[test]
fn elements_that_cannot_be_written_leave_what_was_there() {
    let mut words = RosSequence::<RosString>::from(vec![RosString::from("first")]);
    let fill = |places: &mut [MaybeUninit<RosString>]| {
        places[0].write("second".into());
        Err(BoundError::new(0, 0))
    };
    // SAFETY: `fill` fails.
    assert!(unsafe { words.try_extend_with(2, fill) }.is_err());
    assert_eq!(*words, ["first"]);
    let fill = |places: &mut [MaybeUninit<RosString>]| {
        for place in places {
            place.write("more".into());
        }
        Ok::<_, BoundError>(())
    };
    // SAFETY: `fill` writes all elements.
    unsafe { words.try_extend_with(2, fill) }.unwrap();
    assert_eq!(*words, ["first", "more", "more"]);
    let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        // SAFETY: `fill` unwinds.
        let _ = unsafe { words.try_extend_with::<BoundError>(1, |_| panic!("as it should")) };
    }));
    assert!(unwound.is_err() && words.is_empty());
}

#[test]
fn sequences_become_vectors_by_one_move() {
    // This program does not use `use_c_allocator!`, so no memory is handed over.
    assert!(!shares_memory_with_c());
    let numbers: Vec<u64> = (0..1000).collect();
    let address = numbers.as_ptr();
    let sequence = RosSequence::from(numbers.clone());
    assert_ne!(sequence.as_ptr(), address);
    assert_eq!(sequence.memory_capacity(), 1000, "as much as there is, no more");
    assert_eq!(Vec::from(sequence), numbers);
    let words = RosSequence::from(vec![RosString::from("a"), "b".into()]);
    assert_eq!(words.into_iter().map(String::from).collect::<Vec<_>>(), ["a", "b"]);
    assert!(RosSequence::<u8>::from(Vec::with_capacity(10)).into_vec().is_empty());
}
