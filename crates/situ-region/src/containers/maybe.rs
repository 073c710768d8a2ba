//! A value within a region that may be absent, in place; and a link that owns a value elsewhere in the
//! region.

use std::fmt;
use std::marker::PhantomData;

use situ_layout::Invalid;

use crate::error::Full;
use crate::image::check::{Check, CheckBehind};
use crate::image::lines::Lines;
use crate::image::writer::{WriteBehind, Writer};
use crate::memory::blocks::{Memory, MemoryMut, ReleaseBehind};
use crate::memory::granule::{target, u32_at};
use crate::memory::later::Place;
use crate::memory::slide::{Slide, SlideBehind};
use crate::packed::handle::Packed;
use crate::packed::links::{self, Optional};
use crate::packed::unpack::Unpacker;
use crate::value::assign::Assign;
use crate::value::equal_walk::{Equal, EqualBehind};
use crate::value::handle::{Mut, Ref};
use crate::value::layout::LINK;
use crate::value::show::{Shown, show_link};
use crate::value::show_walk::ShowWalk;
use crate::value::stored::{Stored, fixed};

/// A value or none, in place. The type is only a name; see the methods of [`Ref`] and [`Mut`].
pub struct Maybe<T>(PhantomData<fn() -> T>);

impl<T: Stored> Maybe<T> {
    /// The offset of the value.
    const VALUE: u32 = if T::ALIGN > 8 { T::ALIGN } else { 8 };
}

impl<T: Stored> Stored for Maybe<T> {
    const SIZE: u32 = {
        fixed::<T>();
        (Self::VALUE + T::SIZE).next_multiple_of(Self::ALIGN)
    };
    const ALIGN: u32 = if T::ALIGN > 4 { T::ALIGN } else { 4 };
    const LINKS: bool = true;
    const DENSE: bool = false;
    const ANY: bool = false;
    const PACKED_SIZE: u32 = Optional::<T>::SIZE;
    const PACKED_ALIGN: u32 = Optional::<T>::ALIGN;

    fn kind() -> String {
        "optional".to_owned()
    }
    fn inner(lines: &mut Lines, path: &str) {
        lines.value::<T>(&format!("{path}?"), Self::VALUE);
    }
    fn needed(lines: &mut Lines) {
        T::needed(lines);
    }
    fn begin(MemoryMut(memory): MemoryMut<'_>, at: u32) {
        memory.set_u32(at + 4, at.wrapping_neg());
    }
    fn moved(MemoryMut(memory): MemoryMut<'_>, at: u32, distance: u32) {
        Self::begin(MemoryMut(memory), at);
        if memory.bytes()[at as usize] != 0 {
            T::moved(MemoryMut(memory), at + Self::VALUE, distance);
        }
    }
    fn slide(slide: &mut Slide<'_>, at: u32) {
        slide.back_link(at, at + 4);
        if slide.image()[at as usize] != 0 {
            T::slide(slide, at + Self::VALUE);
        }
    }
    fn release(MemoryMut(memory): MemoryMut<'_>, at: u32) {
        if memory.bytes()[at as usize] != 0 {
            T::release(MemoryMut(memory), at + Self::VALUE);
            memory.zero(at + Self::VALUE, T::SIZE);
            memory.zero(at, 1);
        }
    }
    fn write(writer: &mut Writer<'_>, from: u32, to: u32) {
        writer.put_u32(to + 4, to.wrapping_neg());
        if writer.image()[from as usize] != 0 {
            writer.put_byte(to, 1);
            T::write(writer, from + Self::VALUE, to + Self::VALUE);
        }
    }
    fn pack(writer: &mut Writer<'_>, from: u32, to: u32) {
        if writer.image()[from as usize] != 0 {
            links::pack_maybe::<T>(writer, from + Self::VALUE, to);
        }
    }
    fn check_packed<const CANONICAL: bool>(check: &mut Check<'_, CANONICAL>, at: u32) -> Result<(), Invalid> {
        links::check_maybe::<T, CANONICAL>(check, at)
    }
    fn unpack(
        unpacker: &mut Unpacker<'_>,
        MemoryMut(memory): MemoryMut<'_>,
        at: u32,
        from: u32,
    ) -> Result<(), Full> {
        let mut maybe = Mut::<Self>::new(memory, at);
        match links::value_of::<T>(unpacker.image(), from) {
            Some(value) => {
                let place = maybe.fill().at();
                T::unpack(unpacker, MemoryMut(memory), place, value)
            }
            None => {
                maybe.clear();
                Ok(())
            }
        }
    }
    #[inline]
    fn check<const CANONICAL: bool>(check: &mut Check<'_, CANONICAL>, at: u32) -> Result<(), Invalid> {
        let front = &check.image()[at as usize..at as usize + 8];
        let (flag, back) = (u32_at(front, 0), u32_at(front, 4));
        // Nearly always, the three bytes after the flag are zero.
        if flag > 1 || back != at.wrapping_neg() {
            check.flag(at)?;
            check.back_link(at, at + 4)?;
            check.zero(at + 1, at + 4)?;
        }
        check.zero(at + 8, at + Self::VALUE)?;
        let mut end = at + Self::VALUE;
        if flag as u8 != 0 {
            T::check(check, end)?;
            end += T::SIZE;
        }
        check.zero(end, at + Self::SIZE)
    }
    fn show(walk: &ShowWalk<'_>, at: u32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if walk.image()[at as usize] == 0 {
            return f.write_str("None");
        }
        f.debug_tuple("Some").field(&Shown::<T>::new(walk, at + Self::VALUE)).finish()
    }
    fn equals(equal: &mut Equal<'_, '_>, a: u32, b: u32) -> bool {
        match (equal.a()[a as usize] != 0, equal.b()[b as usize] != 0) {
            (true, true) => T::equals(equal, a + Self::VALUE, b + Self::VALUE),
            (ours, theirs) => ours == theirs,
        }
    }
}

