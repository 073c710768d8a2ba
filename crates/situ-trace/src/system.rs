//! Requests to the system: files with the root's permissions, locks, random numbers, clocks, threads.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::FlockOperation;
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

/// Creates an error of the system from the action and the file.
pub(crate) fn failed(action: &'static str, path: &Path, source: io::Error) -> MemoryError {
    MemoryError::System { action, path: path.to_owned(), source }
}

/// Creates an empty file with the permissions of the root directory.
pub(crate) fn create(root: &Root, place: &Beneath) -> Result<File, MemoryError> {
    place.create(root.file_mode(), root.group()).map_err(|error| failed("create", place.path(), error))
}

/// Returns whether the lock of a file is held by another descriptor than this one.
pub(crate) fn is_locked(file: &File) -> bool {
    let is_free = rustix::fs::flock(file, FlockOperation::NonBlockingLockShared).is_ok();
    if is_free {
        let _ = rustix::fs::flock(file, FlockOperation::Unlock);
    }
    !is_free
}

/// Returns the system's number of the calling thread.
pub(crate) fn thread_id() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned()
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
