//! Sequences with the layout of ROS 2's C code: `{T* data; size_t size; size_t capacity}`.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::mem::{self, ManuallyDrop, MaybeUninit, needs_drop};
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};

use super::memory::{allocate, may_change_hands, release, resize, try_resize};
use super::tail::{PrimitiveTail, finalize};
use super::{NO_BOUND, bound};
use crate::storage::bulk::{BulkError, BulkField};
use crate::storage::methods::{not_flat, write_whole};
use crate::support::shared_bytes::NoMemory;
use crate::value::container::{SequenceField, check};
use crate::value::error::{BoundError, OpaqueBuffer};
use crate::value::in_place::{Composite, ElementClass, IfScalar, InPlace, clone_value};
use crate::value::traits::{BulkElement, Value, Visitor, VisitorMut};

/// The data after the three numbers of a C sequence. In C, the type of the elements decides what it is:
/// sequences of messages have none.
type Tail<T> = <<T as InPlace>::Class as ElementClass>::IfScalar<PrimitiveTail>;

/// A sequence of at most `N` elements in memory of the C allocator. It is bit for bit a
/// `rosidl_runtime_c__T__Sequence` or a `package__msg__T__Sequence`. Bounded and unbounded sequences are the
/// same in C.
///
/// ```
/// let mut ranges = situ_layout::RosSequence::<f32, 2>::default();
/// ranges.try_extend_from_slice(&[1.0, 2.0])?;
/// assert_eq!(ranges.try_push(3.0).unwrap_err().bound, 2);
/// assert_eq!(ranges[1], 2.0);
/// # Ok::<(), situ_layout::BoundError>(())
/// ```
// Unless the tail marks a buffer, there are two states. Either `data` is null and both numbers are 0, or
// `data` is C memory for `capacity` elements, and the first `size` are the sequence. C code finalizes all
// `capacity` elements, so the spare elements of types with a destructor are valid values too.
#[repr(C)]
pub struct RosSequence<T: InPlace, const N: usize = NO_BOUND> {
    pub(super) data: *mut T,
    pub(super) size: usize,
    pub(super) capacity: usize,
    pub(super) tail: Tail<T>,
}

// SAFETY: a sequence owns its elements and adds no interior mutability.
unsafe impl<T: InPlace + Send, const N: usize> Send for RosSequence<T, N> {}
// SAFETY: as above.
unsafe impl<T: InPlace + Sync, const N: usize> Sync for RosSequence<T, N> {}

impl<T: InPlace, const N: usize> RosSequence<T, N> {
    /// No elements, and no memory.
    pub fn new() -> Self {
        Self::of(ptr::null_mut(), 0, 0)
    }

    /// A sequence of C memory for `capacity` elements, of which the first `size` are the sequence.
    fn of(data: *mut T, size: usize, capacity: usize) -> Self {
        Self { data, size, capacity, tail: Tail::<T>::default() }
    }

    /// A sequence of elements that it does not own. It may be read and must not be dropped.
    pub(crate) fn lent(elements: *const [T]) -> Self {
        match elements.len() {
            0 => Self::new(),
            size => Self::of(elements.cast::<T>().cast_mut(), size, size),
        }
    }

    /// Whether C has stored a `rosidl::Buffer` instead of elements. From Lyrical on, C may do so in sequences
    /// of `uint8` if a subscription asks for it. Such a buffer may lie in the memory of a device. It reads as
    /// an empty sequence and is published as the buffer that it is. Dropping the sequence or writing to it
    /// releases the buffer through ROS.
    pub fn is_rosidl_buffer(&self) -> bool {
        self.tail.get().is_some_and(PrimitiveTail::is_buffer)
    }

    /// The elements. Fails if they are in a [buffer](Self::is_rosidl_buffer).
    pub fn try_as_slice(&self) -> Result<&[T], OpaqueBuffer> {
        if self.is_rosidl_buffer() {
            Err(OpaqueBuffer { kind: "rosidl buffer", size: self.size })
        } else {
            Ok(self.as_slice())
        }
    }

    /// Releases a buffer before the sequence is written to.
    fn let_buffer_go(&mut self) {
        if self.is_rosidl_buffer() {
            *self = Self::new();
        }
    }

    /// The address of a buffer; null if the sequence has elements.
    fn buffer(&self) -> *const T {
        if self.is_rosidl_buffer() { self.data } else { ptr::null() }
    }

