//! What structs in regions are made of: fields, and what is done with all members of a struct.
//!
//! A struct describes its members once, in [`Struct::visit_members`]. All functions of [`Stored`] for structs
//! are visitors of these members.

use std::convert::Infallible;
use std::fmt;

use situ_layout::{Invalid, Message};

use crate::convert::{BeginWith, Copied, LoadInto, StoreFrom};
use crate::error::Full;
use crate::image::check::Check;
use crate::image::lines::{Facts, Lines};
use crate::image::versions::Version;
use crate::image::writer::Writer;
use crate::memory::blocks::MemoryMut;
use crate::memory::slide::Slide;
use crate::packed::handle::Packed;
use crate::packed::unpack::Unpacker;
use crate::value::equal_walk::Equal;
use crate::value::handle::Ref;
use crate::value::layout::{Field, PackedPlaces, StructLayout};
use crate::value::plain::Plain;
use crate::value::show::Shown;
use crate::value::show_walk::{ShowWalk, short};
use crate::value::stored::Stored;

/// A type that lies in regions and can be published: the region form of a generated structure.
pub trait RegionMessage: Stored + LoadInto<Self::Message> + StoreFrom<Self::Message> {
    /// The same structure outside of regions, on the heap.
    type Message: Message;
    /// The fully qualified name, such as `sensor_msgs::msg::Image`.
    const NAME: &'static str = <Self::Message as Message>::NAME;
    /// The canonical schema: see [`Message::SCHEMA`].
    const SCHEMA: &'static str = <Self::Message as Message>::SCHEMA;
}

impl<T: Stored> Field<T> {
    /// Fails to compile if the type is not plain, or the member of `S` lies elsewhere.
    pub const fn assert_plain<S>(self, _: fn(&S) -> &T, offset: usize)
    where
        T: Plain,
    {
        assert!(self.offset as usize == offset, "a plain struct has the offsets of the schema");
    }

    /// Writes the lines of the structs that the type needs.
    pub fn needed(self, lines: &mut Lines) {
        T::needed(lines);
    }

    /// Writes a member that does not depend on the storage into a struct that begins at `at`.
    #[inline(always)]
    pub fn put<V>(self, memory: MemoryMut<'_>, at: u32, value: &V)
    where
        T: Copied<V>,
    {
        T::put(memory, at + self.offset, value);
    }

    /// Reads a member that does not depend on the storage.
    #[inline(always)]
    pub fn get<S: Stored, V>(self, from: Ref<'_, S>) -> V
    where
        T: Copied<V>,
    {
        T::get(from.part(self.offset))
    }

    /// Reads the value of a union's case, if both unions hold it.
    pub fn get_case<V>(self, from: Option<Ref<'_, T>>, to: Option<&mut V>)
    where
        T: Copied<V>,
    {
        if let (Some(from), Some(to)) = (from, to) {
            *to = T::get(from);
        }
    }
}

impl<'r, S: Struct> Packed<'r, S> {
    /// A member of the struct, for the accessors that [`region_struct`](crate::region_struct) makes.
    #[doc(hidden)]
    #[inline]
    pub fn member<M: Stored, const INDEX: usize>(self) -> Packed<'r, M> {
        Packed::new(self.image(), self.at() + const { S::LAYOUT.packed_place(INDEX) })
    }
}

/// A struct whose members are described.
pub trait Struct: Sized + 'static {
    /// The fully qualified name.
    const NAME: &'static str;
    /// The layout that the members give.
    const LAYOUT: StructLayout;
    /// Whether members can be appended. Apart from the layout, which for recursive types depends on it.
    const IS_APPENDABLE: bool = false;
    /// The hash of the schema that declares the struct; 0 if none does.
    const HASH: u64 = 0;

    /// The facts of the struct as a root, in a static variable of its own.
    fn own_facts() -> &'static Facts;
    /// Visits the members in the order of their offsets.
    fn visit_members<V: MemberVisitor>(visitor: &mut V) -> Result<(), V::Error>;
}

/// What is done with each member of a struct.
pub trait MemberVisitor {
    /// Ends the visit.
    type Error;
    /// Visits a member that begins with the default of its type.
    fn member<T: Stored>(&mut self, field: Field<T>) -> Result<(), Self::Error>;

