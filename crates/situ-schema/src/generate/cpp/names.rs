//! Names in C++: what must not be called as the schema calls it, and where each header lies.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use crate::files::interface_of;
use crate::model::{Name, TypeId};
use crate::{FileId, Schema};

/// Words that C++ reserves.
const KEYWORDS: &[&str] = &[
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "atomic_cancel",
    "atomic_commit",
    "atomic_noexcept",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "reflexpr",
    "register",
    "reinterpret_cast",
    "requires",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "synchronized",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
];

/// Names that the C library or a compiler defines as macros.
const MACROS: &[&str] = &[
    "BUFSIZ",
    "DOMAIN",
    "EDOM",
    "EOF",
    "ERANGE",
    "HUGE",
    "HUGE_VAL",
    "INFINITY",
    "NAN",
    "NULL",
    "OVERFLOW",
    "PLOSS",
    "RAND_MAX",
    "SIGABRT",
    "SIGFPE",
    "SIGILL",
    "SIGINT",
    "SIGSEGV",
    "SIGTERM",
    "SING",
    "TLOSS",
    "UNDERFLOW",
    "assert",
    "errno",
    "linux",
    "major",
    "minor",
    "offsetof",
    "stderr",
    "stdin",
    "stdout",
    "unix",
];

/// What every generated struct has besides its members.
const STRUCT_NAMES: &[&str] =
    &["S", "body_size", "bulk_lengths", "init_at", "layout_hash", "schema", "schema_hash"];

/// What every generated union has besides its members.
const UNION_NAMES: &[&str] = &[
    "D",
    "S",
    "alternative",
    "alternatives",
    "at",
    "cases",
    "discriminator",
    "discriminator_type",
    "get",
    "get_if",
    "holds",
    "index",
    "select",
    "set",
    "try_assign",
    "try_set",
    "visit_active",
];

/// A name that C++ takes: with an underscore behind it where C++ reserves it.
pub fn identifier(name: &str) -> String {
    let reserved = KEYWORDS.contains(&name) || MACROS.contains(&name) || name.starts_with("situ_");
    if reserved { format!("{name}_") } else { name.to_owned() }
}

/// The name of a member of the struct `of`.
pub fn member(name: &str, of: &str) -> String {
    let taken = STRUCT_NAMES.contains(&name) || name == template(of);
    if taken { format!("{name}_") } else { identifier(name) }
}

/// The name of a case of the union `of`.
pub fn case(name: &str, of: &str) -> String {
    let taken = UNION_NAMES.contains(&name) || name == template(of);
    if taken { format!("{name}_") } else { identifier(name) }
}

/// The name of the template of a type: `Image_`.
pub fn template(simple: &str) -> String {
    format!("{simple}_")
}

/// The namespace of a name: `sensor_msgs::msg`; empty for the global one.
pub fn namespace(name: &Name) -> String {
    name.modules().into_iter().map(identifier).collect::<Vec<_>>().join("::")
}

/// A qualified name, `simple` within the namespace of `name`.
pub fn qualified(name: &Name, simple: &str) -> String {
    match namespace(name) {
        empty if empty.is_empty() => format!("::{simple}"),
        namespace => format!("::{namespace}::{simple}"),
    }
}