    /// The elements.
    pub fn as_slice(&self) -> &[T] {
        if self.data.is_null() || self.is_rosidl_buffer() {
            return &[];
        }
        // SAFETY: data holds size valid elements.
        unsafe { std::slice::from_raw_parts(self.data, self.size) }
    }

    /// The elements as a mutable slice.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        if self.data.is_null() || self.is_rosidl_buffer() {
            return &mut [];
        }
        // SAFETY: data holds size valid elements, exclusively borrowed with the sequence.
        unsafe { std::slice::from_raw_parts_mut(self.data, self.size) }
    }

    /// The number of elements that fit into its memory, as in C.
    pub const fn memory_capacity(&self) -> usize {
        self.capacity
    }

    /// The elements as a vector. The vector has the same memory if the program uses
    /// [`use_c_allocator!`](crate::use_c_allocator), otherwise new memory into which the elements are moved
    /// in one block. For a [buffer](Self::is_rosidl_buffer), the vector is empty.
    pub fn into_vec(mut self) -> Vec<T> {
        self.let_buffer_go();
        let this = ManuallyDrop::new(self);
        let (data, size, capacity) = (this.data, this.size, this.capacity);
        if data.is_null() {
            return Vec::new();
        }
        if needs_drop::<T>() {
            for index in size..capacity {
                // SAFETY: spare elements are valid and are not looked at again.
                unsafe { ptr::drop_in_place(data.add(index)) };
            }
        }
        if may_change_hands::<T>() {
            // SAFETY: the memory has room for capacity elements, size of which are valid. It came from the
            // program's allocator, which frees memory without its layout.
            return unsafe { Vec::from_raw_parts(data, size, capacity) };
        }
        let mut elements = Vec::with_capacity(size);
        // SAFETY: both have room for size elements. The elements move, and their old memory is freed.
        unsafe {
            ptr::copy_nonoverlapping(data, elements.as_mut_ptr(), size);
            elements.set_len(size);
            release(data);
        }
        elements
    }

    /// The same sequence with a different bound.
    pub fn try_with_bound<const M: usize>(self) -> Result<RosSequence<T, M>, BoundError> {
        check(bound(M), self.size)?;
        let this = ManuallyDrop::new(self);
        Ok(RosSequence { data: this.data, size: this.size, capacity: this.capacity, tail: this.tail })
    }

    /// Drops the spare element at `index` before the place is overwritten.
    ///
    /// # Safety
    /// `index` is at least the size and less than the capacity. The place is written before it is
    /// read.
    unsafe fn vacate(&mut self, index: usize) {
        if needs_drop::<T>() {
            // SAFETY: the place lies within the memory and holds a valid value, which is not used again.
            unsafe { ptr::drop_in_place(self.data.add(index)) };
        }
    }
}

impl<T: InPlace, const N: usize> RosSequence<T, N> {
    /// Takes over a vector. Takes its memory if the program uses
    /// [`use_c_allocator!`](crate::use_c_allocator), otherwise moves its elements in one block.
    pub fn try_from_vec(elements: Vec<T>) -> Result<Self, BoundError> {
        check(bound(N), elements.len())?;
        if elements.capacity() == 0 || elements.is_empty() {
            return Ok(Self::new());
        }
        let mut elements = ManuallyDrop::new(elements);
        let (data, size, capacity) = (elements.as_mut_ptr(), elements.len(), elements.capacity());
        if may_change_hands::<T>() {
            if needs_drop::<T>() {
                for index in size..capacity {
                    // SAFETY: the vector has room for capacity elements.
                    unsafe { T::vacant_at(data.add(index)) };
                }
            }
            return Ok(Self::of(data, size, capacity));
        }
        let memory = allocate::<T>(size).as_ptr();
        // SAFETY: both have room for size elements. They move, and the vector is freed without them.
        unsafe {
            ptr::copy_nonoverlapping(data, memory, size);
            elements.set_len(0);
            ManuallyDrop::drop(&mut elements);
        }
        Ok(Self::of(memory, size, size))
    }

    /// Reserves memory for `additional` more elements, or for twice the current number if that is more.
    fn reserve(&mut self, additional: usize) {
        let needed = self.size.saturating_add(additional);
        if needed > self.capacity {
            self.grow(needed.max(self.capacity.saturating_mul(2)));
        }
    }

