//! Rust readers for the messages of a `.proto` file, and what their tables of fields need to know.

use super::context::Context;
use super::types::{bytes_default, default, scalar};
use crate::codegen::rust::writer::CodeWriter;
use crate::proto::methods::Methods;
use crate::proto::model::{Field, Kind, Message, oneofs};

/// Writes the layout and the reader of a message, in a module.
pub fn message(context: &Context, it: &Message, module: &[String], code: &mut CodeWriter) {
    layout(context, it, code);
    let [layout, reader] = ["Layout", "Reader"].map(|end| context.names.simple(&it.full_name, end));
    let methods = context.names.methods(it);
    let (full, protobuf) = (&it.full_name[1..], &context.protobuf);
    let slots = it.slots();
    code.gap();
    code.line(match &it.extends {
        None => format!("/// Reads a `{full}` where it lies."),
        Some(other) => format!("/// Reads `{full}`, an extension, of a `{}`.", &other[1..]),
    });
    code.line("#[derive(Debug)]");
    code.line(format!("pub struct {reader}<'a>({protobuf}::Table<'a, {layout}, {}>);", slots.len()));
    code.gap();
    let error = format!("{protobuf}::ReadError");
    code.block(format!("impl<'a> {reader}<'a>"), |code| {
        code.line("/// Finds the fields of an encoded message.");
        let result = format!("::core::result::Result<Self, {error}>");
        code.block(format!("pub fn new(bytes: &'a [u8]) -> {result}"), |code| {
            code.line(format!("{protobuf}::Table::new(bytes).map(Self)"));
        });
        code.gap();
        code.line("/// The fields that are not known.");
        let fields = format!("impl ::core::iter::Iterator<Item = {protobuf}::Field<'_>>");
        code.block(format!("pub fn unknown_fields(&self) -> {fields}"), |code| {
            code.line("self.0.unknown()");
        });
        code.gap();
        code.line("/// The message as bytes.");
        code.block("pub fn as_bytes(&self) -> &[u8]", |code| code.line("self.0.as_bytes()"));
        for (slot, field) in slots.iter().enumerate() {
            getter(context, it, (slot, field), &methods[field.name.as_str()], module, code);
        }
    });
    let (from, parameter, body) = match &it.extends {
        Some(other) => {
            let other = context.named(other, "Reader", module);
            (format!("&'a {other}<'_>"), "message", "message.0.with_layout().map(Self)")
        }
        None => (format!("{protobuf}::Nested<'a>"), "nested", "nested.table().map(Self)"),
    };
    code.gap();
    code.block(format!("impl<'a> ::core::convert::TryFrom<{from}> for {reader}<'a>"), |code| {
        code.line(format!("type Error = {error};"));
        code.gap();
        let result = "::core::result::Result<Self, Self::Error>";
        code.block(format!("fn try_from({parameter}: {from}) -> {result}"), |code| code.line(body));
    });
}

/// Writes the layout of a message: its slots, as an enum without values.
fn layout(context: &Context, it: &Message, code: &mut CodeWriter) {
    let layout = context.names.simple(&it.full_name, "Layout");
    let (full, protobuf) = (&it.full_name[1..], &context.protobuf);
    let slots = it.slots();
    let count = slots.len();
    code.gap();
    code.line(format!("/// Which fields a `{full}` has."));
    code.line("#[derive(Debug)]");
    code.line(format!("pub enum {layout} {{}}"));
    code.gap();
    code.block(format!("impl {protobuf}::Layout<{count}> for {layout}"), |code| {
        let oneofs: Vec<String> = oneofs(&slots).iter().map(|it| format!("{it:?}")).collect();
        code.line(format!("const ONEOFS: [(u16, u16); {count}] = [{}];", oneofs.join(", ")));
        code.gap();
        code.line("#[inline]");
        let result = "::core::option::Option<usize>";
        code.block(format!("fn slot(number: u32, wire: {protobuf}::WireType) -> {result}"), |code| {
            code.line(format!("use {protobuf}::WireType;"));
            code.block("match (number, wire)", |code| {
                for (slot, field) in slots.iter().enumerate() {
                    let (number, wire) = (field.number, field.wire());
                    let is_packable = field.is_repeated && field.is_numeric();
                    let packed = if is_packable { " | WireType::Bytes" } else { "" };
                    code.line(format!(
                        "({number}, WireType::{wire}{packed}) => ::core::option::Option::Some({slot}),"
                    ));
                }
                code.line("_ => ::core::option::Option::None,");
            });
        });
        accepts(context, &slots, code);
    });
}

/// Writes which numbers closed enums have, if a field has one.
fn accepts(context: &Context, slots: &[&Field], code: &mut CodeWriter) {
    let closed: Vec<(usize, &[i32])> = (0..)
        .zip(slots)
        .filter_map(|(slot, field)| Some((slot, context.model.closed_numbers(field)?)))
        .collect();
    if closed.is_empty() {
        return;
    }
    code.gap();
    code.line("#[inline]");
    code.block("fn accepts(slot: usize, number: i32) -> bool", |code| {
        code.block("match slot", |code| {
            for (slot, numbers) in closed {
                let numbers: Vec<String> = numbers.iter().map(i32::to_string).collect();
                code.line(format!("{slot} => ::core::matches!(number, {}),", numbers.join(" | ")));
            }
            code.line("_ => true,");
        });
    });
}

