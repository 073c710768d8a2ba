//! Memory domains, the pools in them, and the slots that messages are built in.
//!
//! A [`Domain`] is a kind of memory (host shared memory, a GPU, an emulated device). It makes and imports
//! [`Memory`], and has [`Stream`]s that work on it. A *pool* is memory that one process owns. Only the owner
//! allocates and frees, so no allocator lock is ever shared. A pool is cut into *slots*. Each slot has a
//! [`SlotControl`] in host shared memory, whatever the domain of its bytes. The control contains a [`Fence`],
//! which says when the bytes are complete. The formats are `spec/domain.md` and `spec/pool.md`.
//!
//! ```text
//!   <id>.pool   (host shared memory)                       memory of the domain; the host's: <id>.data
//!   +--------+-----------------+-------------------+       +----------------------------------+
//!   | header | directory       | controls          |       | slot | slot      | slot |  ...   |
//!   |        | offset,capacity | generation,fence, |       +----------------------------------+
//!   |        |                 |                   |       readers map it read-only, where they can
//!   +--------+-----------------+-------------------+
//!     readers: read-only          readers: read-write
//! ```
//!
//! The rooms, each of which imports only from those below it:
//!
//! | room | what it has |
//! |---|---|
//! | `transfer` | copies between domains, and the registration of host pages with a driver |
//! | `pool` | pools: their format, their owner's allocation, the view of other processes |
//! | `domain` | the traits of memory domains, and each kind: `host`, `emulated`, `vulkan`, `cuda` |
//! | `os` | files, mappings, descriptors, processes and threads, as Linux has them |
//! | `sync` | the words that processes share; loom explores this room |

#[cfg(not(loom))]
mod domain;
#[cfg(not(loom))]
mod os;
#[cfg(not(loom))]
mod pool;
pub mod sync;
#[cfg(not(loom))]
mod transfer;

pub use sync::fence::{Fence, FenceEnd, FenceState, FenceWords, POISON, Then};
pub use sync::slot_control::{GENERATION_BITS, SlotControl, short_generation};
pub use sync::wake;

#[cfg(all(not(loom), feature = "cuda"))]
pub use self::domain::cuda;
#[cfg(all(not(loom), feature = "vulkan"))]
pub use self::domain::vulkan;
#[cfg(not(loom))]
pub use self::{
    domain::{
        Capabilities, Domain, DomainError, DomainId, DomainKind, Domains, EmulatedDomain, EmulatedOptions,
        EmulatedStream, EmulatedView, FaultPlan, Faults, HOST, HostDomain, ImmediateStream, InvalidDomain,
        Memory, MemoryRequest, Sharing, Stream, StreamOrder, Surveyed, check_range, find, survey,
    },
    os::{
        Access, AddressWindow, Beneath, Extent, Mapping, MemoryError, NoAddressWindow, OpenRoot, Outcome,
        PageOptions, PageOutcome, Root, RootError, advice, beneath, find_memory, fork, guard, prefer_pages,
        process, root, thread,
    },
    pool::{
        AllocateError, Allocator, DEVICE_GRANULE, GRANULE, Lent, Misplacement, OwnAllocator, POOL_VERSION,
        PoolHeader, PoolMetadata, PoolOptions, PoolOwner, PoolSpace, PoolStatistics, PoolView, SlotId,
        Strategy, ViewError, class_of, class_size,
    },
    transfer::{Copier, Enqueuing, Registered, Route},
};