    /// Grows the memory to `capacity` elements, which is more than the current capacity.
    fn grow(&mut self, capacity: usize) {
        // SAFETY: data is null or of the C allocator; elements may be moved as bytes.
        let data = unsafe { resize(self.data, capacity) };
        self.grown(data, capacity);
    }

    /// Continues with memory for `capacity` elements that already contains the current elements.
    fn grown(&mut self, data: NonNull<T>, capacity: usize) {
        self.data = data.as_ptr();
        if needs_drop::<T>() {
            for index in self.capacity..capacity {
                // SAFETY: there is room for capacity elements.
                unsafe { T::vacant_at(self.data.add(index)) };
            }
        }
        self.capacity = capacity;
    }

    /// Appends an element.
    pub fn try_push(&mut self, element: T) -> Result<(), BoundError> {
        self.let_buffer_go();
        check(bound(N), self.size + 1)?;
        self.reserve(1);
        // SAFETY: there is room for one more.
        unsafe {
            self.vacate(self.size);
            self.data.add(self.size).write(element);
        }
        self.size += 1;
        Ok(())
    }

    /// Appends a default element and returns a reference to it.
    pub fn try_push_default(&mut self) -> Result<&mut T, BoundError> {
        self.let_buffer_go();
        let last = self.size;
        self.try_resize(last + 1)?;
        // SAFETY: it was just written.
        Ok(unsafe { &mut *self.data.add(last) })
    }

    /// Shortens to `len` elements, or grows with default elements.
    pub fn try_resize(&mut self, len: usize) -> Result<(), BoundError> {
        check(bound(N), len)?;
        self.truncate(len);
        self.reserve(len - self.size);
        while self.size < len {
            // SAFETY: there is room for len elements; default_at does not unwind.
            unsafe {
                self.vacate(self.size);
                T::default_at(self.data.add(self.size));
            }
            self.size += 1;
        }
        Ok(())
    }

    /// Removes the last element.
    pub fn pop(&mut self) -> Option<T> {
        self.let_buffer_go();
        self.size = self.size.checked_sub(1)?;
        // SAFETY: the element was valid, and its place gets a value that the sequence may keep.
        unsafe {
            let last = self.data.add(self.size);
            let element = last.read();
            if needs_drop::<T>() {
                T::vacant_at(last);
            }
            Some(element)
        }
    }

    /// Shortens to `len` elements; does nothing if there are no more. The memory is kept.
    pub fn truncate(&mut self, len: usize) {
        self.let_buffer_go();
        if !needs_drop::<T>() {
            self.size = self.size.min(len);
        }
        while self.size > len {
            self.pop();
        }
    }

    /// Removes all elements. The memory is kept.
    pub fn clear(&mut self) {
        self.truncate(0);
    }

    /// Appends copies of all elements, in one block if they may be copied as bytes.
    pub fn try_extend_from_slice(&mut self, elements: &[T]) -> Result<(), BoundError> {
        self.let_buffer_go();
        check(bound(N), self.size.saturating_add(elements.len()))?;
        self.reserve(elements.len());
        if T::BITWISE {
            // SAFETY: there is room, and copies of the bytes are values. The slice does not borrow from this
            // sequence, because the sequence is borrowed exclusively.
            unsafe {
                if !elements.is_empty() {
                    ptr::copy_nonoverlapping(elements.as_ptr(), self.data.add(self.size), elements.len());
                }
            }
            self.size += elements.len();
            return Ok(());
        }
        for element in elements {
            // A clone may unwind, so it comes before the place is vacated.
            let element = clone_value(element);
            // SAFETY: there is room.
            unsafe {
                self.vacate(self.size);
                self.data.add(self.size).write(element);
            }
            self.size += 1;
        }
        Ok(())
    }

    /// Replaces the elements by copies of these. Elements that may be copied as bytes are copied in one
    /// block, into memory that was not written before.
    pub fn try_assign(&mut self, elements: &[T]) -> Result<(), BoundError> {
        check(bound(N), elements.len())?;
        if T::BITWISE && elements.len() > self.capacity {
            *self = Self::new();
        }
        self.clear();
        self.try_extend_from_slice(elements)
    }

    /// Copies the elements of a slice.
    pub fn try_from_slice(elements: &[T]) -> Result<Self, BoundError> {
        let mut sequence = Self::new();
        sequence.try_extend_from_slice(elements)?;
        Ok(sequence)
    }
}

