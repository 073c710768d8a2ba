//! Sources for the crate ros-env: where they lie, what marks them, and how members are written and converted.
//!
//! `scripts/rclrs.sh` tests with rclrs itself that it builds with them and cancels goals.

use std::collections::BTreeMap;

use situ_schema::codegen::{Language, Options, generate, ros_env_obstacle};
use situ_schema::{Format, Loader, Schema};

const IDL: &str = r#"
module base { module msg {
  struct Stamp { int32 sec; };
}; };
module user { module msg {
  module Note_Constants { const uint8 LOW = 3; const string WORD = "a\"b"; };
  struct Note {
    base::msg::Stamp stamp; string text; string<5> tag; sequence<uint8> bytes; sequence<string> names;
    sequence<base::msg::Stamp, 2> few; base::msg::Stamp pair[2]; double matrix[2][3]; string type;
  };
  struct Nothing { };
}; module srv {
  struct Ask_Request { user::msg::Note note; };
  struct Ask_Response { boolean answer; };
}; };
"#;

fn schema(idl: &str) -> Schema {
    Loader::new().text("user.idl", idl, Format::Idl).load().unwrap()
}

fn files() -> BTreeMap<String, String> {
    let schema = schema(IDL);
    assert_eq!(ros_env_obstacle(&schema), None);
    let files = generate(&schema, &Options::new(Language::RosEnv));
    files.into_iter().map(|file| (file.path.display().to_string(), file.text)).collect()
}

fn has(text: &str, lines: &[&str]) {
    for line in lines {
        assert!(text.lines().any(|it| it.trim() == *line), "no line {line:?} in\n{text}");
    }
}

#[test]
fn they_lie_where_ros_env_looks_and_are_marked() {
    let files = files();
    let expected = [
        "share/base/rust/Cargo.toml",
        "share/base/rust/src/msg.rs",
        "share/base/rust/src/msg/rmw.rs",
        "share/user/rust/Cargo.toml",
        "share/user/rust/src/msg.rs",
        "share/user/rust/src/msg/rmw.rs",
        "share/user/rust/src/srv.rs",
        "share/user/rust/src/srv/rmw.rs",
    ];
    assert_eq!(files.keys().map(String::as_str).collect::<Vec<_>>(), expected);
    has(
        &files["share/user/rust/Cargo.toml"],
        &["[package.metadata.ros-env]", "include = true", "base = \"*\""],
    );
}

#[test]
fn members_are_those_of_ros_s_own_generator() {
    let files = files();
    has(
        &files["share/user/rust/src/msg/rmw.rs"],
        &[
            "pub stamp: base::msg::rmw::Stamp,",
            "pub text: rosidl_runtime_rs::String,",
            "pub tag: rosidl_runtime_rs::BoundedString<5>,",
            "pub bytes: rosidl_runtime_rs::Sequence<u8>,",
            "pub names: rosidl_runtime_rs::Sequence<rosidl_runtime_rs::String>,",
            "pub few: rosidl_runtime_rs::BoundedSequence<base::msg::rmw::Stamp, 2>,",
            "pub pair: [base::msg::rmw::Stamp; 2],",
            "pub matrix: [[f64; 3]; 2],",
            "pub type_: rosidl_runtime_rs::String,",
            "pub structure_needs_at_least_one_member: u8,",
            "pub const LOW: u8 = 3;",
            r#"pub const WORD: &'static str = "a\"b";"#,
            "fn user__msg__Note__Sequence__fini(sequence: *mut rosidl_runtime_rs::Sequence<Note>);",
            r#"#[link(name = "user__rosidl_generator_c")]"#,
            r#"const TYPE_NAME: &'static str = "user/msg/Note";"#,
        ],
    );
    has(
        &files["share/user/rust/src/msg.rs"],
        &[
            "pub stamp: base::msg::Stamp,",
            "pub text: std::string::String,",
            "pub tag: rosidl_runtime_rs::BoundedString<5>,",
            "pub bytes: std::vec::Vec<u8>,",
            "pub names: std::vec::Vec<std::string::String>,",
            "pub pair: [base::msg::Stamp; 2],",
            "bytes: (&message.bytes).as_slice().into(),",
            "names: (&message.names).iter().map(|it| it.as_str().into()).collect(),",
            "matrix: (&message.matrix).clone(),",
            "names: message.names.into_iter().map(|it| it.to_string()).collect(),",
            "pair: message.pair.map(|each0| rosidl_runtime_rs::Message::from_rmw_message(each0)),",
        ],
    );
    has(
        &files["share/user/rust/src/srv/rmw.rs"],
        &["pub note: super::super::msg::rmw::Note,", "pub struct Ask;"],
    );
    has(
        &files["share/user/rust/src/srv.rs"],
        &["pub note: super::msg::Note,", "type Request = Ask_Request;"],
    );
}

#[test]
fn what_it_cannot_write_is_refused() {
    let refused = |idl: &str| ros_env_obstacle(&schema(idl)).expect("an obstacle");
    let map = refused("module user { module msg { struct A { map<int32, int32> x; }; }; };");
    assert_eq!(
        map,
        "`user::msg::A` cannot be written for ros-env: its member `x` has a type that messages of ROS lack"
    );
    let optional = refused("module user { module msg { struct A { @optional int32 x; }; }; };");
    assert!(optional.contains("its member `x`"), "{optional}");
    let base = refused("module user { module msg { struct A { int32 x; }; struct B : A { int32 y; }; }; };");
    assert_eq!(base, "`user::msg::B` cannot be written for ros-env: it has a base");
}
