//! Perfetto's messages, generated from `schema/trace/trace.proto` by Situ's generator.
//!
//! `cargo test -p situ-generated --test trace` checks that the code is up to date. With `SITU_BLESS=1` the
//! test updates it.

#![allow(missing_docs, unreachable_pub, dead_code, clippy::all, reason = "generated")]

/// The protobuf writer, under the path that generated code uses.
mod situ {
    pub(super) use situ_wire as wire;
}

include!("generated/trace.rs");

pub(crate) use perfetto::protos::*;
