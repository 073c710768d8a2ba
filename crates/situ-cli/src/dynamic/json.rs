//! Messages written as JSON: every member that is left out holds its default.

use serde_json::Value as Json;
use situ_schema::Schema;
use situ_schema::model::{Kind, Literal, Member, Primitive, Type, TypeId};

use super::value::Value;
use super::{DynamicError, in_range};

/// The complete message that `json` describes.
pub fn from_json(schema: &Schema, root: TypeId, json: &Json) -> Result<Value, DynamicError> {
    value(schema, &Type::Named(root), json)
}

fn mismatch(schema: &Schema, ty: &Type, json: &Json) -> DynamicError {
    let found: String = json.to_string().chars().take(60).collect();
    DynamicError::Mismatch { expected: schema.display(ty), found }
}

fn value(schema: &Schema, ty: &Type, json: &Json) -> Result<Value, DynamicError> {
    let wrong = || mismatch(schema, ty, json);
    match ty {
        Type::Primitive(primitive) => scalar(*primitive, json).ok_or_else(wrong),
        Type::String { .. } | Type::WString { .. } => {
            Ok(Value::Text(json.as_str().ok_or_else(wrong)?.into()))
        }
        Type::Sequence { element, bound } => {
            let items = json.as_array().ok_or_else(wrong)?;
            if let Some(bound) = bound.filter(|&b| items.len() > b as usize) {
                return Err(DynamicError::Length { length: items.len() as u64, bound: bound.into() });
            }
            Ok(Value::list(each(items, |item| value(schema, element, item))?))
        }
        Type::Array { .. } => {
            let (element, dimensions) = schema.array(ty).ok_or_else(wrong)?;
            array(schema, element, &dimensions, json)
        }
        Type::Map { key, value: of, bound } => {
            let object = json.as_object().ok_or_else(wrong)?;
            if let Some(bound) = bound.filter(|&b| object.len() > b as usize) {
                return Err(DynamicError::Length { length: object.len() as u64, bound: bound.into() });
            }
            let mut entries = Vec::new();
            for (k, v) in object {
                let name = Json::String(k.clone());
                // A key that is no string is written as one in JSON: `{"1": …}`.
                let key_value = value(schema, key, &name)
                    .or_else(|e| serde_json::from_str(k).map_or(Err(e), |j| value(schema, key, &j)))?;
                entries.push((key_value, value(schema, of, v).map_err(|e| e.within(k))?));
            }
            entries.sort_by(|(a, _), (b, _)| order(a, b));
            Ok(Value::Map(entries))
        }
        Type::Named(id) => named(schema, *id, json),
    }
}

/// The order of a map's keys.
fn order(a: &Value, b: &Value) -> std::cmp::Ordering {
    match (a, b) {
        (Value::Text(a), Value::Text(b)) => a.cmp(b),
        _ => a.as_label().cmp(&b.as_label()),
    }
}

fn each(
    items: &[Json],
    read: impl Fn(&Json) -> Result<Value, DynamicError>,
) -> Result<Vec<Value>, DynamicError> {
    items.iter().enumerate().map(|(i, item)| read(item).map_err(|e| e.within(&format!("[{i}]")))).collect()
}

fn array(schema: &Schema, element: &Type, dimensions: &[u32], json: &Json) -> Result<Value, DynamicError> {
    let [length, inner @ ..] = dimensions else { return value(schema, element, json) };
    let items =
        json.as_array().filter(|a| a.len() == *length as usize).ok_or_else(|| DynamicError::Mismatch {
            expected: format!("a list of {length} {}", schema.display(element)),
            found: json.as_array().map_or_else(|| json.to_string(), |a| format!("{} elements", a.len())),
        })?;
    Ok(Value::list(each(items, |item| array(schema, element, inner, item))?))
}

fn scalar(primitive: Primitive, json: &Json) -> Option<Value> {
    Some(match primitive {
        Primitive::Bool => Value::Bool(json.as_bool()?),
        Primitive::Char8 => match json.as_str() {
            Some(text) => Value::Char(u8::try_from(u32::from(single(text)?)).ok()?),
            None => Value::Char(json.as_u64()?.try_into().ok()?),
        },
        Primitive::F32 => Value::Float(float(json)? as f32),
        Primitive::F64 => Value::Double(float(json)?),
        integer => {
            let number = json.as_i64().map(i128::from).or(json.as_u64().map(i128::from));
            integer_value(integer, number.filter(|&n| in_range(integer, n))?)?
        }
    })
}

/// An integer as the signed or unsigned value that its type calls for.
fn integer_value(of: Primitive, number: i128) -> Option<Value> {
    let signed = of.integer_range().is_some_and(|(low, _)| low < 0);
    Some(if signed {
        Value::Signed(number.try_into().ok()?)
    } else {
        Value::Unsigned(number.try_into().ok()?)
    })
}

