//! Publishers: loans of flat messages, which are written in place, and messages that are encoded.

use std::sync::{Arc, Mutex};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use situ_bus::{Encoding, RawPublisher};
use situ_schema::dynamic;
use situ_schema::model::Type;

use crate::array::helpers;
use crate::content::{State, Struct, instantiate};
use crate::convert::array_by_dlpack;
use crate::encode::encode;
use crate::errors::Kind as Error;
use crate::events::EventHandle;
use crate::hold::{Hold, Memory};
use crate::info::encoding_name;
use crate::node::NodeHandle;
use crate::port::{Port, loan_error};
use crate::process;
use crate::qos;
use crate::sync::lock;
use crate::types::{Kind, Part, TypeHandle, Types};

/// The alignment of bulk members in a body.
const BULK_ALIGN: u64 = 64;
/// Heads up to this size are filled as a whole.
const SMALL: usize = 4096;

/// A publisher of a topic.
#[pyclass(frozen, subclass, module = "situ", name = "Publisher")]
pub struct PublisherHandle {
    port: Mutex<Option<Arc<Port>>>,
    types: Arc<Types>,
    encoding: Encoding,
    topic: String,
    user_header: usize,
    template: Option<Template>,
}

/// A new flat message, and its bulk members.
struct Template {
    head: Vec<u8>,
    align: usize,
    /// The parts of the head that a new message needs; others may hold anything.
    ranges: Vec<(usize, usize)>,
    bulk: Vec<BulkMember>,
}

struct BulkMember {
    /// Its path, such as `image.data`.
    name: String,
    /// Where its descriptor lies.
    at: u64,
    stride: u64,
    bound: Option<u32>,
}

impl Template {
    fn of(py: Python<'_>, types: &Types) -> PyResult<Option<Self>> {
        let (schema, root) = (&types.schema, types.root);
        let Some(layout) = schema.flat_layout(root) else { return Ok(None) };
        let refused = |error: &dyn std::fmt::Display| Error::Conversion.error(py, error);
        let value = dynamic::default_value(schema, root).map_err(|error| refused(&error))?;
        let head = dynamic::to_flat(schema, root, &value).map_err(|error| refused(&error))?.head;
        let mut ranges = vec![(0, head.len())];
        if head.len() > SMALL {
            ranges.clear();
            needed(types, &types.part(&Type::Named(root)), 0, &mut ranges);
        }
        let bulk = schema.bulk_fields(root).into_iter().map(|it| {
            let path: Vec<&str> = it.path.iter().map(String::as_str).filter(|it| *it != "base").collect();
            BulkMember {
                name: path.join("."),
                at: it.offset,
                stride: it.element_extent.size,
                bound: it.bound,
            }
        });
        Ok(Some(Self { head, align: layout.extent.align as usize, ranges, bulk: bulk.collect() }))
    }
}

/// The bytes of a new value that readers look at.
fn needed(types: &Types, part: &Part, at: u64, ranges: &mut Vec<(usize, usize)>) {
    let mut add = |size: u64| ranges.push((at as usize, size as usize));
    match &part.kind {
        Kind::Text(_) | Kind::WideText(_) => add(6),
        Kind::Sequence { .. } | Kind::Map => add(4),
        Kind::Struct(id) => {
            for member in &types.plan(*id).members {
                if member.bulk {
                    ranges.push(((at + member.at) as usize, 16));
                } else if member.optional {
                    ranges.push(((at + member.at) as usize, 1));
                } else {
                    needed(types, &member.part, at + member.at, ranges);
                }
            }
        }
        _ => add(part.size),
    }
}

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

    /// Copies a message that is encoded already.
    fn send(&self, py: Python<'_>, head: &[u8], align: usize, body: &[u8], header: &[u8]) -> PyResult<u64> {
        let port = self.port(py)?;
        let mut has_body = true;
        let loan = port.lend(py, (head.len(), align), body.len(), |loan| {
            loan.head_bytes().copy_from_slice(head);
            // Empty if the bodies lie on a device.
            let bytes = loan.body_bytes();
            has_body = bytes.len() >= body.len();
            if has_body {
                bytes[..body.len()].copy_from_slice(body);
            }
            loan.user_header_mut()[..header.len()].copy_from_slice(header);
        })?;
        if !has_body {
            port.take_back(loan);
            let text = format!(
                "the bodies of topic {:?} are in the memory of a device, which Python does not write: publish without \
                 `domain`, or without elements of bulk members",
                self.topic
            );
            return Err(Error::Publish.error(py, text));
        }
        port.publish(py, loan)
    }
}

