//! Counts the allocations of this program. Its functions replace those of the C library, so it counts the
//! allocations of Rust, of ROS storage and of C libraries.

use std::cell::Cell;
use std::ffi::{c_int, c_void};

unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
    fn __libc_realloc(memory: *mut c_void, size: usize) -> *mut c_void;
    fn __libc_memalign(align: usize, size: usize) -> *mut c_void;
}

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

fn count_one() {
    ALLOCATIONS.set(ALLOCATIONS.get() + 1);
}

/// Counts, and calls the C library's function.
///
/// # Safety
/// None needed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc(size: usize) -> *mut c_void {
    count_one();
    // SAFETY: the function behind malloc takes the same arguments.
    unsafe { __libc_malloc(size) }
}

/// As [`malloc`].
///
/// # Safety
/// None needed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    count_one();
    // SAFETY: as above.
    unsafe { __libc_calloc(count, size) }
}

/// As [`malloc`].
///
/// # Safety
/// That of the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn realloc(memory: *mut c_void, size: usize) -> *mut c_void {
    count_one();
    // SAFETY: as above.
    unsafe { __libc_realloc(memory, size) }
}

/// As [`malloc`].
///
/// # Safety
/// That of the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_memalign(memory: *mut *mut c_void, align: usize, size: usize) -> c_int {
    count_one();
    // SAFETY: the caller passes a writable place.
    unsafe { *memory = __libc_memalign(align, size) };
    0
}

/// The result of a function, and the number of this thread's allocations meanwhile, growing included.
pub fn counting<T>(run: impl FnOnce() -> T) -> (T, usize) {
    let before = ALLOCATIONS.get();
    let value = run();
    (value, ALLOCATIONS.get() - before)
}
