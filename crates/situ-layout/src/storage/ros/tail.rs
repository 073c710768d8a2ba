//! The end of a C sequence. From the release Lyrical on, it is two flags; before, it is empty.

use std::ffi::c_void;
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Whether this build uses the sequences of Lyrical and later. `ROS_DISTRO` decides this at build time.
pub const SEQUENCES_HAVE_FLAGS: bool = cfg!(situ_ros_buffers);

/// An empty tail: that of all sequences up to Kilted.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTail;

impl NoTail {
    /// Whether `data` is the address of a `rosidl::Buffer`, not of elements.
    pub const fn is_buffer(self) -> bool {
        false
    }
}

/// The flags `is_rosidl_buffer` and `owns_rosidl_buffer`. Situ never sets them.
// They are bytes because C may write any value.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct BufferFlags {
    is_rosidl_buffer: u8,
    owns_rosidl_buffer: u8,
}

impl BufferFlags {
    /// Whether `data` is the address of a `rosidl::Buffer`, not of elements.
    pub const fn is_buffer(self) -> bool {
        self.is_rosidl_buffer != 0
    }
}

/// The tail of sequences of primitives and strings.
#[cfg(situ_ros_buffers)]
pub type PrimitiveTail = BufferFlags;
/// The tail of sequences of primitives and strings.
#[cfg(not(situ_ros_buffers))]
pub type PrimitiveTail = NoTail;

/// ROS's function that finalizes a sequence and its buffer; null until it is known.
static FINALIZE: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// ROS's function that finalizes a sequence with flags.
pub type Finalize = unsafe extern "C" fn(sequence: *mut c_void);

/// Sets the function that finalizes sequences that are buffers: `rosidl_runtime_c__uint8__Sequence__fini`.
///
/// # Safety
/// `finalize` is that function, in the library that the program is linked with.
pub(super) unsafe fn set_finalize(finalize: Finalize) {
    // Other threads read the address only; the code at that address was loaded before the program started.
    FINALIZE.store(finalize as *mut c_void, Ordering::Relaxed);
}

/// Finalizes a sequence that is a buffer. Without a function for it, the buffer leaks, because its memory
/// cannot be freed here.
///
/// # Safety
/// `sequence` is a C sequence of `uint8` whose flags say that it is a buffer, and is not used any more.
pub(super) unsafe fn finalize(sequence: *mut c_void) {
    let known = FINALIZE.load(Ordering::Relaxed);
    if !known.is_null() {
        // SAFETY: `set_finalize` stored the non-null address, and the caller's promise is that of the
        // function.
        unsafe { mem::transmute::<*mut c_void, Finalize>(known)(sequence) }
    }
}
