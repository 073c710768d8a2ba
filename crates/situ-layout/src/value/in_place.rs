//! Construction at an address, the marker of memory without pointers, and what a type is as an element.

use std::alloc::{Layout, alloc, handle_alloc_error};
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// Construction at an address, without a temporary and without touching unoccupied bytes.
///
/// # Safety
/// When `default_at` or `clone_at` returns, the destination holds a valid value of the type;
/// `default_at` does not unwind. If `DENSE` is true, any initialized bytes of the type's size are a valid
/// value, and the type has no padding and no destructor. If `BITWISE` is true, a copy of a value's bytes,
/// padding included, is a second value, and the type has no destructor.
pub unsafe trait InPlace: Sized {
    /// Whether the type consists of numbers without gaps, so that slices of it may be copied as bytes in both
    /// directions.
    const DENSE: bool = false;
    /// Whether a value may be copied by copying its bytes, padding included.
    const BITWISE: bool = Self::DENSE;

    /// What the type is as an element: [`Scalar`] for numbers, booleans and the strings of C.
    type Class: ElementClass;

    /// Writes the default value.
    ///
    /// # Safety
    /// `dst` is valid for writes of `Self` and aligned. Its current bytes are overwritten, not dropped.
    unsafe fn default_at(dst: *mut Self);

    /// Writes a valid value that owns no memory if the type has one, otherwise the default value. The caller
    /// assigns the value before it is read.
    ///
    /// # Safety
    /// As for [`default_at`](Self::default_at).
    #[doc(hidden)]
    unsafe fn vacant_at(dst: *mut Self) {
        // SAFETY: the caller's promise is the same.
        unsafe { Self::default_at(dst) }
    }

    /// Writes a copy of `self`. Only the occupied part of variable-length members is copied.
    ///
    /// # Safety
    /// As for [`default_at`](Self::default_at), and `dst` does not overlap `self`.
    unsafe fn clone_at(&self, dst: *mut Self);
}

/// What a type is as an element of a sequence: [`Scalar`] or [`Composite`]. A storage may lay out sequences
/// of the two differently.
pub trait ElementClass: 'static {
    /// Data that only sequences of scalars have.
    type IfScalar<T: Copy + Default + Send + Sync + 'static>: IfScalar<T>;
}

/// The class of numbers, booleans and the strings of C.
#[derive(Clone, Copy, Debug)]
pub struct Scalar;

impl ElementClass for Scalar {
    type IfScalar<T: Copy + Default + Send + Sync + 'static> = Present<T>;
}

/// The class of all other types.
#[derive(Clone, Copy, Debug)]
pub struct Composite;

impl ElementClass for Composite {
    type IfScalar<T: Copy + Default + Send + Sync + 'static> = Absent;
}

/// A `T` that only sequences of scalars have.
pub trait IfScalar<T>: Copy + Default + Send + Sync + 'static {
    /// The data, if the elements are scalars.
    fn get(self) -> Option<T>;
}

/// The data of a sequence of scalars.
#[derive(Clone, Copy, Debug, Default)]
#[repr(transparent)]
pub struct Present<T>(T);

impl<T: Copy + Default + Send + Sync + 'static> IfScalar<T> for Present<T> {
    #[inline]
    fn get(self) -> Option<T> {
        Some(self.0)
    }
}

/// No data.
#[derive(Clone, Copy, Debug, Default)]
pub struct Absent;

impl<T> IfScalar<T> for Absent {
    #[inline]
    fn get(self) -> Option<T> {
        None
    }
}

/// Resets a value to its default, in place.
pub fn reset<T: InPlace>(value: &mut T) {
    let at: *mut T = value;
    // SAFETY: the value is valid and exclusively borrowed. Nothing can observe it between its drop and its
    // new initialization, because default_at does not unwind.
    unsafe {
        std::ptr::drop_in_place(at);
        T::default_at(at);
    }
}

/// The default value of any type that can be a member, including arrays of any length.
pub fn default_value<T: InPlace>() -> T {
    let mut value = MaybeUninit::uninit();
    // SAFETY: the pointer is to a whole T, which default_at initializes.
    unsafe {
        T::default_at(value.as_mut_ptr());
        value.assume_init()
    }
}

/// A copy of any value, including arrays of any length.
pub fn clone_value<T: InPlace>(value: &T) -> T {
    let mut copy = MaybeUninit::uninit();
    // SAFETY: the pointer is to a whole T, which clone_at initializes.
    unsafe {
        value.clone_at(copy.as_mut_ptr());
        copy.assume_init()
    }
}

/// A default value on the heap, built there. It never lies on the stack, however large the type is.
pub fn boxed<T: InPlace>() -> Box<T> {
    let layout = Layout::new::<T>();
    let memory = if layout.size() == 0 {
        NonNull::<T>::dangling()
    } else {
        // SAFETY: the layout's size is not zero.
        let memory = unsafe { alloc(layout) }.cast::<T>();
        NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout))
    };
    // SAFETY: the memory is fresh, of T's size and alignment, and comes from the global allocator with T's
    // layout, so a Box may own it once it is initialized.
    unsafe {
        T::default_at(memory.as_ptr());
        Box::from_raw(memory.as_ptr())
    }
}

/// The bytes of dense values.
pub fn dense_bytes<T: InPlace>(values: &[T]) -> Option<&[u8]> {
    // SAFETY: dense values have no padding, so all their bytes are initialized; the extent is that of the
    // slice.
    T::DENSE.then(|| unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) })
}

/// The bytes of dense values, as a mutable slice.
pub fn dense_bytes_mut<T: InPlace>(values: &mut [T]) -> Option<&mut [u8]> {
    let size = size_of_val(values);
    // SAFETY: as above, and any bytes are valid values.
    T::DENSE.then(|| unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), size) })
}

/// Memory without pointers: it means the same in every process that maps it.
///
/// Generated types implement it for their flat form. [`assert_self_contained`] checks every member at compile
/// time.
///
/// # Safety
/// The type holds no pointer, reference, handle or other value that is valid in one process only. It
/// has no destructor that has an effect.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not self-contained, so it cannot lie in memory that other processes read",
    note = "only plain values and `Flat` containers of them are self-contained"
)]
pub unsafe trait SelfContained {}

/// Fails to compile unless `T` is [`SelfContained`].
///
/// ```
/// use situ_layout::{FlatSequence, FlatString, assert_self_contained};
/// const _: () = assert_self_contained::<FlatSequence<FlatString<8>, 4>>();
/// ```
///
/// ```compile_fail
/// use situ_layout::{FlatSequence, assert_self_contained};
/// const _: () = assert_self_contained::<FlatSequence<String, 4>>();
/// ```
pub const fn assert_self_contained<T: SelfContained>() {}
