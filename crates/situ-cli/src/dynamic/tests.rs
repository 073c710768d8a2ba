//! Tests of the dynamic reader and writer, against bytes worked out by hand.

use serde_json::json;
use situ::bus::Encoding;
use situ_schema::Schema;
use situ_schema::model::TypeId;

use super::value::Value;
use super::*;

const IDL: &str = "
module t {
  enum Color { RED, GREEN, BLUE };
  @bit_bound(8) bitmask Flags { A, B, C };
  @flat struct Point { float x; float y; };
  union Choice switch (long) { case 1: long number; case 2: double real; default: octet other; };
  @flat struct Base { @default(7) uint8 version; };
  @flat struct All : Base {
    boolean ok;
    string<5> name;
    sequence<uint16, 3> seq;
    @default(BLUE) Color color;
    @optional double maybe;
    map<string<3>, int32, 2> table;
    Point path[2];
    Flags flags;
    Choice choice;
    @bulk sequence<Point> cloud;
  };
};";

fn schema() -> (Schema, TypeId) {
    let schema = Schema::from_idl(IDL).unwrap();
    let root = schema.find("t::All").unwrap();
    (schema, root)
}

fn message() -> serde_json::Value {
    json!({
        "version": 3, "ok": true, "name": "abc", "seq": [1, 2], "color": "GREEN", "maybe": 1.5,
        "table": {"y": -1, "x": 5}, "path": [{"x": 1.0}, {"y": 2.0}], "flags": ["A", "C"],
        "choice": {"real": 0.5}, "cloud": [{"x": 3.0, "y": 4.0}],
    })
}

#[test]
fn flat_bytes_lie_where_c_puts_them() {
    let (schema, root) = schema();
    let value = from_json(&schema, root, &message()).unwrap();
    let Encoded { head, align, body } = encode(&schema, root, &value, Encoding::Flat).unwrap();
    assert_eq!((head.len(), align), (128, 8));
    let bytes = |at: usize, expected: &[u8]| assert_eq!(&head[at..at + expected.len()], expected, "at {at}");
    bytes(0, &[3, 1]); // base.version, ok
    bytes(4, &[3, 0, 0, 0, b'a', b'b', b'c', 0]); // name: {u32, char[6]}
    bytes(16, &[2, 0, 0, 0, 1, 0, 2, 0]); // seq: {u32, u16[3]}
    bytes(28, &[1, 0, 0, 0]); // color
    bytes(32, &[1]); // maybe: {u8, f64}
    bytes(40, &1.5_f64.to_le_bytes());
    // table: {u32, {{u32, char[4]}, i32}[2]}, sorted by key
    bytes(48, &[2, 0, 0, 0, 1, 0, 0, 0, b'x', 0, 0, 0, 5, 0, 0, 0]);
    bytes(64, &[1, 0, 0, 0, b'y', 0, 0, 0, 0xff, 0xff, 0xff, 0xff]);
    bytes(76, &1_f32.to_le_bytes());
    bytes(88, &2_f32.to_le_bytes());
    bytes(92, &[0b101]);
    bytes(96, &[2, 0, 0, 0]); // choice: {i32, union}
    bytes(104, &0.5_f64.to_le_bytes());
    bytes(112, &[0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]); // cloud: offset 0, one element
    assert_eq!(body, [3_f32.to_le_bytes(), 4_f32.to_le_bytes()].concat());
    assert_eq!(flat::read(&schema, root, &head, &body, usize::MAX).unwrap(), value);
}

