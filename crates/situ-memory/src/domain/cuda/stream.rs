//! A stream of a CUDA device.
//!
//! Everything is enqueued and nothing is waited for, as long as the driver's queue has room, also where host memory is not registered with the driver. Then the driver's own
//! copies would wait for the stream, and so for the fences that it waits for. So such bytes go through pinned memory of the
//! stream's, by functions that the driver calls when their turn comes:
//!
//! ```text
//!   to the device     [function: memory -> pinned] [copy: pinned -> device]     4 MiB at a time; the stream's order keeps
//!   to the host       [copy: device -> pinned] [function: pinned -> memory]     one piece from overtaking another
//! ```

use std::any::Any;
use std::collections::VecDeque;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cudarc::driver::sys::{self, CUresult};

use super::driver::{Device, lock};
use super::fence_mapping::{self, Mapped};
use super::memory::CudaMemory;
use super::stream_pool::PooledStream;
use super::stream_supply::{self, PIECE};
use crate::domain::access::DeviceStream;
use crate::domain::traits::{DomainError, DomainId, Memory, Stream, check_range};
use crate::sync::fence::{Fence, FenceState};

/// From so many things that work may still use on, it is asked whether the stream has done everything.
const MANY_KEPT: usize = 32;
/// How long a stream that is dropped is waited for, before it is left to the driver.
const FAREWELL: Duration = Duration::from_secs(1);

/// A queue of work on a CUDA device. Errors of the device come with a later call; they leave the device lost, and the fences that were
/// to be signalled behind them are poisoned when that is noticed.
///
/// Dropping it waits for its work, at most for a second: what is stuck then is left to the driver, with the memory that it uses.
#[derive(Debug)]
pub struct CudaStream {
    device: Arc<Device>,
    raw: sys::CUstream,
    /// Where `raw` is from, unless somebody else made it. And what copies from and to host memory that the driver does not know go through.
    pooled: Option<PooledStream>,
    state: Mutex<State>,
}

// SAFETY: a stream is a handle that any thread may use.
unsafe impl Send for CudaStream {}
// SAFETY: as above.
unsafe impl Sync for CudaStream {}

#[derive(Debug, Default)]
struct State {
    /// What enqueued work may still use.
    kept: Vec<Kept>,
    /// Fences whose completion is enqueued, in order.
    signals: VecDeque<Fence>,
}

enum Kept {
    Memory(Arc<dyn Memory>),
    Mapped(Mapped),
    /// What a copy needs, its fences among it, until the stream says that it has passed it.
    Copy(Arc<AtomicBool>, #[allow(dead_code, reason = "it is only kept")] Box<dyn Any + Send>),
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Memory(memory) => memory.fmt(f),
            Self::Mapped(_) => f.write_str("a mapping"),
            Self::Copy(..) => f.write_str("what a copy needs"),
        }
    }
}

impl State {
    fn keep_memory(&mut self, memory: &Arc<dyn Memory>) {
        let same = |kept: &Kept| matches!(kept, Kept::Memory(kept) if Arc::ptr_eq(kept, memory));
        if !self.kept.iter().any(same) {
            self.kept.push(Kept::Memory(memory.clone()));
        }
    }

    fn keep_mapped(&mut self, mapped: &Mapped) {
        let same = |kept: &Kept| matches!(kept, Kept::Mapped(kept) if fence_mapping::same(kept, mapped));
        if !self.kept.iter().any(same) {
            self.kept.push(Kept::Mapped(mapped.clone()));
        }
    }
}

/// A copy that the CPU does when the stream comes to it.
struct HostCopy {
    from: *const u8,
    to: *mut u8,
    len: usize,
}

/// Called by the driver.
///
/// # Safety
/// `data` is a `HostCopy` in a box, which nobody else has; its ranges are usable (see where it is enqueued).
unsafe extern "C" fn copy_on_host(data: *mut c_void) {
    // SAFETY: by the contract above.
    unsafe {
        let copy = Box::from_raw(data.cast::<HostCopy>());
        std::ptr::copy_nonoverlapping(copy.from, copy.to, copy.len);
    }
}

