//! No input makes the front ends, the canonical text or the dynamic readers panic, hang or contradict
//! themselves.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::Config;
use situ_schema::dynamic::{self, PrintOptions};
use situ_schema::{Format, Loader, Schema};
use situ_wire::Encoding;

const IDL: &str = include_str!("../../../spec/vectors/kitchen.idl");
const SENSOR: &str = include_str!("../../../schema/situ/sensor.idl");
const INTERFACE: &str = include_str!("../../../tests/generated/schema/services/calculator.idl");
const MSG: &str = "# docs [m]\nint8 X=-3\nstring<=5 s \"a b\"\nfloat64[<=3] f [1.5, .inf]\nuint8[16] u\nbool b true # on\n\
                   string[] w ['x', \"y\"]\nbuiltin_interfaces/Time t\n---\n---\nA[] nested\n";

/// Pieces that mutations insert: words, signs, and numbers at the limits.
const PIECES: [&str; 52] = [
    "struct ",
    "union ",
    "enum ",
    "bitmask ",
    "module ",
    "typedef ",
    "const ",
    "interface ",
    "void ",
    "in ",
    "inout ",
    "sequence<",
    "map<",
    "string<",
    ">",
    ">>",
    "<<",
    "{",
    "}",
    ";",
    "::",
    "@flat ",
    "@bulk ",
    "@optional ",
    "@key ",
    "@id(",
    "@default(",
    "@bit_bound(",
    "@mutable ",
    "(",
    ")",
    "[",
    "]",
    "4294967295",
    "4294967294",
    "-1",
    "0",
    "18446744073709551616",
    "1e999",
    "'",
    "\"",
    "\\",
    "/*",
    "//",
    "#if 1\n",
    "#define A A\n",
    "#include \"situ/sensor.idl\"\n",
    "\u{e9}",
    "A",
    "int8 x",
    "~",
    "\n",
];

/// A text with some ranges deleted, doubled or replaced.
fn mutated(text: &'static str) -> impl Strategy<Value = String> {
    vec((0..4u8, any::<prop::sample::Index>(), 0..40usize, 0..PIECES.len()), 1..8).prop_map(move |changes| {
        let mut text = text.to_owned();
        for (kind, at, length, piece) in changes {
            let boundary =
                |at: usize| (0..=at.min(text.len())).rev().find(|it| text.is_char_boundary(*it)).unwrap_or(0);
            let start = boundary(at.index(text.len() + 1));
            let end = boundary(start + length).max(start);
            let doubled = text[start..end].repeat(2);
            match kind {
                0 => text.replace_range(start..end, ""),
                1 => text.replace_range(start..end, &doubled),
                2 => text.replace_range(start..end, PIECES[piece]),
                _ => text.insert_str(start, PIECES[piece]),
            }
        }
        text
    })
}

/// Whatever loads must describe itself consistently.
fn exercise(loader: Loader) {
    match loader.sealed().load() {
        Err(error) => {
            assert!(!error.diagnostics().is_empty());
            assert!(!error.render(false).is_empty());
        }
        Ok(schema) => {
            for (id, definition) in schema.definitions() {
                let _ = (schema.bulk_fields(id), schema.layout_description(id), schema.depends_on(id, id));
                let text = schema.canonical(id);
                if definition.kind.word() == "typedef" {
                    continue;
                }
                let again =
                    Schema::from_idl(&text).unwrap_or_else(|error| panic!("{text}\n{}", error.render(false)));
                let same = again.find(definition.name.as_str()).expect("the type is in its canonical text");
                assert_eq!(again.canonical(same), text);
                assert_eq!(again.schema_hash(same), schema.schema_hash(id));
                assert_eq!(again.layout_hash(same), schema.layout_hash(id));
                assert_eq!(situ_schema::diff((&schema, id), (&again, same)), None);
                if let Ok(value) = dynamic::default_value(&schema, id) {
                    let bytes = dynamic::to_cdr(&schema, id, &value, Encoding::Xcdr2).unwrap();
                    assert_eq!(dynamic::from_cdr(&schema, id, &bytes).unwrap(), value);
                }
            }
        }
    }
}

