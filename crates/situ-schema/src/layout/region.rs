//! How types are represented and laid out in a region, by the rules of `spec/region.md`.

use crate::layout::flat::Extent;
use crate::model::{Definition, Kind, Link, Literal, Lookup, Member, Primitive, Struct, Type, TypeId, Union};
use crate::schema::Schema;
use crate::source::Span;

/// The largest region, in bytes.
pub const MAX_REGION_SIZE: u64 = 0x7fff_fff0;
/// The longest text that needs no block in a region.
const INLINE_TEXT: usize = 11;

/// A value as it lies in a region.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RegionType {
    /// A number, boolean or character.
    Primitive(Primitive),
    /// An enum: its integer.
    Enum(TypeId),
    /// A bitmask: its integer.
    Bitmask(TypeId),
    /// A struct.
    Struct(TypeId),
    /// A union.
    Union(TypeId),
    /// A string.
    Text,
    /// An array of one dimension.
    Array(Box<RegionType>, u32),
    /// A sequence. A wide string is one too, with elements of type `wchar`.
    Vector(Box<RegionType>),
    /// A sequence that is a set.
    Set(Lookup, Box<RegionType>),
    /// A map.
    Map(Lookup, Box<RegionType>, Box<RegionType>),
    /// An optional member in place.
    Optional(Box<RegionType>),
    /// An optional member behind a link of its own.
    Unique(Box<RegionType>),
    /// An optional member behind a link that others may share.
    Shared(Box<RegionType>),
    /// A link to the value of others that does not keep it.
    Weak(Box<RegionType>),
}

/// Where the members of a struct or union lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegionLayout {
    /// Size and alignment of the whole.
    pub extent: Extent,
    /// Of a struct: its base, if any, under the name `base`, then its own members in order. Of a union: its
    /// cases.
    pub members: Vec<RegionMember>,
    /// What selects the case of a union, at its beginning.
    pub discriminator: Option<RegionType>,
}

/// One member of a [`RegionLayout`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegionMember {
    /// Its name.
    pub name: String,
    /// Its distance from the beginning of the struct or union.
    pub offset: u64,
    /// What it is.
    pub ty: RegionType,
}

/// Why a type has no region form.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{path}` {reason}")]
pub struct RegionObstacle {
    /// The member at fault, as `Type.member`.
    pub path: String,
    /// What is wrong with it.
    pub reason: RegionReason,
    /// The member's position in the source.
    pub span: Span,
}

situ_layout::debug_as_text!(RegionObstacle);

/// Why a member cannot be in a region.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RegionReason {
    /// A map whose keys are neither numbers, booleans, characters, enums nor strings.
    #[error("has keys that are neither numbers, booleans, characters, enums nor strings")]
    Key,
    /// A struct that can be appended to, in a place of fixed size.
    #[error("holds a struct in place that is `@region @appendable`, whose size can change")]
    Appendable,
    /// A default that does not fit into the member itself.
    #[error("has a default that needs memory of its own, which new values in regions cannot allocate")]
    Default,
    /// More than [`MAX_REGION_SIZE`].
    #[error("is larger than 2 GiB")]
    TooLarge,
}

situ_layout::debug_as_text!(RegionReason);

fn extent(size: u64, align: u64) -> Extent {
    Extent { size, align }
}

fn round_up(value: u64, align: u64) -> u64 {
    value.saturating_add(align - 1) & !(align - 1)
}

/// Lays members out one after the other, as C does.
#[derive(Default)]
struct Cursor {
    end: u64,
    align: u64,
}

impl Cursor {
    fn place(&mut self, it: Extent) -> u64 {
        let at = round_up(self.end, it.align);
        self.end = at.saturating_add(it.size);
        self.align = self.align.max(it.align);
        at
    }

    fn finish(self) -> Extent {
        extent(round_up(self.end, self.align.max(1)), self.align.max(1))
    }
}

