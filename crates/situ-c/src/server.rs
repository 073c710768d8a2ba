//! Servers of services for C.

use std::cell::OnceCell;
use std::ffi::{c_char, c_int};

use situ_bus::{
    AnswerError, EndpointId, GROWING_ROOM, NodeId, RawReplyLoan, RawServer, RequestHandle, RequestId, Source,
    Waitable, WhenFull,
};

use crate::device::situ_stream;
use crate::error::{Failure, guard, guard_value, situ_error, situ_status};
use crate::lender::{Lender, Server, situ_server};
use crate::loan::{Lent, give_away, situ_loan};
use crate::node::situ_node;
use crate::service::{
    fd_from, forked, read_options, read_service_type, situ_service_options, situ_service_type, when_full,
};
use crate::subscriber::{found, let_go, situ_sample};
use crate::types::{given, limit, target, text};

/// `situ_request_id`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct situ_request_id {
    pub node: u64,
    pub client: u64,
    pub call: u64,
    pub sent_at_ns: u64,
}

impl From<RequestId> for situ_request_id {
    fn from(id: RequestId) -> Self {
        let RequestId { client, call, sent_at_ns } = id;
        Self { node: client.node.0, client: client.number, call, sent_at_ns }
    }
}

impl From<&situ_request_id> for RequestId {
    fn from(id: &situ_request_id) -> Self {
        let client = EndpointId { node: NodeId(id.node), number: id.client };
        Self { client, call: id.call, sent_at_ns: id.sent_at_ns }
    }
}

/// The `state_` of a request that was taken: a number that uninitialized memory is unlikely to contain.
const TAKEN: u32 = 0x5265_7175;
const HANDLE_WORDS: usize = 6;

/// `situ_request`.
#[repr(C)]
pub struct situ_request {
    pub sample: situ_sample,
    pub id: situ_request_id,
    pub deadline_ns: u64,
    state: u32,
    handle: [u64; HANDLE_WORDS],
}

const _: () = assert!(size_of::<RequestHandle>() <= size_of::<[u64; HANDLE_WORDS]>());
const _: () = assert!(align_of::<RequestHandle>() <= align_of::<u64>());

/// `situ_server_statistics`.
#[repr(C)]
#[derive(Default)]
pub struct situ_server_statistics {
    pub clients: u64,
    pub answered_clients: u64,
    pub expired: u64,
}

impl Server {
    /// Fails in a forked child.
    pub(crate) fn check_process(&self) -> Result<(), Failure> {
        if self.raw.is_inherited() { Err(forked(self.raw.service())) } else { Ok(()) }
    }
}

/// Joins a service as server.
///
/// # Safety
/// As the header says: handles are live, texts end with a zero, pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_server_create(
    node: *const situ_node,
    service: *const c_char,
    described: *const situ_service_type,
    options: *const situ_service_options,
    server: *mut *mut situ_server,
    error: *mut situ_error,
) -> situ_status {
    let create = || {
        let target = target(server, "server")?;
        // SAFETY: the caller passes a live handle, texts and valid pointers.
        let (node, service) = unsafe { (given(node, "node")?, text(service, "service")?) };
        // SAFETY: as above.
        let (described, options) = unsafe { (read_service_type(described)?, read_options(options)?) };
        let raw = RawServer::create(&node.node, service, &described, &options)?;
        // SAFETY: not null, and valid for writes as the caller promises.
        unsafe { target.write(Lender::new(Server { raw, event: OnceCell::new() })) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, create) }
}

/// Leaves the service, at once or when the last loan is returned.
///
/// # Safety
/// `server` is null, or a live handle that is from now on used only through its loans.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_server_destroy(server: *mut situ_server) {
    // SAFETY: the caller's promise is passed on.
    unsafe { Lender::destroy(server) };
}

/// Takes the next request, if there is one.
///
/// # Safety
/// `server` is null or a live handle that no other thread uses; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_server_take(
    server: *mut situ_server,
    request: *mut situ_request,
    error: *mut situ_error,
) -> situ_status {
    let take = || {
        let target = target(request, "request")?;
        // SAFETY: the caller's promise.
        let server = &unsafe { given(server, "server") }?.raw;
        let Some(taken) = server.raw.take()? else { return Ok(situ_status::Empty) };
        let (sample, handle) = taken.into_parts();
        // SAFETY: not null, and valid as the caller promises; the fields are written one by one, because a
        // sample may have uninitialized bytes.
        unsafe {
            situ_sample::write(&raw mut (*target).sample, sample);
            (&raw mut (*target).id).write(handle.id().into());
            (&raw mut (*target).deadline_ns).write(handle.deadline_ns().unwrap_or(0));
            (&raw mut (*target).handle).cast::<RequestHandle>().write(handle);
            (&raw mut (*target).state).write(TAKEN);
        }
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, take) }
}

