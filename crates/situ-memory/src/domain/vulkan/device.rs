//! An open Vulkan device: its queues, and which kinds of its memory to use.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use ash::vk;

use super::page_table::PageTable;
use super::{id, instance};
use crate::domain::traits::{DomainError, DomainId};
use crate::os::fork::Process;

/// The largest number of queues that are used: streams take turns.
const MAX_QUEUES: u32 = 4;

/// A device of this process. All domains, memory and streams with the same number share it.
pub struct Device {
    pub number: u32,
    /// Drivers do not survive a fork: a child makes no call.
    pub process: Process,
    pub physical: vk::PhysicalDevice,
    pub raw: ash::Device,
    pub queue_family: u32,
    /// A queue may be used by one thread at a time.
    queues: Vec<Mutex<vk::Queue>>,
    next_queue: AtomicUsize,
    pub external_memory: ash::khr::external_memory_fd::Device,
    /// `Some` only if the device can import host pages.
    pub host_memory: Option<ash::ext::external_memory_host::Device>,
    /// The host pages that the device knows.
    pub host_pages: PageTable,
    memory: vk::PhysicalDeviceMemoryProperties,
    /// The largest block in bytes.
    pub most: u64,
    /// The largest number of blocks.
    pub most_allocations: usize,
    /// Whether shared blocks must be made for one buffer.
    pub dedicated: bool,
    pub software: bool,
    /// Whether the device is lost: then nothing works on it any more.
    lost: AtomicBool,
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Device({})", self.number)
    }
}

/// The driver's result as an error of the domain.
pub fn refused(domain: DomainId, action: impl Into<String>, result: vk::Result) -> DomainError {
    if result == vk::Result::ERROR_DEVICE_LOST {
        return DomainError::Lost { domain, reason: result.to_string() };
    }
    let reason = match result {
        vk::Result::ERROR_OUT_OF_DEVICE_MEMORY => {
            "the device has no memory left: use smaller pools".to_owned()
        }
        vk::Result::ERROR_INVALID_EXTERNAL_HANDLE => {
            "the descriptor is no memory of this device and driver".to_owned()
        }
        other => other.to_string(),
    };
    DomainError::Refused { domain, action: action.into(), reason }
}

