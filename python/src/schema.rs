//! Schemas and types as Python's code handles them.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use situ_schema::dynamic::{RegionVersions, RegionView};
use situ_schema::model::{Interface, Kind, Literal, Primitive, Type, TypeId};
use situ_schema::{Format, Loader, Schema, dynamic};

use crate::content::{State, Struct, instantiate};
use crate::convert::to_struct_value;
use crate::errors::Kind as Error;
use crate::hold::{Hold, Memory};
use crate::objects::to_object;
use crate::process;
use crate::types::{self, Item, MemberPlan, StructPlan, TypeHandle, Types};

/// An operation of an interface.
type Operation = (String, String, String, String, (String, String), bool);

/// A value of the schema's own notation, for the defaults of constants.
fn literal(py: Python<'_>, schema: &Schema, value: &Literal) -> PyResult<Py<PyAny>> {
    Ok(match value {
        Literal::Bool(it) => it.into_pyobject(py)?.to_owned().into_any().unbind(),
        Literal::Integer(it) => it.into_pyobject(py)?.into_any().unbind(),
        Literal::Float(it) => it.into_pyobject(py)?.into_any().unbind(),
        Literal::String(it) => it.into_pyobject(py)?.into_any().unbind(),
        Literal::Enumerator { .. } => {
            let value = schema.enumerator_of(value).map_or(0, |it| it.value);
            value.into_pyobject(py)?.into_any().unbind()
        }
        Literal::List(values) => {
            let values = values.iter().map(|it| literal(py, schema, it)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, values)?.into_any().unbind()
        }
    })
}

#[pymethods]
#[allow(clippy::wrong_self_convention, reason = "in Python, a type makes its messages")]
impl TypeHandle {
    /// The full name, in IDL's spelling.
    #[getter]
    fn name(&self) -> String {
        self.types.schema.name(self.id).to_string()
    }

    /// The canonical schema, with all types that this one needs.
    #[getter]
    fn schema(&self) -> String {
        self.types.schema.canonical(self.id)
    }

    /// The hash of the schema.
    #[getter]
    fn schema_hash(&self) -> u64 {
        self.types.schema.schema_hash(self.id)
    }

