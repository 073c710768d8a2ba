//! C++ writers for the messages of a `.proto` file.

use super::names::Names;
use super::types::scalar;
use crate::codegen::cpp::writer::CodeWriter;
use crate::proto::methods::Methods;
use crate::proto::model::{Field, Kind, Message, Scalar};

/// Writes the class of a message's writer; bodies that need other writers come later.
pub fn message(names: &Names, it: &Message, code: &mut CodeWriter, bodies: &mut CodeWriter) {
    let class = names.simple(&it.full_name, "Writer");
    let full = &it.full_name[1..];
    code.gap();
    let base = if it.extends.is_some() { "extension" } else { "message" };
    code.line(match &it.extends {
        Some(other) => {
            format!("/// Writes `{full}`, an extension of `{}`, which this takes the place of.", &other[1..])
        }
        None => format!("/// Writes a `{full}`."),
    });
    code.line(format!("class [[nodiscard]] {class} : public ::situ::protobuf::{base} {{"));
    code.line(" public:");
    code.indent();
    if let Some(other) = &it.extends {
        let other = names.qualified(other, "Writer");
        code.line(format!("explicit {class}({other}& extended) noexcept;"));
        bodies.line(format!(
            "inline {class}::{class}({other}& extended) noexcept : ::situ::protobuf::extension(extended) {{}}"
        ));
    } else {
        code.line("using ::situ::protobuf::message::message;");
    }
    let methods = names.methods(it);
    for each in &it.fields {
        code.line(format!("/// `{}`, field {}.", each.name, each.number));
        field(names, &class, each, &methods[each.name.as_str()], code, bodies);
    }
    code.dedent();
    code.line("};");
}

fn field(
    names: &Names,
    class: &str,
    it: &Field,
    methods: &Methods,
    code: &mut CodeWriter,
    bodies: &mut CodeWriter,
) {
    let (number, set) = (it.number, &methods.set);
    if let Some(entry) = names.model.map_entry(it) {
        return map_field(names, class, (it, entry), set, code, bodies);
    }
    if let Kind::Message(other) = &it.kind {
        let writer = names.qualified(other, "Writer");
        code.line(format!("{writer} {set}();"));
        let number = if it.is_group {
            format!("::situ::protobuf::group_field{{{number}}}")
        } else {
            number.to_string()
        };
        bodies.line(format!("inline {writer} {class}::{set}() {{ return {writer}(*this, {number}); }}"));
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
        code.line(format!("void {set}(::std::span<const {kind}> values) {{ {method}({number}, values); }}"));
        return;
    }
    code.line(format!("void {set}({kind} value) {{ {method}({number}, value); }}"));
    if matches!(it.kind, Kind::String | Kind::Bytes) {
        let pieces = &methods.pieces;
        code.line("/// In pieces.");
        code.line(format!(
            "::situ::protobuf::pieces {pieces}() {{ return ::situ::protobuf::pieces(*this, {number}); }}"
        ));
    }
}

/// The setter of a map's entry.
fn map_field(
    names: &Names,
    class: &str,
    (it, entry): (&Field, &Message),
    set: &str,
    code: &mut CodeWriter,
    bodies: &mut CodeWriter,
) {
    let number = it.number;
    let writer = names.qualified(&entry.full_name, "Writer");
    let [key, value] = [0, 1].map(|at: usize| &entry.fields[at]);
    let (key_type, _) = value_type(names, &key.kind);
    let (value_type, _) = value_type(names, &value.kind);
    if matches!(value.kind, Kind::Message(_)) {
        // The caller sets the key and the value of the entry.
        code.line(format!("{writer} {set}();"));
        bodies.line(format!("inline {writer} {class}::{set}() {{ return {writer}(*this, {number}); }}"));
        return;
    }
    code.line(format!("void {set}({key_type} key, {value_type} value);"));
    bodies.line(format!("inline void {class}::{set}({key_type} key, {value_type} value) {{"));
    bodies.indent();
    bodies.line(format!("{writer} entry(*this, {number});"));
    bodies.line("entry.set_key(key);");
    bodies.line("entry.set_value(value);");
    bodies.dedent();
    bodies.line("}");
}

/// How a writer takes a value: its type in C++, and the method of `message`.
fn value_type(names: &Names, kind: &Kind) -> (String, &'static str) {
    match kind {
        Kind::Scalar(it) => (scalar(*it).1.to_owned(), scalar(*it).0),
        Kind::String => ("::std::string_view".to_owned(), "string"),
        Kind::Bytes => ("::std::span<const ::std::uint8_t>".to_owned(), "bytes"),
        Kind::Enum(name) => (names.qualified(name, ""), "enumeration"),
        Kind::Message(name) => (names.qualified(name, "Writer"), "nested"),
    }
}