/// Locks, also after a panic: the guarded data is consistent at every step.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Device {
    /// The device with this number: the open one, or else a new one.
    pub fn open(number: u32) -> Result<Arc<Self>, DomainError> {
        static OPEN: Mutex<Option<HashMap<u32, Weak<Device>>>> = Mutex::new(None);
        let mut open = lock(&OPEN);
        let open = open.get_or_insert_with(HashMap::new);
        if let Some(device) = open.get(&number).and_then(Weak::upgrade) {
            return Ok(device);
        }
        let device = Arc::new(Self::new(number)?);
        open.insert(number, Arc::downgrade(&device));
        Ok(device)
    }

    fn new(number: u32) -> Result<Self, DomainError> {
        let absent = |reason: String| DomainError::Absent { domain: id(number), reason };
        let instance = instance::instance().map_err(absent)?;
        let devices = instance::devices().map_err(absent)?;
        let found = devices
            .get(number as usize)
            .ok_or_else(|| absent("there is no such Vulkan device".to_owned()))?;
        found.usable.clone().map_err(absent)?;
        let physical = found.physical;

        // SAFETY: the device belongs to the instance, here and below.
        let families = unsafe { instance.get_physical_device_queue_family_properties(physical) };
        // Compute implies transfer.
        let queue_family = families
            .iter()
            .position(|family| family.queue_flags.contains(vk::QueueFlags::COMPUTE) && family.queue_count > 0)
            .ok_or_else(|| absent(format!("{} has no queue for compute", found.name)))?;
        let queue_count = families[queue_family].queue_count.min(MAX_QUEUES);
        let queue_family = queue_family as u32;

        let priorities = [1.0; MAX_QUEUES as usize];
        let queues = [vk::DeviceQueueCreateInfo::default()
            .queue_family_index(queue_family)
            .queue_priorities(&priorities[..queue_count as usize])];
        let mut extensions = vec![ash::khr::external_memory_fd::NAME.as_ptr()];
        if found.host_pages {
            extensions.push(ash::ext::external_memory_host::NAME.as_ptr());
        }
        let mut features = vk::PhysicalDeviceVulkan12Features::default()
            .timeline_semaphore(true)
            .buffer_device_address(true);
        let create = vk::DeviceCreateInfo::default()
            .queue_create_infos(&queues)
            .enabled_extension_names(&extensions)
            .push_next(&mut features);
        // SAFETY: everything that `create` points to lives across the call.
        let raw = unsafe { instance.create_device(physical, &create, None) }
            .map_err(|result| refused(id(number), "open the device", result))?;

        let mut maintenance = vk::PhysicalDeviceMaintenance3Properties::default();
        let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut maintenance);
        // SAFETY: the chain lives across the call.
        unsafe { instance.get_physical_device_properties2(physical, &mut properties) };
        let most_allocations = properties.properties.limits.max_memory_allocation_count as usize;
        let info = vk::PhysicalDeviceExternalBufferInfo::default()
            .usage(super::memory::USAGE)
            .handle_type(super::memory::HANDLE);
        let mut external = vk::ExternalBufferProperties::default();
        // SAFETY: as above.
        unsafe { instance.get_physical_device_external_buffer_properties(physical, &info, &mut external) };
        let dedicated = external
            .external_memory_properties
            .external_memory_features
            .contains(vk::ExternalMemoryFeatureFlags::DEDICATED_ONLY);

        // SAFETY: the queues were requested above.
        let queues = (0..queue_count)
            .map(|index| Mutex::new(unsafe { raw.get_device_queue(queue_family, index) }))
            .collect();
        // SAFETY: the device belongs to the instance.
        let memory = unsafe { instance.get_physical_device_memory_properties(physical) };
        let external_memory = ash::khr::external_memory_fd::Device::new(instance, &raw);
        let host_memory =
            found.host_pages.then(|| ash::ext::external_memory_host::Device::new(instance, &raw));
        Ok(Self {
            number,
            process: Process::this(),
            physical,
            raw,
            queue_family,
            queues,
            next_queue: AtomicUsize::new(0),
            external_memory,
            host_memory,
            host_pages: PageTable::default(),
            memory,
            most_allocations,
            most: maintenance.max_memory_allocation_size,
            dedicated,
            software: found.software,
            lost: AtomicBool::new(false),
        })
    }

    /// The domain.
    pub fn id(&self) -> DomainId {
        id(self.number)
    }

    /// The driver's result as an error of the domain.
    pub fn refused(&self, action: impl Into<String>, result: vk::Result) -> DomainError {
        if result == vk::Result::ERROR_DEVICE_LOST {
            self.lost.store(true, Ordering::Relaxed);
        }
        refused(self.id(), action, result)
    }

    /// An error if the device is lost.
    pub fn check(&self) -> Result<(), DomainError> {
        if self.lost.load(Ordering::Relaxed) {
            return Err(refused(self.id(), "go on", vk::Result::ERROR_DEVICE_LOST));
        }
        Ok(())
    }

    /// The number of the queue that the next stream uses.
    pub fn take_queue(&self) -> usize {
        self.next_queue.fetch_add(1, Ordering::Relaxed) % self.queues.len()
    }

    /// Submits to a queue.
    ///
    /// # Safety
    /// As for `vkQueueSubmit`: everything that `submit` names is valid and not in use elsewhere.
    pub unsafe fn submit(&self, queue: usize, submit: vk::SubmitInfo<'_>) -> Result<(), DomainError> {
        let queue = lock(&self.queues[queue]);
        // SAFETY: by the caller's promise; the lock keeps other threads from the queue.
        unsafe { self.raw.queue_submit(*queue, &[submit], vk::Fence::null()) }
            .map_err(|result| self.refused("submit work", result))
    }

    /// The first kind of memory out of `bits` that has all of `wanted`, and if possible all of `preferred`
    /// too.
    pub fn memory_type(
        &self,
        bits: u32,
        wanted: vk::MemoryPropertyFlags,
        preferred: vk::MemoryPropertyFlags,
    ) -> Option<u32> {
        let find = |flags: vk::MemoryPropertyFlags| {
            (0..self.memory.memory_type_count).find(|index| {
                bits & (1 << index) != 0
                    && self.memory.memory_types[*index as usize].property_flags.contains(flags)
            })
        };
        find(wanted | preferred).or_else(|| find(wanted))
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        if !self.process.is_this() {
            return;
        }
        // SAFETY: all memory and streams hold the device, and have waited for their work, so nothing is in
        // use.
        unsafe { self.raw.destroy_device(None) };
    }
}
