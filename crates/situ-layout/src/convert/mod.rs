//! Conversion of messages between storages. Generated code calls these functions, one for each member.
//!
//! ```text
//!   assign  copies, member by member
//!   take    by value: memory that can be handed over is not copied
//!   ros     lends a message as a C struct, and converts what C code wrote
//! ```

pub mod assign;
pub(crate) mod ros;
pub mod take;
