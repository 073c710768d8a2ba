//! Objects of Python as values of the schema's types: what Python's code gives becomes a [`Value`].
//!
//! A struct may be given as a message, a dict, or any object with attributes. A sequence or array of
//! numbers may be a list, bytes, or anything that numpy makes an array of. A union may be a `situ.Union`, a
//! pair of a case and its value, or a dict with one entry.

use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple,
};
use situ_schema::dynamic::{self, Numbers, Record, Value};
use situ_schema::model::{self, Primitive, Type, TypeId};

use crate::array::{Array, helpers};
use crate::content::Struct;
use crate::errors::Kind as Error;
use crate::types::{Item, Kind, MemberPlan, Part, Types};
use crate::union::Union;

/// How deep values may be nested: a list that contains itself has no end.
const MAX_DEPTH: usize = 100;

/// Why an object does not fit a type, and where.
pub struct Fail {
    path: String,
    text: String,
    /// Another exception than one about the value: the message was released, for instance.
    other: Option<PyErr>,
}

impl Fail {
    fn new(text: impl Into<String>) -> Self {
        Self { path: String::new(), text: text.into(), other: None }
    }

    /// The same within a member of this name.
    pub fn within(mut self, name: &str) -> Self {
        let separator = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{name}{separator}{}", self.path);
        self
    }

    fn at(self, index: usize) -> Self {
        self.within(&format!("[{index}]"))
    }

    /// As an exception.
    pub fn raise(self, py: Python<'_>) -> PyErr {
        if let Some(other) = self.other {
            return other;
        }
        let path = if self.path.is_empty() { String::new() } else { format!("`{}`: ", self.path) };
        Error::Conversion.error(py, path + &self.text)
    }
}

impl From<PyErr> for Fail {
    fn from(error: PyErr) -> Self {
        Python::attach(|py| {
            let is_of_value = (error.is_instance_of::<PyValueError>(py)
                || error.is_instance_of::<PyTypeError>(py))
                && !Error::Malformed.is(py, &error);
            let text = error.value(py).to_string();
            let other = (!is_of_value).then_some(error);
            Self { path: String::new(), text, other }
        })
    }
}

type Outcome<T> = Result<T, Fail>;

/// An object as a value of a struct.
pub fn to_struct_value(
    py: Python<'_>,
    types: &Arc<Types>,
    id: TypeId,
    object: &Bound<'_, PyAny>,
) -> PyResult<Value> {
    let converter = Converter { py, types, depth: 0 };
    converter.structure(id, object).map_err(|fail| fail.raise(py))
}

/// An object as a value of a type.
pub fn to_value(
    py: Python<'_>,
    types: &Arc<Types>,
    part: &Part,
    object: &Bound<'_, PyAny>,
) -> Outcome<Value> {
    Converter { py, types, depth: 0 }.value(part, object)
}

struct Converter<'a, 'py> {
    py: Python<'py>,
    types: &'a Arc<Types>,
    depth: usize,
}

fn wrong(expected: &str, object: &Bound<'_, PyAny>) -> Fail {
    let given = object.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
    Fail::new(format!("{expected} is expected, and this is of type {given}"))
}

impl Converter<'_, '_> {
    fn value(&self, part: &Part, object: &Bound<'_, PyAny>) -> Outcome<Value> {
        if self.depth > MAX_DEPTH {
            return Err(Fail::new(format!("it is nested deeper than {MAX_DEPTH} levels")));
        }
        let inner = Converter { depth: self.depth + 1, ..*self };
        match &part.kind {
            Kind::Primitive(primitive) => scalar(*primitive, object),
            Kind::Text(bound) => text(object, *bound),
            Kind::WideText(bound) => wide_text(object, *bound),
            Kind::Enum(id) => self.enumerator(*id, object),
            Kind::Bitmask(_, storage) => {
                let bits = integer(*storage, object)? as u64;
                Ok(Value::Bitmask { bits, flags: Vec::new() })
            }
            Kind::Struct(id) => inner.structure(*id, object),
            Kind::Union(id) => inner.union(*id, object),
            Kind::Array { element, dimensions, item } => {
                let count = dimensions.iter().fold(1u64, |count, it| count.saturating_mul(u64::from(*it)));
                let lengths: Vec<u64> = dimensions.iter().map(|it| u64::from(*it)).collect();
                inner.elements(element, item.as_ref(), object, Some((count, &lengths)))
            }
            Kind::Sequence { element, bound, item, .. } => {
                let value = inner.elements(element, item.as_ref(), object, None)?;
                let length = match &value {
                    Value::Numbers(numbers) => numbers.len(),
                    Value::List(values) => values.len(),
                    _ => 0,
                };
                match bound {
                    Some(bound) if length > *bound as usize => {
                        Err(Fail::new(format!("{length} elements exceed the bound {bound}")))
                    }
                    _ => Ok(value),
                }
            }
            Kind::Map => inner.map(&part.ty, object),
        }
    }

