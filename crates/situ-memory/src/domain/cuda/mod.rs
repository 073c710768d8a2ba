//! The `cuda` domain: memory of an NVIDIA GPU. The driver's library is loaded at run time, so a program that
//! may use CUDA also runs on machines without it. Only the driver is needed.
//!
//! ```text
//!   driver.rs   the library, devices and their primary contexts, errors
//!   memory.rs   a pool's memory: a block of cuMemCreate, exported as a descriptor, or else legacy IPC
//!   fence_mapping.rs  fence words, registered with the driver; what is deferred while a stream waits
//!   stream_pool.rs, stream_supply.rs  the driver's streams for our streams, with pinned memory
//!   stream.rs   a CUDA stream: copies, and waits and writes of words that the device does itself
//! ```
//!
//! A pool is one block of device memory, a multiple of the driver's granularity (2 MiB). It costs from the
//! start, so [`Memory::back`] only checks the range.
//!
//! **Order of streams**: [`StreamOrder::Words`] if the device has 64-bit stream memory operations and can
//! register host memory, else [`StreamOrder::Host`]. With the latter, the call waits, and a function that the
//! driver calls completes fences.
//!
//! Rules of CUDA for programs that enqueue work of their own:
//! * **While a stream waits for a fence, the driver may wait in some calls.** Every thread that needs one of
//!   the driver's locks then waits, too. The calls are `cudaFree`, `cudaFreeHost`, `cudaHostUnregister` and
//!   `cudaDeviceSynchronize`, perhaps `cudaMalloc`, `cudaHostAlloc` and `cudaHostRegister`, and anything on
//!   the default stream. If this process is to complete the fence, it may wait for ever. Situ defers such
//!   calls of its own, but cannot defer the program's. Make memory, streams, publishers and subscribers
//!   before work begins. Let a caching allocator (as PyTorch's) warm up, and do not empty its cache
//!   meanwhile.
//! * Load kernels before anything waits for a fence (`CUDA_MODULE_LOADING=EAGER`). The first launch of a
//!   kernel that is loaded lazily may wait for the whole context, and holds its lock.
//! * Streams share hardware queues, eight of them unless `CUDA_DEVICE_MAX_CONNECTIONS` says otherwise (at
//!   most 32). A stream that waits for a fence may block others of the same process that share its queue. A
//!   process must therefore not make many streams wait for fences that it completes itself.
//! * A call that enqueues waits when the driver's queue is full, at about a thousand commands. A copy is one
//!   command; from or to host memory that is not registered, two for each 4 MiB.
//!   `CUDA_SCALE_LAUNCH_QUEUES=4x` makes the queue larger.
//! * CUDA does not survive `fork`: a child must not use its parent's handles. Start programs instead, or fork
//!   before CUDA is used.
//! * All processes must see the same devices in the same order (`CUDA_VISIBLE_DEVICES`).

mod driver;
mod fence_mapping;
mod memory;
mod stream;
mod stream_pool;
mod stream_supply;

use std::any::Any;
use std::ffi::c_void;
use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock};

pub use fence_mapping::HostRegistration;
pub use memory::CudaMemory;
pub use stream::CudaStream;

use crate::domain::traits::{
    Capabilities, Domain, DomainError, DomainId, DomainKind, HOST, Memory, MemoryRequest, Sharing, Stream,
    StreamOrder,
};
use crate::os::beneath::Beneath;
use crate::sync::fence::Fence;
use driver::{Device, Facts};

/// The domain with this number.
fn id(number: u32) -> DomainId {
    DomainId { kind: DomainKind::CUDA, number }
}

/// A CUDA device. Cheap to clone. Its context, which costs some hundred milliseconds and megabytes, is made
/// at the first use. It is the primary context, which the CUDA runtime uses too.
#[derive(Debug, Clone)]
pub struct CudaDomain {
    number: u32,
    facts: Facts,
    open: Arc<OnceLock<Arc<Device>>>,
}

impl CudaDomain {
    /// The devices of this machine, or why there is none.
    pub fn all() -> Result<Vec<Self>, DomainError> {
        (0..driver::count()?).map(Self::find).collect()
    }

