//! What ends a C sequence: nothing, or, since the release Lyrical, two flags.

use std::ffi::c_void;
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Whether this build has the sequences of Lyrical and later, as `ROS_DISTRO` said when it was built.
pub const SEQUENCES_HAVE_FLAGS: bool = cfg!(situ_ros_buffers);

/// What stands behind the three numbers of a C sequence. C decides by the type of the elements what that is.
pub trait SequenceTail: Copy + Default + Send + Sync + 'static {
    /// Whether `data` is the address of a `rosidl::Buffer`, not of elements.
    fn is_buffer(self) -> bool;
}

/// Nothing: sequences of messages, and all of them up to Kilted.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTail;

impl SequenceTail for NoTail {
    fn is_buffer(self) -> bool {
        false
    }
}

/// The flags `is_rosidl_buffer` and `owns_rosidl_buffer`. Situ never sets them.
// They are bytes because C may write any.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct BufferFlags {
    is_rosidl_buffer: u8,
    owns_rosidl_buffer: u8,
}

impl SequenceTail for BufferFlags {
    fn is_buffer(self) -> bool {
        self.is_rosidl_buffer != 0
    }
}

/// The tail of sequences of primitives and strings.
#[cfg(situ_ros_buffers)]
pub type PrimitiveTail = BufferFlags;
/// The tail of sequences of primitives and strings.
#[cfg(not(situ_ros_buffers))]
pub type PrimitiveTail = NoTail;

/// ROS's function that finalizes a sequence and with it a buffer; null until it is known.
static FINALIZE: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// ROS's function that finalizes a sequence with flags.
pub type Finalize = unsafe extern "C" fn(sequence: *mut c_void);

/// Names the function by which sequences that are buffers end: `rosidl_runtime_c__uint8__Sequence__fini`.
///
/// # Safety
/// It is that function, of the library that the program is linked with.
pub(super) unsafe fn set_finalize(finalize: Finalize) {
    // Only the address is read by others; the code it leads to was loaded before the program began.
    FINALIZE.store(finalize as *mut c_void, Ordering::Relaxed);
}

/// Ends a sequence that is a buffer. Without a function for it, the buffer stays: it is no memory that could be freed here.
///
/// # Safety
/// `sequence` is a C sequence of `uint8` whose flags say that it is a buffer, and is not used any more.
pub(super) unsafe fn finalize(sequence: *mut c_void) {
    let known = FINALIZE.load(Ordering::Relaxed);
    if !known.is_null() {
        // SAFETY: what is not null was stored by `set_finalize`, and the caller's promise is what the function asks for.
        unsafe { mem::transmute::<*mut c_void, Finalize>(known)(sequence) }
    }
}
