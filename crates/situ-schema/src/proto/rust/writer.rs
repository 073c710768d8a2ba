//! Rust writers for the messages of a `.proto` file.

use super::context::Context;
use super::types::scalar;
use crate::codegen::rust::writer::CodeWriter;
use crate::proto::methods::Methods;
use crate::proto::model::{Field, Kind, Message, Scalar};

/// Writes the writer of a message, in a module.
pub fn message(context: &Context, it: &Message, module: &[String], code: &mut CodeWriter) {
    let writer = context.names.simple(&it.full_name, "Writer");
    let methods = context.names.methods(it);
    let (full, protobuf) = (&it.full_name[1..], &context.protobuf);
    code.line("");
    code.line(match &it.extends {
        None => format!("/// Writes a `{full}`. It ends when this is dropped."),
        Some(other) => format!("/// Writes `{full}`, an extension of `{}`.", &other[1..]),
    });
    code.line("#[derive(Debug)]");
    code.line(format!("pub struct {writer}<'w>(pub {protobuf}::Message<'w>);"));
    code.gap();
    code.block(format!("impl<'w> {writer}<'w>"), |code| {
        for field in &it.fields {
            setter(context, field, &methods[field.name.as_str()], module, code);
        }
    });
    if let Some(other) = &it.extends {
        let other = context.named(other, "Writer", module);
        code.gap();
        let from = format!("::core::convert::From<&'w mut {other}<'_>>");
        code.block(format!("impl<'w> {from} for {writer}<'w>"), |code| {
            code.block(format!("fn from(message: &'w mut {other}<'_>) -> Self"), |code| {
                code.line("Self(message.0.reborrow())");
            });
        });
    }
}

/// How a writer takes a value: its type, and the call.
fn argument(context: &Context, kind: &Kind, module: &[String]) -> (String, &'static str) {
    match kind {
        Kind::Scalar(it) => (scalar(*it).2.to_owned(), scalar(*it).0),
        Kind::String => ("&str".to_owned(), "string"),
        Kind::Bytes => ("&[u8]".to_owned(), "bytes"),
        Kind::Enum(name) => (context.named(name, "", module), "enumeration"),
        Kind::Message(name) => (context.named(name, "Writer<'_>", module), "message"),
    }
}

fn setter(context: &Context, it: &Field, methods: &Methods, module: &[String], code: &mut CodeWriter) {
    let (name, number) = (&it.name, it.number);
    let Methods { set, pieces: in_pieces, .. } = methods;
    code.line(format!("/// `{name}`, field {number}."));
    code.line("#[inline]");
    if let Some(entry) = context.model.map_entry(it)
        && !matches!(entry.fields[1].kind, Kind::Message(_))
    {
        let (key, key_call) = argument(context, &entry.fields[0].kind, module);
        let (value, value_call) = argument(context, &entry.fields[1].kind, module);
        code.block(format!("pub fn {set}(&mut self, key: {key}, value: {value})"), |code| {
            code.line(format!("let mut entry = self.0.entry({number});"));
            code.line(format!("entry.{key_call}(1, key);"));
            code.line(format!("entry.{value_call}(2, value);"));
        });
        return code.line("");
    }
    let (value, call) = argument(context, &it.kind, module);
    if let Kind::Message(other) = &it.kind {
        let plain = context.named(other, "Writer", module);
        let begin = if it.is_group { "group" } else { "message" };
        code.block(format!("pub fn {set}(&mut self) -> {value}"), |code| {
            code.line(format!("{plain}(self.0.{begin}({number}))"));
        });
        return code.line("");
    }
    if it.is_packed {
        code.block(format!("pub fn {set}(&mut self, values: &[{value}])"), |code| {
            packed(it, call, code);
        });
        return code.line("");
    }
    code.block(format!("pub fn {set}(&mut self, value: {value})"), |code| {
        code.line(format!("self.0.{call}({number}, value);"));
    });
    code.line("");
    let (pieces, begin) = match it.kind {
        Kind::String => ("TextInPieces", "text_in_pieces"),
        Kind::Bytes => ("BytesInPieces", "bytes_in_pieces"),
        _ => return,
    };
    code.line(format!("/// `{name}`, field {number}, in pieces."));
    code.block(format!("pub fn {in_pieces}(&mut self) -> {}::{pieces}<'_>", context.protobuf), |code| {
        code.line(format!("self.0.{begin}({number})"));
    });
    code.line("");
}

/// Writes the `values` of a packed field.
fn packed(it: &Field, call: &str, code: &mut CodeWriter) {
    let number = it.number;
    match &it.kind {
        Kind::Enum(_) => code.block("if !values.is_empty()", |code| {
            code.line(format!("let mut packed = self.0.packed({number});"));
            code.line("values.iter().for_each(|value| packed.int32(value.0));");
        }),
        Kind::Scalar(
            Scalar::Fixed32
            | Scalar::Fixed64
            | Scalar::Sfixed32
            | Scalar::Sfixed64
            | Scalar::Float
            | Scalar::Double,
        ) => code.line(format!("self.0.packed_fixed({number}, values);")),
        _ => code.line(format!("self.0.packed_{call}({number}, values);")),
    }
}