#[pymethods]
impl PublisherHandle {
    /// Joins a topic. `flat`: publishes flat messages.
    #[new]
    #[pyo3(signature = (node, topic, handle, flat, user_header, options))]
    fn new(
        py: Python<'_>,
        node: &NodeHandle,
        topic: &str,
        handle: &TypeHandle,
        flat: bool,
        user_header: u32,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let node = node.node(py)?;
        let description = handle.describe(flat, user_header);
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
            port: Mutex::new(Some(Arc::new(Port::new(raw, limit)))),
            types: handle.types.clone(),
            encoding: description.encoding,
            topic: topic.to_owned(),
            template,
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

    /// `flat`, or `xcdr1` for serialized messages.
    #[getter]
    fn encoding(&self) -> &'static str {
        encoding_name(self.encoding)
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

    /// Lends a flat message, with these numbers of elements of bulk members.
    fn _loan<'py>(
        &self,
        py: Python<'py>,
        sizes: &Bound<'py, PyDict>,
        user_header: Option<Vec<u8>>,
    ) -> PyResult<Bound<'py, Struct>> {
        let Some(template) = &self.template else {
            return Err(
                Error::Publish.error(py, format!("the messages of topic {:?} are not flat", self.topic))
            );
        };
        let header = self.header(py, user_header)?;
        let mut counts = vec![0u64; template.bulk.len()];
        for (name, count) in sizes.iter() {
            let name: String = name.extract()?;
            let Some(index) = template.bulk.iter().position(|it| it.name == name) else {
                let text = format!(
                    "there is no bulk member `{name}`; there are: {}",
                    self.bulk_members().join(", ")
                );
                return Err(Error::Conversion.error(py, text));
            };
            let member = &template.bulk[index];
            let count: u64 = count.extract().map_err(|_| {
                Error::Conversion.error(py, format!("`{name}`: a number of elements is expected"))
            })?;
            if let Some(bound) = member.bound.filter(|bound| count > u64::from(*bound)) {
                return Err(Error::Conversion
                    .error(py, format!("`{name}`: {count} elements exceed the bound {bound}")));
            }
            counts[index] = count;
        }
        let mut descriptors = Vec::with_capacity(counts.len());
        let mut end = 0u64;
        for (member, count) in template.bulk.iter().zip(counts) {
            let at = end.next_multiple_of(BULK_ALIGN);
            let next = count.checked_mul(member.stride).and_then(|size| at.checked_add(size));
            end = next.filter(|end| *end < 1 << 62).ok_or_else(|| {
                Error::Conversion.error(py, format!("`{}`: {count} elements exceed any memory", member.name))
            })?;
            descriptors.push((member.at as usize, at, count));
        }
        let port = self.port(py)?;
        let (mut head, mut body) = ((0, 0), (0, 0));
        let loan = port.lend(py, (template.head.len(), template.align), end as usize, |loan| {
            let bytes = loan.head_bytes();
            for (at, size) in &template.ranges {
                let range = *at..(*at + *size).min(template.head.len());
                bytes[range.clone()].copy_from_slice(&template.head[range]);
            }
            for (at, offset, count) in &descriptors {
                bytes[*at..*at + 8].copy_from_slice(&offset.to_le_bytes());
                bytes[*at + 8..*at + 16].copy_from_slice(&count.to_le_bytes());
            }
            loan.user_header_mut()[..header.len()].copy_from_slice(&header);
            let all = loan.body_bytes();
            body = (all.as_mut_ptr() as usize, all.len());
            head = (loan.head() as usize, loan.head_size());
        })?;
        let memory = Memory::of_loan(port, loan, (head.0 as *mut u8, head.1), (body.0 as *mut u8, body.1));
        let state = State::View { hold: Hold::new(memory), at: 0 };
        instantiate(py, &self.types, self.types.root, state)
    }

    /// Encodes a message and publishes it.
    fn _publish(
        &self,
        py: Python<'_>,
        message: &Bound<'_, PyAny>,
        user_header: Option<Vec<u8>>,
    ) -> PyResult<u64> {
        let header = self.header(py, user_header)?;
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
            return self.send(py, memory.head(), align, memory.body(), &header);
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
