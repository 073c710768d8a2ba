//! Types of the same name from several modules are distinct types, in the layout hash and in the facts of a
//! type. As in cpp/tests/region/signature_test.cpp.

use std::panic::catch_unwind;

use situ_region::{Region, ShareError, Shared, Unique, Vector, layout_hash, layout_text};
use situ_region::{region_struct, region_union};

mod numbers {
    use situ_region::region_plain;

    region_plain! { pub struct Item { x: u32 } }
    region_plain! { pub struct Pos { lat: u32, lon: u32 } }
}

mod floats {
    use situ_region::region_plain;

    region_plain! { pub struct Pos { lon: f32, lat: f32 } }
}

mod trees {
    use situ_region::OrderedSet;
    use situ_region::region_struct;

    region_struct! { pub struct Item: ItemRef, ItemMut { m: OrderedSet<u64> } }
}

mod growing {
    use situ_region::region_struct;

    region_struct! { pub appendable struct Item: ItemRef, ItemMut { plain: super::numbers::Item } }
    region_struct! { pub appendable struct Record: RecordRef, RecordMut { id: u64 } }
}

mod others {
    use situ_region::region_struct;

    region_struct! { pub appendable struct Record: RecordRef, RecordMut { number: u32 } }
}

region_struct! {
    struct Twins: TwinsRef, TwinsMut {
        first: numbers::Item, second: trees::Item, more: Vector<trees::Item>, others: Vector<numbers::Item>,
    }
}

#[test]
fn each_type_of_a_name_has_its_lines() {
    assert_eq!(
        layout_text::<Twins>(),
        "region-v2 Twins\nTwins 0 52 4 struct\nTwins.first 0 4 4 Item\nTwins.second 4 16 4 Item#2\n\
         Twins.more 20 16 4 vector\nTwins.more[] 0 16 4 Item#2\nTwins.others 36 16 4 vector\nTwins.others[] 0 4 4 Item\n\
         Item 0 4 4 struct\nItem.x 0 4 4 uint32\nItem#2 0 16 4 struct\nItem#2.m 0 16 4 ordered_set\n\
         Item#2.m[] 0 8 8 uint64\n"
    );
}

mod number_value {
    use situ_region::region_union;

    region_union! { pub union Value: ValueRef, ValueMut (i32) { 0 => n: u64 } }
}

mod text_value {
    use situ_region::Text;
    use situ_region::region_union;

    region_union! { pub union Value: ValueRef, ValueMut (i32) { 0 => a: u32, 1 => b: Text } }
}

region_struct! { struct Choices: ChoicesRef, ChoicesMut { x: number_value::Value, y: text_value::Value } }

#[test]
fn each_union_of_a_name_has_its_lines() {
    assert_eq!(
        layout_text::<Choices>(),
        "region-v2 Choices\nChoices 0 40 8 struct\nChoices.x 0 16 8 Value\nChoices.y 16 24 4 Value#2\n\
         Value 0 16 8 union\nValue.discriminator 0 4 4 int32\nValue.n 8 8 8 0:uint64\n\
         Value#2 0 24 4 union\nValue#2.discriminator 0 4 4 int32\nValue#2.a 8 4 4 0:uint32\nValue#2.b 8 16 4 1:string\n"
    );
}

/// The tracks of three programs.
macro_rules! tracks {
    ($($module:ident: $from:ident, $to:ident;)*) => {$(
        mod $module {
            situ_region::region_struct! {
                pub struct Track: TrackRef, TrackMut { item: super::numbers::Item, from: super::$from::Pos, to: super::$to::Pos }
            }
        }
    )*};
}

tracks! {
    first_version: numbers, numbers;
    second_version: numbers, floats;
    third_version: floats, floats;
}

#[test]
fn another_layout_under_the_same_names_is_refused() {
    let r = Region::<first_version::Track>::new();
    let error = Region::<second_version::Track>::adopt(r.bytes()).map(drop).unwrap_err().to_string();
    let [theirs, ours] = [layout_hash::<first_version::Track>(), layout_hash::<second_version::Track>()];
    assert_eq!(
        error,
        format!(
            "message: the image is not of Track as it is laid out here: its layout hash is {theirs:016x}, that of Track {ours:016x}; \
             generate both programs from the same schema (at offset 16)"
        )
    );
    assert!(Region::<third_version::Track>::adopt(r.bytes()).is_err());
    assert!(Region::<third_version::Track>::adopt(Region::<second_version::Track>::new().bytes()).is_err());
}

mod plain {
    use situ_region::region_plain;

    region_plain! { pub struct Wrap { number: u32 } }
}

mod linked {
    use situ_region::region_struct;
    use situ_region::{Shared, Vector};

    region_struct! { pub struct Wrap: WrapRef, WrapMut { to: Vector<Shared<super::Deep>> } }
}

region_struct! { struct Deep: DeepRef, DeepMut { first: plain::Wrap, second: linked::Wrap } }
region_struct! { struct Start: StartRef, StartMut { deep: Shared<Deep> } }

#[test]
fn links_behind_a_name_that_was_met_make_no_cycle() {
    use linked::WrapMut;

    let mut r = Region::<Start>::new();
    r.root_mut().deep().fill().unwrap();
    let done = r.root_mut().share(
        |start| Some(start.deep()),
        |mut start, link| start.deep().get_mut().unwrap().second().to().push_default().unwrap().link(link),
    );
    assert_eq!(done, Err(ShareError::Cycle));
    Region::<Start>::adopt(r.bytes()).unwrap();
}

#[test]
fn appendable_structs_are_distinguished_from_their_members() {
    let r = Region::<growing::Item>::new();
    let table = u32::from_le_bytes(r.bytes()[60..64].try_into().unwrap()) as usize;
    let history = u64::from_le_bytes(r.bytes()[table + 24..][..8].try_into().unwrap());
    // The hash of "<hash of region-appendable-v1 Item\n>\nItem.plain 0 4 4 Item#2\nItem#2 0 4 4 struct\n
    // Item#2.x 0 4 4 uint32\n", computed by Python's hashlib.
    assert_eq!(history, 0x7cb1_1f30_3ec9_0594);
}

region_struct! {
    struct Records: RecordsRef, RecordsMut { one: Unique<growing::Record>, another: Unique<others::Record> }
}

#[test]
fn two_appendable_structs_have_two_names() {
    let refused = catch_unwind(|| Region::<Records>::new().bytes().len()).unwrap_err();
    let text = refused.downcast_ref::<String>().unwrap();
    assert!(text.contains("two structs named Record that can be appended to"), "{text}");
}

region_union! { union Json: JsonRef, JsonMut (i32) { 0 => list: Vector<Json>, 1 => number: f64 } }
region_struct! { struct Document: DocumentRef, DocumentMut { root: Json } }

#[test]
fn a_union_may_hold_others_of_its_kind() {
    let mut r = Region::<Document>::new();
    let mut document = r.root_mut();
    let mut root = document.root();
    let mut list = root.list().unwrap();
    let mut first = list.push_default().unwrap();
    first.select(1);
    *first.number().unwrap() = 2.5;
    let read = Region::<Document>::adopt(&r.canonical()).unwrap();
    assert_eq!(*read.root().root().list().unwrap().get(0).unwrap().number().unwrap(), 2.5);
}
