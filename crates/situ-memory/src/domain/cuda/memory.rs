//! Memory of a CUDA device: one mapped block, which other processes get as a descriptor.
//!
//! Where the driver cannot export blocks as descriptors, memory is shared by a legacy IPC handle. That is 64
//! bytes. They travel in a sealed file in memory, so sharing is by descriptor there too. Such memory ends
//! with its owner.

use std::any::Any;
use std::collections::HashMap;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::{Arc, Mutex, Weak};

use cudarc::driver::sys;
use rustix::fs::{FileType, MemfdFlags, SealFlags};

use super::driver::{Device, lock};
use super::fence_mapping;
use crate::domain::access::DeviceMemory;
use crate::domain::traits::{DomainError, DomainId, Memory};

/// Legacy blocks are whole ones of the allocator underneath, so that a handle names exactly one block of
/// ours.
const LEGACY_GRANULARITY: u64 = 2 << 20;
/// The first bytes of a descriptor with a legacy handle.
const LEGACY_MAGIC: [u8; 8] = *b"SITUCIPC";

/// Memory of a CUDA device, made by this process or imported.
#[derive(Debug)]
pub struct CudaMemory {
    device: Arc<Device>,
    size: u64,
    block: Block,
    /// Whether it was made here, and not imported.
    owned: bool,
}

#[derive(Debug)]
enum Block {
    /// A block of cuMemCreate, mapped.
    Mapped(Mapped),
    /// Memory of cuMemAlloc.
    Legacy(Arc<Legacy>),
    /// Another process's memory of cuMemAlloc.
    Opened(Opened),
}

/// A mapped block, and its handle if this process made it.
#[derive(Debug)]
struct Mapped {
    device: Arc<Device>,
    address: sys::CUdeviceptr,
    len: usize,
    handle: Option<sys::CUmemGenericAllocationHandle>,
}

#[derive(Debug)]
struct Legacy {
    device: Arc<Device>,
    address: sys::CUdeviceptr,
}

#[derive(Debug)]
struct Opened {
    device: Arc<Device>,
    address: sys::CUdeviceptr,
}

/// The legacy blocks of this process by their handles: a process cannot open its own handles.
static LEGACY: Mutex<Option<HashMap<[u8; 64], Weak<Legacy>>>> = Mutex::new(None);

/// A handle that is released unless it is kept.
struct Handle<'a> {
    _device: &'a Device,
    raw: sys::CUmemGenericAllocationHandle,
}

impl Drop for Handle<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is ours; mappings keep the block by themselves.
        let _ = unsafe { sys::cuMemRelease(self.raw) };
    }
}

impl CudaMemory {
    pub(super) fn create(device: Arc<Device>, size: u64) -> Result<Self, DomainError> {
        let action = format!("allocate {size} bytes");
        let _entered = device.enter()?;
        let block = if device.descriptors {
            let len = padded(&device, size, &action)?;
            let properties = properties(&device);
            let mut raw = 0;
            // SAFETY: `properties` lives across the call.
            device.check(&action, unsafe { sys::cuMemCreate(&mut raw, len, &properties, 0) })?;
            let handle = Handle { _device: &device, raw };
            let mut mapped = Mapped::new(&device, &handle, len, &action, true)?;
            std::mem::forget(handle);
            mapped.handle = Some(raw);
            Block::Mapped(mapped)
        } else {
            let len =
                round(size, LEGACY_GRANULARITY).ok_or_else(|| device.refuse(&action, "no such size"))?;
            let mut address = 0;
            // SAFETY: the context is current.
            device.check(&action, unsafe { sys::cuMemAlloc_v2(&mut address, len) })?;
            Block::Legacy(Arc::new(Legacy { device: device.clone(), address }))
        };
        drop(_entered);
        Ok(Self { device, size, block, owned: true })
    }

