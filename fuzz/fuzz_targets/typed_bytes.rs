//! Any bytes as messages of generated types, compared with the reader that uses the schema: both must read
//! the same values.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use situ::layout::{Flat, FlatMessage, Heap, Message};
use situ::wire::{DecodeProblem, Encoding, decode, encode_to_vec};
use situ_generated::kitchen::kitchen as types;
use situ_schema::dynamic::{self, ReadProblem};
use situ_schema::{Format, Loader, Schema};

fn kitchen() -> &'static Schema {
    static KITCHEN: OnceLock<Schema> = OnceLock::new();
    KITCHEN.get_or_init(|| {
        let text = include_str!("../../spec/vectors/kitchen.idl");
        Loader::new().sealed().text("kitchen.idl", text, Format::Idl).load().unwrap()
    })
}

fn from_wire<T: Message>(bytes: &[u8]) {
    let id = kitchen().find(T::NAME).unwrap();
    let mut typed = T::default();
    let ours = decode(&mut typed, bytes);
    let dynamic = dynamic::from_cdr(kitchen(), id, bytes);
    match (ours, dynamic) {
        (Ok(()), Ok(value)) => {
            let bytes = encode_to_vec(&typed, Encoding::Xcdr2).unwrap();
            // One side keeps a map with the same key twice, the other loses a value.
            if let Ok(again) = dynamic::to_cdr(kitchen(), id, &value, Encoding::Xcdr2) {
                assert_eq!(again, bytes, "{}", T::NAME);
            }
        }
        (Err(_), Err(_)) => {}
        // They count memory in different ways.
        (Err(error), Ok(_)) if matches!(error.problem, DecodeProblem::TooMuchMemory { .. }) => {}
        (Ok(()), Err(error)) if error.problem == ReadProblem::TooManyValues => {}
        (ours, dynamic) => panic!("{}: {ours:?} but {:?}", T::NAME, dynamic.err()),
    }
}

fn from_memory<T: FlatMessage>(bytes: &[u8]) {
    let id = kitchen().find(T::NAME).unwrap();
    let mut head = vec![0u64; size_of::<T>().div_ceil(8)];
    let count = bytes.len().min(size_of::<T>());
    let (head_bytes, body) = bytes.split_at(count);
    for (word, bytes) in head.iter_mut().zip(head_bytes.chunks(8)) {
        let mut whole = [0; 8];
        whole[..bytes.len()].copy_from_slice(bytes);
        *word = u64::from_le_bytes(whole);
    }
    let flat: Vec<u8> = head.iter().flat_map(|it| it.to_le_bytes()).take(size_of::<T>()).collect();
    let at = head.as_mut_ptr().cast::<T>();
    // SAFETY: the memory is aligned for T, has its size, and is initialized; once validated it holds a T.
    let valid = unsafe { T::validate(at, body.len()).map(|()| format!("{:?}", &*at)) };
    if let Ok(shown) = valid {
        assert!(!shown.is_empty());
        let value = dynamic::from_flat(kitchen(), id, &flat, body);
        assert!(value.is_ok(), "{}: {:?}", T::NAME, value.err());
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    match choice % 8 {
        0 => from_wire::<types::Primitives>(bytes),
        1 => from_wire::<types::Containers<Heap>>(bytes),
        2 => from_wire::<types::Optionals<Heap>>(bytes),
        3 => from_wire::<types::Unions<Heap>>(bytes),
        4 => from_wire::<types::Derived<Heap>>(bytes),
        5 => from_wire::<types::Growing>(bytes),
        6 => from_wire::<types::Changing>(bytes),
        _ => from_wire::<types::Heaped>(bytes),
    }
    match choice % 5 {
        0 => from_memory::<types::Primitives>(bytes),
        1 => from_memory::<types::Containers<Flat>>(bytes),
        2 => from_memory::<types::Optionals<Flat>>(bytes),
        3 => from_memory::<types::Unions<Flat>>(bytes),
        _ => from_memory::<types::Derived<Flat>>(bytes),
    }
});
