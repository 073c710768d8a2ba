//! Writes values into regions, by the schema of their type: all of one, or parts of one that is edited.

use situ_region::Options;
use situ_region::dynamic::{DynamicRegion, EditError, Key, Kind as RegionKind, OwnedKey, PartMut, Step};

use super::error::{WriteError, WriteProblem, other_type};
use super::flat_write::{check_length, primitive_bytes, text_of, union_case, units_of};
use super::region_types::RegionTypes;
use super::value::{Record, Value};
use super::{Shape, shape};
use crate::layout::region::MAX_REGION_SIZE;
use crate::model::{Kind, Primitive, Type, TypeId, Union};
use crate::schema::Schema;

type Outcome<T> = Result<T, WriteError>;

/// The canonical image of a region with a value.
pub fn to_region(schema: &Schema, id: TypeId, value: &Value) -> Outcome<Vec<u8>> {
    Ok(region_with(schema, id, value)?.canonical())
}

/// The packed image of a region with a value.
pub fn to_packed(schema: &Schema, id: TypeId, value: &Value) -> Outcome<Vec<u8>> {
    Ok(region_with(schema, id, value)?.packed())
}

/// A region with a value.
fn region_with(schema: &Schema, id: TypeId, value: &Value) -> Outcome<DynamicRegion> {
    let types = RegionTypes::of(schema, id).map_err(|error| WriteProblem::NoRegion(error.to_string()))?;
    let options = Options { limit: MAX_REGION_SIZE as u32, ..Options::default() };
    let mut region = DynamicRegion::with_options(types.types().clone(), options);
    set_in_region(schema, region.edit(&[])?, &Type::Named(id), value)?;
    Ok(region)
}

/// Sets a value of a region. Of a value with several parts, some may be set if there is no room for all; what
/// the region holds then is valid.
pub fn set_in_region(schema: &Schema, part: PartMut<'_>, ty: &Type, value: &Value) -> Outcome<()> {
    Writer { schema }.value(part, ty, value)
}

/// Inserts an element into a sequence, which has elements of this type and a bound. If it fails, nothing
/// changes.
pub fn insert_in_region(
    schema: &Schema,
    mut part: PartMut<'_>,
    (element, bound): (&Type, Option<u32>),
    index: u32,
    value: &Value,
) -> Outcome<()> {
    let length = part.as_part().len().unwrap_or(0);
    check_bound(u64::from(length) + 1, bound)?;
    let inserted = part.insert(index)?;
    let set = Writer { schema }.value(inserted, element, value);
    if set.is_err() {
        part.remove(index..index + 1)?;
    }
    set
}

/// Sets the value of a key of a map, which has these types and a bound. If it fails, a missing key is still
/// missing.
pub fn set_key_in_region(
    schema: &Schema,
    mut part: PartMut<'_>,
    (key_type, value_type, bound): (&Type, &Type, Option<u32>),
    (key, value): (&Value, &Value),
) -> Outcome<()> {
    let key = key_of(schema, key_type, key)?;
    let of = part.as_part();
    if !of.contains(key.borrow()) {
        check_bound(u64::from(of.len().unwrap_or(0)) + 1, bound)?;
    }
    let (place, is_new) = part.insert_key(key.borrow())?;
    let set = Writer { schema }.value(place, value_type, value);
    if set.is_err() && is_new {
        part.remove_key(key.borrow())?;
    }
    set
}

/// A value as the key of a set or map.
pub fn key_of(schema: &Schema, ty: &Type, value: &Value) -> Outcome<OwnedKey> {
    match (schema.resolve(ty), value) {
        (Type::String { bound }, Value::Text(_)) => Ok(OwnedKey::Text(text_of(value, *bound)?.to_owned())),
        (Type::Primitive(of), Value::Signed(_) | Value::Unsigned(_)) => {
            primitive_bytes(*of, value)?;
            Ok(OwnedKey::Integer(value.as_integer().unwrap_or(0)))
        }
        (Type::Named(_), Value::Enum { value, .. }) => Ok(OwnedKey::Integer(i128::from(*value))),
        (Type::Primitive(Primitive::F32), Value::Float(it)) => Ok(OwnedKey::Float(it.to_bits())),
        (Type::Primitive(Primitive::F64), Value::Double(it)) => Ok(OwnedKey::Double(it.to_bits())),
        (Type::Primitive(Primitive::Bool), Value::Bool(it)) => Ok(OwnedKey::Integer(i128::from(*it))),
        (Type::Primitive(Primitive::Char8), Value::Char(it)) => Ok(OwnedKey::Integer(i128::from(*it))),
        (Type::Primitive(Primitive::WChar), Value::WChar(it)) => Ok(OwnedKey::Integer(i128::from(*it))),
        _ => Err(other_type("a key", value)),
    }
}

