//! Waits of clients and servers for C, which an interrupter or a signal may end.

use crate::client::{situ_reply, take_by};
use crate::error::{guard, guard_value, situ_error, situ_status};
use crate::interrupt::{read, situ_interrupter, situ_waiting};
use crate::lender::{situ_client, situ_server};
use crate::subscriber::found;
use crate::types::given;

/// Waits until the service has a server, or an interrupter or a signal ends the wait.
///
/// # Safety
/// `client` is null or a live handle that no other thread uses. `how` is null or valid; its interrupter is
/// null or a live handle. `error` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_client_wait_for_server_with(
    client: *const situ_client,
    how: *const situ_waiting,
    error: *mut situ_error,
) -> situ_status {
    let wait = || {
        // SAFETY: the caller's promise.
        let (client, how) = unsafe { (&given(client, "client")?.raw, read(how)?) };
        client.check_process()?;
        Ok(found(client.raw.wait_for_server_with(how)?))
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, wait) }
}

/// Waits until a take returns a reply or an error, or an interrupter or a signal ends the wait.
///
/// # Safety
/// As for [`situ_client_wait_for_server_with`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_client_wait_with(
    client: *mut situ_client,
    how: *const situ_waiting,
    error: *mut situ_error,
) -> situ_status {
    let wait = || {
        // SAFETY: the caller's promise.
        let (client, how) = unsafe { (&given(client, "client")?.raw, read(how)?) };
        client.check_process()?;
        Ok(found(client.raw.wait_with(how)?))
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, wait) }
}

/// Waits for the next reply to one call, and takes it, unless an interrupter or a signal ends the wait.
///
/// # Safety
/// As for [`situ_client_wait_for_server_with`]; `reply` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_client_receive_of_with(
    client: *mut situ_client,
    call: u64,
    how: *const situ_waiting,
    reply: *mut situ_reply,
    error: *mut situ_error,
) -> situ_status {
    // SAFETY: the caller's promise is passed on.
    unsafe {
        let how = match read(how) {
            Ok(how) => how,
            Err(failure) => return guard(error, || Err(failure)),
        };
        take_by(client, reply, error, |raw| raw.receive_of_with(call, how))
    }
}

/// Sets the interrupter that ends a client's waits for room.
///
/// # Safety
/// `client` is null or a live handle that no other thread uses; `interrupter` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_client_set_interrupter(
    client: *mut situ_client,
    interrupter: *const situ_interrupter,
) {
    guard_value(|| {
        // SAFETY: the caller's promise.
        let (client, interrupter) = unsafe { (client.as_ref(), interrupter.as_ref()) };
        if let Some(client) = client {
            client.raw.raw.set_interrupter(interrupter.map(|interrupter| &interrupter.0));
        }
    });
}

/// Waits until a request can be taken, or an interrupter or a signal ends the wait.
///
/// # Safety
/// As for [`situ_client_wait_for_server_with`], for a server.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_server_wait_with(
    server: *mut situ_server,
    how: *const situ_waiting,
    error: *mut situ_error,
) -> situ_status {
    let wait = || {
        // SAFETY: the caller's promise.
        let (server, how) = unsafe { (&given(server, "server")?.raw, read(how)?) };
        server.check_process()?;
        Ok(found(server.raw.wait_with(how)?))
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, wait) }
}

/// Sets the interrupter that ends a server's waits for room.
///
/// # Safety
/// As for [`situ_client_set_interrupter`], for a server.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_server_set_interrupter(
    server: *mut situ_server,
    interrupter: *const situ_interrupter,
) {
    guard_value(|| {
        // SAFETY: the caller's promise.
        let (server, interrupter) = unsafe { (server.as_ref(), interrupter.as_ref()) };
        if let Some(server) = server {
            server.raw.raw.set_interrupter(interrupter.map(|interrupter| &interrupter.0));
        }
    });
}
