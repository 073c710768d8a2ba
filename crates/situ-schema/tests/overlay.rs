//! Overlay files: annotations and bounds for ROS messages, which have no syntax for them.

use std::fs;
use std::path::{Path, PathBuf};

use situ_schema::{Loader, Schema, SchemaError};

const SCAN: &str = "std_msgs/Header header\nfloat32 range_max 10\nfloat32[] ranges\nuint8[] raw\nstring[<=4] names\nstring<=8 kind\n";
const HEADER: &str = "int32 sec\nstring frame_id\n";
const SCAN_SIDE: &str = "// What a scan is to Situ.\n@flat struct Scan {\n  @unit(\"m\") range_max;\n  sequence<float, 1024> ranges;\n  \
                         @bulk raw;\n  sequence<string<16>> names;\n};\n";
const HEADER_SIDE: &str = "struct Header { string<32> frame_id; };\n";

/// A folder with files, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let folder = Self(std::env::temp_dir().join(format!("situ-overlay-{name}-{}", std::process::id())));
        for (path, text) in files {
            let path = folder.0.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    fn join(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The message, its overlay file, and the header with its own in another package.
fn packages(name: &str, overlay: &str) -> Folder {
    Folder::new(
        name,
        &[
            ("demo/msg/Scan.msg", SCAN),
            ("demo/msg/Scan.situ", overlay),
            ("std_msgs/msg/Header.msg", HEADER),
            ("extra/std_msgs/msg/Header.situ", HEADER_SIDE),
        ],
    )
}

fn load(folder: &Folder, include: &[&Path]) -> Result<Schema, Box<SchemaError>> {
    include
        .iter()
        .fold(Loader::new(), |it, path| it.include(*path))
        .file(folder.join("demo/msg/Scan.msg"))
        .load()
}

/// Line, column, message and help of a mistake in an overlay file.
fn refused(name: &str, overlay: &str) -> (usize, usize, String, String) {
    let folder = packages(name, overlay);
    let error = load(&folder, &[&folder.join("extra")]).expect_err(overlay);
    let diagnostic = &error.diagnostics()[0];
    let (file, line, column) = error.position(diagnostic).unwrap();
    assert!(file.ends_with("Scan.situ"), "{error}");
    (line, column, diagnostic.message.clone(), diagnostic.help.clone().unwrap_or_default())
}

#[test]
fn a_message_becomes_flat_by_what_stands_beside_it() {
    let folder = packages("flat", SCAN_SIDE);
    let schema = load(&folder, &[&folder.join("extra")]).unwrap();
    let scan = schema.find("demo/Scan").unwrap();
    assert!(schema.is_flat(scan));
    assert_eq!(schema.bulk_fields(scan).iter().map(|it| it.path.join(".")).collect::<Vec<_>>(), ["raw"]);
    let idl = "module std_msgs { module msg { struct Header { int32 sec; string<32> frame_id; }; }; };\n\
               module demo { module msg { @flat struct Scan { std_msgs::msg::Header header; @default(10.0) @unit(\"m\") float range_max;\n\
               sequence<float, 1024> ranges; @bulk sequence<uint8> raw; sequence<string<16>, 4> names; string<8> kind; }; }; };";
    let same = Schema::from_idl(idl).unwrap();
    let twin = same.find("demo::msg::Scan").unwrap();
    assert_eq!(schema.canonical(scan), same.canonical(twin));
    assert_eq!(schema.schema_hash(scan), same.schema_hash(twin));
    assert_eq!(schema.layout_hash(scan), same.layout_hash(twin));
    assert_eq!(schema.definition(scan).docs, "", "what an overlay file's comments say is about itself");
    let read: Vec<_> = schema.sources().iter().map(|(_, it)| it.path.clone()).collect();
    assert!(read.contains(&folder.join("demo/msg/Scan.situ")), "builds begin anew when it changes");
}

#[test]
fn bounds_change_the_schema_hash_and_storage_does_not() {
    let hash = |name: &str, overlay: &str| {
        let folder = packages(name, overlay);
        let schema = load(&folder, &[]).unwrap();
        schema.schema_hash(schema.find("demo::msg::Scan").unwrap())
    };
    let plain = hash("plain", "");
    assert_eq!(plain, hash("storage", "@region struct Scan { @bulk raw, ranges; @unit(\"m\") range_max; };"));
    assert_ne!(plain, hash("bounds", "struct Scan { sequence<float, 7> ranges; };"));
    assert_ne!(plain, hash("key", "struct Scan { @key kind; };"));
}

#[test]
fn the_one_beside_goes_before_those_in_the_search_path() {
    let folder = Folder::new(
        "order",
        &[
            ("demo/msg/A.msg", "string a\n"),
            ("demo/msg/A.situ", "struct A { string<1> a; };"),
            ("one/share/demo/msg/A.situ", "struct A { string<2> a; };"),
            ("demo/msg/B.msg", "string b\n"),
            ("one/share/demo/msg/B.situ", "struct B { string<2> b; };"),
            ("two/demo/msg/B.situ", "struct B { string<3> b; };"),
        ],
    );
    let loader = Loader::new().include(&folder.0).include(folder.join("one")).include(folder.join("two"));
    let schema = loader.ros_package("demo").load().unwrap();
    assert!(schema.canonical(schema.find("demo/A").unwrap()).contains("string<1> a;"));
    assert!(schema.canonical(schema.find("demo/B").unwrap()).contains("string<2> b;"));
}

#[test]
fn services_actions_and_included_interfaces_have_theirs() {
    let folder = Folder::new(
        "kinds",
        &[
            ("demo/srv/Ask.srv", "string question\n---\nstring answer\n"),
            ("demo/srv/Ask.situ", "@flat struct Ask_Request { string<9> question; };"),
            ("demo/action/Go.action", "uint8[] path\n---\n---\n"),
            ("demo/action/Go.situ", "@flat struct Go_Goal { @bulk path; };"),
            ("demo/msg/Inner.idl", "module demo { module msg { struct Inner { string text; }; }; };"),
            ("demo/msg/Inner.situ", "struct Inner { string<5> text; };"),
            (
                "demo/msg/Outer.idl",
                "#include \"demo/msg/Inner.idl\"\nmodule demo { module msg { @flat struct Outer { Inner inner; }; }; };",
            ),
        ],
    );
    let schema = Loader::new().include(&folder.0).ros_package("demo").load().unwrap();
    let flat = |name: &str| schema.is_flat(schema.find(name).unwrap());
    assert!(flat("demo::srv::Ask_Request") && !flat("demo::srv::Ask_Response"));
    assert!(flat("demo::action::Go_Goal") && flat("demo::msg::Outer"));
    assert!(schema.is_flattable(schema.find("demo::action::Go_SendGoal_Request").unwrap()));
}

#[test]
fn what_does_not_fit_is_refused_where_it_stands() {
    let cases: &[(&str, usize, usize, &str, &str)] = &[
        ("struct Scna { };", 1, 8, "has no struct `Scna`", "did you mean `Scan`?"),
        ("struct Scan {\n  @bulk rangs;\n};", 2, 9, "`Scan` has no member `rangs`", "did you mean `ranges`?"),
        ("struct Scan { zzz; };", 1, 15, "no member `zzz`", "there is: header, range_max, ranges"),
        ("struct Scan { @blk raw; };", 1, 15, "no annotation `@blk`", "did you mean `@bulk`?"),
        ("struct Scan { @optional raw; };", 1, 15, "`@optional` would change the bytes", ".idl"),
        ("@mutable struct Scan;", 1, 1, "`@mutable` would change the bytes", "delete it"),
        ("struct Scan { sequence<double, 4> ranges; };", 1, 15, "another type", "only its name"),
        ("struct Scan { string<9> kind; };", 1, 15, "another type", "where it has none"),
        ("struct Scan { sequence<float, 4> ranges[2]; };", 1, 15, "another type", "the same type"),
        ("struct Scan { @bulk @bulk raw; };", 1, 21, "`@bulk` appears twice", "delete"),
        ("struct Scan { @flat raw; };", 1, 15, "`@flat` is not allowed on a member", "a struct"),
        ("struct Scan { @bulk raw }", 1, 25, "expected", ""),
        ("module demo { };", 1, 1, "expected `struct`", ""),
        ("#include \"Other.situ\"\n", 1, 1, "cannot include another file", "write"),
        ("struct Scan {", 1, 8, "never closed", "};"),
    ];
    for (at, (overlay, line, column, message, help)) in cases.iter().enumerate() {
        let found = refused(&format!("case{at}"), overlay);
        assert_eq!((found.0, found.1), (*line, *column), "{overlay}\n{found:?}");
        assert!(found.2.contains(message), "{overlay}\n{found:?}");
        assert!(found.3.contains(help), "{overlay}\n{found:?}");
    }
}

#[test]
fn a_mistake_shows_both_files() {
    let folder = packages("render", "struct Scan {\n  sequence<double, 4> ranges;\n};\n");
    let text = load(&folder, &[]).unwrap_err().render(false);
    for line in
        ["2 |   sequence<double, 4> ranges;", "|   ^^^^^^^^^^^^^^^^^^^ not the same", "3 | float32[] ranges"]
    {
        assert!(text.contains(line), "no {line:?} in\n{text}");
    }
}

#[test]
fn what_stays_unbounded_is_reported_where_it_is_defined() {
    let folder = packages("unbounded", SCAN_SIDE);
    let error = load(&folder, &[]).unwrap_err();
    let diagnostic = &error.diagnostics()[0];
    assert!(diagnostic.message.contains("`header.frame_id` is an unbounded string"), "{error}");
    let (file, line, _) = error.position(diagnostic).unwrap();
    assert!(file.ends_with("Header.msg") && line == 2, "{error}");
}

#[test]
fn overlay_files_of_nothing_are_refused() {
    let folder = Folder::new("stray", &[("demo/msg/Scan.msg", "string text\n"), ("demo/msg/Scna.situ", "")]);
    let error = Loader::new().include(&folder.0).ros_package("demo").load().unwrap_err();
    assert!(
        error.to_string().contains("Scna.situ` belongs to no interface file (did you mean `Scan.situ`?)"),
        "{error}"
    );
    let error = Loader::new().file(folder.join("demo/msg/Scna.situ")).load().unwrap_err();
    assert!(error.to_string().contains("name the interface file next to it"), "{error}");
}

#[test]
fn texts_of_others_read_no_file() {
    let folder = packages("sealed", SCAN_SIDE);
    let path = folder.join("demo/msg/Scan.msg");
    let text = "uint8 x\n";
    let schema = Loader::new().sealed().text(path, text, situ_schema::Format::Msg).load().unwrap();
    assert!(!schema.is_flat(schema.find("demo/Scan").unwrap()));
}
