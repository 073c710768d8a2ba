//! The walk through an image: it claims blocks, and checks links, lengths, texts and keys.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use situ_layout::InvalidProblem;

use super::super::error::Path;
use super::super::flat_read::array_at;
use super::super::region_read::{ROOT, Reader};
use super::super::value::Value;
use super::counts::{RegionBytes, Rows, kind};
use super::header::{ImageError, RegionHeader};
use super::{GRANULE, TABLE_AT, has_versions, round_up};
use crate::identity::signature::text_hash;
use crate::layout::flat::Extent;
use crate::layout::region::{RegionLayout, RegionType};
use crate::model::{Kind, Lookup, Primitive, TypeId};

/// What is behind a link at this level is checked after everything else (`spec/region.md`, *Long chains*).
const LEVELS: u32 = 64;
/// The bytes of text in a string itself.
const INLINE_TEXT: u64 = 11;
/// The maximum number of levels of a tree.
const MAX_TREE: u32 = 16;

type Outcome<T> = Result<T, ImageError>;

/// Elements or nodes, behind a link.
enum Behind {
    /// Values one behind the other: their type, the place of the first, their number.
    Values(RegionType, u64, u64),
    /// The value of a unique or shared link.
    One(RegionType, u64),
    /// Entries of a map: key, value, places.
    Entries(RegionType, RegionType, Vec<u64>),
    /// The keys of a set in a hash table.
    Keys(RegionType, Vec<u64>),
    /// The nodes of a tree: its type, and where the tree lies.
    Tree(RegionType, u64),
}

/// A shared value that was met.
struct Met {
    links: u32,
    count: u32,
    weak_links: u32,
    weak_count: u32,
    ty: RegionType,
    /// Its check is still in progress.
    is_open: bool,
}

/// The key of an entry, for comparisons.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum KeyValue {
    Number(i128),
    Text(Vec<u8>),
}

pub(super) struct Walk<'a> {
    reader: Reader<'a>,
    header: RegionHeader,
    /// The place of the next block of a canonical image.
    cursor: u64,
    /// The granules of a live image that belong to a block.
    taken: Vec<u64>,
    level: u32,
    later: VecDeque<(Behind, usize)>,
    shared: BTreeMap<u64, Met>,
    /// The weak links: their places, where they lead, and the types of their values.
    weak: Vec<(u64, i64, RegionType)>,
    /// The sizes of structs that can be appended to, in this image.
    sizes: HashMap<TypeId, u64>,
    is_newer: bool,
    rows: Rows,
    claimed: u64,
    /// The end of the root, rounded up.
    root_end: u64,
    /// The layouts of all structs and unions, which a schema computes anew each time.
    layouts: HashMap<TypeId, Arc<RegionLayout>>,
}

fn invalid<T>(at: u64, problem: InvalidProblem) -> Outcome<T> {
    Err(ImageError { path: Path::default(), offset: at, problem })
}

fn in_member(name: &str) -> impl Fn(ImageError) -> ImageError {
    move |mut error| {
        error.path.enter_member(name);
        error
    }
}

fn in_element(index: u64) -> impl Fn(ImageError) -> ImageError {
    move |mut error| {
        error.path.enter_element(index as usize);
        error
    }
}

/// Whether every byte sequence is such a value.
fn is_free_of_rules(ty: &RegionType) -> bool {
    match ty {
        RegionType::Primitive(of) => *of != Primitive::Bool,
        RegionType::Enum(_) | RegionType::Bitmask(_) => true,
        _ => false,
    }
}

