//! What a memory domain is: memory, the streams that work on it, and the words in which both are spoken of.
//!
//! ```text
//!   owner                                            importer (another process)
//!   domain.create(..) -> Memory --export--> descriptor --import--> Memory
//!   domain.stream()   -> Stream: copies, signals                   Stream: waits, copies
//!                               \------- Fence: a word in host shared memory -------/
//! ```
//!
//! `spec/domain.md` says the same in prose. Whatever implements [`Domain`] must pass the conformance suite
//! (`tests/conformance`), which runs against every domain of this crate.

use std::any::Any;
use std::fmt;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use crate::os::beneath::Beneath;
use crate::os::mapping::MemoryError;
use crate::sync::fence::Fence;

/// A kind of memory, by its number in the formats. Numbers below 1024 are Situ's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DomainKind(u32);

impl DomainKind {
    /// Shared memory of the host.
    pub const HOST: Self = Self(0);
    /// A device that is emulated in host memory which the CPU may not touch.
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

/// Which memory: its kind, and its number among those of that kind. Written `cuda:0`.
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

/// How memory comes to another process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// It is a file beside the pool's control file: whoever can open it has it, also after its owner's death.
    File,
    /// By a descriptor that the living owner hands out.
    Descriptor,
}

/// How work on a stream waits for work of another process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StreamOrder {
    /// The host waits, then enqueues: nothing overlaps.
    Host,
    /// A thread of the stream looks at the words and hands what waits for them to the device: the caller does not wait, and
    /// work of other streams goes on.
    Watched,
    /// Events that both processes know.
    Events,
    /// The device itself waits for a word in host shared memory, and writes one.
    Words,
}

/// What a domain's memory can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// The CPU may load from and store to it.
    pub host_access: bool,
    /// A pool outlives the process that made it, as long as somebody has it imported.
    pub outlives_owner: bool,
    /// How it comes to another process.
    pub sharing: Sharing,
    /// How streams of several processes are ordered.
    pub order: StreamOrder,
}

/// Why a domain could not do what it was asked.
#[derive(Debug, thiserror::Error)]
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
    /// The device is lost: nothing that was on it can be used any more.
    #[error("domain {domain} is lost: {reason}; leave its topics and register again")]
    Lost {
        /// The domain.
        domain: DomainId,
        /// What the driver answered.
        reason: String,
    },
    /// A range reaches out of the memory.
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
        /// Whose memory it is.
        found: DomainId,
    },
    /// Work did not complete in time.
    #[error("domain {domain} has not completed its work after {waited:?}")]
    TimedOut {
        /// The domain.
        domain: DomainId,
        /// How long it was waited.
        waited: Duration,
    },
    /// A file of host memory cannot be made or used.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

/// What memory is asked for.
#[derive(Debug, Clone)]
pub struct MemoryRequest {
    /// At most so many bytes. Domains whose memory has a price from the start may take it piece by piece
    /// ([`Memory::back`]).
    pub size: u64,
    /// Permission bits of files.
    pub mode: u32,
    /// The group of files, if not the process' own.
    pub group: Option<u32>,
}

/// A kind of memory that bodies of messages can live in.
///
/// The head of a message always lies in host shared memory; its body lies in a pool of the domain that its publisher
/// chose. Implementations are cheap handles: what they open is shared and stays open as long as memory or streams of
/// theirs live.
pub trait Domain: Send + Sync + fmt::Debug {
    /// Which memory this is.
    fn id(&self) -> DomainId;

    /// What people call it, for instance the device's name.
    fn name(&self) -> String;

    /// What it can do.
    fn capabilities(&self) -> Capabilities;

    /// Makes memory. With [`Sharing::File`] it is a new file at `place`; others ignore that.
    fn create(&self, place: &Beneath, request: &MemoryRequest) -> Result<Arc<dyn Memory>, DomainError>;

    /// Imports memory that another process made and exported: for reading, as far as the domain can tell the
    /// difference. `size` is what the pool's header says, and the descriptor may be anything: there must be
    /// as much, or, with [`Sharing::File`], using a range that the file does not have must be an error
    /// ([`Memory::host`], work of streams).
    fn import(&self, descriptor: OwnedFd, size: u64) -> Result<Arc<dyn Memory>, DomainError>;

    /// A new queue of work.
    fn stream(&self) -> Result<Arc<dyn Stream>, DomainError>;

    /// Whether [`Stream::copy`] reads memory of that other domain without going through host memory.
    fn reaches(&self, other: DomainId) -> bool {
        other == self.id()
    }

    /// Its streams are going to wait for fences that lie in the same memory as this one, or to complete them: what that needs is made now. Making it
    /// may wait for the device, which may by then wait for a fence.
    fn expect(&self, _fence: &Fence) {}

