//! `situ trace`: records the activity of programs and messages, and shows it.

pub mod picture;
pub mod record;
pub mod view;
