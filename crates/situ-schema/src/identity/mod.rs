//! The identity of types: the canonical text, the hashes of schemas and layouts, and the first difference of
//! two types.
//!
//! ```text
//!   canonical  the canonical text of a type, which a topic carries and the hash covers
//!   signature  the two hashes of a type
//!   diff       the first difference between two types, for error messages
//! ```

mod canonical;
pub(crate) mod diff;
pub(crate) mod signature;
