//! Reads and writes values of flat messages in place.
//!
//! Every read checks what it reads, as `spec/flat.md` says: lengths against bounds, texts, booleans. Another
//! process that may write the memory could change it at any time. A check and its use therefore read the same
//! copy. Arrays are made of numbers only, for which any bytes are values.

use std::fmt::Display;
use std::sync::Arc;

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyString;
use situ_schema::dynamic;
use situ_schema::model::{self, Primitive};

use crate::array::{Array, helpers, into_numpy};
use crate::content::{State, View, instantiate};
use crate::convert::{self, Fail, array_by_dlpack, integer, item_bytes, to_member_value};
use crate::device_array::DeviceArray;
use crate::errors::Kind as Error;
use crate::hold::Memory;
use crate::objects::{self, enum_object, wide_string};
use crate::types::{Item, Kind, MemberPlan, Part};
use crate::union::Union;

/// Texts up to this size in bytes are copied without an allocation.
const SHORT: usize = 256;

/// Elements in place. It has the protocols of Python's sequences. In a loan, elements can be replaced.
#[pyclass(frozen, sequence, module = "situ", name = "ListView")]
pub struct ListView {
    pub view: View,
    pub element: Arc<Part>,
    pub at: u64,
    /// The lengths of its dimensions. Only arrays have more than one.
    pub lengths: Vec<u64>,
    pub name: String,
}

/// A read or a write of one member.
pub struct Access<'a, 'py> {
    pub py: Python<'py>,
    pub view: &'a View,
    pub memory: &'a Arc<Memory>,
    /// The member, for errors.
    pub name: &'a str,
}

