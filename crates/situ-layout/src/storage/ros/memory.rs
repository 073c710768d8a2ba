//! Memory of the C library's allocator. Detects whether Rust's own vectors and strings use the same
//! allocator.

use std::alloc::{GlobalAlloc, Layout, handle_alloc_error};
use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, Ordering};

unsafe extern "C" {
    fn malloc(size: usize) -> *mut c_void;
    fn calloc(count: usize, size: usize) -> *mut c_void;
    fn realloc(memory: *mut c_void, size: usize) -> *mut c_void;
    fn posix_memalign(memory: *mut *mut c_void, align: usize, size: usize) -> i32;
    fn free(memory: *mut c_void);
}

/// The alignment that `malloc` guarantees on the 64-bit machines that Situ runs on.
const MALLOC_ALIGN: usize = 16;

/// Whether a [`CAllocator`] was found to be the program's global allocator.
static IN_USE: AtomicBool = AtomicBool::new(false);

/// Whether vectors and strings of this program use the C library's allocator. If so, they become ROS
/// sequences and strings, and the reverse, without a copy. See [`use_c_allocator!`](crate::use_c_allocator).
pub fn shares_memory_with_c() -> bool {
    // The flag is set once and publishes no other data: a thread that was handed memory got it after the
    // allocation.
    IN_USE.load(Ordering::Relaxed)
}

/// Whether a vector of `T` can be handed to C and back: its memory is C's, and `malloc` gives its alignment.
pub(super) fn may_change_hands<T>() -> bool {
    shares_memory_with_c() && size_of::<T>() != 0 && align_of::<T>() <= MALLOC_ALIGN
}

/// The size of `count` elements, at least 1, because the code never asks `malloc` for 0 bytes.
fn size<T>(count: usize) -> usize {
    const { assert!(align_of::<T>() <= MALLOC_ALIGN, "C sequences hold elements of an alignment up to 16") };
    let size = count.checked_mul(size_of::<T>()).filter(|size| isize::try_from(*size).is_ok());
    size.unwrap_or_else(|| panic!("{count} elements of {} bytes exceed the address space", size_of::<T>()))
        .max(1)
}

/// Aborts the program because memory is exhausted.
fn out_of_memory(size: usize, align: usize) -> ! {
    handle_alloc_error(Layout::from_size_align(size, align).unwrap_or(Layout::new::<u8>()))
}

/// Resizes memory to `count` elements and keeps the elements. On failure, `memory` is unchanged.
///
/// # Safety
/// `memory` is null or of the C allocator. If the function returns memory, the old pointer is not used any
/// more.
pub(super) unsafe fn try_resize<T>(memory: *mut T, count: usize) -> Option<NonNull<T>> {
    let size = count.checked_mul(size_of::<T>()).filter(|size| isize::try_from(*size).is_ok())?;
    // SAFETY: the caller's promise.
    NonNull::new(unsafe { realloc(memory.cast(), size.max(1)) }.cast())
}

/// Allocates uninitialized memory for `count` elements. Free it with [`release`].
pub(super) fn allocate<T>(count: usize) -> NonNull<T> {
    let size = size::<T>(count);
    // SAFETY: malloc takes any size.
    let memory = unsafe { malloc(size) };
    NonNull::new(memory.cast()).unwrap_or_else(|| out_of_memory(size, align_of::<T>()))
}

/// Resizes memory to `count` elements and keeps the elements.
///
/// # Safety
/// `memory` is null or of the C allocator; the old pointer is not used any more.
pub(super) unsafe fn resize<T>(memory: *mut T, count: usize) -> NonNull<T> {
    let size = size::<T>(count);
    // SAFETY: the caller's promise.
    let memory = unsafe { realloc(memory.cast(), size) };
    NonNull::new(memory.cast()).unwrap_or_else(|| out_of_memory(size, align_of::<T>()))
}

/// Frees memory.
///
/// # Safety
/// `memory` is null or of the C allocator; it is not used any more.
pub(super) unsafe fn release<T>(memory: *mut T) {
    // SAFETY: the caller's promise.
    unsafe { free(memory.cast()) }
}

/// The C library's allocator as the program's allocator. Install it with
/// [`use_c_allocator!`](crate::use_c_allocator).
#[derive(Debug)]
pub struct CAllocator {
    _private: (),
}

impl CAllocator {
    /// Creates the allocator.
    ///
    /// # Safety
    /// It is the program's `#[global_allocator]`, or the global allocator passes every call on to it
    /// unchanged.
    pub const unsafe fn new() -> Self {
        Self { _private: () }
    }
}

// SAFETY: the memory is that of the C library: of the size asked for, aligned, disjoint, and valid until it
// is freed.
unsafe impl GlobalAlloc for CAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !IN_USE.load(Ordering::Relaxed) {
            IN_USE.store(true, Ordering::Relaxed);
        }
        if layout.align() <= MALLOC_ALIGN && layout.align() <= layout.size() {
            // SAFETY: malloc takes any size.
            return unsafe { malloc(layout.size()) }.cast();
        }
        let mut memory = ptr::null_mut();
        // SAFETY: the alignment is a power of two and a multiple of a pointer's size; `memory` is written on
        // success only.
        unsafe { posix_memalign(&raw mut memory, layout.align().max(size_of::<usize>()), layout.size()) };
        memory.cast()
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.align() <= MALLOC_ALIGN && layout.align() <= layout.size() {
            // SAFETY: calloc takes any size.
            return unsafe { calloc(1, layout.size()) }.cast();
        }
        // SAFETY: the caller's promise; memory that is not null has the layout's size.
        unsafe {
            let memory = self.alloc(layout);
            if !memory.is_null() {
                memory.write_bytes(0, layout.size());
            }
            memory
        }
    }

    unsafe fn dealloc(&self, memory: *mut u8, _layout: Layout) {
        // SAFETY: all memory handed out above may be freed.
        unsafe { free(memory.cast()) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if layout.align() <= MALLOC_ALIGN && layout.align() <= new_size {
            // SAFETY: the memory was handed out above, and realloc keeps the alignment of malloc.
            return unsafe { realloc(memory.cast(), new_size) }.cast();
        }
        // SAFETY: the caller promises that the new size suits the alignment; both blocks are valid for the
        // smaller size.
        unsafe {
            let moved = self.alloc(Layout::from_size_align_unchecked(new_size, layout.align()));
            if !moved.is_null() {
                ptr::copy_nonoverlapping(memory, moved, layout.size().min(new_size));
                free(memory.cast());
            }
            moved
        }
    }
}

/// Makes the C library's allocator the program's global allocator. Rust uses it by default on Linux, but does
/// not promise to. With this macro, vectors and strings become ROS sequences and strings, and the reverse,
/// without a copy: they hand over their memory.
///
/// ```
/// situ_layout::use_c_allocator!();
///
/// use situ_layout::RosSequence;
/// # fn main() {
/// let pixels = vec![7_u8; 65_536];
/// let address = pixels.as_ptr();
/// let sequence: RosSequence<u8> = RosSequence::from(pixels);
/// assert_eq!(sequence.as_ptr(), address);
/// # }
/// ```
#[macro_export]
macro_rules! use_c_allocator {
    () => {
        #[global_allocator]
        static SITU_C_ALLOCATOR: $crate::ros::CAllocator = {
            // SAFETY: it is the global allocator.
            unsafe { $crate::ros::CAllocator::new() }
        };
    };
}
