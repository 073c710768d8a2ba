//! Streams of an emulated device: each is a queue, and a thread that performs its commands.
//!
//! Each stream has a thread, and not the device. The order within a stream is then that of a loop, a wait
//! blocks no other stream, and a long kernel runs beside copies as it does on a device. Streams share only
//! the bus.
//!
//! A device does not have to be scheduled before it begins. The time that a command takes therefore counts
//! from when it was enqueued, or from when the command before it was done, if that is later. It does not
//! count from when the thread came to it. A device does not have to be scheduled to see the end of a wait
//! either: a wait ends when the completing device says it did, or else when a thread has seen it. The threads
//! have a higher priority than those of programs, where that is allowed (it takes the right to raise
//! priorities). A thread that synchronizes with a stream performs the copies itself that the stream's thread
//! has not come to.
//!
//! When a command fails, the commands behind it are not done either: signals poison their fences, so that no
//! reader takes garbage for a message. `synchronize` returns the failure, and the stream goes on with later
//! commands.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Device;
use super::memory::EmulatedMemory;
use crate::domain::traits::{DomainError, DomainId, Memory, Stream};
use crate::sync::fence::{Fence, FenceState};

/// How long a wait watches its fence before it checks whether the device is lost.
const SLICE: Duration = Duration::from_millis(20);

/// The nice value of its threads: a device does not wait until the programs that use it leave the core.
const PRIORITY: i32 = -10;

/// `synchronize` performs copies itself if this much time is left.
const HELPFUL: Duration = Duration::from_secs(1);

/// An address of the host that a command uses later.
#[derive(Clone, Copy)]
struct Host(*mut u8);

// SAFETY: the caller that enqueued the command promised that the range stays usable until it is done, by
// whichever thread.
unsafe impl Send for Host {}