    /// Whether it is `struct`, `union`, `enum`, `bitmask` or `typedef`.
    #[getter]
    fn kind(&self) -> &'static str {
        self.types.schema.definition(self.id).kind.word()
    }

    /// The documentation in the schema.
    #[getter]
    fn docs(&self) -> &str {
        &self.types.schema.definition(self.id).docs
    }

    /// Whether its messages can be flat.
    #[getter]
    fn is_flattable(&self) -> bool {
        self.types.schema.is_flattable(self.id)
    }

    /// Whether its default storage is flat.
    #[getter]
    fn is_flat(&self) -> bool {
        self.types.schema.is_flat(self.id)
    }

    /// Whether it is marked `@region`: its messages are regions by default.
    #[getter]
    fn is_region(&self) -> bool {
        let schema = &self.types.schema;
        schema.definition(self.id).kind.as_struct().is_some_and(|it| it.region) && schema.has_region(self.id)
    }

    /// Whether it has a region form.
    #[getter]
    fn has_region(&self) -> bool {
        self.types.schema.has_region(self.id)
    }

    /// Checks the image of a region, every byte of it. Raises `MalformedError`.
    fn check_region(&self, py: Python<'_>, image: &[u8]) -> PyResult<()> {
        let checked = dynamic::check_region(&self.types.schema, self.id, image);
        checked.map(drop).map_err(|error| Error::Malformed.error(py, error))
    }

    /// The canonical image of a message's region: equal values have equal bytes. Of a region that is being
    /// written, its links keep sharing their values.
    fn to_region<'py>(&self, py: Python<'py>, message: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        if let Ok(message) = message.cast::<Struct>()
            && let Some(spot) = message.get().spot()
            && spot.way.steps.is_empty()
            && Arc::ptr_eq(&spot.view.types, &self.types)
        {
            let image = spot.with(py, |loan| Ok(loan.canonical()))?;
            return Ok(PyBytes::new(py, &image));
        }
        let value = to_struct_value(py, &self.types, self.id, message)?;
        let image = dynamic::to_region(&self.types.schema, self.id, &value)
            .map_err(|error| Error::Conversion.error(py, error))?;
        Ok(PyBytes::new(py, &image))
    }

    /// The size of the head of a flat message; `None` if there is none.
    #[getter]
    fn flat_size(&self) -> Option<u64> {
        self.types.schema.flat_layout(self.id).map(|it| it.extent.size)
    }

    /// The Python class: of a struct its class of messages, of an enum an `IntEnum`, of a bitmask an
    /// `IntFlag`.
    #[getter]
    fn cls<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.types.class(py, self.id)
    }

    /// The members of a struct, in order: names, types as IDL writes them, documentation, units.
    #[getter]
    fn members(&self, py: Python<'_>) -> PyResult<Vec<(String, String, Option<String>)>> {
        let Some(plan) = self.plan() else {
            let text = format!("{} is no struct", self.name());
            return Err(Error::Schema.error(py, text));
        };
        let schema = &self.types.schema;
        let of = |it: &MemberPlan| {
            let mut text = schema.display(&it.part.ty);
            if it.optional {
                text = format!("@optional {text}");
            }
            if it.bulk {
                text = format!("@bulk {text}");
            }
            (it.name.clone(), text, unit(schema, self.id, &it.name))
        };
        Ok(plan.members.iter().map(of).collect())
    }

    /// The names and values of an enum's enumerators, or the names and bits of a bitmask's flags.
    #[getter]
    fn values(&self, py: Python<'_>) -> PyResult<Vec<(String, i128)>> {
        match &self.types.schema.definition(self.id).kind {
            Kind::Enum(it) => {
                Ok(it.enumerators.iter().map(|it| (it.name.clone(), i128::from(it.value))).collect())
            }
            Kind::Bitmask(it) => {
                Ok(it.flags.iter().map(|it| (it.name.clone(), 1i128 << it.position)).collect())
            }
            _ => Err(Error::Schema.error(py, format!("{} is no enum or bitmask", self.name()))),
        }
    }

    /// As `values`, with the names of Python's enumerators.
    #[getter]
    fn _enumerators(&self, py: Python<'_>) -> PyResult<Vec<(String, i128)>> {
        let values = self.values(py)?;
        let names: Vec<&str> = values.iter().map(|(name, _)| name.as_str()).collect();
        let names = situ_schema::codegen::python_enumerators(&names);
        Ok(names.into_iter().zip(values).map(|(name, (_, value))| (name, value)).collect())
    }

    /// Of the reply of an operation that raises exceptions: the type of what it gives, and the names of the
    /// cases of its exceptions, by those of their types.
    fn _reply(&self) -> Option<(Self, HashMap<String, String>)> {
        let schema = &self.types.schema;
        let [reply] = schema.definition(self.id).kind.as_struct()?.members.as_slice() else { return None };
        let Type::Named(union) = reply.ty else { return None };
        let Kind::Union(union) = &schema.definition(union).kind else { return None };
        let mut cases = union.cases.iter().filter_map(|case| match case.member.ty {
            Type::Named(id) => Some((id, &case.member.name)),
            _ => None,
        });
        let (output, _) = cases.next()?;
        let cases = cases.map(|(id, name)| (schema.name(id).to_string(), name.clone())).collect();
        Some((Self::new(self.types.clone(), output), cases))
    }

    /// What numpy needs to read a flat value in place: `(names, formats, offsets, size)`. A format is a text,
    /// or a list of the text or of a type, and the lengths of an array.
    fn layout<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let schema = &self.types.schema;
        let (Some(plan), true) = (self.plan(), schema.is_plain(&Type::Named(self.id))) else {
            let text = format!("{} has no fixed layout", self.name());
            return Err(Error::Schema.error(py, text));
        };
        let (names, formats, offsets) = (PyList::empty(py), PyList::empty(py), PyList::empty(py));
        for member in &plan.members {
            names.append(&member.name)?;
            offsets.append(member.at)?;
            let item = match &member.part.kind {
                types::Kind::Array { item: Some(item), dimensions, .. } => {
                    let inner = dimensions.iter().map(|it| u64::from(*it)).collect();
                    Some(Item { inner, ..item.clone() })
                }
                types::Kind::Struct(id) => {
                    Some(Item { typestr: String::new(), size: 0, inner: Vec::new(), of: Some(*id) })
                }
                types::Kind::Primitive(it) => Some(Item::number(*it)),
                types::Kind::Enum(_) => Some(Item::number(Primitive::I32)),
                types::Kind::Bitmask(_, it) => Some(Item::number(*it)),
                _ => None,
            };
            let Some(item) = item else {
                return Err(Error::Schema.error(py, format!("`{}` has no fixed layout", member.name)));
            };
            match item.of {
                Some(id) => {
                    let handle = Self::new(self.types.clone(), id);
                    formats.append((handle, item.inner))?;
                }
                None => formats.append((item.typestr, item.inner))?,
            }
        }
        let layout = PyDict::new(py);
        layout.set_item("names", names)?;
        layout.set_item("formats", formats)?;
        layout.set_item("offsets", offsets)?;
        layout.set_item("itemsize", plan.size.unwrap_or(0))?;
        Ok(layout)
    }

    /// A message from the bytes of a flat one: its head and its body. The bytes are copied.
    #[pyo3(signature = (head, body = None))]
    fn from_flat<'py>(
        &self,
        py: Python<'py>,
        head: &[u8],
        body: Option<&[u8]>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let body = body.unwrap_or_default();
        let size = self.flat_size();
        if size != Some(head.len() as u64) {
            let text = match size {
                Some(size) => {
                    format!("a {} has a head of {size} bytes, and this has {}", self.name(), head.len())
                }
                None => format!("{} has no flat form", self.name()),
            };
            return Err(Error::Malformed.error(py, text));
        }
        let memory = Memory::of_bytes(head, body, false)
            .ok_or_else(|| Error::Malformed.error(py, "there is no memory for it"))?;
        let state = State::View { hold: Hold::new(memory), at: 0 };
        Ok(instantiate(py, &self.types, self.id, state)?.into_any())
    }

    /// The bytes of a flat message: its head and its body.
    fn to_flat<'py>(
        &self,
        py: Python<'py>,
        message: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let value = to_struct_value(py, &self.types, self.id, message)?;
        let flat = dynamic::to_flat(&self.types.schema, self.id, &value)
            .map_err(|error| Error::Conversion.error(py, error))?;
        Ok((PyBytes::new(py, &flat.head), PyBytes::new(py, &flat.body)))
    }

    /// A message from CDR, version 1 or 2, with its encapsulation header.
    fn from_cdr<'py>(&self, py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyAny>> {
        let value = dynamic::from_cdr(&self.types.schema, self.id, data);
        let value = value.map_err(|error| Error::Malformed.error(py, error))?;
        to_object(py, &self.types, &self.types.part(&Type::Named(self.id)), &value)
    }

    /// A message as CDR, version 1 or 2, with its encapsulation header.
    #[pyo3(signature = (message, version = 1))]
    fn to_cdr<'py>(
        &self,
        py: Python<'py>,
        message: &Bound<'py, PyAny>,
        version: u8,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let version = match version {
            1 => situ_wire::Encoding::Xcdr1,
            2 => situ_wire::Encoding::Xcdr2,
            other => {
                let text = format!("there is no version {other} of CDR: write 1 or 2");
                return Err(Error::Conversion.error(py, text));
            }
        };
        let value = to_struct_value(py, &self.types, self.id, message)?;
        let bytes = dynamic::to_cdr(&self.types.schema, self.id, &value, version)
            .map_err(|error| Error::Conversion.error(py, error))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// A message from a region's image.
    fn from_region<'py>(&self, py: Python<'py>, image: &[u8]) -> PyResult<Bound<'py, PyAny>> {
        let value = dynamic::from_region(&self.types.schema, self.id, image);
        let value = value.map_err(|error| Error::Malformed.error(py, error))?;
        to_object(py, &self.types, &self.types.part(&Type::Named(self.id)), &value)
    }

    /// A message from a region's image, which is copied once and then read in place.
    fn view_region<'py>(&self, py: Python<'py>, image: &[u8]) -> PyResult<Bound<'py, PyAny>> {
        let versions = RegionVersions::of(&self.types.schema, self.id, image);
        let versions = versions.map_err(|error| Error::Malformed.error(py, error))?;
        let memory = Memory::of_bytes(&[], image, false)
            .ok_or_else(|| Error::Malformed.error(py, "there is no memory for it"))?;
        let state = State::Region { hold: Hold::new(memory), at: RegionView::ROOT, versions };
        Ok(instantiate(py, &self.types, self.id, state)?.into_any())
    }

    /// A message from YAML or JSON.
    fn from_text<'py>(&self, py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
        let value = dynamic::from_text(&self.types.schema, self.id, text);
        let value = value.map_err(|error| Error::Conversion.error(py, error))?;
        to_object(py, &self.types, &self.types.part(&Type::Named(self.id)), &value)
    }

    fn __repr__(&self) -> String {
        format!("<situ.Type {} {}>", self.kind(), self.name())
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        let Ok(other) = other.cast::<Self>() else { return false };
        let other = other.get();
        self.name() == other.name() && self.schema_hash() == other.schema_hash()
    }

    fn __hash__(&self) -> u64 {
        self.schema_hash()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let is_struct = self.plan().is_some();
        if self.types.family.is_some() && is_struct {
            let class = self.cls(py)?;
            if class.getattr("__module__")?.extract::<String>()?.starts_with("situ.types") {
                // No code was generated for it.
            } else {
                let restore = py.import("situ.generated")?.getattr("restore_handle")?;
                return Ok((restore, PyTuple::new(py, [class])?));
            }
        }
        let restore = py.import("situ._types")?.getattr("restore_type")?;
        Ok((restore, (self.name(), self.schema()).into_pyobject(py)?))
    }
}

