//! Regions of described types, beside the same types known when the program is compiled: the same changes
//! give the same bytes, live and canonical.

use std::sync::Arc;

use situ_region::dynamic::{
    Case, DynamicRegion, EditError, Key, Kind, Lookup, Member, OwnedKey, Scalar, Step, TypeNumber, Types,
    TypesBuilder, TypesError,
};
use situ_region::{
    Full, HashMap, HashSet, Maybe, Mut, Options, OrderedMap, OrderedSet, Region, ShareError, Shared,
    SortedMap, SortedSet, Text, Unique, Vector, layout_hash,
};
use situ_region::{region_plain, region_struct, region_union};

region_plain! { struct Point { x: f64, y: f64 } }
region_struct! { struct Inner: InnerRef, InnerMut { text: Text, numbers: Vector<i16> } }
region_struct! { struct Knot: KnotRef, KnotMut { name: Text, next: Unique<Knot>, other: Shared<Knot> } }
region_union! {
    union Shape: ShapeRef, ShapeMut (u64) {
        0 => radius: f32,
        2 | 3 => label: Text,
        default => points: Vector<Point>,
    }
}
region_struct! {
    struct All: AllRef, AllMut {
        id: u8,
        name: Text,
        numbers: Vector<u32>,
        inners: Vector<Inner>,
        corners: [Inner; 2],
        by_name: SortedMap<Text, Inner>,
        by_number: HashMap<i32, Text>,
        tree: OrderedMap<Text, u64>,
        wide_tree: OrderedMap<u16, Inner>,
        sorted: SortedSet<i8>,
        hashed: HashSet<Text>,
        ordered: OrderedSet<u32>,
        maybe: Maybe<Inner>,
        unique: Unique<Inner>,
        shape: Shape,
        shapes: Vector<Shape>,
        shared: Shared<Inner>,
        links: Vector<Shared<Inner>>,
        knot: Unique<Knot>,
    }
}

fn number(builder: &mut TypesBuilder, of: Scalar) -> TypeNumber {
    builder.add(Kind::Scalar { of, initial: 0 })
}

fn structure(builder: &mut TypesBuilder, name: &str, members: &[(&str, TypeNumber)]) -> TypeNumber {
    let members = members.iter().map(|(name, ty)| Member::new(*name, *ty, None)).collect();
    builder.add(Kind::Struct { name: name.into(), members, appendable: false })
}

/// `All`, described.
fn types() -> Arc<Types> {
    let mut all = TypesBuilder::default();
    let b = &mut all;
    let [u8, u16, u32, u64] = [Scalar::U8, Scalar::U16, Scalar::U32, Scalar::U64].map(|it| number(b, it));
    let [i8, i16, i32] = [Scalar::I8, Scalar::I16, Scalar::I32].map(|it| number(b, it));
    let [f32, f64] = [Scalar::F32, Scalar::F64].map(|it| number(b, it));
    let text = b.add(Kind::Text);
    let i16s = b.add(Kind::Vector { element: i16 });
    let point = structure(b, "Point", &[("x", f64), ("y", f64)]);
    let inner = structure(b, "Inner", &[("text", text), ("numbers", i16s)]);
    let points = b.add(Kind::Vector { element: point });
    let case = |name: &str, ty, labels: &[i128], is_default| Case {
        name: name.into(),
        ty,
        labels: labels.to_vec(),
        is_default,
    };
    let cases = vec![
        case("radius", f32, &[0], false),
        case("label", text, &[2, 3], false),
        case("points", points, &[], true),
    ];
    let shape = Kind::Union { name: "Shape".into(), discriminator: Scalar::U64, initial: 0, cases };
    let shape = b.add(shape);
    let knot = b.announce();
    let (next, other) = (b.add(Kind::Unique { value: knot }), b.add(Kind::Shared { value: knot }));
    let members = [("name", text), ("next", next), ("other", other)];
    let members = members.into_iter().map(|(name, ty)| Member::new(name, ty, None)).collect();
    b.describe(knot, Kind::Struct { name: "Knot".into(), members, appendable: false });
    let shared = b.add(Kind::Shared { value: inner });
    let map = |b: &mut TypesBuilder, lookup, key, value| b.add(Kind::Map { lookup, key, value });
    let members = [
        ("id", u8),
        ("name", text),
        ("numbers", b.add(Kind::Vector { element: u32 })),
        ("inners", b.add(Kind::Vector { element: inner })),
        ("corners", b.add(Kind::Array { element: inner, count: 2 })),
        ("by_name", map(b, Lookup::Sorted, text, inner)),
        ("by_number", map(b, Lookup::Hash, i32, text)),
        ("tree", map(b, Lookup::Ordered, text, u64)),
        ("wide_tree", map(b, Lookup::Ordered, u16, inner)),
        ("sorted", b.add(Kind::Set { lookup: Lookup::Sorted, key: i8 })),
        ("hashed", b.add(Kind::Set { lookup: Lookup::Hash, key: text })),
        ("ordered", b.add(Kind::Set { lookup: Lookup::Ordered, key: u32 })),
        ("maybe", b.add(Kind::Optional { value: inner })),
        ("unique", b.add(Kind::Unique { value: inner })),
        ("shape", shape),
        ("shapes", b.add(Kind::Vector { element: shape })),
        ("shared", shared),
        ("links", b.add(Kind::Vector { element: shared })),
        ("knot", next),
    ];
    let root = structure(b, "All", &members);
    Arc::new(all.finish(root, 0).unwrap())
}

