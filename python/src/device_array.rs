//! Numbers in the memory of a device, as tensors of DLPack in the order of streams.
//!
//! ```text
//!   array.__dlpack__(stream=S)     S waits for the message's fence; the thread does not
//!   kernels on S                   the program's
//!   the message goes               S is told to release it when it has passed those kernels
//!   a loan is published            S completes its fence when it has passed those kernels
//! ```

use std::sync::Arc;

use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use situ_memory::{DomainId, DomainKind};

use crate::array::{Array, CPU, DataType, Device, Form, Kept, capsule, into_numpy};
use crate::device::{DeviceBody, LEGACY, TIMEOUT, adopted, handle_of};
use crate::errors::Kind as Error;
use crate::hold::Memory;
use crate::process;
use crate::types::{Item, TypeHandle, Types};

/// `kDLCUDA` and `kDLVulkan`.
const CUDA: i32 = 2;
const VULKAN: i32 = 7;

/// The stream of a consumer of DLPack; `None` if it asks for no order.
fn consumer(stream: Option<&Bound<'_, PyAny>>) -> PyResult<Option<usize>> {
    let Some(stream) = stream else { return Ok(Some(LEGACY)) };
    match stream.extract::<i128>() {
        Ok(-1) => Ok(None),
        Ok(0) => Err(PyValueError::new_err(
            "a consumer's stream 0 is ambiguous: it is 1 (the legacy default stream) or 2 (that of the thread)",
        )),
        _ => handle_of(stream).map(Some),
    }
}

/// Numbers in the memory of a device.
#[pyclass(frozen, module = "situ", name = "DeviceArray")]
pub struct DeviceArray {
    memory: Arc<Memory>,
    /// The first byte in the body.
    at: u64,
    item: Item,
    types: Arc<Types>,
    shape: Vec<u64>,
}

impl DeviceArray {
    /// So many elements at a place in the body, which the caller has checked.
    pub fn new(memory: Arc<Memory>, at: u64, types: &Arc<Types>, item: &Item, length: u64) -> Self {
        let shape = std::iter::once(length).chain(item.inner.iter().copied()).collect();
        Self { memory, at, item: item.clone(), types: types.clone(), shape }
    }

    fn body(&self, py: Python<'_>) -> PyResult<&DeviceBody> {
        let none = || Error::Error.error(py, "the array is not on a device");
        self.memory.device.as_deref().ok_or_else(none)
    }

    fn id(&self, py: Python<'_>) -> PyResult<DomainId> {
        Ok(self.body(py)?.domain())
    }

    fn size(&self) -> u64 {
        self.shape.iter().product::<u64>() * self.item.size
    }

    fn host_copy(&self, py: Python<'_>) -> PyResult<Array> {
        let bytes = self.memory.copy_of_device(py, self.body(py)?, self.at, self.size())?;
        let array = Array::of_bytes(&bytes, &self.types, &self.item, &self.shape[..1]);
        array.ok_or_else(|| Error::Take.error(py, "there is no memory for a copy"))
    }

    /// Makes the consumer's stream wait for the message.
    fn order(&self, py: Python<'_>, stream: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let (body, domain) = (self.body(py)?, self.id(py)?);
        let stream = match (domain.kind, consumer(stream)?) {
            (_, None) => return Ok(()),
            (DomainKind::CUDA, Some(handle)) => Some(adopted(py, domain, handle)?),
            // Its consumers have no streams that DLPack can name.
            (_, Some(_)) => None,
        };
        let waited = process::detached(py, || match (self.memory.sample(), &stream) {
            (Some(sample), Some(stream)) => sample.wait_on(&**stream, TIMEOUT),
            (Some(sample), None) => sample.synchronize(TIMEOUT),
            (None, _) => Ok(()),
        });
        waited.map_err(|error| Error::Take.error(py, error))?;
        if let Some(stream) = &stream {
            body.use_on(stream);
        }
        Ok(())
    }
}

