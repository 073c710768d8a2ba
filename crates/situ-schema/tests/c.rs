//! The C generator: its headers compile without warnings as C11 and as C++, whatever the names are, and read
//! the bytes of the vectors.

use std::path::{Path, PathBuf};
use std::process::Command;

use situ_schema::codegen::{Language, Options, c_obstacle, c_omissions, generate};
use situ_schema::{Format, Loader, Schema};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn load(loader: Loader) -> Schema {
    loader.load().unwrap_or_else(|error| panic!("{}", error.render(false)))
}

fn text(text: &str) -> Schema {
    load(Loader::new().sealed().text("a.idl", text, Format::Idl))
}

/// Writes the headers of a schema, and a source file that includes them all.
fn write(name: &str, schema: &Schema) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("c_{name}"));
    let _ = std::fs::remove_dir_all(&folder);
    let mut all = String::new();
    for file in generate(schema, &Options::new(Language::C)) {
        let path = folder.join(&file.path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &file.text).unwrap();
        all.push_str(&format!("#include \"{}\"\n", file.path.display()));
    }
    all.push_str("int main(void) { return 0; }\n");
    std::fs::write(folder.join("all.c"), &all).unwrap();
    std::fs::write(folder.join("all.cpp"), &all).unwrap();
    folder
}

/// Runs a compiler, if it is there.
fn compile(compiler: &str, folder: &Path, arguments: &[&str]) -> bool {
    let include = root().join("cpp/include");
    let warnings = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-Wshadow", "-Wconversion"];
    let output = Command::new(compiler)
        .args(arguments)
        .args(warnings)
        .arg("-I")
        .arg(folder)
        .arg("-I")
        .arg(include)
        .current_dir(folder)
        .output();
    let Ok(output) = output else { return false };
    assert!(output.status.success(), "{compiler}: {}", String::from_utf8_lossy(&output.stderr));
    true
}

fn compiles(name: &str, schema: &Schema) {
    let folder = write(name, schema);
    assert!(compile("cc", &folder, &["-std=c11", "-fsyntax-only", "all.c"]));
    assert!(compile("c++", &folder, &["-std=c++20", "-fsyntax-only", "all.cpp"]));
    compile("clang", &folder, &["-std=c11", "-fsyntax-only", "all.c"]);
    compile("clang++", &folder, &["-std=c++20", "-fsyntax-only", "all.cpp"]);
}

#[test]
fn headers_compile_as_c_and_as_cpp() {
    compiles("kitchen", &load(Loader::new().file(root().join("spec/vectors/kitchen.idl"))));
    compiles("sensor", &load(Loader::new().file(root().join("schema/situ/sensor.idl"))));
    compiles(
        "edges",
        &load(
            Loader::new()
                .include(root().join("schema"))
                .file(root().join("tests/generated/schema/edges.idl")),
        ),
    );
}

#[test]
fn any_name_compiles() {
    let names = root().join("tests/generated/schema/hostile/names.idl");
    compiles("hostile", &load(Loader::new().file(names)));
    compiles(
        "hostile_c",
        &text(
            "const long message = 5; const double loan = 1.5; const string error = \"x\"; enum INT8 { MAX, restrict };
             module size { @flat struct t { long restrict; long I; long linux; long complex; long NULL; }; };
             @flat struct subscriber { long sample; @bulk sequence<long> type; @bulk sequence<long> take; };
             @flat struct a { @bulk sequence<octet> x; @bulk sequence<octet> x_mut; };
             @flat struct outer { a a_; @bulk sequence<octet> a__x; };
             module situ { @flat struct node { long x; }; }; @bit_bound(64) bitmask value { it, @position(63) count };",
        ),
    );
}

/// A program in C selects a case by its name, where one number selects it.
#[test]
fn the_cases_of_a_union_have_constants() {
    let schema = text(
        "union U switch (long) { case -3: long a; case 4: case 5: double b; case 6: default: octet c; };
         union Wide switch (long long) { case 5000000000: long a; case 7: long check; };
         union Letter switch (char) { case 'x': long a; }; union Truth switch (boolean) { case TRUE: long a; };
         @flat struct S { U u; Wide wide; Letter letter; Truth truth; };",
    );
    let header = &generate(&schema, &Options::new(Language::C))[0].text;
    let constants: Vec<&str> =
        header.lines().map(str::trim).filter(|line| line.contains("_case_") && line.ends_with(',')).collect();
    assert_eq!(constants, ["U_case_a = -3,", "Wide_case_check = 7,"]);
    compiles("cases", &schema);
}

/// The vectors lie in memory as the structs say, and what is damaged is refused.
#[test]
fn structs_are_those_of_the_vectors() {
    let folder = write("vectors", &load(Loader::new().file(root().join("spec/vectors/kitchen.idl"))));
    std::fs::copy(root().join("crates/situ-schema/tests/c/vectors.c"), folder.join("vectors.c")).unwrap();
    assert!(compile(
        "cc",
        &folder,
        &["-std=c11", "-g", "-O1", "-fsanitize=undefined", "vectors.c", "-o", "vectors"]
    ));
    let output = Command::new(folder.join("vectors")).arg(root().join("spec/vectors/flat")).output().unwrap();
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn what_c_cannot_have_is_refused_with_a_sentence() {
    let schema = text(
        "struct Note { string text; }; @flat struct Pose { double x; }; @region struct Tree { long x; };",
    );
    assert_eq!(c_obstacle(&schema), None);
    assert_eq!(
        c_omissions(&schema),
        [
            "Note: `text` is an unbounded string, and C has flat types only",
            "Tree is a region, and C has flat types only"
        ]
    );
    let header = &generate(&schema, &Options::new(Language::C))[0];
    assert_eq!(header.path, Path::new("a.h"));
    assert!(
        header
            .text
            .contains("/* Left out: Note: `text` is an unbounded string, and C has flat types only. */")
    );
    assert!(header.text.contains("typedef struct Pose {") && !header.text.contains("struct Note"));
    assert_eq!(
        c_obstacle(&text("struct Note { string text; };")).unwrap(),
        "no type is left for C: Note: `text` is an unbounded string, and C has flat types only; use --lang rust or --lang \
         cpp for such types"
    );
}
