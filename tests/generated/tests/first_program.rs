//! A first program: it includes the generated file in its root, beside the prelude, and names no storage.

#![deny(dead_code, unused)]

use std::error::Error;

use situ::prelude::*;
use situ_::common::{Header, Time};

// The messages that ship with Situ, in a module `situ` of their schema.
include!(concat!(env!("OUT_DIR"), "/messages.rs"));

/// What the program prints if `main` returns an error.
fn shown(error: impl Into<Box<dyn Error>>) -> String {
    format!("{:?}", error.into())
}

#[test]
fn a_message_needs_no_storage() {
    let mut header = Header { stamp: Time { sec: 7, nanosec: 5 }, ..Header::default() };
    header.set_frame_id("lidar").unwrap();
    assert_eq!((header.stamp.sec, header.frame_id.as_str()), (7, "lidar"));
    assert_eq!(<Header as Message>::NAME, "situ::common::Header");
}

#[test]
fn errors_of_main_are_sentences() {
    let error = Header::default().set_frame_id(&"x".repeat(64)).unwrap_err();
    assert_eq!(
        shown(error),
        "field `frame_id`: length 64 exceeds its bound 63; shorten the value or raise the bound in the schema"
    );
    let folder = std::env::temp_dir().join(format!("situ-first-{}", std::process::id()));
    let error = Node::in_root("a\nb", situ::bus::Root::at(folder, None)).unwrap_err();
    assert_eq!(
        shown(error),
        "\"a\\nb\" cannot name a node: use 1 to 255 visible characters, no control characters"
    );
}
