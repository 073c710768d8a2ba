//! Nodes, and what they find in their root: topics, services, the graph.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use situ_bus::inspect;
use situ_bus::{GraphNode, Node, NodeOptions, Root};

use crate::errors::Kind as Error;
use crate::info::encoding_name;
use crate::process::{self, Process};
use crate::sync::lock;

/// The names and schemas of requests and replies, and whether requests are flat.
type ServiceTypes = (String, String, String, String, bool);

/// A named participant of the bus.
#[pyclass(frozen, subclass, module = "situ", name = "Node")]
pub struct NodeHandle {
    node: std::sync::Mutex<Option<Node>>,
    name: String,
    process: Process,
}

impl NodeHandle {
    /// The node, if it is open and of this process.
    pub fn node(&self, py: Python<'_>) -> PyResult<Node> {
        self.process.check(py, &format!("node {:?}", self.name))?;
        let node = lock(&self.node).clone();
        node.ok_or_else(|| Error::Released.error(py, format!("node {:?} is closed", self.name)))
    }
}

/// The root of these arguments, or that of the environment.
pub fn root_of(py: Python<'_>, path: Option<PathBuf>) -> PyResult<Root> {
    match path {
        Some(path) => Ok(Root::at(path, None)),
        None => Root::from_environment().map_err(|error| Error::Register.error(py, error)),
    }
}

#[pymethods]
impl NodeHandle {
    #[new]
    #[pyo3(signature = (name, *, namespace = String::new(), root = None, user_data = Vec::new()))]
    fn new(
        py: Python<'_>,
        name: &str,
        namespace: String,
        root: Option<PathBuf>,
        user_data: Vec<u8>,
    ) -> PyResult<Self> {
        let root = root.map(|path| Root::at(path, None));
        let options = NodeOptions { namespace, user_data, root, graph_domain: None };
        let node = process::detached(py, || Node::with_options(name, options));
        let node = node.map_err(|error| Error::Register.error(py, error))?;
        let name = node.full_name();
        Ok(Self { node: std::sync::Mutex::new(Some(node)), name, process: Process::this() })
    }

    /// Its name.
    #[getter]
    fn name(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.node(py)?.name().to_owned())
    }

    /// Its namespace.
    #[getter]
    fn namespace(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.node(py)?.namespace().to_owned())
    }

    /// Its name with its namespace.
    #[getter]
    fn full_name(&self) -> &str {
        &self.name
    }

    /// Its id.
    #[getter]
    fn id(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.node(py)?.id().to_string())
    }

    /// The folder in which all participants meet.
    #[getter]
    fn root(&self, py: Python<'_>) -> PyResult<PathBuf> {
        Ok(self.node(py)?.root().path().to_owned())
    }

    /// Whether it is closed.
    #[getter]
    fn is_closed(&self) -> bool {
        lock(&self.node).is_none()
    }

    fn _close(&self, py: Python<'_>) {
        let node = lock(&self.node).take();
        process::detached(py, || drop(node));
    }

    /// The type of a topic that exists: its name, schema and encoding, and the size of its user header.
    fn _topic(&self, py: Python<'_>, topic: &str) -> PyResult<Option<(String, String, &'static str, u32)>> {
        let node = self.node(py)?;
        let found = inspect::topic(node.root(), topic).map_err(|error| Error::Error.error(py, error))?;
        Ok(found.map(|it| {
            let it = it.description;
            (it.name, it.schema, encoding_name(it.encoding), it.user_header_size)
        }))
    }

    /// The names of the topics.
    fn _topic_names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let node = self.node(py)?;
        let topics = inspect::topics(node.root()).map_err(|error| Error::Error.error(py, error))?;
        Ok(topics.into_iter().map(|it| it.name).collect())
    }

    /// The types of a service that exists: the names and schemas of requests and replies, and whether
    /// requests are flat.
    fn _service(&self, py: Python<'_>, name: &str) -> PyResult<Option<ServiceTypes>> {
        let node = self.node(py)?;
        let services = inspect::services(node.root()).map_err(|error| Error::Error.error(py, error))?;
        let Some(found) = services.into_iter().find(|it| it.name == name) else { return Ok(None) };
        let it = &found.requests.description;
        // Between the schemas is a line, and between the names an arrow.
        let (schemas, names) = (it.schema.split_once("\n---\n"), it.name.split_once(" -> "));
        let (Some(schemas), Some(names)) = (schemas, names) else {
            return Err(Error::Schema.error(py, format!("service {name:?} does not say its types")));
        };
        let is_flat = it.encoding == situ_bus::Encoding::Flat;
        Ok(Some((
            names.0.to_owned(),
            schemas.0.to_owned(),
            names.1.to_owned(),
            schemas.1.to_owned(),
            is_flat,
        )))
    }
}

fn endpoints<'py>(py: Python<'py>, node: &GraphNode) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for it in &node.endpoints {
        let endpoint = PyDict::new(py);
        endpoint.set_item("role", format!("{:?}", it.role).to_lowercase())?;
        endpoint.set_item("name", &it.name)?;
        endpoint.set_item("type", &it.type_name)?;
        endpoint.set_item("id", it.id.to_string())?;
        list.append(endpoint)?;
    }
    Ok(list)
}

/// The living nodes of a root with their endpoints, as dicts.
#[pyfunction]
#[pyo3(signature = (root = None))]
pub fn read_graph<'py>(py: Python<'py>, root: Option<PathBuf>) -> PyResult<Bound<'py, PyList>> {
    let root = root_of(py, root)?;
    let graph = process::detached(py, || situ_bus::Graph::read(&root))
        .map_err(|error| Error::Error.error(py, error))?;
    let list = PyList::empty(py);
    for it in &graph.nodes {
        let node = PyDict::new(py);
        node.set_item("name", it.info.full_name())?;
        node.set_item("id", it.info.id.to_string())?;
        node.set_item("pid", it.info.pid)?;
        node.set_item("endpoints", endpoints(py, it)?)?;
        list.append(node)?;
    }
    Ok(list)
}

/// The topics of a root with their counts, as dicts.
#[pyfunction]
#[pyo3(signature = (root = None))]
pub fn read_topics<'py>(py: Python<'py>, root: Option<PathBuf>) -> PyResult<Bound<'py, PyList>> {
    let root = root_of(py, root)?;
    let topics =
        process::detached(py, || inspect::topics(&root)).map_err(|error| Error::Error.error(py, error))?;
    let list = PyList::empty(py);
    for it in &topics {
        let topic = PyDict::new(py);
        topic.set_item("name", &it.name)?;
        topic.set_item("type", &it.description.name)?;
        topic.set_item("schema", &it.description.schema)?;
        topic.set_item("encoding", encoding_name(it.description.encoding))?;
        topic.set_item("published", it.published)?;
        topic.set_item("publishers", it.publishers.iter().filter(|it| it.alive).count())?;
        topic.set_item("subscribers", it.subscribers.iter().filter(|it| it.alive).count())?;
        topic.set_item("memory_bytes", it.publishers.iter().map(|it| it.memory_bytes).sum::<u64>())?;
        list.append(topic)?;
    }
    Ok(list)
}