impl<'a> Walk<'a> {
    pub fn new(reader: Reader<'a>, id: TypeId, header: RegionHeader) -> Self {
        let granules = reader.image.len().div_ceil(GRANULE as usize);
        let schema = reader.schema;
        let layout = |id| Some((id, Arc::new(schema.region_layout(id)?)));
        let layouts = schema.closure_without_aliases(id).into_iter().filter_map(layout).collect();
        Self {
            reader,
            header,
            cursor: 0,
            taken: vec![0; granules.div_ceil(64)],
            level: 0,
            later: VecDeque::new(),
            shared: BTreeMap::new(),
            weak: Vec::new(),
            sizes: HashMap::new(),
            is_newer: false,
            rows: Rows::new(),
            claimed: 0,
            root_end: 0,
            layouts,
        }
    }

    /// Reads the sizes of structs in the table of versions, which was read before.
    pub fn read_sizes(&mut self, id: TypeId) -> Result<(), ()> {
        let schema = self.reader.schema;
        let appended: HashMap<u64, TypeId> = schema
            .closure_without_aliases(id)
            .into_iter()
            .filter(|id| schema.is_appended_in_regions(*id))
            .map(|id| (text_hash(&format!("{}\n", schema.name(id))), id))
            .collect();
        if appended.is_empty() {
            return Ok(());
        }
        let table = u64::from(self.u32(TABLE_AT)?);
        let (structs, words) = (self.u32(table)?, u64::from(self.u32(table + 4)?));
        let mut at = table + 8;
        for _ in 0..structs {
            let name = u64::from(self.u32(at)?) | u64::from(self.u32(at + 4)?) << 32;
            let (size, members) = (u64::from(self.u32(at + 8)?), u64::from(self.u32(at + 12)?));
            at += 16 + 8 * members;
            let Some(id) = appended.get(&name) else { continue };
            let Some(layout) = self.layout(*id) else { return Err(()) };
            let here = layout.members.len() as u64;
            let least = match members >= here {
                true => layout.extent.size,
                // The end of the last member that the image has.
                false => layout.members[..members as usize]
                    .last()
                    .map_or(8, |last| (last.offset + self.extent(&last.ty).size).next_multiple_of(8)),
            };
            if size < least || (members <= here && size != least) || size % 8 != 0 {
                return Err(());
            }
            self.is_newer |= members > here;
            self.sizes.insert(*id, size);
        }
        if at != table + 8 + 8 * words { Err(()) } else { Ok(()) }
    }

    fn u32(&self, at: u64) -> Result<u32, ()> {
        array_at(self.reader.image, at).map(u32::from_le_bytes).map_err(|_| ())
    }

    /// A number within a value whose place was checked.
    fn number(&self, at: u64) -> Outcome<u32> {
        let size = self.header.size;
        self.u32(at).or_else(|()| invalid(at, InvalidProblem::Outside { to: at as i64, size }))
    }

    pub fn run(mut self, id: TypeId) -> Outcome<RegionBytes> {
        let size = u64::from(self.header.size);
        let root = round_up(self.size_of(&RegionType::Struct(id)));
        if ROOT + root > size {
            return invalid(0, InvalidProblem::TooSmall { found: size, least: ROOT + root });
        }
        (self.cursor, self.root_end) = (ROOT + root, ROOT + root);
        let mut versions = 0;
        if has_versions(self.reader.schema, id) {
            let table = u64::from(self.number(TABLE_AT)?);
            let bytes = 8 + 8 * u64::from(self.number(table + 4)?);
            versions = round_up(bytes);
            self.claim_at(TABLE_AT, table as i64, bytes)?;
        }
        let ty = match self.reader.schema.definition(id).kind {
            Kind::Union(_) => RegionType::Union(id),
            _ => RegionType::Struct(id),
        };
        self.value(&ty, ROOT, 0)?;
        let own = self.size_of(&ty);
        self.zero(ROOT + own, ROOT + root)?;
        while let Some((behind, row)) = self.later.pop_front() {
            self.behind_now(behind, row).map_err(in_member("(deep)"))?;
        }
        self.weak_links()?;
        for (block, met) in &self.shared {
            if met.count != met.links && !(self.is_newer && met.count > met.links) {
                let problem = InvalidProblem::WrongLinks { count: met.count, found: met.links };
                return invalid(*block, problem);
            }
            if met.weak_count != met.weak_links && !(self.is_newer && met.weak_count > met.weak_links) {
                let problem = InvalidProblem::WrongWeakLinks { count: met.weak_count, found: met.weak_links };
                return invalid(*block, problem);
            }
        }
        if self.header.is_canonical && !self.is_newer && self.cursor != size {
            let (size, end) = (self.header.size, self.cursor as u32);
            return invalid(self.cursor, InvalidProblem::LeftOver { size, end });
        }
        let (header, is_newer) = (self.header, self.is_newer);
        let free = size - ROOT - root - self.claimed;
        let members = self.rows.with_blocks();
        let shares_values = self.shared.values().any(|met| met.links > 1);
        Ok(RegionBytes { header, root, versions, members, free, is_newer, shares_values })
    }