/// Called by the driver.
///
/// # Safety
/// `data` is a fence in a box, which nobody else has.
unsafe extern "C" fn complete_on_host(data: *mut c_void) {
    // SAFETY: by the contract above.
    let fence = unsafe { Box::from_raw(data.cast::<Fence>()) };
    // Everything before it in the stream is done, and visible to whoever sees the word. The mapping is kept by the stream
    // too: nothing is unmapped, and no driver called, from here.
    fence.complete();
}

/// The end of a copy that others are going to read.
struct CopyEnd {
    fence: Fence,
    source: Option<Fence>,
    passed: Arc<AtomicBool>,
}

/// Called by the driver.
///
/// # Safety
/// `data` is a `CopyEnd` in a box, which nobody else has.
unsafe extern "C" fn complete_copy_on_host(data: *mut c_void) {
    // SAFETY: by the contract above.
    let end = unsafe { Box::from_raw(data.cast::<CopyEnd>()) };
    let CopyEnd { fence, source, passed } = *end;
    // As in `complete_on_host`: the stream keeps both fences too.
    fence.complete_unless_poisoned(source.as_ref());
    drop((fence, source));
    // Last: what the copy needs may go from here on, which a caller of the stream does, and not this thread.
    passed.store(true, Ordering::Release);
}

impl CudaStream {
    pub(super) fn new(device: Arc<Device>) -> Result<Self, DomainError> {
        let pooled = stream_supply::take(&device)?;
        Ok(Self { device, raw: pooled.raw(), pooled: Some(pooled), state: Mutex::default() })
    }

    /// A stream that somebody else made.
    ///
    /// # Safety
    /// It is one of the device's primary context, and lives as long as the result.
    pub(super) unsafe fn adopt(device: Arc<Device>, raw: sys::CUstream) -> Result<Self, DomainError> {
        let pooled = Some(stream_supply::take(&device)?);
        Ok(Self { device, raw, pooled, state: Mutex::default() })
    }

    /// The stream, a `CUstream`, for kernels of your own.
    pub fn raw(&self) -> *mut c_void {
        self.raw.cast()
    }

    /// The address of a range of this device's memory, for reading.
    fn source(&self, memory: &Arc<dyn Memory>, offset: u64, len: u64) -> Result<u64, DomainError> {
        Ok(self.readable(memory, offset, len)?.device_pointer() + offset)
    }

    /// The address of a range of this device's memory, for writing.
    fn target(&self, memory: &Arc<dyn Memory>, offset: u64, len: u64) -> Result<u64, DomainError> {
        Ok(self.writable(memory, offset, len)?.device_pointer() + offset)
    }

    /// Enqueues something, under the stream's lock and in the device's context. A failure poisons what was to be signalled.
    fn enqueue(&self, work: impl FnOnce(&mut State) -> Result<(), DomainError>) -> Result<(), DomainError> {
        let mut state = lock(&self.state);
        while state.signals.front().is_some_and(|fence| fence.state() != FenceState::Pending) {
            state.signals.pop_front();
        }
        state.kept.retain(|kept| !matches!(kept, Kept::Copy(passed, _) if passed.load(Ordering::Acquire)));
        let result = self.device.enter().and_then(|_entered| {
            if state.kept.len() >= MANY_KEPT {
                // SAFETY: the stream is ours, and lives.
                if unsafe { sys::cuStreamQuery(self.raw) } == CUresult::CUDA_SUCCESS {
                    state.kept.clear();
                }
            }
            work(&mut state)
        });
        if let Err(DomainError::Lost { .. }) = &result {
            give_up(&mut state);
        }
        result
    }

    /// Enqueues a copy of host bytes to the device.
    ///
    /// # Safety
    /// `from` stays readable and unchanged until the stream has passed it; `to` is a range of memory that is kept.
    unsafe fn upload(&self, from: *const u8, to: u64, len: u64) -> Result<(), DomainError> {
        let action = "copy to the device";
        for piece in Pieces::of(from, len) {
            // SAFETY: the piece lies in the range.
            let source = unsafe { from.add(piece.at as usize) };
            let mut source_of_copy = source;
            if !piece.is_pinned {
                let pinned = self.staging()?;
                // SAFETY: by the caller's promise; the pinned memory has room for a piece, and the stream has passed the last one's
                // use of it when it comes to this one.
                unsafe {
                    let copy = HostCopy { from: source, to: pinned, len: piece.len as usize };
                    self.on_host(copy_on_host, Box::new(copy))?;
                }
                source_of_copy = pinned.cast_const();
            }
            // SAFETY: by the caller's promise, or as above.
            let result = unsafe {
                sys::cuMemcpyHtoDAsync_v2(to + piece.at, source_of_copy.cast(), piece.len as usize, self.raw)
            };
            self.device.check(action, result)?;
        }
        Ok(())
    }

