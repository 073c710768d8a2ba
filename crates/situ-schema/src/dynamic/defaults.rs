//! New values: the defaults of members and types.

use situ_layout::NoMemory;

use super::error::{ReadError, ReadProblem};
use super::memory;
use super::value::{Numbers, Record, Value};
use super::{Budget, Names, Shape, all_members, count, nested, number, shape};
use crate::model::{Bitmask, Enum, Kind, Literal, Member, Primitive, Type, TypeId};
use crate::schema::Schema;

/// The value that a new message of this type holds.
pub fn default_value(schema: &Schema, id: TypeId) -> Result<Value, ReadError> {
    Defaults { schema, names: Names::default(), budget: Budget::new(0) }.of(&Type::Named(id))
}

/// Makes new values.
pub(super) struct Defaults<'s> {
    pub schema: &'s Schema,
    pub names: Names,
    pub budget: Budget,
}

pub(super) fn enum_value(it: &Enum, value: i32) -> Value {
    Value::Enum { value, name: it.by_value(value).map(|it| it.name.clone()) }
}

pub(super) fn bitmask_value(it: &Bitmask, bits: u64) -> Value {
    let is_set = |position: u8| bits >> position & 1 == 1;
    let flags = it.flags.iter().filter(|it| is_set(it.position)).map(|it| it.name.clone()).collect();
    Value::Bitmask { bits, flags }
}

/// An integer, character or boolean of a discriminator's type.
pub(super) fn discriminator_value(schema: &Schema, ty: &Type, value: i128) -> Value {
    match schema.resolve(ty) {
        Type::Named(id) => match &schema.definition(*id).kind {
            Kind::Enum(it) => enum_value(it, i32::try_from(value).unwrap_or(0)),
            _ => Value::Signed(0),
        },
        Type::Primitive(primitive) => integer_value(*primitive, value),
        _ => Value::Signed(0),
    }
}

/// A value of a primitive type that is not floating-point, wrapped to it.
fn integer_value(primitive: Primitive, value: i128) -> Value {
    match primitive {
        Primitive::Bool => Value::Bool(value != 0),
        Primitive::Char8 => Value::Char(value as u8),
        Primitive::WChar => Value::WChar(value as u16),
        Primitive::I8 | Primitive::I16 | Primitive::I32 | Primitive::I64 => Value::Signed(value as i64),
        Primitive::F32 => Value::Float(value as f32),
        Primitive::F64 => Value::Double(value as f64),
        Primitive::U8 | Primitive::U16 | Primitive::U32 | Primitive::U64 => Value::Unsigned(value as u64),
    }
}