    /// Visits a member that begins with a default of its own.
    #[inline(always)]
    fn member_or<T: BeginWith<V>, V>(&mut self, field: Field<T>, _: V) -> Result<(), Self::Error> {
        self.member(field)
    }
}

/// Writes the lines of the members.
struct WriteLines<'a>(&'a mut Lines, &'a str);
impl MemberVisitor for WriteLines<'_> {
    type Error = Infallible;
    fn member<T: Stored>(&mut self, field: Field<T>) -> Result<(), Infallible> {
        self.0.member::<T>(self.1, field.name, field.offset);
        Ok(())
    }
}

/// Writes the lines of the structs that the members need.
struct Needed<'a>(&'a mut Lines);
impl MemberVisitor for Needed<'_> {
    type Error = Infallible;
    fn member<T: Stored>(&mut self, _: Field<T>) -> Result<(), Infallible> {
        T::needed(self.0);
        Ok(())
    }
}

impl MemberVisitor for Version {
    type Error = Infallible;
    fn member<T: Stored>(&mut self, field: Field<T>) -> Result<(), Infallible> {
        Version::member::<T>(self, field.name, field.offset);
        Ok(())
    }
}

/// Begins each member with its default.
struct Begin<'a>(MemoryMut<'a>, u32);
impl MemberVisitor for Begin<'_> {
    type Error = Infallible;
    #[inline(always)]
    fn member<T: Stored>(&mut self, field: Field<T>) -> Result<(), Infallible> {
        T::begin(self.0.reborrow(), self.1 + field.offset);
        Ok(())
    }

    #[inline(always)]
    fn member_or<T: BeginWith<V>, V>(&mut self, field: Field<T>, default: V) -> Result<(), Infallible> {
        T::begin(self.0.reborrow(), self.1 + field.offset);
        T::begin_with(self.0.reborrow(), self.1 + field.offset, default);
        Ok(())
    }
}

/// With the distance that the struct was moved.
struct Moved<'a>(MemoryMut<'a>, u32, u32);
impl MemberVisitor for Moved<'_> {
    type Error = Infallible;
    #[inline(always)]
    fn member<T: Stored>(&mut self, field: Field<T>) -> Result<(), Infallible> {
        T::moved(self.0.reborrow(), self.1 + field.offset, self.2);
        Ok(())
    }
}

struct Slid<'a, 's>(&'a mut Slide<'s>, u32);
impl MemberVisitor for Slid<'_, '_> {
    type Error = Infallible;
    #[inline(always)]
    fn member<T: Stored>(&mut self, field: Field<T>) -> Result<(), Infallible> {
        T::slide(self.0, self.1 + field.offset);
        Ok(())
    }
}

struct Release<'a>(MemoryMut<'a>, u32);
impl MemberVisitor for Release<'_> {
    type Error = Infallible;
    #[inline(always)]
    fn member<T: Stored>(&mut self, field: Field<T>) -> Result<(), Infallible> {
        T::release(self.0.reborrow(), self.1 + field.offset);
        Ok(())
    }
}

/// Writes the members of a final struct.
struct Write<'a, 'w> {
    writer: &'a mut Writer<'w>,
    from: u32,
    to: u32,
}
impl MemberVisitor for Write<'_, '_> {
    type Error = Infallible;
    #[inline(always)]
    fn member<T: Stored>(&mut self, field: Field<T>) -> Result<(), Infallible> {
        T::write(self.writer, self.from + field.offset, self.to + field.offset);
        Ok(())
    }
}

