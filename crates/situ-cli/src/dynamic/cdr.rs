//! Serialized messages without compiled-in types: CDR as in `spec/cdr.md`, read by the schema alone.

use situ_schema::Schema;
use situ_schema::model::{Extensibility, Kind, Member, Primitive, Type, TypeId};

use super::json::{all_members, default_member, label_value};
use super::value::Value;
use super::{DynamicError, MOST_DEPTH, MOST_EMPTY, enum_value, flags};

/// Reads the message `root` from its bytes, encapsulation header included; of each sequence at most `limit` elements.
pub fn read(schema: &Schema, root: TypeId, bytes: &[u8], limit: usize) -> Result<Value, DynamicError> {
    let short = DynamicError::Short { at: 0, size: bytes.len() as u64 };
    let (header, payload) = bytes.split_first_chunk::<4>().ok_or(short)?;
    let id = u16::from_be_bytes([header[0], header[1]]);
    let extensibility = extensibility(schema, root);
    let two = match (id & !1, extensibility) {
        (0x0000, Extensibility::Final | Extensibility::Appendable) | (0x0002, Extensibility::Mutable) => {
            false
        }
        (0x0006, Extensibility::Final)
        | (0x0008, Extensibility::Appendable)
        | (0x000a, Extensibility::Mutable) => true,
        _ => return Err(DynamicError::Encapsulation { id, extensibility: extensibility.idl() }),
    };
    let padding = if bytes.len().is_multiple_of(4) { usize::from(header[3] & 3) } else { 0 };
    let end = payload.len().saturating_sub(padding);
    let mut reader =
        Reader { schema, bytes: payload, at: 0, origin: 0, end, little: id & 1 == 1, two, limit };
    reader.value(&Type::Named(root), 0)
}

fn extensibility(schema: &Schema, id: TypeId) -> Extensibility {
    match &schema.definition(id).kind {
        Kind::Struct(of) => of.extensibility,
        Kind::Union(of) => of.extensibility,
        Kind::Alias(Type::Named(target)) => extensibility(schema, *target),
        _ => Extensibility::Final,
    }
}

/// Whether CDR calls the type primitive: numbers, booleans and characters.
pub(super) fn is_primitive(schema: &Schema, ty: &Type) -> bool {
    matches!(schema.resolve(ty), Type::Primitive(_))
}

struct Reader<'a> {
    schema: &'a Schema,
    bytes: &'a [u8],
    at: usize,
    /// Where alignment counts from.
    origin: usize,
    /// Where the innermost delimited part ends.
    end: usize,
    little: bool,
    /// XCDR2 rather than XCDR1.
    two: bool,
    limit: usize,
}

/// A member as it stands in a mutable struct: its id, where its value ends, and whether it must be understood.
struct Parameter {
    id: u32,
    begin: usize,
    end: usize,
    must_understand: bool,
}

impl<'a> Reader<'a> {
    fn short(&self) -> DynamicError {
        DynamicError::Short { at: self.at as u64, size: self.end as u64 }
    }

    fn left(&self) -> usize {
        self.end.saturating_sub(self.at)
    }

