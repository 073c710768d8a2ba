//! Writes the bytes of a flat message.

use std::cmp::Ordering;

use super::error::{WriteError, WriteProblem, other_type};
use super::value::Value;
use super::{Shape, nested, number, shape};
use crate::layout::flat::{BULK_ALIGN, ContainerLayout, Extent, FlatReason, optional};
use crate::model::{Case, Kind, Member, Primitive, Type, TypeId, Union};
use crate::schema::Schema;

type Outcome<T> = Result<T, WriteError>;

/// The bytes of a flat message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FlatMessage {
    /// The head, as large as the type. Padding is 0.
    pub head: Vec<u8>,
    /// The body: the bulk fields, each at a multiple of 64 bytes. Empty for types without bulk fields.
    pub body: Vec<u8>,
}

/// Writes a flat message.
pub fn to_flat(schema: &Schema, id: TypeId, value: &Value) -> Outcome<FlatMessage> {
    let layout = match (schema.flat_layout(id), schema.flat_obstacle(id)) {
        (Some(layout), _) => layout,
        (None, obstacle) => {
            let reason = obstacle.map(ToString::to_string).unwrap_or_default();
            return Err(WriteProblem::NotFlat(reason).into());
        }
    };
    write(schema, &Type::Named(id), layout.extent.size, value)
}

/// Writes a part of the head of a flat message: a value of a type without bulk fields.
pub fn part_to_flat(schema: &Schema, ty: &Type, value: &Value) -> Outcome<Vec<u8>> {
    let extent = possible(schema.flat_extent(ty))?;
    Ok(write(schema, ty, extent.size, value)?.head)
}

fn write(schema: &Schema, ty: &Type, size: u64, value: &Value) -> Outcome<FlatMessage> {
    let mut message = FlatMessage::default();
    let fits = usize::try_from(size).is_ok_and(|size| message.head.try_reserve_exact(size).is_ok());
    if !fits {
        return Err(WriteProblem::OutOfMemory(size).into());
    }
    message.head.resize(size as usize, 0);
    let mut writer = Writer { schema, message };
    writer.value(ty, 0, value)?;
    Ok(writer.message)
}

/// The number of elements of a list, which must not exceed the bound.
pub(super) fn check_length(value: &Value, bound: Option<u32>) -> Outcome<usize> {
    let length = match value {
        Value::Numbers(numbers) => numbers.len(),
        Value::List(values) => values.len(),
        Value::Map(entries) => entries.len(),
        other => return Err(other_type("a list", other)),
    };
    within(length, bound)
}

fn within(length: usize, bound: Option<u32>) -> Outcome<usize> {
    match bound {
        Some(bound) if length > bound as usize => {
            Err(WriteProblem::TooLong { length: length as u64, bound: u64::from(bound) }.into())
        }
        _ => Ok(length),
    }
}

/// A text that fits the bound.
pub(super) fn text_of(value: &Value, bound: Option<u32>) -> Outcome<&str> {
    let Value::Text(text) = value else { return Err(other_type("text", value)) };
    if text.contains('\0') {
        return Err(WriteProblem::ZeroInText.into());
    }
    within(text.len(), bound)?;
    Ok(text)
}

/// The units of a wide text that fits the bound.
pub(super) fn units_of(value: &Value, bound: Option<u32>) -> Outcome<Vec<u16>> {
    let units = match value {
        Value::WideText(units) => units.clone(),
        Value::Text(text) => text.encode_utf16().collect(),
        other => return Err(other_type("text", other)),
    };
    if units.contains(&0) {
        return Err(WriteProblem::ZeroInText.into());
    }
    within(units.len(), bound)?;
    Ok(units)
}

/// The order of keys: integers by value, floating-point numbers in the total order of IEEE 754, text by its
/// bytes or units.
fn key_order(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Text(left), Value::Text(right)) => left.as_bytes().cmp(right.as_bytes()),
        (Value::WideText(left), Value::WideText(right)) => left.cmp(right),
        (Value::Float(left), Value::Float(right)) => left.total_cmp(right),
        (Value::Double(left), Value::Double(right)) => left.total_cmp(right),
        (left, right) => left.as_integer().cmp(&right.as_integer()),
    }
}

/// The entries of a map, by ascending keys.
pub(super) fn sorted(value: &Value, bound: Option<u32>) -> Outcome<Vec<&(Value, Value)>> {
    let Value::Map(entries) = value else { return Err(other_type("a map", value)) };
    within(entries.len(), bound)?;
    let mut entries: Vec<&(Value, Value)> = entries.iter().collect();
    entries.sort_by(|a, b| key_order(&a.0, &b.0));
    match entries.windows(2).position(|pair| key_order(&pair[0].0, &pair[1].0) == Ordering::Equal) {
        Some(at) => Err(WriteError::from(WriteProblem::SameKey).in_element(at + 1)),
        None => Ok(entries),
    }
}

/// A case of a union and its value.
pub(super) type Chosen<'u, 'v> = (&'u Case, &'v Value);

