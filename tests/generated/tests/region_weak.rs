//! Weak links that a schema declares: made, read and converted by generated code, compared with the vectors
//! of `spec/vectors/region_schema.py`, and read by the schema alone.

use std::error::Error;

use situ::layout::Heap;
use situ::region::{Link, Mut, Region};
use situ::wire::Encoding;
use situ_generated::family::family::{
    Ancestor, ChildMut, ChildRef, Part, PartMut, PartRef, Person, PersonMut, PersonRef, Ring, RingMut,
    RingRef, Tree, TreeMut, TreeRef,
};
use situ_schema::dynamic::{self, Value};
use situ_schema::model::TypeId;
use situ_schema::{Loader, Schema};

fn vector(form: &str) -> Vec<u8> {
    let path = format!("{}/../../spec/vectors/region/family_tree.{form}.bin", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(path).unwrap()
}

fn schema() -> (Schema, TypeId) {
    let path = format!("{}/schema/family.idl", env!("CARGO_MANIFEST_DIR"));
    let schema = Loader::new().file(path).load().unwrap();
    let id = schema.find("family::Tree").unwrap();
    (schema, id)
}

/// Adds a child to a person. `above` leads to that person.
fn add(mut parent: Mut<'_, Person>, name: &str, above: Link<'_, Person>) -> Result<(), Box<dyn Error>> {
    let mut children = parent.children();
    let mut child = children.push_default()?;
    let mut link = child.person();
    let mut person = link.fill()?;
    person.name().set(name)?;
    person.parent().link(above)?;
    Ok(())
}

/// The value of `family_tree` in `spec/vectors/region_schema.py`.
fn family() -> Result<Region<Tree>, Box<dyn Error>> {
    let mut r = Region::<Tree>::new();
    let mut tree = r.root_mut();
    *tree.number() = 4;
    tree.root().fill()?.name().set("Ann")?;
    for name in ["Benjamin the elder", "Cleo"] {
        tree.share(
            |tree| Some(tree.root()),
            |mut tree, ann| {
                let mut root = tree.root();
                add(root.fill()?, name, ann)
            },
        )?;
    }
    tree.share(
        |tree| Some(tree.root().get()?.children().get(0)?.person()),
        |mut tree, ben| {
            let mut root = tree.root();
            let mut ann = root.fill()?;
            let mut children = ann.children();
            let mut child = children.get_mut(0).ok_or("no child")?;
            let mut link = child.person();
            add(link.fill()?, "Daniel of the hill", ben)
        },
    )?;
    tree.share(
        |tree| Some(tree.root().get()?.children().get(0)?.person().get()?.children().get(0)?.person()),
        |mut tree, dan| tree.selected().link(dan),
    )?;
    Ok(r)
}

#[test]
fn the_bytes_are_those_of_the_vectors() {
    let r = family().unwrap();
    assert_eq!(r.canonical(), vector("canonical"));
    assert_eq!(r.packed(), vector("packed"));
    for form in ["live", "canonical", "packed"] {
        let taken = Region::<Tree>::adopt(&vector(form)).unwrap();
        assert_eq!(taken.canonical(), vector("canonical"), "{form}");
        let dan = taken.root().selected().get().unwrap();
        assert_eq!(&*dan.name(), "Daniel of the hill");
        let ben = dan.parent().get().unwrap();
        assert_eq!(&*ben.name(), "Benjamin the elder");
        let ann = ben.parent().get().unwrap();
        assert_eq!((&*ann.name(), ann.parent().get().is_none()), ("Ann", true));
        assert!(format!("{:?}", taken.root()).contains("Weak(..)"), "the value around a link is not printed");
    }
}

/// The offset to which a weak link leads, as the schema alone reads it.
fn offset(value: &Value) -> Option<u64> {
    match value {
        Value::Optional(Some(to)) => to.as_integer().and_then(|it| u64::try_from(it).ok()),
        _ => None,
    }
}

#[test]
fn weak_links_are_read_by_the_schema_alone() {
    let (schema, id) = schema();
    for form in ["live", "canonical"] {
        let image = vector(form);
        let bytes = dynamic::check_region(&schema, id, &image).unwrap();
        assert_eq!(bytes.header.is_canonical, form == "canonical");
    }
    for form in ["live", "canonical", "packed"] {
        let image = vector(form);
        let Value::Record(tree) = dynamic::from_region(&schema, id, &image).unwrap() else {
            panic!("not a struct")
        };
        let selected = offset(tree.get("selected").unwrap()).unwrap();
        let Some(Value::Optional(Some(root))) = tree.get("root") else { panic!("no root") };
        let Value::Record(ann) = &**root else { panic!("not a struct") };
        assert_eq!(offset(ann.get("parent").unwrap()), None, "{form}");
        if form != "packed" {
            // The value begins with the name, whose length follows the link to its block.
            let length = &image[selected as usize + 4..][..4];
            assert_eq!(u32::from_le_bytes(length.try_into().unwrap()), 18);
        }
        assert!(selected < image.len() as u64);
    }
}

#[test]
fn links_that_are_spoilt_are_found_by_the_schema_alone() {
    let (schema, id) = schema();
    let image = vector("canonical");
    let number = |at: usize| i32::from_le_bytes(image[at..at + 4].try_into().unwrap());
    // The weak link `selected` lies behind the link `root`. It leads to a block that begins with counts.
    let selected = 64 + 8;
    let block = (selected as i32 + number(selected)) as usize;
    assert_eq!((number(block), number(block + 4)), (1, 1));
    let error = |at: usize, value: i32| {
        let mut spoilt = image.clone();
        spoilt[at..at + 4].copy_from_slice(&value.to_le_bytes());
        let by_schema = dynamic::check_region(&schema, id, &spoilt).unwrap_err().problem;
        let compiled = Region::<Tree>::adopt(&spoilt).err().unwrap().problem.clone();
        assert_eq!(by_schema, compiled);
        by_schema.to_string()
    };
    assert_eq!(error(block + 4, 2), "the shared value counts 2 weak links, but 1 lead to it");
    let nowhere = format!("the weak link leads to offset {}, where no shared value is", block + 16);
    assert_eq!(error(selected, number(selected) + 16), nowhere);
}

#[test]
fn a_link_may_lead_to_the_value_that_begins_with_it() {
    let mut r = Region::<Ring>::new();
    let mut ring = r.root_mut();
    *ring.first().fill().unwrap().number() = 7;
    let done: Result<(), Box<dyn Error>> =
        ring.share(|ring| Some(ring.first()), |mut ring, first| Ok(ring.first().fill()?.next().link(first)?));
    done.unwrap();
    let packed = r.packed();
    let (schema, id) = (schema().0, schema().0.find("family::Ring").unwrap());
    for image in [r.bytes(), &r.canonical(), &packed] {
        let taken = Region::<Ring>::adopt(image).unwrap();
        let first = taken.root().first().get().unwrap();
        assert_eq!(*first.next().get().unwrap().next().get().unwrap().number(), 7);
        let Value::Record(ring) = dynamic::from_region(&schema, id, image).unwrap() else { panic!() };
        let Some(Value::Optional(Some(first))) = ring.get("first") else { panic!() };
        let Value::Record(first) = &**first else { panic!() };
        assert!(offset(first.get("next").unwrap()).is_some());
    }
    let ancestor = Ancestor::<Heap> { born: 1800, ..Default::default() };
    assert_eq!(Region::<Ancestor>::of(&ancestor, &[]).unwrap().root().to_message(), Ok(ancestor));
    let part = Part::<Heap> { number: 3, ..Default::default() };
    assert_eq!(part, part.clone());
    assert_eq!(*Region::<Part>::of(&part, &[]).unwrap().root().number(), 3);
}

#[test]
fn a_value_that_ended_leaves_none() {
    let (schema, id) = schema();
    let mut r = family().unwrap();
    r.root_mut().root().clear();
    assert!(r.root().root().get().is_none());
    let selected = r.root().selected();
    assert!(selected.get().is_none() && selected.is_expired());
    dynamic::check_region(&schema, id, r.bytes()).unwrap();
    let Value::Record(tree) = dynamic::from_region(&schema, id, r.bytes()).unwrap() else { panic!() };
    assert_eq!(tree.get("selected"), Some(&Value::Optional(None)));
    // In a canonical image nothing is left of the value.
    assert_eq!(Region::<Tree>::adopt(&r.canonical()).unwrap().root().selected().get().map(|_| ()), None);
}

#[test]
fn other_storages_have_no_weak_links() {
    let mut r = family().unwrap();
    let error = r.root().to_message::<Tree>().unwrap_err().to_string();
    assert_eq!(
        error,
        "root.children[0].person.children[0].person.parent: a weak link leads to a value, and only regions have \
         weak links; take the message as a region"
    );
    // Without the links that lead to a value, the rest comes out, and goes in again.
    let mut lone = Region::<Tree>::new();
    lone.root_mut().root().fill().unwrap().name().set("Ann").unwrap();
    let message = lone.root().to_message::<Tree>().unwrap();
    assert_eq!(message.root.as_ref().unwrap().name, "Ann");
    let back = Region::<Tree>::of::<Tree<Heap>>(&message, &[]).unwrap();
    assert_eq!(back.canonical(), lone.canonical());
    // What is stored over a value clears its weak links.
    r.root_mut().store(&message, &[]).unwrap();
    assert!(r.root().selected().get().is_none());
    assert_eq!(r.canonical(), lone.canonical());
}

#[test]
fn a_value_of_a_region_with_weak_links_has_no_cdr() {
    let (schema, id) = schema();
    let value = dynamic::from_region(&schema, id, &vector("canonical")).unwrap();
    let error = dynamic::to_cdr(&schema, id, &value, Encoding::Xcdr1).unwrap_err().to_string();
    assert!(error.contains("parent") && error.contains("only regions have weak links"), "{error}");
    let error = dynamic::to_region(&schema, id, &value).unwrap_err().to_string();
    assert!(error.contains("`family::Person.parent` is a weak link"), "{error}");
}
