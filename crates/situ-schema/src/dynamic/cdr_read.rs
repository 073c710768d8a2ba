//! Reads CDR, both versions and byte orders, by the rules of `spec/cdr.md`.

use situ_wire::{DecodeError, DecodeProblem, Encoding, Reader, Scope, TextBuffer};

use super::defaults::{Defaults, bitmask_value, enum_value};
use super::error::ReadError;
use super::memory;
use super::value::{Numbers, Record, Value};
use super::{Budget, Names, Shape, all_members, count, nested, number, shape};
use crate::model::{Extensibility, Kind, Member, Primitive, Type, TypeId, Union};
use crate::schema::Schema;

type Outcome<T> = Result<T, ReadError>;

/// Reads a message from CDR, its four-byte header included.
pub fn from_cdr(schema: &Schema, id: TypeId, bytes: &[u8]) -> Outcome<Value> {
    let (reader, encapsulation) = Reader::new(bytes)?;
    let extensibility = wire_extensibility(schema, id);
    if !encapsulation.fits(extensibility) {
        let problem = DecodeProblem::OtherExtensibility { id: encapsulation.id(), extensibility };
        return Err(DecodeError::at(0, problem).into());
    }
    let defaults = Defaults { schema, names: Names::default(), budget: Budget::new(bytes.len()) };
    Decoder { schema, reader, defaults, text: TextBuffer::default() }.value(&Type::Named(id))
}

/// The extensibility of a definition, as `situ-wire` names it.
pub(super) fn wire_extensibility(schema: &Schema, id: TypeId) -> situ_layout::visit::Extensibility {
    let own = match &schema.definition(id).kind {
        Kind::Struct(it) => it.extensibility,
        Kind::Union(it) => it.extensibility,
        _ => Extensibility::Final,
    };
    match own {
        Extensibility::Final => situ_layout::visit::Extensibility::Final,
        Extensibility::Appendable => situ_layout::visit::Extensibility::Appendable,
        Extensibility::Mutable => situ_layout::visit::Extensibility::Mutable,
    }
}

/// Whether CDR calls the type primitive: numbers, booleans and characters.
pub(super) fn is_primitive(schema: &Schema, ty: &Type) -> bool {
    matches!(shape(schema, ty), Shape::Primitive(_))
}

struct Decoder<'a> {
    schema: &'a Schema,
    reader: Reader<'a>,
    defaults: Defaults<'a>,
    text: TextBuffer,
}

impl<'a> Decoder<'a> {
    fn charge(&mut self, count: u64) -> Outcome<()> {
        Ok(self.defaults.budget.take(count)?)
    }

    fn enter_if(&mut self, condition: bool) -> Outcome<Option<Scope>> {
        let delimited = condition && self.reader.encoding() == Encoding::Xcdr2;
        Ok(if delimited { Some(self.reader.delimited()?) } else { None })
    }

    fn leave(&mut self, scope: Option<Scope>) {
        if let Some(scope) = scope {
            self.reader.leave(scope);
        }
    }

    fn primitive(&mut self, primitive: Primitive) -> Outcome<Value> {
        Ok(match primitive {
            Primitive::Bool => Value::Bool(self.reader.boolean()?),
            Primitive::Char8 => Value::Char(self.reader.number()?),
            Primitive::WChar => Value::WChar(self.reader.number()?),
            Primitive::I8 => Value::Signed(self.reader.number::<i8>()?.into()),
            Primitive::I16 => Value::Signed(self.reader.number::<i16>()?.into()),
            Primitive::I32 => Value::Signed(self.reader.number::<i32>()?.into()),
            Primitive::I64 => Value::Signed(self.reader.number()?),
            Primitive::U8 => Value::Unsigned(self.reader.number::<u8>()?.into()),
            Primitive::U16 => Value::Unsigned(self.reader.number::<u16>()?.into()),
            Primitive::U32 => Value::Unsigned(self.reader.number::<u32>()?.into()),
            Primitive::U64 => Value::Unsigned(self.reader.number()?),
            Primitive::F32 => Value::Float(self.reader.number()?),
            Primitive::F64 => Value::Double(self.reader.number()?),
        })
    }

    fn check_bound(&self, length: usize, bound: Option<u32>) -> Outcome<()> {
        match bound {
            Some(bound) if length > bound as usize => {
                Err(self.reader.error(DecodeProblem::BoundExceeded { length, bound: bound as usize }).into())
            }
            _ => Ok(()),
        }
    }

