//! Finds the fields of a message in one pass, and looks them up in one step.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use super::error::{ReadError, ReadProblem};
use super::fields::{Cursor, Field, Fields, MAX_READ_LEVELS, Value};
use super::kinds::{Kind, Read};
use super::wire::WireType;

/// The fields of a message type. Usually generated.
pub trait Layout<const N: usize> {
    /// Returns the slot of a field, below `N`, by its number and wire type. `None`: the field is unknown.
    fn slot(number: u32, wire: WireType) -> Option<usize>;

    /// Returns whether the enum of a slot has a number. Always true for an open enum. Other numbers of a
    /// closed enum are unknown fields. In packed fields they are skipped.
    #[inline]
    fn accepts(slot: usize, number: i32) -> bool {
        let _ = (slot, number);
        true
    }

    /// For each slot, the first slot of its oneof, and the slot behind its last. Both are equal if the slot
    /// belongs to no oneof.
    const ONEOFS: [(u16, u16); N] = [(0, 0); N];
}

/// Returns the slot of a field, if it is known.
#[inline]
fn slot_of<L: Layout<N>, const N: usize>(field: &Field<'_>) -> Option<usize> {
    let slot = L::slot(field.number, field.wire_type())?;
    match field.value {
        Value::Varint(number) if !L::accepts(slot, number as i32) => None,
        _ => Some(slot),
    }
}

/// The place of one field.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// The offset of its first occurrence, tag included.
    first: u32,
    /// The offset of its last value; 0: it does not occur.
    last: u32,
    /// Whether it occurs more than once.
    is_repeated: bool,
}

/// A message with fields that can be looked up in one step. A nested message is parsed when it is requested.
///
/// `N` is the number of known fields, which `L` describes.
pub struct Table<'a, L, const N: usize> {
    bytes: Cow<'a, [u8]>,
    entries: [Entry; N],
    depth: u32,
    layout: PhantomData<fn() -> L>,
}

impl<L, const N: usize> fmt::Debug for Table<'_, L, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("bytes", &self.bytes.len()).field("depth", &self.depth).finish()
    }
}

/// The bytes of a nested message, not yet parsed.
#[derive(Clone, Debug)]
pub struct Nested<'a> {
    bytes: Cow<'a, [u8]>,
    depth: u32,
}

impl<'a> Nested<'a> {
    /// The bytes of the message.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Finds its fields.
    pub fn table<L: Layout<N>, const N: usize>(self) -> Result<Table<'a, L, N>, ReadError> {
        Table::build(self.bytes, self.depth)
    }
}

impl<'a, L: Layout<N>, const N: usize> Table<'a, L, N> {
    /// Finds the fields of a message.
    pub fn new(bytes: &'a [u8]) -> Result<Self, ReadError> {
        Self::build(Cow::Borrowed(bytes), 0)
    }

    fn build(bytes: Cow<'a, [u8]>, depth: u32) -> Result<Self, ReadError> {
        let mut entries = [Entry::default(); N];
        for field in Fields::new(&bytes) {
            let field = field?;
            let Some(slot) = slot_of::<L, N>(&field) else { continue };
            // A member of a oneof replaces the others.
            let (begin, end) = L::ONEOFS[slot];
            if begin != end {
                let this = entries[slot];
                entries[usize::from(begin)..usize::from(end)].fill(Entry::default());
                entries[slot] = this;
            }
            let entry = &mut entries[slot];
            if entry.last == 0 {
                entry.first = field.at;
            } else {
                entry.is_repeated = true;
            }
            entry.last = field.value_at;
        }
        Ok(Self { bytes, entries, depth, layout: PhantomData })
    }

    /// Returns whether a field occurs.
    #[inline]
    pub fn has(&self, slot: usize) -> bool {
        self.entries[slot].last != 0
    }

    /// Returns a scalar field. If it is repeated, returns the last value.
    #[inline]
    pub fn get<K: Kind>(&self, slot: usize) -> Option<K::Value> {
        let mut cursor = self.value(slot)?;
        K::Stored::read(&mut cursor).ok().map(K::value)
    }

    /// Returns a field of type `bytes`. If it is repeated, returns the last value.
    #[inline]
    pub fn bytes(&self, slot: usize) -> Option<&[u8]> {
        self.value(slot)?.delimited().ok()
    }

    /// Returns a field of type `string`. If it is repeated, returns the last value.
    #[inline]
    pub fn string(&self, slot: usize) -> Result<Option<&str>, ReadError> {
        self.bytes(slot).map(|bytes| self.text(bytes)).transpose()
    }

