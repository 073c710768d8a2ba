//! Numbers in a message's memory, for numpy and other libraries of tensors.
//!
//! The package is one library for Python 3.9 and later, and the buffer protocol is in the stable interface
//! only since 3.11. An `Array` therefore exports DLPack and `__array_interface__`, which numpy reads in
//! every version. numpy keeps the `Array` as the base of its array, and the `Array` keeps the message's
//! memory. numpy makes an array writable only if its base is a writable buffer, so what is read-only stays
//! so.

use std::ffi::{CStr, c_void};
use std::sync::Arc;

use pyo3::exceptions::{PyBufferError, PyIndexError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyList, PyModule};
use situ_region::dynamic::Pin;
use situ_schema::model::TypeId;

use crate::errors::{Kind, module};
use crate::hold::Memory;
use crate::types::{Item, TypeHandle, Types};

/// Numbers, or structs of numbers, in a message's memory.
#[pyclass(frozen, module = "situ", name = "Array")]
pub struct Array {
    memory: Arc<Memory>,
    address: usize,
    typestr: String,
    item_size: u64,
    shape: Vec<u64>,
    of: Option<(Arc<Types>, TypeId)>,
    /// Keeps the numbers in their place, if they lie in a region that is written.
    pin: Option<Pin>,
}

impl Array {
    /// The elements at a place in the memory, which `Memory::place` has checked.
    pub fn new(memory: Arc<Memory>, place: *mut u8, types: &Arc<Types>, item: &Item, outer: &[u64]) -> Self {
        Self {
            memory,
            address: place as usize,
            typestr: item.typestr.clone(),
            item_size: item.size,
            shape: outer.iter().chain(&item.inner).copied().collect(),
            of: item.of.map(|id| (types.clone(), id)),
            pin: None,
        }
    }

    /// As [`new`](Self::new), for numbers in a region that is written. The pin keeps them in their place.
    pub fn pinned(
        memory: Arc<Memory>,
        address: usize,
        types: &Arc<Types>,
        item: &Item,
        outer: &[u64],
        pin: Pin,
    ) -> Self {
        Self { pin: Some(pin), ..Self::new(memory, address as *mut u8, types, item, outer) }
    }

    /// An array with a copy of these bytes. `None` if there is no memory, or if the number of bytes is not
    /// that of the elements.
    pub fn of_bytes(bytes: &[u8], types: &Arc<Types>, item: &Item, outer: &[u64]) -> Option<Self> {
        let size = outer.iter().try_fold(item.stride(), |size, length| size.checked_mul(*length))?;
        if size != bytes.len() as u64 {
            return None;
        }
        let memory = Memory::of_bytes(bytes, &[], true)?;
        let place = memory.place(false, 0, size)?;
        Some(Self::new(memory, place, types, item, outer))
    }

    /// Whether its elements are of this kind.
    pub fn typestr_is(&self, typestr: &str) -> bool {
        self.typestr == typestr
    }

    /// The number of elements of the first dimension.
    pub fn len(&self) -> usize {
        self.shape.first().map_or(1, |it| *it as usize)
    }

    /// The lengths of the dimensions, without those of elements that are arrays.
    pub fn outer(&self, item: &Item) -> Vec<u64> {
        self.shape[..self.shape.len() - item.inner.len()].to_vec()
    }

    /// The number of elements, all dimensions multiplied.
    fn count(&self) -> u64 {
        self.shape.iter().product()
    }

