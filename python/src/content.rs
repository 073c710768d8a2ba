//! The content of messages, and of structs in them: objects, or the place in memory where they lie.
//!
//! The methods of messages are in `message`.
//!
//! ```text
//!   Values     objects of Python: a new message, or one that was decoded
//!   View       a flat message in shared memory: a sample, or a loan
//!   Region     a struct of a region, or a region itself, in shared memory
//!   Edit       a struct of a region that is being written, in shared memory
//!   Encoded    a serialized message, which is decoded when a member is asked for
//! ```

use std::sync::{Arc, Mutex};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use situ_schema::dynamic::{self, RegionVersions, Value};
use situ_schema::model::TypeId;

use crate::errors::Kind as Error;
use crate::hold::Hold;
use crate::info::Info;
use crate::region_loan::Way;
use crate::sync::lock;
use crate::types::{StructPlan, Types};

/// Values of a message that is held.
#[derive(Clone)]
pub struct View {
    pub types: Arc<Types>,
    pub hold: Arc<Hold>,
}

/// Where the content of a message is.
pub enum State {
    /// Objects, in the order of the members. `lender`: the publisher that publishes it at the end of a
    /// `with`.
    Values { values: Vec<Py<PyAny>>, lender: Option<Py<PyAny>> },
    /// A flat message, from this byte of its head on.
    View { hold: Arc<Hold>, at: u64 },
    /// A struct of a region, which begins at this byte of the image.
    Region { hold: Arc<Hold>, at: u64, versions: RegionVersions },
    /// A struct of a region that is being written, or the region itself.
    Edit { hold: Arc<Hold>, way: Way },
    /// A message that is not decoded yet.
    Encoded { hold: Arc<Hold> },
}

/// What a message is.
pub struct Content {
    pub types: Arc<Types>,
    pub plan: Arc<StructPlan>,
    pub state: State,
    /// Of a message that was taken and decoded.
    pub info: Option<Arc<Info>>,
}

/// A message, or a struct in one.
#[pyclass(frozen, subclass, module = "situ", name = "Struct")]
pub struct Struct {
    /// `None` until `__init__` has run.
    pub content: Mutex<Option<Content>>,
}

/// A message of a type, in this state.
pub fn instantiate<'py>(
    py: Python<'py>,
    types: &Arc<Types>,
    id: TypeId,
    state: State,
) -> PyResult<Bound<'py, Struct>> {
    let class = types.struct_class(py, id)?;
    let nothing = PyTuple::empty(py);
    // SAFETY: the class is a subclass of `Struct` that `type` made, so it is a heap type. Its `tp_new` is
    // that of `Struct`, which takes any arguments.
    let object = unsafe {
        let new = ffi::PyType_GetSlot(class.as_type_ptr(), ffi::Py_tp_new);
        let new: ffi::newfunc = std::mem::transmute(new);
        Bound::from_owned_ptr_or_err(py, new(class.as_type_ptr(), nothing.as_ptr(), std::ptr::null_mut()))?
    };
    let object = object.cast_into::<Struct>()?;
    let content = Content { types: types.clone(), plan: types.plan(id).clone(), state, info: None };
    object.get().begin(content);
    Ok(object)
}

impl Struct {
    /// Sets the content. The earlier one is dropped without the lock: the end of its objects may run code of
    /// Python, which may use this message.
    pub fn begin(&self, content: Content) {
        let earlier = lock(&self.content).replace(content);
        drop(earlier);
    }

    /// Replaces the object of a member, if the content is objects. The earlier object is dropped as in
    /// `begin`.
    pub fn put(&self, index: usize, object: Py<PyAny>) {
        let mut earlier = None;
        if let Some(Content { state: State::Values { values, .. }, .. }) = &mut *lock(&self.content)
            && let Some(value) = values.get_mut(index)
        {
            earlier = Some(std::mem::replace(value, object));
        }
        drop(earlier);
    }

    /// The error of a message without content.
    #[cold]
    pub fn not_begun(py: Python<'_>) -> PyErr {
        Error::Error.error(py, "the message was not initialized: call the `__init__` of its class")
    }

    /// Its types and plan.
    pub fn plan(&self, py: Python<'_>) -> PyResult<(Arc<Types>, Arc<StructPlan>)> {
        let content = lock(&self.content);
        let content = content.as_ref().ok_or_else(|| Self::not_begun(py))?;
        Ok((content.types.clone(), content.plan.clone()))
    }

    /// The view of a flat message, and from which byte of its head on.
    pub fn view(&self) -> Option<(View, u64)> {
        let content = lock(&self.content);
        let content = content.as_ref()?;
        match &content.state {
            State::View { hold, at } => {
                Some((View { types: content.types.clone(), hold: hold.clone() }, *at))
            }
            _ => None,
        }
    }

    /// The hold of the memory in which it lies, if it lies in one.
    pub fn hold(&self) -> Option<Arc<Hold>> {
        match &lock(&self.content).as_ref()?.state {
            State::View { hold, .. }
            | State::Region { hold, .. }
            | State::Edit { hold, .. }
            | State::Encoded { hold } => Some(hold.clone()),
            State::Values { .. } => None,
        }
    }

    /// Its content as a value, if it is a message of this type in memory. A copy is read: another process may
    /// still write the memory.
    pub fn own_value(&self, py: Python<'_>, types: &Arc<Types>, id: TypeId) -> PyResult<Option<Value>> {
        let Some((view, at)) = self.view() else { return Ok(None) };
        let (own, plan) = self.plan(py)?;
        if !(Arc::ptr_eq(&own, types) && plan.id == id) {
            return Ok(None);
        }
        let memory = view.hold.memory(py)?;
        let size = plan.size.unwrap_or(0);
        let head = memory.head().get(at as usize..(at + size) as usize).unwrap_or_default().to_vec();
        let body = if types.schema.has_bulk(id) { memory.body_on_host(py)?.into_owned() } else { Vec::new() };
        match dynamic::from_flat(&types.schema, id, &head, &body) {
            Ok(value) => Ok(Some(value)),
            Err(error) => Err(Error::Malformed.error(py, error)),
        }
    }
}
