//! Looking at a bus from outside: events for tracers, observers that take no message, and inspection.
//!
//! ```text
//!   hook         the events that a tracer is given
//!   tracepoints  the places in the code that raise them
//!   observer     reading messages without a place in the topic
//!   inspect      what topics, nodes and pools look like now
//! ```

pub mod hook;
pub mod inspect;
pub(crate) mod observer;
pub(crate) mod tracepoints;