/// `PointCloud2` to `point_cloud2`, as ROS 2 names its headers.
pub fn snake_case(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    let mut snake = String::with_capacity(name.len() + 4);
    for (at, &c) in chars.iter().enumerate() {
        let before = at.checked_sub(1).map(|it| chars[it]);
        let after = chars.get(at + 1);
        let begins_word = c.is_ascii_uppercase()
            && before.is_some_and(|it| {
                it.is_ascii_lowercase()
                    || it.is_ascii_digit()
                    || (it != '_' && after.is_some_and(char::is_ascii_lowercase))
            });
        if begins_word {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}

/// The header of every file that defines something, relative to the output folder. A ROS interface goes to
/// `<package>/<kind>/<name>.hpp`, IDL beneath one of the `roots` to the same place beneath the output folder, other
/// IDL to the output folder itself, with as many of its folders as it takes to keep headers apart.
pub fn headers(schema: &Schema, roots: &[PathBuf]) -> BTreeMap<FileId, PathBuf> {
    let files: BTreeSet<FileId> = (schema.definitions().map(|(id, _)| schema.file_of(id)))
        .chain(schema.constants().iter().map(|it| it.span.file))
        .collect();
    let mut headers = BTreeMap::new();
    let mut taken = BTreeSet::new();
    for file in files {
        let path = schema.sources().path(file);
        let folders = match interface_of(path) {
            Some(interface) => {
                let name = format!("{}/{}/{}", interface.package, interface.kind.folder(), interface.name);
                vec![snake_case_file(Path::new(&name))]
            }
            None => candidates(path, roots),
        };
        let fresh = folders.iter().find(|it| !taken.contains(*it)).or(folders.last());
        let Some(header) = fresh.cloned() else { continue };
        taken.insert(header.clone());
        headers.insert(file, header);
    }
    headers
}

fn snake_case_file(path: &Path) -> PathBuf {
    let stem = path.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    path.with_file_name(format!("{}.hpp", snake_case(&stem)))
}

/// The places that a header of an IDL file may get, the best first.
fn candidates(path: &Path, roots: &[PathBuf]) -> Vec<PathBuf> {
    let shipped = path.strip_prefix("<situ>").ok();
    let beneath = roots.iter().filter_map(|root| path.strip_prefix(root).ok());
    let best = shipped.into_iter().chain(beneath).min_by_key(|it| it.components().count());
    let parts: Vec<&Path> = path
        .components()
        .filter(|it| matches!(it, Component::Normal(_)))
        .map(|it| Path::new(it.as_os_str()))
        .collect();
    let suffix = |from: usize| parts[from..].iter().collect::<PathBuf>();
    let header = |it: PathBuf| it.with_extension("hpp");
    (best.map(Path::to_owned).into_iter()).chain((0..parts.len()).rev().map(suffix)).map(header).collect()
}

/// The simple name of a definition, as C++ takes it.
pub fn simple(schema: &Schema, id: TypeId) -> String {
    identifier(schema.name(id).simple())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snake_case_follows_ros() {
        let cases = [
            ("Image", "image"),
            ("PointCloud2", "point_cloud2"),
            ("UInt8MultiArray", "u_int8_multi_array"),
            ("TFMessage", "tf_message"),
            ("GetMap_Request", "get_map_request"),
            ("IDL", "idl"),
            ("BasicTypes", "basic_types"),
        ];
        for (name, expected) in cases {
            assert_eq!(snake_case(name), expected);
        }
    }

    #[test]
    fn reserved_names_get_an_underscore() {
        assert_eq!(identifier("class"), "class_");
        assert_eq!(identifier("NAN"), "NAN_");
        assert_eq!(identifier("height"), "height");
        assert_eq!(member("schema", "Image"), "schema_");
        assert_eq!(member("Image_", "Image"), "Image__");
        assert_eq!(case("index", "Shape"), "index_");
    }

    #[test]
    fn headers_lie_beneath_the_roots() {
        let roots = [PathBuf::from("/a"), PathBuf::from("/a/schema")];
        let first = |path: &str| candidates(Path::new(path), &roots).remove(0);
        assert_eq!(first("/a/schema/robot/arm.idl"), Path::new("robot/arm.hpp"));
        assert_eq!(first("/a/other/arm.idl"), Path::new("other/arm.hpp"));
        assert_eq!(first("/b/other/arm.idl"), Path::new("arm.hpp"));
        assert_eq!(first("<situ>/situ/common.idl"), Path::new("situ/common.hpp"));
        assert_eq!(candidates(Path::new("/b/arm.idl"), &roots)[1], Path::new("b/arm.hpp"));
    }
}
