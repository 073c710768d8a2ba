//! Ends waits from another thread, or by a signal.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::thread::futex;

/// Ends waits from another thread, or from a signal handler.
///
/// After [`interrupt`](Self::interrupt), every wait with this interrupter ends at once, and so do waits that
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
    /// 1 while waits shall end. Waiting threads also sleep on it.
    word: Arc<AtomicU32>,
}

impl Interrupter {
    /// A new interrupter, which interrupts nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends all waits with this interrupter, present and future. It makes an atomic store and a system call,
    /// so a signal handler may call it.
    pub fn interrupt(&self) {
        // The store comes before the wake-up: a thread that read the word before it and sleeps is woken, and
        // a thread that is about to sleep finds another value.
        self.word.store(1, Ordering::SeqCst);
        let _ = futex::wake(&self.word, futex::Flags::empty(), i32::MAX as u32);
    }

    /// Waits that begin from now on are not interrupted.
    pub fn reset(&self) {
        self.word.store(0, Ordering::SeqCst);
    }

    /// Whether it interrupts waits at the moment.
    pub fn is_interrupted(&self) -> bool {
        self.word.load(Ordering::SeqCst) != 0
    }

    /// Returns the word to sleep on, and its value while waits go on.
    pub(crate) fn futex(&self) -> (&AtomicU32, u32) {
        (&self.word, 0)
    }
}

/// Why a wait ended before its time.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Interrupted {
    /// By an [`Interrupter`].
    #[error("the wait was interrupted")]
    ByInterrupter,
    /// By a signal: its handler has run on this thread.
    #[error("the wait was ended by a signal")]
    BySignal,
}

situ_layout::debug_as_text!(Interrupted);

/// How to wait: for how long, and which other events end the wait. By default, a wait goes on after a signal
/// was handled.
#[derive(Debug, Clone, Copy)]
#[must_use]
pub struct Wait<'a> {
    pub(crate) timeout: Option<Duration>,
    pub(crate) interrupter: Option<&'a Interrupter>,
    pub(crate) signals: bool,
}

impl<'a> Wait<'a> {
    /// Without a time limit.
    pub fn for_ever() -> Self {
        Self { timeout: None, interrupter: None, signals: false }
    }

    /// At most for `time`.
    pub fn at_most(time: Duration) -> Self {
        Self { timeout: Some(time), ..Self::for_ever() }
    }

    /// At most for `timeout`, or without a limit if `None`.
    pub fn limit(timeout: Option<Duration>) -> Self {
        Self { timeout, ..Self::for_ever() }
    }

    /// Ends the wait when the interrupter is interrupted.
    pub fn until(self, interrupter: &'a Interrupter) -> Self {
        Self { interrupter: Some(interrupter), ..self }
    }

    /// Ends the wait when a signal handler has run on this thread while it slept. A signal that comes right
    /// before it sleeps does not end the wait: where that matters, let the handler call an [`Interrupter`].
    pub fn until_a_signal(self) -> Self {
        Self { signals: true, ..self }
    }

    /// Whether only the awaited event and the time limit end the wait.
    pub(crate) fn is_plain(&self) -> bool {
        self.interrupter.is_none() && !self.signals
    }

    /// Returns an error if the wait shall end now.
    pub(crate) fn check(&self) -> Result<(), Interrupted> {
        match self.interrupter {
            Some(interrupter) if interrupter.is_interrupted() => Err(Interrupted::ByInterrupter),
            _ => Ok(()),
        }
    }
}