/// Writes the first members of an appendable struct, and the defaults of the others.
struct WriteFirst<'a, 'w> {
    all: Write<'a, 'w>,
    /// How many members are still to be written.
    members: u32,
}
impl WriteFirst<'_, '_> {
    /// Whether the image has the next member.
    fn has_next(&mut self) -> bool {
        let next = self.members.checked_sub(1);
        self.members = next.unwrap_or(0);
        next.is_some()
    }
}
impl MemberVisitor for WriteFirst<'_, '_> {
    type Error = Infallible;
    fn member<T: Stored>(&mut self, field: Field<T>) -> Result<(), Infallible> {
        if self.has_next() {
            return self.all.member(field);
        }
        self.all.writer.default_value::<T>(self.all.to + field.offset, |_, _| {});
        Ok(())
    }

    fn member_or<T: BeginWith<V>, V>(&mut self, field: Field<T>, default: V) -> Result<(), Infallible> {
        if self.has_next() {
            return self.all.member(field);
        }
        let to = self.all.to + field.offset;
        self.all.writer.default_value::<T>(to, |memory, at| T::begin_with(memory, at, default));
        Ok(())
    }
}

/// Checks the members of a struct at `at`, and the padding between them.
struct CheckMembers<'a, 'c, const CANONICAL: bool> {
    check: &'a mut Check<'c, CANONICAL>,
    at: u32,
    /// Where the previous member ends.
    end: u32,
}
impl<const CANONICAL: bool> MemberVisitor for CheckMembers<'_, '_, CANONICAL> {
    type Error = Invalid;
    #[inline(always)]
    fn member<T: Stored>(&mut self, field: Field<T>) -> Result<(), Invalid> {
        let at = self.at + field.offset;
        self.check.zero(self.end, at)?;
        T::check(self.check, at).map_err(|error| error.in_member(field.name))?;
        self.end = at + T::SIZE;
        Ok(())
    }
}

/// Checks the first members of an appendable struct.
struct CheckFirst<'a, 'c, const CANONICAL: bool> {
    all: CheckMembers<'a, 'c, CANONICAL>,
    /// How many members the image has, and how many were visited.
    members: u32,
    visited: u32,
}
impl<const CANONICAL: bool> MemberVisitor for CheckFirst<'_, '_, CANONICAL> {
    type Error = Invalid;
    fn member<T: Stored>(&mut self, field: Field<T>) -> Result<(), Invalid> {
        self.visited += 1;
        if self.visited <= self.members { self.all.member(field) } else { Ok(()) }
    }
}

/// Writes the members into a packed image.
struct Pack<'a, 'w> {
    writer: &'a mut Writer<'w>,
    from: u32,
    to: u32,
    places: PackedPlaces,
}
impl MemberVisitor for Pack<'_, '_> {
    type Error = Infallible;
    #[inline(always)]
    fn member<T: Stored>(&mut self, field: Field<T>) -> Result<(), Infallible> {
        let to = self.to + self.places.next(T::PACKED_SIZE, T::PACKED_ALIGN);
        T::pack(self.writer, self.from + field.offset, to);
        Ok(())
    }
}

/// Checks the first members of a struct of a packed image.
struct CheckPacked<'a, 'c, const CANONICAL: bool> {
    check: &'a mut Check<'c, CANONICAL>,
    at: u32,
    places: PackedPlaces,
    /// How many members the image has, and how many were visited.
    members: u32,
    visited: u32,
    /// The size of all members that were visited, if there is no padding between them; else their end.
    end: u32,
    is_appendable: bool,
}
impl<const CANONICAL: bool> MemberVisitor for CheckPacked<'_, '_, CANONICAL> {
    type Error = Invalid;
    #[inline(always)]
    fn member<T: Stored>(&mut self, field: Field<T>) -> Result<(), Invalid> {
        self.visited += 1;
        if self.visited > self.members {
            return Ok(());
        }
        let place = self.places.next(T::PACKED_SIZE, T::PACKED_ALIGN);
        if self.is_appendable {
            self.check.zero(self.at + self.end, self.at + place)?;
            self.end = place;
        }
        self.end += T::PACKED_SIZE;
        T::check_packed(self.check, self.at + place).map_err(|error| error.in_member(field.name))
    }
}

