//! Regions: growable, relocatable data whose memory is the message (`spec/region.md`).
//!
//! A [`Region`] holds a value with all its parts - text, vectors, sets, maps, trees - in one piece of memory,
//! with the same bytes in Rust and C++. [`Ref`] and [`Mut`] are handles to values: an offset and the memory.
//! `set`, `push` and `insert` take memory and return [`Full`] at the region's limit.
//! [`region_struct!`] and [`region_plain!`] describe types.
//!
//! | Room | What is there |
//! |---|---|
//! | `value` | the trait of values in regions, numbers and arrays, assignment, handles |
//! | `containers` | text, vectors, sets, maps, optional values, links, unions |
//! | `memory` | the space that is edited, its allocator and backings, compaction in place |
//! | `image` | header, check, canonical form, versions and layout of an image |
//! | `packed` | the packed form of an image: written, checked, read, unpacked |
//! | `region` | a value with its memory and its images |
//! | `dynamic` | regions of types that are known only when the program runs |
//! | `convert` | conversion between regions and messages of the other storages |
//! | `traits` | `Debug` and `PartialEq` of regions and packed values |
//! | `members` | structs: their fields, and what is done with all of them |
//! | `macros` | the macros that describe hand-written types |

mod containers;
#[doc(hidden)]
pub mod convert;
pub mod dynamic;
mod error;
mod image;
mod macros;
mod members;
mod memory;
mod packed;
mod region;
mod traits;
mod value;

#[doc(hidden)]
pub use situ_layout as layout;

#[doc(hidden)]
pub use containers::composite_key::{hash_part, hash_parts, put_parts};
pub use containers::engine::{Engine, Reserve};
pub use containers::entries::{Entries, EntryMut};
pub use containers::hash::{HashMap, HashSet};
pub use containers::iterate::{Elements, Keys, KeysAndValues};
pub use containers::key::{Entry, Key};
pub use containers::keyed::{Map, Set};
pub use containers::maybe::{Maybe, Unique};
pub use containers::shared::{Link, Shared};
pub use containers::sorted::{SortedMap, SortedSet};
pub use containers::text::Text;
pub use containers::tree::{OrderedMap, OrderedSet};
pub use containers::union::Discriminator;
#[doc(hidden)]
pub use containers::union::{
    CaseVisitor, Selected, Union, union_begin, union_begin_at, union_case, union_check, union_discriminator,
    union_equals, union_layout, union_line, union_member, union_member_mut, union_moved, union_release,
    union_renew, union_select, union_show, union_slide, union_write,
};
pub use containers::vector::Vector;
pub use containers::weak::Weak;
#[doc(hidden)]
pub use convert::read::read_region;
pub use convert::{Copied, Holds, KeyOf, LoadInto, Maps, StoreError, StoreFrom};
pub use error::{AdoptError, BufferError, Full, MoveError, ShareError};
pub use image::check::Check;
pub use image::lines::{Facts, Lines};
#[doc(hidden)]
pub use image::versions::Version;
pub use image::writer::Writer;
#[doc(hidden)]
pub use macros::{alignment, places};
pub use members::RegionMessage;
#[doc(hidden)]
pub use members::{MemberVisitor, Struct};
pub use memory::allocation::{Allocation, Allocator, Granules, Monotonic, Taken};
pub use memory::backing::{Backing, Buffer, HeapMemory, total_for};
pub use memory::blocks::MemoryMut;
pub use memory::granule::{GRANULE, MAX_SIZE};
pub use memory::options::{DEFAULT_LIMIT, Options};
pub use memory::slide::Slide;
pub use packed::handle::{Access, Packed, PackedValues};
pub use packed::image::view_packed;
#[doc(hidden)]
pub use packed::unions::{packed_discriminator, packed_member, union_check_packed, union_pack, union_unpack};
pub use packed::unpack::Unpacker;
#[doc(hidden)]
pub use region::checked_root;
pub use region::{Region, pack, view};
pub use situ_layout::{Invalid, InvalidPlace, InvalidProblem};
pub use value::assign::Assign;
#[doc(hidden)]
pub use value::equal::plain_equals;
#[doc(hidden)]
pub use value::equal_walk::Equal;
pub use value::handle::{Mut, Ref};
#[doc(hidden)]
pub use value::layout::{Field, Member, PackedUnion, StructLayout};
pub use value::moving::Moving;
pub use value::plain::Plain;
#[doc(hidden)]
pub use value::plain::{plain_values, put_plain};
pub use value::scalar::{Bool, Char};
#[doc(hidden)]
pub use value::show::show_plain;
#[doc(hidden)]
pub use value::show_walk::ShowWalk;
pub use value::stored::Stored;
pub use value::stored::{layout_hash, layout_text};
