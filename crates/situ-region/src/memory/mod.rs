//! The memory in which a region is edited.
//!
//! ```text
//!   granule     the unit of blocks; numbers and links in the bytes of an image
//!   space       the bytes in which a region is edited: the image, and a bitmap of used granules
//!   backing     the sources of the memory: the heap, a buffer, a window of address space
//!   allocation  decides which granules a block takes
//!   blocks      takes and frees blocks; keeps small freed blocks in caches
//!   compact     compaction in place: moves blocks down over the gaps
//!   later       what a walk visits later: the targets at the ends of long chains of links
//!   slide       the walk over all links that compaction needs
//!   options     the options of a region
//!   reached     what shared values can reach: new links are tested for cycles with it
//! ```

pub(crate) mod allocation;
pub(crate) mod backing;
pub(crate) mod blocks;
pub(crate) mod compact;
pub(crate) mod granule;
pub(crate) mod later;
pub(crate) mod options;
pub(crate) mod reached;
pub(crate) mod slide;
pub(crate) mod space;
