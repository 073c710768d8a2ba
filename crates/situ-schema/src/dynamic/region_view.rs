//! Reads a region part by part, where it lies.
//!
//! [`from_region`](super::from_region) reads all of an image. A [`RegionView`] looks at one place: it says
//! where the elements of a container lie, or where a struct begins, and reads only values that have no parts.
//! Each look checks all numbers from the image that it uses, so the image may come from anywhere, and may
//! change between two looks.

use std::collections::HashMap;
use std::sync::Arc;

use situ_region::dynamic::Step;

use super::Budget;
use super::defaults::Defaults;
use super::error::ReadError;
use super::flat_read::part;
use super::region_read::{ROOT, Reader, check, sized};
use super::value::Value;
use crate::layout::region::RegionType;
use crate::model::{Kind, Lookup, Primitive, Type, TypeId};
use crate::schema::Schema;

type Outcome<T> = Result<T, ReadError>;

/// What an image says about the versions of its types.
#[derive(Debug, Clone, Default)]
pub struct RegionVersions {
    known: Arc<HashMap<TypeId, usize>>,
}

impl RegionVersions {
    /// Reads them. Fails if the bytes are no region, or if the type has no region form.
    pub fn of(schema: &Schema, id: TypeId, image: &[u8]) -> Outcome<Self> {
        check(schema, id, image)?;
        let mut reader = Reader::new(schema, sized(image)?, Arc::default());
        reader.versions(id)?;
        Ok(Self { known: reader.known })
    }
}

/// Where a member of a struct lies, those of its bases included.
#[derive(Debug, Clone)]
pub struct StructMember {
    /// Its distance from the beginning of the struct.
    pub offset: u64,
    /// What it is.
    pub ty: RegionType,
    /// The struct that declares it, and its position there.
    declared: (TypeId, usize),
    /// Its position as versions count it.
    position: usize,
    /// How many bases lie around it.
    bases: usize,
}

impl StructMember {
    /// The steps that lead to it in a region of described types.
    pub fn steps(&self) -> impl Iterator<Item = Step> + use<> {
        let own = Step::Member(u32::try_from(self.position).unwrap_or(u32::MAX));
        std::iter::repeat_n(Step::Member(0), self.bases).chain([own])
    }
}

/// The members of a struct, those of its bases first. `None` if it has no region form.
pub fn region_members(schema: &Schema, id: TypeId) -> Option<Vec<StructMember>> {
    let (it, layout) = (schema.definition(id).kind.as_struct()?, schema.region_layout(id)?);
    let own = layout.members.len() - it.members.len();
    // A base lies at the beginning.
    let mut members = it.base.map_or(Some(Vec::new()), |base| region_members(schema, base))?;
    members.iter_mut().for_each(|member| member.bases += 1);
    for (index, place) in layout.members.into_iter().skip(own).enumerate() {
        let (offset, ty) = (place.offset, place.ty);
        members.push(StructMember { offset, ty, declared: (id, index), position: own + index, bases: 0 });
    }
    Some(members)
}

/// Where elements lie.
#[derive(Debug, Clone)]
pub enum Places {
    /// One behind the other.
    Even {
        /// The first one.
        at: u64,
        /// How many there are.
        count: u64,
        /// The distance from one to the next.
        stride: u64,
    },
    /// Anywhere.
    Listed(Arc<[u64]>),
}

impl Places {
    /// The number of elements.
    pub fn len(&self) -> u64 {
        match self {
            Self::Even { count, .. } => *count,
            Self::Listed(places) => places.len() as u64,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where one of them lies.
    pub fn get(&self, index: u64) -> Option<u64> {
        match self {
            Self::Even { at, count, stride } => (index < *count).then(|| at + index * stride),
            Self::Listed(places) => places.get(usize::try_from(index).ok()?).copied(),
        }
    }
}

/// What lies at a place in a region.
#[derive(Debug, Clone)]
pub enum RegionPart {
    /// A value without parts, or an optional one that is absent.
    Value(Value),
    /// A struct, which begins here.
    Struct(TypeId, u64),
    /// Numbers, one behind the other: where, of what kind, and the lengths of the dimensions.
    Numbers(u64, Primitive, Vec<u64>),
    /// Elements of a sequence or a set.
    List(RegionType, Places),
    /// Entries of a map: the keys, the values, how far values lie behind their keys, the places of the keys,
    /// and whether these are in order.
    Map(RegionType, RegionType, u64, Places, bool),
    /// A union: its discriminator, and the selected case with its value.
    Union(TypeId, Value, Option<(usize, RegionType, u64)>),
}

/// Looks at places in an image.
pub struct RegionView<'a> {
    reader: Reader<'a>,
}

impl<'a> RegionView<'a> {
    /// Where the root lies.
    pub const ROOT: u64 = ROOT;

    /// Looks at an image whose versions were read.
    pub fn new(schema: &'a Schema, image: &'a [u8], versions: &RegionVersions) -> Outcome<Self> {
        Ok(Self { reader: Reader::new(schema, sized(image)?, versions.known.clone()) })
    }

    /// All of a struct or union that begins at `at`.
    pub fn decode(&mut self, id: TypeId, at: u64) -> Outcome<Value> {
        self.reader.definition(id, at)
    }

    /// A member of a struct that begins at `at`. The default of a member that the writer did not know.
    pub fn member(&mut self, member: &StructMember, at: u64) -> Outcome<RegionPart> {
        let schema = self.reader.schema;
        let (id, index) = member.declared;
        let declared = schema.definition(id).kind.as_struct().and_then(|it| it.members.get(index));
        let Some(declared) = declared else { return Ok(RegionPart::Value(Value::Optional(None))) };
        if self.reader.known.get(&id).is_some_and(|known| member.position >= *known) {
            let mut defaults = Defaults { schema, names: super::Names::default(), budget: Budget::new(0) };
            return Ok(RegionPart::Value(defaults.member(declared)?));
        }
        self.part(&declared.ty, &member.ty, at + member.offset)
    }

