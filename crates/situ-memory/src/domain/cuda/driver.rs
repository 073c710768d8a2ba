//! The CUDA driver: its library, devices, their primary contexts, and its errors.

use std::collections::HashMap;
use std::ffi::{CStr, c_int};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use cudarc::driver::sys::{self, CUdevice_attribute as Attribute, CUresult};

use super::id;
use super::stream_pool::StreamPool;
use crate::domain::traits::{DomainError, DomainId};
use crate::os::fork::Process;

/// The functions that this module calls. The binding panics where a function is missing, so `start` checks
/// for them first.
const NEEDED: &[&str] = &[
    "cuInit",
    "cuDriverGetVersion",
    "cuDeviceGet",
    "cuDeviceGetCount",
    "cuDeviceGetName",
    "cuDeviceGetAttribute",
    "cuDeviceCanAccessPeer",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuCtxPushCurrent_v2",
    "cuCtxPopCurrent_v2",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuMemCreate",
    "cuMemRelease",
    "cuMemMap",
    "cuMemUnmap",
    "cuMemSetAccess",
    "cuMemAddressReserve",
    "cuMemAddressFree",
    "cuMemGetAllocationGranularity",
    "cuMemGetAllocationPropertiesFromHandle",
    "cuMemExportToShareableHandle",
    "cuMemImportFromShareableHandle",
    "cuMemAlloc_v2",
    "cuMemFree_v2",
    "cuMemGetAddressRange_v2",
    "cuIpcGetMemHandle",
    "cuIpcOpenMemHandle_v2",
    "cuIpcCloseMemHandle",
    "cuMemHostAlloc",
    "cuMemFreeHost",
    "cuMemHostRegister_v2",
    "cuMemHostUnregister",
    "cuMemHostGetDevicePointer_v2",
    "cuPointerGetAttribute",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyDtoDAsync_v2",
    "cuStreamCreate",
    "cuStreamDestroy_v2",
    "cuStreamQuery",
    "cuStreamWaitValue64_v2",
    "cuStreamWriteValue64_v2",
    "cuLaunchHostFunc",
];

/// Loads the library and starts the driver, once. An error says what to do.
fn start() -> Result<(), String> {
    static STARTED: OnceLock<Result<(), String>> = OnceLock::new();
    STARTED
        .get_or_init(|| {
            // SAFETY: loading NVIDIA's driver library runs its initialization, as every CUDA program does.
            if !unsafe { sys::is_culib_present() } {
                return Err(
                    "the driver's library libcuda.so.1 is not there; install NVIDIA's driver".to_owned()
                );
            }
            // SAFETY: the library is there, and stays loaded.
            let library = unsafe { sys::culib() };
            let missing = NEEDED.iter().find(|name| {
                // SAFETY: the symbol is only looked for, not used.
                unsafe { library.get::<unsafe extern "C" fn()>(name.as_bytes()) }.is_err()
            });
            if let Some(missing) = missing {
                return Err(format!("the driver has no {missing}; Situ needs one for CUDA 11.7 or newer"));
            }
            // SAFETY: the function is there; called before any other.
            match unsafe { sys::cuInit(0) } {
                CUresult::CUDA_SUCCESS => Ok(()),
                CUresult::CUDA_ERROR_NO_DEVICE => Err("the driver finds no NVIDIA GPU".to_owned()),
                error => Err(format!("the driver does not start: {}", describe(error))),
            }
        })
        .clone()
}

