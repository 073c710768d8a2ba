//! What streams are made of: a stream of the driver's, and pinned memory for copies from and to host memory that the driver does not know.
//!
//! A driver that makes a stream or pinned memory, or frees that, may wait for the device, and so for the fences that streams wait for: those,
//! too, that the thread in question has yet to complete. So lanes are made for a few streams at a time, if possible when none waits, go from one to
//! another, and end with the device.

use std::ffi::c_void;
use std::sync::Mutex;

use cudarc::driver::sys;

use super::driver::{Device, lock};
use super::words;
use crate::domain::traits::DomainError;

/// How much pinned memory a lane has, in bytes.
pub const PIECE: u64 = 4 << 20;
/// How many lanes are made at a time.
const AT_ONCE: usize = 4;

/// What a stream has.
#[derive(Debug)]
pub struct Lane {
    raw: sys::CUstream,
    pinned: *mut u8,
}

// SAFETY: a handle that any thread may use, and an address; what lies there is used by the work of one stream alone, in its order.
unsafe impl Send for Lane {}
// SAFETY: as above.
unsafe impl Sync for Lane {}

impl Lane {
    /// The stream.
    pub fn raw(&self) -> sys::CUstream {
        self.raw
    }

    /// The first byte of its pinned memory.
    pub fn pinned(&self) -> *mut u8 {
        self.pinned
    }
}

/// Pinned memory of some lanes.
#[derive(Debug)]
struct Block(*mut c_void);

// SAFETY: an address.
unsafe impl Send for Block {}

/// The lanes of a device.
#[derive(Debug, Default)]
pub struct Lanes(Mutex<Parts>);

#[derive(Debug, Default)]
struct Parts {
    blocks: Vec<Block>,
    /// What no stream has.
    free: Vec<Lane>,
}

impl Lanes {
    /// That of a new stream.
    pub fn take(device: &Device) -> Result<Lane, DomainError> {
        let lanes = &device.lanes;
        let take = || lock(&lanes.0).free.pop();
        let taken = take();
        // Before the last is gone: by then there may be no moment at which nothing waits.
        if taken.is_some() && lock(&lanes.0).free.is_empty() && words::nothing_waits() {
            // There is no hurry.
            let _ = lanes.make(device);
        }
        if let Some(lane) = taken {
            return Ok(lane);
        }
        lanes.make(device)?;
        take().ok_or_else(|| device.refuse("make a stream", "others took all of them"))
    }

    /// Not under the lock: others give theirs back meanwhile.
    fn make(&self, device: &Device) -> Result<(), DomainError> {
        let _entered = device.enter()?;
        let (len, mut block) = (PIECE as usize, std::ptr::null_mut::<c_void>());
        // SAFETY: the context is current.
        let result = unsafe { sys::cuMemHostAlloc(&mut block, len * AT_ONCE, 0) };
        device.check("make pinned memory", result)?;
        lock(&self.0).blocks.push(Block(block));
        for part in 0..AT_ONCE {
            let mut raw = std::ptr::null_mut();
            let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
            // SAFETY: the context is current.
            device.check("make a stream", unsafe { sys::cuStreamCreate(&mut raw, flags) })?;
            let pinned = block.cast::<u8>().wrapping_add(part * len);
            lock(&self.0).free.push(Lane { raw, pinned });
        }
        Ok(())
    }

    /// Takes back what a stream had whose work is done.
    pub fn give_back(&self, lane: Lane) {
        lock(&self.0).free.push(lane);
    }

    /// Ends all of them. The device's context must be current, and no stream be left.
    pub fn end(&self) {
        let mut parts = lock(&self.0);
        for lane in parts.free.drain(..) {
            // SAFETY: made by `make`; nobody has it.
            let _ = unsafe { sys::cuStreamDestroy_v2(lane.raw) };
        }
        for block in parts.blocks.drain(..) {
            // SAFETY: as above; nobody has a part of it.
            let _ = unsafe { sys::cuMemFreeHost(block.0) };
        }
    }
}
