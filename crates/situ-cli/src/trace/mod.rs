//! `situ trace`: record what programs and messages do, and look at it.

pub mod picture;
pub mod record;
pub mod view;