/// Releases a request.
///
/// # Safety
/// `request` is null, all zero, or was taken and not copied since.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_request_release(request: *mut situ_request) {
    guard_value(|| {
        if request.is_null() {
            return;
        }
        // SAFETY: the caller's promise; only the state is known to be initialized. If it is `TAKEN`,
        // `situ_server_take` stored the rest, and the state, reset here, ensures that it is read only once.
        unsafe {
            if std::mem::replace(&mut (*request).state, 0) == TAKEN {
                drop((&raw const (*request).handle).cast::<RequestHandle>().read());
                drop(let_go(&raw mut (*request).sample));
            }
        }
    });
}

/// Whether the client of a request needs no reply any more.
///
/// # Safety
/// As for [`situ_request_release`], and the request is not released meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_request_is_cancelled(request: *const situ_request) -> i32 {
    guard_value(|| {
        // SAFETY: the caller's promise; only the state is known to be initialized.
        if request.is_null() || unsafe { (&raw const (*request).state).read() } != TAKEN {
            return 1;
        }
        // SAFETY: `situ_server_take` stored it.
        i32::from(unsafe { &*(&raw const (*request).handle).cast::<RequestHandle>() }.is_cancelled())
    })
}

/// Takes what clients have sent meanwhile.
///
/// # Safety
/// As for [`situ_server_take`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_server_collect(
    server: *mut situ_server,
    error: *mut situ_error,
) -> situ_status {
    let collect = || {
        // SAFETY: the caller's promise.
        unsafe { given(server, "server") }?.raw.raw.collect()?;
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, collect) }
}

/// Waits until a request can be taken.
///
/// # Safety
/// As for [`situ_server_take`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_server_wait(
    server: *mut situ_server,
    timeout_ns: u64,
    error: *mut situ_error,
) -> situ_status {
    let wait = || {
        // SAFETY: the caller's promise.
        let server = &unsafe { given(server, "server") }?.raw;
        server.check_process()?;
        Ok(found(server.raw.wait(limit(timeout_ns))))
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, wait) }
}

/// Lends with `lend`.
///
/// # Safety
/// As for [`situ_server_loan`].
#[inline]
unsafe fn lend_by(
    server: *mut situ_server,
    request: *const situ_request_id,
    loan: *mut situ_loan,
    error: *mut situ_error,
    lend: impl for<'s> FnOnce(&'s RawServer, &RequestId) -> Result<RawReplyLoan<'s>, AnswerError>,
) -> situ_status {
    let lend = || {
        let target = target(loan, "loan")?;
        // SAFETY: the caller's promise.
        let (shared, id) = unsafe { (given(server, "server")?, given(request, "request")?) };
        let lent = Lent::Reply(lend(&shared.raw.raw, &id.into())?);
        // SAFETY: not null, and valid as the caller promises; it is a loan of the server.
        unsafe { situ_server::lend(server, target, lent) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, lend) }
}

/// Lends memory for a reply, or a part of one.
///
/// # Safety
/// `server` is null or a live handle that no other thread uses; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_server_loan(
    server: *mut situ_server,
    request: *const situ_request_id,
    head_size: usize,
    head_align: usize,
    body_size: usize,
    loan: *mut situ_loan,
    error: *mut situ_error,
) -> situ_status {
    // SAFETY: the caller's promise is passed on.
    unsafe { lend_by(server, request, loan, error, |raw, id| raw.loan(id, head_size, head_align, body_size)) }
}

/// Lends memory for a reply that grows in place.
///
/// # Safety
/// As for [`situ_server_loan`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_server_loan_growing(
    server: *mut situ_server,
    request: *const situ_request_id,
    body_size: usize,
    room: usize,
    loan: *mut situ_loan,
    error: *mut situ_error,
) -> situ_status {
    let room = if room == 0 { GROWING_ROOM } else { room };
    // SAFETY: the caller's promise is passed on.
    unsafe { lend_by(server, request, loan, error, |raw, id| raw.loan_growing(id, body_size, room)) }
}

/// Sends a reply.
///
/// # Safety
/// `loan` is null, all zero, or was lent and not copied since; its server is used by no other thread. `error`
/// is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_reply_send(
    loan: *mut situ_loan,
    is_last: u32,
    block_ns: u64,
    error: *mut situ_error,
) -> situ_status {
    // SAFETY: the caller's promise is passed on.
    unsafe { send(loan, None, is_last, block_ns, error) }
}

/// Sends a reply in stream order.
///
/// # Safety
/// As for [`situ_reply_send`]; the stream is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_reply_send_on(
    loan: *mut situ_loan,
    stream: *const situ_stream,
    is_last: u32,
    block_ns: u64,
    error: *mut situ_error,
) -> situ_status {
    // SAFETY: the caller's promise is passed on.
    unsafe { send(loan, Some(stream), is_last, block_ns, error) }
}

