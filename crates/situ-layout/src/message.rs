//! What generated message types implement, and what a transport needs to know of them.

use std::fmt::Debug;

use crate::bulk::BulkCursor;
use crate::error::ValidateError;
use crate::storage::StorageKind;
use crate::value::{InPlace, SelfContained, Validation};
use crate::visit::Structure;

/// A type that can be published: a generated structure, for one storage policy.
pub trait Message: Structure + Default {
    /// The fully qualified name, such as `sensor_msgs::msg::Image`.
    const NAME: &'static str;
    /// The canonical schema of the type and of all types it depends on; readers without compiled-in types go by it.
    const SCHEMA: &'static str;
    /// The hash of the schema; the same for every storage (`spec/signature.md`).
    const SCHEMA_HASH: u64;
    /// The hash of the memory layout; 0 if the type has heap storage.
    const LAYOUT_HASH: u64;
    /// The storage policy of this type.
    const STORAGE: StorageKind;

    /// How many elements each bulk member holds; a structure with one `usize` per bulk member, or `()` if there are none.
    type BulkLengths: Copy + Default + PartialEq + Debug + Send + Sync + 'static;

    /// How many elements each bulk member of this message holds.
    fn bulk_lengths(&self) -> Self::BulkLengths {
        Self::BulkLengths::default()
    }

    /// Moves the cursor over the bulk members, in order; `None` if a length exceeds its bound or the size overflows.
    #[doc(hidden)]
    fn measure_bulk(_lengths: &Self::BulkLengths, _cursor: &mut BulkCursor) -> Option<()> {
        Some(())
    }

    /// Gives every bulk member its place behind the cursor.
    ///
    /// # Safety
    /// `dst` points to a valid, writable value, and `measure_bulk` succeeded for the same lengths.
    #[doc(hidden)]
    unsafe fn place_bulk(_dst: *mut Self, _lengths: &Self::BulkLengths, _cursor: &mut BulkCursor) {}

    /// The size of the body that holds bulk members of these lengths; `None` if a length exceeds its bound or the size
    /// overflows.
    fn body_size(lengths: &Self::BulkLengths) -> Option<usize> {
        let mut cursor = BulkCursor::default();
        Self::measure_bulk(lengths, &mut cursor)?;
        Some(cursor.end())
    }

    /// Constructs the message at an address: default values, and bulk members of the given lengths. Touches no
    /// unoccupied bytes.
    ///
    /// # Safety
    /// `dst` is valid for writes of `Self` and aligned, what lies there is overwritten and not dropped, and
    /// [`body_size`](Self::body_size) of `lengths` is not `None`.
    unsafe fn init_at(dst: *mut Self, lengths: &Self::BulkLengths) {
        // SAFETY: the caller's promises are those of the two functions.
        unsafe {
            <Self as InPlace>::default_at(dst);
            Self::place_bulk(dst, lengths, &mut BulkCursor::default());
        }
    }

    /// Checks that bytes which another process wrote are a valid message: lengths, booleans, UTF-8, and that bulk
    /// members lie within a body of `body_len` bytes. Fails for types with heap storage.
    ///
    /// # Safety
    /// `src` is aligned and valid for reads of `size_of::<Self>()` initialized bytes.
    unsafe fn validate(src: *const Self, body_len: usize) -> Result<(), ValidateError> {
        // SAFETY: the caller's promise is that of validate_at.
        unsafe { Self::validate_at(src, &Validation { body_len }) }
    }
}

/// A message that is one block of plain memory: it may be built in shared memory and read there by other processes.
///
/// # Safety
/// Every member is [`SelfContained`], the layout is that of `spec/flat.md`, and `LAYOUT_HASH` is not 0.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a flat message, so it cannot be built in shared memory",
    note = "use the type with `Flat` storage, or annotate the structure with `@flat` in its schema"
)]
pub unsafe trait FlatMessage: Message + SelfContained {}

/// A service: one request, one response.
pub trait Service {
    /// The fully qualified name, such as `example_interfaces::srv::AddTwoInts`.
    const NAME: &'static str;
    /// What a client sends.
    type Request: Message;
    /// What the server answers.
    type Response: Message;
}