    fn elements(
        &self,
        element: &Part,
        item: Option<&Item>,
        object: &Bound<'_, PyAny>,
        fixed: Option<(u64, &[u64])>,
    ) -> Outcome<Value> {
        if let Some(item) = item.filter(|item| item.of.is_none()) {
            let outer: &[u64] = fixed.map_or(&[], |(_, lengths)| lengths);
            let bytes = item_bytes(self.py, item, object, fixed.map(|_| outer))?;
            let count = bytes.len() as u64 / item.stride().max(1);
            if let Some((wanted, _)) = fixed
                && wanted != count
            {
                return Err(Fail::new(format!("{count} elements are given, and the array has {wanted}")));
            }
            let counted = [count];
            let lengths = [if fixed.is_some() { outer } else { &counted }, &item.inner].concat();
            return nest(innermost(element), &bytes, &lengths);
        }
        if object.is_instance_of::<PyString>() || object.is_instance_of::<PyBytes>() {
            return Err(wrong("a list", object));
        }
        let mut object = object.clone();
        if item.is_some() && object.hasattr("dtype")? {
            object = helpers(self.py)?.getattr("records")?.call1((object,))?;
        }
        self.list(element, &object, fixed.map(|(_, lengths)| lengths))
    }

    fn list(&self, element: &Part, object: &Bound<'_, PyAny>, lengths: Option<&[u64]>) -> Outcome<Value> {
        let mut values = Vec::new();
        let rest = lengths.and_then(|it| it.get(1..)).filter(|rest| !rest.is_empty());
        for (index, it) in object.try_iter().map_err(|_| wrong("a list", object))?.enumerate() {
            let it = it?;
            let value = match rest {
                Some(rest) => self.list(element, &it, Some(rest)),
                None => self.value(element, &it),
            };
            values.push(value.map_err(|fail| fail.at(index))?);
        }
        match lengths.and_then(|it| it.first()) {
            Some(length) if *length != values.len() as u64 => {
                Err(Fail::new(format!("{} elements are given, and the array has {length}", values.len())))
            }
            _ => Ok(Value::List(values)),
        }
    }

    fn map(&self, ty: &Type, object: &Bound<'_, PyAny>) -> Outcome<Value> {
        let Type::Map { key, value, .. } = self.types.schema.resolve(ty) else {
            return Err(Fail::new("no map"));
        };
        let Ok(mapping) = object.cast::<PyMapping>() else { return Err(wrong("a dict", object)) };
        let (key, value) = (self.types.part(key), self.types.part(value));
        let mut entries = Vec::new();
        for entry in mapping.items()?.iter() {
            let (k, v): (Bound<'_, PyAny>, Bound<'_, PyAny>) = entry.extract()?;
            let name = || k.repr().map_or_else(|_| "?".to_owned(), |it| it.to_string());
            let entry = self.value(&key, &k).and_then(|key| Ok((key, self.value(&value, &v)?)));
            entries.push(entry.map_err(|fail| fail.within(&format!("[{}]", name())))?);
        }
        Ok(Value::Map(entries))
    }

    fn enumerator(&self, id: TypeId, object: &Bound<'_, PyAny>) -> Outcome<Value> {
        let model::Kind::Enum(it) = &self.types.schema.definition(id).kind else {
            return Err(Fail::new("no enum"));
        };
        if let Ok(name) = object.cast::<PyString>() {
            let name = name.to_string();
            return match it.enumerators.iter().find(|it| it.name == name) {
                Some(found) => Ok(Value::Enum { value: found.value, name: Some(name) }),
                None => {
                    let names: Vec<&str> =
                        it.enumerators.iter().map(|it| it.name.as_str()).take(20).collect();
                    Err(Fail::new(format!("there is no {name:?}; there are: {}", names.join(", "))))
                }
            };
        }
        let value = integer(Primitive::I32, object)? as i32;
        Ok(Value::Enum { value, name: it.by_value(value).map(|it| it.name.clone()) })
    }

