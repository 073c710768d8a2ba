//! Words that generated C++ code may not use as names, whether it is generated from IDL, from ROS interfaces
//! or from `.proto` files.

use std::collections::HashSet;
use std::sync::LazyLock;

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
    "typeof",
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

/// Macros that compilers, the C library and the C++ library define in the headers that Situ's headers
/// include, in older versions too. Made with `g++ -E -dM`.
const MACROS: &str = include_str!("macros.txt");

/// Names in the global namespace of these headers: types and functions of the C library, and `std`.
const GLOBALS: &str = include_str!("globals.txt");

/// Whether this is a word of C++, or a macro.
pub fn is_word(name: &str) -> bool {
    static MACRO_NAMES: LazyLock<HashSet<&str>> = LazyLock::new(|| MACROS.split_whitespace().collect());
    KEYWORDS.contains(&name) || MACRO_NAMES.contains(name)
}

/// Whether no identifier may have this name.
pub fn is_reserved(name: &str) -> bool {
    let behind = name.len() - name.trim_end_matches('_').len();
    is_word(name)
        || (name.starts_with("situ_") || name.starts_with("SITU_")) && behind == 0
        || is_compilers(name) && (behind == 0 || behind == 2)
}

/// Whether the name is reserved for compilers and their libraries: `__x`, `_X`, `__x__`.
pub fn is_compilers(name: &str) -> bool {
    name.strip_prefix('_').is_some_and(|it| it.starts_with(|it: char| it == '_' || it.is_ascii_uppercase()))
}

/// Whether nothing in the global namespace may have this name.
pub fn is_global(name: &str) -> bool {
    static GLOBAL_NAMES: LazyLock<HashSet<&str>> = LazyLock::new(|| GLOBALS.split_whitespace().collect());
    GLOBAL_NAMES.contains(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_others_are_reserved() {
        for name in
            ["typeid", "nullptr", "NAN", "OVERFLOW", "errno", "__FILE__", "_Bool", "__x", "situ_x", "SITU_X"]
        {
            assert!(is_reserved(name), "{name}");
            let name = format!("{name}_");
            assert!(!is_reserved(&name), "{name}");
        }
        for name in ["_x", "x", "x_", "Situ", "_", "size_t", "std"] {
            assert!(!is_reserved(name), "{name}");
        }
        assert!(is_global("std") && is_global("time"));
    }
}