#[test]
fn cdr_bytes_are_those_of_xtypes() {
    let (schema, root) = schema();
    let value = from_json(&schema, root, &message()).unwrap();
    let bytes = encode(&schema, root, &value, Encoding::Xcdr1).unwrap().body;
    let expected: &[&[u8]] = &[
        &[0, 1, 0, 0],                                  // XCDR1, little endian
        &[3, 1, 0, 0, 4, 0, 0, 0, b'a', b'b', b'c', 0], // version, ok, padding, name
        &[2, 0, 0, 0, 1, 0, 2, 0],                      // seq
        &[1, 0, 0, 0],                                  // color
        &[5, 0, 8, 0],                                  // maybe: member 5, 8 bytes
        &1.5_f64.to_le_bytes(),
        &[2, 0, 0, 0], // table
        &[2, 0, 0, 0, b'x', 0, 0, 0, 5, 0, 0, 0],
        &[2, 0, 0, 0, b'y', 0, 0, 0, 0xff, 0xff, 0xff, 0xff],
        &1_f32.to_le_bytes(),
        &[0; 8],
        &2_f32.to_le_bytes(),
        &[0b101, 0, 0, 0], // flags, padding
        &[2, 0, 0, 0],     // choice
        &0.5_f64.to_le_bytes(),
        &[1, 0, 0, 0], // cloud
        &3_f32.to_le_bytes(),
        &4_f32.to_le_bytes(),
    ];
    assert_eq!(bytes, expected.concat());
    assert_eq!(cdr::read(&schema, root, &bytes, usize::MAX).unwrap(), value);
}

#[test]
fn what_is_left_out_has_its_default() {
    let (schema, root) = schema();
    let value = from_json(&schema, root, &json!({})).unwrap();
    let json = serde_json::to_value(&value).unwrap();
    assert_eq!(
        json,
        json!({
            "version": 7, "ok": false, "name": "", "seq": [], "color": "BLUE", "maybe": null, "table": {},
            "path": [{"x": 0.0, "y": 0.0}, {"x": 0.0, "y": 0.0}], "flags": 0,
            "choice": {"discriminator": 1, "number": 0}, "cloud": [],
        })
    );
    for encoding in [Encoding::Flat, Encoding::Xcdr1] {
        assert!(encode(&schema, root, &value, encoding).is_ok());
    }
}

#[test]
fn what_does_not_fit_is_named() {
    let (schema, root) = schema();
    let error = |json| from_json(&schema, root, &json).unwrap_err().to_string();
    assert!(error(json!({"colour": 1})).starts_with("t::All has no member `colour`; it has: version, ok, "));
    assert_eq!(error(json!({"color": "PINK"})), "color: expected RED, GREEN, BLUE, found \"PINK\"");
    assert_eq!(error(json!({"seq": [1, 70000]})), "seq[1]: expected uint16, found 70000");
    assert_eq!(error(json!({"seq": [1, 2, 3, 4]})), "seq: 4 elements, and at most 3 are allowed");
    assert_eq!(error(json!({"path": [{}]})), "path: expected a list of 2 t::Point, found 1 elements");
    assert_eq!(error(json!({"version": -1})), "version: expected uint8, found -1");
    let long = from_json(&schema, root, &json!({"name": "abcdef"})).unwrap();
    for encoding in [Encoding::Flat, Encoding::Xcdr1] {
        let error = encode(&schema, root, &long, encoding).unwrap_err().to_string();
        assert!(error.starts_with("name: "), "{error}");
    }
}

