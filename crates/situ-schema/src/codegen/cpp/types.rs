//! How types and values are written in C++.

use std::fmt::Write;

use super::names::{Idents, Named};
use crate::Schema;
use crate::model::{Kind, Link, Literal, Lookup, Member, Primitive, Type, TypeId};

/// The C++ type of a primitive.
pub fn primitive(of: Primitive) -> &'static str {
    match of {
        Primitive::Bool => "bool",
        Primitive::I8 => "::std::int8_t",
        Primitive::U8 => "::std::uint8_t",
        Primitive::I16 => "::std::int16_t",
        Primitive::U16 => "::std::uint16_t",
        Primitive::I32 => "::std::int32_t",
        Primitive::U32 => "::std::uint32_t",
        Primitive::I64 => "::std::int64_t",
        Primitive::U64 => "::std::uint64_t",
        Primitive::F32 => "float",
        Primitive::F64 => "double",
        Primitive::Char8 => "char",
        Primitive::WChar => "char16_t",
    }
}

/// A type, within a template whose storage policy is called `S`.
pub fn spell(schema: &Named, ty: &Type) -> String {
    let bounded = |what: &str, bound: &Option<u32>| match bound {
        Some(bound) => format!("::situ::{what}<S, {bound}>"),
        None => format!("::situ::unbounded_{what}<S>"),
    };
    match ty {
        Type::Primitive(of) => primitive(*of).to_owned(),
        Type::String { bound } => bounded("string", bound),
        Type::WString { bound } => bounded("wstring", bound),
        Type::Sequence { element, bound: Some(bound) } => {
            format!("::situ::sequence<S, {}, {bound}>", spell(schema, element))
        }
        Type::Sequence { element, bound: None } => {
            format!("::situ::unbounded_sequence<S, {}>", spell(schema, element))
        }
        Type::Array { element, dimensions } => dimensions
            .iter()
            .rev()
            .fold(spell(schema, element), |inner, length| format!("::std::array<{inner}, {length}>")),
        Type::Map { key, value, bound } => {
            let (key, value) = (spell(schema, key), spell(schema, value));
            match bound {
                Some(bound) => format!("::situ::map<S, {key}, {value}, {bound}>"),
                None => format!("::situ::unbounded_map<S, {key}, {value}>"),
            }
        }
        Type::Named(id) => named(schema, *id),
    }
}

/// The qualified name of a definition: `::geometry_msgs::msg::Point_<S>`.
pub fn named(schema: &Named, id: TypeId) -> String {
    let name = schema.name(id);
    if schema.is_template(id) {
        format!("{}<S>", schema.qualified(name, schema.template(id)))
    } else {
        schema.qualified(name, schema.ident(name))
    }
}

/// The type of a struct's member, in which optional and bulk members are wrapped.
pub fn spell_member(schema: &Named, member: &Member) -> String {
    match schema.resolve(&member.ty) {
        Type::Sequence { element, bound } if member.bulk => {
            let bound = bound.map(|it| format!(", {it}")).unwrap_or_default();
            format!("::situ::bulk<S, {}{bound}>", spell(schema, element))
        }
        _ if member.optional => {
            let optional = format!("::situ::optional<S, {}>", spell(schema, &member.ty));
            match member.link {
                Link::InPlace => optional,
                Link::Unique => format!("::situ::linked<{optional}>"),
                Link::Shared => format!("::situ::shared<{optional}>"),
                Link::Weak => format!("::situ::weak<S, {}>", spell(schema, &member.ty)),
            }
        }
        _ => {
            let ty = spell(schema, &member.ty);
            let ty = if member.set { format!("::situ::as_set<{ty}>") } else { ty };
            match member.lookup {
                Lookup::Sorted => ty,
                Lookup::Hash => format!("::situ::hashed<{ty}>"),
                Lookup::Ordered => format!("::situ::ordered<{ty}>"),
            }
        }
    }
}

