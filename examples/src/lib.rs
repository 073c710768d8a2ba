//! The messages that the examples share, generated from `messages.idl` by `build.rs`.

// The README links to files of the repository, which are no items.
#![allow(rustdoc::broken_intra_doc_links)]
#![doc = include_str!("../../README.md")]

include!(concat!(env!("OUT_DIR"), "/messages.rs"));
