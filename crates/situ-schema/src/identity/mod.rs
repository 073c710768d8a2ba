//! The identity of types: the canonical text, the hashes of schemas and layouts, and the first difference of
//! two types.

mod canonical;
pub(crate) mod diff;
pub(crate) mod signature;
