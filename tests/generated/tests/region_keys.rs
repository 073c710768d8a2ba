//! Keys that are not integers or strings, in the region forms of generated types: compared with the vectors
//! of `spec/vectors/region_schema.py`, converted from and to the heap, and checked by their schema alone.

use situ::region::{Char, Region};
use situ_generated::bazaar::game::{Cupboard, CupboardMut, CupboardRef, CupboardRegion};
use situ_schema::{Loader, dynamic};

fn vector(name: &str) -> Vec<u8> {
    let path = format!("{}/../../spec/vectors/region/{name}.bin", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(path).unwrap()
}

/// The values under `CUPBOARD_VALUE` in `spec/vectors/region_schema.py`.
fn cupboard() -> Region<CupboardRegion> {
    let mut r = Region::<CupboardRegion>::new();
    let mut c = r.root_mut();
    for angle in [1.5, f64::NAN, -0.0, f64::NEG_INFINITY, 0.0, -2.5] {
        assert!(c.angles().insert(angle).unwrap());
    }
    for mark in [f32::NAN, 0.0, -0.0].into_iter().chain((0..9_u8).map(|i| f32::from(i) * 1.5 - 8.0)) {
        assert!(c.marks().insert(mark).unwrap());
    }
    for letter in [b'z', 0xe9, b'A'] {
        assert!(c.letters().insert(Char(letter)).unwrap());
    }
    for door in [true, false] {
        assert!(c.doors().insert(door).unwrap());
    }
    for rune in [0x20ac, 0x41] {
        assert!(c.runes().insert(rune).unwrap());
    }
    c.signs().insert(true, "open").unwrap();
    c.signs().insert(false, "closed for today").unwrap();
    for (letter, price) in [(b'b', 0.5), (0xfc, -1.5), (b'a', 2.0_f32)] {
        c.prices().insert(Char(letter), price).unwrap();
    }
    r
}

#[test]
fn the_bytes_are_those_of_the_vectors() {
    let canonical = vector("cupboard.canonical");
    assert_eq!(cupboard().canonical(), canonical);
    let live = Region::<CupboardRegion>::adopt(&vector("cupboard.live")).unwrap();
    assert_eq!(live.canonical(), canonical);
    assert!(live.root().angles().contains(-0.0) && live.root().signs().get(true).unwrap().as_str() == "open");
}

#[test]
fn regions_become_heap_messages_and_come_back() {
    let r = cupboard();
    let message: Cupboard = r.root().to_message().unwrap();
    // -0.0 and 0.0 are two keys.
    assert_eq!(message.angles.len(), 6);
    assert_eq!(message.angles[..2], [f64::NEG_INFINITY, -2.5]);
    assert!(message.angles[2].is_sign_negative() && message.angles[5].is_nan());
    assert_eq!((&message.doors[..], &message.letters[..]), (&[false, true][..], &[b'A', b'z', 0xe9][..]));
    assert_eq!(message.prices.keys().copied().collect::<Vec<_>>(), [b'a', b'b', 0xfc]);
    let back = Region::<CupboardRegion>::of(&message, &[]).unwrap();
    assert_eq!(back.canonical(), r.canonical());
}

#[test]
fn the_schema_alone_checks_and_reads_them() {
    let file = format!("{}/schema/bazaar.idl", env!("CARGO_MANIFEST_DIR"));
    let schema = Loader::new().file(file).load().unwrap();
    let id = schema.find("game::Cupboard").unwrap();
    for name in ["cupboard.canonical", "cupboard.live"] {
        dynamic::check_region(&schema, id, &vector(name)).unwrap();
        dynamic::from_region(&schema, id, &vector(name)).unwrap();
    }
    // Two angles in the wrong order: the first block of the canonical image has them.
    let mut image = vector("cupboard.canonical");
    let angles = image.windows(8).position(|bytes| bytes == f64::NEG_INFINITY.to_le_bytes()).unwrap();
    image[angles..angles + 8].copy_from_slice(&(-1.0_f64).to_le_bytes());
    let error = ": key 1 is not greater than the key before it (at offset 64)";
    let found = dynamic::check_region(&schema, id, &image).unwrap_err().to_string();
    assert_eq!(found, format!("`angles`{error}"));
    let found = Region::<CupboardRegion>::adopt(&image).map(drop).unwrap_err().to_string();
    assert_eq!(found, format!("angles{error}"));
}