#[pymethods]
impl DeviceArray {
    /// The lengths of its dimensions.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.shape)
    }

    /// The kind of its elements, as numpy's array interface writes it, such as `<f4`.
    #[getter]
    fn typestr(&self) -> &str {
        &self.item.typestr
    }

    /// The type of its elements, if they are structs.
    #[getter]
    fn element_type(&self) -> Option<TypeHandle> {
        self.item.of.map(|id| TypeHandle::new(self.types.clone(), id))
    }

    /// The number of bytes of all elements.
    #[getter]
    fn nbytes(&self) -> u64 {
        self.size()
    }

    /// Whether it cannot be written.
    #[getter]
    fn readonly(&self) -> bool {
        !self.memory.writable
    }

    /// The memory domain, such as `cuda:0`.
    #[getter]
    fn domain(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.id(py)?.to_string())
    }

    /// A copy in the memory of the host, as numpy's array. It waits for the message, and for the work of the
    /// streams to which the array was given.
    fn to_host<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        into_numpy(py, Bound::new(py, self.host_copy(py)?)?)
    }

    /// Not without a word: it would copy.
    #[pyo3(signature = (*_args, **_kwargs))]
    fn __array__(
        &self,
        py: Python<'_>,
        _args: &Bound<'_, PyTuple>,
        _kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let domain = self.id(py)?;
        Err(PyTypeError::new_err(format!(
            "the array is in the memory of {domain}: `to_host()` copies it, and `__dlpack__` gives it to libraries of the device"
        )))
    }

    fn __len__(&self) -> usize {
        self.shape.first().map_or(0, |it| *it as usize)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let shape: Vec<_> = self.shape.iter().map(ToString::to_string).collect();
        let of = self.item.of.map(|id| self.types.schema.name(id).to_string());
        let of = of.unwrap_or_else(|| self.item.typestr.clone());
        Ok(format!("<situ.DeviceArray of {} {of} on {}>", shape.join(" x "), self.id(py)?))
    }

    /// Where the memory is: DLPack's device type and number.
    fn __dlpack_device__(&self, py: Python<'_>) -> PyResult<(i32, i32)> {
        let domain = self.id(py)?;
        let kind = match domain.kind {
            DomainKind::CUDA => CUDA,
            DomainKind::VULKAN => VULKAN,
            _ => {
                return Err(PyBufferError::new_err(format!(
                    "DLPack has no number of domain {domain}: `to_host()` copies the array"
                )));
            }
        };
        Ok((kind, domain.number as i32))
    }

    /// A DLPack capsule. The consumer's stream waits for the message: None and 1 are CUDA's legacy default
    /// stream, 2 is that of the thread, -1 asks for no order, and other numbers are handles of streams.
    #[pyo3(signature = (*, stream = None, max_version = None, dl_device = None, copy = None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if dl_device == Some((CPU, 0)) && copy != Some(false) {
            let keywords = PyDict::new(py);
            keywords.set_item("max_version", max_version)?;
            return Bound::new(py, self.host_copy(py)?)?.call_method("__dlpack__", (), Some(&keywords));
        }
        let (kind, id) = self.__dlpack_device__(py)?;
        if dl_device.is_some_and(|device| device != (kind, id)) || copy == Some(true) {
            return Err(PyBufferError::new_err("the array is not copied to a device"));
        }
        let form = Form::of(&self.item.typestr, self.item.of.is_some())?;
        // No check has seen whether the numbers are booleans.
        let data_type =
            if self.item.typestr == "|b1" { DataType::bytes() } else { form.data_type(self.item.size) };
        let versioned = max_version.is_some_and(|version| version.0 >= 1);
        if !self.memory.writable && !versioned {
            return Err(PyBufferError::new_err(
                "the message is read-only, which DLPack can say only since version 1.0: use a newer version of the library",
            ));
        }
        self.order(py, stream.as_ref())?;
        let address = self.body(py)?.address(self.at);
        let (tensor, kept) = Kept::tensor(&self.memory, address, Device { kind, id }, data_type, &self.shape);
        capsule(py, tensor, kept, versioned, u64::from(!self.memory.writable))
    }
}
