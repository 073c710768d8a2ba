//! Supplies streams from a device's pool, and fills the pool, if possible at a moment when no stream waits
//! for a fence.

use std::ffi::c_void;

use cudarc::driver::sys;

use super::driver::Device;
use super::fence_mapping;
use super::stream_pool::PooledStream;
use crate::domain::traits::DomainError;

/// The pinned memory of a stream, in bytes.
pub const PIECE: u64 = 4 << 20;
/// How many streams are made at a time.
const BATCH: usize = 4;

/// A stream for a new `CudaStream`.
pub fn take(device: &Device) -> Result<PooledStream, DomainError> {
    if let Some((stream, others_left)) = device.streams.take() {
        // The pool is filled before it is empty: by then there may be no moment at which nothing waits.
        if !others_left && fence_mapping::nothing_waits() {
            // A failure is met, and returned, when the pool is empty.
            let _ = fill(device);
        }
        return Ok(stream);
    }
    fill(device)?;
    let stream = device.streams.take().map(|(stream, _)| stream);
    stream.ok_or_else(|| device.refuse("make a stream", "others took all of them"))
}

/// Makes streams without the pool's lock: others return theirs meanwhile.
fn fill(device: &Device) -> Result<(), DomainError> {
    let _entered = device.enter()?;
    let (len, mut block) = (PIECE as usize, std::ptr::null_mut::<c_void>());
    // SAFETY: the context is current.
    let result = unsafe { sys::cuMemHostAlloc(&mut block, len * BATCH, 0) };
    device.check("make pinned memory", result)?;
    device.streams.keep(block);
    for part in 0..BATCH {
        let mut raw = std::ptr::null_mut();
        let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: the context is current.
        device.check("make a stream", unsafe { sys::cuStreamCreate(&mut raw, flags) })?;
        device.streams.add(PooledStream::new(raw, block.cast::<u8>().wrapping_add(part * len)));
    }
    Ok(())
}
