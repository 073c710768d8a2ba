//! `Debug` of handles: what values look like, and where the text ends.

use situ_region::{
    Bool, Char, HashMap, Maybe, OrderedMap, Region, ShareError, Shared, SortedMap, SortedSet, Text, Unique,
    Vector, view_packed,
};
use situ_region::{region_enum, region_plain, region_struct, region_union};

use crate::Aligned;

region_enum! { enum Side: i8 { LEFT = -1, RIGHT = 1 } }
region_plain! { struct Point { x: f32, y: f32 } }
region_struct! { key struct Place: PlaceRef, PlaceMut { area: Text, number: u8 } }
region_union! { union Shape: ShapeRef, ShapeMut (u8) { 1 => radius: f64, 2 => label: Text } }
region_struct! {
    struct All: AllRef, AllMut {
        number: i64,
        half: f32,
        flag: Bool,
        letter: Char,
        side: Side,
        point: Point,
        three: [u16; 3],
        name: Text,
        texts: Vector<Text>,
        none: Vector<u8>,
        few: SortedSet<u8>,
        sorted: SortedMap<Place, Maybe<u8>>,
        hashed: HashMap<u32, Point>,
        ordered: OrderedMap<Text, Vector<u8>>,
        maybe: Maybe<Text>,
        link: Unique<Point>,
        shape: Shape,
        other: Shape,
        shared: Shared<Text>,
        again: Shared<Text>,
    }
}

fn all() -> Result<Region<All>, ShareError> {
    let mut r = Region::<All>::new();
    let mut all = r.root_mut();
    *all.number() = -7;
    *all.half() = 0.5;
    all.flag().set(true)?;
    *all.letter() = Char(b'\n');
    *all.side() = Side::RIGHT;
    *all.point() = Point { x: 1.0, y: -0.0 };
    *all.three() = [1, 2, 3];
    all.name().set("a \"name\"")?;
    all.texts().extend(["one", "two"])?;
    all.few().extend([3, 1])?;
    all.sorted().insert(("cellar", 3), Some(4_u8))?;
    all.sorted().insert(("attic", 3), None::<u8>)?;
    all.hashed().insert(9, Point { x: 0.25, y: 8.0 })?;
    all.ordered().insert("key", &[5_u8, 6])?;
    all.maybe().set(Some("there"))?;
    *all.link().fill()? = Point { x: 3.0, y: 4.0 };
    all.shape().select(2);
    all.shape().label().unwrap().set("a label")?;
    all.other().select(9);
    all.shared().fill()?.set("common")?;
    all.share(|all| Some(all.shared()), |mut all, text| all.again().link(text))?;
    Ok(r)
}

const ALL: &str = "All { number: -7, half: 0.5, flag: true, letter: b'\\n', side: Side(1), \
    point: Point { x: 1.0, y: -0.0 }, three: [1, 2, 3], name: \"a \\\"name\\\"\", texts: [\"one\", \"two\"], \
    none: [], few: {1, 3}, sorted: {Place { area: \"attic\", number: 3 }: None, \
    Place { area: \"cellar\", number: 3 }: Some(4)}, hashed: {9: Point { x: 0.25, y: 8.0 }}, \
    ordered: {\"key\": [5, 6]}, maybe: Some(\"there\"), link: Some(Point { x: 3.0, y: 4.0 }), \
    shape: Shape { discriminator: 2, label: \"a label\" }, other: Shape { discriminator: 9 }, \
    shared: Some(\"common\"), again: Some(\"common\") }";

#[test]
fn all_kinds_of_values_are_printed_as_those_of_the_standard_library() {
    let mut r = all().unwrap();
    assert_eq!(format!("{r:?}"), ALL);
    assert_eq!(format!("{:?}", r.root()), ALL);
    assert_eq!(format!("{:?}", r.root_mut()), ALL);
    let packed = r.packed();
    assert_eq!(format!("{:?}", view_packed::<All>(&Aligned::of(&packed)).unwrap()), ALL);
    let empty = Region::<All>::new();
    let text = format!("{:?}", empty.root());
    assert!(text.ends_with("other: Shape { discriminator: 0 }, shared: None, again: None }"), "{text}");
    assert!(text.contains("few: {}, sorted: {}, hashed: {}, ordered: {}, maybe: None"), "{text}");
}

