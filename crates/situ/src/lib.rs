//! The face of Situ: what a Rust program imports. Re-exports, and nothing else.
//!
//! Generated message types refer to this crate by `::situ::layout::…` and `::situ::wire::…`.

/// Storage policies, containers, in-place construction and validation.
pub use situ_layout as layout;

/// What most programs need.
pub mod prelude {
    pub use situ_layout::{Flat, FlatMessage, Heap, Message, Storage};
}