impl TypeHandle {
    fn plan(&self) -> Option<&Arc<StructPlan>> {
        let is_struct = self.types.schema.definition(self.id).kind.as_struct().is_some();
        is_struct.then(|| self.types.plan(self.id))
    }
}

fn unit(schema: &Schema, id: TypeId, name: &str) -> Option<String> {
    let it = schema.definition(id).kind.as_struct()?;
    match it.members.iter().find(|member| member.name == name) {
        Some(member) => member.unit.clone(),
        None => unit(schema, it.base?, name),
    }
}

/// All definitions of some schema files.
#[pyclass(frozen, module = "situ", name = "Schema")]
pub struct SchemaHandle {
    schema: Schema,
}

#[pymethods]
impl SchemaHandle {
    /// Reads files (`.idl`, `.msg`, `.srv`, `.action`), packages or interfaces of ROS, or the text of an IDL
    /// file.
    #[new]
    #[pyo3(signature = (files = Vec::new(), include = Vec::new(), ros = Vec::new(), text = None))]
    fn new(
        py: Python<'_>,
        files: Vec<PathBuf>,
        include: Vec<PathBuf>,
        ros: Vec<String>,
        text: Option<String>,
    ) -> PyResult<Self> {
        let mut loader = include.into_iter().fold(Loader::new(), Loader::include).ament_prefix_path();
        for file in files {
            if !file.exists() {
                return Err(Error::Schema.error(py, format!("there is no file {}", file.display())));
            }
            loader = loader.file(file);
        }
        for name in ros {
            loader = if name.contains('/') { loader.ros_interface(name) } else { loader.ros_package(name) };
        }
        if let Some(text) = text {
            loader = loader.text("schema.idl", text, Format::Idl);
        }
        let schema =
            process::detached(py, || loader.load()).map_err(|error| Error::Schema.error(py, error))?;
        Ok(Self { schema })
    }

