//! The generated text is the same every time, and formatted as by `rustfmt`.

use std::collections::HashMap;
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

/// How many lines of a file rustfmt may change. ROS has names so long that some lines reach the limit, where
/// rustfmt's choice depends on more than the line: one line in 500 may differ.
fn may_differ(name: &str, text: &str) -> usize {
    if name == "ros" { text.lines().count() / 500 } else { 0 }
}

/// How many lines of `text` are not in `other`.
fn missing_lines<'a>(text: &'a str, other: &'a str) -> usize {
    let mut counts = HashMap::<&str, isize>::new();
    text.lines().for_each(|line| *counts.entry(line).or_default() += 1);
    other.lines().for_each(|line| *counts.entry(line).or_default() -= 1);
    counts.into_values().map(|count| count.max(0).unsigned_abs()).sum()
}

#[test]
fn rustfmt_changes_nothing() {
    let folder = std::env::temp_dir().join(format!("situ-generated-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let paths: Vec<PathBuf> = FILES.iter().map(|(name, _)| folder.join(format!("{name}.rs"))).collect();
    for ((_, text), path) in FILES.iter().zip(&paths) {
        std::fs::write(path, text).unwrap();
    }
    let output = Command::new("rustfmt").args(["--edition", "2024"]).args(&paths).output();
    let formatted: Vec<String> = paths.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    std::fs::remove_dir_all(&folder).unwrap();
    match output {
        Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => return eprintln!("SKIPPED: no rustfmt: {error}"),
    }
    for ((name, text), formatted) in FILES.iter().zip(&formatted) {
        let limit = may_differ(name, text);
        let differ = missing_lines(text, formatted).max(missing_lines(formatted, text));
        assert!(differ <= limit && (limit > 0 || formatted == text), "{name}.rs: {differ} lines differ");
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
