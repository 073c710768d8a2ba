//! Ending waits: from another thread, or by a signal.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::thread::futex;

/// Ends waits from another thread, or from a signal's handler.
///
/// After [`interrupt`](Self::interrupt), every wait that was given it ends at once, and so do waits that
/// begin later, until it is [`reset`](Self::reset). Clones are the same interrupter.
///
/// ```no_run
/// use situ_bus::{Interrupter, ReceiveError, Wait};
/// # fn demo<T: situ_layout::Message>(subscriber: &situ_bus::Subscriber<T>) -> Result<(), ReceiveError> {
/// let stop = Interrupter::new();
/// let other = stop.clone();
/// std::thread::spawn(move || other.interrupt());
/// loop {
///     match subscriber.recv_with(Wait::for_ever().until(&stop)) {
///         Err(ReceiveError::Interrupted(_)) => return Ok(()),
///         received => drop(received?),
///     }
/// }
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Interrupter {
    /// 1 while waits are to end. Waiting threads sleep on it, too.
    word: Arc<AtomicU32>,
}

impl Interrupter {
    /// One that interrupts nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends all waits that it was given to, and those to come. An atomic store and a system call, so that a
    /// signal's handler may call it.
    pub fn interrupt(&self) {
        // The store comes before the wake-up: a thread that looked before it and sleeps is woken, and one
        // that is about to sleep finds another value.
        self.word.store(1, Ordering::SeqCst);
        let _ = futex::wake(&self.word, futex::Flags::empty(), i32::MAX as u32);
    }

    /// Lets waits that begin from now on wait.
    pub fn reset(&self) {
        self.word.store(0, Ordering::SeqCst);
    }

    /// Whether it ends waits at the moment.
    pub fn is_interrupted(&self) -> bool {
        self.word.load(Ordering::SeqCst) != 0
    }

    /// What to sleep on, and the value to sleep on.
    pub(crate) fn futex(&self) -> (&AtomicU32, u32) {
        (&self.word, 0)
    }
}

/// What ended a wait before its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Interrupted {
    /// An [`Interrupter`].
    #[error("the wait was interrupted")]
    ByInterrupter,
    /// A signal: its handler has run on this thread.
    #[error("the wait was ended by a signal")]
    BySignal,
}

/// How to wait: for how long, and what else ends it. A wait goes on when a signal was handled, unless told
/// otherwise.
#[derive(Debug, Clone, Copy)]
#[must_use]
pub struct Wait<'a> {
    pub(crate) timeout: Option<Duration>,
    pub(crate) interrupter: Option<&'a Interrupter>,
    pub(crate) signals: bool,
}

impl<'a> Wait<'a> {
    /// Without a limit of time.
    pub fn for_ever() -> Self {
        Self { timeout: None, interrupter: None, signals: false }
    }

    /// At most so long.
    pub fn at_most(time: Duration) -> Self {
        Self { timeout: Some(time), ..Self::for_ever() }
    }

    /// At most so long, for ever without a limit.
    pub fn limit(timeout: Option<Duration>) -> Self {
        Self { timeout, ..Self::for_ever() }
    }

    /// Ends it when the interrupter says so.
    pub fn until(self, interrupter: &'a Interrupter) -> Self {
        Self { interrupter: Some(interrupter), ..self }
    }

    /// Ends it when a signal's handler has run on this thread while it slept. A signal that comes right
    /// before it sleeps does not end it: where that matters, let the handler tell an [`Interrupter`].
    pub fn until_a_signal(self) -> Self {
        Self { signals: true, ..self }
    }

    /// Whether nothing but what is waited for and the time ends it.
    pub(crate) fn is_plain(&self) -> bool {
        self.interrupter.is_none() && !self.signals
    }

    /// An error if it is to end now.
    pub(crate) fn check(&self) -> Result<(), Interrupted> {
        match self.interrupter {
            Some(interrupter) if interrupter.is_interrupted() => Err(Interrupted::ByInterrupter),
            _ => Ok(()),
        }
    }
}