    /// The type of this name: `sensor_msgs::msg::Image`, `sensor_msgs/msg/Image` or `sensor_msgs/Image`; of a
    /// module without `msg`, `vision::Boxes` or `vision/Boxes`.
    fn find(&self, py: Python<'_>, name: &str) -> PyResult<TypeHandle> {
        let found = self.schema.find(name).or_else(|| self.schema.find(&name.replace('/', "::")));
        let Some(id) = found else {
            let names: Vec<_> =
                self.schema.definitions().map(|(_, it)| it.name.to_string()).take(20).collect();
            let text = format!("there is no type `{name}`; there are: {}", names.join(", "));
            return Err(Error::Schema.error(py, text));
        };
        let types = Types::in_schema(py, &self.schema, id)?;
        let id = types.root;
        Ok(TypeHandle { types, id })
    }

    /// Makes a generated class the class of a type, and returns the type. `family` is the package around all
    /// generated classes.
    fn bind(&self, py: Python<'_>, name: &str, family: &str, class: Py<PyAny>) -> PyResult<TypeHandle> {
        let Some(id) = self.schema.find(name) else {
            return Err(Error::Schema.error(py, format!("there is no type `{name}`")));
        };
        let types = Types::of_family(py, &self.schema.canonical(id), name, Some(family))?;
        types.bind(py, class);
        let id = types.root;
        Ok(TypeHandle { types, id })
    }