/// # Safety
/// As for [`situ_reply_send_on`].
#[inline]
unsafe fn send(
    loan: *mut situ_loan,
    stream: Option<*const situ_stream>,
    is_last: u32,
    block_ns: u64,
    error: *mut situ_error,
) -> situ_status {
    let send = || {
        let on = match stream {
            // SAFETY: the caller's promise.
            Some(stream) => Some(unsafe { given(stream, "stream") }?.stream.as_ref()),
            None => None,
        };
        // SAFETY: the caller's promise.
        unsafe {
            give_away(loan, |lent| match lent {
                Lent::Reply(raw) => raw
                    .send_with(is_last != 0, when_full(block_ns), on)
                    .map_err(|(error, raw)| (Box::new((*error).into()), Lent::Reply(raw))),
                other => Err((other.is_no("reply, which can be sent"), other)),
            })
        }?;
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, send) }
}

/// Ends a reply that was streamed.
///
/// # Safety
/// As for [`situ_server_loan`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_server_end(
    server: *mut situ_server,
    request: *const situ_request_id,
    block_ns: u64,
    error: *mut situ_error,
) -> situ_status {
    let end = || {
        // SAFETY: the caller's promise.
        let (server, id) = unsafe { (&given(server, "server")?.raw.raw, given(request, "request")?) };
        match when_full(block_ns) {
            WhenFull::Block(Some(limit)) => server.end_within(&id.into(), limit)?,
            WhenFull::Block(None) => server.end_within(&id.into(), std::time::Duration::MAX)?,
            WhenFull::Fail => server.end(&id.into())?,
        }
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, end) }
}

/// Refuses a request.
///
/// # Safety
/// As for [`situ_server_loan`]; `reason` is null or a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_server_refuse(
    server: *mut situ_server,
    request: *const situ_request_id,
    code: u64,
    reason: *const c_char,
    error: *mut situ_error,
) -> situ_status {
    let refuse = || {
        // SAFETY: the caller's promise.
        let (server, id) = unsafe { (&given(server, "server")?.raw.raw, given(request, "request")?) };
        // SAFETY: as above.
        server.refuse(&id.into(), code, unsafe { text(reason, "text") }?)?;
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, refuse) }
}

/// Returns a descriptor that is readable when a request may be there.
///
/// # Safety
/// As for [`situ_server_take`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_server_fd(
    server: *mut situ_server,
    fd: *mut c_int,
    error: *mut situ_error,
) -> situ_status {
    let make = || {
        let target = target(fd, "fd")?;
        // SAFETY: the caller's promise.
        let server = &unsafe { given(server, "server") }?.raw;
        server.check_process()?;
        let number = fd_from(&server.event, server.raw.service(), || server.raw.event_fd())?;
        // SAFETY: not null, and valid as the caller promises.
        unsafe { target.write(number) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, make) }
}

/// Makes the descriptor unreadable until the next request.
///
/// # Safety
/// As for [`situ_server_take`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_server_clear_fd(server: *mut situ_server) {
    guard_value(|| {
        // SAFETY: the caller's promise.
        let server = unsafe { server.as_ref() };
        if let Some(event) = server.and_then(|server| server.raw.event.get()) {
            event.clear();
        }
    });
}

/// The statistics of a server.
///
/// # Safety
/// As for [`situ_server_take`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_server_get_statistics(server: *const situ_server) -> situ_server_statistics {
    guard_value(|| {
        // SAFETY: the caller's promise.
        let Some(server) = (unsafe { server.as_ref() }) else { return Default::default() };
        let raw = &server.raw.raw;
        situ_server_statistics {
            clients: raw.clients() as u64,
            answered_clients: raw.answered_clients() as u64,
            expired: raw.expired(),
        }
    })
}

/// Writes the 16 bytes of a server's id; zeroes for a null handle.
///
/// # Safety
/// `server` is null or a live handle that no other thread uses; `id` is null or has room for 16 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_server_id(server: *const situ_server, id: *mut u8) {
    guard_value(|| {
        // SAFETY: the caller's promise.
        let bytes = unsafe { server.as_ref() }.map_or([0; 16], |it| it.raw.raw.id().to_bytes());
        if !id.is_null() {
            // SAFETY: not null, and with room for 16 bytes as the caller promises.
            unsafe { id.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        }
    });
}

/// The source of a server.
///
/// # Safety
/// `server` is null or a live handle that no other thread uses.
pub(crate) unsafe fn server_source(server: *const situ_server) -> Result<Source, Failure> {
    // SAFETY: the caller's promise.
    let server = &unsafe { given(server, "server") }?.raw;
    server.check_process()?;
    Ok(server.raw.source())
}
