//! Clients of services for C.

use std::cell::{OnceCell, RefCell};
use std::ffi::{c_char, c_int};
use std::ptr::null;

use situ_bus::{GROWING_ROOM, LoanError, RawClient, RawReply, RawRequestLoan, ReplyError, Source, Waitable};

use crate::device::situ_stream;
use crate::error::{Failure, guard, guard_value, situ_error, situ_status};
use crate::lender::{Client, Lender, situ_client};
use crate::loan::{Lent, give_away, situ_loan};
use crate::node::situ_node;
use crate::service::{
    fd_from, forked, read_options, read_service_type, situ_service_options, situ_service_type, when_full,
};
use crate::subscriber::{found, situ_sample};
use crate::types::{c_text, given, limit, target, text};

/// `situ_reply`.
#[repr(C)]
pub struct situ_reply {
    pub sample: situ_sample,
    pub call: u64,
    pub code: u64,
    pub text: *const c_char,
    pub is_last: u32,
}

impl Client {
    /// Fails in a forked child.
    pub(crate) fn check_process(&self) -> Result<(), Failure> {
        if self.raw.is_inherited() { Err(forked(self.raw.service())) } else { Ok(()) }
    }

    /// Stores a reply in the caller's structure.
    ///
    /// # Safety
    /// `target` is valid for writes.
    #[inline]
    unsafe fn write(target: *mut situ_reply, reply: RawReply) {
        // SAFETY: the caller's promise; the fields are written one by one, because a sample may have
        // uninitialized bytes.
        unsafe {
            (&raw mut (*target).call).write(reply.call());
            (&raw mut (*target).code).write(0);
            (&raw mut (*target).text).write(null());
            (&raw mut (*target).is_last).write(u32::from(reply.is_last()));
            let sample = &raw mut (*target).sample;
            if reply.has_content() {
                situ_sample::write(sample, reply.into_sample());
            } else {
                situ_sample::write_none(sample);
            }
        }
    }

    /// Stores what the caller learns of a call that failed.
    ///
    /// # Safety
    /// `target` is valid for writes.
    #[cold]
    unsafe fn write_failed(&self, target: *mut situ_reply, error: &ReplyError) {
        let (code, text) = match error {
            ReplyError::Refused { code, text, .. } => {
                *self.refusal.borrow_mut() = c_text(text);
                (*code, self.refusal.borrow().as_ptr())
            }
            _ => (0, null()),
        };
        let call = error.call();
        // SAFETY: the caller's promise.
        unsafe {
            situ_sample::write_none(&raw mut (*target).sample);
            (&raw mut (*target).call).write(call.unwrap_or(0));
            (&raw mut (*target).code).write(code);
            (&raw mut (*target).text).write(text);
            (&raw mut (*target).is_last).write(u32::from(call.is_some()));
        }
    }
}

/// Joins a service as client.
///
/// # Safety
/// As the header says: handles are live, texts end with a zero, pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_client_create(
    node: *const situ_node,
    service: *const c_char,
    described: *const situ_service_type,
    options: *const situ_service_options,
    client: *mut *mut situ_client,
    error: *mut situ_error,
) -> situ_status {
    let create = || {
        let target = target(client, "client")?;
        // SAFETY: the caller passes a live handle, texts and valid pointers.
        let (node, service) = unsafe { (given(node, "node")?, text(service, "service")?) };
        // SAFETY: as above.
        let (described, options) = unsafe { (read_service_type(described)?, read_options(options)?) };
        let raw = RawClient::create(&node.node, service, &described, &options)?;
        let made = Client { raw, event: OnceCell::new(), refusal: RefCell::default() };
        // SAFETY: not null, and valid for writes as the caller promises.
        unsafe { target.write(Lender::new(made)) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, create) }
}

/// Leaves the service, at once or when the last loan is returned.
///
/// # Safety
/// `client` is null, or a live handle that is from now on used only through its loans.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_client_destroy(client: *mut situ_client) {
    // SAFETY: the caller's promise is passed on.
    unsafe { Lender::destroy(client) };
}

/// The present number of servers.
///
/// # Safety
/// `client` is null or a live handle that no other thread uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_client_servers(client: *const situ_client) -> u64 {
    // SAFETY: the caller's promise.
    let client = unsafe { client.as_ref() };
    guard_value(|| client.map_or(0, |client| client.raw.raw.servers() as u64))
}

/// Waits until the service has a server.
///
/// # Safety
/// As for [`situ_client_servers`]; `error` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_client_wait_for_server(
    client: *const situ_client,
    timeout_ns: u64,
    error: *mut situ_error,
) -> situ_status {
    let wait = || {
        // SAFETY: the caller's promise.
        let client = &unsafe { given(client, "client") }?.raw;
        client.check_process()?;
        Ok(found(client.raw.wait_for_server(limit(timeout_ns))))
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, wait) }
}

