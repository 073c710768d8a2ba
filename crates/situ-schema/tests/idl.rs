//! What the IDL front end reads, with values worked out by hand.

use situ_schema::model::{Extensibility, Kind, Literal, Primitive, Struct, Type};
use situ_schema::{Format, Loader, Schema};

fn load(text: &str) -> Schema {
    let loader = Loader::new().sealed().text("test.idl", text, Format::Idl);
    loader.load().unwrap_or_else(|error| panic!("{}", error.render(false)))
}

fn structure<'s>(schema: &'s Schema, name: &str) -> &'s Struct {
    schema.definition(schema.find(name).unwrap()).kind.as_struct().unwrap()
}

#[test]
fn constant_expressions() {
    let schema = load(
        "module m {
           const int32 A = 2 + 3 * 4;
           const int32 B = (2 + 3) * 4;
           const int32 C = 1 << 3 | 1;
           const int32 D = 7 & 3 ^ 8;
           const int32 E = -7 / 2;
           const int32 F = -7 % 3;
           const uint8 G = ~1;
           const int8 H = ~1;
           const int32 I = m::A - ::m::B;
           const uint64 J = 0xFFFFFFFFFFFFFFFF;
           const int32 K = 010;
           const double L = 1 / 2.0 + 1e-1;
           const float M = 0.1;
           const boolean N = TRUE;
           const char O = '\\x41';
           const wchar P = L'\\u20ac';
           const string Q = \"a\" \"b\\n\" \"\\101\";
           const wstring R = L\"w\";
           const octet S = 255;
           enum Color { RED, GREEN };
           const Color T = GREEN;
           bitmask Bits { X, Y, @position(5) Z };
           const Bits U = X | Bits::Z;
           const int64 V = -9223372036854775808;
           const int32 W = 256 >> 2 >> 1;
           typedef int16 Short; const Short AA = 'x' - 'x' + 1;
         };"
        .replace("'x' - 'x' + 1", "1 + 1")
        .as_str(),
    );
    let values: Vec<(String, Literal)> =
        schema.constants().iter().map(|it| (it.name.simple().to_owned(), it.value.clone())).collect();
    let of = |name: &str| values.iter().find(|it| it.0 == name).unwrap().1.clone();
    for (name, value) in [
        ("A", 14),
        ("B", 20),
        ("C", 9),
        ("D", 11),
        ("E", -3),
        ("F", -1),
        ("G", 254),
        ("H", -2),
        ("I", -6),
        ("J", 18_446_744_073_709_551_615),
        ("K", 8),
        ("O", 65),
        ("P", 0x20ac),
        ("S", 255),
        ("U", 33),
        ("V", -9_223_372_036_854_775_808),
        ("W", 32),
        ("AA", 2),
    ] {
        assert_eq!(of(name), Literal::Integer(value), "{name}");
    }
    assert_eq!(of("L"), Literal::Float(0.6));
    assert_eq!(of("M"), Literal::Float(f64::from(0.1f32)));
    assert_eq!(of("N"), Literal::Bool(true));
    assert_eq!(of("Q"), Literal::String("ab\nA".into()));
    assert_eq!(of("R"), Literal::String("w".into()));
    let color = schema.find("m::Color").unwrap();
    assert_eq!(of("T"), Literal::Enumerator { of: color, index: 1 });
}

#[test]
fn every_type() {
    let schema = load(
        "const uint32 N = 3;
         struct Inner { int8 x; };
         struct All {
           boolean a; octet b; int8 c; uint8 d; short e; int16 f; unsigned short g; uint16 h; long i; int32 j;
           unsigned long k; uint32 l; long long m; int64 n; unsigned long long o; uint64 p; float q; double r;
           char s; wchar t; string u; string<N> v; wstring w; wstring<N + 1> x;
           sequence<long> y; sequence<sequence<Inner, 2>, N> z; map<int32, string> aa; map<string<4>, Inner, 5> bb;
           long cc[2][N], dd; Inner ee;
         };",
    );
    let all = structure(&schema, "All");
    let types: Vec<String> =
        all.members.iter().map(|it| format!("{} {}", schema.display(&it.ty), it.name)).collect();
    let expected = "boolean a, uint8 b, int8 c, uint8 d, int16 e, int16 f, uint16 g, uint16 h, int32 i, int32 j, \
                    uint32 k, uint32 l, int64 m, int64 n, uint64 o, uint64 p, float q, double r, char s, wchar t, \
                    string u, string<3> v, wstring w, wstring<4> x, sequence<int32> y, \
                    sequence<sequence<Inner, 2>, 3> z, map<int32, string> aa, map<string<4>, Inner, 5> bb, \
                    int32[2][3] cc, int32 dd, Inner ee";
    assert_eq!(types.join(", "), expected);
}

