//! Writes CDR, both versions, little endian, by the rules of `spec/cdr.md`.

use situ_layout::visit::{Element, Shape as WireShape};
use situ_wire::{ByteOrder, BytesSink, Encapsulation, Encoding, Writer};

use super::cdr_read::{is_primitive, wire_extensibility};
use super::error::{WriteError, WriteProblem, other_type};
use super::flat_write::{check_length, sorted, text_of, union_case, units_of};
use super::value::{Numbers, Value};
use super::{Shape, all_members, nested, number, shape};
use crate::model::{Extensibility, Kind, Member, Primitive, Type, TypeId, Union};
use crate::schema::Schema;

type Outcome<T> = Result<T, WriteError>;

/// Writes a message as CDR, its four-byte header included.
pub fn to_cdr(schema: &Schema, id: TypeId, value: &Value, encoding: Encoding) -> Outcome<Vec<u8>> {
    let extensibility = wire_extensibility(schema, id);
    let encapsulation = Encapsulation { encoding, order: ByteOrder::Little, extensibility };
    let writer = Writer::new(BytesSink::default(), encapsulation)?;
    let ty = Type::Named(id);
    let mut encoder = Encoder { schema, writer };
    encoder.value(&ty, value)?;
    Ok(encoder.writer.into_sink().into_vec())
}

struct Encoder<'s> {
    schema: &'s Schema,
    writer: Writer<BytesSink>,
}

impl<'s> Encoder<'s> {
    fn delimited_if(&mut self, condition: bool, write: impl FnOnce(&mut Self) -> Outcome<()>) -> Outcome<()> {
        if !condition || self.writer.encoding() == Encoding::Xcdr1 {
            return write(self);
        }
        let delimiter = self.writer.begin_delimited()?;
        write(self)?;
        Ok(self.writer.end_delimited(delimiter)?)
    }

    fn primitive(&mut self, primitive: Primitive, value: &Value) -> Outcome<()> {
        let bytes = super::flat_write::primitive_bytes(primitive, value)?;
        self.writer.align(primitive.size() as usize)?;
        Ok(self.writer.bytes(&bytes[..primitive.size() as usize])?)
    }

    fn value(&mut self, ty: &'s Type, value: &Value) -> Outcome<()> {
        let schema = self.schema;
        match shape(schema, ty) {
            Shape::Primitive(primitive) => self.primitive(primitive, value),
            Shape::Text { bound } => Ok(self.writer.text(text_of(value, bound)?)?),
            Shape::WideText { bound } => Ok(self.writer.wide_text(&units_of(value, bound)?)?),
            Shape::Sequence { element, bound } => {
                self.writer.descend()?;
                self.delimited_if(!is_primitive(schema, element), |it| {
                    let length = check_length(value, bound)?;
                    it.writer.length(length)?;
                    it.elements(element, value)
                })?;
                self.writer.ascend();
                Ok(())
            }
            Shape::Array { element, dimensions } => {
                let elements = nested::elements(value, &dimensions)?;
                self.writer.descend()?;
                self.delimited_if(!is_primitive(schema, element), |it| it.elements(element, &elements))?;
                self.writer.ascend();
                Ok(())
            }
            Shape::Map { key, value: inner, bound } => {
                let entries = sorted(value, bound)?;
                self.writer.descend()?;
                let primitive = is_primitive(schema, key) && is_primitive(schema, inner);
                self.delimited_if(!primitive, |it| {
                    it.writer.length(entries.len())?;
                    for (index, (k, v)) in entries.iter().enumerate() {
                        let entry = it.value(key, k).and_then(|()| it.value(inner, v));
                        entry.map_err(|error| error.in_element(index))?;
                    }
                    Ok(())
                })?;
                self.writer.ascend();
                Ok(())
            }
            Shape::Definition(id, kind) => match (kind, value) {
                (Kind::Struct(it), _) => self.structure(id, it.extensibility, value),
                (Kind::Union(it), _) => self.union(it, value),
                (Kind::Enum(_), Value::Enum { value, .. }) => Ok(self.writer.number(*value)?),
                (Kind::Bitmask(it), Value::Bitmask { bits, .. }) => {
                    self.primitive(it.storage(), &Value::Unsigned(*bits))
                }
                (Kind::Alias(ty), _) => self.value(ty, value),
                (Kind::Enum(_) | Kind::Bitmask(_), _) => Err(other_type(kind.word(), value)),
            },
        }
    }

