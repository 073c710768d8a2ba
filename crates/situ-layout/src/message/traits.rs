//! The traits that generated message types implement and that a transport uses.

use std::fmt::Debug;
use std::mem::MaybeUninit;

use thiserror::Error;

use crate::convert::assign::{AssignError, AssignFrom, Bodies};
use crate::message::region_form::Invalid;
use crate::storage::policy::StorageKind;
use crate::support::shared_bytes::{NoMemory, SharedBytes};
use crate::value::bulk_ref::BulkCursor;
use crate::value::error::ValidateError;
use crate::value::in_place::{InPlace, SelfContained};
use crate::value::traits::{Structure, Validation};

/// A type that can be published: a generated structure, for one storage policy.
pub trait Message: Structure + Default {
    /// The fully qualified name, such as `sensor_msgs::msg::Image`.
    const NAME: &'static str;
    /// The canonical schema of the type and of all types it depends on. Readers without compiled-in types use
    /// it.
    const SCHEMA: &'static str;
    /// The hash of the schema; the same for every storage (`spec/signature.md`).
    const SCHEMA_HASH: u64;
    /// The hash of the memory layout; 0 if the type has heap storage.
    const LAYOUT_HASH: u64;
    /// The storage policy of this type.
    const STORAGE: StorageKind;
    /// The flat form of the type, whatever its own storage; `None` if it has members without a bound.
    const FLAT_FORM: Option<FlatForm> = None;

    /// The number of elements of each bulk member: a structure with one `usize` per bulk member, or `()` if
    /// there are none.
    type BulkLengths: Copy + Default + PartialEq + Debug + Send + Sync + 'static;

    /// The number of elements that each bulk member of this message holds.
    fn bulk_lengths(&self) -> Self::BulkLengths {
        Self::BulkLengths::default()
    }

    /// Moves the cursor over the bulk members, in order; `None` if a length exceeds its bound or the size
    /// overflows.
    #[doc(hidden)]
    fn measure_bulk(_lengths: &Self::BulkLengths, _cursor: &mut BulkCursor) -> Option<()> {
        Some(())
    }

    /// Sets the place of every bulk member, from the cursor on.
    ///
    /// # Safety
    /// `dst` points to a valid, writable value, and `measure_bulk` succeeded for the same lengths.
    #[doc(hidden)]
    unsafe fn place_bulk(_dst: *mut Self, _lengths: &Self::BulkLengths, _cursor: &mut BulkCursor) {}

    /// The size of the body that holds bulk members of these lengths; `None` if a length exceeds its bound or
    /// the size overflows.
    fn body_size(lengths: &Self::BulkLengths) -> Option<usize> {
        let mut cursor = BulkCursor::default();
        Self::measure_bulk(lengths, &mut cursor)?;
        Some(cursor.end())
    }

    /// Constructs the message at an address, with default values and bulk members of the given lengths. Does
    /// not touch unoccupied bytes.
    ///
    /// # Safety
    /// `dst` is valid for writes of `Self` and aligned. Its current bytes are overwritten and not
    /// dropped. [`body_size`](Self::body_size) of `lengths` is not `None`.
    unsafe fn init_at(dst: *mut Self, lengths: &Self::BulkLengths) {
        // SAFETY: the caller's promises are those of the two functions.
        unsafe {
            <Self as InPlace>::default_at(dst);
            Self::place_bulk(dst, lengths, &mut BulkCursor::default());
        }
    }

    /// Checks that bytes which another process wrote are a valid message. Checks lengths, booleans and UTF-8,
    /// and that bulk members lie within a body of `body_len` bytes. Fails for types with heap storage.
    ///
    /// # Safety
    /// `src` is aligned and valid for reads of `size_of::<Self>()` initialized bytes.
    unsafe fn validate(src: *const Self, body_len: usize) -> Result<(), ValidateError> {
        // SAFETY: the caller's promise is that of validate_at.
        unsafe { Self::validate_at(src, &Validation { body_len }) }
    }

    /// Reads the message from its region form, an image. Makes a private copy of the image and checks the
    /// copy. Bulk members of a flat message are written to `own_body`.
    fn read_region(&mut self, own_body: &mut [u8], image: SharedBytes<'_>) -> Result<(), RegionFormError> {
        let (_, _) = (own_body, image);
        Err(RegionFormError::None { name: Self::NAME })
    }

