//! A publisher as loans and endpoints share it.
//!
//! It lives as long as one of them does: a loan's arrays point into the publisher's memory. One thread at a
//! time uses it. A thread that waits for room gives the GIL away, and returns the lock before it takes the
//! GIL again, so no two threads wait for each other.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, TryLockError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use situ_bus::{DetachedLoan, LoanError, PublishError, RawLoan, RawPublisher, Reliability, WhenFull};
use situ_memory::Stream;

use crate::errors::Kind;
use crate::process::{self, Process};
use crate::sync::lock;

/// How long a publisher waits for room before it looks for signals. Not so short that the bus stops noticing
/// that a subscriber is used by the publishing thread.
pub const SLICE: Duration = Duration::from_millis(50);

/// A publisher that is shared by its loans.
pub struct Port {
    raw: Mutex<Option<RawPublisher>>,
    /// Loans that came back while a thread used the publisher, and whether there are some.
    returned: Mutex<Vec<Sent>>,
    has_returned: AtomicBool,
    process: Process,
    /// What it is, for errors.
    what: String,
    /// The size with which the next region is lent: that of the last ones.
    region_size: AtomicUsize,
    may_wait: bool,
    when_full: WhenFull,
    /// How long it waits for room. `None`: for ever.
    limit: Option<Duration>,
}

impl Port {
    /// Shares a publisher. `limit` is how long it waits for room.
    pub fn new(raw: RawPublisher, limit: Option<Duration>) -> Self {
        let may_wait = raw.qos().reliability == Reliability::Reliable && limit != Some(Duration::ZERO);
        let what = format!("the publisher of topic {:?}", raw.topic());
        let when_full = raw.qos().when_full;
        let (returned, has_returned) = (Mutex::default(), AtomicBool::new(false));
        Self {
            raw: Mutex::new(Some(raw)),
            returned,
            has_returned,
            region_size: AtomicUsize::new(1024),
            process: Process::this(),
            what,
            when_full,
            may_wait,
            limit,
        }
    }

    /// Uses the publisher.
    pub fn with<R: Send>(&self, py: Python<'_>, with: impl FnOnce(&RawPublisher) -> R + Send) -> PyResult<R> {
        self.process.check(py, &self.what)?;
        let used = match self.raw.try_lock() {
            Ok(raw) => raw.as_ref().map(with),
            // Another thread waits for room.
            Err(_) => process::detached(py, || lock(&self.raw).as_ref().map(with)),
        };
        used.ok_or_else(|| Kind::Released.error(py, "the publisher is closed"))
    }