    /// Returns a nested message. If it is repeated, the occurrences are merged. Only then are bytes copied.
    pub fn nested(&self, slot: usize) -> Result<Option<Nested<'_>>, ReadError> {
        let Some(last) = self.bytes(slot) else { return Ok(None) };
        self.merged(slot, last).map(Some)
    }

    /// Returns a nested message that is a group, otherwise like [`nested`](Self::nested).
    pub fn group(&self, slot: usize) -> Result<Option<Nested<'_>>, ReadError> {
        let Some(first) = self.all_messages(slot).next() else { return Ok(None) };
        self.merged(slot, first).map(Some)
    }

    /// Merges all occurrences of a nested message. Returns `single` if there is only one.
    fn merged<'s>(&'s self, slot: usize, single: &'s [u8]) -> Result<Nested<'s>, ReadError> {
        let depth = self.deeper()?;
        let bytes = if self.entries[slot].is_repeated {
            Cow::Owned(self.all_messages(slot).flatten().copied().collect())
        } else {
            Cow::Borrowed(single)
        };
        Ok(Nested { bytes, depth })
    }

    /// Returns the numbers of a repeated field, packed or not.
    #[inline]
    pub fn all<K: Kind>(&self, slot: usize) -> Numbers<'_, K, L, N> {
        let packed = Cursor { bytes: &[], at: 0 };
        Numbers { occurrences: self.occurrences(slot), packed, kind: PhantomData }
    }

    /// The elements of a repeated field of type `bytes`.
    #[inline]
    pub fn all_bytes(&self, slot: usize) -> impl Iterator<Item = &[u8]> {
        self.occurrences(slot).filter_map(|field| field.value.as_bytes())
    }

    /// The elements of a repeated field of type `string`.
    #[inline]
    pub fn all_strings(&self, slot: usize) -> impl Iterator<Item = Result<&str, ReadError>> {
        self.all_bytes(slot).map(|bytes| self.text(bytes))
    }

    /// The elements of a repeated message or group, or the entries of a map.
    #[inline]
    pub fn all_nested(&self, slot: usize) -> impl Iterator<Item = Result<Nested<'_>, ReadError>> {
        let depth = self.deeper();
        self.all_messages(slot).map(move |bytes| Ok(Nested { bytes: Cow::Borrowed(bytes), depth: depth? }))
    }

    /// The contents of messages and groups.
    #[inline]
    fn all_messages(&self, slot: usize) -> impl Iterator<Item = &[u8]> {
        self.occurrences(slot).filter_map(|field| field.value.as_bytes().or(field.value.as_group()))
    }

    /// Returns the same message with another layout, for its extensions.
    pub fn with_layout<M: Layout<K>, const K: usize>(&self) -> Result<Table<'_, M, K>, ReadError> {
        Table::build(Cow::Borrowed(&self.bytes), self.depth)
    }

    /// Returns the fields that the layout does not know, in order.
    pub fn unknown(&self) -> impl Iterator<Item = Field<'_>> {
        let fields = Fields::new(&self.bytes).filter_map(Result::ok);
        fields.filter(|field| slot_of::<L, N>(field).is_none())
    }

    /// The message as bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn text<'s>(&self, bytes: &'s [u8]) -> Result<&'s str, ReadError> {
        std::str::from_utf8(bytes).map_err(|error| {
            let at = bytes.as_ptr() as usize - self.bytes.as_ptr() as usize + error.valid_up_to();
            ReadError { at, problem: ReadProblem::NotUtf8 }
        })
    }

    fn deeper(&self) -> Result<u32, ReadError> {
        if self.depth + 1 >= MAX_READ_LEVELS {
            return Err(ReadError { at: 0, problem: ReadProblem::TooDeep });
        }
        Ok(self.depth + 1)
    }

    /// Returns a cursor at the last value.
    #[inline]
    fn value(&self, slot: usize) -> Option<Cursor<'_>> {
        let last = self.entries[slot].last;
        (last != 0).then(|| Cursor { bytes: &self.bytes, at: last as usize })
    }

    fn occurrences(&self, slot: usize) -> Occurrences<'_, L, N> {
        let entry = self.entries[slot];
        let begin = if entry.last == 0 { self.bytes.len() } else { entry.first as usize };
        Occurrences {
            fields: Fields::between(&self.bytes, begin),
            last: entry.last,
            slot,
            layout: PhantomData,
        }
    }
}

/// The fields of one slot.
struct Occurrences<'t, L, const N: usize> {
    fields: Fields<'t>,
    /// The offset of the last value; 0 after it was returned.
    last: u32,
    slot: usize,
    layout: PhantomData<fn() -> L>,
}

impl<'t, L: Layout<N>, const N: usize> Iterator for Occurrences<'t, L, N> {
    type Item = Field<'t>;

    #[inline]
    fn next(&mut self) -> Option<Field<'t>> {
        if self.last == 0 {
            return None;
        }
        loop {
            let field = self.fields.next()?.ok()?;
            if slot_of::<L, N>(&field) == Some(self.slot) {
                if field.value_at == self.last {
                    self.last = 0;
                }
                return Some(field);
            }
        }
    }
}

/// The numbers of a repeated field. The iteration ends after an error.
pub struct Numbers<'t, K, L, const N: usize> {
    occurrences: Occurrences<'t, L, N>,
    packed: Cursor<'t>,
    kind: PhantomData<fn() -> K>,
}

impl<K, L, const N: usize> fmt::Debug for Numbers<'_, K, L, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Numbers").finish_non_exhaustive()
    }
}

impl<'t, K: Kind, L: Layout<N>, const N: usize> Iterator for Numbers<'t, K, L, N> {
    type Item = Result<K::Value, ReadError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        while self.packed.is_at_end() {
            let field = self.occurrences.next()?;
            let value_at = (field.value_at - field.at) as usize;
            self.packed = match field.value {
                Value::Bytes(bytes) => Cursor { bytes, at: 0 },
                _ => Cursor { bytes: field.bytes, at: value_at },
            };
        }
        let at = self.packed.at;
        Some(K::Stored::read(&mut self.packed).map(K::value).map_err(|problem| {
            self.packed = Cursor { bytes: &[], at: 0 };
            self.occurrences.last = 0;
            ReadError { at, problem }
        }))
    }
}

impl<'a> Value<'a> {
    /// Returns the content of a string, bytes, message or packed field; `None` for other fields.
    pub fn as_bytes(&self) -> Option<&'a [u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Returns the fields of a group; `None` for other fields.
    pub fn as_group(&self) -> Option<&'a [u8]> {
        match self {
            Self::Group(fields) => Some(fields),
            _ => None,
        }
    }
}