/// The driver's name and text for an error.
pub fn describe(error: CUresult) -> String {
    let (mut name, mut text) = (std::ptr::null(), std::ptr::null());
    // SAFETY: both give static texts, or leave null for unknown errors; the library is loaded, because a call
    // of it returned the error.
    unsafe {
        let _ = sys::cuGetErrorName(error, &mut name);
        let _ = sys::cuGetErrorString(error, &mut text);
        let read = |text: *const std::ffi::c_char| {
            (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
        };
        match (read(name), read(text)) {
            (Some(name), Some(text)) => format!("{name}: {text}"),
            _ => format!("error {}", error as u32),
        }
    }
}

/// The number of devices.
pub fn count() -> Result<u32, DomainError> {
    let absent = |reason: String| DomainError::Absent { domain: id(0), reason };
    start().map_err(absent)?;
    let mut count = 0;
    // SAFETY: the driver has started.
    match unsafe { sys::cuDeviceGetCount(&mut count) } {
        CUresult::CUDA_SUCCESS if count > 0 => Ok(count as u32),
        CUresult::CUDA_SUCCESS => Err(absent("the driver finds no NVIDIA GPU".to_owned())),
        error => Err(absent(format!("devices cannot be counted: {}", describe(error)))),
    }
}

/// The driver's handle of a device.
fn handle(number: u32) -> Result<sys::CUdevice, DomainError> {
    let absent = |reason: String| DomainError::Absent { domain: id(number), reason };
    let there = count().map_err(|error| match error {
        DomainError::Absent { reason, .. } => absent(reason),
        error => error,
    })?;
    if number >= there {
        return Err(absent(format!("there are {there} CUDA devices, numbered from 0; see `situ doctor`")));
    }
    let mut device = 0;
    // SAFETY: the driver has started.
    match unsafe { sys::cuDeviceGet(&mut device, number as c_int) } {
        CUresult::CUDA_SUCCESS => Ok(device),
        error => Err(absent(describe(error))),
    }
}

/// Whether the first device can access memory of the second.
pub fn reaches(device: u32, memory: u32) -> Result<bool, DomainError> {
    let (device, memory) = (handle(device)?, handle(memory)?);
    let mut can = 0;
    // SAFETY: the driver has started; both are devices.
    let result = unsafe { sys::cuDeviceCanAccessPeer(&mut can, device, memory) };
    Ok(result == CUresult::CUDA_SUCCESS && can != 0)
}

/// What a device can do, found without making a context.
#[derive(Debug, Clone)]
pub struct Facts {
    device: sys::CUdevice,
    pub name: String,
    /// Streams can wait for and write 64-bit words of host memory.
    pub words: bool,
    /// Blocks of memory can be exported as descriptors.
    pub descriptors: bool,
    /// Host memory can be registered.
    pub registers: bool,
    /// Read-only host memory can be registered.
    pub read_only: bool,
    attributes: Vec<(&'static str, i64)>,
}

impl Facts {
    pub fn of(number: u32) -> Result<Self, DomainError> {
        let device = handle(number)?;
        let mut text = [0; 256];
        // SAFETY: the driver has started; the text ends with a zero within the length given.
        let name = match unsafe { sys::cuDeviceGetName(text.as_mut_ptr(), text.len() as c_int, device) } {
            // SAFETY: as above.
            CUresult::CUDA_SUCCESS => unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy().into_owned(),
            error => return Err(refused(id(number), "look at a device", error)),
        };
        let ask = |attribute: Attribute| {
            let mut value = 0;
            // SAFETY: as above. A driver that does not know the attribute returns an error.
            let result = unsafe { sys::cuDeviceGetAttribute(&mut value, attribute, device) };
            if result == CUresult::CUDA_SUCCESS { i64::from(value) } else { -1 }
        };
        let mut version = 0;
        // SAFETY: the driver has started.
        let _ = unsafe { sys::cuDriverGetVersion(&mut version) };
        let attributes = vec![
            ("driver version", i64::from(version)),
            ("compute capability major", ask(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)),
            ("compute capability minor", ask(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)),
            ("unified addressing", ask(Attribute::CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING)),
            (
                "virtual memory management",
                ask(Attribute::CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED),
            ),
            (
                "memory as descriptors",
                ask(Attribute::CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED),
            ),
            (
                "64-bit stream memory operations",
                ask(Attribute::CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS),
            ),
            ("registering host memory", ask(Attribute::CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED)),
            (
                "registering read-only host memory",
                ask(Attribute::CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED),
            ),
            ("events between processes", ask(Attribute::CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED)),
            ("access to pageable memory", ask(Attribute::CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS)),
            ("copy engines", ask(Attribute::CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT)),
        ];
        let yes = |attribute: Attribute| ask(attribute) > 0;
        Ok(Self {
            device,
            name,
            words: yes(Attribute::CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS)
                && yes(Attribute::CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED)
                && yes(Attribute::CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING),
            descriptors: yes(Attribute::CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED)
                && yes(Attribute::CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED),
            registers: yes(Attribute::CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED),
            read_only: yes(Attribute::CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED),
            attributes,
        })
    }

    pub fn attributes(&self) -> Vec<(&'static str, i64)> {
        self.attributes.clone()
    }
}

/// The driver's error as an error of the domain.
fn refused(domain: DomainId, action: &str, error: CUresult) -> DomainError {
    let reason = describe(error);
    match error {
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => DomainError::Refused {
            domain,
            action: action.to_owned(),
            reason: format!("{reason}; the device has no memory left: use smaller pools"),
        },
        CUresult::CUDA_ERROR_DEVICE_UNAVAILABLE => DomainError::Refused {
            domain,
            action: action.to_owned(),
            reason: format!(
                "{reason}; another process may have the device for itself: see `nvidia-smi -q -d COMPUTE`"
            ),
        },
        error if is_lost(error) => DomainError::Lost { domain, reason },
        _ => DomainError::Refused { domain, action: action.to_owned(), reason },
    }
}

/// Whether an error makes the context unusable: CUDA reports such errors for all later calls.
fn is_lost(error: CUresult) -> bool {
    matches!(
        error,
        CUresult::CUDA_ERROR_ILLEGAL_ADDRESS
            | CUresult::CUDA_ERROR_LAUNCH_TIMEOUT
            | CUresult::CUDA_ERROR_ASSERT
            | CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR
            | CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION
            | CUresult::CUDA_ERROR_MISALIGNED_ADDRESS
            | CUresult::CUDA_ERROR_INVALID_ADDRESS_SPACE
            | CUresult::CUDA_ERROR_INVALID_PC
            | CUresult::CUDA_ERROR_LAUNCH_FAILED
            | CUresult::CUDA_ERROR_ECC_UNCORRECTABLE
            | CUresult::CUDA_ERROR_NVLINK_UNCORRECTABLE
            | CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED
            | CUresult::CUDA_ERROR_CONTAINED
            | CUresult::CUDA_ERROR_TENSOR_MEMORY_LEAK
            | CUresult::CUDA_ERROR_EXTERNAL_DEVICE
            | CUresult::CUDA_ERROR_MPS_CLIENT_TERMINATED
            | CUresult::CUDA_ERROR_DEINITIALIZED
    )
}

/// Locks, also after a panic: the guarded data is consistent at every step.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A device with its primary context retained. All domains, memory and streams of a process with the same
/// number share it.
#[derive(Debug)]
pub struct Device {
    pub number: u32,
    pub handle: sys::CUdevice,
    context: sys::CUcontext,
    pub words: bool,
    pub descriptors: bool,
    pub read_only: bool,
    /// Devices that may access this one's memory, this device first.
    pub accessors: Vec<sys::CUdevice>,
    /// The driver's streams, for the streams of this device.
    pub streams: StreamPool,
    lost: AtomicBool,
    /// Drivers do not survive a fork: a child makes no call.
    process: Process,
}

// SAFETY: a context is a handle that any thread may use.
unsafe impl Send for Device {}
// SAFETY: as above.
unsafe impl Sync for Device {}

impl Device {
    /// The device with this number: the open one, or else a new one.
    pub fn open(number: u32, facts: &Facts) -> Result<Arc<Self>, DomainError> {
        static OPEN: Mutex<Option<HashMap<u32, Weak<Device>>>> = Mutex::new(None);
        let mut open = lock(&OPEN);
        let open = open.get_or_insert_with(HashMap::new);
        if let Some(device) = open.get(&number).and_then(Weak::upgrade) {
            return Ok(device);
        }
        let mut context = std::ptr::null_mut();
        // SAFETY: the driver has started: there are facts of the device.
        match unsafe { sys::cuDevicePrimaryCtxRetain(&mut context, facts.device) } {
            CUresult::CUDA_SUCCESS => {}
            error => return Err(refused(id(number), "make a context", error)),
        }
        let others =
            (0..count()?).filter(|other| *other != number && reaches(*other, number).unwrap_or(false));
        let accessors =
            std::iter::once(facts.device).chain(others.filter_map(|other| handle(other).ok())).collect();
        let device = Arc::new(Self {
            number,
            handle: facts.device,
            context,
            words: facts.words,
            descriptors: facts.descriptors,
            read_only: facts.read_only,
            accessors,
            streams: StreamPool::default(),
            lost: AtomicBool::new(false),
            process: Process::this(),
        });
        open.insert(number, Arc::downgrade(&device));
        Ok(device)
    }

    /// The domain.
    pub fn id(&self) -> DomainId {
        id(self.number)
    }

    /// The primary context.
    pub fn context(&self) -> sys::CUcontext {
        self.context
    }

    /// The driver's result as an error of the domain, if it is one.
    pub fn check(&self, action: &str, result: CUresult) -> Result<(), DomainError> {
        if result == CUresult::CUDA_SUCCESS {
            return Ok(());
        }
        if is_lost(result) {
            self.lost.store(true, Ordering::Relaxed);
        }
        Err(refused(self.id(), action, result))
    }

    /// An error of our own.
    pub fn refuse(&self, action: &str, reason: impl Into<String>) -> DomainError {
        DomainError::Refused { domain: self.id(), action: action.to_owned(), reason: reason.into() }
    }

    /// Makes the context current on this thread until the result is dropped. An error if the device is lost.
    pub fn enter(&self) -> Result<Entered, DomainError> {
        if self.lost.load(Ordering::Relaxed) {
            let reason = "an earlier error left its context unusable".to_owned();
            return Err(DomainError::Lost { domain: self.id(), reason });
        }
        self.enter_anyway()
    }

    /// The same also if the device is lost, for releasing resources.
    pub fn enter_anyway(&self) -> Result<Entered, DomainError> {
        if !self.process.is_this() {
            let reason = "it was opened by the process that this one was forked from".to_owned();
            return Err(DomainError::Lost { domain: self.id(), reason });
        }
        // SAFETY: the context is retained.
        self.check("use the device", unsafe { sys::cuCtxPushCurrent_v2(self.context) })?;
        Ok(Entered { _not_send: std::marker::PhantomData })
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        if !self.process.is_this() {
            return;
        }
        if let Ok(_entered) = self.enter_anyway() {
            self.streams.end();
        }
        // SAFETY: retained once when it was opened; all memory and streams hold the device, so none is left.
        let _ = unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.handle) };
    }
}