fn member(index: u32) -> Step {
    Step::Member(index)
}

const NAME: u32 = 1;
const NUMBERS: u32 = 2;
const INNERS: u32 = 3;
const CORNERS: u32 = 4;
const BY_NAME: u32 = 5;
const BY_NUMBER: u32 = 6;
const TREE: u32 = 7;
const WIDE_TREE: u32 = 8;
const SORTED: u32 = 9;
const HASHED: u32 = 10;
const ORDERED: u32 = 11;
const MAYBE: u32 = 12;
const UNIQUE: u32 = 13;
const SHAPE: u32 = 14;
const SHAPES: u32 = 15;
const SHARED: u32 = 16;
const LINKS: u32 = 17;
const KNOT: u32 = 18;

/// Numbers that look random (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ (x >> 31)) % end
    }

    fn text(&mut self, kinds: u64) -> String {
        let number = self.below(kinds);
        format!("{number:0width$}", width = (number as usize * 7) % 40)
    }
}

/// Both regions.
struct Both {
    typed: Region<All>,
    described: DynamicRegion,
}

impl Both {
    fn new() -> Self {
        Self { typed: Region::new(), described: DynamicRegion::new(types()) }
    }

    /// One change, of both.
    fn change(&mut self, random: &mut Random) {
        let mut typed = self.typed.root_mut();
        let described = &mut self.described;
        let text = random.text(200);
        let number = random.below(400) as u32;
        match random.below(25) {
            0 => {
                typed.name().set(&text).unwrap();
                described.edit(&[member(NAME)]).unwrap().set_text(&text).unwrap();
            }
            1 => {
                let at = random.below(typed.numbers().len() as u64 + 1);
                assert!(typed.numbers().insert(at as usize, number).unwrap());
                let mut numbers = described.edit(&[member(NUMBERS)]).unwrap();
                numbers.insert(at as u32).unwrap().set_bytes(&number.to_le_bytes()).unwrap();
            }
            2 => {
                let more: Vec<u32> = (0..number % 9).collect();
                typed.numbers().extend_from_slice(&more).unwrap();
                let bytes: Vec<u8> = more.iter().flat_map(|it| it.to_le_bytes()).collect();
                let mut numbers = described.edit(&[member(NUMBERS)]).unwrap();
                let len = numbers.as_part().len().unwrap();
                numbers.insert_bytes(len, &bytes).unwrap();
            }
            3 | 4 => {
                let len = typed.numbers().len();
                let first = random.below(len as u64 + 1) as usize;
                let end = first + random.below((len - first) as u64 + 1) as usize;
                assert!(typed.numbers().remove_range(first..end));
                described.edit(&[member(NUMBERS)]).unwrap().remove(first as u32..end as u32).unwrap();
            }
            5 => {
                let at = random.below(typed.inners().len() as u64 + 1);
                typed.inners().push_default().unwrap().text().set(&text).unwrap();
                let last = typed.inners().len() as u32 - 1;
                let inners = [member(INNERS)];
                described.edit(&inners).unwrap().insert(last).unwrap();
                let steps = [member(INNERS), Step::Element(last), member(0)];
                described.edit(&steps).unwrap().set_text(&text).unwrap();
                assert!(typed.inners().swap(at as usize, last as usize));
                let mut order: Vec<u32> = (0..=last).collect();
                order.swap(at as usize, last as usize);
                described.edit(&inners).unwrap().reorder(&order).unwrap();
            }
            6 => {
                let len = typed.inners().len() as u64;
                let at = random.below(len + 1);
                let removed = typed.inners().remove(at as usize);
                let described = described.edit(&[member(INNERS)]).unwrap().remove(at as u32..at as u32 + 1);
                assert_eq!(described.is_ok(), removed);
            }
            7 => {
                typed.by_name().entry(&text).unwrap().numbers().push(number as i16).unwrap();
                let mut map = described.edit(&[member(BY_NAME)]).unwrap();
                let (value, _) = map.insert_key(Key::Text(&text)).unwrap();
                let mut numbers = value.part(&member(1)).unwrap();
                let len = numbers.as_part().len().unwrap();
                numbers.insert_bytes(len, &(number as i16).to_le_bytes()).unwrap();
            }
            8 => {
                let key = number as i32 - 100;
                typed.by_number().insert(key, &text).unwrap();
                let mut map = described.edit(&[member(BY_NUMBER)]).unwrap();
                map.insert_key(Key::Integer(key.into())).unwrap().0.set_text(&text).unwrap();
            }
            9 => {
                typed.tree().insert(&text, u64::from(number)).unwrap();
                let mut map = described.edit(&[member(TREE)]).unwrap();
                let bytes = u64::from(number).to_le_bytes();
                map.insert_key(Key::Text(&text)).unwrap().0.set_bytes(&bytes).unwrap();
            }
            10 => {
                typed.wide_tree().entry(number as u16).unwrap().text().set(&text).unwrap();
                let mut map = described.edit(&[member(WIDE_TREE)]).unwrap();
                let (value, _) = map.insert_key(Key::Integer(number.into())).unwrap();
                value.part(&member(0)).unwrap().set_text(&text).unwrap();
            }
            11 => {
                let key = (number % 200) as u8 as i8;
                let is_new = typed.sorted().insert(key).unwrap();
                let mut set = described.edit(&[member(SORTED)]).unwrap();
                assert_eq!(set.insert_key(Key::Integer(key.into())).unwrap().1, is_new);
            }
            12 => {
                let is_new = typed.hashed().insert(&text).unwrap();
                let mut set = described.edit(&[member(HASHED)]).unwrap();
                assert_eq!(set.insert_key(Key::Text(&text)).unwrap().1, is_new);
            }
            13 => {
                let is_new = typed.ordered().insert(number).unwrap();
                let mut set = described.edit(&[member(ORDERED)]).unwrap();
                assert_eq!(set.insert_key(Key::Integer(number.into())).unwrap().1, is_new);
            }
            14 | 15 => {
                let key = i128::from(number);
                let text = Key::Text(&text);
                let (typed, member_index, key) = match random.below(7) {
                    0 => (typed.by_name().remove(unwrap(text)), BY_NAME, text),
                    1 => (typed.by_number().remove(number as i32 - 100), BY_NUMBER, Key::Integer(key - 100)),
                    2 => (typed.tree().remove(unwrap(text)), TREE, text),
                    3 => (typed.wide_tree().remove(number as u16), WIDE_TREE, Key::Integer(key)),
                    4 => {
                        let key = (number % 200) as u8 as i8;
                        (typed.sorted().remove(key), SORTED, Key::Integer(key.into()))
                    }
                    5 => (typed.hashed().remove(unwrap(text)), HASHED, text),
                    _ => (typed.ordered().remove(number), ORDERED, Key::Integer(key)),
                };
                let removed = described.edit(&[member(member_index)]).unwrap().remove_key(key).unwrap();
                assert_eq!(removed, typed);
            }
            16 => {
                typed.maybe().fill().text().set(&text).unwrap();
                let mut maybe = described.edit(&[member(MAYBE)]).unwrap();
                maybe.fill().unwrap().part(&member(0)).unwrap().set_text(&text).unwrap();
            }
            17 => {
                typed.unique().fill().unwrap().text().set(&text).unwrap();
                let mut unique = described.edit(&[member(UNIQUE)]).unwrap();
                unique.fill().unwrap().part(&member(0)).unwrap().set_text(&text).unwrap();
            }
            18 => {
                let selected = random.below(6);
                typed.shape().select(selected);
                described.edit(&[member(SHAPE)]).unwrap().select(selected.into()).unwrap();
                if let Some(mut label) = typed.shape().label() {
                    label.set(&text).unwrap();
                    let steps = [member(SHAPE), Step::Case(1)];
                    described.edit(&steps).unwrap().set_text(&text).unwrap();
                }
            }
            19 => {
                let point = Point { x: f64::from(number), y: 0.5 };
                let mut shapes = typed.shapes();
                let mut shape = shapes.push_default().unwrap();
                shape.select(9);
                shape.points().unwrap().push(point).unwrap();
                let last = shapes.len() as u32 - 1;
                described.edit(&[member(SHAPES)]).unwrap().insert(last).unwrap().select(9).unwrap();
                let steps = [member(SHAPES), Step::Element(last), Step::Case(2)];
                let mut points = described.edit(&steps).unwrap();
                let place = points.insert(0).unwrap();
                place.part(&member(0)).unwrap().set_bytes(&point.x.to_le_bytes()).unwrap();
                let steps = [&steps[..], &[Step::Element(0), member(1)]].concat();
                described.edit(&steps).unwrap().set_bytes(&point.y.to_le_bytes()).unwrap();
            }
            20 => {
                typed.shared().fill().unwrap().text().set(&text).unwrap();
                let mut shared = described.edit(&[member(SHARED)]).unwrap();
                shared.fill().unwrap().part(&member(0)).unwrap().set_text(&text).unwrap();
            }
            21 => {
                typed.links().push_default().unwrap();
                let last = typed.links().len() as u32 - 1;
                described.edit(&[member(LINKS)]).unwrap().insert(last).unwrap();
                typed
                    .share(
                        |it| Some(it.shared()),
                        |mut it, link| it.links().get_mut(last as usize).unwrap().link(link),
                    )
                    .unwrap();
                let to = [member(LINKS), Step::Element(last)];
                described.share(&[member(SHARED)], &to).unwrap();
            }
            22 => {
                let corner = random.below(2);
                let mut corners = typed.corners();
                corners.get_mut(corner as usize).unwrap().numbers().push(number as i16).unwrap();
                let steps = [member(CORNERS), Step::Element(corner as u32), member(1)];
                let mut numbers = described.edit(&steps).unwrap();
                let len = numbers.as_part().len().unwrap();
                numbers.insert_bytes(len, &(number as i16).to_le_bytes()).unwrap();
            }
            23 => match random.below(6) {
                0 => {
                    typed.maybe().clear();
                    described.edit(&[member(MAYBE)]).unwrap().clear().unwrap();
                }
                1 => {
                    typed.unique().clear();
                    described.edit(&[member(UNIQUE)]).unwrap().clear().unwrap();
                }
                2 => {
                    typed.shared().clear();
                    described.edit(&[member(SHARED)]).unwrap().clear().unwrap();
                }
                3 => {
                    typed.by_number().clear();
                    described.edit(&[member(BY_NUMBER)]).unwrap().clear().unwrap();
                }
                4 => {
                    typed.wide_tree().clear();
                    described.edit(&[member(WIDE_TREE)]).unwrap().clear().unwrap();
                }
                _ => {
                    typed.links().clear();
                    described.edit(&[member(LINKS)]).unwrap().clear().unwrap();
                }
            },
            _ => {
                // A chain that grows at its beginning, and is dropped now and then.
                if random.below(20) == 0 {
                    typed.knot().clear();
                    described.edit(&[member(KNOT)]).unwrap().clear().unwrap();
                }
                let links = random.below(90);
                let mut knot = typed.knot();
                extend(knot.fill().unwrap(), links, &text);
                let mut steps = vec![member(KNOT)];
                described.edit(&steps).unwrap().fill().unwrap();
                steps.push(Step::Value);
                for _ in 0..links {
                    steps.push(member(1));
                    described.edit(&steps).unwrap().fill().unwrap();
                    steps.push(Step::Value);
                }
                steps.push(member(0));
                described.edit(&steps).unwrap().set_text(&text).unwrap();
            }
        }
    }
}

