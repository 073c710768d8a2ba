//! A stream of a Vulkan device: a queue of work with a thread that executes it in order.
//!
//! ```text
//!   copy, submit, wait, signal --> commands --> thread --> the device's queue
//!                                                 |  wait:   watches the fence's word until it ends
//!                                                 |  signal: waits for the device, then completes the word
//! ```
//!
//! Why a thread, and not semaphores that the device waits for: devices have few queues (lavapipe has one). A
//! queue that waits for one stream's fence blocks all others, perhaps the one that is to complete that fence.
//! Work therefore reaches a queue only when nothing but earlier work of that queue stands before it.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ash::vk;

use super::device::{Device, lock};
use super::memory::VulkanMemory;
use super::transfer::{Kept, Place, Transfer};
use crate::domain::access::DeviceStream;
use crate::domain::traits::{DomainError, DomainId, Memory, Stream};
use crate::sync::fence::{Fence, FenceState};

/// How long a wait watches its fence before it checks whether the stream's handle was dropped.
const SLICE: Duration = Duration::from_millis(20);

type Record = Box<dyn FnOnce(&ash::Device, vk::CommandBuffer) + Send>;

/// An address of the host, on its way to the stream's thread.
struct HostAddress(*mut u8);

// SAFETY: the caller of the stream's methods promises that the bytes stay usable until the stream has passed
// them, by whichever thread.
unsafe impl Send for HostAddress {}

enum Command {
    Upload {
        from: HostAddress,
        keep: Option<Arc<dyn Memory>>,
        to: Place,
        len: u64,
    },
    Download {
        from: Place,
        to: HostAddress,
        len: u64,
    },
    Copy {
        from: Place,
        to: Place,
        len: u64,
    },
    Record {
        memory: Vec<Arc<dyn Memory>>,
        record: Record,
    },
    Wait {
        fence: Fence,
        until: Instant,
    },
    Signal {
        fence: Fence,
    },
    /// The fence of a copy, that of its source, and the resources that the copy needs.
    CompleteCopy {
        fence: Fence,
        source: Option<Fence>,
        kept: Box<dyn Any + Send>,
    },
    /// A caller waits for all earlier commands.
    Drain,
}

#[derive(Default)]
struct State {
    commands: VecDeque<Command>,
    /// How many commands were ever enqueued, and how many of them are done.
    enqueued: u64,
    done: u64,
    /// The stream's handle is gone: waits end when their time has passed.
    closing: bool,
    /// The first failure that was not returned yet.
    failure: Option<DomainError>,
}

struct Shared {
    domain: DomainId,
    state: Mutex<State>,
    /// There are commands.
    work: Condvar,
    /// A `Drain` is done.
    passed: Condvar,
}

/// A queue of work on a Vulkan device. Calls do not wait. When work fails, later work is not done either, and
/// signals poison their fences, until [`synchronize`](Stream::synchronize) has returned the failure.
///
/// Dropping it waits for its work. It waits for fences no longer than the time limits that the calls of
/// `wait` gave.
pub struct VulkanStream {
    device: Arc<Device>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for VulkanStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "VulkanStream({})", self.device.id())
    }
}

impl VulkanStream {
    pub(super) fn new(device: Arc<Device>) -> Result<Self, DomainError> {
        let transfer = Transfer::new(device.clone())?;
        let shared = Arc::new(Shared {
            domain: device.id(),
            state: Mutex::default(),
            work: Condvar::new(),
            passed: Condvar::new(),
        });
        let of_thread = shared.clone();
        let thread = crate::os::thread::spawn("situ-vulkan", move || of_thread.execute(transfer)).map_err(
            |error| DomainError::Refused {
                domain: device.id(),
                action: "start a stream's thread".to_owned(),
                reason: error.to_string(),
            },
        )?;
        Ok(Self { device, shared, thread: Some(thread) })
    }

    /// Enqueues work of the program's own. `record` is called when its turn comes, with a command buffer that
    /// is being recorded. It sees the results of all earlier work on this stream. `memory` is what it works
    /// on (see [`VulkanMemory::buffer`]); it is kept until the work is done.
    ///
    /// # Safety
    /// The recorded work must be valid on a queue that supports compute and transfer. What it uses beside
    /// `memory` (pipelines, descriptor sets) must live until the stream has passed it.
    pub unsafe fn submit(
        &self,
        memory: Vec<Arc<dyn Memory>>,
        record: impl FnOnce(&ash::Device, vk::CommandBuffer) + Send + 'static,
    ) -> Result<(), DomainError> {
        for memory in &memory {
            self.own(memory)?;
        }
        self.enqueue(Command::Record { memory, record: Box::new(record) })
    }

