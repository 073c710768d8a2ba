//! The typed API: publishers, subscribers, loans and samples of generated types.
//!
//! ```text
//!   typed   publishers and subscribers of a type, and their builders, loans and samples
//!   region  publishers and subscribers of regions
//!   device  typed loans and samples whose bulk data devices read and write
//!   stream  samples as an asynchronous stream
//!   waitable  typed subscribers as sources of wait sets
//! ```

pub(crate) mod device;
pub(crate) mod region;
pub(crate) mod stream;
pub(crate) mod typed;
pub(crate) mod waitable;
