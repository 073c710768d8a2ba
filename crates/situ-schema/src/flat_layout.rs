//! Where everything lies in the head of a flat message: sizes, alignments and offsets, by the rules of
//! `spec/flat.md`. The arithmetic is checked: no schema can make it overflow.

use crate::model::{Kind, Member, Primitive, Type};
use crate::schema::{Facts, Schema};
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
    /// Its size and alignment (of an optional member: with its presence byte; of a bulk one: of its descriptor).
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
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{path}` {reason}")]
pub struct FlatObstacle {
    /// The member at fault, from the type that was asked about: `header.frame_id`.
    pub path: String,
    /// What is wrong with it.
    pub reason: FlatReason,
    /// The member's position in the source.
    pub span: Span,
}

/// What keeps a member from lying in a flat message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
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
fn round_up(value: u64, align: u64) -> Result<u64, FlatReason> {
    let rounded = value.checked_add(align - 1).ok_or(FlatReason::TooLarge)? & !(align - 1);
    if rounded > MAX_FLAT_SIZE { Err(FlatReason::TooLarge) } else { Ok(rounded) }
}

/// Lays members out one after the other, as C does.
struct Cursor {
    size: u64,
    align: u64,
}

impl Cursor {
    fn new() -> Self {
        Self { size: 0, align: 1 }
    }

    fn place(&mut self, extent: Extent) -> Result<u64, FlatReason> {
        let offset = round_up(self.size, extent.align)?;
        self.size = round_up(offset.checked_add(extent.size).ok_or(FlatReason::TooLarge)?, 1)?;
        self.align = self.align.max(extent.align);
        Ok(offset)
    }

    fn finish(self) -> Result<Extent, FlatReason> {
        Ok(Extent { size: round_up(self.size, self.align)?, align: self.align })
    }
}

impl Extent {
    /// That of a primitive.
    pub fn of(primitive: Primitive) -> Self {
        Self { size: primitive.size(), align: primitive.size() }
    }

    /// That of the descriptor of a bulk field.
    pub const BULK: Extent = Extent { size: 16, align: 8 };

    /// That of `count` values one after the other.
    pub fn repeat(self, count: u64) -> Result<Self, FlatReason> {
        let size = self.size.checked_mul(count).ok_or(FlatReason::TooLarge)?;
        Ok(Self { size: round_up(size, 1)?, align: self.align })
    }
}

impl ContainerLayout {
    /// That of `{u32 len; Element data[count]}`.
    pub fn new(element: Extent, count: u64) -> Result<Self, FlatReason> {
        let mut cursor = Cursor::new();
        cursor.place(Extent::of(Primitive::U32))?;
        let data_offset = cursor.place(element.repeat(count)?)?;
        Ok(Self { extent: cursor.finish()?, data_offset, stride: element.size, value_offset: 0 })
    }

    /// That of `string<bound>`.
    pub fn string(bound: u32) -> Result<Self, FlatReason> {
        Self::new(Extent::of(Primitive::U8), u64::from(bound) + 1)
    }

    /// That of `wstring<bound>`.
    pub fn wstring(bound: u32) -> Result<Self, FlatReason> {
        Self::new(Extent::of(Primitive::WChar), u64::from(bound) + 1)
    }

    /// That of `map<key, value, bound>`.
    pub fn map(key: Extent, value: Extent, bound: u32) -> Result<Self, FlatReason> {
        let mut entry = Cursor::new();
        entry.place(key)?;
        let value_offset = entry.place(value)?;
        Ok(Self { value_offset, ..Self::new(entry.finish()?, u64::from(bound))? })
    }
}

/// Size, alignment and place of the value of `{u8 present; T value}`.
pub fn optional(value: Extent) -> Result<(Extent, u64), FlatReason> {
    let mut cursor = Cursor::new();
    cursor.place(Extent::of(Primitive::U8))?;
    let offset = cursor.place(value)?;
    Ok((cursor.finish()?, offset))
}

/// An obstacle on the way from a member of the type being laid out; `inner` is empty at the member itself.
struct Blocked {
    inner: String,
    reason: FlatReason,
    span: Option<Span>,
}

impl From<FlatReason> for Blocked {
    fn from(reason: FlatReason) -> Self {
        Self { inner: String::new(), reason, span: None }
    }
}

/// The extent of `ty`, the facts about all definitions it names being known. `nested`: inside a container.
fn extent(schema: &Schema, ty: &Type, nested: bool) -> Result<Extent, Blocked> {
    Ok(match ty {
        Type::Primitive(primitive) => Extent::of(*primitive),
        Type::String { bound } => ContainerLayout::string(bound.ok_or(FlatReason::UnboundedString)?)?.extent,
        Type::WString { bound } => {
            ContainerLayout::wstring(bound.ok_or(FlatReason::UnboundedWString)?)?.extent
        }
        Type::Sequence { element, bound } => {
            let bound = bound.ok_or(FlatReason::UnboundedSequence)?;
            ContainerLayout::new(extent(schema, element, true)?, u64::from(bound))?.extent
        }
        Type::Array { element, dimensions } => {
            let count = Type::element_count(dimensions).ok_or(FlatReason::TooLarge)?;
            extent(schema, element, true)?.repeat(count)?
        }
        Type::Map { key, value, bound } => {
            let bound = bound.ok_or(FlatReason::UnboundedMap)?;
            ContainerLayout::map(extent(schema, key, true)?, extent(schema, value, true)?, bound)?.extent
        }
        Type::Named(id) => {
            let facts = schema.facts(*id);
            if facts.recursive {
                return Err(FlatReason::Recursive.into());
            }
            match &facts.flat {
                Err(obstacle) => {
                    return Err(Blocked {
                        inner: obstacle.path.clone(),
                        reason: obstacle.reason,
                        span: Some(obstacle.span),
                    });
                }
                Ok(_) if nested && facts.bulk_fields > 0 => return Err(FlatReason::BulkInContainer.into()),
                Ok(layout) => layout.extent,
            }
        }
    })
}

fn member_extent(schema: &Schema, member: &Member) -> Result<Extent, Blocked> {
    if member.bulk {
        return Ok(Extent::BULK);
    }
    if member.optional {
        return Ok(optional(extent(schema, &member.ty, true)?)?.0);
    }
    extent(schema, &member.ty, false)
}

fn obstacle(name: &str, span: Span, blocked: Blocked) -> FlatObstacle {
    let path = match (name.is_empty(), blocked.inner.is_empty()) {
        (true, _) => blocked.inner,
        (false, true) => name.to_owned(),
        (false, false) => format!("{name}.{}", blocked.inner),
    };
    FlatObstacle { path, reason: blocked.reason, span: blocked.span.unwrap_or(span) }
}

/// Lays out one definition; those it depends on are laid out already.
pub(crate) fn lay_out(schema: &Schema, kind: &Kind, span: Span) -> Result<FlatLayout, FlatObstacle> {
    let whole = |reason: FlatReason| obstacle("", span, reason.into());
    match kind {
        Kind::Struct(it) => {
            let mut cursor = Cursor::new();
            let mut members = Vec::with_capacity(it.members.len() + 1);
            let mut place = |name: &str, span: Span, extent: Result<Extent, Blocked>| {
                let placed = extent.and_then(|extent| Ok((cursor.place(extent)?, extent)));
                let (offset, extent) = placed.map_err(|blocked| obstacle(name, span, blocked))?;
                members.push(FlatMember { name: name.to_owned(), offset, extent });
                Ok(())
            };
            if let Some(base) = it.base {
                place("base", span, extent(schema, &Type::Named(base), false))?;
            }
            for member in &it.members {
                place(&member.name, member.span, member_extent(schema, member))?;
            }
            Ok(FlatLayout { extent: cursor.finish().map_err(whole)?, members })
        }
        Kind::Union(it) => {
            let discriminator = extent(schema, &it.discriminator, true)
                .map_err(|blocked| obstacle("discriminator", span, blocked))?;
            let mut payload = Extent { size: 0, align: 1 };
            let mut cases = Vec::with_capacity(it.cases.len());
            for case in &it.cases {
                let extent = extent(schema, &case.member.ty, true)
                    .map_err(|blocked| obstacle(&case.member.name, case.member.span, blocked))?;
                payload =
                    Extent { size: payload.size.max(extent.size), align: payload.align.max(extent.align) };
                cases.push(extent);
            }
            payload.size = round_up(payload.size, payload.align).map_err(whole)?;
            let mut cursor = Cursor::new();
            cursor.place(discriminator).map_err(whole)?;
            let offset = cursor.place(payload).map_err(whole)?;
            let mut members =
                vec![FlatMember { name: "discriminator".into(), offset: 0, extent: discriminator }];
            for (case, extent) in it.cases.iter().zip(cases) {
                members.push(FlatMember { name: case.member.name.clone(), offset, extent });
            }
            Ok(FlatLayout { extent: cursor.finish().map_err(whole)?, members })
        }
        Kind::Enum(_) => Ok(FlatLayout { extent: Extent::of(Primitive::I32), members: Vec::new() }),
        Kind::Bitmask(it) => Ok(FlatLayout { extent: Extent::of(it.storage()), members: Vec::new() }),
        Kind::Alias(ty) => {
            let extent = extent(schema, ty, false).map_err(|blocked| obstacle("", span, blocked))?;
            Ok(FlatLayout { extent, members: Vec::new() })
        }
    }
}

/// The number of bulk fields of a definition, nested structs included.
pub(crate) fn count_bulk_fields(schema: &Schema, kind: &Kind) -> u32 {
    let of = |facts: &Facts| facts.bulk_fields;
    match kind {
        Kind::Struct(it) => {
            let base = it.base.map_or(0, |base| of(schema.facts(base)));
            it.members.iter().fold(base, |count, member| {
                count.saturating_add(match &member.ty {
                    _ if member.bulk => 1,
                    Type::Named(id) if !member.optional => of(schema.facts(*id)),
                    _ => 0,
                })
            })
        }
        Kind::Alias(Type::Named(id)) => of(schema.facts(*id)),
        _ => 0,
    }
}

impl Schema {
    /// Size and alignment of a value of this type in a flat message.
    pub fn flat_extent(&self, ty: &Type) -> Result<Extent, FlatReason> {
        extent(self, ty, false).map_err(|blocked| blocked.reason)
    }

    /// The layout of a container type (string, wstring, sequence, map) in a flat message, `None` for other types
    /// and for those that cannot be flat.
    pub fn container_layout(&self, ty: &Type) -> Option<ContainerLayout> {
        match self.resolve(ty) {
            Type::String { bound } => ContainerLayout::string((*bound)?).ok(),
            Type::WString { bound } => ContainerLayout::wstring((*bound)?).ok(),
            Type::Sequence { element, bound } => {
                ContainerLayout::new(self.flat_extent(element).ok()?, u64::from((*bound)?)).ok()
            }
            Type::Map { key, value, bound } => {
                ContainerLayout::map(self.flat_extent(key).ok()?, self.flat_extent(value).ok()?, (*bound)?)
                    .ok()
            }
            _ => None,
        }
    }
}
