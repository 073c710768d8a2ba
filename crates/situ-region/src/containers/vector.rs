//! Vectors within a region, and the operations on blocks of elements that sorted sets and maps share.

use std::fmt;
use std::marker::PhantomData;

use situ_layout::Invalid;

use crate::error::Full;
use crate::image::check::{Check, CheckBehind, numbers};
use crate::image::lines::Lines;
use crate::image::writer::{WriteBehind, Writer};
use crate::memory::blocks::{Memory, MemoryMut, ReleaseBehind};
use crate::memory::granule::{MAX_SIZE, in_granules, target, u32_at, zero};
use crate::memory::later::Place;
use crate::memory::slide::{Slide, SlideBehind};
use crate::packed::handle::{Packed, PackedValues};
use crate::packed::place::elements_at;
use crate::packed::unpack::Unpacker;
use crate::packed::vector as packed_vector;
use crate::value::assign::Assign;
use crate::value::element::{Element, Of, relocate};
use crate::value::equal_walk::{Equal, EqualBehind};
use crate::value::handle::{Mut, Ref, Values};
use crate::value::layout::LINK;
use crate::value::plain::{Plain, plain_slice, plain_slice_mut};
use crate::value::show::Shown;
use crate::value::show_walk::ShowWalk;
use crate::value::stored::{Stored, fixed};

/// A vector. The type is only a name; see the methods of [`Ref`] and [`Mut`].
pub struct Vector<T>(PhantomData<fn() -> T>);
#[inline]
pub(crate) fn len(image: &[u8], at: u32) -> u32 {
    u32_at(image, at + 4)
}

/// The link, the length and the capacity.
#[inline]
pub(crate) fn header(image: &[u8], at: u32) -> [u32; 3] {
    let header = &image[at as usize..at as usize + 12];
    [u32_at(header, 0), u32_at(header, 4), u32_at(header, 8)]
}

/// Opens a gap of zeros before `behind` bytes, which move up.
#[inline]
pub(crate) fn open_gap(image: &mut [u8], place: u32, gap: usize, behind: usize) {
    let bytes = &mut image[place as usize..][..gap + behind];
    if behind != 0 {
        bytes.copy_within(..behind, gap);
    }
    bytes[..gap].fill(0);
}

/// Closes a gap before `behind` bytes, which move down. The bytes they leave become zero.
#[inline]
fn close_gap(image: &mut [u8], place: u32, gap: usize, behind: usize) {
    let bytes = &mut image[place as usize..][..gap + behind];
    if behind != 0 && gap != 0 {
        bytes.copy_within(gap.., 0);
    }
    bytes[behind..].fill(0);
}

/// The size of `count` elements as a `usize`.
#[inline]
pub(crate) fn extent<T: Element>(of: T, count: u32) -> usize {
    (count as usize).saturating_mul(of.size() as usize)
}

/// The offset of an element.
#[inline]
pub(crate) fn element<T: Element>(of: T, image: &[u8], at: u32, index: u32) -> u32 {
    target(image, at) + index * of.size()
}

fn bytes<T: Element>(of: T, count: u32) -> u64 {
    u64::from(count) * u64::from(of.size())
}

/// Reserves memory for `needed` elements. Unless `exact`, reserves what the growth policy says if there is
/// memory for it.
#[inline]
pub(crate) fn reserve<T: Element>(
    of: T,
    memory: &mut Memory,
    at: u32,
    needed: u32,
    exact: bool,
) -> Result<(), Full> {
    let cap = memory.u32(at + 8);
    if needed <= cap { Ok(()) } else { enlarge(of, memory, at, cap, needed, exact) }
}
#[cold]
#[inline(never)]
fn enlarge<T: Element>(
    of: T,
    memory: &mut Memory,
    at: u32,
    cap: u32,
    needed: u32,
    exact: bool,
) -> Result<(), Full> {
    let wanted = if exact { needed } else { memory.next_capacity(cap, needed) };
    let made = grow(of, memory, at, cap, wanted);
    if wanted == needed { made } else { made.or_else(|_| grow(of, memory, at, cap, needed)) }
}

