//! The layout of a generated struct, from its members' types and offsets.
//!
//! The generator writes the offset of each member as a number. Compilation fails if the members' types give
//! another one.

use std::marker::PhantomData;

use crate::value::stored::{Stored, fixed};

/// A member of a struct, or a case of a union: its name in the schema, its type and its offset in bytes.
#[doc(hidden)]
#[derive(Debug)]
pub struct Field<T> {
    pub(crate) name: &'static str,
    pub(crate) offset: u32,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for Field<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Field<T> {}

impl<T: Stored> Field<T> {
    /// The field with a name, at an offset.
    pub const fn new(name: &'static str, offset: u32) -> Self {
        Self { name, offset, of: PhantomData }
    }

    /// The offset, and the constants of the type.
    pub const fn member(self) -> Member {
        fixed::<T>();
        Member {
            offset: self.offset,
            size: T::SIZE,
            align: T::ALIGN,
            links: T::LINKS,
            dense: T::DENSE,
            any: T::ANY,
            packed_size: T::PACKED_SIZE,
            packed_align: T::PACKED_ALIGN,
        }
    }
}

/// The offset of a member, and the constants of its type.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Member {
    pub(crate) offset: u32,
    pub(crate) size: u32,
    pub(crate) align: u32,
    links: bool,
    dense: bool,
    any: bool,
    pub(crate) packed_size: u32,
    pub(crate) packed_align: u32,
}

/// The constants of a struct, by the names that they have in [`Stored`].
#[doc(hidden)]
#[derive(Debug)]
pub struct StructLayout {
    pub(crate) size: u32,
    pub(crate) align: u32,
    pub(crate) links: bool,
    pub(crate) dense: bool,
    pub(crate) any: bool,
    members: &'static [Member],
    /// How its members lie in packed images.
    order: Order,
    pub(crate) packed_size: u32,
    pub(crate) packed_align: u32,
}

/// How the members of a struct lie in packed images.
#[derive(Clone, Copy, Debug)]
enum Order {
    /// As in a region: a struct without links.
    Same,
    /// One after the other: an appendable struct.
    Declared,
    /// Those with greater alignments first. The numbers are the places of the first ones of the alignments 1,
    /// 2, 4, 8 and 16.
    Aligned([u32; ALIGNMENTS]),
}

/// The size of a link in packed images.
pub(crate) const LINK: u32 = 4;

/// The number of alignments, which are powers of two.
const ALIGNMENTS: usize = 5;

impl StructLayout {
    /// The layout of an appendable struct with these members.
    pub const fn appendable(members: &'static [Member]) -> Self {
        let mut all = Self::of(members);
        (all.size, all.align) = (all.size.next_multiple_of(8), 8);
        (all.links, all.dense, all.any) = (true, false, false);
        all.order = Order::Declared;
        (all.packed_size, all.packed_align) = (all.packed_place(members.len()).next_multiple_of(8), 8);
        all
    }

    /// The layout of a final struct with these members.
    pub const fn of(members: &'static [Member]) -> Self {
        let mut all = Self {
            size: 0,
            align: 1,
            links: false,
            dense: true,
            any: true,
            members,
            order: Order::Same,
            packed_size: 0,
            packed_align: 1,
        };
        let mut sizes = [0; ALIGNMENTS];
        let mut i = 0;
        assert!(!members.is_empty(), "a struct of a region has at least one member");
        while i < members.len() {
            let Member { offset, size, align, links, dense, any, packed_size, packed_align } = members[i];
            assert!(
                offset == all.size.next_multiple_of(align),
                "a member has another type than in the schema"
            );
            all.links |= links;
            all.dense &= dense && offset == all.size;
            all.any &= any;
            all.size = offset + size;
            if align > all.align {
                all.align = align;
            }
            sizes[packed_align.trailing_zeros() as usize] += packed_size;
            all.packed_size += packed_size;
            if packed_align > all.packed_align {
                all.packed_align = packed_align;
            }
            i += 1;
        }
        let size = all.size.next_multiple_of(all.align);
        all.dense &= size == all.size;
        all.size = size;
        if all.links {
            all.order = Order::Aligned(Self::first_places(sizes));
            all.packed_size = all.packed_size.next_multiple_of(all.packed_align);
        } else {
            (all.packed_size, all.packed_align) = (all.size, all.align);
        }
        all
    }

    /// The places of the first members of each alignment, from the sizes of all that have it.
    const fn first_places(sizes: [u32; ALIGNMENTS]) -> [u32; ALIGNMENTS] {
        let (mut places, mut end, mut i) = ([0; ALIGNMENTS], 0, ALIGNMENTS);
        while i != 0 {
            i -= 1;
            places[i] = end;
            end += sizes[i];
        }
        places
    }

    /// The place of a member in packed images; the end of the last one for the number of members.
    #[doc(hidden)]
    pub const fn packed_place(&self, index: usize) -> u32 {
        if let Order::Same = self.order {
            return self.members[index].offset;
        }
        let (mut places, mut i) = (PackedPlaces::of(self), 0);
        let mut end = 0;
        while i < self.members.len() {
            let Member { packed_size, packed_align, .. } = self.members[i];
            let place = places.next(packed_size, packed_align);
            if i == index {
                return place;
            }
            end = place + packed_size;
            i += 1;
        }
        end
    }

    /// Fails to compile if a value of the struct is not the same within regions and outside.
    pub const fn assert_plain<T>(&self) {
        assert!(self.dense && self.size as usize == size_of::<T>(), "a plain struct has no padding");
        assert!(self.align as usize == align_of::<T>(), "a plain struct is aligned as its members are");
    }
}

/// The places in packed images of the members of a struct with links, in the order of their declaration.
pub(crate) struct PackedPlaces {
    next: [u32; ALIGNMENTS],
    is_aligned: bool,
}

impl PackedPlaces {
    #[inline(always)]
    pub(crate) const fn of(layout: &StructLayout) -> Self {
        match layout.order {
            Order::Aligned(next) => Self { next, is_aligned: true },
            _ => Self { next: [0; ALIGNMENTS], is_aligned: false },
        }
    }

    /// The place of the next member.
    #[inline(always)]
    pub(crate) const fn next(&mut self, size: u32, align: u32) -> u32 {
        let next = &mut self.next[if self.is_aligned { align.trailing_zeros() as usize } else { 0 }];
        let place = next.next_multiple_of(align);
        *next = place + size;
        place
    }
}

/// The layout of a union in packed images.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct PackedUnion {
    /// The offset of the value, or of the link to it.
    pub(crate) value: u32,
    /// Whether the value lies in the union itself.
    pub(crate) is_inside: bool,
    /// The size in bytes.
    pub size: u32,
    /// The alignment.
    pub align: u32,
}

impl PackedUnion {
    /// The layout of a union of these members. If none has more than four bytes, the value lies in the union.
    pub const fn of<D: Stored>(members: &[Member]) -> Self {
        let (mut size, mut align, mut i) = (0, 1, 0);
        while i < members.len() {
            if members[i].packed_size > size {
                size = members[i].packed_size;
            }
            if members[i].packed_align > align {
                align = members[i].packed_align;
            }
            i += 1;
        }
        let is_inside = size <= LINK;
        if !is_inside {
            (size, align) = (LINK, 1);
        }
        let value = D::SIZE.next_multiple_of(align);
        if D::ALIGN > align {
            align = D::ALIGN;
        }
        Self { value, is_inside, size: (value + size).next_multiple_of(align), align }
    }
}
