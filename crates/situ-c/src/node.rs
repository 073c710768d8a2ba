//! Nodes for C.

use std::ffi::{CString, c_char, c_void};
use std::ptr::null;

use situ_bus::{Node, NodeOptions};

use crate::error::{guard, guard_value, situ_error, situ_status};
use crate::types::{bytes, c_text, read_root, situ_root, target, text};

/// `situ_node`.
pub struct situ_node {
    pub node: Node,
    name: CString,
    namespace: CString,
}

/// `situ_node_options`.
#[repr(C)]
pub struct situ_node_options {
    pub root: *const situ_root,
    pub node_namespace: *const c_char,
    pub user_data: *const c_void,
    pub user_data_size: usize,
}

/// Creates a node.
///
/// # Safety
/// As the header says: texts end with a zero, pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_node_create(
    name: *const c_char,
    root: *const situ_root,
    node: *mut *mut situ_node,
    error: *mut situ_error,
) -> situ_status {
    let options = situ_node_options { root, node_namespace: null(), user_data: null(), user_data_size: 0 };
    // SAFETY: the caller's promise is passed on.
    unsafe { situ_node_create_with(name, &options, node, error) }
}

/// Creates a node with options.
///
/// # Safety
/// As for [`situ_node_create`]; the options lead to texts, and to as many bytes as they say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_node_create_with(
    name: *const c_char,
    options: *const situ_node_options,
    node: *mut *mut situ_node,
    error: *mut situ_error,
) -> situ_status {
    let create = || {
        let target = target(node, "node")?;
        // SAFETY: the caller passes a text.
        let name = unsafe { text(name, "name") }?;
        // SAFETY: the caller passes null or valid options.
        let options = match unsafe { options.as_ref() } {
            None => NodeOptions::default(),
            Some(options) => NodeOptions {
                namespace: if options.node_namespace.is_null() {
                    String::new()
                } else {
                    // SAFETY: not null, and therefore a text.
                    unsafe { text(options.node_namespace, "options->node_namespace") }?.to_owned()
                },
                // SAFETY: the caller's promise.
                user_data: unsafe { bytes(options.user_data, options.user_data_size, "options->user_data") }?,
                // SAFETY: the caller's promise.
                root: Some(unsafe { read_root(options.root) }?),
                graph_domain: None,
            },
        };
        // In a statically linked program, nothing else installs the traces.
        situ_trace::install();
        let node = Node::with_options(name, options)?;
        let made = Box::new(situ_node { name: c_text(name), namespace: c_text(node.namespace()), node });
        // SAFETY: not null, and valid for writes as the caller promises.
        unsafe { target.write(Box::into_raw(made)) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, create) }
}

/// Destroys a node.
///
/// # Safety
/// `node` is null, or came from [`situ_node_create`] and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_node_destroy(node: *mut situ_node) {
    if !node.is_null() {
        // SAFETY: it came from `Box::into_raw`, and the caller gives it up.
        guard_value(|| drop(unsafe { Box::from_raw(node) }));
    }
}

/// A node's name.
///
/// # Safety
/// `node` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_node_name(node: *const situ_node) -> *const c_char {
    // SAFETY: the caller's promise.
    unsafe { node.as_ref() }.map_or(null(), |node| node.name.as_ptr())
}

/// A node's namespace.
///
/// # Safety
/// `node` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_node_namespace(node: *const situ_node) -> *const c_char {
    // SAFETY: the caller's promise.
    unsafe { node.as_ref() }.map_or(null(), |node| node.namespace.as_ptr())
}

/// A node's number.
///
/// # Safety
/// `node` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_node_id(node: *const situ_node) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { node.as_ref() }.map_or(0, |node| node.node.id().0)
}