    /// Its size in this image.
    fn size_of(&self, ty: &RegionType) -> u64 {
        match ty {
            RegionType::Struct(id) if self.sizes.contains_key(id) => self.sizes[id],
            ty => self.extent(ty).size,
        }
    }

    fn extent(&self, ty: &RegionType) -> Extent {
        match ty {
            RegionType::Struct(id) | RegionType::Union(id) if self.layouts.contains_key(id) => {
                self.layouts[id].extent
            }
            RegionType::Array(element, count) => {
                let Extent { size, align } = self.extent(element);
                Extent { size: size.saturating_mul(u64::from(*count)), align }
            }
            ty => self.reader.extent(ty),
        }
    }

    fn layout(&self, id: TypeId) -> Option<Arc<RegionLayout>> {
        self.layouts.get(&id).map(Arc::clone)
    }

    fn back_link(&self, at: u64, link_at: u64) -> Outcome<()> {
        let found = self.number(link_at)?;
        if found == (at as u32).wrapping_neg() {
            return Ok(());
        }
        invalid(at, InvalidProblem::WrongBackLink { found: found as i32 })
    }

    fn target(&self, at: u64) -> Outcome<i64> {
        Ok(at as i64 + i64::from(self.number(at)? as i32))
    }

    /// Claims the block of `bytes` bytes to which the link at `at` leads, of which `room` hold nothing.
    fn claim(&mut self, at: u64, bytes: u64, room: u64, row: usize) -> Outcome<u64> {
        let to = self.target(at)?;
        self.claim_at(at, to, bytes)?;
        self.rows.count(row, bytes, room);
        Ok(to as u64)
    }

    fn claim_at(&mut self, at: u64, to: i64, bytes: u64) -> Outcome<()> {
        let (whole, size) = (round_up(bytes), self.header.size);
        if to < ROOT as i64 || to as u64 > u64::from(size) || whole > u64::from(size) - to as u64 {
            return invalid(at, InvalidProblem::Outside { to, size });
        }
        let block = to as u64;
        if !block.is_multiple_of(GRANULE) {
            return invalid(at, InvalidProblem::Unaligned { to: block as u32 });
        }
        if self.header.is_canonical {
            if block != self.cursor && !(self.is_newer && block >= self.cursor) {
                return invalid(at, InvalidProblem::Misplaced { to, wanted: self.cursor as u32 });
            }
            self.cursor = block + whole;
            self.zero(block + bytes, self.cursor)?;
        }
        for granule in block / GRANULE..(block + whole) / GRANULE {
            let (word, bit) = (granule as usize / 64, 1 << (granule % 64));
            // No block may share the granules of the header and of the root.
            if self.taken[word] & bit != 0 || granule * GRANULE < self.root_end {
                return invalid(at, InvalidProblem::Overlap { to: block as u32 });
            }
            self.taken[word] |= bit;
        }
        self.claimed += whole;
        Ok(())
    }

