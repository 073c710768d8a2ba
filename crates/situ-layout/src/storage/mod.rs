//! Where the variable-length parts of a message are stored: three policies, and the containers of each.
//!
//! ```text
//!   policy     what a storage policy has to offer
//!   methods    methods that containers of several storages implement alike
//!   text       what strings and wide strings of all storages have in common
//!   bulk       how a storage holds bulk members
//!   hand_over  memory that a container hands over to one of another storage
//!   flat       inline, without pointers
//!   heap       vectors, strings and maps
//!   ros        the strings and sequences of ROS 2's C code
//! ```

pub(crate) mod bulk;
pub mod flat;
pub(crate) mod hand_over;
pub mod heap;
pub(crate) mod methods;
pub(crate) mod policy;
pub(crate) mod ros;
pub(crate) mod text;