/// A kernel of an emulated device.
type Kernel = Box<dyn FnOnce(&EmulatedView<'_>) -> Result<(), DomainError> + Send>;

enum Command {
    FromHost {
        from: Host,
        to: Arc<dyn Memory>,
        offset: u64,
        len: u64,
    },
    ToHost {
        from: Arc<dyn Memory>,
        offset: u64,
        to: Host,
        len: u64,
    },
    Copy {
        from: Arc<dyn Memory>,
        from_offset: u64,
        to: Arc<dyn Memory>,
        to_offset: u64,
        len: u64,
    },
    /// With the time that it may still take after the stream's handle was dropped.
    Wait(Fence, Duration),
    Signal(Fence),
    /// The fence of a copy, that of its source, and the resources that the copy needed.
    CompleteCopy(Fence, Option<Fence>, Box<dyn Any + Send>),
    Launch(Kernel),
}

impl Command {
    /// How many bytes it copies, if it takes no longer than that copy.
    fn copies(&self) -> Option<u64> {
        match self {
            Self::FromHost { len, .. } | Self::ToHost { len, .. } | Self::Copy { len, .. } => Some(*len),
            Self::Signal(_) | Self::CompleteCopy(..) => Some(0),
            Self::Wait(..) | Self::Launch(_) => None,
        }
    }

    /// Whether it takes no time at all.
    fn is_instant(&self) -> bool {
        matches!(self, Self::Signal(_) | Self::CompleteCopy(..))
    }

    /// Whether it is a wait for a fence that has ended.
    fn is_over(&self) -> bool {
        matches!(self, Self::Wait(fence, _) if fence.state() != FenceState::Pending)
    }
}

struct Work {
    /// Each with the time at which it was enqueued.
    commands: VecDeque<(Command, Instant)>,
    /// When the device was done with the previous command.
    free_at: Instant,
    enqueued: u64,
    done: u64,
    /// A thread performs a command; the next one does not begin before that is done.
    busy: bool,
    /// The first failure that was not returned yet.
    failed: Option<DomainError>,
    closed: bool,
    /// The thread sleeps on `came`, and was not notified yet.
    idle: bool,
    /// The smallest value of `done` that any thread sleeps for on `went`; `None` if none sleeps.
    awaited: Option<u64>,
}

impl Work {
    fn new() -> Self {
        Self {
            commands: VecDeque::new(),
            free_at: Instant::now(),
            enqueued: 0,
            done: 0,
            busy: false,
            failed: None,
            closed: false,
            idle: false,
            awaited: None,
        }
    }
}

struct Queue {
    device: Arc<Device>,
    work: Mutex<Work>,
    /// `came`: a command was enqueued, or the stream was closed. `went`: an awaited command is done. Notified
    /// only if a thread sleeps that can go on, and without the lock, which that thread needs. With few cores
    /// every needless wake-up takes a core from a kernel.
    came: Condvar,
    went: Condvar,
}

impl Queue {
    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Performs the next command, without the lock. Returns whether any thread had slept until it was done.
    fn step<'q>(
        &'q self,
        mut work: MutexGuard<'q, Work>,
        (command, at): (Command, Instant),
    ) -> (MutexGuard<'q, Work>, bool) {
        work.busy = true;
        let since = work.free_at.max(at);
        let skip = work.failed.is_some();
        drop(work);
        // The command calls and drops code of others: a fence's `then`, the resources of a kernel or a copy.
        // If a panic left `busy` set, the stream would stop for ever.
        let result = catch_unwind(AssertUnwindSafe(|| {
            if skip || self.device.faults.is_lost() {
                abandon(command);
                Ok(since)
            } else {
                perform(self, command, since)
            }
        }))
        .unwrap_or_else(|_| Err(self.device.refused("perform a command", "it panicked")));
        let mut work = self.work();
        work.busy = false;
        work.done += 1;
        match result {
            Ok(done_at) => work.free_at = done_at,
            Err(error) => _ = work.failed.get_or_insert(error),
        }
        self.tell(work)
    }

    /// Wakes the threads that sleep until the commands that are done now. Returns whether there were any.
    fn tell<'q>(&'q self, mut work: MutexGuard<'q, Work>) -> (MutexGuard<'q, Work>, bool) {
        let awaited = work.awaited.is_some_and(|awaited| work.done >= awaited);
        if awaited {
            // A thread that waits for more sets it again.
            work.awaited = None;
            drop(work);
            self.went.notify_all();
            work = self.work();
        }
        (work, awaited)
    }

    /// The same for other threads than the stream's. That thread may have found the stream busy, so this
    /// wakes it if there is more work.
    fn step_aside<'q>(&'q self, work: MutexGuard<'q, Work>, command: (Command, Instant)) {
        let (work, _) = self.step(work, command);
        if !work.commands.is_empty() {
            self.rouse(work);
        }
    }

    /// Wakes the thread to look for work, if it sleeps.
    fn rouse(&self, mut work: MutexGuard<'_, Work>) {
        let idle = std::mem::take(&mut work.idle);
        drop(work);
        if idle {
            self.came.notify_one();
        }
    }
}

/// A queue of work on an emulated device.
pub struct EmulatedStream {
    queue: Arc<Queue>,
}

impl fmt::Debug for EmulatedStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let work = self.queue.work();
        f.debug_struct("EmulatedStream").field("enqueued", &work.enqueued).field("done", &work.done).finish()
    }
}

impl EmulatedStream {
    pub(super) fn new(device: &Arc<Device>) -> Result<Self, DomainError> {
        device.check()?;
        let queue = Arc::new(Queue {
            device: device.clone(),
            work: Mutex::new(Work::new()),
            came: Condvar::new(),
            went: Condvar::new(),
        });
        let theirs = queue.clone();
        crate::os::thread::spawn("situ-emulated", move || work_off(&theirs))
            .map_err(|error| device.refused("make a stream", error.to_string()))?;
        Ok(Self { queue })
    }

