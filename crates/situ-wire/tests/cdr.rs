//! The bytes of CDR, derived by hand from the rules of `spec/cdr.md`, for encoding and decoding.

mod common;

use std::collections::BTreeMap;

use common::structures;
use situ_layout::{
    BoundedString, BoundedVec, BulkRef, FlatOptional, FlatSequence, FlatString, UNBOUNDED, WString,
};
use situ_wire::{
    ByteOrder, DecodeError, Encapsulation, Encoding, decode, decode_with_body, encode_into, encode_to_vec,
    encode_to_vec_with_body, encoded_size,
};

structures! {
    Plain: Final { 0 a: u8, 1 b: f64, 2 c: u16, 3 d: i64, 4 e: bool, }
    Texts: Final { 0 text: String, 1 wide: WString, 2 more: Vec<String>, }
    Lists: Final { 0 bytes: Vec<u8>, 1 doubles: Vec<f64>, 2 plains: Vec<Pair>, 3 array: [[u16; 2]; 2], 4 texts: [[String; 1]; 2], }
    Pair: Final { 0 x: u8, 1 y: u16, }
    Maps: Final { 0 numbers: BTreeMap<u8, u16>, 1 texts: BTreeMap<String, u8>, }
    Optionals: Final { 0 a: u8, 7 here: Option<u32> [optional], 300 gone: Option<u64> [optional], 301 d: u64, }
    OldAppendable: Appendable { 0 a: u16, }
    NewAppendable: Appendable { 0 a: u16, 1 b: String, 2 c: u32, }
    Nest: Final { 0 inner: Vec<NewAppendable>, 1 after: u8, }
    OldNest: Final { 0 inner: Vec<OldAppendable>, 1 after: u8, }
    Mutable: Mutable { 1 a: u8, 2 b: String, 3 c: Option<u16> [optional], 0x3f01 d: u64, 5 e: u16 [must_understand], }
    Narrow: Mutable { 5 e: u16, 1 a: u8, }
    Blind: Mutable { 1 a: u8, }
    Big: Mutable { 1 bytes: Vec<u8>, 2 after: u64, }
    Bounded: Final { 0 text: BoundedString<3>, 1 list: BoundedVec<u16, 2>, }
    Flat: Final { 0 text: FlatString<3>, 1 list: FlatSequence<u16, 2>, 2 maybe: FlatOptional<u8> [optional], }
    Heap: Final { 0 text: String, 1 list: Vec<u16>, 2 maybe: Option<u8> [optional], }
    Bulky: Final { 0 before: u8, 1 first: BulkRef<u8, UNBOUNDED>, 2 second: BulkRef<f32, 4>, }
    Unbulky: Final { 0 before: u8, 1 first: Vec<u8>, 2 second: Vec<f32>, }
    Tree: Final { 0 branches: Vec<Tree>, }
}

/// Converts `"00 01 | 02"` into bytes. Bars and blanks only help the reader.
fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn check<T>(value: &T, encoding: Encoding, bytes: &str)
where
    T: situ_layout::visit::Structure + Default,
{
    let bytes = hex(bytes);
    assert_eq!(encode_to_vec(value, encoding).unwrap(), bytes, "{value:?}");
    assert_eq!(encoded_size(value, encoding).unwrap(), bytes.len());
    let mut buffer = vec![0xcc; bytes.len()];
    assert_eq!(encode_into(value, &mut buffer, encoding).unwrap(), bytes.len());
    assert_eq!(buffer, bytes);
    let mut back = T::default();
    decode(&mut back, &bytes).unwrap();
    assert_eq!(back, *value);
    // Every truncated message is an error or decodes; it never panics.
    for length in 0..bytes.len() {
        let _ = decode(&mut T::default(), &bytes[..length]);
    }
}

#[test]
fn numbers_are_aligned_to_their_size_or_to_four() {
    let value = Plain { a: 1, b: -2.5, c: 0x0304, d: -2, e: true };
    check(
        &value,
        Encoding::Xcdr1,
        "00010000 | 01 00000000000000 | 00000000000004c0 | 0403 000000000000 | feffffffffffffff | 01",
    );
    check(
        &value,
        Encoding::Xcdr2,
        "00070000 | 01 000000 | 00000000000004c0 | 0403 0000 | feffffffffffffff | 01",
    );
}