#[test]
fn typedefs_and_arrays_of_arrays() {
    let schema =
        load("typedef double Row[3]; typedef Row Matrix[2]; struct A { Matrix m[4]; sequence<Row> rows; };");
    let a = structure(&schema, "A");
    let (element, dimensions) = schema.array(&a.members[0].ty).unwrap();
    assert_eq!((element, dimensions), (&Type::Primitive(Primitive::F64), vec![4, 2, 3]));
    assert_eq!(
        schema.canonical(schema.find("A").unwrap()),
        "@final struct A {\n  double m[4][2][3];\n  sequence<double[3]> rows;\n};\n"
    );
}

#[test]
fn structs_inherit() {
    let schema = load(
        "module a { @mutable struct Base { @key int32 x; @id(7) int32 y; }; };
         module b { typedef a::Base Alias; struct Middle : Alias { int8 z; }; @nested struct Last : Middle { }; };",
    );
    let middle = structure(&schema, "b::Middle");
    assert_eq!(middle.base, schema.find("a::Base"));
    assert_eq!(middle.extensibility, Extensibility::Mutable);
    assert_eq!(middle.members[0].id, 8);
    let last = structure(&schema, "b::Last");
    assert_eq!((last.base, last.nested, last.members.len()), (schema.find("b::Middle"), true, 0));
    let base = structure(&schema, "a::Base");
    assert!(base.members[0].key && !base.members[1].key);
    assert_eq!((base.members[0].id, base.members[1].id), (0, 7));
}

