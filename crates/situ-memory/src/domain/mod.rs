//! Memory domains: their traits, the set that a process has, and each kind of domain.
//!
//! ```text
//!   traits      Domain, Memory, Stream: the terms that describe all kinds
//!   set         the domains that a process has, and how to find them
//!   access      the checks that streams of devices make before they call a driver
//!   immediate   the stream of memory that the CPU may touch
//!   host, emulated, vulkan, cuda
//! ```

#[cfg(any(feature = "cuda", feature = "vulkan"))]
pub(crate) mod access;
#[cfg(feature = "cuda")]
pub mod cuda;
pub(crate) mod emulated;
pub(crate) mod host;
pub(crate) mod immediate;
pub(crate) mod set;
pub(crate) mod traits;
#[cfg(feature = "vulkan")]
pub mod vulkan;

pub use emulated::{EmulatedDomain, EmulatedOptions, EmulatedStream, EmulatedView, FaultPlan, Faults};
pub use host::HostDomain;
pub use immediate::ImmediateStream;
pub use set::{Domains, InvalidDomain, Surveyed, find, survey};
pub use traits::{
    Capabilities, Domain, DomainError, DomainId, DomainKind, HOST, Memory, MemoryRequest, Sharing, Stream,
    StreamOrder, check_range,
};
