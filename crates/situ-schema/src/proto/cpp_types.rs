//! What writers and readers in C++ have in common: names, types and literals.

use super::model::{Model, Scalar};

/// Words that are no names in C++, of those that could be a value's name.
const KEYWORDS: &[&str] = &[
    "alignas",
    "and",
    "asm",
    "auto",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "class",
    "concept",
    "const",
    "continue",
    "default",
    "delete",
    "do",
    "double",
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
    "not",
    "operator",
    "or",
    "private",
    "protected",
    "public",
    "register",
    "requires",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "struct",
    "switch",
    "template",
    "this",
    "throw",
    "true",
    "try",
    "typedef",
    "typename",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "while",
    "xor",
    "NULL",
    "EOF",
];

pub fn word(name: &str) -> String {
    if KEYWORDS.contains(&name) { format!("{name}_") } else { name.to_owned() }
}

/// The method of `message`, and the type in C++.
pub fn scalar(scalar: Scalar) -> (&'static str, &'static str) {
    match scalar {
        Scalar::Int32 => ("int32", "std::int32_t"),
        Scalar::Int64 => ("int64", "std::int64_t"),
        Scalar::Uint32 => ("uint32", "std::uint32_t"),
        Scalar::Uint64 => ("uint64", "std::uint64_t"),
        Scalar::Sint32 => ("sint32", "std::int32_t"),
        Scalar::Sint64 => ("sint64", "std::int64_t"),
        Scalar::Fixed32 => ("fixed32", "std::uint32_t"),
        Scalar::Fixed64 => ("fixed64", "std::uint64_t"),
        Scalar::Sfixed32 => ("sfixed32", "std::int32_t"),
        Scalar::Sfixed64 => ("sfixed64", "std::int64_t"),
        Scalar::Float => ("float32", "float"),
        Scalar::Double => ("float64", "double"),
        Scalar::Bool => ("boolean", "bool"),
    }
}

/// A message or enum from anywhere.
pub fn qualified(model: &Model, name: &str, suffix: &str) -> String {
    let place = &model.places[name];
    let package: String = place.package.iter().map(|it| format!("::{}", word(it))).collect();
    format!("{package}::{}{suffix}", place.path.join("_"))
}

/// The least number has no literal of its own.
pub fn int32(number: i32) -> String {
    if number == i32::MIN { "(-2147483647 - 1)".to_owned() } else { number.to_string() }
}