/// Lends with `lend`.
///
/// # Safety
/// As for [`situ_client_loan`].
#[inline]
unsafe fn lend_by(
    client: *mut situ_client,
    loan: *mut situ_loan,
    error: *mut situ_error,
    lend: impl FnOnce(&RawClient) -> Result<RawRequestLoan<'_>, LoanError>,
) -> situ_status {
    let lend = || {
        let target = target(loan, "loan")?;
        // SAFETY: the caller's promise.
        let shared = unsafe { given(client, "client") }?;
        let lent = Lent::Request(lend(&shared.raw.raw)?);
        // SAFETY: not null, and valid as the caller promises; it is a loan of the client.
        unsafe { situ_client::lend(client, target, lent) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, lend) }
}

/// Lends memory for a request.
///
/// # Safety
/// `client` is null or a live handle that no other thread uses; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_client_loan(
    client: *mut situ_client,
    head_size: usize,
    head_align: usize,
    body_size: usize,
    loan: *mut situ_loan,
    error: *mut situ_error,
) -> situ_status {
    // SAFETY: the caller's promise is passed on.
    unsafe { lend_by(client, loan, error, |raw| raw.loan(head_size, head_align, body_size)) }
}

/// Lends memory for a request that grows in place.
///
/// # Safety
/// As for [`situ_client_loan`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_client_loan_growing(
    client: *mut situ_client,
    body_size: usize,
    room: usize,
    loan: *mut situ_loan,
    error: *mut situ_error,
) -> situ_status {
    let room = if room == 0 { GROWING_ROOM } else { room };
    // SAFETY: the caller's promise is passed on.
    unsafe { lend_by(client, loan, error, |raw| raw.loan_growing(body_size, room)) }
}

/// Sends a request.
///
/// # Safety
/// `loan` is null, all zero, or was lent and not copied since; its client is used by no other thread. The
/// others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_request_send(
    loan: *mut situ_loan,
    limit_ns: u64,
    block_ns: u64,
    call: *mut u64,
    error: *mut situ_error,
) -> situ_status {
    // SAFETY: the caller's promise is passed on.
    unsafe { send(loan, None, limit_ns, block_ns, call, error) }
}

/// Sends a request in stream order.
///
/// # Safety
/// As for [`situ_request_send`]; the stream is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_request_send_on(
    loan: *mut situ_loan,
    stream: *const situ_stream,
    limit_ns: u64,
    block_ns: u64,
    call: *mut u64,
    error: *mut situ_error,
) -> situ_status {
    // SAFETY: the caller's promise is passed on.
    unsafe { send(loan, Some(stream), limit_ns, block_ns, call, error) }
}

/// # Safety
/// As for [`situ_request_send_on`].
#[inline]
unsafe fn send(
    loan: *mut situ_loan,
    stream: Option<*const situ_stream>,
    limit_ns: u64,
    block_ns: u64,
    call: *mut u64,
    error: *mut situ_error,
) -> situ_status {
    let send = || {
        let target = target(call, "call")?;
        let on = match stream {
            // SAFETY: the caller's promise.
            Some(stream) => Some(unsafe { given(stream, "stream") }?.stream.as_ref()),
            None => None,
        };
        // SAFETY: the caller's promise.
        let number = unsafe {
            give_away(loan, |lent| match lent {
                Lent::Request(raw) => raw
                    .send_with(limit(limit_ns), when_full(block_ns), on)
                    .map_err(|(error, raw)| (Box::new((*error).into()), Lent::Request(raw))),
                other => Err((other.is_no("request, which can be sent"), other)),
            })
        }?;
        // SAFETY: not null, and valid as the caller promises.
        unsafe { target.write(number) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, send) }
}

/// Ends a call.
///
/// # Safety
/// As for [`situ_client_loan`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_client_cancel(
    client: *mut situ_client,
    call: u64,
    error: *mut situ_error,
) -> situ_status {
    let cancel = || {
        // SAFETY: the caller's promise.
        unsafe { given(client, "client") }?.raw.raw.cancel(call)?;
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, cancel) }
}

/// Whether a call is under way, or has replies that were not taken.
///
/// # Safety
/// As for [`situ_client_servers`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_client_is_under_way(client: *const situ_client, call: u64) -> i32 {
    // SAFETY: the caller's promise.
    let client = unsafe { client.as_ref() };
    guard_value(|| client.map_or(0, |client| i32::from(client.raw.raw.is_under_way(call))))
}