/// Makes a chain this long, and names its last knot.
fn extend(mut knot: Mut<'_, Knot>, links: u64, name: &str) {
    if links == 0 {
        return knot.name().set(name).unwrap();
    }
    extend(knot.next().fill().unwrap(), links - 1, name);
}

fn unwrap(key: Key<'_>) -> &str {
    match key {
        Key::Text(text) => text,
        _ => "",
    }
}

#[test]
fn the_layout_is_the_same() {
    assert_eq!(types().layout_hash(), layout_hash::<All>());
    let Both { typed, described } = Both::new();
    assert_eq!(described.bytes(), typed.bytes());
    assert_eq!(described.canonical(), typed.canonical());
    assert_eq!(described.packed(), typed.packed());
}

#[test]
fn the_same_changes_give_the_same_bytes() {
    let (seeds, steps) = if cfg!(miri) { (2, 60) } else { (6, 1500) };
    for seed in 0..seeds {
        let (mut both, mut random) = (Both::new(), Random(seed));
        for step in 0..steps {
            both.change(&mut random);
            if step % 50 == 0 || step + 20 > steps {
                assert!(both.described.bytes() == both.typed.bytes(), "seed {seed}, step {step}");
                assert_eq!(both.described.free_bytes(), both.typed.free_bytes());
            }
        }
        let canonical = both.described.canonical();
        assert!(canonical == both.typed.canonical(), "seed {seed}");
        assert!(both.described.packed() == both.typed.packed(), "seed {seed}");
        // The check looks at everything.
        assert!(Region::<All>::adopt(both.described.bytes()).unwrap().canonical() == canonical);
        let (root, typed) = (both.described.root(), both.typed.root());
        let keys: Vec<Key<'_>> = typed.wide_tree().iter().map(|(key, _)| Key::Integer(key.into())).collect();
        assert_eq!(root.part(&member(WIDE_TREE)).unwrap().keys(), keys);
        let keys: Vec<Key<'_>> = typed.hashed().iter().map(Key::Text).collect();
        assert_eq!(root.part(&member(HASHED)).unwrap().keys(), keys);
        let step = Step::Key(OwnedKey::Integer(7));
        let found = root.part(&member(WIDE_TREE)).unwrap().part(&step).map(|it| it.at());
        assert_eq!(found.is_some(), typed.wide_tree().get(7).is_some());
    }
}

