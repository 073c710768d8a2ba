//! Pages of the host as buffers of a device: registered while a mapping is used, or imported for one copy.
//!
//! Registered pages are found by their address, which belongs to that mapping meanwhile: a registration keeps
//! its memory mapped, and leaves the table before it releases it. Work under way keeps the pages, and the
//! pages keep their memory. If the process dies, the kernel ends all of that.

use std::ffi::c_void;
use std::sync::Arc;

use ash::vk;

use super::device::Device;
use super::page_table::{Import, Span};
use crate::domain::traits::{DomainError, Memory};

/// From this size on, importing pages for one copy is cheaper than copying them.
const IMPORT_FROM: u64 = 64 << 10;
const PAGE: usize = 4096;
/// After this many refusals, no more pages are imported for one copy.
const MAX_REFUSALS: u32 = 4;
const HANDLE: vk::ExternalMemoryHandleTypeFlags = vk::ExternalMemoryHandleTypeFlags::HOST_ALLOCATION_EXT;

/// Whole pages of this process as a buffer of the device. Work that uses them keeps them until it is done.
struct Pages {
    device: Arc<Device>,
    buffer: vk::Buffer,
    block: vk::DeviceMemory,
    /// Registered memory stays mapped while this lives. Dropped after the buffer is destroyed.
    _memory: Option<Arc<dyn Memory>>,
}

impl Drop for Pages {
    fn drop(&mut self) {
        if !self.device.process.is_this() {
            return;
        }
        // SAFETY: dropped when the work that uses them is done, or was never submitted.
        unsafe {
            self.device.raw.destroy_buffer(self.buffer, None);
            self.device.raw.free_memory(self.block, None);
        }
    }
}

/// These bytes, for a copy by the device. `None` if the device refuses them, or if copying them first costs
/// less.
///
/// They are mapped until the copy is done: the caller of the stream has promised that.
pub fn spans(device: &Arc<Device>, at: *const u8, len: u64) -> Option<Vec<Span>> {
    let table = &device.host_pages;
    let spans = table.find(at as usize, len).or_else(|| import_for_one_copy(device, at as usize, len))?;
    table.count_copy();
    Some(spans)
}

fn import_for_one_copy(device: &Arc<Device>, at: usize, len: u64) -> Option<Vec<Span>> {
    let table = &device.host_pages;
    if len < IMPORT_FROM || table.refusals() >= MAX_REFUSALS {
        return None;
    }
    let (first, size) = whole_pages(at, usize::try_from(len).ok()?)?;
    let imported = import(device, first, size, None).inspect_err(|_| table.count_refusal());
    Some(vec![imported.ok()?.span((at - first) as u64, len)])
}

/// The pages of these bytes: the address of the first one, and the size of all.
fn whole_pages(at: usize, len: usize) -> Option<(usize, usize)> {
    let first = at / PAGE * PAGE;
    Some((first, at.checked_add(len)?.checked_next_multiple_of(PAGE)? - first))
}

/// A range of host memory that copies find registered until this is dropped.
pub struct Registration {
    device: Arc<Device>,
    first: usize,
}

impl Registration {
    pub fn new(
        device: &Arc<Device>,
        memory: &Arc<dyn Memory>,
        offset: u64,
        len: u64,
    ) -> Result<Self, DomainError> {
        const ACTION: &str = "register host memory";
        device.check()?;
        let refuse = |reason: &str| DomainError::Refused {
            domain: device.id(),
            action: ACTION.to_owned(),
            reason: reason.to_owned(),
        };
        let begin = memory.host(offset, len)?.filter(|_| len > 0);
        // Mappings are whole pages.
        let pages = begin.and_then(|begin| whole_pages(begin as usize, len as usize));
        let Some((first, size)) = pages else {
            return Err(refuse("there is nothing that the CPU may touch"));
        };
        let pages = import(device, first, size, Some(memory.clone()))
            .map_err(|result| device.refused(ACTION, result))?;
        // Each import is an allocation, and a process has a limited number of them. Most of them are left to
        // the program.
        let limit = device.most_allocations / 4;
        device.host_pages.register(pages, limit).map_err(|unregistered| refuse(unregistered.reason()))?;
        Ok(Self { device: device.clone(), first })
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.device.host_pages.unregister(self.first);
    }
}

/// Imports whole pages of this process, which must be mapped while the result is used.
fn import(
    device: &Arc<Device>,
    first: usize,
    size: usize,
    memory: Option<Arc<dyn Memory>>,
) -> Result<Import, vk::Result> {
    let host = device.host_memory.as_ref().ok_or(vk::Result::ERROR_EXTENSION_NOT_PRESENT)?;
    let (pointer, bytes) = (first as *mut c_void, size as u64);
    let mut external = vk::ExternalMemoryBufferCreateInfo::default().handle_types(HANDLE);
    let create = vk::BufferCreateInfo::default()
        .size(bytes)
        .usage(vk::BufferUsageFlags::TRANSFER_SRC | vk::BufferUsageFlags::TRANSFER_DST)
        .push_next(&mut external);
    let mut kinds = vk::MemoryHostPointerPropertiesEXT::default();
    // SAFETY: the pages are mapped: they hold bytes that the caller may use. All arguments live across the
    // calls, and what was made is destroyed again if a later step fails.
    unsafe {
        let properties = host.fp().get_memory_host_pointer_properties_ext;
        properties(host.device(), HANDLE, pointer, &mut kinds).result()?;
        let buffer = device.raw.create_buffer(&create, None)?;
        let needed = device.raw.get_buffer_memory_requirements(buffer);
        let kind = device.memory_type(
            needed.memory_type_bits & kinds.memory_type_bits,
            vk::MemoryPropertyFlags::HOST_COHERENT,
            vk::MemoryPropertyFlags::HOST_CACHED,
        );
        let mut from =
            vk::ImportMemoryHostPointerInfoEXT::default().handle_type(HANDLE).host_pointer(pointer);
        let block = match kind.filter(|_| needed.size <= bytes) {
            Some(kind) => {
                let allocate = vk::MemoryAllocateInfo::default()
                    .allocation_size(bytes)
                    .memory_type_index(kind)
                    .push_next(&mut from);
                device.raw.allocate_memory(&allocate, None)
            }
            None => Err(vk::Result::ERROR_FEATURE_NOT_PRESENT),
        };
        let block = block.inspect_err(|_| device.raw.destroy_buffer(buffer, None))?;
        let pages = Pages { device: device.clone(), buffer, block, _memory: memory };
        device.raw.bind_buffer_memory(buffer, block, 0)?;
        device.host_pages.count_import();
        Ok(Import { first, size, buffer, keep: Arc::new(pages) })
    }
}
