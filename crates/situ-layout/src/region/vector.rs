//! Vectors within a region, and the operations on blocks of elements that sorted sets and maps share.

use std::marker::PhantomData;

use super::check::Check;
use super::copy::Writer;
use super::error::{Full, Invalid};
use super::handle::{Mut, Ref, plain_slice, plain_slice_mut};
use super::layout::Lines;
use super::memory::{MAX_SIZE, Memory, in_granules, target, u32_at, zero};
use super::slide::Slide;
use super::stored::{Assign, Plain, Stored, fixed, relocate};

/// A vector. A name for what lies in a region: see the methods of [`Ref`] and [`Mut`].
pub struct Vector<T>(PhantomData<fn() -> T>);
#[inline]
pub(super) fn len(image: &[u8], at: u32) -> u32 {
    u32_at(image, at + 4)
}

/// The link, the length and the capacity.
#[inline]
pub(super) fn header(image: &[u8], at: u32) -> [u32; 3] {
    numbers(&image[at as usize..at as usize + 12])
}
#[inline]
fn numbers(header: &[u8]) -> [u32; 3] {
    [u32_at(header, 0), u32_at(header, 4), u32_at(header, 8)]
}

/// Changes the length to what `change` makes of the length and the capacity, if anything. Where the block begins, and the length
/// before. The header is looked at once, by one address, and the image is the slice that the elements are written through as well:
/// to look up where the memory is and how large takes a loop of such changes as long as the changes do.
#[inline]
fn change_len(image: &mut [u8], at: u32, change: impl FnOnce(u32, u32) -> Option<u32>) -> Option<(u32, u32)> {
    let header = &mut image[at as usize..at as usize + 12];
    let [link, count, cap] = numbers(header);
    header[4..8].copy_from_slice(&change(count, cap)?.to_le_bytes());
    Some((at.wrapping_add(link), count))
}

/// Where an element is.
#[inline]
pub(super) fn element<T: Stored>(image: &[u8], at: u32, index: u32) -> u32 {
    target(image, at) + index * T::SIZE
}

fn bytes<T: Stored>(count: u32) -> u64 {
    u64::from(count) * u64::from(T::SIZE)
}

/// Makes room for `needed` elements; if not `exact`, for as many as the growth policy says, where there is memory for them.
#[inline]
pub(super) fn reserve<T: Stored>(memory: &mut Memory, at: u32, needed: u32, exact: bool) -> Result<(), Full> {
    let cap = memory.u32(at + 8);
    if needed <= cap { Ok(()) } else { enlarge::<T>(memory, at, cap, needed, exact) }
}
#[cold]
#[inline(never)]
fn enlarge<T: Stored>(memory: &mut Memory, at: u32, cap: u32, needed: u32, exact: bool) -> Result<(), Full> {
    let wanted = if exact { needed } else { memory.next_capacity(cap, needed) };
    let made = grow::<T>(memory, at, cap, wanted);
    if wanted == needed { made } else { made.or_else(|_| grow::<T>(memory, at, cap, needed)) }
}

/// Makes the block of `cap` elements one of at least `wanted`.
fn grow<T: Stored>(memory: &mut Memory, at: u32, cap: u32, wanted: u32) -> Result<(), Full> {
    const { assert!(T::SIZE != 0, "what lies in a region has at least one byte") };
    let room = in_granules(bytes::<T>(wanted));
    if room > u64::from(MAX_SIZE) {
        return Err(memory.full());
    }
    let block = target(memory.bytes(), at);
    if cap == 0 || !memory.extend(block, bytes::<T>(cap), room) {
        let fresh = memory.allocate(room)?;
        if cap != 0 {
            let count = len(memory.bytes(), at);
            relocate::<T>(memory, block, fresh, count);
            memory.free(block, bytes::<T>(cap));
        }
        memory.set_u32(at, fresh.wrapping_sub(at));
    }
    memory.set_u32(at + 8, (room / u64::from(T::SIZE)) as u32);
    Ok(())
}

/// Gives back the room that is not used.
pub(super) fn shrink<T: Stored>(memory: &mut Memory, at: u32) {
    let (count, cap) = (len(memory.bytes(), at), memory.u32(at + 8));
    let block = target(memory.bytes(), at);
    if cap == 0 {
        return;
    }
    if count == 0 {
        memory.free(block, bytes::<T>(cap));
        memory.zero(at, 12);
        return;
    }
    let kept = in_granules(bytes::<T>(count));
    memory.shorten(block, bytes::<T>(cap), kept);
    let cap = cap.min((kept / u64::from(T::SIZE)) as u32);
    memory.set_u32(at + 8, cap);
}

