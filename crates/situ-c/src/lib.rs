//! libsitu: the bus for C, and for all languages that can call C. Its documentation is the headers,
//! `cpp/include/situ.h`, and `batch.h`, `blackboard.h`, `events.h`, `execute.h`, `graph.h`,
//! `memory.h`, `record.h`, `service.h` and `trace.h` in `cpp/include/situ/`.
//!
//! Every function checks its arguments, calls `situ-bus`, and turns errors into texts. No panic unwinds into
//! C ([`error::guard`]). The state of the hot path lies in structures that the caller owns. Lending,
//! publishing, taking and releasing therefore do not allocate.

#![allow(non_camel_case_types, reason = "the names are those of the C header")]

mod batch;
mod blackboard;
mod client;
mod device;
mod error;
mod event;
mod executor;
mod graph;
mod guard;
mod inspect;
mod interrupt;
mod lender;
mod loan;
mod memory;
mod node;
mod publisher;
#[cfg(feature = "record")]
mod record_reader;
#[cfg(feature = "record")]
mod record_writer;
mod server;
mod service;
mod service_sources;
mod service_waiting;
mod source;
mod subscriber;
#[cfg(all(test, feature = "record"))]
mod tests;
mod timer;
mod trace;
mod types;
mod wait_set;

use std::ffi::{CStr, c_char};

/// The version as text, with the ending zero of C.
const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(text) => text,
    Err(_) => panic!("a version has no zero in it"),
};

/// The version as one number, for comparisons.
#[unsafe(no_mangle)]
pub extern "C" fn situ_version() -> u32 {
    let part = |text: &str| text.parse::<u32>().unwrap_or(0);
    part(env!("CARGO_PKG_VERSION_MAJOR")) * 1_000_000
        + part(env!("CARGO_PKG_VERSION_MINOR")) * 1_000
        + part(env!("CARGO_PKG_VERSION_PATCH"))
}

/// The version as text.
#[unsafe(no_mangle)]
pub extern "C" fn situ_version_string() -> *const c_char {
    VERSION.as_ptr()
}
