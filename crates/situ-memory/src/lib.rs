//! The places: memory domains, the pools in them, and the slots that messages are built in.
//!
//! A [`Domain`] is a kind of memory (host shared memory, a GPU, an emulated device): it makes and imports [`Memory`], and
//! has [`Stream`]s that work on it. A *pool* is memory that one process owns: only the owner allocates and frees, so no
//! allocator lock is ever shared. A pool is cut into *slots*; each has a [`SlotControl`] in host shared memory, whatever the
//! domain of its bytes, with a [`Fence`] that says when they are complete. The formats are `spec/domain.md` and
//! `spec/pool.md`.
//!
//! ```text
//!   <id>.pool   (host shared memory)                       memory of the domain; the host's: <id>.data
//!   +--------+-----------------+-------------------+       +----------------------------------+
//!   | header | directory       | controls          |       | slot | slot      | slot |  ...   |
//!   |        | offset,capacity | generation,fence, |       +----------------------------------+
//!   |        |                 | holders           |       readers map it read-only, where they can
//!   +--------+-----------------+-------------------+
//!     readers: read-only          readers: read-write
//! ```

#[cfg(not(loom))]
pub mod beneath;
mod control;
#[cfg(not(loom))]
pub mod cuda;
#[cfg(not(loom))]
mod device;
#[cfg(not(loom))]
mod domain;
#[cfg(not(loom))]
mod domains;
#[cfg(not(loom))]
mod emulated;
mod fence;
#[cfg(not(loom))]
mod file_windows;
#[cfg(not(loom))]
pub mod fork;
#[cfg(not(loom))]
pub mod guard;
#[cfg(not(loom))]
mod host;
#[cfg(not(loom))]
mod immediate;
#[cfg(not(loom))]
mod mapping;
#[cfg(not(loom))]
mod pool;
#[cfg(not(loom))]
pub mod process;
#[cfg(not(loom))]
mod registered;
#[cfg(not(loom))]
pub mod root;
#[cfg(not(loom))]
mod share;
#[cfg(not(loom))]
mod shared_file;
mod size_class;
pub mod sync;
#[cfg(not(loom))]
pub mod thread;
#[cfg(not(loom))]
mod transfer;
#[cfg(not(loom))]
pub mod vulkan;
pub mod wake;
#[cfg(not(loom))]
mod window;

#[cfg(not(loom))]
pub use beneath::Beneath;
pub use control::{HOLDERS, Held, SlotControl};
#[cfg(not(loom))]
pub use domain::{
    Capabilities, Domain, DomainError, DomainId, DomainKind, HOST, Memory, MemoryRequest, Sharing, Stream,
    StreamOrder, check_range,
};
#[cfg(not(loom))]
pub use domains::{Domains, InvalidDomain, Surveyed, find, survey};
#[cfg(not(loom))]
pub use emulated::{EmulatedDomain, EmulatedOptions, EmulatedStream, EmulatedView, FaultPlan, Faults};
pub use fence::{Fence, FenceEnd, FenceState, FenceWords, POISON, Then};
#[cfg(not(loom))]
pub use host::HostDomain;
#[cfg(not(loom))]
pub use immediate::ImmediateStream;
#[cfg(not(loom))]
pub use mapping::{Access, Extent, Mapping, MemoryError, find_memory};
#[cfg(not(loom))]
pub use pool::{
    AllocateError, DEVICE_GRANULE, GRANULE, Lent, PoolHeader, PoolMetadata, PoolOptions, PoolOwner,
    PoolStatistics, PoolView, SlotId, Strategy, ViewError,
};
#[cfg(not(loom))]
pub use registered::Registered;
#[cfg(not(loom))]
pub use root::{OpenRoot, Root, RootError};
pub use size_class::{class_of, class_size};
#[cfg(not(loom))]
pub use transfer::{Copier, Enqueuing, Route};
#[cfg(not(loom))]
pub use window::{NoWindow, Window};
