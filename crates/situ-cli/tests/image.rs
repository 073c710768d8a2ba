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

/// The image that the command writes is the one that compiled types and the scripts of the vectors write.
#[test]
fn images_are_converted_to_the_other_forms() {
    let sandbox = Sandbox::new();
    let (schema, out) = (path("tests/generated/schema/bazaar.idl"), sandbox.path("out.region"));
    let convert = |from: &str, to: &str| {
        sandbox.run(&["image", "convert", from, "--schema", &schema, "--to", to, "-o", &out])
    };
    for (name, to) in
        ["bazaar", "cupboard"].into_iter().flat_map(|name| ["canonical", "packed"].map(|to| (name, to)))
    {
        let expected = std::fs::read(vector(&format!("{name}.{to}"))).unwrap();
        for from in ["live", "canonical"] {
            let said = text(&convert(&vector(&format!("{name}.{from}")), to));
            assert_eq!(said, format!("{out}: {} bytes\n", expected.len()), "{name}.{from} to {to}");
            assert!(std::fs::read(&out).unwrap() == expected, "{name}.{from} to {to}");
        }
    }
    text(&convert(&vector("cupboard.packed"), "canonical"));
    assert!(std::fs::read(&out).unwrap() == std::fs::read(vector("cupboard.canonical")).unwrap());
    // Two links of this image share a value, which a value read from a packed image does not show.
    std::fs::remove_file(&out).unwrap();
    let shared = convert(&vector("bazaar.packed"), "canonical");
    let said = String::from_utf8_lossy(&shared.stderr).into_owned();
    assert!(shared.status.code() == Some(1) && said.contains("links of the image share values"), "{said}");
    assert!(!std::path::Path::new(&out).exists());
}

#[test]
fn text_and_images_are_converted_into_each_other() {
    let sandbox = Sandbox::new();
    let (schema, type_name) = (path("tests/generated/schema/region.idl"), "game::Pantry");
    let convert = |from: &str, to: &str, out: &str| {
        let command = ["image", "convert", from, "--schema", &schema, "--type", type_name, "--to", to];
        text(&sandbox.run(&[&command[..], &["-o", out]].concat()));
    };
    for (encoding, file) in [("yaml", "pantry.yaml"), ("json", "pantry.json")] {
        let (file, back) = (sandbox.path(file), sandbox.path("pantry.region"));
        convert(&vector("pantry.live"), encoding, &file);
        for form in ["canonical", "packed"] {
            convert(&file, form, &back);
            let expected = std::fs::read(vector(&format!("pantry.{form}"))).unwrap();
            assert!(std::fs::read(&back).unwrap() == expected, "{encoding} to {form}");
        }
    }
    let yaml = sandbox.path("pantry.yaml");
    let printed = sandbox.run(&["image", "print", &vector("pantry.packed"), "--schema", &schema]);
    assert_eq!(text(&printed), std::fs::read_to_string(yaml).unwrap());
}

const SAVE: &str = "@region struct Item { string name; long count; };
    @region struct Save { string hero; sequence<Item> bag; map<string, Item> shelf; @optional double luck; };";

#[test]
fn an_image_is_printed_as_text() {
    let sandbox = Sandbox::new();
    let schema = sandbox.file("save.idl", SAVE);
    let value = sandbox.file("save.yaml", "{hero: Ada, bag: [{name: rope, count: 2}], luck: 0.5}");
    let image = sandbox.path("save.region");
    let of = ["--schema", &schema, "--type", "Save"];
    text(&sandbox.run(&[&["image", "convert", &value, "--to", "packed", "-o", &image], &of[..]].concat()));
    let printed = text(&sandbox.run(&["image", "print", &image, "--schema", &schema]));
    assert_eq!(printed, "hero: Ada\nbag:\n- name: rope\n  count: 2\nshelf: {}\nluck: 0.5\n");
    let json = text(&sandbox.run(&["image", "convert", &image, "--schema", &schema, "--to", "json"]));
    let expected = r#"{"hero":"Ada","bag":[{"name":"rope","count":2}],"shelf":{},"luck":0.5}"#;
    assert_eq!(json.trim_end(), expected);
}

