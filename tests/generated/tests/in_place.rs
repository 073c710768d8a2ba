//! Construction in place costs only the occupied part: no allocation, and unoccupied bytes are not touched.

mod common;

use common::Memory;
use situ::layout::{Flat, Heap, InPlace, Message};
use situ::wire::{Encoding, decode, encode_into};
use situ_generated::edges::edges::{Frame, Node, Version2};
use situ_generated::kitchen::kitchen::{Containers, Heaped};
use situ_testkit::allocator::{Calls, CountingAllocator, counting};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

// u64 number; {u32 len; u8[7500000]} data; {u32 len; char[16]} source
const DATA: usize = 8;
const SOURCE: usize = DATA + 4 + 7_500_000;

/// The bytes that are not 0xcc any more.
fn touched(memory: &Memory) -> Vec<usize> {
    (0..size_of::<Frame>()).filter(|at| memory.byte(*at) != 0xcc).collect()
}

#[test]
fn a_large_message_is_constructed_by_its_lengths() {
    assert_eq!(size_of::<Frame>(), SOURCE + 20);
    let mut memory = Memory::new(size_of::<Frame>());
    let at = memory.as_mut_ptr().cast::<Frame>();
    // SAFETY: the memory has the size of a Frame and a greater alignment.
    let ((), calls) = counting(|| unsafe { Message::init_at(at, &()) });
    assert_eq!(calls, Calls::NONE);
    // The number, the two lengths, and the end of the empty text.
    let expected: Vec<usize> = (0..DATA + 4).chain(SOURCE..SOURCE + 5).collect();
    assert_eq!(touched(&memory), expected);
}

#[test]
fn a_large_message_is_copied_by_what_it_holds() {
    let mut memory = Memory::new(size_of::<Frame>());
    let mut copy = Memory::new(size_of::<Frame>());
    // SAFETY: the memory has the size of a Frame and a greater alignment; it is initialized before it is
    // borrowed.
    unsafe {
        let frame = memory.as_mut_ptr().cast::<Frame>();
        Message::init_at(frame, &());
        let ((), calls) = counting(|| {
            (*frame).number = 7;
            (*frame).set_data(&[1, 2, 3]).unwrap();
            (*frame).set_source("left").unwrap();
            (*frame).clone_at(copy.as_mut_ptr().cast());
        });
        assert_eq!(calls, Calls::NONE);
        assert_eq!(copy.message::<Frame>(), &*frame);
    }
    let expected: Vec<usize> = (0..DATA + 4 + 3).chain(SOURCE..SOURCE + 4 + 5).collect();
    assert_eq!(touched(&copy), expected);
}

#[test]
fn flat_messages_are_encoded_and_decoded_without_allocating() {
    let heap = common::containers();
    let bytes = situ::wire::encode_to_vec(&heap, Encoding::Xcdr1).unwrap();
    let mut flat = Containers::<Flat>::default();
    let mut buffer = vec![0; bytes.len()];
    let ((), calls) = counting(|| {
        decode(&mut flat, &bytes).unwrap();
        encode_into(&flat, &mut buffer, Encoding::Xcdr1).unwrap();
    });
    assert_eq!(calls, Calls::NONE);
    assert_eq!(buffer, bytes);
}

#[test]
fn vectors_keep_their_memory() {
    let heap = common::containers();
    let bytes = situ::wire::encode_to_vec(&heap, Encoding::Xcdr1).unwrap();
    let mut again = Containers::<Heap>::default();
    let ((), first) = counting(|| decode(&mut again, &bytes).unwrap());
    let ((), second) = counting(|| decode(&mut again, &bytes).unwrap());
    assert_eq!(again, heap);
    // Entries of maps and present values are constructed again; elements of sequences and texts are not.
    assert!(second.allocated < first.allocated / 2, "{first:?}, then {second:?}");
}

#[test]
fn a_length_that_lies_allocates_nothing() {
    // A sequence of booleans behind an empty wide string: it claims 2^32 - 1 of them, and none follows.
    let (result, calls) = counting(|| {
        let mut value = Heaped::new();
        decode(&mut value, &[0, 1, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255])
    });
    assert!(result.is_err());
    assert!(calls.bytes < 1000, "{calls:?}");
}

#[test]
fn a_message_cannot_take_much_more_memory_than_its_length() {
    // Growing elements: each may be four bytes that mean "nothing follows", and takes 40 bytes of memory or
    // more.
    let count = 40_000u32;
    let mut message = vec![0, 9, 0, 0];
    let body = 4 + 4 + 4 + 4 + 4 + 4 + 4 * count;
    message.extend(body.to_le_bytes());
    message.extend(1u32.to_le_bytes()); // a
    message.extend(1u32.to_le_bytes()); // b, one byte
    message.extend([0, 0, 0, 0]);
    message.extend(7u32.to_le_bytes()); // c
    message.extend((4 + 4 * count).to_le_bytes());
    message.extend(count.to_le_bytes());
    message.extend(std::iter::repeat_n([0u8; 4], count as usize).flatten());
    let (value, calls) = counting(|| {
        let mut value = Version2::new();
        decode(&mut value, &message).map(|()| value)
    });
    assert_eq!(value.unwrap().more.len(), count as usize);
    assert!(calls.bytes < 64 * message.len(), "{calls:?} for {}", message.len());
    // Deep nesting ends.
    let mut message = vec![0, 1, 0, 0];
    for _ in 0..5000 {
        message.extend([1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]);
    }
    let (result, calls) = counting(|| decode(&mut Node::new(), &message));
    assert!(result.unwrap_err().to_string().contains("nested more than 128 deep"));
    assert!(calls.bytes < 100_000, "{calls:?}");
}