#[test]
fn a_full_region_is_unchanged() {
    let options = Options { limit: 4096, ..Options::default() };
    let mut region = DynamicRegion::with_options(types(), options);
    let words = [member(BY_NUMBER)];
    let full = (0..1000).find_map(|i| {
        let before = region.canonical();
        let mut map = region.edit(&words).unwrap();
        let (mut value, is_new) = match map.insert_key(Key::Integer(i)) {
            Ok(found) => found,
            Err(error) => return Some((error, before)),
        };
        assert!(is_new);
        value.set_text("a text that needs a block of its own").err().map(|error| {
            assert!(map.remove_key(Key::Integer(i)).unwrap());
            (error, before)
        })
    });
    let (error, before) = full.unwrap();
    assert_eq!(error, EditError::Full(Full { limit: 4096 }));
    assert_eq!(region.canonical(), before);
    // What is removed makes room again.
    region.edit(&words).unwrap().remove_key(Key::Integer(0)).unwrap();
    region.edit(&[member(NAME)]).unwrap().set_text("a text that needs a block").unwrap();
}

#[test]
fn pinned_memory_stays_where_it_is() {
    let mut region = DynamicRegion::new(types());
    let numbers = [member(INNERS), Step::Element(0), member(1)];
    for _ in 0..3 {
        region.edit(&[member(INNERS)]).unwrap().insert(0).unwrap();
    }
    region.edit(&numbers).unwrap().insert_bytes(0, &[1, 0, 2, 0]).unwrap();
    let (at, size) = region.part(&numbers).unwrap().dense_elements().unwrap();
    let pin = region.pin(at..at + size);
    let copy = pin.clone();
    drop(pin);
    let pinned = |result: Result<(), EditError>| assert_eq!(result, Err(EditError::Pinned));
    pinned(region.edit(&numbers).unwrap().insert(0).map(drop));
    pinned(region.edit(&numbers).unwrap().clear());
    pinned(region.edit(&[member(INNERS)]).unwrap().insert(3).map(drop));
    pinned(region.edit(&[member(INNERS)]).unwrap().remove(2..3));
    pinned(region.edit(&[member(INNERS)]).unwrap().reorder(&[2, 1, 0]));
    // Bytes are written in place, and other values may change.
    region.edit(&numbers).unwrap().set_elements(1, &[9, 0]).unwrap();
    region
        .edit(&[member(INNERS), Step::Element(0), member(0)])
        .unwrap()
        .set_text("some text in a block")
        .unwrap();
    region.edit(&[member(INNERS), Step::Element(1), member(1)]).unwrap().insert(0).unwrap();
    region.edit(&[member(NUMBERS)]).unwrap().insert_bytes(0, &[0; 400]).unwrap();
    let now = region.part(&numbers).unwrap().dense_elements().unwrap();
    assert_eq!(now, (at, size));
    assert_eq!(region.bytes()[at as usize..][..4], [1, 0, 9, 0]);
    drop(copy);
    region.edit(&[member(INNERS)]).unwrap().clear().unwrap();

    // Also behind links that share a value, and in one that is replaced.
    let mut shared = region.edit(&[member(SHARED)]).unwrap();
    shared.fill().unwrap().part(&member(1)).unwrap().insert_bytes(0, &[5, 0]).unwrap();
    region.edit(&[member(LINKS)]).unwrap().insert(0).unwrap();
    region.share(&[member(SHARED)], &[member(LINKS), Step::Element(0)]).unwrap();
    let numbers = [member(LINKS), Step::Element(0), Step::Value, member(1)];
    let (at, size) = region.part(&numbers).unwrap().dense_elements().unwrap();
    let pin = region.pin(at..at + size);
    pinned(region.edit(&[member(SHARED), Step::Value, member(1)]).unwrap().insert(0).map(drop));
    pinned(region.edit(&[member(SHARED)]).unwrap().clear());
    // This gives the link a value of its own.
    region.edit(&[member(SHARED)]).unwrap().fill_own().unwrap();
    assert_eq!(region.part(&[member(LINKS), Step::Element(0)]).unwrap().links(), Some(1));
    pinned(region.edit(&[member(LINKS)]).unwrap().clear());
    drop(pin);
    region.edit(&[member(LINKS)]).unwrap().clear().unwrap();
}

