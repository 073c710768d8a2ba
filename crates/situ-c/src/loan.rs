//! Loans for C: messages of publishers, requests of clients, replies of servers.

use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::null_mut;

use situ_bus::{
    DetachedLoan, DetachedReplyLoan, DeviceSpan, Encoding, LoanError, RawLoan, RawReplyLoan, RawRequestLoan,
};

use crate::error::{Failure, guard, guard_value, situ_error, situ_status};
use crate::lender::{Lender, situ_client, situ_publisher, situ_server};
use crate::types::{encoding, given, target};

impl<T> Lender<T> {
    /// Stores a loan of this lender in the caller's structure, and counts it.
    ///
    /// # Safety
    /// `handle` is a live handle, of the type that lends such loans. `target` is valid for writes.
    #[inline]
    pub(crate) unsafe fn lend(handle: *mut Self, target: *mut situ_loan, lent: Lent<'_>) {
        // SAFETY: the caller's promise.
        let count = unsafe { &(*handle).lent };
        count.set(count.get() + 1);
        let encoding = lent.encoding() as u32;
        // The handle itself, because the lender may be freed by it when its last loan comes back.
        // SAFETY: the caller's promise.
        unsafe { situ_loan::write(target, handle.cast(), lent, encoding) };
    }
}

/// The `state_` of a loan that is lent: numbers that uninitialized memory is unlikely to contain.
const MESSAGE: u32 = 0x4c6f_616e;
const REQUEST: u32 = 0x5265_7173;
const REPLY: u32 = 0x5265_706c;

/// The room for what the library keeps in a loan.
const DETACHED_WORDS: usize = 11;

/// `situ_loan`.
#[repr(C)]
pub struct situ_loan {
    pub head: *mut c_void,
    pub head_size: usize,
    pub body: *mut c_void,
    pub body_size: usize,
    pub encoding: u32,
    state: u32,
    lender: *mut c_void,
    detached: [u64; DETACHED_WORDS],
}

const _: () = assert!(size_of::<DetachedLoan>() <= size_of::<[u64; DETACHED_WORDS]>());
const _: () = assert!(size_of::<DetachedReplyLoan>() <= size_of::<[u64; DETACHED_WORDS]>());
const _: () = assert!(align_of::<DetachedLoan>() <= align_of::<u64>());
const _: () = assert!(align_of::<DetachedReplyLoan>() <= align_of::<u64>());

/// What is lent.
pub(crate) enum Lent<'a> {
    Message(RawLoan<'a>),
    Request(RawRequestLoan<'a>),
    Reply(RawReplyLoan<'a>),
}

impl<'a> Deref for Lent<'a> {
    type Target = RawLoan<'a>;

    #[inline]
    fn deref(&self) -> &RawLoan<'a> {
        match self {
            Self::Message(raw) => raw,
            Self::Request(raw) => raw,
            Self::Reply(raw) => raw,
        }
    }
}

/// Calls a method that all loans have.
macro_rules! with_each {
    ($lent:expr, $raw:ident => $call:expr) => {
        match $lent {
            Lent::Message($raw) => $call,
            Lent::Request($raw) => $call,
            Lent::Reply($raw) => $call,
        }
    };
}

impl Lent<'_> {
    #[inline]
    fn shrink_body(&mut self, size: usize) {
        with_each!(self, raw => raw.shrink_body(size));
    }

    #[inline]
    fn set_encoding(&mut self, encoding: Encoding) {
        with_each!(self, raw => raw.set_encoding(encoding));
    }

    fn grow_body(&mut self, size: usize) -> Result<usize, LoanError> {
        with_each!(self, raw => raw.grow_body(size))
    }

    pub(crate) fn span_of_message(&mut self) -> Result<DeviceSpan<'_, u8>, LoanError> {
        with_each!(self, raw => raw.span_of_message())
    }

    /// The address and the size of the user header; null and 0 if there is none.
    pub(crate) fn user_header(&mut self) -> (*mut c_void, usize) {
        // Requests and replies have none.
        let Self::Message(raw) = self else { return (null_mut(), 0) };
        let header = raw.user_header_mut();
        if header.is_empty() { (null_mut(), 0) } else { (header.as_mut_ptr().cast(), header.len()) }
    }

    /// The failure of a function that wants another kind of loan.
    #[cold]
    pub(crate) fn is_no(&self, wanted: &str) -> Box<Failure> {
        let (is, to_do) = match self {
            Self::Message(_) => ("a message of a topic", "publish it with situ_loan_publish"),
            Self::Request(_) => ("a request of a client", "send it with situ_request_send"),
            Self::Reply(_) => ("a reply of a server", "send it with situ_reply_send"),
        };
        Box::new(Failure::argument(format_args!("`loan` is {is}, and no {wanted}: {to_do}")))
    }
}

