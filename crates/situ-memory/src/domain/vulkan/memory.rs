//! Memory of a Vulkan device: one buffer over one block, which other processes get as an opaque descriptor.
//!
//! Vulkan requires that owner and importer use the same kind of memory and the same size of the block. Both
//! calculate them from the size of the buffer.

use std::any::Any;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd};
use std::sync::Arc;

use ash::vk;
use rustix::fs::{FileType, OFlags, SealFlags};

use super::device::Device;
use crate::domain::access::DeviceMemory;
use crate::domain::traits::{DomainError, DomainId, Memory};

/// How memory is shared: by descriptors that only the same driver on the same device understands.
pub const HANDLE: vk::ExternalMemoryHandleTypeFlags = vk::ExternalMemoryHandleTypeFlags::OPAQUE_FD;

/// The usage of buffers over pools.
pub const USAGE: vk::BufferUsageFlags = vk::BufferUsageFlags::from_raw(
    vk::BufferUsageFlags::TRANSFER_SRC.as_raw()
        | vk::BufferUsageFlags::TRANSFER_DST.as_raw()
        | vk::BufferUsageFlags::STORAGE_BUFFER.as_raw()
        | vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS.as_raw(),
);

/// Memory of a Vulkan device, made by this process or imported.
pub struct VulkanMemory {
    device: Arc<Device>,
    buffer: vk::Buffer,
    block: vk::DeviceMemory,
    size: u64,
    address: u64,
    owned: bool,
}

impl std::fmt::Debug for VulkanMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VulkanMemory")
            .field("domain", &self.device.id())
            .field("size", &self.size)
            .field("owned", &self.owned)
            .finish_non_exhaustive()
    }
}

/// A buffer that is destroyed unless it gets its block.
struct Unbound<'a> {
    device: &'a Device,
    buffer: vk::Buffer,
    /// The block's size in bytes.
    size: u64,
    kind: u32,
}

impl Drop for Unbound<'_> {
    fn drop(&mut self) {
        // SAFETY: no other code has the buffer.
        unsafe { self.device.raw.destroy_buffer(self.buffer, None) };
    }
}

impl<'a> Unbound<'a> {
    fn new(device: &'a Device, size: u64, action: &str) -> Result<Self, DomainError> {
        let refuse =
            |reason: String| DomainError::Refused { domain: device.id(), action: action.to_owned(), reason };
        if size == 0 || size > device.most {
            return Err(refuse(format!("a block has from 1 to {} bytes on this device", device.most)));
        }
        let mut external = vk::ExternalMemoryBufferCreateInfo::default().handle_types(HANDLE);
        let create = vk::BufferCreateInfo::default()
            .size(size)
            .usage(USAGE)
            .sharing_mode(vk::SharingMode::EXCLUSIVE)
            .push_next(&mut external);
        // SAFETY: `create` lives across the call.
        let buffer = unsafe { device.raw.create_buffer(&create, None) }
            .map_err(|result| device.refused(action, result))?;
        let mut unbound = Self { device, buffer, size: 0, kind: 0 };
        // SAFETY: the buffer belongs to the device.
        let needed = unsafe { device.raw.get_buffer_memory_requirements(buffer) };
        if needed.size > device.most {
            return Err(refuse(format!("a block has at most {} bytes on this device", device.most)));
        }
        let kind = device.memory_type(
            needed.memory_type_bits,
            vk::MemoryPropertyFlags::empty(),
            vk::MemoryPropertyFlags::DEVICE_LOCAL,
        );
        unbound.size = needed.size;
        unbound.kind =
            kind.ok_or_else(|| refuse("no kind of its memory can hold shared buffers".to_owned()))?;
        Ok(unbound)
    }

