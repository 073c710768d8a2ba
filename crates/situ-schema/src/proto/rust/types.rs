//! Types and literals, for writers and readers in Rust.

use std::fmt::Write;

use crate::proto::model::{Field, Kind, Scalar};

/// The method of the writer, the kind of the reader, the type in Rust.
pub fn scalar(scalar: Scalar) -> (&'static str, &'static str, &'static str) {
    match scalar {
        Scalar::Int32 => ("int32", "Int32", "i32"),
        Scalar::Int64 => ("int64", "Int64", "i64"),
        Scalar::Uint32 => ("uint32", "Uint32", "u32"),
        Scalar::Uint64 => ("uint64", "Uint64", "u64"),
        Scalar::Sint32 => ("sint32", "Sint32", "i32"),
        Scalar::Sint64 => ("sint64", "Sint64", "i64"),
        Scalar::Fixed32 => ("fixed32", "Fixed32", "u32"),
        Scalar::Fixed64 => ("fixed64", "Fixed64", "u64"),
        Scalar::Sfixed32 => ("sfixed32", "Sfixed32", "i32"),
        Scalar::Sfixed64 => ("sfixed64", "Sfixed64", "i64"),
        Scalar::Float => ("float", "Float", "f32"),
        Scalar::Double => ("double", "Double", "f64"),
        Scalar::Bool => ("bool", "Bool", "bool"),
    }
}

/// The default of a number or boolean, as Rust writes it.
pub fn default(it: &Field) -> String {
    let Kind::Scalar(kind) = it.kind else { return "::core::default::Default::default()".to_owned() };
    let (_, _, value) = scalar(kind);
    match (&it.default, kind) {
        (None, _) => "::core::default::Default::default()".to_owned(),
        (Some(text), Scalar::Float | Scalar::Double) => match text.as_str() {
            "inf" => format!("{value}::INFINITY"),
            "-inf" => format!("{value}::NEG_INFINITY"),
            "nan" | "-nan" => format!("{value}::NAN"),
            number => format!("{number}{value}"),
        },
        (Some(text), _) => text.clone(),
    }
}

/// The default of bytes: protobuf escapes as C does, with octal digits, Rust with hexadecimal ones.
pub fn bytes_default(it: &Field) -> String {
    let mut text = String::from("b\"");
    let mut rest = it.default.as_deref().unwrap_or_default().chars().peekable();
    while let Some(letter) = rest.next() {
        match (letter, rest.peek()) {
            ('\\', Some('0'..='7')) => {
                let mut value = 0;
                for _ in 0..3 {
                    let Some(digit) = rest.peek().and_then(|it| it.to_digit(8)) else { break };
                    value = value * 8 + digit;
                    rest.next();
                }
                let _ = write!(text, "\\x{value:02x}");
            }
            ('\\', Some(_)) => {
                text.push('\\');
                text.extend(rest.next());
            }
            _ => text.push(letter),
        }
    }
    text + "\""
}