    /// A range of this device's memory, for reading.
    fn source(&self, memory: &Arc<dyn Memory>, offset: u64, len: u64) -> Result<Place, DomainError> {
        self.readable(memory, offset, len).map(|_| Place { memory: memory.clone(), offset })
    }

    /// A range of this device's memory, for writing.
    fn target(&self, memory: &Arc<dyn Memory>, offset: u64, len: u64) -> Result<Place, DomainError> {
        self.writable(memory, offset, len).map(|_| Place { memory: memory.clone(), offset })
    }

    fn enqueue(&self, command: Command) -> Result<(), DomainError> {
        self.enqueue_numbered(command).map(|_| ())
    }

    /// Enqueues, and returns how many commands were enqueued by then.
    fn enqueue_numbered(&self, command: Command) -> Result<u64, DomainError> {
        self.device.check()?;
        Ok(self.enqueue_anyway(command))
    }

    /// The same also on a device that is lost.
    fn enqueue_anyway(&self, command: Command) -> u64 {
        let mut state = lock(&self.shared.state);
        state.commands.push_back(command);
        state.enqueued += 1;
        let number = state.enqueued;
        drop(state);
        self.shared.work.notify_one();
        number
    }
}

impl Shared {
    /// The stream's thread: executes commands until the handle is gone and none is left.
    fn execute(&self, mut transfer: Transfer) {
        loop {
            let mut state = lock(&self.state);
            let command = loop {
                if let Some(command) = state.commands.pop_front() {
                    break Some(command);
                }
                if state.closing {
                    break None;
                }
                state = self.work.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner);
            };
            let failed = state.failure.is_some();
            drop(state);
            let Some(command) = command else { return };
            let drains = matches!(command, Command::Drain);
            // After a failure, later commands would work on missing bytes, so none of them is done.
            let result = if failed {
                abandon(command, &mut transfer);
                Ok(())
            } else {
                self.perform(command, &mut transfer)
            };
            let mut state = lock(&self.state);
            if let Err(error) = result {
                state.failure.get_or_insert(error);
            }
            state.done += 1;
            if drains {
                self.passed.notify_all();
            }
        }
    }

    fn perform(&self, command: Command, transfer: &mut Transfer) -> Result<(), DomainError> {
        match command {
            // SAFETY: the caller's promise when it was enqueued. `Drain` and `Signal` wait for the device, so
            // the stream has passed it only when the device has.
            Command::Upload { from, keep, to, len } => unsafe {
                transfer.upload(from.0.cast_const(), keep, to, len)
            },
            // SAFETY: as above.
            Command::Download { from, to, len } => unsafe { transfer.download(from, to.0, len) },
            Command::Copy { from, to, len } => transfer.copy(from, to, len),
            Command::Record { memory, record } => {
                let buffers: Vec<_> = memory
                    .iter()
                    .filter_map(|memory| memory.as_any().downcast_ref().map(VulkanMemory::buffer))
                    .collect();
                transfer.run(&buffers, Kept::memory(memory), record)
            }
            Command::Wait { fence, until } => self.watch(&fence, until),
            Command::Signal { fence } => {
                if let Err(error) = transfer.drain() {
                    fence.poison();
                    return Err(error);
                }
                // The device is done, and the host has seen that: what it wrote is available to every reader
                // that sees the word. If the process dies before this, the word stays pending, and a process
                // that finds it dead poisons it.
                fence.complete();
                Ok(())
            }
            Command::CompleteCopy { fence, source, kept } => {
                if let Err(error) = transfer.drain() {
                    give_up_copy(&fence, kept);
                    return Err(error);
                }
                // As for a signal.
                fence.complete_unless_poisoned(source.as_ref());
                Ok(())
            }
            Command::Drain => transfer.drain(),
        }
    }

    /// Waits for a fence until it is complete or poisoned, or until `until` if the stream's handle is gone.
    fn watch(&self, fence: &Fence, until: Instant) -> Result<(), DomainError> {
        let begin = Instant::now();
        while fence.wait(SLICE) == FenceState::Pending {
            if Instant::now() >= until && lock(&self.state).closing {
                return Err(DomainError::TimedOut { domain: self.domain, waited: begin.elapsed() });
            }
        }
        Ok(())
    }
}

