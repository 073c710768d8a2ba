//! C++ writers for the messages of a `.proto` file.

use std::fmt::Write;

use super::cpp_types::{qualified, scalar};
use super::model::{Field, Kind, Message, Model, Scalar};

pub fn class(path: &[String]) -> String {
    format!("{}Writer", path.join("_"))
}

pub fn message(model: &Model, it: &Message, text: &mut String, bodies: &mut String) {
    let class = class(&it.path);
    let full = &it.full_name[1..];
    if let Some(other) = &it.extends {
        let _ = writeln!(
            text,
            "\n/// Writes `{full}`, an extension of `{}`, which this takes the place of.",
            &other[1..]
        );
        let _ =
            writeln!(text, "class [[nodiscard]] {class} : public ::situ::protobuf::extension {{\n public:");
        let other = qualified(model, other, "Writer");
        let _ = writeln!(text, "  explicit {class}({other}& extended) noexcept;");
        let _ = writeln!(
            bodies,
            "inline {class}::{class}({other}& extended) noexcept : ::situ::protobuf::extension(extended) {{}}"
        );
    } else {
        let _ = writeln!(text, "\n/// Writes a `{full}`.");
        let _ = writeln!(text, "class [[nodiscard]] {class} : public ::situ::protobuf::message {{\n public:");
        text.push_str("  using message::message;\n");
    }
    for each in &it.fields {
        let _ = writeln!(text, "  /// `{}`, field {}.", each.name, each.number);
        field(model, &class, each, text, bodies);
    }
    text.push_str("};\n");
}

fn field(model: &Model, class: &str, it: &Field, text: &mut String, bodies: &mut String) {
    let (name, number) = (&it.name, it.number);
    if let Some(entry) = model.map_entry(it) {
        let writer = self::class(&entry.path);
        let (key, value) = (&entry.fields[0], &entry.fields[1]);
        let (key_type, _) = value_type(model, &key.kind);
        let (value_type, _) = value_type(model, &value.kind);
        if matches!(value.kind, Kind::Message(_)) {
            // The entry, with its key; its value is to be set.
            let _ = writeln!(text, "  {writer} add_{name}();");
            let _ = writeln!(
                bodies,
                "inline {writer} {class}::add_{name}() {{ return {writer}(*this, {number}); }}"
            );
        } else {
            let _ = writeln!(text, "  void add_{name}({key_type} key, {value_type} value);");
            let _ = writeln!(
                bodies,
                "inline void {class}::add_{name}({key_type} key, {value_type} value) {{\n  {writer} entry(*this, \
                 {number});\n  entry.set_key(key);\n  entry.set_value(value);\n}}"
            );
        }
        return;
    }
    let verb = if it.is_repeated && !it.is_packed { "add" } else { "set" };
    if let Kind::Message(other) = &it.kind {
        let writer = qualified(model, other, "Writer");
        let _ = writeln!(text, "  {writer} {verb}_{name}();");
        let number = if it.is_group {
            format!("::situ::protobuf::group_field{{{number}}}")
        } else {
            number.to_string()
        };
        let _ = writeln!(
            bodies,
            "inline {writer} {class}::{verb}_{name}() {{ return {writer}(*this, {number}); }}"
        );
        return;
    }
    let (kind, method) = value_type(model, &it.kind);
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
            "  void set_{name}(std::span<const {kind}> values) {{ {method}({number}, values); }}"
        );
        return;
    }
    let _ = writeln!(text, "  void {verb}_{name}({kind} value) {{ {method}({number}, value); }}");
    if matches!(it.kind, Kind::String | Kind::Bytes) {
        text.push_str("  /// In pieces.\n");
        let _ = writeln!(
            text,
            "  ::situ::protobuf::pieces {verb}_{name}_in_pieces() {{ return ::situ::protobuf::pieces(*this, {number}); }}"
        );
    }
}

/// The type of a value as an argument, and the method that writes it.
fn value_type(model: &Model, kind: &Kind) -> (String, &'static str) {
    match kind {
        Kind::Scalar(it) => (scalar(*it).1.to_owned(), scalar(*it).0),
        Kind::String => ("std::string_view".to_owned(), "string"),
        Kind::Bytes => ("std::span<const std::uint8_t>".to_owned(), "bytes"),
        Kind::Enum(name) => (qualified(model, name, ""), "enumeration"),
        Kind::Message(name) => (qualified(model, name, "Writer"), "nested"),
    }
}
