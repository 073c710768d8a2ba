//! The message types of the demo, generated from `schema/situ/sensor.idl` by `build.rs`.

#![allow(dead_code, reason = "the demo sends some of the types that the file defines")]

include!(concat!(env!("OUT_DIR"), "/messages.rs"));
