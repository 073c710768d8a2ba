//! Publishers: loans of flat messages, which are written in place, and messages that are encoded.

use std::sync::{Arc, Mutex};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use situ_bus::{Encoding, GROWING_ROOM, RawPublisher};
use situ_memory::HOST;
use situ_region::{MAX_SIZE, total_for};
use situ_schema::dynamic::{RegionTypes, set_in_region};
use situ_schema::model::Type;

use crate::array::helpers;
use crate::content::{State, Struct, instantiate};
use crate::convert::{array_by_dlpack, to_struct_value};
use crate::device::{DeviceBody, release_passed};
use crate::edit::problem_error;
use crate::encode::encode;
use crate::errors::Kind as Error;
use crate::events::EventHandle;
use crate::hold::{Hold, Memory};
use crate::info::encoding_name;
use crate::node::NodeHandle;
use crate::port::{Port, loan_error};
use crate::process;
use crate::qos;
use crate::region_loan::{PortMemory, RegionLoan};
use crate::sync::lock;
use crate::template::Template;
use crate::types::{Kind, TypeHandle, Types};

/// A publisher of a topic.
#[pyclass(frozen, subclass, module = "situ", name = "Publisher")]
pub struct PublisherHandle {
    port: Mutex<Option<Arc<Port>>>,
    types: Arc<Types>,
    encoding: Encoding,
    topic: String,
    user_header: usize,
    is_on_device: bool,
    template: Option<Template>,
    /// The types of its regions, if it publishes them.
    region: Option<Arc<RegionTypes>>,
}

/// The size up to which regions grow by default: their memory then has `GROWING_ROOM` bytes.
const ROOM: u32 = (GROWING_ROOM / 129 * 128) as u32;

impl PublisherHandle {
    /// The shared publisher, if it is open.
    pub fn port(&self, py: Python<'_>) -> PyResult<Arc<Port>> {
        let port = lock(&self.port).clone();
        port.ok_or_else(|| {
            Error::Released.error(py, format!("the publisher of topic {:?} is closed", self.topic))
        })
    }

    fn header(&self, py: Python<'_>, given: Option<Vec<u8>>) -> PyResult<Vec<u8>> {
        let given = given.unwrap_or_default();
        if given.len() > self.user_header {
            let text = format!(
                "a user header of {} bytes is given, and the topic's have {}",
                given.len(),
                self.user_header
            );
            return Err(Error::Conversion.error(py, text));
        }
        Ok(given)
    }

