//! The crate that a Rust program imports. It contains re-exports only.
//!
// The tests of this text are in the crate of the examples, which has generated messages.
#![cfg_attr(not(doctest), doc = include_str!("front_page.md"))]
//!
//! | Feature | Adds |
//! |---|---|
//! | `cuda` | messages in the memory of CUDA devices |
//! | `vulkan` | messages in the memory of Vulkan devices |
//! | `collector` | recording traces, and reading recordings |
//! | `tracing` | spans and events of the crate `tracing` in traces: `trace::layer` |
//!
//! None is on by default. Where a program needs a device without its feature, the error names the feature.
//!
//! Generated message types refer to this crate by `::situ::layout::…`, `::situ::region::…` and
//! `::situ::wire::…`.

/// Nodes, topics, publishing and taking.
pub use situ_bus as bus;
/// Storage policies, containers, in-place construction and validation.
pub use situ_layout as layout;
/// Times and durations of messages: [`Timestamp::now`](time::Timestamp::now), arithmetic, and conversions
/// with `std::time`.
pub use situ_layout::time;
/// Memory domains and their pools.
pub use situ_memory as memory;
/// Regions: growable data whose memory is the message.
pub use situ_region as region;
/// Traces that Perfetto opens. A program takes part from its first node on, unless `SITU_TRACE=0`.
pub use situ_trace as trace;
/// CDR encoding and decoding.
pub use situ_wire as wire;

/// What most programs need.
pub mod prelude {
    pub use situ_bus::{Loan, Node, Publisher, Sample, Subscriber, wait_any};
    pub use situ_layout::time::{Timespan, Timestamp};
    pub use situ_layout::{Flat, FlatMessage, Heap, Message, Storage};
}