    /// In canonical images, checks that bytes outside of all values are zero.
    fn zero(&self, from: u64, to: u64) -> Outcome<()> {
        if !self.header.is_canonical || from >= to {
            return Ok(());
        }
        let bytes = self.reader.image.get(from as usize..to as usize).unwrap_or_default();
        match bytes.iter().position(|byte| *byte != 0) {
            Some(index) => {
                let at = from + index as u64;
                invalid(at, InvalidProblem::NotZero { at: at as u32 })
            }
            None => Ok(()),
        }
    }

    /// Length and capacity of a container of 16 bytes.
    fn container(&self, at: u64, trimmed: impl Fn(u32) -> u32) -> Outcome<(u64, u64)> {
        self.back_link(at, at + 12)?;
        let (len, cap) = (self.number(at + 4)?, self.number(at + 8)?);
        if len > cap {
            return invalid(at, InvalidProblem::TooLong { len, cap });
        }
        if self.header.is_canonical && cap != trimmed(len) {
            return invalid(at, InvalidProblem::NotTrimmed { found: cap, wanted: trimmed(len) });
        }
        if cap == 0 {
            self.no_block(at)?;
        }
        Ok((u64::from(len), u64::from(cap)))
    }

    fn no_block(&self, at: u64) -> Outcome<()> {
        match self.number(at)? {
            0 => Ok(()),
            _ => invalid(at, InvalidProblem::Outside { to: self.target(at)?, size: self.header.size }),
        }
    }

    fn flag(&self, at: u64) -> Outcome<bool> {
        match self.reader.image.get(at as usize) {
            Some(0) => Ok(false),
            Some(1) => Ok(true),
            other => invalid(at, InvalidProblem::NotABool { value: other.copied().unwrap_or_default() }),
        }
    }

    fn value(&mut self, ty: &RegionType, at: u64, row: usize) -> Outcome<()> {
        match ty {
            RegionType::Primitive(Primitive::Bool) => self.flag(at).map(drop),
            RegionType::Primitive(_) | RegionType::Enum(_) | RegionType::Bitmask(_) => Ok(()),
            RegionType::Struct(id) => self.structure(*id, at, row),
            RegionType::Union(id) => self.union(*id, at, row),
            RegionType::Text => self.text(at, row),
            RegionType::Array(element, count) => self.values(element, at, u64::from(*count), row),
            RegionType::Vector(element) => {
                let (len, cap) = self.container(at, |len| len)?;
                if cap == 0 {
                    return Ok(());
                }
                let size = self.size_of(element);
                let block = self.claim(at, cap * size, (cap - len) * size, row)?;
                self.behind(Behind::Values((**element).clone(), block, len), row)
            }
            RegionType::Set(lookup, _) | RegionType::Map(lookup, ..) => self.keyed(*lookup, ty, at, row),
            RegionType::Optional(value) => {
                self.back_link(at, at + 4)?;
                let (extent, whole) = (self.extent(value), self.size_of(ty));
                let place = at + extent.align.max(8);
                self.zero(at + 1, at + 4)?;
                if !self.flag(at)? {
                    return self.zero(at + 8, at + whole);
                }
                self.zero(at + 8, place)?;
                self.zero(place + extent.size, at + whole)?;
                self.value(value, place, row)
            }
            RegionType::Unique(value) => {
                self.back_link(at, at + 4)?;
                if self.number(at)? == 0 {
                    return Ok(());
                }
                let size = self.size_of(value);
                let block = self.claim(at, size, 0, row)?;
                self.behind(Behind::One((**value).clone(), block), row)
            }
            RegionType::Shared(value) => self.shared(value, at, row),
            RegionType::Weak(value) => {
                self.back_link(at, at + 4)?;
                if self.number(at)? != 0 {
                    self.weak.push((at, self.target(at)?, (**value).clone()));
                }
                Ok(())
            }
        }
    }