/// Reads the first members of a struct of a packed image.
struct Unpack<'a, 'i, 'm> {
    unpacker: &'a mut Unpacker<'i>,
    memory: MemoryMut<'m>,
    at: u32,
    from: u32,
    places: PackedPlaces,
    /// How many members are still to be read.
    members: u32,
}
impl MemberVisitor for Unpack<'_, '_, '_> {
    type Error = Full;
    #[inline(always)]
    fn member<T: Stored>(&mut self, field: Field<T>) -> Result<(), Full> {
        let Some(left) = self.members.checked_sub(1) else { return Ok(()) };
        self.members = left;
        let from = self.from + self.places.next(T::PACKED_SIZE, T::PACKED_ALIGN);
        T::unpack(self.unpacker, self.memory.reborrow(), self.at + field.offset, from)
    }
}

/// Prints the members of a struct.
struct ShowMembers<'r, 'w, 'd, 'f>(&'w ShowWalk<'r>, u32, fmt::DebugStruct<'d, 'f>);
impl MemberVisitor for ShowMembers<'_, '_, '_, '_> {
    type Error = Infallible;
    fn member<T: Stored>(&mut self, field: Field<T>) -> Result<(), Infallible> {
        self.2.field(field.name, &Shown::<T>::new(self.0, self.1 + field.offset));
        Ok(())
    }
}

/// Compares the members of two structs.
struct EqualMembers<'e, 'a, 'b> {
    equal: &'e mut Equal<'a, 'b>,
    a: u32,
    b: u32,
    so_far: bool,
}

impl MemberVisitor for EqualMembers<'_, '_, '_> {
    type Error = Infallible;
    fn member<T: Stored>(&mut self, field: Field<T>) -> Result<(), Infallible> {
        self.so_far = self.so_far && T::equals(self.equal, self.a + field.offset, self.b + field.offset);
        Ok(())
    }
}

/// Visits all members of `S`.
#[inline(always)]
fn visit<S: Struct>(mut visitor: impl MemberVisitor<Error = Infallible>) {
    let Ok(()) = S::visit_members(&mut visitor);
}

impl<S: Struct> Stored for S {
    const SIZE: u32 = S::LAYOUT.size;
    const ALIGN: u32 = S::LAYOUT.align;
    const LINKS: bool = S::LAYOUT.links;
    const DENSE: bool = S::LAYOUT.dense;
    const ANY: bool = S::LAYOUT.any;
    const SCHEMA_HASH: u64 = S::HASH;
    const APPENDABLE: bool = S::IS_APPENDABLE;
    const NAMED: bool = true;
    const PACKED_SIZE: u32 = S::LAYOUT.packed_size;
    const PACKED_ALIGN: u32 = S::LAYOUT.packed_align;

