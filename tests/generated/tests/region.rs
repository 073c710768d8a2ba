//! The region forms of generated types: built, converted from and to the other storages, and laid out as the
//! specification says.

use situ::layout::{Flat, Heap, Message};
use situ::region::{Char, Mut, Region, layout_text, view, view_packed};
use situ_generated::region::game::{
    Bounded, BoundedBulkLengths, BoundedMut, BoundedRef, BoundedRegion, Character, CharacterMut,
    CharacterRef, CharacterRegion, Colour, Equip, EquipMut, EquipRef, Flagged, FlaggedMut, FlaggedRef, Inner,
    InnerMut, InnerRef, Item, Marks, Pantry, PantryMut, PantryRef, PantryRegion, Position, Skill, Tree,
    TreeRegion,
};
use situ_schema::{Loader, dynamic};

/// The name of the struct is also that of its value in a region.
fn wear(mut equip: Mut<'_, Equip>) {
    equip.attributes().push(1.5_f32).unwrap();
}

/// The talk's example.
#[test]
fn a_character_is_built_edited_and_sent() {
    let mut r = Region::<Character>::new();
    let mut c = r.root_mut();
    c.name().set("Hero").unwrap();
    *c.level() += 60;
    *c.pos() = Position { x: 1.0, y: 2.0, z: 3.0 };
    c.skills().push(Skill { id: 1054, level: 3 }).unwrap();
    c.items().insert(7, Item { id: 7, number: 1, uuid: 70, timestamp: 700 }).unwrap();
    c.items().insert(5, Item { id: 5, ..Default::default() }).unwrap();
    assert!(c.items().remove(5));
    let mut equips = c.equips();
    let mut equip = equips.push_default().unwrap();
    equip.base().number = 2;
    wear(equip);

    let bytes = r.bytes().to_vec();
    let mut received = Region::<CharacterRegion>::adopt(&bytes).unwrap();
    received.root_mut().skills().as_mut_slice()[0].level += 1;
    let c = received.root();
    assert_eq!((&*c.name(), *c.level(), c.pos().y), ("Hero", 60, 2.0));
    assert_eq!(c.skills().as_slice(), [Skill { id: 1054, level: 4 }]);
    assert_eq!(c.items().iter().map(|(key, item)| (key, item.uuid)).collect::<Vec<_>>(), [(7, 70)]);
    let equip = c.equips().get(0).unwrap();
    assert_eq!((equip.base().number, equip.attributes().as_slice()), (2, &[1.5][..]));
}

#[test]
fn the_longer_name_is_another_name_of_the_same_type() {
    let r: Region<CharacterRegion> = Region::<Character>::new();
    assert_eq!(layout_text::<CharacterRegion>(), layout_text::<Character>());
    assert_eq!(r.root().to_message::<Character>().unwrap(), Character::default());
}

#[test]
fn the_header_holds_the_schema_hash() {
    let r = Region::<CharacterRegion>::new();
    let hash = u64::from_le_bytes(r.bytes()[8..16].try_into().unwrap());
    assert_eq!(hash, Character::<Heap>::SCHEMA_HASH);
    assert_ne!(hash, 0);
    let mut other = r.bytes().to_vec();
    other[8] ^= 1;
    let error = Region::<CharacterRegion>::adopt(&other).err().unwrap().to_string();
    assert!(error.contains("schema hash"), "{error}");
}

/// The lines were written by hand, from `spec/region.md`.
#[test]
fn the_layout_is_as_specified() {
    assert_eq!(
        layout_text::<TreeRegion>(),
        "region-v2 game::Tree\n\
         game::Tree 0 20 4 struct\n\
         game::Tree.value 0 4 4 int32\n\
         game::Tree.children 4 16 4 vector\n\
         game::Tree.children[] 0 20 4 game::Tree\n"
    );
    assert_eq!(
        layout_text::<BoundedRegion>(),
        "region-v2 game::Bounded\n\
         game::Bounded 0 84 4 struct\n\
         game::Bounded.name 0 16 4 string\n\
         game::Bounded.path 16 16 4 vector\n\
         game::Bounded.path[] 0 12 4 game::Position\n\
         game::Bounded.names 32 16 4 flat_map\n\
         game::Bounded.names[] 0 20 4 entry\n\
         game::Bounded.names[].key 0 4 4 int32\n\
         game::Bounded.names[].value 4 16 4 string\n\
         game::Bounded.samples 48 16 4 vector\n\
         game::Bounded.samples[] 0 2 2 uint16\n\
         game::Bounded.where 64 20 4 optional\n\
         game::Bounded.where? 8 12 4 game::Position\n\
         game::Position 0 12 4 struct\n\
         game::Position.x 0 4 4 float\n\
         game::Position.y 4 4 4 float\n\
         game::Position.z 8 4 4 float\n"
    );
}

