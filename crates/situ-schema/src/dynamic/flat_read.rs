//! Reads the bytes of a flat message.

use super::defaults::{bitmask_value, enum_value};
use super::error::{ReadError, ReadProblem};
use super::memory;
use super::value::{Numbers, Record, Value};
use super::{Budget, Names, Shape, count, nested, number, shape};
use crate::layout::flat::{ContainerLayout, Extent, FlatReason, optional};
use crate::model::{Kind, Member, Primitive, Type, TypeId};
use crate::schema::Schema;

type Outcome<T> = Result<T, ReadError>;

/// Reads a flat message from its head and its body, which is empty for types without bulk fields.
///
/// The bytes should be a snapshot or be held: if another process changes them, the value mixes old and new
/// data.
pub fn from_flat(schema: &Schema, id: TypeId, head: &[u8], body: &[u8]) -> Outcome<Value> {
    if let Some(obstacle) = schema.flat_obstacle(id) {
        return Err(ReadProblem::NotFlat(obstacle.to_string()).into());
    }
    let budget = Budget::new(head.len().saturating_add(body.len()));
    Reader { schema, head, body, names: Names::default(), budget }.value(&Type::Named(id), 0)
}

/// Reads a part of the head of a flat message: a value of a type without bulk fields.
pub fn part_from_flat(schema: &Schema, ty: &Type, bytes: &[u8]) -> Outcome<Value> {
    let budget = Budget::new(bytes.len());
    Reader { schema, head: bytes, body: &[], names: Names::default(), budget }.value(ty, 0)
}

struct Reader<'a> {
    schema: &'a Schema,
    head: &'a [u8],
    body: &'a [u8],
    names: Names,
    budget: Budget,
}

/// `size` bytes of `bytes` from `at` on.
pub(super) fn part(bytes: &[u8], at: u64, size: u64) -> Outcome<&[u8]> {
    let range = || {
        let start = usize::try_from(at).ok()?;
        bytes.get(start..start.checked_add(usize::try_from(size).ok()?)?)
    };
    range().ok_or_else(|| ReadProblem::TooShort { offset: at, needed: size, available: bytes.len() }.into())
}

pub(super) fn array_at<const N: usize>(bytes: &[u8], at: u64) -> Outcome<[u8; N]> {
    let mut result = [0; N];
    result.copy_from_slice(part(bytes, at, N as u64)?);
    Ok(result)
}

/// A primitive at an offset.
pub(super) fn primitive(bytes: &[u8], of: Primitive, at: u64) -> Outcome<Value> {
    Ok(match of {
        Primitive::Bool => match array_at(bytes, at)? {
            [0] => Value::Bool(false),
            [1] => Value::Bool(true),
            [other] => return Err(ReadProblem::NotABool(other).into()),
        },
        Primitive::Char8 => Value::Char(u8::from_le_bytes(array_at(bytes, at)?)),
        Primitive::WChar => Value::WChar(u16::from_le_bytes(array_at(bytes, at)?)),
        Primitive::I8 => Value::Signed(i8::from_le_bytes(array_at(bytes, at)?).into()),
        Primitive::I16 => Value::Signed(i16::from_le_bytes(array_at(bytes, at)?).into()),
        Primitive::I32 => Value::Signed(i32::from_le_bytes(array_at(bytes, at)?).into()),
        Primitive::I64 => Value::Signed(i64::from_le_bytes(array_at(bytes, at)?)),
        Primitive::U8 => Value::Unsigned(u8::from_le_bytes(array_at(bytes, at)?).into()),
        Primitive::U16 => Value::Unsigned(u16::from_le_bytes(array_at(bytes, at)?).into()),
        Primitive::U32 => Value::Unsigned(u32::from_le_bytes(array_at(bytes, at)?).into()),
        Primitive::U64 => Value::Unsigned(u64::from_le_bytes(array_at(bytes, at)?)),
        Primitive::F32 => Value::Float(f32::from_le_bytes(array_at(bytes, at)?)),
        Primitive::F64 => Value::Double(f64::from_le_bytes(array_at(bytes, at)?)),
    })
}