    fn values(&mut self, element: &RegionType, at: u64, count: u64, row: usize) -> Outcome<()> {
        let size = self.size_of(element);
        // An image may claim any number of elements without bytes: they have nothing to check.
        if is_free_of_rules(element) || size == 0 {
            return Ok(());
        }
        let row = self.rows.row(row, "[]", kind(element));
        for index in 0..count {
            self.value(element, at + index * size, row).map_err(in_element(index))?;
        }
        Ok(())
    }

    fn shared(&mut self, value: &RegionType, at: u64, row: usize) -> Outcome<()> {
        self.back_link(at, at + 4)?;
        if self.number(at)? == 0 {
            return Ok(());
        }
        let to = self.target(at)?;
        if let Some(met) = u64::try_from(to).ok().and_then(|to| self.shared.get_mut(&to)) {
            if met.ty != *value {
                return invalid(at, InvalidProblem::OtherShared { to: to as u32 });
            }
            if met.is_open {
                return invalid(at, InvalidProblem::Cycle { to: to as u32 });
            }
            met.links += 1;
            return Ok(());
        }
        let front = self.extent(value).align.max(8);
        let size = self.size_of(value);
        let block = self.claim(at, front + size, 0, row)?;
        self.zero(block + 8, block + front)?;
        let (count, weak_count) = (self.number(block)?, self.number(block + 4)?);
        let (weak_links, ty) = (0, value.clone());
        self.shared.insert(block, Met { links: 1, count, weak_links, weak_count, ty, is_open: true });
        let checked = self.behind(Behind::One(value.clone(), block + front), row);
        if let Some(met) = self.shared.get_mut(&block) {
            met.is_open = false;
        }
        checked
    }

    /// Checks that each weak link leads to a shared value of its type or, in a live image, to an expired
    /// block.
    fn weak_links(&mut self) -> Outcome<()> {
        for (at, to, ty) in std::mem::take(&mut self.weak) {
            let size = self.header.size;
            let Ok(block) = u64::try_from(to) else {
                return invalid(at, InvalidProblem::Outside { to, size });
            };
            if !self.shared.contains_key(&block) {
                let weak_count = self.expired(at, to)?;
                let ty = ty.clone();
                let met = Met { links: 0, count: 0, weak_links: 0, weak_count, ty, is_open: false };
                self.shared.insert(block, met);
            }
            if let Some(met) = self.shared.get_mut(&block) {
                if met.ty != ty {
                    return invalid(at, InvalidProblem::OtherShared { to: to as u32 });
                }
                met.weak_links += 1;
            }
        }
        Ok(())
    }

    /// Claims the expired block to which the weak link at `at` leads. Returns the number of weak links that
    /// the block states.
    fn expired(&mut self, at: u64, to: i64) -> Outcome<u32> {
        let problem = InvalidProblem::WeakTarget { to: to as u32 };
        if self.header.is_canonical {
            return invalid(at, problem);
        }
        match self.claim_at(at, to, GRANULE) {
            Err(ImageError { problem: InvalidProblem::Overlap { .. }, .. }) => return invalid(at, problem),
            claimed => claimed?,
        }
        let block = to as u64;
        let words = [self.number(block)?, self.number(block + 8)?, self.number(block + 12)?];
        if words == [0; 3] { self.number(block + 4) } else { invalid(at, problem) }
    }

    fn text(&mut self, at: u64, row: usize) -> Outcome<()> {
        let image = self.reader.image;
        let tag = image.get(at as usize + 11).copied().unwrap_or_default();
        let (begin, len) = if tag & 0x80 != 0 {
            self.back_link(at, at + 12)?;
            let len = u64::from(tag & 0x7f);
            if len > INLINE_TEXT {
                return invalid(at, InvalidProblem::TooLong { len: len as u32, cap: INLINE_TEXT as u32 });
            }
            // A live text that was cleared keeps its tag.
            if self.header.is_canonical && len == 0 {
                return invalid(at, InvalidProblem::NotTrimmed { found: tag.into(), wanted: 0 });
            }
            self.zero(at + len, at + INLINE_TEXT)?;
            (at, len)
        } else {
            let (len, cap) = self.container(at, |len| if u64::from(len) > INLINE_TEXT { len } else { 0 })?;
            if cap == 0 {
                return Ok(());
            }
            (self.claim(at, cap, cap - len, row)?, len)
        };
        let bytes = image.get(begin as usize..(begin + len) as usize).unwrap_or_default();
        match std::str::from_utf8(bytes) {
            Ok(_) => Ok(()),
            Err(error) => invalid(at, InvalidProblem::NotUtf8 { valid_up_to: error.valid_up_to() }),
        }
    }

