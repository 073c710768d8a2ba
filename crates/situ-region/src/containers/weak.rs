//! A link to a shared value that does not own it: to a parent, or across a cycle.

use std::fmt;
use std::marker::PhantomData;

use situ_layout::Invalid;

use crate::containers::maybe::One;
use crate::containers::shared::{Link, Shared};
use crate::error::{Full, ShareError};
use crate::image::check::Check;
use crate::image::lines::Lines;
use crate::image::writer::Writer;
use crate::memory::blocks::{Memory, MemoryMut};
use crate::memory::granule::{GRANULE, target, u32_at};
use crate::memory::slide::Slide;
use crate::packed::handle::Packed;
use crate::packed::unpack::Unpacker;
use crate::packed::weak;
use crate::value::equal_walk::Equal;
use crate::value::handle::{Mut, Ref};
use crate::value::layout::LINK;
use crate::value::show_walk::ShowWalk;
use crate::value::stored::Stored;

/// A link to the value of [`Shared`] links, or to none. It does not keep the value, so it may lead to a value
/// that contains it. When the last shared link is gone, the weak link leads nowhere. The type is only a name;
/// see the methods of [`Ref`] and [`Mut`], and [`Mut::upgrade`].
///
/// ```
/// use situ_region::{Region, Shared, Vector, Weak, region_struct};
///
/// region_struct! {
///     struct Node: NodeRef, NodeMut { number: u32, children: Vector<Shared<Node>>, parent: Weak<Node> }
/// }
/// region_struct! { struct Tree: TreeRef, TreeMut { root: Shared<Node> } }
/// let mut r = Region::<Tree>::new();
/// let mut tree = r.root_mut();
/// tree.root().fill()?.number().set(1)?;
/// tree.share(|tree| Some(tree.root()), |mut tree, parent| {
///     let mut root = tree.root();
///     root.fill()?.children().push_default()?.fill()?.parent().link(parent)
/// })?;
/// let root = r.root().root().get().unwrap();
/// let child = root.children().get(0).unwrap().get().unwrap();
/// assert_eq!(*child.parent().get().unwrap().number(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Weak<T>(PhantomData<fn() -> T>);

/// Whether a block is that of a value. An expired one has no links.
fn is_alive(image: &[u8], block: u32) -> bool {
    u32_at(image, block) != 0
}

/// Frees an expired block with its last weak link.
fn leave(memory: &mut Memory, block: u32) {
    let weak = memory.u32(block + 4).wrapping_sub(1);
    memory.set_u32(block + 4, weak);
    if weak == 0 && !is_alive(memory.bytes(), block) {
        memory.free(block, u64::from(GRANULE));
    }
}

impl<T: Stored> Stored for Weak<T> {
    const SIZE: u32 = 8;
    const ALIGN: u32 = 4;
    const LINKS: bool = true;
    const DENSE: bool = false;
    const ANY: bool = false;
    const PACKED_SIZE: u32 = LINK;
    const PACKED_ALIGN: u32 = 1;

    fn kind() -> String {
        "weak".to_owned()
    }
    fn inner(lines: &mut Lines, path: &str) {
        Shared::<T>::inner(lines, path);
    }
    fn needed(lines: &mut Lines) {
        T::needed(lines);
    }
    fn begin(MemoryMut(memory): MemoryMut<'_>, at: u32) {
        memory.set_u32(at + 4, at.wrapping_neg());
    }
    fn moved(memory: MemoryMut<'_>, at: u32, distance: u32) {
        Shared::<T>::moved(memory, at, distance);
    }
    /// The first walk makes links to expired blocks lead nowhere.
    fn slide(slide: &mut Slide<'_>, at: u32) {
        if let Some(memory) = slide.trims() {
            let block = target(memory.bytes(), at);
            if block != at && !is_alive(memory.bytes(), block) {
                Self::release(MemoryMut(memory), at);
            }
        } else {
            slide.back_link(at, at + 4);
            slide.link(at);
        }
    }
    fn release(MemoryMut(memory): MemoryMut<'_>, at: u32) {
        if memory.u32(at) != 0 {
            let block = target(memory.bytes(), at);
            memory.set_u32(at, 0);
            leave(memory, block);
        }
    }
    fn write(writer: &mut Writer<'_>, from: u32, to: u32) {
        writer.put_u32(to + 4, to.wrapping_neg());
        let old = target(writer.image(), from);
        if old != from {
            writer.weak_link(old, to, true);
        }
    }
    fn pack(writer: &mut Writer<'_>, from: u32, to: u32) {
        let old = target(writer.image(), from);
        if old != from {
            writer.weak_link(old, to, false);
        }
    }
    fn check_packed<const CANONICAL: bool>(check: &mut Check<'_, CANONICAL>, at: u32) -> Result<(), Invalid> {
        match weak::target_of(check.image(), at) {
            Some(to) => check.weak_link::<T>(at, to),
            None => Ok(()),
        }
    }
    fn unpack(unpacker: &mut Unpacker<'_>, _: MemoryMut<'_>, at: u32, from: u32) -> Result<(), Full> {
        if let Some(to) = weak::target_of(unpacker.image(), from) {
            unpacker.weak.push((at, to));
        }
        Ok(())
    }
    fn check<const CANONICAL: bool>(check: &mut Check<'_, CANONICAL>, at: u32) -> Result<(), Invalid> {
        check.back_link(at, at + 4)?;
        let block = target(check.image(), at);
        if block == at { Ok(()) } else { check.weak_link::<T>(at, block) }
    }
    /// The value is not printed, because it may contain the link.
    fn show(walk: &ShowWalk<'_>, at: u32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if value_of::<T>(walk.image(), at).is_some() { "Weak(..)" } else { "None" })
    }
    /// Compares the values. A pair of values that is being compared already counts as equal, so cycles end.
    fn equals(equal: &mut Equal<'_, '_>, a: u32, b: u32) -> bool {
        match (value_of::<T>(equal.a(), a), value_of::<T>(equal.b(), b)) {
            (Some(ours), Some(theirs)) => {
                let [a, b] = [ours, theirs].map(|value| value.wrapping_sub(Shared::<T>::VALUE));
                equal.are_joined(a, b) || equal.behind::<One<T>>([ours, theirs, 0])
            }
            (ours, theirs) => ours.is_none() && theirs.is_none(),
        }
    }
}

