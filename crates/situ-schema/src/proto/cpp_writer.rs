//! C++ writers for the messages of a `.proto` file.

use std::fmt::Write;

use super::cpp_names::Names;
use super::cpp_types::scalar;
use super::methods::Methods;
use super::model::{Field, Kind, Message, Scalar};

pub fn message(names: &Names, it: &Message, text: &mut String, bodies: &mut String) {
    let class = names.simple(&it.full_name, "Writer");
    let full = &it.full_name[1..];
    if let Some(other) = &it.extends {
        let _ = writeln!(
            text,
            "\n/// Writes `{full}`, an extension of `{}`, which this takes the place of.",
            &other[1..]
        );
        let _ =
            writeln!(text, "class [[nodiscard]] {class} : public ::situ::protobuf::extension {{\n public:");
        let other = names.qualified(other, "Writer");
        let _ = writeln!(text, "  explicit {class}({other}& extended) noexcept;");
        let _ = writeln!(
            bodies,
            "inline {class}::{class}({other}& extended) noexcept : ::situ::protobuf::extension(extended) {{}}"
        );
    } else {
        let _ = writeln!(text, "\n/// Writes a `{full}`.");
        let _ = writeln!(text, "class [[nodiscard]] {class} : public ::situ::protobuf::message {{\n public:");
        text.push_str("  using ::situ::protobuf::message::message;\n");
    }
    let methods = names.methods(it);
    for each in &it.fields {
        let _ = writeln!(text, "  /// `{}`, field {}.", each.name, each.number);
        field(names, &class, each, &methods[each.name.as_str()], text, bodies);
    }
    text.push_str("};\n");
}

fn field(names: &Names, class: &str, it: &Field, methods: &Methods, text: &mut String, bodies: &mut String) {
    let (number, set) = (it.number, &methods.set);
    if let Some(entry) = names.model.map_entry(it) {
        let writer = names.qualified(&entry.full_name, "Writer");
        let (key, value) = (&entry.fields[0], &entry.fields[1]);
        let (key_type, _) = value_type(names, &key.kind);
        let (value_type, _) = value_type(names, &value.kind);
        if matches!(value.kind, Kind::Message(_)) {
            // The entry, with its key; its value is to be set.
            let _ = writeln!(text, "  {writer} {set}();");
            let _ =
                writeln!(bodies, "inline {writer} {class}::{set}() {{ return {writer}(*this, {number}); }}");
        } else {
            let _ = writeln!(text, "  void {set}({key_type} key, {value_type} value);");
            let _ = writeln!(
                bodies,
                "inline void {class}::{set}({key_type} key, {value_type} value) {{\n  {writer} entry(*this, \
                 {number});\n  entry.set_key(key);\n  entry.set_value(value);\n}}"
            );
        }
        return;
    }
    if let Kind::Message(other) = &it.kind {
        let writer = names.qualified(other, "Writer");
        let _ = writeln!(text, "  {writer} {set}();");
        let number = if it.is_group {
            format!("::situ::protobuf::group_field{{{number}}}")
        } else {
            number.to_string()
        };
        let _ = writeln!(bodies, "inline {writer} {class}::{set}() {{ return {writer}(*this, {number}); }}");
        return;
    }
    let (kind, method) = value_type(names, &it.kind);
    if it.is_packed {
        let method = match &it.kind {
            Kind::Scalar(
                Scalar::Fixed32
                | Scalar::Fixed64
                | Scalar::Sfixed32
                | Scalar::Sfixed64
                | Scalar::Float
                | Scalar::Double
                | Scalar::Bool,
            ) => format!("packed_fixed<{kind}>"),
            Kind::Enum(_) => format!("packed_enumeration<{kind}>"),
            _ => format!("packed_{method}"),
        };
        let _ = writeln!(
            text,
            "  void {set}(::std::span<const {kind}> values) {{ {method}({number}, values); }}"
        );
        return;
    }
    let _ = writeln!(text, "  void {set}({kind} value) {{ {method}({number}, value); }}");
    if matches!(it.kind, Kind::String | Kind::Bytes) {
        let pieces = &methods.pieces;
        text.push_str("  /// In pieces.\n");
        let _ = writeln!(
            text,
            "  ::situ::protobuf::pieces {pieces}() {{ return ::situ::protobuf::pieces(*this, {number}); }}"
        );
    }
}

/// The type of a value as an argument, and the method that writes it.
fn value_type(names: &Names, kind: &Kind) -> (String, &'static str) {
    match kind {
        Kind::Scalar(it) => (scalar(*it).1.to_owned(), scalar(*it).0),
        Kind::String => ("::std::string_view".to_owned(), "string"),
        Kind::Bytes => ("::std::span<const ::std::uint8_t>".to_owned(), "bytes"),
        Kind::Enum(name) => (names.qualified(name, ""), "enumeration"),
        Kind::Message(name) => (names.qualified(name, "Writer"), "nested"),
    }
}
