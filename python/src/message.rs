//! Messages, and structs in them: the base of the classes that `situ/_types.py` makes for each type.

use std::sync::{Arc, Mutex};

use pyo3::exceptions::PyAttributeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple, PyType};
use situ_bus::{Encoding, RawSample};
use situ_schema::dynamic::{self, RegionVersions, RegionView, Value};
use situ_schema::model::Type;

use crate::array::Array;
use crate::content::{Content, State, Struct, View, instantiate};
use crate::convert::{default_record, no_member, to_member_value, to_struct_value};
use crate::device::{adopted, handle_of};
use crate::edit::Spot;
use crate::errors::Kind as Error;
use crate::hold::{Hold, Memory, Owner};
use crate::info::{Info, info_of};
use crate::objects::{numpy_if_array, to_object, to_plain};
use crate::region::Region;
use crate::sync::lock;
use crate::types::{StructPlan, TypeHandle, Types};
use crate::view::Access;

const RELEASED: &str = "the message is released: use it inside its `with` block, or keep a `copy()`";
const PUBLISHED: &str = "the loan is published, and cannot be changed any more";
const DROPPED: &str = "the loan was dropped";

/// A message that was taken.
pub fn received<'py>(
    py: Python<'py>,
    types: &Arc<Types>,
    sample: RawSample,
    taken: Option<u64>,
) -> PyResult<Bound<'py, Struct>> {
    let (encoding, head) = (sample.encoding(), sample.head_in_place().len() as u64);
    let hold = Hold::new(Memory::of_sample(sample, taken));
    let state = match encoding {
        Encoding::Flat => {
            let size = types.plan(types.root).size;
            if size != Some(head) {
                let size = size.unwrap_or(0);
                let text = format!("a flat message has a head of {size} bytes, and this one has {head}");
                return Err(Error::Malformed.error(py, text));
            }
            State::View { hold, at: 0 }
        }
        Encoding::Region => {
            let memory = hold.memory(py)?;
            let versions = RegionVersions::of(&types.schema, types.root, memory.body());
            let versions = versions.map_err(|error| Error::Malformed.error(py, error))?;
            State::Region { hold, at: RegionView::ROOT, versions }
        }
        _ => State::Encoded { hold },
    };
    instantiate(py, types, types.root, state)
}