    /// Allocates a block for the buffer; `import` is the descriptor to take it from, if any.
    fn allocate(&self, import: Option<i32>) -> Result<vk::DeviceMemory, vk::Result> {
        let mut dedicated = vk::MemoryDedicatedAllocateInfo::default().buffer(self.buffer);
        let mut addressed =
            vk::MemoryAllocateFlagsInfo::default().flags(vk::MemoryAllocateFlags::DEVICE_ADDRESS);
        let mut exported = vk::ExportMemoryAllocateInfo::default().handle_types(HANDLE);
        let mut imported = vk::ImportMemoryFdInfoKHR::default().handle_type(HANDLE);
        let mut allocate = vk::MemoryAllocateInfo::default()
            .allocation_size(self.size)
            .memory_type_index(self.kind)
            .push_next(&mut addressed);
        if self.device.dedicated {
            allocate = allocate.push_next(&mut dedicated);
        }
        allocate = match import {
            Some(descriptor) => {
                imported = imported.fd(descriptor);
                allocate.push_next(&mut imported)
            }
            None => allocate.push_next(&mut exported),
        };
        // SAFETY: the chain lives across the call.
        unsafe { self.device.raw.allocate_memory(&allocate, None) }
    }

    /// Binds the buffer to its block.
    fn bind(
        self,
        device: &Arc<Device>,
        block: vk::DeviceMemory,
        size: u64,
        owned: bool,
    ) -> Result<VulkanMemory, DomainError> {
        // SAFETY: both are new and the device's, and the block has the size and kind that the buffer
        // requires.
        if let Err(result) = unsafe { device.raw.bind_buffer_memory(self.buffer, block, 0) } {
            // SAFETY: no other code has the block.
            unsafe { device.raw.free_memory(block, None) };
            return Err(device.refused("use a block of memory", result));
        }
        let info = vk::BufferDeviceAddressInfo::default().buffer(self.buffer);
        // SAFETY: the buffer was made with a usage that gives it an address, and is bound.
        let address = unsafe { device.raw.get_buffer_device_address(&info) };
        let buffer = self.buffer;
        // From here on the memory destroys the buffer.
        std::mem::forget(self);
        Ok(VulkanMemory { device: device.clone(), buffer, block, size, address, owned })
    }
}

impl VulkanMemory {
    pub(super) fn create(device: Arc<Device>, size: u64) -> Result<Self, DomainError> {
        let action = format!("allocate {size} bytes");
        let unbound = Unbound::new(&device, size, &action)?;
        let block = unbound.allocate(None).map_err(|result| device.refused(action, result))?;
        unbound.bind(&device, block, size, true)
    }

    pub(super) fn import(device: Arc<Device>, descriptor: OwnedFd, size: u64) -> Result<Self, DomainError> {
        let action = format!("import {size} bytes");
        let unbound = Unbound::new(&device, size, &action)?;
        let descriptor = examine(&device, descriptor, unbound.size)
            .map_err(|reason| DomainError::Refused { domain: device.id(), action: action.clone(), reason })?;
        // The driver takes the descriptor if it succeeds, and must leave it open if it fails. Mesa 22.3's
        // lavapipe closes it then too. Closing it twice could close another file, so it is checked again
        // before.
        let Ok(before) = rustix::fs::fstat(&descriptor) else {
            return Err(device.refused(action, vk::Result::ERROR_INVALID_EXTERNAL_HANDLE));
        };
        let number = descriptor.into_raw_fd();
        let block = unbound.allocate(Some(number)).map_err(|result| {
            // SAFETY: borrowed only for this call; if it is closed, the call returns an error.
            let after = rustix::fs::fstat(unsafe { BorrowedFd::borrow_raw(number) });
            if after.is_ok_and(|after| (after.st_dev, after.st_ino) == (before.st_dev, before.st_ino)) {
                // SAFETY: it is the descriptor that was to be imported, and no other code owns it.
                drop(unsafe { OwnedFd::from_raw_fd(number) });
            }
            device.refused(action, result)
        })?;
        unbound.bind(&device, block, size, false)
    }

    /// The buffer over all of the memory, of usage transfer (both ways), storage, and device address.
    pub fn buffer(&self) -> vk::Buffer {
        self.buffer
    }

    /// The device that it is on.
    pub(super) fn device(&self) -> &Arc<Device> {
        &self.device
    }
}