/// JSON has no word for what is no number: null stands for it, as in what `echo --json` prints.
fn float(json: &Json) -> Option<f64> {
    if json.is_null() { Some(f64::NAN) } else { json.as_f64() }
}

fn single(text: &str) -> Option<char> {
    let mut characters = text.chars();
    characters.next().filter(|_| characters.next().is_none())
}

fn named(schema: &Schema, id: TypeId, json: &Json) -> Result<Value, DynamicError> {
    let definition = schema.definition(id);
    let wrong = || mismatch(schema, &Type::Named(id), json);
    match &definition.kind {
        Kind::Alias(target) => value(schema, target, json),
        Kind::Enum(of) => {
            let found = match json.as_str() {
                Some(name) => of.enumerators.iter().find(|e| e.name == name).map(|e| e.value),
                None => json.as_i64().and_then(|v| i32::try_from(v).ok()),
            };
            found.map(|v| super::enum_value(of, v)).ok_or_else(|| DynamicError::Mismatch {
                expected: of.enumerators.iter().map(|e| e.name.as_str()).collect::<Vec<_>>().join(", "),
                found: json.to_string(),
            })
        }
        Kind::Bitmask(of) => {
            let bits = match json {
                Json::Array(names) => names.iter().try_fold(0_u64, |bits, name| {
                    let flag = of.flags.iter().find(|f| Some(f.name.as_str()) == name.as_str())?;
                    Some(bits | 1 << flag.position)
                }),
                other => other.as_u64(),
            };
            bits.map(|b| super::flags(of, b)).ok_or_else(|| DynamicError::Mismatch {
                expected: of.flags.iter().map(|f| f.name.as_str()).collect::<Vec<_>>().join(", "),
                found: json.to_string(),
            })
        }
        Kind::Struct(_) => {
            let object = json.as_object().ok_or_else(wrong)?;
            let members = all_members(schema, id);
            if let Some(name) = object.keys().find(|k| !members.iter().any(|m| m.name == **k)) {
                return Err(DynamicError::NoMember {
                    type_name: definition.name.to_string(),
                    name: name.clone(),
                    members: members.iter().map(|m| m.name.as_str()).collect::<Vec<_>>().join(", "),
                });
            }
            let member = |m: &Member| {
                let given = object.get(&m.name).filter(|j| !(m.optional && j.is_null()));
                let value = match given {
                    Some(json) => value(schema, &m.ty, json).map_err(|e| e.within(&m.name))?,
                    None => default_member(schema, m, 0)?,
                };
                Ok((m.name.clone(), value))
            };
            members.into_iter().map(member).collect::<Result<_, _>>().map(Value::Struct)
        }
        Kind::Union(of) => {
            // {"member": value}, or with the discriminator spelled out, as `echo --json` prints it.
            let object = json.as_object().ok_or_else(wrong)?;
            let chosen = of.cases.iter().find(|c| object.contains_key(&c.member.name));
            let discriminator = match (object.get("discriminator"), chosen) {
                (Some(json), _) => value(schema, &of.discriminator, json)?,
                (None, Some(case)) => {
                    let label = case.labels.first().copied().or_else(|| schema.unlabelled(of));
                    label_value(schema, &of.discriminator, label.unwrap_or(0))?
                }
                (None, None) => return Err(wrong()),
            };
            let mut members = vec![("discriminator".to_owned(), discriminator)];
            if let Some(case) =
                members[0].1.as_label().and_then(|l| of.case_of(l)).and_then(|i| of.cases.get(i))
            {
                let inner = match object.get(&case.member.name) {
                    Some(json) => {
                        value(schema, &case.member.ty, json).map_err(|e| e.within(&case.member.name))?
                    }
                    None => default_value(schema, &case.member.ty, 0)?,
                };
                members.push((case.member.name.clone(), inner));
            }
            Ok(Value::Struct(members))
        }
    }
}

/// The members of a struct, those of its bases first.
pub(super) fn all_members(schema: &Schema, id: TypeId) -> Vec<&Member> {
    let Kind::Struct(of) = &schema.definition(id).kind else { return Vec::new() };
    let mut members = of.base.map_or_else(Vec::new, |base| all_members(schema, base));
    members.extend(&of.members);
    members
}

pub(super) fn label_value(schema: &Schema, ty: &Type, label: i128) -> Result<Value, DynamicError> {
    let number = i64::try_from(label).map(Json::from).unwrap_or_else(|_| Json::from(label as u64));
    match schema.resolve(ty) {
        Type::Primitive(Primitive::Bool) => Ok(Value::Bool(label != 0)),
        resolved => value(schema, resolved, &number),
    }
}

