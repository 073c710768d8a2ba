//! Every message, service and action of ROS 2's common packages: read from `.msg` and from `.idl`, against
//! each other and against the type descriptions (`.json`) that ROS 2's own tools made.
//!
//! The packages are fetched by `scripts/fetch-ros-interfaces.sh`; without them the tests say so and pass.

use std::path::{Path, PathBuf};

use serde_json::Value;
use situ_schema::model::{Kind, Primitive, Type, TypeId};
use situ_schema::{Loader, Schema};

const PACKAGES: [&str; 9] = [
    "action_msgs",
    "builtin_interfaces",
    "geometry_msgs",
    "nav_msgs",
    "sensor_msgs",
    "service_msgs",
    "std_msgs",
    "test_msgs",
    "unique_identifier_msgs",
];

fn interfaces() -> Option<PathBuf> {
    let folder = match std::env::var_os("SITU_ROS_INTERFACES") {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../build/ros")),
    };
    if folder.join("share/std_msgs/msg").is_dir() {
        return Some(folder);
    }
    eprintln!("SKIPPED: no ROS interfaces in {}: run scripts/fetch-ros-interfaces.sh", folder.display());
    None
}

fn load(loader: Loader) -> Schema {
    loader.load().unwrap_or_else(|error| panic!("{}", error.render(false)))
}

/// The files of all packages with this extension.
fn files(root: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for package in PACKAGES {
        for folder in ["msg", "srv", "action"] {
            let folder = root.join("share").join(package).join(folder);
            let Ok(entries) = std::fs::read_dir(folder) else { continue };
            let paths = entries.map(|it| it.unwrap().path());
            found.extend(paths.filter(|it| it.extension().is_some_and(|it| it == extension)));
        }
    }
    found.sort();
    found
}

#[test]
fn whole_packages_load() {
    let Some(root) = interfaces() else { return };
    let mut types = 0;
    for package in PACKAGES {
        let schema = load(Loader::new().include(&root).ros_package(package));
        let own = schema.definitions().filter(|(id, _)| schema.is_requested(*id));
        types += own.inspect(|(_, it)| assert!(it.name.as_str().starts_with(package))).count();
    }
    assert!(types >= 150, "only {types} types");
}

/// The properties of a type and its dependencies that generators see: structure, defaults, units, docs and
/// constants.
fn picture(schema: &Schema, id: TypeId) -> String {
    let mut text = schema.canonical(id);
    for id in schema.closure(id) {
        let definition = schema.definition(id);
        let Kind::Struct(it) = &definition.kind else { continue };
        text += &format!("{}: {:?}\n", definition.name, definition.docs);
        for member in &it.members {
            text += &format!("{}.{}: {:?}\n", definition.name, member.name, member.docs);
        }
        for constant in schema.constants_of(id) {
            let ty = schema.display(&constant.ty);
            text += &format!("{ty} {} = {:?} {:?}\n", constant.name, constant.value, constant.docs);
        }
    }
    text
}

#[test]
fn both_front_ends_agree() {
    let Some(root) = interfaces() else { return };
    let mut compared = 0;
    for (extension, suffixes) in [
        ("msg", &[""][..]),
        ("srv", &["_Request", "_Response"]),
        ("action", &["_Goal", "_Result", "_Feedback"]),
    ] {
        for path in files(&root, extension) {
            let ros = load(Loader::new().include(&root).file(&path));
            let idl = load(Loader::new().include(&root).file(path.with_extension("idl")));
            let package = path.iter().nth_back(2).unwrap().to_str().unwrap();
            let stem = path.file_stem().unwrap().to_str().unwrap();
            for suffix in suffixes {
                let name = format!("{package}::{extension}::{stem}{suffix}");
                let (a, b) = (ros.find(&name).unwrap(), idl.find(&name).unwrap());
                assert_eq!(picture(&ros, a), picture(&idl, b), "{name}");
                assert_eq!(ros.schema_hash(a), idl.schema_hash(b), "{name}");
                assert_eq!(situ_schema::diff((&ros, a), (&idl, b)), None);
                compared += 1;
            }
        }
    }
    assert!(compared >= 130, "only {compared} types");
}

