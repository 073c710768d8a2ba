//! Functions that check a message which another process wrote.

use super::names::Named;
use crate::codegen::cpp::types::{integer, text_literal};
use crate::codegen::cpp::writer::CodeWriter;
use crate::model::{Kind, Primitive, Type, TypeId, Union};

/// The function `X_check` of a struct or union.
pub fn function(code: &mut CodeWriter, schema: &Named, id: TypeId) {
    let (name, members) = (schema.type_name(id), schema.members(id));
    code.gap();
    code.line("/* Checks lengths, the zeros after texts, and booleans. Does not check that texts are UTF-8, and that the keys of");
    code.line(" * maps ascend. Returns NULL if the message is valid, otherwise what is wrong. */");
    code.line(format!("static inline const char* {name}_check(const {name}* it) {{"));
    code.indent();
    let before = code.len();
    match &schema.definition(id).kind {
        Kind::Struct(it) => {
            if let Some(base) = it.base {
                of(code, schema, &Type::Named(base), "it->base", "base", 0);
            }
            for member in it.members.iter().filter(|it| !it.bulk) {
                let place = format!("it->{}", members.get(&member.name));
                if member.optional {
                    refuse(
                        code,
                        &format!("{place}.present > 1"),
                        &member.name,
                        "its mark is neither 0 nor 1",
                    );
                    code.line(format!("if ({place}.present) {{"));
                    code.indent();
                    of(code, schema, &member.ty, &format!("{place}.value"), &member.name, 0);
                    code.dedent();
                    code.line("}");
                } else {
                    of(code, schema, &member.ty, &place, &member.name, 0);
                }
            }
        }
        Kind::Union(it) => union(code, schema, id, it),
        _ => {}
    }
    if code.len() == before {
        code.line("(void)it;");
    }
    code.line("return NULL;");
    code.dedent();
    code.line("}");
}

fn refuse(code: &mut CodeWriter, condition: &str, name: &str, problem: &str) {
    code.line(format!("if ({condition}) return {};", text_literal(&format!("{name}: {problem}"))));
}

/// The selected case of a union.
fn union(code: &mut CodeWriter, schema: &Named, id: TypeId, it: &Union) {
    of(code, schema, &it.discriminator, "it->discriminator", "discriminator", 0);
    let members = schema.members(id);
    let primitive = match schema.resolve(&it.discriminator) {
        Type::Primitive(of) => *of,
        _ => Primitive::I32,
    };
    let label = |value: i128| match primitive {
        Primitive::Char8 | Primitive::WChar | Primitive::Bool => value.to_string(),
        of => integer(of, value),
    };
    // A comparison, because a `switch` over a `char` or a `bool` warns of labels that it cannot have.
    let is_selected = |labels: &[i128]| {
        let place = match primitive {
            Primitive::Char8 => "(unsigned char)it->discriminator",
            _ => "it->discriminator",
        };
        labels.iter().map(|it| format!("{place} == {}", label(*it))).collect::<Vec<_>>().join(" || ")
    };
    let mut others = Vec::new();
    for case in &it.cases {
        others.extend(case.labels.iter().copied());
    }
    for case in &it.cases {
        let condition = match (case.is_default, others.iter().filter(|it| !case.labels.contains(it)).copied())
        {
            (false, _) => is_selected(&case.labels),
            (true, others) => match others.collect::<Vec<_>>().as_slice() {
                [] => "true".to_owned(),
                others => format!("!({})", is_selected(others)),
            },
        };
        let place = format!("it->value.{}", members.get(&case.member.name));
        let mut inner = CodeWriter::default();
        of(&mut inner, schema, &case.member.ty, &place, &case.member.name, 0);
        if inner.len() == 0 {
            continue;
        }
        code.line(format!("if ({condition}) {{"));
        code.indent();
        of(code, schema, &case.member.ty, &place, &case.member.name, 0);
        code.dedent();
        code.line("}");
    }
}

/// Whether values of a type can be invalid.
fn can_be_invalid(schema: &Named, ty: &Type) -> bool {
    match schema.resolve(ty) {
        Type::Primitive(of) => *of == Primitive::Bool,
        Type::Array { element, .. } => can_be_invalid(schema, element),
        Type::Named(id) => matches!(schema.definition(*id).kind, Kind::Struct(_) | Kind::Union(_)),
        _ => true,
    }
}

/// Checks a value at a place. `depth` is the number of loops around.
fn of(code: &mut CodeWriter, schema: &Named, ty: &Type, place: &str, name: &str, depth: usize) {
    if !can_be_invalid(schema, ty) {
        return;
    }
    if let Some((element, lengths)) = schema.array(ty) {
        let Some(length) = lengths.first() else { return };
        let inner = match &lengths[1..] {
            [] => element.clone(),
            rest => Type::Array { element: Box::new(element.clone()), dimensions: rest.to_vec() },
        };
        return each(code, &length.to_string(), depth, |code, index| {
            of(code, schema, &inner, &format!("{place}[{index}]"), name, depth + 1);
        });
    }
    match schema.resolve(ty) {
        Type::Primitive(_) => {
            refuse(code, &format!("!situ_is_bool(&{place})"), name, "a boolean is neither 0 nor 1");
        }
        Type::String { bound } | Type::WString { bound } => {
            refuse_longer(code, place, name, *bound);
            refuse(code, &format!("{place}.data[{place}.len] != 0"), name, "no zero follows the text");
        }
        Type::Sequence { element, bound } => {
            refuse_longer(code, place, name, *bound);
            if can_be_invalid(schema, element) {
                each(code, &format!("{place}.len"), depth, |code, index| {
                    of(code, schema, element, &format!("{place}.data[{index}]"), name, depth + 1);
                });
            }
        }
        Type::Map { key, value, bound } => {
            refuse_longer(code, place, name, *bound);
            if can_be_invalid(schema, key) || can_be_invalid(schema, value) {
                each(code, &format!("{place}.len"), depth, |code, index| {
                    of(code, schema, key, &format!("{place}.data[{index}].key"), name, depth + 1);
                    of(code, schema, value, &format!("{place}.data[{index}].value"), name, depth + 1);
                });
            }
        }
        Type::Named(id) => {
            code.line("{");
            code.indent();
            code.line(format!("const char* problem = {}_check(&{place});", schema.type_name(*id)));
            code.line("if (problem) return problem;");
            code.dedent();
            code.line("}");
        }
        Type::Array { .. } => {}
    }
}

/// Refuses a length that exceeds the bound.
fn refuse_longer(code: &mut CodeWriter, place: &str, name: &str, bound: Option<u32>) {
    let bound = bound.unwrap_or(0);
    let reason = format!("its length exceeds its bound {bound}");
    refuse(code, &format!("{place}.len > {bound}"), name, &reason);
}

fn each(code: &mut CodeWriter, length: &str, depth: usize, body: impl FnOnce(&mut CodeWriter, &str)) {
    let index = format!("i{depth}");
    code.line(format!("for (size_t {index} = 0; {index} < {length}; ++{index}) {{"));
    code.indent();
    body(code, &index);
    code.dedent();
    code.line("}");
}
