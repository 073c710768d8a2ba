//! Messages lent as C structs: their content and addresses in C, and refused messages.

#[allow(dead_code)]
mod messages;

use std::ptr;

use situ_layout::ros::{Lent, lend, lend_with_body};
use situ_layout::{Bodies, BulkRef, Flat, Heap, Ros, RosSequence, RosString, convert};

use messages::msg::{Part, Piece, Whole};

fn piece(at: u8) -> Piece<Heap> {
    let mut piece = Piece::<Heap>::default();
    piece.name.try_assign(&format!("piece {at}")).unwrap();
    piece.samples.try_assign(&[u16::from(at), 500]).unwrap();
    piece.parts.try_assign(&[Part { x: f32::from(at), kind: at }]).unwrap();
    piece.wide.try_assign_str("grüße").unwrap();
    piece
}

fn whole() -> Whole<Heap> {
    let mut whole = Whole::<Heap> { first: 7, ..Whole::default() };
    whole.pieces.extend((0..3).map(piece));
    whole.names[1] = "second".into();
    whole.more = vec![String::new(), "ünï©ødé 😀".into()];
    whole.matrix = [[1.0, 2.0], [3.0, 4.0]];
    whole
}

/// The fields of a C string or sequence without flags.
#[repr(C)]
struct Raw<T> {
    data: *const T,
    size: usize,
    capacity: usize,
}

/// The fields as C sees them.
fn raw<T, U>(of: &U) -> &Raw<T> {
    assert!(size_of::<U>() >= size_of::<Raw<T>>());
    // SAFETY: strings and sequences of T begin with these fields.
    unsafe { &*ptr::from_ref(of).cast() }
}

/// The bytes that C reads of a string, including the zero after it.
fn c_string<const N: usize>(string: &RosString<N>) -> Vec<u8> {
    let raw: &Raw<u8> = raw(string);
    assert_eq!(raw.capacity, raw.size + 1);
    // SAFETY: there is memory for capacity bytes.
    unsafe { std::slice::from_raw_parts(raw.data, raw.capacity) }.to_vec()
}

fn shows_all(lent: &Lent<'_, Whole<Ros>>, source: &Whole<Heap>) {
    assert_eq!(**lent, convert::<Whole<Ros>, _>(source).unwrap());
    assert_eq!(convert::<Whole<Heap>, _>(&**lent).unwrap(), *source);
    assert_eq!(c_string(&lent.names[0]), b"\0");
    assert_eq!(c_string(&lent.names[1]), b"second\0");
    assert_eq!(c_string(&lent.more[1]), "ünï©ødé 😀\0".as_bytes());
    assert_eq!(c_string(&lent.pieces[2].name), b"piece 2\0");
    let wide: &Raw<u16> = raw(&lent.pieces[0].wide);
    // SAFETY: the capacity counts one unit more than the text has.
    assert_eq!((wide.size, wide.capacity, unsafe { *wide.data.add(5) }), (5, 6, 0));
    let none: &Raw<Part> = raw::<Part, RosSequence<Part, 4>>(&lent.one.parts);
    assert!(none.data.is_null() && none.size == 0 && none.capacity == 0);
    let pieces: &Raw<Piece<Ros>> = raw(&lent.pieces);
    assert_eq!((pieces.size, pieces.capacity), (3, 3));
}

#[test]
fn c_sees_the_message_where_it_lies() {
    let source = whole();
    let lent = lend(&source).unwrap();
    shows_all(&lent, &source);
    for (lent, source) in lent.pieces.iter().zip(&source.pieces) {
        assert_eq!(lent.samples.as_ptr(), source.samples.as_ptr());
        assert_eq!(lent.parts.as_ptr(), source.parts.as_ptr());
    }
    // The lent struct may be moved and read by other threads.
    let moved = Box::new(lent);
    std::thread::scope(|scope| {
        scope.spawn(|| shows_all(&moved, &source));
    });
    let copy = Whole::clone(&moved);
    drop(moved);
    drop(source);
    assert_eq!(copy, convert::<Whole<Ros>, _>(&whole()).unwrap());
}

#[test]
fn a_c_struct_is_lent_as_another() {
    let source: Whole<Ros> = convert(&whole()).unwrap();
    let lent = lend(&source).unwrap();
    shows_all(&lent, &whole());
}

#[test]
fn a_flat_message_is_lent_with_its_body() {
    let heap = piece(4);
    let mut flat = Piece::<Flat>::default();
    let mut body = vec![0_u64; 16];
    // SAFETY: the bytes of numbers.
    let body = unsafe { std::slice::from_raw_parts_mut(body.as_mut_ptr().cast::<u8>(), 128) };
    situ_layout::AssignFrom::assign_parts(&mut flat, &heap, &mut Bodies::new(&[], body)).unwrap();
    let lent = lend_with_body(&flat, body).unwrap();
    assert_eq!(*lent, convert::<Piece<Ros>, _>(&heap).unwrap());
    assert_eq!(lent.samples.as_ptr().cast(), body.as_ptr());
    assert_eq!(lent.parts.as_ptr(), flat.parts.as_ptr());
    drop(lent);
    flat.samples = BulkRef::new(120, 5);
    let error = lend_with_body(&flat, body).unwrap_err();
    assert!(error.to_string().starts_with("samples: bulk data at 120, 5 elements"), "{error}");
    assert!(lend(&flat).is_err(), "its body is another");
}

#[test]
fn what_has_nothing_to_point_to_is_lent_as_well() {
    let part = Part { x: 1.5, kind: 3 };
    assert_eq!(*lend(&part).unwrap(), part);
    let empty = Whole::<Heap>::default();
    assert_eq!(*lend(&empty).unwrap(), Whole::<Ros>::default());
}