/// The layout of a part of a type that was found to be flat.
fn possible<T>(layout: Result<T, FlatReason>) -> Outcome<T> {
    layout.map_err(|reason| ReadProblem::NotFlat(format!("a part of it {reason}")).into())
}

impl<'a> Reader<'a> {
    fn extent(&self, ty: &Type) -> Outcome<Extent> {
        possible(self.schema.flat_extent(ty))
    }

    fn charge(&mut self, count: u64) -> Outcome<()> {
        Ok(self.budget.take(count)?)
    }

    /// The length at the beginning of a container.
    fn length(&self, at: u64, bound: Option<u32>) -> Outcome<u64> {
        let length = u64::from(u32::from_le_bytes(array_at(self.head, at)?));
        match bound {
            Some(bound) if length > u64::from(bound) => {
                Err(ReadProblem::TooLong { length, bound: u64::from(bound) }.into())
            }
            _ => Ok(length),
        }
    }

    fn value(&mut self, ty: &'a Type, at: u64) -> Outcome<Value> {
        self.charge(1)?;
        let schema = self.schema;
        match shape(schema, ty) {
            Shape::Primitive(of) => primitive(self.head, of, at),
            Shape::Text { bound } => {
                let length = self.length(at, bound)?;
                let bytes = part(self.head, at + 4, length + 1)?;
                let (text, zero) = bytes.split_at(bytes.len() - 1);
                if zero != [0] {
                    return Err(ReadProblem::NotTerminated(length).into());
                }
                match std::str::from_utf8(text) {
                    Ok(text) => Ok(Value::Text(memory::text(text)?)),
                    Err(error) => Err(ReadProblem::NotUtf8(error.valid_up_to()).into()),
                }
            }
            Shape::WideText { bound } => {
                let length = self.length(at, bound)?;
                let units = part(self.head, at + 4, 2 * (length + 1))?.as_chunks().0;
                match units.split_last() {
                    Some(([0, 0], units)) => {
                        Ok(Value::WideText(memory::list(units.iter().map(|it| u16::from_le_bytes(*it)))?))
                    }
                    _ => Err(ReadProblem::NotTerminated(length).into()),
                }
            }
            Shape::Sequence { element, bound } => {
                let length = self.length(at, bound)?;
                let layout = ContainerLayout::new(self.extent(element)?, u64::from(bound.unwrap_or(0)));
                let layout = possible(layout)?;
                self.elements(element, at + layout.data_offset, length)
            }
            Shape::Array { element, dimensions } => {
                let elements = self.elements(element, at, count(&dimensions))?;
                nested::nest(elements, &dimensions, &mut self.budget)
            }
            Shape::Map { key, value, bound } => {
                let length = self.length(at, bound)?;
                let layout = ContainerLayout::map(self.extent(key)?, self.extent(value)?, bound.unwrap_or(0));
                let layout = possible(layout)?;
                let mut entries = Vec::new();
                for index in 0..length {
                    let at = at + layout.data_offset + index * layout.stride;
                    let entry = self
                        .value(key, at)
                        .and_then(|key| Ok((key, self.value(value, at + layout.value_offset)?)));
                    memory::push(&mut entries, entry.map_err(|error| error.in_element(index as usize))?)?;
                }
                Ok(Value::Map(entries))
            }
            Shape::Definition(id, kind) => self.definition(id, kind, at),
        }
    }

    fn elements(&mut self, element: &'a Type, at: u64, length: u64) -> Outcome<Value> {
        let extent = self.extent(element)?;
        if let Some(primitive) = number(self.schema, element) {
            let bytes = part(self.head, at, length * extent.size)?;
            if let Some(numbers) = Numbers::from_bytes(primitive, bytes, false)? {
                return Ok(Value::Numbers(numbers));
            }
        }
        let mut elements = Vec::new();
        for index in 0..length {
            let value = self.value(element, at + index * extent.size);
            memory::push(&mut elements, value.map_err(|error| error.in_element(index as usize))?)?;
        }
        Ok(Value::List(elements))
    }

