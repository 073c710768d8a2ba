//! Values written into regions by their schemas, against the vectors that `spec/vectors/region_schema.py`
//! computed, and parts of regions that are edited.

use std::path::PathBuf;

use situ_region::Options;
use situ_region::dynamic::{DynamicRegion, Key, Step};
use situ_schema::dynamic::{
    RegionTypes, Value, WriteProblem, check_region, default_value, from_region, from_text, insert_in_region,
    key_of, set_in_region, set_key_in_region, to_region,
};
use situ_schema::model::{Type, TypeId};
use situ_schema::{Loader, Schema};

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn image(name: &str) -> Vec<u8> {
    std::fs::read(root().join(format!("spec/vectors/region/{name}.bin"))).unwrap()
}

fn schema(file: &str) -> Schema {
    let loader = Loader::new().file(root().join(file));
    loader.load().unwrap_or_else(|error| panic!("{}", error.render(false)))
}

fn load(file: &str, ty: &str) -> (Schema, TypeId) {
    let schema = schema(file);
    let id = schema.find(ty).unwrap();
    (schema, id)
}

/// The vectors without links that share a value, which values do not show.
const VECTORS: [(&str, &str, &str); 5] = [
    ("cupboard", "tests/generated/schema/bazaar.idl", "game::Cupboard"),
    ("pantry", "tests/generated/schema/region.idl", "game::Pantry"),
    ("thicket", "spec/vectors/kitchen.idl", "kitchen::Thicket"),
    ("game_profile.after", "tests/generated/schema/profile.idl", "game::Profile"),
    ("game_profile.before", "tests/generated/schema/profile_before.idl", "game::Profile"),
];

#[test]
fn values_have_the_bytes_of_the_vectors() {
    for (name, file, ty) in VECTORS {
        let (schema, id) = load(file, ty);
        let canonical = image(&format!("{name}.canonical"));
        for form in ["canonical", "live"] {
            let value = from_region(&schema, id, &image(&format!("{name}.{form}"))).unwrap();
            let written = to_region(&schema, id, &value).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(written == canonical, "{name}.{form}");
        }
    }
}