/// The discriminator of a union and the case that it selects, with its value.
pub(super) fn union_case<'u, 'v>(
    it: &'u Union,
    value: &'v Value,
) -> Outcome<(&'v Value, Option<Chosen<'u, 'v>>)> {
    let Value::Union { discriminator, case } = value else { return Err(other_type("a union", value)) };
    let Some(number) = discriminator.as_integer() else {
        return Err(other_type("a discriminator", discriminator).in_member("discriminator"));
    };
    let selected = it.case_of(number).map(|at| &it.cases[at]);
    match (selected, case) {
        (Some(selected), Some((name, value))) if selected.member.name == *name => {
            Ok((discriminator, Some((selected, value))))
        }
        (None, None) => Ok((discriminator, None)),
        (_, Some((name, _))) => {
            Err(WriteProblem::OtherCase { discriminator: number, case: name.clone() }.into())
        }
        (Some(selected), None) => {
            Err(WriteError::from(WriteProblem::Missing).in_member(&selected.member.name))
        }
    }
}

/// The little-endian bytes of a primitive, in front.
pub(super) fn primitive_bytes(primitive: Primitive, value: &Value) -> Outcome<[u8; 8]> {
    let mut bytes = [0; 8];
    match (primitive, value) {
        (Primitive::F32, Value::Float(it)) => bytes[..4].copy_from_slice(&it.to_le_bytes()),
        (Primitive::F64, Value::Double(it)) => bytes = it.to_le_bytes(),
        (Primitive::Bool, Value::Bool(it)) => bytes[0] = u8::from(*it),
        (Primitive::Char8, Value::Char(it)) => bytes[0] = *it,
        (Primitive::WChar, Value::WChar(it)) => bytes[..2].copy_from_slice(&it.to_le_bytes()),
        (_, Value::Signed(_) | Value::Unsigned(_))
            if !primitive.is_float() && primitive != Primitive::Bool =>
        {
            let number = value.as_integer().unwrap_or(0);
            let (smallest, largest) = primitive.integer_range().unwrap_or((0, 0));
            if number < smallest || number > largest {
                let expected = primitive.idl().to_owned();
                return Err(WriteProblem::OutOfRange { value: number.to_string(), expected }.into());
            }
            bytes.copy_from_slice(&number.to_le_bytes()[..8]);
        }
        _ => return Err(other_type(primitive.idl(), value)),
    }
    Ok(bytes)
}

/// The layout of a part of a type that was found to be flat.
fn possible<T>(layout: Result<T, FlatReason>) -> Outcome<T> {
    layout.map_err(|reason| WriteProblem::NotFlat(format!("a part of it {reason}")).into())
}

struct Writer<'s> {
    schema: &'s Schema,
    message: FlatMessage,
}

impl<'s> Writer<'s> {
    fn extent(&self, ty: &Type) -> Outcome<Extent> {
        possible(self.schema.flat_extent(ty))
    }