#[test]
fn new_values_have_their_defaults() {
    let r = Region::<PantryRegion>::new();
    let p = r.root();
    assert!(p.flag().get());
    assert_eq!((*p.small(), *p.letter(), *p.ratio()), (-5, Char(b'x'), 1.5));
    assert_eq!(p.short_text().as_str(), "eleven byte");
    assert_eq!(p.long_text().as_str(), "", "which would need a block");
    assert_eq!((*p.colour(), *p.blue(), *p.marks()), (Colour::GREEN, Colour::BLUE, Marks(0)));
    assert!(p.maybe().get().is_none() && p.nickname().get().is_none() && p.linked().get().is_none());
}

fn pantry() -> Pantry {
    let inner = |text: &str, numbers: &[i16]| {
        let mut inner = Inner::<Heap> { text: text.into(), ..Default::default() };
        inner.set_numbers(numbers).unwrap();
        inner
    };
    let mut p = Pantry {
        flag: false,
        small: 3,
        letter: b'q',
        wide_letter: 0x20ac,
        ratio: -0.25,
        short_text: "short".into(),
        long_text: "longer than eleven".into(),
        colour: Colour::RED,
        marks: Marks::RARE,
        flagged: Flagged { on: true, letter: b'f', count: 9 },
        several: [Flagged { on: true, letter: b'a', count: 1 }, Flagged::default()],
        grid: [[1, 2, 3], [4, 5, 6]],
        names: ["one".into(), "the second one of them".into()],
        inner: inner("the inner text is long", &[1, -2]),
        inners: vec![inner("a", &[]), inner("b", &[7])],
        bits: vec![true, false, true],
        letters: vec![b'h', b'i'],
        colours: vec![Colour::BLUE, Colour(77)],
        words: vec!["x".into(), "a word of many letters".into()],
        nested: vec![vec![1, 2], vec![], vec![3]],
        cloud: vec![Position { x: 1.0, y: 2.0, z: 3.0 }].try_into().unwrap(),
        by_name: [("k".to_owned(), inner("v", &[4]))].into(),
        by_number: [(-1, "minus one".to_owned()), (1000, "a thousand and more".to_owned())].into(),
        by_colour: [(Colour::RED, 1), (Colour::BLUE, 2)].into(),
        set_of_words: vec!["apple".into(), "mango".into()],
        set_of_colours: vec![Colour::GREEN],
        set_of_numbers: vec![5],
        maybe: Some(2.5),
        nickname: Some("nick".into()),
        linked: Some(inner("far away", &[8, 9])),
        ..Default::default()
    };
    p.set_bounded_text("twelve bytes").unwrap();
    p.wide_text.try_assign_str("wide \u{1f600}").unwrap();
    p.wide_words = vec![p.wide_text.clone()];
    p
}

#[test]
fn heap_messages_go_into_regions_and_come_back() {
    let before = pantry();
    let r = Region::<PantryRegion>::of(&before, &[]).unwrap();
    let p = r.root();
    assert_eq!(p.long_text().as_str(), "longer than eleven");
    assert_eq!((p.flagged().on().get(), *p.several().get(0).unwrap().count()), (true, 1));
    assert_eq!(p.inners().get(1).unwrap().numbers().as_slice(), [7]);
    assert_eq!(p.by_number().get(1000).unwrap().as_str(), "a thousand and more");
    assert_eq!(*p.by_colour().get(Colour::BLUE).unwrap(), 2);
    assert!(p.set_of_words().contains("mango") && p.set_of_colours().contains(Colour::GREEN));
    assert_eq!(p.linked().get().unwrap().text().as_str(), "far away");
    assert_eq!(p.wide_text().as_slice(), "wide \u{1f600}".encode_utf16().collect::<Vec<_>>());
    assert_eq!(p.cloud().as_slice(), [Position { x: 1.0, y: 2.0, z: 3.0 }]);

    // The image is valid in both forms, and the value is unchanged.
    let canonical = r.canonical();
    for image in [r.bytes(), &canonical] {
        let adopted = Region::<PantryRegion>::adopt(image).unwrap();
        assert_eq!(adopted.root().to_message::<Pantry>().unwrap(), before);
        assert_eq!(adopted.canonical(), canonical);
    }

    // A value that is stored over another one leaves nothing of it.
    let mut r = r;
    r.root_mut().store(&Pantry::<Heap>::default(), &[]).unwrap();
    let fresh = Region::<PantryRegion>::of(&Pantry::<Heap>::default(), &[]).unwrap();
    assert_eq!(r.canonical(), fresh.canonical());
}