    pub(super) fn import(device: Arc<Device>, descriptor: OwnedFd, size: u64) -> Result<Self, DomainError> {
        let action = format!("import {size} bytes");
        let kind = rustix::fs::fstat(&descriptor)
            .map(|status| FileType::from_raw_mode(status.st_mode))
            .map_err(|error| device.refuse(&action, format!("the descriptor is broken: {error}")))?;
        let _entered = device.enter()?;
        let legacy = (kind == FileType::RegularFile).then(|| legacy_handle(&descriptor)).flatten();
        let block = match kind {
            _ if let Some(handle) = legacy => Self::import_legacy(&device, handle, size, &action)?,
            FileType::Fifo | FileType::Socket | FileType::Directory | FileType::Symlink => {
                return Err(device.refuse(&action, format!("the descriptor is a {kind:?}, not memory")));
            }
            // The driver recognizes its own descriptors.
            _ => Block::Mapped(import_block(&device, &descriptor, size, &action)?),
        };
        drop(_entered);
        Ok(Self { device, size, block, owned: false })
    }

    fn import_legacy(
        device: &Arc<Device>,
        handle: [u8; 64],
        size: u64,
        action: &str,
    ) -> Result<Block, DomainError> {
        let own = lock(&LEGACY).as_ref().and_then(|blocks| blocks.get(&handle)).and_then(Weak::upgrade);
        let (block, address) = match own {
            Some(own) => (Block::Legacy(own.clone()), own.address),
            None => {
                let ipc = sys::CUipcMemHandle { reserved: handle.map(|byte| byte as std::ffi::c_char) };
                let lazily = sys::CUipcMem_flags_enum::CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS as u32;
                let mut address = 0;
                // SAFETY: the context is current; the driver checks the handle.
                device.check(action, unsafe { sys::cuIpcOpenMemHandle_v2(&mut address, ipc, lazily) })?;
                (Block::Opened(Opened { device: device.clone(), address }), address)
            }
        };
        let (mut base, mut len) = (0, 0);
        // SAFETY: the address was given by the driver just now, or belongs to a block that is held.
        device.check(action, unsafe { sys::cuMemGetAddressRange_v2(&mut base, &mut len, address) })?;
        if base != address || (len as u64) < size {
            return Err(device.refuse(action, format!("the memory has {len} bytes only")));
        }
        Ok(block)
    }

    /// The device's address of the block: a `CUdeviceptr`.
    pub fn device_pointer(&self) -> u64 {
        match &self.block {
            Block::Mapped(mapped) => mapped.address,
            Block::Legacy(legacy) => legacy.address,
            Block::Opened(opened) => opened.address,
        }
    }
}

/// The legacy handle in a file.
fn legacy_handle(descriptor: &OwnedFd) -> Option<[u8; 64]> {
    let mut content = [0; 72];
    match rustix::io::pread(descriptor, &mut content, 0) {
        Ok(72) if content[..8] == LEGACY_MAGIC => content[8..].try_into().ok(),
        _ => None,
    }
}

/// The properties of new blocks.
fn properties(device: &Device) -> sys::CUmemAllocationProp {
    sys::CUmemAllocationProp {
        type_: sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        requestedHandleTypes: sys::CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        location: location(device.handle),
        win32HandleMetaData: std::ptr::null_mut(),
        allocFlags: sys::CUmemAllocationProp_st__bindgen_ty_1 {
            compressionType: 0,
            gpuDirectRDMACapable: 0,
            usage: 0,
            reserved: [0; 4],
        },
    }
}

fn location(device: sys::CUdevice) -> sys::CUmemLocation {
    sys::CUmemLocation { type_: sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, id: device }
}

/// The size of the block for `size` bytes. Owner and importers calculate the same.
fn padded(device: &Device, size: u64, action: &str) -> Result<usize, DomainError> {
    let properties = properties(device);
    let minimum = sys::CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_MINIMUM;
    let mut granularity = 0;
    // SAFETY: `properties` lives across the call.
    let result = unsafe { sys::cuMemGetAllocationGranularity(&mut granularity, &properties, minimum) };
    device.check(action, result)?;
    round(size, granularity as u64)
        .ok_or_else(|| device.refuse(action, "the size is 0, or larger than any device's memory"))
}

/// The next multiple; `None` for impossible sizes.
fn round(size: u64, granularity: u64) -> Option<usize> {
    if size == 0 || granularity == 0 {
        return None;
    }
    size.checked_next_multiple_of(granularity)
        .filter(|len| *len < 1 << 47)
        .and_then(|len| usize::try_from(len).ok())
}

