//! What a memory domain is: memory, the streams that work on it, and the terms that describe both.
//!
//! ```text
//!   owner                                            importer (another process)
//!   domain.create(..) -> Memory --export--> descriptor --import--> Memory
//!   domain.stream()   -> Stream: copies, signals                   Stream: waits, copies
//!                               \------- Fence: a word in host shared memory -------/
//! ```
//!
//! `spec/domain.md` describes the same in prose. Every implementation of [`Domain`] must pass the conformance
//! suite (`tests/conformance`), which runs against every domain of this crate.

use std::any::Any;
use std::fmt;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use crate::os::beneath::Beneath;
use crate::os::mapping::MemoryError;
use crate::os::pages::{PageOptions, PageOutcome};
use crate::sync::fence::Fence;

/// A kind of memory, by its number in the formats. Numbers below 1024 are Situ's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DomainKind(u32);

impl DomainKind {
    /// Shared memory of the host.
    pub const HOST: Self = Self(0);
    /// A device that is emulated in host memory, which the CPU may not touch.
    pub const EMULATED: Self = Self(1);
    /// A Vulkan device.
    pub const VULKAN: Self = Self(2);
    /// A CUDA device.
    pub const CUDA: Self = Self(3);
    /// The first number that a domain outside of Situ may have.
    pub const FIRST_OF_OTHERS: u32 = 1024;

    /// The kind with this number.
    pub const fn from_number(number: u32) -> Self {
        Self(number)
    }

    /// Its number.
    pub const fn number(self) -> u32 {
        self.0
    }
}

impl fmt::Display for DomainKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::HOST => f.write_str("host"),
            Self::EMULATED => f.write_str("emulated"),
            Self::VULKAN => f.write_str("vulkan"),
            Self::CUDA => f.write_str("cuda"),
            Self(number) => write!(f, "kind{number}"),
        }
    }
}

/// Identifies memory: its kind, and its number within that kind. Written `cuda:0`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DomainId {
    /// The kind of memory.
    pub kind: DomainKind,
    /// The device's number; 0 for the host.
    pub number: u32,
}

/// The host's shared memory.
pub const HOST: DomainId = DomainId { kind: DomainKind::HOST, number: 0 };

impl fmt::Display for DomainId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            DomainKind::HOST => write!(f, "host"),
            kind => write!(f, "{kind}:{}", self.number),
        }
    }
}

/// How another process gets the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// It is a file beside the pool's control file: every process that can open the file has it, also after
    /// its owner's death.
    File,
    /// By a descriptor that the living owner hands out.
    Descriptor,
}

/// How work on a stream waits for work of another process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StreamOrder {
    /// The host waits, then enqueues: nothing overlaps.
    Host,
    /// A thread of the stream polls the words, and hands work to the device when its word is reached. The
    /// caller does not wait, and work of other streams goes on.
    Watched,
    /// By events that both processes have.
    Events,
    /// The device itself waits for a word in host shared memory, and writes one.
    Words,
}

/// The capabilities of a domain's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// The CPU may load from and store to it.
    pub host_access: bool,
    /// A pool outlives the process that made it, while any process has it imported.
    pub outlives_owner: bool,
    /// How another process gets it.
    pub sharing: Sharing,
    /// How streams of several processes are ordered.
    pub order: StreamOrder,
}

/// Why an operation of a domain failed.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum DomainError {
    /// This process has no such domain.
    #[error("domain {domain} is absent: {reason}")]
    Absent {
        /// The domain.
        domain: DomainId,
        /// Why, and what to do about it.
        reason: String,
    },
    /// The device or its driver refused.
    #[error("domain {domain} cannot {action}: {reason}")]
    Refused {
        /// The domain.
        domain: DomainId,
        /// What was tried, for instance "allocate 4194304 bytes".
        action: String,
        /// What the driver answered.
        reason: String,
    },
    /// The device is lost: nothing on it can be used any more.
    #[error("domain {domain} is lost: {reason}; leave its topics and register again")]
    Lost {
        /// The domain.
        domain: DomainId,
        /// What the driver answered.
        reason: String,
    },
    /// A range does not lie within the memory.
    #[error("bytes {offset}+{len} lie outside of the {size} bytes of this memory of domain {domain}")]
    OutOfRange {
        /// The domain.
        domain: DomainId,
        /// Where the range begins.
        offset: u64,
        /// Its length in bytes.
        len: u64,
        /// The memory's size in bytes.
        size: u64,
    },
    /// Memory of another domain was given, or of another implementation.
    #[error("memory of domain {found} was given to domain {domain}, which cannot reach it")]
    Foreign {
        /// The domain that was asked.
        domain: DomainId,
        /// The domain of the memory.
        found: DomainId,
    },
    /// Work did not complete in time.
    #[error("domain {domain} has not completed its work after {waited:?}")]
    TimedOut {
        /// The domain.
        domain: DomainId,
        /// How long the caller waited.
        waited: Duration,
    },
    /// A file of host memory cannot be made or used.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