/// Grows the block of `cap` elements to at least `wanted` elements.
fn grow<T: Element>(of: T, memory: &mut Memory, at: u32, cap: u32, wanted: u32) -> Result<(), Full> {
    assert!(of.size() != 0, "what lies in a region has at least one byte");
    let room = in_granules(bytes(of, wanted));
    if room > u64::from(MAX_SIZE) {
        return Err(memory.full());
    }
    let block = target(memory.bytes(), at);
    if cap == 0 || !memory.extend(block, bytes(of, cap), room) {
        let fresh = memory.allocate_for(at, room)?;
        if cap != 0 {
            let count = len(memory.bytes(), at);
            relocate(of, memory, block, fresh, count);
            memory.free(block, bytes(of, cap));
        }
        memory.set_u32(at, fresh.wrapping_sub(at));
    }
    memory.set_u32(at + 8, (room / u64::from(of.size())) as u32);
    Ok(())
}

/// Releases unused memory.
pub(crate) fn shrink<T: Element>(of: T, memory: &mut Memory, at: u32) {
    let (count, cap) = (len(memory.bytes(), at), memory.u32(at + 8));
    let block = target(memory.bytes(), at);
    if cap == 0 {
        return;
    }
    if count == 0 {
        memory.free(block, bytes(of, cap));
        memory.zero(at, 12);
        return;
    }
    let kept = in_granules(bytes(of, count));
    memory.shorten(block, bytes(of, cap), kept);
    let cap = cap.min((kept / u64::from(of.size())) as u32);
    memory.set_u32(at + 8, cap);
}

/// Increments the length of a full vector. Returns the place of the block, and the old length.
#[cold]
#[inline(never)]
fn enlarge_by_one<T: Element>(of: T, memory: &mut Memory, at: u32) -> Result<(u32, u32), Full> {
    let count = len(memory.bytes(), at);
    reserve(of, memory, at, count + 1, false)?;
    memory.set_u32(at + 4, count + 1);
    Ok((target(memory.bytes(), at), count))
}

/// Inserts a default element at an index, which is at most the length. Returns its place.
#[inline]
pub(crate) fn open<T: Element, V: Stored>(of: T, to: &mut Mut<'_, V>, index: u32) -> Result<u32, Full> {
    let at = to.at();
    let mut vector = to.open();
    let [link, mut count, cap] = vector.numbers();
    let mut place = vector.target(link) + index * of.size();
    if count < cap {
        open_gap(vector.image(), place, of.size() as usize, extent(of, count - index));
        vector.set_number::<1>(count + 1);
    } else {
        let block;
        (block, count) = enlarge_by_one(of, to.memory(), at)?;
        place = block + index * of.size();
        open_gap(to.memory().bytes_mut(), place, of.size() as usize, extent(of, count - index));
    }
    if of.has_links() {
        (1..=count - index)
            .for_each(|i| of.moved(to.memory(), place + i * of.size(), of.size().wrapping_neg()));
    }
    of.begin(to.memory(), place);
    Ok(place)
}

/// Appends elements for which there is room. Their bytes are zero, and the caller writes them. Returns their
/// place.
pub(crate) fn extend_zeroed<T: Element>(of: T, memory: &mut Memory, at: u32, more: u32) -> u32 {
    let count = len(memory.bytes(), at);
    memory.set_u32(at + 4, count + more);
    element(of, memory.bytes(), at, count)
}

/// Removes elements of a vector.
#[inline]
pub(crate) fn close<T: Element, V: Stored>(of: T, within: &mut Mut<'_, V>, from: u32, to: u32) {
    let mut vector = within.open();
    let ([link, count], gone) = (vector.numbers(), to - from);
    let Some(left) = count.checked_sub(gone) else { return };
    vector.set_number::<1>(left);
    let place = vector.target(link) + from * of.size();
    if of.has_links() {
        (0..gone).for_each(|i| of.release(within.memory(), place + i * of.size()));
        vector = within.open();
    }
    let behind = count.saturating_sub(to);
    close_gap(vector.image(), place, extent(of, gone), extent(of, behind));
    if of.has_links() && gone != 0 {
        (0..behind).for_each(|i| of.moved(within.memory(), place + i * of.size(), gone * of.size()));
    }
}

pub(crate) fn release<T: Stored>(memory: &mut Memory, at: u32) {
    let [link, count, cap] = header(memory.bytes(), at);
    memory.zero(at, 12);
    let block = at.wrapping_add(link);
    if cap != 0 && T::LINKS {
        memory.release::<Elements<T>>([block, count, cap]);
    } else if cap != 0 {
        memory.free(block, bytes(Of::<T>::TYPE, cap));
    }
}

/// The elements of a vector.
struct Elements<T>(PhantomData<fn() -> T>);

