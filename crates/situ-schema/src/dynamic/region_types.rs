//! The types of a schema as the regions of `situ-region` need them.

use std::collections::HashMap;
use std::sync::Arc;

use situ_region::dynamic as region;
use situ_region::dynamic::{Scalar, TypeNumber, TypesBuilder, TypesError};

use super::Names;
use super::defaults::Defaults;
use super::error::ReadError;
use super::flat_write::primitive_bytes;
use super::value::Value;
use super::{Budget, region_read::ROOT};
use crate::layout::region::RegionType;
use crate::model::{Kind, Lookup, Member, Primitive, Type, TypeId};
use crate::schema::Schema;

/// Why a type has no regions.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegionTypesError {
    /// The type, or one that it needs, has no region form.
    #[error("the type has no region form: {0}")]
    NoRegion(String),
    /// A member is a weak link, which is read without compiled types, but not written.
    #[error("`{0}` is a weak link, which only programs with compiled types write")]
    WeakLink(String),
    /// A default cannot be made.
    #[error(transparent)]
    Default(#[from] ReadError),
    /// The layout cannot be computed.
    #[error(transparent)]
    Types(#[from] TypesError),
}

situ_layout::debug_as_text!(RegionTypesError);

/// The types that regions of a type need.
#[derive(Debug, Clone)]
pub struct RegionTypes {
    types: Arc<region::Types>,
    /// What the types are, by their numbers.
    of: Vec<RegionType>,
}

impl RegionTypes {
    /// Where the root lies in an image.
    pub const ROOT: u64 = ROOT;

    /// Those of a struct or union.
    pub fn of(schema: &Schema, id: TypeId) -> Result<Self, RegionTypesError> {
        if let Some(obstacle) = schema.region_obstacle(id) {
            return Err(RegionTypesError::NoRegion(obstacle.to_string()));
        }
        let root = match &schema.definition(id).kind {
            Kind::Struct(_) => RegionType::Struct(id),
            Kind::Union(_) => RegionType::Union(id),
            _ => return Err(RegionTypesError::NoRegion(schema.name(id).to_string())),
        };
        let mut build =
            Build { schema, types: TypesBuilder::default(), known: HashMap::new(), of: Vec::new() };
        let root = build.number(&root)?;
        Ok(Self { types: Arc::new(build.types.finish(root, schema.schema_hash(id))?), of: build.of })
    }

    /// The described types.
    pub fn types(&self) -> &Arc<region::Types> {
        &self.types
    }

    /// What a type is. `None` for a number that no type of the schema has.
    pub fn region_type(&self, number: TypeNumber) -> Option<&RegionType> {
        self.of.get(number as usize)
    }
}

struct Build<'s> {
    schema: &'s Schema,
    types: TypesBuilder,
    known: HashMap<RegionType, TypeNumber>,
    of: Vec<RegionType>,
}

fn scalar(primitive: Primitive) -> Scalar {
    match primitive {
        Primitive::Bool => Scalar::Bool,
        Primitive::Char8 => Scalar::Char,
        Primitive::U8 => Scalar::U8,
        Primitive::I8 => Scalar::I8,
        Primitive::U16 | Primitive::WChar => Scalar::U16,
        Primitive::I16 => Scalar::I16,
        Primitive::U32 => Scalar::U32,
        Primitive::I32 => Scalar::I32,
        Primitive::U64 => Scalar::U64,
        Primitive::I64 => Scalar::I64,
        Primitive::F32 => Scalar::F32,
        Primitive::F64 => Scalar::F64,
    }
}

fn lookup(of: Lookup) -> region::Lookup {
    match of {
        Lookup::Sorted => region::Lookup::Sorted,
        Lookup::Hash => region::Lookup::Hash,
        Lookup::Ordered => region::Lookup::Ordered,
    }
}