#[test]
fn both_encodings_of_extensible_types_are_read() {
    let idl = "
        module t {
          @appendable struct Inner { long a; @optional long b; };
          @mutable struct Outer { @id(1) octet x; @id(9) Inner inner; @id(3) sequence<string> names; };
        };";
    let schema = Schema::from_idl(idl).unwrap();
    let root = schema.find("t::Outer").unwrap();
    let json = json!({"x": 5, "inner": {"a": 6, "b": null}, "names": ["q"]});
    let value = from_json(&schema, root, &json).unwrap();
    let one = encode(&schema, root, &value, Encoding::Xcdr1).unwrap().body;
    let expected_one: &[&[u8]] = &[
        &[0, 3, 0, 0],                         // XCDR1, parameter list
        &[1, 0, 1, 0, 5, 0, 0, 0],             // member 1, 1 byte, padding
        &[9, 0, 8, 0, 6, 0, 0, 0, 1, 0, 0, 0], // member 9: a; b (member 1) is absent
        &[3, 0, 10, 0, 1, 0, 0, 0, 2, 0, 0, 0, b'q', 0, 0, 0],
        &[0x02, 0x7f, 0, 0],
    ];
    assert_eq!(one, expected_one.concat());
    assert_eq!(cdr::read(&schema, root, &one, usize::MAX).unwrap(), value);
    let two: &[&[u8]] = &[
        &[0, 0x0b, 0, 0],                      // XCDR2, parameter list
        &[46, 0, 0, 0],                        // delimiter
        &[1, 0, 0, 0, 5, 0, 0, 0],             // member 1, one byte, padding
        &[9, 0, 0, 0x40, 9, 0, 0, 0],          // member 9, length 9
        &[5, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0], // delimiter, a, b is absent, padding
        &[3, 0, 0, 0x50],                      // member 3, whose delimiter is its length
        &[10, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, b'q', 0],
    ];
    assert_eq!(cdr::read(&schema, root, &two.concat(), usize::MAX).unwrap(), value);
}

#[test]
fn big_endian_is_read() {
    let schema = Schema::from_idl("module t { struct P { short a; double b; wstring w; }; };").unwrap();
    let root = schema.find("t::P").unwrap();
    let bytes: &[&[u8]] = &[
        &[0, 0, 0, 0],
        &(-2_i16).to_be_bytes(),
        &[0; 6],
        &0.25_f64.to_be_bytes(),
        &2_u32.to_be_bytes(),
        &[0, 0, 0, b'h', 0, 0, 0, b'i'],
    ];
    let value = cdr::read(&schema, root, &bytes.concat(), usize::MAX).unwrap();
    assert_eq!(serde_json::to_value(&value).unwrap(), json!({"a": -2, "b": 0.25, "w": "hi"}));
}

#[test]
fn long_sequences_are_shortened() {
    let schema =
        Schema::from_idl("module t { struct S { sequence<double> d; sequence<octet> o; long end; }; };")
            .unwrap();
    let root = schema.find("t::S").unwrap();
    let all = from_json(&schema, root, &json!({"d": [1.0, 2.0, 3.0], "o": [4, 5, 6], "end": 9})).unwrap();
    let bytes = encode(&schema, root, &all, Encoding::Xcdr1).unwrap().body;
    let short = cdr::read(&schema, root, &bytes, 1).unwrap();
    assert_eq!(short.to_text(8), "d: [1.0, … 3 in all]\no: [4, … 3 in all]\nend: 9\n");
}

/// Damaged messages give a value or an error; nothing else, and not after long.
#[test]
fn damaged_messages_never_panic() {
    let (schema, root) = schema();
    let value = from_json(&schema, root, &message()).unwrap();
    let flat = encode(&schema, root, &value, Encoding::Flat).unwrap();
    let cdr = encode(&schema, root, &value, Encoding::Xcdr1).unwrap().body;
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize
    };
    for _ in 0..20_000 {
        let (mut head, mut message) = (flat.head.clone(), cdr.clone());
        for _ in 0..=random() % 3 {
            let at = random() % head.len();
            head[at] = random() as u8;
            let at = random() % message.len();
            message[at] = random() as u8;
        }
        let _ = flat::read(&schema, root, &head, &flat.body, usize::MAX);
        let _ = cdr::read(&schema, root, &message, usize::MAX);
        let _ = cdr::read(&schema, root, &message[..random() % message.len()], 2);
    }
    for end in 0..flat.head.len() {
        assert!(flat::read(&schema, root, &flat.head[..end], &flat.body, usize::MAX).is_err());
    }
    for end in 0..cdr.len() {
        assert!(cdr::read(&schema, root, &cdr[..end], usize::MAX).is_err());
    }
    assert_eq!(
        flat::read(&schema, root, &flat.head, &flat.body[..4], usize::MAX).unwrap_err().to_string(),
        "cloud: a bulk member of 1 elements at 0 lies outside the body of 4 bytes"
    );
}

