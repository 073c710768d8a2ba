//! `situ bridge`: topics and services of other machines.
//!
//! ```text
//!   run     the command: what crosses, on the terminal or as JSON
//!   rules   what shall cross, from the command line and a file
//! ```

mod rules;
mod run;

pub use run::run;
