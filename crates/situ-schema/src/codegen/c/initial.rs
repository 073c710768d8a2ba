//! Functions that write the default values of a message.

use super::names::Named;
use super::types::value;
use crate::codegen::cpp::types::text_literal;
use crate::codegen::cpp::writer::CodeWriter;
use crate::model::{Kind, Literal, Member, Type, TypeId};

/// The function `X_init` of a struct or union.
pub fn function(code: &mut CodeWriter, schema: &Named, id: TypeId) {
    let (name, members) = (schema.type_name(id), schema.members(id));
    code.gap();
    code.line("/* Writes default values. Writes no padding, and no elements that are not there. */");
    code.line(format!("static inline void {name}_init({name}* it) {{"));
    code.indent();
    match &schema.definition(id).kind {
        Kind::Struct(it) => {
            if let Some(base) = it.base {
                code.line(format!("{}_init(&it->base);", schema.type_name(base)));
            }
            for member in &it.members {
                self::member(code, schema, member, &format!("it->{}", members.get(&member.name)));
            }
        }
        Kind::Union(it) => {
            let discriminator = schema.default_discriminator(it);
            let literal = super::types::value(schema, &it.discriminator, &Literal::Integer(discriminator));
            let literal = match schema.resolve(&it.discriminator) {
                Type::Named(_) => discriminator.to_string(),
                _ => literal,
            };
            code.line(format!("it->discriminator = {literal};"));
            if let Some(case) = it.case_of(discriminator).and_then(|at| it.cases.get(at)) {
                let place = format!("it->value.{}", members.get(&case.member.name));
                of(code, schema, &case.member.ty, &place, None, 0);
            }
        }
        _ => {}
    }
    code.dedent();
    code.line("}");
}

fn member(code: &mut CodeWriter, schema: &Named, member: &Member, place: &str) {
    if member.bulk {
        code.line(format!("{place}.offset = 0;"));
        code.line(format!("{place}.len = 0;"));
    } else if member.optional {
        code.line(format!("{place}.present = 0;"));
    } else {
        of(code, schema, &member.ty, place, member.default.as_ref(), 0);
    }
}

/// Writes the default, or zero, to a place. `depth` is the number of loops around.
fn of(
    code: &mut CodeWriter,
    schema: &Named,
    ty: &Type,
    place: &str,
    default: Option<&Literal>,
    depth: usize,
) {
    if let Some((element, lengths)) = schema.array(ty) {
        return array(code, schema, (element, &lengths), place, default, depth);
    }
    match (schema.resolve(ty), default) {
        (Type::String { .. }, Some(Literal::String(text))) if !text.is_empty() => {
            code.line(format!("{place}.len = {};", text.len()));
            code.line(format!("memcpy({place}.data, {}, {});", text_literal(text), text.len() + 1));
        }
        (Type::WString { .. }, Some(Literal::String(text))) if !text.is_empty() => {
            let units: Vec<u16> = text.encode_utf16().chain([0]).collect();
            code.line(format!("{place}.len = {};", units.len() - 1));
            for (at, unit) in units.iter().enumerate() {
                code.line(format!("{place}.data[{at}] = 0x{unit:04x};"));
            }
        }
        (Type::String { .. } | Type::WString { .. }, _) => {
            code.line(format!("{place}.len = 0;"));
            code.line(format!("{place}.data[0] = 0;"));
        }
        (Type::Sequence { element, .. }, Some(Literal::List(items))) => {
            code.line(format!("{place}.len = {};", items.len()));
            for (at, item) in items.iter().enumerate() {
                of(code, schema, element, &format!("{place}.data[{at}]"), Some(item), depth);
            }
        }
        (Type::Sequence { .. } | Type::Map { .. }, _) => code.line(format!("{place}.len = 0;")),
        (Type::Named(id), None)
            if matches!(schema.definition(*id).kind, Kind::Struct(_) | Kind::Union(_)) =>
        {
            code.line(format!("{}_init(&{place});", schema.type_name(*id)));
        }
        (_, literal) => {
            let zero = schema.zero(ty);
            if let Some(literal) = literal.or(zero.as_ref()) {
                code.line(format!("{place} = {};", value(schema, ty, literal)));
            }
        }
    }
}

/// An array. Its default may be nested as the array is, or hold all elements one after the other.
fn array(
    code: &mut CodeWriter,
    schema: &Named,
    (element, lengths): (&Type, &[u32]),
    place: &str,
    default: Option<&Literal>,
    depth: usize,
) {
    let Some((length, inner)) = lengths.split_first() else {
        return of(code, schema, element, place, default, depth);
    };
    if let Some(Literal::List(items)) = default {
        let is_nested = inner.is_empty() || items.iter().all(|it| matches!(it, Literal::List(_)));
        let count = inner.iter().map(|it| *it as usize).product::<usize>().max(1);
        for at in 0..*length as usize {
            let part = match is_nested {
                true => items.get(at).cloned(),
                false => items.get(at * count..(at + 1) * count).map(|it| Literal::List(it.to_vec())),
            };
            array(code, schema, (element, inner), &format!("{place}[{at}]"), part.as_ref(), depth);
        }
        return;
    }
    if matches!(schema.resolve(element), Type::Primitive(_)) {
        return code.line(format!("memset({place}, 0, sizeof({place}));"));
    }
    code.line(format!("for (size_t i{depth} = 0; i{depth} < {length}; ++i{depth}) {{"));
    code.indent();
    array(code, schema, (element, inner), &format!("{place}[i{depth}]"), None, depth + 1);
    code.dedent();
    code.line("}");
}