#[test]
fn new_regions_have_the_defaults_of_the_schema() {
    let bazaar = [("bazaar", "tests/generated/schema/bazaar.idl", "game::Bazaar")];
    for (name, file, ty) in VECTORS.into_iter().chain(bazaar) {
        let (schema, id) = load(file, ty);
        let region = DynamicRegion::new(RegionTypes::of(&schema, id).unwrap().types().clone());
        check_region(&schema, id, region.bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let value = from_region(&schema, id, region.bytes()).unwrap();
        assert_eq!(value, default_value(&schema, id).unwrap(), "{name}");
    }
}

fn member(schema: &Schema, id: TypeId, name: &str) -> (Step, Type) {
    let it = schema.definition(id).kind.as_struct().unwrap();
    let index = it.members.iter().position(|it| it.name == name).unwrap();
    (Step::Member(u32::from(it.base.is_some()) + index as u32), it.members[index].ty.clone())
}

#[test]
fn a_bazaar_that_is_edited_has_the_bytes_of_the_vector() {
    let (schema, id) = load("tests/generated/schema/bazaar.idl", "game::Bazaar");
    let canonical = image("bazaar.canonical");
    let value = from_region(&schema, id, &canonical).unwrap();
    let mut region = DynamicRegion::new(RegionTypes::of(&schema, id).unwrap().types().clone());
    set_in_region(&schema, region.edit(&[]).unwrap(), &Type::Named(id), &value).unwrap();
    assert_ne!(region.canonical(), canonical, "the links do not share their value yet");
    let (texture, _) = member(&schema, id, "texture");
    let (textures, _) = member(&schema, id, "textures");
    let grain = member(&schema, schema.find("game::Texture").unwrap(), "grain").0;
    let from = [texture, Step::Value, grain.clone()];
    let to = [textures, Step::Element(0), grain];
    region.share(&from, &to).unwrap();
    assert_eq!(region.part(&to).unwrap().links(), Some(2));
    assert!(region.canonical() == canonical);
    check_region(&schema, id, region.bytes()).unwrap();
}

#[test]
fn parts_are_edited_one_by_one() {
    let (schema, id) = load("tests/generated/schema/region.idl", "game::Pantry");
    let mut region = DynamicRegion::new(RegionTypes::of(&schema, id).unwrap().types().clone());
    let inner_id = schema.find("game::Inner").unwrap();
    let inner = from_text(&schema, inner_id, "{text: a text that needs a block, numbers: [1, 2]}").unwrap();
    let too_long = from_text(&schema, inner_id, "{text: a, numbers: [1, 2, 3, 4]}").unwrap();
    let (inners, _) = member(&schema, id, "inners");
    let element = Type::Named(inner_id);
    for index in [0, 0, 1] {
        let part = region.edit(std::slice::from_ref(&inners)).unwrap();
        insert_in_region(&schema, part, (&element, Some(3)), index, &inner).unwrap();
    }
    let part = region.edit(std::slice::from_ref(&inners)).unwrap();
    let error = insert_in_region(&schema, part, (&element, Some(3)), 0, &inner).unwrap_err();
    assert_eq!(error.problem, WriteProblem::TooLong { length: 4, bound: 3 });
    let (numbers, _) = member(&schema, inner_id, "numbers");
    region.edit(&[inners.clone(), Step::Element(2), numbers]).unwrap().insert_bytes(2, &[3, 0]).unwrap();
    let (by_name, _) = member(&schema, id, "by_name");
    let text = Type::String { bound: None };
    for (key, value) in [("one", &inner), ("two", &too_long), ("one", &too_long)] {
        let part = region.edit(std::slice::from_ref(&by_name)).unwrap();
        let entry = (&Value::Text(key.into()), value);
        set_key_in_region(&schema, part, (&text, &element, None), entry).unwrap();
    }
    let value = from_region(&schema, id, region.bytes()).unwrap();
    let Some(Value::List(all)) = value.find("inners") else { panic!("{value:?}") };
    assert_eq!(all[..2], [inner.clone(), inner]);
    assert_eq!(all[2].to_json(), r#"{"text":"a text that needs a block","numbers":[1,2,3]}"#);
    let both = vec![(Value::Text("one".into()), too_long.clone()), (Value::Text("two".into()), too_long)];
    assert_eq!(value.find("by_name"), Some(&Value::Map(both)));
    check_region(&schema, id, region.bytes()).unwrap();
    assert_eq!(region.canonical(), to_region(&schema, id, &value).unwrap());
    assert!(key_of(&schema, &text, &Value::Signed(3)).is_err());
}

#[test]
fn what_does_not_fit_leaves_the_region_whole() {
    let (schema, id) = load("tests/generated/schema/region.idl", "game::Pantry");
    let value = from_region(&schema, id, &image("pantry.live")).unwrap();
    let types = RegionTypes::of(&schema, id).unwrap();
    let (least, needed) = (image("pantry.canonical").len() as u32 / 2, image("pantry.live").len() as u32);
    let mut failed = 0;
    for limit in (least..needed + 1024).step_by(16) {
        let options = Options { limit, ..Options::default() };
        let mut region = DynamicRegion::with_options(types.types().clone(), options);
        let set = set_in_region(&schema, region.edit(&[]).unwrap(), &Type::Named(id), &value);
        check_region(&schema, id, region.bytes()).unwrap_or_else(|error| panic!("{limit}: {error}"));
        match set {
            Ok(()) => assert!(region.canonical() == image("pantry.canonical")),
            Err(error) => {
                assert!(error.to_string().contains("the region is full"), "{error}");
                failed += 1;
            }
        }
        // Everything can be removed again.
        let default = default_value(&schema, id).unwrap();
        set_in_region(&schema, region.edit(&[]).unwrap(), &Type::Named(id), &default).unwrap();
        assert_eq!(from_region(&schema, id, region.bytes()).unwrap(), default);
    }
    assert!(failed > 20, "{failed} of the limits are too low");
    let mut region = DynamicRegion::new(types.types().clone());
    let mut words = region.edit(&[member(&schema, id, "set_of_words").0]).unwrap();
    assert!(words.insert_key(Key::Text("word")).unwrap().1);
}

/// Elements of sequences and values of maps whose struct gets more members: each lies behind a link in a
/// struct of its own.
#[test]
fn elements_behind_links_may_be_of_another_version() {
    let with = |members: &str| {
        let text = format!(
            "@region @appendable struct Skill {{ long id; {members} }};
             struct SkillPlace {{ @optional @external Skill skill; }};
             @region struct Hero {{ sequence<SkillPlace> skills; map<string, SkillPlace> by_name; }};"
        );
        let schema = Schema::from_idl(&text).unwrap();
        let id = schema.find("Hero").unwrap();
        (schema, id)
    };
    let (old, new) = (with(""), with("string note; @default(7) long level;"));
    let written = |(schema, id): &(Schema, TypeId), text: &str| {
        let value = from_text(schema, *id, text).unwrap();
        to_region(schema, *id, &value).unwrap()
    };
    let read =
        |(schema, id): &(Schema, TypeId), image: &[u8]| from_region(schema, *id, image).unwrap().to_json();
    let newer = "{skills: [{skill: {id: 1, note: a note that is long enough, level: 3}}, {}], \
                 by_name: {jump: {skill: {id: 2}}}}";
    assert_eq!(
        read(&old, &written(&new, newer)),
        r#"{"skills":[{"skill":{"id":1}},{"skill":null}],"by_name":{"jump":{"skill":{"id":2}}}}"#
    );
    let older = "{skills: [{skill: {id: 5}}], by_name: {}}";
    assert_eq!(
        read(&new, &written(&old, older)),
        r#"{"skills":[{"skill":{"id":5,"note":"","level":7}}],"by_name":{}}"#
    );
}