    /// Reads the message from its flat form: the `head`, of the size that [`FLAT_FORM`](Self::FLAT_FORM)
    /// says, and the `body`. Validates a private copy of the head. Validates the elements of bulk members
    /// after they are copied. Bulk members of a message that is flat itself are written to `own_body`; a
    /// message with heap storage needs none.
    fn read_flat(
        &mut self,
        own_body: &mut [u8],
        head: SharedBytes<'_>,
        body: SharedBytes<'_>,
    ) -> Result<(), FlatFormError> {
        let (_, _, _) = (own_body, head, body);
        Err(FlatFormError::None { name: Self::NAME })
    }

    /// Writes the message in its flat form: to the `head`, and to a `body` of [`body_size`](Self::body_size)
    /// of [`bulk_lengths`](Self::bulk_lengths) bytes, which begins at a multiple of 64. Bulk members of a
    /// message that is flat itself are read from `own_body`; a message with heap storage has none.
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

/// The flat form of a message type, for comparison with the values that another process states for its
/// memory.
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
    /// The flat form of a flat message.
    pub const fn of<T: FlatMessage>() -> Self {
        Self { layout_hash: T::LAYOUT_HASH, size: size_of::<T>(), align: align_of::<T>() }
    }

    /// As [`of`](Self::of), for the constant of a message.
    #[doc(hidden)]
    pub const fn some<T: FlatMessage>() -> Option<Self> {
        Some(Self::of::<T>())
    }
}

/// Why a message cannot be read from its flat form or written to it.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FlatFormError {
    /// The type has no flat form.
    #[error("{name} has members without a bound, so it has no flat form")]
    None {
        /// The type.
        name: &'static str,
    },
    /// The memory does not have the size of the flat form.
    #[error(
        "a head of {size} bytes is not that of {name}, which has {expected}; is it a message of this type?"
    )]
    OtherMemory {
        /// The type.
        name: &'static str,
        /// The size of the memory.
        size: usize,
        /// The size of the type's head.
        expected: usize,
    },
    /// The bytes are not a valid message.
    #[error(transparent)]
    Invalid(#[from] ValidateError),
    /// The message does not fit.
    #[error(transparent)]
    DoesNotFit(#[from] AssignError),
}

crate::debug_as_text!(FlatFormError);

/// Why a message cannot be read from its region form.
#[derive(Clone, PartialEq, Eq, Error)]
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
    /// There is no memory for a private copy.
    #[error(transparent)]
    NoMemory(#[from] NoMemory),
    /// The value does not fit.
    #[error(transparent)]
    DoesNotFit(#[from] AssignError),
}

crate::debug_as_text!(RegionFormError);

/// The greatest size of a head whose private copy lies on the stack.
const SMALL: usize = 4096;

/// Reads a message from the head and the body of its flat form.
#[doc(hidden)]
pub fn read_flat<T, F>(
    message: &mut T,
    own_body: &mut [u8],
    head: SharedBytes<'_>,
    body: SharedBytes<'_>,
) -> Result<(), FlatFormError>
where
    T: Message + AssignFrom<F>,
    F: FlatMessage,
{
    if head.len() != size_of::<F>() {
        let (size, expected) = (head.len(), size_of::<F>());
        return Err(FlatFormError::OtherMemory { name: T::NAME, size, expected });
    }
    let read = |copy: &mut MaybeUninit<F>, message: &mut T, own_body: &mut [u8]| {
        head.copy_to_uninit(std::slice::from_mut(copy));
        // SAFETY: the copy has F's size and alignment, all its bytes were written, and no other code has
        // access to it. Once it is valid, it is an F.
        let flat = unsafe {
            F::validate(copy.as_ptr(), body.len())?;
            copy.assume_init_ref()
        };
        message.assign_parts(flat, &mut Bodies::new(body, own_body))?;
        Ok(())
    };
    if size_of::<F>() <= SMALL {
        read(&mut MaybeUninit::uninit(), message, own_body)
    } else {
        read(&mut Box::new_uninit(), message, own_body)
    }
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

/// A message that is one block of plain memory. It may be built in shared memory and read there by other
/// processes.
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
    /// The goal.
    type Goal: Message;
    /// The result.
    type Result: Message;
    /// The feedback.
    type Feedback: Message;
    /// The service that takes a goal.
    type SendGoal: Service;
    /// The service that gives the result.
    type GetResult: Service;
    /// The topic type that carries the feedback.
    type FeedbackMessage: Message;
}

/// The response of an operation that raises exceptions: what the operation gives, or one of its exceptions.
pub trait Outcome: Message {
    /// What the operation gives.
    type Output;
    /// The exceptions that it may raise.
    type Exception: std::error::Error;

    /// The response for a result.
    fn of(outcome: Result<Self::Output, Self::Exception>) -> Self;
    /// The result in a response. `None` if it has neither: then its server is broken.
    fn outcome(&self) -> Option<Result<Self::Output, Self::Exception>>;
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
