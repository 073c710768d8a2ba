//! An executor: callbacks are added here, and threads spin here.

use std::ops::ControlFlow;
use std::os::fd::RawFd;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{fmt, io};

use crate::api::typed::ReceiveError;
use crate::clock::Deadline;
use crate::events::event::Event;
use crate::events::status::EventStatus;
use crate::execute::callback::{
    Callback, CallbackError, CallbackFailure, CallbackGroup, CallbackResult, Code, Next,
};
use crate::execute::run::{Ended, Shared, Until};
use crate::execute::stop::Stopper;
use crate::node::handle::Node;
use crate::port::take_error::TakeError;
use crate::synchronize::stamped::SampleSource;
use crate::wait_set::guard_condition::GuardCondition;
use crate::wait_set::set::WaitSet;
use crate::wait_set::source::{AttachError, Descriptor, IoReadiness, Source, SourceId, WaitError, Waitable};
use crate::wait_set::timer::{Timer, TimerCall};

/// Runs callbacks when messages come, timers are due, conditions are triggered, descriptors are ready.
///
/// ```no_run
/// use std::time::Duration;
/// use situ_bus::{Executor, Timer};
/// # fn demo<T: situ_layout::Message>(
/// #     node: &situ_bus::Node,
/// #     scans: situ_bus::Subscriber<T>,
/// # ) -> Result<(), Box<dyn std::error::Error>> {
/// let executor = Executor::new(node)?;
/// executor.subscribe(scans, |scan| println!("scan {}", scan.sequence()))?;
/// let tick = Timer::periodic(Duration::from_millis(100))?;
/// executor.timer(&tick, |call| println!("tick, {} missed", call.missed))?;
/// executor.spin()?;
/// # Ok(())
/// # }
/// ```
///
/// Callbacks run in the order in which their sources became ready, each with one message. A topic with
/// messages without end does not keep the others from running.
///
/// A callback may return nothing, or a result. Errors of callbacks and of takes go to the handler
/// ([`on_error`](Self::on_error)); without one, they end the spin, which returns them. A panic ends the spin,
/// and is passed on to its caller.
pub struct Executor {
    shared: Arc<Shared>,
    group: CallbackGroup,
    number: u64,
}

/// Why a spin ended early, or could not begin.
#[derive(thiserror::Error)]
pub enum SpinError {
    /// A callback or a take failed, and no handler decided to go on.
    #[error(transparent)]
    Failed(#[from] CallbackFailure),
    /// The executor spins already.
    #[error("the executor spins already: a callback must not spin, and `spin_threads` gives it more threads")]
    Spinning,
    /// The wait failed.
    #[error(transparent)]
    Wait(#[from] WaitError),
    /// The system has no thread to give.
    #[error("cannot start a thread: {source}")]
    Thread {
        /// The kernel's error.
        source: io::Error,
    },
}

situ_layout::debug_as_text!(SpinError);

/// Adds callbacks to a group: see [`Executor::in_group`].
#[derive(Clone, Copy)]
pub struct InGroup<'e> {
    executor: &'e Executor,
    group: &'e CallbackGroup,
}

impl Executor {
    /// An executor without callbacks. Its topics are watched by this node, and may be another node's.
    pub fn new(node: &Node) -> Result<Self, AttachError> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let (set, stopper) = (WaitSet::new(node), Stopper::default());
        let stop = set.attach(&stopper.guard)?;
        Ok(Self {
            shared: Arc::new(Shared::new(set, stopper, stop)),
            group: CallbackGroup::mutually_exclusive(),
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
        })
    }

    /// Calls `callback` with each message of a [`Subscriber`](crate::Subscriber) or
    /// [`RegionSubscriber`](crate::RegionSubscriber), which the executor then owns.
    pub fn subscribe<S, R: CallbackResult>(
        &self,
        subscriber: S,
        callback: impl FnMut(S::Sample) -> R + Send + 'static,
    ) -> Result<SourceId, AttachError>
    where
        S: SampleSource + Waitable + Send + 'static,
    {
        self.in_group(&self.group).subscribe(subscriber, callback)
    }

    /// Calls `callback` on any number of threads at once, each with its message. It belongs to a reentrant
    /// group of its own.
    pub fn subscribe_parallel<S, R: CallbackResult>(
        &self,
        subscriber: S,
        callback: impl Fn(S::Sample) -> R + Send + Sync + 'static,
    ) -> Result<SourceId, AttachError>
    where
        S: SampleSource + Waitable + Send + 'static,
    {
        let source = subscriber.source();
        let subscriber = Mutex::new(subscriber);
        let code = move |_| {
            let taken = subscriber.lock().unwrap_or_else(PoisonError::into_inner).take();
            after_take(taken, |sample| callback(sample).into_result())
        };
        self.in_group(&CallbackGroup::reentrant()).insert(source, Code::Parallel(Box::new(code)))
    }

    /// Calls `callback` when the timer is due.
    pub fn timer<R: CallbackResult>(
        &self,
        timer: &Timer,
        callback: impl FnMut(TimerCall) -> R + Send + 'static,
    ) -> Result<SourceId, AttachError> {
        self.in_group(&self.group).timer(timer, callback)
    }

