//! Messages without compiled types, against the vectors that `spec/vectors/kitchen.py` computed.

use std::path::PathBuf;

use situ_schema::dynamic::{self, PrintOptions, Value};
use situ_schema::model::TypeId;
use situ_schema::{Format, Loader, Schema};
use situ_wire::Encoding;

/// The values of the vectors, by name and type, written down by hand from `kitchen.py`.
const CASES: [(&str, &str, &str); 9] = [
    ("primitives", "kitchen::Primitives", include_str!("dynamic/primitives.yaml")),
    ("containers", "kitchen::Containers", include_str!("dynamic/containers.yaml")),
    ("optionals", "kitchen::Optionals", include_str!("dynamic/optionals.yaml")),
    ("unions", "kitchen::Unions", include_str!("dynamic/unions.yaml")),
    ("derived", "kitchen::Derived", include_str!("dynamic/derived.yaml")),
    ("growing", "kitchen::Growing", include_str!("dynamic/growing.yaml")),
    ("changing", "kitchen::Changing", include_str!("dynamic/changing.yaml")),
    ("heaped", "kitchen::Heaped", include_str!("dynamic/heaped.yaml")),
    ("thicket", "kitchen::Thicket", include_str!("dynamic/thicket.yaml")),
];
const FLAT: usize = 5;

fn vectors() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../spec/vectors"))
}

fn kitchen() -> Schema {
    let loader = Loader::new().file(vectors().join("kitchen.idl"));
    loader.load().unwrap_or_else(|error| panic!("{}", error.render(false)))
}

fn load(text: &str) -> Schema {
    let loader = Loader::new().sealed().text("test.idl", text, Format::Idl);
    loader.load().unwrap_or_else(|error| panic!("{}", error.render(false)))
}

fn cases(schema: &Schema) -> Vec<(&'static str, TypeId, Value)> {
    let case = |(name, ty, text): &(&'static str, &str, &str)| {
        let id = schema.find(ty).unwrap();
        let value = dynamic::from_text(schema, id, text).unwrap_or_else(|error| panic!("{name}: {error}"));
        (*name, id, value)
    };
    CASES.iter().map(case).collect()
}

#[test]
fn cdr_is_written_as_the_vectors_say() {
    let schema = kitchen();
    for (name, id, value) in cases(&schema) {
        for (encoding, version) in [(Encoding::Xcdr1, "xcdr1"), (Encoding::Xcdr2, "xcdr2")] {
            let bytes = dynamic::to_cdr(&schema, id, &value, encoding).unwrap();
            let expected = std::fs::read(vectors().join(format!("cdr/{name}.{version}.le.bin"))).unwrap();
            assert_eq!(bytes, expected, "{name}, {version}");
        }
    }
}

#[test]
fn cdr_is_read_in_both_versions_and_byte_orders() {
    let schema = kitchen();
    for (name, id, value) in cases(&schema) {
        for kind in ["xcdr1.le", "xcdr1.be", "xcdr2.le", "xcdr2.be"] {
            let bytes = std::fs::read(vectors().join(format!("cdr/{name}.{kind}.bin"))).unwrap();
            let found = dynamic::from_cdr(&schema, id, &bytes)
                .unwrap_or_else(|error| panic!("{name}.{kind}: {error}"));
            assert_eq!(found, value, "{name}.{kind}");
        }
    }
}

#[test]
fn flat_messages_are_written_and_read_as_the_vectors_say() {
    let schema = kitchen();
    for (name, id, value) in &cases(&schema)[..FLAT] {
        let read =
            |part: &str| std::fs::read(vectors().join(format!("flat/{name}.{part}.bin"))).unwrap_or_default();
        let (head, mask, body) = (read("head"), read("mask"), read("body"));
        assert_eq!(&dynamic::from_flat(&schema, *id, &head, &body).unwrap(), value, "{name}");

        let message = dynamic::to_flat(&schema, *id, value).unwrap();
        assert_eq!(message.head.len(), head.len(), "{name}");
        for (at, (found, expected)) in message.head.iter().zip(&head).enumerate() {
            assert_eq!(found & mask[at], expected & mask[at], "byte {at} of {name}");
        }
        assert_eq!(message.body, body, "{name}");
    }
}