/// What pickle keeps: a function, and its arguments.
type Reduced<'py> = (Bound<'py, PyAny>, (TypeHandle, Bound<'py, PyBytes>));

/// How a member is reached.
enum Reach {
    Object(Py<PyAny>),
    Memory(View, u64),
    Region(Region, u64),
    Edit(Spot),
}

impl Struct {
    /// Decodes a serialized message or a region.
    fn decode(&self, py: Python<'_>) -> PyResult<()> {
        let (hold, types) = match &*lock(&self.content) {
            Some(Content { state: State::Encoded { hold }, types, .. }) => (hold.clone(), types.clone()),
            _ => return Ok(()),
        };
        let memory = hold.memory(py)?;
        let Some(sample) = memory.sample() else { return Ok(()) };
        let copy = || sample.body().try_to_vec();
        let body = copy().map_err(|error| Error::Malformed.error(py, error))?;
        let value = decode_bytes(&types, sample.encoding(), &body).map_err(|text| {
            let text = format!("message {} is malformed: {text}", sample.sequence());
            Error::Malformed.error(py, text)
        })?;
        let Value::Record(record) = value else { return Ok(()) };
        let members = &types.plan(types.root).members;
        let values = record
            .iter()
            .zip(members)
            .map(|((_, value), member)| Ok(to_object(py, &types, &member.part, value)?.unbind()));
        let values = values.collect::<PyResult<Vec<_>>>()?;
        let info = Some(Arc::new(info_of(sample)));
        if let Some(content) = &mut *lock(&self.content) {
            content.state = State::Values { values, lender: None };
            content.info = info;
        }
        Ok(())
    }

    fn reach(&self, py: Python<'_>, index: usize) -> PyResult<(Reach, Arc<StructPlan>)> {
        loop {
            {
                let content = lock(&self.content);
                let content = content.as_ref().ok_or_else(|| Self::not_begun(py))?;
                let plan = content.plan.clone();
                match &content.state {
                    State::Values { values, .. } => {
                        let value = values.get(index).map_or_else(|| py.None(), |it| it.clone_ref(py));
                        return Ok((Reach::Object(value), plan));
                    }
                    State::View { hold, at } => {
                        let view = View { types: content.types.clone(), hold: hold.clone() };
                        return Ok((Reach::Memory(view, *at), plan));
                    }
                    State::Region { hold, at, versions } => {
                        let view = View { types: content.types.clone(), hold: hold.clone() };
                        return Ok((Reach::Region(Region { view, versions: versions.clone() }, *at), plan));
                    }
                    State::Edit { hold, way } => {
                        let view = View { types: content.types.clone(), hold: hold.clone() };
                        let name = content.types.schema.name(plan.id).to_string();
                        return Ok((Reach::Edit(Spot { view, way: way.clone(), name }), plan));
                    }
                    State::Encoded { .. } => {}
                }
            }
            self.decode(py)?;
        }
    }

    /// The value of a member.
    pub fn get<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyAny>> {
        let (reach, plan) = self.reach(py, index)?;
        match reach {
            Reach::Memory(view, at) => {
                let memory = view.hold.memory(py)?;
                let member = &plan.members[index];
                Access { py, view: &view, memory: &memory, name: &member.name }.member(member, at)
            }
            Reach::Region(region, at) => region.member(py, plan.id, index, at),
            Reach::Edit(spot) => spot.get_member(py, &plan, index),
            Reach::Object(object) => {
                let object = object.into_bound(py);
                if !object.is_instance_of::<Array>() {
                    return Ok(object);
                }
                // Kept as numpy's array from now on, so that the same one is returned.
                let array = numpy_if_array(py, object)?;
                self.put(index, array.clone().unbind());
                Ok(array)
            }
        }
    }

    /// The value of the member of this name, if there is one.
    pub fn get_by_name<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (_, plan) = self.plan(py)?;
        plan.find(name).map(|index| self.get(py, index)).transpose()
    }

    fn set(&self, py: Python<'_>, index: usize, object: &Bound<'_, PyAny>) -> PyResult<()> {
        let (reach, plan) = self.reach(py, index)?;
        let member = &plan.members[index];
        match reach {
            Reach::Memory(view, at) => {
                let memory = view.hold.memory(py)?;
                Access { py, view: &view, memory: &memory, name: &member.name }.set_member(member, at, object)
            }
            Reach::Region(region, _) => {
                region.view.hold.memory(py)?;
                let text =
                    format!("`{}` lies in a region, which is read-only: change a `copy()`", member.name);
                Err(Error::Conversion.error(py, text))
            }
            Reach::Edit(spot) => spot.set_member(py, &plan, index, object),
            Reach::Object(_) => {
                let (types, _) = self.plan(py)?;
                let value = to_member_value(py, &types, member, object).map_err(|fail| fail.raise(py))?;
                let object = to_object(py, &types, &member.part, &value)?.unbind();
                self.put(index, object);
                Ok(())
            }
        }
    }

    fn find(&self, py: Python<'_>, name: &str) -> PyResult<usize> {
        let (types, plan) = self.plan(py)?;
        plan.find(name).ok_or_else(|| PyAttributeError::new_err(no_member(&types, plan.id, name)))
    }

    fn is_root(&self, py: Python<'_>) -> PyResult<bool> {
        let (types, plan) = self.plan(py)?;
        let is_first = self.view().is_none_or(|(_, at)| at == 0);
        if let Some(spot) = self.spot() {
            return Ok(spot.way.steps.is_empty());
        }
        let is_first = is_first && self.region(py)?.is_none_or(|(_, at)| at == RegionView::ROOT);
        Ok(types.root == plan.id && is_first)
    }

    fn lender(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        match lock(&self.content).as_ref().map(|it| &it.state) {
            Some(State::Values { lender: Some(lender), .. }) => Some(lender.clone_ref(py)),
            _ => None,
        }
    }

    fn take_lender(&self) -> Option<Py<PyAny>> {
        match &mut *lock(&self.content) {
            Some(Content { state: State::Values { lender, .. }, .. }) => lender.take(),
            _ => None,
        }
    }

    fn is_loan(&self) -> bool {
        let loan = |hold: Arc<Hold>| {
            Python::attach(|py| {
                hold.memory(py).is_ok_and(|it| matches!(it.owner, Owner::Loan(..) | Owner::Region(_)))
            })
        };
        self.hold().is_some_and(loan)
    }
}

/// A serialized message or a region as a value.
pub fn decode_bytes(types: &Types, encoding: Encoding, body: &[u8]) -> Result<Value, String> {
    let decoded = match encoding {
        Encoding::Region => dynamic::from_region(&types.schema, types.root, body),
        _ => dynamic::from_cdr(&types.schema, types.root, body),
    };
    decoded.map_err(|error| error.to_string())
}