    /// Enqueues a kernel: a function that may touch the device's memory, through its view. An error or a
    /// panic in it is a failure of the stream.
    pub fn launch(
        &self,
        kernel: impl FnOnce(&EmulatedView<'_>) -> Result<(), DomainError> + Send + 'static,
    ) -> Result<(), DomainError> {
        self.enqueue(Command::Launch(Box::new(kernel)))
    }

    fn enqueue(&self, command: Command) -> Result<(), DomainError> {
        self.queue.device.check()?;
        self.enqueue_anyway(command);
        Ok(())
    }

    /// Enqueues also on a device that is lost: for commands that end a copy, which may be under way.
    fn enqueue_anyway(&self, command: Command) {
        if command.is_over() {
            return;
        }
        let mut work = self.queue.work();
        let mut waited = false;
        while !work.busy
            && let Some((Command::Wait(fence, _), since)) =
                work.commands.pop_front_if(|(command, _)| command.is_over())
        {
            // This needed no wake-up.
            work.free_at = work.free_at.max(since).max(end_of(&fence));
            work.done += 1;
            waited = true;
        }
        let at = Instant::now();
        if waited {
            (work, _) = self.queue.tell(work);
        }
        work.enqueued += 1;
        if work.commands.is_empty() && !work.busy && command.is_instant() {
            // All earlier commands are done: performing it here needs no wake-up.
            return self.queue.step_aside(work, (command, at));
        }
        // The last wait in the queue delays no command: it may have ended when the next command comes.
        let holds_up = !matches!(command, Command::Wait(..));
        work.commands.push_back((command, at));
        if holds_up {
            self.queue.rouse(work);
        }
    }

    /// Checks the range of this device's memory that a command will read, or write.
    fn check(&self, memory: &Arc<dyn Memory>, offset: u64, len: u64, write: bool) -> Result<(), DomainError> {
        let memory = emulated(&self.queue.device, memory)?;
        if write { memory.target(offset, len).map(drop) } else { memory.source(offset, len).map(drop) }
    }
}

/// The memory as this device's, if it is.
fn emulated<'m>(device: &Device, memory: &'m Arc<dyn Memory>) -> Result<&'m EmulatedMemory, DomainError> {
    let ours = memory.as_any().downcast_ref::<EmulatedMemory>().filter(|memory| memory.domain() == device.id);
    ours.ok_or_else(|| DomainError::Foreign { domain: device.id, found: memory.domain() })
}

impl Drop for EmulatedStream {
    fn drop(&mut self) {
        // Enqueued commands are still done, unless they wait for a fence that never ends; then the thread
        // ends.
        let mut work = self.queue.work();
        work.closed = true;
        self.queue.rouse(work);
    }
}

impl Stream for EmulatedStream {
    fn domain(&self) -> DomainId {
        self.queue.device.id
    }

    unsafe fn copy_from_host(
        &self,
        from: *const u8,
        to: &Arc<dyn Memory>,
        offset: u64,
        len: u64,
    ) -> Result<(), DomainError> {
        self.check(to, offset, len, true)?;
        self.enqueue(Command::FromHost { from: Host(from.cast_mut()), to: to.clone(), offset, len })
    }

    unsafe fn copy_to_host(
        &self,
        from: &Arc<dyn Memory>,
        offset: u64,
        to: *mut u8,
        len: u64,
    ) -> Result<(), DomainError> {
        self.check(from, offset, len, false)?;
        self.enqueue(Command::ToHost { from: from.clone(), offset, to: Host(to), len })
    }

    fn copy(
        &self,
        from: &Arc<dyn Memory>,
        from_offset: u64,
        to: &Arc<dyn Memory>,
        to_offset: u64,
        len: u64,
    ) -> Result<(), DomainError> {
        self.check(from, from_offset, len, false)?;
        self.check(to, to_offset, len, true)?;
        self.enqueue(Command::Copy { from: from.clone(), from_offset, to: to.clone(), to_offset, len })
    }

    fn wait(&self, fence: &Fence, timeout: Duration) -> Result<(), DomainError> {
        self.enqueue(Command::Wait(fence.clone(), timeout))
    }