/// Fails if a length exceeds a bound.
fn check_bound(length: u64, bound: Option<u32>) -> Outcome<()> {
    match bound {
        Some(bound) if length > u64::from(bound) => {
            Err(WriteProblem::TooLong { length, bound: u64::from(bound) }.into())
        }
        _ => Ok(()),
    }
}

struct Writer<'s> {
    schema: &'s Schema,
}

impl Writer<'_> {
    fn value(&self, mut part: PartMut<'_>, ty: &Type, value: &Value) -> Outcome<()> {
        match part.as_part().kind() {
            RegionKind::Optional { .. } | RegionKind::Unique { .. } | RegionKind::Shared { .. } => {
                self.optional(part, ty, value)
            }
            RegionKind::Set { .. } => self.set(part, ty, value),
            _ => match shape(self.schema, ty) {
                Shape::Primitive(of) => {
                    let bytes = primitive_bytes(of, value)?;
                    Ok(part.set_bytes(&bytes[..of.size() as usize])?)
                }
                Shape::Text { bound } => Ok(part.set_text(text_of(value, bound)?)?),
                Shape::WideText { bound } => {
                    let units = units_of(value, bound)?;
                    let bytes: Vec<u8> = units.iter().flat_map(|it| it.to_le_bytes()).collect();
                    part.clear()?;
                    Ok(part.insert_bytes(0, &bytes)?)
                }
                Shape::Array { element, dimensions } => self.array(part, element, &dimensions, value),
                Shape::Sequence { element, bound } => self.sequence(part, element, bound, value),
                Shape::Map { key, value: inner, bound } => self.map(part, (key, inner, bound), value),
                Shape::Definition(id, kind) => self.definition(part, id, kind, value),
            },
        }
    }

    fn optional(&self, mut part: PartMut<'_>, ty: &Type, value: &Value) -> Outcome<()> {
        match value {
            Value::Optional(None) => Ok(part.clear()?),
            Value::Optional(Some(value)) => {
                let was_there = part.as_part().is_present();
                let set = part.fill_own().map_err(Into::into).and_then(|it| self.value(it, ty, value));
                if set.is_err() && !was_there {
                    part.clear()?;
                }
                set
            }
            other => Err(other_type("an optional value", other)),
        }
    }

    /// An array, or a row of one.
    fn array(&self, mut part: PartMut<'_>, element: &Type, dimensions: &[u32], value: &Value) -> Outcome<()> {
        let Some((length, inner)) = dimensions.split_first() else {
            return self.value(part, element, value);
        };
        let found = check_length(value, None)?;
        if found as u64 != u64::from(*length) {
            return Err(WriteProblem::OtherCount { expected: (*length).into(), found: found as u64 }.into());
        }
        match value {
            Value::Numbers(numbers)
                if inner.is_empty() && super::number(self.schema, element) == Some(numbers.primitive()) =>
            {
                Ok(part.set_bytes(&numbers.to_bytes())?)
            }
            _ => each(value, |index, value| {
                let place = part.reborrow().part(&Step::Element(index))?;
                self.array(place, element, inner, value)
            }),
        }
    }

    fn sequence(
        &self,
        mut part: PartMut<'_>,
        element: &Type,
        bound: Option<u32>,
        value: &Value,
    ) -> Outcome<()> {
        let length = check_length(value, bound)?;
        let is_number = matches!(self.schema.resolve(element), Type::Primitive(_));
        // As many numbers are written in place, so that pinned ones can be assigned.
        let is_same_length = |part: &PartMut<'_>| part.as_part().len() == Some(length as u32);
        match value {
            Value::Numbers(numbers)
                if is_number && super::number(self.schema, element) == Some(numbers.primitive()) =>
            {
                let bytes = numbers.to_bytes();
                if is_same_length(&part) {
                    return Ok(part.set_elements(0, &bytes)?);
                }
                part.clear()?;
                Ok(part.insert_bytes(0, &bytes)?)
            }
            _ if is_same_length(&part) && region_number(self.schema, element).is_some() => {
                each(value, |index, value| {
                    let place = part.reborrow().part(&Step::Element(index))?;
                    self.value(place, element, value)
                })
            }
            _ => {
                part.clear()?;
                part.reserve(u32::try_from(length).unwrap_or(u32::MAX))?;
                each(value, |index, value| {
                    let inserted = part.insert(index)?;
                    let set = self.value(inserted, element, value);
                    if set.is_err() {
                        part.remove(index..index + 1)?;
                    }
                    set
                })
            }
        }
    }

    fn set(&self, mut part: PartMut<'_>, ty: &Type, value: &Value) -> Outcome<()> {
        let Shape::Sequence { element, bound } = shape(self.schema, ty) else {
            return Err(other_type("a set", value));
        };
        check_length(value, bound)?;
        part.clear()?;
        each(value, |_, value| {
            part.insert_key(key_of(self.schema, element, value)?.borrow())?;
            Ok(())
        })
    }

    fn map(
        &self,
        mut part: PartMut<'_>,
        (key, inner, bound): (&Type, &Type, Option<u32>),
        value: &Value,
    ) -> Outcome<()> {
        let Value::Map(entries) = value else { return Err(other_type("a map", value)) };
        check_bound(entries.len() as u64, bound)?;
        part.clear()?;
        for (index, (k, v)) in entries.iter().enumerate() {
            let entry = key_of(self.schema, key, k).and_then(|k| self.entry(&mut part, k.borrow(), inner, v));
            entry.map_err(|error| error.in_element(index))?;
        }
        Ok(())
    }

    fn entry(&self, part: &mut PartMut<'_>, key: Key<'_>, ty: &Type, value: &Value) -> Outcome<()> {
        let (place, is_new) = part.insert_key(key)?;
        if !is_new {
            return Err(WriteProblem::SameKey.into());
        }
        let set = self.value(place, ty, value);
        if set.is_err() {
            part.remove_key(key)?;
        }
        set
    }

    fn definition(&self, mut part: PartMut<'_>, id: TypeId, kind: &Kind, value: &Value) -> Outcome<()> {
        match (kind, value) {
            (Kind::Struct(_), Value::Record(record)) => self.structure(part, id, record),
            (Kind::Union(it), _) => self.union(part, it, value),
            (Kind::Enum(_), Value::Enum { value, .. }) => Ok(part.set_bytes(&value.to_le_bytes())?),
            (Kind::Bitmask(it), Value::Bitmask { bits, .. }) => {
                let bytes = primitive_bytes(it.storage(), &Value::Unsigned(*bits))?;
                Ok(part.set_bytes(&bytes[..it.storage().size() as usize])?)
            }
            (Kind::Alias(ty), _) => self.value(part, ty, value),
            (Kind::Struct(_) | Kind::Enum(_) | Kind::Bitmask(_), _) => Err(other_type(kind.word(), value)),
        }
    }

    /// The members of a struct and of its bases.
    fn structure(&self, mut part: PartMut<'_>, id: TypeId, record: &Record) -> Outcome<()> {
        let Some(it) = self.schema.definition(id).kind.as_struct() else { return Ok(()) };
        if let Some(base) = it.base {
            self.structure(part.reborrow().part(&Step::Member(0))?, base, record)?;
        }
        for (index, member) in (u32::from(it.base.is_some())..).zip(&it.members) {
            let place = part.reborrow().part(&Step::Member(index))?;
            let set = match record.get(&member.name) {
                Some(value) => self.value(place, &member.ty, value),
                None => Err(WriteProblem::Missing.into()),
            };
            set.map_err(|error| error.in_member(&member.name))?;
        }
        Ok(())
    }

    fn union(&self, mut part: PartMut<'_>, it: &Union, value: &Value) -> Outcome<()> {
        let (discriminator, case) = union_case(it, value)?;
        part.select(discriminator.as_integer().unwrap_or(0))?;
        let Some((case, value)) = case else { return Ok(()) };
        let index = it.cases.iter().position(|it| std::ptr::eq(it, case)).unwrap_or(0);
        let place = part.part(&Step::Case(index as u32))?;
        self.value(place, &case.member.ty, value).map_err(|error| error.in_member(&case.member.name))
    }
}

