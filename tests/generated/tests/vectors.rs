//! Generated types against the vectors that `spec/vectors/kitchen.py` computes from the rules alone.

mod common;

use common::{Memory, flat, vector};
use situ::layout::visit::Structure;
use situ::layout::{Flat, FlatMessage, Heap, Message, Ros, convert};
use situ::region::Region;
use situ::wire::{
    Encoding, bulk_lengths, decode, decode_with_body, encode_to_vec, encode_to_vec_with_body, encoded_size,
    encoded_size_with_body,
};
use situ_generated::kitchen::kitchen::*;

const ENCODINGS: [(Encoding, &str); 2] = [(Encoding::Xcdr1, "xcdr1"), (Encoding::Xcdr2, "xcdr2")];

/// The value is written as in the vector, and read from it in both byte orders, over any former content.
fn check_cdr<T: Structure + Default>(name: &str, value: &T) {
    for (encoding, version) in ENCODINGS {
        let bytes = vector(&format!("cdr/{name}.{version}.le.bin"));
        assert_eq!(encode_to_vec(value, encoding).unwrap(), bytes, "{name}, {version}");
        assert_eq!(encoded_size(value, encoding).unwrap(), bytes.len());
        let mut back = T::default();
        for order in ["le", "be"] {
            decode(&mut back, &vector(&format!("cdr/{name}.{version}.{order}.bin"))).unwrap();
            assert_eq!(&back, value, "{name}, {version}, {order}");
        }
    }
}

/// The flat form of the value equals the vectors, and is read from them. It has the same CDR.
fn check_flat<T, F>(name: &str, value: &T)
where
    T: Message,
    F: FlatMessage,
{
    let (head, body) = flat(value);
    let (wanted, mask) = (vector(&format!("flat/{name}.head.bin")), vector(&format!("flat/{name}.mask.bin")));
    assert_eq!(size_of::<F>(), wanted.len());
    for at in (0..wanted.len()).filter(|at| mask[*at] == 0xff) {
        assert_eq!(head.byte(at), wanted[at], "{name}: byte {at} of the head");
    }
    if !body.bytes().is_empty() {
        let wanted = vector(&format!("flat/{name}.body.bin"));
        assert_eq!(body.bytes().len(), wanted.len());
        // Between bulk members lies padding, which the vector has as zero.
        for (at, byte) in wanted.iter().enumerate().filter(|(_, byte)| **byte != 0) {
            assert_eq!(body.byte(at), *byte, "{name}: byte {at} of the body");
        }
    }
    let (head, body) = (Memory::holding(&wanted), body);
    let mut back = T::default();
    back.read_flat(&mut [], head.bytes().into(), body.bytes().into()).unwrap();
    assert_eq!(&back, value, "{name}");
    // SAFETY: read_flat has validated it.
    let message: &F = unsafe { head.message() };
    assert_eq!(message.clone(), *message);
    for (encoding, version) in ENCODINGS {
        let bytes = vector(&format!("cdr/{name}.{version}.le.bin"));
        assert_eq!(encode_to_vec_with_body(message, body.bytes(), encoding).unwrap(), bytes);
        assert_eq!(encoded_size_with_body(message, body.bytes(), encoding).unwrap(), bytes.len());
        for order in ["le", "be"] {
            let bytes = vector(&format!("cdr/{name}.{version}.{order}.bin"));
            let lengths = bulk_lengths::<F>(&bytes).unwrap();
            let mut other = F::default();
            let mut other_body = Memory::new(F::body_size(&lengths).unwrap());
            decode_with_body(&mut other, other_body.bytes_mut(), &bytes).unwrap();
            assert_eq!(
                encode_to_vec_with_body(&other, other_body.bytes(), encoding).unwrap().len(),
                bytes.len()
            );
            assert_eq!(format!("{other:?}"), format!("{message:?}"), "{name}, {version}, {order}");
        }
    }
}

#[test]
fn primitives() {
    check_cdr("primitives", &common::primitives());
    check_flat::<Primitives, Primitives>("primitives", &common::primitives());
}

#[test]
fn containers() {
    check_cdr("containers", &common::containers());
    check_flat::<Containers<Heap>, Containers<Flat>>("containers", &common::containers());
}

#[test]
fn optionals() {
    check_cdr("optionals", &common::optionals());
    check_flat::<Optionals<Heap>, Optionals<Flat>>("optionals", &common::optionals());
}

#[test]
fn unions() {
    check_cdr("unions", &common::unions());
    check_flat::<Unions<Heap>, Unions<Flat>>("unions", &common::unions());
}

#[test]
fn derived() {
    check_cdr("derived", &common::derived());
    check_flat::<Derived<Heap>, Derived<Flat>>("derived", &common::derived());
}

#[test]
fn growing() {
    check_cdr("growing", &common::growing());
}

#[test]
fn changing() {
    check_cdr("changing", &common::changing());
}

#[test]
fn heaped() {
    check_cdr("heaped", &common::heaped());
}

#[test]
fn thicket() {
    check_cdr("thicket", &common::thicket());
}

/// A type that contains itself through several containers is the same in ROS storage and in regions.
#[test]
fn thicket_in_other_storages() {
    let thicket = common::thicket();
    let ros: Thicket<Ros> = convert(&thicket).unwrap();
    assert_eq!(convert::<Thicket, _>(&ros).unwrap(), thicket);
    assert_eq!(format!("{ros:?}"), format!("{thicket:?}"));
    for (encoding, version) in ENCODINGS {
        let bytes = vector(&format!("cdr/thicket.{version}.le.bin"));
        assert_eq!(encode_to_vec(&ros, encoding).unwrap(), bytes);
    }
    let region = Region::<ThicketRegion>::of(&thicket, &[]).unwrap();
    assert_eq!(region.canonical(), vector("region/thicket.canonical.bin"));
    for form in ["canonical", "live"] {
        let taken = Region::<ThicketRegion>::adopt(&vector(&format!("region/thicket.{form}.bin"))).unwrap();
        assert_eq!(taken.root().to_message::<Thicket>().unwrap(), thicket);
    }
}

#[test]
fn values_are_printed_with_their_names() {
    let text = format!("{:?}", common::primitives());
    for part in ["truth: true", "color: ULTRAVIOLET", "access: Access(READ | OWN)", "wide: Wide(LOW | HIGH)"]
    {
        assert!(text.contains(part), "{text}");
    }
    let text = format!("{:?}", common::unions());
    for part in ["named: Shape { name: \"box\" }", "off: Toggle { discriminator: false }"] {
        assert!(text.contains(part), "{text}");
    }
}
