//! Where the members of a type lie in memory: in flat messages and in regions.
//!
//! ```text
//!   flat    the flat form: fixed sizes, alignments and offsets
//!   region  how types are represented and laid out in regions
//!   packed  the same in packed images of regions
//! ```

pub(crate) mod flat;
#[cfg(feature = "dynamic")]
pub(crate) mod packed;
pub(crate) mod region;
