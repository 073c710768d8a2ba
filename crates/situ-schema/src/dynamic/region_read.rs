//! Reads the bytes of a region, canonical or live, by the schema of its type.

use std::collections::HashMap;
use std::sync::Arc;

use super::defaults::{Defaults, bitmask_value, enum_value};
use super::error::{ReadError, ReadProblem};
use super::flat_read::{array_at, part, primitive};
use super::memory;
use super::value::{Numbers, Record, Value};
use super::{Budget, Names, nested};
use crate::identity::signature::text_hash;
use crate::layout::flat::Extent;
use crate::layout::region::RegionType;
use crate::model::{Kind, Lookup, Member, Primitive, Type, TypeId};
use crate::schema::Schema;

type Outcome<T> = Result<T, ReadError>;

/// The version of the format that is read here.
pub(super) const VERSION: u16 = 2;
/// Where the header says where the table of versions begins.
const TABLE_AT: u64 = 60;
/// Where the root begins.
pub(super) const ROOT: u64 = 64;
/// How many links may lead from one to the next. Values are read, printed and dropped by recursion; a
/// [`RegionView`](super::RegionView) reads links of any number, one after the other. It is the limit of
/// messages of all languages that are made from regions, and that of CDR.
const MAX_LINKS: u32 = 128;

/// Checks that a type has a region form, and the beginning of an image.
pub(super) fn check(schema: &Schema, id: TypeId, image: &[u8]) -> Outcome<()> {
    if let Some(obstacle) = schema.region_obstacle(id) {
        return Err(ReadProblem::NoRegion(obstacle.to_string()).into());
    }
    if array_at(image, 0)? != *b"SRGN" {
        return Err(ReadProblem::NotARegion.into());
    }
    let found = u16::from_le_bytes(array_at(image, 4)?);
    if found != VERSION {
        return Err(ReadProblem::OtherFormat { found, here: VERSION }.into());
    }
    Ok(())
}

/// The image, as long as it says.
pub(super) fn sized(image: &[u8]) -> Outcome<&[u8]> {
    let size = u32::from_le_bytes(array_at(image, 24)?);
    part(image, 0, u64::from(size))
}

pub(super) struct Reader<'a> {
    pub schema: &'a Schema,
    pub image: &'a [u8],
    names: Names,
    budget: Budget,
    /// How many links were followed to get here.
    links: u32,
    /// How many members structs that can be appended to have in the image.
    pub known: Arc<HashMap<TypeId, usize>>,
}

impl<'a> Reader<'a> {
    pub fn new(schema: &'a Schema, image: &'a [u8], known: Arc<HashMap<TypeId, usize>>) -> Self {
        Self { schema, image, names: Names::default(), budget: Budget::new(image.len()), links: 0, known }
    }
}

