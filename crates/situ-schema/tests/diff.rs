//! The first difference between two types, in plain words.

use situ_schema::{Format, Loader, Schema, diff};

fn load(text: &str) -> Schema {
    let loader = Loader::new().sealed().text("test.idl", text, Format::Idl);
    loader.load().unwrap_or_else(|error| panic!("{}", error.render(false)))
}

/// The difference of the types `A` of two texts.
fn difference(left: &str, right: &str) -> Option<String> {
    let (left, right) = (load(left), load(right));
    let (a, b) = (left.find("A").unwrap(), right.find("A").unwrap());
    let found = diff((&left, a), (&right, b));
    let same_hash = left.schema_hash(a) == right.schema_hash(b);
    let same_text = left.identity(a) == right.identity(b);
    assert_eq!(same_hash, same_text);
    if found.is_none() {
        assert!(same_hash, "no difference, but other hashes");
    }
    found.map(|it| it.to_string())
}

#[test]
fn same_types() {
    assert_eq!(difference("struct A { int32 x; };", "@flat struct A { /// docs\n long x; };"), None);
    assert_eq!(
        difference(
            "typedef double Row[3]; struct A { Row m[2]; @default(3) int8 d; };",
            "struct A { double m[2][3]; @unit(\"m\") int8 d; };"
        ),
        None
    );
    let tree = "struct A { sequence<A> children; map<string, A> named; };";
    assert_eq!(difference(tree, tree), None);
}

#[test]
fn the_first_difference_is_named() {
    let inner =
        |members: &str| format!("struct In {{ {members} }}; struct A {{ int8 a; sequence<In, 2> list; }};");
    for (left, right, expected) in [
        ("struct A { int32 x; };", "struct A { int64 x; };", " at `x`: int32 here, int64 there"),
        ("struct A { int32 x; };", "struct A { int32 y; };", " at `x`: member x here, member y there"),
        (
            "struct A { int32 x; };",
            "struct A { int32 x; int8 y; };",
            " at `y`: no member here, member y there",
        ),
        (
            "struct A { int32 x; int8 y; };",
            "struct A { int32 x; };",
            " at `y`: member y here, no member there",
        ),
        ("struct A { string<3> x; };", "struct A { string x; };", " at `x`: string<3> here, string there"),
        (
            "struct A { sequence<int8, 3> x; };",
            "struct A { sequence<int8, 4> x; };",
            " at `x`: sequence<int8, 3> here, sequence<int8, 4> there",
        ),
        (
            "struct A { int8 x[2][3]; };",
            "struct A { int8 x[3][2]; };",
            " at `x`: int8[2][3] here, int8[3][2] there",
        ),
        (
            "struct A { map<int8, string> x; };",
            "struct A { map<int8, wstring> x; };",
            " at `x[].value`: string here, wstring there",
        ),
        ("struct A { @id(3) int8 x; };", "struct A { int8 x; };", " at `x`: @id(3) here, @id(0) there"),
        ("struct A { @key int8 x; };", "struct A { int8 x; };", " at `x`: @key here, not @key there"),
        (
            "struct A { @optional int8 x; };",
            "struct A { int8 x; };",
            " at `x`: @optional here, not @optional there",
        ),
        ("@mutable struct A { int8 x; };", "struct A { int8 x; };", ": @mutable here, @final there"),
        ("struct B { int8 x; }; struct A : B { };", "struct A { int8 x; };", ": a base here, no base there"),
        ("struct A { int8 x; };", "enum A { X };", ": a struct here, an enum there"),
        ("enum A { X, Y };", "enum A { X, @value(5) Y };", ": Y = 1 here, Y = 5 there"),
        ("enum A { X, Y };", "enum A { X };", ": 2 enumerators here, 1 enumerators there"),
        ("bitmask A { X };", "@bit_bound(8) bitmask A { X };", ": 32 bits here, 8 bits there"),
        ("bitmask A { X };", "bitmask A { @position(1) X };", ": X at bit 0 here, X at bit 1 there"),
        (
            "union A switch (int8) { case 1: int8 x; };",
            "union A switch (int8) { case 2: int8 x; };",
            " at `x`: case [1] here, case [2] there",
        ),
        (
            "union A switch (int8) { case 1: int8 x; };",
            "union A switch (int16) { case 1: int8 x; };",
            " at `discriminator`: int8 here, int16 there",
        ),
        (
            "struct P { int8 x; }; struct A { P p; };",
            "struct Q { int8 x; }; struct A { Q p; };",
            " at `p`: type P here, type Q there",
        ),
        (
            "struct A { @bulk sequence<int8> x; };",
            "struct A { sequence<int8> x; };",
            " at `x`: @bulk here, not @bulk there",
        ),
    ] {
        assert_eq!(difference(left, right).unwrap(), format!("`A` and `A` differ{expected}"));
    }
    let found = difference(&inner("string<31> name;"), &inner("string<63> name;")).unwrap();
    assert_eq!(found, "`A` and `A` differ at `list[].name`: string<31> here, string<63> there");
}
