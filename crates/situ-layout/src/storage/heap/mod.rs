//! The containers of heap storage: vectors, strings and maps that enforce the bounds of the schema.
//!
//! ```text
//!   policy  the policy
//!   text, vec, map
//!           the containers, with bounds; without, they are String, Vec and BTreeMap
//! ```

mod map;
mod policy;
mod text;
mod vec;

pub use map::BoundedMap;
pub use policy::Heap;
pub use text::{BoundedString, BoundedText, BoundedWString, WString};
pub use vec::BoundedVec;