/// Takes with `take`.
///
/// # Safety
/// As for [`situ_client_take`].
#[inline]
pub(crate) unsafe fn take_by(
    client: *mut situ_client,
    reply: *mut situ_reply,
    error: *mut situ_error,
    take: impl FnOnce(&RawClient) -> Result<Option<RawReply>, ReplyError>,
) -> situ_status {
    let take = || {
        let target = target(reply, "reply")?;
        // SAFETY: the caller's promise.
        let client = &unsafe { given(client, "client") }?.raw;
        match take(&client.raw) {
            Ok(None) => Ok(situ_status::Empty),
            Ok(Some(reply)) => {
                // SAFETY: not null, and valid as the caller promises.
                unsafe { Client::write(target, reply) };
                Ok(situ_status::Ok)
            }
            Err(error) => {
                // SAFETY: as above.
                unsafe { client.write_failed(target, &error) };
                Err(error.into())
            }
        }
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, take) }
}

/// Takes the next reply to any call, if there is one.
///
/// # Safety
/// `client` is null or a live handle that no other thread uses; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_client_take(
    client: *mut situ_client,
    reply: *mut situ_reply,
    error: *mut situ_error,
) -> situ_status {
    // SAFETY: the caller's promise is passed on.
    unsafe { take_by(client, reply, error, RawClient::take) }
}

/// Takes the next reply to one call, if there is one.
///
/// # Safety
/// As for [`situ_client_take`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_client_take_of(
    client: *mut situ_client,
    call: u64,
    reply: *mut situ_reply,
    error: *mut situ_error,
) -> situ_status {
    // SAFETY: the caller's promise is passed on.
    unsafe { take_by(client, reply, error, |raw| raw.take_of(call)) }
}

/// Waits for the next reply to one call, and takes it.
///
/// # Safety
/// As for [`situ_client_take`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_client_receive_of(
    client: *mut situ_client,
    call: u64,
    timeout_ns: u64,
    reply: *mut situ_reply,
    error: *mut situ_error,
) -> situ_status {
    // SAFETY: the caller's promise is passed on.
    unsafe { take_by(client, reply, error, |raw| raw.receive_of(call, limit(timeout_ns))) }
}

/// Waits until a take returns a reply or an error.
///
/// # Safety
/// As for [`situ_client_take`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_client_wait(
    client: *mut situ_client,
    timeout_ns: u64,
    error: *mut situ_error,
) -> situ_status {
    let wait = || {
        // SAFETY: the caller's promise.
        let client = &unsafe { given(client, "client") }?.raw;
        client.check_process()?;
        Ok(found(client.raw.wait(limit(timeout_ns))))
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, wait) }
}

/// Returns a descriptor that is readable when a reply may be there.
///
/// # Safety
/// As for [`situ_client_take`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_client_fd(
    client: *mut situ_client,
    fd: *mut c_int,
    error: *mut situ_error,
) -> situ_status {
    let make = || {
        let target = target(fd, "fd")?;
        // SAFETY: the caller's promise.
        let client = &unsafe { given(client, "client") }?.raw;
        client.check_process()?;
        let number = fd_from(&client.event, client.raw.service(), || client.raw.event_fd())?;
        // SAFETY: not null, and valid as the caller promises.
        unsafe { target.write(number) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, make) }
}

/// Makes the descriptor unreadable until the next reply.
///
/// # Safety
/// As for [`situ_client_take`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_client_clear_fd(client: *mut situ_client) {
    guard_value(|| {
        // SAFETY: the caller's promise.
        let client = unsafe { client.as_ref() };
        if let Some(event) = client.and_then(|client| client.raw.event.get()) {
            event.clear();
        }
    });
}

/// Writes the 16 bytes of a client's id; zeroes for a null handle.
///
/// # Safety
/// `client` is null or a live handle that no other thread uses; `id` is null or has room for 16 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_client_id(client: *const situ_client, id: *mut u8) {
    guard_value(|| {
        // SAFETY: the caller's promise.
        let bytes = unsafe { client.as_ref() }.map_or([0; 16], |it| it.raw.raw.id().to_bytes());
        if !id.is_null() {
            // SAFETY: not null, and with room for 16 bytes as the caller promises.
            unsafe { id.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        }
    });
}

/// The source of a client.
///
/// # Safety
/// `client` is null or a live handle that no other thread uses.
pub(crate) unsafe fn client_source(client: *const situ_client) -> Result<Source, Failure> {
    // SAFETY: the caller's promise.
    let client = &unsafe { given(client, "client") }?.raw;
    client.check_process()?;
    Ok(client.raw.source())
}