#[test]
fn both_byte_orders_are_read() {
    let mut value = Plain::default();
    decode(
        &mut value,
        &hex("00000000 | 01 00000000000000 | c004000000000000 | 0304 000000000000 | fffffffffffffffe | 01"),
    )
    .unwrap();
    assert_eq!(value, Plain { a: 1, b: -2.5, c: 0x0304, d: -2, e: true });
    let mut lists = Lists::default();
    let big = hex(
        "00000000 | 00000002 0102 0000 | 00000001 00000000 | 4000000000000000 | 00000001 07 00 0008 | 0001 0002 0003 0004 |
         00000002 61 00 0000 | 00000001 00",
    );
    decode(&mut lists, &big).unwrap();
    assert_eq!(lists, some_lists());
    let mut texts = Texts::default();
    decode(&mut texts, &hex("00000000 | 00000001 00 000000 | 00000002 00000061 00000062 | 00000000"))
        .unwrap();
    assert_eq!(texts.wide.to_vec(), [0x61, 0x62]);
}

fn some_lists() -> Lists {
    Lists {
        bytes: vec![1, 2],
        doubles: vec![2.0],
        plains: vec![Pair { x: 7, y: 8 }],
        array: [[1, 2], [3, 4]],
        texts: [["a".into()], ["".into()]],
    }
}

#[test]
fn sequences_and_arrays_are_delimited_in_version_2_unless_primitive() {
    check(
        &some_lists(),
        Encoding::Xcdr1,
        "00010000 | 02000000 0102 0000 | 01000000 00000000 | 0000000000000040 | 01000000 07 00 0800 | 0100 0200 0300 0400 |
         02000000 61 00 0000 | 01000000 00",
    );
    check(
        &some_lists(),
        Encoding::Xcdr2,
        "00070000 | 02000000 0102 0000 | 01000000 0000000000000040 | 08000000 01000000 07 00 0800 |
         0100 0200 0300 0400 | 0d000000 02000000 61 00 0000 01000000 00",
    );
}

#[test]
fn wide_strings_have_32_bit_units_in_version_1_and_count_bytes_in_version_2() {
    let mut value = Texts { text: "hé".into(), more: vec!["".into(), "xy".into()], ..Texts::default() };
    value.wide.try_assign_str("a€").unwrap();
    check(
        &value,
        Encoding::Xcdr1,
        "00010000 | 04000000 68c3a900 | 02000000 61000000 ac200000 | 02000000 01000000 00 000000 03000000 787900",
    );
    check(
        &value,
        Encoding::Xcdr2,
        "00070000 | 04000000 68c3a900 | 04000000 6100ac20 | 13000000 02000000 01000000 00 000000 03000000 787900",
    );
}

#[test]
fn maps_are_delimited_in_version_2_unless_primitive() {
    let value =
        Maps { numbers: BTreeMap::from([(2, 3), (1, 4)]), texts: BTreeMap::from([("b".to_owned(), 1)]) };
    check(&value, Encoding::Xcdr1, "00010000 | 02000000 01 00 0400 02 00 0300 | 01000000 02000000 6200 01");
    check(
        &value,
        Encoding::Xcdr2,
        "00070000 | 02000000 01 00 0400 02 00 0300 | 0b000000 01000000 02000000 6200 01",
    );
    // In any order. The last of equal keys wins.
    let mut back = Maps::default();
    decode(&mut back, &hex("00010000 | 03000000 09 00 0100 02 00 0300 09 00 0500 | 00000000")).unwrap();
    assert_eq!(back.numbers, BTreeMap::from([(2, 3), (9, 5)]));
}