    /// Enqueues a copy of bytes of the device to the host.
    ///
    /// # Safety
    /// `to` stays writable and unused until the stream has passed it; `from` is a range of memory that is kept.
    unsafe fn download(&self, from: u64, to: *mut u8, len: u64) -> Result<(), DomainError> {
        let action = "copy from the device";
        for piece in Pieces::of(to, len) {
            // SAFETY: the piece lies in the range.
            let target = unsafe { to.add(piece.at as usize) };
            let target_of_copy = if piece.is_pinned { target } else { self.staging()? };
            // SAFETY: as in `upload`.
            unsafe {
                let (target, len) = (target_of_copy.cast(), piece.len as usize);
                let result = sys::cuMemcpyDtoHAsync_v2(target, from + piece.at, len, self.raw);
                self.device.check(action, result)?;
            }
            if !piece.is_pinned {
                let copy = HostCopy { from: target_of_copy, to: target, len: piece.len as usize };
                // SAFETY: as in `upload`.
                unsafe { self.on_host(copy_on_host, Box::new(copy)) }?;
            }
        }
        Ok(())
    }

    /// Enqueues a function of the CPU.
    ///
    /// # Safety
    /// `function` takes a box of `T` and frees it; it calls no driver, and waits for nothing.
    unsafe fn on_host<T>(
        &self,
        function: unsafe extern "C" fn(*mut c_void),
        data: Box<T>,
    ) -> Result<(), DomainError> {
        let data = Box::into_raw(data);
        // SAFETY: the function is called once, unless the context fails before: then the box is never freed, nor used.
        let result = unsafe { sys::cuLaunchHostFunc(self.raw, Some(function), data.cast()) };
        if result != CUresult::CUDA_SUCCESS {
            // SAFETY: it was not enqueued.
            drop(unsafe { Box::from_raw(data) });
        }
        self.device.check("enqueue a function of the host", result)
    }

    /// The stream's pinned memory.
    fn staging(&self) -> Result<*mut u8, DomainError> {
        let none = || self.device.refuse("copy", "the stream has no pinned memory");
        self.pooled.as_ref().map(PooledStream::pinned).ok_or_else(none)
    }

    /// Whether everything is done; what it used is let go of then.
    fn is_done(&self) -> Result<bool, DomainError> {
        let mut state = lock(&self.state);
        let result = self.device.enter().and_then(|_entered| {
            // SAFETY: the stream lives.
            match unsafe { sys::cuStreamQuery(self.raw) } {
                CUresult::CUDA_ERROR_NOT_READY => Ok(false),
                result => self.device.check("go on with a stream", result).map(|()| true),
            }
        });
        match &result {
            Ok(true) => {
                state.kept.clear();
                state.signals.clear();
            }
            Ok(false) => {}
            Err(_) => give_up(&mut state),
        }
        result
    }

    /// Waits until everything is done. Looks, as the driver's own waiting knows no time limit: without a pause at first, then in
    /// pauses that are a small part of the time that it takes.
    fn finish(&self, patience: Duration) -> Result<(), DomainError> {
        const SPINNING: Duration = Duration::from_micros(200);
        let begin = Instant::now();
        loop {
            if self.is_done()? {
                fence_mapping::tidy();
                return Ok(());
            }
            let waited = begin.elapsed();
            if waited >= patience {
                return Err(DomainError::TimedOut { domain: self.device.id(), waited });
            }
            if waited < SPINNING {
                std::hint::spin_loop();
            } else {
                std::thread::sleep((waited / 20).min(Duration::from_micros(500)).min(patience - waited));
            }
        }
    }
}

impl DeviceStream for CudaStream {
    type Memory = CudaMemory;

    fn device(&self) -> DomainId {
        self.device.id()
    }

    fn is_here(&self, memory: &CudaMemory) -> bool {
        memory.domain() == self.device.id()
    }
}

/// The context is unusable: nothing that was enqueued is going to be done.
fn give_up(state: &mut State) {
    for fence in state.signals.drain(..) {
        fence.poison();
    }
}