    fn value(&mut self, ty: &'a Type) -> Outcome<Value> {
        self.charge(1)?;
        let schema = self.schema;
        match shape(schema, ty) {
            Shape::Primitive(primitive) => self.primitive(primitive),
            Shape::Text { bound } => {
                let text = memory::text(self.reader.text(&mut self.text)?)?;
                self.check_bound(text.len(), bound)?;
                Ok(Value::Text(text))
            }
            Shape::WideText { bound } => {
                let units = self.reader.wide_text()?;
                self.check_bound(units.len(), bound)?;
                Ok(Value::WideText(memory::list(units)?))
            }
            Shape::Sequence { element, bound } => {
                self.reader.descend()?;
                let scope = self.enter_if(!is_primitive(schema, element))?;
                let size = number(schema, element).map_or(1, Primitive::size);
                let count = self.reader.length(size as usize)?;
                self.check_bound(count, bound)?;
                let value = self.elements(element, count as u64)?;
                self.leave(scope);
                self.reader.ascend();
                Ok(value)
            }
            Shape::Array { element, dimensions } => {
                self.reader.descend()?;
                let scope = self.enter_if(!is_primitive(schema, element))?;
                let elements = self.elements(element, count(&dimensions))?;
                let value = nested::nest(elements, &dimensions, &mut self.defaults.budget)?;
                self.leave(scope);
                self.reader.ascend();
                Ok(value)
            }
            Shape::Map { key, value, bound } => self.map(key, value, bound),
            Shape::Definition(id, kind) => match kind {
                Kind::Struct(_) => self.structure(id),
                Kind::Union(it) => self.union(it),
                Kind::Enum(it) => Ok(enum_value(it, self.reader.number()?)),
                Kind::Bitmask(it) => {
                    let bits = self.primitive(it.storage())?.as_integer().unwrap_or(0);
                    Ok(bitmask_value(it, bits as u64))
                }
                Kind::Alias(ty) => self.value(ty),
            },
        }
    }

    fn elements(&mut self, element: &'a Type, count: u64) -> Outcome<Value> {
        if let Some(primitive) = number(self.schema, element) {
            let size = usize::try_from(count.saturating_mul(primitive.size())).unwrap_or(usize::MAX);
            if count > 0 {
                self.reader.align(primitive.size() as usize)?;
            }
            let bytes = self.reader.bytes(size)?;
            let bytes = bytes.try_to_vec().map_err(|error| self.reader.error(error))?;
            if let Some(numbers) = Numbers::from_bytes(primitive, &bytes, self.reader.is_swapped())? {
                return Ok(Value::Numbers(numbers));
            }
        }
        let mut elements = Vec::new();
        for index in 0..count {
            let value = self.value(element);
            memory::push(&mut elements, value.map_err(|error| error.in_element(index as usize))?)?;
        }
        Ok(Value::List(elements))
    }

    fn map(&mut self, key: &'a Type, value: &'a Type, bound: Option<u32>) -> Outcome<Value> {
        self.reader.descend()?;
        let primitive = is_primitive(self.schema, key) && is_primitive(self.schema, value);
        let scope = self.enter_if(!primitive)?;
        let count = self.reader.length(2)?;
        self.check_bound(count, bound)?;
        let mut entries = Vec::new();
        for index in 0..count {
            let entry = self.value(key).and_then(|key| Ok((key, self.value(value)?)));
            memory::push(&mut entries, entry.map_err(|error| error.in_element(index))?)?;
        }
        self.leave(scope);
        self.reader.ascend();
        Ok(Value::Map(entries))
    }

    fn structure(&mut self, id: TypeId) -> Outcome<Value> {
        let schema = self.schema;
        let extensibility =
            schema.definition(id).kind.as_struct().map_or(Extensibility::Final, |it| it.extensibility);
        let members = all_members(schema, id);
        self.reader.descend()?;
        let scope = self.enter_if(extensibility != Extensibility::Final)?;
        let values = if extensibility == Extensibility::Mutable {
            self.parameters(&members)?
        } else {
            let mut values = Vec::new();
            for member in members {
                let missing = extensibility == Extensibility::Appendable && self.reader.remaining() == 0;
                let value = if missing { self.defaults.member(member) } else { self.member(member) };
                memory::push(&mut values, value.map_err(|error| error.in_member(&member.name))?)?;
            }
            values
        };
        self.leave(scope);
        self.reader.ascend();
        Ok(Value::Record(Record { names: self.defaults.names.of(schema, id), values }))
    }

