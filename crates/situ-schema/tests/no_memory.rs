//! Messages whose values need more memory than is available: reading them without compiled types ends with an
//! error.

use situ_schema::dynamic::{self, ReadError, Value};
use situ_schema::model::TypeId;
use situ_schema::{Format, Loader, Schema};
use situ_testkit::scarce_allocator::{ScarceAllocator, with_at_most};

#[global_allocator]
static ALLOCATOR: ScarceAllocator = ScarceAllocator;

const COUNT: usize = 100_000;

/// A message with one member, which has [`COUNT`] elements of at least `size` bytes in memory.
fn check(member: &str, size: usize, read: impl Fn(&Schema, TypeId) -> Result<Value, ReadError>) {
    let text = format!("struct M {{ {member} m; }};");
    let schema = Loader::new().sealed().text("test.idl", &text, Format::Idl).load().unwrap();
    let id = schema.find("M").unwrap();
    let refused = with_at_most(COUNT * size - 1, || read(&schema, id)).unwrap_err();
    assert!(refused.to_string().contains(" memory "), "{member}: {refused}");
    read(&schema, id).unwrap();
}

/// Little-endian CDR: the length, and the elements.
fn cdr(length: usize, elements: Vec<u8>) -> Vec<u8> {
    [vec![0, 1, 0, 0], (length as u32).to_le_bytes().to_vec(), elements].concat()
}

#[test]
fn serialized_messages_are_refused_without_memory_for_their_values() {
    let read = |bytes: Vec<u8>| move |schema: &Schema, id| dynamic::from_cdr(schema, id, &bytes);
    check("sequence<boolean>", size_of::<Value>(), read(cdr(COUNT, vec![1; COUNT])));
    check("sequence<octet>", 1, read(cdr(COUNT, vec![1; COUNT])));
    check("sequence<short>", 2, read(cdr(COUNT, vec![1; 2 * COUNT])));
    check("string", 1, read(cdr(COUNT + 1, [vec![b'a'; COUNT], vec![0]].concat())));
    let entry = |key: usize| [(key as u32).to_le_bytes(), [1, 0, 0, 0]].concat();
    let entries = (0..COUNT).flat_map(entry).collect();
    check("map<long, boolean>", size_of::<(Value, Value)>(), read(cdr(COUNT, entries)));
}

#[test]
fn regions_are_refused_without_memory_for_their_values() {
    let read = |image: Vec<u8>| move |schema: &Schema, id| dynamic::from_region(schema, id, &image);
    // A header of 64 bytes, with the size at 24. The root is the container: the link to its elements, which
    // follow, their number, the capacity, and the link to the header.
    let region = |elements: Vec<u8>| {
        let mut image = [&b"SRGN\x02\0"[..], &[0; 58]].concat();
        image[24..28].copy_from_slice(&(80 + elements.len() as u32).to_le_bytes());
        for word in [16, COUNT as u32, COUNT as u32, 0] {
            image.extend(word.to_le_bytes());
        }
        image.extend(elements);
        image
    };
    check("sequence<boolean>", size_of::<Value>(), read(region(vec![1; COUNT])));
    check("sequence<octet>", 1, read(region(vec![1; COUNT])));
    check("sequence<unsigned long>", 4, read(region(vec![1; 4 * COUNT])));
}

#[test]
fn flat_messages_are_refused_without_memory_for_their_values() {
    let read = |head: Vec<u8>| move |schema: &Schema, id| dynamic::from_flat(schema, id, &head, &[]);
    let flat = |elements: Vec<u8>| [(COUNT as u32).to_le_bytes().to_vec(), elements].concat();
    check("sequence<boolean, 100000>", size_of::<Value>(), read(flat(vec![1; COUNT])));
    check("sequence<unsigned long, 100000>", 4, read(flat(vec![1; 4 * COUNT])));
    check("string<100000>", 1, read(flat([vec![b'a'; COUNT], vec![0; 4]].concat())));
}