    fn union(&self, id: TypeId, object: &Bound<'_, PyAny>) -> Outcome<Value> {
        let schema = &self.types.schema;
        let model::Kind::Union(it) = &schema.definition(id).kind else { return Err(Fail::new("no union")) };
        let (discriminator, case, value) = if let Ok(union) = object.cast::<Union>() {
            let union = union.get();
            let discriminator = union.discriminator.bind(self.py).clone();
            (Some(discriminator), union.case.clone(), Some(union.value.bind(self.py).clone()))
        } else if let Ok((case, value)) = object.extract::<(String, Bound<'_, PyAny>)>() {
            (None, Some(case), Some(value))
        } else if let Some((case, value)) =
            object.cast::<PyDict>().ok().filter(|it| it.len() == 1).and_then(|it| it.iter().next())
        {
            (None, Some(case.extract::<String>()?), Some(value))
        } else {
            return Err(wrong("a union (`situ.Union`, or a pair of a case and its value)", object));
        };
        let number = match discriminator.filter(|it| !it.is_none()) {
            Some(given) => self
                .value(&self.types.part(&it.discriminator), &given)
                .map_err(|fail| fail.within("discriminator"))?
                .as_integer()
                .unwrap_or(0),
            None => {
                let Some(name) = &case else {
                    return Err(Fail::new("it has neither a case nor a discriminator"));
                };
                let Some(found) = it.cases.iter().find(|it| it.member.name == *name) else {
                    let names: Vec<&str> = it.cases.iter().map(|it| it.member.name.as_str()).collect();
                    return Err(Fail::new(format!(
                        "there is no case {name:?}; there are: {}",
                        names.join(", ")
                    )));
                };
                found.labels.first().copied().or_else(|| schema.unlabelled(it)).unwrap_or(0)
            }
        };
        let discriminator = discriminator_of(schema, &it.discriminator, number);
        let selected = it.case_of(number).map(|at| &it.cases[at]);
        let case = match (selected, case) {
            (None, None) => None,
            (Some(selected), name) if name.as_ref().is_none_or(|name| *name == selected.member.name) => {
                let (name, value) =
                    (&selected.member.name, value.unwrap_or_else(|| self.py.None().into_bound(self.py)));
                let value = self.value(&self.types.part(&selected.member.ty), &value);
                Some((name.clone(), Box::new(value.map_err(|fail| fail.within(name))?)))
            }
            (_, name) => {
                let name = name.unwrap_or_default();
                return Err(Fail::new(format!(
                    "the discriminator {number} does not select the case {name:?}"
                )));
            }
        };
        Ok(Value::Union { discriminator: Box::new(discriminator), case })
    }

    fn structure(&self, id: TypeId, object: &Bound<'_, PyAny>) -> Outcome<Value> {
        if self.depth > MAX_DEPTH {
            return Err(Fail::new(format!("it is nested deeper than {MAX_DEPTH} levels")));
        }
        let plan = self.types.plan(id);
        if let Ok(message) = object.cast::<Struct>()
            && let Some(value) = message.get().own_value(self.py, self.types, id)?
        {
            return Ok(value);
        }
        if let Ok(message) = object.cast::<Struct>()
            && let Some(value) = message.get().region_value(self.py, self.types, id)?
        {
            return Ok(value);
        }
        if let Ok(message) = object.cast::<Struct>()
            && let Some(objects) = message.get().of_region(self.py)?
        {
            return self.structure(id, &objects);
        }
        let mut defaults = None;
        let mut values = Vec::with_capacity(plan.members.len());
        let dict = object.cast::<PyDict>().ok();
        // An object that has none of the members is a mistake, and no message of defaults.
        let expected = || {
            wrong(&format!("a {} (a message, or a dict of its members)", self.types.schema.name(id)), object)
        };
        let mut has_one = dict.is_some() || plan.members.is_empty();
        if let Some(dict) = dict {
            for key in dict.keys() {
                let name = key.extract::<String>().map_err(|_| wrong("the name of a member", &key))?;
                if plan.find(&name).is_none() {
                    return Err(Fail::new(no_member(self.types, id, &name)));
                }
            }
        } else {
            let is_plain = object.is_instance_of::<PyInt>() || object.is_instance_of::<PyString>();
            if !has_one && (is_plain || object.is_none()) {
                return Err(expected());
            }
        }
        for (index, member) in plan.members.iter().enumerate() {
            let given = match dict {
                Some(dict) => dict.get_item(&member.name)?,
                // By the schema's names, not by those of attributes.
                None => match object.cast::<Struct>() {
                    Ok(message) => message.get().get_by_name(self.py, &member.name)?,
                    Err(_) => object.getattr_opt(&*member.name)?,
                },
            };
            has_one |= given.is_some();
            values.push(match given {
                Some(given) => self.member(member, &given).map_err(|fail| fail.within(&member.name))?,
                None => {
                    if defaults.is_none() {
                        defaults = Some(default_record(self.types, id)?);
                    }
                    let found = defaults.as_ref().and_then(|it| it.iter().nth(index));
                    found.map(|(_, value)| value.clone()).ok_or_else(|| Fail::new("it has no default"))?
                }
            });
        }
        if !has_one {
            return Err(expected());
        }
        Ok(Value::Record(Record::new(plan.names.clone(), values)))
    }

