//! A stream of a CUDA device.
//!
//! All work is enqueued without waiting while the driver's queue has room, also where host memory is not
//! registered with the driver. For such memory the driver's own copies would wait for the stream, and so for
//! the fences that it waits for. Its bytes therefore go through pinned memory of the stream, by functions
//! that the driver calls in the stream's order:
//!
//! ```text
//!   to the device     [function: memory -> pinned] [copy: pinned -> device]    4 MiB at a time; the stream's
//!   to the host       [copy: device -> pinned] [function: pinned -> memory]    order separates the pieces
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

/// From this number of kept resources on, a call asks the driver whether the stream has done everything.
const MANY_KEPT: usize = 32;
/// How long dropping a stream waits for its work, before it is left to the driver.
const FAREWELL: Duration = Duration::from_secs(1);

/// A queue of work on a CUDA device. A later call returns errors of the device. They leave the device lost,
/// and that call poisons the fences that were to be signalled behind them.
///
/// Dropping it waits for its work, for a second at most. Work that is stuck is then left to the driver, with
/// the memory that it uses.
#[derive(Debug)]
pub struct CudaStream {
    device: Arc<Device>,
    raw: sys::CUstream,
    /// Where `raw` comes from, unless the program made it. Also the pinned memory for copies from and to host
    /// memory that the driver does not know.
    pooled: Option<PooledStream>,
    state: Mutex<State>,
}

// SAFETY: a stream is a handle that any thread may use.
unsafe impl Send for CudaStream {}
// SAFETY: as above.
unsafe impl Sync for CudaStream {}

#[derive(Debug, Default)]
struct State {
    /// Resources that enqueued work may still use.
    kept: Vec<Kept>,
    /// Fences whose completion is enqueued, in order.
    signals: VecDeque<Fence>,
}

enum Kept {
    Memory(Arc<dyn Memory>),
    Mapped(Mapped),
    /// The resources of a copy, its fences among them, until the stream says that it has passed it.
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

/// A copy that the CPU does in the stream's order.
struct HostCopy {
    from: *const u8,
    to: *mut u8,
    len: usize,
}

/// Called by the driver.
///
/// # Safety
/// `data` is a `HostCopy` in a box, which no other code has; its ranges are usable (see where it is
/// enqueued).
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
/// `data` is a fence in a box, which no other code has.
unsafe extern "C" fn complete_on_host(data: *mut c_void) {
    // SAFETY: by the contract above.
    let fence = unsafe { Box::from_raw(data.cast::<Fence>()) };
    // All earlier work of the stream is done, and visible to every thread that sees the word. The stream
    // keeps the mapping too, so this function unmaps nothing and calls no driver.
    fence.complete();
}

/// The end of a copy that other processes are going to read.
struct CopyEnd {
    fence: Fence,
    source: Option<Fence>,
    passed: Arc<AtomicBool>,
}

/// Called by the driver.
///
/// # Safety
/// `data` is a `CopyEnd` in a box, which no other code has.
unsafe extern "C" fn complete_copy_on_host(data: *mut c_void) {
    // SAFETY: by the contract above.
    let end = unsafe { Box::from_raw(data.cast::<CopyEnd>()) };
    let CopyEnd { fence, source, passed } = *end;
    // As in `complete_on_host`: the stream keeps both fences too.
    fence.complete_unless_poisoned(source.as_ref());
    drop((fence, source));
    // Last: from here on the copy's resources may be released. A caller of the stream does that, and not this
    // thread.
    passed.store(true, Ordering::Release);
}

impl CudaStream {
    pub(super) fn new(device: Arc<Device>) -> Result<Self, DomainError> {
        let pooled = stream_supply::take(&device)?;
        Ok(Self { device, raw: pooled.raw(), pooled: Some(pooled), state: Mutex::default() })
    }

    /// Uses a stream that the program made.
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

    /// Releases what functions of the host have reported as passed, such as messages that were released on
    /// the stream. It makes no call of the driver; a call that enqueues work does the same first.
    pub fn release_passed(&self) {
        let is_passed =
            |kept: &mut Kept| matches!(kept, Kept::Copy(passed, _) if passed.load(Ordering::Acquire));
        let passed: Vec<Kept> = lock(&self.state).kept.extract_if(.., is_passed).collect();
        // Without the lock: its end may use other streams.
        drop(passed);
    }

    /// The address of a range of this device's memory, for reading.
    fn source(&self, memory: &Arc<dyn Memory>, offset: u64, len: u64) -> Result<u64, DomainError> {
        Ok(self.readable(memory, offset, len)?.device_pointer() + offset)
    }

    /// The address of a range of this device's memory, for writing.
    fn target(&self, memory: &Arc<dyn Memory>, offset: u64, len: u64) -> Result<u64, DomainError> {
        Ok(self.writable(memory, offset, len)?.device_pointer() + offset)
    }

