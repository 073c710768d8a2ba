//! Serialized messages without compiled-in types: XCDR1, little-endian, as in `spec/cdr.md`, written by the schema alone.

use situ_schema::Schema;
use situ_schema::model::{Extensibility, Kind, Member, Type, TypeId, Union};

use super::json::all_members;
use super::value::Value;
use super::{DynamicError, mismatch, scalar_bytes};

/// The end of a parameter list: `0x4000 | 0x3f02`, length 0.
const LIST_END: [u8; 4] = [0x02, 0x7f, 0, 0];
/// Greatest id of a short parameter header.
const SHORT_ID: u32 = 0x3f00;

/// The bytes of a complete message, encapsulation header included.
pub fn write(schema: &Schema, root: TypeId, value: &Value) -> Result<Vec<u8>, DynamicError> {
    let mutable = match &schema.definition(root).kind {
        Kind::Struct(of) => of.extensibility == Extensibility::Mutable,
        Kind::Union(of) => of.extensibility == Extensibility::Mutable,
        _ => false,
    };
    let mut writer = Writer { schema, out: Vec::new() };
    writer.named(root, value)?;
    let mut message = vec![0, if mutable { 0x03 } else { 0x01 }, 0, 0];
    message.append(&mut writer.out);
    Ok(message)
}

struct Writer<'a> {
    schema: &'a Schema,
    out: Vec<u8>,
}

