//! `situ image`, with the regions of `spec/vectors/region`.

mod common;

use common::{Sandbox, json, text};

fn path(of: &str) -> String {
    format!("{}/../../{of}", env!("CARGO_MANIFEST_DIR"))
}

fn vector(name: &str) -> String {
    path(&format!("spec/vectors/region/{name}.bin"))
}

#[test]
fn an_image_is_checked_printed_and_counted() {
    let sandbox = Sandbox::new();
    let (schema, canonical) = (path("tests/generated/schema/bazaar.idl"), vector("bazaar.canonical"));
    let run =
        |command: &str, file: &str| sandbox.run(&["--json", "image", command, file, "--schema", &schema]);
    let bytes = std::fs::metadata(&canonical).unwrap().len();
    // The image names its type by its hash.
    let checked = json(&run("check", &canonical));
    assert_eq!((&checked["type"], &checked["form"]), (&"game::Bazaar".into(), &"canonical".into()));
    assert_eq!(checked["bytes"], bytes);
    let printed = json(&run("print", &canonical));
    assert_eq!(printed["message"]["shape"]["label"], "a label of some length", "{printed}");
    for form in ["canonical", "live"] {
        let file = vector(&format!("bazaar.{form}"));
        let counted = json(&run("stat", &file));
        let of = |part: &serde_json::Value| {
            ["data", "room", "rounding"].iter().map(|it| part[it].as_u64().unwrap()).sum::<u64>()
        };
        let parts = counted["parts"].as_array().unwrap();
        assert_eq!(parts.iter().map(of).sum::<u64>(), counted["bytes"].as_u64().unwrap(), "{counted}");
        let words = parts.iter().find(|part| part["part"] == "words").unwrap();
        assert_eq!(words["kind"], "ordered set", "{counted}");
    }
    let packed = vector("bazaar.packed");
    let checked = json(&run("check", &packed));
    assert_eq!((&checked["type"], &checked["form"]), (&"game::Bazaar".into(), &"packed".into()));
    assert_eq!(json(&run("print", &packed)), printed);
    assert_eq!(json(&run("stat", &packed))["form"], "packed");
    // Without a schema there is the header.
    let header = text(&sandbox.run(&["image", "stat", &canonical]));
    assert!(header.contains("a canonical image, ") && header.contains("schema hash "), "{header}");
}

#[test]
fn equal_values_are_equal_and_others_differ_in_their_members() {
    let sandbox = Sandbox::new();
    let schema = path("tests/generated/schema/region.idl");
    let diff = |one: &str, other: &str| sandbox.run(&["image", "diff", one, other, "--schema", &schema]);
    let (canonical, live) = (vector("pantry.canonical"), vector("pantry.live"));
    assert!(text(&diff(&canonical, &live)).contains("are equal"));
    assert!(text(&diff(&canonical, &vector("pantry.packed"))).contains("are equal"));
    let message = json(&sandbox.run(&["--json", "image", "print", &canonical, "--schema", &schema]));
    // A text of the message, with one letter changed.
    let mut bytes = std::fs::read(&canonical).unwrap();
    let words = b"the inner text";
    let found = bytes.windows(words.len()).position(|window| window == words);
    let at = found.unwrap_or_else(|| panic!("no such text in {message}"));
    bytes[at] = b'T';
    let other = sandbox.path("other.region");
    std::fs::write(&other, &bytes).unwrap();
    let differs = diff(&canonical, &other);
    assert_eq!(differs.status.code(), Some(1));
    let said = String::from_utf8(differs.stdout).unwrap();
    assert!(
        said.lines().count() == 1
            && said.contains("the inner text is long")
            && said.contains("The inner text is long"),
        "{said}"
    );
}

#[test]
fn images_are_converted_and_mistakes_are_reported() {
    let sandbox = Sandbox::new();
    let (schema, image) = (path("spec/vectors/kitchen.idl"), vector("thicket.canonical"));
    let out = sandbox.path("thicket.cdr");
    for (to, expected) in [("cdr", "xcdr1"), ("xcdr2", "xcdr2")] {
        let command = ["image", "convert", &image, "--schema", &schema, "--to", to, "-o", &out];
        assert!(text(&sandbox.run(&command)).contains("bytes"));
        let expected = std::fs::read(path(&format!("spec/vectors/cdr/thicket.{expected}.le.bin"))).unwrap();
        assert_eq!(std::fs::read(&out).unwrap(), expected);
    }
    let error = |arguments: &[&str]| {
        let output = sandbox.run(&[&["image"], arguments].concat());
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, said) = error(&["check", &image]);
    assert!(code == Some(2) && said.contains("--schema"), "{said}");
    let (code, said) = error(&["check", &schema, "--schema", &schema]);
    assert!(code == Some(1) && said.contains("do not begin with SRGN"), "{said}");
    let other = path("tests/generated/schema/region.idl");
    let (code, said) = error(&["check", &image, "--schema", &other]);
    assert!(code == Some(3) && said.contains("game::Pantry") && said.contains("schema hash"), "{said}");
    let mut damaged = std::fs::read(&image).unwrap();
    let size = damaged.len();
    damaged.truncate(size - 16);
    let file = sandbox.path("damaged.region");
    std::fs::write(&file, &damaged).unwrap();
    let (code, said) = error(&["check", &file, "--schema", &schema]);
    assert!(code == Some(1) && said.contains(&format!("the header says {size} bytes")), "{said}");
    assert_eq!(error(&["stat", "/no/such/file"]).0, Some(3));
}
