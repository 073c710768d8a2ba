//! Plays files: publishes their messages with the spacing that they had.
//!
//! ```text
//!   source   a thread that reads ahead, and encodes messages as their topics need them
//!   player   publishers, the clock, and when the next message is due
//!   alarm    waits for a moment
//! ```

mod alarm;
mod player;
mod source;

pub use player::{Command, PlayError, PlayOptions, Played, Player, Progress};
