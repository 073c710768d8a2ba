//! The messages that the examples share, generated from `messages.idl` by `build.rs`.

// The README links to files of the repository, which are no items.
#![allow(rustdoc::broken_intra_doc_links)]
#![doc = include_str!("../../README.md")]

include!(concat!(env!("OUT_DIR"), "/messages.rs"));

/// The first page of the crate `situ`, whose example is tested here.
#[cfg(doctest)]
#[doc = include_str!("../../crates/situ/src/front_page.md")]
pub struct FrontPage;
