//! The bus seen from outside: events for tracers, observers that take no message, and inspection.
//!
//! ```text
//!   hook         the events that a tracer receives
//!   tracepoints  the places in the code that report them
//!   observer     reading descriptors without a place in the topic; read_message also copies messages
//!   service      reading the requests and replies of a service
//!   inspect      the present state of topics, nodes and pools
//! ```

pub mod hook;
pub mod inspect;
pub(crate) mod observer;
pub(crate) mod read_message;
pub(crate) mod service;
pub(crate) mod tracepoints;