#[test]
fn what_is_printed_is_read_back() {
    let schema = kitchen();
    for (name, id, value) in cases(&schema) {
        let yaml = value.to_yaml(&PrintOptions::default());
        assert_eq!(dynamic::from_text(&schema, id, &yaml).unwrap(), value, "{name}:\n{yaml}");
        let json = value.to_json();
        assert_eq!(dynamic::from_text(&schema, id, &json).unwrap(), value, "{name}:\n{json}");
        assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok(), "{json}");
    }
}

/// As a program without types sees the reply of an operation: from the text that the topic carries.
#[test]
fn exceptions_are_shown_by_name() {
    let compiled = load(
        "exception DivisionByZero { int64 numerator; };
         interface Calculator { int64 divide(in int64 a, in int64 b) raises (DivisionByZero); };",
    );
    let schema = load(&compiled.canonical(compiled.services()[0].response));
    let id = schema.find("Calculator_divide_Reply").unwrap();
    for (text, shown) in [
        (
            "reply: {division_by_zero: {numerator: 17}}",
            "reply:\n  discriminator: 1\n  division_by_zero:\n    numerator: 17\n",
        ),
        ("reply: {result: {return_: 3}}", "reply:\n  discriminator: 0\n  result:\n    return_: 3\n"),
    ] {
        let value = dynamic::from_text(&schema, id, text).unwrap();
        let bytes = dynamic::to_cdr(&schema, id, &value, Encoding::Xcdr2).unwrap();
        let read = dynamic::from_cdr(&schema, id, &bytes).unwrap();
        assert_eq!(read, value);
        assert_eq!(read.to_yaml(&PrintOptions::default()), shown);
    }
}

const SCENE: &str = "enum Color { RED, GREEN };
    bitmask Flags { A, @position(4) B };
    union Either switch (Color) { case RED: int32 number; case GREEN: string text; };
    struct Point { float x; double y; };
    struct Scene {
      string name; wstring wide; char letter; boolean on; Color color; Flags flags; Either either;
      @optional int8 maybe; @optional Point other; sequence<uint8> bytes; sequence<Point> points;
      sequence<string> words; map<string, int32> ages; int16 grid[2][2]; sequence<sequence<int8>> nested;
    };";

#[test]
fn yaml_looks_like_this() {
    let schema = load(SCENE);
    let id = schema.find("Scene").unwrap();
    let text = r#"{name: "true", wide: "a b", letter: "7", on: true, color: GREEN, flags: [B], either: {text: hi},
        other: {x: 0.1, y: .inf}, bytes: [1, 2, 3, 4], points: [{x: 1}, {y: 1e30}], words: [one, "two\n", ""],
        ages: {z: -1, "a b": 2}, grid: [1, 2, 3, 4], nested: [[1], []]}"#;
    let value = dynamic::from_text(&schema, id, text).unwrap();
    let expected = "\
name: 'true'
wide: 'a b'
letter: '7'
on: true
color: GREEN
flags: [B]
either:
  discriminator: GREEN
  text: hi
maybe: null
other:
  x: 0.1
  y: .inf
bytes: [1, 2, 3, 4]
points:
- x: 1.0
  y: 0.0
- x: 0.0
  y: 1e30
