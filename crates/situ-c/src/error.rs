//! Errors for C: numbers and texts, and the guard that stops panics from unwinding.

use std::any::Any;
use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use situ_bus::inspect::InspectError;
use situ_bus::{
    CopyError, Interrupted, LoanError, NodeError, PublishError, RegisterError, RootError, TakeError,
    TimerError,
};
use situ_memory::{AllocateError, DomainError, MemoryError, ViewError};

/// `situ_status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum situ_status {
    Ok = 0,
    Empty = 1,
    InvalidArgument = -1,
    System = -2,
    Unsafe = -3,
    Malformed = -4,
    Type = -5,
    NoPlace = -7,
    Busy = -8,
    NoMemory = -9,
    Full = -10,
    Internal = -11,
    Poisoned = -12,
    Forked = -13,
    Interrupted = -14,
    Deadlock = -15,
    Held = -16,
    Removed = -17,
    NoServer = -18,
    ServerGone = -19,
    ClientGone = -20,
    Deadline = -21,
    Refused = -22,
    UnknownCall = -23,
    TooManyCalls = -24,
}

impl situ_status {
    pub const ALL: [(Self, &CStr); 25] = [
        (Self::Ok, c"SITU_OK"),
        (Self::Empty, c"SITU_EMPTY"),
        (Self::InvalidArgument, c"SITU_ERROR_INVALID_ARGUMENT"),
        (Self::System, c"SITU_ERROR_SYSTEM"),
        (Self::Unsafe, c"SITU_ERROR_UNSAFE"),
        (Self::Malformed, c"SITU_ERROR_MALFORMED"),
        (Self::Type, c"SITU_ERROR_TYPE"),
        (Self::NoPlace, c"SITU_ERROR_NO_PLACE"),
        (Self::Busy, c"SITU_ERROR_BUSY"),
        (Self::NoMemory, c"SITU_ERROR_NO_MEMORY"),
        (Self::Full, c"SITU_ERROR_FULL"),
        (Self::Internal, c"SITU_ERROR_INTERNAL"),
        (Self::Poisoned, c"SITU_ERROR_POISONED"),
        (Self::Forked, c"SITU_ERROR_FORKED"),
        (Self::Interrupted, c"SITU_ERROR_INTERRUPTED"),
        (Self::Deadlock, c"SITU_ERROR_DEADLOCK"),
        (Self::Held, c"SITU_ERROR_HELD"),
        (Self::Removed, c"SITU_ERROR_REMOVED"),
        (Self::NoServer, c"SITU_ERROR_NO_SERVER"),
        (Self::ServerGone, c"SITU_ERROR_SERVER_GONE"),
        (Self::ClientGone, c"SITU_ERROR_CLIENT_GONE"),
        (Self::Deadline, c"SITU_ERROR_DEADLINE"),
        (Self::Refused, c"SITU_ERROR_REFUSED"),
        (Self::UnknownCall, c"SITU_ERROR_UNKNOWN_CALL"),
        (Self::TooManyCalls, c"SITU_ERROR_TOO_MANY_CALLS"),
    ];
}

/// The size of an error's text in bytes, with its terminating zero.
pub const TEXT_SIZE: usize = 1020;

/// `situ_error`.
#[derive(Debug)]
#[repr(C)]
pub struct situ_error {
    pub status: i32,
    pub text: [u8; TEXT_SIZE],
}

/// The name of a status.
#[unsafe(no_mangle)]
pub extern "C" fn situ_status_name(status: i32) -> *const c_char {
    let known = situ_status::ALL.iter().find(|(known, _)| *known as i32 == status);
    known.map_or(c"unknown status", |(_, name)| name).as_ptr()
}

/// The reason that a function failed.
#[derive(Debug)]
pub struct Failure {
    status: situ_status,
    text: String,
}

impl Failure {
    pub fn new(status: situ_status, text: impl ToString) -> Self {
        Self { status, text: text.to_string() }
    }

