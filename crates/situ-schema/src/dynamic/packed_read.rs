//! Reads a packed image of a region by the schema of its type, and checks it.
//!
//! Each link must lead to the end of what was read before, as compiled readers demand it. Chains of more than
//! 64 links have another order; where one is met, only its bounds are checked. Compiled readers also check
//! the layout hash and the buckets of hash tables.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use situ_layout::InvalidProblem;

use super::defaults::Defaults;
use super::error::{ReadError, ReadProblem};
use super::flat_read::{array_at, part};
use super::memory;
use super::region_check::RegionHeader;
use super::region_read::Reader;
use super::value::{Record, Value};
use super::{Budget, Names, nested};
use crate::identity::signature::text_hash;
use crate::layout::flat::Extent;
use crate::layout::packed::{LINK, PackedUnion};
use crate::layout::region::{RegionLayout, RegionType};
use crate::model::{Kind, Lookup, TypeId, Union};
use crate::schema::Schema;

type Outcome<T> = Result<T, ReadError>;

/// The form of packed images, and the size of their header.
pub(super) const FORM: u8 = 2;
pub(super) const FIRST: u64 = 32;
/// How many links of a chain are followed in the order of the blocks, and how many at all.
const ORDERED_LINKS: u32 = 64;
const MAX_LINKS: u32 = 128;
/// The link of an empty container in an optional that has a value.
const EMPTY: u32 = 1;
/// The weak link to a value that begins with this link.
const ITSELF: u32 = 1;

/// What an image says about a struct that can be appended to.
#[derive(Clone, Copy)]
struct Version {
    members: usize,
    size: u64,
}

struct Walk<'a> {
    schema: &'a Schema,
    image: &'a [u8],
    /// Reads what has the same bytes in all forms.
    reader: Reader<'a>,
    names: Names,
    /// The end of what was read.
    cursor: u64,
    /// Whether what is read now lies at the cursor.
    is_ordered: bool,
    /// Whether there was a chain that is too long for that.
    is_deep: bool,
    is_newer: bool,
    shares_values: bool,
    links: u32,
    versions: HashMap<TypeId, Version>,
    /// The places of shared values, whether they are read to their end, and their types.
    shared: BTreeMap<u64, (bool, RegionType)>,
    /// The weak links: their places, where they lead, and the types of their values.
    weak: Vec<(u64, u64, RegionType)>,
    structs: HashMap<TypeId, Option<Arc<RegionLayout>>>,
    unions: HashMap<TypeId, Option<(Arc<RegionLayout>, PackedUnion)>>,
    extents: HashMap<TypeId, Extent>,
}

fn invalid<T>(at: u64, problem: InvalidProblem) -> Outcome<T> {
    Err(ReadProblem::Packed { offset: at, problem }.into())
}

/// Reads a packed image, of which `image` has exactly the bytes. Also says whether several links lead to one
/// value.
pub(super) fn read(schema: &Schema, id: TypeId, image: &[u8]) -> Outcome<(Value, bool)> {
    let header = RegionHeader::of(image)
        .map_err(|error| ReadProblem::Packed { offset: error.offset, problem: error.problem })?;
    let reader = Reader::new(schema, image, Arc::default());
    let mut walk = Walk {
        schema,
        image,
        reader,
        names: Names::default(),
        cursor: FIRST,
        is_ordered: true,
        is_deep: false,
        is_newer: false,
        shares_values: false,
        links: 0,
        versions: HashMap::new(),
        shared: BTreeMap::new(),
        weak: Vec::new(),
        structs: HashMap::new(),
        unions: HashMap::new(),
        extents: HashMap::new(),
    };
    let has_versions = walk.versions(id)?;
    let wanted = if has_versions { 0 } else { schema.schema_hash(id) };
    if header.schema_hash != wanted {
        let (name, found) = (schema.name(id).to_string(), header.schema_hash);
        return invalid(8, InvalidProblem::OtherType { name, which: "schema", found, wanted });
    }
    let ty = match schema.definition(id).kind {
        Kind::Union(_) => RegionType::Union(id),
        _ => RegionType::Struct(id),
    };
    let Extent { align, .. } = walk.extent(&ty);
    let (size, root) = (walk.size(&ty), walk.cursor.next_multiple_of(align));
    if u64::from(walk.u32(28)?) != root {
        let to = i64::from(walk.u32(28)?);
        return invalid(28, InvalidProblem::Outside { to, size: header.size });
    }
    walk.take(root, size)?;
    let value = walk.value(&ty, root)?;
    for (at, to, of) in &walk.weak {
        match walk.shared.get(to) {
            Some((_, ty)) if ty == of => {}
            Some(_) => return invalid(*at, InvalidProblem::OtherShared { to: *to as u32 }),
            None => return invalid(*at, InvalidProblem::WeakTarget { to: *to as u32 }),
        }
    }
    if !walk.is_deep && !walk.is_newer && walk.cursor != image.len() as u64 {
        let end = walk.cursor as u32;
        return invalid(walk.cursor, InvalidProblem::LeftOver { size: header.size, end });
    }
    Ok((value, walk.shares_values))
}

