//! The graph for C: reading it, and waiting for its changes.

use std::ffi::{CString, c_char, c_int, c_void};
use std::os::fd::{AsFd, AsRawFd};

use situ_bus::{
    Durability, EndpointInfo, Graph, GraphWatch, GraphWatchError, History, Liveliness, NodeInfo, Reliability,
};

use crate::error::{Failure, guard, guard_value, situ_error, situ_status};
use crate::types::{c_text, given, limit, read_root, situ_root, target};

/// `situ_graph_node`.
#[repr(C)]
pub struct situ_graph_node {
    pub id: u64,
    pub name: *const c_char,
    pub node_namespace: *const c_char,
    pub program: *const c_char,
    pub user_data: *const c_void,
    pub user_data_size: usize,
    pub pid: u32,
}

/// `situ_endpoint_info`.
#[repr(C)]
pub struct situ_endpoint_info {
    pub id: [u8; 16],
    pub role: u32,
    pub encoding: u32,
    pub name: *const c_char,
    pub type_name: *const c_char,
    pub domain: *const c_char,
    pub schema_hash: u64,
    pub layout_hash: u64,
    pub reliability: u32,
    pub durability: u32,
    pub depth: u64,
    pub deadline_ns: u64,
    pub lifespan_ns: u64,
    pub lease_ns: u64,
    pub liveliness: u32,
    pub user_data: *const c_void,
    pub user_data_size: usize,
}

/// `situ_graph_visit_node`.
type VisitNode = extern "C" fn(*const situ_graph_node, *mut c_void);
/// `situ_graph_visit_endpoint`.
type VisitEndpoint = extern "C" fn(*const situ_graph_node, *const situ_endpoint_info, *mut c_void);

/// A node for C, with the texts that it leads to.
fn with_node(node: &NodeInfo, visit: impl FnOnce(&situ_graph_node)) {
    let texts = [&node.name, &node.namespace, &node.program].map(|text| c_text(text));
    visit(&situ_graph_node {
        id: node.id.0,
        name: texts[0].as_ptr(),
        node_namespace: texts[1].as_ptr(),
        program: texts[2].as_ptr(),
        user_data: node.user_data.as_ptr().cast(),
        user_data_size: node.user_data.len(),
        pid: node.pid,
    });
}

/// An endpoint for C, with the texts that it leads to.
fn with_endpoint(endpoint: &EndpointInfo, visit: impl FnOnce(&situ_endpoint_info)) {
    let domain = endpoint.domain.to_string();
    let texts: [CString; 3] = [&endpoint.name, &endpoint.type_name, &domain].map(|text| c_text(text));
    let nanoseconds = |time: Option<std::time::Duration>| {
        time.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
    };
    let qos = &endpoint.qos;
    visit(&situ_endpoint_info {
        id: endpoint.id.to_bytes(),
        role: endpoint.role as u32,
        encoding: endpoint.encoding as u32,
        name: texts[0].as_ptr(),
        type_name: texts[1].as_ptr(),
        domain: texts[2].as_ptr(),
        schema_hash: endpoint.schema_hash,
        layout_hash: endpoint.layout_hash,
        reliability: (qos.reliability == Reliability::Reliable).into(),
        durability: (qos.durability == Durability::TransientLocal).into(),
        depth: match qos.history {
            History::KeepLast(number) => number as u64,
            History::KeepAll => 0,
        },
        deadline_ns: nanoseconds(qos.deadline),
        lifespan_ns: nanoseconds(qos.lifespan),
        lease_ns: nanoseconds(qos.lease),
        liveliness: (qos.liveliness == Liveliness::ManualByTopic).into(),
        user_data: endpoint.user_data.as_ptr().cast(),
        user_data_size: endpoint.user_data.len(),
    });
}

/// Calls `visit_node` for each living node, and then `visit_endpoint` for each of its endpoints.
///
/// # Safety
/// `root` and `error` are null or valid; the functions are null or may be called with `context`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_graph_read(
    root: *const situ_root,
    visit_node: Option<VisitNode>,
    visit_endpoint: Option<VisitEndpoint>,
    context: *mut c_void,
    error: *mut situ_error,
) -> situ_status {
    let read = || {
        // SAFETY: the caller's promise.
        let root = unsafe { read_root(root) }?;
        for node in &Graph::read(&root)?.nodes {
            with_node(&node.info, |of_node| {
                if let Some(visit) = visit_node {
                    visit(of_node, context);
                }
                let Some(visit) = visit_endpoint else { return };
                for endpoint in &node.endpoints {
                    with_endpoint(endpoint, |of_endpoint| visit(of_node, of_endpoint, context));
                }
            });
        }
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, read) }
}

/// `situ_graph_watch`.
pub struct situ_graph_watch(GraphWatch);

impl From<GraphWatchError> for Failure {
    fn from(error: GraphWatchError) -> Self {
        let status = match &error {
            GraphWatchError::Root(root) => root.into(),
            GraphWatchError::Forked => situ_status::Forked,
            GraphWatchError::System { .. } => situ_status::System,
        };
        Self::new(status, error)
    }
}

/// Begins to watch a graph.
///
/// # Safety
/// All pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_graph_watch_create(
    root: *const situ_root,
    watch: *mut *mut situ_graph_watch,
    error: *mut situ_error,
) -> situ_status {
    let create = || {
        let target = target(watch, "watch")?;
        // SAFETY: the caller's promise.
        let root = unsafe { read_root(root) }?;
        let made = Box::new(situ_graph_watch(GraphWatch::new(&root)?));
        // SAFETY: not null, and valid for writes as the caller promises.
        unsafe { target.write(Box::into_raw(made)) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, create) }
}

/// Destroys a watch.
///
/// # Safety
/// `watch` is null, or a live handle that is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_graph_watch_destroy(watch: *mut situ_graph_watch) {
    if !watch.is_null() {
        // SAFETY: it came from `Box::into_raw`, and the caller gives it up.
        guard_value(|| drop(unsafe { Box::from_raw(watch) }));
    }
}

fn changed(may_have_changed: bool) -> situ_status {
    if may_have_changed { situ_status::Ok } else { situ_status::Empty }
}

/// Returns `SITU_OK` if the graph may have changed, otherwise `SITU_EMPTY`.
///
/// # Safety
/// `watch` is null or a live handle; `error` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_graph_watch_take(
    watch: *const situ_graph_watch,
    error: *mut situ_error,
) -> situ_status {
    // SAFETY: the caller's promise.
    let take = || Ok(changed(unsafe { given(watch, "watch") }?.0.take()?));
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, take) }
}

/// Waits until the graph may have changed.
///
/// # Safety
/// `watch` is null or a live handle; `error` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_graph_watch_wait(
    watch: *const situ_graph_watch,
    timeout_ns: u64,
    error: *mut situ_error,
) -> situ_status {
    // SAFETY: the caller's promise.
    let wait = || Ok(changed(unsafe { given(watch, "watch") }?.0.wait(limit(timeout_ns))?));
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, wait) }
}

/// The watch's descriptor; -1 for null.
///
/// # Safety
/// `watch` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_graph_watch_fd(watch: *const situ_graph_watch) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { watch.as_ref() }.map_or(-1, |watch| watch.0.as_fd().as_raw_fd())
}
