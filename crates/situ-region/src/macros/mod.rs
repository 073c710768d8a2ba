//! The macros that describe hand-written types in regions, and the places of members that they compute.
//!
//! ```text
//!   structs  region_struct and region_plain
//!   enums    region_enum
//!   unions   region_union
//! ```

mod enums;
mod structs;
mod unions;

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