    /// The bytes of all elements.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the place was checked to have room for all elements, and the memory keeps it. The GIL
        // orders accesses of this process.
        unsafe {
            std::slice::from_raw_parts(self.address as *const u8, (self.count() * self.item_size) as usize)
        }
    }

    /// Overwrites the first bytes, if it may be written and has so many.
    pub fn write(&self, bytes: &[u8]) -> bool {
        if !self.memory.writable || bytes.len() as u64 > self.count() * self.item_size {
            return false;
        }
        // SAFETY: as for `bytes`; the memory may be written.
        unsafe { (self.address as *mut u8).copy_from(bytes.as_ptr(), bytes.len()) };
        true
    }

    /// One element of one dimension as a number.
    fn number<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyAny>> {
        let size = self.item_size as usize;
        let bytes = &self.bytes()[index * size..][..size];
        let mut wide = [0; 8];
        wide[..size.min(8)].copy_from_slice(&bytes[..size.min(8)]);
        let unsigned = u64::from_le_bytes(wide);
        let shift = 64 - 8 * size.min(8) as u32;
        Ok(match self.typestr.as_bytes().get(1) {
            Some(b'b') => (unsigned != 0).into_pyobject(py)?.to_owned().into_any(),
            Some(b'i') => (((unsigned << shift) as i64) >> shift).into_pyobject(py)?.into_any(),
            Some(b'u') => unsigned.into_pyobject(py)?.into_any(),
            Some(b'f') if size == 4 => f32::from_bits(unsigned as u32).into_pyobject(py)?.into_any(),
            Some(b'f') => f64::from_bits(unsigned).into_pyobject(py)?.into_any(),
            _ => PyBytes::new(py, bytes).into_any(),
        })
    }
}

static ARRAYS: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
static TO_NUMPY: PyOnceLock<Option<Py<PyAny>>> = PyOnceLock::new();

/// The module with the package's code that uses numpy.
pub fn helpers(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    module(py, &ARRAYS, "situ._arrays")
}

/// The array as numpy's, or itself if numpy is not installed.
pub fn into_numpy<'py>(py: Python<'py>, array: Bound<'py, Array>) -> PyResult<Bound<'py, PyAny>> {
    let asarray = TO_NUMPY.get_or_try_init(py, || {
        let found = helpers(py)?.getattr("find_numpy")?.call0()?;
        Ok::<_, PyErr>((!found.is_none()).then(|| found.unbind()))
    })?;
    let Some(asarray) = asarray else { return Ok(array.into_any()) };
    let numpy = asarray.bind(py).call1((&array,))?;
    match &array.get().of {
        None => Ok(numpy),
        Some((types, id)) => {
            let class = types.class(py, *id)?;
            let dtype = helpers(py)?.getattr("dtype_of")?.call1((class,))?;
            numpy.call_method1("view", (dtype,))
        }
    }
}