situ_layout::debug_as_text!(DomainError);

/// A request for memory.
#[derive(Debug, Clone)]
pub struct MemoryRequest {
    /// The largest number of bytes. Domains whose memory costs from the start may take it piece by piece
    /// ([`Memory::back`]).
    pub size: u64,
    /// Permission bits of files.
    pub mode: u32,
    /// The group of files, if not the process's own.
    pub group: Option<u32>,
}

/// A kind of memory that bodies of messages can live in.
///
/// The head of a message always lies in host shared memory. Its body lies in a pool of the domain that its
/// publisher chose. Implementations are cheap handles: what they open is shared, and stays open while their
/// memory or streams live.
pub trait Domain: Send + Sync + fmt::Debug {
    /// Which memory this is.
    fn id(&self) -> DomainId;

    /// Its name for users, for instance the device's name.
    fn name(&self) -> String;

    /// What it can do.
    fn capabilities(&self) -> Capabilities;

    /// Makes memory. With [`Sharing::File`] it is a new file at `place`; other domains ignore `place`.
    fn create(&self, place: &Beneath, request: &MemoryRequest) -> Result<Arc<dyn Memory>, DomainError>;

    /// Imports memory that another process made and exported: for reading, if the domain can enforce that.
    ///
    /// `size` is what the pool's header says, and the descriptor may be anything. The memory must have that
    /// size. With [`Sharing::File`] it may have less, but then using a range that the file does not have must
    /// be an error ([`Memory::host`], work of streams).
    fn import(&self, descriptor: OwnedFd, size: u64) -> Result<Arc<dyn Memory>, DomainError>;

    /// A new queue of work.
    fn stream(&self) -> Result<Arc<dyn Stream>, DomainError>;

    /// Whether [`Stream::copy`] reads memory of that other domain without going through host memory.
    fn reaches(&self, other: DomainId) -> bool {
        other == self.id()
    }

    /// Announces that its streams are going to wait for, or complete, fences in the same memory as this one.
    /// The domain makes what they need now. Doing it later could wait for the device, which may then be
    /// waiting for a fence.
    fn expect(&self, _fence: &Fence) {}

    /// Whether its streams copy faster from and to host memory that is [registered](Self::register).
    fn registers(&self) -> bool {
        false
    }

    /// Registers whole pages of host memory with the driver: until the result is dropped, copies from and to
    /// them take no detour. They have memory behind them, and keep it. No page is registered twice at a time.
    ///
    /// Registered memory stays mapped, also after the result is dropped, if the driver cannot release it at
    /// once.
    fn register(
        &self,
        _memory: &Arc<dyn Memory>,
        _offset: u64,
        _len: u64,
    ) -> Result<Box<dyn Any + Send>, DomainError> {
        Err(DomainError::Refused {
            domain: self.id(),
            action: "register host memory".to_owned(),
            reason: "it has no use for that".to_owned(),
        })
    }
}

/// Memory of a domain, as its owner or an importer uses it. Dropping it unmaps it. Its bytes live while any
/// process has them (see [`Capabilities::outlives_owner`]).
pub trait Memory: Send + Sync + fmt::Debug {
    /// The domain that it belongs to.
    fn domain(&self) -> DomainId;

    /// Its size in bytes, with and without memory behind them.
    fn size(&self) -> u64;

    /// The address of the first byte for work on the domain's streams. Where the CPU may touch the memory,
    /// use [`host`](Self::host).
    fn address(&self) -> u64;

    /// The CPU's address of a range; `None` where the CPU may not touch the memory. An error if the range
    /// lies outside, or has no memory behind it although it should.
    ///
    /// The address stays valid while this lives. Another call may return another address, so bytes beside the
    /// range need not lie beside that address. An importer may only read.
    fn host(&self, offset: u64, len: u64) -> Result<Option<*mut u8>, DomainError>;

    /// The offset of an address that [`host`](Self::host) has returned.
    fn offset_of(&self, address: u64) -> Option<u64> {
        address.checked_sub(self.address()).filter(|offset| *offset <= self.size())
    }

    /// Makes sure that a range that another process lends has memory behind it, so that reading it neither
    /// takes memory nor fails for lack of it. A range that was found once is not checked again. Nothing to do
    /// where memory is taken as a whole.
    fn find(&self, offset: u64, len: u64) -> Result<(), DomainError> {
        check(self.domain(), self.size(), offset, len)
    }

