//! The containers of heap storage: vectors, strings and maps that enforce the bounds of the schema.
//!
//! ```text
//!   policy  the policy
//!   string, wstring, vec, map
//!           the containers, with bounds; without, they are String, Vec and BTreeMap
//! ```

mod map;
mod policy;
mod string;
mod vec;
mod wstring;

pub use map::BoundedMap;
pub use policy::Heap;
pub use string::BoundedString;
pub use vec::BoundedVec;
pub use wstring::{BoundedWString, WString};
