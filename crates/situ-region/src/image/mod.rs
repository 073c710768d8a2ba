//! The images of regions: header, check, canonical form, versions and layout.
//!
//! ```text
//!   header      the header, and the places of the root and of the table of versions
//!   check       a check in progress: claims blocks, follows links
//!   checked     checks that bytes are an image of a type before any of them is used
//!   writer      copies a value into a canonical image
//!   weak        weak links in checks and copies
//!   canonical   writes a whole canonical image: header, table of versions, value
//!   lines       the lines of a type's layout, which the layout hash covers
//!   versions    the history of appendable structs, and the table of versions
//!   appendable  appendable structs in checks and copies
//!   sha256      the hash function of layouts and versions
//! ```

pub(crate) mod appendable;
pub(crate) mod canonical;
pub(crate) mod check;
pub(crate) mod checked;
pub(crate) mod header;
pub(crate) mod lines;
pub(crate) mod sha256;
pub(crate) mod versions;
pub(crate) mod weak;
pub(crate) mod writer;