impl situ_loan {
    /// Stores a loan in the caller's structure.
    ///
    /// # Safety
    /// `target` is valid for writes, and `lent` a loan of `lender`, which counts it.
    #[inline]
    unsafe fn write(target: *mut Self, lender: *mut c_void, lent: Lent<'_>, encoding: u32) {
        let raw: &RawLoan<'_> = &lent;
        // SAFETY: the caller's promise. The fields are written one by one, because few loans need all of
        // `detached`, which has room for each kind, as asserted above.
        unsafe {
            (&raw mut (*target).head).write(raw.head().cast());
            (&raw mut (*target).head_size).write(raw.head_size());
            (&raw mut (*target).body).write(raw.body().cast());
            (&raw mut (*target).body_size).write(raw.body_size());
            (&raw mut (*target).encoding).write(encoding);
            (&raw mut (*target).lender).write(lender);
            let detached = &raw mut (*target).detached;
            let state = match lent {
                Lent::Message(raw) => {
                    detached.cast::<DetachedLoan>().write(raw.detach());
                    MESSAGE
                }
                Lent::Request(raw) => {
                    detached.cast::<DetachedLoan>().write(raw.detach());
                    REQUEST
                }
                Lent::Reply(raw) => {
                    detached.cast::<DetachedReplyLoan>().write(raw.detach());
                    REPLY
                }
            };
            (&raw mut (*target).state).write(state);
        }
    }

    /// Takes the loan out of the caller's structure, if there is one. Afterwards the structure holds no loan.
    ///
    /// # Safety
    /// `loan` is null or valid, all zero or written by [`write`](Self::write), and the lender is only used
    /// through shared references meanwhile.
    #[inline]
    unsafe fn read<'a>(loan: *mut Self) -> Option<Lent<'a>> {
        if loan.is_null() {
            return None;
        }
        // SAFETY: the caller's promise. `write` stored the loan along with its lender, which stays as long as
        // it has loans. The state, reset here, ensures that the loan is read only once. Only the state is
        // read before it is known that the rest is initialized.
        unsafe {
            let state = std::mem::replace(&mut (*loan).state, 0);
            if !matches!(state, MESSAGE | REQUEST | REPLY) {
                return None;
            }
            (&raw mut (*loan).head).write(null_mut());
            (&raw mut (*loan).body).write(null_mut());
            let (lender, detached) = ((&raw const (*loan).lender).read(), &raw const (*loan).detached);
            Some(match state {
                MESSAGE => {
                    let publisher: &'a situ_publisher = &*lender.cast();
                    Lent::Message(publisher.raw.attach(detached.cast::<DetachedLoan>().read()))
                }
                REQUEST => {
                    let client: &'a situ_client = &*lender.cast();
                    Lent::Request(client.raw.raw.attach(detached.cast::<DetachedLoan>().read()))
                }
                _ => {
                    let server: &'a situ_server = &*lender.cast();
                    Lent::Reply(server.raw.raw.attach(detached.cast::<DetachedReplyLoan>().read()))
                }
            })
        }
    }
}

/// Loans of messages in an array of C, which still holds them while they are published.
#[derive(Clone, Copy)]
pub(crate) struct Batch<'a> {
    first: *mut situ_loan,
    count: usize,
    /// The publisher of the first loan.
    pub(crate) publisher: &'a situ_publisher,
}

