//! Sizes, alignments and offsets in the head of a flat message, by the rules of `spec/flat.md`. All
//! arithmetic is checked: no schema can make it overflow.

use crate::model::{Primitive, Type};
use crate::source::Span;

/// The largest head that a flat message may have: 4 GiB.
pub const MAX_FLAT_SIZE: u64 = 1 << 32;

/// The largest number of bulk fields of one message, nested structs included.
pub const MAX_BULK_FIELDS: u32 = 64;

/// The alignment of every bulk field in the body.
pub const BULK_ALIGN: u64 = 64;

/// Size and alignment of a value in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// The number of bytes, a multiple of the alignment.
    pub size: u64,
    /// The alignment, a power of two.
    pub align: u64,
}

/// Where the members of a struct or union lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlatLayout {
    /// Size and alignment of the whole.
    pub extent: Extent,
    /// Of a struct: its base, if any, under the name `base`, then its own members in order. Of a union: its
    /// discriminator under the name `discriminator`, then its cases in order. Otherwise empty.
    pub members: Vec<FlatMember>,
}

/// One member of a [`FlatLayout`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlatMember {
    /// Its name.
    pub name: String,
    /// Its distance from the beginning of the struct or union.
    pub offset: u64,
    /// Its size and alignment (of an optional member: with its presence byte; of a bulk one: of its
    /// descriptor).
    pub extent: Extent,
}

/// A string, sequence or map in memory: `{u32 len; Element data[bound]}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContainerLayout {
    /// Size and alignment of the whole.
    pub extent: Extent,
    /// Where the first element lies.
    pub data_offset: u64,
    /// The distance from one element to the next (of a map: from one entry to the next).
    pub stride: u64,
    /// Of a map: where the value lies in its entry; otherwise 0.
    pub value_offset: u64,
}

/// Why a type cannot have Flat storage.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{path}` {reason}")]
pub struct FlatObstacle {
    /// The path of the member at fault, from the type in question: `header.frame_id`.
    pub path: String,
    /// What is wrong with it.
    pub reason: FlatReason,
    /// The member's position in the source.
    pub span: Span,
}

situ_layout::debug_as_text!(FlatObstacle);

/// Why a member cannot be in a flat message.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FlatReason {
    /// A string without a bound.
    #[error("is an unbounded string")]
    UnboundedString,
    /// A wide string without a bound.
    #[error("is an unbounded wstring")]
    UnboundedWString,
    /// A sequence without a bound, not marked `@bulk`.
    #[error("is an unbounded sequence")]
    UnboundedSequence,
    /// A map without a bound.
    #[error("is an unbounded map")]
    UnboundedMap,
    /// A type that contains itself.
    #[error("contains itself")]
    Recursive,
    /// A weak link, which only regions have.
    #[error("is a weak link, which only regions have")]
    WeakLink,
    /// A bulk field in a sequence, array, map, union or optional member.
    #[error("has a bulk field inside a sequence, array, map, union or optional member")]
    BulkInContainer,
    /// More than [`MAX_BULK_FIELDS`].
    #[error("brings the message over {MAX_BULK_FIELDS} bulk fields")]
    TooManyBulkFields,
    /// More than [`MAX_FLAT_SIZE`].
    #[error("makes the flat message larger than 4 GiB")]
    TooLarge,
}

situ_layout::debug_as_text!(FlatReason);

/// One bulk field of a message, as it lies in the head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BulkField {
    /// The names of the members that lead to it, `base` included.
    pub path: Vec<String>,
    /// Where its descriptor `{u64 offset; u64 len}` lies, from the beginning of the head.
    pub offset: u64,
    /// The type of an element.
    pub element: Type,
    /// The size and alignment of an element.
    pub element_extent: Extent,
    /// The largest number of elements, if there is one.
    pub bound: Option<u32>,
}

/// `value` rounded up to a multiple of the power of two `align`.
pub(crate) fn round_up(value: u64, align: u64) -> Result<u64, FlatReason> {
    let rounded = value.checked_add(align - 1).ok_or(FlatReason::TooLarge)? & !(align - 1);
    if rounded > MAX_FLAT_SIZE { Err(FlatReason::TooLarge) } else { Ok(rounded) }
}

/// Lays members out one after the other, as C does.
pub(crate) struct Cursor {
    size: u64,
    align: u64,
}

impl Cursor {
    pub fn new() -> Self {
        Self { size: 0, align: 1 }
    }

    pub fn place(&mut self, extent: Extent) -> Result<u64, FlatReason> {
        let offset = round_up(self.size, extent.align)?;
        self.size = round_up(offset.checked_add(extent.size).ok_or(FlatReason::TooLarge)?, 1)?;
        self.align = self.align.max(extent.align);
        Ok(offset)
    }

    pub fn finish(self) -> Result<Extent, FlatReason> {
        Ok(Extent { size: round_up(self.size, self.align)?, align: self.align })
    }
}

impl Extent {
    /// The extent of a primitive.
    pub fn of(primitive: Primitive) -> Self {
        Self { size: primitive.size(), align: primitive.size() }
    }

    /// The extent of a bulk field's descriptor.
    pub const BULK: Extent = Extent { size: 16, align: 8 };

    /// The extent of `count` consecutive values.
    pub fn repeat(self, count: u64) -> Result<Self, FlatReason> {
        let size = self.size.checked_mul(count).ok_or(FlatReason::TooLarge)?;
        Ok(Self { size: round_up(size, 1)?, align: self.align })
    }
}

impl ContainerLayout {
    /// The layout of `{u32 len; Element data[count]}`.
    pub fn new(element: Extent, count: u64) -> Result<Self, FlatReason> {
        let mut cursor = Cursor::new();
        cursor.place(Extent::of(Primitive::U32))?;
        let data_offset = cursor.place(element.repeat(count)?)?;
        Ok(Self { extent: cursor.finish()?, data_offset, stride: element.size, value_offset: 0 })
    }

    /// The layout of `string<bound>`.
    pub fn string(bound: u32) -> Result<Self, FlatReason> {
        Self::new(Extent::of(Primitive::U8), u64::from(bound) + 1)
    }

    /// The layout of `wstring<bound>`.
    pub fn wstring(bound: u32) -> Result<Self, FlatReason> {
        Self::new(Extent::of(Primitive::WChar), u64::from(bound) + 1)
    }

    /// The layout of `map<key, value, bound>`.
    pub fn map(key: Extent, value: Extent, bound: u32) -> Result<Self, FlatReason> {
        let mut entry = Cursor::new();
        entry.place(key)?;
        let value_offset = entry.place(value)?;
        Ok(Self { value_offset, ..Self::new(entry.finish()?, u64::from(bound))? })
    }
}

/// The extent of `{u8 present; T value}`, and the offset of its value.
pub fn optional(value: Extent) -> Result<(Extent, u64), FlatReason> {
    let mut cursor = Cursor::new();
    cursor.place(Extent::of(Primitive::U8))?;
    let offset = cursor.place(value)?;
    Ok((cursor.finish()?, offset))
}
