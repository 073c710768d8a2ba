//! The C++ generator: which headers it writes, and that it always writes the same. The tests in `cpp/tests`
//! compile and run them.

use std::path::{Path, PathBuf};

use situ_schema::codegen::{GeneratedFile, Language, Options, generate};
use situ_schema::{Format, Loader};

fn headers(options: &Options, texts: &[(&str, &str)]) -> Vec<GeneratedFile> {
    let mut loader = Loader::new();
    for (name, text) in texts {
        let format = if name.ends_with(".msg") { Format::Msg } else { Format::Idl };
        loader = loader.text(name, *text, format);
    }
    let schema = loader.load().unwrap_or_else(|error| panic!("{}", error.render(false)));
    generate(&schema, options)
}

fn header(text: &str) -> String {
    headers(&Options::new(Language::Cpp), &[("a.idl", text)]).remove(0).text
}

/// Fails unless the text contains the lines, in this order.
fn assert_lines(text: &str, lines: &[&str]) {
    let mut rest = text.lines().map(str::trim);
    for line in lines {
        assert!(rest.any(|it| it == *line), "`{line}` is not where it should be in\n{text}");
    }
}

#[test]
fn each_file_has_its_header() {
    let texts = [
        ("/schemas/robot/arm.idl", "module robot { struct Arm { long joints; }; };"),
        ("/schemas/leg/arm.idl", "module leg { struct Arm { long joints; }; };"),
        ("/else/where/arm.idl", "module other { struct Arm { long joints; }; };"),
        ("/share/pkg/msg/PointCloud2.msg", "uint8 x"),
    ];
    let paths = |roots: &[&str]| -> Vec<PathBuf> {
        let options =
            Options { roots: roots.iter().map(PathBuf::from).collect(), ..Options::new(Language::Cpp) };
        headers(&options, &texts).into_iter().map(|it| it.path).collect()
    };
    let expected = ["robot/arm.hpp", "leg/arm.hpp", "arm.hpp", "pkg/msg/point_cloud2.hpp"];
    assert_eq!(paths(&["/schemas"]), expected.map(Path::new));
    // Without a root, headers of the same name are kept apart by their folders.
    let expected = ["arm.hpp", "leg/arm.hpp", "where/arm.hpp", "pkg/msg/point_cloud2.hpp"];
    assert_eq!(paths(&[]), expected.map(Path::new));
}

#[test]
fn a_namespace_is_around_everything() {
    let texts = [
        ("/share/pkg/msg/Stamp.msg", "uint8 x"),
        ("/share/pkg/msg/Image.msg", "pkg/Stamp stamp\nuint8[<=3] data"),
    ];
    let options = Options { namespace: "my::msgs".into(), ..Options::new(Language::Cpp) };
    let all = headers(&options, &texts);
    let paths: Vec<_> = all.iter().map(|it| it.path.to_string_lossy()).collect();
    assert_eq!(paths, ["my/msgs/pkg/msg/stamp.hpp", "my/msgs/pkg/msg/image.hpp"]);
    let lines = [
        "#include \"my/msgs/pkg/msg/stamp.hpp\"",
        "namespace my::msgs::pkg::msg {",
        "struct Image_ {",
        "::my::msgs::pkg::msg::Stamp stamp{};",
        "struct schema_text<::my::msgs::pkg::msg::Image_<S>> {",
    ];
    assert_lines(&all[1].text, &lines);
    // The message is the same.
    let plain = headers(&Options::new(Language::Cpp), &texts);
    let hash = |text: &str| {
        text.lines().find(|it| it.contains("schema_hash =")).map(str::trim).unwrap_or_default().to_owned()
    };
    assert_eq!(hash(&all[1].text), hash(&plain[1].text));
    assert!(hash(&all[1].text).contains("0x"));
}

#[test]
fn headers_include_what_they_need() {
    let text = "#include <situ/common.idl>\nstruct Stamped { situ::common::Header header; };";
    let all = headers(&Options::new(Language::Cpp), &[("a.idl", text)]);
    let paths: Vec<_> = all.iter().map(|it| it.path.to_string_lossy()).collect();
    assert_eq!(paths, ["a.hpp", "situ/common.hpp"]);
    assert_lines(&all[0].text, &["#include \"situ/types.hpp\"", "#include \"situ/common.hpp\""]);
    let options = Options { included: false, ..Options::new(Language::Cpp) };
    assert_eq!(headers(&options, &[("a.idl", text)]).len(), 1, "included types are left out when asked");

    // An inherited operation has the structs of its base.
    let texts = [
        ("/x/base.idl", "module m { interface Base { void f(); }; };"),
        ("/x/derived.idl", "module n { interface Derived : m::Base { }; };"),
    ];
    let all = headers(&Options::new(Language::Cpp), &texts);
    assert!(!all[0].text.contains("Derived"), "{}", all[0].text);
    assert_lines(
        &all[1].text,
        &[
            "#include \"base.hpp\"",
            "namespace n {",
            "struct Derived_f {",
            "static constexpr ::std::string_view situ_name = \"n::Derived_f\";",
            "using Request = ::m::Base_f_In;",
            "using Response = ::m::Base_f_Out;",
        ],
    );
}