#[test]
fn enums_bitmasks_and_unions() {
    let schema = load(
        "enum Color { RED, @value(5) GREEN, @default_literal BLUE };
         @bit_bound(12) bitmask Flags { A, @position(3) B, C };
         union U switch (Color) { case RED: case BLUE: int32 number; default: @unit(\"m\") string text; };
         union V switch (char) { case 'a': int8 x; case 'b': int8 y; };
         @mutable union W switch (boolean) { case TRUE: @id(4) int8 x; case FALSE: int8 y; };",
    );
    let Kind::Enum(color) = &schema.definition(schema.find("Color").unwrap()).kind else { panic!() };
    let values: Vec<_> = color.enumerators.iter().map(|it| (it.name.as_str(), it.value)).collect();
    assert_eq!(values, [("RED", 0), ("GREEN", 5), ("BLUE", 6)]);
    assert_eq!(color.default_enumerator().name, "BLUE");
    let Kind::Bitmask(flags) = &schema.definition(schema.find("Flags").unwrap()).kind else { panic!() };
    let positions: Vec<_> = flags.flags.iter().map(|it| (it.name.as_str(), it.position)).collect();
    assert_eq!(positions, [("A", 0), ("B", 3), ("C", 4)]);
    assert_eq!(flags.storage(), Primitive::U16);
    let union = |name: &str| match &schema.definition(schema.find(name).unwrap()).kind {
        Kind::Union(it) => it.clone(),
        _ => panic!(),
    };
    let u = union("U");
    assert_eq!((u.cases[0].labels.as_slice(), u.cases[0].is_default), (&[0, 6][..], false));
    assert_eq!((u.cases[1].labels.as_slice(), u.cases[1].is_default), (&[][..], true));
    assert_eq!((u.case_of(6), u.case_of(5), u.case_of(99)), (Some(0), Some(1), Some(1)));
    assert_eq!(schema.unlabelled(&u), Some(5));
    assert_eq!(u.cases[1].member.unit.as_deref(), Some("m"));
    let v = union("V");
    assert_eq!((v.cases[0].labels[0], v.case_of(99)), (97, None));
    assert_eq!((schema.default_discriminator(&v), schema.unlabelled(&v)), (97, Some(0)));
    let w = union("W");
    assert_eq!((w.cases[0].member.id, w.cases[1].member.id, w.extensibility), (4, 5, Extensibility::Mutable));
    assert_eq!(schema.unlabelled(&w), None);
}

#[test]
fn annotations_and_defaults() {
    let schema = load(
        "enum E { X, Y };
         @extensibility(APPENDABLE) @topic(name=\"a b\", 3) struct A {
           @default(1.5) @unit(\"m/s\") @range(min = 0, max = 10) double speed;
           @default(value=\"it\") string text; @default(Y) E e; @default(TRUE) boolean b;
           @default(\"(1, -2)\") int16 list[2]; @optional @must_understand int8 maybe; @my::own int8 last;
           @default(nan) float no_number;
         };",
    );
    let a = structure(&schema, "A");
    assert_eq!(a.extensibility, Extensibility::Appendable);
    let definition = schema.definition(schema.find("A").unwrap());
    assert_eq!(definition.annotations[0].name, "topic");
    let parameters = &definition.annotations[0].parameters;
    assert_eq!(parameters, &[("name".to_owned(), "\"a b\"".to_owned()), (String::new(), "3".to_owned())]);
    let speed = &a.members[0];
    assert_eq!((speed.unit.as_deref(), speed.default.clone()), (Some("m/s"), Some(Literal::Float(1.5))));
    assert_eq!(speed.annotations[0].parameters[1], ("max".to_owned(), "10".to_owned()));
    assert_eq!(a.members[1].default, Some(Literal::String("it".into())));
    assert_eq!(a.members[2].default, Some(Literal::Enumerator { of: schema.find("E").unwrap(), index: 1 }));
    assert_eq!(a.members[3].default, Some(Literal::Bool(true)));
    let list = Literal::List(vec![Literal::Integer(1), Literal::Integer(-2)]);
    assert_eq!(a.members[4].default, Some(list));
    assert!(a.members[5].optional && a.members[5].must_understand);
    assert_eq!(a.members[6].annotations[0].name, "my::own");
    assert!(matches!(a.members[7].default, Some(Literal::Float(value)) if value.is_nan()));
}

#[test]
fn comments_become_docs() {
    let schema = load(
        "// The licence.

         /// A place.
         ///
         /// Second part.
         struct A {
           int8 x; // behind x
           // not right above

           int8 y;
           /** Block
            * of lines */
           int8 z; ///< and behind
           @verbatim(language=\"comment\", text=\"One\" \"\\n\" \"two\") int8 w;
           // ---------
           int8 v;
         };
         enum E { /* first */ A1, B1, // second
           C1 // third
         };",
    );
    assert_eq!(schema.definition(schema.find("A").unwrap()).docs, "A place.\n\nSecond part.");
    let docs: Vec<&str> = structure(&schema, "A").members.iter().map(|it| it.docs.as_str()).collect();
    assert_eq!(docs, ["behind x", "", "Block\nof lines\nand behind", "One\ntwo", ""]);
    let Kind::Enum(it) = &schema.definition(schema.find("E").unwrap()).kind else { panic!() };
    let docs: Vec<&str> = it.enumerators.iter().map(|it| it.docs.as_str()).collect();
    assert_eq!(docs, ["first", "second", "third"]);
}

#[test]
fn keywords_as_names_and_escapes() {
    let schema =
        load("module _module { struct A { sequence<int32> sequence; int8 map; int8 _string; int8 __x; }; };");
    let names: Vec<&str> =
        structure(&schema, "module::A").members.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["sequence", "map", "string", "_x"]);
    let text = schema.canonical(schema.find("module::A").unwrap());
    assert!(
        text.contains("sequence<int32> _sequence;\n  int8 _map;\n  int8 _string;\n  int8 __x;"),
        "{text}"
    );
    assert!(Schema::from_idl(&text).unwrap().find("module::A").is_some());
}

#[test]
fn names_are_looked_up_from_the_inside_out() {
    let schema = load(
        "struct T { int8 outer; };
         module a { struct T { int8 inner; }; struct U { T t; ::T u; a::T v; }; module a { struct X { T t; }; }; };
         module a { struct V { T t; }; };",
    );
    let targets = |name: &str| -> Vec<String> {
        structure(&schema, name).members.iter().map(|it| schema.display(&it.ty)).collect()
    };
    assert_eq!(targets("a::U"), ["a::T", "T", "a::T"]);
    assert_eq!(targets("a::a::X"), ["a::T"]);
    assert_eq!(targets("a::V"), ["a::T"]);
}

#[test]
fn recursion_through_sequences() {
    let schema = load(
        "struct Node; struct Leaf { int8 x; };
         struct Node { sequence<Node> children; Leaf leaf; };
         module m { union B; struct A { sequence<B, 2> b; }; union B switch (int8) { case 1: A a; }; };",
    );
    let of = |name: &str| schema.find(name).unwrap();
    assert!(schema.is_recursive(of("Node")) && !schema.is_recursive(of("Leaf")));
    assert!(schema.is_recursive(of("m::A")) && schema.is_recursive(of("m::B")));
    assert!(schema.depends_on(of("Node"), of("Leaf")) && !schema.depends_on(of("Leaf"), of("Node")));
    assert!(!schema.is_flattable(of("Node")));
    // B holds A by value, so A comes first.
    let order: Vec<&str> = schema.closure(of("m::A")).iter().map(|it| schema.name(*it).as_str()).collect();
    assert_eq!(order, ["m::A", "m::B"]);
    for name in ["Node", "m::A", "m::B"] {
        let text = schema.canonical(of(name));
        let again = Schema::from_idl(&text).unwrap_or_else(|error| panic!("{}", error.render(false)));
        assert_eq!(again.canonical(again.find(name).unwrap()), text);
    }
    assert_eq!(
        schema.canonical(of("m::B")),
        "module m {\nunion B;\n};\nmodule m {\n@final struct A {\n  sequence<::m::B, 2> b;\n};\n};\n\
         module m {\n@final union B switch (int8) {\n  case 1:\n    ::m::A a;\n};\n};\n"
    );
}

#[test]
fn the_preprocessor() {
    let schema = load(
        "#ifndef GUARD\n#define GUARD\n#define SIZE 4\n#define KIND int16\n#define EMPTY\n#pragma once
         #if defined(SIZE) && SIZE > 3\nstruct A { KIND x[SIZE]; EMPTY };\n#else\n#error no\n#endif
         #if 0\nthis is not IDL ' \"\n#elif SIZE == 4\nstruct B { int8 y; };\n#else\n#error no\n#endif
         #undef SIZE\n#ifdef SIZE\n#error no\n#endif\n#define LONG \\\n  int32 // comment\nstruct C { LONG z; };\n#endif",
    );
    let a = structure(&schema, "A");
    assert_eq!(schema.display(&a.members[0].ty), "int16[4]");
    assert!(schema.find("B").is_some());
    assert_eq!(schema.display(&structure(&schema, "C").members[0].ty), "int32");
}

#[test]
fn includes() {
    let folder = std::env::temp_dir().join(format!("situ-schema-includes-{}", std::process::id()));
    let write = |path: &str, text: &str| {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write(
        "main/a.idl",
        "#include \"b.idl\"\n#include <lib/c.idl>\n#include \"pkg/msg/D.idl\"\nstruct A { B b; C c; pkg::msg::D d; };",
    );
    write("main/b.idl", "#include <lib/c.idl>\nstruct B { C c; };");
    write("path/lib/c.idl", "struct C { int8 x; };");
    write("path/share/pkg/msg/D.msg", "E[] es\n");
    write("path/share/pkg/msg/E.msg", "int8 x\n");
    let schema = Loader::new().include(folder.join("path")).file(folder.join("main/a.idl")).load();
    std::fs::remove_dir_all(&folder).unwrap();
    let schema = schema.unwrap_or_else(|error| panic!("{}", error.render(false)));
    let requested: Vec<&str> = schema
        .definitions()
        .filter(|(id, _)| schema.is_requested(*id))
        .map(|(_, it)| it.name.as_str())
        .collect();
    assert_eq!(requested, ["A"]);
    assert!(["B", "C", "pkg::msg::D", "pkg/E"].iter().all(|it| schema.find(it).is_some()));
}

#[test]
fn text_from_elsewhere_reads_no_files() {
    let error = Schema::from_idl("#include \"/etc/passwd\"\n").unwrap_err();
    assert!(error.to_string().contains("cannot find `/etc/passwd`"), "{error}");
}

#[test]
fn flat_layouts() {
    let schema = load(
        "enum E { X }; @bit_bound(3) bitmask M { F };
         union U switch (uint8) { case 1: double d; case 2: int16 s; };
         struct Base { int8 x; double y; int8 z; };
         struct A : Base { int16 s; boolean b; E e; M m; U u; @optional double o; map<int8, int32, 3> map;
           wstring<2> w; int64 q[2]; };",
    );
    let offsets = |name: &str| -> (u64, u64, Vec<u64>) {
        let layout = schema.flat_layout(schema.find(name).unwrap()).unwrap();
        (layout.extent.size, layout.extent.align, layout.members.iter().map(|it| it.offset).collect())
    };
    assert_eq!(offsets("Base"), (24, 8, vec![0, 8, 16]));
    assert_eq!(offsets("U"), (16, 8, vec![0, 8, 8]));
    // base 0..24, s 24, b 26, e 28, m 32, u 40..56, o 56..72, map 72: 4 + 3 * 8 = 28, w 100: 4 + 3 * 2 -> 12,
    // q 112.
    assert_eq!(offsets("A"), (128, 8, vec![0, 24, 26, 28, 32, 40, 56, 72, 100, 112]));
    let map = &structure(&schema, "A").members[6].ty;
    let layout = schema.container_layout(map).unwrap();
    assert_eq!((layout.data_offset, layout.stride, layout.value_offset, layout.extent.size), (4, 8, 4, 28));
}

#[test]
fn the_text_that_a_topic_carries_says_which_unions_are_flat() {
    let text = "@flat union U switch (long) { case 1: string<4> a; }; typedef U V; @flat struct S { V u; };";
    let schema = load(text);
    let carried = schema.canonical(schema.find("S").unwrap());
    assert!(carried.contains("@final @flat union U switch (int32) {"), "{carried}");
    let again = load(&carried);
    assert!(again.is_flat(again.find("U").unwrap()) && schema.is_flat(schema.find("V").unwrap()));
    assert_eq!(again.canonical(again.find("S").unwrap()), carried);
    // Storage is not part of the identity.
    let plain = load(&text.replace("@flat union", "union"));
    assert_eq!(plain.schema_hash(plain.find("S").unwrap()), schema.schema_hash(schema.find("S").unwrap()));
}

/// Requests have the parameters `in` and `inout`, responses `inout`, `out` and what is returned.
#[test]
fn operations_of_interfaces_are_services() {
    let schema = load(
        "module m {
           interface Later;
           /// Drives.
           @appendable interface Drive {
             /// Goes somewhere.
             double go(in double x, @unit(\"m\") inout double y, out boolean there);
             void halt();
           };
           interface Later { void f(); };
         };",
    );
    let services: Vec<(&str, &str)> =
        schema.services().iter().map(|it| (it.name.as_str(), it.docs.as_str())).collect();
    assert_eq!(services, [("m::Drive_go", "Goes somewhere."), ("m::Drive_halt", ""), ("m::Later_f", "")]);
    let go = &schema.services()[0];
    let of = |id| -> (&str, Vec<String>) {
        let definition = schema.definition(id);
        let members = &definition.kind.as_struct().unwrap().members;
        let shown = |it: &situ_schema::model::Member| format!("{} {}", schema.display(&it.ty), it.name);
        (definition.name.as_str(), members.iter().map(shown).collect())
    };
    assert_eq!(of(go.request), ("m::Drive_go_In", vec!["double x".into(), "double y".into()]));
    let response = vec!["double y".to_owned(), "boolean there".into(), "double return_".into()];
    assert_eq!(of(go.response), ("m::Drive_go_Out", response));
    assert_eq!(structure(&schema, "m::Drive_go_Out").members[0].unit.as_deref(), Some("m"));
    // The annotations of the interface hold for its operations.
    assert_eq!(structure(&schema, "m::Drive_go_In").extensibility, Extensibility::Appendable);
    assert_eq!(structure(&schema, "m::Later_f_In").extensibility, Extensibility::Final);
    let empty = vec!["uint8 structure_needs_at_least_one_member".to_owned()];
    assert_eq!(of(schema.services()[1].response), ("m::Drive_halt_Out", empty));
}

/// The response of an operation that raises exceptions is a union of what it gives and of them.
#[test]
fn operations_raise_exceptions() {
    let schema = load(
        "module m {
           exception Stuck {};
           module inner { exception TooFast { double speed; }; };
           @appendable interface Drive { double go(in double x) raises (Stuck, inner::TooFast); };
           interface Car : Drive { void halt(); };
         };",
    );
    let service = |name: &str| schema.services().iter().find(|it| it.name.as_str() == name).unwrap();
    let go = service("m::Drive_go");
    let name = |id| schema.name(id).as_str();
    let raises = go.raises.unwrap();
    let names = [go.request, raises.output, raises.outcome, go.response].map(name);
    assert_eq!(names, ["m::Drive_go_In", "m::Drive_go_Out", "m::Drive_go_Result", "m::Drive_go_Reply"]);
    let reply = structure(&schema, "m::Drive_go_Reply");
    assert_eq!((reply.members.len(), reply.members[0].name.as_str()), (1, "reply"));
    assert_eq!(schema.display(&reply.members[0].ty).to_string(), "m::Drive_go_Result");
    let Kind::Union(union) = &schema.definition(raises.outcome).kind else { panic!() };
    let case = |it: &situ_schema::model::Case| {
        (it.labels.clone(), it.member.name.clone(), schema.display(&it.member.ty).to_string())
    };
    let expected = [
        (vec![0], "result".to_owned(), "m::Drive_go_Out".to_owned()),
        (vec![1], "stuck".into(), "m::Stuck".into()),
        (vec![2], "too_fast".into(), "m::inner::TooFast".into()),
    ];
    assert_eq!(union.cases.iter().map(case).collect::<Vec<_>>(), expected);
    assert_eq!(
        (reply.extensibility, union.extensibility),
        (Extensibility::Appendable, Extensibility::Appendable)
    );
    // An inherited operation raises what its base declares.
    let inherited = service("m::Car_go");
    assert_eq!(inherited.raises.map(|it| it.outcome), Some(raises.outcome));
    assert_eq!(inherited.response, go.response);
    assert!(go.declares(schema.name(go.response)) && !inherited.declares(schema.name(go.response)));
    assert!(service("m::Car_halt").raises.is_none());
}

/// An inherited operation is a service of the derived interface, with the structs of its base.
#[test]
fn interfaces_inherit_operations() {
    let schema = load(
        "module a {
           interface Root {
             /// Stops.
             void halt();
           };
           module b { interface Left : Root { void left(in double x); }; };
           interface Right : ::a::Root { void right(); };
         };
         module c {
           interface Both : a::b::Left, a::Right { void own(); };
           interface Last : Both { };
         };",
    );
    let names = |id| schema.name(id).as_str();
    let mut services: Vec<_> = schema
        .services()
        .iter()
        .map(|it| (it.name.as_str(), names(it.request), names(it.response), it.docs.as_str()))
        .collect();
    services.sort_unstable();
    let halt = |name| (name, "a::Root_halt_In", "a::Root_halt_Out", "Stops.");
    let left = |name| (name, "a::b::Left_left_In", "a::b::Left_left_Out", "");
    let right = |name| (name, "a::Right_right_In", "a::Right_right_Out", "");
    let own = |name| (name, "c::Both_own_In", "c::Both_own_Out", "");
    assert_eq!(
        services,
        [
            halt("a::Right_halt"),
            right("a::Right_right"),
            halt("a::Root_halt"),
            halt("a::b::Left_halt"),
            left("a::b::Left_left"),
            halt("c::Both_halt"),
            left("c::Both_left"),
            own("c::Both_own"),
            right("c::Both_right"),
            halt("c::Last_halt"),
            left("c::Last_left"),
            own("c::Last_own"),
            right("c::Last_right"),
        ]
    );
}

/// Each interface has the operations of all before it, so that a short file asks for very many.
#[test]
fn interfaces_cannot_inherit_without_a_limit() {
    let mut text = "interface A0 { void f(); };".to_owned();
    for index in 1..1000 {
        text += &format!("interface A{index} : A{} {{ void f{index}(); }};", index - 1);
    }
    let error = Loader::new().sealed().text("many.idl", &text, Format::Idl).load().unwrap_err();
    assert!(error.to_string().contains("inherit more than 65536 operations"), "{error}");
}
