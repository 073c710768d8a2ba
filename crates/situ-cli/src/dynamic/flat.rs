//! Flat messages without compiled-in types: the bytes of `spec/flat.md`, read and written by the schema alone.

use situ_schema::model::{Kind, Member, Primitive, Type, TypeId};
use situ_schema::{BULK_ALIGN, Schema, optional_layout};

use super::value::Value;
use super::{DynamicError, MOST_DEPTH, MOST_EMPTY, enum_value, flags};

/// Reads the message `root` from its head and body, at most `limit` elements of each sequence.
pub fn read(
    schema: &Schema,
    root: TypeId,
    head: &[u8],
    body: &[u8],
    limit: usize,
) -> Result<Value, DynamicError> {
    Reader { schema, head, body, limit }.value(&Type::Named(root), 0, 0)
}

struct Reader<'a> {
    schema: &'a Schema,
    head: &'a [u8],
    body: &'a [u8],
    limit: usize,
}

impl Reader<'_> {
    fn bytes<const N: usize>(&self, at: u64) -> Result<[u8; N], DynamicError> {
        usize::try_from(at)
            .ok()
            .and_then(|at| self.head.get(at..)?.first_chunk::<N>())
            .copied()
            .ok_or(DynamicError::Short { at, size: self.head.len() as u64 })
    }

    fn u32(&self, at: u64) -> Result<u32, DynamicError> {
        Ok(u32::from_le_bytes(self.bytes(at)?))
    }

    /// The length of a container with its bound.
    fn length(&self, at: u64, bound: Option<u32>) -> Result<u64, DynamicError> {
        let length = self.u32(at)?;
        match bound {
            Some(bound) if length > bound => {
                Err(DynamicError::Length { length: length.into(), bound: bound.into() })
            }
            _ => Ok(length.into()),
        }
    }

    fn value(&self, ty: &Type, at: u64, depth: usize) -> Result<Value, DynamicError> {
        if depth > MOST_DEPTH {
            return Err(DynamicError::Depth);
        }
        let not_flat = || DynamicError::NotFlat { type_name: self.schema.display(ty) };
        let container = || self.schema.container_layout(ty).ok_or_else(not_flat);
        match ty {
            Type::Primitive(primitive) => self.primitive(*primitive, at),
            Type::String { bound } => {
                let length = self.length(at, *bound)?;
                let text = self.slice(at + container()?.data_offset, length)?;
                Ok(Value::Text(String::from_utf8_lossy(text).into_owned()))
            }
            Type::WString { bound } => {
                let length = self.length(at, *bound)?;
                let bytes = self.slice(at + container()?.data_offset, length * 2)?;
                let (pairs, _) = bytes.as_chunks::<2>();
                let units = pairs.iter().map(|p| u16::from_le_bytes(*p));
                Ok(Value::Text(char::decode_utf16(units).map(|c| c.unwrap_or('\u{fffd}')).collect()))
            }
            Type::Sequence { element, bound } => {
                let len = self.length(at, *bound)?;
                let layout = container()?;
                self.list(element, at + layout.data_offset, len, layout.stride, depth)
            }
            Type::Array { .. } => {
                let (element, dimensions) = self.schema.array(ty).ok_or_else(not_flat)?;
                let extent = self.schema.flat_extent(element).map_err(|_| not_flat())?;
                self.array(element, &dimensions, at, extent.size, depth)
            }
            Type::Map { key, value, bound } => {
                let len = self.length(at, *bound)?;
                let layout = container()?;
                let mut entries = Vec::new();
                for index in 0..len.min(self.limit as u64) {
                    let entry = at + layout.data_offset + index * layout.stride;
                    entries.push((
                        self.value(key, entry, depth + 1)?,
                        self.value(value, entry + layout.value_offset, depth + 1)?,
                    ));
                }
                Ok(Value::Map(entries))
            }
            Type::Named(id) => self.named(*id, at, depth),
        }
    }

    fn slice(&self, at: u64, size: u64) -> Result<&[u8], DynamicError> {
        let short = DynamicError::Short { at, size: self.head.len() as u64 };
        let range = usize::try_from(at).ok().zip(usize::try_from(size).ok());
        range.and_then(|(at, size)| self.head.get(at..)?.get(..size)).ok_or(short)
    }

    fn list(
        &self,
        element: &Type,
        at: u64,
        len: u64,
        stride: u64,
        depth: usize,
    ) -> Result<Value, DynamicError> {
        if *self.schema.resolve(element) == Type::Primitive(Primitive::U8) {
            let data = self.slice(at, len)?;
            return Ok(Value::Bytes { data: data[..data.len().min(self.limit)].to_vec(), len });
        }
        // Elements without a size could be announced in any number.
        let limit = if stride == 0 { self.limit.min(MOST_EMPTY) } else { self.limit };
        let items = (0..len.min(limit as u64))
            .map(|index| self.value(element, at + index * stride, depth + 1))
            .collect::<Result<_, _>>()?;
        Ok(Value::List { items, len })
    }

    fn array(
        &self,
        element: &Type,
        dimensions: &[u32],
        at: u64,
        size: u64,
        depth: usize,
    ) -> Result<Value, DynamicError> {
        let [length, inner @ ..] = dimensions else { return self.value(element, at, depth + 1) };
        if inner.is_empty() {
            return self.list(element, at, (*length).into(), size, depth);
        }
        let stride = inner.iter().fold(size, |stride, &d| stride.saturating_mul(d.into()));
        let items = (0..u64::from(*length).min(self.limit as u64))
            .map(|index| self.array(element, inner, at + index * stride, size, depth + 1))
            .collect::<Result<_, _>>()?;
        Ok(Value::List { items, len: (*length).into() })
    }

    fn primitive(&self, primitive: Primitive, at: u64) -> Result<Value, DynamicError> {
        Ok(match primitive {
            Primitive::Bool => match self.bytes::<1>(at)?[0] {
                0 => Value::Bool(false),
                1 => Value::Bool(true),
                value => return Err(DynamicError::Bool { value }),
            },
            Primitive::Char8 => Value::Char(self.bytes::<1>(at)?[0]),
            Primitive::U8 => Value::Unsigned(self.bytes::<1>(at)?[0].into()),
            Primitive::I8 => Value::Signed(i8::from_le_bytes(self.bytes(at)?).into()),
            Primitive::U16 | Primitive::WChar => Value::Unsigned(u16::from_le_bytes(self.bytes(at)?).into()),
            Primitive::I16 => Value::Signed(i16::from_le_bytes(self.bytes(at)?).into()),
            Primitive::U32 => Value::Unsigned(self.u32(at)?.into()),
            Primitive::I32 => Value::Signed(i32::from_le_bytes(self.bytes(at)?).into()),
            Primitive::U64 => Value::Unsigned(u64::from_le_bytes(self.bytes(at)?)),
            Primitive::I64 => Value::Signed(i64::from_le_bytes(self.bytes(at)?)),
            Primitive::F32 => Value::Float(f32::from_le_bytes(self.bytes(at)?)),
            Primitive::F64 => Value::Double(f64::from_le_bytes(self.bytes(at)?)),
        })
    }

    fn named(&self, id: TypeId, at: u64, depth: usize) -> Result<Value, DynamicError> {
        let definition = self.schema.definition(id);
        let layout = self
            .schema
            .flat_layout(id)
            .ok_or_else(|| DynamicError::NotFlat { type_name: definition.name.to_string() })?;
        match &definition.kind {
            Kind::Alias(target) => self.value(target, at, depth + 1),
            Kind::Enum(of) => Ok(enum_value(of, i32::from_le_bytes(self.bytes(at)?))),
            Kind::Bitmask(of) => match self.primitive(of.storage(), at)? {
                Value::Unsigned(value) => Ok(flags(of, value)),
                other => Ok(other),
            },
            Kind::Struct(of) => {
                let mut members = Vec::new();
                let mut places = layout.members.iter();
                if let Some(base) = of.base
                    && let Some(place) = places.next()
                    && let Value::Struct(inherited) = self.named(base, at + place.offset, depth + 1)?
                {
                    members = inherited;
                }
                for (member, place) in of.members.iter().zip(places) {
                    let value = self
                        .member(member, at + place.offset, depth)
                        .map_err(|error| error.within(&member.name))?;
                    members.push((member.name.clone(), value));
                }
                Ok(Value::Struct(members))
            }
            Kind::Union(of) => {
                let discriminator = self.value(&of.discriminator, at, depth + 1)?;
                let case = discriminator.as_label().and_then(|label| of.case_of(label));
                let mut members = vec![("discriminator".to_owned(), discriminator)];
                if let Some((case, place)) = case.and_then(|i| of.cases.get(i).zip(layout.members.get(i + 1)))
                {
                    let value = self
                        .value(&case.member.ty, at + place.offset, depth + 1)
                        .map_err(|error| error.within(&case.member.name))?;
                    members.push((case.member.name.clone(), value));
                }
                Ok(Value::Struct(members))
            }
        }
    }

    fn member(&self, member: &Member, at: u64, depth: usize) -> Result<Value, DynamicError> {
        if member.bulk {
            return self.bulk(member, at, depth);
        }
        if !member.optional {
            return self.value(&member.ty, at, depth + 1);
        }
        let not_flat = || DynamicError::NotFlat { type_name: self.schema.display(&member.ty) };
        let extent = self.schema.flat_extent(&member.ty).map_err(|_| not_flat())?;
        let (_, offset) = optional_layout(extent).map_err(|_| not_flat())?;
        match self.bytes::<1>(at)?[0] {
            0 => Ok(Value::Absent),
            1 => self.value(&member.ty, at + offset, depth + 1),
            value => Err(DynamicError::Bool { value }),
        }
    }

    /// A bulk member: `{u64 offset; u64 len}` in the head, its elements in the body.
    fn bulk(&self, member: &Member, at: u64, depth: usize) -> Result<Value, DynamicError> {
        let not_flat = || DynamicError::NotFlat { type_name: self.schema.display(&member.ty) };
        let Type::Sequence { element, bound } = self.schema.resolve(&member.ty) else {
            return Err(not_flat());
        };
        let offset = u64::from_le_bytes(self.bytes(at)?);
        let len = u64::from_le_bytes(self.bytes(at + 8)?);
        if let Some(bound) = bound.filter(|&b| len > u64::from(b)) {
            return Err(DynamicError::Length { length: len, bound: bound.into() });
        }
        let size = self.schema.flat_extent(element).map_err(|_| not_flat())?.size;
        let fits = len
            .checked_mul(size)
            .and_then(|s| s.checked_add(offset))
            .is_some_and(|e| e <= self.body.len() as u64);
        if !fits {
            return Err(DynamicError::Bulk { offset, len, size: self.body.len() as u64 });
        }
        // The elements are plain: read them as if the body were a head.
        Reader { head: self.body, ..*self }.list(element, offset, len, size, depth)
    }
}

