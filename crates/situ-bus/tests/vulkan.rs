//! Messages between host memory and a Vulkan device (lavapipe counts): its pages are imported once.
//! `devices.rs` tests topics on all devices.
#![cfg(not(loom))]

mod common;

use common::registered::{Counts, registered_once};
use situ_bus::Placement;
use situ_memory::vulkan::VulkanDomain;
use situ_memory::{Domain, DomainId, DomainKind, HOST};

const VULKAN: DomainId = DomainId { kind: DomainKind::VULKAN, number: 0 };

fn once(from: &Placement, into: DomainId) {
    let domain = match VulkanDomain::find(0) {
        Ok(domain) if domain.registers() => domain,
        Ok(_) => return eprintln!("SKIPPED: the device cannot import pages of the host"),
        Err(error) => return eprintln!("SKIPPED: {error}"),
    };
    let counts = || {
        let pages = domain.host_pages().unwrap();
        // An import for one copy has ended as soon as it is checked.
        Counts {
            begun: pages.imported,
            ended: pages.imported - pages.registered as u64,
            straight: pages.copies,
        }
    };
    registered_once(VULKAN, counts, from, into);
}

#[test]
fn pools_that_a_device_copies_from_are_imported_once() {
    once(&Placement::default(), VULKAN);
}

#[test]
fn pools_that_a_device_copies_to_are_imported_once() {
    once(&Placement { domain: VULKAN, ..Default::default() }, HOST);
}

#[test]
fn pools_that_their_publisher_copies_from_are_imported_once() {
    once(&Placement { eager_copies: true, ..Default::default() }, VULKAN);
}