    /// The device with this number in CUDA's order.
    pub fn find(number: u32) -> Result<Self, DomainError> {
        Ok(Self { number, facts: Facts::of(number)?, open: Arc::default() })
    }

    fn device(&self) -> Result<&Arc<Device>, DomainError> {
        if let Some(device) = self.open.get() {
            return Ok(device);
        }
        let device = Device::open(self.number, &self.facts)?;
        Ok(self.open.get_or_init(|| device))
    }

    /// The device's attributes as name and value, for reports to users.
    pub fn attributes(&self) -> Vec<(&'static str, i64)> {
        self.facts.attributes()
    }

    /// The device's primary context, a `CUcontext`. It stays valid while this domain, or memory or a stream
    /// of it, lives.
    pub fn context(&self) -> Result<*mut c_void, DomainError> {
        Ok(self.device()?.context().cast())
    }

    /// Uses a stream of the program's, a `CUstream` of this device's primary context, as a stream of Situ.
    /// Dropping the result does not destroy it.
    ///
    /// # Safety
    /// The stream must live as long as the result.
    pub unsafe fn adopt(&self, stream: *mut c_void) -> Result<Arc<CudaStream>, DomainError> {
        // SAFETY: by the caller's promise.
        Ok(Arc::new(unsafe { CudaStream::adopt(self.device()?.clone(), stream.cast()) }?))
    }

    /// Registers a range of host memory with the driver, once. Until the result is dropped, the device reads
    /// and writes it without a detour. The range must be backed, and stay so ([`Memory::unback`]): the device
    /// would go on with the old pages.
    pub fn register_host(
        &self,
        memory: &Arc<dyn Memory>,
        offset: u64,
        len: u64,
    ) -> Result<HostRegistration, DomainError> {
        HostRegistration::new(self.device()?.clone(), memory, offset, len)
    }
}

impl Domain for CudaDomain {
    fn id(&self) -> DomainId {
        id(self.number)
    }

    fn name(&self) -> String {
        self.facts.name.clone()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            host_access: false,
            // A block lives while any process has a descriptor or a mapping of it. Legacy IPC ends with its
            // owner.
            outlives_owner: self.facts.descriptors,
            sharing: Sharing::Descriptor,
            order: if self.facts.words { StreamOrder::Words } else { StreamOrder::Host },
        }
    }

    fn create(&self, _place: &Beneath, request: &MemoryRequest) -> Result<Arc<dyn Memory>, DomainError> {
        Ok(Arc::new(CudaMemory::create(self.device()?.clone(), request.size)?))
    }

    fn import(&self, descriptor: OwnedFd, size: u64) -> Result<Arc<dyn Memory>, DomainError> {
        Ok(Arc::new(CudaMemory::import(self.device()?.clone(), descriptor, size)?))
    }

    fn stream(&self) -> Result<Arc<dyn Stream>, DomainError> {
        Ok(Arc::new(CudaStream::new(self.device()?.clone())?))
    }

    /// Its own memory, the host's, and that of devices that it can access.
    fn reaches(&self, other: DomainId) -> bool {
        let peer = |number: u32| {
            other.kind == DomainKind::CUDA && driver::reaches(self.number, number).unwrap_or(false)
        };
        other == self.id() || other == HOST || peer(other.number)
    }

    fn expect(&self, fence: &Fence) {
        if self.facts.words
            && let Ok(device) = self.device()
            && let Ok(_entered) = device.enter()
        {
            // If this fails now, the stream that needs it reports why.
            let _ = fence_mapping::pointer(device, fence);
        }
    }

    fn registers(&self) -> bool {
        self.facts.registers
    }

    /// See [`register_host`](Self::register_host). It is released when no other code has the memory, and no
    /// stream of this process waits for a fence.
    fn register(
        &self,
        memory: &Arc<dyn Memory>,
        offset: u64,
        len: u64,
    ) -> Result<Box<dyn Any + Send>, DomainError> {
        Ok(Box::new(self.register_host(memory, offset, len)?.lasting()))
    }
}
