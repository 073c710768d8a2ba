//! Requests to the system: files with the root's permissions, random numbers, clocks.

use std::fs::File;
use std::io::Read;

use situ_memory::{Beneath, MemoryError, Root};

/// Returns a random number of 64 bits.
pub(crate) fn unique() -> u64 {
    let mut bytes = [0u8; 8];
    match File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes)) {
        Ok(()) => u64::from_ne_bytes(bytes),
        // Without `/dev/urandom`, the time and the process number are unique enough on one machine.
        Err(_) => monotonic_ns().rotate_left(20) ^ u64::from(std::process::id()),
    }
}

/// Creates an empty file with the permissions of the root directory.
pub(crate) fn create(root: &Root, place: &Beneath) -> Result<File, MemoryError> {
    let path = || place.path().to_owned();
    place.create(root.file_mode(), root.group()).map_err(|source| MemoryError::System {
        action: "create",
        path: path(),
        source,
    })
}

/// Returns `CLOCK_MONOTONIC` in nanoseconds.
pub(crate) fn monotonic_ns() -> u64 {
    clock_ns(rustix::time::ClockId::Monotonic)
}

/// Returns a clock's time in nanoseconds.
pub(crate) fn clock_ns(clock: rustix::time::ClockId) -> u64 {
    let time = rustix::time::clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