    fn member(&self, member: &MemberPlan, object: &Bound<'_, PyAny>) -> Outcome<Value> {
        if !member.optional {
            return self.value(&member.part, object);
        }
        if object.is_none() {
            return Ok(Value::Optional(None));
        }
        if member.weak {
            return Err(Fail::new("it is a weak link, which only programs with compiled types make"));
        }
        Ok(Value::Optional(Some(Box::new(self.value(&member.part, object)?))))
    }
}

/// The default value of a struct.
pub fn default_record(types: &Types, id: TypeId) -> Outcome<Record> {
    match dynamic::default_value(&types.schema, id) {
        Ok(Value::Record(record)) => Ok(record),
        Ok(_) => Err(Fail::new("no struct")),
        Err(error) => Err(Fail::new(error.to_string())),
    }
}

/// A value of a member, which may be absent.
pub fn to_member_value(
    py: Python<'_>,
    types: &Arc<Types>,
    member: &MemberPlan,
    object: &Bound<'_, PyAny>,
) -> Outcome<Value> {
    Converter { py, types, depth: 0 }.member(member, object).map_err(|fail| fail.within(&member.name))
}

/// The sentence about a member that is not there.
pub fn no_member(types: &Types, id: TypeId, name: &str) -> String {
    let names: Vec<&str> = types.plan(id).members.iter().map(|it| it.name.as_str()).collect();
    format!("{} has no member {name:?}; it has: {}", types.schema.name(id), names.join(", "))
}

fn discriminator_of(schema: &situ_schema::Schema, ty: &Type, value: i128) -> Value {
    match schema.resolve(ty) {
        Type::Named(id) => match &schema.definition(*id).kind {
            model::Kind::Enum(it) => {
                let value = i32::try_from(value).unwrap_or(0);
                Value::Enum { value, name: it.by_value(value).map(|it| it.name.clone()) }
            }
            _ => Value::Signed(value as i64),
        },
        Type::Primitive(Primitive::Bool) => Value::Bool(value != 0),
        Type::Primitive(Primitive::Char8) => Value::Char(value as u8),
        Type::Primitive(Primitive::WChar) => Value::WChar(value as u16),
        _ if value < 0 => Value::Signed(value as i64),
        _ => Value::Unsigned(value as u64),
    }
}

/// The innermost elements of an array of arrays.
pub fn innermost(part: &Part) -> &Part {
    if let Kind::Array { element, .. } = &part.kind { innermost(element) } else { part }
}

/// The primitive that numbers, characters, enums and bitmasks are stored as.
pub fn stored(part: &Part) -> Option<Primitive> {
    match &part.kind {
        Kind::Primitive(it) | Kind::Bitmask(_, it) => Some(*it),
        Kind::Enum(_) => Some(Primitive::I32),
        _ => None,
    }
}

/// Elements as nested lists with these lengths. The element is no array itself.
fn nest(element: &Part, bytes: &[u8], lengths: &[u64]) -> Outcome<Value> {
    let Some(primitive) = stored(element) else { return Err(Fail::new("no numbers")) };
    if let [_, rest @ ..] = lengths
        && !rest.is_empty()
    {
        let size = rest.iter().product::<u64>() * primitive.size();
        let parts = bytes.chunks_exact((size as usize).max(1));
        return Ok(Value::List(parts.map(|part| nest(element, part, rest)).collect::<Outcome<_>>()?));
    }
    let is_number = matches!(&element.kind, Kind::Primitive(_));
    let numbers =
        Numbers::from_bytes(primitive, bytes, false).map_err(|error| Fail::new(error.to_string()))?;
    if let Some(numbers) = numbers
        && is_number
    {
        return Ok(Value::Numbers(numbers));
    }
    let values = bytes.chunks_exact(primitive.size() as usize).map(|it| {
        let mut wide = [0; 8];
        wide[..it.len()].copy_from_slice(it);
        let bits = u64::from_le_bytes(wide);
        match &element.kind {
            Kind::Enum(_) => Value::Enum { value: bits as i32, name: None },
            Kind::Bitmask(..) => Value::Bitmask { bits, flags: Vec::new() },
            Kind::Primitive(Primitive::Bool) => Value::Bool(bits != 0),
            Kind::Primitive(Primitive::Char8) => Value::Char(bits as u8),
            _ => Value::WChar(bits as u16),
        }
    });
    Ok(Value::List(values.collect()))
}

