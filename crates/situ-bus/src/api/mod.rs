//! The typed API: publishers, subscribers, loans and samples of generated types.
//!
//! ```text
//!   typed   publishers and subscribers of a type, and their builders, loans and samples
//!   open    typed samples made of untyped ones
//!   write   values written into lent memory
//!   qos     profiles and liveliness in builders; events of typed publishers and subscribers
//!   region  publishers and subscribers of regions
//!   region_memory  the memory of a region that is built in a loan
//!   device  typed loans and samples whose bulk data devices read and write
//!   service clients and servers of generated types
//!   service_errors  why they fail
//!   service_form  the forms of requests and replies: messages, and regions
//!   service_outcome  calls of operations that raise exceptions
//!   service_rights  services that stand without members, with rights of groups
//!   service_region  requests and replies that are built in regions
//!   service_async, service_callbacks  clients and servers for async code, and with callbacks
//!   stream  samples as an asynchronous stream
//!   waitable  typed subscribers as sources of wait sets
//! ```

pub(crate) mod device;
mod open;
mod qos;
pub(crate) mod region;
pub(crate) mod region_memory;
pub(crate) mod service;
pub(crate) mod service_async;
pub(crate) mod service_callbacks;
pub(crate) mod service_errors;
pub(crate) mod service_form;
pub(crate) mod service_outcome;
pub(crate) mod service_region;
pub(crate) mod service_rights;
pub(crate) mod stream;
pub(crate) mod typed;
pub(crate) mod waitable;
pub(crate) mod write;
