//! What each thread does that spins an executor.
//!
//! ```text
//!   a callback is ready, and its group is free ──▶ run it
//!   nothing to run, and no thread waits ─────────▶ wait for the set, queue what is ready, wake others
//!   nothing to run, and another thread waits ────▶ sleep until that thread has something
//! ```
//!
//! One thread waits for the set at a time. With several threads, a source is not reported again until its
//! callback has run: the set would find it ready at once.

use std::any::Any;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::clock::Deadline;
use crate::execute::callback::{Callback, CallbackError, CallbackFailure, Code, Next, Ready};
use crate::execute::queue::Queue;
use crate::execute::stop::Stopper;
use crate::wait_set::set::WaitSet;
use crate::wait_set::source::{ReadySource, SourceId, WaitError};

/// When a source is looked at again whose callback could not take for some time.
const RETRY: Duration = Duration::from_millis(10);
/// The longest time of one wait.
const LONG: Duration = Duration::from_secs(3600);

/// Decides after an error whether the executor goes on.
pub(crate) type Handler = Box<dyn FnMut(&CallbackFailure) -> ControlFlow<()> + Send>;

/// What the threads of an executor share.
pub(crate) struct Shared {
    pub(crate) set: WaitSet,
    pub(crate) stopper: Stopper,
    /// The stopper's condition in the set.
    pub(crate) stop: SourceId,
    pub(crate) state: Mutex<State>,
    /// Signalled when a sleeping thread has something to do.
    changed: Condvar,
    pub(crate) handler: Mutex<Option<Handler>>,
}

#[derive(Default)]
pub(crate) struct State {
    /// The callbacks, by the places of their sources in the set.
    callbacks: Vec<Option<Arc<Callback>>>,
    queue: Queue,
    /// A thread waits for the set.
    is_waited_for: bool,
    /// How many threads sleep until they have something to do.
    idle: usize,
    /// How many threads spin.
    pub(crate) spinning: usize,
    /// Why the spin ends, if not by the stopper.
    pub(crate) ended: Option<Ended>,
    /// What the set reported: kept, so that no wait allocates.
    reported: Vec<ReadySource>,
}

/// Why a spin ends, if not by the stopper.
pub(crate) enum Ended {
    Failed(CallbackFailure),
    Panicked(Box<dyn Any + Send>),
    Wait(WaitError),
}

/// When a thread stops to run callbacks.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Until {
    /// When the executor is stopped.
    Stopped,
    /// After one callback, or at this time.
    One(Deadline),
    /// When all have run that are ready.
    Idle,
}

