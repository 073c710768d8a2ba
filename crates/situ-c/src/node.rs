//! Nodes for C.

use std::ffi::{CString, c_char};
use std::ptr::null;

use situ_bus::Node;

use crate::error::{guard, guard_value, situ_error, situ_status};
use crate::types::{c_text, read_root, situ_root, target, text};

/// `situ_node`.
pub struct situ_node {
    pub node: Node,
    name: CString,
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
    let create = || {
        let target = target(node, "node")?;
        // SAFETY: the caller passes texts and valid pointers.
        let (name, root) = unsafe { (text(name, "name")?, read_root(root)?) };
        // In a statically linked program, nothing else installs the traces.
        situ_trace::install();
        let made = Box::new(situ_node { node: Node::in_root(name, root)?, name: c_text(name) });
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

/// A node's number.
///
/// # Safety
/// `node` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_node_id(node: *const situ_node) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { node.as_ref() }.map_or(0, |node| node.node.id().0)
}