/// The vectors were written by `spec/vectors/region_schema.py`.
#[test]
fn the_bytes_are_those_of_the_vectors() {
    let vector = |form: &str| {
        let path = format!("{}/../../spec/vectors/region/pantry.{form}.bin", env!("CARGO_MANIFEST_DIR"));
        std::fs::read(path).unwrap()
    };
    let canonical = vector("canonical");
    assert_eq!(Region::<PantryRegion>::of(&pantry(), &[]).unwrap().canonical(), canonical);
    let live = Region::<PantryRegion>::adopt(&vector("live")).unwrap();
    assert_eq!(live.canonical(), canonical);
    assert_eq!(live.root().to_message::<Pantry>().unwrap(), pantry());
    let packed = vector("packed");
    assert_eq!(live.packed(), packed);
    let unpacked = Region::<PantryRegion>::adopt(&packed).unwrap();
    assert_eq!(unpacked.canonical(), canonical);
    // Copied to a multiple of 16.
    let mut words = vec![0_u128; packed.len().div_ceil(16)];
    for (word, bytes) in words.iter_mut().zip(packed.chunks(16)) {
        let mut sixteen = [0; 16];
        sixteen[..bytes.len()].copy_from_slice(bytes);
        *word = u128::from_ne_bytes(sixteen);
    }
    // SAFETY: numbers are bytes, and the words are borrowed.
    let image = unsafe { std::slice::from_raw_parts(words.as_ptr().cast::<u8>(), packed.len()) };
    let p = view_packed::<PantryRegion>(image).unwrap();
    assert_eq!((p.flagged().on().get(), *p.several().get(0).unwrap().count()), (true, 1));
    assert_eq!(p.inners().get(1).unwrap().numbers().as_slice(), [7]);
    assert_eq!(p.by_number().get(1000).unwrap().as_str(), "a thousand and more");
    assert_eq!(*p.by_colour().get(Colour::BLUE).unwrap(), 2);
    assert!(p.set_of_words().contains("mango") && p.set_of_colours().contains(Colour::GREEN));
    assert_eq!(p.linked().get().unwrap().text().as_str(), "far away");
    assert_eq!(p.cloud().as_slice(), [Position { x: 1.0, y: 2.0, z: 3.0 }]);
}

#[test]
fn flat_messages_go_into_regions_and_come_back() {
    let mut heap = Bounded::<Heap>::default();
    heap.set_name("flat").unwrap();
    heap.set_path(&[Position { x: 1.0, y: 0.0, z: 0.0 }]).unwrap();
    heap.names.try_insert(-3, "three".try_into().unwrap()).unwrap();
    heap.samples.try_extend_from_slice(&[1, 2, 3]).unwrap();
    let from_heap = Region::<BoundedRegion>::of(&heap, &[]).unwrap();

    let mut flat = Bounded::<Flat>::default();
    let mut body = vec![0; Bounded::<Flat>::body_size(&BoundedBulkLengths { samples: 3 }).unwrap()];
    from_heap.root().load_into(&mut flat, &mut body).unwrap();
    assert_eq!((flat.name.as_str(), flat.path.len()), ("flat", 1));
    assert_eq!(flat.samples.slice(&body).unwrap(), [1, 2, 3]);
    let from_flat = Region::<BoundedRegion>::of(&flat, &body).unwrap();
    assert_eq!(from_flat.canonical(), from_heap.canonical());
}

#[test]
fn bounds_hold_where_a_region_is_converted() {
    let mut r = Region::<BoundedRegion>::new();
    r.root_mut().name().set("nine byte").unwrap();
    let error = r.root().to_message::<Bounded<Heap>>().unwrap_err().to_string();
    assert_eq!(error, "name: length 9 exceeds its bound 8");
    r.root_mut().name().clear();
    for _ in 0..5 {
        r.root_mut().path().push(Position::default()).unwrap();
    }
    let error = r.root().to_message::<Bounded<Heap>>().unwrap_err().to_string();
    assert_eq!(error, "path: length 5 exceeds its bound 4");
    assert_eq!(r.root().name().as_str(), "");
}