    /// Calls `callback` after the condition was triggered.
    pub fn guard_condition<R: CallbackResult>(
        &self,
        condition: &GuardCondition,
        callback: impl FnMut() -> R + Send + 'static,
    ) -> Result<SourceId, AttachError> {
        self.in_group(&self.group).guard_condition(condition, callback)
    }

    /// Calls `callback` as long as the descriptor is ready.
    pub fn descriptor<R: CallbackResult>(
        &self,
        descriptor: &Descriptor,
        callback: impl FnMut(IoReadiness) -> R + Send + 'static,
    ) -> Result<SourceId, AttachError> {
        self.in_group(&self.group).descriptor(descriptor, callback)
    }

    /// Calls `callback` with the status of an event whenever that has changed.
    pub fn event<S: EventStatus, R: CallbackResult>(
        &self,
        event: &Event<S>,
        callback: impl FnMut(S) -> R + Send + 'static,
    ) -> Result<SourceId, AttachError> {
        self.in_group(&self.group).event(event, callback)
    }

    /// Calls `callback` as long as the source is ready: for everything else that is [`Waitable`]. Take the
    /// source first, and move what it belongs to into the callback.
    pub fn add<R: CallbackResult>(
        &self,
        source: Source,
        callback: impl FnMut(IoReadiness) -> R + Send + 'static,
    ) -> Result<SourceId, AttachError> {
        self.in_group(&self.group).add(source, callback)
    }

    /// As [`add`](Self::add), on any number of threads at once. The callback has to expect that another
    /// thread has taken what was ready. It belongs to a reentrant group of its own.
    pub fn add_parallel<R: CallbackResult>(
        &self,
        source: Source,
        callback: impl Fn(IoReadiness) -> R + Send + Sync + 'static,
    ) -> Result<SourceId, AttachError> {
        self.in_group(&CallbackGroup::reentrant()).add_parallel(source, callback)
    }

    /// Adds callbacks to a group. The executor's own methods add them to one mutually exclusive group.
    pub fn in_group<'e>(&'e self, group: &'e CallbackGroup) -> InGroup<'e> {
        InGroup { executor: self, group }
    }

    /// Removes a callback. Returns whether it was there. A thread that runs it meanwhile finishes it.
    pub fn remove(&self, callback: SourceId) -> bool {
        self.shared.remove(callback)
    }

    /// Lets `handler` decide after each error of a callback or a take whether the executor goes on. A message
    /// that cannot be taken is skipped. If the topic was removed, the callback is removed as well, because no
    /// message comes any more. If the subscriber holds too many samples, the take is tried again after 10 ms.
    pub fn on_error(&self, handler: impl FnMut(&CallbackFailure) -> ControlFlow<()> + Send + 'static) {
        *self.shared.handler.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(handler));
    }

    /// Lets threads look for something to do for up to `limit` before they sleep: see [`WaitSet::set_spin`].
    /// Zero, as at the beginning: they sleep at once.
    pub fn set_busy_wait(&self, limit: Duration) {
        self.shared.set.set_spin(limit);
    }

    /// Runs callbacks on this thread until the executor is stopped.
    pub fn spin(&self) -> Result<(), SpinError> {
        self.spin_until(Until::Stopped, 1).map(|_| ())
    }

    /// Runs callbacks on this many threads, one of which is the caller's, until the executor is stopped. The
    /// other threads handle no signals.
    pub fn spin_threads(&self, threads: usize) -> Result<(), SpinError> {
        self.spin_until(Until::Stopped, threads).map(|_| ())
    }

    /// Runs one callback. Waits for it at most for `timeout` (without a limit if `None`). Returns whether one
    /// ran.
    pub fn spin_once(&self, timeout: Option<Duration>) -> Result<bool, SpinError> {
        self.spin_until(Until::One(Deadline::after(timeout)), 1).map(|count| count > 0)
    }

    /// Runs each callback that is ready now once, without waiting. Returns how many.
    pub fn spin_some(&self) -> Result<usize, SpinError> {
        self.spin_until(Until::Idle, 1)
    }

    /// A descriptor that is readable while a callback is ready, for the event loops of other libraries. When
    /// it is readable, call [`spin_some`](Self::spin_some) until it runs none. See [`WaitSet::fd`].
    pub fn fd(&self) -> Result<RawFd, AttachError> {
        self.shared.set.fd()
    }

    /// Stops it: see [`Stopper::stop`].
    pub fn stop(&self) {
        self.shared.stopper.stop();
    }

    /// What stops it, for callbacks, other threads and signal handlers.
    pub fn stopper(&self) -> Stopper {
        self.shared.stopper.clone()
    }

    fn spin_until(&self, until: Until, threads: usize) -> Result<usize, SpinError> {
        let shared = &self.shared;
        let threads = threads.max(1);
        let mut state = shared.lock();
        if state.spinning > 0 {
            return Err(SpinError::Spinning);
        }
        state.spinning = threads;
        drop(state);
        let mut others = Vec::new();
        let mut refused = None;
        for _ in 1..threads {
            let theirs = shared.clone();
            match situ_memory::thread::spawn("situ-spin", move || theirs.run(until, true)) {
                Ok(thread) => others.push(thread),
                Err(source) => {
                    refused = Some(SpinError::Thread { source });
                    shared.stopper.stop();
                    break;
                }
            }
        }
        let count = shared.run(until, threads > 1);
        let panicked = others.into_iter().filter_map(|thread| thread.join().err()).next();
        shared.stopper.reset();
        let mut state = shared.lock();
        state.spinning = 0;
        let ended = state.ended.take();
        drop(state);
        match (ended, panicked) {
            (Some(Ended::Panicked(panic)), _) | (None, Some(panic)) => resume_unwind(panic),
            (Some(Ended::Failed(failure)), _) => Err(failure.into()),
            (Some(Ended::Wait(error)), _) => Err(error.into()),
            (None, None) => refused.map_or(Ok(count), Err),
        }
    }
}