    /// The failure of an operation on what the parent of this process has joined.
    #[cold]
    pub fn forked(what: &str, name: &str) -> Self {
        let text = format_args!(
            "{what} {name:?} was joined by the process that this one was forked from: create a node here"
        );
        Self::new(situ_status::Forked, text)
    }

    /// The caller passed an invalid argument.
    pub fn argument(text: impl ToString) -> Self {
        Self::new(situ_status::InvalidArgument, text)
    }

    #[cold]
    fn of_panic(payload: &(dyn Any + Send)) -> Self {
        let what = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("no reason given");
        Self::new(situ_status::Internal, format_args!("a defect of libsitu, please report it: {what}"))
    }
}

/// Calls `operation`, and reports its failure or panic as a status and a text.
///
/// # Safety
/// `error` is null or valid for writes.
#[inline]
pub unsafe fn guard(
    error: *mut situ_error,
    operation: impl FnOnce() -> Result<situ_status, Failure>,
) -> situ_status {
    match catch_unwind(AssertUnwindSafe(operation)) {
        Ok(Ok(status)) => status,
        Ok(Err(failure)) => {
            // SAFETY: the caller's promise.
            unsafe { report(error, &failure) }
        }
        Err(payload) => {
            // SAFETY: the caller's promise.
            unsafe { report(error, &Failure::of_panic(&*payload)) }
        }
    }
}

/// As [`guard`], for functions that cannot fail: after a panic it returns the default.
#[inline]
pub fn guard_value<T: Default>(operation: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(operation)).unwrap_or_default()
}

/// # Safety
/// `error` is null or valid for writes.
#[cold]
unsafe fn report(error: *mut situ_error, failure: &Failure) -> situ_status {
    if !error.is_null() {
        let mut end = failure.text.len().min(TEXT_SIZE - 1);
        while !failure.text.is_char_boundary(end) {
            end -= 1;
        }
        // SAFETY: `error` is valid for writes; the text is shorter than its room, by at least the ending
        // zero.
        unsafe {
            (&raw mut (*error).status).write(failure.status as i32);
            let text = (&raw mut (*error).text).cast::<u8>();
            text.copy_from_nonoverlapping(failure.text.as_ptr(), end);
            text.add(end).write(0);
        }
    }
    failure.status
}

impl From<&RootError> for situ_status {
    fn from(error: &RootError) -> Self {
        match error {
            RootError::Unsafe { .. } => Self::Unsafe,
            RootError::Removed { .. } => Self::Removed,
            RootError::UnknownGroup(_) | RootError::InvalidDomain(_) => Self::InvalidArgument,
            _ => Self::System,
        }
    }
}

impl From<&MemoryError> for situ_status {
    fn from(error: &MemoryError) -> Self {
        match error {
            MemoryError::Malformed { .. }
            | MemoryError::OtherVersion { .. }
            | MemoryError::Hole { .. }
            | MemoryError::Truncated { .. } => Self::Malformed,
            _ => Self::System,
        }
    }
}

impl From<&DomainError> for situ_status {
    fn from(error: &DomainError) -> Self {
        match error {
            DomainError::Memory(memory) => memory.into(),
            DomainError::OutOfRange { .. } | DomainError::Foreign { .. } => Self::InvalidArgument,
            _ => Self::System,
        }
    }
}

impl From<DomainError> for Failure {
    fn from(error: DomainError) -> Self {
        Self::new((&error).into(), error)
    }
}

impl From<RootError> for Failure {
    fn from(error: RootError) -> Self {
        Self::new((&error).into(), error)
    }
}

impl From<InspectError> for Failure {
    fn from(error: InspectError) -> Self {
        let status = match &error {
            InspectError::Root(root) => root.into(),
            InspectError::Topic(memory) => memory.into(),
            InspectError::List { .. } => situ_status::System,
        };
        Self::new(status, error)
    }
}

impl From<NodeError> for Failure {
    fn from(error: NodeError) -> Self {
        let status = match &error {
            NodeError::InvalidName(_)
            | NodeError::InvalidNamespace(_)
            | NodeError::UserDataTooLong { .. } => situ_status::InvalidArgument,
            NodeError::Root(root) => root.into(),
            _ => situ_status::System,
        };
        Self::new(status, error)
    }
}