#[test]
fn shared_links_make_no_cycles() {
    let mut region = DynamicRegion::new(types());
    let knot = [member(KNOT)];
    region.edit(&knot).unwrap().fill().unwrap();
    let other = [member(KNOT), Step::Value, member(2)];
    region.edit(&other).unwrap().fill().unwrap();
    let inner = [&other[..], &[Step::Value, member(1)]].concat();
    region.edit(&inner).unwrap().fill().unwrap();
    let inner = [&inner[..], &[Step::Value, member(2)]].concat();
    assert_eq!(region.share(&other, &inner), Err(ShareError::Cycle.into()));
    assert_eq!(region.part(&other).unwrap().links(), Some(1));
    // The other way round, the value that held the link ends.
    region.edit(&inner).unwrap().fill().unwrap().part(&member(0)).unwrap().set_text("the last one").unwrap();
    region.share(&inner, &other).unwrap();
    assert_eq!(region.part(&other).unwrap().links(), Some(1));
    let name = [&other[..], &[Step::Value, member(0)]].concat();
    assert_eq!(region.part(&name).unwrap().text(), Some("the last one"));
    assert!(Region::<All>::adopt(region.bytes()).is_ok());
    let wrong = region.share(&other, &[member(SHARED)]);
    assert_eq!(wrong, Err(EditError::OtherKind("shared link of the same type")));
}