impl<'a> Batch<'a> {
    /// Checks all loans before the first is published. `None` for an empty array.
    ///
    /// # Safety
    /// `first` is null, or leads to `count` loans, each as for
    /// [`situ_loan_publish`](crate::publisher::situ_loan_publish), which stay unchanged while the batch is
    /// used.
    pub(crate) unsafe fn of(first: *mut situ_loan, count: usize) -> Result<Option<Self>, Failure> {
        if count == 0 {
            return Ok(None);
        }
        let first = target(first, "loans")?;
        for at in 0..count {
            // SAFETY: one of the caller's loans.
            let loan = unsafe { given(first.wrapping_add(at), "loans") }?;
            match loan.state {
                MESSAGE => {}
                REQUEST | REPLY => {
                    return Err(Failure::argument(format_args!(
                        "`loans[{at}]` is a request or a reply, and no message of a topic: send it by itself"
                    )));
                }
                _ => {
                    return Err(Failure::argument(format_args!(
                        "`loans[{at}]` holds no loan: it was published or discarded before, or never lent"
                    )));
                }
            }
            encoding(loan.encoding)?;
            // SAFETY: it holds a message, as was checked.
            let lent = unsafe { loan.message() }.body_size();
            if loan.body_size > lent {
                return Err(Failure::argument(format_args!(
                    "`loans[{at}].body_size` is {}, but only {lent} bytes were lent",
                    loan.body_size
                )));
            }
        }
        // SAFETY: it holds a message, as was checked, so its lender is a publisher that has a loan.
        Ok(Some(Self { first, count, publisher: unsafe { &*(*first).lender.cast() } }))
    }

    /// The loans as they are to be published.
    pub(crate) fn loans(self) -> impl Iterator<Item = ManuallyDrop<RawLoan<'a>>> + Clone {
        (0..self.count).map(move |at| {
            // SAFETY: `of` checked that it holds a message, and nothing has changed since.
            let loan = unsafe { &*self.first.wrapping_add(at) };
            // SAFETY: as above.
            let mut lent = unsafe { loan.message() };
            lent.shrink_body(loan.body_size);
            if let Some(encoding) = Encoding::from_number(loan.encoding) {
                lent.set_encoding(encoding);
            }
            lent
        })
    }
}

impl situ_loan {
    /// The message, which the structure still holds.
    ///
    /// # Safety
    /// It holds a message. The result is not published while the structure holds it.
    unsafe fn message<'a>(&self) -> ManuallyDrop<RawLoan<'a>> {
        // SAFETY: `write` stored the publisher, which stays as long as it has loans, and the loan, which is
        // plain data. The copy is never dropped.
        unsafe {
            let publisher: &'a situ_publisher = &*self.lender.cast();
            let detached = (&raw const self.detached).cast::<DetachedLoan>().read();
            ManuallyDrop::new(publisher.raw.attach(detached))
        }
    }
}

/// Empties the first loans of an array, whose messages were published.
///
/// # Safety
/// They belong to a [`Batch`], and were published. No reference to it or its publisher is used after this.
pub(crate) unsafe fn published(first: *mut situ_loan, count: usize) {
    for at in 0..count {
        let loan = first.wrapping_add(at);
        // SAFETY: one of the batch's loans, whose publisher is alive until its last loan comes back.
        unsafe {
            (*loan).state = 0;
            (*loan).head = null_mut();
            (*loan).body = null_mut();
            came_back(MESSAGE, (*loan).lender);
        }
    }
}

/// Tells the lender of a loan that it is returned.
///
/// # Safety
/// The loan was read from a structure with this state and lender, and is gone.
#[inline]
unsafe fn came_back(state: u32, lender: *mut c_void) {
    // SAFETY: the state names the type of the lender, which is alive, because it had a loan.
    unsafe {
        match state {
            MESSAGE => situ_publisher::came_back(lender.cast()),
            REQUEST => situ_client::came_back(lender.cast()),
            _ => situ_server::came_back(lender.cast()),
        }
    }
}

