//! Blackboards: the latest value of each of some keys. `situ/_blackboard.py` has the classes that users see.
//!
//! A reader copies a value into private memory, and its members are checked when they are read, as those of
//! messages are. A writer sets messages of any form; one that it has lent for editing is copied as it is.

use std::sync::Arc;

use pyo3::prelude::*;
use situ_bus::{
    BlackboardReaderError, BlackboardWriterError, Encoding, GetValueError, RawBlackboardReader,
    RawBlackboardWriter, SetValueError, TypeDescription, WriterState,
};

use crate::content::{State, Struct, instantiate};
use crate::encode::encode;
use crate::endpoint::Endpoint;
use crate::errors::Kind as Error;
use crate::hold::{Hold, Memory, Owner};
use crate::node::NodeHandle;
use crate::process;
use crate::types::{TypeHandle, Types};

/// The description of a flat type, also of one whose schema does not declare it flat.
fn described(py: Python<'_>, of: &TypeHandle) -> PyResult<TypeDescription> {
    let description = of.describe(true, 0);
    let is_struct = of.types.schema.definition(of.id).kind.as_struct().is_some();
    if description.encoding != Encoding::Flat || !is_struct {
        let text = format!("{} is no struct with a flat form, which blackboards need", description.name);
        return Err(Error::Schema.error(py, text));
    }
    Ok(description)
}

fn set_error(py: Python<'_>, error: &SetValueError) -> PyErr {
    match error {
        SetValueError::UnknownKey { .. } => Error::Key.error(py, error),
        SetValueError::Forked { .. } => Error::Forked.error(py, error),
        _ => Error::Conversion.error(py, error),
    }
}

fn get_error(py: Python<'_>, error: &GetValueError) -> PyErr {
    match error {
        GetValueError::UnknownKey { .. } => Error::Key.error(py, error),
        GetValueError::Forked { .. } => Error::Forked.error(py, error),
        GetValueError::Overrun { .. } => Error::Take.error(py, error),
        _ => Error::Malformed.error(py, error),
    }
}

fn open(
    py: Python<'_>,
    node: &NodeHandle,
    name: &str,
    description: Option<&TypeDescription>,
) -> PyResult<RawBlackboardReader> {
    let node = node.node(py)?;
    let opened = process::detached(py, || RawBlackboardReader::open(node.root(), name, description));
    opened.map_err(|error| match error {
        BlackboardReaderError::Missing { .. } => Error::NotFound.error(py, error),
        error => Error::Register.error(py, error),
    })
}

/// The last value of a key in private memory, with its version.
fn value_of<'py>(
    py: Python<'py>,
    raw: &RawBlackboardReader,
    of: &TypeHandle,
    key: &str,
    writable: bool,
) -> PyResult<Option<(Bound<'py, Struct>, u64)>> {
    let Some((bytes, version)) = raw.get(key).map_err(|error| get_error(py, &error))? else {
        return Ok(None);
    };
    Ok(Some((message(py, of, &bytes, writable)?, version)))
}

fn message<'py>(
    py: Python<'py>,
    of: &TypeHandle,
    bytes: &[u8],
    writable: bool,
) -> PyResult<Bound<'py, Struct>> {
    let memory = Memory::of_bytes(bytes, &[], writable)
        .ok_or_else(|| Error::Take.error(py, "there is no memory for a copy of the value"))?;
    instantiate(py, &of.types, of.id, State::View { hold: Hold::new(memory), at: 0 })
}

/// The writer of a blackboard.
#[pyclass(frozen, subclass, module = "situ", name = "BlackboardWriter")]
pub struct BlackboardWriterHandle {
    endpoint: Endpoint<std::sync::Mutex<RawBlackboardWriter>>,
    /// Reads what the writer has set.
    reader: RawBlackboardReader,
    types: TypeHandle,
    /// A new value.
    new: Vec<u8>,
}

#[pymethods]
impl BlackboardWriterHandle {
    #[new]
    fn new(
        py: Python<'_>,
        node: &NodeHandle,
        name: &str,
        keys: Vec<String>,
        handle: &TypeHandle,
    ) -> PyResult<Self> {
        let description = described(py, handle)?;
        let on = node.node(py)?;
        let raw = process::detached(py, || RawBlackboardWriter::create(&on, name, &description, keys));
        let raw = raw.map_err(|error| match error {
            BlackboardWriterError::Forked { .. } => Error::Forked.error(py, error),
            error => Error::Register.error(py, error),
        })?;
        let reader = open(py, node, name, Some(&description))?;
        let new = encode(py, handle, true, pyo3::types::PyDict::new(py).as_any())?.head;
        let endpoint =
            Endpoint::new(std::sync::Mutex::new(raw), format!("the writer of blackboard {name:?}"));
        let types = TypeHandle::new(handle.types.clone(), handle.id);
        Ok(Self { endpoint, reader, types, new })
    }

    /// The blackboard's name.
    #[getter]
    fn name(&self) -> &str {
        self.reader.name()
    }

