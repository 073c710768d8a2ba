//! Python code: which files there are, what they are called, and that types are not lost.

use situ_schema::codegen::{Language, Options, generate, lost_python_types};
use situ_schema::{Format, Loader};

fn files(options: &Options, text: &str) -> Vec<(String, String)> {
    let schema = Loader::new().sealed().text("a.idl", text, Format::Idl).load();
    let schema = schema.unwrap_or_else(|error| panic!("{}", error.render(false)));
    let files = generate(&schema, options).into_iter();
    files.map(|it| (it.path.display().to_string(), it.text)).collect()
}

fn text_of(files: &[(String, String)], path: &str) -> String {
    let found = files.iter().find(|(it, _)| it == path);
    found
        .unwrap_or_else(|| panic!("no {path} in {:?}", files.iter().map(|it| &it.0).collect::<Vec<_>>()))
        .1
        .clone()
}

#[test]
fn modules_are_packages() {
    let text = "struct Top { long x; }; module a { module b { struct P { Top top; }; }; };";
    let names =
        |options: &Options| -> Vec<String> { files(options, text).into_iter().map(|it| it.0).collect() };
    let plain = Options::new(Language::Python);
    assert_eq!(
        names(&plain),
        ["a/__init__.py", "a/b/__init__.py", "a/b/__init__.pyi", "messages.py", "messages.pyi"]
    );
    let inner = Options { namespace: "my::own".into(), ..plain };
    assert_eq!(
        names(&inner),
        [
            "my/__init__.py",
            "my/own/__init__.py",
            "my/own/a/__init__.py",
            "my/own/a/b/__init__.py",
            "my/own/a/b/__init__.pyi",
            "my/own/messages.py",
            "my/own/messages.pyi"
        ]
    );
    let files = files(&inner, text);
    assert!(text_of(&files, "my/own/a/b/__init__.pyi").contains("import my.own.messages as _messages\n"));
    assert!(text_of(&files, "my/own/a/b/__init__.py").contains("{\"\": \"messages\"},"));
}

#[test]
fn names_that_python_reserves_get_underscores() {
    let text = "module situ { module class {
        enum E { None, name, _mro, plain };
        struct lambda { long from; long self; long copy; long int; long copy_; long __x; E e; sequence<lambda> rest; };
        union U switch (long) { case 1: long def; case 2: long other; };
        struct U_other { long x; };
    }; };";
    let files = files(&Options::new(Language::Python), text);
    let source = text_of(&files, "situ_/class_/__init__.py");
    for line in [
        "    None_ = 0",
        "    name_ = 1",
        "    mro_ = 2",
        "    plain = 3",
        "class lambda_(_generated.Message):",
        "    __match_args__ = (\"from_\", \"self_\", \"copy__\", \"int\", \"copy_\", \"_x___\", \"e\", \"rest\")",
        "    from_ = _generated.Member(0, \"from\", \"`from`: int32\")",
        // The schema's own name stays, and the derived one gives way.
        "class U_other(_generated.Message):",
        "class U_other_(U):",
        "class U_def(U):",
    ] {
        assert!(source.lines().any(|it| it == line), "{line}\n{source}");
    }
    let stub = text_of(&files, "situ_/class_/__init__.pyi");
    assert!(stub.contains("    from_: _builtins.int\n"), "{stub}");
    assert!(stub.contains("    rest: _generated.Field[_t.List[lambda_], "), "{stub}");
}

#[test]
fn types_that_a_new_file_lacks_are_named() {
    let of = |text: &str| text_of(&files(&Options::new(Language::Python), text), "m/__init__.py");
    let (both, one) = (
        of("module m { struct A { long x; }; struct B { long x; }; };"),
        of("module m { struct A { long x; }; };"),
    );
    assert_eq!(lost_python_types(&both, &one), Some(vec!["B".to_owned()]));
    assert_eq!(lost_python_types(&one, &both), Some(vec![]));
    assert_eq!(lost_python_types("import os\n", &one), None);
}
