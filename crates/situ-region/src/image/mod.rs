//! The images of regions: header, check, canonical form, versions and layout.

pub(crate) mod appendable;
pub(crate) mod canonical;
pub(crate) mod check;
pub(crate) mod checked;
pub(crate) mod header;
pub(crate) mod lines;
pub(crate) mod sha256;
pub(crate) mod versions;
pub(crate) mod writer;
