//! The containers of regions, each with its check, its copy and its compaction.

pub(crate) mod edit;
pub(crate) mod entries;
pub(crate) mod flat;
pub(crate) mod hash;
pub(crate) mod key;
pub(crate) mod keyed;
pub(crate) mod maybe;
pub(crate) mod node;
pub(crate) mod ordered;
pub(crate) mod shared;
pub(crate) mod text;
pub(crate) mod tree;
pub(crate) mod union;
pub(crate) mod vector;