/// Imports a block. The descriptor stays the caller's: the driver makes its own reference.
fn import_block(
    device: &Arc<Device>,
    descriptor: &OwnedFd,
    size: u64,
    action: &str,
) -> Result<Mapped, DomainError> {
    if !device.descriptors {
        return Err(device.refuse(action, "the device does not share memory by descriptor"));
    }
    let len = padded(device, size, action)?;
    let number = descriptor.as_raw_fd() as usize as *mut c_void;
    let kind = sys::CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    let mut raw = 0;
    // SAFETY: the descriptor is open across the call; the driver checks what it is. A descriptor is passed as
    // its number.
    device.check(action, unsafe { sys::cuMemImportFromShareableHandle(&mut raw, number, kind) })?;
    let handle = Handle { _device: device, raw };
    if let Some((kind, place)) = location_of(raw)
        && (kind, place) != (sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE as i32, device.handle)
    {
        let reason = format!(
            "the memory is on device {place} (a location of type {kind}): all processes must see the same devices in the same \
             order (CUDA_VISIBLE_DEVICES)"
        );
        return Err(device.refuse(action, reason));
    }
    // The driver refuses to map more than the block has.
    Mapped::new(device, &handle, len, action, false)
}

/// A block's location, if the driver returns it: its type and its number. As integers, because a driver may
/// be newer than our list of types.
fn location_of(handle: sys::CUmemGenericAllocationHandle) -> Option<(i32, i32)> {
    let mut found = MaybeUninit::<sys::CUmemAllocationProp>::zeroed();
    // SAFETY: the handle is the caller's; there is room for what the driver writes.
    let asked = unsafe { sys::cuMemGetAllocationPropertiesFromHandle(found.as_mut_ptr(), handle) };
    let location = found.as_ptr();
    // SAFETY: both lie in `found`, every byte of which has a value; they are read as what C has there, an
    // enum and an int.
    let (kind, place) = unsafe {
        (
            (&raw const (*location).location.type_).cast::<i32>().read(),
            (&raw const (*location).location.id).read(),
        )
    };
    (asked == sys::CUresult::CUDA_SUCCESS).then_some((kind, place))
}