words: [one, \"two\\n\", '']
ages:
  z: -1
  'a b': 2
grid:
- [1, 2]
- [3, 4]
nested:
- [1]
- []
";
    assert_eq!(value.to_yaml(&PrintOptions::default()), expected);
    let short = value.to_yaml(&PrintOptions { max_elements: Some(1), max_text: Some(2) });
    assert!(short.contains("bytes: [1, '...'] # 4 elements\n"), "{short}");
    assert!(short.contains("points:\n- x: 1.0\n  y: 0.0\n# 1 more of 2\n"), "{short}");
    assert!(short.contains("name: tr...\n"), "{short}");
    assert_eq!(
        value.to_json(),
        "{\"name\":\"true\",\"wide\":\"a b\",\"letter\":\"7\",\"on\":true,\"color\":\"GREEN\",\"flags\":[\"B\"],\
         \"either\":{\"discriminator\":\"GREEN\",\"text\":\"hi\"},\"maybe\":null,\"other\":{\"x\":0.1,\"y\":null},\
         \"bytes\":[1,2,3,4],\"points\":[{\"x\":1.0,\"y\":0.0},{\"x\":0.0,\"y\":1e+30}],\
         \"words\":[\"one\",\"two\\n\",\"\"],\"ages\":{\"z\":-1,\"a b\":2},\"grid\":[[1,2],[3,4]],\"nested\":[[1],[]]}"
    );
    assert_eq!(value.find("other.x"), Some(&Value::Float(0.1)));
    assert_eq!(value.find("either.text"), Some(&Value::Text("hi".into())));
    assert_eq!(value.find("either.number"), None);
}

#[test]
fn mistakes_in_text_say_where_and_what_to_do() {
    let schema = load(SCENE);
    let id = schema.find("Scene").unwrap();
    for (text, expected) in [
        ("points:\n- x: 1\n- z: 2", "`points[1]`, line 3, column 3: `Point` has no member `z` (it has x, y)"),
        ("nam: x", "line 1, column 1: `Scene` has no member `nam` (did you mean `name`?)"),
        ("name: a\nname: b", "line 2, column 1: the member `name` appears twice (delete one of them)"),
        (
            "on: yes",
            "`on`, line 1, column 5: expected a value of the type boolean, found `yes` (write true or false)",
        ),
        (
            "bytes: [1, 256]",
            "`bytes[1]`, line 1, column 12: 256 does not fit the type uint8 (the range is 0 to 255)",
        ),
        (
            "bytes: [\"1\"]",
            "`bytes[0]`, line 1, column 9: expected a value of the type uint8, found the text \"1\" (write an integer)",
        ),
        (
            "color: GREN",
            "`color`, line 1, column 8: expected an enumerator, found `GREN` (did you mean `GREEN`?)",
        ),
        ("flags: A | C", "`flags`, line 1, column 8: there is no flag `C` (there are A, B)"),
        ("grid: [1]", "`grid`, line 1, column 7: 1 elements, but the array has 2 (give exactly 2 elements)"),
        (
            "either: {discriminator: RED, text: x}",
            "`either`, line 1, column 9: the discriminator 0 does not select the case `text` \
             (leave the discriminator out, or give another case)",
        ),
        (
            "other: {x: 1e39}",
            "`other.x`, line 1, column 12: expected a value of the type float, found `1e39` (it is too large for a float)",
        ),
        ("name: &a x\nwide: *a", "line 2, column 7: aliases are not supported (write the value out)"),
        ("{}\n---\n{}", "line 2, column 1: there is a second document (give one message at a time)"),
    ] {
        let error = dynamic::from_text(&schema, id, text).unwrap_err();
        assert_eq!(error.to_string(), expected, "{text}");
    }
    assert!(
        dynamic::from_text(&schema, id, "name: \"x").unwrap_err().to_string().contains("this is not YAML")
    );
    let deep = "[".repeat(100_000);
    assert!(dynamic::from_text(&schema, id, &deep).is_err());
}

