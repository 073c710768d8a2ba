//! Several links to one value, with a count of the links. Weak links to it are in `weak`.

use std::fmt;
use std::marker::PhantomData;

use situ_layout::Invalid;

use crate::containers::maybe::One;
use crate::error::{Full, ShareError};
use crate::image::check::Check;
use crate::image::lines::Lines;
use crate::image::writer::Writer;
use crate::memory::blocks::{Memory, MemoryMut, ReleaseBehind};
use crate::memory::granule::{GRANULE, target, u32_at};
use crate::memory::later::Place;
use crate::memory::slide::Slide;
use crate::packed::handle::Packed;
use crate::packed::links;
use crate::packed::unpack::Unpacker;
use crate::value::equal_walk::Equal;
use crate::value::handle::{Mut, Ref};
use crate::value::layout::LINK;
use crate::value::show::show_shared;
use crate::value::show_walk::ShowWalk;
use crate::value::stored::Stored;

/// A link to a value to which other links may lead as well, or to none. The value is released with its last
/// link. The type is only a name; see the methods of [`Ref`] and [`Mut`], and [`Mut::share`].
pub struct Shared<T>(PhantomData<fn() -> T>);

impl<T: Stored> Shared<T> {
    /// The offset of the value in its block, after the numbers of links and of weak links.
    pub(crate) const VALUE: u32 = if T::ALIGN > 8 { T::ALIGN } else { 8 };

    fn bytes(size: u32) -> u64 {
        u64::from(Self::VALUE) + u64::from(size)
    }
}

impl<T: Stored> Stored for Shared<T> {
    const SIZE: u32 = 8;
    const ALIGN: u32 = 4;
    const LINKS: bool = true;
    const DENSE: bool = false;
    const ANY: bool = false;
    const PACKED_SIZE: u32 = LINK;
    const PACKED_ALIGN: u32 = 1;

    fn kind() -> String {
        "shared".to_owned()
    }
    fn inner(lines: &mut Lines, path: &str) {
        lines.pointee::<T>(&format!("{path}&"), Self::VALUE);
    }
    fn needed(lines: &mut Lines) {
        lines.share();
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
        if let Some(block) = slide.link(at)
            && slide.meets(block)
        {
            slide.behind::<One<T>>([block + Self::VALUE, 0, 0]);
        }
    }
    fn release(MemoryMut(memory): MemoryMut<'_>, at: u32) {
        if memory.u32(at) == 0 {
            return;
        }
        let block = target(memory.bytes(), at);
        memory.set_u32(at, 0);
        let links = memory.u32(block);
        if links > 1 {
            memory.set_u32(block, links - 1);
        } else {
            memory.release::<Counted<T>>([block, 0, 0]);
        }
    }
    fn write(writer: &mut Writer<'_>, from: u32, to: u32) {
        writer.put_u32(to + 4, to.wrapping_neg());
        let old = target(writer.image(), from);
        if old == from {
            return;
        }
        if let Some(new) = writer.shared.get(&old).copied() {
            writer.put_u32(to, new.wrapping_sub(to));
            writer.count_link(new);
            return;
        }
        let new = writer.place(to, Self::bytes(T::SIZE));
        writer.shared.insert(old, new);
        writer.count_link(new);
        writer.linked::<One<T>>([old + Self::VALUE, new + Self::VALUE, 0]);
    }
    fn pack(writer: &mut Writer<'_>, from: u32, to: u32) {
        links::pack_shared::<T>(writer, from, to, Self::VALUE);
    }
    fn check_packed<const CANONICAL: bool>(check: &mut Check<'_, CANONICAL>, at: u32) -> Result<(), Invalid> {
        links::check_shared::<T, CANONICAL>(check, at)
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
        if let Some(block) = unpacker.shared.get(&value).copied() {
            let links = memory.u32(block);
            memory.set_u32(block, links + 1);
            memory.set_u32(at, block.wrapping_sub(at));
            return Ok(());
        }
        let place = Mut::<Self>::new(memory, at).fill()?.at();
        unpacker.shared.insert(value, place - Self::VALUE);
        unpacker.value::<T>(memory, value, place)
    }
    fn check<const CANONICAL: bool>(check: &mut Check<'_, CANONICAL>, at: u32) -> Result<(), Invalid> {
        check.back_link(at, at + 4)?;
        let block = target(check.image(), at);
        if block == at || check.shared_again::<T>(at, block)? {
            return Ok(());
        }
        let bytes = Self::bytes(check.size_of::<T>(at)?);
        let block = check.claim(at, bytes, bytes)?;
        check.zero(block + 8, block + Self::VALUE)?;
        let counts = [u32_at(check.image(), block), u32_at(check.image(), block + 4)];
        check.shared_first::<T, One<T>>(at, (block, counts), [block + Self::VALUE, 0, 0])
    }
    fn show(walk: &ShowWalk<'_>, at: u32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let block = target(walk.image(), at);
        show_shared::<T>(walk, (block != at).then(|| block.wrapping_add(Self::VALUE)), f)
    }
    fn equals(equal: &mut Equal<'_, '_>, a: u32, b: u32) -> bool {
        let [ours, theirs] = [target(equal.a(), a), target(equal.b(), b)];
        match (ours != a, theirs != b) {
            (true, true) => {
                equal.are_joined(ours, theirs)
                    || equal.behind::<One<T>>([ours + Self::VALUE, theirs + Self::VALUE, 0])
            }
            (ours, theirs) => ours == theirs,
        }
    }
}