impl Build<'_> {
    /// The number of a type.
    fn number(&mut self, ty: &RegionType) -> Result<TypeNumber, RegionTypesError> {
        if let Some(known) = self.known.get(ty) {
            return Ok(*known);
        }
        // A type may lead to itself.
        let number = self.types.announce();
        self.known.insert(ty.clone(), number);
        self.of.push(ty.clone());
        let kind = self.kind(ty)?;
        self.types.describe(number, kind);
        Ok(number)
    }

    fn kind(&mut self, ty: &RegionType) -> Result<region::Kind, RegionTypesError> {
        let schema = self.schema;
        Ok(match ty {
            RegionType::Primitive(of) => region::Kind::Scalar { of: scalar(*of), initial: 0 },
            RegionType::Enum(id) => {
                let initial = match &schema.definition(*id).kind {
                    Kind::Enum(it) => it.default_enumerator().value.into(),
                    _ => 0,
                };
                region::Kind::Scalar { of: Scalar::I32, initial }
            }
            RegionType::Bitmask(id) => {
                let of = match &schema.definition(*id).kind {
                    Kind::Bitmask(it) => scalar(it.storage()),
                    _ => Scalar::U32,
                };
                region::Kind::Scalar { of, initial: 0 }
            }
            RegionType::Struct(id) => self.structure(*id)?,
            RegionType::Union(id) => self.union(*id)?,
            RegionType::Text => region::Kind::Text,
            RegionType::Array(element, count) => {
                region::Kind::Array { element: self.number(element)?, count: *count }
            }
            RegionType::Vector(element) => region::Kind::Vector { element: self.number(element)? },
            RegionType::Set(of, key) => region::Kind::Set { lookup: lookup(*of), key: self.number(key)? },
            RegionType::Map(of, key, value) => {
                region::Kind::Map { lookup: lookup(*of), key: self.number(key)?, value: self.number(value)? }
            }
            RegionType::Optional(value) => region::Kind::Optional { value: self.number(value)? },
            RegionType::Unique(value) => region::Kind::Unique { value: self.number(value)? },
            RegionType::Shared(value) => region::Kind::Shared { value: self.number(value)? },
            RegionType::Weak(_) => return Err(RegionTypesError::WeakLink(String::new())),
        })
    }

    fn structure(&mut self, id: TypeId) -> Result<region::Kind, RegionTypesError> {
        let schema = self.schema;
        let missing = || RegionTypesError::NoRegion(schema.name(id).to_string());
        let it = schema.definition(id).kind.as_struct().ok_or_else(missing)?;
        let layout = schema.region_layout(id).ok_or_else(missing)?;
        let own = layout.members.len() - it.members.len();
        let mut members = Vec::with_capacity(layout.members.len());
        for (index, place) in layout.members.iter().enumerate() {
            if matches!(place.ty, RegionType::Weak(_)) {
                return Err(RegionTypesError::WeakLink(format!("{}.{}", schema.name(id), place.name)));
            }
            let ty = self.number(&place.ty)?;
            let declared = index.checked_sub(own).and_then(|index| it.members.get(index));
            let default = declared.map(|member| self.default(member)).transpose()?.flatten();
            members.push(region::Member::new(place.name.as_str(), ty, default));
        }
        let (name, appendable) = (schema.name(id).to_string(), it.is_appended_in_regions());
        Ok(region::Kind::Struct { name, members, appendable })
    }

    fn union(&mut self, id: TypeId) -> Result<region::Kind, RegionTypesError> {
        let schema = self.schema;
        let missing = || RegionTypesError::NoRegion(schema.name(id).to_string());
        let Kind::Union(it) = &schema.definition(id).kind else { return Err(missing()) };
        let layout = schema.region_layout(id).ok_or_else(missing)?;
        let discriminator = match layout.discriminator {
            Some(RegionType::Primitive(of)) => scalar(of),
            _ => Scalar::I32,
        };
        let mut cases = Vec::with_capacity(it.cases.len());
        for (case, place) in it.cases.iter().zip(&layout.members) {
            cases.push(region::Case {
                name: place.name.clone(),
                ty: self.number(&place.ty)?,
                labels: case.labels.clone(),
                is_default: case.is_default,
            });
        }
        let (name, initial) = (schema.name(id).to_string(), schema.default_discriminator(it));
        Ok(region::Kind::Union { name, discriminator, initial, cases })
    }

    /// The bytes of a member's own default.
    fn default(&self, member: &Member) -> Result<Option<Vec<u8>>, RegionTypesError> {
        if member.optional || member.default.is_none() {
            return Ok(None);
        }
        let mut defaults = Defaults { schema: self.schema, names: Names::default(), budget: Budget::new(0) };
        let value = defaults.member(member)?;
        let mut bytes = Vec::new();
        let is_there = default_bytes(self.schema, &member.ty, &value, &mut bytes);
        Ok(is_there.then_some(bytes))
    }
}

/// Appends the bytes of a default. False for an empty container, which needs none.
fn default_bytes(schema: &Schema, ty: &Type, value: &Value, bytes: &mut Vec<u8>) -> bool {
    let element = schema.array(ty).map_or(ty, |(element, _)| element);
    match value {
        Value::Text(text) => bytes.extend(text.as_bytes()),
        Value::Enum { value, .. } => bytes.extend(value.to_le_bytes()),
        Value::Bitmask { bits, .. } => {
            let size = match schema.resolve(element) {
                Type::Named(id) => match &schema.definition(*id).kind {
                    Kind::Bitmask(it) => it.storage().size(),
                    _ => 0,
                },
                _ => 0,
            };
            bytes.extend_from_slice(&bits.to_le_bytes()[..size as usize]);
        }
        Value::Numbers(numbers) if schema.array(ty).is_some() => bytes.extend(numbers.to_bytes()),
        Value::List(values) if schema.array(ty).is_some() => {
            return values.iter().all(|it| match it {
                // Rows of an array of several dimensions.
                Value::Numbers(numbers) => {
                    bytes.extend(numbers.to_bytes());
                    true
                }
                Value::List(_) => default_bytes(schema, ty, it, bytes),
                it => default_bytes(schema, element, it, bytes),
            });
        }
        Value::Numbers(_) | Value::List(_) | Value::WideText(_) | Value::Map(_) => return false,
        other => {
            let Type::Primitive(primitive) = schema.resolve(element) else { return false };
            match primitive_bytes(*primitive, other) {
                Ok(all) => bytes.extend_from_slice(&all[..primitive.size() as usize]),
                Err(_) => return false,
            }
        }
    }
    true
}