    fn take(&mut self, size: usize) -> Result<&'a [u8], DynamicError> {
        let taken =
            self.at.checked_add(size).filter(|&e| e <= self.end).and_then(|e| self.bytes.get(self.at..e));
        let taken = taken.ok_or_else(|| self.short())?;
        self.at += size;
        Ok(taken)
    }

    fn align(&mut self, size: usize) -> Result<(), DynamicError> {
        let most = if self.two { 4 } else { 8 };
        let alignment = size.min(most).max(1);
        let past = (self.at - self.origin) % alignment;
        if past != 0 {
            self.take(alignment - past)?;
        }
        Ok(())
    }

    /// A number's bytes, little end first.
    fn number<const N: usize>(&mut self) -> Result<[u8; N], DynamicError> {
        self.align(N)?;
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.take(N)?);
        if !self.little {
            bytes.reverse();
        }
        Ok(bytes)
    }

    fn u32(&mut self) -> Result<u32, DynamicError> {
        Ok(u32::from_le_bytes(self.number()?))
    }

    /// Reads a part that ends at `end`, whatever the part itself reads, and with its own origin if it has one.
    fn within<T>(
        &mut self,
        end: usize,
        origin: Option<usize>,
        read: impl FnOnce(&mut Self) -> Result<T, DynamicError>,
    ) -> Result<T, DynamicError> {
        if end > self.end {
            return Err(self.short());
        }
        let outer = (self.end, self.origin);
        self.end = end;
        self.origin = origin.unwrap_or(self.origin);
        let result = read(self);
        (self.end, self.origin) = outer;
        self.at = end;
        result
    }

    /// Reads a part with a delimiter in front.
    fn delimited<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, DynamicError>,
    ) -> Result<T, DynamicError> {
        let size = self.u32()? as usize;
        let end = self.at.checked_add(size).ok_or_else(|| self.short())?;
        self.within(end, None, read)
    }

    fn value(&mut self, ty: &Type, depth: usize) -> Result<Value, DynamicError> {
        if depth > MOST_DEPTH {
            return Err(DynamicError::Depth);
        }
        match ty {
            Type::Primitive(primitive) => self.primitive(*primitive),
            Type::String { bound } => {
                let length = self.u32()? as usize;
                let bytes = self.take(length)?;
                let text = bytes.strip_suffix(&[0]).unwrap_or(bytes);
                check(text.len(), *bound)?;
                Ok(Value::Text(String::from_utf8_lossy(text).into_owned()))
            }
            Type::WString { bound } => {
                let length = self.u32()? as usize;
                // Version 1 has 32 bits for every unit, of which the upper half is zero.
                let (bytes, size) = if self.two { (length, 2) } else { (length.saturating_mul(4), 4) };
                let bytes = self.take(bytes)?;
                check(bytes.len() / size, *bound)?;
                let unit = |p: &[u8]| match (self.little, p) {
                    (true, [low, high, ..]) => u16::from_le_bytes([*low, *high]),
                    (false, [.., high, low]) => u16::from_be_bytes([*high, *low]),
                    _ => 0,
                };
                let units = bytes.chunks_exact(size).map(unit);
                let text = char::decode_utf16(units).map(|c| c.unwrap_or('\u{fffd}'));
                Ok(Value::Text(text.collect()))
            }
            Type::Sequence { element, bound } => {
                if self.two && !is_primitive(self.schema, element) {
                    return self.delimited(|r| r.sequence(element, *bound, depth));
                }
                self.sequence(element, *bound, depth)
            }
            Type::Array { .. } => {
                let not_array = || DynamicError::NotFlat { type_name: String::new() };
                let (element, dimensions) = self.schema.array(ty).ok_or_else(not_array)?;
                if self.two && !is_primitive(self.schema, element) {
                    return self.delimited(|r| r.array(element, &dimensions, depth));
                }
                self.array(element, &dimensions, depth)
            }
            Type::Map { key, value, bound } => {
                let primitive = is_primitive(self.schema, key) && is_primitive(self.schema, value);
                if self.two && !primitive {
                    return self.delimited(|r| r.map(key, value, *bound, depth));
                }
                self.map(key, value, *bound, depth)
            }
            Type::Named(id) => self.named(*id, depth),
        }
    }

    /// The number of elements that follow; each takes at least a byte of what is left.
    fn count(&mut self, bound: Option<u32>) -> Result<usize, DynamicError> {
        let count = self.u32()? as usize;
        check(count, bound)?;
        if count > self.left() {
            return Err(self.short());
        }
        Ok(count)
    }

    fn sequence(&mut self, element: &Type, bound: Option<u32>, depth: usize) -> Result<Value, DynamicError> {
        let count = self.count(bound)?;
        self.elements(element, count, depth)
    }

    /// That many elements, of which as many as wanted are kept and the others passed over.
    fn elements(&mut self, element: &Type, count: usize, depth: usize) -> Result<Value, DynamicError> {
        let len = count as u64;
        let kept = count.min(self.limit);
        if let Type::Primitive(primitive) = self.schema.resolve(element) {
            let size = primitive.size() as usize;
            if count > 0 {
                self.align(size)?;
            }
            if *primitive == Primitive::U8 {
                let data = self.take(count)?;
                return Ok(Value::Bytes { data: data[..kept].to_vec(), len });
            }
            if count.checked_mul(size).is_none_or(|s| s > self.left()) {
                return Err(self.short());
            }
            let items = (0..kept).map(|_| self.primitive(*primitive)).collect::<Result<_, _>>()?;
            self.take((count - kept) * size)?;
            return Ok(Value::List { items, len });
        }
        let mut items = Vec::new();
        for index in 0..count {
            let before = self.at;
            let item = self.value(element, depth + 1).map_err(|e| e.within(&format!("[{index}]")))?;
            if index < kept {
                items.push(item);
            }
            if self.at == before && index >= MOST_EMPTY {
                break;
            }
        }
        Ok(Value::List { items, len })
    }

    fn array(&mut self, element: &Type, dimensions: &[u32], depth: usize) -> Result<Value, DynamicError> {
        match dimensions {
            [] => self.value(element, depth + 1),
            [length] => self.elements(element, *length as usize, depth),
            [length, inner @ ..] => {
                let mut items = Vec::new();
                for index in 0..*length as usize {
                    let before = self.at;
                    let item = self.array(element, inner, depth + 1)?;
                    if index < self.limit {
                        items.push(item);
                    }
                    if self.at == before && index >= MOST_EMPTY {
                        break;
                    }
                }
                Ok(Value::List { items, len: (*length).into() })
            }
        }
    }

    fn map(
        &mut self,
        key: &Type,
        value: &Type,
        bound: Option<u32>,
        depth: usize,
    ) -> Result<Value, DynamicError> {
        let count = self.count(bound)?;
        let mut entries = Vec::new();
        for index in 0..count {
            let entry = (self.value(key, depth + 1)?, self.value(value, depth + 1)?);
            if index < self.limit {
                entries.push(entry);
            }
        }
        Ok(Value::Map(entries))
    }

    fn primitive(&mut self, primitive: Primitive) -> Result<Value, DynamicError> {
        Ok(match primitive {
            Primitive::Bool => match self.take(1)?[0] {
                0 => Value::Bool(false),
                1 => Value::Bool(true),
                value => return Err(DynamicError::Bool { value }),
            },
            Primitive::Char8 => Value::Char(self.take(1)?[0]),
            Primitive::U8 => Value::Unsigned(self.take(1)?[0].into()),
            Primitive::I8 => Value::Signed(i8::from_le_bytes(self.number()?).into()),
            Primitive::U16 | Primitive::WChar => Value::Unsigned(u16::from_le_bytes(self.number()?).into()),
            Primitive::I16 => Value::Signed(i16::from_le_bytes(self.number()?).into()),
            Primitive::U32 => Value::Unsigned(self.u32()?.into()),
            Primitive::I32 => Value::Signed(i32::from_le_bytes(self.number()?).into()),
            Primitive::U64 => Value::Unsigned(u64::from_le_bytes(self.number()?)),
            Primitive::I64 => Value::Signed(i64::from_le_bytes(self.number()?)),
            Primitive::F32 => Value::Float(f32::from_le_bytes(self.number()?)),
            Primitive::F64 => Value::Double(f64::from_le_bytes(self.number()?)),
        })
    }

    fn named(&mut self, id: TypeId, depth: usize) -> Result<Value, DynamicError> {
        let schema = self.schema;
        match &schema.definition(id).kind {
            Kind::Alias(target) => self.value(target, depth + 1),
            Kind::Enum(of) => Ok(enum_value(of, i32::from_le_bytes(self.number()?))),
            Kind::Bitmask(of) => match self.primitive(of.storage())? {
                Value::Unsigned(value) => Ok(flags(of, value)),
                other => Ok(other),
            },
            Kind::Struct(of) => {
                let members = all_members(schema, id);
                match (of.extensibility, self.two) {
                    (Extensibility::Mutable, true) => self.delimited(|r| r.parameters(&members, depth)),
                    (Extensibility::Mutable, false) => self.parameters(&members, depth),
                    (Extensibility::Appendable, true) => self.delimited(|r| r.members(&members, true, depth)),
                    (Extensibility::Appendable, false) => self.members(&members, true, depth),
                    (Extensibility::Final, _) => self.members(&members, false, depth),
                }
            }
            Kind::Union(of) => match (of.extensibility, self.two) {
                (Extensibility::Mutable, true) => self.delimited(|r| r.mutable_union(of, depth)),
                (Extensibility::Mutable, false) => self.mutable_union(of, depth),
                (Extensibility::Appendable, true) => self.delimited(|r| r.plain_union(of, depth)),
                _ => self.plain_union(of, depth),
            },
        }
    }

    fn members(&mut self, members: &[&Member], may_end: bool, depth: usize) -> Result<Value, DynamicError> {
        let schema = self.schema;
        let mut values = Vec::with_capacity(members.len());
        for member in members {
            let value = if may_end && self.left() == 0 {
                default_member(schema, member, depth)
            } else {
                self.member(member, depth)
            };
            values.push((member.name.clone(), value.map_err(|e| e.within(&member.name))?));
        }
        Ok(Value::Struct(values))
    }

    fn member(&mut self, member: &Member, depth: usize) -> Result<Value, DynamicError> {
        if !member.optional {
            return self.value(&member.ty, depth + 1);
        }
        if self.two {
            return match self.take(1)?[0] {
                0 => Ok(Value::Absent),
                1 => self.value(&member.ty, depth + 1),
                value => Err(DynamicError::Bool { value }),
            };
        }
        let parameter = self.parameter_one()?.ok_or_else(|| self.short())?;
        self.within(parameter.end, Some(parameter.begin), |r| {
            if r.left() == 0 { Ok(Value::Absent) } else { r.value(&member.ty, depth + 1) }
        })
    }

    /// The header of a parameter of XCDR1; nothing at the end of the list.
    fn parameter_one(&mut self) -> Result<Option<Parameter>, DynamicError> {
        self.align(4)?;
        let word = u16::from_le_bytes(self.number()?);
        let length = u16::from_le_bytes(self.number()?);
        let (id, length, must_understand) = match word & 0x3fff {
            0x3f02 => return Ok(None),
            0x3f01 => {
                let (id, length) = (self.u32()?, self.u32()?);
                (id & 0x0fff_ffff, length as usize, id & 0x4000_0000 != 0)
            }
            id => (id.into(), length.into(), word & 0x4000 != 0),
        };
        let end = self.at.checked_add(length).ok_or_else(|| self.short())?;
        Ok(Some(Parameter { id, begin: self.at, end, must_understand }))
    }

    /// The header of a member of XCDR2; nothing at the end of the delimited part.
    fn parameter_two(&mut self) -> Result<Option<Parameter>, DynamicError> {
        if self.left() == 0 {
            return Ok(None);
        }
        let word = self.u32()?;
        let code = word >> 28 & 7;
        let begin = self.at;
        let next = if code >= 4 { self.u32()? as usize } else { 0 };
        let (begin, length) = match code {
            0..=3 => (begin, 1 << code),
            4 => (self.at, next),
            // The word is at once the beginning of the value.
            _ => (begin, next.saturating_mul([1, 4, 8][code as usize - 5]).saturating_add(4)),
        };
        self.at = begin;
        let end = begin.checked_add(length).ok_or_else(|| self.short())?;
        Ok(Some(Parameter { id: word & 0x0fff_ffff, begin, end, must_understand: word >> 31 == 1 }))
    }

    fn parameter(&mut self) -> Result<Option<Parameter>, DynamicError> {
        if self.two { self.parameter_two() } else { self.parameter_one() }
    }

    /// Reads the value of a parameter, aligned as its encoding says.
    fn in_parameter<T>(
        &mut self,
        parameter: &Parameter,
        read: impl FnOnce(&mut Self) -> Result<T, DynamicError>,
    ) -> Result<T, DynamicError> {
        let origin = (!self.two).then_some(parameter.begin);
        self.within(parameter.end, origin, read)
    }

    fn parameters(&mut self, members: &[&Member], depth: usize) -> Result<Value, DynamicError> {
        let schema = self.schema;
        let mut values: Vec<Option<Value>> = members.iter().map(|_| None).collect();
        while let Some(parameter) = self.parameter()? {
            let known = members.iter().position(|m| m.id == parameter.id);
            let value = self.in_parameter(&parameter, |r| match known {
                Some(index) => r
                    .value(&members[index].ty, depth + 1)
                    .map(Some)
                    .map_err(|e| e.within(&members[index].name)),
                None if parameter.must_understand => Err(DynamicError::UnknownMember { id: parameter.id }),
                None => Ok(None),
            })?;
            if let Some(index) = known {
                values[index] = value;
            }
        }
        let values = members.iter().zip(values).map(|(member, value)| {
            let value = value.map_or_else(|| default_member(schema, member, depth), Ok)?;
            Ok((member.name.clone(), value))
        });
        values.collect::<Result<_, _>>().map(Value::Struct)
    }

    fn plain_union(&mut self, of: &situ_schema::model::Union, depth: usize) -> Result<Value, DynamicError> {
        let discriminator = self.value(&of.discriminator, depth + 1)?;
        let case = discriminator.as_label().and_then(|l| of.case_of(l)).and_then(|i| of.cases.get(i));
        let mut members = vec![("discriminator".to_owned(), discriminator)];
        if let Some(case) = case {
            let name = &case.member.name;
            members.push((name.clone(), self.value(&case.member.ty, depth + 1).map_err(|e| e.within(name))?));
        }
        Ok(Value::Struct(members))
    }

    fn mutable_union(&mut self, of: &situ_schema::model::Union, depth: usize) -> Result<Value, DynamicError> {
        let mut discriminator = None;
        let mut payload = None;
        while let Some(parameter) = self.parameter()? {
            let case = of.cases.iter().find(|c| c.member.id == parameter.id && parameter.id != 0);
            let value = self.in_parameter(&parameter, |r| match case {
                Some(case) => r.value(&case.member.ty, depth + 1).map(Some),
                None if parameter.id == 0 => r.value(&of.discriminator, depth + 1).map(Some),
                None if parameter.must_understand => Err(DynamicError::UnknownMember { id: parameter.id }),
                None => Ok(None),
            })?;
            match case {
                Some(case) => payload = value.map(|v| (case.member.name.clone(), v)),
                None if parameter.id == 0 => discriminator = value,
                None => {}
            }
        }
        let default = || label_value(self.schema, &of.discriminator, self.schema.default_discriminator(of));
        let discriminator = discriminator.map_or_else(default, Ok)?;
        let mut members = vec![("discriminator".to_owned(), discriminator)];
        members.extend(payload);
        Ok(Value::Struct(members))
    }
}

fn check(length: usize, bound: Option<u32>) -> Result<(), DynamicError> {
    match bound {
        Some(bound) if length > bound as usize => {
            Err(DynamicError::Length { length: length as u64, bound: bound.into() })
        }
        _ => Ok(()),
    }
}