/// Makes the length one more. Where the block begins, which has room for it, and the length before.
#[inline]
fn lengthen<T: Stored>(memory: &mut Memory, at: u32) -> Result<(u32, u32), Full> {
    match change_len(memory.bytes_mut(), at, one_more) {
        Some(there) => Ok(there),
        None => enlarge_by_one::<T>(memory, at),
    }
}
#[inline]
fn one_more(count: u32, cap: u32) -> Option<u32> {
    (count < cap).then(|| count + 1)
}
#[cold]
#[inline(never)]
fn enlarge_by_one<T: Stored>(memory: &mut Memory, at: u32) -> Result<(u32, u32), Full> {
    let count = len(memory.bytes(), at);
    reserve::<T>(memory, at, count + 1, false)?;
    memory.set_u32(at + 4, count + 1);
    Ok((target(memory.bytes(), at), count))
}

/// A new default element at an index, which is at most the length.
#[inline]
pub(super) fn open<T: Stored>(memory: &mut Memory, at: u32, index: u32) -> Result<u32, Full> {
    let (block, count) = lengthen::<T>(memory, at)?;
    let place = block + index * T::SIZE;
    if index != count {
        relocate::<T>(memory, place, place + T::SIZE, count - index);
    }
    memory.zero(place, T::SIZE);
    T::begin(memory, place);
    Ok(place)
}

/// Appends elements for which there is room, whose bytes are zero and which the caller is going to write; where they begin.
pub(super) fn extend_zeroed<T: Stored>(memory: &mut Memory, at: u32, more: u32) -> u32 {
    let count = len(memory.bytes(), at);
    memory.set_u32(at + 4, count + more);
    element::<T>(memory.bytes(), at, count)
}

/// Removes elements.
#[inline]
pub(super) fn close<T: Stored>(memory: &mut Memory, at: u32, from: u32, to: u32) {
    let gone = to - from;
    let less = |count: u32, _| count.checked_sub(gone);
    let Some((block, count)) = change_len(memory.bytes_mut(), at, less) else { return };
    if T::LINKS {
        for index in from..to {
            T::release(memory, block + index * T::SIZE);
        }
    }
    if to < count && gone != 0 {
        relocate::<T>(memory, block + to * T::SIZE, block + from * T::SIZE, count - to);
    }
    memory.zero(block + (count - gone) * T::SIZE, gone * T::SIZE);
}

pub(super) fn release<T: Stored>(memory: &mut Memory, at: u32) {
    let cap = memory.u32(at + 8);
    if cap != 0 {
        let count = len(memory.bytes(), at);
        close::<T>(memory, at, 0, count);
        memory.free(target(memory.bytes(), at), bytes::<T>(cap));
    }
    memory.zero(at, 12);
}

/// What a container of 16 bytes does when its bytes have come from `distance` further up.
#[inline]
pub(super) fn moved(memory: &mut Memory, at: u32, distance: u32) {
    if memory.u32(at + 8) != 0 {
        let link = memory.u32(at).wrapping_add(distance);
        memory.set_u32(at, link);
    }
    begin(memory, at);
}
#[inline]
pub(super) fn begin(memory: &mut Memory, at: u32) {
    memory.set_u32(at + 12, at.wrapping_neg());
}

/// A vector, or what is made of one, in a walk of a compaction.
pub(super) fn slide<T: Stored>(slide: &mut Slide<'_>, at: u32) {
    if let Some(memory) = slide.trims() {
        shrink::<T>(memory, at);
        let count = len(memory.bytes(), at);
        memory.set_u32(at + 8, count);
    }
    slide.back_link(at, at + 12);
    let count = len(slide.image(), at);
    if let Some(block) = slide.link(at) {
        slide.elements::<T>(block, count);
    }
}

impl<T: Stored> Stored for Vector<T> {
    const SIZE: u32 = {
        fixed::<T>();
        16
    };
    const ALIGN: u32 = 4;
    const LINKS: bool = true;
    const DENSE: bool = false;
    const ANY: bool = false;