    /// The members of a mutable struct.
    fn parameters(&mut self, members: &[&'a Member]) -> Outcome<Vec<Value>> {
        let mut values = memory::list(members.iter().map(|_| None))?;
        while let Some(parameter) = self.reader.parameter()? {
            let Some(at) = members.iter().position(|it| it.id == parameter.id && !it.is_weak()) else {
                self.reader.skip_parameter(&parameter)?;
                continue;
            };
            let member = members[at];
            let scope = self.reader.enter_parameter(&parameter)?;
            let value = self.value(&member.ty).map_err(|error| error.in_member(&member.name))?;
            self.reader.leave(scope);
            values[at] = Some(if member.optional { Value::Optional(Some(Box::new(value))) } else { value });
        }
        let mut filled = Vec::new();
        for (value, member) in values.into_iter().zip(members) {
            let value = match value {
                Some(value) => value,
                None => self.defaults.member(member).map_err(|error| error.in_member(&member.name))?,
            };
            memory::push(&mut filled, value)?;
        }
        Ok(filled)
    }

    /// A member of a struct that is not mutable.
    fn member(&mut self, member: &'a Member) -> Outcome<Value> {
        if !member.optional {
            return self.value(&member.ty);
        }
        self.charge(1)?;
        // Only regions have weak links.
        if member.is_weak() {
            return Ok(Value::Optional(None));
        }
        if self.reader.encoding() == Encoding::Xcdr2 {
            let present = self.reader.boolean()?;
            let value = if present { Some(Box::new(self.value(&member.ty)?)) } else { None };
            return Ok(Value::Optional(value));
        }
        self.reader.align(4)?;
        let at = self.reader.position();
        let parameter = self.reader.parameter()?;
        let Some(parameter) = parameter.filter(|it| it.id == member.id) else {
            let found = parameter.map_or(u32::MAX, |it| it.id);
            return Err(DecodeError::at(at, DecodeProblem::OtherMember { expected: member.id, found }).into());
        };
        let scope = self.reader.enter_parameter(&parameter)?;
        let value = if parameter.length > 0 { Some(Box::new(self.value(&member.ty)?)) } else { None };
        self.reader.leave(scope);
        Ok(Value::Optional(value))
    }

    fn union(&mut self, it: &'a Union) -> Outcome<Value> {
        self.reader.descend()?;
        let scope = self.enter_if(it.extensibility != Extensibility::Final)?;
        let value = match it.extensibility {
            Extensibility::Final => {
                let discriminator = self.value(&it.discriminator)?;
                self.case(it, discriminator)?
            }
            Extensibility::Appendable => {
                if self.reader.remaining() == 0 {
                    self.default_union(it, None)?
                } else {
                    let discriminator = self.value(&it.discriminator)?;
                    if self.reader.remaining() == 0 {
                        self.default_union(it, Some(discriminator))?
                    } else {
                        self.case(it, discriminator)?
                    }
                }
            }
            Extensibility::Mutable => self.union_parameters(it)?,
        };
        self.leave(scope);
        self.reader.ascend();
        Ok(value)
    }

    fn case(&mut self, it: &'a Union, discriminator: Value) -> Outcome<Value> {
        let selected = discriminator.as_integer().and_then(|value| it.case_of(value));
        let case = match selected.and_then(|at| it.cases.get(at)) {
            Some(case) => {
                let name = &case.member.name;
                let value = self.value(&case.member.ty).map_err(|error| error.in_member(name))?;
                Some((name.clone(), Box::new(value)))
            }
            None => None,
        };
        Ok(Value::Union { discriminator: Box::new(discriminator), case })
    }

    /// The value of a union whose value is missing. If `discriminator` is `None`, that is missing too.
    fn default_union(&mut self, it: &'a Union, discriminator: Option<Value>) -> Outcome<Value> {
        let discriminator = discriminator.unwrap_or_else(|| {
            let value = self.schema.default_discriminator(it);
            super::defaults::discriminator_value(self.schema, &it.discriminator, value)
        });
        let selected = discriminator.as_integer().and_then(|value| it.case_of(value));
        let case = match selected.and_then(|at| it.cases.get(at)) {
            Some(case) => Some((case.member.name.clone(), Box::new(self.defaults.of(&case.member.ty)?))),
            None => None,
        };
        Ok(Value::Union { discriminator: Box::new(discriminator), case })
    }

    fn union_parameters(&mut self, it: &'a Union) -> Outcome<Value> {
        let mut value = self.default_union(it, None)?;
        while let Some(parameter) = self.reader.parameter()? {
            let selected = match &value {
                Value::Union { discriminator, .. } => {
                    discriminator.as_integer().and_then(|value| it.case_of(value))
                }
                _ => None,
            };
            let selected =
                selected.and_then(|at| it.cases.get(at)).filter(|case| case.member.id == parameter.id);
            if parameter.id != 0 && selected.is_none() {
                self.reader.skip_parameter(&parameter)?;
                continue;
            }
            let scope = self.reader.enter_parameter(&parameter)?;
            if parameter.id == 0 {
                let discriminator = self.value(&it.discriminator)?;
                value = self.default_union(it, Some(discriminator))?;
            } else if let (Value::Union { case, .. }, Some(selected)) = (&mut value, selected) {
                let name = &selected.member.name;
                let inner = self.value(&selected.member.ty).map_err(|error| error.in_member(name))?;
                *case = Some((name.clone(), Box::new(inner)));
            }
            self.reader.leave(scope);
        }
        Ok(value)
    }
}