    /// Enqueues work, under the stream's lock and in the device's context. A failure that loses the device
    /// poisons the fences that were to be signalled.
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
    /// `from` stays readable and unchanged until the stream has passed it; `to` is a range of memory that is
    /// kept.
    unsafe fn upload(&self, from: *const u8, to: u64, len: u64) -> Result<(), DomainError> {
        let action = "copy to the device";
        for piece in Pieces::of(from, len) {
            // SAFETY: the piece lies in the range.
            let source = unsafe { from.add(piece.at as usize) };
            let mut source_of_copy = source;
            if !piece.is_pinned {
                let pinned = self.staging()?;
                // SAFETY: by the caller's promise. The pinned memory has room for a piece, and the stream has
                // passed the last piece's use of it when it begins with this one.
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
    /// `to` stays writable and unused until the stream has passed it; `from` is a range of memory that is
    /// kept.
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

    /// Enqueues a function for the CPU.
    ///
    /// # Safety
    /// `function` takes a box of `T` and frees it. It calls no driver, and waits for nothing.
    unsafe fn on_host<T>(
        &self,
        function: unsafe extern "C" fn(*mut c_void),
        data: Box<T>,
    ) -> Result<(), DomainError> {
        let data = Box::into_raw(data);
        // SAFETY: the function is called once, unless the context fails before: then the box is neither freed
        // nor used.
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

    /// Whether all work is done; if so, releases what it used.
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

    /// Waits until all work is done. It polls, because the driver's own waiting has no time limit: without a
    /// pause at first, then in pauses that are a small part of the time that has passed.
    fn finish(&self, timeout: Duration) -> Result<(), DomainError> {
        const SPINNING: Duration = Duration::from_micros(200);
        let begin = Instant::now();
        loop {
            if self.is_done()? {
                fence_mapping::tidy();
                return Ok(());
            }
            let waited = begin.elapsed();
            if waited >= timeout {
                return Err(DomainError::TimedOut { domain: self.device.id(), waited });
            }
            if waited < SPINNING {
                std::hint::spin_loop();
            } else {
                std::thread::sleep((waited / 20).min(Duration::from_micros(500)).min(timeout - waited));
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

/// The context is unusable: no enqueued work is going to be done.
fn give_up(state: &mut State) {
    for fence in state.signals.drain(..) {
        fence.poison();
    }
}

/// A part of a copy from or to host memory that goes in one piece.
struct Piece {
    at: u64,
    len: u64,
    /// Whether the driver has it pinned: if not, it goes through the stream's pinned memory.
    is_pinned: bool,
}

/// Cuts a copy into pieces. Each lies in one range that the driver has pinned, which a copy must not leave,
/// or in none. In the latter case it is no larger than the stream's pinned memory.
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

/// How many bytes from `address` on are pinned, in one range; 0 if they are not. The context must be current.
fn pinned_from(address: u64) -> u64 {
    use sys::CUpointer_attribute as Attribute;
    // Ranges registered by Situ. For all others, which the program has pinned, ask the driver.
    let registered = fence_mapping::registered_from(address);
    if registered > 0 {
        return registered;
    }
    let ask = |attribute: Attribute| {
        let mut value = 0_u64;
        // SAFETY: the driver writes an unsigned int or an address or a size, none of them larger than this.
        // For an address that it does not know it returns an error.
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
                // SAFETY: both memories are kept until the stream has passed the copy. No code writes to a
                // message that is held, which the caller must ensure as for every copy.
                unsafe { self.upload(host, target, len) }
            });
        }
        let foreign = || DomainError::Foreign { domain: self.device.id(), found: from.domain() };
        // Memory of a peer is mapped for this device too, where it can access it; all devices share one
        // address space.
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

    fn wait(&self, fence: &Fence, timeout: Duration) -> Result<(), DomainError> {
        // A fence that has ended need not be waited for: this thread has seen its end, and enqueues later
        // work only now.
        if fence.state() != FenceState::Pending {
            return self.device.enter().map(drop);
        }
        if !self.device.words {
            return match fence.wait(timeout) {
                FenceState::Pending => {
                    Err(DomainError::TimedOut { domain: self.device.id(), waited: timeout })
                }
                FenceState::Complete | FenceState::Poisoned => Ok(()),
            };
        }
        self.enqueue(|state| {
            let word = fence_mapping::pointer(&self.device, fence)?;
            state.keep_mapped(fence.mapped());
            fence_mapping::waiting(fence);
            // "At least" is cyclic: the signed difference is not negative. That is true also for a poisoned
            // word, see `POISON`.
            let flags = sys::CUstreamWaitValue_flags::CU_STREAM_WAIT_VALUE_GEQ as u32;
            // SAFETY: the word's page is registered, and stays so while this stream keeps its mapping.
            let result = unsafe { sys::cuStreamWaitValue64_v2(self.raw, word, fence.value(), flags) };
            self.device.check("wait for a fence", result)
        })
    }

    fn signal(&self, fence: &Fence) -> Result<(), DomainError> {
        let result = self.enqueue(|state| {
            state.keep_mapped(fence.mapped());
            if self.device.words {
                let word = fence_mapping::pointer(&self.device, fence)?;
                // Without the flag that omits the barrier: all earlier work of the stream is visible to every
                // device and host that sees the word.
                let flags = sys::CUstreamWriteValue_flags::CU_STREAM_WRITE_VALUE_DEFAULT as u32;
                // SAFETY: as in `wait`.
                let result = unsafe { sys::cuStreamWriteValue64_v2(self.raw, word, fence.value(), flags) };
                self.device.check("complete a fence", result)?;
            } else {
                // SAFETY: the function frees its fence, whose mapping this stream keeps, and makes no call.
                unsafe { self.on_host(complete_on_host, Box::new(fence.clone())) }?;
            }
            state.signals.push_back(fence.clone());
            Ok(())
        });
        if result.is_err() {
            // It will not be completed, so no process may wait for it.
            fence.poison();
        }
        result
    }

    /// By a function of the host: the device cannot check whether its source was complete.
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
            // SAFETY: the function frees its argument, whose fences this stream keeps, and makes no call.
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

    fn synchronize(&self, timeout: Duration) -> Result<(), DomainError> {
        self.finish(timeout)
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
            // The work does not run any more.
            Err(DomainError::Lost { .. }) => give_up(&mut state),
            Err(_) => {
                // The device may still use what the stream keeps: it is never released.
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
