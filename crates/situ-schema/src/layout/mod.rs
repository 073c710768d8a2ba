//! Where the members of a type lie in memory: in flat messages and in regions.

pub(crate) mod flat;
pub(crate) mod region;
