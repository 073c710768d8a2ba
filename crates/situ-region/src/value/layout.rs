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
}

impl StructLayout {
    /// The layout of an appendable struct with these members.
    pub const fn appendable(members: &[Member]) -> Self {
        let size = Self::of(members).size.next_multiple_of(8);
        Self { size, align: 8, links: true, dense: false, any: false }
    }

    /// The layout of a final struct with these members.
    pub const fn of(members: &[Member]) -> Self {
        let mut all = Self { size: 0, align: 1, links: false, dense: true, any: true };
        let mut i = 0;
        assert!(!members.is_empty(), "a struct of a region has at least one member");
        while i < members.len() {
            let Member { offset, size, align, links, dense, any } = members[i];
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
            i += 1;
        }
        let size = all.size.next_multiple_of(all.align);
        all.dense &= size == all.size;
        all.size = size;
        all
    }

    /// Fails to compile if a value of the struct is not the same within regions and outside.
    pub const fn assert_plain<T>(&self) {
        assert!(self.dense && self.size as usize == size_of::<T>(), "a plain struct has no padding");
        assert!(self.align as usize == align_of::<T>(), "a plain struct is aligned as its members are");
    }
}
