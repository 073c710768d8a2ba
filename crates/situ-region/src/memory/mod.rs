//! The memory in which a region is edited.

pub(crate) mod allocation;
pub(crate) mod backing;
pub(crate) mod blocks;
pub(crate) mod compact;
pub(crate) mod granule;
pub(crate) mod options;
pub(crate) mod slide;
pub(crate) mod space;
