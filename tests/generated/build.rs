//! Generates code for the schemas of the tests: the kitchen of the vectors, the messages that ship with Situ,
//! and unusual names and sizes. Also for the types of the messages that other implementations wrote, and for
//! ROS 2's packages if they were fetched.

use std::fmt::Write;
use std::path::Path;

use situ_schema::model::{Kind, Type};
use situ_schema::proto::ProtoBuild;
use situ_schema::{BuildScript, Loader};

/// The packages of ROS 2 that are built, with all packages that they need.
const PACKAGES: [&str; 6] =
    ["std_msgs", "geometry_msgs", "sensor_msgs", "nav_msgs", "test_msgs", "action_msgs"];

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let file = |path: &str| Loader::new().include(root.join("schema")).file(root.join(path));
    BuildScript::new(file("spec/vectors/kitchen.idl")).file_stem("kitchen").run();
    BuildScript::new(file("schema/situ/sensor.idl")).run();
    BuildScript::new(file("tests/generated/schema/edges.idl")).file_stem("edges").run();
    BuildScript::new(file("tests/generated/schema/recursion.idl")).file_stem("recursion").run();

    let services = root.join("tests/generated/schema/services");
    let services =
        Loader::new().file(services.join("calculator.idl")).file(services.join("srv/AddTwoInts.srv"));
    BuildScript::new(services).file_stem("services").run();
    BuildScript::new(file("tests/generated/schema/region.idl")).file_stem("region").run();
    BuildScript::new(file("tests/generated/schema/bazaar.idl")).file_stem("bazaar").run();
    BuildScript::new(file("tests/generated/schema/family.idl")).file_stem("family").run();
    for version in ["profile", "profile_before", "profile_other"] {
        BuildScript::new(file(&format!("tests/generated/schema/{version}.idl"))).file_stem(version).run();
    }

    // Names that mean something in Rust, in C++ or in generated code, in every place where a schema may have
    // names.
    let hostile = root.join("tests/generated/schema/hostile");
    BuildScript::new(Loader::new().file(hostile.join("names.idl"))).file_stem("hostile_idl").run();
    let packages = Loader::new().include(&hostile).ros_package("names").ros_package("std");
    BuildScript::new(packages).file_stem("hostile_ros").run();
    ProtoBuild::new().file(hostile.join("names.proto")).file_stem("hostile_proto").run();

    let kinds = file("spec/vectors/cdr/cyclone/kinds.idl");
    BuildScript::new(kinds.clone()).file_stem("kinds").run();
    list_structs("kinds", kinds);
    let ros_vectors = file("spec/vectors/cdr/ros/messages.idl");
    BuildScript::new(ros_vectors.clone()).file_stem("ros_vectors").run();
    list_structs("ros_vectors", ros_vectors);
    let protobuf = root.join("spec/vectors/protobuf");
    let schema = root.join("tests/generated/schema");
    ProtoBuild::new()
        .include(&protobuf)
        .include(&schema)
        .file(protobuf.join("kitchen.proto"))
        .file(schema.join("legacy.proto"))
        .file(schema.join("edition.proto"))
        .file(schema.join("edition_2024.proto"))
        .file_stem("protobuf")
        .run();
    ProtoBuild::new()
        .file(root.join("schema/trace/trace.proto"))
        .file_stem("trace")
        .situ_path("crate::proto::situ")
        .run();
    println!("cargo::rustc-check-cfg=cfg(situ_ros)");
    if cfg!(feature = "ros") {
        let ros = ros(&root);
        BuildScript::new(ros.clone()).file_stem("ros").run();
        list_c_structs(ros.clone());
        list_structs("ros", ros);
    }
}

/// The packages of ROS 2. Empty, with a warning, if they were not fetched.
fn ros(root: &Path) -> Loader {
    println!("cargo::rerun-if-env-changed=SITU_ROS_INTERFACES");
    let folder = std::env::var_os("SITU_ROS_INTERFACES").map_or_else(|| root.join("build/ros"), Into::into);
    if folder.exists() {
        println!("cargo::rerun-if-changed={}", folder.display());
    } else {
        // A missing path would count as changed in each build. The script that fetches the interfaces touches
        // this file.
        println!("cargo::rerun-if-changed=build.rs");
    }
    if !folder.join("share/std_msgs/msg").is_dir() {
        println!(
            "cargo::warning=no ROS interfaces in {}: run scripts/fetch-ros-interfaces.sh",
            folder.display()
        );
        return Loader::new();
    }
    println!("cargo::rustc-cfg=situ_ros");
    let loader = Loader::new().include(&folder).service_events(true);
    PACKAGES.into_iter().fold(loader, Loader::ros_package)
}

/// Writes a macro `<module>_types`, which passes the structs of a schema to another macro: their names, and
/// their Rust types with every storage that they can have.
fn list_structs(module: &str, loader: Loader) {
    let Ok(schema) = loader.load() else { return };
    let mut list = String::new();
    for (id, definition) in schema.definitions() {
        let name = definition.name.as_str();
        let path = format!("situ_generated::{module}::{name}");
        let storages = match definition.kind {
            Kind::Struct(_) if schema.is_plain(&Type::Named(id)) => format!("{path},"),
            Kind::Struct(_) if schema.flat_layout(id).is_some() => {
                format!("{path}<Heap>, {path}<Flat>, {path}<Ros>,")
            }
            Kind::Struct(_) => format!("{path}<Heap>, {path}<Ros>,"),
            _ => continue,
        };
        let _ = writeln!(list, "            {name:?}: {storages};");
    }
    write_macro(&format!("{module}_types"), &list);
}

/// Writes a macro `ros_c_structs`, which passes the structs of ROS's packages to another macro. It passes
/// their names, their Rust types in ROS storage and with vectors and strings, and the names of their members,
/// in the schema and in Rust.
fn list_c_structs(loader: Loader) {
    let Ok(schema) = loader.load() else { return };
    let mut list = String::new();
    for (id, definition) in schema.definitions() {
        let Kind::Struct(it) = &definition.kind else { continue };
        let name = definition.name.as_str();
        let is_plain = schema.is_plain(&Type::Named(id));
        let path = |storage| format!("situ_generated::ros::{name}{}", if is_plain { "" } else { storage });
        let (ros, heap) = (path("<Ros>"), path("<Heap>"));
        // In these packages, only this member has a name that Rust reserves.
        let members: String = it
            .members
            .iter()
            .map(|member| match member.name.as_str() {
                "type" => "\"type\" r#type,".to_owned(),
                name => format!("{name:?} {name},"),
            })
            .collect();
        let _ = writeln!(list, "            {name:?}: {ros}, {heap} {{ {members} }}");
    }
    write_macro("ros_c_structs", &list);
}

/// Writes a macro that hands a list to another macro.
fn write_macro(name: &str, list: &str) {
    let text = format!(
        "macro_rules! {name} {{\n    ($with:ident) => {{\n        $with! {{\n{list}        }}\n    }};\n}}\n"
    );
    let folder = std::env::var_os("OUT_DIR").unwrap_or_default();
    if let Err(error) = std::fs::write(Path::new(&folder).join(format!("{name}.rs")), text) {
        println!("cargo::error=cannot write the list of types: {error}");
    }
}
