//! Floating-point numbers, booleans and characters as keys of described types, beside the same types known
//! when the program is compiled.

use std::sync::Arc;

use situ_region::dynamic::{
    DynamicRegion, EditError, Key, Kind, Lookup, Member, Scalar, Step, Types, TypesBuilder,
};
use situ_region::region_struct;
use situ_region::{
    Bool, Char, HashMap, HashSet, OrderedMap, OrderedSet, Region, SortedMap, SortedSet, layout_hash,
};

region_struct! {
    struct Chest: ChestRef, ChestMut {
        angles: SortedSet<f64>,
        marks: HashSet<f32>,
        heights: OrderedSet<f64>,
        weights: SortedMap<f32, u8>,
        signs: HashMap<Bool, u8>,
        letters: OrderedMap<Char, u8>,
        doors: HashSet<Bool>,
        runes: HashSet<Char>,
    }
}

fn types() -> Arc<Types> {
    let mut all = TypesBuilder::default();
    let b = &mut all;
    let [f32, f64, bool, char, u8] = [Scalar::F32, Scalar::F64, Scalar::Bool, Scalar::Char, Scalar::U8]
        .map(|of| b.add(Kind::Scalar { of, initial: 0 }));
    let kinds = [
        ("angles", Kind::Set { lookup: Lookup::Sorted, key: f64 }),
        ("marks", Kind::Set { lookup: Lookup::Hash, key: f32 }),
        ("heights", Kind::Set { lookup: Lookup::Ordered, key: f64 }),
        ("weights", Kind::Map { lookup: Lookup::Sorted, key: f32, value: u8 }),
        ("signs", Kind::Map { lookup: Lookup::Hash, key: bool, value: u8 }),
        ("letters", Kind::Map { lookup: Lookup::Ordered, key: char, value: u8 }),
        ("doors", Kind::Set { lookup: Lookup::Hash, key: bool }),
        ("runes", Kind::Set { lookup: Lookup::Hash, key: char }),
    ];
    let members = kinds.map(|(name, kind)| Member::new(name, b.add(kind), None)).into();
    let root = b.add(Kind::Struct { name: "Chest".into(), members, appendable: false });
    Arc::new(all.finish(root, 0).unwrap())
}

/// Adds a key of a member, and gives it a value if it is one of a map.
fn add(region: &mut DynamicRegion, index: u32, key: Key<'_>, value: Option<u8>) -> bool {
    let mut part = region.edit(&[Step::Member(index)]).unwrap();
    let (mut place, is_new) = part.insert_key(key).unwrap();
    if let Some(value) = value {
        place.set_bytes(&[value]).unwrap();
    }
    is_new
}

#[test]
fn the_same_keys_give_the_same_bytes() {
    let (mut typed, mut described) = (Region::<Chest>::new(), DynamicRegion::new(types()));
    assert_eq!(types().layout_hash(), layout_hash::<Chest>());
    let mut chest = typed.root_mut();
    let many = (0..60).map(|i| f64::from(i * 37 % 61) * 0.75 - 20.0);
    for number in [f64::NAN, -0.0, 0.0, -f64::NAN, f64::INFINITY, 0.0].into_iter().chain(many) {
        let key = Key::Double(number.to_bits());
        assert_eq!(chest.angles().insert(number).unwrap(), add(&mut described, 0, key, None));
        assert_eq!(chest.heights().insert(number).unwrap(), add(&mut described, 2, key, None));
        let (number, value) = (number as f32, number as u8);
        let key = Key::Float(number.to_bits());
        assert_eq!(chest.marks().insert(number).unwrap(), add(&mut described, 1, key, None));
        chest.weights().insert(number, value).unwrap();
        add(&mut described, 3, key, Some(value));
    }
    for (key, value) in [(true, 4), (false, 5), (true, 6)] {
        chest.signs().insert(key, value).unwrap();
        add(&mut described, 4, Key::Integer(key.into()), Some(value));
        assert_eq!(
            chest.doors().insert(key).unwrap(),
            add(&mut described, 6, Key::Integer(key.into()), None)
        );
    }
    for byte in (0..=255).rev() {
        chest.letters().insert(Char(byte), byte / 2).unwrap();
        add(&mut described, 5, Key::Integer(byte.into()), Some(byte / 2));
        let key = Key::Integer(byte.into());
        assert_eq!(chest.runes().insert(Char(byte)).unwrap(), add(&mut described, 7, key, None));
    }
    for number in [0.0, f64::NAN, 1e300] {
        let key = Key::Double(number.to_bits());
        let mut part = described.edit(&[Step::Member(0)]).unwrap();
        assert_eq!(chest.angles().remove(number), part.remove_key(key).unwrap());
    }
    let mut part = described.edit(&[Step::Member(4)]).unwrap();
    assert!(chest.signs().remove(false) && part.remove_key(Key::Integer(0)).unwrap());
    assert!(described.bytes() == typed.bytes());
    assert!(described.canonical() == typed.canonical());
    assert!(described.packed() == typed.packed());
    let keys: Vec<Key<'_>> = typed.root().angles().iter().map(|it| Key::Double(it.to_bits())).collect();
    let part = described.root().part(&Step::Member(0)).unwrap();
    assert_eq!(part.keys(), keys);
    assert!(part.contains(Key::Double((-0.0_f64).to_bits())) && !part.contains(Key::Double(0)));
    let weights = described.root().part(&Step::Member(3)).unwrap();
    assert_eq!(weights.keys().len(), typed.root().weights().len());
    let letters = described.root().part(&Step::Member(5)).unwrap();
    assert_eq!(letters.keys()[200], Key::Integer(200));
}

#[test]
fn keys_of_other_types_are_errors() {
    let mut region = DynamicRegion::new(types());
    let before = region.bytes().to_vec();
    let one = 1.0_f64.to_bits();
    let wrong = [
        (0, Key::Float(0)),
        (0, Key::Integer(1)),
        (1, Key::Double(one)),
        (3, Key::Text("1")),
        (4, Key::Integer(2)),
        (4, Key::Integer(-1)),
        (4, Key::Double(one)),
        (5, Key::Integer(256)),
        (5, Key::Integer(-1)),
    ];
    for (index, key) in wrong {
        let mut part = region.edit(&[Step::Member(index)]).unwrap();
        assert_eq!(part.insert_key(key).map(drop), Err(EditError::Key), "{index}: {key:?}");
        assert_eq!(part.remove_key(key), Ok(false), "{index}: {key:?}");
    }
    assert_eq!(region.bytes(), before);
}