/// Types of two files that contain each other: both are complete, whichever header comes first.
#[test]
fn headers_may_need_each_other() {
    let texts = [
        ("/x/a.idl", "module m { struct B; struct A { sequence<B> bs; }; };"),
        ("/x/b.idl", "module m { struct B { sequence<A> as; }; };"),
    ];
    let all = headers(&Options::new(Language::Cpp), &texts);
    assert_lines(
        &all[0].text,
        &[
            "struct B_;",
            "struct A_;",
            "struct A_ {",
            "}  // namespace m",
            "#include \"b.hpp\"",
            "struct schema_text<::m::A_<S>> {",
        ],
    );
    assert_lines(&all[1].text, &["struct A_;", "struct B_;", "struct B_ {", "#include \"a.hpp\""]);
}

#[test]
fn the_same_schema_gives_the_same_text() {
    let text = include_str!("../../../spec/vectors/kitchen.idl");
    let once = headers(&Options::new(Language::Cpp), &[("kitchen.idl", text)]);
    let again = headers(&Options::new(Language::Cpp), &[("kitchen.idl", text)]);
    assert_eq!(once, again);
    let long: Vec<&str> = once[0].text.lines().filter(|it| it.len() > 110 && !it.contains('"')).collect();
    assert!(long.is_empty(), "long lines: {long:#?}");
    assert!(once[0].text.lines().all(|it| it.trim_end() == it), "no line ends with a blank");
}

#[test]
fn members_keep_docs_units_and_defaults() {
    let text = header(
        "module m { enum Level { LOW, @value(7) HIGH };\n/// A reading.\n@flat struct Reading {\n/// How warm.\n\
         @unit(\"K\") @default(293.15) double warmth;\n@default(HIGH) Level level; @bulk sequence<float> raw;\n\
         sequence<string<4>, 3> tags; @optional long n; }; };",
    );
    assert_lines(
        &text,
        &[
            "/// A reading.",
            "template <::situ::storage_policy S>",
            "struct Reading_ {",
            "/// How warm.",
            "/// Unit: K",
            "double warmth = 293.15;",
            "::m::Level level = ::m::Level::HIGH;",
            "::situ::bulk<S, float> raw{};",
            "::situ::sequence<S, ::situ::string<S, 4>, 3> tags{};",
            "::situ::optional<S, ::std::int32_t> n{};",
            "using Reading = Reading_<::situ::flat>;",
        ],
    );
}

#[test]
fn types_without_a_bound_have_heap_storage_only() {
    let text = header("struct Text { string text; }; struct Holder { sequence<Text, 3> texts; };");
    assert_lines(
        &text,
        &[
            "template <::situ::unbounded_storage S>",
            "struct Text_ {",
            "using Text = Text_<::situ::heap>;",
            "template <::situ::unbounded_storage S>",
            "struct Holder_ {",
        ],
    );
    assert!(!text.contains("static_assert"), "there is no flat layout to assert");
}

#[test]
fn layouts_are_asserted() {
    let text = header("@flat struct P { octet a; double b; };");
    assert_lines(
        &text,
        &[
            "static_assert(sizeof(::P) == 16);",
            "static_assert(alignof(::P) == 8);",
            "static_assert(offsetof(::P, a) == 0);",
            "static_assert(offsetof(::P, b) == 8);",
        ],
    );
}

#[test]
fn services_are_structs_with_two_types() {
    let text = header(
        "module m { interface Drive {\n/// Goes there.\n@flat double go(in double x); void halt(); }; };",
    );
    assert_lines(
        &text,
        &[
            "/// Goes there.",
            "struct Drive_go {",
            "static constexpr ::std::string_view situ_name = \"m::Drive_go\";",
            "using Request = ::m::Drive_go_In;",
            "using Response = ::m::Drive_go_Out;",
            "/// The service m::Drive_halt: a request and its response.",
            "struct Drive_halt {",
        ],
    );
}
