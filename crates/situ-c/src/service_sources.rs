//! Clients and servers as sources of wait sets and executors, for C.

use crate::client::client_source;
use crate::error::{situ_error, situ_status};
use crate::executor::{Added, situ_callback, situ_callback_group, situ_executor};
use crate::lender::{situ_client, situ_server};
use crate::server::server_source;
use crate::wait_set::{attach, situ_wait_set};

/// Attaches a client.
///
/// # Safety
/// `set` is null or a live handle. `client` is null or a live handle that no other thread uses. `id` and
/// `error` are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_wait_set_attach_client(
    set: *mut situ_wait_set,
    client: *const situ_client,
    id: *mut u64,
    error: *mut situ_error,
) -> situ_status {
    // SAFETY: the caller's promise is passed on.
    unsafe { attach(set, || client_source(client), id, error) }
}

/// Attaches a server.
///
/// # Safety
/// As for [`situ_wait_set_attach_client`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_wait_set_attach_server(
    set: *mut situ_wait_set,
    server: *const situ_server,
    id: *mut u64,
    error: *mut situ_error,
) -> situ_status {
    // SAFETY: the caller's promise is passed on.
    unsafe { attach(set, || server_source(server), id, error) }
}

/// Adds a callback for a client.
///
/// # Safety
/// As for [`situ_executor_add_subscriber`](crate::executor::situ_executor_add_subscriber).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_executor_add_client(
    executor: *mut situ_executor,
    group: *const situ_callback_group,
    client: *const situ_client,
    callback: *const situ_callback,
    id: *mut u64,
    error: *mut situ_error,
) -> situ_status {
    let added = Added { executor, group, callback, id, error };
    // SAFETY: the caller's promise is passed on.
    unsafe { added.add(|| client_source(client)) }
}

/// Adds a callback for a server.
///
/// # Safety
/// As for [`situ_executor_add_subscriber`](crate::executor::situ_executor_add_subscriber).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_executor_add_server(
    executor: *mut situ_executor,
    group: *const situ_callback_group,
    server: *const situ_server,
    callback: *const situ_callback,
    id: *mut u64,
    error: *mut situ_error,
) -> situ_status {
    let added = Added { executor, group, callback, id, error };
    // SAFETY: the caller's promise is passed on.
    unsafe { added.add(|| server_source(server)) }
}