/// The number that ROS 2 gives to a type, its bound and the bound of its strings.
fn described(schema: &Schema, ty: &Type) -> (u64, u64, u64, String) {
    let wrapped = |element: &Type, shift: u64, length: u64| {
        let (id, _, text, name) = described(schema, element);
        (id + shift, length, text, name)
    };
    if let Some((element, dimensions)) = schema.array(ty) {
        return wrapped(element, 48, dimensions[0].into());
    }
    let plain = |id| (id, 0, 0, String::new());
    match schema.resolve(ty) {
        Type::Primitive(primitive) => plain(match primitive {
            Primitive::I8 => 2,
            Primitive::U8 => 3,
            Primitive::I16 => 4,
            Primitive::U16 => 5,
            Primitive::I32 => 6,
            Primitive::U32 => 7,
            Primitive::I64 => 8,
            Primitive::U64 => 9,
            Primitive::F32 => 10,
            Primitive::F64 => 11,
            Primitive::Char8 => 13,
            Primitive::WChar => 14,
            Primitive::Bool => 15,
        }),
        Type::String { bound: None } => plain(17),
        Type::WString { bound: None } => plain(18),
        Type::String { bound: Some(bound) } => (21, 0, (*bound).into(), String::new()),
        Type::WString { bound: Some(bound) } => (22, 0, (*bound).into(), String::new()),
        Type::Sequence { element, bound: Some(bound) } => wrapped(element, 96, (*bound).into()),
        Type::Sequence { element, bound: None } => wrapped(element, 144, 0),
        Type::Named(id) => (1, 0, 0, schema.name(*id).as_str().replace("::", "/")),
        Type::Map { .. } | Type::Array { .. } => panic!("ROS has no such type"),
    }
}

#[test]
fn the_model_is_what_ros_describes() {
    let Some(root) = interfaces() else { return };
    let mut compared = 0;
    for path in files(&root, "json") {
        let text = std::fs::read_to_string(&path).unwrap();
        let description: Value = serde_json::from_str(&text).unwrap();
        let description = &description["type_description_msg"];
        let schema = load(Loader::new().include(&root).service_events(true).file(path.with_extension("idl")));
        let referenced = description["referenced_type_descriptions"].as_array().unwrap();
        for ty in std::iter::once(&description["type_description"]).chain(referenced) {
            let name = ty["type_name"].as_str().unwrap();
            // Services and actions themselves have a description, but are not types of messages.
            let Some(id) = schema.find(name) else {
                let name = name.replace('/', "::");
                let services = schema.services().iter().map(|it| it.name.as_str());
                let actions = schema.actions().iter().flat_map(|it| {
                    [it.name.as_str(), it.send_goal.name.as_str(), it.get_result.name.as_str()]
                });
                assert!(services.chain(actions).any(|it| it == name), "{name} is missing");
                continue;
            };
            let it = schema.definition(id).kind.as_struct().unwrap();
            let fields = ty["fields"].as_array().unwrap();
            assert_eq!(it.members.len(), fields.len(), "{name}");
            for (member, field) in it.members.iter().zip(fields) {
                let path = format!("{name}.{}", member.name);
                assert_eq!(field["name"], member.name.as_str(), "{path}");
                let number = |key: &str| field["type"][key].as_u64().unwrap();
                // `byte` has its own number, although it is a `uint8`.
                let is_byte = [16, 64, 112, 160].contains(&number("type_id"));
                let id = if is_byte { number("type_id") - 13 } else { number("type_id") };
                let nested = field["type"]["nested_type_name"].as_str().unwrap().to_owned();
                let expected = (id, number("capacity"), number("string_capacity"), nested);
                assert_eq!(described(&schema, &member.ty), expected, "{path}");
                assert_eq!(member.default.is_some(), field["default_value"] != "", "{path}");
                compared += 1;
            }
        }
    }
    assert!(compared >= 1000, "only {compared} members");
}

#[test]
fn canonical_texts_are_read_back() {
    let Some(root) = interfaces() else { return };
    for package in PACKAGES {
        let schema = load(Loader::new().include(&root).ros_package(package));
        for (id, definition) in schema.definitions() {
            if matches!(definition.kind, Kind::Alias(_)) {
                continue;
            }
            let text = schema.canonical(id);
            let again = Schema::from_idl(&text).unwrap_or_else(|error| panic!("{}", error.render(false)));
            let same = again.find(definition.name.as_str()).unwrap();
            assert_eq!(again.canonical(same), text);
            assert_eq!(again.schema_hash(same), schema.schema_hash(id));
            assert_eq!(again.layout_hash(same), schema.layout_hash(id));
        }
    }
}