/// The value of a shared block whose last link is gone.
struct Counted<T>(PhantomData<fn() -> T>);

impl<T: Stored> ReleaseBehind for Counted<T> {
    /// The block still counts one link meanwhile, so that weak links within the value do not free it.
    fn release(memory: &mut Memory, [block, ..]: Place) {
        T::release(MemoryMut(memory), block + Shared::<T>::VALUE);
        expire(memory, block, Shared::<T>::bytes(T::SIZE));
    }
}

/// Frees a block of `bytes` bytes whose value is released. If weak links lead to it, its first granule stays.
pub(crate) fn expire(memory: &mut Memory, block: u32, bytes: u64) {
    memory.set_u32(block, 0);
    if memory.u32(block + 4) == 0 {
        memory.free(block, bytes);
    } else {
        memory.zero(block + 8, GRANULE - 8);
        memory.shorten(block, bytes, u64::from(GRANULE));
    }
}

impl<'r, T: Stored> Ref<'r, Shared<T>> {
    /// The value, if there is one.
    pub fn get(self) -> Option<Ref<'r, T>> {
        let block = target(self.image(), self.at());
        (block != self.at()).then(|| Ref::new(self.image(), block + Shared::<T>::VALUE))
    }

    /// The number of links that lead to the value; 0 if there is none.
    pub fn links(self) -> usize {
        let block = target(self.image(), self.at());
        if block == self.at() { 0 } else { u32_at(self.image(), block) as usize }
    }

    /// Whether both links lead to the same value, or both to none.
    pub fn is_same(self, other: Self) -> bool {
        let leads = |link: Self| link.get().map(|value| (link.image().as_ptr(), value.at()));
        leads(self) == leads(other)
    }
}

impl<'r, T: Stored> Packed<'r, Shared<T>> {
    /// The value, if there is one.
    #[inline]
    pub fn get(self) -> Option<Packed<'r, T>> {
        links::linked(self.image(), self.at())
    }

    /// Whether both links lead to the same value, or both to none.
    pub fn is_same(self, other: Self) -> bool {
        let leads = |link: Self| link.get().map(|value| (link.image().as_ptr(), value.at()));
        leads(self) == leads(other)
    }
}

impl<T: Stored> Mut<'_, Shared<T>> {
    /// The value, if there is one, as a mutable handle. Changes are visible through all links to it.
    pub fn get_mut(&mut self) -> Option<Mut<'_, T>> {
        let block = target(self.as_ref().image(), self.at());
        (block != self.at()).then(|| Mut::new(self.memory(), block + Shared::<T>::VALUE))
    }

    /// The value, as a mutable handle. If there is none, a default value is made.
    pub fn fill(&mut self) -> Result<Mut<'_, T>, Full> {
        let at = self.at();
        let mut block = target(self.memory().bytes(), at);
        if block == at {
            block = self.memory().allocate_for(at, Shared::<T>::bytes(T::SIZE))?;
            self.memory().set_u32(block, 1);
            T::begin(MemoryMut(self.memory()), block + Shared::<T>::VALUE);
            self.memory().set_u32(at, block.wrapping_sub(at));
        }
        Ok(Mut::new(self.memory(), block + Shared::<T>::VALUE))
    }

    /// Makes the link lead nowhere. If it was the last link, the value is released.
    pub fn clear(&mut self) {
        let at = self.at();
        Shared::<T>::release(MemoryMut(self.memory()), at);
    }

    /// Makes the link lead to another link's value; see [`Mut::share`]. On an error, nothing changes.
    pub fn link(&mut self, to: Link<'_, T>) -> Result<(), ShareError> {
        let at = self.at();
        let memory = self.memory();
        let Some(block) = to.block_in(memory)? else {
            Shared::<T>::release(MemoryMut(memory), at);
            return Ok(());
        };
        if T::facts().shares && reaches::<T>(memory, block, at) {
            return Err(ShareError::Cycle);
        }
        let links = memory.u32(block).checked_add(1).ok_or(ShareError::TooMany)?;
        memory.set_u32(block, links);
        Shared::<T>::release(MemoryMut(memory), at);
        memory.set_u32(at, block.wrapping_sub(at));
        Ok(())
    }
}

