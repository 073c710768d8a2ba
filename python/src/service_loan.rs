//! Requests and replies that are written in place, in the memory where the other side reads them.
//!
//! A loan belongs to a client or a server, and is used only while that endpoint is locked: the endpoint's
//! other loans share counters with it that are not for several threads.

use std::any::Any;
use std::sync::Arc;

use pyo3::prelude::*;
use situ_bus::{DetachedLoan, DetachedReplyLoan, RawClient, RawServer, RequestId};

use crate::content::{State, Struct, instantiate};
use crate::endpoint::Endpoint;
use crate::errors::Kind as Error;
use crate::hold::{Hold, Memory, Owner, ServiceLoan};
use crate::types::TypeHandle;

const SENT: &str = "the loan is sent, and cannot be changed any more";

/// A value that only code touches which has the lock of its endpoint.
pub struct Locked<T>(pub T);

// SAFETY: a loan is numbers, an address, and a count of references that its endpoint shares. All code below
// uses it with the lock of the endpoint.
unsafe impl<T> Send for Locked<T> {}

impl<T> Locked<T> {
    /// The value. With a method, a closure captures all of it.
    pub fn into_inner(self) -> T {
        self.0
    }
}

/// A lent request.
pub struct RequestLoan {
    pub client: Arc<Endpoint<RawClient>>,
    pub loan: Locked<DetachedLoan>,
}

/// A lent reply.
pub struct ReplyLoan {
    pub server: Arc<Endpoint<RawServer>>,
    pub id: RequestId,
    pub loan: Locked<DetachedReplyLoan>,
}

impl ServiceLoan for RequestLoan {
    fn take_back(self: Box<Self>) {
        let Self { client, loan } = *self;
        client.locked(|raw| {
            let loan = loan.into_inner();
            if let Some(raw) = raw {
                // SAFETY: the loan is one of this client.
                drop(unsafe { raw.attach(loan) });
            }
        });
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl ServiceLoan for ReplyLoan {
    fn take_back(self: Box<Self>) {
        let Self { server, loan, .. } = *self;
        server.locked(|raw| {
            let loan = loan.into_inner();
            match raw {
                // SAFETY: the loan is one of this server.
                Some(raw) => drop(unsafe { raw.attach(loan) }),
                None => drop(loan),
            }
        });
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A message that is written in place.
pub fn lent<'py>(
    py: Python<'py>,
    handle: &TypeHandle,
    loan: Box<dyn ServiceLoan>,
    (head, body): ((usize, usize), (usize, usize)),
) -> PyResult<Bound<'py, Struct>> {
    let memory = Memory::of_service(loan, (head.0 as *mut u8, head.1), (body.0 as *mut u8, body.1));
    instantiate(py, &handle.types, handle.id, State::View { hold: Hold::new(memory), at: 0 })
}

/// Takes the loan out of a message, if it is one of this kind that `fits`. Fails if arrays of it still exist.
pub fn take<L: ServiceLoan + 'static>(
    py: Python<'_>,
    message: &Bound<'_, PyAny>,
    fits: impl Fn(&L) -> bool,
) -> PyResult<Option<L>> {
    let Ok(message) = message.cast::<Struct>() else { return Ok(None) };
    let Some(hold) = message.get().hold() else { return Ok(None) };
    if !matches!(message.get().view(), Some((_, 0))) || !hold.memory(py)?.lends(&fits) {
        return Ok(None);
    }
    let memory = match hold.take(SENT) {
        Ok(memory) => memory,
        Err(None) => return hold.memory(py).map(|_| None),
        Err(Some(arrays)) => {
            let text = format!(
                "{arrays} array(s) of the loan still exist, and could change the message after it is sent: `del` them first"
            );
            return Err(Error::Borrowed.error(py, text));
        }
    };
    let Owner::Service(loan) = &memory.owner else { return Ok(None) };
    let loan = crate::sync::lock(loan).take();
    Ok(loan.and_then(|loan| loan.into_any().downcast().ok()).map(|loan| *loan))
}