fn getter(
    context: &Context,
    message: &Message,
    (slot, it): (usize, &Field),
    methods: &Methods,
    module: &[String],
    code: &mut CodeWriter,
) {
    let (name, number) = (&it.name, it.number);
    let Methods { get, has, .. } = methods;
    if !it.is_repeated {
        code.gap();
        code.line(format!("/// Whether there is a field {number}."));
        code.line("#[inline]");
        code.block(format!("pub fn {has}(&self) -> bool"), |code| code.line(format!("self.0.has({slot})")));
    }
    code.gap();
    code.line(format!("/// `{name}`, field {number}."));
    code.line("#[inline]");
    let (result, body) = value_of(context, message, (slot, it), module);
    code.block(format!("pub fn {get}(&self) -> {result}"), |code| code.line(body));
}

/// The type of a field's value as a getter returns it, and the getter's body.
fn value_of(
    context: &Context,
    message: &Message,
    (slot, it): (usize, &Field),
    module: &[String],
) -> (String, String) {
    let protobuf = &context.protobuf;
    let error = format!("{protobuf}::ReadError");
    match (&it.kind, it.is_repeated) {
        (Kind::Scalar(kind), false) => {
            let (_, kind, value) = scalar(*kind);
            let default = default(it);
            (value.to_owned(), format!("self.0.get::<{protobuf}::kind::{kind}>({slot}).unwrap_or({default})"))
        }
        (Kind::Scalar(kind), true) => {
            let (_, kind, value) = scalar(*kind);
            (
                format!("impl ::core::iter::Iterator<Item = ::core::result::Result<{value}, {error}>>"),
                format!("self.0.all::<{protobuf}::kind::{kind}>({slot})"),
            )
        }
        (Kind::Enum(other), false) => {
            let value = context.named(other, "", module);
            let default = match &it.default {
                Some(default) => format!("{value}::{}", context.names.enumerator(other, default)),
                None => "::core::default::Default::default()".to_owned(),
            };
            let get = format!("self.0.get::<{protobuf}::kind::Int32>({slot})");
            (value.clone(), format!("{get}.map_or({default}, {value})"))
        }
        (Kind::Enum(other), true) => {
            let value = context.named(other, "", module);
            let numbers = format!("self.0.all::<{protobuf}::kind::Int32>({slot})");
            // The numbers of packed fields are not checked before this.
            let known = if context.model.closed_numbers(it).is_some() {
                let accepts = format!(
                    "<{} as {protobuf}::Layout<{count}>>::accepts({slot}, *it)",
                    context.names.simple(&message.full_name, "Layout"),
                    count = message.fields.len()
                );
                format!(
                    ".filter(|number| !::core::matches!(number, ::core::result::Result::Ok(it) if !{accepts}))"
                )
            } else {
                String::new()
            };
            (
                format!("impl ::core::iter::Iterator<Item = ::core::result::Result<{value}, {error}>>"),
                format!("{numbers}{known}.map(|number| number.map({value}))"),
            )
        }
        (Kind::String, false) => (
            format!("::core::result::Result<&str, {error}>"),
            format!(
                "::core::result::Result::Ok(self.0.string({slot})?.unwrap_or({:?}))",
                it.default.as_deref().unwrap_or_default()
            ),
        ),
        (Kind::String, true) => (
            format!("impl ::core::iter::Iterator<Item = ::core::result::Result<&str, {error}>>"),
            format!("self.0.all_strings({slot})"),
        ),
        (Kind::Bytes, false) => {
            ("&[u8]".to_owned(), format!("self.0.bytes({slot}).unwrap_or({})", bytes_default(it)))
        }
        (Kind::Bytes, true) => {
            ("impl ::core::iter::Iterator<Item = &[u8]>".to_owned(), format!("self.0.all_bytes({slot})"))
        }
        (Kind::Message(other), false) => {
            let reader = context.named(other, "Reader", module);
            let get = if it.is_group { "group" } else { "nested" };
            (
                format!("::core::result::Result<::core::option::Option<{reader}<'_>>, {error}>"),
                format!(
                    "self.0.{get}({slot})?.map(<{reader}<'_> as ::core::convert::TryFrom<_>>::try_from).transpose()"
                ),
            )
        }
        (Kind::Message(other), true) => {
            let reader = context.named(other, "Reader", module);
            (
                format!("impl ::core::iter::Iterator<Item = ::core::result::Result<{reader}<'_>, {error}>>"),
                format!(
                    "self.0.all_nested({slot}).map(|it| it.and_then(<{reader}<'_> as ::core::convert::TryFrom<_>>::try_from))"
                ),
            )
        }
    }
}