impl<T: Stored, V> Assign<Option<V>> for Maybe<T>
where
    T: Assign<V>,
{
    fn assign(MemoryMut(memory): MemoryMut<'_>, at: u32, value: Option<V>) -> Result<(), Full> {
        let mut maybe = Mut::<Self>::new(memory, at);
        match value {
            None => maybe.clear(),
            Some(value) => {
                let is_new = maybe.as_ref().get().is_none();
                let made = maybe.fill().set(value);
                if made.is_err() && is_new {
                    maybe.clear();
                }
                return made;
            }
        }
        Ok(())
    }
}

impl<'r, T: Stored> Ref<'r, Maybe<T>> {
    /// The value, if there is one.
    #[inline]
    pub fn get(self) -> Option<Ref<'r, T>> {
        (self.image()[self.at() as usize] != 0).then(|| self.part(Maybe::<T>::VALUE))
    }
}

impl<'r, T: Stored> Packed<'r, Maybe<T>> {
    /// The value, if there is one.
    #[inline]
    pub fn get(self) -> Option<Packed<'r, T>> {
        links::value_of::<T>(self.image(), self.at()).map(|at| Packed::new(self.image(), at))
    }
}

impl<T: Stored> Mut<'_, Maybe<T>> {
    /// The value, if there is one, as a mutable handle.
    #[inline]
    pub fn get_mut(&mut self) -> Option<Mut<'_, T>> {
        self.as_ref().get().is_some().then(|| self.part(Maybe::<T>::VALUE))
    }

    /// The value, as a mutable handle. If there is none, a default value is made.
    pub fn fill(&mut self) -> Mut<'_, T> {
        let at = self.at();
        if self.as_ref().get().is_none() {
            let memory = self.memory();
            memory.bytes_mut()[at as usize] = 1;
            // In an adopted live image, the bytes of an absent value may be anything.
            memory.zero(at + Maybe::<T>::VALUE, T::SIZE);
            T::begin(MemoryMut(memory), at + Maybe::<T>::VALUE);
        }
        self.part(Maybe::<T>::VALUE)
    }

    /// Removes the value, if there is one.
    pub fn clear(&mut self) {
        let at = self.at();
        Maybe::<T>::release(MemoryMut(self.memory()), at);
    }
}

/// A link that owns one value, or none; trees are built from it. The type is only a name; see the methods of
/// [`Ref`] and [`Mut`].
pub struct Unique<T>(PhantomData<fn() -> T>);

impl<T: Stored> Stored for Unique<T> {
    const SIZE: u32 = 8;
    const ALIGN: u32 = 4;
    const LINKS: bool = true;
    const DENSE: bool = false;
    const ANY: bool = false;
    const PACKED_SIZE: u32 = LINK;
    const PACKED_ALIGN: u32 = 1;

