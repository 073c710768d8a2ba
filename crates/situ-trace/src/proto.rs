//! Perfetto's messages, generated from `schema/trace/trace.proto` by Situ's own generator.
//!
//! `cargo test -p situ-generated --test trace` says whether it is up to date; with `SITU_BLESS=1` it makes it so.

#![allow(missing_docs, unreachable_pub, dead_code, clippy::all, reason = "generated")]

/// Where generated code finds the protobuf writer.
mod situ {
    pub(super) use situ_wire as wire;
}

include!("generated/trace.rs");

pub(crate) use perfetto::protos::*;
