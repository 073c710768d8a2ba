//! Messages: what generated types implement and a transport uses.
//!
//! ```text
//!   traits       messages, flat messages, services, actions; the flat form of a message
//!   region_form  what is wrong with bytes that claim to be an image
//!   field        properties of members whose types the generator does not spell
//!   set          the setters of generated types
//! ```

pub mod field;
pub(crate) mod region_form;
pub mod set;
pub(crate) mod traits;
