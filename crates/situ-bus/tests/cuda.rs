//! Messages between host memory and CUDA devices, with a driver that plays the devices in host memory (see
//! `situ-memory/tests/cuda`).
#![cfg(not(loom))]

mod common;
#[path = "../../situ-memory/tests/cuda/played.rs"]
mod played;

use std::ffi::c_int;

use common::registered::{Counts, registered_once};
use played::{called, is_played, play};
use situ_bus::Placement;
use situ_memory::{DomainId, DomainKind, HOST};

const CUDA: DomainId = DomainId { kind: DomainKind::CUDA, number: 0 };

#[test]
fn everything_again_on_an_emulated_driver() {
    if !is_played() {
        play();
    }
}

/// The counters of our driver.
fn counts() -> Counts {
    let mut counts: [c_int; 3] = [0; 3];
    // SAFETY: the function has this type, and the array has the length that it writes.
    unsafe { called::<extern "C" fn(*mut c_int)>(c"fakeCudaCounts")(counts.as_mut_ptr()) };
    let [begun, ended, straight] = counts.map(|count| u64::try_from(count).unwrap());
    Counts { begun, ended, straight }
}

fn once(from: &Placement, into: DomainId) {
    if is_played() {
        registered_once(CUDA, counts, from, into);
    }
}

#[test]
fn pools_that_a_device_copies_from_are_registered_once() {
    once(&Placement::default(), CUDA);
}

#[test]
fn pools_that_a_device_copies_to_are_registered_once() {
    once(&Placement { domain: CUDA, ..Default::default() }, HOST);
}

#[test]
fn pools_that_their_publisher_copies_from_are_registered_once() {
    once(&Placement { eager_copies: true, ..Default::default() }, CUDA);
}
