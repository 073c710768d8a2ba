//! Lends a message of another storage as a C struct that is only read. Sequences of plain values stay in the
//! source. All other data that C reaches through pointers lies in one block.

use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::Deref;
use std::ptr;

use crate::convert::assign::AssignError;
use crate::storage::bulk::BulkField;
use crate::storage::ros::sequence::RosSequence;
use crate::storage::ros::text::{RosString, RosWString};
use crate::value::container::{SequenceField, TextField, WideTextField};
use crate::value::in_place::InPlace;
use crate::value::traits::{BulkElement, Value};

/// The alignment of blocks. It is enough for all members of ROS's C structs.
type Word = u64;

/// A C struct that borrows from a message of another storage. It may be published. It must not be changed or
/// finalized; the type ensures this, because it gives access through a shared reference only.
///
/// ```
/// # mod messages {
/// #     pub mod situ {
/// #         pub mod layout { pub use situ_layout::*; }
/// #         pub mod region { pub use situ_region::*; }
/// #     }
/// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/messages/messages.rs"));
/// # }
/// # use situ_layout::{AssignError, Heap, ros};
/// # use messages::test::msg::Whole;
/// # fn main() -> Result<(), AssignError> {
/// let mut whole = Whole::<Heap>::default();
/// whole.more.extend(["arm".to_owned(), "hand".to_owned()]);
/// let lent = ros::lend(&whole)?;
/// assert_eq!(lent.more[1], "hand");
/// # Ok(())
/// # }
/// ```
///
/// It cannot outlive the message that it borrows from:
///
/// ```compile_fail,E0505
/// # mod messages {
/// #     pub mod situ {
/// #         pub mod layout { pub use situ_layout::*; }
/// #         pub mod region { pub use situ_region::*; }
/// #     }
/// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/messages/messages.rs"));
/// # }
/// # use situ_layout::{AssignError, Heap, ros};
/// # use messages::test::msg::Whole;
/// # fn main() -> Result<(), AssignError> {
/// let whole = Whole::<Heap>::default();
/// let lent = ros::lend(&whole)?;
/// drop(whole);
/// assert_eq!(lent.more.len(), 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Lent<'a, C> {
    // Never dropped: it does not own the memory that its members point to.
    message: ManuallyDrop<C>,
    // The memory that the members point to, unless they point into the source.
    _block: Vec<MaybeUninit<Word>>,
    source: PhantomData<&'a ()>,
}

impl<C> Deref for Lent<'_, C> {
    type Target = C;

    fn deref(&self) -> &C {
        &self.message
    }
}

/// A message of ROS that can be lent as its C struct. Generated types implement it.
///
/// # Safety
/// When [`lend_at`](Self::lend_at) returns `Ok`, the destination holds a valid value. It stays valid while
/// the message and the block do, if no code changes or drops it.
pub unsafe trait Lend {
    /// The C struct.
    type C;

    /// Writes the C struct of the message, and puts the data it points to into the block.
    ///
    /// # Safety
    /// `dst` is valid for writes of the struct and aligned.
    #[doc(hidden)]
    unsafe fn lend_at(&self, dst: *mut Self::C, block: &mut Block<'_>) -> Result<(), AssignError>;
}

/// Lends a message as its C struct, with at most one allocation. For flat messages with bulk members, use
/// [`lend_with_body`].
pub fn lend<T: Lend>(message: &T) -> Result<Lent<'_, T::C>, AssignError> {
    lend_with_body(message, &[])
}

/// Lends a message whose bulk members lie in a body as its C struct, with at most one allocation.
pub fn lend_with_body<'a, T: Lend>(message: &'a T, body: &'a [u8]) -> Result<Lent<'a, T::C>, AssignError> {
    let mut lent = MaybeUninit::uninit();
    let mut measured = Block { start: ptr::null_mut(), end: 0, used: 0, body };
    // SAFETY: the pointer is to a place for a struct. Nothing is written to the block while it is measured.
    unsafe { message.lend_at(lent.as_mut_ptr(), &mut measured)? };
    let mut memory = Vec::<MaybeUninit<Word>>::with_capacity(measured.used.div_ceil(size_of::<Word>()));
    let mut block = Block { start: memory.as_mut_ptr().cast(), end: measured.used, used: 0, body };
    if measured.used > 0 {
        // SAFETY: as above; the memory has the measured size.
        unsafe { message.lend_at(lent.as_mut_ptr(), &mut block)? };
    }
    // SAFETY: it was written, with addresses that stay valid: the source is borrowed for 'a, and the memory
    // of a vector does not move with the vector.
    let message = ManuallyDrop::new(unsafe { lent.assume_init() });
    Ok(Lent { message, _block: memory, source: PhantomData })
}

/// Memory for the data that a C struct points to. It is measured first, then filled in the same order.
#[derive(Debug)]
pub struct Block<'a> {
    /// Null during measuring.
    start: *mut u8,
    end: usize,
    used: usize,
    body: &'a [u8],
}