    /// Whether its streams copy faster from and to host memory that is [registered](Self::register).
    fn registers(&self) -> bool {
        false
    }

    /// Registers whole pages of host memory with the driver: until the result is dropped, copies from and to them take no detour. They have memory
    /// behind them, and keep it. No page is registered twice at a time.
    ///
    /// What is registered stays mapped, also after the result is dropped, if the driver cannot let go of it at once.
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

/// Memory of a domain, as its owner or an importer has it. Dropping it unmaps it; its bytes live as long as anybody has
/// them (see [`Capabilities::outlives_owner`]).
pub trait Memory: Send + Sync + fmt::Debug {
    /// The domain that it belongs to.
    fn domain(&self) -> DomainId;

    /// How many bytes there are, with and without memory behind them.
    fn size(&self) -> u64;

    /// The address of the first byte as work on the domain's streams sees it; where the CPU may touch the
    /// memory, ask [`host`](Self::host).
    fn address(&self) -> u64;

    /// Where a range begins for the CPU; nothing where the CPU may not touch the memory. An error if the
    /// range lies outside, or has no memory behind it although it should. The address stays good as long as
    /// this lives, but another call may give another one: what is beside the range need not lie beside that
    /// address. An importer may only read.
    fn host(&self, offset: u64, len: u64) -> Result<Option<*mut u8>, DomainError>;

    /// Where an address of the memory, as [`host`](Self::host) gives them, lies in it.
    fn offset_of(&self, address: u64) -> Option<u64> {
        address.checked_sub(self.address()).filter(|offset| *offset <= self.size())
    }

    /// Makes sure that a range that another process lends has memory behind it, so that reading it neither takes memory nor fails for
    /// want of it. What was found once is not looked for again. Nothing to do where memory is taken as a whole.
    fn find(&self, offset: u64, len: u64) -> Result<(), DomainError> {
        check(self.domain(), self.size(), offset, len)
    }

    /// Sees to it that a range has one address from now on, whichever parts of it get memory later.
    fn keep_place(&self, offset: u64, len: u64) -> Result<(), DomainError> {
        check(self.domain(), self.size(), offset, len)
    }

    /// Gives a range real memory: running out is an error here, not when it is used. Only the owner may; an importer is
    /// refused, also for an empty range.
    fn back(&self, offset: u64, len: u64) -> Result<(), DomainError>;

    /// Gives the memory behind a range back, as far as that is possible. Its bytes are lost.
    fn unback(&self, offset: u64, len: u64);

    /// A descriptor by which another process can import it; nothing for [`Sharing::File`].
    fn export(&self) -> Result<Option<OwnedFd>, DomainError>;

    /// The implementation, for the domain that it came from.
    fn as_any(&self) -> &dyn Any;
}

/// A queue of work on a domain: done in order, and not waited for.
pub trait Stream: Send + Sync + fmt::Debug {
    /// The domain that it works on.
    fn domain(&self) -> DomainId;

    /// Enqueues a copy of host bytes into memory of this domain.
    ///
    /// # Safety
    /// `from` must be readable for `len` bytes and unchanged until the stream has passed the copy; nobody else may use the
    /// target meanwhile.
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
    /// `to` must be writable for `len` bytes, and nobody may use it until the stream has passed the copy.
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

    /// Enqueues waiting for a fence. Where the order is [`StreamOrder::Host`], the call itself waits, at most `patience`.
    fn wait(&self, fence: &Fence, patience: Duration) -> Result<(), DomainError>;

    /// Enqueues completing a fence, after everything that was enqueued before.
    fn signal(&self, fence: &Fence) -> Result<(), DomainError>;

    /// Enqueues completing the fence of a copy, after everything that was enqueued before, for others who are going to read the copy.
    /// If `source`, the fence of what was copied, is poisoned by then, what was copied is garbage: the copy's is poisoned instead.
    /// `kept` is what the copy needs; it is dropped when the stream has passed, at the latest when the stream itself is.
    ///
    /// After an error the copy's fence is poisoned, and what was kept is kept for ever, because the copy may be under way.
    ///
    /// Unless a domain has something better, the call waits for what was enqueued.
    fn complete_copy(
        &self,
        fence: &Fence,
        source: Option<&Fence>,
        kept: Box<dyn Any + Send>,
    ) -> Result<(), DomainError> {
        const PATIENCE: Duration = Duration::from_secs(30);
        if let Err(error) = self.synchronize(PATIENCE) {
            fence.poison();
            std::mem::forget(kept);
            return Err(error);
        }
        fence.complete_unless_poisoned(source);
        Ok(())
    }

    /// Waits until everything that was enqueued is done, at most for `patience`.
    fn synchronize(&self, patience: Duration) -> Result<(), DomainError>;

    /// The implementation, for those who enqueue kernels of their own.
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