impl Writer<'_> {
    fn align(&mut self, alignment: usize) {
        self.out.resize(self.out.len().next_multiple_of(alignment.max(1)), 0);
    }

    fn number(&mut self, bytes: &[u8]) {
        self.align(bytes.len());
        self.out.extend_from_slice(bytes);
    }

    fn count(&mut self, count: usize, bound: Option<u32>) -> Result<(), DynamicError> {
        let bound = bound.unwrap_or(u32::MAX);
        match u32::try_from(count) {
            Ok(count) if count <= bound => {
                self.number(&count.to_le_bytes());
                Ok(())
            }
            _ => Err(DynamicError::Length { length: count as u64, bound: bound.into() }),
        }
    }

    fn value(&mut self, ty: &Type, value: &Value) -> Result<(), DynamicError> {
        match (ty, value) {
            (Type::Primitive(primitive), value) => {
                let bytes = scalar_bytes(*primitive, value)?;
                self.number(&bytes);
            }
            (Type::String { bound }, Value::Text(text)) => {
                // The bound does not count the terminating zero, the length does.
                self.count(text.len() + 1, bound.and_then(|b| b.checked_add(1)))?;
                self.out.extend_from_slice(text.as_bytes());
                self.out.push(0);
            }
            (Type::WString { bound }, Value::Text(text)) => {
                let units: Vec<u16> = text.encode_utf16().collect();
                self.count(units.len(), *bound)?;
                self.out.extend(units.iter().flat_map(|u| u32::from(*u).to_le_bytes()));
            }
            (Type::Sequence { element, bound }, Value::List { items, .. }) => {
                self.count(items.len(), *bound)?;
                for (index, item) in items.iter().enumerate() {
                    self.value(element, item).map_err(|e| e.within(&format!("[{index}]")))?;
                }
            }
            (Type::Array { .. }, value) => {
                let (element, dimensions) = self.schema.array(ty).ok_or_else(|| mismatch(self.schema, ty))?;
                self.array(element, &dimensions, value)?;
            }
            (Type::Map { key, value: of, bound }, Value::Map(entries)) => {
                self.count(entries.len(), *bound)?;
                for (k, v) in entries {
                    self.value(key, k)?;
                    self.value(of, v)?;
                }
            }
            (Type::Named(id), value) => self.named(*id, value)?,
            _ => return Err(mismatch(self.schema, ty)),
        }
        Ok(())
    }

    fn array(&mut self, element: &Type, dimensions: &[u32], value: &Value) -> Result<(), DynamicError> {
        let [_, inner @ ..] = dimensions else { return self.value(element, value) };
        let Value::List { items, .. } = value else { return Err(mismatch(self.schema, element)) };
        items.iter().try_for_each(|item| self.array(element, inner, item))
    }

    fn named(&mut self, id: TypeId, value: &Value) -> Result<(), DynamicError> {
        let schema = self.schema;
        match (&schema.definition(id).kind, value) {
            (Kind::Alias(target), value) => self.value(target, value),
            (Kind::Enum(_), Value::Enum { value, .. }) => {
                self.number(&value.to_le_bytes());
                Ok(())
            }
            (Kind::Bitmask(of), Value::Bits { value, .. }) => {
                let bytes = scalar_bytes(of.storage(), &Value::Unsigned(*value))?;
                self.number(&bytes);
                Ok(())
            }
            (Kind::Struct(of), Value::Struct(values)) => {
                let mutable = of.extensibility == Extensibility::Mutable;
                for (member, (_, value)) in all_members(schema, id).into_iter().zip(values) {
                    self.member(member, value, mutable).map_err(|e| e.within(&member.name))?;
                }
                self.end(mutable);
                Ok(())
            }
            (Kind::Union(of), Value::Struct(values)) => self.union(of, values),
            _ => Err(mismatch(schema, &Type::Named(id))),
        }
    }

    fn union(&mut self, of: &Union, values: &[(String, Value)]) -> Result<(), DynamicError> {
        let mutable = of.extensibility == Extensibility::Mutable;
        let Some((_, discriminator)) = values.first() else {
            return Err(mismatch(self.schema, &of.discriminator));
        };
        if mutable {
            self.parameter(0, true, |w| w.value(&of.discriminator, discriminator))?;
        } else {
            self.value(&of.discriminator, discriminator)?;
        }
        let case = discriminator.as_label().and_then(|l| of.case_of(l)).and_then(|i| of.cases.get(i));
        if let (Some(case), Some((_, value))) = (case, values.get(1)) {
            if mutable {
                self.parameter(case.member.id, false, |w| w.value(&case.member.ty, value))?;
            } else {
                self.value(&case.member.ty, value)?;
            }
        }
        self.end(mutable);
        Ok(())
    }

    fn end(&mut self, mutable: bool) {
        if mutable {
            self.align(4);
            self.out.extend_from_slice(&LIST_END);
        }
    }

    fn member(&mut self, member: &Member, value: &Value, mutable: bool) -> Result<(), DynamicError> {
        let absent = *value == Value::Absent;
        match (mutable, member.optional) {
            (true, _) if absent => Ok(()),
            (false, true) if absent => self.parameter(member.id, member.must_understand, |_| Ok(())),
            (true, _) | (false, true) => {
                self.parameter(member.id, member.must_understand, |w| w.value(&member.ty, value))
            }
            (false, false) => self.value(&member.ty, value),
        }
    }

    /// A parameter header and its value, which counts its alignment from its own beginning.
    fn parameter(
        &mut self,
        id: u32,
        must_understand: bool,
        write: impl FnOnce(&mut Self) -> Result<(), DynamicError>,
    ) -> Result<(), DynamicError> {
        self.align(4);
        let mut inner = Writer { schema: self.schema, out: Vec::new() };
        write(&mut inner)?;
        let length = inner.out.len();
        match (u16::try_from(id), u16::try_from(length)) {
            (Ok(short), Ok(length)) if id <= SHORT_ID => {
                let flag = if must_understand { 0x4000 } else { 0 };
                self.out.extend_from_slice(&(short | flag).to_le_bytes());
                self.out.extend_from_slice(&length.to_le_bytes());
            }
            _ => {
                let flag = if must_understand { 0x4000_0000 } else { 0 };
                let length = u32::try_from(length)
                    .map_err(|_| DynamicError::Length { length: length as u64, bound: u32::MAX.into() })?;
                self.out.extend_from_slice(&[0x01, 0x7f, 8, 0]);
                self.out.extend_from_slice(&(id | flag).to_le_bytes());
                self.out.extend_from_slice(&length.to_le_bytes());
            }
        }
        self.out.append(&mut inner.out);
        Ok(())
    }
}
