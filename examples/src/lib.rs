//! The messages that the examples share, generated from `messages.idl` by `build.rs`.

#![doc = include_str!("../../README.md")]

include!(concat!(env!("OUT_DIR"), "/messages.rs"));
