//! The generated files that are checked in are up to date. With `SITU_BLESS=1` in the environment, the test
//! writes them.

use std::path::Path;

use situ_schema::Loader;
use situ_schema::codegen::{Language, Options, generate};

/// Folders with a file `messages.idl`, and the path under which the code in `messages.rs` finds Situ.
const FOLDERS: [(&str, &str); 2] = [
    ("crates/situ-bus/tests/messages", "crate::common::messages::situ"),
    ("crates/situ-layout/tests/messages", "crate::messages::situ"),
];

/// The definitions of generated Python code, the folder of the code, and the package around it.
const PYTHON: [(&str, &str, &str); 1] = [("python/tests/typed/shop.idl", "python/tests/typed", "generated")];

fn check(path: &Path, text: &str) {
    if std::env::var_os("SITU_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    assert!(found == *text, "{} is not what the generator writes: set SITU_BLESS=1", path.display());
}

#[test]
fn generated_python_is_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (file, folder, namespace) in PYTHON {
        let schema = Loader::new().sealed().file(root.join(file)).load();
        let schema = schema.unwrap_or_else(|error| panic!("{}", error.render(false)));
        let options = Options { namespace: namespace.into(), ..Options::new(Language::Python) };
        let files = generate(&schema, &options);
        assert!(!files.is_empty());
        for file in files {
            check(&root.join(folder).join(file.path), &file.text);
        }
    }
}

#[test]
fn generated_files_are_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (folder, situ_path) in FOLDERS {
        let folder = root.join(folder);
        let schema = Loader::new().sealed().file(folder.join("messages.idl")).load();
        let schema = schema.unwrap_or_else(|error| panic!("{}", error.render(false)));
        let options = Options { situ_path: situ_path.into(), ..Options::new(Language::Rust) };
        let (path, text) = (folder.join("messages.rs"), &generate(&schema, &options)[0].text);
        check(&path, text);
    }
}