    fn kind() -> String {
        "unique".to_owned()
    }
    fn inner(lines: &mut Lines, path: &str) {
        lines.pointee::<T>(&format!("{path}*"), 0);
    }
    fn needed(lines: &mut Lines) {
        T::needed(lines);
    }
    fn begin(MemoryMut(memory): MemoryMut<'_>, at: u32) {
        memory.set_u32(at + 4, at.wrapping_neg());
    }
    fn moved(MemoryMut(memory): MemoryMut<'_>, at: u32, distance: u32) {
        let link = memory.u32(at);
        if link != 0 {
            memory.set_u32(at, link.wrapping_add(distance));
        }
        Self::begin(MemoryMut(memory), at);
    }
    fn slide(slide: &mut Slide<'_>, at: u32) {
        slide.back_link(at, at + 4);
        if let Some(block) = slide.link(at) {
            slide.behind::<One<T>>([block, 0, 0]);
        }
    }
    fn release(MemoryMut(memory): MemoryMut<'_>, at: u32) {
        if memory.u32(at) != 0 {
            let block = target(memory.bytes(), at);
            memory.set_u32(at, 0);
            memory.release::<One<T>>([block, 0, 0]);
        }
    }
    fn write(writer: &mut Writer<'_>, from: u32, to: u32) {
        writer.put_u32(to + 4, to.wrapping_neg());
        let value = target(writer.image(), from);
        if value != from {
            let block = writer.place(to, u64::from(T::SIZE));
            writer.linked::<One<T>>([value, block, 0]);
        }
    }
    fn pack(writer: &mut Writer<'_>, from: u32, to: u32) {
        links::pack_unique::<T>(writer, from, to);
    }
    fn check_packed<const CANONICAL: bool>(check: &mut Check<'_, CANONICAL>, at: u32) -> Result<(), Invalid> {
        links::check_unique::<T, CANONICAL>(check, at)
    }
    fn unpack(
        unpacker: &mut Unpacker<'_>,
        MemoryMut(memory): MemoryMut<'_>,
        at: u32,
        from: u32,
    ) -> Result<(), Full> {
        let value = target(unpacker.image(), from);
        if value == from {
            return Ok(());
        }
        let place = Mut::<Self>::new(memory, at).fill()?.at();
        unpacker.value::<T>(memory, value, place)
    }
    fn check<const CANONICAL: bool>(check: &mut Check<'_, CANONICAL>, at: u32) -> Result<(), Invalid> {
        check.back_link(at, at + 4)?;
        if target(check.image(), at) == at {
            return Ok(());
        }
        let bytes = u64::from(check.size_of::<T>(at)?);
        let block = check.claim(at, bytes, bytes)?;
        check.behind::<One<T>>(at, [block, 0, 0])
    }
    fn show(walk: &ShowWalk<'_>, at: u32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = target(walk.image(), at);
        show_link::<T>(walk, Some(value).filter(|value| *value != at), f)
    }
    fn equals(equal: &mut Equal<'_, '_>, a: u32, b: u32) -> bool {
        let [ours, theirs] = [target(equal.a(), a), target(equal.b(), b)];
        match (ours != a, theirs != b) {
            (true, true) => equal.behind::<One<T>>([ours, theirs, 0]),
            (ours, theirs) => ours == theirs,
        }
    }
}

/// The value behind a unique or shared link, some bytes into its block.
pub(crate) struct One<T>(PhantomData<fn() -> T>);

impl<T: Stored> CheckBehind for One<T> {
    fn check<const CANONICAL: bool>(
        check: &mut Check<'_, CANONICAL>,
        [at, ..]: Place,
    ) -> Result<(), Invalid> {
        T::check(check, at)
    }
}

impl<T: Stored> WriteBehind for One<T> {
    fn write(writer: &mut Writer<'_>, [from, to, _]: Place) {
        T::write(writer, from, to);
    }
}

impl<T: Stored> EqualBehind for One<T> {
    fn equals(equal: &mut Equal<'_, '_>, [a, b, _]: Place) -> bool {
        T::equals(equal, a, b)
    }
}

impl<T: Stored> SlideBehind for One<T> {
    fn slide(slide: &mut Slide<'_>, [at, ..]: Place) {
        T::slide(slide, at);
    }
}

impl<T: Stored> ReleaseBehind for One<T> {
    fn release(memory: &mut Memory, [block, into, _]: Place) {
        T::release(MemoryMut(memory), block + into);
        memory.free(block, u64::from(into) + u64::from(T::SIZE));
    }
}

impl<'r, T: Stored> Ref<'r, Unique<T>> {
    /// The value, if there is one.
    #[inline]
    pub fn get(self) -> Option<Ref<'r, T>> {
        let at = target(self.image(), self.at());
        (at != self.at()).then(|| Ref::new(self.image(), at))
    }
}

impl<'r, T: Stored> Packed<'r, Unique<T>> {
    /// The value, if there is one.
    #[inline]
    pub fn get(self) -> Option<Packed<'r, T>> {
        links::linked(self.image(), self.at())
    }
}

impl<T: Stored> Mut<'_, Unique<T>> {
    /// The value, if there is one, as a mutable handle.
    #[inline]
    pub fn get_mut(&mut self) -> Option<Mut<'_, T>> {
        let at = target(self.as_ref().image(), self.at());
        (at != self.at()).then(|| Mut::new(self.memory(), at))
    }

    /// The value, as a mutable handle. If there is none, a default value is made.
    pub fn fill(&mut self) -> Result<Mut<'_, T>, Full> {
        let at = self.at();
        let mut block = target(self.memory().bytes(), at);
        if block == at {
            block = self.memory().allocate_for(at, u64::from(T::SIZE))?;
            T::begin(MemoryMut(self.memory()), block);
            self.memory().set_u32(at, block.wrapping_sub(at));
        }
        Ok(Mut::new(self.memory(), block))
    }

    /// Removes the value, if there is one.
    pub fn clear(&mut self) {
        let at = self.at();
        Unique::<T>::release(MemoryMut(self.memory()), at);
    }
}