#[test]
fn parts_are_printed_too_and_over_several_lines() {
    let r = all().unwrap();
    let root = r.root();
    assert_eq!(format!("{:?} {:?}", root.name(), root.number()), "\"a \\\"name\\\"\" -7");
    assert_eq!(format!("{:.2?}", root.hashed()), "{9: Point { x: 0.25, y: 8.00 }}");
    assert_eq!(
        format!("{:#?}", root.ordered()),
        "{\n    \"key\": [\n        5,\n        6,\n    ],\n}",
        "as BTreeMap"
    );
    assert_eq!(format!("{:#?}", root.maybe()), "Some(\n    \"there\",\n)");
    assert_eq!(format!("{:?}", root.sorted().first().unwrap().1), "None");
    let packed = r.packed();
    let packed = Aligned::of(&packed);
    assert_eq!(format!("{:?}", view_packed::<All>(&packed).unwrap().texts()), "[\"one\", \"two\"]");
}

region_struct! { struct Chain: ChainRef, ChainMut { next: Unique<Chain> } }
region_struct! { struct Lists: ListsRef, ListsMut { inner: Vector<Lists> } }
region_struct! { struct Graph: GraphRef, GraphMut { number: u8, to: Shared<Graph>, also: Shared<Graph> } }

const LONG: usize = if cfg!(miri) { 200 } else { 100_000 };

/// A chain whose root leads to `length` more values, made as a canonical image.
fn chain(length: usize) -> Region<Chain> {
    let mut image = Region::<Chain>::new().canonical()[..64].to_vec();
    for i in 0..=length as u32 {
        // Each value has a link to the next granule, a link back, and eight bytes that belong to nothing.
        let link = if i == length as u32 { 0 } else { 16_u32 };
        let words = [link, (64 + 16 * i).wrapping_neg(), 0, 0];
        words.iter().for_each(|word| image.extend_from_slice(&word.to_le_bytes()));
    }
    let size = image.len() as u32;
    image[24..28].copy_from_slice(&size.to_le_bytes());
    Region::adopt(&image).unwrap()
}

#[test]
fn a_chain_of_any_length_is_cut_at_a_depth() {
    // 32 links and an absent one, which the text shows; and 40, of which it shows 32.
    let short = format!("{:?}", chain(32));
    assert_eq!(short.matches("Chain {").count(), 33);
    assert!(short.contains("next: None") && !short.contains(".."), "{short}");
    let long = format!("{:?}", chain(40));
    assert_eq!(long.matches("Chain {").count(), 33);
    assert!(long.contains("Chain { next: .. }") && !long.contains("None"), "{long}");
}

#[test]
fn printing_a_long_chain_needs_little_stack() {
    let r = chain(LONG);
    // Over several lines, each character passes through all levels, which takes long in Miri.
    let several = || if cfg!(miri) { format!("{:?}", r.root()) } else { format!("{:#?}", r.root()) };
    let print = || [format!("{:?}", r.root()), several()].concat().matches("Chain {").count();
    let printed = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(256 << 10);
        thread.spawn_scoped(scope, print).unwrap().join().unwrap()
    });
    assert_eq!(printed, 2 * 33);
}

#[test]
fn nested_vectors_are_cut_too() {
    let mut r = Region::<Lists>::new();
    fn nest(mut lists: situ_region::Mut<'_, Lists>, depth: u32) {
        if depth != 0 {
            let mut inner = lists.inner();
            nest(inner.push_default().unwrap(), depth - 1);
        }
    }
    nest(r.root_mut(), 40);
    let text = format!("{:?}", r.root());
    assert_eq!(text.matches("Lists {").count(), 33);
    assert!(text.contains("Lists { inner: .. }"), "{text}");
}

region_struct! { struct Graphs: GraphsRef, GraphsMut { all: Vector<Shared<Graph>> } }

/// Each value leads to the one before it twice: as a tree, the last one would have 2^30 leaves.
#[test]
fn shared_values_with_shared_links_are_printed_once() -> Result<(), ShareError> {
    let mut r = Region::<Graphs>::new();
    for step in 0..=30_u8 {
        *r.root_mut().all().push_default()?.fill()?.number() = step;
        let Some(before) = usize::from(step).checked_sub(1) else { continue };
        r.root_mut().share(
            |graphs| graphs.all().get(before),
            |mut graphs, value| {
                let mut all = graphs.all();
                let mut graph = all.get_mut(before + 1).unwrap();
                let mut graph = graph.get_mut().unwrap();
                graph.to().link(value)?;
                graph.also().link(value)
            },
        )?;
    }
    let text = format!("{:?}", r.root().all().last().unwrap());
    assert_eq!(text.matches("Graph {").count(), 31, "{text}");
    assert_eq!(text.matches("also: Some(..)").count(), 30, "{text}");
    assert!(text.starts_with("Some(Graph { number: 30, to: Some(Graph { number: 29, to: Some("), "{text}");
    // All of them in one text: the first 30 have been printed when they come again.
    let text = format!("{:?}", r.root());
    assert_eq!(text.matches("Graph {").count(), 31, "{text}");
    Ok(())
}