    /// A set or map.
    fn keyed(&mut self, lookup: Lookup, ty: &RegionType, at: u64, row: usize) -> Outcome<()> {
        let entry = self.reader.entry(ty);
        match lookup {
            Lookup::Sorted | Lookup::Hash => {
                let (len, cap) = self.container(at, |len| len)?;
                if cap == 0 {
                    return Ok(());
                }
                let index = if lookup == Lookup::Hash { index_of(cap, entry.size) } else { 0 };
                let bytes = cap * entry.size + index;
                let block = self.claim(at, bytes, (cap - len) * entry.size, row)?;
                let places: Vec<u64> = (0..len).map(|index| block + index * entry.size).collect();
                if lookup == Lookup::Sorted || self.header.is_canonical {
                    self.ascending(ty, &places, at)?;
                }
                self.behind(Self::entries(ty, places), row)
            }
            Lookup::Ordered => {
                self.back_link(at, at + 12)?;
                let (len, levels) = (self.number(at + 4)?, self.number(at + 8)?);
                if levels > MAX_TREE || (levels == 0) != (len == 0) {
                    let wanted = u32::from(len > 0);
                    return invalid(at, InvalidProblem::WrongLevels { found: levels, wanted });
                }
                if levels == 0 {
                    return self.no_block(at);
                }
                self.behind(Behind::Tree(ty.clone(), at), row)
            }
        }
    }

    fn entries(ty: &RegionType, places: Vec<u64>) -> Behind {
        match ty {
            RegionType::Map(_, key, value) => Behind::Entries((**key).clone(), (**value).clone(), places),
            RegionType::Set(_, key) => Behind::Keys((**key).clone(), places),
            other => Behind::Keys(other.clone(), places),
        }
    }

    /// Checks that keys ascend. A key that is text was not checked yet: the comparison is one of its bytes.
    fn ascending(&mut self, ty: &RegionType, places: &[u64], at: u64) -> Outcome<()> {
        let (RegionType::Set(_, key) | RegionType::Map(_, key, _)) = ty else { return Ok(()) };
        let mut before = None;
        for (index, place) in places.iter().enumerate() {
            let key = self.key(key, *place)?;
            if before.as_ref().is_some_and(|before| *before >= key) {
                return invalid(at, InvalidProblem::NotSorted { index: index as u32 });
            }
            before = Some(key);
        }
        Ok(())
    }

    fn key(&self, key: &RegionType, at: u64) -> Outcome<KeyValue> {
        if matches!(key, RegionType::Text) {
            let image = self.reader.image;
            let tag = image.get(at as usize + 11).copied().unwrap_or_default();
            let (begin, len) = match tag & 0x80 {
                0 => (u64::try_from(self.target(at)?).unwrap_or(u64::MAX), self.number(at + 4)?),
                _ => (at, u32::from(tag & 0x0f)),
            };
            let bytes = begin
                .checked_add(u64::from(len))
                .and_then(|end| image.get(usize::try_from(begin).ok()?..usize::try_from(end).ok()?));
            let size = self.header.size;
            return match bytes {
                Some(bytes) => Ok(KeyValue::Text(bytes.to_vec())),
                None => invalid(at, InvalidProblem::Outside { to: begin as i64, size }),
            };
        }
        // Floating-point numbers are in the total order of IEEE 754.
        let of_bits = |bits: u64, sign: u64| match bits & sign {
            0 => i128::from(bits),
            _ => -i128::from(bits & !sign) - 1,
        };
        let mut reader = Reader::new(self.reader.schema, self.reader.image, Arc::default());
        let number = match reader.value(key, at) {
            Ok(Value::Enum { value, .. }) => i128::from(value),
            Ok(Value::Float(value)) => of_bits(u64::from(value.to_bits()), 1 << 31),
            Ok(Value::Double(value)) => of_bits(value.to_bits(), 1 << 63),
            Ok(Value::Bool(value)) => i128::from(value),
            Ok(Value::Char(value)) => i128::from(value),
            Ok(Value::WChar(value)) => i128::from(value),
            Ok(value) => value.as_integer().unwrap_or_default(),
            Err(_) => 0,
        };
        Ok(KeyValue::Number(number))
    }