    /// The names of all types, in the order of the files.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.schema.definitions().map(|(_, it)| it.name.to_string()).collect()
    }

    /// The names of the services, each with the names of its types of requests and replies.
    #[getter]
    fn services(&self) -> Vec<(String, String, String)> {
        let name = |id| self.schema.name(id).to_string();
        let services = self.schema.services().iter();
        services.map(|it| (it.name.to_string(), name(it.request), name(it.response))).collect()
    }

    /// The interfaces: names, documentation, and operations. Of an operation: its method, its name, its
    /// service, the service's documentation, the types of requests and replies, and whether it raises
    /// exceptions.
    #[getter]
    fn _interfaces(&self) -> Vec<(String, String, Vec<Operation>)> {
        let (schema, services) = (&self.schema, self.schema.services());
        let name = |id| schema.name(id).to_string();
        let interface = |it: &Interface| {
            let methods = situ_schema::codegen::python_operations(it);
            let operations = methods.into_iter().zip(&it.operations).map(|((method, at), (operation, _))| {
                let it = &services[at];
                let types = (name(it.request), name(it.response));
                (method, operation.clone(), it.name.to_string(), it.docs.clone(), types, it.raises.is_some())
            });
            (it.name.to_string(), it.docs.clone(), operations.collect())
        };
        schema.interfaces().iter().map(interface).collect()
    }

    /// The class of an interface of IDL, as code generation makes it: `situ.Interface` says what it has.
    fn interface<'py>(slf: &Bound<'py, Self>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("situ._interface")?.getattr("make_interface")?.call1((slf, name))
    }

    /// The constants, by name.
    #[getter]
    fn constants<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let constants = PyDict::new(py);
        for it in self.schema.constants() {
            constants.set_item(it.name.to_string(), literal(py, &self.schema, &it.value)?)?;
        }
        Ok(constants)
    }

    fn __repr__(&self) -> String {
        format!("<situ.Schema of {} types>", self.schema.definitions().len())
    }
}

/// The type of this name in a canonical schema.
#[pyfunction]
pub fn type_of(py: Python<'_>, name: &str, schema: &str) -> PyResult<TypeHandle> {
    let types = Types::of(py, schema, name)?;
    let id = types.root;
    Ok(TypeHandle { types, id })
}