/// The place of the value to which the link at `at` leads, if it still exists.
fn value_of<T: Stored>(image: &[u8], at: u32) -> Option<u32> {
    let block = target(image, at);
    (block != at && is_alive(image, block)).then_some(block + Shared::<T>::VALUE)
}

impl<'r, T: Stored> Ref<'r, Weak<T>> {
    /// The value, if the link leads to one that still exists.
    pub fn get(self) -> Option<Ref<'r, T>> {
        value_of::<T>(self.image(), self.at()).map(|at| Ref::new(self.image(), at))
    }

    /// Whether the link leads to a value that no longer exists. Of a link that leads nowhere, this is false;
    /// `expired` of C++, as that of std::weak_ptr, is true, and means that [`get`](Self::get) finds nothing.
    pub fn is_expired(self) -> bool {
        target(self.image(), self.at()) != self.at() && self.get().is_none()
    }

    /// Whether both links lead to the same value, or both to none.
    pub fn is_same(self, other: Self) -> bool {
        let leads = |link: Self| link.get().map(|value| (link.image().as_ptr(), value.at()));
        leads(self) == leads(other)
    }
}

impl<'r, T: Stored> Packed<'r, Weak<T>> {
    /// The value, if there is one.
    pub fn get(self) -> Option<Packed<'r, T>> {
        weak::target_of(self.image(), self.at()).map(|at| Packed::new(self.image(), at))
    }

    /// Whether both links lead to the same value, or both to none.
    pub fn is_same(self, other: Self) -> bool {
        let leads = |link: Self| link.get().map(|value| (link.image().as_ptr(), value.at()));
        leads(self) == leads(other)
    }
}

impl<T: Stored> Ref<'_, Shared<T>> {
    /// The number of weak links that lead to the value.
    pub fn weak_links(self) -> usize {
        let block = target(self.image(), self.at());
        if block == self.at() { 0 } else { u32_at(self.image(), block + 4) as usize }
    }
}

impl<T: Stored> Mut<'_, Weak<T>> {
    /// The value, if the link leads to one that still exists, as a mutable handle.
    pub fn get_mut(&mut self) -> Option<Mut<'_, T>> {
        let value = value_of::<T>(self.as_ref().image(), self.at());
        value.map(|at| Mut::new(self.memory(), at))
    }

    /// Makes the link lead nowhere.
    pub fn clear(&mut self) {
        let at = self.at();
        Weak::<T>::release(MemoryMut(self.memory()), at);
    }

    /// Makes the link lead to the value of a shared link; see [`Mut::share`]. Cycles are allowed. On an
    /// error, nothing changes.
    pub fn link(&mut self, to: Link<'_, T>) -> Result<(), ShareError> {
        let at = self.at();
        let memory = self.memory();
        let Some(block) = to.block_in(memory)? else {
            self.clear();
            return Ok(());
        };
        let weak = memory.u32(block + 4).checked_add(1).ok_or(ShareError::TooMany)?;
        memory.set_u32(block + 4, weak);
        Weak::<T>::release(MemoryMut(memory), at);
        memory.set_u32(at, block.wrapping_sub(at));
        Ok(())
    }
}

impl<S: Stored> Mut<'_, S> {
    /// As [`share`](Self::share), with the value of a weak link. The value exists until `to` returns.
    ///
    /// # Errors
    /// The errors of `to`. If `from` finds no link, or one without a value, the link passed to `to` leads
    /// nowhere.
    pub fn upgrade<T: Stored, R, E>(
        &mut self,
        from: impl for<'f> FnOnce(Ref<'f, S>) -> Option<Ref<'f, Weak<T>>>,
        to: impl for<'m, 'k> FnOnce(Mut<'m, S>, Link<'k, T>) -> Result<R, E>,
    ) -> Result<R, E>
    where
        E: From<ShareError>,
    {
        let value = from(self.as_ref()).and_then(Ref::<Weak<T>>::get);
        let value = value.map(|value| (value.image().as_ptr(), value.at()));
        self.hold(value, to)
    }
}