#[test]
fn wrong_changes_are_errors() {
    let mut region = DynamicRegion::new(types());
    let before = region.bytes().to_vec();
    let there = |result: Result<(), EditError>| assert!(result.is_err(), "{result:?}");
    there(region.edit(&[member(99)]).map(drop));
    there(region.edit(&[member(NUMBERS), Step::Element(0)]).map(drop));
    there(region.edit(&[member(MAYBE), Step::Value]).map(drop));
    there(region.edit(&[member(SHAPE), Step::Case(1)]).map(drop));
    there(region.edit(&[member(NAME)]).unwrap().insert(0).map(drop));
    there(region.edit(&[member(NAME)]).unwrap().set_bytes(&[1; 16]));
    there(region.edit(&[member(NUMBERS)]).unwrap().insert(1).map(drop));
    there(region.edit(&[member(NUMBERS)]).unwrap().insert_bytes(0, &[1]));
    there(region.edit(&[member(NUMBERS)]).unwrap().set_elements(0, &[1; 4]));
    there(region.edit(&[member(NUMBERS)]).unwrap().remove(0..1));
    there(region.edit(&[member(INNERS)]).unwrap().insert_bytes(0, &[0; 32]));
    there(region.edit(&[member(SORTED)]).unwrap().insert_key(Key::Integer(128)).map(drop));
    there(region.edit(&[member(SORTED)]).unwrap().insert_key(Key::Text("a")).map(drop));
    there(region.edit(&[member(SHAPE)]).unwrap().select(-1));
    there(region.edit(&[member(KNOT)]).unwrap().select(0));
    assert_eq!(region.bytes(), before);
}