impl<T: Stored> CheckBehind for Elements<T> {
    fn check<const CANONICAL: bool>(
        check: &mut Check<'_, CANONICAL>,
        [block, count, _]: Place,
    ) -> Result<(), Invalid> {
        check.elements::<T>(block, count)
    }
}

impl<T: Stored> WriteBehind for Elements<T> {
    fn write(writer: &mut Writer<'_>, [from, to, count]: Place) {
        writer.elements(Of::<T>::TYPE, from, to, count);
    }
}

impl<T: Stored> SlideBehind for Elements<T> {
    fn slide(slide: &mut Slide<'_>, [block, count, _]: Place) {
        slide.elements::<T>(block, count);
    }
}

impl<T: Stored> ReleaseBehind for Elements<T> {
    fn release(memory: &mut Memory, [block, count, cap]: Place) {
        release_elements(Of::<T>::TYPE, memory, [block, count, cap]);
    }
}

impl<T: Stored> EqualBehind for Elements<T> {
    fn equals(equal: &mut Equal<'_, '_>, [a, b, count]: Place) -> bool {
        T::all_equal(equal, a, b, count)
    }
}

/// Releases the elements of a vector, and frees its block.
pub(crate) fn release_elements<T: Element>(of: T, memory: &mut Memory, [block, count, cap]: Place) {
    for i in (0..count).filter(|_| of.has_links()) {
        of.release(memory, block + i * of.size());
    }
    memory.free(block, bytes(of, cap));
}

/// Updates a container of 16 bytes whose bytes came from `distance` further up.
#[inline]
pub(crate) fn moved(memory: &mut Memory, at: u32, distance: u32) {
    if memory.u32(at + 8) != 0 {
        let link = memory.u32(at).wrapping_add(distance);
        memory.set_u32(at, link);
    }
    begin(memory, at);
}
#[inline]
pub(crate) fn begin(memory: &mut Memory, at: u32) {
    memory.set_u32(at + 12, at.wrapping_neg());
}

/// Visits a vector, or a container built on one, in a walk of a compaction.
pub(crate) fn slide<T: Stored>(slide: &mut Slide<'_>, at: u32) {
    if let Some(memory) = slide.trims() {
        shrink(Of::<T>::TYPE, memory, at);
        let count = len(memory.bytes(), at);
        memory.set_u32(at + 8, count);
    }
    slide.back_link(at, at + 12);
    let count = len(slide.image(), at);
    if let Some(block) = slide.link(at) {
        slide.behind::<Elements<T>>([block, count, 0]);
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
    const PACKED_SIZE: u32 = LINK;
    const PACKED_ALIGN: u32 = 1;
    const IS_PACKED_LINK: bool = true;

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
    fn begin(MemoryMut(memory): MemoryMut<'_>, at: u32) {
        begin(memory, at);
    }
    #[inline]
    fn moved(MemoryMut(memory): MemoryMut<'_>, at: u32, distance: u32) {
        moved(memory, at, distance);
    }
    fn slide(under_way: &mut Slide<'_>, at: u32) {
        slide::<T>(under_way, at);
    }
    fn release(MemoryMut(memory): MemoryMut<'_>, at: u32) {
        release::<T>(memory, at);
    }
    fn write(writer: &mut Writer<'_>, from: u32, to: u32) {
        writer.vector::<T>(from, to);
    }
    fn is_empty(image: &[u8], at: u32) -> bool {
        len(image, at) == 0
    }
    fn pack(writer: &mut Writer<'_>, from: u32, to: u32) {
        let [link, count, _] = header(writer.image(), from);
        packed_vector::pack::<T>(writer, from.wrapping_add(link), count, to);
    }
    fn check_packed<const CANONICAL: bool>(check: &mut Check<'_, CANONICAL>, at: u32) -> Result<(), Invalid> {
        packed_vector::check::<T, CANONICAL>(check, at)
    }
    fn unpack(
        unpacker: &mut Unpacker<'_>,
        MemoryMut(memory): MemoryMut<'_>,
        at: u32,
        from: u32,
    ) -> Result<(), Full> {
        let (first, count) = elements_at::<T>(unpacker.image(), from);
        if count == 0 {
            return Ok(());
        }
        reserve(Of::<T>::TYPE, memory, at, count, true)?;
        let place = extend_zeroed(Of::<T>::TYPE, memory, at, count);
        unpacker.vector::<T>(memory, first, place, count)
    }
    fn check<const CANONICAL: bool>(check: &mut Check<'_, CANONICAL>, at: u32) -> Result<(), Invalid> {
        let (block, len) = check.vector::<T>(at)?;
        if T::LINKS {
            check.behind::<Elements<T>>(at, [block, len, 0])
        } else {
            check.elements::<T>(block, len)
        }
    }
    fn show(walk: &ShowWalk<'_>, at: u32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [link, count, _] = header(walk.image(), at);
        if count == 0 {
            return f.write_str("[]");
        }
        let elements = (0..count).map(|i| at.wrapping_add(link).wrapping_add(i.wrapping_mul(T::SIZE)));
        walk.deeper(f, |f| f.debug_list().entries(elements.map(|at| Shown::<T>::new(walk, at))).finish())
    }
    fn equals(equal: &mut Equal<'_, '_>, a: u32, b: u32) -> bool {
        let [ours, theirs] = [header(equal.a(), a), header(equal.b(), b)];
        let count = ours[1];
        count == theirs[1]
            && (count == 0 || {
                let place = [a.wrapping_add(ours[0]), b.wrapping_add(theirs[0]), count];
                equal.behind::<Elements<T>>(place)
            })
    }
}

impl<const CANONICAL: bool> Check<'_, CANONICAL> {
    /// Claims the block of a vector of `T`, or of a container built on one. Returns the block and the length.
    #[inline(always)]
    pub(crate) fn vector<T: Stored>(&mut self, at: u32) -> Result<(u32, u32), Invalid> {
        let [link, len, cap, back] = numbers(self.image(), at);
        if back != at.wrapping_neg() || cap == 0 || if CANONICAL { len != cap } else { len > cap } {
            self.without_block(at)?;
            return Ok((0, 0));
        }
        let size = u64::from(T::SIZE);
        let to = i64::from(at) + i64::from(link as i32);
        self.claim_at(at, to, u64::from(cap) * size, u64::from(len) * size)?;
        Ok((to as u32, len))
    }
}

