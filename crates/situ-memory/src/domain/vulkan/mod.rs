//! The `vulkan` domain: memory of a Vulkan device, shared by opaque descriptors. The loader is found at run
//! time, so a program that may use Vulkan also runs on machines without it.
//!
//! ```text
//!   instance.rs   the loader, the instance, the devices and the order of their numbers
//!   device.rs     an open device: its queues, which kinds of memory to use, errors
//!   memory.rs     a pool's memory: one block, exported and imported; and what a descriptor must be like
//!   pages.rs      pages of the host, registered or imported for one copy
//!   page_table.rs the pages that a device knows, by address
//!   transfer.rs   command buffers, staging
//!   stream.rs     a queue of work with a thread that executes it in order
//! ```
//!
//! A pool is one block of device memory. It costs from the start, so [`Memory::back`] only checks the range.
//!
//! The order of streams is [`StreamOrder::Watched`]. A thread of the stream watches the words of fences and
//! submits the work that waits for them to the device. It completes fences when the device has told it that
//! the work is done.

mod device;
mod instance;
mod memory;
mod page_table;
mod pages;
mod stream;
mod transfer;

use std::any::Any;
use std::os::fd::OwnedFd;
use std::sync::Arc;

pub use ash;

pub use memory::VulkanMemory;
pub use page_table::HostPages;
pub use stream::VulkanStream;

use crate::domain::traits::{
    Capabilities, Domain, DomainError, DomainId, DomainKind, HOST, Memory, MemoryRequest, Sharing, Stream,
    StreamOrder,
};
use crate::os::beneath::Beneath;
use device::Device;
use pages::Registration;

/// The domain with this number.
fn id(number: u32) -> DomainId {
    DomainId { kind: DomainKind::VULKAN, number }
}

/// A Vulkan device. Cheap to clone. The device is opened at the first use, once in a process, and closed with
/// the last memory and stream on it.
#[derive(Clone)]
pub struct VulkanDomain {
    number: u32,
    name: String,
    /// Whether it can import pages of the host.
    host_pages: bool,
    open: Arc<std::sync::OnceLock<Arc<Device>>>,
}

impl std::fmt::Debug for VulkanDomain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "VulkanDomain({}, {:?})", self.number, self.name)
    }
}

/// The handles that programs need to enqueue work of their own: see [`VulkanStream::submit`].
pub struct VulkanHandles<'a> {
    /// The instance.
    pub instance: &'a ash::Instance,
    /// The physical device.
    pub physical: ash::vk::PhysicalDevice,
    /// The device.
    pub device: &'a ash::Device,
    /// The family of the queues that streams submit to. It supports compute and transfer.
    pub queue_family: u32,
}

impl VulkanDomain {
    /// The devices of this machine that Situ can use, or why there is none.
    pub fn all() -> Result<Vec<Self>, DomainError> {
        let absent = |reason: String| DomainError::Absent { domain: id(0), reason };
        let found = instance::devices().map_err(absent)?;
        let usable: Vec<Self> =
            (0..found.len() as u32).filter_map(|number| Self::find(number).ok()).collect();
        match found.iter().find_map(|device| device.usable.clone().err()) {
            Some(reason) if usable.is_empty() => Err(absent(reason)),
            _ => Ok(usable),
        }
    }

    /// The device with this number. Real devices come before emulated ones.
    pub fn find(number: u32) -> Result<Self, DomainError> {
        let absent = |reason: String| DomainError::Absent { domain: id(number), reason };
        let found = instance::devices().map_err(absent)?;
        let device = found.get(number as usize).ok_or_else(|| {
            absent(format!("there are {} Vulkan devices, numbered from 0; see `situ doctor`", found.len()))
        })?;
        device.usable.clone().map_err(absent)?;
        Ok(Self { number, name: device.name.clone(), host_pages: device.host_pages, open: Arc::default() })
    }

    fn device(&self) -> Result<&Arc<Device>, DomainError> {
        if let Some(device) = self.open.get() {
            return Ok(device);
        }
        let device = Device::open(self.number)?;
        Ok(self.open.get_or_init(|| device))
    }

    /// The handles of Vulkan, for pipelines of the program's own. They stay valid while this domain, or
    /// memory or a stream of it, lives.
    pub fn handles(&self) -> Result<VulkanHandles<'_>, DomainError> {
        let device = self.device()?;
        Ok(VulkanHandles {
            instance: instance::instance()
                .map_err(|reason| DomainError::Absent { domain: self.id(), reason })?,
            physical: device.physical,
            device: &device.raw,
            queue_family: device.queue_family,
        })
    }

    /// Counters of the device's use of host pages.
    pub fn host_pages(&self) -> Result<HostPages, DomainError> {
        Ok(self.device()?.host_pages.counts())
    }
}

impl Domain for VulkanDomain {
    fn id(&self) -> DomainId {
        id(self.number)
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            host_access: false,
            // A descriptor keeps the block, also after its maker's death.
            outlives_owner: true,
            sharing: Sharing::Descriptor,
            order: StreamOrder::Watched,
        }
    }

    fn create(&self, _place: &Beneath, request: &MemoryRequest) -> Result<Arc<dyn Memory>, DomainError> {
        Ok(Arc::new(VulkanMemory::create(self.device()?.clone(), request.size)?))
    }

    fn import(&self, descriptor: OwnedFd, size: u64) -> Result<Arc<dyn Memory>, DomainError> {
        Ok(Arc::new(VulkanMemory::import(self.device()?.clone(), descriptor, size)?))
    }

    fn stream(&self) -> Result<Arc<dyn Stream>, DomainError> {
        Ok(Arc::new(VulkanStream::new(self.device()?.clone())?))
    }

    /// Its own memory, and the host's: the device itself reads host pages that it can import.
    fn reaches(&self, other: DomainId) -> bool {
        other == self.id() || other == HOST
    }

    fn registers(&self) -> bool {
        self.host_pages
    }

    /// Copies from and to registered pages need no import. Work under way keeps them, and their memory, until
    /// it is done.
    fn register(
        &self,
        memory: &Arc<dyn Memory>,
        offset: u64,
        len: u64,
    ) -> Result<Box<dyn Any + Send>, DomainError> {
        Ok(Box::new(Registration::new(self.device()?, memory, offset, len)?))
    }
}