/// An array of numpy in place of an object that has DLPack only, which shares its memory. `None` for other
/// objects. Fails if the memory is on a device.
pub fn array_by_dlpack<'py>(object: &Bound<'py, PyAny>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    if object.hasattr("shape")? || !object.hasattr("__dlpack__")? {
        return Ok(None);
    }
    let py = object.py();
    let array = helpers(py)?.getattr("array")?.call1((object,));
    array.map(Some).map_err(|error| Fail::from(error).within(name).raise(py))
}

/// The little-endian bytes of numbers. `lengths`: those that the object must have.
pub fn item_bytes(
    py: Python<'_>,
    item: &Item,
    object: &Bound<'_, PyAny>,
    lengths: Option<&[u64]>,
) -> Outcome<Vec<u8>> {
    let is_byte = item.size == 1 && item.typestr != "|b1";
    if is_byte && let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(bytes.as_bytes().to_vec());
    }
    if is_byte && let Ok(bytes) = object.cast::<PyByteArray>() {
        return Ok(bytes.to_vec());
    }
    if let Ok(array) = object.cast::<Array>()
        && array.get().typestr_is(&item.typestr)
    {
        return Ok(array.get().bytes().to_vec());
    }
    if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        let all = lengths.map(|lengths| [lengths, &item.inner].concat());
        let mut bytes = Vec::new();
        match all {
            Some(all) => numbers_of(item, object, &all, &mut bytes)?,
            None => {
                for (index, it) in object.try_iter()?.enumerate() {
                    numbers_of(item, &it?, &item.inner, &mut bytes).map_err(|fail| fail.at(index))?;
                }
            }
        }
        return Ok(bytes);
    }
    if object.is_instance_of::<PyString>()
        || object.is_instance_of::<PyInt>()
        || object.is_instance_of::<PyFloat>()
    {
        return Err(wrong("a list or an array of numbers", object));
    }
    let packed = helpers(py)?.getattr("pack")?.call1((object, &item.typestr, item.inner.clone()))?;
    Ok(packed.extract::<Vec<u8>>()?)
}

/// Numbers in nested lists with these lengths.
fn numbers_of(item: &Item, object: &Bound<'_, PyAny>, lengths: &[u64], bytes: &mut Vec<u8>) -> Outcome<()> {
    let Some((length, rest)) = lengths.split_first() else { return push_number(item, object, bytes) };
    let mut count = 0;
    for it in object.try_iter().map_err(|_| wrong("a list", object))? {
        numbers_of(item, &it?, rest, bytes).map_err(|fail| fail.at(count))?;
        count += 1;
    }
    if count as u64 != *length {
        return Err(Fail::new(format!("{count} elements are given, and the array has {length}")));
    }
    Ok(())
}

fn push_number(item: &Item, object: &Bound<'_, PyAny>, bytes: &mut Vec<u8>) -> Outcome<()> {
    let range = match item.typestr.as_bytes() {
        [_, b'f', b'4'] => {
            let value: f64 = object.extract().map_err(|_| wrong("a number", object))?;
            bytes.extend_from_slice(&(value as f32).to_le_bytes());
            return Ok(());
        }
        [_, b'f', _] => {
            let value: f64 = object.extract().map_err(|_| wrong("a number", object))?;
            bytes.extend_from_slice(&value.to_le_bytes());
            return Ok(());
        }
        [_, b'b', _] => {
            let value = object.cast::<PyBool>().map_err(|_| wrong("True or False", object))?;
            bytes.push(u8::from(value.is_true()));
            return Ok(());
        }
        [_, b'i', b'1'] => Primitive::I8,
        [_, b'i', b'2'] => Primitive::I16,
        [_, b'i', b'4'] => Primitive::I32,
        [_, b'i', _] => Primitive::I64,
        [_, b'u', b'1'] => Primitive::U8,
        [_, b'u', b'2'] => Primitive::U16,
        [_, b'u', b'4'] => Primitive::U32,
        _ => Primitive::U64,
    };
    let value = integer(range, object)?;
    bytes.extend_from_slice(&value.to_le_bytes()[..item.size as usize]);
    Ok(())
}