/// Ends a command after an earlier one failed: no reader may take its bytes for complete.
fn abandon(command: Command, transfer: &mut Transfer) {
    match command {
        Command::Signal { fence } => _ = fence.poison(),
        // Earlier commands may have been begun.
        Command::CompleteCopy { fence, kept, .. } if transfer.drain().is_err() => give_up_copy(&fence, kept),
        Command::CompleteCopy { fence, .. } => _ = fence.poison(),
        _ => {}
    }
}

/// The device may still use the copy's resources, so they are never released.
fn give_up_copy(fence: &Fence, kept: Box<dyn Any + Send>) {
    fence.poison();
    std::mem::forget(kept);
}

impl DeviceStream for VulkanStream {
    type Memory = VulkanMemory;

    fn device(&self) -> DomainId {
        self.device.id()
    }

    fn is_here(&self, memory: &VulkanMemory) -> bool {
        Arc::ptr_eq(memory.device(), &self.device)
    }
}

impl Stream for VulkanStream {
    fn domain(&self) -> DomainId {
        self.device.id()
    }

    unsafe fn copy_from_host(
        &self,
        from: *const u8,
        to: &Arc<dyn Memory>,
        offset: u64,
        len: u64,
    ) -> Result<(), DomainError> {
        let to = self.target(to, offset, len)?;
        if len == 0 {
            return Ok(());
        }
        self.enqueue(Command::Upload { from: HostAddress(from.cast_mut()), keep: None, to, len })
    }

    unsafe fn copy_to_host(
        &self,
        from: &Arc<dyn Memory>,
        offset: u64,
        to: *mut u8,
        len: u64,
    ) -> Result<(), DomainError> {
        let from = self.source(from, offset, len)?;
        if len == 0 {
            return Ok(());
        }
        self.enqueue(Command::Download { from, to: HostAddress(to), len })
    }

    fn copy(
        &self,
        from: &Arc<dyn Memory>,
        from_offset: u64,
        to: &Arc<dyn Memory>,
        to_offset: u64,
        len: u64,
    ) -> Result<(), DomainError> {
        let to = self.target(to, to_offset, len)?;
        if let Some(host) = from.host(from_offset, len)? {
            if len == 0 {
                return Ok(());
            }
            let from_host = HostAddress(host);
            return self.enqueue(Command::Upload { from: from_host, keep: Some(from.clone()), to, len });
        }
        let place = self.source(from, from_offset, len)?;
        // Vulkan allows neither an empty copy nor one onto itself.
        if len == 0 {
            return Ok(());
        }
        self.check_apart((from, from_offset), (&to.memory, to_offset), len)?;
        self.enqueue(Command::Copy { from: place, to, len })
    }

    fn wait(&self, fence: &Fence, timeout: Duration) -> Result<(), DomainError> {
        // A fence that has ended need not be waited for: this thread has seen its end, and hands later work
        // to the stream's thread.
        if fence.state() != FenceState::Pending {
            return self.device.check();
        }
        let now = Instant::now();
        let until = now.checked_add(timeout).unwrap_or(now + Duration::from_secs(3600));
        self.enqueue(Command::Wait { fence: fence.clone(), until })
    }

    fn signal(&self, fence: &Fence) -> Result<(), DomainError> {
        self.enqueue(Command::Signal { fence: fence.clone() })
    }

    fn complete_copy(
        &self,
        fence: &Fence,
        source: Option<&Fence>,
        kept: Box<dyn Any + Send>,
    ) -> Result<(), DomainError> {
        self.enqueue_anyway(Command::CompleteCopy { fence: fence.clone(), source: source.cloned(), kept });
        Ok(())
    }

    fn synchronize(&self, timeout: Duration) -> Result<(), DomainError> {
        let target = self.enqueue_numbered(Command::Drain)?;
        let begin = Instant::now();
        let mut state = lock(&self.shared.state);
        loop {
            if state.done >= target {
                return state.failure.take().map_or(Ok(()), Err);
            }
            let waited = begin.elapsed();
            if waited >= timeout {
                return Err(DomainError::TimedOut { domain: self.shared.domain, waited });
            }
            let slept = self.shared.passed.wait_timeout(state, timeout - waited);
            state = slept.unwrap_or_else(std::sync::PoisonError::into_inner).0;
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for VulkanStream {
    fn drop(&mut self) {
        if !self.device.process.is_this() {
            // There is no such thread in this process.
            std::mem::forget(self.thread.take());
            return;
        }
        lock(&self.shared.state).closing = true;
        self.shared.work.notify_one();
        if let Some(thread) = self.thread.take() {
            // The thread itself may drop the last handle, if a program's `record` held one.
            if thread.thread().id() != std::thread::current().id() {
                let _ = thread.join();
            }
        }
    }
}