#[test]
fn optional_members_are_parameters_in_version_1_and_flagged_in_version_2() {
    let value = Optionals { a: 1, here: Some(2), gone: None, d: 3 };
    check(
        &value,
        Encoding::Xcdr1,
        "00010000 | 01 000000 | 0700 0400 02000000 | 2c01 0000 | 0300000000000000",
    );
    check(&value, Encoding::Xcdr2, "00070000 | 01 01 0000 02000000 | 00 000000 | 0300000000000000");
    // The value of a parameter is aligned from its own beginning; what follows it, from the message's
    // beginning.
    let value = Optionals { a: 1, here: None, gone: Some(4), d: 3 };
    check(
        &value,
        Encoding::Xcdr1,
        "00010000 | 01 000000 | 0700 0000 | 2c01 0800 0400000000000000 | 00000000 0300000000000000",
    );
    // An extended header is equivalent, and a padded length is accepted.
    let mut back = Optionals::default();
    decode(
        &mut back,
        &hex("00010000 | 01 000000 | 017f 0800 07000000 08000000 02000000 cccccccc | 2c01 0000 | 00000000 0300000000000000"),
    )
    .unwrap();
    assert_eq!(back, Optionals { a: 1, here: Some(2), gone: None, d: 3 });
    let error = decode(&mut back, &hex("00010000 | 01 000000 | 0800 0000")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "here, at byte 8: member 7 belongs here, but the header names 8; writer and reader have different types"
    );
}

#[test]
fn appendable_types_may_grow_at_their_end() {
    let new = NewAppendable { a: 5, b: "x".into(), c: 6 };
    check(&new, Encoding::Xcdr1, "00010000 | 0500 0000 02000000 7800 0000 06000000");
    check(&new, Encoding::Xcdr2, "00090000 | 10000000 0500 0000 02000000 7800 0000 06000000");
    let nest = Nest { inner: vec![new.clone(), new.clone()], after: 9 };
    let bytes = encode_to_vec(&nest, Encoding::Xcdr2).unwrap();
    let mut old = OldNest::default();
    decode(&mut old, &bytes).unwrap();
    assert_eq!(old, OldNest { inner: vec![OldAppendable { a: 5 }; 2], after: 9 });
    let bytes = encode_to_vec(&old, Encoding::Xcdr2).unwrap();
    let mut back = nest.clone();
    decode(&mut back, &bytes).unwrap();
    assert_eq!(back.inner[1], NewAppendable { a: 5, b: String::new(), c: 0 });
    // Version 1 has no delimiter: only the end of the message shows that a member is missing.
    let mut back = new;
    decode(&mut back, &hex("00010000 | 0700")).unwrap();
    assert_eq!(back, NewAppendable { a: 7, b: String::new(), c: 0 });
}

fn some_mutable() -> Mutable {
    Mutable { a: 1, b: "x".into(), c: None, d: 4, e: 5 }
}

#[test]
fn mutable_types_are_lists_of_members() {
    check(
        &some_mutable(),
        Encoding::Xcdr1,
        "00030000 | 0100 0100 01 000000 | 0200 0600 02000000 7800 0000 | 017f 0800 013f0000 08000000 0400000000000000 |
         0540 0200 0500 0000 | 027f 0000",
    );
    check(
        &some_mutable(),
        Encoding::Xcdr2,
        "000b0000 | 2a000000 | 01000000 01 000000 | 02000040 06000000 02000000 7800 0000 |
         013f0030 0400000000000000 | 05000090 0500",
    );
}

#[test]
fn mutable_members_come_in_any_order_and_may_be_unknown() {
    let bytes = encode_to_vec(&some_mutable(), Encoding::Xcdr2).unwrap();
    let mut narrow = Narrow::default();
    decode(&mut narrow, &bytes).unwrap();
    assert_eq!(narrow, Narrow { e: 5, a: 1 });
    let bytes1 = encode_to_vec(&some_mutable(), Encoding::Xcdr1).unwrap();
    decode(&mut narrow, &bytes1).unwrap();
    assert_eq!(narrow, Narrow { e: 5, a: 1 });
    for bytes in [&bytes, &bytes1] {
        let error = decode(&mut Blind::default(), bytes).unwrap_err();
        assert!(error.to_string().contains("member 5 is unknown here"), "{error}");
    }
    let mut wide = Mutable { b: "old".into(), c: Some(3), ..some_mutable() };
    decode(&mut wide, &encode_to_vec(&narrow, Encoding::Xcdr2).unwrap()).unwrap();
    assert_eq!(wide, Mutable { a: 1, e: 5, ..Mutable::default() });
}