impl Block<'_> {
    /// The place of `count` values that the caller writes; null during measuring.
    fn place<T>(&mut self, count: usize) -> *mut T {
        const { assert!(align_of::<T>() <= align_of::<Word>(), "C structs of ROS are aligned to at most 8") };
        let at = self.used.next_multiple_of(align_of::<T>());
        self.used = at.saturating_add(count.saturating_mul(size_of::<T>()));
        if self.start.is_null() {
            return ptr::null_mut();
        }
        // A source does not change between the two passes. If a message in another library's storage changes
        // nevertheless, the assertion prevents a write beyond the end.
        assert!(self.used <= self.end, "a message changed while it was lent");
        // SAFETY: the place lies within the memory.
        unsafe { self.start.add(at).cast() }
    }

    /// Copies values followed by a zero into the block. Returns their place.
    fn text<T: Copy + Default>(&mut self, values: &[T]) -> *mut T {
        let data = self.place::<T>(values.len().saturating_add(1));
        if !data.is_null() {
            // SAFETY: there is a place for the values and one more, in memory that no other code uses.
            unsafe {
                ptr::copy_nonoverlapping(values.as_ptr(), data, values.len());
                data.add(values.len()).write(T::default());
            }
        }
        data
    }
}

/// Writes a value that does not depend on the storage.
///
/// # Safety
/// `dst` is valid for writes and aligned. The same holds for all functions of this module.
pub unsafe fn copy<T: InPlace>(source: &T, dst: *mut T, _: &mut Block<'_>) -> Result<(), AssignError> {
    const { assert!(T::BITWISE, "a value that does not depend on the storage is its bytes") };
    // SAFETY: the caller's promise; a copy of the bytes is a value.
    unsafe { ptr::copy_nonoverlapping(source, dst, 1) };
    Ok(())
}

/// Lends a string.
///
/// # Safety
/// As for [`copy`].
pub unsafe fn text<const N: usize>(
    source: &impl TextField,
    dst: *mut RosString<N>,
    block: &mut Block<'_>,
) -> Result<(), AssignError> {
    let text: &str = source;
    // SAFETY: the caller's promise.
    unsafe { dst.write(RosString::lent(block.text(text.as_bytes()), text.len())) };
    Ok(())
}

/// Lends a wide string.
///
/// # Safety
/// As for [`copy`].
pub unsafe fn wide<const N: usize>(
    source: &impl WideTextField,
    dst: *mut RosWString<N>,
    block: &mut Block<'_>,
) -> Result<(), AssignError> {
    // SAFETY: the caller's promise.
    unsafe { dst.write(RosWString::lent(block.text::<u16>(source), source.len())) };
    Ok(())
}

/// Lends a sequence of values that do not depend on the storage. They stay in the source.
///
/// # Safety
/// As for [`copy`].
pub unsafe fn list_of_copies<T: Value, const N: usize>(
    source: &impl SequenceField<T>,
    dst: *mut RosSequence<T, N>,
    _: &mut Block<'_>,
) -> Result<(), AssignError> {
    // SAFETY: the caller's promise.
    unsafe { dst.write(RosSequence::lent(source.elements()?)) };
    Ok(())
}

/// Lends a bulk member. Its elements stay in the source.
///
/// # Safety
/// As for [`copy`].
pub unsafe fn bulk<T: BulkElement, const N: usize>(
    source: &impl BulkField<T>,
    dst: *mut RosSequence<T, N>,
    block: &mut Block<'_>,
) -> Result<(), AssignError> {
    // SAFETY: the caller's promise.
    unsafe { dst.write(RosSequence::lent(source.elements(block.body)?)) };
    Ok(())
}

/// Lends one element. It may be called with a place that [`copy`] may be called with.
type Each<S, T> = unsafe fn(&S, *mut T, &mut Block<'_>) -> Result<(), AssignError>;

/// Lends a sequence.
///
/// # Safety
/// As for [`copy`]. `each` writes the value at the place that it receives.
pub unsafe fn list<S: Value, T: InPlace, const N: usize>(
    source: &impl SequenceField<S>,
    dst: *mut RosSequence<T, N>,
    block: &mut Block<'_>,
    each: Each<S, T>,
) -> Result<(), AssignError> {
    let elements = source.elements()?;
    let data = block.place::<T>(elements.len());
    let mut measured = MaybeUninit::uninit();
    for (index, element) in elements.iter().enumerate() {
        // SAFETY: there is a place for each element.
        let at = if data.is_null() { measured.as_mut_ptr() } else { unsafe { data.add(index) } };
        // SAFETY: the place is that of an element.
        unsafe { each(element, at, block) }.map_err(|error| error.in_element(index))?;
    }
    let lent = ptr::slice_from_raw_parts(data.cast_const(), if data.is_null() { 0 } else { elements.len() });
    // SAFETY: the caller's promise.
    unsafe { dst.write(RosSequence::lent(lent)) };
    Ok(())
}

/// Lends an array.
///
/// # Safety
/// As for [`list`].
pub unsafe fn array<S, T, const N: usize>(
    source: &[S; N],
    dst: *mut [T; N],
    block: &mut Block<'_>,
    each: Each<S, T>,
) -> Result<(), AssignError> {
    for (index, element) in source.iter().enumerate() {
        // SAFETY: the array has `N` places.
        let at = unsafe { dst.cast::<T>().add(index) };
        // SAFETY: the place is that of an element.
        unsafe { each(element, at, block) }.map_err(|error| error.in_element(index))?;
    }
    Ok(())
}