/// An integer that a type can hold.
pub fn integer(primitive: Primitive, object: &Bound<'_, PyAny>) -> Outcome<i128> {
    let index = match object.cast::<PyInt>() {
        Ok(number) => number.clone().into_any(),
        // Also the integers of numpy.
        Err(_) => object.call_method0("__index__").map_err(|_| wrong("an integer", object))?,
    };
    let (least, most) = primitive.integer_range().unwrap_or((0, 0));
    let value = index.extract::<i64>().map(i128::from).or_else(|_| index.extract::<u64>().map(i128::from));
    match value {
        Ok(value) if value >= least && value <= most => Ok(value),
        _ => Err(Fail::new(format!(
            "{index} does not fit in {}, which holds {least} to {most}",
            primitive.idl()
        ))),
    }
}

fn scalar(primitive: Primitive, object: &Bound<'_, PyAny>) -> Outcome<Value> {
    Ok(match primitive {
        Primitive::Bool => {
            if let Ok(value) = object.cast::<PyBool>() {
                Value::Bool(value.is_true())
            } else {
                // numpy's booleans, which are no integers.
                let is_bool = object.get_type().name().is_ok_and(|name| name.to_string().starts_with("bool"));
                match is_bool {
                    true => Value::Bool(object.is_truthy()?),
                    false => return Err(wrong("True or False", object)),
                }
            }
        }
        Primitive::F32 => {
            Value::Float(object.extract::<f64>().map_err(|_| wrong("a number", object))? as f32)
        }
        Primitive::F64 => Value::Double(object.extract().map_err(|_| wrong("a number", object))?),
        Primitive::Char8 | Primitive::WChar if object.is_instance_of::<PyString>() => {
            let units = units_of(object)?;
            match (primitive, units.as_slice()) {
                (Primitive::Char8, [unit]) if *unit < 256 => Value::Char(*unit as u8),
                (Primitive::WChar, [unit]) => Value::WChar(*unit),
                _ => return Err(Fail::new(format!("{object:?} is not one {}", primitive.idl()))),
            }
        }
        Primitive::Char8 => Value::Char(integer(primitive, object)? as u8),
        Primitive::WChar => Value::WChar(integer(primitive, object)? as u16),
        Primitive::I8 | Primitive::I16 | Primitive::I32 | Primitive::I64 => {
            Value::Signed(integer(primitive, object)? as i64)
        }
        _ => Value::Unsigned(integer(primitive, object)? as u64),
    })
}

fn bounded(length: usize, bound: Option<u32>, what: &str) -> Outcome<()> {
    match bound {
        Some(bound) if length > bound as usize => {
            Err(Fail::new(format!("a text of {length} {what} exceeds the bound {bound}")))
        }
        _ => Ok(()),
    }
}

fn text(object: &Bound<'_, PyAny>, bound: Option<u32>) -> Outcome<Value> {
    let Ok(text) = object.cast::<PyString>() else { return Err(wrong("text", object)) };
    let text =
        text.to_cow().map_err(|_| Fail::new("the text has a surrogate, which UTF-8 cannot express"))?;
    if text.contains('\0') {
        return Err(Fail::new("the text contains a zero"));
    }
    bounded(text.len(), bound, "bytes")?;
    Ok(Value::Text(text.into_owned()))
}

fn units_of(object: &Bound<'_, PyAny>) -> Outcome<Vec<u16>> {
    let bytes = object.call_method1("encode", ("utf-16-le", "surrogatepass"))?;
    let bytes = bytes.cast_into::<PyBytes>().map_err(|_| Fail::new("no text"))?;
    Ok(bytes.as_bytes().as_chunks().0.iter().map(|it| u16::from_le_bytes(*it)).collect())
}

fn wide_text(object: &Bound<'_, PyAny>, bound: Option<u32>) -> Outcome<Value> {
    if !object.is_instance_of::<PyString>() {
        return Err(wrong("text", object));
    }
    let units = units_of(object)?;
    if units.contains(&0) {
        return Err(Fail::new("the text contains a zero"));
    }
    bounded(units.len(), bound, "units")?;
    Ok(Value::WideText(units))
}