#[test]
fn wrong_types_are_errors() {
    let finish = |make: &dyn Fn(&mut TypesBuilder) -> TypeNumber| {
        let mut builder = TypesBuilder::default();
        let root = make(&mut builder);
        builder.finish(root, 0).map(drop)
    };
    let of = |kind: fn(TypeNumber) -> Kind| {
        move |b: &mut TypesBuilder| {
            let bad = b.announce();
            b.describe(bad, kind(bad));
            structure(b, "Root", &[("bad", bad)])
        }
    };
    assert_eq!(finish(&|b| b.announce()), Err(TypesError::Missing(0)));
    assert_eq!(finish(&|b| b.add(Kind::Text)), Err(TypesError::Root));
    assert_eq!(finish(&|b| structure(b, "Nothing", &[])), Err(TypesError::Size(0)));
    assert_eq!(finish(&of(|_| Kind::Vector { element: 9 })), Err(TypesError::Missing(9)));
    let endless = finish(&of(|it| Kind::Optional { value: it }));
    assert!(matches!(endless, Err(TypesError::Endless(_))));
    assert_eq!(finish(&of(|it| Kind::Set { lookup: Lookup::Hash, key: it })), Err(TypesError::Key(0)));
    let huge = finish(&of(|it| Kind::Array { element: it, count: 2 }));
    assert!(matches!(huge, Err(TypesError::Endless(_))));
    let huge = finish(&|b| {
        let text = b.add(Kind::Text);
        let many = b.add(Kind::Array { element: text, count: 1 << 27 });
        structure(b, "Root", &[("many", many)])
    });
    assert_eq!(huge, Err(TypesError::Size(1)));
    let text = finish(&|b| {
        let text = b.add(Kind::Text);
        let members = vec![Member::new("long", text, Some(b"twelve bytes".to_vec()))];
        b.add(Kind::Struct { name: "Root".into(), members, appendable: false })
    });
    assert_eq!(text, Err(TypesError::Default("long".into())));
}
