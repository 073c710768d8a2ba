//! Keys that are not integers or text: floating-point numbers, booleans, characters, enums, structs and
//! arrays. Types and values are those of `spec/vectors/region.py`.

use situ_region::{
    Bool, Char, Full, HashMap, HashSet, OrderedMap, OrderedSet, Region, SortedMap, SortedSet, Text,
    view_packed,
};
use situ_region::{region_enum, region_plain, region_struct};

use crate::{Aligned, held_to};

region_enum! { enum Side: i8 { LEFT = -1, RIGHT = 1 } }
region_plain! { key struct Cell { x: i32, y: i16, z: i16 } }
region_struct! { key struct Label: LabelRef, LabelMut { area: Text, number: u8, is_old: Bool } }
region_struct! {
    pub struct Cabinet: CabinetRef, CabinetMut {
        angles: SortedSet<f64>,
        weights: SortedMap<f32, u8>,
        doors: SortedSet<Bool>,
        letters: OrderedSet<Char>,
        sides: HashMap<Side, Text>,
        grid: HashMap<Cell, Text>,
        labels: SortedMap<Label, u16>,
        marks: HashSet<f32>,
        digests: OrderedMap<[u8; 4], f64>,
        places: HashSet<Label>,
        pairs: SortedSet<[Cell; 2]>,
        shelves: OrderedMap<Label, Cell>,
        many: HashSet<u16>,
        bytes: HashSet<u8>,
    }
}

fn cabinet() -> Result<Region<Cabinet>, Full> {
    let mut r = Region::<Cabinet>::new();
    let mut c = r.root_mut();
    for angle in [1.5, f64::NAN, -0.0, f64::NEG_INFINITY, 0.0, -2.5, f64::INFINITY, -1e-310] {
        assert!(c.angles().insert(angle)?);
    }
    for (weight, number) in [(0.5, 1), (-0.5, 2), (1e30, 3_u8)] {
        c.weights().insert(weight, number)?;
    }
    for door in [true, false] {
        assert!(c.doors().insert(door)?);
    }
    for letter in [b'z', 0xe9, b'A'] {
        assert!(c.letters().insert(Char(letter))?);
    }
    for (side, text) in [(Side::LEFT, "left"), (Side::RIGHT, "right"), (Side(0), "the one in between")] {
        c.sides().insert(side, text)?;
    }
    for i in 0..11_i16 {
        let cell = Cell { x: i32::from(i) * 7 % 11 - 5, y: -i, z: i % 3 };
        c.grid().insert(cell, format!("cell {i}"))?;
    }
    let labels = [
        (("kitchen", 2, false), 20),
        (("kitchen", 1, false), 10),
        (("an area of some length", 200, true), 30),
        (("kitchen", 1, true), 11_u16),
    ];
    for (label, value) in labels {
        c.labels().insert(label, value)?;
    }
    let marks = [f32::NAN, 0.0, -0.0].into_iter();
    let marks = marks.chain((0..4_u8).map(|i| f32::from(i) * 0.25 - 1.0));
    for mark in marks.chain((0..5_u8).map(|i| f32::from(i) * 1.5 + 8.0)) {
        assert!(c.marks().insert(mark)?);
    }
    for i in 0..40_u8 {
        c.digests().insert([i.wrapping_mul(53), i, 255 - i, 7], f64::from(i) / 4.0)?;
    }
    for i in 0..12_u8 {
        let area = ["cellar", "the garden behind the house"][usize::from(i % 2)];
        assert!(c.places().insert((area, i * 5 % 13, i % 3 == 0))?);
    }
    let cell = |x, y, z| Cell { x, y, z };
    for pair in
        [[cell(1, 2, 0), cell(3, 4, 0)], [cell(1, 2, 0), cell(-3, 4, 0)], [cell(-1, 2, 5), cell(0, 0, 0)]]
    {
        assert!(c.pairs().insert(pair)?);
    }
    for i in 0..25_u8 {
        let area = format!("area {} of many", u32::from(i) * 7 % 25);
        c.shelves().insert((&*area, i % 4, false), cell(i32::from(i), i16::from(i), 0))?;
    }
    for i in 1..=400_u32 {
        assert!(c.many().insert((i * 257 % 65537 - 1) as u16)?);
    }
    for i in 0..11_u8 {
        assert!(c.bytes().insert(i * i)?);
    }
    Ok(r)
}

#[test]
fn the_vector_is_written_and_read() {
    held_to("cabinet", &cabinet().unwrap());
}

