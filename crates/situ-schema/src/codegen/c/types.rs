//! Types and values in C, and assertions of their layout.

use super::names::{Named, labels};
use crate::codegen::cpp::types::{integer, text_literal};
use crate::codegen::cpp::writer::CodeWriter;
use crate::model::{Kind, Literal, Member, Primitive, Type, TypeId};

/// A documentation comment, unless the text is empty.
pub fn docs(code: &mut CodeWriter, text: &str) {
    let text = text.trim_end().replace("*/", "* /").replace("/*", "/ *");
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    for (at, line) in lines.iter().enumerate() {
        let (start, end) =
            (if at == 0 { "/*" } else { " *" }, if at + 1 == lines.len() { " */" } else { "" });
        let space = if line.is_empty() { "" } else { " " };
        code.line(format!("{start}{space}{line}{end}"));
    }
}

/// A primitive.
pub fn primitive(of: Primitive) -> &'static str {
    match of {
        Primitive::Bool => "bool",
        Primitive::I8 => "int8_t",
        Primitive::U8 => "uint8_t",
        Primitive::I16 => "int16_t",
        Primitive::U16 | Primitive::WChar => "uint16_t",
        Primitive::I32 => "int32_t",
        Primitive::U32 => "uint32_t",
        Primitive::I64 => "int64_t",
        Primitive::U64 => "uint64_t",
        Primitive::F32 => "float",
        Primitive::F64 => "double",
        Primitive::Char8 => "char",
    }
}

/// A declaration of something of this type. `declarator` is its name, or begins with `*` for a pointer.
pub fn declare(schema: &Named, ty: &Type, declarator: &str) -> String {
    match ty {
        Type::Primitive(of) => format!("{} {declarator}", primitive(*of)),
        Type::String { bound } => {
            format!(
                "struct {{ uint32_t len; char data[{}]; }} {declarator}",
                u64::from(bound.unwrap_or(0)) + 1
            )
        }
        Type::WString { bound } => {
            format!(
                "struct {{ uint32_t len; uint16_t data[{}]; }} {declarator}",
                u64::from(bound.unwrap_or(0)) + 1
            )
        }
        Type::Sequence { element, bound } => {
            let data = declare(schema, element, &format!("data[{}]", bound.unwrap_or(0)));
            format!("struct {{ uint32_t len; {data}; }} {declarator}")
        }
        Type::Array { element, dimensions } => {
            let lengths: String = dimensions.iter().map(|it| format!("[{it}]")).collect();
            let inner =
                if declarator.starts_with('*') { format!("({declarator})") } else { declarator.to_owned() };
            declare(schema, element, &format!("{inner}{lengths}"))
        }
        Type::Map { key, value, bound } => {
            let (key, value) = (declare(schema, key, "key"), declare(schema, value, "value"));
            let bound = bound.unwrap_or(0);
            format!("struct {{ uint32_t len; struct {{ {key}; {value}; }} data[{bound}]; }} {declarator}")
        }
        Type::Named(id) => format!("{} {declarator}", schema.type_name(*id)),
    }
}

/// The declaration of a member.
fn declare_member(schema: &Named, member: &Member, name: &str) -> String {
    if member.bulk {
        return format!("situ_bulk {name}");
    }
    if member.optional {
        return format!("struct {{ uint8_t present; {}; }} {name}", declare(schema, &member.ty, "value"));
    }
    declare(schema, &member.ty, name)
}

/// A definition, with assertions of its layout.
pub fn definition(code: &mut CodeWriter, schema: &Named, id: TypeId) {
    let definition = schema.definition(id);
    let name = schema.type_name(id);
    docs(code, &definition.docs);
    match &definition.kind {
        Kind::Enum(it) => {
            code.line(format!("typedef int32_t {name};"));
            code.line("enum {");
            code.indent();
            for enumerator in &it.enumerators {
                docs(code, &enumerator.docs);
                let value = integer(Primitive::I32, enumerator.value.into());
                code.line(format!("{name}_{} = {value},", enumerator.name));
            }
            code.dedent();
            code.line("};");
        }
        Kind::Bitmask(it) => {
            let storage = primitive(it.storage());
            code.line(format!("typedef {storage} {name};"));
            for flag in &it.flags {
                docs(code, &flag.docs);
                let value = format!("({storage})(UINT64_C(1) << {})", flag.position);
                code.line(format!("static const {storage} {name}_{} = {value};", flag.name));
            }
        }
        Kind::Alias(ty) => code.line(format!("typedef {};", declare(schema, ty, name))),
        Kind::Struct(it) => {
            let members = schema.members(id);
            code.line(format!("typedef struct {name} {{"));
            code.indent();
            if let Some(base) = it.base {
                code.line(format!("{} base;", schema.type_name(base)));
            }
            for member in &it.members {
                member_docs(code, schema, member);
                code.line(format!("{};", declare_member(schema, member, members.get(&member.name))));
            }
            code.dedent();
            code.line(format!("}} {name};"));
        }
        Kind::Union(it) => {
            let members = schema.members(id);
            code.line(format!("typedef struct {name} {{"));
            code.indent();
            code.line("/* Selects the member of `value` that is there. */");
            code.line(format!("{};", declare(schema, &it.discriminator, "discriminator")));
            code.line("union {");
            code.indent();
            for case in &it.cases {
                member_docs(code, schema, &case.member);
                code.line(format!("{};", declare(schema, &case.member.ty, members.get(&case.member.name))));
            }
            code.dedent();
            code.line("} value;");
            code.dedent();
            code.line(format!("}} {name};"));
            let labels = labels(it);
            if !labels.is_empty() {
                code.line("/* Values of `discriminator`, by the member of `value` that they select. */");
                code.line("enum {");
                code.indent();
                for (end, value) in labels {
                    code.line(format!("{name}{end} = {},", integer(Primitive::I32, value.into())));
                }
                code.dedent();
                code.line("};");
            }
        }
    }
    assertions(code, schema, id);
}