/// While it lives, a device's context is current on this thread.
pub struct Entered {
    _not_send: std::marker::PhantomData<*const ()>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        let mut context = std::ptr::null_mut();
        // SAFETY: pushed by `enter` on this thread.
        let _ = unsafe { sys::cuCtxPopCurrent_v2(&mut context) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_lost_after_errors_that_cuda_reports_for_everything_that_follows() {
        use CUresult as Code;
        // cuda.h says of each: "any further CUDA work will return the same error", or that the process must
        // be relaunched.
        let last = [
            Code::CUDA_ERROR_CONTAINED,
            Code::CUDA_ERROR_ILLEGAL_ADDRESS,
            Code::CUDA_ERROR_LAUNCH_FAILED,
            Code::CUDA_ERROR_TENSOR_MEMORY_LEAK,
            Code::CUDA_ERROR_MPS_CLIENT_TERMINATED,
            Code::CUDA_ERROR_EXTERNAL_DEVICE,
        ];
        assert_eq!(last.map(|code| code as u32), [226, 700, 719, 721, 810, 911]);
        assert!(last.into_iter().all(is_lost));
        // It says of these that only this call failed, or that the condition is temporary.
        let pass = [
            Code::CUDA_ERROR_OUT_OF_MEMORY,
            Code::CUDA_ERROR_DEVICE_UNAVAILABLE,
            Code::CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
            Code::CUDA_ERROR_NOT_SUPPORTED,
        ];
        assert_eq!(pass.map(|code| code as u32), [2, 46, 712, 801]);
        assert!(!pass.into_iter().any(is_lost));
    }
}
