//! Bodies of messages in the memory of a device, and the streams that use them.
//!
//! The memory of a message knows the streams that its consumers named. What gives the memory back, or
//! publishes it, comes after the work that was enqueued on them by then. `device_array` has the tensors.

use std::any::Any;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use situ_bus::DeviceSpan;
use situ_memory::cuda::{CudaDomain, CudaStream};
use situ_memory::{DomainError, DomainId, DomainKind, Fence, Stream};

use crate::errors::Kind as Error;
use crate::process;
use crate::sync::lock;

/// How long a thread waits for a message or a copy, where it has to.
pub const TIMEOUT: Duration = Duration::from_secs(30);
/// CUDA's handle of the legacy default stream, and DLPack's number of it.
pub const LEGACY: usize = 1;
/// How many streams of a program take part in the order at once.
const MAX_STREAMS: usize = 1024;

/// The body of a message in the memory of a device.
pub struct DeviceBody {
    memory: Arc<dyn situ_memory::Memory>,
    offset: u64,
    pub size: u64,
    /// The streams on which it is used.
    streams: Mutex<Vec<Arc<CudaStream>>>,
}

impl DeviceBody {
    /// The body at a span.
    pub fn of(span: &DeviceSpan<'_, u8>) -> Box<Self> {
        let (memory, offset, size) = (span.memory().clone(), span.offset(), span.size());
        Box::new(Self { memory, offset, size, streams: Mutex::default() })
    }

    /// Its memory domain.
    pub fn domain(&self) -> DomainId {
        self.memory.domain()
    }

    /// The address of a byte of it, for work on the device.
    pub fn address(&self, at: u64) -> usize {
        (self.memory.address() + self.offset + at) as usize
    }

    /// The streams on which it is used. They are forgotten.
    pub fn take_streams(&self) -> Vec<Arc<CudaStream>> {
        std::mem::take(&mut lock(&self.streams))
    }

    /// The stream that completes a loan: the only one on which it was used. `None` if it was used on none.
    pub fn stream(&self, py: Python<'_>) -> PyResult<Option<Arc<CudaStream>>> {
        match lock(&self.streams).as_slice() {
            [] => Ok(None),
            [stream] => Ok(Some(stream.clone())),
            several => {
                let text = format!(
                    "arrays of the loan were given to {} streams: name the one that has passed the others (`publish(stream=...)`)",
                    several.len()
                );
                Err(Error::Publish.error(py, text))
            }
        }
    }

    /// Notes that a stream uses it.
    pub fn use_on(&self, stream: &Arc<CudaStream>) {
        let mut streams = lock(&self.streams);
        if !streams.iter().any(|it| Arc::ptr_eq(it, stream)) {
            streams.push(stream.clone());
        }
    }

    /// Fills a new body with these bytes, and waits until they are there.
    pub fn fill(&self, bytes: &[u8]) -> Result<(), DomainError> {
        let stream = stream_for_copies(self.memory.domain())?;
        let owned = bytes.to_vec();
        // SAFETY: the bytes live until the stream has passed the copy, or for ever. The body is that of a
        // loan, which only the caller has.
        let copied =
            unsafe { stream.copy_from_host(owned.as_ptr(), &self.memory, self.offset, owned.len() as u64) };
        let filled = copied.and_then(|()| stream.synchronize(TIMEOUT));
        if filled.is_err() {
            std::mem::forget(owned);
        }
        filled
    }

    /// A copy of some bytes on the host, after the work that uses them.
    pub fn copy(&self, at: u64, size: u64) -> Result<Vec<u8>, DomainError> {
        for stream in &*lock(&self.streams) {
            stream.synchronize(TIMEOUT)?;
        }
        let domain = self.memory.domain();
        let stream = stream_for_copies(domain)?;
        let refused = || DomainError::Refused {
            domain,
            action: format!("copy {size} bytes to the host"),
            reason: "there is no memory for them".into(),
        };
        let mut bytes = Vec::new();
        let length = usize::try_from(size).map_err(|_| refused())?;
        bytes.try_reserve_exact(length).map_err(|_| refused())?;
        bytes.resize(length, 0);
        // SAFETY: the bytes live until the stream has passed the copy, or for ever.
        let copied = unsafe { stream.copy_to_host(&self.memory, self.offset + at, bytes.as_mut_ptr(), size) };
        match copied.and_then(|()| stream.synchronize(TIMEOUT)) {
            Ok(()) => Ok(bytes),
            Err(error) => {
                std::mem::forget(bytes);
                Err(error)
            }
        }
    }
}

