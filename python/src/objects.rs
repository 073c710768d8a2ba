//! Decoded values as objects of Python.

use std::sync::Arc;

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use situ_schema::dynamic::Value;
use situ_schema::model::{self, Primitive, Type, TypeId};

use crate::array::{Array, into_numpy};
use crate::content::{State, instantiate};
use crate::convert::{innermost, stored};
use crate::errors::Kind as Error;
use crate::types::{Item, Kind, MemberPlan, Part, Types};
use crate::union::Union;

/// Text of UTF-16 units, which may be halves of pairs.
pub fn wide_string<'py>(py: Python<'py>, units: &[u16]) -> PyResult<Bound<'py, PyAny>> {
    if let Ok(text) = String::from_utf16(units) {
        return text.into_bound_py_any(py);
    }
    let bytes: Vec<u8> = units.iter().flat_map(|it| it.to_le_bytes()).collect();
    PyBytes::new(py, &bytes).call_method1("decode", ("utf-16-le", "surrogatepass"))
}

/// An enumerator as a member of its class, or as a number if it has no name.
pub fn enum_object<'py>(
    py: Python<'py>,
    types: &Arc<Types>,
    id: TypeId,
    value: i128,
) -> PyResult<Bound<'py, PyAny>> {
    let is_known = match &types.schema.definition(id).kind {
        model::Kind::Enum(it) => i32::try_from(value).is_ok_and(|value| it.by_value(value).is_some()),
        _ => true,
    };
    if is_known {
        return types.class(py, id)?.call1((value,));
    }
    match types.family {
        // A generated class, if there is one, has enumerators without a name.
        Some(_) => match types.class(py, id)?.getattr_opt("_unknown")? {
            Some(unknown) => unknown.call1((value,)),
            None => value.into_bound_py_any(py),
        },
        None => value.into_bound_py_any(py),
    }
}

/// A value as an object of Python. Numbers stay `Array`s here; a message makes numpy's arrays of them when
/// they are asked for.
pub fn to_object<'py>(
    py: Python<'py>,
    types: &Arc<Types>,
    part: &Part,
    value: &Value,
) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Bool(it) => it.into_bound_py_any(py),
        Value::Signed(it) => it.into_bound_py_any(py),
        Value::Unsigned(it) => it.into_bound_py_any(py),
        Value::Float(it) => it.into_bound_py_any(py),
        Value::Double(it) => it.into_bound_py_any(py),
        Value::Char(it) => char::from(*it).into_bound_py_any(py),
        Value::WChar(it) => wide_string(py, &[*it]),
        Value::Text(it) => it.into_bound_py_any(py),
        Value::WideText(it) => wide_string(py, it),
        Value::Enum { value, .. } => match part.kind {
            Kind::Enum(id) => enum_object(py, types, id, i128::from(*value)),
            _ => value.into_bound_py_any(py),
        },
        Value::Bitmask { bits, .. } => match part.kind {
            Kind::Bitmask(id, _) => enum_object(py, types, id, i128::from(*bits)),
            _ => bits.into_bound_py_any(py),
        },
        Value::Optional(None) => Ok(py.None().into_bound(py)),
        Value::Optional(Some(it)) => to_object(py, types, part, it),
        Value::Record(record) => match part.kind {
            Kind::Struct(id) => {
                let members = &types.plan(id).members;
                let values = record.iter().zip(members);
                // What was read from a region has no weak links: the values to which they lead are elsewhere.
                let object = |value: &Value, member: &MemberPlan| match member.weak {
                    true => Ok(py.None()),
                    false => Ok(to_object(py, types, &member.part, value)?.unbind()),
                };
                let values =
                    values.map(|((_, value), member)| object(value, member)).collect::<PyResult<Vec<_>>>()?;
                let state = State::Values { values, lender: None };
                Ok(instantiate(py, types, id, state)?.into_any())
            }
            _ => Ok(py.None().into_bound(py)),
        },
        Value::Union { discriminator, case } => union_object(py, types, part, discriminator, case.as_ref()),
        Value::Numbers(_) | Value::List(_) => list_object(py, types, part, value),
        Value::Map(entries) => {
            let dict = PyDict::new(py);
            let Type::Map { key, value, .. } = types.schema.resolve(&part.ty) else {
                return Ok(dict.into_any());
            };
            let (key, value) = (types.part(key), types.part(value));
            for (k, v) in entries {
                let v = to_object(py, types, &value, v)?;
                dict.set_item(to_object(py, types, &key, k)?, numpy_if_array(py, v)?)?;
            }
            Ok(dict.into_any())
        }
    }
}

fn union_object<'py>(
    py: Python<'py>,
    types: &Arc<Types>,
    part: &Part,
    discriminator: &Value,
    case: Option<&(String, Box<Value>)>,
) -> PyResult<Bound<'py, PyAny>> {
    let Kind::Union(id) = part.kind else { return Ok(py.None().into_bound(py)) };
    let model::Kind::Union(it) = &types.schema.definition(id).kind else {
        return Ok(py.None().into_bound(py));
    };
    let discriminator = to_object(py, types, &types.part(&it.discriminator), discriminator)?;
    let (name, value) = match case {
        Some((name, value)) => {
            let found = it.cases.iter().find(|it| it.member.name == *name);
            let value = match found {
                Some(found) => to_object(py, types, &types.part(&found.member.ty), value)?,
                None => py.None().into_bound(py),
            };
            (Some(name.clone()), numpy_if_array(py, value)?)
        }
        None => (None, py.None().into_bound(py)),
    };
    Union::make(py, types, id, discriminator, name, value)
}