impl InGroup<'_> {
    /// As [`Executor::subscribe`].
    pub fn subscribe<S, R: CallbackResult>(
        &self,
        subscriber: S,
        mut callback: impl FnMut(S::Sample) -> R + Send + 'static,
    ) -> Result<SourceId, AttachError>
    where
        S: SampleSource + Waitable + Send + 'static,
    {
        let source = subscriber.source();
        let code = move |_| after_take(subscriber.take(), |sample| callback(sample).into_result());
        self.insert(source, Code::Serial(Mutex::new(Box::new(code))))
    }

    /// As [`Executor::timer`].
    pub fn timer<R: CallbackResult>(
        &self,
        timer: &Timer,
        mut callback: impl FnMut(TimerCall) -> R + Send + 'static,
    ) -> Result<SourceId, AttachError> {
        let source = timer.clone();
        self.add(timer.source(), move |_| callback(source.last_call()).into_result())
    }

    /// As [`Executor::guard_condition`].
    pub fn guard_condition<R: CallbackResult>(
        &self,
        condition: &GuardCondition,
        mut callback: impl FnMut() -> R + Send + 'static,
    ) -> Result<SourceId, AttachError> {
        self.add(condition.source(), move |_| callback().into_result())
    }

    /// As [`Executor::descriptor`].
    pub fn descriptor<R: CallbackResult>(
        &self,
        descriptor: &Descriptor,
        callback: impl FnMut(IoReadiness) -> R + Send + 'static,
    ) -> Result<SourceId, AttachError> {
        self.add(descriptor.source(), callback)
    }

    /// As [`Executor::event`].
    pub fn event<S: EventStatus, R: CallbackResult>(
        &self,
        event: &Event<S>,
        mut callback: impl FnMut(S) -> R + Send + 'static,
    ) -> Result<SourceId, AttachError> {
        let taken = event.clone();
        self.add(event.source(), move |_| callback(taken.take()).into_result())
    }

    /// As [`Executor::add`].
    pub fn add<R: CallbackResult>(
        &self,
        source: Source,
        mut callback: impl FnMut(IoReadiness) -> R + Send + 'static,
    ) -> Result<SourceId, AttachError> {
        let code = move |readiness| Next::after(callback(readiness).into_result());
        self.insert(source, Code::Serial(Mutex::new(Box::new(code))))
    }

    /// As [`Executor::add_parallel`].
    pub fn add_parallel<R: CallbackResult>(
        &self,
        source: Source,
        callback: impl Fn(IoReadiness) -> R + Send + Sync + 'static,
    ) -> Result<SourceId, AttachError> {
        let code = move |readiness| Next::after(callback(readiness).into_result());
        self.insert(source, Code::Parallel(Box::new(code)))
    }

    fn insert(&self, source: Source, code: Code) -> Result<SourceId, AttachError> {
        let group = &self.group.group;
        if *group.executor.get_or_init(|| self.executor.number) != self.executor.number {
            return Err(AttachError::OtherExecutor);
        }
        // Under the lock, so that a thread that finds the source ready also finds the callback.
        let mut state = self.executor.shared.lock();
        let id = self.executor.shared.set.attach_source(source)?;
        let is_removed = AtomicBool::new(false);
        state.insert(Arc::new(Callback { id, group: group.clone(), code, is_removed }));
        Ok(id)
    }
}

/// Calls back with what was taken, and decides how the source goes on.
fn after_take<S>(
    taken: Result<Option<S>, ReceiveError>,
    callback: impl FnOnce(S) -> Result<(), CallbackError>,
) -> Next {
    match taken {
        Ok(None) => Next::Again,
        Ok(Some(sample)) => Next::after(callback(sample)),
        Err(error) => match &error {
            ReceiveError::Take(TakeError::Removed { .. } | TakeError::Forked { .. }) => {
                Next::Never(error.into())
            }
            ReceiveError::Take(TakeError::Held { .. }) => Next::Later(error.into()),
            _ => Next::Failed(error.into()),
        },
    }
}

impl fmt::Debug for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executor").field("callbacks", &(self.shared.set.len() - 1)).finish_non_exhaustive()
    }
}

impl fmt::Debug for InGroup<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InGroup").field("group", self.group).finish_non_exhaustive()
    }
}