#[test]
fn a_packed_image_has_all_kinds_of_keys() {
    let made = cabinet().unwrap();
    crate::packed::held_to("cabinet", &made);
    let packed = Aligned::of(&made.packed());
    let (there, c) = (view_packed::<Cabinet>(&packed).unwrap(), made.root());
    // Those that are sorted.
    assert!(there.angles().iter().map(f64::to_bits).eq(c.angles().iter().map(f64::to_bits)));
    assert!(there.doors().iter().eq(c.doors().iter()) && there.letters().iter().eq(c.letters().iter()));
    assert!(there.labels().iter().map(|(key, _)| key).eq(c.labels().iter().map(|(key, _)| key)));
    assert!(there.pairs().iter().eq(c.pairs().iter()));
    assert!(
        there
            .shelves()
            .iter()
            .map(|(key, cell)| (key, *cell))
            .eq(c.shelves().iter().map(|(key, cell)| (key, *cell)))
    );
    // Each key is found, and no other.
    assert!(c.angles().iter().all(|key| there.angles().contains(key)) && !there.angles().contains(7.0));
    assert!(c.marks().iter().all(|key| there.marks().contains(key)));
    assert!(!there.marks().contains(f32::from_bits(0x7fc0_0001)), "another NaN");
    assert!(c.places().iter().all(|key| there.places().contains(key)));
    assert!(!there.places().contains(("cellar", 10, true)));
    for (key, value) in c.grid().iter() {
        assert_eq!(there.grid().get(key).unwrap().as_str(), value.as_str());
    }
    for (key, value) in c.sides().iter() {
        assert_eq!(there.sides().get(key).unwrap().as_str(), value.as_str());
    }
    for (key, value) in c.digests().iter() {
        assert_eq!(*there.digests().get(key).unwrap(), *value);
    }
    assert_eq!(there.labels().get(("kitchen", 1, true)).map(|value| *value), Some(11));
    assert!(there.labels().get(("kitchen", 3, true)).is_none());
    assert!(c.many().iter().all(|key| there.many().contains(key)));
    if !cfg!(miri) {
        crate::packed::spoil(&made);
    }
    // And back.
    let back = Region::<Cabinet>::adopt(&packed).unwrap();
    assert!(back.canonical() == made.canonical() && back.packed() == made.packed());
}

#[test]
fn floating_point_numbers_are_in_the_total_order() {
    let mut r = cabinet().unwrap();
    let bits: Vec<u64> = r.root().angles().iter().map(f64::to_bits).collect();
    assert_eq!(
        bits,
        [
            0xfff0_0000_0000_0000,
            0xc004_0000_0000_0000,
            0x8000_1268_8b70_e62b,
            0x8000_0000_0000_0000,
            0,
            0x3ff8_0000_0000_0000,
            0x7ff0_0000_0000_0000,
            0x7ff8_0000_0000_0000
        ]
    );
    let mut c = r.root_mut();
    assert!(c.angles().as_ref().contains(f64::NAN));
    assert!(c.angles().remove(-0.0));
    assert!(!c.angles().remove(-0.0), "0.0 is another key");
    assert!(c.angles().as_ref().contains(0.0));
    assert!(c.marks().as_ref().contains(-0.0) && c.marks().as_ref().contains(0.0));
    assert!(!c.marks().as_ref().contains(f32::from_bits(0x7fc0_0001)), "another NaN");
    assert_eq!(r.root().weights().iter().map(|(key, _)| key).collect::<Vec<_>>(), [-0.5, 0.5, 1e30]);
}

#[test]
fn structs_are_compared_by_their_members_in_order() {
    let mut r = cabinet().unwrap();
    let c = r.root();
    assert_eq!(c.labels().iter().map(|(_, value)| *value).collect::<Vec<_>>(), [30, 10, 11, 20]);
    assert_eq!(c.labels().get(("kitchen", 1, true)).map(|value| *value), Some(11));
    assert!(c.labels().get(("kitchen", 3, true)).is_none());
    assert!(c.places().contains(("cellar", 10, false)) && !c.places().contains(("cellar", 10, true)));
    let grid = Cell { x: -5, y: 0, z: 0 };
    assert_eq!(c.grid().get(grid).unwrap().as_str(), "cell 0");
    assert_eq!(c.pairs().iter().next().unwrap()[0], Cell { x: -1, y: 2, z: 5 });
    assert_eq!(c.letters().iter().map(|letter| letter.0).collect::<Vec<_>>(), [b'A', b'z', 0xe9]);
    let mut c = r.root_mut();
    assert!(c.grid().remove(grid) && !c.grid().remove(grid));
    for i in 0..25_u8 {
        let area = format!("area {} of many", u32::from(i) * 7 % 25);
        assert!(c.shelves().remove((&*area, i % 4, false)));
    }
    assert!(r.root().shelves().is_empty());
    Region::<Cabinet>::adopt(r.bytes()).unwrap();
}

#[test]
fn a_struct_without_room_for_its_text_changes_nothing() {
    region_struct! { key struct Two: TwoRef, TwoMut { first: Text, second: Text } }
    region_struct! {
        struct Sets: SetsRef, SetsMut { sorted: SortedSet<Two>, hash: HashSet<Two>, ordered: OrderedSet<Two> }
    }
    let mut r = Region::<Sets>::with_limit(4096);
    r.root_mut().sorted().insert(("", "")).unwrap();
    r.root_mut().hash().insert(("", "")).unwrap();
    r.root_mut().ordered().insert(("", "")).unwrap();
    let before = r.canonical();
    // There is room for the first text, and not for the second.
    let (first, second) = ("a".repeat(1000), "b".repeat(4000));
    assert!(r.root_mut().sorted().insert((&first, &second)).is_err());
    assert!(r.root_mut().hash().insert((&first, &second)).is_err());
    assert!(r.root_mut().ordered().insert((&first, &second)).is_err());
    assert_eq!(r.canonical(), before);
    Region::<Sets>::adopt(r.bytes()).unwrap();
}
