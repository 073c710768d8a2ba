//! Inspection from C: the clock, the count of copies, topics, nodes and waits, and the removal of files that
//! dead nodes left.

use std::ffi::{c_char, c_void};

use situ_bus::{CopyCounter, clean, clean_topics, inspect, now_ns};

use crate::error::{Failure, guard, situ_error, situ_status};
use crate::types::{c_text, read_root, situ_root};

/// The clock of time stamps.
#[unsafe(no_mangle)]
pub extern "C" fn situ_now_ns() -> u64 {
    now_ns()
}

/// Counts a copy that the program made.
#[unsafe(no_mangle)]
pub extern "C" fn situ_count_copy(bytes: usize) {
    CopyCounter::of_process().count(bytes);
}

/// The number of copies so far.
///
/// # Safety
/// Both pointers are null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_copies(copies: *mut u64, bytes: *mut u64) {
    let (number, size) = CopyCounter::of_process().get();
    for (target, value) in [(copies, number), (bytes, size)] {
        if !target.is_null() {
            // SAFETY: not null, and valid as the caller promises.
            unsafe { target.write(value) };
        }
    }
}

/// `situ_topic_info`.
#[repr(C)]
pub struct situ_topic_info {
    pub name: *const c_char,
    pub type_name: *const c_char,
    pub schema: *const c_char,
    pub schema_hash: u64,
    pub published: u64,
    pub publishers: u64,
    pub subscribers: u64,
}

/// `situ_node_info`.
#[repr(C)]
pub struct situ_node_info {
    pub id: u64,
    pub name: *const c_char,
    pub program: *const c_char,
    pub pid: u32,
    pub alive: u32,
}

/// Calls `visit` for each topic.
///
/// # Safety
/// `root` and `error` are null or valid; `visit` may be called with `context`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_list_topics(
    root: *const situ_root,
    visit: Option<extern "C" fn(*const situ_topic_info, *mut c_void)>,
    context: *mut c_void,
    error: *mut situ_error,
) -> situ_status {
    let list = || {
        let visit = visit.ok_or_else(|| Failure::argument("`visit` is NULL"))?;
        // SAFETY: the caller's promise.
        let root = unsafe { read_root(root) }?;
        for topic in inspect::topics(&root)? {
            let description = &topic.description;
            let texts = [&topic.name, &description.name, &description.schema].map(|text| c_text(text));
            let info = situ_topic_info {
                name: texts[0].as_ptr(),
                type_name: texts[1].as_ptr(),
                schema: texts[2].as_ptr(),
                schema_hash: description.schema_hash,
                published: topic.published,
                publishers: topic.publishers.iter().filter(|one| one.alive).count() as u64,
                subscribers: topic.subscribers.iter().filter(|one| one.alive).count() as u64,
            };
            visit(&info, context);
        }
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, list) }
}

/// `situ_wait_info`.
#[repr(C)]
pub struct situ_wait_info {
    pub topic: *const c_char,
    pub publisher: u64,
    pub subscriber: u64,
    pub waited_ns: u64,
}

/// Calls `visit` for each publisher that waits for a subscriber.
///
/// # Safety
/// As for [`situ_list_topics`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_list_waits(
    root: *const situ_root,
    visit: Option<extern "C" fn(*const situ_wait_info, *mut c_void)>,
    context: *mut c_void,
    error: *mut situ_error,
) -> situ_status {
    let list = || {
        let visit = visit.ok_or_else(|| Failure::argument("`visit` is NULL"))?;
        // SAFETY: the caller's promise.
        let root = unsafe { read_root(root) }?;
        for topic in inspect::topics(&root)? {
            let name = c_text(&topic.name);
            for publisher in &topic.publishers {
                let Some(waits) = publisher.waits else { continue };
                let info = situ_wait_info {
                    topic: name.as_ptr(),
                    publisher: publisher.node.0,
                    subscriber: waits.subscriber.0,
                    waited_ns: u64::try_from(waits.waited.as_nanos()).unwrap_or(u64::MAX),
                };
                visit(&info, context);
            }
        }
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, list) }
}

/// Calls `visit` for each node.
///
/// # Safety
/// As for [`situ_list_topics`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_list_nodes(
    root: *const situ_root,
    visit: Option<extern "C" fn(*const situ_node_info, *mut c_void)>,
    context: *mut c_void,
    error: *mut situ_error,
) -> situ_status {
    let list = || {
        let visit = visit.ok_or_else(|| Failure::argument("`visit` is NULL"))?;
        // SAFETY: the caller's promise.
        let root = unsafe { read_root(root) }?;
        for node in inspect::nodes(&root)? {
            let texts = [&node.name, &node.program].map(|text| c_text(text));
            let info = situ_node_info {
                id: node.id.0,
                name: texts[0].as_ptr(),
                program: texts[1].as_ptr(),
                pid: node.pid,
                alive: node.alive.into(),
            };
            visit(&info, context);
        }
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, list) }
}

/// Removes files and registrations of dead nodes.
///
/// # Safety
/// All pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_clean(
    root: *const situ_root,
    nodes: *mut usize,
    topics: *mut usize,
    error: *mut situ_error,
) -> situ_status {
    let clean = || {
        // SAFETY: the caller's promise.
        let root = unsafe { read_root(root) }?;
        let cleaned = clean(&root)?;
        let found = cleaned.topics.len() + clean_topics(&root)?.len();
        for (target, value) in [(nodes, cleaned.nodes.len()), (topics, found)] {
            if !target.is_null() {
                // SAFETY: not null, and valid as the caller promises.
                unsafe { target.write(value) };
            }
        }
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, clean) }
}