/// The text after a member's name: ` = 0` or `{}`.
pub fn initializer(schema: &Named, member: &Member) -> String {
    if member.optional || member.bulk {
        return "{}".to_owned();
    }
    if let Some(default) = &member.default {
        let value = value(schema, &member.ty, default);
        return match schema.resolve(&member.ty) {
            Type::String { .. } | Type::WString { .. } => {
                format!(" = ::situ::default_text<{}>({value})", spell_member(schema, member))
            }
            Type::Sequence { element, .. } => {
                let (list, element) = (spell_member(schema, member), spell(schema, element));
                format!(" = ::situ::default_list<{list}, {element}>({value})")
            }
            _ => format!(" = {value}"),
        };
    }
    match schema.zero(&member.ty) {
        Some(Literal::List(_)) | None => filled(schema, &member.ty).unwrap_or_else(|| "{}".to_owned()),
        Some(Literal::String(_)) => "{}".to_owned(),
        Some(Literal::Integer(0)) if is_bitmask(schema, &member.ty) => "{}".to_owned(),
        Some(zero) => format!(" = {}", value(schema, &member.ty, &zero)),
    }
}

fn is_bitmask(schema: &Schema, ty: &Type) -> bool {
    matches!(schema.resolve(ty), Type::Named(id) if matches!(schema.definition(*id).kind, Kind::Bitmask(_)))
}

/// The initializer of an array of enums whose default enumerator is not zero.
fn filled(schema: &Named, ty: &Type) -> Option<String> {
    let (element, _) = schema.array(ty)?;
    let zero = schema.zero(element)?;
    let enumerator = schema.enumerator_of(&zero)?;
    (enumerator.value != 0).then(|| format!(" = ::situ::filled{{{}}}", value(schema, element, &zero)))
}

/// A value of a type, as an expression or a braced list.
pub fn value(schema: &Named, ty: &Type, literal: &Literal) -> String {
    let resolved = schema.resolve(ty);
    match (literal, resolved) {
        (Literal::Bool(value), _) => value.to_string(),
        (Literal::Integer(value), Type::Primitive(of)) => integer(*of, *value),
        (Literal::Integer(value), Type::Named(id)) => {
            format!(
                "static_cast<{}>({value}U{})",
                named(schema, *id),
                if *value > u32::MAX.into() { "LL" } else { "" }
            )
        }
        (Literal::Integer(value), _) => value.to_string(),
        (Literal::Float(value), Type::Primitive(Primitive::F32)) => float(f64::from(*value as f32), true),
        (Literal::Float(value), _) => float(*value, false),
        (Literal::String(text), Type::WString { .. }) => wide_text(text),
        (Literal::String(text), _) => text_literal(text),
        (Literal::Enumerator { of, index }, _) => {
            let Some(it) = schema.definition(*of).kind.as_enum() else { return "{}".to_owned() };
            let enumerators = Idents::enumerators(it);
            format!("{}::{}", named(schema, *of), enumerators.get(&it.enumerators[*index].name))
        }
        (Literal::List(items), Type::Array { .. }) => match schema.array(resolved) {
            Some((element, lengths)) => array(schema, element, &lengths, items),
            None => "{}".to_owned(),
        },
        (Literal::List(items), Type::Sequence { element, .. }) => {
            let items: Vec<String> = items.iter().map(|it| value(schema, element, it)).collect();
            format!("{{{}}}", items.join(", "))
        }
        (Literal::List(_), _) => "{}".to_owned(),
    }
}

/// The list may be nested as the array is, or hold all elements one after the other.
fn array(schema: &Named, element: &Type, lengths: &[u32], items: &[Literal]) -> String {
    let inner = &lengths[1..];
    let parts: Vec<String> = if inner.is_empty() {
        items.iter().map(|it| value(schema, element, it)).collect()
    } else if let Some(nested) = items.iter().map(as_list).collect::<Option<Vec<_>>>() {
        nested.into_iter().map(|it| array(schema, element, inner, it)).collect()
    } else {
        let count = inner.iter().map(|it| *it as usize).product::<usize>().max(1);
        items.chunks(count).map(|it| array(schema, element, inner, it)).collect()
    };
    format!("{{{{{}}}}}", parts.join(", "))
}

fn as_list(literal: &Literal) -> Option<&[Literal]> {
    if let Literal::List(items) = literal { Some(items) } else { None }
}

