//! Changes of a value in a described region.

use std::ops::Range;
use std::sync::Weak;

use crate::containers::edit;
use crate::containers::text;
use crate::containers::vector::{self, Vector};
use crate::dynamic::element::{Dynamic, case_of, integer_at, put_integer};
use crate::dynamic::key::Key;
use crate::dynamic::place::{Part, Step, step};
use crate::dynamic::types::{Kind, Lookup, Scalar, TypeNumber};
use crate::dynamic::walk::reaches;
use crate::error::{Full, ShareError};
use crate::memory::blocks::Memory;
use crate::memory::granule::target;
use crate::value::element::Element;
use crate::value::handle::Mut;

/// Why a value cannot be changed.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// The region is full.
    #[error(transparent)]
    Full(#[from] Full),
    /// A shared link cannot lead to the value.
    #[error(transparent)]
    Share(#[from] ShareError),
    /// The change would move or free memory that is pinned.
    #[error("the change would move or free memory that is pinned")]
    Pinned,
    /// The steps do not lead to a value.
    #[error("there is no such value any more")]
    NotThere,
    /// The value is of another kind.
    #[error("the value is no {0}")]
    OtherKind(&'static str),
    /// There is no element of this index.
    #[error("there are {len} elements, and no element {index}")]
    Index {
        /// The index.
        index: u32,
        /// The number of elements.
        len: u32,
    },
    /// The key is of another type than those of the container.
    #[error("the key is of another type than those of the container")]
    Key,
    /// The bytes are no value of the type.
    #[error("{found} bytes are no value of {wanted} bytes, or a boolean is neither 0 nor 1")]
    Bytes {
        /// The number of bytes.
        found: usize,
        /// The size of the value.
        wanted: usize,
    },
}

situ_layout::debug_as_text!(EditError);

/// Pinned ranges of the image, each as long as its pin lives.
pub(crate) type Pins = Vec<(Range<u32>, Weak<()>)>;

/// A value in a region, for changing it. It lies in memory of the region, because its place is determined
/// anew for each change.
pub struct PartMut<'r> {
    pub(crate) memory: &'r mut Memory,
    pub(crate) pins: &'r mut Pins,
    pub(crate) of: Dynamic<'r>,
    pub(crate) at: u32,
}

impl<'r> PartMut<'r> {
    /// A part of the value.
    pub fn part(self, to: &Step) -> Result<PartMut<'r>, EditError> {
        let (of, at) = step(self.of, self.memory.bytes(), self.at, to).ok_or(EditError::NotThere)?;
        Ok(PartMut { of, at, ..self })
    }

    /// The same value, so that this one can be used again.
    pub fn reborrow(&mut self) -> PartMut<'_> {
        PartMut { memory: self.memory, pins: self.pins, of: self.of, at: self.at }
    }

    /// The value, for reading.
    pub fn as_part(&self) -> Part<'_> {
        Part { of: self.of, image: self.memory.bytes(), at: self.at }
    }

    fn kind(&self) -> &'r Kind {
        &self.of.get().kind
    }

    fn len(&self) -> u32 {
        vector::len(self.memory.bytes(), self.at)
    }

    /// Fails if memory of the value, or of what it leads to, is pinned.
    fn check_pins(&mut self) -> Result<(), EditError> {
        if self.pins.is_empty() {
            return Ok(());
        }
        self.pins.retain(|(_, pin)| pin.strong_count() != 0);
        let pins = &*self.pins;
        let overlaps = |range: Range<u32>| {
            pins.iter().any(|(pinned, _)| pinned.start < range.end && range.start < pinned.end)
        };
        if !pins.is_empty() && reaches(self.of, self.memory.bytes(), self.at, overlaps) {
            return Err(EditError::Pinned);
        }
        Ok(())
    }

    /// Sets a number, or an array of numbers, to these bytes in little endian.
    pub fn set_bytes(&mut self, bytes: &[u8]) -> Result<(), EditError> {
        self.put(self.of, self.at, 1, bytes)
    }

    /// Overwrites elements of a vector or an array of numbers, from an index on, with bytes in little endian.
    pub fn set_elements(&mut self, index: u32, bytes: &[u8]) -> Result<(), EditError> {
        let len = self.as_part().len().unwrap_or(0);
        let (Kind::Vector { element } | Kind::Array { element, .. }) = self.kind() else {
            return Err(EditError::OtherKind("vector or array"));
        };
        let element = self.of.of(*element);
        let count = u32::try_from(bytes.len() / element.size() as usize).unwrap_or(u32::MAX);
        if count > len.saturating_sub(index) {
            return Err(EditError::Index { index: index.saturating_add(count), len });
        }
        let is_array = matches!(self.kind(), Kind::Array { .. });
        let first = if is_array { self.at } else { target(self.memory.bytes(), self.at) };
        self.put(element, first + index * element.size(), count, bytes)
    }

    /// Writes values without links.
    fn put(&mut self, of: Dynamic<'_>, at: u32, count: u32, bytes: &[u8]) -> Result<(), EditError> {
        let wanted = vector::extent(of, count);
        let is_number = is_plain(of);
        if !is_number {
            return Err(EditError::OtherKind("number"));
        }
        if bytes.len() != wanted || (is_boolean(of) && bytes.iter().any(|it| *it > 1)) {
            return Err(EditError::Bytes { found: bytes.len(), wanted });
        }
        self.memory.bytes_mut()[at as usize..][..wanted].copy_from_slice(bytes);
        Ok(())
    }

    /// Sets text.
    pub fn set_text(&mut self, text: &str) -> Result<(), EditError> {
        match self.kind() {
            Kind::Text => Ok(text::assign(self.memory, self.at, text)?),
            _ => Err(EditError::OtherKind("text")),
        }
    }

    fn vector(&mut self) -> Result<Dynamic<'r>, EditError> {
        match self.kind() {
            Kind::Vector { element } => {
                self.check_pins()?;
                Ok(self.of.of(*element))
            }
            _ => Err(EditError::OtherKind("vector")),
        }
    }

    /// Reserves memory for `count` elements of a vector in total.
    pub fn reserve(&mut self, count: u32) -> Result<(), EditError> {
        let element = self.vector()?;
        Ok(vector::reserve(element, self.memory, self.at, count, true)?)
    }

    /// Inserts a default element into a vector, and returns it. If there is no room, nothing changes.
    pub fn insert(&mut self, index: u32) -> Result<PartMut<'_>, EditError> {
        let (element, len) = (self.vector()?, self.len());
        if index > len {
            return Err(EditError::Index { index, len });
        }
        let at = vector::open(element, &mut Mut::<Vector<u8>>::new(self.memory, self.at), index)?;
        Ok(PartMut { memory: self.memory, pins: self.pins, of: element, at })
    }

    /// Inserts numbers into a vector of numbers, as bytes in little endian. If there is no room, nothing
    /// changes.
    pub fn insert_bytes(&mut self, index: u32, bytes: &[u8]) -> Result<(), EditError> {
        let (element, len) = (self.vector()?, self.len());
        let (size, found) = (element.size() as usize, bytes.len());
        if !is_plain(element) {
            return Err(EditError::OtherKind("vector of numbers"));
        }
        if index > len {
            return Err(EditError::Index { index, len });
        }
        if !found.is_multiple_of(size) || (is_boolean(element) && bytes.iter().any(|it| *it > 1)) {
            return Err(EditError::Bytes { found, wanted: size });
        }
        let more = u32::try_from(found / size).ok();
        let all = more.and_then(|more| len.checked_add(more)).ok_or_else(|| self.memory.full())?;
        vector::reserve(element, self.memory, self.at, all, false)?;
        if found == 0 {
            return Ok(());
        }
        self.memory.set_u32(self.at + 4, all);
        let place = vector::element(element, self.memory.bytes(), self.at, index);
        let behind = vector::extent(element, len - index);
        vector::open_gap(self.memory.bytes_mut(), place, found, behind);
        self.memory.bytes_mut()[place as usize..][..found].copy_from_slice(bytes);
        Ok(())
    }

    /// Removes elements of a vector.
    pub fn remove(&mut self, indices: Range<u32>) -> Result<(), EditError> {
        let (element, len) = (self.vector()?, self.len());
        if indices.start > indices.end || indices.end > len {
            return Err(EditError::Index { index: indices.end, len });
        }
        let mut within = Mut::<Vector<u8>>::new(self.memory, self.at);
        vector::close(element, &mut within, indices.start, indices.end);
        Ok(())
    }

    /// Moves the elements of a vector: each place gets the element whose index `order` gives. Each index must
    /// occur once.
    pub fn reorder(&mut self, order: &[u32]) -> Result<(), EditError> {
        let (element, len) = (self.vector()?, self.len());
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        if !sorted.into_iter().eq(0..len) {
            return Err(EditError::Index { index: order.len() as u32, len });
        }
        if len != 0 {
            let first = target(self.memory.bytes(), self.at);
            edit::reorder(element, self.memory, first, order);
        }
        Ok(())
    }

    /// The value of a key of a map, or the place of a key of a set; inserts the key if it is missing. Also
    /// returns whether it is new. If there is no room, nothing changes.
    pub fn insert_key(&mut self, key: Key<'_>) -> Result<(PartMut<'_>, bool), EditError> {
        let of = self.of;
        let value = match self.kind() {
            Kind::Set { key, .. } => (of.of(*key), 0),
            Kind::Map { value, .. } => (of.of(*value), of.elements().get().value_at),
            _ => return Err(EditError::OtherKind("set or map")),
        };
        let (place, is_new) = match of.find(self.memory.bytes(), self.at, key) {
            Some(place) => (place, false),
            None => {
                self.check_pins()?;
                of.insert(self.memory, self.at, key).ok_or(EditError::Key)??
            }
        };
        Ok((PartMut { memory: self.memory, pins: self.pins, of: value.0, at: place + value.1 }, is_new))
    }

    /// Removes a key of a set or map; false if it does not exist.
    pub fn remove_key(&mut self, key: Key<'_>) -> Result<bool, EditError> {
        if !matches!(self.kind(), Kind::Set { .. } | Kind::Map { .. }) {
            return Err(EditError::OtherKind("set or map"));
        }
        if self.of.find(self.memory.bytes(), self.at, key).is_none() {
            return Ok(false);
        }
        self.check_pins()?;
        Ok(self.of.remove(self.memory, self.at, key))
    }

    /// Removes all elements, keys or entries; makes text empty, and an optional value absent.
    pub fn clear(&mut self) -> Result<(), EditError> {
        let len = self.len();
        match self.kind() {
            Kind::Text => return self.set_text(""),
            Kind::Vector { .. } => return self.remove(0..len),
            Kind::Set { lookup: Lookup::Sorted, .. } | Kind::Map { lookup: Lookup::Sorted, .. } => {
                self.check_pins()?;
                let mut within = Mut::<Vector<u8>>::new(self.memory, self.at);
                vector::close(self.of.elements(), &mut within, 0, len);
            }
            Kind::Set { .. }
            | Kind::Map { .. }
            | Kind::Optional { .. }
            | Kind::Unique { .. }
            | Kind::Shared { .. } => {
                self.check_pins()?;
                self.of.release(self.memory, self.at);
            }
            _ => return Err(EditError::OtherKind("container or optional value")),
        }
        Ok(())
    }

    /// The value of an optional value, in place or behind a link. If there is none, a default value is made.
    pub fn fill(&mut self) -> Result<PartMut<'_>, EditError> {
        let it = self.of.get();
        let (value, at) = match &it.kind {
            Kind::Optional { value } => {
                let (value, at) = (self.of.of(*value), self.at + it.value_at);
                if self.memory.bytes()[self.at as usize] == 0 {
                    self.memory.bytes_mut()[self.at as usize] = 1;
                    self.memory.zero(at, value.size());
                    value.begin(self.memory, at);
                }
                (value, at)
            }
            Kind::Unique { value } | Kind::Shared { value } => {
                let value = self.of.of(*value);
                let mut block = target(self.memory.bytes(), self.at);
                if block == self.at {
                    let bytes = u64::from(it.value_at) + u64::from(value.size());
                    block = self.memory.allocate_for(self.at, bytes)?;
                    if matches!(it.kind, Kind::Shared { .. }) {
                        self.memory.set_u32(block, 1);
                    }
                    value.begin(self.memory, block + it.value_at);
                    self.memory.set_u32(self.at, block.wrapping_sub(self.at));
                }
                (value, block + it.value_at)
            }
            _ => return Err(EditError::OtherKind("optional value")),
        };
        Ok(PartMut { memory: self.memory, pins: self.pins, of: value, at })
    }

    /// As [`fill`](Self::fill), but a value that other links share stays theirs, and this link gets a default
    /// value of its own.
    pub fn fill_own(&mut self) -> Result<PartMut<'_>, EditError> {
        let it = self.of.get();
        let block = target(self.memory.bytes(), self.at);
        let Kind::Shared { value } = it.kind else { return self.fill() };
        if block == self.at || self.memory.u32(block) < 2 {
            return self.fill();
        }
        let value = self.of.of(value);
        let fresh = self.memory.allocate_for(self.at, u64::from(it.value_at) + u64::from(value.size()))?;
        self.memory.set_u32(fresh, 1);
        value.begin(self.memory, fresh + it.value_at);
        self.of.release(self.memory, self.at);
        self.memory.set_u32(self.at, fresh.wrapping_sub(self.at));
        Ok(PartMut { memory: self.memory, pins: self.pins, of: value, at: fresh + it.value_at })
    }

    /// Sets the discriminator of a union. If it selects another case, the old one ends, and the new one
    /// begins with its default.
    pub fn select(&mut self, discriminator: i128) -> Result<(), EditError> {
        let Kind::Union { discriminator: of, cases, .. } = self.kind() else {
            return Err(EditError::OtherKind("union"));
        };
        let bytes = discriminator.to_le_bytes();
        let is_value =
            integer_at(&bytes, *of, 0) == discriminator && !(*of == Scalar::Bool && discriminator > 1);
        if !is_value {
            return Err(EditError::Bytes { found: bytes.len(), wanted: of.size() as usize });
        }
        let case = |number| case_of(cases, number);
        let now = integer_at(self.memory.bytes(), *of, self.at);
        if case(now) == case(discriminator) {
            put_integer(self.memory, *of, self.at, discriminator);
            return Ok(());
        }
        self.check_pins()?;
        self.of.renew_case(self.memory, self.at, discriminator);
        Ok(())
    }

    /// Makes a shared link lead to the value in a block, or to none.
    pub(crate) fn link(&mut self, to: Option<(TypeNumber, u32)>) -> Result<(), EditError> {
        let it = self.of.get();
        let Kind::Shared { value } = it.kind else { return Err(EditError::OtherKind("shared link")) };
        let Some((number, block)) = to else { return self.clear() };
        if number != value {
            return Err(EditError::OtherKind("shared link of the same type"));
        }
        if target(self.memory.bytes(), self.at) == block {
            return Ok(());
        }
        self.check_pins()?;
        let at = self.at;
        let is_here = |range: Range<u32>| range.contains(&at);
        let value = self.of.of(value);
        let bytes = u64::from(it.value_at) + u64::from(value.size());
        let own = block..block.saturating_add(bytes as u32);
        if is_here(own)
            || (value.get().shares && reaches(value, self.memory.bytes(), block + it.value_at, is_here))
        {
            return Err(ShareError::Cycle.into());
        }
        let links = self.memory.u32(block).checked_add(1).ok_or(ShareError::TooMany)?;
        self.memory.set_u32(block, links);
        self.of.release(self.memory, at);
        self.memory.set_u32(at, block.wrapping_sub(at));
        Ok(())
    }
}

/// Whether values are numbers, or arrays of them.
fn is_plain(of: Dynamic<'_>) -> bool {
    match of.get().kind {
        Kind::Scalar { .. } => true,
        Kind::Array { element, .. } => is_plain(of.of(element)),
        _ => false,
    }
}

/// Whether values are booleans, or arrays of them.
fn is_boolean(of: Dynamic<'_>) -> bool {
    match of.get().kind {
        Kind::Scalar { of: Scalar::Bool, .. } => true,
        Kind::Array { element, .. } => is_boolean(of.of(element)),
        _ => false,
    }
}
