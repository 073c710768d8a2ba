//! What a value is: the traits of values and visitors, the operations of containers, and the values that do
//! not depend on the storage. The other rooms use this one; it uses none of them.
//!
//! ```text
//!   traits     values, and the visitors that pass over them
//!   container  the operations that the containers of all storages share
//!   in_place   construction at an address, memory without pointers
//!   shape      the schema's properties of types and members
//!   bulk_ref   where the elements of a bulk member lie in the body of a message
//!   error      a bound that is exceeded, bytes that are not valid, and the path to the member
//!   primitive  numbers, booleans, characters, arrays
//!   newtype    enums and bitmasks
//!   time       times and durations, and conversions with std::time
//!   total_order  floating-point numbers as keys of maps
//!   union      unions, by the case that a discriminator selects
//! ```

pub(crate) mod bulk_ref;
pub(crate) mod container;
pub(crate) mod error;
pub(crate) mod in_place;
pub mod newtype;
pub(crate) mod primitive;
pub(crate) mod shape;
pub mod time;
pub(crate) mod total_order;
pub(crate) mod traits;
pub mod union;
