//! The generated text is the same every time, and formatted as by `rustfmt`.

use std::path::{Path, PathBuf};
use std::process::Command;

use situ_schema::Loader;
use situ_schema::codegen::{Language, Options, generate};

const FILES: &[(&str, &str)] = &[
    ("kitchen", include_str!(concat!(env!("OUT_DIR"), "/kitchen.rs"))),
    ("messages", include_str!(concat!(env!("OUT_DIR"), "/messages.rs"))),
    ("edges", include_str!(concat!(env!("OUT_DIR"), "/edges.rs"))),
    #[cfg(feature = "ros")]
    ("ros", include_str!(concat!(env!("OUT_DIR"), "/ros.rs"))),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files that are compared with rustfmt's. Those of ROS have names so long that a dozen lines reach the limit,
/// where rustfmt's choice depends on more than the line.
fn written() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    FILES.iter().filter(|(name, _)| *name != "ros")
}

#[test]
fn rustfmt_changes_nothing() {
    let folder = std::env::temp_dir().join(format!("situ-generated-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let paths: Vec<PathBuf> = written().map(|(name, _)| folder.join(format!("{name}.rs"))).collect();
    for ((_, text), path) in written().zip(&paths) {
        std::fs::write(path, text).unwrap();
    }
    let output = Command::new("rustfmt").args(["--check", "--edition", "2024"]).args(&paths).output();
    std::fs::remove_dir_all(&folder).unwrap();
    match output {
        Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout)),
        Err(error) => eprintln!("SKIPPED: no rustfmt: {error}"),
    }
}

#[test]
fn the_same_schema_gives_the_same_text() {
    for (stem, path) in [("kitchen", "spec/vectors/kitchen.idl"), ("messages", "schema/situ/sensor.idl")] {
        let loader = Loader::new().include(root().join("schema")).file(root().join(path));
        let schema = loader.load().unwrap();
        let options = Options { file_stem: stem.into(), ..Options::new(Language::Rust) };
        let files = generate(&schema, &options);
        let (_, text) = FILES.iter().find(|(name, _)| *name == stem).unwrap();
        assert_eq!(files.len(), 1);
        assert_eq!(files[0].path, Path::new(&format!("{stem}.rs")));
        assert!(files[0].text == *text, "{stem}.rs differs");
    }
}

#[test]
fn only_what_was_asked_for() {
    let loader = Loader::new().include(root().join("schema")).file(root().join("schema/situ/sensor.idl"));
    let schema = loader.load().unwrap();
    let options =
        Options { included: false, situ_path: "crate::situ".into(), ..Options::new(Language::Rust) };
    let text = &generate(&schema, &options)[0].text;
    assert!(text.contains("pub struct PointCloud2<S: crate::situ::layout::Storage"));
    assert!(!text.contains("pub struct Header"));
}
