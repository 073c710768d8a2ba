//! Keys that are not integers or strings, in the region forms of generated types: compared with the vectors
//! of `spec/vectors/region_schema.py`, converted from and to the heap, and checked by their schema alone.

use situ::layout::{Flat, Heap, Message, TotalOrder, boxed, convert};
use situ::region::{Char, Region};
use situ::wire::{Encoding, decode, encode_to_vec};
use situ_generated::bazaar::game::{Cupboard, CupboardMut, CupboardRef, CupboardRegion, Gauge, GaugeRegion};
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
    for (at, text) in [(6.25, "high"), (-0.0, "none"), (f64::NEG_INFINITY, "the lowest of all tides")] {
        c.tides().insert(at, text).unwrap();
    }
    for i in 0..10_i32 {
        c.stock().insert(i as f32 * 0.5 - 2.0, i).unwrap();
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
    let at = |at: f64| message.tides.get(&TotalOrder(at)).map(String::as_str);
    assert_eq!((at(-0.0), at(0.0)), (Some("none"), None));
    assert_eq!(message.tides.keys().next(), Some(&TotalOrder(f64::NEG_INFINITY)));
    assert_eq!((message.stock.len(), message.stock[&TotalOrder(2.5)]), (10, 9));
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

/// Keys that `<` does not order, as maps have them.
const ORDER: [f64; 4] = [f64::NEG_INFINITY, -0.0, 0.0, f64::NAN];

fn gauge() -> Box<Gauge<Flat>> {
    let mut gauge = boxed::<Gauge<Flat>>();
    for i in [2, 0, 3, 1] {
        assert_eq!(gauge.insert_readings(ORDER[i].into(), i as i32), Ok(None));
    }
    gauge
}

#[test]
fn floating_point_keys_have_the_same_order_in_every_storage() {
    let flat = gauge();
    let heap: Gauge<Heap> = convert(&*flat).unwrap();
    let region = Region::<GaugeRegion>::of(&heap, &[]).unwrap();
    let mut back: Gauge<Heap> = region.root().to_message().unwrap();
    let found = |keys: Vec<&TotalOrder<f64>>| keys.iter().map(|key| key.0.to_bits()).collect::<Vec<_>>();
    let order = ORDER.map(f64::to_bits);
    assert_eq!(found(flat.readings.iter().map(|(key, _)| key).collect()), order);
    assert_eq!(found(heap.readings.keys().collect()), order);
    assert_eq!(found(back.readings.keys().collect()), order);
    assert_eq!(back, heap);
    assert_eq!(convert::<Gauge<Flat>, _>(&back).unwrap(), *flat);
    assert_eq!(back.insert_readings(TotalOrder(f64::NAN), 9), Ok(Some(3)), "a NaN is found again");
    back.insert_readings(TotalOrder(1.0), 9).unwrap_err();
}

#[test]
fn floating_point_keys_are_serialized_in_their_order() {
    let heap: Gauge<Heap> = convert(&*gauge()).unwrap();
    let mut bytes = vec![0, 1, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0];
    for (i, key) in (0..).zip(ORDER) {
        bytes.extend(key.to_le_bytes());
        bytes.extend(i32::to_le_bytes(i));
        if i < 3 {
            bytes.extend([0; 4]); // to the alignment of the next key
        }
    }
    assert_eq!(encode_to_vec(&heap, Encoding::Xcdr1).unwrap(), bytes);
    let mut read = Gauge::<Heap>::default();
    decode(&mut read, &bytes[..]).unwrap();
    assert_eq!(read, heap);

    let file = format!("{}/schema/bazaar.idl", env!("CARGO_MANIFEST_DIR"));
    let schema = Loader::new().file(file).load().unwrap();
    let id = schema.find("game::Gauge").unwrap();
    let value = dynamic::from_cdr(&schema, id, &bytes).unwrap();
    let json = serde_json::to_string(&value).unwrap();
    assert_eq!(json, r#"{"readings":{"-.inf":0,"-0.0":1,"0.0":2,".nan":3}}"#);
    let mixed = "readings: {.nan: 3, 0.0: 2, -.inf: 0, -0.0: 1}";
    for text in [&json, mixed] {
        let value = dynamic::from_text(&schema, id, text).unwrap();
        assert_eq!(dynamic::to_cdr(&schema, id, &value, Encoding::Xcdr1).unwrap(), bytes, "{text}");
        let region = Region::<GaugeRegion>::of(&heap, &[]).unwrap().canonical();
        assert_eq!(dynamic::to_region(&schema, id, &value).unwrap(), region, "{text}");
    }
}

#[test]
fn flat_messages_with_floating_point_keys_out_of_order_are_refused() {
    let mut flat = gauge();
    let validate = |it: &Gauge<Flat>| {
        // SAFETY: the reference is to a whole message.
        unsafe { Gauge::<Flat>::validate(it, 0) }.map_err(|error| error.to_string())
    };
    assert_eq!(validate(&flat), Ok(()));
    // The entries begin at byte 8 and have 16 bytes. Keys 1 and 2, -0.0 and 0.0, change places.
    let numbers = (&raw mut *flat).cast::<f64>();
    // SAFETY: the two keys lie in the message, and any number is a key.
    unsafe {
        numbers.add(3).write(0.0);
        numbers.add(5).write(-0.0);
    }
    assert_eq!(validate(&flat), Err("readings: key 2 is not greater than the key before it".to_owned()));
}