    /// Puts bytes into the head, at a place that the layout says.
    fn put(&mut self, at: u64, bytes: &[u8]) {
        let at = at as usize;
        self.message.head[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn primitive(&mut self, primitive: Primitive, at: u64, value: &Value) -> Outcome<()> {
        let bytes = primitive_bytes(primitive, value)?;
        self.put(at, &bytes[..primitive.size() as usize]);
        Ok(())
    }

    fn value(&mut self, ty: &'s Type, at: u64, value: &Value) -> Outcome<()> {
        let schema = self.schema;
        match shape(schema, ty) {
            Shape::Primitive(primitive) => self.primitive(primitive, at, value),
            Shape::Text { bound } => {
                let text = text_of(value, bound)?;
                self.put(at, &(text.len() as u32).to_le_bytes());
                self.put(at + 4, text.as_bytes());
                Ok(())
            }
            Shape::WideText { bound } => {
                let units = units_of(value, bound)?;
                let bytes: Vec<u8> = units.iter().flat_map(|it| it.to_le_bytes()).collect();
                self.put(at, &(units.len() as u32).to_le_bytes());
                self.put(at + 4, &bytes);
                Ok(())
            }
            Shape::Sequence { element, bound } => {
                let length = check_length(value, bound)?;
                let layout =
                    possible(ContainerLayout::new(self.extent(element)?, bound.unwrap_or(0).into()))?;
                self.put(at, &(length as u32).to_le_bytes());
                self.elements(element, at + layout.data_offset, value)
            }
            Shape::Array { element, dimensions } => {
                self.elements(element, at, nested::elements(value, &dimensions)?.as_ref())
            }
            Shape::Map { key, value: inner, bound } => {
                let entries = sorted(value, bound)?;
                let layout = ContainerLayout::map(self.extent(key)?, self.extent(inner)?, bound.unwrap_or(0));
                let layout = possible(layout)?;
                self.put(at, &(entries.len() as u32).to_le_bytes());
                for (index, (k, v)) in entries.iter().enumerate() {
                    let at = at + layout.data_offset + index as u64 * layout.stride;
                    let entry = self.value(key, at, k);
                    let entry = entry.and_then(|()| self.value(inner, at + layout.value_offset, v));
                    entry.map_err(|error| error.in_element(index))?;
                }
                Ok(())
            }
            Shape::Definition(id, kind) => match (kind, value) {
                (Kind::Struct(_), Value::Record(_)) => self.structure(id, at, value),
                (Kind::Union(it), _) => self.union(id, it, at, value),
                (Kind::Enum(_), Value::Enum { value, .. }) => {
                    self.put(at, &value.to_le_bytes());
                    Ok(())
                }
                (Kind::Bitmask(it), Value::Bitmask { bits, .. }) => {
                    self.primitive(it.storage(), at, &Value::Unsigned(*bits))
                }
                (Kind::Alias(ty), _) => self.value(ty, at, value),
                (Kind::Struct(_) | Kind::Enum(_) | Kind::Bitmask(_), _) => {
                    Err(other_type(kind.word(), value))
                }
            },
        }
    }

    fn elements(&mut self, element: &'s Type, at: u64, value: &Value) -> Outcome<()> {
        let stride = self.extent(element)?.size;
        match (value, number(self.schema, element)) {
            (Value::Numbers(numbers), Some(primitive)) if numbers.primitive() == primitive => {
                self.put(at, &numbers.to_bytes());
                Ok(())
            }
            (Value::Numbers(numbers), _) => {
                for (index, it) in (0..numbers.len()).filter_map(|at| numbers.get(at)).enumerate() {
                    let written = self.value(element, at + index as u64 * stride, &it);
                    written.map_err(|error| error.in_element(index))?;
                }
                Ok(())
            }
            (Value::List(values), _) => {
                for (index, it) in values.iter().enumerate() {
                    let written = self.value(element, at + index as u64 * stride, it);
                    written.map_err(|error| error.in_element(index))?;
                }
                Ok(())
            }
            (other, _) => Err(other_type("a list", other)),
        }
    }

    /// The members of a struct and of its bases.
    fn structure(&mut self, id: TypeId, at: u64, value: &Value) -> Outcome<()> {
        let Value::Record(record) = value else { return Err(other_type("a struct", value)) };
        let schema = self.schema;
        let (Some(it), Some(layout)) = (schema.definition(id).kind.as_struct(), schema.flat_layout(id))
        else {
            return Ok(());
        };
        let own = layout.members.len() - it.members.len();
        if let Some(base) = it.base {
            self.structure(base, at, value)?;
        }
        for (member, place) in it.members.iter().zip(&layout.members[own..]) {
            let written = match record.get(&member.name) {
                Some(value) => self.member(member, at + place.offset, value),
                None => Err(WriteProblem::Missing.into()),
            };
            written.map_err(|error| error.in_member(&member.name))?;
        }
        Ok(())
    }

    fn member(&mut self, member: &'s Member, at: u64, value: &Value) -> Outcome<()> {
        if member.bulk {
            return self.bulk(member, at, value);
        }
        if !member.optional {
            return self.value(&member.ty, at, value);
        }
        let (_, offset) = possible(optional(self.extent(&member.ty)?))?;
        match value {
            Value::Optional(None) => Ok(()),
            Value::Optional(Some(value)) => {
                self.put(at, &[1]);
                self.value(&member.ty, at + offset, value)
            }
            other => Err(other_type("an optional value", other)),
        }
    }

    fn union(&mut self, id: TypeId, it: &'s Union, at: u64, value: &Value) -> Outcome<()> {
        let (discriminator, case) = union_case(it, value)?;
        self.value(&it.discriminator, at, discriminator).map_err(|error| error.in_member("discriminator"))?;
        let (Some((case, value)), Some(layout)) = (case, self.schema.flat_layout(id)) else { return Ok(()) };
        // All cases begin at the same place.
        let offset = layout.members.get(1).map_or(0, |it| it.offset);
        self.value(&case.member.ty, at + offset, value).map_err(|error| error.in_member(&case.member.name))
    }

    /// The elements are appended to the body, and their descriptor is written to the head.
    fn bulk(&mut self, member: &'s Member, at: u64, value: &Value) -> Outcome<()> {
        let Shape::Sequence { element, bound } = shape(self.schema, &member.ty) else {
            return self.value(&member.ty, at, value);
        };
        let length = check_length(value, bound)? as u64;
        let extent = self.extent(element)?;
        let offset = (self.message.body.len() as u64).next_multiple_of(BULK_ALIGN);
        let size =
            length.checked_mul(extent.size).and_then(|size| usize::try_from(offset.checked_add(size)?).ok());
        let more = size.map(|size| size - self.message.body.len());
        let Some(size) =
            size.filter(|_| more.is_some_and(|more| self.message.body.try_reserve(more).is_ok()))
        else {
            return Err(WriteProblem::OutOfMemory(length.saturating_mul(extent.size)).into());
        };
        self.message.body.resize(size, 0);
        self.put(at, &offset.to_le_bytes());
        self.put(at + 8, &length.to_le_bytes());
        // Bulk elements hold nothing but numbers and the like, so the body can stand in for the head.
        std::mem::swap(&mut self.message.head, &mut self.message.body);
        let written = self.elements(element, offset, value);
        std::mem::swap(&mut self.message.head, &mut self.message.body);
        written
    }
}