#[pymethods]
impl Array {
    /// The lengths of its dimensions.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pyo3::types::PyTuple::new(py, &self.shape)?.into_any())
    }

    /// The kind of its elements, as numpy's array interface writes it, such as `<f4`.
    #[getter]
    fn typestr(&self) -> &str {
        &self.typestr
    }

    /// The type of its elements, if they are structs.
    #[getter]
    fn element_type(&self) -> Option<TypeHandle> {
        self.of.as_ref().map(|(types, id)| TypeHandle::new(types.clone(), *id))
    }

    /// The number of bytes of all elements.
    #[getter]
    fn nbytes(&self) -> u64 {
        self.count() * self.item_size
    }

    /// Whether it cannot be written.
    #[getter]
    fn readonly(&self) -> bool {
        !self.memory.writable
    }

    /// What numpy and other libraries read in place.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("typestr", &self.typestr)?;
        interface.set_item("shape", self.shape(py)?)?;
        interface.set_item("data", (self.address, !self.memory.writable))?;
        Ok(interface)
    }

    /// A copy of the bytes.
    fn tobytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.bytes())
    }

    /// A copy as lists of numbers.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if self.shape.is_empty() {
            return self.number(py, 0);
        }
        let all = PyList::empty(py);
        for index in 0..self.shape[0] as usize {
            match self.element(py, index)? {
                it if it.is_instance_of::<Self>() => {
                    all.append(it.cast::<Self>()?.get().tolist(py)?)?;
                }
                it => all.append(it)?,
            }
        }
        Ok(all.into_any())
    }

    fn __len__(&self) -> usize {
        self.len()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: isize) -> PyResult<Bound<'py, PyAny>> {
        let len = self.__len__();
        let at = if index < 0 { index + len as isize } else { index };
        if at < 0 || at as usize >= len {
            return Err(PyIndexError::new_err(format!("there are {len} elements, and no element {index}")));
        }
        self.element(py, at as usize)
    }

    fn __repr__(&self) -> String {
        let shape: Vec<_> = self.shape.iter().map(ToString::to_string).collect();
        let what =
            self.of.as_ref().map_or(self.typestr.clone(), |(types, id)| types.schema.name(*id).to_string());
        format!("<situ.Array of {} {what}>", shape.join(" x "))
    }

    /// Where the memory is: DLPack's device type and number.
    fn __dlpack_device__(&self) -> (i32, i32) {
        (CPU, 0)
    }

    /// A DLPack capsule. Memory that is read-only needs a consumer of DLPack 1.0, which knows what that is.
    #[pyo3(signature = (*, stream = None, max_version = None, dl_device = None, copy = None))]
    fn __dlpack__<'py>(
        slf: &Bound<'py, Self>,
        stream: Option<Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = stream;
        let (py, this) = (slf.py(), slf.get());
        if dl_device.is_some_and(|device| device != (CPU, 0)) {
            return Err(PyBufferError::new_err(
                "the memory is on the host, and is not copied to other devices",
            ));
        }
        let form = Form::of(&this.typestr, this.of.is_some())?;
        let versioned = max_version.is_some_and(|version| version.0 >= 1);
        let owned;
        let source = if copy == Some(true) {
            let memory = Memory::of_bytes(this.bytes(), &[], true)
                .ok_or_else(|| Kind::Conversion.error(py, "there is no memory for a copy"))?;
            let address = memory.head().as_ptr() as usize;
            owned = Self {
                memory,
                address,
                typestr: this.typestr.clone(),
                of: None,
                shape: this.shape.clone(),
                pin: None,
                ..*this
            };
            &owned
        } else {
            this
        };
        if !source.memory.writable && !versioned {
            return Err(PyBufferError::new_err(
                "the message is read-only, which DLPack can say only since version 1.0: use numpy's array, or copy it",
            ));
        }
        if !source.address.is_multiple_of(source.item_size.max(1) as usize) {
            return Err(PyBufferError::new_err("the elements are not aligned: copy them"));
        }
        let (device, data_type) = (Device { kind: CPU, id: 0 }, form.data_type(this.item_size));
        let (tensor, mut kept) =
            Kept::tensor(&source.memory, source.address, device, data_type, &source.shape);
        kept.pin.clone_from(&source.pin);
        let flags = u64::from(!source.memory.writable) | if copy == Some(true) { 2 } else { 0 };
        capsule(py, tensor, kept, versioned, flags)
    }
}

impl Array {
    fn element<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyAny>> {
        if self.shape.len() <= 1 {
            return self.number(py, index);
        }
        let inner = &self.shape[1..];
        let size = inner.iter().product::<u64>() * self.item_size;
        let part = Self {
            memory: self.memory.clone(),
            address: self.address + index * size as usize,
            typestr: self.typestr.clone(),
            item_size: self.item_size,
            shape: inner.to_vec(),
            of: self.of.clone(),
            pin: self.pin.clone(),
        };
        Ok(Bound::new(py, part)?.into_any())
    }
}

/// `kDLCPU`.
pub const CPU: i32 = 1;

/// `DLDevice`.
#[repr(C)]
pub struct Device {
    pub kind: i32,
    pub id: i32,
}

/// `DLDataTypeCode`.
pub struct Form(u8);

impl Form {
    /// That of numbers of this kind.
    pub fn of(typestr: &str, is_struct: bool) -> PyResult<Self> {
        let code = match typestr.as_bytes().get(1) {
            Some(b'i') if !is_struct => 0,
            Some(b'u') if !is_struct => 1,
            Some(b'f') if !is_struct => 2,
            Some(b'b') if !is_struct => 6,
            _ => {
                return Err(PyBufferError::new_err(
                    "structs have no form in DLPack: take one of their members",
                ));
            }
        };
        Ok(Self(code))
    }

    /// Numbers of this size.
    pub fn data_type(&self, size: u64) -> DataType {
        DataType { code: self.0, bits: (size * 8) as u8, lanes: 1 }
    }
}

/// `DLDataType`.
#[repr(C)]
pub struct DataType {
    code: u8,
    bits: u8,
    lanes: u16,
}