    fn kind() -> String {
        "vector".to_owned()
    }
    fn inner(lines: &mut Lines, path: &str) {
        lines.value::<T>(&format!("{path}[]"), 0);
    }
    fn needed(lines: &mut Lines) {
        T::needed(lines);
    }
    #[inline]
    fn begin(memory: &mut Memory, at: u32) {
        begin(memory, at);
    }
    #[inline]
    fn moved(memory: &mut Memory, at: u32, distance: u32) {
        moved(memory, at, distance);
    }
    fn slide(under_way: &mut Slide<'_>, at: u32) {
        slide::<T>(under_way, at);
    }
    fn release(memory: &mut Memory, at: u32) {
        release::<T>(memory, at);
    }
    fn write(writer: &mut Writer<'_>, from: u32, to: u32) {
        writer.vector::<T>(from, to);
    }
    fn check(check: &mut Check<'_>, at: u32) -> Result<(), Invalid> {
        check.vector::<T>(at).map(drop)
    }
}

impl<T: Stored, V: Clone> Assign<&[V]> for Vector<T>
where
    T: Assign<V>,
{
    #[inline]
    fn assign(memory: &mut Memory, at: u32, values: &[V]) -> Result<(), Full> {
        let len = values.len() as u32;
        let fits = |_, cap| (values.len() <= cap as usize).then_some(len);
        let image = memory.bytes_mut();
        if let Some(put_all) = T::PUT_ALL
            && !T::LINKS
            && let Some((block, count)) = change_len(image, at, fits)
        {
            put_all(image, block, values);
            if len < count {
                zero(image, block + len * T::SIZE, (count - len) * T::SIZE);
            }
            return Ok(());
        }
        assign_anew::<T, V>(memory, at, values)
    }
}

/// Assigns elements that need memory.
fn assign_anew<T: Assign<V>, V: Clone>(memory: &mut Memory, at: u32, values: &[V]) -> Result<(), Full> {
    let count = len(memory.bytes(), at);
    close::<T>(memory, at, 0, count);
    let wanted = u32::try_from(values.len()).map_err(|_| memory.full())?;
    reserve::<T>(memory, at, wanted, true)?;
    append::<T, V>(memory, at, values)
}

/// Appends elements for which there is room. If there is none for what belongs to one, it and those behind it are not assigned.
fn append<T: Assign<V>, V: Clone>(memory: &mut Memory, at: u32, values: &[V]) -> Result<(), Full> {
    let [link, count, _] = header(memory.bytes(), at);
    if let Some(put_all) = T::PUT_ALL {
        put_all(memory.bytes_mut(), at.wrapping_add(link) + count * T::SIZE, values);
        memory.set_u32(at + 4, count + values.len() as u32);
        return Ok(());
    }
    (count..).zip(values).try_for_each(|(index, value)| {
        let place = open::<T>(memory, at, index)?;
        T::assign(memory, place, value.clone())
    })
}

impl<'r, T: Stored> Ref<'r, Vector<T>> {
    /// The number of elements.
    #[inline]
    pub fn len(self) -> usize {
        len(self.image(), self.at()) as usize
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// An element, if there is one of that index.
    #[inline]
    pub fn get(self, index: usize) -> Option<Ref<'r, T>> {
        (index < self.len())
            .then(|| Ref::new(self.image(), element::<T>(self.image(), self.at(), index as u32)))
    }

    /// The elements.
    #[inline]
    pub fn iter(self) -> impl ExactSizeIterator<Item = Ref<'r, T>> {
        let (image, [link, count, _]) = (self.image(), header(self.image(), self.at()));
        let block = self.at().wrapping_add(link);
        (0..count).map(move |i| Ref::new(image, block + i * T::SIZE))
    }

    /// The elements as Rust values.
    #[inline]
    pub fn as_slice(self) -> &'r [T]
    where
        T: Plain,
    {
        let count = len(self.image(), self.at());
        if count == 0 { &[] } else { plain_slice(self.image(), target(self.image(), self.at()), count) }
    }
}

