//! Unusual names, defaults and sizes, and messages that change over time.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use situ::layout::visit::Structure;
use situ::layout::{AssignFrom, Flat, FlatMessage, Heap, Message, Ros, StorageKind, boxed, convert};
use situ::region::Region;
use situ::wire::{Encoding, decode, encode_to_vec};
use situ_generated::edges::edges::*;
use situ_generated::recursion::recursion;
use situ_generated::{edges, sensor};

#[test]
fn words_that_rust_reserves_are_escaped() {
    let mut it = r#type::<Heap> { r#fn: 1, self_: 2, r#match: 3, ..Default::default() };
    it.set_loop("abc").unwrap();
    assert_eq!(
        it.set_loop("abcd").unwrap_err().to_string(),
        "field `loop`: length 4 exceeds its bound 3; shorten the value or raise the bound in the schema"
    );
    assert_eq!(format!("{it:?}"), "r#type { fn: 1, self: 2, match: 3, loop: \"abc\" }");
}

#[test]
fn defaults_are_those_of_the_schema() {
    let it = Defaults::new();
    assert!(it.flag);
    assert_eq!((it.small, it.letter, it.huge), (-5, b'x', u64::MAX));
    assert_eq!((it.ratio, it.precise), (1.5, 0.1));
    assert_eq!((&*it.text, it.level), ("a\tb", Level::HIGH));
    assert_eq!(it.triples, [[0; 3]; 2]);
    let flat = boxed::<Defaults<Flat>>();
    assert_eq!((&*flat.text, flat.level), ("a\tb", Level::HIGH));
    assert_eq!(Ok::default(), Ok::Self_);
    assert_eq!((edges::ANSWER, HALF, GREETING), (42, 0.5, "hello \"you\""));
}

#[test]
fn unions_of_plain_cases_are_plain() {
    let mut plain = Plain::default();
    plain.set_flags(Clone::Drop);
    let copy = plain;
    assert_eq!((copy.discriminator(), copy.flags()), (b'b', Some(&Clone::Drop)));
    assert_eq!(HoldsPlain::STORAGE, StorageKind::Flat);
    let mut it = Box::<Heap>::default();
    assert_eq!(it.discriminator(), -1);
    it.set_begin(Clone::Copy);
    assert_eq!((it.discriminator(), it.begin_()), (0, Some(&Clone::Copy)));
    it.select(3);
    assert_eq!(it.select_(), Some(&0));
}

#[test]
fn unions_and_typedefs_are_flat_by_default_where_they_say_so() {
    fn are_same<T>(_: PhantomData<T>, _: PhantomData<T>) {}
    are_same(PhantomData::<Choice>, PhantomData::<Choice<Flat>>);
    are_same(PhantomData::<Words>, PhantomData::<Words<Flat>>);
    // A typedef of a flat type is flat, too.
    are_same(PhantomData::<Chosen>, PhantomData::<Choice<Flat>>);
    are_same(PhantomData::<Still>, PhantomData::<Frame<Flat>>);
    are_same(PhantomData::<Names>, PhantomData::<Names<Heap>>);
    // The discriminator, and the larger of its cases: a count and three numbers.
    assert_eq!(size_of::<Choice>(), 4 + 4 + 3 * 4);
}

#[test]
fn an_empty_struct_has_the_member_that_ros_gives_it() {
    let it = HoldsEmpty::<Heap> { x: 7, ..Default::default() };
    assert_eq!(it.nothing.structure_needs_at_least_one_member, 0);
    let bytes = encode_to_vec(&it, Encoding::Xcdr1).unwrap();
    // The head; the one byte of `nothing`, padding, no elements, x.
    assert_eq!(bytes, [0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0]);
    assert_eq!(size_of::<Empty>(), 1);
}

#[test]
fn types_that_contain_themselves() {
    let mut node = Node { name: "a".into(), ..Node::new() };
    node.children.push(Node { name: "b".into(), ..Node::new() });
    node.by_name.insert("c".into(), Node::new());
    let mut copy = Node::new();
    copy.assign_from(&node).unwrap();
    assert_eq!(copy, node);
    for encoding in [Encoding::Xcdr1, Encoding::Xcdr2] {
        let mut back = Node::new();
        decode(&mut back, &encode_to_vec(&node, encoding).unwrap()).unwrap();
        assert_eq!(back, node);
    }
    let mut bounded = Bounded::new();
    bounded.add_children().unwrap().add_children().unwrap().value = 5;
    assert_eq!(bounded.children[0].children[0].value, 5);
    assert_eq!(Bounded::<Heap>::FLAT_FORM, None);
}

