//! Regions: growable, relocatable data whose memory is the message (`spec/region.md`).
//!
//! A [`Region`] holds a value with all its parts - text, vectors, sets, maps, trees - in one piece of memory,
//! with the same bytes in Rust and C++. [`Ref`] and [`Mut`] are handles to values: an offset and the memory.
//! `set`, `push` and `insert` take memory and return [`Full`] at the region's limit.
//! [`region_struct`](crate::region_struct) and [`region_plain`](crate::region_plain) describe types.

mod allocation;
mod assign;
mod backing;
mod check;
#[doc(hidden)]
pub mod convert;
mod copy;
mod edit;
mod entries;
mod error;
mod flat;
mod generated;
mod handle;
mod hash;
mod key;
mod keyed;
mod layout;
mod macros;
mod macros_union;
mod maybe;
mod memory;
mod node;
mod ordered;
mod place;
mod shared;
mod slide;
mod stored;
mod text;
mod tree;
mod union;
mod vector;
mod versions;

pub use allocation::{Allocation, Allocator, Granules, Monotonic, Taken};
pub use backing::{Backing, Buffer, Heap, Options, total_for};
pub use check::Check;
pub use convert::{Copied, Holds, KeyOf, LoadInto, Maps, StoreError, StoreFrom};
#[doc(hidden)]
pub use convert::{begin_with, plain_values};
pub use copy::Writer;
pub use entries::{Entries, EntryMut};
pub use error::{AdoptError, BufferError, Full, Invalid, InvalidPlace, InvalidProblem, ShareError};
pub use flat::{FlatMap, FlatSet};
pub use generated::RegionMessage;
pub use handle::{Mut, Ref};
pub use hash::{HashMap, HashSet};
pub use key::{Entry, Key};
#[doc(hidden)]
pub use keyed::{Engine, Reserve};
pub use keyed::{Map, Set};
pub use layout::{Facts, Lines, layout_hash, layout_text};
pub use maybe::{Maybe, Unique};
pub use memory::{DEFAULT_LIMIT, GRANULE, MAX_SIZE, MemoryMut};
#[doc(hidden)]
pub use place::checked_root;
pub use place::{Region, view};
pub use shared::{Link, Shared};
pub use slide::Slide;
pub use stored::{Assign, Bool, Char, Plain, Stored};
#[doc(hidden)]
pub use stored::{fixed, put_plain};
pub use text::Text;
pub use tree::{OrderedMap, OrderedSet};
pub use union::Discriminator;
#[doc(hidden)]
pub use union::{
    Selected, Union, union_begin, union_begin_at, union_case, union_check, union_discriminator, union_labels,
    union_layout, union_moved, union_release, union_renew, union_select, union_slide, union_write,
};
pub use vector::Vector;
#[doc(hidden)]
pub use versions::Version;

/// The greatest alignment of the members, given their sizes and alignments.
#[doc(hidden)]
pub const fn alignment(sizes: &[(u32, u32)]) -> u32 {
    let mut align = 1;
    let mut i = 0;
    while i < sizes.len() {
        if sizes[i].1 > align {
            align = sizes[i].1;
        }
        i += 1;
    }
    align
}

/// The offset of each member, and the size of the struct.
#[doc(hidden)]
pub const fn places<const N: usize>(sizes: &[(u32, u32)]) -> [u32; N] {
    let mut places = [0; N];
    let mut end = 0_u32;
    let mut i = 0;
    while i < sizes.len() {
        places[i] = end.next_multiple_of(sizes[i].1);
        end = places[i] + sizes[i].0;
        i += 1;
    }
    places[i] = end.next_multiple_of(alignment(sizes));
    places
}
