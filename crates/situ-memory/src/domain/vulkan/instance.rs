//! The Vulkan loader, the one instance of this process, and the devices behind it.

use std::ffi::CStr;
use std::sync::OnceLock;

use ash::vk;

/// What a device must have beyond Vulkan 1.2.
const NEEDED: &[&CStr] = &[ash::khr::external_memory_fd::NAME];

/// A device of this machine.
pub struct Found {
    pub physical: vk::PhysicalDevice,
    pub name: String,
    /// Whether it can be used, or why not.
    pub usable: Result<(), String>,
    /// A processor that emulates a device: Mesa's lavapipe.
    pub software: bool,
    /// Whether it can import pages of the host.
    pub host_pages: bool,
}

struct Library {
    // Never unloaded: drivers keep thread-local state whose destructors lie in their code.
    _entry: ash::Entry,
    instance: ash::Instance,
    devices: Vec<Found>,
}

/// Opened once and kept to the end of the process.
fn library() -> Result<&'static Library, String> {
    static LIBRARY: OnceLock<Result<Library, String>> = OnceLock::new();
    LIBRARY.get_or_init(load).as_ref().map_err(Clone::clone)
}

/// The instance.
pub fn instance() -> Result<&'static ash::Instance, String> {
    library().map(|library| &library.instance)
}

/// The devices, in the order of their numbers.
pub fn devices() -> Result<&'static [Found], String> {
    library().map(|library| library.devices.as_slice())
}

fn load() -> Result<Library, String> {
    const ADVICE: &str =
        "install libvulkan1 and a driver (the GPU's, or mesa-vulkan-drivers for one on the CPU)";
    // SAFETY: every Vulkan program runs the loader's initialization; `Library` keeps it loaded for ever.
    let entry = unsafe { ash::Entry::load() }
        .map_err(|error| format!("the Vulkan loader is not there ({error}); {ADVICE}"))?;
    let application = vk::ApplicationInfo::default()
        .application_name(c"situ")
        .engine_name(c"situ")
        .api_version(vk::API_VERSION_1_2);
    let create = vk::InstanceCreateInfo::default().application_info(&application);
    // SAFETY: `create` and what it points to live across the call.
    let instance = unsafe { entry.create_instance(&create, None) }
        .map_err(|error| format!("Vulkan cannot be started ({error}); {ADVICE}"))?;
    // SAFETY: the instance is valid.
    let physical = unsafe { instance.enumerate_physical_devices() }
        .map_err(|error| format!("Vulkan's devices cannot be listed ({error}); {ADVICE}"))?;
    let mut devices: Vec<((u32, [u8; 16]), Found)> =
        physical.into_iter().map(|physical| examine(&instance, physical)).collect();
    if devices.is_empty() {
        return Err(format!("there is no Vulkan device; {ADVICE}"));
    }
    // The loader's order depends on the environment. This order is the same in all processes with the same
    // drivers.
    devices.sort_by_key(|device| device.0);
    let devices = devices.into_iter().map(|(_, found)| found).collect();
    Ok(Library { _entry: entry, instance, devices })
}

/// Examines a device: its place in the order, and its capabilities.
fn examine(instance: &ash::Instance, physical: vk::PhysicalDevice) -> ((u32, [u8; 16]), Found) {
    let mut identity = vk::PhysicalDeviceIDProperties::default();
    let mut host = vk::PhysicalDeviceExternalMemoryHostPropertiesEXT::default();
    let mut properties =
        vk::PhysicalDeviceProperties2::default().push_next(&mut identity).push_next(&mut host);
    // SAFETY: the device belongs to the instance; the chain lives across the call. Structures of extensions
    // that the device does not have are left as they are.
    unsafe { instance.get_physical_device_properties2(physical, &mut properties) };
    let properties = properties.properties;
    let kind = properties.device_type;
    let rank = match kind {
        vk::PhysicalDeviceType::DISCRETE_GPU => 0,
        vk::PhysicalDeviceType::INTEGRATED_GPU => 1,
        vk::PhysicalDeviceType::VIRTUAL_GPU => 2,
        vk::PhysicalDeviceType::OTHER => 3,
        _ => 4,
    };
    let name = properties
        .device_name_as_c_str()
        .unwrap_or(c"a device without a name")
        .to_string_lossy()
        .into_owned();
    // SAFETY: the device belongs to the instance.
    let extensions = unsafe { instance.enumerate_device_extension_properties(physical) }.unwrap_or_default();
    let has = |wanted: &CStr| {
        extensions
            .iter()
            .any(|extension| extension.extension_name_as_c_str().is_ok_and(|name| name == wanted))
    };
    let usable = usable(instance, physical, &name, properties.api_version, &has);
    let host_pages = has(ash::ext::external_memory_host::NAME)
        && (1..=4096).contains(&host.min_imported_host_pointer_alignment);
    let software = kind == vk::PhysicalDeviceType::CPU;
    ((rank, identity.device_uuid), Found { physical, name, usable, software, host_pages })
}

fn usable(
    instance: &ash::Instance,
    physical: vk::PhysicalDevice,
    name: &str,
    version: u32,
    has: &dyn Fn(&CStr) -> bool,
) -> Result<(), String> {
    let lacks = |what: &str| Err(format!("{name} lacks {what}; a newer driver may have it"));
    if version < vk::API_VERSION_1_2 {
        return lacks("Vulkan 1.2");
    }
    if let Some(missing) = NEEDED.iter().find(|extension| !has(extension)) {
        return lacks(&missing.to_string_lossy());
    }
    let mut features12 = vk::PhysicalDeviceVulkan12Features::default();
    let mut features = vk::PhysicalDeviceFeatures2::default().push_next(&mut features12);
    // SAFETY: the device belongs to the instance and supports Vulkan 1.2; the chain lives across the call.
    unsafe { instance.get_physical_device_features2(physical, &mut features) };
    if features12.timeline_semaphore == vk::FALSE {
        return lacks("timeline semaphores");
    }
    if features12.buffer_device_address == vk::FALSE {
        return lacks("addresses of buffers");
    }
    let info = vk::PhysicalDeviceExternalBufferInfo::default()
        .usage(super::memory::USAGE)
        .handle_type(super::memory::HANDLE);
    let mut external = vk::ExternalBufferProperties::default();
    // SAFETY: as above.
    unsafe { instance.get_physical_device_external_buffer_properties(physical, &info, &mut external) };
    let wanted = vk::ExternalMemoryFeatureFlags::EXPORTABLE | vk::ExternalMemoryFeatureFlags::IMPORTABLE;
    if !external.external_memory_properties.external_memory_features.contains(wanted) {
        return lacks("buffers that are exported and imported by descriptor");
    }
    Ok(())
}
