//! What generated message types implement, and what a transport needs to know of them.

use std::fmt::Debug;

use thiserror::Error;

use crate::assign::{AssignError, AssignFrom, Bodies};
use crate::bulk::BulkCursor;
use crate::error::ValidateError;
use crate::region::{Invalid, InvalidProblem, LoadInto, Region, view};
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
    /// The flat form of the type, whatever its own storage; `None` if it has members without a bound.
    const FLAT_FORM: Option<FlatForm> = None;

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

    /// Reads the message from its region form: an image, which is checked. Bulk members of a message that is flat go to `own_body`.
    fn read_region(&mut self, own_body: &mut [u8], image: &[u8]) -> Result<(), RegionFormError> {
        let (_, _) = (own_body, image);
        Err(RegionFormError::None { name: Self::NAME })
    }

    /// Reads the message from its flat form: the `head`, whose size and alignment are those of
    /// [`FLAT_FORM`](Self::FLAT_FORM), and the `body`, both of which are validated. Bulk members of a message that is flat itself go to
    /// `own_body`; a message with heap storage needs none.
    fn read_flat(&mut self, own_body: &mut [u8], head: &[u8], body: &[u8]) -> Result<(), FlatFormError> {
        let (_, _, _) = (own_body, head, body);
        Err(FlatFormError::None { name: Self::NAME })
    }

    /// Writes the message in its flat form: to the `head`, and to a `body` of [`body_size`](Self::body_size) of
    /// [`bulk_lengths`](Self::bulk_lengths) bytes, which begins at a multiple of 64. Bulk members of a message that is flat itself come
    /// from `own_body`; a message with heap storage has none.
    ///
    /// # Safety
    /// `head` is valid for writes of the size of [`FLAT_FORM`](Self::FLAT_FORM), and has its alignment.
    unsafe fn write_flat(
        &self,
        own_body: &[u8],
        head: *mut u8,
        body: &mut [u8],
    ) -> Result<(), FlatFormError> {
        let (_, _, _) = (own_body, head, body);
        Err(FlatFormError::None { name: Self::NAME })
    }
}

/// The flat form of a message type, to be compared with what another process says of its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlatForm {
    /// The layout hash.
    pub layout_hash: u64,
    /// The size of the head in bytes.
    pub size: usize,
    /// The alignment of the head.
    pub align: usize,
}

impl FlatForm {
    /// That of a flat message.
    pub const fn of<T: FlatMessage>() -> Self {
        Self { layout_hash: T::LAYOUT_HASH, size: size_of::<T>(), align: align_of::<T>() }
    }
}

/// Why a message cannot be read from its flat form or written to it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FlatFormError {
    /// The type has no flat form.
    #[error("{name} has members without a bound, so it has no flat form")]
    None {
        /// The type.
        name: &'static str,
    },
    /// The memory is not that of the flat form.
    #[error(
        "a head of {size} bytes at alignment {align} is not that of {name}; is it a message of this type?"
    )]
    OtherMemory {
        /// The type.
        name: &'static str,
        /// The size of the memory.
        size: usize,
        /// The largest power of two that the address is a multiple of.
        align: usize,
    },
    /// The bytes are not a valid message.
    #[error(transparent)]
    Invalid(#[from] ValidateError),
    /// The message does not fit.
    #[error(transparent)]
    DoesNotFit(#[from] AssignError),
}

/// Why a message cannot be read from its region form.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RegionFormError {
    /// The type has no region form.
    #[error("{name} has no region form")]
    None {
        /// The type.
        name: &'static str,
    },
    /// The bytes are not a valid image.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The value does not fit.
    #[error(transparent)]
    DoesNotFit(#[from] AssignError),
}

/// Reads a message from an image of its region form `R`.
#[doc(hidden)]
pub fn read_region<T, R: LoadInto<T>>(
    message: &mut T,
    own_body: &mut [u8],
    image: &[u8],
) -> Result<(), RegionFormError> {
    match view::<R>(image) {
        Ok(root) => Ok(root.load_into(message, own_body)?),
        // What an older version has not gets its default in a copy.
        Err(error) if matches!(error.problem, InvalidProblem::OtherVersion { .. }) => {
            Ok(Region::<R>::adopt(image)?.root().load_into(message, own_body)?)
        }
        Err(error) => Err(error.into()),
    }
}

/// Reads a message from the head and the body of its flat form.
#[doc(hidden)]
pub fn read_flat<T, F>(
    message: &mut T,
    own_body: &mut [u8],
    head: &[u8],
    body: &[u8],
) -> Result<(), FlatFormError>
where
    T: Message + AssignFrom<F>,
    F: FlatMessage,
{
    let start = head.as_ptr().cast::<F>();
    if head.len() != size_of::<F>() || !start.is_aligned() {
        let align = 1 << start.addr().trailing_zeros();
        return Err(FlatFormError::OtherMemory { name: T::NAME, size: head.len(), align });
    }
    // SAFETY: the head has F's size and alignment, and its bytes are initialized; once it is valid, it is an F.
    let flat = unsafe {
        F::validate(start, body.len())?;
        &*start
    };
    message.assign_parts(flat, &mut Bodies::new(body, own_body))?;
    Ok(())
}

/// Writes a message as the head and the body of its flat form.
///
/// # Safety
/// `head` is valid for writes of `F` and aligned.
#[doc(hidden)]
pub unsafe fn write_flat<T, F>(
    message: &T,
    own_body: &[u8],
    head: *mut u8,
    body: &mut [u8],
) -> Result<(), FlatFormError>
where
    T: Message,
    F: FlatMessage + AssignFrom<T>,
{
    let head = head.cast::<F>();
    // SAFETY: the caller's promise; the head is a valid message once it holds the default.
    let flat = unsafe {
        <F as InPlace>::default_at(head);
        &mut *head
    };
    flat.assign_parts(message, &mut Bodies::new(own_body, body))?;
    Ok(())
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

/// An action: a goal, its result, and feedback on the way.
pub trait Action {
    /// The fully qualified name, such as `example_interfaces::action::Fibonacci`.
    const NAME: &'static str;
    /// What is to be reached.
    type Goal: Message;
    /// What was reached.
    type Result: Message;
    /// How it goes.
    type Feedback: Message;
    /// The service that takes a goal.
    type SendGoal: Service;
    /// The service that gives the result.
    type GetResult: Service;
    /// The topic type that carries the feedback.
    type FeedbackMessage: Message;
}

/// A service: one request, one response.
pub trait Service {
    /// The fully qualified name, such as `example_interfaces::srv::AddTwoInts`.
    const NAME: &'static str;
    /// What a client sends.
    type Request: Message;
    /// What the server answers.
    type Response: Message;
}