    /// Lends a message and fills it. `fill` must not call Python.
    pub fn lend(
        &self,
        py: Python<'_>,
        head: (usize, usize),
        body: usize,
        fill: impl FnOnce(&mut RawLoan<'_>) + Send,
    ) -> PyResult<DetachedLoan> {
        let lent = self.with(py, |raw| {
            self.drop_returned(raw);
            raw.loan(head.0, head.1, body).map(|mut loan| {
                fill(&mut loan);
                Sent(loan.detach())
            })
        })?;
        lent.map(Sent::into_inner).map_err(|error| loan_error(py, &error))
    }

    /// Lends a region that grows in place up to `room` bytes, and fills it. `fill` must not call Python.
    pub fn lend_growing(
        &self,
        py: Python<'_>,
        room: usize,
        fill: impl FnOnce(&mut RawLoan<'_>) + Send,
    ) -> PyResult<DetachedLoan> {
        let size = self.region_size.load(Ordering::Relaxed).min(room);
        let lent = self.with(py, |raw| {
            self.drop_returned(raw);
            raw.loan_growing(size, room).map(|mut loan| {
                fill(&mut loan);
                Sent(loan.detach())
            })
        })?;
        lent.map(Sent::into_inner).map_err(|error| loan_error(py, &error))
    }

    /// Notes how much memory a region needed. The next one gets as much, which shrinks by an eighth of the
    /// difference.
    pub fn learn(&self, needed: usize) {
        let before = self.region_size.load(Ordering::Relaxed);
        let next = if needed > before { needed } else { before - (before - needed) / 8 };
        self.region_size.store(next.max(1024), Ordering::Relaxed);
    }

    /// Changes a loan of this publisher. `None` if the publisher is closed. The GIL may be held: a thread
    /// that has the lock never waits for the GIL.
    pub fn change<R>(
        &self,
        loan: DetachedLoan,
        change: impl FnOnce(&mut RawLoan<'_>) -> R,
    ) -> (DetachedLoan, Option<R>) {
        match &*lock(&self.raw) {
            Some(raw) => {
                // SAFETY: the loan is one of this publisher, which its owner keeps together.
                let mut loan = unsafe { raw.attach(loan) };
                let changed = change(&mut loan);
                (loan.detach(), Some(changed))
            }
            None => (loan, None),
        }
    }

    /// An error in a forked child, where the memory is the parent's.
    pub fn check(&self, py: Python<'_>) -> PyResult<()> {
        self.process.check(py, &self.what)
    }

    /// Publishes a loan of this publisher. If a stream writes it, the stream completes it.
    pub fn publish(&self, py: Python<'_>, loan: DetachedLoan, mut on: Option<&dyn Stream>) -> PyResult<u64> {
        let begun = Instant::now();
        let mut loan = Sent(loan);
        let mut is_first = true;
        loop {
            // Only the first attempt enqueues the completion.
            let on = on.take();
            let send = |raw: &RawPublisher, loan: Sent, when_full: WhenFull| {
                if self.may_wait {
                    raw.set_when_full(when_full);
                }
                // SAFETY: the loan is one of this publisher, which `Memory` keeps together.
                let loan = unsafe { raw.attach(loan.into_inner()) };
                let published = match on {
                    Some(stream) => loan.publish_on_or_return(stream),
                    None => loan.publish_or_return(),
                };
                published.map_err(|(error, loan)| (error, Sent(loan.detach())))
            };
            self.process.check(py, &self.what)?;
            // Nearly always there is room. Then the GIL is not given away, which takes as long as publishing.
            let at_once = if is_first || !self.may_wait { self.raw.try_lock().ok() } else { None };
            is_first = false;
            let published = match at_once {
                Some(raw) => raw.as_ref().map(|raw| send(raw, loan, WhenFull::Fail)),
                None => process::detached(py, || {
                    lock(&self.raw).as_ref().map(|raw| send(raw, loan, self.when_full))
                }),
            };
            match published {
                None => return Err(Kind::Released.error(py, "the publisher is closed")),
                Some(Ok(number)) => return Ok(number),
                Some(Err((error, returned))) => {
                    let waited = begun.elapsed();
                    let signal = py.check_signals();
                    let goes_on = matches!(error, PublishError::Full { .. })
                        && self.may_wait
                        && self.limit.is_none_or(|limit| waited < limit);
                    if !goes_on || signal.is_err() {
                        self.take_back(returned.0);
                        signal?;
                        return Err(publish_error(py, &in_all(error, waited)));
                    }
                    loan = returned;
                }
            }
        }
    }

    /// Returns a loan's memory to the publisher. If a thread uses the publisher, which may be this one, the
    /// memory is free at the next loan.
    pub fn take_back(&self, loan: DetachedLoan) {
        // In a forked child the lock may be held for ever, and the memory is the parent's.
        if !self.process.is_this() {
            return;
        }
        lock(&self.returned).push(Sent(loan));
        self.has_returned.store(true, Ordering::Release);
        let raw = match self.raw.try_lock() {
            Ok(raw) => raw,
            Err(TryLockError::Poisoned(error)) => error.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        if let Some(raw) = raw.as_ref() {
            self.drop_returned(raw);
        }
    }

    fn drop_returned(&self, raw: &RawPublisher) {
        if self.has_returned.load(Ordering::Relaxed) && self.has_returned.swap(false, Ordering::Acquire) {
            for loan in std::mem::take(&mut *lock(&self.returned)) {
                // SAFETY: as in `publish`.
                drop(unsafe { raw.attach(loan.into_inner()) });
            }
        }
    }
}

/// A loan on its way to a call without the GIL.
struct Sent(DetachedLoan);

// SAFETY: a detached loan is numbers and an address. The publisher knows the rest, and its lock is held.
unsafe impl Send for Sent {}

impl Sent {
    fn into_inner(self) -> DetachedLoan {
        self.0
    }
}

/// The error of a wait in slices tells how long all of them took.
fn in_all(error: PublishError, all: Duration) -> PublishError {
    match error {
        PublishError::Full { topic, waiting_for, depth, waited, subscriber } => {
            let waited = if all > SLICE { all } else { waited };
            PublishError::Full { topic, waiting_for, depth, waited, subscriber }
        }
        other => other,
    }
}

/// The exception for a failed publication.
pub fn publish_error(py: Python<'_>, error: &PublishError) -> PyErr {
    let kind = if matches!(error, PublishError::Forked { .. }) { Kind::Forked } else { Kind::Publish };
    kind.error(py, error)
}

/// The exception for a loan that is not possible.
pub fn loan_error(py: Python<'_>, error: &LoanError) -> PyErr {
    let kind = if matches!(error, LoanError::Forked { .. }) { Kind::Forked } else { Kind::Publish };
    kind.error(py, error)
}