    /// Checks what is behind a link: now, or after everything else.
    fn behind(&mut self, behind: Behind, row: usize) -> Outcome<()> {
        if self.level == LEVELS {
            self.later.push_back((behind, row));
            return Ok(());
        }
        self.level += 1;
        let checked = self.behind_now(behind, row);
        self.level -= 1;
        checked
    }

    fn behind_now(&mut self, behind: Behind, row: usize) -> Outcome<()> {
        match behind {
            Behind::One(ty, at) => self.value(&ty, at, row),
            Behind::Values(ty, at, count) => self.values(&ty, at, count, row),
            Behind::Keys(key, places) => {
                let row = self.rows.row(row, "[]", kind(&key));
                for (index, at) in places.into_iter().enumerate() {
                    self.value(&key, at, row).map_err(in_element(index as u64))?;
                }
                Ok(())
            }
            Behind::Entries(key, value, places) => {
                for (index, at) in places.into_iter().enumerate() {
                    self.entry(&key, &value, at, row).map_err(in_element(index as u64))?;
                }
                Ok(())
            }
            Behind::Tree(ty, at) => self.tree(&ty, at, row),
        }
    }

    fn entry(&mut self, key: &RegionType, value: &RegionType, at: u64, row: usize) -> Outcome<()> {
        let row = self.rows.row(row, "[]", "entry");
        let value_at = self.extent(key).size.next_multiple_of(self.extent(value).align);
        let (key_row, value_row) =
            (self.rows.row(row, "key", kind(key)), self.rows.row(row, "value", kind(value)));
        self.value(key, at, key_row).map_err(in_member("key"))?;
        self.value(value, at + value_at, value_row).map_err(in_member("value"))
    }

    fn tree(&mut self, ty: &RegionType, at: u64, row: usize) -> Outcome<()> {
        let (len, levels) = (self.number(at + 4)?, self.number(at + 8)?);
        let (mut found, mut last) = (0, None);
        self.node(ty, at, levels, row, &mut found, &mut last)?;
        if found != u64::from(len) {
            return invalid(at, InvalidProblem::WrongTotal { len, found: found as u32 });
        }
        Ok(())
    }