/// Calls a function with each element of a list.
fn each(value: &Value, mut call: impl FnMut(u32, &Value) -> Outcome<()>) -> Outcome<()> {
    match value {
        Value::Numbers(numbers) => {
            let all = (0..numbers.len()).filter_map(|at| numbers.get(at));
            all.enumerate()
                .try_for_each(|(index, it)| call(index as u32, &it).map_err(|error| error.in_element(index)))
        }
        Value::List(values) => values
            .iter()
            .enumerate()
            .try_for_each(|(index, it)| call(index as u32, it).map_err(|error| error.in_element(index))),
        other => Err(other_type("a list", other)),
    }
}

impl From<EditError> for WriteError {
    fn from(error: EditError) -> Self {
        WriteProblem::Region(error).into()
    }
}

/// The number that elements are, if they are stored as numbers: numbers, characters, booleans, enums and
/// bitmasks.
fn region_number(schema: &Schema, element: &Type) -> Option<Primitive> {
    match schema.resolve(element) {
        Type::Primitive(of) => Some(*of),
        Type::Named(id) => match &schema.definition(*id).kind {
            Kind::Enum(_) => Some(Primitive::I32),
            Kind::Bitmask(it) => Some(it.storage()),
            _ => None,
        },
        _ => None,
    }
}