/// Whether a place lies in the shared value in a block, or in what that leads to. True if this cannot be
/// determined.
fn reaches<T: Stored>(memory: &mut Memory, block: u32, place: u32) -> bool {
    let mut reached = memory.reached.take().unwrap_or_default();
    let size = memory.bytes().len() as u32;
    let before = reached.values.len();
    if !reached.cover(size) {
        return true;
    }
    let mut walk =
        Check::<false>::walk(memory.bytes(), &mut reached.bits, std::mem::take(&mut reached.values));
    let good = walk.shared_value::<T, One<T>>(block, Shared::<T>::bytes(T::SIZE), Shared::<T>::VALUE).is_ok();
    reached.values = walk.into_shared();
    memory.walked += (reached.values.len() - before) as u64;
    if !good {
        // There was no memory for the walk.
        return true;
    }
    let marked = reached.has(place);
    memory.reached = Some(reached);
    if !marked {
        return false;
    }
    let value = (block, Shared::<T>::bytes(T::SIZE), Shared::<T>::VALUE);
    let (found, walked) = Check::<false>::search::<T, One<T>>(memory.bytes(), place, value);
    memory.walked += walked as u64;
    found.unwrap_or(true)
}

/// The target of a shared or weak link during a call of [`Mut::share`] or [`Mut::upgrade`].
pub struct Link<'k, T> {
    memory: *const (),
    block: Option<u32>,
    /// The lifetime is exactly that of one call, because it is invariant.
    time: PhantomData<fn(&'k ()) -> &'k ()>,
    of: PhantomData<fn() -> T>,
}

impl<T> Link<'_, T> {
    /// The block to which it leads in this memory, if it leads to any.
    pub(crate) fn block_in(self, memory: &Memory) -> Result<Option<u32>, ShareError> {
        if std::ptr::eq(std::ptr::from_ref(memory).cast(), self.memory) {
            Ok(self.block)
        } else {
            Err(ShareError::OtherRegion)
        }
    }
}

impl<T> Clone for Link<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Link<'_, T> {}

impl<S: Stored> Mut<'_, S> {
    /// Lets several links lead to one value. `from` finds a link to the value, and `to` makes other links
    /// lead there.
    ///
    /// ```
    /// use situ_region::{Region, Shared, Text, Vector};
    /// use situ_region::region_struct;
    ///
    /// region_struct! {
    ///     struct Scene: SceneRef, SceneMut { first: Shared<Text>, all: Vector<Shared<Text>> }
    /// }
    /// let mut r = Region::<Scene>::new();
    /// let mut scene = r.root_mut();
    /// scene.first().fill()?.set("a texture that many use")?;
    /// scene.share(|scene| Some(scene.first()), |mut scene, texture| {
    ///     scene.all().push_default()?.link(texture)
    /// })?;
    /// assert_eq!(r.root().first().links(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The errors of `to`. If `from` finds no link, or one that leads nowhere, the link passed to `to` leads
    /// nowhere.
    pub fn share<T: Stored, R, E>(
        &mut self,
        from: impl for<'f> FnOnce(Ref<'f, S>) -> Option<Ref<'f, Shared<T>>>,
        to: impl for<'m, 'k> FnOnce(Mut<'m, S>, Link<'k, T>) -> Result<R, E>,
    ) -> Result<R, E>
    where
        E: From<ShareError>,
    {
        let value = from(self.as_ref()).and_then(Ref::<Shared<T>>::get);
        let value = value.map(|value| (value.image().as_ptr(), value.at()));
        self.hold(value, to)
    }

    /// Calls `to` with a link to a value that [`share`](Self::share) or [`upgrade`](Self::upgrade) found: its
    /// image and its offset.
    pub(crate) fn hold<T: Stored, R, E>(
        &mut self,
        value: Option<(*const u8, u32)>,
        to: impl for<'m, 'k> FnOnce(Mut<'m, S>, Link<'k, T>) -> Result<R, E>,
    ) -> Result<R, E>
    where
        E: From<ShareError>,
    {
        let image = self.as_ref().image().as_ptr();
        if value.is_some_and(|(of, _)| of != image) {
            return Err(ShareError::OtherRegion.into());
        }
        let block = value.map(|(_, at)| at - Shared::<T>::VALUE);
        let memory = std::ptr::from_ref(self.memory()).cast();
        // A link of its own holds the value, so that it stays during `to`.
        if let Some(block) = block {
            let links = self.memory().u32(block).checked_add(1).ok_or(ShareError::TooMany)?;
            self.memory().set_u32(block, links);
        }
        let mut held = Held::<S, T> { of: self.reborrow(), block, to: PhantomData };
        to(held.of.reborrow(), Link { memory, block, time: PhantomData, of: PhantomData })
    }
}

/// The link that holds a value while it is shared. Its drop removes it, also during a panic.
struct Held<'m, S: Stored, T: Stored> {
    of: Mut<'m, S>,
    block: Option<u32>,
    to: PhantomData<fn() -> T>,
}

impl<S: Stored, T: Stored> Drop for Held<'_, S, T> {
    fn drop(&mut self) {
        let Some(block) = self.block else { return };
        let memory = self.of.memory();
        let links = memory.u32(block);
        if links > 1 {
            memory.set_u32(block, links - 1);
        } else {
            memory.release::<Counted<T>>([block, 0, 0]);
        }
    }
}
