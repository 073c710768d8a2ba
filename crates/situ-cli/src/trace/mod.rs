//! `situ trace`: records the activity of programs and messages, and displays it.
//!
//! ```text
//!   record    `situ trace record` and `stop`
//!   view      a trace in numbers
//!   picture   a trace as an SVG
//! ```

pub mod picture;
pub mod record;
pub mod view;
