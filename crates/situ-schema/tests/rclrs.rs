//! Crates for rclrs: what files there are, what they depend on, and which traits are implemented for what.
//!
//! `scripts/rclrs.sh` tests with rclrs itself that they build and work.

use std::collections::BTreeMap;

use situ_schema::codegen::{Language, Options, generate};
use situ_schema::{Format, Loader, Schema};

const IDL: &str = r#"
module base { module msg {
  struct Stamp { int32 sec; };
  struct Label { Stamp stamp; string<5> text; };
}; };
module user { module msg {
  struct Note { base::msg::Label label; string text; };
  struct type { uint8 x; };
}; module srv {
  struct Ask_Request { uint8 question; };
  struct Ask_Response { string answer; };
}; };
"#;

fn crates() -> BTreeMap<String, String> {
    crates_of(IDL)
}

fn crates_of(idl: &str) -> BTreeMap<String, String> {
    some_crates_of(idl, &[])
}

fn some_crates_of(idl: &str, only: &[&str]) -> BTreeMap<String, String> {
    let schema: Schema = Loader::new().text("user.idl", idl, Format::Idl).load().unwrap();
    let mut options = Options::new(Language::Rclrs);
    options.only = only.iter().map(|it| it.to_string()).collect();
    options.layout_dependency = r#"{ path = "/situ/layout" }"#.into();
    options.region_dependency = r#"{ path = "/situ/region" }"#.into();
    let files = generate(&schema, &options);
    assert_eq!(files, generate(&schema, &options), "the same every time");
    files.into_iter().map(|file| (file.path.display().to_string(), file.text)).collect()
}

fn has(text: &str, lines: &[&str]) {
    for line in lines {
        assert!(text.lines().any(|it| it.trim() == *line), "no line {line:?} in\n{text}");
    }
}

#[test]
fn every_package_is_a_crate() {
    let crates = crates();
    let of = |package: &str| {
        ["Cargo.toml", "build.rs", "src/lib.rs", "src/messages.rs", "src/traits.rs"]
            .map(|it| format!("{package}/{it}"))
    };
    let expected: Vec<String> = of("base").into_iter().chain(of("user")).collect();
    assert_eq!(crates.keys().cloned().collect::<Vec<_>>(), expected);
    has(
        &crates["user/Cargo.toml"],
        &[
            r#"name = "user""#,
            r#"situ-layout = { path = "/situ/layout" }"#,
            r#"situ-region = { path = "/situ/region" }"#,
            r#"base = { path = "../base" }"#,
        ],
    );
    assert!(!crates["base/Cargo.toml"].contains("../"));
    has(
        &crates["user/build.rs"],
        &[r#"println!("cargo::rustc-link-lib=dylib=user__rosidl_typesupport_c");"#],
    );
}

#[test]
fn a_crate_has_the_types_of_its_package_alone() {
    let crates = crates();
    assert!(crates["base/src/messages.rs"].contains("pub struct Label<"));
    assert!(!crates["user/src/messages.rs"].contains("pub struct Label<"));
    assert!(crates["user/src/messages.rs"].contains("super::super::base::msg::Label<S>"));
    has(
        &crates["user/src/lib.rs"],
        &[
            "use ::base;",
            "pub use crate::messages::user::msg::*;",
            "pub type Note = super::Note<situ_layout::Ros>;",
            "pub type r#type = super::r#type;",
            "pub struct Ask;",
        ],
    );
}

#[test]
fn the_c_struct_is_published_as_it_is() {
    let traits = &crates()["user/src/traits.rs"];
    has(
        traits,
        &[
            "impl rosidl_runtime_rs::RmwMessage for crate::messages::user::msg::Note<situ_layout::Ros> {",
            r#"const TYPE_NAME: &'static str = "user/msg/Note";"#,
            "fn rosidl_typesupport_c__get_message_type_support_handle__user__msg__Note() -> *const core::ffi::c_void;",
            "impl rosidl_runtime_rs::Message for crate::messages::user::msg::Note<situ_layout::Ros> {",
            "impl rosidl_runtime_rs::Message for crate::messages::user::msg::Note<situ_layout::Heap> {",
            "impl rosidl_runtime_rs::Message for crate::messages::user::msg::r#type {",
            "impl rosidl_runtime_rs::Service for crate::messages::user::srv::Ask {",
            "type Request = crate::messages::user::srv::Ask_Request;",
            "type Response = crate::messages::user::srv::Ask_Response<situ_layout::Heap>;",
            "impl rosidl_runtime_rs::Service for crate::srv::rmw::Ask {",
            "type Response = crate::messages::user::srv::Ask_Response<situ_layout::Ros>;",
        ],
    );
    // A string from C may be longer than its bound.
    assert_eq!(traits.matches("idiomatic_clipped").count(), 1);
}

#[test]
fn the_plain_name_of_a_flat_struct_is_what_rclrs_publishes() {
    let idl = "module user { module msg { @flat struct Scan { @bulk sequence<float> ranges; }; }; };";
    let crates = crates_of(idl);
    has(
        &crates["user/src/messages.rs"],
        &["pub struct Scan<S: crate::situ::layout::Storage = crate::situ::layout::Heap> {"],
    );
    has(
        &crates["user/src/traits.rs"],
        &["impl rosidl_runtime_rs::Message for crate::messages::user::msg::Scan<situ_layout::Heap> {"],
    );
}

#[test]
fn one_package_alone_leaves_where_the_others_are_to_cargo() {
    let crates = some_crates_of(IDL, &["user"]);
    assert!(crates.keys().all(|it| it.starts_with("user/")) && crates.len() == 5);
    has(&crates["user/Cargo.toml"], &["base = \"*\""]);
}