/// The documentation of a member: with its unit, and what C's type does not say.
fn member_docs(code: &mut CodeWriter, schema: &Named, member: &Member) {
    let mut lines = member.docs.trim_end().to_owned();
    let mut add = |text: String| {
        if !lines.is_empty() {
            lines.push('\n');
        }
        lines.push_str(&text);
    };
    if let Some(unit) = &member.unit {
        add(format!("Unit: {unit}."));
    }
    match schema.resolve(&member.ty) {
        Type::Sequence { .. } if member.bulk => add("Lies in the body.".into()),
        Type::Map { .. } => add("The keys ascend, and each is there once.".into()),
        _ => {}
    }
    docs(code, &lines);
}

/// Assertions that the C compiler and the model agree on a layout.
fn assertions(code: &mut CodeWriter, schema: &Named, id: TypeId) {
    let Some(layout) = schema.flat_layout(id) else { return };
    let (name, members) = (schema.type_name(id), schema.members(id));
    let mut assert = |what: &str, value: u64| {
        code.line(format!("SITU_STATIC_ASSERT({what} == {value}, \"{name}\");"));
    };
    assert(&format!("sizeof({name})"), layout.extent.size);
    assert(&format!("SITU_ALIGNOF({name})"), layout.extent.align);
    let kind = &schema.definition(id).kind;
    let is_union = matches!(kind, Kind::Union(_));
    let has_base = kind.as_struct().is_some_and(|it| it.base.is_some());
    for (at, member) in layout.members.iter().enumerate().take(if is_union { 2 } else { usize::MAX }) {
        let path = match (is_union, at) {
            (true, 0) => "discriminator",
            (true, _) => "value",
            (false, 0) if has_base => "base",
            (false, _) => members.get(&member.name),
        };
        assert(&format!("offsetof({name}, {path})"), member.offset);
    }
}

/// A value, as an expression or as an initializer of wide text.
pub fn value(schema: &Named, ty: &Type, literal: &Literal) -> String {
    let resolved = schema.resolve(ty);
    match (literal, resolved) {
        (Literal::Bool(value), _) => value.to_string(),
        (Literal::Integer(value), Type::Primitive(Primitive::WChar)) => format!("0x{value:04x}"),
        (Literal::Integer(value), Type::Primitive(of)) => integer(*of, *value),
        (Literal::Integer(value), Type::Named(id)) => format!("({})UINT64_C({value})", schema.type_name(*id)),
        (Literal::Integer(value), _) => value.to_string(),
        (Literal::Float(value), Type::Primitive(Primitive::F32)) => float(f64::from(*value as f32), true),
        (Literal::Float(value), _) => float(*value, false),
        (Literal::String(text), Type::WString { .. }) => {
            let units: Vec<String> = text.encode_utf16().chain([0]).map(|it| format!("0x{it:04x}")).collect();
            format!("{{{}}}", units.join(", "))
        }
        (Literal::String(text), _) => text_literal(text),
        (Literal::Enumerator { of, index }, _) => match schema.definition(*of).kind.as_enum() {
            Some(it) => format!("{}_{}", schema.type_name(*of), it.enumerators[*index].name),
            None => "0".to_owned(),
        },
        (Literal::List(_), _) => "0".to_owned(),
    }
}

fn float(value: f64, single: bool) -> String {
    let suffix = if single { "F" } else { "" };
    let builtin = if single { "f" } else { "" };
    if value.is_nan() {
        format!("__builtin_nan{builtin}(\"\")")
    } else if value.is_infinite() {
        format!("{}__builtin_inf{builtin}()", if value < 0.0 { "-" } else { "" })
    } else if single {
        format!("{:?}{suffix}", value as f32)
    } else {
        format!("{value:?}")
    }
}