fn config(cases: u32) -> Config {
    // Failures are shown in full; nothing is written into the source tree.
    Config { cases, failure_persistence: None, ..Config::default() }
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn mutated_idl(text in prop_oneof![mutated(IDL), mutated(SENSOR), mutated(INTERFACE)]) {
        exercise(Loader::new().text("fuzz.idl", text, Format::Idl));
    }

    #[test]
    fn mutated_ros(text in mutated(MSG)) {
        exercise(Loader::new().text("p/msg/A.msg", text.clone(), Format::Msg));
        exercise(Loader::new().text("p/srv/A.srv", text.clone(), Format::Srv));
        exercise(Loader::new().text("p/action/A.action", text, Format::Action));
    }

    #[test]
    fn word_salad(pieces in vec(0..PIECES.len(), 0..60)) {
        let text: String = pieces.iter().map(|it| PIECES[*it]).collect();
        exercise(Loader::new().text("fuzz.idl", text, Format::Idl));
    }

    #[test]
    fn any_bytes_as_messages(bytes in vec(any::<u8>(), 0..600), header in 0..6usize) {
        let schema = kitchen();
        for (id, definition) in schema.definitions() {
            if definition.kind.as_struct().is_none() {
                continue;
            }
            let mut message = [[0, 0], [0, 1], [0, 3], [0, 7], [0, 9], [0, 11]][header].to_vec();
            message.extend([0, 0]);
            message.extend(&bytes);
            if let Ok(value) = dynamic::from_cdr(&schema, id, &message) {
                let _ = value.to_json();
                // A value that was read can be written, unless it breaks a rule that reading tolerates.
                let _ = dynamic::to_cdr(&schema, id, &value, Encoding::Xcdr1);
            }
            let head = bytes.repeat(8);
            if let Ok(value) = dynamic::from_flat(&schema, id, &head, &bytes) {
                let _ = value.to_yaml(&PrintOptions { max_elements: Some(2), max_text: Some(3) });
            }
        }
    }

    #[test]
    fn any_text_as_value(text in "[\\[\\]{}:,\\-\"' \\n#&*!|>%@`a-c0-9._~\\\\]{0,80}") {
        let schema = kitchen();
        for (id, definition) in schema.definitions() {
            if definition.kind.as_struct().is_some() {
                let _ = dynamic::from_text(&schema, id, &text);
            }
        }
    }
}

fn kitchen() -> Schema {
    Loader::new().sealed().text("kitchen.idl", IDL, Format::Idl).load().unwrap()
}

/// Inputs that try to exhaust the stack, the memory or the time limit of a reader.
#[test]
fn hostile_texts() {
    let deep = |open: &str, close: &str| format!("{}int8{}", open.repeat(50_000), close.repeat(50_000));
    let chain = |each: &dyn Fn(usize) -> String| (1..3000).map(each).collect::<String>();
    let texts = [
        format!("struct A {{ {} x; }};", deep("sequence<", ">")),
        format!("typedef int8 A{};", "[2]".repeat(50_000)),
        format!("const int8 A = {}1{};", "(".repeat(50_000), ")".repeat(50_000)),
        format!("const int8 A = {}1;", "-".repeat(50_000)),
        format!("const int8 A = 1{};", " + 0".repeat(50_000)),
        "module a {".repeat(50_000),
        "@a(".repeat(50_000),
        "#if 1\n".repeat(50_000),
        format!(
            "struct S0 {{ int8 x; }};{}",
            chain(&|n| format!("struct S{n} {{ S{} a; S{} b; }};\n", n - 1, n - 1))
        ),
        format!("struct S0 {{ int8 x; }};{}", chain(&|n| format!("struct S{n} : S{} {{ }};\n", n - 1))),
        format!("typedef int8 T0;{}", chain(&|n| format!("typedef T{} T{n}[2];\n", n - 1))),
        format!("typedef int8 T0;{}", chain(&|n| format!("typedef map<T{}, T{}> T{n};\n", n - 1, n - 1))),
        (0..60).map(|n| format!("#define M{n} M{} M{}\n", n + 1, n + 1)).collect::<String>() + "M0",
        (0..2000)
            .map(|n| format!("struct S{n} {{ sequence<S{}> a; }};\n", (n + 1) % 2000))
            .collect::<String>(),
        (0..3000).map(|n| format!("struct S{n} {{ Unknown{n} a; }};\n")).collect::<String>(),
    ];
    for text in texts {
        exercise(Loader::new().text("hostile.idl", text, Format::Idl));
    }
    let msg = format!("int8{} x\n", "[]".repeat(50_000));
    exercise(Loader::new().text("p/msg/A.msg", msg, Format::Msg));
}

/// Forty structs, each of which holds the one before it twice, are a trillion values.
#[test]
fn a_message_of_a_trillion_values() {
    let doubling = |n: usize| format!("struct S{n} {{ S{} a; S{} b; }};\n", n - 1, n - 1);
    let text = format!("@appendable struct S0 {{ int8 x; }};{}", (1..41).map(doubling).collect::<String>());
    let schema = Loader::new().sealed().text("hostile.idl", text, Format::Idl).load().unwrap();
    let id = schema.find("S40").unwrap();
    assert!(schema.canonical(id).len() < 10_000);
    assert!(schema.layout_description(id).is_none() && schema.flat_obstacle(id).is_some());
    assert!(dynamic::default_value(&schema, id).is_err());
    assert!(dynamic::from_cdr(&schema, id, &[0, 1, 0, 0]).is_err());
    assert!(dynamic::from_text(&schema, id, "{}").is_err());
}
