//! A pool: memory of a domain that one process owns and others read, and the slots it is cut into.
//!
//! The format is `spec/pool.md`. Only the owner allocates and frees, and what it needs for that lives in its own
//! memory: nobody else can corrupt it, and there is no lock to die with. What others need to find a slot's bytes is
//! the directory, which they map read-only and whose entries they check before use. Directory and controls lie in host
//! shared memory whatever the domain: nothing about a slot is ever stored where the CPU may not look.

mod format;
mod free_list;
mod growing;
mod owner;
mod ring;
mod size_class;
mod size_classes;
mod table;
mod view;

use std::path::PathBuf;

use crate::domain::traits::DomainError;
use crate::os::mapping::MemoryError;

pub use format::{PoolHeader, Strategy};
pub use owner::PoolOwner;
pub use size_class::{class_of, class_size};
pub use view::{Lent, PoolMetadata, PoolView};

pub(crate) use format::{malformed, system};

/// The unit of allocation in bytes: a cache line.
pub const GRANULE: usize = 64;

/// What slots of memory that the CPU may not touch are aligned to, in bytes: enough for every kind of access of a device.
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
    /// At most so many slots; rounded up to a multiple of 64, at most 65,536.
    pub slots: u32,
    /// At most so many bytes, at most 256 GiB. Host memory is not used before it is allocated.
    pub capacity: u64,
    /// Whether slots are to be had that grow in their place ([`PoolOwner::allocate_growing`]): only with size
    /// classes, in memory that is a file. The file then has room for them without having memory: `capacity`
    /// limits the memory, not the file.
    pub grows: bool,
    /// How slots are allocated.
    pub strategy: Strategy,
    /// Permission bits of the files.
    pub mode: u32,
    /// The group of the files, if not the process' own.
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

/// Why a slot could not be allocated.
#[derive(Debug, thiserror::Error)]
pub enum AllocateError {
    /// The message can never fit.
    #[error(
        "a message of {size} bytes is larger than the pool's capacity of {capacity} bytes; raise the capacity"
    )]
    TooLarge {
        /// What was asked for, in bytes.
        size: u64,
        /// What the pool can hold at most.
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
        /// The most slots there can be.
        slots: u32,
        /// Bytes of memory behind the pool's slots.
        bytes: u64,
        /// The most bytes there can be.
        capacity: u64,
    },
    /// A slot has been lent with less room than it should grow to now.
    #[error(
        "the slot was lent to grow to {room} bytes, and {size} are needed; ask for as much when it is lent"
    )]
    NoRoom {
        /// What is needed, in bytes.
        size: u64,
        /// How large the slot can become.
        room: u64,
    },
    /// The system has no memory left.
    #[error(transparent)]
    Memory(MemoryError),
    /// The device has no memory left, or is lost.
    #[error(transparent)]
    Domain(DomainError),
}

impl From<DomainError> for AllocateError {
    fn from(error: DomainError) -> Self {
        match error {
            DomainError::Memory(error) => Self::Memory(error),
            error => Self::Domain(error),
        }
    }
}

/// Why another process' pool could not be imported.
#[derive(Debug, thiserror::Error)]
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

impl From<DomainError> for ViewError {
    fn from(error: DomainError) -> Self {
        match error {
            DomainError::Memory(error) => Self::Memory(error),
            error => Self::Domain(error),
        }
    }
}