impl Walk<'_> {
    fn u32(&self, at: u64) -> Outcome<u32> {
        Ok(u32::from_le_bytes(array_at(self.image, at)?))
    }

    /// Reads the table of versions. Returns whether the type has one.
    fn versions(&mut self, id: TypeId) -> Outcome<bool> {
        let schema = self.schema;
        let needed = schema.closure_without_aliases(id).into_iter();
        let appended: HashMap<u64, TypeId> = needed
            .filter(|id| schema.is_appended_in_regions(*id))
            .map(|id| (text_hash(&format!("{}\n", schema.name(id))), id))
            .collect();
        if appended.is_empty() {
            return Ok(false);
        }
        let bad = || invalid(FIRST, InvalidProblem::BadVersions { at: FIRST as u32 });
        let end = FIRST + 8 + 8 * u64::from(self.u32(FIRST + 4)?);
        let mut at = FIRST + 8;
        for _ in 0..self.u32(FIRST)? {
            let (size, members) = (u64::from(self.u32(at + 8)?), u64::from(self.u32(at + 12)?));
            if let Some(id) = appended.get(&u64::from_le_bytes(array_at(self.image, at)?)) {
                let here = self.layout(*id).map_or(0, |layout| layout.members.len());
                self.is_newer |= members > here as u64;
                self.versions.insert(*id, Version { members: members as usize, size });
            }
            at += 16 + 8 * members;
            if at > end || at > self.image.len() as u64 {
                return bad();
            }
        }
        if let Some(missing) = appended.values().find(|id| !self.versions.contains_key(*id)) {
            return Err(ReadProblem::NoVersion(schema.name(*missing).to_string()).into());
        }
        self.cursor = end;
        if at == end { Ok(true) } else { bad() }
    }

    fn layout(&mut self, id: TypeId) -> Option<Arc<RegionLayout>> {
        let schema = self.schema;
        self.structs.entry(id).or_insert_with(|| schema.packed_struct(id).map(Arc::new)).clone()
    }

    fn union_layout(&mut self, id: TypeId) -> Option<(Arc<RegionLayout>, PackedUnion)> {
        let make = || self.schema.packed_union(id).map(|(layout, union)| (Arc::new(layout), union));
        self.unions.entry(id).or_insert_with(make).clone()
    }

    fn extent(&mut self, ty: &RegionType) -> Extent {
        match ty {
            RegionType::Struct(id) | RegionType::Union(id) => {
                let schema = self.schema;
                *self.extents.entry(*id).or_insert_with(|| schema.packed_extent(ty))
            }
            _ => self.schema.packed_extent(ty),
        }
    }

    /// The size of a value in this image.
    fn size(&mut self, ty: &RegionType) -> u64 {
        let version = match ty {
            RegionType::Struct(id) => self.versions.get(id),
            _ => None,
        };
        version.map(|version| version.size).unwrap_or_else(|| self.extent(ty).size)
    }

    /// Takes `size` bytes from `at` on, before which there may be padding.
    fn take(&mut self, at: u64, size: u64) -> Outcome<()> {
        part(self.image, at, size)?;
        if self.is_ordered {
            self.is_zero(self.cursor, at)?;
            self.cursor = at + size;
        }
        Ok(())
    }

    /// Checks padding.
    fn is_zero(&self, from: u64, to: u64) -> Outcome<()> {
        let padding = part(self.image, from, to.saturating_sub(from))?;
        match padding.iter().position(|byte| *byte != 0) {
            Some(index) if !self.is_newer => {
                let at = from + index as u64;
                invalid(at, InvalidProblem::NotZero { at: at as u32 })
            }
            _ => Ok(()),
        }
    }

    /// The target of the link at `at`, at a multiple of `align`.
    fn follow(&mut self, at: u64, align: u64) -> Outcome<u64> {
        let to = u64::from((at as u32).wrapping_add(self.u32(at)?));
        let wanted = self.cursor.next_multiple_of(align);
        let skips = self.is_newer && to > wanted && to.is_multiple_of(align);
        if self.is_ordered && to != wanted && !skips {
            return invalid(at, InvalidProblem::Misplaced { to: to as i64, wanted: wanted as u32 });
        }
        part(self.image, to, 0)?;
        self.take(to, 0)?;
        Ok(to)
    }

    /// The value behind the link at `at`.
    fn target(&mut self, ty: &RegionType, at: u64) -> Outcome<u64> {
        let align = self.extent(ty).align;
        let to = self.follow(at, align)?;
        let size = self.size(ty);
        self.take(to, size)?;
        Ok(to)
    }

    /// The place behind the length of a container, and the length, which is at least `least`.
    fn counted(&mut self, at: u64, least: u64) -> Outcome<(u64, u64)> {
        let place = self.follow(at, 1)?;
        let (mut length, mut bytes) = (0_u64, 0);
        loop {
            let [byte] = array_at(self.image, place + bytes)?;
            length |= u64::from(byte & 0x7f) << (7 * bytes);
            bytes += 1;
            if byte < 0x80 {
                let is_shortest = byte != 0 || bytes == 1;
                if is_shortest && length >= least && length < 1 << 31 {
                    break;
                }
                return invalid(place, InvalidProblem::BadLength { at: place as u32 });
            }
            if bytes == 5 {
                return invalid(place, InvalidProblem::BadLength { at: place as u32 });
            }
        }
        self.take(place, bytes)?;
        Ok((place + bytes, length))
    }

    /// The first of `count` values behind `end`.
    fn room(&mut self, ty: &RegionType, end: u64, count: u64) -> Outcome<u64> {
        let Extent { size, align } = self.extent(ty);
        let first = end.next_multiple_of(align);
        self.take(first, size * count)?;
        Ok(first)
    }

    /// Reads one level deeper.
    fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Outcome<T>) -> Outcome<T> {
        if self.links == MAX_LINKS {
            return Err(ReadProblem::TooDeep(MAX_LINKS).into());
        }
        let before = self.is_ordered;
        if self.links >= ORDERED_LINKS {
            self.is_ordered = false;
            self.is_deep = true;
        }
        self.links += 1;
        let read = inner(self);
        self.links -= 1;
        self.is_ordered = before;
        read
    }

    fn value(&mut self, ty: &RegionType, at: u64) -> Outcome<Value> {
        if !self.schema.has_packed_links(ty) {
            return self.reader.value(ty, at);
        }
        self.reader.charge(1)?;
        match ty {
            RegionType::Struct(id) => {
                let mut values = Vec::new();
                self.members(*id, at, &mut values)?;
                Ok(Value::Record(Record { names: self.names.of(self.schema, *id), values }))
            }
            RegionType::Union(id) => self.union(*id, at),
            RegionType::Text => self.text(at),
            RegionType::Array(element, count) => {
                let (mut element, mut dimensions) = (element, vec![*count]);
                while let RegionType::Array(inner, times) = &**element {
                    element = inner;
                    dimensions.push(*times);
                }
                let elements = self.elements(element, at, super::count(&dimensions))?;
                nested::nest(elements, &dimensions, self.reader.budget())
            }
            RegionType::Vector(element) => {
                if self.u32(at)? == 0 {
                    return self.empty(ty);
                }
                let (end, count) = self.counted(at, 1)?;
                let first = self.room(element, end, count)?;
                if self.schema.has_packed_links(element) {
                    self.deeper(|walk| walk.elements(element, first, count))
                } else {
                    self.elements(element, first, count)
                }
            }
            RegionType::Set(..) | RegionType::Map(..) if self.u32(at)? == 0 => self.empty(ty),
            RegionType::Set(lookup, key) => self.keyed(*lookup, key, None, at),
            RegionType::Map(lookup, key, value) => self.keyed(*lookup, key, Some(value), at),
            RegionType::Optional(value) => self.optional(value, at),
            RegionType::Unique(value) => {
                if self.u32(at)? == 0 {
                    return Ok(Value::Optional(None));
                }
                let place = self.target(value, at)?;
                let value = self.deeper(|walk| walk.value(value, place))?;
                Ok(Value::Optional(Some(Box::new(value))))
            }
            RegionType::Shared(value) => self.shared(value, at),
            RegionType::Weak(value) => {
                let to = match self.u32(at)? {
                    0 => None,
                    ITSELF => Some(at),
                    link => Some(u64::from((at as u32).wrapping_add(link))),
                };
                if let Some(to) = to {
                    memory::push(&mut self.weak, (at, to, (**value).clone()))?;
                }
                Ok(Value::weak(to))
            }
            _ => self.reader.value(ty, at),
        }
    }

    fn text(&mut self, at: u64) -> Outcome<Value> {
        let word = self.u32(at)?;
        let bytes = if word >> 31 != 0 {
            let length = u64::from((word >> 24) & 0x7f);
            if !(1..=3).contains(&length) {
                return invalid(at, InvalidProblem::BadLength { at: at as u32 + 3 });
            }
            self.is_zero(at + length, at + 3)?;
            part(self.image, at, length)?
        } else if word == 0 {
            &[]
        } else {
            let (first, length) = self.counted(at, LINK)?;
            self.take(first, length)?;
            part(self.image, first, length)?
        };
        // Copied before it is checked: another process may change the bytes.
        let mut copy = Vec::new();
        memory::extend(&mut copy, bytes)?;
        match String::from_utf8(copy) {
            Ok(text) => Ok(Value::Text(text)),
            Err(error) => Err(ReadProblem::NotUtf8(error.utf8_error().valid_up_to()).into()),
        }
    }

    /// An empty container.
    fn empty(&mut self, ty: &RegionType) -> Outcome<Value> {
        match ty {
            RegionType::Text => Ok(Value::Text(String::new())),
            RegionType::Vector(element) | RegionType::Set(_, element) => self.elements(element, 0, 0),
            _ => Ok(Value::Map(Vec::new())),
        }
    }

    fn elements(&mut self, element: &RegionType, at: u64, count: u64) -> Outcome<Value> {
        if !self.schema.has_packed_links(element) {
            return self.reader.elements(element, at, count);
        }
        let (size, mut elements) = (self.extent(element).size, Vec::new());
        for index in 0..count {
            let value = self.value(element, at + index * size);
            memory::push(&mut elements, value.map_err(|error| error.in_element(index as usize))?)?;
        }
        Ok(Value::List(elements))
    }

    /// A set or a map.
    fn keyed(
        &mut self,
        lookup: Lookup,
        key: &RegionType,
        value: Option<&RegionType>,
        at: u64,
    ) -> Outcome<Value> {
        let (mut end, count) = self.counted(at, 1)?;
        if lookup == Lookup::Hash && count > 8 {
            let starts = end.next_multiple_of(4);
            self.take(starts, 4 * count.div_ceil(4))?;
            end = starts + 4 * count.div_ceil(4);
        }
        let keys_at = self.room(key, end, count)?;
        let keys_end = keys_at + count * self.extent(key).size;
        let values_at = value.map(|value| self.room(value, keys_end, count)).transpose()?;
        let (schema, is_sorted) = (self.schema, lookup != Lookup::Hash);
        let has_links = [Some(key), value].into_iter().flatten().any(|ty| schema.has_packed_links(ty));
        let read = |walk: &mut Self| {
            let (Some(value), Some(values_at)) = (value, values_at) else {
                let keys = walk.elements(key, keys_at, count)?;
                return if is_sorted { ascends(at, keys) } else { Ok(keys) };
            };
            let mut keys = Vec::new();
            for index in 0..count {
                let key_at = keys_at + index * walk.extent(key).size;
                let found = walk.value(key, key_at).map_err(|error| error.in_element(index as usize))?;
                memory::push(&mut keys, found)?;
            }
            if is_sorted && let Some(index) = not_ascending(&keys) {
                return invalid(at, InvalidProblem::NotSorted { index });
            }
            let mut entries = Vec::new();
            for (index, key) in keys.into_iter().enumerate() {
                let value_at = values_at + index as u64 * walk.extent(value).size;
                let found = walk.value(value, value_at).map_err(|error| error.in_element(index))?;
                memory::push(&mut entries, (key, found))?;
            }
            Ok(Value::Map(entries))
        };
        if has_links { self.deeper(read) } else { read(self) }
    }

    fn optional(&mut self, value: &RegionType, at: u64) -> Outcome<Value> {
        let some = |value| Ok(Value::Optional(Some(Box::new(value))));
        let Extent { size, align } = self.extent(value);
        if Schema::is_packed_link(value) {
            return match self.u32(at)? {
                0 => Ok(Value::Optional(None)),
                EMPTY => some(self.empty(value)?),
                _ => some(self.value(value, at)?),
            };
        }
        if size < LINK {
            return match array_at(self.image, at)? {
                [0] => {
                    self.is_zero(at + 1, at + align + size)?;
                    Ok(Value::Optional(None))
                }
                [1] => {
                    self.is_zero(at + 1, at + align)?;
                    some(self.value(value, at + align)?)
                }
                [other] => Err(ReadProblem::NotABool(other).into()),
            };
        }
        if self.u32(at)? == 0 {
            return Ok(Value::Optional(None));
        }
        let place = self.target(value, at)?;
        some(self.value(value, place)?)
    }

    fn shared(&mut self, value: &RegionType, at: u64) -> Outcome<Value> {
        let link = self.u32(at)?;
        if link == 0 {
            return Ok(Value::Optional(None));
        }
        let to = (at as u32).wrapping_add(link);
        let read = match self.shared.get(&u64::from(to)) {
            None => {
                let place = self.target(value, at)?;
                self.shared.insert(place, (false, value.clone()));
                let read = self.deeper(|walk| walk.value(value, place))?;
                self.shared.insert(place, (true, value.clone()));
                read
            }
            Some((_, of)) if of != value => return invalid(at, InvalidProblem::OtherShared { to }),
            Some((false, _)) => return invalid(at, InvalidProblem::Cycle { to }),
            Some((true, _)) => {
                self.shares_values = true;
                // Its blocks are where they were met first.
                let before = std::mem::replace(&mut self.is_ordered, false);
                let read = self.deeper(|walk| walk.value(value, to.into()));
                self.is_ordered = before;
                read?
            }
        };
        Ok(Value::Optional(Some(Box::new(read))))
    }

    fn union(&mut self, id: TypeId, at: u64) -> Outcome<Value> {
        let schema = self.schema;
        let (Kind::Union(it), Some((layout, union))) = (&schema.definition(id).kind, self.union_layout(id))
        else {
            return Ok(Value::Optional(None));
        };
        let it: &Union = it;
        let discriminator = self.reader.discriminator(it, at)?;
        let value_at = at + union.value;
        let case = match discriminator.as_integer().and_then(|value| it.case_of(value)) {
            Some(selected) => {
                let (name, ty) = (&it.cases[selected].member.name, &layout.members[selected].ty);
                let place = if union.is_inside { Ok(value_at) } else { self.target(ty, value_at) };
                let value = place.and_then(|place| self.value(ty, place));
                let value = value.map_err(|error| error.in_member(name))?;
                Some((name.clone(), Box::new(value)))
            }
            None => {
                self.is_zero(value_at, at + layout.extent.size)?;
                None
            }
        };
        Ok(Value::Union { discriminator: Box::new(discriminator), case })
    }

    /// The members of a struct, those of its bases first.
    fn members(&mut self, id: TypeId, at: u64, values: &mut Vec<Value>) -> Outcome<()> {
        let schema = self.schema;
        let (Some(it), Some(layout)) = (schema.definition(id).kind.as_struct(), self.layout(id)) else {
            return Ok(());
        };
        let own = layout.members.len() - it.members.len();
        if let (Some(base), Some(place)) = (it.base, layout.members.first()) {
            self.members(base, at + place.offset, values)?;
        }
        // The base is a member of its own.
        let known = self.versions.get(&id).map_or(usize::MAX, |version| version.members.saturating_sub(own));
        for (index, (member, place)) in it.members.iter().zip(&layout.members[own..]).enumerate() {
            let value = if index < known {
                let value = self.value(&place.ty, at + place.offset);
                value.map(|value| self.reader.as_schema_has_it(&member.ty, value))
            } else {
                let budget = Budget::new(0);
                Defaults { schema, names: Names::default(), budget }.member(member)
            };
            values.push(value.map_err(|error| error.in_member(&member.name))?);
        }
        Ok(())
    }
}

/// The first key that is not greater than the one before it. Floating-point numbers are in the total order of
/// IEEE 754.
fn not_ascending(keys: &[Value]) -> Option<u32> {
    let is_less = |pair: &[Value]| match pair {
        [Value::Text(a), Value::Text(b)] => a.as_bytes() < b.as_bytes(),
        [Value::Float(a), Value::Float(b)] => a.total_cmp(b).is_lt(),
        [Value::Double(a), Value::Double(b)] => a.total_cmp(b).is_lt(),
        [a, b] => a.as_integer() < b.as_integer(),
        _ => true,
    };
    keys.windows(2).position(|pair| !is_less(pair)).map(|index| index as u32 + 1)
}

/// Checks the keys of the set at `at`.
fn ascends(at: u64, keys: Value) -> Outcome<Value> {
    let wrong = match &keys {
        Value::List(keys) => not_ascending(keys),
        Value::Numbers(numbers) => numbers.not_ascending(),
        _ => None,
    };
    wrong.map_or(Ok(keys), |index| invalid(at, InvalidProblem::NotSorted { index }))
}

/// Whether an image is a packed one.
pub(super) fn is_packed(image: &[u8]) -> bool {
    image.get(6) == Some(&FORM)
}