    /// The type of the values.
    #[getter]
    fn r#type(&self) -> TypeHandle {
        TypeHandle::new(self.types.types.clone(), self.types.id)
    }

    /// The keys, in the order of their positions.
    fn keys(&self) -> Vec<String> {
        self.reader.keys().to_vec()
    }

    /// Replaces the value of a key, and returns its new version.
    fn _set(&self, py: Python<'_>, key: &str, value: &Bound<'_, PyAny>) -> PyResult<u64> {
        // What `_edit` has lent has the bytes of a value, and is not converted. A struct within it is.
        if let Ok(message) = value.cast::<Struct>()
            && let Some((view, 0)) = message.get().view()
            && let (types, plan) = message.get().plan(py)?
            && Arc::ptr_eq(&types, &self.types.types)
            && plan.id == self.types.id
        {
            let memory = view.hold.memory(py)?;
            if memory.writable
                && matches!(memory.owner, Owner::Bytes(_))
                && memory.head().len() == self.new.len()
            {
                let bytes = memory.head().to_vec();
                return self.store(py, key, &bytes);
            }
        }
        let encoded = encode(py, &self.types, true, value)?;
        self.store(py, key, &encoded.head)
    }

    /// The value of a key, or a new one if it was never set, in memory that may be written. `_set` sets it.
    fn _edit<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Bound<'py, Struct>> {
        self.endpoint.with(py, |_| ())?;
        match value_of(py, &self.reader, &self.types, key, true)? {
            Some((message, _)) => Ok(message),
            None => message(py, &self.types, &self.new, true),
        }
    }

    /// Leaves: the blackboard's name is gone.
    fn close(&self, py: Python<'_>) {
        self.endpoint.close(py);
    }

    /// Whether it is closed.
    #[getter]
    fn is_closed(&self) -> bool {
        self.endpoint.is_closed()
    }
}

impl BlackboardWriterHandle {
    fn store(&self, py: Python<'_>, key: &str, bytes: &[u8]) -> PyResult<u64> {
        let set = self.endpoint.with(py, |raw| crate::sync::lock(raw).set(key, bytes))?;
        set.map_err(|error| set_error(py, &error))
    }
}

/// A reader of a blackboard.
#[pyclass(frozen, subclass, module = "situ", name = "BlackboardReader")]
pub struct BlackboardReaderHandle {
    endpoint: Endpoint<RawBlackboardReader>,
    name: String,
    keys: Vec<String>,
    types: TypeHandle,
}

#[pymethods]
impl BlackboardReaderHandle {
    #[new]
    #[pyo3(signature = (node, name, handle = None))]
    fn new(py: Python<'_>, node: &NodeHandle, name: &str, handle: Option<&TypeHandle>) -> PyResult<Self> {
        let description = handle.map(|handle| described(py, handle)).transpose()?;
        let raw = open(py, node, name, description.as_ref())?;
        let types = match handle {
            Some(handle) => TypeHandle::new(handle.types.clone(), handle.id),
            None => {
                let of = raw.description();
                let types = Types::of(py, &of.schema, &of.name)?;
                let id = types.root;
                TypeHandle::new(types, id)
            }
        };
        // The file may come from anywhere.
        let size = types.types.schema.flat_layout(types.id).map(|it| it.extent.size);
        if size != Some(u64::from(raw.description().fixed_size)) {
            let text = format!("blackboard {name:?} says another size of its values than their type has");
            return Err(Error::Malformed.error(py, text));
        }
        let keys = raw.keys().to_vec();
        let endpoint = Endpoint::new(raw, format!("the reader of blackboard {name:?}"));
        Ok(Self { endpoint, name: name.to_owned(), keys, types })
    }

    /// The blackboard's name.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The type of the values.
    #[getter]
    fn r#type(&self) -> TypeHandle {
        TypeHandle::new(self.types.types.clone(), self.types.id)
    }

    /// The keys, in the order of their positions.
    fn keys(&self) -> Vec<String> {
        self.keys.clone()
    }

    /// A copy of the last value of a key with its version; `None` if it was never set.
    fn _latest<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Option<(Bound<'py, Struct>, u64)>> {
        let found = self.endpoint.with(py, |raw| raw.get(key))?.map_err(|error| get_error(py, &error))?;
        let Some((bytes, version)) = found else { return Ok(None) };
        Ok(Some((message(py, &self.types, &bytes, false)?, version)))
    }

    /// A copy of the last value of a key; `None` if it was never set.
    fn _get<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Option<Bound<'py, Struct>>> {
        Ok(self._latest(py, key)?.map(|(message, _)| message))
    }

    /// How often a key was set.
    fn version(&self, py: Python<'_>, key: &str) -> PyResult<u64> {
        let version = self.endpoint.with(py, |raw| raw.position(key).map(|at| raw.version_at(at)))?;
        version.ok_or_else(|| Error::Key.error(py, format!("blackboard {:?} has no key {key:?}", self.name)))
    }

    /// How many values were set so far, of all keys. A reader that polls looks here first.
    #[getter]
    fn changes(&self, py: Python<'_>) -> PyResult<u64> {
        self.endpoint.with(py, RawBlackboardReader::changes)
    }

    /// Whether the writer is `alive` or `dead`, or has `left`. This reads files.
    #[getter]
    fn writer(&self, py: Python<'_>) -> PyResult<&'static str> {
        let state = self.endpoint.with(py, RawBlackboardReader::writer)?;
        Ok(match state {
            WriterState::Alive(_) => "alive",
            WriterState::Dead(_) => "dead",
            WriterState::Left => "left",
        })
    }

    /// Closes it.
    fn close(&self, py: Python<'_>) {
        self.endpoint.close(py);
    }

    /// Whether it is closed.
    #[getter]
    fn is_closed(&self) -> bool {
        self.endpoint.is_closed()
    }
}