impl Writer<'_> {
    /// Writes a vector of `T`, or a container built on one.
    pub(crate) fn vector<T: Stored>(&mut self, from: u32, to: u32) {
        let len = u32_at(self.image(), from + 4);
        self.container(to, len, len);
        if len != 0 {
            let bytes = u64::from(len) * u64::from(T::SIZE);
            let block = if T::DENSE { self.place_dense(to, bytes) } else { self.place(to, bytes) };
            let old = target(self.image(), from);
            if T::LINKS {
                self.linked::<Elements<T>>([old, block, len]);
            } else {
                self.elements(Of::<T>::TYPE, old, block, len);
            }
        }
    }
}

impl<T: Stored, V: Clone> Assign<&[V]> for Vector<T>
where
    T: Assign<V>,
{
    #[inline]
    fn assign(MemoryMut(memory): MemoryMut<'_>, at: u32, values: &[V]) -> Result<(), Full> {
        Self::set(&mut Mut::new(memory, at), values)
    }
    #[inline]
    fn set(to: &mut Mut<'_, Self>, values: &[V]) -> Result<(), Full> {
        let mut open = to.open();
        let [link, count, cap] = open.numbers();
        if T::IN_PLACE && !T::LINKS && values.len() <= cap as usize {
            let (block, len) = (open.target(link), values.len() as u32);
            T::put_all(open.image(), block, values);
            if len < count {
                zero(open.image(), block + len * T::SIZE, (count - len) * T::SIZE);
            }
            open.set_number::<1>(len);
            return Ok(());
        }
        let at = to.at();
        assign_anew::<T, V>(to.memory(), at, values)
    }
}

impl<T: Assign<V>, V: Clone, const N: usize> Assign<&[V; N]> for Vector<T> {
    #[inline]
    fn assign(memory: MemoryMut<'_>, at: u32, values: &[V; N]) -> Result<(), Full> {
        Self::assign(memory, at, values.as_slice())
    }
    #[inline]
    fn set(to: &mut Mut<'_, Self>, values: &[V; N]) -> Result<(), Full> {
        Self::set(to, values.as_slice())
    }
}

impl<T: Assign<V>, V: Clone> Assign<&Vec<V>> for Vector<T> {
    #[inline]
    fn assign(memory: MemoryMut<'_>, at: u32, values: &Vec<V>) -> Result<(), Full> {
        Self::assign(memory, at, values.as_slice())
    }
    #[inline]
    fn set(to: &mut Mut<'_, Self>, values: &Vec<V>) -> Result<(), Full> {
        Self::set(to, values.as_slice())
    }
}

