//! Every mistake is reported with its place and with help.

use situ_schema::{Format, Loader, SchemaError};

fn error_of(name: &str, text: &str, format: Format) -> Box<SchemaError> {
    match Loader::new().sealed().text(name, text, format).load() {
        Ok(_) => panic!("this should be refused:\n{text}"),
        Err(error) => error,
    }
}

/// Line, column, message, and help of the first mistake.
fn first(name: &str, text: &str, format: Format) -> (usize, usize, String, String) {
    let error = error_of(name, text, format);
    let diagnostic = &error.diagnostics()[0];
    let (_, line, column) = error.position(diagnostic).unwrap_or_default();
    (line, column, diagnostic.message.clone(), diagnostic.help.clone().unwrap_or_default())
}

/// Checks IDL texts. Each case has the text, line and column, and parts of the message and the help.
fn check(cases: &[(&str, usize, usize, &str, &str)]) {
    for (text, line, column, message, help) in cases {
        let found = first("test.idl", text, Format::Idl);
        assert_eq!((found.0, found.1), (*line, *column), "{text}\n{found:?}");
        assert!(found.2.contains(message), "{text}\n{found:?}");
        assert!(found.3.contains(help) && !found.3.is_empty(), "{text}\n{found:?}");
    }
}

#[test]
fn a_mistake_is_shown_with_its_source_lines() {
    let text = "module points {\n  @flat\n  struct Cloud {\n    uint32 width;\n    sequence<uint8> data;\n  };\n};\n";
    let expected = "\
error: `Cloud` is @flat, but its member `data` is an unbounded sequence
 --> points.idl:5:21
  |
3 |   struct Cloud {
  |          ----- the flat struct
4 |     uint32 width;
5 |     sequence<uint8> data;
  |                     ^^^^ an unbounded sequence
  |
  = help: give it a bound: `sequence<T, N>`; or mark it `@bulk`, so that it is stored in the body
";
    let error = error_of("points.idl", text, Format::Idl);
    assert_eq!(error.render(false), expected);
    assert!(error.render(true).contains("\u{1b}["), "colours for terminals");
    assert_eq!(
        error.to_string(),
        "points.idl:5:21: `Cloud` is @flat, but its member `data` is an unbounded sequence (give it a bound: \
         `sequence<T, N>`; or mark it `@bulk`, so that it is stored in the body)"
    );
}

#[test]
fn what_cannot_lie_in_a_region() {
    check(&[
        (
            "@region struct A { map<wstring, int8> m; };",
            1,
            39,
            "`A.m` has keys",
            "numbers, booleans, characters, enums and strings",
        ),
        (
            "struct B { map<wstring, int8> m; };\n@region struct A { sequence<B> bs; };",
            1,
            31,
            "`A` is @region, but `B.m` has keys",
            "numbers",
        ),
        ("@region @flat struct A { long x; };", 1, 22, "both @flat and @region", "keep one"),
        ("@region struct A { octet x[65536][65536]; };", 1, 26, "larger than 2 GiB", "shorter"),
        (
            "@region struct A {\n  @default(\"more than eleven\") string s;\n};",
            2,
            39,
            "`A` is @region, but `A.s` has a default that needs memory",
            "at most 11 bytes",
        ),
        (
            "struct B { @default(\"(1, 2)\") sequence<long> s; };\n@region struct A { B b; };",
            1,
            46,
            "`A` is @region, but `B.s` has a default",
            "delete the default",
        ),
        (
            "@region @appendable struct B { long x; };\n@region struct A { sequence<B> bs; };",
            2,
            32,
            "`A.bs` holds a struct in place that is `@region @appendable`",
            "@optional @external",
        ),
        (
            "@region @appendable struct B { long x; };\n@region struct A : B { long y; };",
            2,
            16,
            "`A.base` holds a struct in place",
            "@optional @shared",
        ),
        ("struct A { @set long x; };", 1, 22, "`@set` marks sequences", "delete `@set`"),
        (
            "struct P { long x; }; struct A { @set sequence<P> x; };",
            1,
            51,
            "cannot be keys",
            "numbers, booleans, characters, enums or strings",
        ),
        ("struct A { @hash sequence<long> x; };", 1, 33, "`@hash` marks maps and sets", "`@set`"),
        ("struct A { @hash @ordered map<long, long> x; };", 1, 18, "both @hash and @ordered", "keep one"),
        ("struct A { @shared long x; };", 1, 12, "`@shared` needs `@optional`", "@optional @shared"),
        ("struct A { @weak long x; };", 1, 12, "`@weak` needs `@optional`", "@optional @weak"),
        ("struct A { @optional @weak @shared long x; };", 1, 28, "both @weak and @shared", "keep one"),
        ("struct A { @optional @external @weak long x; };", 1, 22, "both @weak and @external", "keep one"),
        (
            "@flat struct A { @optional @weak long x; };",
            1,
            39,
            "`A` is @flat, but its member `x` is a weak link",
            "only regions have weak links",
        ),
    ]);
}

#[test]
fn where_members_lie_in_regions_is_carried_and_not_hashed() {
    let load = |text: &str| Loader::new().sealed().text("a.idl", text, Format::Idl).load().unwrap();
    let plain = load("struct A { map<long, long> m; sequence<long> s; @optional long o; };");
    let placed = load(
        "@region struct A { @hash map<long, long> m; @set @hash sequence<long> s; @optional @external long o; };",
    );
    let (a, b) = (plain.find("A").unwrap(), placed.find("A").unwrap());
    assert_eq!(plain.schema_hash(a), placed.schema_hash(b));
    let canonical = placed.canonical(b);
    assert_eq!(
        canonical,
        "@final @region struct A {\n  @hash(TRUE) map<int32, int32> m;\n  @set(TRUE) @hash(TRUE) sequence<int32> s;\n  \
         @optional(TRUE) @external(TRUE) int32 o;\n};\n"
    );
    let again = load(&canonical);
    assert_eq!(again.canonical(again.find("A").unwrap()), canonical);
}

/// Unions, trees, shared links and what can be appended to lie in regions; a struct that is @appendable, and
/// not @region, is final there.
#[test]
fn what_lies_in_a_region() {
    let text = "union U switch (long) { case 1: string s; };\n\
        @region @appendable struct V { long x; };\n\
        @appendable struct F { long x; };\n\
        @region struct A {\n\
          U u; sequence<U> us; @ordered map<long, U> m; @optional @shared U shared;\n\
          @optional @external V v; F f;\n\
        };";
    let schema = Loader::new().sealed().text("a.idl", text, Format::Idl).load().unwrap();
    let layout = schema.region_layout(schema.find("A").unwrap()).unwrap();
    let places: Vec<(&str, u64)> = layout.members.iter().map(|it| (it.name.as_str(), it.offset)).collect();
    assert_eq!(places, [("u", 0), ("us", 24), ("m", 40), ("shared", 56), ("v", 64), ("f", 72)]);
    let extent = |name: &str| schema.region_layout(schema.find(name).unwrap()).unwrap().extent;
    assert_eq!((extent("V").size, extent("V").align), (8, 8));
    assert_eq!((extent("F").size, extent("F").align), (4, 4));
}

#[test]
fn what_cannot_be_flat() {
    check(&[
        ("@flat struct A { string s; };", 1, 25, "`s` is an unbounded string", "string<N>"),
        ("@flat struct A { wstring s; };", 1, 26, "an unbounded wstring", "wstring<N>"),
        ("@flat struct A { map<int8, int8> m; };", 1, 34, "an unbounded map", "map<K, V, N>"),
        (
            "struct In {\n  string s;\n};\n@flat struct A { In inner; };",
            2,
            10,
            "`A` is @flat, but its member `inner.s` is an unbounded string",
            "string<N>",
        ),
        ("@flat struct A { sequence<A> a; };", 1, 14, "contains itself", "@flat"),
        (
            "struct B { @bulk sequence<int8> d; };\n@flat struct A { sequence<B, 2> b; };",
            2,
            33,
            "a type with a bulk field",
            "plain member",
        ),
        ("@flat struct A { uint8 a[4294967294]; uint64 b[4]; };", 1, 46, "4 GiB", "@bulk"),
        (
            "typedef uint64 T[65536]; typedef T U[8191]; @flat struct A { sequence<U, 2> u; };",
            1,
            77,
            "4 GiB",
            "bounds smaller",
        ),
    ]);
}

#[test]
fn bulk_and_keys() {
    check(&[
        (
            "struct A { @bulk string s; };",
            1,
            25,
            "`@bulk` marks sequences, but `s` is a string",
            "delete `@bulk`",
        ),
        ("struct A { @bulk int32 x; };", 1, 24, "is of type int32", "make it a sequence"),
        (
            "struct A { @bulk sequence<string> s; };",
            1,
            35,
            "not the same in every storage: an element is string",
            "`char name[16]`, which is the same in every storage; or remove `@bulk` from `s` and give it a bound",
        ),
        (
            "struct E { long id; string<16> name; }; @flat struct A { @bulk sequence<E> s; };",
            1,
            76,
            "`name` of an element is string<16>",
            "`char name[16]`",
        ),
        (
            "struct F { wstring<4> w[3]; }; struct E { F f; }; struct A { @bulk sequence<E> s; };",
            1,
            80,
            "`f.w` of an element is wstring<4>",
            "`uint16 name[16]`",
        ),
        (
            "struct E { sequence<long, 4> v; }; struct A { @bulk sequence<E> s; };",
            1,
            65,
            "`v` of an element is sequence<int32, 4>",
            "an array and the number of used elements",
        ),
        (
            "union U switch (long) { case 1: long a; }; struct A { @bulk sequence<U> s; };",
            1,
            73,
            "an element is the union U",
            "of these alone; or remove `@bulk`",
        ),
        (
            "struct E { @optional long o; }; struct A { @bulk sequence<E> s; };",
            1,
            62,
            "`o` of an element is @optional",
            "bulk elements are",
        ),
        ("struct A { @bulk @optional sequence<int8> s; };", 1, 43, "cannot be @optional", "empty bulk field"),
        ("struct A { @key @optional int8 s; };", 1, 32, "the key `s` cannot be optional", "delete one"),
        (
            "struct S { int8 x; }; struct A { map<S, int8, 2> m; };",
            1,
            50,
            "S cannot be the key of a map: it is a struct",
            "keys are numbers",
        ),
        ("struct A { map<sequence<int8, 2>, int8, 2> m; };", 1, 44, "it is a sequence", "keys are numbers"),
        ("@bulk struct A { int8 s; };", 1, 1, "`@bulk` is not allowed on a struct", "a member of a struct"),
        ("struct A { @flat int8 s; };", 1, 12, "`@flat` is not allowed on a member", "a union, a typedef"),
        ("@flat enum E { A };", 1, 1, "`@flat` is not allowed on an enum", "a union, a typedef"),
        (
            "@flat union U switch (long) { case 1: long a; case 2: string b; };",
            1,
            62,
            "`U` is @flat, but its member `b` is an unbounded string",
            "string<N>",
        ),
        (
            "@flat typedef sequence<string<8>> V;",
            1,
            35,
            "`V` is @flat, but it is an unbounded sequence",
            "give it a bound",
        ),
        ("struct A { @key @key int8 s; };", 1, 17, "appears twice", "delete one"),
        ("struct A { @key(3) int8 s; };", 1, 17, "takes TRUE or FALSE", "@key(FALSE)"),
        ("struct A { @hashid int8 s; };", 1, 12, "not supported", "@id"),
    ]);
}

#[test]
fn names() {
    check(&[
        ("struct A { Pose p; };", 1, 12, "unknown type `Pose`", "#include"),
        (
            "struct Point {int8 x;}; struct A { Piont p; };",
            1,
            36,
            "unknown type `Piont`",
            "did you mean `Point`?",
        ),
        (
            "module a { struct Point {int8 x;}; };\nstruct B { Point p; };",
            2,
            12,
            "unknown type `Point`",
            "did you mean `a::Point`?",
        ),
        ("struct A { bool b; };", 1, 12, "unknown type `bool`", "IDL calls it `boolean`"),
        ("struct A { uint32_t b; };", 1, 12, "unknown type", "IDL calls it `uint32`"),
        ("const int8 C = 1; struct A { C c; };", 1, 30, "`C` is a constant, not a type", "name a struct"),
        (
            "module m { const int8 X = 1; }; struct A { m c; };",
            1,
            44,
            "`m` is a module, not a type",
            "name a struct",
        ),
        ("struct A { int8 a; };\nstruct A { int8 a; };", 2, 8, "`A` is declared twice", "rename"),
        ("struct A { int8 a; int16 a; };", 1, 26, "the member `a` appears twice", "rename"),
        ("struct B { int8 a; }; struct A : B { int8 a; };", 1, 43, "the member `a` appears twice", "rename"),
        (
            "struct B { int8 a; }; struct A : B { int8 base; };",
            1,
            43,
            "cannot have a member `base`",
            "rename",
        ),
        ("enum E { A }; enum F { A };", 1, 24, "`A` is declared twice", "modules"),
        ("struct A;", 1, 8, "declared but never defined", "define it"),
        ("typedef A B; typedef int8 A;", 1, 9, "used before it is defined", "before this"),
        ("typedef int8 A; typedef int16 A;", 1, 31, "two different types", "rename"),
        ("struct A { A a; };", 1, 8, "the struct `A` contains itself", "sequence<T, 1>"),
        ("struct A { sequence<B> b; }; struct B { A a[2]; B c; };", 1, 37, "`B` contains itself", "sequence"),
        ("typedef sequence<A> A;", 1, 18, "used before it is defined", "before this"),
        ("struct A : B { int8 x; };", 1, 12, "unknown type `B`", "#include"),
        ("enum E { X }; struct A : E { int8 x; };", 1, 26, "`E` is not a struct", "only structs"),
        (
            "@mutable struct B { int8 x; }; @final struct A : B { int8 y; };",
            1,
            46,
            "`A` is @final, its base is @mutable",
            "write `@mutable` or nothing",
        ),
    ]);
}

#[test]
fn ids_values_and_labels() {
    check(&[
        ("struct A { @id(3) int8 a; @id(3) int8 b; };", 1, 39, "member id `3` appears twice", "@id"),
        ("struct A { @id(1) int8 a; @id(0) int8 b; int8 c; };", 1, 47, "member id `1`", "@id"),
        ("struct A { @id(268435456) int8 a; };", 1, 16, "out of range", "268435455"),
        ("struct A { @id int8 a; };", 1, 12, "needs a number", "@id(0)"),
        ("enum E { @value(1) A, @value(1) B };", 1, 33, "the value `1` appears twice", "@value"),
        ("enum E { @value(2147483647) A, B };", 1, 32, "does not fit 32 bits", "smaller"),
        ("enum E { A = 3 };", 1, 12, "found `=`", "@value(3) NAME"),
        ("enum E { };", 1, 6, "is empty", "give it a name"),
        ("@bit_bound(8) enum E { A };", 1, 20, "fewer than 32 bits", "leave out"),
        ("@bit_bound(4) bitmask M { A, @position(4) B };", 1, 40, "out of range", "is 0 to 3"),
        ("@bit_bound(1) bitmask M { A, B };", 1, 30, "`B` is bit 1, but there are 1 bits", "@bit_bound"),
        ("@bit_bound(65) bitmask M { A };", 1, 12, "out of range", "is 1 to 64"),
        ("bitmask M { A, @position(0) B };", 1, 29, "the bit `0` appears twice", "@position"),
        ("union U switch (float) { case 1: int8 a; };", 1, 17, "cannot be switched by this", "an integer"),
        (
            "union U switch (int8) { case 1: int8 a; case 1: int8 b; };",
            1,
            46,
            "the label `1` appears twice",
            "one case only",
        ),
        (
            "union U switch (int8) { case 200: int8 a; };",
            1,
            30,
            "200 does not fit the type int8",
            "-128 to 127",
        ),
        (
            "union U switch (int8) { default: int8 a; default: int8 b; };",
            1,
            42,
            "`default` appears twice",
            "delete",
        ),
        (
            "union U switch (boolean) { case TRUE: int8 a; case FALSE: int8 b; default: int8 c; };",
            1,
            67,
            "can never be selected",
            "delete `default:`",
        ),
        (
            "enum E { A, B }; union U switch (E) { case C: int8 a; };",
            1,
            44,
            "unknown constant `C`",
            "declare it",
        ),
        ("union U switch (int8) { };", 1, 7, "has no cases", "at least one"),
    ]);
}

#[test]
fn constants() {
    check(&[
        ("const int8 C = 200;", 1, 16, "200 does not fit the type int8", "-128 to 127"),
        ("const uint8 C = -1;", 1, 17, "-1 does not fit", "0 to 255"),
        ("const int8 C = 1 / 0;", 1, 16, "division by zero", "divide by another number"),
        ("const int8 C = 1 % 0;", 1, 16, "division by zero", "divide"),
        ("const uint64 C = 1 << 64;", 1, 18, "cannot shift by 64", "0 to 63"),
        ("const uint64 C = 170141183460469231731687303715884105727 + 1;", 1, 18, "overflows", "64 bits"),
        (
            "const uint64 C = 999999999999999999999999999999999999999999;",
            1,
            18,
            "this number is too large",
            "64 bits",
        ),
        ("const float C = 1e39;", 1, 17, "too large for the type float", "double"),
        ("const boolean C = 1;", 1, 19, "an integer is not a value of the type boolean", "TRUE or FALSE"),
        ("const string<2> C = \"abc\";", 1, 21, "has 3 bytes, its type holds 2", "shorten"),
        ("const string C = \"a\\0b\";", 1, 18, "zero character", "leave it out"),
        ("const int8 C = \"a\" + 1;", 1, 16, "cannot calculate with a string", "operators take"),
        ("const int8 C = D; const int8 D = 1;", 1, 16, "used before it is declared", "before this"),
        ("struct A { string<0> s; };", 1, 19, "0 cannot be the bound of a string", "1 to 4294967294"),
        (
            "struct A { sequence<int8, 4294967295> s; };",
            1,
            27,
            "cannot be the bound of a sequence",
            "4294967294",
        ),
        ("struct A { int8 a[-1]; };", 1, 19, "-1 cannot be the length", "1 to 4294967294"),
        (
            "struct A { int8 a[1.5]; };",
            1,
            19,
            "expected an integer, found a floating-point",
            "write an integer",
        ),
        ("struct A { uint8 a[4294967294][2]; };", 1, 18, "too large", "elements in all"),
        (
            "struct A { @default(\"(1, 2)\") int8 a[3]; };",
            1,
            21,
            "2 elements, but there must be exactly 3",
            "3",
        ),
        ("struct A { @default(\"1\") sequence<int8> a; };", 1, 21, "not a list", "(1, 2, 3)"),
        (
            "struct B {int8 x;}; struct A { @default(1) B b; };",
            1,
            41,
            "cannot be written as a value",
            "members",
        ),
        ("struct A { @default int8 b; };", 1, 12, "needs a value", "@default("),
        (
            "enum E { X, Y }; struct A { @default(1) E e; };",
            1,
            38,
            "not a value of the enum `E`",
            "one of X, Y",
        ),
        ("struct A { @unit(3) int8 b; };", 1, 12, "`@unit` takes a string", "m/s"),
    ]);
}

#[test]
fn grammar() {
    check(&[
        ("struct A { int8 a }", 1, 18, "expected `;` after the member", "write `;`"),
        ("struct A { int8 a; }", 1, 21, "expected `;` after the struct", "write `;`"),
        ("struct A { int8 a;", 1, 8, "the struct `A` is never closed", "`};`"),
        ("module m { struct A { int8 a; };", 1, 8, "the module `m` is never closed", "`};`"),
        ("strukt A { int8 a; };", 1, 1, "expected a definition, found `strukt`", "did you mean `struct`?"),
        ("valuetype A { };", 1, 1, "`valuetype` is not supported", "interfaces with operations"),
        ("struct A { long double a; };", 1, 12, "`long double` is not supported", "`octet NAME[16]`"),
        ("struct A { any a; };", 1, 12, "`any` is not supported", "union"),
        ("struct A { fixed<5, 2> a; };", 1, 12, "`fixed` is not supported", "double"),
        ("struct A { struct B { int8 b; } a; };", 1, 12, "cannot be defined here", "before this"),
        (
            "bitset B : C { };",
            1,
            1,
            "`bitset` is not supported",
            "write `typedef uint32 NAME;`, or a bitmask",
        ),
        (
            "bitset B { bitfield<3> a; bitfield<1, boolean> b; bitfield<4>; bitfield<12, short> c, d; };",
            1,
            1,
            "`bitset` is not supported",
            "one integer of 32 bits in CDR: write `typedef uint32 B;` (a: bits 0 to 2, b: bit 3, c: bits 8 to 19, \
             d: bits 20 to 31), or a bitmask",
        ),
        ("bitset B { bitfield<60> a; bitfield<5> b; };", 1, 1, "not supported", "more than 64 bits"),
        ("const double C = 1.5d;", 1, 18, "fixed-point", "leave out the `d`"),
        ("const int32 C = 089;", 1, 17, "octal", "leave out the 0"),
        ("const int32 C = 1x;", 1, 17, "`x` cannot follow a number", "space"),
        ("const string C = \"abc;\n", 1, 18, "never closed", "same line"),
        ("const string C = \"\\q\";", 1, 19, "not an escape sequence", "\\n"),
        ("const char C = 'ab';", 1, 16, "exactly one character", "double quotes"),
        ("/* open", 1, 1, "this comment is never closed", "`*/`"),
        ("struct A { int8 ä; };", 1, 17, "`ä` has no meaning in IDL", "ASCII"),
    ]);
}

#[test]
fn preprocessor() {
    check(&[
        ("\n#include \"nowhere.idl\"\n", 2, 1, "cannot find `nowhere.idl`", "search path"),
        ("#include nowhere", 1, 1, "does not name a file", "#include \"folder/file.idl\""),
        ("#if 1\nstruct A { int8 a; };", 1, 1, "never closed", "#endif"),
        ("#endif", 1, 1, "`#endif` without `#if`", "delete it"),
        ("#if 1\n#else\n#else\n#endif", 3, 1, "`#else` without `#if`", "delete it"),
        ("#if 1 +\n#endif", 1, 1, "cannot be parsed", "defined(NAME)"),
        ("#define MAX(a) a", 1, 1, "the macro `MAX` has parameters", "constant"),
        ("#define A B\n#define B A\nstruct A { int8 x; };", 3, 8, "expands to itself", "write its text"),
        ("#frobnicate", 1, 1, "not a preprocessor directive", "#include"),
    ]);
    let error = error_of("test.idl", "#error do not use this\n", Format::Idl);
    assert_eq!(error.diagnostics()[0].message, "#error do not use this");
}

#[test]
fn a_file_that_is_not_there() {
    let error = Loader::new().file("/nowhere/x.idl").load().unwrap_err();
    assert!(error.to_string().contains("/nowhere/x.idl"), "{error}");
    let error = Loader::new().file("x.txt").load().unwrap_err();
    assert!(error.to_string().contains("Situ reads .idl, .msg, .srv and .action"), "{error}");
}

#[test]
fn ros_files() {
    for (name, text, line, column, message, help) in [
        ("p/msg/A.msg", "int32 x\nint31 y\n", 2, 1, "there is no `p/msg/int31`", "search path"),
        ("p/msg/A.msg", "time t\n", 1, 1, "a type of ROS 1", "builtin_interfaces/Time"),
        ("p/msg/A.msg", "int32\n", 1, 1, "this field has no name", "type name"),
        ("p/msg/A.msg", "int32 =3\n", 1, 1, "this constant has no name", "type NAME=value"),
        ("p/msg/A.msg", "int32 3x\n", 1, 7, "`3x` is not a name", "begin with a letter"),
        ("p/msg/A.msg", "int8 X=128\n", 1, 8, "128 does not fit the type int8", "-128 to 127"),
        ("p/msg/A.msg", "int8 x ten\n", 1, 8, "`ten` is not a value of this type", "write an integer"),
        ("p/msg/A.msg", "bool x maybe\n", 1, 8, "`maybe` is not a value", "true or false"),
        ("p/msg/A.msg", "float32 x big\n", 1, 11, "`big` is not a value", "1.5"),
        ("p/msg/A.msg", "int8[2] x [1]\n", 1, 11, "1 elements, but there must be exactly 2", "2"),
        ("p/msg/A.msg", "int8[<=2] x [1,2,3]\n", 1, 13, "3 elements, but there must be at most 2", "2"),
        ("p/msg/A.msg", "int8[] x 1\n", 1, 10, "not an array", "[1, 2, 3]"),
        ("p/msg/A.msg", "int8[0] x\n", 1, 1, "0 cannot be the length", "1 to 4294967294"),
        ("p/msg/A.msg", "int8[<=a] x\n", 1, 1, "`a` is not a number of elements", "positive"),
        ("p/msg/A.msg", "int8[ x\n", 1, 1, "`int8[` is not a type", "string<=10"),
        ("p/msg/A.msg", "int8<=3 x\n", 1, 1, "`int8` cannot have a bound", "string<=10"),
        ("p/msg/A.msg", "string<=2 x \"abc\"\n", 1, 13, "has 3 bytes, its type holds 2", "shorten"),
        ("p/msg/A.msg", "string x 'it's'\n", 1, 10, "is not escaped", "other kind of quotes"),
        ("p/msg/A.msg", "int8 x\nint8 x\n", 2, 6, "the member `x` appears twice", "rename"),
        ("p/srv/A.srv", "int8 x\n", 2, 1, "a service has 2 parts, found 1", "---"),
        ("p/action/A.action", "int8 x\n---\n", 3, 1, "an action has 3 parts, found 2", "---"),
    ] {
        let format = match name.rsplit('.').next() {
            Some("srv") => Format::Srv,
            Some("action") => Format::Action,
            _ => Format::Msg,
        };
        let found = first(name, text, format);
        assert_eq!((found.0, found.1), (line, column), "{text}\n{found:?}");
        assert!(found.2.contains(message), "{text}\n{found:?}");
        assert!(found.3.contains(help), "{text}\n{found:?}");
    }
    let error = error_of("A.msg", "int8 x\n", Format::Msg);
    assert!(error.to_string().contains("the package of `A.msg` is not known"), "{error}");
}

#[test]
fn many_mistakes_are_reported_but_not_all() {
    let members: String = (0..1000).map(|at| format!("Unknown{at} m{at};\n")).collect();
    let error = error_of("test.idl", &format!("struct A {{\n{members}}};"), Format::Idl);
    assert_eq!(error.diagnostics().len(), 20);
    let places: Vec<_> = error.diagnostics().iter().map(|it| error.position(it).unwrap().1).collect();
    assert_eq!(places, (2..22).collect::<Vec<_>>());
}

#[test]
fn interfaces() {
    check(&[
        ("interface A : B { };", 1, 15, "`B` is no interface that is defined before", "#include the file"),
        ("interface A : A { };", 1, 15, "`A` is no interface that is defined before", "before this"),
        ("struct B { int8 a; }; interface A : B { };", 1, 37, "`B` is no interface", "before this"),
        ("interface B; interface A : B { }; interface B { };", 1, 28, "`B` is no interface", "before this"),
        (
            "interface B { void f(); }; interface A : B { void f(); };",
            1,
            51,
            "the operation `f` of `B` and of `A`",
            "rename one",
        ),
        (
            "interface B { void f(); }; interface C { void f(); }; interface A : B, C { };",
            1,
            72,
            "the operation `f` of `B` and of `C`",
            "rename one",
        ),
        (
            "interface B { void f(); }; interface A : B { }; struct A_f { int8 a; };",
            1,
            38,
            "`A_f` is declared twice",
            "rename one",
        ),
        ("interface A { void f() };", 1, 23, "expected `;` after the operation", "write `;`"),
        ("interface A { void f(long a); };", 1, 22, "expected `in`, `out` or `inout`", "`inout` for both"),
        ("interface A { oneway void f(); };", 1, 15, "`oneway` is not supported", "publish it on a topic"),
        ("interface A { readonly attribute long a; };", 1, 15, "`readonly` is not", "`double get_speed();`"),
        ("interface A { void f() raises (E); };", 1, 32, "unknown exception `E`", "`exception NAME { … };`"),
        (
            "exception Far {}; interface A { void f() raises (Fra); };",
            1,
            50,
            "unknown exception `Fra`",
            "`Far`",
        ),
        (
            "struct E { int8 a; }; interface A { void f() raises (E); };",
            1,
            54,
            "`E` is no exception",
            "declared",
        ),
        (
            "exception E {}; interface A { void f() raises (E, E); };",
            1,
            51,
            "the reply of `f` would have two cases `e`",
            "name each exception once",
        ),
        (
            "module m { exception E {}; }; exception E {}; interface A { void f() raises (E, m::E); };",
            1,
            81,
            "the reply of `f` would have two cases `e`",
            "rename exceptions",
        ),
        (
            "exception Result {}; interface A { void f() raises (Result); };",
            1,
            53,
            "two cases `result`",
            "what the operation gives is `result`",
        ),
        ("interface A { void f() context (\"x\"); };", 1, 24, "`context` is not supported", "as parameters"),
        ("interface A { exception E {}; };", 1, 15, "a exception cannot be defined here", "before this"),
        ("exception E : F {};", 1, 12, "expected `{` after the name of the exception", "write `{`"),
        ("exception E { int8 a;", 1, 11, "the exception `E` is never closed", "`};`"),
        (
            "exception E { string a; }; interface A { @flat void f() raises (E); };",
            1,
            22,
            "is @flat",
            "give it a bound",
        ),
        ("interface A { typedef long T; };", 1, 15, "a typedef cannot be defined here", "before this"),
        (
            "interface A { struct T { int8 a; } f(); };",
            1,
            15,
            "a struct cannot be defined here",
            "before this",
        ),
        ("interface A { void f(); ", 1, 11, "the interface `A` is never closed", "`};`"),
        ("interface A { void f(in Missing a); };", 1, 25, "unknown type `Missing`", "define it"),
        ("interface A { void f(); void f(); };", 1, 30, "`A_f_In` is declared twice", "rename one"),
        (
            "interface A_b { void c(); }; interface A { void b_c(); };",
            1,
            49,
            "`A_b_c_In` is declared",
            "rename",
        ),
        ("interface A { void f(in long a, inout long a); };", 1, 44, "`a`", "rename"),
        ("interface A { }; struct S { A a; };", 1, 29, "`A` is an interface, not a type", "name a struct"),
        (
            "interface A { void f(); }; struct S { A_f a; };",
            1,
            39,
            "`A_f` is a service, not a type",
            "name a",
        ),
        ("interface A;", 1, 11, "`A` is declared but never defined", "define it"),
        ("interface A { @flat string f(); };", 1, 28, "`A_f_Out` is @flat", "give it a bound"),
    ]);
}