    /// The node to which the link at `at` leads, and those beneath it.
    fn node(
        &mut self,
        ty: &RegionType,
        at: u64,
        levels: u32,
        row: usize,
        found: &mut u64,
        last: &mut Option<KeyValue>,
    ) -> Outcome<()> {
        let (RegionType::Set(_, key) | RegionType::Map(_, key, _)) = ty else { return Ok(()) };
        let entry = self.reader.entry(ty);
        let first = entry.align.max(4);
        let most = ((256 - first.min(256)) / entry.size.max(1)).clamp(8, 63);
        let to = self.target(at)?;
        let Ok(node) = u64::try_from(to) else {
            return invalid(at, InvalidProblem::Outside { to, size: self.header.size });
        };
        let counts = self.number(node)?;
        let (len, cap) = (u64::from(counts & 0xffff), u64::from(counts >> 16));
        if len == 0 || len > cap || cap > most || (self.header.is_canonical && len != cap) {
            let (least, most) = ((most / 2) as u32, most as u32);
            let problem = InvalidProblem::BadNode { len: len as u32, cap: cap as u32, least, most };
            return invalid(node, problem);
        }
        let leaf = first + cap * entry.size;
        let children = leaf.next_multiple_of(4);
        let bytes = if levels > 1 { children + 4 * (cap + 1) } else { leaf };
        let per_key = entry.size + if levels > 1 { 4 } else { 0 };
        self.claim(at, bytes, (cap - len) * per_key, row)?;
        for index in 0..=len {
            if levels > 1 {
                self.node(ty, node + children + 4 * index, levels - 1, row, found, last)?;
            }
            if index == len {
                break;
            }
            let place = node + first + index * entry.size;
            let next = self.key(key, place)?;
            if last.as_ref().is_some_and(|last| *last >= next) {
                return invalid(node, InvalidProblem::NotSorted { index: *found as u32 });
            }
            *last = Some(next);
            let checked = match Self::entries(ty, vec![place]) {
                Behind::Entries(key, value, _) => self.entry(&key, &value, place, row),
                _ => {
                    let row = self.rows.row(row, "[]", kind(key));
                    self.value(key, place, row)
                }
            };
            checked.map_err(in_element(*found))?;
            *found += 1;
        }
        Ok(())
    }

    fn structure(&mut self, id: TypeId, at: u64, row: usize) -> Outcome<()> {
        let Some(layout) = self.layout(id) else { return Ok(()) };
        let row = self.rows.of_type(row, id);
        let known = self.reader.known.get(&id).copied().unwrap_or(usize::MAX);
        let mut end = at;
        for member in layout.members.iter().take(known) {
            let place = at + member.offset;
            self.zero(end, place)?;
            let row = self.rows.row(row, &member.name, kind(&member.ty));
            self.value(&member.ty, place, row).map_err(in_member(&member.name))?;
            end = place + self.size_of(&member.ty);
        }
        // What is behind the members of a newer version is not known.
        if known <= layout.members.len() || known == usize::MAX {
            self.zero(end, at + self.size_of(&RegionType::Struct(id)))?;
        }
        Ok(())
    }

    fn union(&mut self, id: TypeId, at: u64, row: usize) -> Outcome<()> {
        let schema = self.reader.schema;
        let (Kind::Union(it), Some(layout)) = (&schema.definition(id).kind, self.layout(id)) else {
            return Ok(());
        };
        let row = self.rows.of_type(row, id);
        let selector = layout.discriminator.as_ref().map_or(4, |ty| self.size_of(ty));
        let link = if selector > 4 { 8 } else { 4 };
        if let Some(RegionType::Primitive(Primitive::Bool)) = layout.discriminator {
            self.flag(at)?;
        }
        self.back_link(at, at + link)?;
        self.zero(at + selector, at + link)?;
        let Ok(discriminator) = self.reader.discriminator(it, at) else { return Ok(()) };
        let selected = discriminator.as_integer().and_then(|value| it.case_of(value));
        let whole = at + layout.extent.size;
        match selected.and_then(|index| layout.members.get(index)) {
            Some(member) => {
                let place = at + member.offset;
                self.zero(at + link + 4, place)?;
                self.zero(place + self.size_of(&member.ty), whole)?;
                let row = self.rows.row(row, &member.name, kind(&member.ty));
                self.value(&member.ty, place, row).map_err(in_member(&member.name))
            }
            None => self.zero(at + link + 4, whole),
        }
    }
}

/// The bytes behind the entries of a hash table, which has room for `cap` of them: padding, the seed and the
/// words.
fn index_of(cap: u64, entry: u64) -> u64 {
    if cap <= 8 {
        return 0;
    }
    let entries = cap * entry;
    entries.next_multiple_of(4) - entries + 4 + 4 * (5 * cap / 3)
}
