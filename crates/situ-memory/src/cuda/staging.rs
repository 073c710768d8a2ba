//! Pinned memory for copies from and to host memory that the driver does not know.
//!
//! A driver that makes or frees pinned memory may wait for the device, and so for the fences that its streams wait for: those,
//! too, that the thread in question has yet to complete. So it is had when a stream is made, and goes to another stream when that one goes. It is
//! made for a few streams at a time, if possible when no stream waits, and freed with the device.

use std::ffi::c_void;
use std::sync::Mutex;

use cudarc::driver::sys;

use super::driver::{Device, lock};
use super::words;
use crate::domain::DomainError;

/// What a stream has, in bytes.
pub const PIECE: u64 = 4 << 20;
/// For how many streams it is made at a time.
const AT_ONCE: usize = 4;

const ACTION: &str = "make pinned memory";

/// The pinned memory of a stream.
#[derive(Debug)]
pub struct Pinned(*mut u8);

// SAFETY: an address; what lies there is used by the work of one stream alone, in its order.
unsafe impl Send for Pinned {}
// SAFETY: as above.
unsafe impl Sync for Pinned {}

impl Pinned {
    /// The first of its bytes.
    pub fn base(&self) -> *mut u8 {
        self.0
    }
}

/// The pinned memory of a device.
#[derive(Debug, Default)]
pub struct Staging(Mutex<Parts>);

#[derive(Debug, Default)]
struct Parts {
    /// What the driver gave, each for some streams.
    made: Vec<Pinned>,
    /// What no stream has.
    free: Vec<Pinned>,
}

impl Staging {
    /// That of a new stream.
    pub fn take(device: &Device) -> Result<Pinned, DomainError> {
        let staging = &device.staging;
        let take = || lock(&staging.0).free.pop();
        let taken = take();
        // Before the last is gone: by then there may be no moment at which nothing waits.
        if taken.is_some() && lock(&staging.0).free.is_empty() && words::nothing_waits() {
            // There is no hurry.
            let _ = staging.make(device);
        }
        if let Some(pinned) = taken {
            return Ok(pinned);
        }
        staging.make(device)?;
        take().ok_or_else(|| device.refuse(ACTION, "others took all of it"))
    }

    fn make(&self, device: &Device) -> Result<(), DomainError> {
        let (len, mut made) = (PIECE as usize, std::ptr::null_mut::<c_void>());
        let _entered = device.enter()?;
        // Not under the lock: others give theirs back meanwhile.
        // SAFETY: the context is current.
        let result = unsafe { sys::cuMemHostAlloc(&mut made, len * AT_ONCE, 0) };
        device.check(ACTION, result)?;
        let mut parts = lock(&self.0);
        let base = made.cast::<u8>();
        parts.made.push(Pinned(base));
        parts.free.extend((0..AT_ONCE).map(|part| Pinned(base.wrapping_add(part * len))));
        Ok(())
    }

    /// Takes back what a stream had whose work is done.
    pub fn give_back(&self, pinned: Pinned) {
        lock(&self.0).free.push(pinned);
    }

    /// Frees all of it. The device's context must be current, and no stream be left.
    pub fn end(&self) {
        for made in lock(&self.0).made.drain(..) {
            // SAFETY: made by `make`; no stream has a part of it.
            let _ = unsafe { sys::cuMemFreeHost(made.0.cast()) };
        }
    }
}