#[pymethods]
impl Struct {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> Self {
        Self { content: Mutex::new(None) }
    }

    /// Begins a message of its own, with defaults where nothing is given.
    fn _begin(
        &self,
        py: Python<'_>,
        handle: &TypeHandle,
        given: &Bound<'_, PyDict>,
        lender: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let (types, id) = (&handle.types, handle.id);
        let plan = types.plan(id);
        for name in given.keys() {
            let name: String = name.extract()?;
            if plan.find(&name).is_none() {
                return Err(Error::Conversion.error(py, no_member(types, id, &name)));
            }
        }
        let defaults = default_record(types, id).map_err(|fail| fail.raise(py))?;
        let mut values = Vec::with_capacity(plan.members.len());
        for (member, (_, default)) in plan.members.iter().zip(defaults.iter()) {
            values.push(match given.get_item(&member.name)? {
                Some(object) => {
                    let value = to_member_value(py, types, member, &object).map_err(|fail| fail.raise(py))?;
                    to_object(py, types, &member.part, &value)?.unbind()
                }
                None => to_object(py, types, &member.part, default)?.unbind(),
            });
        }
        let state = State::Values { values, lender };
        self.begin(Content { types: types.clone(), plan: plan.clone(), state, info: None });
        Ok(())
    }

    /// The objects that it refers to, for Python's search for cycles: its lists may contain the message
    /// itself.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // While this thread has the lock, the objects are not shown, so they count as used.
        let Ok(content) = self.content.try_lock() else { return Ok(()) };
        if let Some(Content { state: State::Values { values, lender }, .. }) = &*content {
            values.iter().chain(lender).try_for_each(|it| visit.call(it))?;
        }
        Ok(())
    }

    /// Drops its objects, for a message in a cycle that nothing else refers to. Code that ends such objects
    /// and still uses the message finds `None` in its members.
    fn __clear__(&self) {
        let mut earlier = None;
        if let Some(Content { state: State::Values { values, lender }, .. }) = &mut *lock(&self.content) {
            earlier = Some((std::mem::take(values), lender.take()));
        }
        drop(earlier);
    }

    /// The member of this name. It is the same as the attribute, also where a method has the name.
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        self.get(py, self.find(py, name)?)
    }

    /// Changes the member of this name.
    fn __setitem__(&self, py: Python<'_>, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.set(py, self.find(py, name)?, value)
    }

    /// The numbers of a member as a `situ.Array`, for DLPack and for programs without numpy.
    fn array<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let index = self.find(py, name)?;
        let (reach, plan) = self.reach(py, index)?;
        match reach {
            Reach::Object(object) => Ok(object.into_bound(py)),
            Reach::Region(region, at) => region.array(py, plan.id, index, at),
            Reach::Edit(spot) => spot.array_of(py, &plan, index),
            Reach::Memory(view, at) => {
                let memory = view.hold.memory(py)?;
                let access = Access { py, view: &view, memory: &memory, name };
                if let Some(array) = access.device_array(&plan.members[index], at)? {
                    return Ok(Bound::new(py, array)?.into_any());
                }
                match access.array_of(&plan.members[index], at)? {
                    Some(array) => Ok(Bound::new(py, array)?.into_any()),
                    None => Err(Error::Conversion.error(py, format!("`{name}` has no numbers in an array"))),
                }
            }
        }
    }

    /// A sequence or array of numbers in a region that is being written, as a list that can grow. As an
    /// attribute it is an array.
    fn list<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let index = self.find(py, name)?;
        match self.reach(py, index)? {
            (Reach::Edit(spot), plan) => spot.list_of(py, &plan, index),
            _ => {
                let text =
                    "only loans of regions have lists that grow: `publisher.loan()` of an `@region` type";
                Err(Error::Conversion.error(py, text))
            }
        }
    }

    /// A copy of the live image of the region in which it lies.
    fn _image<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        match self.region(py)? {
            Some((region, _)) => Ok(PyBytes::new(py, region.view.hold.memory(py)?.body())),
            None => Err(Error::Conversion.error(py, "the message lies in no region")),
        }
    }

    /// In a region that is being written: lets the shared link `name` lead to the value of the link
    /// `other_name` of `other`, a struct of the same message. Both then show changes of it. Without
    /// `other_name`, it is the member of the same name.
    #[pyo3(signature = (name, other, other_name = None))]
    fn share(
        &self,
        py: Python<'_>,
        name: &str,
        other: &Bound<'_, Self>,
        other_name: Option<&str>,
    ) -> PyResult<()> {
        let index = self.find(py, name)?;
        let other_index = other.get().find(py, other_name.unwrap_or(name))?;
        match (self.reach(py, index)?, other.get().reach(py, other_index)?) {
            ((Reach::Edit(to), plan), (Reach::Edit(from), other_plan)) => {
                to.share(py, (&plan, index), &from, (&other_plan, other_index))
            }
            _ => Err(Error::Conversion.error(py, "only loans of regions have links that share values")),
        }
    }

    /// What the bus tells of it; `None` for a message that was not taken.
    #[getter]
    fn info(&self, py: Python<'_>) -> PyResult<Option<Info>> {
        if let Some(info) = lock(&self.content).as_ref().and_then(|it| it.info.clone()) {
            return Ok(Some((*info).clone()));
        }
        let Some(hold) = self.hold() else { return Ok(None) };
        Ok(hold.memory(py)?.sample().map(info_of))
    }

    /// Whether its memory was given back.
    #[getter]
    fn is_released(&self) -> bool {
        self.hold().is_some_and(|hold| !hold.is_held())
    }

    /// Gives the memory back. Its members cannot be used any more. An array of numpy keeps the memory until
    /// it is gone.
    fn release(&self) {
        if let Some(hold) = self.hold() {
            let reason = if self.is_loan() { DROPPED } else { RELEASED };
            hold.release(reason);
        }
        self.take_lender();
    }

    /// Publishes a loan, and returns the message's number.
    ///
    /// A body on a device is complete when a stream has passed the work that is enqueued on it by now:
    /// `stream`, or else the one to which the loan's array was given.
    #[pyo3(signature = (stream = None))]
    fn publish(slf: &Bound<'_, Self>, stream: Option<&Bound<'_, PyAny>>) -> PyResult<u64> {
        let (py, this) = (slf.py(), slf.get());
        if let Some(lender) = this.lender(py) {
            let number = lender.bind(py).call_method1("publish", (slf,))?.extract()?;
            this.take_lender();
            return Ok(number);
        }
        let (Some(hold), true) = (this.hold(), this.is_root(py)?) else {
            return Err(Error::Publish
                .error(py, "only loans are published: `publisher.publish(message)` sends other messages"));
        };
        if !this.is_loan() && hold.is_held() {
            let text = "the message was taken, and is no loan: `publisher.publish(message)` sends it again";
            return Err(Error::Publish.error(py, text));
        }
        // Without a device, the host has written the message by now.
        let on = match hold.of_device(|device| (device.domain(), device.stream(py))) {
            Some((domain, by_use)) => match stream {
                Some(stream) => Some(adopted(py, domain, handle_of(stream)?)?),
                None => by_use?,
            },
            None => None,
        };
        match hold.take(PUBLISHED) {
            Ok(memory) => {
                if let Some(region) = memory.region() {
                    let region = lock(region).take();
                    let Some((port, Some(loan))) = region.map(|region| region.finish()) else { return Ok(0) };
                    return port.publish(py, loan, None);
                }
                let Owner::Loan(port, loan) = &memory.owner else { return Ok(0) };
                let loan = lock(loan).take();
                drop(memory.device.as_ref().map(|device| device.take_streams()));
                loan.map_or(Ok(0), |loan| port.publish(py, loan, on.as_deref().map(|it| it as _)))
            }
            Err(None) => hold.memory(py).map(|_| 0),
            Err(Some(arrays)) => {
                let text = format!(
                    "{arrays} array(s) of the loan still exist, and could change the message after it is published: `del` them \
                     before the `with` block ends, or assign to `out.member[...]` without keeping the array"
                );
                Err(Error::Borrowed.error(py, text))
            }
        }
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    /// Publishes a loan if the block ended well, and drops it otherwise. Releases a message that was taken.
    #[pyo3(signature = (kind, _value, _traceback))]
    fn __exit__(
        slf: &Bound<'_, Self>,
        kind: &Bound<'_, PyAny>,
        _value: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        let (py, this) = (slf.py(), slf.get());
        let is_open = this.lender(py).is_some() || this.is_loan();
        if is_open && kind.is_none() {
            if let Err(error) = Self::publish(slf, None) {
                this.release();
                return Err(error);
            }
        } else {
            this.release();
        }
        Ok(false)
    }

    /// A copy in memory of its own, which can be changed and kept.
    fn copy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let (types, plan) = slf.get().plan(py)?;
        let value = to_struct_value(py, &types, plan.id, slf.as_any())?;
        to_object(py, &types, &types.part(&Type::Named(plan.id)), &value)
    }

    fn __copy__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::copy(slf)
    }

    fn __deepcopy__<'py>(slf: &Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Self::copy(slf)
    }

    /// As plain objects: dicts, lists, numbers, text. Enumerators are numbers, and a union is a dict of its
    /// case.
    fn to_dict<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        to_plain(slf.py(), &Self::value(slf)?)
    }

    /// A message from a dict of its members, as `to_dict` makes it. Members that are not in it have their
    /// defaults.
    #[classmethod]
    fn from_dict<'py>(
        class: &Bound<'py, PyType>,
        members: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, handle) = (class.py(), class.getattr("__situ__")?);
        let handle = handle.cast::<TypeHandle>()?.get();
        let value = to_struct_value(py, &handle.types, handle.id, members.as_any())?;
        to_object(py, &handle.types, &handle.types.part(&Type::Named(handle.id)), &value)
    }

    /// As JSON, in one line. Enumerators are names.
    fn to_json(slf: &Bound<'_, Self>) -> PyResult<String> {
        Ok(Self::value(slf)?.to_json())
    }

    /// As YAML, as `situ topic echo` prints it.
    fn to_yaml(slf: &Bound<'_, Self>) -> PyResult<String> {
        Ok(Self::value(slf)?.to_yaml(&dynamic::PrintOptions::default()))
    }

    fn __eq__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(other) = other.cast::<Self>() else { return Ok(false) };
        let (py, own, others) = (slf.py(), slf.get().plan(slf.py())?, other.get().plan(slf.py())?);
        if own.0.schema.schema_hash(own.1.id) != others.0.schema.schema_hash(others.1.id) {
            return Ok(false);
        }
        // Values as both are stored, for instance enumerators with their names.
        let bytes = |of: &Bound<'_, Self>, (types, plan): (Arc<Types>, Arc<StructPlan>)| {
            let value = Self::value(of)?;
            dynamic::to_cdr(&types.schema, plan.id, &value, situ_wire::Encoding::Xcdr2)
                .map_err(|error| Error::Conversion.error(py, error))
        };
        Ok(bytes(slf, own)? == bytes(other, others)?)
    }

    /// A pickled message is a copy.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let py = slf.py();
        let (types, plan) = slf.get().plan(py)?;
        let value = Self::value(slf)?;
        let bytes = dynamic::to_cdr(&types.schema, plan.id, &value, situ_wire::Encoding::Xcdr2)
            .map_err(|error| Error::Conversion.error(py, error))?;
        let restore = py.import("situ._types")?.getattr("restore_message")?;
        Ok((restore, (TypeHandle::new(types, plan.id), PyBytes::new(py, &bytes))))
    }

    /// The names of the members, and their values as attributes return them, for `repr`.
    fn _items<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
        let (_, plan) = self.plan(py)?;
        // Of a region all at once, with its limits: views of a region with cycles would have no end.
        if let Some(objects) = self.of_region(py)? {
            return objects.cast::<Self>()?.get()._items(py);
        }
        let items = plan.members.iter().enumerate();
        items.map(|(index, member)| Ok((member.name.clone(), self.get(py, index)?))).collect()
    }
}