#[test]
fn values_that_no_enumerator_or_flag_names_keep_their_number() {
    let (schema, root) = schema();
    let value = from_json(&schema, root, &json!({"color": 9, "flags": 0x81})).unwrap();
    assert_eq!(*value.at("color").unwrap(), Value::Enum { name: None, value: 9 });
    assert_eq!(*value.at("flags").unwrap(), Value::Bits { names: vec![], value: 0x81 });
    let head = encode(&schema, root, &value, Encoding::Flat).unwrap().head;
    assert_eq!((head[28], head[92]), (9, 0x81));
}

/// The vectors that every language reads and writes: all encodings hold the same value, and are written as they stand.
#[test]
fn the_vectors_of_the_specification() {
    let folder = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../spec/vectors"));
    let schema = Schema::from_idl(&std::fs::read_to_string(folder.join("kitchen.idl")).unwrap()).unwrap();
    let file = |name: String| std::fs::read(folder.join(name)).ok();
    let cases = [
        ("primitives", "Primitives", true),
        ("containers", "Containers", true),
        ("optionals", "Optionals", true),
        ("unions", "Unions", true),
        ("derived", "Derived", true),
        ("growing", "Growing", false),
        ("changing", "Changing", false),
        ("heaped", "Heaped", false),
    ];
    for (case, type_name, is_flat) in cases {
        let root = schema.find(&format!("kitchen::{type_name}")).unwrap();
        let encoded = |version: &str| file(format!("cdr/{case}.{version}.bin")).unwrap();
        let one = encoded("xcdr1.le");
        let value = cdr::read(&schema, root, &one, usize::MAX).unwrap_or_else(|e| panic!("{case}: {e}"));
        assert_eq!(
            encode(&schema, root, &listed(&value), Encoding::Xcdr1).unwrap().body,
            one,
            "{case} is written"
        );
        for version in ["xcdr1.be", "xcdr2.le", "xcdr2.be"] {
            let read = cdr::read(&schema, root, &encoded(version), usize::MAX);
            assert_eq!(read.as_ref(), Ok(&value), "{case}.{version}");
        }
        if is_flat {
            let head = file(format!("flat/{case}.head.bin")).unwrap();
            let mask = file(format!("flat/{case}.mask.bin")).unwrap();
            let body = file(format!("flat/{case}.body.bin")).unwrap_or_default();
            assert_eq!(
                flat::read(&schema, root, &head, &body, usize::MAX).as_ref(),
                Ok(&value),
                "{case} flat"
            );
            let written = encode(&schema, root, &listed(&value), Encoding::Flat).unwrap();
            let under_mask = |bytes: &[u8]| bytes.iter().zip(&mask).map(|(b, m)| b & m).collect::<Vec<_>>();
            assert_eq!(under_mask(&written.head), under_mask(&head), "{case} is written flat");
            assert_eq!(written.body, body, "{case} has its body");
        }
        let json = serde_json::to_value(&value).unwrap();
        let again = from_json(&schema, root, &json).unwrap_or_else(|e| panic!("{case}: {e}: {json}"));
        assert_eq!(again, listed(&value), "{case} as JSON and back");
    }
}

/// The value with bytes as lists, which is what is written.
fn listed(value: &Value) -> Value {
    match value {
        Value::Bytes { data, .. } => Value::list(data.iter().map(|&b| Value::Unsigned(b.into())).collect()),
        Value::List { items, len } => Value::List { items: items.iter().map(listed).collect(), len: *len },
        Value::Map(entries) => Value::Map(entries.iter().map(|(k, v)| (listed(k), listed(v))).collect()),
        Value::Struct(members) => {
            Value::Struct(members.iter().map(|(n, v)| (n.clone(), listed(v))).collect())
        }
        other => other.clone(),
    }
}