    /// Gives a range one fixed address, whichever parts of it get memory later.
    fn keep_place(&self, offset: u64, len: u64) -> Result<(), DomainError> {
        check(self.domain(), self.size(), offset, len)
    }

    /// Asks for a kind of pages for all memory that is given from now on. The owner's pool calls this once,
    /// before anything else. Memory works with any pages, so a refusal is a value and no error. A domain
    /// whose CPU may touch the memory can use [`prefer_pages`](crate::prefer_pages).
    fn prefer(&self, pages: &PageOptions) -> Result<PageOutcome, DomainError> {
        Ok(PageOutcome::unsupported(pages))
    }

    /// Gives a range real memory: a lack of memory is an error here, not at its first use. Only the owner may
    /// do this; an importer gets an error, also for an empty range.
    fn back(&self, offset: u64, len: u64) -> Result<(), DomainError>;

    /// Gives the memory behind a range back, if possible. Its bytes are lost.
    fn unback(&self, offset: u64, len: u64);

    /// A descriptor by which another process can import it; `None` for [`Sharing::File`].
    fn export(&self) -> Result<Option<OwnedFd>, DomainError>;

    /// The implementation, for the domain that it came from.
    fn as_any(&self) -> &dyn Any;
}

/// A queue of work on a domain: the work is done in order, and calls do not wait for it.
pub trait Stream: Send + Sync + fmt::Debug {
    /// The domain that it works on.
    fn domain(&self) -> DomainId;

    /// Enqueues a copy of host bytes into memory of this domain.
    ///
    /// # Safety
    /// `from` must be readable for `len` bytes and unchanged until the stream has passed the copy. No other
    /// code may use the target meanwhile.
    unsafe fn copy_from_host(
        &self,
        from: *const u8,
        to: &Arc<dyn Memory>,
        offset: u64,
        len: u64,
    ) -> Result<(), DomainError>;

    /// Enqueues a copy of bytes of this domain to host memory.
    ///
    /// # Safety
    /// `to` must be writable for `len` bytes, and no other code may use it until the stream has passed the
    /// copy.
    unsafe fn copy_to_host(
        &self,
        from: &Arc<dyn Memory>,
        offset: u64,
        to: *mut u8,
        len: u64,
    ) -> Result<(), DomainError>;

    /// Enqueues a copy from memory that this domain reaches (see [`Domain::reaches`]) into its own.
    fn copy(
        &self,
        from: &Arc<dyn Memory>,
        from_offset: u64,
        to: &Arc<dyn Memory>,
        to_offset: u64,
        len: u64,
    ) -> Result<(), DomainError>;

    /// Enqueues waiting for a fence. With [`StreamOrder::Host`] the call itself waits, for `timeout` at
    /// most.
    fn wait(&self, fence: &Fence, timeout: Duration) -> Result<(), DomainError>;

    /// Enqueues completing a fence, after all earlier work.
    fn signal(&self, fence: &Fence) -> Result<(), DomainError>;

    /// Enqueues completing the fence of a copy, after all earlier work, for other processes that are going to
    /// read the copy.
    ///
    /// If `source`, the fence of the copied bytes, is poisoned by then, the copy is garbage, and its fence is
    /// poisoned instead. `kept` is what the copy needs. It is dropped when the stream has passed, at the
    /// latest when the stream itself is dropped.
    ///
    /// After an error the copy's fence is poisoned, and `kept` is kept for ever, because the copy may be
    /// under way.
    ///
    /// This default waits for all enqueued work. A domain with a better way overrides it.
    fn complete_copy(
        &self,
        fence: &Fence,
        source: Option<&Fence>,
        kept: Box<dyn Any + Send>,
    ) -> Result<(), DomainError> {
        const COPY_TIMEOUT: Duration = Duration::from_secs(30);
        if let Err(error) = self.synchronize(COPY_TIMEOUT) {
            fence.poison();
            std::mem::forget(kept);
            return Err(error);
        }
        fence.complete_unless_poisoned(source);
        Ok(())
    }

    /// Waits until all enqueued work is done, for `timeout` at most.
    fn synchronize(&self, timeout: Duration) -> Result<(), DomainError>;

    /// The implementation, for programs that enqueue kernels of their own.
    fn as_any(&self) -> &dyn Any;
}

/// Checks that a range lies in a memory.
pub fn check_range(memory: &dyn Memory, offset: u64, len: u64) -> Result<(), DomainError> {
    check(memory.domain(), memory.size(), offset, len)
}

fn check(domain: DomainId, size: u64, offset: u64, len: u64) -> Result<(), DomainError> {
    match offset.checked_add(len) {
        Some(end) if end <= size => Ok(()),
        _ => Err(DomainError::OutOfRange { domain, offset, len, size }),
    }
}
