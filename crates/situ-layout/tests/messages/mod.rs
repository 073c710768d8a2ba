//! The generated messages that the tests of this crate use.

/// Where they find Situ.
mod situ {
    pub use situ_layout as layout;
    pub use situ_region as region;
}

include!("messages.rs");

#[allow(unused_imports)]
pub use test::*;
