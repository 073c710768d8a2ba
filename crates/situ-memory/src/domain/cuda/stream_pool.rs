//! A pool of the driver's streams, each with pinned memory for copies between the device and host memory that
//! the driver does not know.
//!
//! When a driver makes or frees a stream or pinned memory, it may wait for the device, and so for the fences
//! that streams wait for. The calling thread itself may have to complete such a fence. Streams are therefore
//! made a few at a time (see `stream_supply.rs`), are used again, and end with the device.

use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cudarc::driver::sys;

/// A stream of the driver's, with its pinned memory.
#[derive(Debug)]
pub struct PooledStream {
    raw: sys::CUstream,
    pinned: *mut u8,
}

// SAFETY: a handle that any thread may use, and an address; only the work of one stream uses the bytes there,
// in its order.
unsafe impl Send for PooledStream {}
// SAFETY: as above.
unsafe impl Sync for PooledStream {}

impl PooledStream {
    pub fn new(raw: sys::CUstream, pinned: *mut u8) -> Self {
        Self { raw, pinned }
    }

    /// The stream.
    pub fn raw(&self) -> sys::CUstream {
        self.raw
    }

    /// The first byte of its pinned memory.
    pub fn pinned(&self) -> *mut u8 {
        self.pinned
    }
}

/// Pinned memory of several streams.
#[derive(Debug)]
struct Block(*mut c_void);

// SAFETY: an address.
unsafe impl Send for Block {}

/// The streams of a device.
#[derive(Debug, Default)]
pub struct StreamPool(Mutex<Parts>);

#[derive(Debug, Default)]
struct Parts {
    blocks: Vec<Block>,
    free: Vec<PooledStream>,
}

impl StreamPool {
    /// Takes a free stream, and says whether others are left.
    pub fn take(&self) -> Option<(PooledStream, bool)> {
        let mut parts = self.lock();
        let taken = parts.free.pop()?;
        Some((taken, !parts.free.is_empty()))
    }

    /// Adds a stream: a new one, or one whose work is done.
    pub fn add(&self, stream: PooledStream) {
        self.lock().free.push(stream);
    }

    /// Keeps a block of pinned memory until the end.
    pub fn keep(&self, block: *mut c_void) {
        self.lock().blocks.push(Block(block));
    }

    /// Ends all streams, and frees the pinned memory. The device's context must be current, and no stream in
    /// use.
    pub fn end(&self) {
        let mut parts = self.lock();
        for stream in parts.free.drain(..) {
            // SAFETY: the driver made it; no `CudaStream` has it.
            let _ = unsafe { sys::cuStreamDestroy_v2(stream.raw) };
        }
        for block in parts.blocks.drain(..) {
            // SAFETY: as above; no stream has a part of it.
            let _ = unsafe { sys::cuMemFreeHost(block.0) };
        }
    }

    /// Locks, also after a panic: the pool is consistent at every step.
    fn lock(&self) -> MutexGuard<'_, Parts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
