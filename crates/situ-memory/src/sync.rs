//! The atomics that processes share. Under `--cfg loom` they are loom's, so that the very code that runs between
//! processes is what the model checker explores.

#[cfg(loom)]
pub use loom::sync::atomic;
#[cfg(not(loom))]
pub use std::sync::atomic;