    fn facts() -> &'static Facts {
        S::own_facts()
    }

    fn kind() -> String {
        S::NAME.to_owned()
    }

    fn needed(lines: &mut Lines) {
        let Some(name) = lines.begin_struct::<S>() else { return };
        if !Self::APPENDABLE {
            lines.line(&name, 0, Self::SIZE, Self::ALIGN, "struct");
            visit::<S>(WriteLines(lines, &name));
            return visit::<S>(Needed(lines));
        }
        lines.line(&name, 0, 0, 0, "appendable");
        let version = || {
            let mut version = Version::of::<S>(S::NAME);
            let Ok(()) = S::visit_members(&mut version);
            version
        };
        if lines.version(version) {
            visit::<S>(Needed(lines));
        }
    }

    fn begin(memory: MemoryMut<'_>, at: u32) {
        visit::<S>(Begin(memory, at));
    }

    fn moved(memory: MemoryMut<'_>, at: u32, distance: u32) {
        visit::<S>(Moved(memory, at, distance));
    }

    fn slide(slide: &mut Slide<'_>, at: u32) {
        visit::<S>(Slid(slide, at));
    }

    fn show(walk: &ShowWalk<'_>, at: u32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut members = ShowMembers(walk, at, f.debug_struct(short(S::NAME)));
        let Ok(()) = S::visit_members(&mut members);
        members.2.finish()
    }

    fn equals(equal: &mut Equal<'_, '_>, a: u32, b: u32) -> bool {
        let mut members = EqualMembers { equal, a, b, so_far: true };
        let Ok(()) = S::visit_members(&mut members);
        members.so_far
    }

    fn release(memory: MemoryMut<'_>, at: u32) {
        visit::<S>(Release(memory, at));
    }

    #[inline]
    fn write(writer: &mut Writer<'_>, from: u32, to: u32) {
        let members = if Self::APPENDABLE { writer.members_of::<S>() } else { u32::MAX };
        let all = Write { writer, from, to };
        if Self::APPENDABLE {
            visit::<S>(WriteFirst { all, members });
        } else {
            visit::<S>(all);
        }
    }

    #[inline]
    fn check<const CANONICAL: bool>(check: &mut Check<'_, CANONICAL>, at: u32) -> Result<(), Invalid> {
        if !Self::APPENDABLE {
            let mut all = CheckMembers { check, at, end: at };
            S::visit_members(&mut all)?;
            return all.check.zero(all.end, at + Self::SIZE);
        }
        let (members, size) = check.version_of::<S>(at)?;
        let all = CheckMembers { check, at, end: at };
        let mut first = CheckFirst { all, members, visited: 0 };
        S::visit_members(&mut first)?;
        // The image may have other members after those that this program knows.
        if members <= first.visited || size == Self::SIZE {
            first.all.check.zero(first.all.end, at + size)
        } else {
            Ok(())
        }
    }

    #[inline]
    fn pack(writer: &mut Writer<'_>, from: u32, to: u32) {
        if !Self::LINKS {
            return Self::write(writer, from, to);
        }
        visit::<S>(Pack { writer, from, to, places: PackedPlaces::of(&S::LAYOUT) });
    }

    #[inline]
    fn check_packed<const CANONICAL: bool>(check: &mut Check<'_, CANONICAL>, at: u32) -> Result<(), Invalid> {
        if !Self::LINKS {
            return Self::check(check, at);
        }
        let (members, size) =
            if Self::APPENDABLE { check.packed_version::<S>(at)? } else { (u32::MAX, Self::PACKED_SIZE) };
        let mut all = CheckPacked {
            check,
            at,
            places: PackedPlaces::of(&S::LAYOUT),
            members,
            visited: 0,
            end: 0,
            is_appendable: Self::APPENDABLE,
        };
        S::visit_members(&mut all)?;
        // The image may have other members after those that this program knows.
        if members <= all.visited || size == Self::PACKED_SIZE {
            all.check.zero(at + all.end, at + size)
        } else {
            Ok(())
        }
    }

    #[inline]
    fn unpack(
        unpacker: &mut Unpacker<'_>,
        MemoryMut(memory): MemoryMut<'_>,
        at: u32,
        from: u32,
    ) -> Result<(), Full> {
        if !Self::LINKS {
            unpacker.copy(memory, from, at, Self::SIZE);
            return Ok(());
        }
        let members = if Self::APPENDABLE { unpacker.members_of::<S>() } else { u32::MAX };
        let (memory, places) = (MemoryMut(memory), PackedPlaces::of(&S::LAYOUT));
        S::visit_members(&mut Unpack { unpacker, memory, at, from, places, members })
    }
}
