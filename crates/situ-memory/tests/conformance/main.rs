//! All domains must pass the same assertions (`suite.rs`). A domain that is absent prints why and is skipped,
//! unless `SITU_TEST_REQUIRE` names it (`host,vulkan`).
#![cfg(not(loom))]

#[macro_use]
mod suite;

use std::sync::Arc;

use situ_memory::{DomainId, DomainKind, EmulatedDomain, HostDomain, find};

conformance!(host, || Ok(Arc::new(HostDomain)));
conformance!(emulated, || Ok(Arc::new(EmulatedDomain::default())));
conformance!(vulkan, || find(DomainId { kind: DomainKind::VULKAN, number: 0 }));
conformance!(cuda, || find(DomainId { kind: DomainKind::CUDA, number: 0 }));