impl From<RegisterError> for Failure {
    fn from(error: RegisterError) -> Self {
        let status = match &error {
            RegisterError::InvalidName(_)
            | RegisterError::ReservedName { .. }
            | RegisterError::UserDataTooLong { .. }
            | RegisterError::UserHeaderSize { .. } => situ_status::InvalidArgument,
            RegisterError::Root(root) => root.into(),
            RegisterError::Memory(memory) => memory.into(),
            RegisterError::Domain(domain) => domain.into(),
            RegisterError::TypeMismatch { .. }
            | RegisterError::LayoutMismatch { .. }
            | RegisterError::Bulk { .. }
            | RegisterError::NoFlatForm { .. }
            | RegisterError::NoRegionForm { .. }
            | RegisterError::TextTooLong(_)
            | RegisterError::UserHeaderMismatch { .. }
            | RegisterError::Serialized { .. } => situ_status::Type,
            RegisterError::Full { .. }
            | RegisterError::Depth { .. }
            | RegisterError::Domains { .. }
            | RegisterError::NodeFull { .. } => situ_status::NoPlace,
            RegisterError::Forked { .. } => situ_status::Forked,
            RegisterError::Removed { .. } => situ_status::Removed,
            RegisterError::Busy { .. } => situ_status::Busy,
        };
        Self::new(status, error)
    }
}

impl From<LoanError> for Failure {
    fn from(error: LoanError) -> Self {
        let status = match &error {
            LoanError::Memory(AllocateError::Memory(memory)) => memory.into(),
            LoanError::Memory(AllocateError::Domain(domain @ DomainError::Lost { .. })) => domain.into(),
            LoanError::Memory(_) => situ_status::NoMemory,
            LoanError::Size { .. } => situ_status::InvalidArgument,
            LoanError::Forked { .. } => situ_status::Forked,
        };
        Self::new(status, error)
    }
}

impl From<PublishError> for Failure {
    fn from(error: PublishError) -> Self {
        let status = match &error {
            PublishError::Removed { .. } => situ_status::Removed,
            PublishError::Forked { .. } => situ_status::Forked,
            PublishError::Interrupted { .. } => situ_status::Interrupted,
            PublishError::Full { .. } => situ_status::Full,
            PublishError::OwnThread { .. } => situ_status::Deadlock,
            PublishError::Stream { source, .. } => source.as_ref().into(),
            PublishError::Ring { source, .. } => source.as_ref().into(),
            PublishError::Corrupted { .. } => situ_status::Malformed,
        };
        Self::new(status, error)
    }
}

impl From<TimerError> for Failure {
    fn from(error: TimerError) -> Self {
        Self::argument(error)
    }
}

impl From<Interrupted> for Failure {
    fn from(error: Interrupted) -> Self {
        Self::new(situ_status::Interrupted, error)
    }
}

impl From<TakeError> for Failure {
    fn from(error: TakeError) -> Self {
        let status = match &error {
            TakeError::Pool { source: ViewError::Memory(memory), .. } => memory.into(),
            TakeError::Pool { source: ViewError::Domain(domain), .. } => domain.into(),
            TakeError::Pool { .. } => situ_status::System,
            TakeError::Malformed { .. } => situ_status::Malformed,
            TakeError::Removed { .. } => situ_status::Removed,
            TakeError::Forked { .. } => situ_status::Forked,
            TakeError::TooLarge { .. } | TakeError::TooFar { .. } | TakeError::Private { .. } => {
                situ_status::NoMemory
            }
            TakeError::Held { .. } => situ_status::Held,
            TakeError::Copy { source: CopyError::Domain(domain), .. } => domain.into(),
            TakeError::Copy { source: CopyError::Memory(_), .. } => situ_status::NoMemory,
            TakeError::Copy { source: CopyError::Poisoned, .. } => situ_status::Poisoned,
            TakeError::Copy { .. } => situ_status::System,
        };
        Self::new(status, error)
    }
}
