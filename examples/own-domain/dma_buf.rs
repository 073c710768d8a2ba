//! A memory domain of the application: a `dma-buf`, which drivers of devices import without a copy.
//!
//! `/dev/udmabuf` makes a `dma-buf` of the pages of a sealed memory file. The CPU uses the file's mapping,
//! and a camera, a display or a network card the `dma-buf`. Machines without that file have no such domain,
//! and the error says so. The kernel pins all pages from the start, and by default no more than 64 MiB of one
//! `dma-buf` (`/sys/module/udmabuf/parameters/size_limit_mb`): set the publisher's capacity, or fixed slots.

use std::any::Any;
use std::ffi::c_int;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::{MemfdFlags, SealFlags};
use situ::memory::{
    Access, Beneath, Capabilities, Domain, DomainError, DomainId, DomainKind, ImmediateStream, Mapping,
    Memory, MemoryError, MemoryRequest, PageOptions, PageOutcome, Sharing, Stream, StreamOrder, check_range,
    find_memory, prefer_pages,
};

/// Numbers from 1024 on are free. All who share the memory must mean the same by it.
pub const DMA_BUF: DomainId = DomainId { kind: DomainKind::from_number(1025), number: 0 };

const DEVICE: &str = "/dev/udmabuf";
/// The magic number of the file system that a `dma-buf` belongs to.
const DMA_BUF_MAGIC: i64 = 0x444d_4142;
/// `_IOW('u', 0x42, struct udmabuf_create)`.
const UDMABUF_CREATE: libc::c_ulong = 0x4018_7542;
const UDMABUF_FLAGS_CLOEXEC: u32 = 1;

/// `struct udmabuf_create`.
#[repr(C)]
struct Create {
    memfd: c_int,
    flags: u32,
    offset: u64,
    size: u64,
}

fn system(action: &'static str, source: impl Into<std::io::Error>) -> DomainError {
    MemoryError::System { action, path: PathBuf::from(DEVICE), source: source.into() }.into()
}

fn refused(action: &str, reason: &str) -> DomainError {
    DomainError::Refused { domain: DMA_BUF, action: action.to_owned(), reason: reason.to_owned() }
}

/// The domain: the device that makes `dma-buf`s.
#[derive(Debug, Clone)]
pub struct DmaBufDomain {
    device: Arc<File>,
}

impl DmaBufDomain {
    /// Opens the device, if this machine has it.
    pub fn open() -> Result<Self, DomainError> {
        let device = File::options().read(true).write(true).open(DEVICE).map_err(|error| {
            let reason = format!(
                "{DEVICE} cannot be opened ({error}); load the module `udmabuf`, or get access to it"
            );
            DomainError::Absent { domain: DMA_BUF, reason }
        })?;
        Ok(Self { device: Arc::new(device) })
    }

    /// The `dma-buf` of the first `size` bytes of a sealed file.
    fn dma_buf_of(&self, file: &File, size: u64) -> Result<File, DomainError> {
        let create = Create { memfd: file.as_raw_fd(), flags: UDMABUF_FLAGS_CLOEXEC, offset: 0, size };
        // SAFETY: the device reads the structure, which lives until the call returns.
        let made = unsafe { libc::ioctl(self.device.as_raw_fd(), UDMABUF_CREATE, &raw const create) };
        if made < 0 {
            return Err(system("make a dma-buf with", std::io::Error::last_os_error()));
        }
        // SAFETY: the call has returned a new descriptor, which no other code has.
        Ok(unsafe { File::from_raw_fd(made) })
    }
}

impl Domain for DmaBufDomain {
    fn id(&self) -> DomainId {
        DMA_BUF
    }