pub(super) fn default_member(schema: &Schema, member: &Member, depth: usize) -> Result<Value, DynamicError> {
    if member.optional {
        return Ok(Value::Absent);
    }
    match &member.default {
        Some(literal) => {
            from_literal(schema, &member.ty, literal).ok_or_else(|| super::mismatch(schema, &member.ty))
        }
        None => default_value(schema, &member.ty, depth),
    }
}

fn default_value(schema: &Schema, ty: &Type, depth: usize) -> Result<Value, DynamicError> {
    if depth > super::MOST_DEPTH {
        return Err(DynamicError::Depth);
    }
    let resolved = schema.resolve(ty);
    if let Some(literal) = schema.zero(resolved) {
        return from_literal(schema, resolved, &literal).ok_or_else(|| super::mismatch(schema, ty));
    }
    if let Some((element, dimensions)) = schema.array(resolved) {
        let mut value = default_value(schema, element, depth + 1)?;
        for length in dimensions.iter().rev() {
            value = Value::list(vec![value; *length as usize]);
        }
        return Ok(value);
    }
    let Type::Named(id) = resolved else { return Err(super::mismatch(schema, ty)) };
    match &schema.definition(*id).kind {
        Kind::Struct(_) => all_members(schema, *id)
            .into_iter()
            .map(|m| Ok((m.name.clone(), default_member(schema, m, depth + 1)?)))
            .collect::<Result<_, _>>()
            .map(Value::Struct),
        Kind::Union(of) => {
            let label = schema.default_discriminator(of);
            let mut members =
                vec![("discriminator".to_owned(), label_value(schema, &of.discriminator, label)?)];
            if let Some(case) = of.case_of(label).and_then(|i| of.cases.get(i)) {
                members.push((case.member.name.clone(), default_value(schema, &case.member.ty, depth + 1)?));
            }
            Ok(Value::Struct(members))
        }
        _ => Err(super::mismatch(schema, ty)),
    }
}

fn from_literal(schema: &Schema, ty: &Type, literal: &Literal) -> Option<Value> {
    let resolved = schema.resolve(ty);
    Some(match (resolved, literal) {
        (Type::Primitive(Primitive::F32), Literal::Float(v)) => Value::Float(*v as f32),
        (Type::Primitive(Primitive::F64), Literal::Float(v)) => Value::Double(*v),
        (Type::Primitive(Primitive::F32), Literal::Integer(v)) => Value::Float(*v as f32),
        (Type::Primitive(Primitive::F64), Literal::Integer(v)) => Value::Double(*v as f64),
        (_, Literal::Bool(v)) => Value::Bool(*v),
        (Type::Primitive(Primitive::Bool), Literal::Integer(v)) => Value::Bool(*v != 0),
        (Type::Primitive(Primitive::Char8), Literal::Integer(v)) => Value::Char(u8::try_from(*v).ok()?),
        (Type::Map { .. }, Literal::List(items)) if items.is_empty() => Value::Map(Vec::new()),
        (Type::Sequence { element, .. }, Literal::List(items)) => {
            Value::list(items.iter().map(|i| from_literal(schema, element, i)).collect::<Option<_>>()?)
        }
        (Type::Array { .. }, Literal::List(items)) => {
            let (element, dimensions) = schema.array(resolved)?;
            nest(items, &dimensions, &|i| from_literal(schema, element, i))?
        }
        (Type::Named(id), Literal::Integer(v)) => match &schema.definition(*id).kind {
            Kind::Bitmask(of) => super::flags(of, u64::try_from(*v).ok()?),
            _ => return None,
        },
        (Type::Primitive(of), Literal::Integer(v)) => integer_value(*of, *v)?,
        (_, Literal::String(text)) => Value::Text(text.clone()),
        (_, Literal::Enumerator { .. }) => {
            let of = schema.enumerator_of(literal)?;
            Value::Enum { name: Some(of.name.clone()), value: of.value }
        }
        _ => return None,
    })
}

/// The literal of an array: nested lists, or one flat list of all elements.
fn nest(items: &[Literal], dimensions: &[u32], read: &impl Fn(&Literal) -> Option<Value>) -> Option<Value> {
    let [length, inner @ ..] = dimensions else { return None };
    if inner.is_empty() {
        return Some(Value::list(items.iter().map(read).collect::<Option<_>>()?));
    }
    let rows = if items.len() == *length as usize && items.iter().all(|i| matches!(i, Literal::List(_))) {
        items
            .iter()
            .map(|i| if let Literal::List(row) = i { nest(row, inner, read) } else { None })
            .collect::<Option<_>>()?
    } else {
        let row = inner.iter().map(|&d| d as usize).product::<usize>().max(1);
        items.chunks(row).map(|r| nest(r, inner, read)).collect::<Option<_>>()?
    };
    Some(Value::list(rows))
}