#[test]
fn all_length_codes_are_read() {
    // Code 5: the string's length is also the member's length.
    let mut value = Mutable::default();
    decode(&mut value, &hex("000b0000 | 0a000000 | 02000050 02000000 7800")).unwrap();
    assert_eq!(value.b, "x");
    // Code 7 without further bytes, for an unknown member.
    decode(&mut value, &hex("000b0000 | 10000000 | 63000070 00000000 | 01000000 07 000000")).unwrap();
    assert_eq!(value, Mutable { a: 7, ..Mutable::default() });
    // Code 6: four bytes for each of two elements.
    decode(&mut value, &hex("000b0000 | 18000000 | 63000060 02000000 0000000000000000 | 01000000 08 000000"))
        .unwrap();
    assert_eq!(value.a, 8);
}

#[test]
fn long_parameters_get_an_extended_header() {
    let value = Big { bytes: vec![7; 70000], after: 1 };
    let bytes = encode_to_vec(&value, Encoding::Xcdr1).unwrap();
    assert_eq!(bytes[..20], hex("00030000 | 017f 0800 01000000 74110100 | 70110100"));
    assert_eq!(bytes[20 + 70000..], hex("0200 0800 0100000000000000 | 027f 0000"));
    assert_eq!(encoded_size(&value, Encoding::Xcdr1).unwrap(), bytes.len());
    let mut buffer = vec![0; bytes.len()];
    encode_into(&value, &mut buffer, Encoding::Xcdr1).unwrap();
    assert_eq!(buffer, bytes);
    let error = encode_into(&value, &mut buffer[1..], Encoding::Xcdr1).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("message: the message needs {} bytes, but the buffer has {}", bytes.len(), bytes.len() - 1)
    );
    let mut back = Big::default();
    decode(&mut back, &bytes).unwrap();
    assert_eq!(back, value);
}

#[test]
fn flat_and_heap_storage_have_the_same_bytes() {
    let heap = Heap { text: "abc".into(), list: vec![1, 2], maybe: Some(3) };
    let mut flat = Flat::default();
    for encoding in [Encoding::Xcdr1, Encoding::Xcdr2] {
        let bytes = encode_to_vec(&heap, encoding).unwrap();
        decode(&mut flat, &bytes).unwrap();
        assert_eq!(encode_to_vec(&flat, encoding).unwrap(), bytes);
    }
    assert_eq!((&*flat.text, &*flat.list, flat.maybe.as_ref()), ("abc", &[1, 2][..], Some(&3)));
    let long = encode_to_vec(&Heap { text: "abcd".into(), ..heap.clone() }, Encoding::Xcdr1).unwrap();
    assert_eq!(
        decode(&mut flat, &long).unwrap_err().to_string(),
        "text, at byte 4: length 4 exceeds its bound 3"
    );
    let long = encode_to_vec(&Heap { list: vec![0; 3], ..heap }, Encoding::Xcdr1).unwrap();
    assert_eq!(
        decode(&mut Bounded::default(), &long).unwrap_err().to_string(),
        "list, at byte 16: length 3 exceeds its bound 2"
    );
}

#[repr(align(64))]
struct Aligned([u8; 128]);

#[test]
fn bulk_members_are_sequences_on_the_wire() {
    let heap = Unbulky { before: 1, first: vec![1, 2, 3], second: vec![1.0, 2.0] };
    let mut bytes = encode_to_vec(&heap, Encoding::Xcdr1).unwrap();
    assert_eq!(bytes, hex("00010000 | 01 000000 | 03000000 010203 00 | 02000000 0000803f 00000040"));
    let mut body = Aligned([0; 128]);
    let mut flat = Bulky::default();
    decode_with_body(&mut flat, &mut body.0[..72], &bytes).unwrap();
    assert_eq!((flat.first.offset(), flat.first.len()), (0, 3));
    assert_eq!((flat.second.offset(), flat.second.len()), (64, 2));
    assert_eq!(flat.first.slice(&body.0).unwrap(), [1, 2, 3]);
    assert_eq!(flat.second.slice(&body.0).unwrap(), [1.0, 2.0]);
    assert_eq!(encode_to_vec_with_body(&flat, &body.0, Encoding::Xcdr1).unwrap(), bytes);
    let error = decode_with_body(&mut flat, &mut body.0[..71], &bytes).unwrap_err();
    assert_eq!(
        error.to_string(),
        "second, at byte 16: bulk data needs a body of 72 bytes, but it has 71; see `situ_wire::bulk_lengths`"
    );
    bytes[16] = 5;
    bytes.extend([0; 12]);
    let error = decode_with_body(&mut flat, &mut body.0, &bytes).unwrap_err();
    assert_eq!(error.to_string(), "second, at byte 20: length 5 exceeds its bound 4");
}