/// A part of a copy from or to host memory, that goes in one piece.
struct Piece {
    at: u64,
    len: u64,
    /// Whether the driver knows it as pinned: else it goes through the stream's own.
    is_pinned: bool,
}

/// Cuts a copy into pieces: each lies in one range that the driver knows as pinned, which a copy must not leave, or in none and is no larger than
/// the stream's pinned memory.
struct Pieces {
    host: u64,
    at: u64,
    len: u64,
}

impl Pieces {
    /// The context must be current.
    fn of(host: *const u8, len: u64) -> Self {
        Self { host: host as u64, at: 0, len }
    }
}

impl Iterator for Pieces {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        let (at, left) = (self.at, self.len - self.at);
        if left == 0 {
            return None;
        }
        let known = pinned_from(self.host + at);
        let (len, is_pinned) = if known == 0 { (PIECE, false) } else { (known, true) };
        let len = len.min(left);
        self.at += len;
        Some(Piece { at, len, is_pinned })
    }
}

/// How many bytes are pinned, in one range, from here on; none if these are not. The context must be current.
fn pinned_from(address: u64) -> u64 {
    use sys::CUpointer_attribute as Attribute;
    // What was registered here. The driver is asked about the rest, which others have pinned.
    let registered = fence_mapping::registered_from(address);
    if registered > 0 {
        return registered;
    }
    let ask = |attribute: Attribute| {
        let mut value = 0_u64;
        // SAFETY: the driver writes an unsigned int or an address or a size, none of them larger than this. Addresses that it does not know
        // are an error.
        let result = unsafe { sys::cuPointerGetAttribute((&raw mut value).cast(), attribute, address) };
        (result == CUresult::CUDA_SUCCESS).then_some(value)
    };
    let kind = ask(Attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
    if kind != Some(sys::CUmemorytype::CU_MEMORYTYPE_HOST as u64) {
        return 0;
    }
    let begin = ask(Attribute::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR);
    let len = ask(Attribute::CU_POINTER_ATTRIBUTE_RANGE_SIZE);
    let end = begin.zip(len).and_then(|(begin, len)| begin.checked_add(len));
    end.map_or(0, |end| end.saturating_sub(address))
}

impl Stream for CudaStream {
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
        let target = self.target(to, offset, len)?;
        if len == 0 {
            return Ok(());
        }
        self.enqueue(|state| {
            state.keep_memory(to);
            // SAFETY: by the caller's promise; the target is kept.
            unsafe { self.upload(from, target, len) }
        })
    }

    unsafe fn copy_to_host(
        &self,
        from: &Arc<dyn Memory>,
        offset: u64,
        to: *mut u8,
        len: u64,
    ) -> Result<(), DomainError> {
        let source = self.source(from, offset, len)?;
        if len == 0 {
            return Ok(());
        }
        self.enqueue(|state| {
            state.keep_memory(from);
            // SAFETY: by the caller's promise; the source is kept.
            unsafe { self.download(source, to, len) }
        })
    }

    fn copy(
        &self,
        from: &Arc<dyn Memory>,
        from_offset: u64,
        to: &Arc<dyn Memory>,
        to_offset: u64,
        len: u64,
    ) -> Result<(), DomainError> {
        let target = self.target(to, to_offset, len)?;
        check_range(from.as_ref(), from_offset, len)?;
        if len == 0 {
            return Ok(());
        }
        if let Some(host) = from.host(from_offset, len)? {
            return self.enqueue(|state| {
                state.keep_memory(from);
                state.keep_memory(to);
                // SAFETY: both memories are kept until the stream has passed the copy; nobody writes to a message that is
                // held, which is the caller's to see to as with every copy.
                unsafe { self.upload(host, target, len) }
            });
        }
        let foreign = || DomainError::Foreign { domain: self.device.id(), found: from.domain() };
        // Memory of a peer is mapped for this device too, where it can access it; addresses are one space for all.
        let source =
            from.as_any().downcast_ref::<CudaMemory>().ok_or_else(foreign)?.device_pointer() + from_offset;
        let is_peer = from.domain() != self.device.id();
        if is_peer && !super::driver::reaches(self.device.number, from.domain().number)? {
            return Err(foreign());
        }
        self.check_apart((from, from_offset), (to, to_offset), len)?;
        self.enqueue(|state| {
            state.keep_memory(from);
            state.keep_memory(to);
            // SAFETY: the ranges were checked, and are kept until the stream has passed the copy.
            let result = unsafe { sys::cuMemcpyDtoDAsync_v2(target, source, len as usize, self.raw) };
            self.device.check("copy on the device", result)
        })
    }

    fn wait(&self, fence: &Fence, patience: Duration) -> Result<(), DomainError> {
        // What is over need not be waited for: this thread has seen it, and enqueues what follows only now.
        if fence.state() != FenceState::Pending {
            return self.device.enter().map(drop);
        }
        if !self.device.words {
            return match fence.wait(patience) {
                FenceState::Pending => {
                    Err(DomainError::TimedOut { domain: self.device.id(), waited: patience })
                }
                FenceState::Complete | FenceState::Poisoned => Ok(()),
            };
        }
        self.enqueue(|state| {
            let word = fence_mapping::pointer(&self.device, fence)?;
            state.keep_mapped(fence.mapped());
            fence_mapping::waiting(fence);
            // "At least" is cyclic: the signed difference is not negative. So it is also for a poisoned word, see `POISON`.
            let flags = sys::CUstreamWaitValue_flags::CU_STREAM_WAIT_VALUE_GEQ as u32;
            // SAFETY: the word's page is registered, and stays so as long as its mapping is kept, by this stream.
            let result = unsafe { sys::cuStreamWaitValue64_v2(self.raw, word, fence.value(), flags) };
            self.device.check("wait for a fence", result)
        })
    }

    fn signal(&self, fence: &Fence) -> Result<(), DomainError> {
        let result = self.enqueue(|state| {
            state.keep_mapped(fence.mapped());
            if self.device.words {
                let word = fence_mapping::pointer(&self.device, fence)?;
                // Without the flag that leaves the barrier out: everything before it in the stream is visible to whoever
                // sees the word, on other devices and hosts too.
                let flags = sys::CUstreamWriteValue_flags::CU_STREAM_WRITE_VALUE_DEFAULT as u32;
                // SAFETY: as in `wait`.
                let result = unsafe { sys::cuStreamWriteValue64_v2(self.raw, word, fence.value(), flags) };
                self.device.check("complete a fence", result)?;
            } else {
                // SAFETY: the function frees its fence, whose mapping this stream keeps, and calls nothing.
                unsafe { self.on_host(complete_on_host, Box::new(fence.clone())) }?;
            }
            state.signals.push_back(fence.clone());
            Ok(())
        });
        if result.is_err() {
            // It will not be completed; nobody is to wait for it.
            fence.poison();
        }
        result
    }

    /// By a function of the host: the device cannot look whether what it has copied was complete.
    fn complete_copy(
        &self,
        fence: &Fence,
        source: Option<&Fence>,
        kept: Box<dyn Any + Send>,
    ) -> Result<(), DomainError> {
        let passed = Arc::new(AtomicBool::new(false));
        let end = CopyEnd { fence: fence.clone(), source: source.cloned(), passed: passed.clone() };
        let mut kept = Some((kept, fence.clone(), source.cloned()));
        let result = self.enqueue(|state| {
            // SAFETY: the function frees what it is given, whose fences this stream keeps, and calls nothing.
            unsafe { self.on_host(complete_copy_on_host, Box::new(end)) }?;
            state.signals.push_back(fence.clone());
            state.kept.extend(kept.take().map(|kept| Kept::Copy(passed, Box::new(kept))));
            Ok(())
        });
        if result.is_err() {
            fence.poison();
            std::mem::forget(kept);
        }
        result
    }

    fn synchronize(&self, patience: Duration) -> Result<(), DomainError> {
        self.finish(patience)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for CudaStream {
    fn drop(&mut self) {
        let finished = self.finish(FAREWELL);
        let mut state = std::mem::take(&mut *lock(&self.state));
        match finished {
            Ok(()) => {}
            // Whatever it was, it does not run any more.
            Err(DomainError::Lost { .. }) => give_up(&mut state),
            Err(_) => {
                // The device may still use what the stream keeps: it is never given back.
                std::mem::forget(state);
                std::mem::forget(self.device.clone());
                return;
            }
        }
        if let Some(stream) = self.pooled.take() {
            self.device.streams.add(stream);
        }
        drop(state);
        fence_mapping::tidy();
    }
}