/// `situ_generated::recursion` compiles: a list in something optional, in a list, in a map, in an array. Such
/// a type can be used like any other, in each of its storages, and where the compiler must know its size.
#[test]
fn types_that_contain_themselves_through_several_containers() {
    fn comes_back<H, R>(message: &H)
    where
        H: Message + Structure + Default + AssignFrom<R>,
        R: Message + Structure + Default + AssignFrom<H>,
    {
        for encoding in [Encoding::Xcdr1, Encoding::Xcdr2] {
            let bytes = encode_to_vec(message, encoding).unwrap();
            let (mut back, mut ros) = (H::default(), R::default());
            decode(&mut back, &bytes).unwrap();
            assert_eq!(&back, message);
            decode(&mut ros, &bytes).unwrap();
            assert_eq!(encode_to_vec(&ros, encoding).unwrap(), bytes);
            ros.assign_from(message).unwrap();
            assert_eq!(convert::<H, _>(&ros).unwrap(), *message);
        }
    }
    use recursion::*;
    let leaf = |value| Node { value, ..Node::new() };
    let mut node = Node {
        value: 1,
        children: Some(vec![leaf(2), leaf(3)]),
        rows: vec![vec![], vec![leaf(4)]],
        couples: vec![[leaf(5), leaf(6)]],
        deep: Some(vec![vec![BTreeMap::from([(7, vec![leaf(8)])])]]),
        pair: [vec![leaf(9)], vec![]],
        ..Node::new()
    };
    node.by_name.insert("ten".into(), vec![leaf(10)]);
    node.by_number.entry(11).or_default().insert("twelve".into(), leaf(12));
    comes_back::<Node, Node<Ros>>(&node);
    let region = Region::<NodeRegion>::of(&node, &[]).unwrap();
    assert_eq!(region.root().to_message::<Node>().unwrap(), node);

    let only = Only { more: Some(vec![Only { more: None }, Only { more: Some(vec![]) }]) };
    comes_back::<Only, Only<Ros>>(&only);

    let mut bounded = Bounded::new();
    bounded.add_rows().unwrap().try_push(Bounded::new()).unwrap();
    bounded.insert_by_number(5, bounded.rows[0].clone()).unwrap();
    assert_eq!(bounded.rows[0].capacity(), 2);
    comes_back::<Bounded, Bounded<Ros>>(&bounded);

    let right = Right { name: "right".into(), lefts: BTreeMap::from([("no".into(), vec![])]) };
    comes_back::<Left, Left<Ros>>(&Left { value: 1, rights: Some(vec![right]) });

    let (mut text, mut table, mut json) = (Json::default(), Json::default(), Json::default());
    text.set_text("text".into());
    table.set_table(vec![vec![text.clone()], vec![text]]);
    json.set_document(Document { members: BTreeMap::from([("table".into(), vec![table])]) });
    comes_back::<Document, Document<Ros>>(json.document().unwrap());
}

#[test]
fn old_and_new_versions_understand_each_other() {
    let mut new = Version2::new();
    new.a = 1;
    new.b = "text".into();
    new.more = vec![Version1 { a: 2, b: "inner".into() }];
    new.c = 3;
    let mut old = Version1::new();
    decode(&mut old, &encode_to_vec(&new, Encoding::Xcdr2).unwrap()).unwrap();
    assert_eq!(old, Version1 { a: 1, b: "text".into() });
    decode(&mut new, &encode_to_vec(&old, Encoding::Xcdr2).unwrap()).unwrap();
    assert_eq!((new.c, new.more.len()), (7, 0));
}

#[test]
fn the_shipped_messages_are_flat() {
    fn layout<T: FlatMessage>() -> (u64, usize) {
        (T::LAYOUT_HASH, size_of::<T>())
    }
    use sensor::situ_::sensor::{Image, PointCloud2};
    assert_eq!(layout::<PointCloud2>().1, 896);
    assert_ne!(layout::<PointCloud2>().0, layout::<Image>().0);
    assert_eq!(PointCloud2::<Heap>::LAYOUT_HASH, 0);
    assert_eq!(PointCloud2::<Heap>::SCHEMA_HASH, PointCloud2::<Flat>::SCHEMA_HASH);
    assert!(PointCloud2::<Heap>::SCHEMA.contains("struct PointCloud2"));
    assert_eq!(PointCloud2::<Flat>::NAME, "situ::sensor::PointCloud2");
    let mut cloud = PointCloud2::new();
    for _ in 0..16 {
        cloud.add_fields().unwrap().count = 2;
    }
    let error = cloud.push_fields(Default::default()).unwrap_err();
    assert_eq!((error.field, error.bound, error.size), (Some("fields"), 16, 17));
    assert_eq!(cloud.fields[15].datatype, sensor::situ_::sensor::PointFieldType::FLOAT32);
}
