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
fn packages_do_not_hide_modules_of_python() {
    let of = |name: &str| {
        let text = format!("module {name} {{ struct P {{ long x; }}; }};");
        files(&Options::new(Language::Python), &text).remove(0).0
    };
    // Python itself imports the first ones, and numpy the others.
    for name in ["copyreg", "genericpath", "posixpath", "contextvars", "difflib", "dis", "opcode", "trace"] {
        assert_eq!(of(name), format!("{name}_/__init__.py"));
    }
    assert_eq!(of("position"), "position/__init__.py");
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

#[test]
fn hostile_names_keep_files_and_names_apart() {
    // Modules that Python reserves beside modules of the names that they get, a module beside a class that is
    // called so, a module whose name is that of the file, and modules whose joined names are the same.
    let text = "struct Top { long x; };
        module os { struct A { long x; }; };
        module os_ { struct B { long x; }; module class { struct C { long x; }; }; struct class_ { long x; }; };
        module messages { struct D { Top top; }; };
        module generated { struct Base { long x; }; };
        module t { struct E { long x; }; };
        module a { module b_c { struct F { long x; }; }; };
        module a_b { module c { struct G { long x; }; }; };
        module use {
            struct H : generated::Base { t::E e; a::b_c::F f; a_b::c::G g; };
            struct list { long list; };
            struct I { list of; long t_; };
            const long property = 3;
        };";
    let files = files(&Options::new(Language::Python), text);
    let paths: Vec<&str> = files.iter().map(|it| it.0.as_str()).filter(|it| it.ends_with(".pyi")).collect();
    assert_eq!(
        paths,
        [
            "a/b_c/__init__.pyi",
            "a_b/c/__init__.pyi",
            "generated/__init__.pyi",
            "messages/__init__.pyi",
            "messages_.pyi",
            "os_/__init__.pyi",
            "os_/class__/__init__.pyi",
            "os__/__init__.pyi",
            "t/__init__.pyi",
            "use/__init__.pyi"
        ]
    );
    let (source, stub) = (text_of(&files, "use/__init__.py"), text_of(&files, "use/__init__.pyi"));
    assert!(source.contains("import generated as _generated_\n"), "{source}");
    assert!(source.contains("class H(_generated_.Base):\n"), "{source}");
    for line in [
        "import t as _t_\n",
        "import a.b_c as _a_b_c\n",
        "import a_b.c as _a_b_c_\n",
        "    g: _generated.Field[_a_b_c_.G, ",
        "    e: _generated.Field[_t_.E, ",
        "_list = list\n",
        "    list: _builtins.int\n",
    ] {
        assert!(stub.contains(line), "{line}\n{stub}");
    }
}

#[test]
fn documentation_does_not_become_code() {
    let hostile = "a\"\"\"\nimport os; os.abort()\n\u{202e}\u{2066}\\\" \\\n";
    let comment: String = hostile.lines().map(|it| format!("/// {it}\n")).collect();
    let text = format!(
        "module m {{ {comment} enum E {{ {comment} A }}; {comment} struct S {{ {comment} @unit(\"\\\"\\\"\\\"\\\\\") long x; }};
         {comment} exception X {{ {comment} string s; }}; const string C = \"\\\"\\\"\\\"\\\\\";
         {comment} interface I {{ {comment} void f(in long a) raises (X); }}; }};"
    );
    for (path, text) in files(&Options::new(Language::Python), &text) {
        assert!(!text.contains(['\u{202e}', '\u{2066}']), "{path}");
        // Without escapes, texts begin and end in turns, and what is outside of them is not the comment.
        let plain = text.replace("\\\\", "").replace("\\\"", "");
        let mut outside = String::new();
        for (at, part) in plain.split("\"\"\"").enumerate() {
            if at % 2 == 0 {
                outside += part;
            }
        }
        assert!(!outside.contains("\nimport os") && !outside.contains(" abort"), "{path}\n{outside}");
    }
}

#[test]
fn interfaces_are_classes_with_clients() {
    let text = "module m {
        /// It is late.
        exception Closed { string reason; long args; };
        exception Lost {};
        /// Counts.
        interface Base { long count(); };
        interface Till : Base {
            /// Adds.
            double add(in double a, in double from, in long timeout);
            void reset();
            long divide(in long a, out long rest) raises (Closed, Lost);
            void close();
        };
    };";
    let files = files(&Options::new(Language::Python), text);
    let (source, stub) = (text_of(&files, "m/__init__.py"), text_of(&files, "m/__init__.pyi"));
    for lines in [
        "class Till(_generated.Interface):\n    \"\"\"The interface m::Till.\"\"\"\n\n    __situ_operations__ = (\n        \
         _generated.Operation(\"add\", \"add\", Till_add),\n        _generated.Operation(\"reset\", \"reset\", Till_reset),\n        \
         _generated.Operation(\"divide\", \"divide\", Till_divide, raises=True),\n        \
         _generated.Operation(\"close_\", \"close\", Till_close),\n        \
         _generated.Operation(\"count\", \"count\", Till_count),\n    )\n",
        "class ClosedError(_generated.RaisedError[Closed]):\n    \"\"\"It is late.\"\"\"\n\n    Message = Closed\n",
    ] {
        assert!(source.contains(lines), "{lines}\n{source}");
    }
    for lines in [
        "    def add(self, a: float, from_: float, timeout_: int) -> _generated.Result[float]:\n        \"\"\"Adds.\"\"\"\n",
        "    def reset(self) -> _generated.Result[None]: ...\n",
        "    def divide(self, a: int) -> _generated.Result[_t.Union[Till_divide_Out, _t.Mapping[str, _t.Any]]]:\n        \
         \"\"\"Raises `ClosedError`, `LostError`.\"\"\"\n",
        "        def divide(self, a: int, *, timeout: _t.Optional[float] = ...) -> Till_divide_Out: ...\n",
        "        async def close_(self, *, timeout: _t.Optional[float] = ...) -> None: ...\n",
        "        async def count(self, *, timeout: _t.Optional[float] = ...) -> int: ...\n",
        "    Message: _t.Type[Closed]\n    reason: str\n    def __init__(\n        self,\n        message: \
         _t.Optional[Closed] = ...,\n        /,\n        *,\n        reason: str = ...,\n        args: int = ...,\n    ) -> None: ...\n",
        "    def __init__(self, message: _t.Optional[Lost] = ...) -> None: ...\n",
    ] {
        assert!(stub.contains(lines), "{lines}\n{stub}");
    }
}

#[test]
fn containers_of_regions_can_be_changed() {
    let text = "module m { @region struct R { sequence<string> names; map<string, long> ages; }; };";
    let stub = text_of(&files(&Options::new(Language::Python), text), "m/__init__.pyi");
    assert!(stub.contains("names: _generated.Field[_t.MutableSequence[str], _t.Iterable[str]]"), "{stub}");
    assert!(
        stub.contains("ages: _generated.Field[_t.MutableMapping[str, int], _t.Mapping[str, int]]"),
        "{stub}"
    );
}
