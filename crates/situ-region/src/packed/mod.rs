//! The packed form of a region's image (`spec/region.md`): the smallest one, to be stored, sent and read in
//! place.
//!
//! ```text
//!   place    links and lengths, and the next block of a writer and a check
//!   handle   handles to read values of a packed image
//!   text, vector, keyed, links, unions    each kind of container: written, checked, read, unpacked
//!   weak     weak links
//!   unpack   rebuilds a region from a packed image
//!   keyed_read    the accessors of sets and maps
//!   image    the header, and the image as a whole
//! ```

pub(crate) mod handle;
pub(crate) mod image;
pub(crate) mod keyed;
mod keyed_read;
pub(crate) mod links;
pub(crate) mod place;
pub(crate) mod text;
pub(crate) mod unions;
pub(crate) mod unpack;
pub(crate) mod vector;
pub(crate) mod weak;
