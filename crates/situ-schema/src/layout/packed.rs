//! How types are laid out in packed images of regions, by the rules of `spec/region.md`.

use crate::layout::flat::Extent;
use crate::layout::region::{RegionLayout, RegionType};
use crate::model::TypeId;
use crate::schema::Schema;

/// The size of a link, and the greatest size of a value that lies in its union itself.
pub(crate) const LINK: u64 = 4;

/// Where the value of a union lies in a packed image.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PackedUnion {
    /// The offset of the value or of the link to it.
    pub value: u64,
    /// Whether the value lies in the union.
    pub is_inside: bool,
}

fn extent(size: u64, align: u64) -> Extent {
    Extent { size, align }
}

impl Schema {
    /// Whether a value has another form in packed images than in other ones.
    pub(crate) fn has_packed_links(&self, ty: &RegionType) -> bool {
        match ty {
            RegionType::Primitive(_) | RegionType::Enum(_) | RegionType::Bitmask(_) => false,
            RegionType::Array(element, _) => self.has_packed_links(element),
            RegionType::Struct(id) => {
                self.is_appended_in_regions(*id)
                    || self.region_layout(*id).is_none_or(|layout| {
                        layout.members.iter().any(|member| self.has_packed_links(&member.ty))
                    })
            }
            _ => true,
        }
    }

    /// Whether a value is a link that is 0 if the value is empty.
    pub(crate) fn is_packed_link(ty: &RegionType) -> bool {
        matches!(ty, RegionType::Text | RegionType::Vector(_) | RegionType::Set(..) | RegionType::Map(..))
    }

    /// Size and alignment of a value in a packed image.
    pub(crate) fn packed_extent(&self, ty: &RegionType) -> Extent {
        if !self.has_packed_links(ty) {
            return self.region_extent(ty);
        }
        match ty {
            RegionType::Array(element, count) => {
                let element = self.packed_extent(element);
                extent(element.size.saturating_mul(u64::from(*count)), element.align)
            }
            RegionType::Struct(id) => self.packed_struct(*id).map_or(extent(0, 1), |layout| layout.extent),
            RegionType::Union(id) => self.packed_union(*id).map_or(extent(0, 1), |(layout, _)| layout.extent),
            RegionType::Optional(value) if !Self::is_packed_link(value) => {
                let value = self.packed_extent(value);
                if value.size < LINK {
                    extent(value.align + value.size, value.align)
                } else {
                    extent(LINK, 1)
                }
            }
            _ => extent(LINK, 1),
        }
    }

    /// Where the members of a struct lie in a packed image, in the order of their declaration.
    pub(crate) fn packed_struct(&self, id: TypeId) -> Option<RegionLayout> {
        let mut layout = self.region_layout(id)?;
        if !self.has_packed_links(&RegionType::Struct(id)) {
            return Some(layout);
        }
        let extents: Vec<Extent> = layout.members.iter().map(|it| self.packed_extent(&it.ty)).collect();
        let mut order: Vec<usize> = (0..extents.len()).collect();
        let is_appended = self.is_appended_in_regions(id);
        if !is_appended {
            order.sort_by_key(|index| std::cmp::Reverse(extents[*index].align));
        }
        let mut end = 0_u64;
        for index in order {
            let Extent { size, align } = extents[index];
            layout.members[index].offset = end.next_multiple_of(align);
            end = layout.members[index].offset + size;
        }
        let align =
            if is_appended { 8 } else { extents.iter().map(|extent| extent.align).max().unwrap_or(1) };
        layout.extent = extent(end.next_multiple_of(align), align);
        Some(layout)
    }

    /// The layout of a union in packed images. Its members have no offsets of their own.
    pub(crate) fn packed_union(&self, id: TypeId) -> Option<(RegionLayout, PackedUnion)> {
        let mut layout = self.region_layout(id)?;
        let discriminator = self.region_extent(layout.discriminator.as_ref()?);
        let extents = layout.members.iter().map(|member| self.packed_extent(&member.ty));
        let (size, align) =
            extents.fold((0, 1), |(size, align), it| (it.size.max(size), it.align.max(align)));
        let is_inside = size <= LINK;
        let (size, align) = if is_inside { (size, align) } else { (LINK, 1) };
        let value = discriminator.size.next_multiple_of(align);
        let align = align.max(discriminator.align);
        layout.extent = extent((value + size).next_multiple_of(align), align);
        Some((layout, PackedUnion { value, is_inside }))
    }
}