fn list_object<'py>(
    py: Python<'py>,
    types: &Arc<Types>,
    part: &Part,
    value: &Value,
) -> PyResult<Bound<'py, PyAny>> {
    let (element, lengths) = match &part.kind {
        Kind::Array { element, dimensions, .. } => {
            (element, dimensions.iter().map(|it| u64::from(*it)).collect())
        }
        Kind::Sequence { element, .. } => (element, Vec::new()),
        _ => return Ok(PyList::empty(py).into_any()),
    };
    let inner = innermost(element);
    if let Some(primitive) = stored(inner) {
        let mut bytes = Vec::new();
        gather(value, primitive, &mut bytes);
        let mut lengths: Vec<u64> = lengths;
        if lengths.is_empty() {
            lengths.push(match value {
                Value::Numbers(it) => it.len() as u64,
                Value::List(it) => it.len() as u64,
                _ => 0,
            });
        }
        if let Kind::Array { dimensions, .. } = &element.kind {
            lengths.extend(dimensions.iter().map(|it| u64::from(*it)));
        }
        let array = Array::of_bytes(&bytes, types, &Item::number(primitive), &lengths)
            .ok_or_else(|| Error::Malformed.error(py, "there is no memory for its numbers"))?;
        return Ok(Bound::new(py, array)?.into_any());
    }
    let levels = if let Kind::Array { dimensions, .. } = &part.kind { dimensions.len() } else { 1 };
    nested_list(py, types, element, value, levels)
}

/// The elements of a sequence, or of an array with so many dimensions.
fn nested_list<'py>(
    py: Python<'py>,
    types: &Arc<Types>,
    element: &Part,
    value: &Value,
    levels: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let list = PyList::empty(py);
    if let Value::List(values) = value {
        for it in values {
            let object = match levels {
                0 | 1 => to_object(py, types, element, it)?,
                levels => nested_list(py, types, element, it, levels - 1)?,
            };
            list.append(numpy_if_array(py, object)?)?;
        }
    }
    Ok(list.into_any())
}

fn gather(value: &Value, primitive: Primitive, bytes: &mut Vec<u8>) {
    match value {
        Value::Numbers(numbers) => bytes.extend(numbers.to_bytes()),
        Value::List(values) => values.iter().for_each(|it| gather(it, primitive, bytes)),
        other => {
            let bits = other.as_integer().unwrap_or(0).to_le_bytes();
            bytes.extend_from_slice(&bits[..primitive.size() as usize]);
        }
    }
}

/// numpy's array in place of the package's.
pub fn numpy_if_array<'py>(py: Python<'py>, object: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    match object.cast_into::<Array>() {
        Ok(array) => into_numpy(py, array),
        Err(error) => Ok(error.into_inner()),
    }
}

/// A value as plain objects of Python: dicts, lists, numbers, text.
pub fn to_plain<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Bool(it) => it.into_bound_py_any(py)?,
        Value::Signed(it) => it.into_bound_py_any(py)?,
        Value::Unsigned(it) => it.into_bound_py_any(py)?,
        Value::Float(it) => it.into_bound_py_any(py)?,
        Value::Double(it) => it.into_bound_py_any(py)?,
        Value::Char(it) => char::from(*it).into_bound_py_any(py)?,
        Value::WChar(it) => wide_string(py, &[*it])?,
        Value::Text(it) => it.into_bound_py_any(py)?,
        Value::WideText(it) => wide_string(py, it)?,
        Value::Enum { value, .. } => value.into_bound_py_any(py)?,
        Value::Bitmask { bits, .. } => bits.into_bound_py_any(py)?,
        Value::Optional(None) => py.None().into_bound(py),
        Value::Optional(Some(it)) => to_plain(py, it)?,
        Value::Record(record) => {
            let dict = PyDict::new(py);
            for (name, value) in record.iter() {
                dict.set_item(name, to_plain(py, value)?)?;
            }
            dict.into_any()
        }
        Value::Union { case, .. } => {
            let dict = PyDict::new(py);
            if let Some((name, value)) = case {
                dict.set_item(name, to_plain(py, value)?)?;
            }
            dict.into_any()
        }
        Value::Numbers(numbers) => {
            let list = PyList::empty(py);
            for it in (0..numbers.len()).filter_map(|at| numbers.get(at)) {
                list.append(to_plain(py, &it)?)?;
            }
            list.into_any()
        }
        Value::List(values) => {
            let list = PyList::empty(py);
            for it in values {
                list.append(to_plain(py, it)?)?;
            }
            list.into_any()
        }
        Value::Map(entries) => {
            let dict = PyDict::new(py);
            for (key, value) in entries {
                dict.set_item(to_plain(py, key)?, to_plain(py, value)?)?;
            }
            dict.into_any()
        }
    })
}