/// An integer or character.
pub fn integer(of: Primitive, value: i128) -> String {
    match of {
        Primitive::Bool => (value != 0).to_string(),
        Primitive::Char8 => match u8::try_from(value).map(char::from) {
            Ok(c) if c.is_ascii_graphic() && c != '\'' && c != '\\' || c == ' ' => format!("'{c}'"),
            _ => format!("'\\{value:03o}'"),
        },
        Primitive::WChar => match u8::try_from(value).map(char::from) {
            Ok(c) if c.is_ascii_graphic() && c != '\'' && c != '\\' || c == ' ' => format!("u'{c}'"),
            _ => format!("char16_t{{0x{value:04X}}}"),
        },
        Primitive::I32 if value == i128::from(i32::MIN) => "(-2147483647 - 1)".to_owned(),
        Primitive::I64 if value == i128::from(i64::MIN) => "(-9223372036854775807LL - 1)".to_owned(),
        Primitive::I64 if value.unsigned_abs() > i32::MAX.unsigned_abs().into() => format!("{value}LL"),
        Primitive::U64 if value > u32::MAX.into() => format!("{value}ULL"),
        Primitive::U32 | Primitive::U64 if value > i32::MAX.into() => format!("{value}U"),
        _ => value.to_string(),
    }
}

/// A hash.
pub fn hash(value: u64) -> String {
    format!("0x{value:016x}ULL")
}

fn float(value: f64, single: bool) -> String {
    let (name, suffix) = if single { ("float", "F") } else { ("double", "") };
    if value.is_nan() {
        format!("::std::numeric_limits<{name}>::quiet_NaN()")
    } else if value.is_infinite() {
        format!("{}::std::numeric_limits<{name}>::infinity()", if value < 0.0 { "-" } else { "" })
    } else if single {
        format!("{:?}{suffix}", value as f32)
    } else {
        format!("{value:?}")
    }
}

/// A string literal. All but printable ASCII is written as octal escapes, which end after three digits.
pub fn text_literal(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for byte in text.bytes() {
        match byte {
            b'"' => quoted.push_str("\\\""),
            b'\\' => quoted.push_str("\\\\"),
            b'\n' => quoted.push_str("\\n"),
            b'\t' => quoted.push_str("\\t"),
            // `??` begins a trigraph for some compilers.
            b'?' => quoted.push_str("\\?"),
            b' '..=b'~' => quoted.push(char::from(byte)),
            _ => _ = write!(quoted, "\\{byte:03o}"),
        }
    }
    quoted.push('"');
    quoted
}

fn wide_text(text: &str) -> String {
    let mut quoted = String::from("u\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            ' '..='~' => quoted.push(c),
            '\0'..='\u{9f}' => _ = write!(quoted, "\\{:03o}", u32::from(c)),
            _ => _ = write!(quoted, "\\U{:08x}", u32::from(c)),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_fit_their_types() {
        assert_eq!(integer(Primitive::I32, i32::MIN.into()), "(-2147483647 - 1)");
        assert_eq!(integer(Primitive::I64, i64::MIN.into()), "(-9223372036854775807LL - 1)");
        assert_eq!(integer(Primitive::I64, -5_000_000_000), "-5000000000LL");
        assert_eq!(integer(Primitive::U64, u64::MAX.into()), "18446744073709551615ULL");
        assert_eq!(integer(Primitive::U32, 4_294_967_295), "4294967295U");
        assert_eq!(integer(Primitive::U8, 255), "255");
        assert_eq!(integer(Primitive::Char8, 65), "'A'");
        assert_eq!(integer(Primitive::Char8, 39), "'\\047'");
        assert_eq!(integer(Primitive::WChar, 0x20ac), "char16_t{0x20AC}");
        assert_eq!(integer(Primitive::Bool, 1), "true");
    }

    #[test]
    fn floats_keep_their_value() {
        assert_eq!(float(0.1, false), "0.1");
        assert_eq!(float(f64::from(0.1_f32), true), "0.1F");
        assert_eq!(float(1.0, true), "1.0F");
        assert_eq!(float(1e300, false), "1e300");
        assert_eq!(float(f64::NEG_INFINITY, false), "-::std::numeric_limits<double>::infinity()");
    }

    #[test]
    fn text_is_escaped() {
        assert_eq!(text_literal("a\"b\\c\nd?"), r#""a\"b\\c\nd\?""#);
        assert_eq!(text_literal("é1"), r#""\303\2511""#);
        assert_eq!(wide_text("é\u{1F600}\u{7}"), "u\"\\U000000e9\\U0001f600\\007\"");
    }
}