#[test]
fn headers_are_checked() {
    let fails = |bytes: &str| -> DecodeError { decode(&mut Pair::default(), &hex(bytes)).unwrap_err() };
    assert_eq!(fails("0001").to_string(), "message, at byte 0: 4 more bytes are needed, but only 2 are left");
    assert!(fails("00050000").to_string().contains("0x0005 is not a CDR encapsulation"));
    assert!(fails("00030000 01000200").to_string().contains("0x0003 is not that of Final types"));
    assert!(fails("00090000 01000200").to_string().contains("0x0009 is not that of Final types"));
    assert_eq!(
        fails("00010000 01").to_string(),
        "y, at byte 5: 1 more bytes are needed, but only 0 are left"
    );
    for id in 0..=0xffff {
        if let Some(encapsulation) = Encapsulation::from_id(id) {
            assert_eq!(encapsulation.id(), id);
            assert_eq!(encapsulation.order == ByteOrder::Big, id % 2 == 0);
        }
    }
}

#[test]
fn padding_that_the_options_announce_is_dropped() {
    let mut value = NewAppendable::default();
    // Two bytes of padding: without them the message ends behind `a`.
    decode(&mut value, &hex("00010002 | 0500 0000")).unwrap();
    assert_eq!(value.a, 5);
    // A message whose length is not a multiple of four has no padding, whatever its options say.
    let mut value = Plain::default();
    let mut bytes = encode_to_vec(&Plain { e: true, ..Plain::default() }, Encoding::Xcdr2).unwrap();
    bytes[3] = 3;
    decode(&mut value, &bytes).unwrap();
    assert!(value.e);
}

#[test]
fn impossible_lengths_are_errors() {
    let error = decode(&mut Texts::default(), &hex("00010000 | ffffffff 61")).unwrap_err();
    assert_eq!(error.to_string(), "text, at byte 4: a length of 4294967295 is impossible, with 1 bytes left");
    let error =
        decode(&mut Lists::default(), &hex("00010000 | 00000000 | 02000000 0000000000000000")).unwrap_err();
    assert_eq!(error.to_string(), "doubles, at byte 8: a length of 2 is impossible, with 8 bytes left");
    let error = decode(
        &mut Plain::default(),
        &hex("00070000 | 00 000000 0000000000000000 0000 0000 0000000000000000 02"),
    )
    .unwrap_err();
    assert_eq!(error.to_string(), "e, at byte 28: 2 is not a boolean; only 0 and 1 are");
    let error = decode(&mut Texts::default(), &hex("00010000 | 03000000 c32800")).unwrap_err();
    assert_eq!(error.to_string(), "text, at byte 8: the text is not UTF-8 from byte 0 on");
}

#[test]
fn nesting_is_bounded() {
    let mut tree = Tree::default();
    for _ in 0..63 {
        tree = Tree { branches: vec![tree] };
    }
    for encoding in [Encoding::Xcdr1, Encoding::Xcdr2] {
        let bytes = encode_to_vec(&tree, encoding).unwrap();
        let mut back = Tree::default();
        decode(&mut back, &bytes).unwrap();
        assert_eq!(back, tree);
    }
    let deeper = Tree { branches: vec![tree] };
    let error = encode_to_vec(&deeper, Encoding::Xcdr1).unwrap_err();
    assert!(error.to_string().ends_with("values are nested more than 128 deep"), "{error}");
    let mut bytes = hex("00010000");
    bytes.extend([1, 0, 0, 0].repeat(1000));
    let error = decode(&mut Tree::default(), &bytes).unwrap_err();
    assert!(error.to_string().ends_with("values are nested more than 128 deep"), "{error}");
}

#[test]
fn strings_are_read_as_other_writers_leave_them() {
    let mut texts = Texts::default();
    decode(&mut texts, &hex("00010000 | 00000000 | 00000000 | 01000000 02000000 6162")).unwrap();
    assert_eq!((&*texts.text, &*texts.more[0]), ("", "ab"));
}
