//! The bus seen from outside: events for tracers, observers that take no message, and inspection.
//!
//! ```text
//!   hook         the events that a tracer receives
//!   tracepoints  the places in the code that report them
//!   observer     reading messages without a place in the topic
//!   inspect      the present state of topics, nodes and pools
//! ```

pub mod hook;
pub mod inspect;
pub(crate) mod observer;
pub(crate) mod tracepoints;
