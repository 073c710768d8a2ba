//! What a memory domain is, and the host domain.

use std::fmt;
use std::path::Path;

use crate::mapping::MemoryError;
use crate::pool::{PoolOptions, PoolOwner, PoolView, ViewError};

/// A kind of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u32)]
pub enum DomainKind {
    /// Shared memory of the host.
    Host = 0,
    /// A device that is emulated in host memory which the CPU may not touch.
    Emulated = 1,
    /// A Vulkan device.
    Vulkan = 2,
    /// A CUDA device.
    Cuda = 3,
}

impl DomainKind {
    /// The kind that a number in shared memory stands for.
    pub fn from_number(number: u32) -> Option<Self> {
        [Self::Host, Self::Emulated, Self::Vulkan, Self::Cuda].into_iter().find(|kind| *kind as u32 == number)
    }
}

/// Which memory: its kind, and its number among those of that kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DomainId {
    /// The kind of memory.
    pub kind: DomainKind,
    /// The device's number; 0 for the host.
    pub number: u32,
}

/// The host's shared memory.
pub const HOST: DomainId = DomainId { kind: DomainKind::Host, number: 0 };

impl fmt::Display for DomainId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            DomainKind::Host => return f.write_str("host"),
            DomainKind::Emulated => "emulated",
            DomainKind::Vulkan => "vulkan",
            DomainKind::Cuda => "cuda",
        };
        write!(f, "{kind}:{}", self.number)
    }
}

/// What a domain's memory can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// The CPU may load from and store to it.
    pub host_access: bool,
    /// A pool outlives the process that made it, as long as somebody has it imported.
    pub outlives_owner: bool,
    /// Work on it completes in stream order and signals a fence.
    pub streams: bool,
}

/// A kind of memory that messages can live in.
///
/// The head of a message always lies in host shared memory; its body lies in a pool of the domain that its publisher
/// chose. A pool is created by its owner and imported by everybody else.
pub trait Domain: Send + Sync {
    /// Which memory this is.
    fn id(&self) -> DomainId;

    /// What it can do.
    fn capabilities(&self) -> Capabilities;

    /// Creates a pool: `control` is the path of its control file, beside which the domain may put files of its own.
    fn create_pool(&self, control: &Path, options: &PoolOptions) -> Result<PoolOwner, MemoryError>;

    /// Imports a pool that another process created under `control`.
    fn import_pool(&self, control: &Path) -> Result<PoolView, ViewError>;

    /// Copies host bytes into a slot of a pool of this domain, at `offset` from the beginning of the pool's memory.
    fn copy_from_host(&self, pool: &PoolOwner, offset: usize, bytes: &[u8]) -> Result<(), MemoryError>;

    /// Copies bytes of a pool of this domain to host memory.
    fn copy_to_host(&self, pool: &PoolView, offset: usize, bytes: &mut [u8]) -> Result<(), MemoryError>;
}

/// The host's shared memory: files in a memory file system, mapped read-only by everybody but their owner.
#[derive(Debug, Clone, Copy, Default)]
pub struct HostDomain;

impl Domain for HostDomain {
    fn id(&self) -> DomainId {
        HOST
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { host_access: true, outlives_owner: true, streams: false }
    }

    fn create_pool(&self, control: &Path, options: &PoolOptions) -> Result<PoolOwner, MemoryError> {
        PoolOwner::create(control, options)
    }

    fn import_pool(&self, control: &Path) -> Result<PoolView, ViewError> {
        PoolView::open(control)
    }

    fn copy_from_host(&self, pool: &PoolOwner, offset: usize, bytes: &[u8]) -> Result<(), MemoryError> {
        let target = pool.range(offset, bytes.len())?;
        // SAFETY: `range` checked that the target lies within the pool's mapping, which only its owner writes; a
        // caller's slice cannot overlap memory that the owner has not handed out.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), target, bytes.len()) };
        Ok(())
    }

    fn copy_to_host(&self, pool: &PoolView, offset: usize, bytes: &mut [u8]) -> Result<(), MemoryError> {
        let source = pool.range(offset, bytes.len())?;
        // SAFETY: `range` checked that the source lies within the pool's read-only mapping.
        unsafe { std::ptr::copy_nonoverlapping(source, bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }
}