/// Assigns elements that need further memory.
fn assign_anew<T: Assign<V>, V: Clone>(memory: &mut Memory, at: u32, values: &[V]) -> Result<(), Full> {
    Mut::<Vector<T>>::new(memory, at).clear();
    let wanted = u32::try_from(values.len()).map_err(|_| memory.full())?;
    reserve(Of::<T>::TYPE, memory, at, wanted, true)?;
    append::<T, V>(memory, at, values)
}

/// Appends elements for which there is room. If an element's own parts do not fit, it and those after it are
/// not assigned.
fn append<T: Assign<V>, V: Clone>(memory: &mut Memory, at: u32, values: &[V]) -> Result<(), Full> {
    let [link, count, _] = header(memory.bytes(), at);
    if T::IN_PLACE {
        T::put_all(memory.bytes_mut(), at.wrapping_add(link) + count * T::SIZE, values);
        memory.set_u32(at + 4, count + values.len() as u32);
        return Ok(());
    }
    (count..).zip(values).try_for_each(|(index, value)| {
        let place = open(Of::<T>::TYPE, &mut Mut::<Vector<T>>::new(memory, at), index)?;
        T::assign(MemoryMut(memory), place, value.clone())
    })
}

impl<'r, T: Stored> Ref<'r, Vector<T>> {
    /// The number of elements.
    #[inline]
    pub fn len(self) -> usize {
        self.numbers::<2>()[1] as usize
    }

    /// Whether there are no elements.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The element at an index, if it exists.
    #[inline]
    pub fn get(self, index: usize) -> Option<Ref<'r, T>> {
        let [link, count] = self.numbers();
        let block = self.at().wrapping_add(link);
        (index < count as usize).then(|| Ref::new(self.image(), block + index as u32 * T::SIZE))
    }

    /// The elements.
    #[inline]
    pub fn iter(self) -> impl ExactSizeIterator<Item = Ref<'r, T>> + DoubleEndedIterator {
        self.values()
    }
    #[inline]
    pub(crate) fn values(self) -> Values<'r, T> {
        let [link, count] = self.numbers();
        Values::new(self.image(), self.at().wrapping_add(link), count)
    }

    /// The elements as Rust values.
    #[inline]
    pub fn as_slice(self) -> &'r [T]
    where
        T: Plain,
    {
        let [link, count] = self.numbers();
        if count == 0 { &[] } else { plain_slice(self.image(), self.at().wrapping_add(link), count) }
    }
}

