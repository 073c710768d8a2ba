//! `situ trace`: records the activity of programs and messages, and displays it.
//!
//! ```text
//!   record    `situ trace record` and `stop`
//!   trigger   writes an event for which a recording waits
//!   view      a trace in numbers
//!   picture   a trace as an SVG
//!   flame     a trace as a flame graph
//!   file      reads a trace
//!   svg       what both pictures share
//! ```

mod file;
pub mod flame;
pub mod picture;
pub mod record;
mod svg;
pub mod trigger;
pub mod view;