/// Publishes or sends a loan with the given operation. If that fails, the structure still holds the loan.
///
/// # Safety
/// As for [`situ_loan_publish`](crate::publisher::situ_loan_publish).
#[inline]
pub(crate) unsafe fn give_away<R>(
    loan: *mut situ_loan,
    way: impl for<'a> FnOnce(Lent<'a>) -> Result<R, (Box<Failure>, Lent<'a>)>,
) -> Result<R, Failure> {
    // SAFETY: the caller's promise.
    let wanted = unsafe { given(loan, "loan") }?;
    let (number, body_size, state, lender) = (wanted.encoding, wanted.body_size, wanted.state, wanted.lender);
    // SAFETY: the caller's promise.
    let Some(mut lent) = (unsafe { situ_loan::read(loan) }) else {
        return Err(Failure::argument(
            "`loan` holds no loan: it was published or discarded before, or never lent",
        ));
    };
    let refused = if body_size > lent.body_size() {
        Some(Failure::argument(format_args!(
            "`loan->body_size` is {body_size}, but only {} bytes were lent",
            lent.body_size()
        )))
    } else {
        lent.shrink_body(body_size);
        encoding(number).map(|encoding| lent.set_encoding(encoding)).err()
    };
    let result = match refused {
        Some(failure) => Err((Box::new(failure), lent)),
        None => way(lent),
    };
    match result {
        Ok(result) => {
            // SAFETY: they belong to the loan, which is gone.
            unsafe { came_back(state, lender) };
            Ok(result)
        }
        Err((failure, lent)) => {
            // SAFETY: the structure from which it was read.
            unsafe { situ_loan::write(loan, lender, lent, number) };
            Err(*failure)
        }
    }
}

/// Calls `look` with a loan, and stores the loan again.
///
/// # Safety
/// As for [`situ_loan_publish`](crate::publisher::situ_loan_publish).
pub(crate) unsafe fn with_loan<R>(
    loan: *mut situ_loan,
    look: impl FnOnce(&mut Lent<'_>) -> Result<R, Failure>,
) -> Result<R, Failure> {
    // SAFETY: the caller's promise.
    let wanted = unsafe { given(loan, "loan") }?;
    let (encoding, body_size, lender) = (wanted.encoding, wanted.body_size, wanted.lender);
    // SAFETY: the caller's promise.
    let Some(mut lent) = (unsafe { situ_loan::read(loan) }) else {
        return Err(Failure::argument("`loan` holds no loan"));
    };
    let whole = lent.body_size();
    let result = look(&mut lent);
    // A body that the caller reduced stays reduced, unless its size changed now.
    let body_size = if lent.body_size() == whole { body_size } else { lent.body_size() };
    // SAFETY: the structure from which it was read.
    unsafe {
        situ_loan::write(loan, lender, lent, encoding);
        (*loan).body_size = body_size;
    }
    result
}

/// Makes the body of a loan larger in place.
///
/// # Safety
/// As for [`situ_loan_publish`](crate::publisher::situ_loan_publish).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_loan_grow(
    loan: *mut situ_loan,
    body_size: usize,
    error: *mut situ_error,
) -> situ_status {
    let grow = || {
        // SAFETY: the caller's promise.
        unsafe { with_loan(loan, |raw| Ok(raw.grow_body(body_size)?)) }?;
        // SAFETY: `with_loan` found a loan in it. A body that the caller had reduced gets the requested size.
        unsafe { (*loan).body_size = (*loan).body_size.max(body_size) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, grow) }
}

/// Returns a loan without publishing it.
///
/// # Safety
/// As for [`situ_loan_publish`](crate::publisher::situ_loan_publish).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_loan_discard(loan: *mut situ_loan) {
    guard_value(|| {
        if loan.is_null() {
            return;
        }
        // SAFETY: the caller's promise; only the state is known to be initialized.
        let state = unsafe { (&raw const (*loan).state).read() };
        // SAFETY: the caller's promise.
        if let Some(lent) = unsafe { situ_loan::read(loan) } {
            drop(lent);
            // SAFETY: `read` found a loan, so the structure is valid and names its lender, which is alive.
            unsafe { came_back(state, (*loan).lender) };
        }
    });
}