impl Reader<'_> {
    pub fn budget(&mut self) -> &mut Budget {
        &mut self.budget
    }

    pub fn charge(&mut self, count: u64) -> Outcome<()> {
        Ok(self.budget.take(count)?)
    }

    fn u32(&self, at: u64) -> Outcome<u32> {
        Ok(u32::from_le_bytes(array_at(self.image, at)?))
    }

    /// Reads the table of versions, if the type has one.
    pub fn versions(&mut self, id: TypeId) -> Outcome<()> {
        let schema = self.schema;
        let needed = schema.closure_without_aliases(id);
        let appended: HashMap<u64, TypeId> = needed
            .into_iter()
            .filter(|id| schema.is_appended_in_regions(*id))
            .map(|id| (text_hash(&format!("{}\n", schema.name(id))), id))
            .collect();
        if appended.is_empty() {
            return Ok(());
        }
        let mut known = HashMap::new();
        let table = u64::from(self.u32(TABLE_AT)?);
        let mut at = table + 8;
        for _ in 0..self.u32(table)? {
            self.charge(1)?;
            let members = u64::from(self.u32(at + 12)?);
            if let Some(id) = appended.get(&u64::from_le_bytes(array_at(self.image, at)?)) {
                known.insert(*id, members as usize);
            }
            at += 16 + 8 * members;
        }
        self.known = Arc::new(known);
        match appended.values().find(|id| !self.known.contains_key(*id)) {
            Some(missing) => Err(ReadProblem::NoVersion(schema.name(*missing).to_string()).into()),
            None => Ok(()),
        }
    }

    /// The target of the link at an offset, `None` for an empty link.
    pub fn target(&self, at: u64) -> Outcome<Option<u64>> {
        let link = i64::from(self.u32(at)? as i32);
        match u64::try_from(at as i64 + link) {
            Ok(to) => Ok((link != 0).then_some(to)),
            Err(_) => Err(ReadProblem::Link(at as i64 + link).into()),
        }
    }

    /// The block and the length of a container of 16 bytes with elements of `size` bytes.
    pub fn container(&self, at: u64, size: u64) -> Outcome<(u64, u64)> {
        let length = u64::from(self.u32(at + 4)?);
        let block = self.target(at)?.unwrap_or(0);
        part(self.image, block, length * size)?;
        Ok((block, length))
    }

    /// The value behind a link.
    fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Outcome<T>) -> Outcome<T> {
        if self.links == MAX_LINKS {
            return Err(ReadProblem::TooDeep(MAX_LINKS).into());
        }
        self.links += 1;
        let read = inner(self);
        self.links -= 1;
        read
    }

    pub fn extent(&self, ty: &RegionType) -> Extent {
        self.schema.region_extent(ty)
    }

    pub fn value(&mut self, ty: &RegionType, at: u64) -> Outcome<Value> {
        self.charge(1)?;
        let schema = self.schema;
        match ty {
            RegionType::Primitive(of) => primitive(self.image, *of, at),
            RegionType::Enum(id) => match &schema.definition(*id).kind {
                Kind::Enum(it) => Ok(enum_value(it, self.u32(at)? as i32)),
                _ => Ok(Value::Signed(0)),
            },
            RegionType::Bitmask(id) => match &schema.definition(*id).kind {
                Kind::Bitmask(it) => {
                    let bits = primitive(self.image, it.storage(), at)?.as_integer().unwrap_or(0);
                    Ok(bitmask_value(it, bits as u64))
                }
                _ => Ok(Value::Unsigned(0)),
            },
            RegionType::Struct(id) | RegionType::Union(id) => self.definition(*id, at),
            RegionType::Text => self.text(at),
            RegionType::Array(element, count) => self.array(element, *count, at),
            RegionType::Vector(element) => {
                let (block, length) = self.container(at, self.extent(element).size)?;
                self.deeper(|reader| reader.elements(element, block, length))
            }
            RegionType::Set(lookup, key) => self.set(*lookup, key, at),
            RegionType::Map(lookup, key, value) => self.map(ty, (*lookup, key, value), at),
            RegionType::Optional(_) | RegionType::Unique(_) | RegionType::Shared(_) => self.optional(ty, at),
            // The value may contain the link.
            RegionType::Weak(_) => Ok(Value::weak(self.present(ty, at)?.map(|(_, place)| place))),
        }
    }

    // Functions of their own, so that the stack has the variables of one kind of value for each level.
    fn array(&mut self, element: &RegionType, count: u32, at: u64) -> Outcome<Value> {
        let (mut element, mut dimensions) = (element, vec![count]);
        while let RegionType::Array(inner, times) = element {
            element = &**inner;
            dimensions.push(*times);
        }
        let elements = self.elements(element, at, super::count(&dimensions))?;
        nested::nest(elements, &dimensions, &mut self.budget)
    }

    fn set(&mut self, lookup: Lookup, key: &RegionType, at: u64) -> Outcome<Value> {
        let places = self.places(lookup, self.extent(key), at)?;
        if let RegionType::Primitive(of) = key {
            let size = of.size();
            let mut bytes = Vec::new();
            for at in &places {
                let key = part(self.image, *at, size)?;
                memory::extend(&mut bytes, key)?;
            }
            if let Some(numbers) = Numbers::from_bytes(*of, &bytes, false)? {
                return Ok(Value::Numbers(numbers));
            }
        }
        let keys = self.deeper(|reader| {
            let mut keys = Vec::new();
            for (index, at) in places.into_iter().enumerate() {
                let key = reader.value(key, at).map_err(|error| error.in_element(index));
                memory::push(&mut keys, key?)?;
            }
            Ok(keys)
        })?;
        Ok(Value::List(keys))
    }

    fn map(
        &mut self,
        ty: &RegionType,
        (lookup, key, value): (Lookup, &RegionType, &RegionType),
        at: u64,
    ) -> Outcome<Value> {
        let value_at = self.extent(key).size.next_multiple_of(self.extent(value).align);
        let entry = self.entry(ty);
        let places = self.places(lookup, entry, at)?;
        let entries = self.deeper(|reader| {
            let mut entries = Vec::new();
            for (index, at) in places.into_iter().enumerate() {
                let entry =
                    reader.value(key, at).and_then(|key| Ok((key, reader.value(value, at + value_at)?)));
                memory::push(&mut entries, entry.map_err(|error| error.in_element(index))?)?;
            }
            Ok(entries)
        })?;
        Ok(Value::Map(entries))
    }

    fn optional(&mut self, ty: &RegionType, at: u64) -> Outcome<Value> {
        let Some((value, place)) = self.present(ty, at)? else { return Ok(Value::Optional(None)) };
        let value = match ty {
            RegionType::Optional(_) => self.value(value, place)?,
            _ => self.deeper(|reader| reader.value(value, place))?,
        };
        Ok(Value::Optional(Some(Box::new(value))))
    }

    /// The type and the place of an optional value, in place or behind a link; `None` if it is absent.
    pub fn present<'t>(&self, ty: &'t RegionType, at: u64) -> Outcome<Option<(&'t RegionType, u64)>> {
        match ty {
            RegionType::Optional(value) => match array_at(self.image, at)? {
                [0] => Ok(None),
                [1] => Ok(Some((value, at + self.extent(value).align.max(8)))),
                [other] => Err(ReadProblem::NotABool(other).into()),
            },
            RegionType::Unique(value) => Ok(self.target(at)?.map(|block| (&**value, block))),
            RegionType::Shared(value) => {
                let counts = self.extent(value).align.max(8);
                Ok(self.target(at)?.map(|block| (&**value, block + counts)))
            }
            RegionType::Weak(value) => {
                let Some(block) = self.target(at)? else { return Ok(None) };
                let counts = self.extent(value).align.max(8);
                let is_expired = self.u32(block)? == 0;
                Ok((!is_expired).then_some((&**value, block + counts)))
            }
            _ => Ok(Some((ty, at))),
        }
    }

    /// Size and alignment of a key of a set, or an entry of a map.
    pub fn entry(&self, ty: &RegionType) -> Extent {
        match ty {
            RegionType::Set(_, key) => self.extent(key),
            RegionType::Map(_, key, value) => {
                let (first, second) = (self.extent(key), self.extent(value));
                let value_at = first.size.next_multiple_of(second.align);
                let align = first.align.max(second.align);
                Extent { size: (value_at + second.size).next_multiple_of(align), align }
            }
            _ => self.extent(ty),
        }
    }

    fn text(&mut self, at: u64) -> Outcome<Value> {
        let [tag] = array_at(self.image, at + 11)?;
        let bytes = if tag & 0x80 != 0 {
            part(self.image, at, u64::from(tag & 0x0f).min(11))?
        } else {
            let (block, length) = self.container(at, 1)?;
            part(self.image, block, length)?
        };
        // Copied before it is checked: another process may change the bytes.
        let mut copy = Vec::new();
        memory::extend(&mut copy, bytes)?;
        match String::from_utf8(copy) {
            Ok(text) => Ok(Value::Text(text)),
            Err(error) => Err(ReadProblem::NotUtf8(error.utf8_error().valid_up_to()).into()),
        }
    }

    pub fn elements(&mut self, element: &RegionType, at: u64, length: u64) -> Outcome<Value> {
        let size = self.extent(element).size;
        if let RegionType::Primitive(of) = element
            && !matches!(of, Primitive::Bool | Primitive::Char8 | Primitive::WChar)
            && let Some(numbers) = Numbers::from_bytes(*of, part(self.image, at, length * size)?, false)?
        {
            // Vectors that share one block would yield many values from few bytes.
            self.charge(length * size)?;
            return Ok(Value::Numbers(numbers));
        }
        let mut elements = Vec::new();
        for index in 0..length {
            let value = self.value(element, at + index * size);
            memory::push(&mut elements, value.map_err(|error| error.in_element(index as usize))?)?;
        }
        Ok(Value::List(elements))
    }

    /// The offsets of the keys or entries of a set or map, in the order of the keys, or of a hash table
    /// in the order in which they lie there.
    pub fn places(&mut self, lookup: Lookup, entry: Extent, at: u64) -> Outcome<Vec<u64>> {
        match lookup {
            // The index of a hash table lies behind its entries. It is not needed to visit them all.
            Lookup::Sorted | Lookup::Hash => {
                let (block, length) = self.container(at, entry.size)?;
                self.charge(length)?;
                let count = usize::try_from(length).unwrap_or(usize::MAX);
                Ok(memory::list((0..count).map(|index| block + index as u64 * entry.size))?)
            }
            Lookup::Ordered => {
                let levels = self.u32(at + 8)?.min(16);
                let mut places = Vec::new();
                if let (Some(root), true) = (self.target(at)?, levels > 0) {
                    self.node(root, levels, entry, &mut places)?;
                }
                Ok(places)
            }
        }
    }

    /// The elements of a tree's node, and of those beneath it.
    fn node(&mut self, at: u64, levels: u32, entry: Extent, places: &mut Vec<u64>) -> Outcome<()> {
        let [a, b, c, d] = array_at(self.image, at)?;
        let (length, room) = (u64::from(u16::from_le_bytes([a, b])), u64::from(u16::from_le_bytes([c, d])));
        self.charge(1 + length)?;
        let first = at + entry.align.max(4);
        let children = (first + room * entry.size).next_multiple_of(4);
        for index in 0..=length {
            if levels > 1
                && let Some(child) = self.target(children + 4 * index)?
            {
                self.node(child, levels - 1, entry, places)?;
            }
            if index < length {
                memory::push(places, first + index * entry.size)?;
            }
        }
        Ok(())
    }

    /// A struct or union.
    pub fn definition(&mut self, id: TypeId, at: u64) -> Outcome<Value> {
        let schema = self.schema;
        if let Kind::Union(it) = &schema.definition(id).kind {
            return self.union(id, it, at);
        }
        let mut values = Vec::new();
        self.members(id, at, &mut values)?;
        Ok(Value::Record(Record { names: self.names.of(schema, id), values }))
    }

    /// The discriminator of a union.
    pub fn discriminator(&mut self, it: &crate::model::Union, at: u64) -> Outcome<Value> {
        let discriminator = match self.schema.resolve(&it.discriminator) {
            Type::Named(of) => self.value(&RegionType::Enum(*of), at),
            Type::Primitive(of) => primitive(self.image, *of, at),
            _ => Ok(Value::Signed(0)),
        };
        discriminator.map_err(|error| error.in_member("discriminator"))
    }

    fn union(&mut self, id: TypeId, it: &crate::model::Union, at: u64) -> Outcome<Value> {
        let schema = self.schema;
        let discriminator = self.discriminator(it, at)?;
        let selected = discriminator.as_integer().and_then(|value| it.case_of(value));
        let case = match selected.zip(schema.region_layout(id)) {
            Some((selected, layout)) => {
                let (name, place) = (&it.cases[selected].member.name, &layout.members[selected]);
                let value =
                    self.value(&place.ty, at + place.offset).map_err(|error| error.in_member(name))?;
                Some((name.clone(), Box::new(value)))
            }
            None => None,
        };
        Ok(Value::Union { discriminator: Box::new(discriminator), case })
    }

    /// The members of a struct, those of its bases first.
    fn members(&mut self, id: TypeId, at: u64, values: &mut Vec<Value>) -> Outcome<()> {
        let schema = self.schema;
        let (Some(it), Some(layout)) = (schema.definition(id).kind.as_struct(), schema.region_layout(id))
        else {
            return Ok(());
        };
        let own = layout.members.len() - it.members.len();
        if let Some(base) = it.base {
            self.members(base, at, values)?;
        }
        // The base is a member of its own.
        let known = self.known.get(&id).map_or(usize::MAX, |known| known.saturating_sub(own));
        for (index, (member, place)) in it.members.iter().zip(&layout.members[own..]).enumerate() {
            let value = if index < known {
                self.member(member, &place.ty, at + place.offset)
            } else {
                let budget = Budget::new(0);
                Defaults { schema, names: Names::default(), budget }.member(member)
            };
            values.push(value.map_err(|error| error.in_member(&member.name))?);
        }
        Ok(())
    }

    fn member(&mut self, member: &Member, ty: &RegionType, at: u64) -> Outcome<Value> {
        let value = self.value(ty, at)?;
        Ok(self.as_schema_has_it(&member.ty, value))
    }

    /// The elements of a list, or of lists nested to this depth, as the schema has them.
    fn elements_of(&self, element: &Type, depth: usize, elements: Vec<Value>) -> Value {
        let each = |value| match value {
            Value::List(inner) if depth > 1 => self.elements_of(element, depth - 1, inner),
            value => self.as_schema_has_it(element, value),
        };
        Value::List(elements.into_iter().map(each).collect())
    }

    /// Wide strings lie in regions as vectors of their units.
    pub fn as_schema_has_it(&self, ty: &Type, value: Value) -> Value {
        let wide = |value: &Value| match value {
            Value::WChar(unit) => Some(*unit),
            _ => None,
        };
        match (self.schema.resolve(ty), value) {
            (_, Value::Optional(Some(inner))) => {
                Value::Optional(Some(Box::new(self.as_schema_has_it(ty, *inner))))
            }
            (Type::WString { .. }, Value::List(units)) => {
                Value::WideText(units.iter().filter_map(wide).collect())
            }
            (Type::Sequence { element, .. }, Value::List(elements)) => self.elements_of(element, 1, elements),
            (ty @ Type::Array { .. }, Value::List(elements)) => match self.schema.array(ty) {
                Some((element, dimensions)) => self.elements_of(element, dimensions.len(), elements),
                None => Value::List(elements),
            },
            (Type::Map { value: ty, .. }, Value::Map(entries)) => Value::Map(
                entries.into_iter().map(|(key, value)| (key, self.as_schema_has_it(ty, value))).collect(),
            ),
            (_, value) => value,
        }
    }
}