/// Writes a complete message: its head and its body.
pub fn write(schema: &Schema, root: TypeId, value: &Value) -> Result<(Vec<u8>, Vec<u8>), DynamicError> {
    let layout = schema
        .flat_layout(root)
        .ok_or_else(|| DynamicError::NotFlat { type_name: schema.name(root).to_string() })?;
    let size = usize::try_from(layout.extent.size).map_err(|_| DynamicError::Depth)?;
    let mut writer = Writer { schema, head: vec![0; size], body: Vec::new() };
    writer.value(&Type::Named(root), value, 0)?;
    Ok((writer.head, writer.body))
}

struct Writer<'a> {
    schema: &'a Schema,
    head: Vec<u8>,
    body: Vec<u8>,
}

impl Writer<'_> {
    fn put(&mut self, at: u64, bytes: &[u8]) -> Result<(), DynamicError> {
        let short = DynamicError::Short { at, size: self.head.len() as u64 };
        let target = usize::try_from(at).ok().and_then(|at| self.head.get_mut(at..)?.get_mut(..bytes.len()));
        target.ok_or(short)?.copy_from_slice(bytes);
        Ok(())
    }

    fn length(&mut self, at: u64, length: usize, bound: Option<u32>) -> Result<(), DynamicError> {
        let bound = bound.unwrap_or(u32::MAX);
        match u32::try_from(length) {
            Ok(length) if length <= bound => self.put(at, &length.to_le_bytes()),
            _ => Err(DynamicError::Length { length: length as u64, bound: bound.into() }),
        }
    }

    fn value(&mut self, ty: &Type, value: &Value, at: u64) -> Result<(), DynamicError> {
        let schema = self.schema;
        let not_flat = || DynamicError::NotFlat { type_name: schema.display(ty) };
        let container = || schema.container_layout(ty).ok_or_else(not_flat);
        match (ty, value) {
            (Type::Primitive(primitive), value) => self.put(at, &super::scalar_bytes(*primitive, value)?),
            (Type::String { bound }, Value::Text(text)) => {
                self.length(at, text.len(), *bound)?;
                self.put(at + container()?.data_offset, text.as_bytes())
            }
            (Type::WString { bound }, Value::Text(text)) => {
                let units: Vec<u16> = text.encode_utf16().collect();
                self.length(at, units.len(), *bound)?;
                let bytes: Vec<u8> = units.iter().flat_map(|u| u.to_le_bytes()).collect();
                self.put(at + container()?.data_offset, &bytes)
            }
            (Type::Sequence { element, bound }, Value::List { items, .. }) => {
                self.length(at, items.len(), *bound)?;
                let layout = container()?;
                for (index, item) in items.iter().enumerate() {
                    self.value(element, item, at + layout.data_offset + index as u64 * layout.stride)
                        .map_err(|e| e.within(&format!("[{index}]")))?;
                }
                Ok(())
            }
            (Type::Array { .. }, value) => {
                let (element, dimensions) = schema.array(ty).ok_or_else(not_flat)?;
                let size = schema.flat_extent(element).map_err(|_| not_flat())?.size;
                self.array(element, &dimensions, value, at, size)
            }
            (Type::Map { key, value: value_type, bound }, Value::Map(entries)) => {
                self.length(at, entries.len(), *bound)?;
                let layout = container()?;
                for (index, (k, v)) in entries.iter().enumerate() {
                    let entry = at + layout.data_offset + index as u64 * layout.stride;
                    self.value(key, k, entry)?;
                    self.value(value_type, v, entry + layout.value_offset)?;
                }
                Ok(())
            }
            (Type::Named(id), value) => self.named(*id, value, at),
            _ => Err(super::mismatch(schema, ty)),
        }
    }

    fn array(
        &mut self,
        element: &Type,
        dimensions: &[u32],
        value: &Value,
        at: u64,
        size: u64,
    ) -> Result<(), DynamicError> {
        let [_, inner @ ..] = dimensions else { return self.value(element, value, at) };
        let Value::List { items, .. } = value else { return Err(super::mismatch(self.schema, element)) };
        let stride = inner.iter().fold(size, |stride, &d| stride.saturating_mul(d.into()));
        for (index, item) in items.iter().enumerate() {
            self.array(element, inner, item, at + index as u64 * stride, size)?;
        }
        Ok(())
    }

    fn named(&mut self, id: TypeId, value: &Value, at: u64) -> Result<(), DynamicError> {
        let schema = self.schema;
        let definition = schema.definition(id);
        let layout = schema
            .flat_layout(id)
            .ok_or_else(|| DynamicError::NotFlat { type_name: definition.name.to_string() })?;
        match (&definition.kind, value) {
            (Kind::Alias(target), value) => self.value(target, value, at),
            (Kind::Enum(_), Value::Enum { value, .. }) => self.put(at, &value.to_le_bytes()),
            (Kind::Bitmask(of), Value::Bits { value, .. }) => {
                self.put(at, &super::scalar_bytes(of.storage(), &Value::Unsigned(*value))?)
            }
            (Kind::Struct(of), Value::Struct(members)) => {
                let mut places = layout.members.iter();
                let mut values = members.as_slice();
                if let Some((base, place)) = of.base.zip(if of.base.is_some() { places.next() } else { None })
                {
                    let (inherited, own) = values.split_at(values.len().saturating_sub(of.members.len()));
                    self.named(base, &Value::Struct(inherited.to_vec()), at + place.offset)?;
                    values = own;
                }
                for ((member, place), (_, value)) in of.members.iter().zip(places).zip(values) {
                    self.member(member, value, at + place.offset).map_err(|e| e.within(&member.name))?;
                }
                Ok(())
            }
            (Kind::Union(of), Value::Struct(members)) => {
                let Some((_, discriminator)) = members.first() else {
                    return Err(super::mismatch(schema, &Type::Named(id)));
                };
                self.value(&of.discriminator, discriminator, at)?;
                let case = discriminator.as_label().and_then(|label| of.case_of(label));
                let chosen = case.and_then(|i| of.cases.get(i).zip(layout.members.get(i + 1)));
                match (chosen, members.get(1)) {
                    (Some((case, place)), Some((_, value))) => {
                        self.value(&case.member.ty, value, at + place.offset)
                    }
                    _ => Ok(()),
                }
            }
            _ => Err(super::mismatch(schema, &Type::Named(id))),
        }
    }

    fn member(&mut self, member: &Member, value: &Value, at: u64) -> Result<(), DynamicError> {
        let schema = self.schema;
        let not_flat = || DynamicError::NotFlat { type_name: schema.display(&member.ty) };
        if member.bulk {
            return self.bulk(member, value, at);
        }
        if !member.optional {
            return self.value(&member.ty, value, at);
        }
        if *value == Value::Absent {
            return self.put(at, &[0]);
        }
        let extent = schema.flat_extent(&member.ty).map_err(|_| not_flat())?;
        let (_, offset) = optional_layout(extent).map_err(|_| not_flat())?;
        self.put(at, &[1])?;
        self.value(&member.ty, value, at + offset)
    }

    fn bulk(&mut self, member: &Member, value: &Value, at: u64) -> Result<(), DynamicError> {
        let schema = self.schema;
        let not_flat = || DynamicError::NotFlat { type_name: schema.display(&member.ty) };
        let (Type::Sequence { element, bound }, Value::List { items, .. }) =
            (schema.resolve(&member.ty), value)
        else {
            return Err(super::mismatch(schema, &member.ty));
        };
        if let Some(bound) = bound.filter(|&b| items.len() > b as usize) {
            return Err(DynamicError::Length { length: items.len() as u64, bound: bound.into() });
        }
        let size = schema.flat_extent(element).map_err(|_| not_flat())?.size;
        let offset = self.body.len().next_multiple_of(BULK_ALIGN as usize);
        let end = (items.len() as u64)
            .checked_mul(size)
            .and_then(|s| usize::try_from(s).ok()?.checked_add(offset))
            .ok_or_else(not_flat)?;
        // An empty field still has its place at the aligned offset.
        let mut inner = Writer { schema, head: vec![0; end - offset], body: Vec::new() };
        for (index, item) in items.iter().enumerate() {
            inner.value(element, item, index as u64 * size).map_err(|e| e.within(&format!("[{index}]")))?;
        }
        self.body.resize(offset, 0);
        self.body.extend_from_slice(&inner.head);
        self.put(at, &(offset as u64).to_le_bytes())?;
        self.put(at + 8, &(items.len() as u64).to_le_bytes())
    }
}
