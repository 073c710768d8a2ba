//! Conversion between messages and the structs of ROS 2's C code.
//!
//! ```text
//!   lend    a message as a C struct that is only read; most of it stays where it is
//!   clip    shortens what C code wrote to the bounds of the schema
//!   native  the conversions that the crates for rclrs call
//! ```

pub(crate) mod clip;
pub mod lend;
pub(crate) mod native;