    fn definition(&mut self, id: TypeId, kind: &'a Kind, at: u64) -> Outcome<Value> {
        let schema = self.schema;
        match kind {
            Kind::Struct(_) => {
                let mut values = Vec::new();
                self.members(id, at, &mut values)?;
                Ok(Value::Record(Record { names: self.names.of(schema, id), values }))
            }
            Kind::Union(it) => {
                let discriminator =
                    self.value(&it.discriminator, at).map_err(|it| it.in_member("discriminator"))?;
                let selected = discriminator.as_integer().and_then(|it_is| it.case_of(it_is));
                let layout = schema.flat_layout(id);
                let case = match selected.zip(layout) {
                    Some((selected, layout)) => {
                        let (case, place) = (&it.cases[selected], &layout.members[selected + 1]);
                        let value = self.value(&case.member.ty, at + place.offset);
                        let value = value.map_err(|error| error.in_member(&case.member.name))?;
                        Some((case.member.name.clone(), Box::new(value)))
                    }
                    None => None,
                };
                Ok(Value::Union { discriminator: Box::new(discriminator), case })
            }
            Kind::Enum(it) => Ok(enum_value(it, i32::from_le_bytes(array_at(self.head, at)?))),
            Kind::Bitmask(it) => {
                let bits = primitive(self.head, it.storage(), at)?.as_integer().unwrap_or(0);
                Ok(bitmask_value(it, bits as u64))
            }
            Kind::Alias(ty) => self.value(ty, at),
        }
    }

    /// The members of a struct, those of its bases first.
    fn members(&mut self, id: TypeId, at: u64, values: &mut Vec<Value>) -> Outcome<()> {
        let schema = self.schema;
        let (Some(it), Some(layout)) = (schema.definition(id).kind.as_struct(), schema.flat_layout(id))
        else {
            return Ok(());
        };
        let own = layout.members.len() - it.members.len();
        if let Some(base) = it.base {
            self.members(base, at, values)?;
        }
        for (member, place) in it.members.iter().zip(&layout.members[own..]) {
            let value = self.member(member, at + place.offset);
            values.push(value.map_err(|error| error.in_member(&member.name))?);
        }
        Ok(())
    }

    fn member(&mut self, member: &'a Member, at: u64) -> Outcome<Value> {
        if member.bulk {
            return self.bulk(member, at);
        }
        if !member.optional {
            return self.value(&member.ty, at);
        }
        self.charge(1)?;
        let (_, offset) = possible(optional(self.extent(&member.ty)?))?;
        match primitive(self.head, Primitive::Bool, at)? {
            Value::Bool(true) => Ok(Value::Optional(Some(Box::new(self.value(&member.ty, at + offset)?)))),
            _ => Ok(Value::Optional(None)),
        }
    }

    fn bulk(&mut self, member: &'a Member, at: u64) -> Outcome<Value> {
        self.charge(1)?;
        let schema = self.schema;
        let Shape::Sequence { element, bound } = shape(schema, &member.ty) else {
            return self.value(&member.ty, at);
        };
        let offset = u64::from_le_bytes(array_at(self.head, at)?);
        let len = u64::from_le_bytes(array_at(self.head, at + 8)?);
        if let Some(bound) = bound.map(u64::from).filter(|bound| len > *bound) {
            return Err(ReadProblem::TooLong { length: len, bound }.into());
        }
        let size = self.extent(element)?.size;
        let bytes = len.checked_mul(size).and_then(|size| part(self.body, offset, size).ok());
        let Some(bytes) = bytes else {
            return Err(ReadProblem::OutsideBody { offset, len, body: self.body.len() }.into());
        };
        // Bulk elements hold nothing but numbers and the like, so they are read as a head of their own.
        let mut inner = Reader {
            schema,
            head: bytes,
            body: &[],
            names: std::mem::take(&mut self.names),
            budget: self.budget,
        };
        let value = inner.elements(element, 0, len);
        (self.names, self.budget) = (inner.names, inner.budget);
        value
    }
}