    fn elements(&mut self, element: &'s Type, value: &Value) -> Outcome<()> {
        match (value, number(self.schema, element)) {
            (Value::Numbers(numbers), Some(primitive)) if numbers.primitive() == primitive => {
                if numbers.is_empty() {
                    return Ok(());
                }
                self.writer.align(primitive.size() as usize)?;
                match numbers {
                    Numbers::U8(bytes) => Ok(self.writer.bytes(bytes)?),
                    other => Ok(self.writer.bytes(&other.to_bytes())?),
                }
            }
            (Value::Numbers(numbers), _) => {
                let mut each = (0..numbers.len()).filter_map(|at| numbers.get(at)).enumerate();
                each.try_for_each(|(index, it)| {
                    self.value(element, &it).map_err(|error| error.in_element(index))
                })
            }
            (Value::List(values), _) => {
                let mut each = values.iter().enumerate();
                each.try_for_each(|(index, it)| {
                    self.value(element, it).map_err(|error| error.in_element(index))
                })
            }
            (other, _) => Err(other_type("a list", other)),
        }
    }

    fn structure(&mut self, id: TypeId, extensibility: Extensibility, value: &Value) -> Outcome<()> {
        let Value::Record(record) = value else { return Err(other_type("a struct", value)) };
        let members = all_members(self.schema, id);
        self.writer.descend()?;
        self.delimited_if(extensibility != Extensibility::Final, |it| {
            for member in members {
                let Some(value) = record.get(&member.name) else {
                    return Err(WriteError::from(WriteProblem::Missing).in_member(&member.name));
                };
                it.member(member, extensibility == Extensibility::Mutable, value)
                    .map_err(|error| error.in_member(&member.name))?;
            }
            it.end_parameters(extensibility)
        })?;
        self.writer.ascend();
        Ok(())
    }

    fn end_parameters(&mut self, extensibility: Extensibility) -> Outcome<()> {
        if extensibility == Extensibility::Mutable && self.writer.encoding() == Encoding::Xcdr1 {
            self.writer.list_end()?;
        }
        Ok(())
    }

    fn member(&mut self, member: &'s Member, mutable: bool, value: &Value) -> Outcome<()> {
        if member.is_weak() {
            return match value {
                Value::Optional(None) => Ok(()),
                _ => Err(WriteProblem::WeakLink.into()),
            };
        }
        let value = match (member.optional, value) {
            (true, Value::Optional(value)) => value.as_deref(),
            (true, other) => return Err(other_type("an optional value", other)),
            (false, value) if !mutable => return self.value(&member.ty, value),
            (false, value) => Some(value),
        };
        match value {
            None if mutable => Ok(()),
            Some(value) if mutable => self.parameter(member, Some(value)),
            _ if self.writer.encoding() == Encoding::Xcdr2 => {
                self.writer.boolean(value.is_some())?;
                value.map_or(Ok(()), |value| self.value(&member.ty, value))
            }
            value => self.parameter(member, value),
        }
    }

    fn parameter(&mut self, member: &'s Member, value: Option<&Value>) -> Outcome<()> {
        let shape = self.wire_shape(&member.ty);
        let mark = self.writer.begin_parameter(member.id, member.must_understand, shape)?;
        if let Some(value) = value {
            self.value(&member.ty, value)?;
        }
        Ok(self.writer.end_parameter(mark)?)
    }

    /// What the wire needs to know about a type: whether it is one number, and how large.
    fn wire_shape(&self, ty: &Type) -> WireShape {
        match shape(self.schema, ty) {
            Shape::Primitive(Primitive::Bool) => WireShape::one(Element::Boolean, 1),
            Shape::Primitive(it) => WireShape::one(Element::Number, it.size() as usize),
            Shape::Definition(_, Kind::Enum(_)) => WireShape::one(Element::Enumerated, 4),
            Shape::Definition(_, Kind::Bitmask(it)) => {
                WireShape::one(Element::Enumerated, it.storage().size() as usize)
            }
            _ => WireShape::OTHER,
        }
    }

    fn union(&mut self, it: &'s Union, value: &Value) -> Outcome<()> {
        let (discriminator, case) = union_case(it, value)?;
        self.writer.descend()?;
        self.delimited_if(it.extensibility != Extensibility::Final, |encoder| {
            if it.extensibility != Extensibility::Mutable {
                encoder
                    .value(&it.discriminator, discriminator)
                    .map_err(|error| error.in_member("discriminator"))?;
                return match case {
                    Some((case, value)) => encoder
                        .value(&case.member.ty, value)
                        .map_err(|error| error.in_member(&case.member.name)),
                    None => Ok(()),
                };
            }
            let shape = encoder.wire_shape(&it.discriminator);
            let mark = encoder.writer.begin_parameter(0, true, shape)?;
            encoder
                .value(&it.discriminator, discriminator)
                .map_err(|error| error.in_member("discriminator"))?;
            encoder.writer.end_parameter(mark)?;
            if let Some((case, value)) = case {
                let shape = encoder.wire_shape(&case.member.ty);
                let mark = encoder.writer.begin_parameter(case.member.id, false, shape)?;
                let written = encoder.value(&case.member.ty, value);
                written.map_err(|error| error.in_member(&case.member.name))?;
                encoder.writer.end_parameter(mark)?;
            }
            encoder.end_parameters(it.extensibility)
        })?;
        self.writer.ascend();
        Ok(())
    }
}
