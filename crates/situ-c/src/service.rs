//! What clients and servers for C have in common: types, options, errors.

use std::cell::OnceCell;
use std::ffi::{c_int, c_void};
use std::os::fd::{AsFd, AsRawFd};

use situ_bus::{
    AnswerError, CallError, EventFd, Limits, ReplyError, RequestError, ServiceDescription, ServiceOptions,
    WhenFull,
};

use crate::error::{Failure, situ_status};
use crate::types::{
    FOREVER, bytes, given, limit, number, read_placement, read_type, situ_placement, situ_type, trust,
};

/// `situ_service_type`.
#[repr(C)]
pub struct situ_service_type {
    pub request: *const situ_type,
    pub reply: *const situ_type,
}

/// `situ_service_options`.
#[repr(C)]
pub struct situ_service_options {
    pub max_calls: u64,
    pub depth: u64,
    pub keep_last: u64,
    pub max_held: u64,
    pub max_message: u64,
    pub max_pool: u64,
    pub trust: u32,
    pub without_stamps: u32,
    pub requests: situ_placement,
    pub replies: situ_placement,
    pub user_data: *const c_void,
    pub user_data_size: usize,
}

/// 64 calls, a depth of 64, the host's memory.
#[unsafe(no_mangle)]
pub extern "C" fn situ_service_options_default() -> situ_service_options {
    let ServiceOptions { max_calls, depth, keep_last, max_held, limits: Limits { message, pool }, .. } =
        ServiceOptions::default();
    let host = || situ_placement {
        domain: std::ptr::null(),
        capacity: 0,
        eager_copies: 0,
        strategy: 0,
        serialized: 0,
    };
    situ_service_options {
        max_calls: max_calls as u64,
        depth: depth as u64,
        keep_last: keep_last as u64,
        max_held: max_held as u64,
        max_message: message,
        max_pool: pool,
        trust: 0,
        without_stamps: 0,
        requests: host(),
        replies: host(),
        user_data: std::ptr::null(),
        user_data_size: 0,
    }
}

/// The types of a service.
///
/// # Safety
/// `described` is null or valid for reads, and its types are as [`read_type`] needs them.
pub unsafe fn read_service_type(described: *const situ_service_type) -> Result<ServiceDescription, Failure> {
    // SAFETY: the caller's promise.
    let described = unsafe { given(described, "type") }?;
    // SAFETY: as above.
    let (request, reply) = unsafe { (read_type(described.request), read_type(described.reply)) };
    Ok(ServiceDescription { request: request?, reply: reply? })
}

/// The options of a client or a server.
///
/// # Safety
/// `options` is null or valid for reads, and its placements are as [`read_placement`] needs them.
pub unsafe fn read_options(options: *const situ_service_options) -> Result<ServiceOptions, Failure> {
    // SAFETY: the caller's promise.
    let Some(options) = (unsafe { options.as_ref() }) else { return Ok(ServiceOptions::default()) };
    // SAFETY: as above.
    let (requests, replies) =
        unsafe { (read_placement(&options.requests)?, read_placement(&options.replies)?) };
    Ok(ServiceOptions {
        max_calls: number(options.max_calls, "max_calls")?,
        depth: number(options.depth, "depth")?,
        keep_last: number(options.keep_last, "keep_last")?,
        max_held: number(options.max_held, "max_held")?,
        trust: trust(options.trust)?,
        limits: Limits { message: options.max_message, pool: options.max_pool },
        stamps: options.without_stamps == 0,
        requests,
        replies,
        // SAFETY: as above.
        user_data: unsafe { bytes(options.user_data, options.user_data_size, "user_data") }?,
    })
}

/// How long to wait for room.
pub fn when_full(block_ns: u64) -> WhenFull {
    match block_ns {
        0 => WhenFull::Fail,
        FOREVER => WhenFull::Block(None),
        time => WhenFull::Block(limit(time)),
    }
}

/// The failure of an operation in a forked child.
#[cold]
pub fn forked(service: &str) -> Failure {
    Failure::forked("service", service)
}

/// The number of a descriptor, which the first call makes.
pub fn fd_from(
    event: &OnceCell<EventFd>,
    service: &str,
    make: impl FnOnce() -> std::io::Result<EventFd>,
) -> Result<c_int, Failure> {
    if event.get().is_none() {
        let made = make().map_err(|error| {
            let text = format_args!("cannot make an event descriptor for service {service:?}: {error}");
            Failure::new(situ_status::System, text)
        })?;
        let _ = event.set(made);
    }
    Ok(event.get().map_or(-1, |event| event.as_fd().as_raw_fd()))
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Loan(error) => error.into(),
            CallError::Publish(error) => error.into(),
            error @ CallError::NoServer { .. } => Self::new(situ_status::NoServer, error),
            error @ CallError::TooMany { .. } => Self::new(situ_status::TooManyCalls, error),
            error => Self::new(situ_status::Internal, error),
        }
    }
}

impl From<ReplyError> for Failure {
    fn from(error: ReplyError) -> Self {
        let status = match error {
            ReplyError::Take(error) => return error.into(),
            ReplyError::Interrupted(error) => return error.into(),
            ReplyError::ServerGone { .. } => situ_status::ServerGone,
            ReplyError::Deadline { .. } => situ_status::Deadline,
            ReplyError::Refused { .. } => situ_status::Refused,
            ReplyError::Unknown { .. } => situ_status::UnknownCall,
            ReplyError::Malformed { .. } => situ_status::Malformed,
            _ => situ_status::Internal,
        };
        Self::new(status, error)
    }
}

impl From<RequestError> for Failure {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Take(error) => error.into(),
            error @ RequestError::Malformed { .. } => Self::new(situ_status::Malformed, error),
            error => Self::new(situ_status::Internal, error),
        }
    }
}

impl From<AnswerError> for Failure {
    fn from(error: AnswerError) -> Self {
        match error {
            AnswerError::Register(error) => error.into(),
            AnswerError::Loan(error) => error.into(),
            AnswerError::Publish(error) => error.into(),
            error @ AnswerError::ClientGone { .. } => Self::new(situ_status::ClientGone, error),
            error => Self::new(situ_status::Internal, error),
        }
    }
}