impl Mapped {
    /// Maps a block. The mapping keeps the block, so the handle may be released.
    fn new(
        device: &Arc<Device>,
        handle: &Handle<'_>,
        len: usize,
        action: &str,
        writable: bool,
    ) -> Result<Self, DomainError> {
        let mut address = 0;
        // SAFETY: the driver chooses the address.
        device.check(action, unsafe { sys::cuMemAddressReserve(&mut address, len, 0, 0, 0) })?;
        // SAFETY: the range was just reserved; the handle is a block's, whose size the driver checks.
        let result = unsafe { sys::cuMemMap(address, len, 0, handle.raw, 0) };
        if let Err(error) = device.check(action, result) {
            // SAFETY: reserved above, nothing is mapped there.
            let _ = unsafe { sys::cuMemAddressFree(address, len) };
            return Err(error);
        }
        // From here on, dropping this unmaps the block.
        let mapped = Self { device: device.clone(), address, len, handle: None };
        use sys::CUmemAccess_flags::{CU_MEM_ACCESS_FLAGS_PROT_READ, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
        let allow = |accessors: &[sys::CUdevice], flags| {
            let access: Vec<_> = accessors
                .iter()
                .map(|accessor| sys::CUmemAccessDesc { location: location(*accessor), flags })
                .collect();
            // SAFETY: the range is mapped; the list lives across the call.
            unsafe { sys::cuMemSetAccess(address, len, access.as_ptr(), access.len()) }
        };
        // An importer only reads, but not every driver supports that. Peers may turn out to be unreachable.
        let all = device.accessors.as_slice();
        let mut tries = vec![];
        if !writable {
            tries.extend([(all, CU_MEM_ACCESS_FLAGS_PROT_READ), (&all[..1], CU_MEM_ACCESS_FLAGS_PROT_READ)]);
        }
        tries.extend([
            (all, CU_MEM_ACCESS_FLAGS_PROT_READWRITE),
            (&all[..1], CU_MEM_ACCESS_FLAGS_PROT_READWRITE),
        ]);
        let mut result = sys::CUresult::CUDA_ERROR_UNKNOWN;
        for (accessors, flags) in tries {
            result = allow(accessors, flags);
            if result == sys::CUresult::CUDA_SUCCESS {
                return Ok(mapped);
            }
        }
        device.check(action, result)?;
        Ok(mapped)
    }
}

// Streams keep the memory that their work uses until it is done. But the driver may wait for all of them in a
// release.

impl Drop for Mapped {
    fn drop(&mut self) {
        let (device, address, len, handle) = (self.device.clone(), self.address, self.len, self.handle);
        let end = move || {
            let Ok(_entered) = device.enter_anyway() else { return };
            // SAFETY: mapped and reserved by `new`; no work uses it any more.
            unsafe {
                let _ = sys::cuMemUnmap(address, len);
                let _ = sys::cuMemAddressFree(address, len);
                if let Some(handle) = handle {
                    let _ = sys::cuMemRelease(handle);
                }
            }
        };
        fence_mapping::leave(end, None);
    }
}

impl Drop for Legacy {
    fn drop(&mut self) {
        let (device, address) = (self.device.clone(), self.address);
        let end = move || {
            let Ok(_entered) = device.enter_anyway() else { return };
            // SAFETY: allocated by `create`; as above.
            let _ = unsafe { sys::cuMemFree_v2(address) };
        };
        fence_mapping::leave(end, None);
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        let (device, address) = (self.device.clone(), self.address);
        let end = move || {
            let Ok(_entered) = device.enter_anyway() else { return };
            // SAFETY: opened by `import_legacy`; as above.
            let _ = unsafe { sys::cuIpcCloseMemHandle(address) };
        };
        fence_mapping::leave(end, None);
    }
}

impl DeviceMemory for CudaMemory {
    fn owned(&self) -> bool {
        self.owned
    }
}

impl Memory for CudaMemory {
    fn domain(&self) -> DomainId {
        self.device.id()
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn address(&self) -> u64 {
        self.device_pointer()
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
        const ACTION: &str = "export memory";
        let _entered = self.device.enter()?;
        match &self.block {
            Block::Mapped(Mapped { handle: Some(handle), .. }) => {
                let kind = sys::CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
                let mut descriptor: std::ffi::c_int = -1;
                let target = (&raw mut descriptor).cast();
                // SAFETY: for this kind of handle the driver writes an int, the number of a new descriptor.
                let result = unsafe { sys::cuMemExportToShareableHandle(target, *handle, kind, 0) };
                self.device.check(ACTION, result)?;
                // SAFETY: it is new, and this process owns it.
                let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor) };
                // Programs that this process starts must not inherit it.
                let _ = rustix::io::fcntl_setfd(&descriptor, rustix::io::FdFlags::CLOEXEC);
                Ok(Some(descriptor))
            }
            Block::Legacy(legacy) if self.owned => {
                let mut ipc = sys::CUipcMemHandle { reserved: [0; 64] };
                // SAFETY: the address is that of an allocation.
                let result = unsafe { sys::cuIpcGetMemHandle(&mut ipc, legacy.address) };
                self.device.check(ACTION, result)?;
                let handle = ipc.reserved.map(|byte| byte as u8);
                let mut blocks = lock(&LEGACY);
                let blocks = blocks.get_or_insert_with(HashMap::new);
                blocks.retain(|_, block| block.strong_count() > 0);
                blocks.insert(handle, Arc::downgrade(legacy));
                let failed = |error: rustix::io::Errno| self.device.refuse(ACTION, error.to_string());
                let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
                let file = rustix::fs::memfd_create("situ-cuda", flags).map_err(failed)?;
                let content = [&LEGACY_MAGIC[..], &handle[..]].concat();
                rustix::io::pwrite(&file, &content, 0).map_err(failed)?;
                let seals = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
                rustix::fs::fcntl_add_seals(&file, seals).map_err(failed)?;
                Ok(Some(file))
            }
            _ => Err(self.device.refuse(ACTION, "it was imported: only its owner hands it out")),
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