impl Schema {
    /// What a type is in a region, as an element, key or value.
    fn region_value(&self, ty: &Type) -> Result<RegionType, RegionReason> {
        if let Some((element, dimensions)) = self.array(ty) {
            let element = self.region_value(element)?;
            return Ok(dimensions.iter().rev().fold(element, |it, n| RegionType::Array(Box::new(it), *n)));
        }
        Ok(match self.resolve(ty) {
            Type::Primitive(of) => RegionType::Primitive(*of),
            Type::String { .. } => RegionType::Text,
            Type::WString { .. } => RegionType::Vector(Box::new(RegionType::Primitive(Primitive::WChar))),
            Type::Sequence { element, .. } => RegionType::Vector(Box::new(self.region_value(element)?)),
            Type::Map { key, value, .. } => self.region_map(Lookup::Sorted, key, value)?,
            Type::Named(id) => match &self.definition(*id).kind {
                Kind::Enum(_) => RegionType::Enum(*id),
                Kind::Bitmask(_) => RegionType::Bitmask(*id),
                Kind::Union(_) => RegionType::Union(*id),
                Kind::Struct(it) if it.is_appended_in_regions() => return Err(RegionReason::Appendable),
                Kind::Struct(_) | Kind::Alias(_) => RegionType::Struct(*id),
            },
            // Arrays were handled above.
            Type::Array { element, .. } => self.region_value(element)?,
        })
    }

    fn region_map(&self, lookup: Lookup, key: &Type, value: &Type) -> Result<RegionType, RegionReason> {
        let key = self.region_key(key)?;
        Ok(RegionType::Map(lookup, Box::new(key), Box::new(self.region_value(value)?)))
    }

    fn region_key(&self, key: &Type) -> Result<RegionType, RegionReason> {
        let key = self.region_value(key)?;
        match &key {
            RegionType::Text | RegionType::Enum(_) | RegionType::Primitive(_) => Ok(key),
            _ => Err(RegionReason::Key),
        }
    }

    /// What a member is in a region.
    pub fn region_type(&self, member: &Member) -> Result<RegionType, RegionReason> {
        if member.default.as_ref().is_some_and(|default| self.needs_block(&member.ty, default)) {
            return Err(RegionReason::Default);
        }
        let is_linked = member.optional && member.link != Link::InPlace;
        let value = match self.resolve(&member.ty) {
            Type::Map { key, value, .. } => self.region_map(member.lookup, key, value)?,
            Type::Sequence { element, .. } if member.set => {
                RegionType::Set(member.lookup, Box::new(self.region_key(element)?))
            }
            Type::Named(id) if is_linked && self.is_appended_in_regions(*id) => RegionType::Struct(*id),
            _ => self.region_value(&member.ty)?,
        };
        Ok(match (member.optional, member.link) {
            (false, _) => value,
            (true, Link::InPlace) => RegionType::Optional(Box::new(value)),
            (true, Link::Unique) => RegionType::Unique(Box::new(value)),
            (true, Link::Shared) => RegionType::Shared(Box::new(value)),
            (true, Link::Weak) => RegionType::Weak(Box::new(value)),
        })
    }

    /// Whether a type is a struct whose other versions are understood by readers of regions.
    pub fn is_appended_in_regions(&self, id: TypeId) -> bool {
        self.definition(id).kind.as_struct().is_some_and(Struct::is_appended_in_regions)
    }

    fn is_text(&self, ty: &Type) -> bool {
        matches!(self.resolve(ty), Type::String { .. } | Type::WString { .. })
    }

    /// Whether a default does not fit into the member that has it.
    fn needs_block(&self, ty: &Type, default: &Literal) -> bool {
        match (self.resolve(ty), default) {
            (Type::String { .. }, Literal::String(text)) => text.len() > INLINE_TEXT,
            (Type::WString { .. }, Literal::String(text)) => !text.is_empty(),
            (Type::Array { .. }, Literal::List(_)) => {
                self.array(ty).is_some_and(|(element, _)| self.is_text(element))
            }
            (_, Literal::List(items)) => !items.is_empty(),
            _ => false,
        }
    }

    /// Size and alignment of a value in a region. A value that is too large has at least [`MAX_REGION_SIZE`]
    /// + 1 bytes.
    pub fn region_extent(&self, ty: &RegionType) -> Extent {
        match ty {
            RegionType::Primitive(of) => extent(of.size(), of.size()),
            RegionType::Enum(_) => extent(4, 4),
            RegionType::Bitmask(id) => match &self.definition(*id).kind {
                Kind::Bitmask(it) => extent(it.storage().size(), it.storage().size()),
                _ => extent(0, 1),
            },
            RegionType::Struct(id) | RegionType::Union(id) => {
                self.region_layout(*id).map_or(extent(MAX_REGION_SIZE + 1, 1), |it| it.extent)
            }
            RegionType::Text | RegionType::Vector(_) | RegionType::Set(..) | RegionType::Map(..) => {
                extent(16, 4)
            }
            RegionType::Array(element, count) => {
                let element = self.region_extent(element);
                extent(element.size.saturating_mul(u64::from(*count)), element.align)
            }
            RegionType::Optional(value) => {
                let value = self.region_extent(value);
                let align = value.align.max(4);
                extent(round_up(value.align.max(8).saturating_add(value.size), align), align)
            }
            RegionType::Unique(_) | RegionType::Shared(_) | RegionType::Weak(_) => extent(8, 4),
        }
    }