impl DataType {
    /// Bytes.
    pub fn bytes() -> Self {
        Self { code: 1, bits: 8, lanes: 1 }
    }
}

/// `DLTensor`.
#[repr(C)]
pub struct Tensor {
    data: *mut c_void,
    device: Device,
    ndim: i32,
    data_type: DataType,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

/// What a tensor keeps: the memory, and the lists that it points to.
pub struct Kept {
    _memory: Arc<Memory>,
    _shape: Vec<i64>,
    _strides: Vec<i64>,
    pin: Option<Pin>,
}

impl Kept {
    /// A tensor of these lengths at an address in the memory, and what it keeps.
    pub fn tensor(
        memory: &Arc<Memory>,
        address: usize,
        device: Device,
        data_type: DataType,
        shape: &[u64],
    ) -> (Tensor, Self) {
        let mut shape: Vec<i64> = shape.iter().map(|it| *it as i64).collect();
        let mut strides = vec![1i64; shape.len()];
        for at in (0..shape.len().saturating_sub(1)).rev() {
            strides[at] = strides[at + 1] * shape[at + 1].max(1);
        }
        let tensor = Tensor {
            data: address as *mut c_void,
            device,
            ndim: shape.len() as i32,
            data_type,
            shape: shape.as_mut_ptr(),
            strides: strides.as_mut_ptr(),
            byte_offset: 0,
        };
        (tensor, Self { _memory: memory.clone(), _shape: shape, _strides: strides, pin: None })
    }
}

/// `DLManagedTensor`.
#[repr(C)]
struct Managed {
    tensor: Tensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

/// `DLManagedTensorVersioned`.
#[repr(C)]
struct Versioned {
    major: u32,
    minor: u32,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    flags: u64,
    tensor: Tensor,
}

/// Frees a tensor of `capsule`. The memory that it kept needs no GIL.
unsafe extern "C" fn delete(tensor: *mut Managed) {
    // SAFETY: the consumer calls it once, with the pointer that `capsule` made.
    unsafe {
        let tensor = Box::from_raw(tensor);
        drop(Box::from_raw(tensor.context.cast::<Kept>()));
    }
}

/// As `delete`.
unsafe extern "C" fn delete_versioned(tensor: *mut Versioned) {
    // SAFETY: as for `delete`.
    unsafe {
        let tensor = Box::from_raw(tensor);
        drop(Box::from_raw(tensor.context.cast::<Kept>()));
    }
}

const NAME: &CStr = c"dltensor";
const VERSIONED: &CStr = c"dltensor_versioned";

/// Frees a tensor that no consumer took: a consumer renames the capsule.
unsafe extern "C" fn destroy(capsule: *mut ffi::PyObject) {
    // SAFETY: Python calls it with the capsule, with the GIL. The name says which tensor it has.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, NAME.as_ptr()) == 1 {
            delete(ffi::PyCapsule_GetPointer(capsule, NAME.as_ptr()).cast());
        } else if ffi::PyCapsule_IsValid(capsule, VERSIONED.as_ptr()) == 1 {
            delete_versioned(ffi::PyCapsule_GetPointer(capsule, VERSIONED.as_ptr()).cast());
        }
    }
}

/// A capsule of a tensor.
pub fn capsule(
    py: Python<'_>,
    tensor: Tensor,
    kept: Kept,
    versioned: bool,
    flags: u64,
) -> PyResult<Bound<'_, PyAny>> {
    let context = Box::into_raw(Box::new(kept)).cast();
    let (pointer, name): (*mut c_void, _) = if versioned {
        let (major, minor, deleter) = (1, 0, Some(delete_versioned as _));
        let tensor = Versioned { major, minor, context, deleter, flags, tensor };
        (Box::into_raw(Box::new(tensor)).cast(), VERSIONED)
    } else {
        (Box::into_raw(Box::new(Managed { tensor, context, deleter: Some(delete) })).cast(), NAME)
    };
    // SAFETY: the name is static, and the pointer belongs to the capsule from now on. Without a capsule, for
    // lack of memory, the tensor is not freed.
    unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyCapsule_New(pointer, name.as_ptr(), Some(destroy))) }
}