/// Refuses descriptors that drivers cannot handle safely. The sender may have sent anything.
fn examine(device: &Device, descriptor: OwnedFd, block: u64) -> Result<OwnedFd, String> {
    let no = |what: &str| Err(format!("the descriptor is {what}, not memory"));
    let status =
        rustix::fs::fstat(&descriptor).map_err(|error| format!("the descriptor is broken: {error}"))?;
    match FileType::from_raw_mode(status.st_mode) {
        FileType::Fifo => return no("a pipe"),
        FileType::Socket => return no("a socket"),
        FileType::Directory => return no("a directory"),
        FileType::Symlink => return no("a link"),
        _ => {}
    }
    if !device.software {
        // A GPU's descriptors are checked by its kernel driver.
        return Ok(descriptor);
    }
    // Lavapipe's memory is a file in memory. It trusts the words at its beginning: the size of the mapping,
    // and the offset of the block in it. The file cannot be shortened, because it is sealed.
    let seals = rustix::fs::fcntl_get_seals(&descriptor);
    if !seals.is_ok_and(|seals| seals.contains(SealFlags::SHRINK)) {
        return no("a file that could be made shorter while it is mapped");
    }
    // Lavapipe reads from the position of the descriptor, which all importers share. Hence a descriptor with
    // a position of its own.
    let path = format!("/proc/self/fd/{}", descriptor.as_raw_fd());
    let own = rustix::fs::open(path, OFlags::RDWR | OFlags::CLOEXEC, rustix::fs::Mode::empty())
        .map_err(|error| format!("the descriptor cannot be opened: {error}"))?;
    let word = |at: u64| -> Result<u64, String> {
        let mut bytes = [0; 8];
        match rustix::io::pread(&own, &mut bytes, at) {
            Ok(8) => Ok(u64::from_le_bytes(bytes)),
            _ => Err("the descriptor's memory is too short".to_owned()),
        }
    };
    let (mapped, begin) = (word(0)?, word(8)?);
    let file = u64::try_from(status.st_size).unwrap_or(0);
    let fits = mapped <= file
        && (32..=65536).contains(&begin)
        && begin.checked_add(block).is_some_and(|end| end <= mapped)
        && word(begin - 8)? == begin;
    if fits { Ok(own) } else { Err(format!("the descriptor's memory is no block of {block} bytes")) }
}

impl DeviceMemory for VulkanMemory {
    fn owned(&self) -> bool {
        self.owned
    }
}

impl Memory for VulkanMemory {
    fn domain(&self) -> DomainId {
        self.device.id()
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn address(&self) -> u64 {
        self.address
    }

    fn host(&self, offset: u64, len: u64) -> Result<Option<*mut u8>, DomainError> {
        crate::domain::traits::check_range(self, offset, len)?;
        Ok(None)
    }

    fn back(&self, offset: u64, len: u64) -> Result<(), DomainError> {
        self.back_block(offset, len)
    }

    fn unback(&self, _offset: u64, _len: u64) {}

    fn export(&self) -> Result<Option<OwnedFd>, DomainError> {
        if !self.owned {
            return Err(self.not_owned("export memory", "it was imported: only its owner hands it out"));
        }
        let info = vk::MemoryGetFdInfoKHR::default().memory(self.block).handle_type(HANDLE);
        // SAFETY: the block was made for export.
        let descriptor = unsafe { self.device.external_memory.get_memory_fd(&info) }
            .map_err(|result| self.device.refused("export memory", result))?;
        // SAFETY: the driver gives a new descriptor, which this process owns.
        Ok(Some(unsafe { OwnedFd::from_raw_fd(descriptor) }))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for VulkanMemory {
    fn drop(&mut self) {
        if !self.device.process.is_this() {
            return;
        }
        // SAFETY: streams keep the memory that their work uses until it is done, so no work uses it any more.
        unsafe {
            self.device.raw.destroy_buffer(self.buffer, None);
            self.device.raw.free_memory(self.block, None);
        }
    }
}