impl<T: Stored> Mut<'_, Vector<T>> {
    /// The number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.numbers::<2>()[1] as usize
    }

    /// Whether there are no elements.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element at an index, if it exists, as a mutable handle.
    #[inline]
    pub fn get_mut(&mut self, index: usize) -> Option<Mut<'_, T>> {
        let (at, [link, count]) = (self.at(), self.numbers());
        let block = at.wrapping_add(link);
        (index < count as usize).then(|| Mut::new(self.memory(), block + index as u32 * T::SIZE))
    }

    /// Appends a default element and returns a handle to it.
    #[inline]
    pub fn push_default(&mut self) -> Result<Mut<'_, T>, Full> {
        let count = self.len() as u32;
        let place = open(Of::<T>::TYPE, self, count)?;
        Ok(Mut::new(self.memory(), place))
    }

    /// Appends an element. If there is no room, nothing changes.
    // If only some of several calls are inlined, the others force the arguments into memory for all of them.
    #[inline(always)]
    pub fn push<V>(&mut self, value: V) -> Result<(), Full>
    where
        T: Assign<V>,
    {
        let mut open = self.open();
        let [link, count, cap] = open.numbers();
        if !T::IN_PLACE {
            return self.assign_new(count, value);
        }
        if count < cap {
            let place = open.target(link) + count * T::SIZE;
            T::put_all(open.image(), place, std::slice::from_ref(&value));
            open.set_number::<1>(count + 1);
            return Ok(());
        }
        let at = self.at();
        let (block, count) = enlarge_by_one(Of::<T>::TYPE, self.memory(), at)?;
        T::put_all(self.memory().bytes_mut(), block + count * T::SIZE, std::slice::from_ref(&value));
        Ok(())
    }

    /// Inserts an element at `index`; false if that is greater than the length. If there is no room, nothing
    /// changes.
    pub fn insert<V>(&mut self, index: usize, value: V) -> Result<bool, Full>
    where
        T: Assign<V>,
    {
        if index > self.len() {
            return Ok(false);
        }
        self.assign_new(index as u32, value).map(|()| true)
    }

    /// Appends elements. If there is no room for all of them, nothing changes.
    pub fn extend_from_slice<V: Clone>(&mut self, values: &[V]) -> Result<(), Full>
    where
        T: Assign<V>,
    {
        let (at, count) = (self.at(), self.len() as u32);
        let memory = self.memory();
        let all = u32::try_from(values.len()).ok().and_then(|more| count.checked_add(more));
        let needed = all.ok_or_else(|| memory.full())?;
        reserve(Of::<T>::TYPE, memory, at, needed, false)?;
        let appended = append::<T, V>(memory, at, values);
        if appended.is_err() {
            let end = self.len() as u32;
            close(Of::<T>::TYPE, self, count, end);
        }
        appended
    }

    /// Inserts an element at an index that is at most the length.
    fn assign_new<V>(&mut self, index: u32, value: V) -> Result<(), Full>
    where
        T: Assign<V>,
    {
        let place = open(Of::<T>::TYPE, self, index)?;
        let assigned = T::assign(MemoryMut(self.memory()), place, value);
        if assigned.is_err() {
            close(Of::<T>::TYPE, self, index, index + 1);
        }
        assigned
    }

    /// Removes an element; false if it does not exist.
    #[inline]
    pub fn remove(&mut self, index: usize) -> bool {
        let there = index < self.len();
        if there {
            close(Of::<T>::TYPE, self, index as u32, index as u32 + 1);
        }
        there
    }

    /// Removes the last element; false if there is none.
    #[inline(always)]
    pub fn pop(&mut self) -> bool {
        let mut open = self.open();
        let [link, count] = open.numbers();
        let Some(left) = count.checked_sub(1) else { return false };
        let last = open.target(link) + left * T::SIZE;
        if T::LINKS {
            open.set_number::<1>(left);
            T::release(MemoryMut(self.memory()), last);
            self.memory().zero(last, T::SIZE);
        } else {
            zero(open.image(), last, T::SIZE);
            open.set_number::<1>(left);
        }
        true
    }

    /// Removes all elements; the capacity is kept.
    pub fn clear(&mut self) {
        let count = self.len() as u32;
        close(Of::<T>::TYPE, self, 0, count);
    }

    /// Releases unused memory.
    pub fn shrink_to_fit(&mut self) {
        let at = self.at();
        shrink(Of::<T>::TYPE, self.memory(), at);
    }

    /// Reserves memory for `count` elements in total.
    pub fn reserve(&mut self, count: usize) -> Result<(), Full> {
        let at = self.at();
        let count = u32::try_from(count).map_err(|_| self.memory().full())?;
        reserve(Of::<T>::TYPE, self.memory(), at, count, true)
    }

    /// The elements as mutable Rust values.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [T]
    where
        T: Plain,
    {
        let (at, [link, count]) = (self.at(), self.numbers());
        if count == 0 {
            return &mut [];
        }
        plain_slice_mut(self.memory().bytes_mut(), at.wrapping_add(link), count)
    }
}

impl<'r, T: Stored> Packed<'r, Vector<T>> {
    /// The number of elements.
    #[inline]
    pub fn len(self) -> usize {
        elements_at::<T>(self.image(), self.at()).1 as usize
    }

    /// Whether there are no elements.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The element at an index, if it exists.
    #[inline]
    pub fn get(self, index: usize) -> Option<Packed<'r, T>> {
        let (first, count) = elements_at::<T>(self.image(), self.at());
        (index < count as usize).then(|| Packed::new(self.image(), first + index as u32 * T::PACKED_SIZE))
    }

    /// The elements.
    #[inline]
    pub fn iter(self) -> PackedValues<'r, T> {
        let (first, count) = elements_at::<T>(self.image(), self.at());
        PackedValues::new(self.image(), first, count)
    }

    /// The elements as Rust values.
    #[inline]
    pub fn as_slice(self) -> &'r [T]
    where
        T: Plain,
    {
        let (first, count) = elements_at::<T>(self.image(), self.at());
        if count == 0 { &[] } else { plain_slice(self.image(), first, count) }
    }
}

impl<'r, T: Stored> IntoIterator for Packed<'r, Vector<T>> {
    type Item = Packed<'r, T>;
    type IntoIter = PackedValues<'r, T>;
    fn into_iter(self) -> PackedValues<'r, T> {
        self.iter()
    }
}