impl<T: Value, const N: usize> SequenceField<T> for RosSequence<T, N> {
    const BOUND: Option<usize> = bound(N);
    const INLINE: bool = false;

    fn elements(&self) -> Result<&[T], OpaqueBuffer> {
        self.try_as_slice()
    }

    fn try_reserve(&mut self, additional: usize) -> Result<(), NoMemory> {
        self.let_buffer_go();
        let needed = self.size.saturating_add(additional);
        if needed > self.capacity {
            let capacity = needed.max(self.capacity.saturating_mul(2));
            // SAFETY: data is null or of the C allocator; elements may be moved as bytes.
            let data = unsafe { try_resize(self.data, capacity) };
            let data = data.ok_or(NoMemory { bytes: needed.saturating_mul(size_of::<T>()) })?;
            self.grown(data, capacity);
        }
        Ok(())
    }

    fn try_push(&mut self, element: T) -> Result<(), BoundError> {
        self.try_push(element)
    }

    fn try_push_default(&mut self) -> Result<&mut T, BoundError> {
        self.try_push_default()
    }

    fn try_extend_from_slice(&mut self, elements: &[T]) -> Result<(), BoundError> {
        self.try_extend_from_slice(elements)
    }

    unsafe fn try_extend_with<E: From<BoundError>>(
        &mut self,
        additional: usize,
        fill: impl FnOnce(&mut [MaybeUninit<T>]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.let_buffer_go();
        check(bound(N), self.size.saturating_add(additional))?;
        if additional == 0 {
            return fill(&mut []);
        }
        self.reserve(additional);
        let (data, size, capacity) = (self.data, self.size, self.capacity);
        for index in size..size + additional {
            // SAFETY: there is room. The places are not read before they are written again, because the
            // sequence is empty.
            unsafe { self.vacate(index) };
        }
        // If `fill` unwinds, the sequence is empty, and its memory leaks.
        mem::forget(mem::take(self));
        // SAFETY: the memory has room for the additional elements.
        let places = unsafe { std::slice::from_raw_parts_mut(data.add(size).cast(), additional) };
        let filled = fill(places);
        if filled.is_err() && needs_drop::<T>() {
            for index in size..size + additional {
                // SAFETY: as above.
                unsafe { T::vacant_at(data.add(index)) };
            }
        }
        self.data = data;
        self.capacity = capacity;
        // The caller promises that the places are initialized if `fill` succeeded.
        self.size = if filled.is_ok() { size + additional } else { size };
        filled
    }

    fn try_resize(&mut self, len: usize) -> Result<(), BoundError> {
        self.try_resize(len)
    }

    fn try_resize_vacant(&mut self, len: usize) -> Result<(), BoundError> {
        check(bound(N), len)?;
        self.truncate(len);
        self.reserve(len - self.size);
        while self.size < len {
            if !needs_drop::<T>() {
                // SAFETY: there is room for len elements. For types with a destructor, the place already
                // holds a valid value.
                unsafe { T::vacant_at(self.data.add(self.size)) };
            }
            self.size += 1;
        }
        Ok(())
    }

    fn truncate(&mut self, len: usize) {
        self.truncate(len);
    }

    fn clear(&mut self) {
        self.clear();
    }

    fn try_assign(&mut self, elements: &[T]) -> Result<(), BoundError> {
        self.try_assign(elements)
    }
}

impl<T: BulkElement, const N: usize> BulkField<T> for RosSequence<T, N> {
    const BOUND: usize = N;
    const IN_BODY: bool = false;

    fn element_count(&self) -> usize {
        self.len()
    }

    fn place(&mut self, _offset: u64, len: usize) {
        // `measure_bulk` has checked the bound; a sequence that stays shorter is safe in any case.
        let within_bound = self.try_resize(len);
        debug_assert!(within_bound.is_ok());
    }

    fn elements<'a>(&'a self, _body: &'a [u8]) -> Result<&'a [T], BulkError> {
        Ok(self.try_as_slice()?)
    }

    fn elements_mut<'a>(&'a mut self, _body: &'a mut [u8]) -> Result<&'a mut [T], BulkError> {
        self.try_as_slice()?;
        Ok(self)
    }

