//! A pool: memory of a domain that one process owns and others read, and the slots that it is cut into.
//!
//! The format is `spec/pool.md`. Only the owner allocates and frees. What it needs for that lies in its own
//! memory, so no other process can corrupt it, and there is no lock to die with. Other processes find a
//! slot's bytes by the directory, which they map read-only and whose entries they check before use. Directory
//! and controls lie in host shared memory whatever the domain: nothing about a slot is ever stored where the
//! CPU may not look.

mod backed;
mod fixed_slots;
mod format;
mod free_list;
mod growing;
mod own;
mod owner;
mod ring;
mod size_class;
mod size_classes;
mod strategy;
mod table;
mod view;

use std::path::PathBuf;

use crate::domain::traits::DomainError;
use crate::os::mapping::MemoryError;
use crate::os::pages::PageOptions;

pub use format::{POOL_VERSION, PoolHeader};
pub use owner::PoolOwner;
pub use size_class::{class_of, class_size};
pub use strategy::{Allocator, Misplacement, OwnAllocator, PoolSpace, Strategy};
pub use view::{Lent, PoolMetadata, PoolView};

pub(crate) use format::{malformed, system};

/// The unit of allocation in bytes: a cache line.
pub const GRANULE: usize = 64;

/// The alignment in bytes of slots in memory that the CPU may not touch: enough for every kind of access of a
/// device.
pub const DEVICE_GRANULE: usize = 256;

/// The number of a slot in its pool.
pub type SlotId = u32;

/// How to make a pool.
#[derive(Debug, Clone)]
pub struct PoolOptions {
    /// The pool's number.
    pub id: u64,
    /// The node that owns it.
    pub owner: u64,
    /// The largest number of slots; rounded up to a multiple of 64, at most 65,536. Fixed slots have a number
    /// of their own.
    pub slots: u32,
    /// The largest number of bytes, at most 256 GiB. Host memory is not used before it is allocated. Fixed
    /// slots take what they need.
    pub capacity: u64,
    /// Whether slots can grow in their place ([`PoolOwner::allocate_growing`]). This takes size classes, in
    /// memory that is a file. The file then has room for growth without having memory there: `capacity`
    /// limits the memory, not the file.
    pub grows: bool,
    /// How slots are allocated.
    pub strategy: Strategy,
    /// Which pages the memory should have.
    pub pages: PageOptions,
    /// Permission bits of the files.
    pub mode: u32,
    /// The group of the files, if not the process's own.
    pub group: Option<u32>,
}

/// What a pool holds at the moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PoolStatistics {
    /// Slots that have memory.
    pub slots: usize,
    /// Slots that are handed out.
    pub in_use: usize,
    /// Bytes of memory behind all slots.
    pub bytes: u64,
}

/// Why the allocation of a slot failed.
#[derive(thiserror::Error)]
pub enum AllocateError {
    /// The message can never fit.
    #[error(
        "a message of {size} bytes is larger than the pool's capacity of {capacity} bytes; raise the capacity"
    )]
    TooLarge {
        /// What was asked for, in bytes.
        size: u64,
        /// The most that the pool can hold, in bytes.
        capacity: u64,
    },
    /// Everything is in use.
    #[error(
        "the pool is exhausted: {in_use} of at most {slots} slots are in use ({bytes} of {capacity} bytes), so there is \
         no room for {size} bytes; let subscribers release samples or raise the capacity"
    )]
    Exhausted {
        /// What was asked for, in bytes.
        size: u64,
        /// Slots handed out.
        in_use: usize,
        /// The largest possible number of slots.
        slots: u32,
        /// Bytes of memory behind the pool's slots.
        bytes: u64,
        /// The largest possible number of bytes.
        capacity: u64,
    },
    /// The message does not fit a fixed slot.
    #[error("a message of {size} bytes does not fit the pool's slots of {slot} bytes; make the slots larger")]
    LargerThanSlot {
        /// What was asked for, in bytes.
        size: u64,
        /// The size of each slot in bytes.
        slot: u64,
    },
    /// The program's own [`Allocator`] has returned a range in which the slot cannot lie.
    #[error(
        "the pool's own allocator placed a slot of {size} bytes at {begin}..{end}, {fault}; no slot was lent: correct \
         the allocator"
    )]
    Misplaced {
        /// What was asked for, in bytes.
        size: u64,
        /// Where the range begins.
        begin: u64,
        /// Where it ends.
        end: u64,
        /// What is wrong with it.
        fault: Misplacement,
    },
    /// The slot was lent with less room than it needs now.
    #[error(
        "the slot was lent to grow to {room} bytes, but {size} bytes are needed; ask for that room when it is lent"
    )]
    NoRoom {
        /// What is needed, in bytes.
        size: u64,
        /// The size that the slot can grow to.
        room: u64,
    },
    /// The system has no memory left.
    #[error(transparent)]
    Memory(MemoryError),
    /// The device has no memory left, or is lost.
    #[error(transparent)]
    Domain(DomainError),
}

situ_layout::debug_as_text!(AllocateError);

impl From<DomainError> for AllocateError {
    fn from(error: DomainError) -> Self {
        match error {
            DomainError::Memory(error) => Self::Memory(error),
            error => Self::Domain(error),
        }
    }
}

/// Why another process's pool could not be imported.
#[derive(thiserror::Error)]
pub enum ViewError {
    /// It is gone: its owner ended and its last message was dropped.
    #[error("the pool {0} no longer exists")]
    Gone(PathBuf),
    /// It cannot be mapped or is not a pool.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// This process has no access to its memory.
    #[error(transparent)]
    Domain(DomainError),
}

situ_layout::debug_as_text!(ViewError);

impl From<DomainError> for ViewError {
    fn from(error: DomainError) -> Self {
        match error {
            DomainError::Memory(error) => Self::Memory(error),
            error => Self::Domain(error),
        }
    }
}