impl<'py> Access<'_, 'py> {
    #[cold]
    fn malformed(&self, reason: impl Display) -> PyErr {
        Error::Malformed.error(self.py, format!("`{}`: {reason}", self.name))
    }

    fn bytes(&self, at: u64, size: u64) -> PyResult<&[u8]> {
        let all = self.memory.head();
        let found = at.checked_add(size).filter(|end| *end <= all.len() as u64);
        let found = found.map(|end| &all[at as usize..end as usize]);
        found.ok_or_else(|| self.malformed("the message is too short for it"))
    }

    fn number<const N: usize>(&self, at: u64) -> PyResult<[u8; N]> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.bytes(at, N as u64)?);
        Ok(bytes)
    }

    fn length(&self, at: u64, bound: Option<u32>) -> PyResult<u64> {
        let length = u32::from_le_bytes(self.number(at)?);
        match bound {
            Some(bound) if length > bound => {
                Err(self.malformed(format!("length {length} exceeds its bound {bound}")))
            }
            _ => Ok(u64::from(length)),
        }
    }

    /// The value of a member.
    pub fn member(&self, member: &MemberPlan, base: u64) -> PyResult<Bound<'py, PyAny>> {
        let at = base + member.at;
        if member.bulk {
            if let Some(array) = self.device_array(member, base)? {
                return Ok(Bound::new(self.py, array)?.into_any());
            }
            let array = self.bulk(member, at)?;
            return into_numpy(self.py, Bound::new(self.py, array)?);
        }
        if member.optional {
            return match self.number(at)? {
                [0] => Ok(self.py.None().into_bound(self.py)),
                [1] => self.value(&member.part, at + member.value_at),
                [other] => Err(self.malformed(format!("{other} does not say whether it is present"))),
            };
        }
        self.value(&member.part, at)
    }

    /// The numbers of a bulk member that are on a device.
    pub fn device_array(&self, member: &MemberPlan, base: u64) -> PyResult<Option<DeviceArray>> {
        let Some(device) = self.memory.device.as_ref().filter(|_| member.bulk) else { return Ok(None) };
        let (offset, length, item) = self.descriptor(member, base + member.at)?;
        let end = length.checked_mul(item.stride()).and_then(|size| size.checked_add(offset));
        if end.is_none_or(|end| end > device.size) {
            let text =
                format!("{length} elements from byte {offset} on exceed the body of {} bytes", device.size);
            return Err(self.malformed(text));
        }
        Ok(Some(DeviceArray::new(self.memory.clone(), offset, &self.view.types, item, length)))
    }

    /// Where the elements of a bulk member lie in the body, how many there are, and what they are.
    fn descriptor<'m>(&self, member: &'m MemberPlan, at: u64) -> PyResult<(u64, u64, &'m Item)> {
        let (offset, length) =
            (u64::from_le_bytes(self.number(at)?), u64::from_le_bytes(self.number(at + 8)?));
        let Kind::Sequence { item: Some(item), bound, .. } = &member.part.kind else {
            return Err(self.malformed("it is no sequence of numbers"));
        };
        if let Some(bound) = bound.filter(|bound| length > u64::from(*bound)) {
            return Err(self.malformed(format!("length {length} exceeds its bound {bound}")));
        }
        Ok((offset, length, item))
    }

    /// The numbers of a bulk member.
    fn bulk(&self, member: &MemberPlan, at: u64) -> PyResult<Array> {
        let (offset, length, item) = self.descriptor(member, at)?;
        let place = length.checked_mul(item.stride()).and_then(|size| self.memory.place(true, offset, size));
        let Some(place) = place else {
            let body = self.memory.body().len();
            let text = match body {
                0 => "the message's body is not in the memory of the host".to_owned(),
                body => format!("{length} elements from byte {offset} on exceed the body of {body} bytes"),
            };
            return Err(self.malformed(text));
        };
        self.array(place, item, &[length])
    }

    fn array(&self, place: *mut u8, item: &Item, outer: &[u64]) -> PyResult<Array> {
        let array = Array::new(self.memory.clone(), place, &self.view.types, item, outer);
        if array.typestr_is("|b1")
            && let Some(other) = array.bytes().iter().find(|it| **it > 1)
        {
            return Err(self.malformed(format!("{other} is no boolean")));
        }
        Ok(array)
    }

    /// The array of numbers of a member; `None` if it has another type.
    pub fn array_of(&self, member: &MemberPlan, base: u64) -> PyResult<Option<Array>> {
        let at = base + member.at;
        match &member.part.kind {
            _ if member.bulk => self.bulk(member, at).map(Some),
            _ if member.optional => Ok(None),
            kind => self.numbers(kind, at),
        }
    }

    fn numbers(&self, kind: &Kind, at: u64) -> PyResult<Option<Array>> {
        let (item, outer, at) = match kind {
            Kind::Array { item: Some(item), dimensions, .. } => {
                (item, dimensions.iter().map(|it| u64::from(*it)).collect::<Vec<_>>(), at)
            }
            Kind::Sequence { item: Some(item), bound, data, .. } => {
                (item, vec![self.length(at, *bound)?], at + data)
            }
            _ => return Ok(None),
        };
        let size = outer.iter().fold(item.stride(), |size, length| size.saturating_mul(*length));
        let Some(place) = self.memory.place(false, at, size) else {
            return Err(self.malformed("the message is too short for it"));
        };
        self.array(place, item, &outer).map(Some)
    }

    /// A value that lies at a place in the head.
    pub fn value(&self, part: &Part, at: u64) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        match &part.kind {
            Kind::Primitive(primitive) => self.primitive(*primitive, at),
            Kind::Text(bound) => {
                let length = self.length(at, *bound)?;
                let (text, zero) = (self.bytes(at + 4, length)?, self.number(at + 4 + length)?);
                if zero != [0] {
                    return Err(self.malformed("no zero follows the text"));
                }
                // Of a copy: Python's decoder reads bytes again after it has looked at them, and another
                // process may change them meanwhile.
                let mut short = [0; SHORT];
                let long;
                let copy: &[u8] = match short.get_mut(..text.len()) {
                    Some(copy) => {
                        copy.copy_from_slice(text);
                        &*copy
                    }
                    None => {
                        long = text.to_vec();
                        &long
                    }
                };
                PyString::from_bytes(py, copy)
                    .map(Bound::into_any)
                    .map_err(|_| self.malformed("the text is no UTF-8"))
            }
            Kind::WideText(bound) => {
                let length = self.length(at, *bound)?;
                let units = self.bytes(at + 4, 2 * length)?.as_chunks().0;
                let units: Vec<u16> = units.iter().map(|it| u16::from_le_bytes(*it)).collect();
                wide_string(py, &units)
            }
            Kind::Enum(id) => {
                enum_object(py, &self.view.types, *id, i32::from_le_bytes(self.number(at)?).into())
            }
            Kind::Bitmask(id, storage) => {
                let mut bits = [0; 8];
                let bytes = self.bytes(at, storage.size())?;
                bits[..bytes.len()].copy_from_slice(bytes);
                enum_object(py, &self.view.types, *id, u64::from_le_bytes(bits).into())
            }
            Kind::Struct(id) => {
                let state = State::View { hold: self.view.hold.clone(), at };
                Ok(instantiate(py, &self.view.types, *id, state)?.into_any())
            }
            Kind::Union(id) => self.union(*id, at),
            Kind::Array { element, dimensions, .. } => {
                if let Some(array) = self.numbers(&part.kind, at)? {
                    return into_numpy(py, Bound::new(py, array)?);
                }
                let lengths = dimensions.iter().map(|it| u64::from(*it)).collect();
                self.list(element, at, lengths)
            }
            Kind::Sequence { element, bound, data, .. } => {
                if let Some(array) = self.numbers(&part.kind, at)? {
                    return into_numpy(py, Bound::new(py, array)?);
                }
                let length = self.length(at, *bound)?;
                self.list(element, at + data, vec![length])
            }
            Kind::Map => {
                // Copied as a whole, and read-only: a changed copy would not change the message.
                let bytes = self.bytes(at, part.size)?.to_vec();
                let value = dynamic::part_from_flat(&self.view.types.schema, &part.ty, &bytes);
                let value = value.map_err(|error| self.malformed(error))?;
                let dict = objects::to_object(py, &self.view.types, part, &value)?;
                py.import("types")?.getattr("MappingProxyType")?.call1((dict,))
            }
        }
    }

    fn list(&self, element: &Arc<Part>, at: u64, lengths: Vec<u64>) -> PyResult<Bound<'py, PyAny>> {
        let (view, element) = (self.view.clone(), element.clone());
        let list = ListView { view, element, at, lengths, name: self.name.to_owned() };
        Ok(Bound::new(self.py, list)?.into_any())
    }

    fn union(&self, id: model::TypeId, at: u64) -> PyResult<Bound<'py, PyAny>> {
        let (py, types) = (self.py, &self.view.types);
        let schema = &types.schema;
        let (model::Kind::Union(it), Some(layout)) = (&schema.definition(id).kind, schema.flat_layout(id))
        else {
            return Err(self.malformed("it is no union"));
        };
        let discriminator = self.value(&types.part(&it.discriminator), at)?;
        let number = match discriminator.cast::<PyString>() {
            // A character.
            Ok(text) => text
                .call_method1("encode", ("utf-16-le", "surrogatepass"))?
                .extract::<Vec<u8>>()
                .map(|it| it.first_chunk().map_or(0, |it| i128::from(u16::from_le_bytes(*it))))?,
            Err(_) => discriminator.extract()?,
        };
        let offset = layout.members.get(1).map_or(0, |it| it.offset);
        let (case, value) = match it.case_of(number).map(|at| &it.cases[at].member) {
            Some(member) => (Some(member.name.clone()), self.value(&types.part(&member.ty), at + offset)?),
            None => (None, py.None().into_bound(py)),
        };
        Union::make(py, types, id, discriminator, case, value)
    }

    fn primitive(&self, primitive: Primitive, at: u64) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        match primitive {
            Primitive::Bool => match self.number(at)? {
                [0] => false.into_bound_py_any(py),
                [1] => true.into_bound_py_any(py),
                [other] => Err(self.malformed(format!("{other} is no boolean"))),
            },
            Primitive::I8 => i8::from_le_bytes(self.number(at)?).into_bound_py_any(py),
            Primitive::U8 => u8::from_le_bytes(self.number(at)?).into_bound_py_any(py),
            Primitive::I16 => i16::from_le_bytes(self.number(at)?).into_bound_py_any(py),
            Primitive::U16 => u16::from_le_bytes(self.number(at)?).into_bound_py_any(py),
            Primitive::I32 => i32::from_le_bytes(self.number(at)?).into_bound_py_any(py),
            Primitive::U32 => u32::from_le_bytes(self.number(at)?).into_bound_py_any(py),
            Primitive::I64 => i64::from_le_bytes(self.number(at)?).into_bound_py_any(py),
            Primitive::U64 => u64::from_le_bytes(self.number(at)?).into_bound_py_any(py),
            Primitive::F32 => f32::from_le_bytes(self.number(at)?).into_bound_py_any(py),
            Primitive::F64 => f64::from_le_bytes(self.number(at)?).into_bound_py_any(py),
            Primitive::Char8 => char::from(u8::from_le_bytes(self.number(at)?)).into_bound_py_any(py),
            Primitive::WChar => wide_string(py, &[u16::from_le_bytes(self.number(at)?)]),
        }
    }

    fn refused(&self, reason: impl Display) -> PyErr {
        Error::Conversion.error(self.py, format!("`{}`: {reason}", self.name))
    }

    fn put(&self, at: u64, bytes: &[u8]) -> PyResult<()> {
        match self.memory.write(at, bytes) {
            true => Ok(()),
            false if !self.memory.writable => {
                let text =
                    format!("`{}` cannot be changed: the message is read-only; `copy()` it first", self.name);
                Err(Error::Conversion.error(self.py, text))
            }
            false => Err(self.malformed("the message is too short for it")),
        }
    }

    /// Changes a member of a message that is being written.
    pub fn set_member(&self, member: &MemberPlan, base: u64, object: &Bound<'py, PyAny>) -> PyResult<()> {
        let at = base + member.at;
        if !self.memory.writable {
            return self.put(at, &[0]);
        }
        if member.bulk {
            let given = array_by_dlpack(object, self.name)?;
            let object = given.as_ref().unwrap_or(object);
            let array = self.bulk(member, at)?;
            let Kind::Sequence { item: Some(item), .. } = &member.part.kind else { return Ok(()) };
            let room = array.len() as u64;
            let count = self.count(object, item)?;
            if count > room {
                let text = format!(
                    "{count} elements are given, and {room} were lent: lend with `{}={count}`",
                    self.name
                );
                return Err(self.refused(text));
            }
            if count < room {
                self.put(at + 8, &count.to_le_bytes())?;
            }
            return self.assign(self.bulk(member, at)?, item, object);
        }
        if member.optional {
            if object.is_none() {
                return self.put(at, &[0]);
            }
            self.set(&member.part, at + member.value_at, object)?;
            return self.put(at, &[1]);
        }
        if let Kind::Struct(id) = member.part.kind
            && self.view.types.schema.has_bulk(id)
        {
            for inner in &self.view.types.plan(id).members {
                let given = match object.cast::<pyo3::types::PyDict>() {
                    Ok(dict) => dict.get_item(&inner.name)?,
                    Err(_) => object.getattr_opt(&*inner.name)?,
                };
                if let Some(given) = given {
                    Access { name: &inner.name, ..*self }.set_member(inner, at, &given)?;
                }
            }
            return Ok(());
        }
        self.set(&member.part, at, object).map_err(|error| {
            // The whole value is converted again only to say where in it the mistake is.
            match to_member_value(self.py, &self.view.types, member, object) {
                Err(fail) => fail.raise(self.py),
                Ok(_) => error,
            }
        })
    }

    /// The number of elements that an object has.
    fn count(&self, object: &Bound<'py, PyAny>, item: &Item) -> PyResult<u64> {
        if object.hasattr("shape")? {
            return helpers(self.py)?.getattr("count")?.call1((object, item.inner.clone()))?.extract();
        }
        let length = object.len().map_err(|_| self.refused("a list or an array of numbers is expected"))?;
        Ok(length as u64)
    }

    fn assign(&self, array: Array, item: &Item, object: &Bound<'py, PyAny>) -> PyResult<()> {
        let py = self.py;
        let is_foreign = object.hasattr("dtype")? || object.hasattr("__dlpack__")? || item.of.is_some();
        if is_foreign && !object.is_instance_of::<Array>() {
            let array = into_numpy(py, Bound::new(py, array)?)?;
            let assigned = helpers(py)?.getattr("assign")?.call1((array, object));
            return assigned.map(drop).map_err(|error| self.refused(error.value(py)));
        }
        let outer = array.outer(item);
        let bytes = item_bytes(py, item, object, Some(&outer));
        let bytes = bytes.map_err(|fail| fail.within(self.name).raise(py))?;
        match bytes.len() == array.bytes().len() && array.write(&bytes) {
            true => Ok(()),
            false => Err(self.refused(format!(
                "{} bytes are given, and it has {}",
                bytes.len(),
                array.bytes().len()
            ))),
        }
    }

    /// Changes a value in the head.
    pub fn set(&self, part: &Part, at: u64, object: &Bound<'py, PyAny>) -> PyResult<()> {
        let py = self.py;
        let raise = |fail: Fail| fail.raise(py);
        match &part.kind {
            Kind::Primitive(Primitive::F64) => {
                let value: f64 = object.extract().map_err(|_| self.refused("a number is expected"))?;
                self.put(at, &value.to_le_bytes())
            }
            Kind::Primitive(Primitive::F32) => {
                let value: f64 = object.extract().map_err(|_| self.refused("a number is expected"))?;
                self.put(at, &(value as f32).to_le_bytes())
            }
            Kind::Primitive(primitive)
                if !matches!(primitive, Primitive::Bool | Primitive::Char8 | Primitive::WChar) =>
            {
                let value = integer(*primitive, object).map_err(raise)?;
                self.put(at, &value.to_le_bytes()[..primitive.size() as usize])
            }
            Kind::Array { item: Some(item), .. } => match self.numbers(&part.kind, at)? {
                Some(array) => self.assign(array, item, object),
                None => Ok(()),
            },
            Kind::Sequence { item: Some(item), bound, .. } => {
                let count = self.count(object, item)?;
                if let Some(bound) = bound.filter(|bound| count > u64::from(*bound)) {
                    return Err(self.refused(format!("{count} elements exceed the bound {bound}")));
                }
                self.put(at, &(count as u32).to_le_bytes())?;
                match self.numbers(&part.kind, at)? {
                    Some(array) => self.assign(array, item, object),
                    None => Ok(()),
                }
            }
            _ => {
                let value = convert::to_value(py, &self.view.types, part, object).map_err(raise)?;
                let bytes = dynamic::part_to_flat(&self.view.types.schema, &part.ty, &value);
                self.put(at, &bytes.map_err(|error| self.refused(error))?)
            }
        }
    }
}