    /// Lends a flat message, with these numbers of elements of bulk members.
    fn lend<'py>(
        &self,
        py: Python<'py>,
        sizes: Option<&Bound<'py, PyDict>>,
        user_header: Option<Vec<u8>>,
    ) -> PyResult<Bound<'py, Struct>> {
        let Some(template) = &self.template else {
            return Err(
                Error::Publish.error(py, format!("the messages of topic {:?} are not flat", self.topic))
            );
        };
        if self.is_on_device {
            release_passed();
        }
        let header = self.header(py, user_header)?;
        let (descriptors, end) = template.lay_out(py, sizes)?;
        let port = self.port(py)?;
        let (mut head, mut body, mut device) = ((0, 0), (0, 0), None);
        let loan = port.lend(py, (template.head.len(), template.align), end as usize, |loan| {
            template.fill(loan.head_bytes(), &descriptors);
            loan.user_header_mut()[..header.len()].copy_from_slice(&header);
            let all = loan.body_bytes();
            body = (all.as_mut_ptr() as usize, all.len());
            if all.is_empty() && loan.body_size() > 0 {
                device = Some(DeviceBody::of(&loan.span()));
            }
            head = (loan.head() as usize, loan.head_size());
        })?;
        let (head, body) = ((head.0 as *mut u8, head.1), (body.0 as *mut u8, body.1));
        let memory = Memory::of_loan(port, loan, head, body, device);
        let state = State::View { hold: Hold::new(memory), at: 0 };
        instantiate(py, &self.types, self.types.root, state)
    }

    /// Begins a region in lent memory, which may have `room` bytes.
    fn begin_region(
        &self,
        py: Python<'_>,
        types: &Arc<RegionTypes>,
        room: Option<u64>,
        header: &[u8],
    ) -> PyResult<RegionLoan> {
        let port = self.port(py)?;
        let limit = match room {
            None => ROOM,
            Some(room) => u32::try_from(room).ok().filter(|room| *room <= MAX_SIZE).ok_or_else(|| {
                Error::Publish.error(py, format!("a region has at most {MAX_SIZE} bytes, not {room}"))
            })?,
        };
        // A new region has room at least.
        let first = types.types().size(types.types().root()).unwrap_or(0).saturating_add(4096);
        let loan = port.lend_growing(py, total_for(limit.max(first).min(MAX_SIZE)), |loan| {
            loan.user_header_mut()[..header.len()].copy_from_slice(header);
        })?;
        let memory = PortMemory { port, loan: Some(loan) };
        RegionLoan::begin(&self.types.schema, self.types.root, types.clone(), memory, limit)
            .map_err(|error| Error::Publish.error(py, error))
    }

    /// Lends a region that is written in place.
    fn lend_region<'py>(
        &self,
        py: Python<'py>,
        types: &Arc<RegionTypes>,
        sizes: Option<&Bound<'py, PyDict>>,
        user_header: Option<Vec<u8>>,
    ) -> PyResult<Bound<'py, Struct>> {
        let header = self.header(py, user_header)?;
        let mut room = None;
        for (name, value) in sizes.into_iter().flatten() {
            if name.extract::<String>()? != "room" {
                let text = format!(
                    "messages of topic {:?} grow as they are written: only `room` is given",
                    self.topic
                );
                return Err(PyTypeError::new_err(text));
            }
            room = Some(value.extract()?);
        }
        let region = self.begin_region(py, types, room, &header)?;
        let way = region.root();
        let state = State::Edit { hold: Hold::new(Memory::of_region(region)), way };
        instantiate(py, &self.types, self.types.root, state)
    }

    /// Publishes a value as a region.
    fn send_region(
        &self,
        py: Python<'_>,
        types: &Arc<RegionTypes>,
        message: &Bound<'_, PyAny>,
        header: &[u8],
    ) -> PyResult<u64> {
        let value = to_struct_value(py, &self.types, self.types.root, message)?;
        let mut region = self.begin_region(py, types, None, header)?;
        let (ty, root) = (Type::Named(self.types.root), region.root());
        let set = region
            .edit(&root)
            .and_then(|root| set_in_region(&self.types.schema, root, &ty, &value).map_err(Into::into));
        let name = self.types.schema.name(self.types.root);
        set.map_err(|problem| problem_error(py, name.as_str(), problem, region.bytes().len()))?;
        match region.finish() {
            (port, Some(loan)) => port.publish(py, loan, None),
            (_, None) => Ok(0),
        }
    }

    /// Copies a message that is encoded already.
    fn send(&self, py: Python<'_>, head: &[u8], align: usize, body: &[u8], header: &[u8]) -> PyResult<u64> {
        let port = self.port(py)?;
        let mut device = None;
        let loan = port.lend(py, (head.len(), align), body.len(), |loan| {
            loan.head_bytes().copy_from_slice(head);
            // Empty if the bodies lie on a device.
            match loan.body_bytes().get_mut(..body.len()) {
                Some(bytes) => bytes.copy_from_slice(body),
                None => device = Some(DeviceBody::of(&loan.span())),
            }
            loan.user_header_mut()[..header.len()].copy_from_slice(header);
        })?;
        if let Some(device) = device
            && let Err(error) = process::detached(py, || device.fill(body))
        {
            // The loan is not taken back: the device may still write it.
            return Err(Error::Publish.error(py, error));
        }
        port.publish(py, loan, None)
    }
}

#[pymethods]
impl PublisherHandle {
    /// Joins a topic. `storage`: the form of its messages, `flat`, `region` or `cdr`.
    #[new]
    #[pyo3(signature = (node, topic, handle, storage, user_header, options))]
    fn new(
        py: Python<'_>,
        node: &NodeHandle,
        topic: &str,
        handle: &TypeHandle,
        storage: &str,
        user_header: u32,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let node = node.node(py)?;
        let region = if storage == "region" {
            let types = RegionTypes::of(&handle.types.schema, handle.id);
            Some(Arc::new(types.map_err(|error| Error::Schema.error(py, error))?))
        } else {
            None
        };
        let description = match &region {
            Some(types) => handle.describe_region(types, user_header),
            None => handle.describe(storage == "flat", user_header),
        };
        let ((qos, limit), placement) = (qos::of_publisher(options)?, qos::placement(options)?);
        let raw =
            process::detached(py, || RawPublisher::create_in(&node, topic, &description, qos, &placement));
        let raw = raw.map_err(|error| Error::Register.error(py, error))?;
        let template = match description.encoding {
            Encoding::Flat => Template::of(py, &handle.types)?,
            _ => None,
        };
        Ok(Self {
            user_header: raw.user_header_size(),
            is_on_device: placement.domain != HOST,
            port: Mutex::new(Some(Arc::new(Port::new(raw, limit)))),
            types: handle.types.clone(),
            encoding: description.encoding,
            topic: topic.to_owned(),
            template,
            region,
        })
    }

    /// The topic's name.
    #[getter]
    fn topic(&self) -> &str {
        &self.topic
    }