    fn name(&self) -> String {
        "dma-buf".to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            host_access: true,
            outlives_owner: true,
            sharing: Sharing::Descriptor,
            order: StreamOrder::Host,
        }
    }

    fn create(&self, _place: &Beneath, request: &MemoryRequest) -> Result<Arc<dyn Memory>, DomainError> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file =
            rustix::fs::memfd_create("situ", flags).map_err(|error| system("create memory for", error))?;
        let file = File::from(file);
        file.set_len(request.size).map_err(|error| system("size memory for", error))?;
        // The device requires the first seal, and refuses to share a file that can no longer be written.
        rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)
            .map_err(|error| system("seal memory for", error))?;
        find_memory(file.as_fd(), 0, request.size).map_err(|error| system("find memory for", error))?;
        let dma_buf = self.dma_buf_of(&file, request.size)?;
        let mapping = map(&file, request.size, Access::ReadWrite)?;
        Ok(Arc::new(DmaBufMemory { mapping, dma_buf, is_owned: true }))
    }

    fn import(&self, descriptor: OwnedFd, size: u64) -> Result<Arc<dyn Memory>, DomainError> {
        // It may be anything: believe what the kernel says of it. No process can shorten a dma-buf.
        let mut dma_buf = File::from(descriptor);
        let system_of =
            rustix::fs::fstatfs(&dma_buf).map_err(|error| system("look at a descriptor for", error))?;
        if system_of.f_type != DMA_BUF_MAGIC {
            return Err(refused("import memory", "it is no dma-buf"));
        }
        if dma_buf.seek(SeekFrom::End(0)).map_err(|error| system("look at a dma-buf of", error))? < size {
            return Err(refused("import memory", "it is shorter than its pool says"));
        }
        let mapping = map(&dma_buf, size, Access::Read)?;
        Ok(Arc::new(DmaBufMemory { mapping, dma_buf, is_owned: false }))
    }

    fn stream(&self) -> Result<Arc<dyn Stream>, DomainError> {
        Ok(Arc::new(ImmediateStream::new(DMA_BUF)))
    }
}

fn map(file: &File, size: u64, access: Access) -> Result<Mapping, DomainError> {
    let len = usize::try_from(size).map_err(|_| refused("map", "larger than the address space"))?;
    Mapping::new(file.as_fd(), 0, len, access).map_err(|error| system("map memory of", error))
}

/// A `dma-buf`, and its bytes as the CPU sees them.
#[derive(Debug)]
pub struct DmaBufMemory {
    mapping: Mapping,
    dma_buf: File,
    is_owned: bool,
}

impl DmaBufMemory {
    /// The `dma-buf`, for the driver that is going to use it: offsets in it are those of the pool.
    pub fn dma_buf(&self) -> &File {
        &self.dma_buf
    }
}

impl Memory for DmaBufMemory {
    fn domain(&self) -> DomainId {
        DMA_BUF
    }

    fn size(&self) -> u64 {
        self.mapping.len() as u64
    }

    fn address(&self) -> u64 {
        self.mapping.base() as u64
    }

    fn host(&self, offset: u64, len: u64) -> Result<Option<*mut u8>, DomainError> {
        check_range(self, offset, len)?;
        Ok(Some(self.mapping.base().wrapping_add(offset as usize)))
    }

    fn prefer(&self, pages: &PageOptions) -> Result<PageOutcome, DomainError> {
        // SAFETY: the range is this mapping.
        Ok(unsafe { prefer_pages(self.mapping.base(), self.mapping.len(), pages) })
    }

    fn back(&self, offset: u64, len: u64) -> Result<(), DomainError> {
        check_range(self, offset, len)?;
        // The pages are there from the start.
        if self.is_owned { Ok(()) } else { Err(refused("write", "the memory belongs to another process")) }
    }

    /// The device has pinned the pages: they stay.
    fn unback(&self, _offset: u64, _len: u64) {}

    fn export(&self) -> Result<Option<OwnedFd>, DomainError> {
        let copy = self.dma_buf.try_clone().map_err(|error| system("export memory of", error))?;
        Ok(Some(copy.into()))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
