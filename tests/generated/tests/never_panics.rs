//! No input, from the wire or from another process's memory, causes a panic or is misread.

mod common;

use common::{Memory, vector};
use proptest::prelude::*;
use situ::layout::visit::Structure;
use situ::layout::{BulkField, Flat, FlatMessage, Heap, Message, boxed};
use situ::wire::{Encoding, bulk_lengths, decode, decode_with_body, encode_to_vec, encode_to_vec_with_body};
use situ_generated::edges::edges;
use situ_generated::kitchen::kitchen::*;

/// A value that was read is written again as the same value.
fn decode_heap<T: Structure + Default>(bytes: &[u8]) {
    let mut value = T::default();
    if decode(&mut value, bytes).is_ok() {
        for encoding in [Encoding::Xcdr1, Encoding::Xcdr2] {
            let bytes = encode_to_vec(&value, encoding).unwrap();
            let mut back = T::default();
            decode(&mut back, &bytes).unwrap();
            assert_eq!(encode_to_vec(&back, encoding).unwrap(), bytes);
        }
    }
}

fn decode_flat<T: FlatMessage>(bytes: &[u8]) {
    let Ok(lengths) = bulk_lengths::<T>(bytes) else { return };
    let Some(size) = T::body_size(&lengths).filter(|size| *size < 1 << 20) else { return };
    let mut body = Memory::new(size);
    let mut value = boxed::<T>();
    let decoded = decode_with_body(&mut *value, body.bytes_mut(), bytes);
    if size_of::<T::BulkLengths>() == 0 && decoded.is_err() {
        return;
    }
    // If there are bulk members, their lengths come from an earlier decoding.
    decoded.unwrap();
    // SAFETY: a valid message.
    unsafe { T::validate(&raw const *value, size) }.unwrap();
    encode_to_vec_with_body(&*value, body.bytes(), Encoding::Xcdr2).unwrap();
}

/// A valid message may be read, with any bytes.
fn validate<T: FlatMessage>(head: &[u8], body_len: usize) {
    let mut memory = Memory::new(size_of::<T>());
    let count = head.len().min(size_of::<T>());
    memory.bytes_mut()[..count].copy_from_slice(&head[..count]);
    let at = memory.as_mut_ptr().cast::<T>();
    // SAFETY: the memory has T's size and a greater alignment, and is initialized. Once validated, it holds a
    // T.
    unsafe {
        if T::validate(at, body_len).is_ok() {
            let value = &*at;
            assert!(!format!("{value:?}").is_empty());
            drop(Box::new(value.clone()));
            let body = Memory::new(body_len);
            let _ = encode_to_vec_with_body(value, body.bytes(), Encoding::Xcdr1);
        }
    }
}

fn decode_all(bytes: &[u8]) {
    decode_heap::<Primitives>(bytes);
    decode_heap::<Containers<Heap>>(bytes);
    decode_heap::<Optionals<Heap>>(bytes);
    decode_heap::<Unions<Heap>>(bytes);
    decode_heap::<Derived<Heap>>(bytes);
    decode_heap::<Growing>(bytes);
    decode_heap::<Changing>(bytes);
    decode_heap::<Heaped>(bytes);
    decode_heap::<Thicket>(bytes);
    decode_heap::<edges::Node>(bytes);
    decode_heap::<edges::Version2>(bytes);
    decode_flat::<Containers<Flat>>(bytes);
    decode_flat::<Optionals<Flat>>(bytes);
    decode_flat::<Unions<Flat>>(bytes);
    decode_flat::<Derived<Flat>>(bytes);
    decode_flat::<edges::Picture>(bytes);
}

fn validate_all(head: &[u8], body_len: usize) {
    validate::<Primitives>(head, body_len);
    validate::<Containers<Flat>>(head, body_len);
    validate::<Optionals<Flat>>(head, body_len);
    validate::<Unions<Flat>>(head, body_len);
    validate::<Derived<Flat>>(head, body_len);
    validate::<edges::HoldsPlain>(head, body_len);
}

const CDR: [&str; 9] = [
    "primitives",
    "containers",
    "optionals",
    "unions",
    "derived",
    "growing",
    "changing",
    "heaped",
    "thicket",
];
const FLAT: [&str; 5] = ["primitives", "containers", "optionals", "unions", "derived"];

/// A vector with some bytes changed.
fn mangled(mut bytes: Vec<u8>, changes: &[(prop::sample::Index, u8)]) -> Vec<u8> {
    for (at, byte) in changes {
        let at = at.index(bytes.len());
        bytes[at] = *byte;
    }
    bytes
}

fn changes() -> impl Strategy<Value = Vec<(prop::sample::Index, u8)>> {
    // Small numbers, and those at the limit of a byte or a sign, find more errors than others.
    let byte = prop_oneof![0..4u8, Just(0x3f), Just(0x7f), Just(0x80), Just(0xff), any::<u8>()];
    prop::collection::vec((any::<prop::sample::Index>(), byte), 0..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn random_messages(kind in 0..12u8, options in 0..4u8, bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let message: Vec<u8> = [0, kind, 0, options].into_iter().chain(bytes).collect();
        decode_all(&message);
    }

    #[test]
    fn sparse_messages(kind in 0..12u8, bytes in prop::collection::vec(0..4u8, 0..200)) {
        let message: Vec<u8> = [0, kind, 0, 0].into_iter().chain(bytes).collect();
        decode_all(&message);
    }

    #[test]
    fn mangled_messages(
        name in prop::sample::select(&CDR[..]),
        version in 1..=2u8,
        big in any::<bool>(),
        changes in changes(),
        cut in any::<prop::sample::Index>(),
    ) {
        let order = if big { "be" } else { "le" };
        let mut bytes = mangled(vector(&format!("cdr/{name}.xcdr{version}.{order}.bin")), &changes);
        decode_all(&bytes);
        bytes.truncate(cut.index(bytes.len()));
        decode_all(&bytes);
    }

    #[test]
    fn random_memory(bytes in prop::collection::vec(any::<u8>(), 0..1000), body_len in 0..200usize) {
        validate_all(&bytes, body_len);
    }

    #[test]
    fn mangled_memory(
        name in prop::sample::select(&FLAT[..]),
        changes in changes(),
        body_len in 0..400usize,
    ) {
        let bytes = vector(&format!("flat/{name}.head.bin"));
        validate_all(&mangled(bytes, &changes), body_len);
    }
}

#[test]
fn bulk_elements_are_looked_at_when_they_are_read() {
    let picture = edges::PictureBulkLengths { pixels: 2, marks: 3 };
    let size = edges::Picture::<Flat>::body_size(&picture).unwrap();
    assert_eq!(size, 64 + 3);
    assert_eq!(edges::Picture::<Flat>::body_size(&edges::PictureBulkLengths { pixels: 0, marks: 6 }), None);
    let mut body = Memory::new(size);
    let mut head = boxed::<edges::Picture>();
    // SAFETY: the box is overwritten in place; its default needs no drop.
    unsafe { Message::init_at(&raw mut *head, &picture) };
    assert!(head.marks.slice(body.bytes()).is_err(), "0xcc is no boolean");
    head.marks.slice_mut(body.bytes_mut()).unwrap()[1] = true;
    assert_eq!(head.marks.slice(body.bytes()).unwrap(), [false, true, false]);
    assert_eq!(head.pixels.elements(body.bytes()).unwrap().len(), 2);
    assert!(head.pixels.slice(&body.bytes()[..5]).is_err());
}