/// Keeps something until all of these streams have passed the work that is enqueued by now.
pub fn keep_until_passed(streams: &[Arc<CudaStream>], kept: impl Any + Send + Sync) {
    let kept = Arc::new(kept);
    for stream in streams {
        // After an error it is kept for ever, because the device may still use it.
        let _ = stream.complete_copy(&Fence::of_process(0, 1), None, Box::new(kept.clone()));
    }
}

/// The program's streams, by their devices and handles. They stay: dropping one would wait for its work.
static ADOPTED: Mutex<BTreeMap<(u32, usize), Arc<CudaStream>>> = Mutex::new(BTreeMap::new());

/// The streams that copy to the host, one for each device.
static FOR_COPIES: Mutex<Vec<Arc<dyn Stream>>> = Mutex::new(Vec::new());

fn stream_for_copies(domain: DomainId) -> Result<Arc<dyn Stream>, DomainError> {
    let mut streams = lock(&FOR_COPIES);
    if let Some(stream) = streams.iter().find(|it| it.domain() == domain) {
        return Ok(stream.clone());
    }
    let stream = situ_memory::find(domain)?.stream()?;
    streams.push(stream.clone());
    Ok(stream)
}

/// Releases what the program's streams have passed. Without it, a subscriber would hold messages until there
/// is more work on these streams.
pub fn release_passed() {
    let streams: Vec<_> = lock(&ADOPTED).values().cloned().collect();
    streams.iter().for_each(|stream| stream.release_passed());
}

/// A stream of the program, as a stream of Situ.
pub fn adopted(py: Python<'_>, domain: DomainId, handle: usize) -> PyResult<Arc<CudaStream>> {
    if domain.kind != DomainKind::CUDA {
        let text = format!("streams of a program are those of CUDA, and this is on {domain}");
        return Err(Error::Conversion.error(py, text));
    }
    let key = (domain.number, handle);
    let known = lock(&ADOPTED).get(&key).cloned();
    if let Some(stream) = known {
        return Ok(stream);
    }
    // SAFETY: the program says that it is a stream of this device, which lives while messages are used on it.
    let adopted =
        process::detached(py, || unsafe { CudaDomain::find(domain.number)?.adopt(handle as *mut c_void) });
    let adopted = adopted.map_err(|error| Error::Take.error(py, error))?;
    let mut streams = lock(&ADOPTED);
    if streams.len() >= MAX_STREAMS {
        let text = format!("the program has used messages on {MAX_STREAMS} streams: use fewer");
        return Err(Error::Take.error(py, text));
    }
    // Of two threads that adopt it, the first has made the one that stays.
    Ok(streams.entry(key).or_insert(adopted).clone())
}

/// The handle of a stream: a number, or an object of a library that has one.
pub fn handle_of(stream: &Bound<'_, PyAny>) -> PyResult<usize> {
    let number = if let Ok(number) = stream.extract::<i128>() {
        number
    } else if let Some(protocol) = stream.getattr_opt("__cuda_stream__")? {
        protocol.call0()?.extract::<(u32, i128)>()?.1
    } else if let Some(handle) =
        [stream.getattr_opt("cuda_stream")?, stream.getattr_opt("ptr")?].into_iter().flatten().next()
    {
        handle.extract()?
    } else {
        return Err(PyTypeError::new_err(
            "`stream` is no stream: give its handle (a number), or an object with `__cuda_stream__`, `cuda_stream` or `ptr`",
        ));
    };
    // CUDA's own number of the default stream is 0 as well.
    let number = if number == 0 { LEGACY as i128 } else { number };
    usize::try_from(number).map_err(|_| PyValueError::new_err(format!("{number} is no handle of a stream")))
}