#[test]
fn elements_entries_and_members_that_only_one_image_has_are_listed() {
    let sandbox = Sandbox::new();
    let schema = sandbox.file("save.idl", SAVE);
    let of = ["--schema", &schema, "--type", "Save"];
    let image = |name: &str, form: &str, value: &str| {
        let (text_file, image) = (sandbox.file(&format!("{name}.yaml"), value), sandbox.path(name));
        let command = ["image", "convert", &text_file, "--to", form, "-o", &image];
        text(&sandbox.run(&[&command[..], &of].concat()));
        image
    };
    let one = image(
        "one",
        "canonical",
        "{hero: Ada, bag: [{name: rope, count: 2}], shelf: {cup: {name: cup, count: 1}}, luck: 0.5}",
    );
    let other = image(
        "other",
        "packed",
        "{hero: Ada, bag: [{name: rope, count: 3}, {name: lamp, count: 1}], shelf: {jar: {name: jar}}}",
    );
    let differs = sandbox.run(&["image", "diff", &one, &other, "--schema", &schema]);
    assert_eq!(differs.status.code(), Some(1));
    let expected = "bag[0].count: 2 -> 3\n\
                    bag[1]: absent -> {\"name\":\"lamp\",\"count\":1}\n\
                    shelf[\"cup\"]: {\"name\":\"cup\",\"count\":1} -> absent\n\
                    shelf[\"jar\"]: absent -> {\"name\":\"jar\",\"count\":0}\n\
                    luck: 0.5 -> absent\n";
    assert_eq!(String::from_utf8(differs.stdout).unwrap(), expected);
    let differs = sandbox.run(&["--json", "image", "diff", &one, &other, "--schema", &schema]);
    let listed: serde_json::Value = serde_json::from_slice(&differs.stdout).unwrap();
    assert_eq!(listed["count"], 5);
    assert_eq!(listed["differences"][4]["other"], serde_json::Value::Null);
}

#[test]
fn what_cannot_be_converted_is_reported() {
    let sandbox = Sandbox::new();
    let schema = sandbox.file("save.idl", SAVE);
    let error = |file: &str, more: &[&str]| {
        let command = ["image", "convert", file, "--schema", &schema, "--to", "packed"];
        let output = sandbox.run(&[&command[..], more].concat());
        assert!(output.stdout.is_empty());
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let of = ["--type", "Save"];
    let good = sandbox.file("good.yaml", "{hero: Ada}");
    let (code, said) = error(&good, &[]);
    assert!(code == Some(2) && said.contains("--type"), "{said}");
    let (code, said) = error(&good, &["--type", "Chest"]);
    assert!(code == Some(3) && said.contains("Chest"), "{said}");
    let (code, said) = error(&sandbox.file("bad.yaml", "{hero: Ada, bag: 7}"), &of);
    assert!(code == Some(1) && said.contains("bag") && said.contains("line 1"), "{said}");
    std::fs::write(sandbox.path("bytes.json"), [0xff, 0xfe]).unwrap();
    let (code, said) = error(&sandbox.path("bytes.json"), &of);
    assert!(code == Some(1) && said.contains("utf-8"), "{said}");
    assert_eq!(error("/no/such/file.yaml", &of).0, Some(3));
    // Damaged images: each byte of the header and of the first blocks, and each end.
    let image = sandbox.path("save.packed");
    let value = sandbox.file("save.yaml", "{hero: a long name, bag: [{name: a long rope, count: 2}]}");
    text(
        &sandbox.run(
            &[&["image", "convert", &value, "--schema", &schema, "--to", "packed"], &of[..], &["-o", &image]]
                .concat(),
        ),
    );
    let whole = std::fs::read(&image).unwrap();
    let damaged = sandbox.path("damaged");
    for at in [0, 4, 6, 8, 16, 24, 28] {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        std::fs::write(&damaged, &bytes).unwrap();
        let (code, said) = error(&damaged, &of);
        assert!(code == Some(1) && said.contains("damaged: "), "{at}: {said}");
    }
    for end in [1, 31, whole.len() - 1] {
        std::fs::write(&damaged, &whole[..end]).unwrap();
        assert_eq!(error(&damaged, &of).0, Some(1), "{end}");
    }
}