    fn signal(&self, fence: &Fence) -> Result<(), DomainError> {
        self.enqueue(Command::Signal(fence.clone()))
    }

    fn complete_copy(
        &self,
        fence: &Fence,
        source: Option<&Fence>,
        kept: Box<dyn Any + Send>,
    ) -> Result<(), DomainError> {
        self.enqueue_anyway(Command::CompleteCopy(fence.clone(), source.cloned(), kept));
        Ok(())
    }

    fn synchronize(&self, timeout: Duration) -> Result<(), DomainError> {
        let start = Instant::now();
        let mut work = self.queue.work();
        let until = work.enqueued;
        if matches!(work.commands.front(), Some((Command::Wait(..), _))) {
            // The thread may not have been woken for it.
            self.queue.rouse(work);
            work = self.queue.work();
        }
        while work.done < until {
            let left = timeout.saturating_sub(start.elapsed());
            if left.is_zero() {
                return Err(DomainError::TimedOut { domain: self.domain(), waited: timeout });
            }
            // Waits and kernels may take any time, copies do not. With little time left this only waits. The
            // time of a copy is known, except for other copies that take the bus meanwhile, and the
            // scheduler: hence the half.
            let device = &self.queue.device;
            let copies =
                work.commands.front().filter(|_| !work.busy).and_then(|(command, _)| command.copies());
            if left >= HELPFUL
                && copies.is_some_and(|len| device.time_of(len) < left / 2)
                && let Some(command) = work.commands.pop_front()
            {
                self.queue.step_aside(work, command);
                work = self.queue.work();
                continue;
            }
            work.awaited = Some(work.awaited.map_or(until, |awaited| awaited.min(until)));
            work = self.queue.went.wait_timeout(work, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        let failed = work.failed.take();
        drop(work);
        self.queue.device.check()?;
        failed.map_or(Ok(()), Err)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The loop of a stream's thread.
///
/// Before it sleeps it yields twice, because a caller that has enqueued one command often enqueues another at
/// once, which then needs no wake-up. It does not yield more often: the threads of two streams on one core
/// that yield to each other take 3 us from all other threads each time.
///
/// It does not yield when it has just completed a fence, or woken a thread that waited for the end, with
/// which most work ends. If another core wakes a thread on a core that still works, that core must be
/// interrupted. Where cores are virtual, that takes five times as long as waking an idle one.
fn work_off(queue: &Queue) {
    // If that is not allowed, the priority stays as it is.
    let _ = rustix::process::setpriority_process(None, PRIORITY);
    const YIELDS: u32 = 2;
    let mut looks = 0;
    loop {
        let mut work = queue.work();
        if !work.busy {
            if let Some(command) = work.commands.pop_front() {
                let ends = command.0.is_instant();
                let (work, awaited) = queue.step(work, command);
                drop(work);
                looks = if awaited || ends { YIELDS } else { 0 };
                continue;
            }
            if work.closed {
                return;
            }
            if looks < YIELDS {
                looks += 1;
                drop(work);
                std::thread::yield_now();
                continue;
            }
        }
        work.idle = true;
        work = queue.came.wait(work).unwrap_or_else(PoisonError::into_inner);
        work.idle = false;
    }
}

/// Ends a command after an earlier one failed: no reader may take its bytes for complete.
fn abandon(command: Command) {
    if let Command::Signal(fence) | Command::CompleteCopy(fence, ..) = command {
        fence.poison();
    }
}

/// Performs a command that begins at `since`, if the device works. Returns when it was done.
fn perform(queue: &Queue, command: Command, since: Instant) -> Result<Instant, DomainError> {
    let device = &*queue.device;
    match command {
        Command::FromHost { from, to, offset, len } => {
            let target = emulated(device, &to)?.target(offset, len)?;
            carry(device, since, from.0.cast_const(), target, len)
        }
        Command::ToHost { from, offset, to, len } => {
            let source = emulated(device, &from)?.source(offset, len)?;
            carry(device, since, source, to.0, len)
        }
        Command::Copy { from, from_offset, to, to_offset, len } => {
            let source = emulated(device, &from)?.source(from_offset, len)?;
            let target = emulated(device, &to)?.target(to_offset, len)?;
            carry(device, since, source, target, len)
        }
        Command::Wait(fence, timeout) => {
            let start = Instant::now();
            while fence.wait(SLICE) == FenceState::Pending {
                device.check()?;
                if start.elapsed() > timeout && queue.work().closed {
                    return Err(DomainError::TimedOut { domain: device.id, waited: timeout });
                }
            }
            Ok(since.max(end_of(&fence)))
        }
        Command::Signal(fence) => {
            fence.note_end(clock_ns(since));
            fence.complete();
            Ok(since)
        }
        Command::CompleteCopy(fence, source, kept) => {
            fence.note_end(clock_ns(since));
            fence.complete_unless_poisoned(source.as_ref());
            // This releases pins before any thread that waits for the stream goes on.
            drop(kept);
            Ok(since)
        }
        Command::Launch(kernel) => {
            if device.faults.strikes_device() {
                return Err(device.lost());
            }
            sleep_until(since + device.latency);
            kernel(&EmulatedView { device })?;
            Ok(Instant::now())
        }
    }
}

/// When a complete fence ended: now, unless its completer noted the time.
fn end_of(fence: &Fence) -> Instant {
    let now = Instant::now();
    let ago = fence.ended_at_ns().map_or(0, |at| clock_ns(now).saturating_sub(at));
    now.checked_sub(Duration::from_nanos(ago)).unwrap_or(now)
}

/// A past moment in nanoseconds of `CLOCK_MONOTONIC`, which is the same in all processes.
fn clock_ns(at: Instant) -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let now = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
    now.saturating_sub(u64::try_from(at.elapsed().as_nanos()).unwrap_or(u64::MAX))
}

/// A copy, in the time that it takes from `since` on. Both ranges were checked, or the caller that enqueued
/// it vouches for them.
fn carry(
    device: &Device,
    since: Instant,
    from: *const u8,
    to: *mut u8,
    len: u64,
) -> Result<Instant, DomainError> {
    if device.faults.strikes_device() {
        return Err(device.lost());
    }
    if device.faults.strikes_copy() {
        return Err(device.refused(format!("copy {len} bytes"), "it was made to fail"));
    }
    let (begin, end) = device.reserve(since, len);
    sleep_until(begin);
    // SAFETY: ranges of the device are checked against their mappings, which the command keeps. The caller
    // vouches for ranges of the host until the command is done. They may overlap.
    unsafe { std::ptr::copy(from, to, len as usize) };
    sleep_until(end);
    Ok(Instant::now())
}

/// Sleeps with a precision of a few microseconds, which the scheduler alone does not have.
fn sleep_until(due: Instant) {
    const COARSE: Duration = Duration::from_micros(150);
    loop {
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        match left.checked_sub(COARSE) {
            Some(long) if !long.is_zero() => std::thread::sleep(long),
            _ => std::thread::yield_now(),
        }
    }
}

/// The memory that a kernel of an emulated device may touch.
#[derive(Debug)]
pub struct EmulatedView<'d> {
    device: &'d Device,
}

impl EmulatedView<'_> {
    /// Bytes of the device's memory, for reading.
    ///
    /// # Safety
    /// No code writes them while the slice lives: the kernel's stream has waited for the message's fence, and
    /// the message is held until the stream has passed the kernel.
    pub unsafe fn bytes<'m>(
        &self,
        memory: &'m Arc<dyn Memory>,
        offset: u64,
        len: u64,
    ) -> Result<&'m [u8], DomainError> {
        let source = emulated(self.device, memory)?.source(offset, len)?;
        // SAFETY: the range lies in the mapping, which `memory` keeps. Pages of a file are always
        // initialized. The caller vouches that no code writes them.
        Ok(unsafe { std::slice::from_raw_parts(source, len as usize) })
    }

    /// Bytes of the device's memory, for writing. They must belong to this process.
    ///
    /// # Safety
    /// No other code uses them while the slice lives: they belong to a loan, or to memory that was not
    /// shared, and work on other streams is ordered against the kernel's.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn bytes_mut<'m>(
        &self,
        memory: &'m Arc<dyn Memory>,
        offset: u64,
        len: u64,
    ) -> Result<&'m mut [u8], DomainError> {
        let target = emulated(self.device, memory)?.target(offset, len)?;
        // SAFETY: as in `bytes`; the mapping is writable, and the caller vouches that no other code uses the
        // range.
        Ok(unsafe { std::slice::from_raw_parts_mut(target, len as usize) })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Command, DomainError, EmulatedStream, Fence, FenceState, perform};
    use crate::domain::emulated::{EmulatedDomain, EmulatedOptions};
    use crate::domain::traits::{Domain, MemoryRequest, Stream};
    use crate::os::beneath::Beneath;
    use std::time::{Duration, Instant};

    const LONG: Duration = Duration::from_secs(100);
    const TIMEOUT: Duration = Duration::from_secs(20);

    fn stream_with(latency: Duration) -> (EmulatedDomain, EmulatedStream) {
        let domain = EmulatedDomain::new(EmulatedOptions { latency, ..EmulatedOptions::default() });
        let stream = EmulatedStream::new(&domain.device).unwrap();
        (domain, stream)
    }

    #[test]
    fn time_counts_from_when_a_command_was_enqueued_and_not_from_when_a_thread_came_to_it() {
        let (_domain, stream) = stream_with(LONG);
        let start = Instant::now();
        let since = start.checked_sub(LONG).expect("the machine has run for so long");
        let done = perform(&stream.queue, Command::Launch(Box::new(|_| Ok(()))), since).unwrap();
        assert!(start <= done && start.elapsed() < TIMEOUT, "the latency is over");
    }

    #[test]
    fn what_is_behind_a_wait_counts_from_its_end() {
        let (_domain, stream) = stream_with(Duration::ZERO);
        let fence = Fence::of_process(0, 1);
        let since = Instant::now().checked_sub(LONG).expect("the machine has run for so long");
        fence.complete();
        let before = Instant::now();
        // Pending when it was enqueued, and ended when the thread came to it.
        let done = perform(&stream.queue, Command::Wait(fence, TIMEOUT), since).unwrap();
        assert!(done >= before);
    }

    #[test]
    fn a_wait_is_over_when_its_fence_ended_and_not_when_a_thread_came_to_look() {
        let (_domain, stream) = stream_with(Duration::ZERO);
        let now = Instant::now();
        let ago =
            |seconds| now.checked_sub(Duration::from_secs(seconds)).expect("the machine has run for so long");
        let wait = |fence: &Fence, since| {
            fence.complete();
            perform(&stream.queue, Command::Wait(fence.clone(), TIMEOUT), since).unwrap()
        };
        let about = |found: Instant, expected: Instant| {
            let apart = found.max(expected) - found.min(expected);
            assert!(apart < Duration::from_millis(1), "{apart:?} apart");
        };
        let ended = Fence::of_process(0, 1);
        ended.note_end(super::clock_ns(ago(20)));
        // When it was completed, though that was before the thread looked; but not before the wait began.
        about(wait(&ended, ago(30)), ago(20));
        about(wait(&ended, ago(10)), ago(10));
        // A moment in the future does not count.
        let mut late = Fence::of_process(0, 1);
        late.note_end(super::clock_ns(now) + 1_000_000_000_000);
        let before = Instant::now();
        let found = wait(&late, ago(30));
        assert!(before <= found && found <= Instant::now());
        late = Fence::of_process(0, 1);
        let before = Instant::now();
        assert!(wait(&late, ago(30)) >= before, "no completer has noted the time");
    }

    #[test]
    fn streams_say_when_they_have_completed_something() {
        let (_domain, stream) = stream_with(Duration::ZERO);
        let fence = Fence::of_process(0, 1);
        assert_eq!(fence.ended_at_ns(), None);
        let before = super::clock_ns(Instant::now());
        stream.signal(&fence).unwrap();
        stream.synchronize(TIMEOUT).unwrap();
        let ended = fence.ended_at_ns().expect("it was noted");
        assert!(before <= ended + 1000 && ended <= super::clock_ns(Instant::now()), "{before} {ended}");
    }

    #[test]
    fn a_wait_wakes_no_thread_before_something_comes_behind_it() {
        let (_domain, stream) = stream_with(Duration::ZERO);
        let fence = Fence::of_process(0, 1);
        let until_idle = || {
            let start = Instant::now();
            while !stream.queue.work().idle {
                assert!(start.elapsed() < TIMEOUT);
                std::thread::yield_now();
            }
        };
        until_idle();
        stream.wait(&fence, TIMEOUT).unwrap();
        let work = stream.queue.work();
        assert!(work.idle && work.commands.len() == 1 && work.done == 0, "the thread was not woken");
        drop(work);
        fence.complete();
        // Synchronizing performs it.
        stream.synchronize(TIMEOUT).unwrap();
        until_idle();
        assert_eq!(stream.queue.work().done, 1);
        // A wait that has ended when it is enqueued, or when the next command comes, needs no thread.
        stream.wait(&fence, TIMEOUT).unwrap();
        assert_eq!(stream.queue.work().enqueued, 1);
        let fence = Fence::of_process(0, 1);
        stream.wait(&fence, TIMEOUT).unwrap();
        fence.complete();
        let before = Instant::now();
        stream.signal(&Fence::of_process(0, 1)).unwrap();
        let work = stream.queue.work();
        assert!(work.idle && work.commands.is_empty() && work.done == 3);
        assert!(work.free_at >= before, "as far as is known, the device was held up until now");
    }

    /// Panics when it is dropped.
    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("this is expected");
        }
    }

    #[test]
    fn a_panic_of_what_is_not_its_own_fails_the_stream_and_does_not_stop_it() {
        let (_domain, stream) = stream_with(Duration::ZERO);
        let (late, fence) = (Fence::of_process(0, 1), Fence::of_process(0, 1));
        for held_up in [false, true] {
            let gate = Fence::of_process(0, 1);
            if held_up {
                // Then the thread performs it, and not the call.
                stream.wait(&gate, TIMEOUT).unwrap();
            }
            stream.complete_copy(&fence, None, Box::new(Bomb)).unwrap();
            stream.signal(&late).unwrap();
            gate.complete();
            assert!(matches!(stream.synchronize(TIMEOUT), Err(DomainError::Refused { .. })));
            assert_eq!(late.state(), FenceState::Poisoned, "what is behind a failure is not done");
            stream.synchronize(TIMEOUT).unwrap();
        }
    }

    #[test]
    fn a_helping_thread_keeps_to_its_timeout() {
        let options = EmulatedOptions { bandwidth_bytes_per_s: 1_000_000, ..EmulatedOptions::default() };
        let domain = EmulatedDomain::new(options);
        let directory = situ_testkit::Scratch::created("timeout");
        let request = MemoryRequest { size: 1 << 24, mode: 0o600, group: None };
        let memory = domain.create(&Beneath::from(&directory.join("memory.data")), &request).unwrap();
        memory.back(0, 1 << 24).unwrap();
        let stream = EmulatedStream::new(&domain.device).unwrap();
        // Sixteen seconds for the bus; only the thread that synchronizes could begin it.
        stream.queue.work().busy = true;
        stream.copy(&memory, 0, &memory, 0, 1 << 24).unwrap();
        stream.queue.work().busy = false;
        let start = Instant::now();
        let timeout = Duration::from_secs(1);
        assert!(matches!(stream.synchronize(timeout), Err(DomainError::TimedOut { .. })));
        assert!(start.elapsed() < 5 * timeout, "{:?}", start.elapsed());
    }
}