    /// The type of its messages.
    #[getter]
    fn r#type(&self) -> TypeHandle {
        TypeHandle::new(self.types.clone(), self.types.root)
    }

    /// `flat`, `region`, or `xcdr1` for serialized messages.
    #[getter]
    fn encoding(&self) -> &'static str {
        encoding_name(self.encoding)
    }

    /// Whether the bodies of its messages are in the memory of a device.
    #[getter]
    fn _is_on_device(&self) -> bool {
        self.is_on_device
    }

    /// How many subscribers match.
    #[getter]
    fn subscribers(&self, py: Python<'_>) -> PyResult<usize> {
        self.port(py)?.with(py, RawPublisher::subscribers)
    }

    /// Its id.
    #[getter]
    fn id(&self, py: Python<'_>) -> PyResult<String> {
        self.port(py)?.with(py, |raw| raw.id().to_string())
    }

    /// The names of its bulk members. `loan` takes their sizes.
    #[getter]
    fn bulk_members(&self) -> Vec<String> {
        self.template.iter().flat_map(|it| &it.bulk).map(|it| it.name.clone()).collect()
    }

    /// Shows that it is alive, if its liveliness is manual.
    fn assert_liveliness(&self, py: Python<'_>) -> PyResult<()> {
        self.port(py)?.with(py, RawPublisher::assert_liveliness)
    }

    /// Gets memory for so many messages of so many bytes now.
    fn reserve(&self, py: Python<'_>, messages: usize, bytes: usize) -> PyResult<()> {
        let reserved = self.port(py)?.with(py, |raw| raw.reserve(messages, bytes))?;
        reserved.map_err(|error| loan_error(py, &error))
    }

    /// Leaves the topic. Loans that exist stay valid, and no more are made.
    fn close(&self, py: Python<'_>) {
        let port = lock(&self.port).take();
        process::detached(py, || drop(port));
    }

    /// Whether it is closed.
    #[getter]
    fn is_closed(&self) -> bool {
        lock(&self.port).is_none()
    }

    /// The numbers of elements of the bulk members among these members.
    fn _sizes<'py>(&self, py: Python<'py>, members: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyDict>> {
        let sizes = PyDict::new(py);
        for member in &self.types.plan(self.types.root).members {
            let Kind::Sequence { item: Some(item), .. } = &member.part.kind else { continue };
            if member.bulk
                && let Some(value) = members.get_item(&member.name)?
            {
                let value = match array_by_dlpack(&value, &member.name)? {
                    Some(array) => {
                        members.set_item(&member.name, &array)?;
                        array
                    }
                    None => value,
                };
                let count = if value.hasattr("shape")? {
                    helpers(py)?.getattr("count")?.call1((value, item.inner.clone()))?
                } else {
                    value.len()?.into_pyobject(py)?.into_any()
                };
                sizes.set_item(&member.name, count)?;
            }
        }
        Ok(sizes)
    }

    /// Lends a message that is written in place, in shared memory.
    ///
    /// `sizes` are the numbers of elements of bulk members. The message is published when a `with` block ends
    /// well, and dropped when the block raises:
    ///
    /// >>> with publisher.loan() as out:
    /// ...     out.x = 1.5
    ///
    /// A region grows as it is written, up to `room` bytes (about 254 MiB without it, of which only what is
    /// used takes memory):
    ///
    /// >>> with regions.loan(room=1 << 20) as out:
    /// ...     out.names.append("a name")
    ///
    /// Arrays of the message must be gone when it is published. A name that keeps one is an error
    /// (`BorrowedError`), because the array could change the message afterwards.
    #[pyo3(signature = (*, user_header = None, **sizes))]
    fn loan<'py>(
        slf: &Bound<'py, Self>,
        user_header: Option<Vec<u8>>,
        sizes: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, this) = (slf.py(), slf.get());
        if this.encoding == Encoding::Flat {
            return this.lend(py, sizes, user_header).map(Bound::into_any);
        }
        if let Some(types) = &this.region {
            return this.lend_region(py, types, sizes, user_header).map(Bound::into_any);
        }
        slf.call_method1("_loan_of_objects", (sizes,))
    }

    /// As `loan`, of a flat message.
    fn _loan<'py>(
        &self,
        py: Python<'py>,
        sizes: &Bound<'py, PyDict>,
        user_header: Option<Vec<u8>>,
    ) -> PyResult<Bound<'py, Struct>> {
        self.lend(py, Some(sizes), user_header)
    }

    /// Encodes a message and publishes it.
    fn _publish(
        &self,
        py: Python<'_>,
        message: &Bound<'_, PyAny>,
        user_header: Option<Vec<u8>>,
    ) -> PyResult<u64> {
        let header = self.header(py, user_header)?;
        if let Some(types) = &self.region {
            return self.send_region(py, types, message, &header);
        }
        let (types, id) = (&self.types, self.types.root);
        // A flat message of the same type is copied as it is.
        if self.encoding == Encoding::Flat
            && let Ok(given) = message.cast::<Struct>()
            && let Some((view, 0)) = given.get().view()
            && Arc::ptr_eq(&view.types, types)
            && given.get().plan(py)?.1.id == id
        {
            let memory = view.hold.memory(py)?;
            let align = self.template.as_ref().map_or(8, |it| it.align);
            return self.send(py, memory.head(), align, &memory.body_on_host(py)?, &header);
        }
        let encoded = encode(py, &self.r#type(), self.encoding == Encoding::Flat, message)?;
        self.send(py, &encoded.head, encoded.align, &encoded.body, &header)
    }

    /// The event of this kind.
    fn _event(&self, py: Python<'_>, kind: &str) -> PyResult<EventHandle> {
        let event = self.port(py)?.with(py, |raw| EventHandle::of_publisher(raw, kind))?;
        event.ok_or_else(|| Error::Error.error(py, format!("publishers have no event {kind:?}")))
    }
}