impl Defaults<'_> {
    fn charge(&mut self, count: u64) -> Result<(), ReadError> {
        Ok(self.budget.take(count)?)
    }

    /// The value of a new member.
    pub fn member(&mut self, member: &Member) -> Result<Value, ReadError> {
        self.charge(1)?;
        if member.optional {
            return Ok(Value::Optional(None));
        }
        match &member.default {
            Some(literal) => self.literal(literal, &member.ty),
            None => self.of(&member.ty),
        }
    }

    /// A new value of a type.
    pub fn of(&mut self, ty: &Type) -> Result<Value, ReadError> {
        self.charge(1)?;
        let schema = self.schema;
        Ok(match shape(schema, ty) {
            Shape::Primitive(primitive) => integer_value(primitive, 0),
            Shape::Text { .. } => Value::Text(String::new()),
            Shape::WideText { .. } => Value::WideText(Vec::new()),
            Shape::Sequence { element, .. } => match number(schema, element) {
                Some(primitive) => Numbers::from_bytes(primitive, &[], false)?
                    .map_or(Value::List(Vec::new()), Value::Numbers),
                None => Value::List(Vec::new()),
            },
            Shape::Array { element, dimensions } => {
                let elements = self.array(element, count(&dimensions))?;
                nested::nest(elements, &dimensions, &mut self.budget)?
            }
            Shape::Map { .. } => Value::Map(Vec::new()),
            Shape::Definition(id, kind) => match kind {
                Kind::Struct(_) => {
                    let members = all_members(schema, id).into_iter().map(|it| self.member(it));
                    let values = members.collect::<Result<_, _>>()?;
                    Value::Record(Record { names: self.names.of(schema, id), values })
                }
                Kind::Union(it) => {
                    let discriminator = schema.default_discriminator(it);
                    let case = match it.case_of(discriminator).and_then(|at| it.cases.get(at)) {
                        Some(case) => Some((case.member.name.clone(), Box::new(self.of(&case.member.ty)?))),
                        None => None,
                    };
                    let discriminator = discriminator_value(schema, &it.discriminator, discriminator);
                    Value::Union { discriminator: Box::new(discriminator), case }
                }
                Kind::Enum(it) => enum_value(it, it.default_enumerator().value),
                Kind::Bitmask(it) => bitmask_value(it, 0),
                Kind::Alias(ty) => self.of(ty)?,
            },
        })
    }

    fn array(&mut self, element: &Type, length: u64) -> Result<Value, ReadError> {
        if let Some(primitive) = number(self.schema, element) {
            let size = length.saturating_mul(primitive.size());
            self.charge(size / 16)?;
            let size = usize::try_from(size).unwrap_or(usize::MAX);
            let mut bytes = Vec::new();
            let has_memory = bytes.try_reserve_exact(size);
            has_memory.map_err(|_| ReadProblem::NoMemory(NoMemory { bytes: size }))?;
            bytes.resize(size, 0);
            if let Some(numbers) = Numbers::from_bytes(primitive, &bytes, false)? {
                return Ok(Value::Numbers(numbers));
            }
        }
        let mut elements = Vec::new();
        for _ in 0..length {
            memory::push(&mut elements, self.of(element)?)?;
        }
        Ok(Value::List(elements))
    }

    fn literal(&mut self, literal: &Literal, ty: &Type) -> Result<Value, ReadError> {
        let schema = self.schema;
        Ok(match (literal, shape(schema, ty)) {
            (Literal::Bool(it), _) => Value::Bool(*it),
            (Literal::Float(it), Shape::Primitive(Primitive::F32)) => Value::Float(*it as f32),
            (Literal::Float(it), _) => Value::Double(*it),
            (Literal::Integer(it), Shape::Primitive(primitive)) => integer_value(primitive, *it),
            (Literal::Integer(it), Shape::Definition(_, Kind::Bitmask(mask))) => {
                bitmask_value(mask, *it as u64)
            }
            (Literal::Integer(it), _) => Value::Signed(*it as i64),
            (Literal::String(it), Shape::WideText { .. }) => Value::WideText(it.encode_utf16().collect()),
            (Literal::String(it), _) => Value::Text(it.clone()),
            (Literal::Enumerator { .. }, Shape::Definition(_, Kind::Enum(it))) => {
                enum_value(it, schema.enumerator_of(literal).map_or(0, |it| it.value))
            }
            (Literal::List(elements), Shape::Sequence { element, .. }) => self.list(elements, element)?,
            (Literal::List(elements), Shape::Array { element, dimensions }) => {
                let elements = self.list(elements, element)?;
                nested::nest(elements, &dimensions, &mut self.budget)?
            }
            // Literals are checked against their types when the schema is read.
            (Literal::List(_) | Literal::Enumerator { .. }, _) => self.of(ty)?,
        })
    }

    fn list(&mut self, elements: &[Literal], element: &Type) -> Result<Value, ReadError> {
        self.charge(elements.len() as u64)?;
        let values = elements.iter().map(|it| self.literal(it, element)).collect::<Result<Vec<_>, _>>()?;
        Ok(list(self.schema, element, values)?)
    }
}

/// Elements as a list, or as numbers if they are.
pub(super) fn list(schema: &Schema, element: &Type, values: Vec<Value>) -> Result<Value, NoMemory> {
    let Some(primitive) = number(schema, element) else { return Ok(Value::List(values)) };
    let mut bytes = Vec::with_capacity(values.len() * primitive.size() as usize);
    for value in &values {
        match value {
            Value::Float(it) => bytes.extend(it.to_le_bytes()),
            Value::Double(it) => bytes.extend(it.to_le_bytes()),
            other => {
                let wide = other.as_integer().unwrap_or(0).to_le_bytes();
                bytes.extend_from_slice(&wide[..primitive.size() as usize]);
            }
        }
    }
    Ok(Numbers::from_bytes(primitive, &bytes, false)?.map_or(Value::List(values), Value::Numbers))
}