#[test]
fn trees_go_back_and_forth() {
    let leaf = |value| Tree::<Heap> { value, ..Default::default() };
    let tree: Tree = Tree { value: 1, children: vec![leaf(2), Tree { value: 3, children: vec![leaf(4)] }] };
    let r = Region::<TreeRegion>::of(&tree, &[]).unwrap();
    assert_eq!(view::<TreeRegion>(r.bytes()).unwrap().to_message::<Tree>().unwrap(), tree);
}

#[test]
fn values_without_storage_are_set_as_a_whole() {
    let mut r = Region::<PantryRegion>::new();
    r.root_mut().flagged().set(Flagged { on: true, letter: b'z', count: 4 }).unwrap();
    assert_eq!(*r.root().flagged().count(), 4);
    *r.root_mut().flagged().count() += 1;
    assert_eq!(
        r.root().flagged().to_message::<Flagged>().unwrap(),
        Flagged { on: true, letter: b'z', count: 5 }
    );
    r.root_mut().inner().text().set("t").unwrap();
    assert_eq!(r.root().inner().text().as_str(), "t");
}

#[test]
fn values_are_printed_and_compared_by_member() {
    let r = Region::<PantryRegion>::of(&pantry(), &[]).unwrap();
    let text = format!("{:?}", r.root());
    for part in [
        "Pantry { flag: false, small: 3, letter: b'q', ",
        "colour: RED",
        "marks: Marks(RARE)",
        "flagged: Flagged { on: true, letter: b'f', count: 9 }",
        "colours: [BLUE, ",
        "by_colour: {RED: 1, BLUE: 2}",
        "linked: Some(Inner { text: \"far away\", numbers: [8, 9] })",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert_eq!(format!("{:?}", r.root().colour()), format!("{:?}", Colour::RED));
    let mut other = Region::<PantryRegion>::of(&pantry(), &[]).unwrap();
    assert!(r == other && other.root().words() == ["x", "a word of many letters"]);
    assert!(other.root().colour() == Colour::RED && other.root().set_of_words() == r.root().set_of_words());
    other.root_mut().linked().get_mut().unwrap().numbers().as_mut_slice()[1] = 0;
    assert!(r != other);
}

#[test]
fn bounded_members_are_named_as_the_schema_does() {
    let mut r = Region::<BoundedRegion>::new();
    r.root_mut().samples().push(3_u16).unwrap();
    assert_eq!(r.root().samples().as_slice(), [3]);
    assert!(r.root().r#where().get().is_none());
}

/// Reading by the schema alone gives the same as reading from CDR.
#[test]
fn regions_are_read_by_their_schema() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/region.idl");
    let schema = Loader::new().file(path).load().unwrap();
    let id = schema.find("game::Pantry").unwrap();
    let mut value = pantry();
    // A hash map has its own order.
    value.by_number.remove(&-1);
    let cdr = situ::wire::encode_to_vec(&value, situ::wire::Encoding::Xcdr1).unwrap();
    let expected = dynamic::from_cdr(&schema, id, &cdr).unwrap();
    let region = Region::<PantryRegion>::of(&value, &[]).unwrap();
    assert_eq!(dynamic::from_region(&schema, id, region.bytes()).unwrap(), expected);
    assert_eq!(dynamic::from_region(&schema, id, &region.canonical()).unwrap(), expected);

    // A packed image has the same value. What a compiled reader takes, the schema reads.
    let packed = region.packed();
    assert_eq!(dynamic::from_region(&schema, id, &packed).unwrap(), expected);
    for at in 32..packed.len() {
        for change in [1, 0x40, 0xff] {
            let mut bytes = packed.clone();
            bytes[at] ^= change;
            let Ok(taken) = Region::<PantryRegion>::adopt(&bytes) else { continue };
            let read = dynamic::from_region(&schema, id, &bytes);
            assert_eq!(read, dynamic::from_region(&schema, id, &taken.canonical()), "{at}");
        }
    }

    // No bytes make it panic.
    for at in 0..region.bytes().len() {
        for change in [1, 0x40, 0xff] {
            let mut bytes = region.bytes().to_vec();
            bytes[at] ^= change;
            let _ = dynamic::from_region(&schema, id, &bytes);
        }
        let _ = dynamic::from_region(&schema, id, &region.bytes()[..at]);
    }
}