impl<T: Stored> Mut<'_, Vector<T>> {
    /// The number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.as_ref().len()
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An element, if there is one of that index.
    #[inline]
    pub fn get_mut(&mut self, index: usize) -> Option<Mut<'_, T>> {
        let at =
            (index < self.len()).then(|| element::<T>(self.as_ref().image(), self.at(), index as u32))?;
        Some(Mut::new(self.memory(), at))
    }

    /// A new default element at the end, to be filled.
    #[inline]
    pub fn push_default(&mut self) -> Result<Mut<'_, T>, Full> {
        let (at, count) = (self.at(), self.len() as u32);
        let place = open::<T>(self.memory(), at, count)?;
        Ok(Mut::new(self.memory(), place))
    }

    /// A new element at the end. When there is no room, nothing changes.
    #[inline]
    pub fn push<V>(&mut self, value: V) -> Result<(), Full>
    where
        T: Assign<V>,
    {
        let at = self.at();
        let Some(put_all) = T::PUT_ALL else {
            let count = self.len() as u32;
            return self.assign_new(count, value);
        };
        let image = self.memory().bytes_mut();
        if let Some((block, count)) = change_len(image, at, one_more) {
            put_all(image, block + count * T::SIZE, std::slice::from_ref(&value));
            return Ok(());
        }
        let (block, count) = enlarge_by_one::<T>(self.memory(), at)?;
        put_all(self.memory().bytes_mut(), block + count * T::SIZE, std::slice::from_ref(&value));
        Ok(())
    }

    /// A new element at `index`; false if that is greater than the length. When there is no room, nothing changes.
    pub fn insert<V>(&mut self, index: usize, value: V) -> Result<bool, Full>
    where
        T: Assign<V>,
    {
        if index > self.len() {
            return Ok(false);
        }
        self.assign_new(index as u32, value).map(|()| true)
    }

    /// New elements at the end. When there is no room for all of them, nothing changes.
    pub fn extend_from_slice<V: Clone>(&mut self, values: &[V]) -> Result<(), Full>
    where
        T: Assign<V>,
    {
        let (at, count) = (self.at(), self.len() as u32);
        let memory = self.memory();
        let all = u32::try_from(values.len()).ok().and_then(|more| count.checked_add(more));
        let needed = all.ok_or_else(|| memory.full())?;
        reserve::<T>(memory, at, needed, false)?;
        let appended = append::<T, V>(memory, at, values);
        if appended.is_err() {
            let end = len(memory.bytes(), at);
            close::<T>(memory, at, count, end);
        }
        appended
    }

    /// A new element at an index that is at most the length.
    fn assign_new<V>(&mut self, index: u32, value: V) -> Result<(), Full>
    where
        T: Assign<V>,
    {
        let at = self.at();
        let place = open::<T>(self.memory(), at, index)?;
        let assigned = T::assign(self.memory(), place, value);
        if assigned.is_err() {
            close::<T>(self.memory(), at, index, index + 1);
        }
        assigned
    }

    /// Removes an element; false if there is none of that index.
    #[inline]
    pub fn remove(&mut self, index: usize) -> bool {
        let there = index < self.len();
        if there {
            let at = self.at();
            close::<T>(self.memory(), at, index as u32, index as u32 + 1);
        }
        there
    }

    /// Removes the last element; false if there is none.
    #[inline]
    pub fn pop(&mut self) -> bool {
        let at = self.at();
        let image = self.memory().bytes_mut();
        let Some((block, count)) = change_len(image, at, |count, _| count.checked_sub(1)) else {
            return false;
        };
        let last = block + (count - 1) * T::SIZE;
        if T::LINKS {
            T::release(self.memory(), last);
            zero(self.memory().bytes_mut(), last, T::SIZE);
        } else {
            zero(image, last, T::SIZE);
        }
        true
    }

    /// Removes all elements; the room stays.
    pub fn clear(&mut self) {
        let (at, count) = (self.at(), self.len() as u32);
        close::<T>(self.memory(), at, 0, count);
    }

    /// Gives back the room that is not used.
    pub fn shrink_to_fit(&mut self) {
        let at = self.at();
        shrink::<T>(self.memory(), at);
    }

    /// Makes room for so many elements in all.
    pub fn reserve(&mut self, count: usize) -> Result<(), Full> {
        let at = self.at();
        let count = u32::try_from(count).map_err(|_| self.memory().full())?;
        reserve::<T>(self.memory(), at, count, true)
    }

    /// The elements as Rust values.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [T]
    where
        T: Plain,
    {
        let (at, count) = (self.at(), self.len() as u32);
        if count == 0 {
            return &mut [];
        }
        let begin = target(self.memory().bytes(), at);
        plain_slice_mut(self.memory().bytes_mut(), begin, count)
    }
}
