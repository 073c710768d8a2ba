//! What lends memory to C: publishers, clients, servers.

use std::cell::{Cell, OnceCell, RefCell};
use std::ffi::CString;

use situ_bus::{EventFd, RawClient, RawPublisher, RawServer};

use crate::error::guard_value;

/// `situ_publisher`.
pub type situ_publisher = Lender<RawPublisher>;
/// `situ_client`.
pub type situ_client = Lender<Client>;
/// `situ_server`.
pub type situ_server = Lender<Server>;

/// What a client's handle owns.
pub struct Client {
    pub(crate) raw: RawClient,
    pub(crate) event: OnceCell<EventFd>,
    /// The text of the last refusal, which the caller may read until the next one.
    pub(crate) refusal: RefCell<CString>,
}

/// What a server's handle owns.
pub struct Server {
    pub(crate) raw: RawServer,
    pub(crate) event: OnceCell<EventFd>,
}

/// What lends: it exists until it is destroyed *and* has no loans.
pub struct Lender<T> {
    pub(crate) raw: T,
    pub(crate) lent: Cell<usize>,
    destroyed: Cell<bool>,
}

impl<T> Lender<T> {
    /// Makes a handle for C.
    pub(crate) fn new(raw: T) -> *mut Self {
        Box::into_raw(Box::new(Self { raw, lent: Cell::new(0), destroyed: Cell::new(false) }))
    }

    /// Destroys it, at once or when its last loan is returned.
    ///
    /// # Safety
    /// `handle` is null, or a live handle that is from now on used only through its loans.
    pub(crate) unsafe fn destroy(handle: *mut Self) {
        guard_value(|| {
            // SAFETY: the caller's promise.
            let Some(shared) = (unsafe { handle.as_ref() }) else { return };
            shared.destroyed.set(true);
            if shared.lent.get() == 0 {
                // SAFETY: it came from `Box::into_raw`, the caller gives it up, and it has no loans.
                drop(unsafe { Box::from_raw(handle) });
            }
        });
    }

    /// Counts a returned loan. Removes the lender if it was destroyed before and this was its last loan.
    ///
    /// # Safety
    /// `handle` is a live handle, and no reference to it is used after this.
    #[inline]
    pub(crate) unsafe fn came_back(handle: *mut Self) {
        // SAFETY: the caller's promise.
        let shared = unsafe { &*handle };
        shared.lent.set(shared.lent.get() - 1);
        if shared.destroyed.get() && shared.lent.get() == 0 {
            // SAFETY: it came from `Box::into_raw`; its owner gave it up, and it has no loans.
            drop(unsafe { Box::from_raw(handle) });
        }
    }
}