    /// Where the members of a struct or union lie in a region. `None` if one of them has no region form.
    pub fn region_layout(&self, id: TypeId) -> Option<RegionLayout> {
        match &self.definition(id).kind {
            Kind::Struct(it) => self.region_struct(it),
            Kind::Union(it) => self.region_union(it),
            _ => None,
        }
    }

    fn region_struct(&self, it: &Struct) -> Option<RegionLayout> {
        let mut cursor = Cursor::default();
        let mut members = Vec::with_capacity(it.members.len() + 1);
        let base = it.base.map(|base| ("base", RegionType::Struct(base)));
        let own =
            it.members.iter().map(|member| Some((member.name.as_str(), self.region_type(member).ok()?)));
        for (name, ty) in base.into_iter().map(Some).chain(own).collect::<Option<Vec<_>>>()? {
            let offset = cursor.place(self.region_extent(&ty));
            members.push(RegionMember { name: name.to_owned(), offset, ty });
        }
        let mut extent = cursor.finish();
        if it.is_appended_in_regions() {
            extent = Extent { size: round_up(extent.size, 8), align: 8 };
        }
        Some(RegionLayout { extent, members, discriminator: None })
    }

    fn region_union(&self, it: &Union) -> Option<RegionLayout> {
        let selector = self.region_value(&it.discriminator).ok()?;
        let discriminator = self.region_extent(&selector);
        let types: Vec<RegionType> =
            it.cases.iter().map(|case| self.region_type(&case.member).ok()).collect::<Option<_>>()?;
        let extents: Vec<Extent> = types.iter().map(|ty| self.region_extent(ty)).collect();
        let widest = extents.iter().map(|it| it.align).max().unwrap_or(1);
        let largest = extents.iter().map(|it| it.size).max().unwrap_or(0);
        let link = if discriminator.size > 4 { 8 } else { 4 };
        let offset = round_up(link + 4, widest);
        let align = widest.max(4).max(discriminator.align);
        let members = it.cases.iter().zip(types);
        let members = members.map(|(case, ty)| RegionMember { name: case.member.name.clone(), offset, ty });
        Some(RegionLayout {
            extent: extent(round_up(offset.saturating_add(largest), align), align),
            members: members.collect(),
            discriminator: Some(selector),
        })
    }

    /// Why a struct or union, or one that it depends on, has no region form. `None` if it has one.
    pub fn region_obstacle(&self, id: TypeId) -> Option<RegionObstacle> {
        self.closure_without_aliases(id)
            .into_iter()
            .find_map(|id| self.own_region_obstacle(self.definition(id)))
    }

    /// Whether a struct or union has a region form.
    pub fn has_region(&self, id: TypeId) -> bool {
        matches!(self.definition(id).kind, Kind::Struct(_) | Kind::Union(_))
            && self.region_obstacle(id).is_none()
    }

    fn own_region_obstacle(&self, definition: &Definition) -> Option<RegionObstacle> {
        let name = definition.name.simple();
        if let Kind::Struct(Struct { base: Some(base), .. }) = &definition.kind
            && self.is_appended_in_regions(*base)
        {
            let reason = RegionReason::Appendable;
            return Some(RegionObstacle { path: format!("{name}.base"), reason, span: definition.span });
        }
        let of = |member: &Member| {
            let reason = match self.region_type(member) {
                Err(reason) => reason,
                Ok(ty) if self.region_extent(&ty).size > MAX_REGION_SIZE => RegionReason::TooLarge,
                Ok(_) => return None,
            };
            Some(RegionObstacle { path: format!("{name}.{}", member.name), reason, span: member.span })
        };
        match &definition.kind {
            Kind::Struct(it) => it.members.iter().find_map(of),
            Kind::Union(it) => it.cases.iter().find_map(|case| of(&case.member)),
            _ => None,
        }
        .or_else(|| {
            let layout = match &definition.kind {
                Kind::Struct(it) => self.region_struct(it)?,
                Kind::Union(it) => self.region_union(it)?,
                _ => return None,
            };
            (layout.extent.size > MAX_REGION_SIZE).then(|| RegionObstacle {
                path: name.to_owned(),
                reason: RegionReason::TooLarge,
                span: definition.span,
            })
        })
    }
}
