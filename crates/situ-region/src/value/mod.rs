//! Values in regions: their trait, handles to them, and their assignment.

pub(crate) mod assign;
pub(crate) mod assign_copy;
pub(crate) mod handle;
pub(crate) mod plain;
pub(crate) mod scalar;
pub(crate) mod stored;