    /// The value of a type of the schema, which is `ty` in regions, at a place.
    pub fn part(&mut self, schema_type: &Type, ty: &RegionType, at: u64) -> Outcome<RegionPart> {
        let schema = self.reader.schema;
        match ty {
            // Where it ends depends on its version. Each member is checked when it is read.
            RegionType::Struct(id) => Ok(RegionPart::Struct(*id, at)),
            RegionType::Union(id) => self.union(*id, at),
            RegionType::Optional(_) | RegionType::Unique(_) | RegionType::Shared(_) | RegionType::Weak(_) => {
                match self.reader.present(ty, at)? {
                    Some((inner, place)) => self.part(schema_type, inner, place),
                    None => Ok(RegionPart::Value(Value::Optional(None))),
                }
            }
            RegionType::Vector(_) if matches!(schema.resolve(schema_type), Type::WString { .. }) => {
                self.whole(schema_type, ty, at)
            }
            RegionType::Vector(element) => {
                let stride = self.reader.extent(element).size;
                let (block, count) = self.reader.container(at, stride)?;
                Ok(self.list(element, block, vec![count], stride))
            }
            RegionType::Array(element, count) => {
                let (mut element, mut lengths) = (element, vec![u64::from(*count)]);
                while let RegionType::Array(inner, times) = &**element {
                    element = inner;
                    lengths.push(u64::from(*times));
                }
                let size = self.reader.extent(ty).size;
                part(self.reader.image, at, size)?;
                match self.number(element) {
                    None if lengths.len() > 1 => self.whole(schema_type, ty, at),
                    _ => Ok(self.list(element, at, lengths, self.reader.extent(element).size)),
                }
            }
            RegionType::Set(lookup, key) => {
                if self.number(key).is_some() && *lookup == Lookup::Ordered {
                    // Numbers that do not lie one behind the other.
                    return self.whole(schema_type, ty, at);
                }
                Ok(match (self.places(*lookup, ty, at)?, self.number(key)) {
                    (Places::Even { at, count, .. }, Some(of)) => RegionPart::Numbers(at, of, vec![count]),
                    (places, _) => RegionPart::List((**key).clone(), places),
                })
            }
            RegionType::Map(lookup, key, value) => {
                let places = self.places(*lookup, ty, at)?;
                let value_at = self.value_at(key, value);
                let is_sorted = *lookup != Lookup::Hash;
                Ok(RegionPart::Map((**key).clone(), (**value).clone(), value_at, places, is_sorted))
            }
            _ => self.whole(schema_type, ty, at),
        }
    }

    fn value_at(&self, key: &RegionType, value: &RegionType) -> u64 {
        let (first, second) = (self.reader.extent(key), self.reader.extent(value));
        first.size.next_multiple_of(second.align)
    }

    /// The number that an element is.
    fn number(&self, element: &RegionType) -> Option<Primitive> {
        match element {
            RegionType::Primitive(of) => Some(*of),
            RegionType::Enum(_) => Some(Primitive::I32),
            RegionType::Bitmask(id) => match &self.reader.schema.definition(*id).kind {
                Kind::Bitmask(it) => Some(it.storage()),
                _ => None,
            },
            _ => None,
        }
    }

    fn list(&self, element: &RegionType, at: u64, lengths: Vec<u64>, stride: u64) -> RegionPart {
        match self.number(element) {
            Some(of) => RegionPart::Numbers(at, of, lengths),
            None => {
                let count = lengths.first().copied().unwrap_or(0);
                RegionPart::List(element.clone(), Places::Even { at, count, stride })
            }
        }
    }

    /// Where the keys of a set or map lie.
    fn places(&mut self, lookup: Lookup, ty: &RegionType, at: u64) -> Outcome<Places> {
        let entry = self.reader.entry(ty);
        if lookup != Lookup::Ordered {
            let (block, count) = self.reader.container(at, entry.size)?;
            return Ok(Places::Even { at: block, count, stride: entry.size });
        }
        Ok(Places::Listed(self.reader.places(lookup, entry, at)?.into()))
    }

    /// All of a value of a type of the schema, which is `ty` in regions, at a place.
    pub fn value(&mut self, schema_type: &Type, ty: &RegionType, at: u64) -> Outcome<Value> {
        let value = self.reader.value(ty, at)?;
        Ok(self.reader.as_schema_has_it(schema_type, value))
    }

    fn whole(&mut self, schema_type: &Type, ty: &RegionType, at: u64) -> Outcome<RegionPart> {
        Ok(RegionPart::Value(self.value(schema_type, ty, at)?))
    }

    fn union(&mut self, id: TypeId, at: u64) -> Outcome<RegionPart> {
        let schema = self.reader.schema;
        let (Kind::Union(it), Some(layout)) = (&schema.definition(id).kind, schema.region_layout(id)) else {
            return Ok(RegionPart::Value(Value::Optional(None)));
        };
        let discriminator = self.reader.discriminator(it, at)?;
        let selected = discriminator.as_integer().and_then(|value| it.case_of(value));
        let case = selected.and_then(|index| {
            let place = layout.members.into_iter().nth(index)?;
            Some((index, place.ty, at + place.offset))
        });
        Ok(RegionPart::Union(id, discriminator, case))
    }
}
