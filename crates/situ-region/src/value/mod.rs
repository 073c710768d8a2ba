//! Values in regions: their trait, handles to them, and their assignment.
//!
//! ```text
//!   stored       the trait of types whose values lie in regions
//!   element      what containers need to know of their elements
//!   handle       references to values: an image or its memory, and an offset
//!   layout       the layout of generated structs, from their members
//!   plain        values that are accessible as Rust values in place
//!   scalar       numbers, booleans, characters and arrays
//!   assign       assigns values from outside of regions
//!   assign_copy  assigns values that are copies of others, from any region
//!   moving       moves values within a region
//!   show         prints values, for `Debug`; show_walk is the state of this
//!   equal        compares values; equal_walk is the state of this
//!   equal_std    compares values with those of the standard library
//! ```

pub(crate) mod assign;
pub(crate) mod assign_copy;
pub(crate) mod element;
pub(crate) mod equal;
mod equal_std;
pub(crate) mod equal_walk;
pub(crate) mod handle;
pub(crate) mod layout;
pub(crate) mod moving;
pub(crate) mod plain;
pub(crate) mod scalar;
pub(crate) mod show;
pub(crate) mod show_walk;
pub(crate) mod stored;