#[test]
fn empty_text_gives_the_defaults() {
    let schema = load(
        "enum Color { RED, @default_literal GREEN }; bitmask Flags { A, B };
         struct Inner { @default(7) int32 seven; };
         struct All {
           @default(1.5) float ratio; @default(\"hi\") string text; @default(RED) Color red; Color color;
           @default(A | B) Flags flags; @default(\"(1, 2)\") sequence<int16> list; Inner inner[2];
           @default(3) @optional int32 maybe;
         };",
    );
    let id = schema.find("All").unwrap();
    let expected = "ratio: 1.5\ntext: hi\nred: RED\ncolor: GREEN\nflags: [A, B]\nlist: [1, 2]\ninner:\n- seven: 7\n- seven: 7\n\
                    maybe: null\n";
    for text in ["", "{}", "# nothing\n"] {
        let value = dynamic::from_text(&schema, id, text).unwrap();
        assert_eq!(value.to_yaml(&PrintOptions::default()), expected);
        assert_eq!(value, dynamic::default_value(&schema, id).unwrap());
    }
}

#[test]
fn values_of_other_types_are_refused() {
    let schema = load("struct A { int8 x; }; struct B { string<2> x; }; struct C { int32 x[2]; };");
    let [a, b, c] = ["A", "B", "C"].map(|name| schema.find(name).unwrap());
    let value = |id, text: &str| dynamic::from_text(&schema, id, text).unwrap();
    let error = dynamic::to_flat(&schema, b, &value(a, "x: 1")).unwrap_err();
    assert_eq!(error.to_string(), "cannot write `x`: expected text, found an integer");
    let error = dynamic::to_cdr(&schema, a, &value(b, "x: a"), Encoding::Xcdr1).unwrap_err();
    assert_eq!(error.to_string(), "cannot write `x`: expected int8, found text");
    let error = dynamic::to_flat(&schema, c, &value(a, "x: 1")).unwrap_err();
    assert_eq!(error.to_string(), "cannot write `x`: expected a list, found an integer");
}

#[test]
fn nonsense_in_flat_bytes_is_an_error() {
    let schema =
        load("@flat struct A { boolean b; string<3> s; sequence<int16, 2> q; @bulk sequence<int32> d; };");
    let id = schema.find("A").unwrap();
    let value = dynamic::from_text(&schema, id, "{b: true, s: abc, q: [1], d: [5, 6]}").unwrap();
    let good = dynamic::to_flat(&schema, id, &value).unwrap();
    // b at 0, s at 4 (4 + 4 bytes), q at 12 (4 + 4), d at 24.
    assert_eq!((good.head.len(), good.body.as_slice()), (40, &[5, 0, 0, 0, 6, 0, 0, 0][..]));
    let with = |at: usize, byte: u8| {
        let mut head = good.head.clone();
        head[at] = byte;
        dynamic::from_flat(&schema, id, &head, &good.body).map_err(|error| error.to_string())
    };
    assert_eq!(with(0, 1).unwrap(), value);
    assert_eq!(with(0, 2).unwrap_err(), "cannot read `b`: 2 is not a boolean: only 0 and 1 are");
    assert_eq!(with(4, 4).unwrap_err(), "cannot read `s`: the length 4 exceeds the bound 3");
    assert_eq!(
        with(4, 2).unwrap_err(),
        "cannot read `s`: there is no zero after the 2 characters of the text"
    );
    assert_eq!(with(9, 0xff).unwrap_err(), "cannot read `s`: the text is not UTF-8 from byte 1 on");
    assert_eq!(with(12, 3).unwrap_err(), "cannot read `q`: the length 3 exceeds the bound 2");
    assert_eq!(
        with(32, 3).unwrap_err(),
        "cannot read `d`: 3 elements at offset 0 are not within the body of 8 bytes"
    );
    assert_eq!(
        with(31, 0xff).unwrap_err(),
        "cannot read `d`: 2 elements at offset 18374686479671623680 are not within the body of 8 bytes"
    );
    let error = dynamic::from_flat(&schema, id, &good.head[..20], &good.body).unwrap_err().to_string();
    assert!(error.contains("there are only 20 in all"), "{error}");
}

#[test]
fn huge_types_cost_no_memory() {
    let schema = load(
        "struct Wide { uint8 a[4294967296 - 2]; }; typedef Wide Row[1000]; struct Wider { Row b[1000]; };
         @appendable struct Late { int8 x; Wider w; };",
    );
    let id = schema.find("Wider").unwrap();
    assert!(dynamic::default_value(&schema, id).is_err());
    assert!(dynamic::from_text(&schema, id, "{}").is_err());
    assert!(dynamic::from_cdr(&schema, id, &[0, 1, 0, 0, 1, 2, 3]).is_err());
    let late = schema.find("Late").unwrap();
    assert!(dynamic::from_cdr(&schema, late, &[0, 1, 0, 0, 1]).is_err());
}

#[test]
fn arrays_of_several_dimensions_are_nested_lists() {
    let schema = load("@flat struct Pair { double m[2][1][3]; boolean b[2][2]; };");
    let id = schema.find("Pair").unwrap();
    let nested = "{m: [[[1, 2, 3]], [[4, 5, 6]]], b: [[true, false], [false, true]]}";
    let value = dynamic::from_text(&schema, id, nested).unwrap();
    let row = "{m: [1, 2, 3, 4, 5, 6], b: [true, false, false, true]}";
    assert_eq!(dynamic::from_text(&schema, id, row).unwrap(), value, "one list holds them in the same order");
    let json = r#"{"m":[[[1.0,2.0,3.0]],[[4.0,5.0,6.0]]],"b":[[true,false],[false,true]]}"#;
    assert_eq!(value.to_json(), json);
    let yaml = value.to_yaml(&PrintOptions::default());
    assert_eq!(yaml, "m:\n- - [1.0, 2.0, 3.0]\n- - [4.0, 5.0, 6.0]\nb:\n- [true, false]\n- [false, true]\n");
    assert_eq!(dynamic::from_text(&schema, id, &yaml).unwrap(), value);

    let mut bytes: Vec<u8> = (1..=6).flat_map(|it| f64::from(it).to_le_bytes()).collect();
    bytes.extend([1, 0, 0, 1, 0, 0, 0, 0]);
    let message = dynamic::to_flat(&schema, id, &value).unwrap();
    assert_eq!(message.head, bytes);
    assert_eq!(dynamic::from_flat(&schema, id, &message.head, &[]).unwrap(), value);
    let cdr = dynamic::to_cdr(&schema, id, &value, Encoding::Xcdr1).unwrap();
    assert_eq!(cdr[4..56], bytes[..52]);
    assert_eq!(dynamic::from_cdr(&schema, id, &cdr).unwrap(), value);

    let zeros = dynamic::default_value(&schema, id).unwrap().to_json();
    assert_eq!(zeros, r#"{"m":[[[0.0,0.0,0.0]],[[0.0,0.0,0.0]]],"b":[[false,false],[false,false]]}"#);
    let error = dynamic::from_text(&schema, id, "{m: [[[1, 2, 3]], [[4, 5]]]}").unwrap_err().to_string();
    assert!(error.contains("2 elements, but the array has 3"), "{error}");
}

#[test]
fn splitting_an_array_does_not_multiply_the_memory() {
    // Lists of one byte each: with one for each byte, the message has as many values as its size allows.
    let schema = load("@flat struct Thin { octet x[3000000][1]; };");
    let id = schema.find("Thin").unwrap();
    let bytes = vec![0; 3_000_000];
    assert!(dynamic::from_flat(&schema, id, &bytes, &[]).is_ok());
    let deep = load("@flat struct Deep { octet x[3000000][1][1]; };");
    let error = dynamic::from_flat(&deep, deep.find("Deep").unwrap(), &bytes, &[]).unwrap_err();
    assert!(error.to_string().contains("values"), "{error}");
}

#[test]
fn parts_of_flat_messages_are_written_and_read_alone() {
    let schema = load("@flat struct Names { long before; sequence<string<3>, 2> names; };");
    let id = schema.find("Names").unwrap();
    let ty = schema.definition(id).kind.as_struct().unwrap().members[1].ty.clone();
    let value = Value::List(vec![Value::Text("ab".into()), Value::Text(String::new())]);
    let bytes = dynamic::part_to_flat(&schema, &ty, &value).unwrap();
    let expected = [2, 0, 0, 0, 2, 0, 0, 0, b'a', b'b', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(bytes, expected);
    assert_eq!(dynamic::part_from_flat(&schema, &ty, &bytes).unwrap(), value);
    assert!(dynamic::part_from_flat(&schema, &ty, &bytes[..9]).is_err());
}