impl Shared {
    pub(crate) fn new(set: WaitSet, stopper: Stopper, stop: SourceId) -> Self {
        let (state, changed, handler) = (Mutex::default(), Condvar::new(), Mutex::new(None));
        Self { set, stopper, stop, state, changed, handler }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // No code of the program runs under the lock, except the drop of a removed callback, which comes
        // last.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs callbacks on this thread. Returns how many. With `several`, other threads do so as well.
    pub(crate) fn run(&self, until: Until, several: bool) -> usize {
        let (mut count, mut has_looked) = (0, false);
        let mut state = self.lock();
        loop {
            if self.stopper.is_stopped() || state.ended.is_some() {
                // The other threads end as well, one of which may wait for the set.
                self.changed.notify_all();
                self.stopper.guard.trigger();
                return count;
            }
            if let Some(ready) = state.queue.next() {
                drop(state);
                self.call(&ready);
                count += 1;
                state = self.lock();
                state.queue.ended(&ready.callback.group);
                drop(state);
                // The last owner of a removed callback drops it without the lock.
                drop(ready);
                if matches!(until, Until::One(_)) {
                    return count;
                }
                state = self.lock();
                continue;
            }
            let timeout = match until {
                Until::Stopped => None,
                Until::One(deadline) => match deadline.slice(LONG) {
                    None if has_looked => return count,
                    left => Some(left.unwrap_or_default()),
                },
                Until::Idle if has_looked => return count,
                Until::Idle => Some(Duration::ZERO),
            };
            has_looked = true;
            if state.is_waited_for {
                state.idle += 1;
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
                continue;
            }
            state = self.wait(state, timeout, several);
        }
    }

    /// Waits for the set, and queues the callbacks of what is ready.
    fn wait<'s>(
        &'s self,
        mut state: MutexGuard<'s, State>,
        timeout: Option<Duration>,
        several: bool,
    ) -> MutexGuard<'s, State> {
        state.is_waited_for = true;
        let mut reported = std::mem::take(&mut state.reported);
        drop(state);
        let waited =
            self.set.wait_and_suspend(usize::MAX, timeout, several, &mut |source| reported.push(source));
        let mut state = self.lock();
        state.is_waited_for = false;
        for ReadySource { id, readiness } in reported.drain(..) {
            if id == self.stop {
                self.set.resume(id);
            } else if let Some(callback) = state.find(id) {
                state.queue.push(Ready { callback, readiness, has_turn: false, is_suspended: several });
            }
        }
        state.reported = reported;
        if let Err(error) = waited {
            state.ended.get_or_insert(Ended::Wait(error));
        }
        // This thread takes one callback, and another one has to wait for the set.
        for _ in 0..state.queue.len().min(state.idle) {
            self.changed.notify_one();
        }
        state
    }

    /// Runs one callback, and looks after its source.
    fn call(&self, ready: &Ready) {
        let id = ready.callback.id;
        let next = match &ready.callback.code {
            Code::Serial(code) => {
                let mut code = code.lock().unwrap_or_else(PoisonError::into_inner);
                catch_unwind(AssertUnwindSafe(|| code(ready.readiness)))
            }
            Code::Parallel(code) => {
                // Another thread may run it for the next message meanwhile.
                self.resume(ready);
                catch_unwind(AssertUnwindSafe(|| code(ready.readiness)))
            }
        };
        let is_serial = matches!(ready.callback.code, Code::Serial(_));
        match next {
            Ok(Next::Again) if is_serial => self.resume(ready),
            Ok(Next::Again) => {}
            Ok(Next::Failed(error)) => {
                self.fail(id, error);
                if is_serial {
                    self.resume(ready);
                }
            }
            Ok(Next::Later(error)) => {
                self.fail(id, error);
                self.set.delay(id, RETRY);
            }
            Ok(Next::Never(error)) => {
                self.remove(id);
                self.fail(id, error);
            }
            Err(panic) => {
                self.lock().ended.get_or_insert(Ended::Panicked(panic));
                self.resume(ready);
            }
        }
    }

    fn resume(&self, ready: &Ready) {
        if ready.is_suspended {
            self.set.resume(ready.callback.id);
        }
    }

    /// Tells the handler. Without one, the spin ends with the error.
    fn fail(&self, id: SourceId, error: CallbackError) {
        let failure = CallbackFailure { id, error };
        let mut handler = self.handler.lock().unwrap_or_else(PoisonError::into_inner);
        let decided = match handler.as_mut() {
            Some(handler) => catch_unwind(AssertUnwindSafe(|| handler(&failure))),
            None => Ok(ControlFlow::Break(())),
        };
        drop(handler);
        let ended = match decided {
            Ok(ControlFlow::Continue(())) => return,
            Ok(ControlFlow::Break(())) => Ended::Failed(failure),
            Err(panic) => Ended::Panicked(panic),
        };
        self.lock().ended.get_or_insert(ended);
    }

    /// Removes a callback. Returns whether it was there.
    pub(crate) fn remove(&self, id: SourceId) -> bool {
        if id == self.stop {
            return false;
        }
        let mut state = self.lock();
        let is_detached = self.set.detach(id);
        let place = state.place(id).filter(|place| place.as_ref().is_some_and(|callback| callback.id == id));
        let removed = place.and_then(Option::take);
        drop(state);
        // The program's code is dropped without the lock.
        removed.inspect(|callback| callback.is_removed.store(true, Ordering::SeqCst));
        is_detached
    }
}

impl State {
    fn place(&mut self, id: SourceId) -> Option<&mut Option<Arc<Callback>>> {
        self.callbacks.get_mut((id.to_number() & 0xffff_ffff) as usize)
    }

    fn find(&mut self, id: SourceId) -> Option<Arc<Callback>> {
        self.place(id)?.as_ref().filter(|callback| callback.id == id).cloned()
    }

    /// Stores a callback.
    pub(crate) fn insert(&mut self, callback: Arc<Callback>) {
        let index = (callback.id.to_number() & 0xffff_ffff) as usize;
        if self.callbacks.len() <= index {
            self.callbacks.resize_with(index + 1, || None);
        }
        self.callbacks[index] = Some(callback);
    }
}