impl Struct {
    /// The value, without the weak links that a region has: a copy has none.
    fn value(slf: &Bound<'_, Self>) -> PyResult<Value> {
        let (py, (types, plan)) = (slf.py(), slf.get().plan(slf.py())?);
        if types.has_weak_links {
            return to_struct_value(py, &types, plan.id, &Self::copy(slf)?);
        }
        to_struct_value(py, &types, plan.id, slf.as_any())
    }
}

/// A member as an attribute of a class of messages. `situ/_types.py` makes `doc` the documentation that
/// Python shows.
#[pyclass(frozen, subclass, module = "situ", name = "Member")]
pub struct Member {
    index: usize,
    #[pyo3(get)]
    name: String,
    #[pyo3(get)]
    doc: String,
}

#[pymethods]
impl Member {
    #[new]
    fn new(index: usize, name: String, doc: String) -> Self {
        Self { index, name, doc }
    }

    fn __get__<'py>(
        slf: &Bound<'py, Self>,
        object: &Bound<'py, PyAny>,
        _class: Option<&Bound<'py, PyType>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match object.cast::<Struct>() {
            Ok(message) => message.get().get(slf.py(), slf.get().index),
            Err(_) => Ok(slf.clone().into_any()),
        }
    }

    fn __set__(&self, object: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        object.cast::<Struct>()?.get().set(object.py(), self.index, value)
    }
}