    fn fill(&mut self, _offset: u64, elements: &[T], _body: &mut [u8]) -> Result<(), BulkError> {
        // The caller has checked the bound.
        let within_bound = self.try_assign(elements);
        debug_assert!(within_bound.is_ok());
        Ok(())
    }
}

// SAFETY: all functions write a whole value; an empty sequence owns no memory.
unsafe impl<T: Value, const N: usize> InPlace for RosSequence<T, N> {
    type Class = Composite;

    write_whole!();
}

impl<T: Value, const N: usize> Value for RosSequence<T, N> {
    not_flat!();

    fn visit<V: Visitor>(&self, visitor: &mut V) -> Result<(), V::Error> {
        match self.try_as_slice() {
            Ok(elements) => visitor.sequence(elements),
            Err(buffer) => visitor.opaque_buffer(buffer),
        }
    }

    fn visit_mut<V: VisitorMut>(&mut self, visitor: &mut V) -> Result<(), V::Error> {
        visitor.sequence(self)
    }
}

impl<T: InPlace, const N: usize> Drop for RosSequence<T, N> {
    fn drop(&mut self) {
        if self.is_rosidl_buffer() {
            // SAFETY: the flags say so, and the sequence is not used afterwards.
            return unsafe { finalize(ptr::from_mut(self).cast()) };
        }
        if self.data.is_null() {
            return;
        }
        // SAFETY: for types with a destructor, all capacity elements are valid. The memory is C's and is not
        // used afterwards.
        unsafe {
            if needs_drop::<T>() {
                ptr::drop_in_place(ptr::slice_from_raw_parts_mut(self.data, self.capacity));
            }
            release(self.data);
        }
    }
}

impl<T: InPlace, const N: usize> Clone for RosSequence<T, N> {
    fn clone(&self) -> Self {
        let mut copy = Self::new();
        // C code may have written more than the bound. The copy has at most the bound.
        let len = self.len().min(N);
        let copied = copy.try_extend_from_slice(&self.as_slice()[..len]);
        debug_assert!(copied.is_ok());
        copy
    }
}

impl<T: InPlace, const N: usize> Default for RosSequence<T, N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: InPlace, const N: usize> Deref for RosSequence<T, N> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.as_slice()
    }
}

impl<T: InPlace, const N: usize> DerefMut for RosSequence<T, N> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.as_mut_slice()
    }
}

impl<T: InPlace> From<Vec<T>> for RosSequence<T> {
    fn from(elements: Vec<T>) -> Self {
        // Without a bound, nothing is too long.
        Self::try_from_vec(elements).unwrap_or_default()
    }
}

impl<T: InPlace, const N: usize> TryFrom<&[T]> for RosSequence<T, N> {
    type Error = BoundError;

    fn try_from(elements: &[T]) -> Result<Self, BoundError> {
        Self::try_from_slice(elements)
    }
}

impl<T: InPlace, const N: usize> From<RosSequence<T, N>> for Vec<T> {
    fn from(elements: RosSequence<T, N>) -> Self {
        elements.into_vec()
    }
}

impl<T: InPlace, const N: usize> IntoIterator for RosSequence<T, N> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.into_vec().into_iter()
    }
}

impl<'a, T: InPlace, const N: usize> IntoIterator for &'a RosSequence<T, N> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T: InPlace, const N: usize> IntoIterator for &'a mut RosSequence<T, N> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<T: InPlace + PartialEq, const N: usize> PartialEq for RosSequence<T, N> {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice() && self.buffer() == other.buffer()
    }
}

impl<T: InPlace + Eq, const N: usize> Eq for RosSequence<T, N> {}

impl<T: InPlace + PartialOrd, const N: usize> PartialOrd for RosSequence<T, N> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.as_slice().partial_cmp(other.as_slice())?.then(self.buffer().cmp(&other.buffer())))
    }
}

impl<T: InPlace + Ord, const N: usize> Ord for RosSequence<T, N> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_slice().cmp(other.as_slice()).then(self.buffer().cmp(&other.buffer()))
    }
}

impl<T: InPlace + Hash, const N: usize> Hash for RosSequence<T, N> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}

impl<T: InPlace + fmt::Debug, const N: usize> fmt::Debug for RosSequence<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.try_as_slice() {
            Ok(elements) => fmt::Debug::fmt(elements, f),
            Err(buffer) => fmt::Debug::fmt(&buffer, f),
        }
    }
}
