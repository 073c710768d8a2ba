//! Blackboards for C.

use std::ffi::{CString, c_char, c_void};
use std::mem::MaybeUninit;
use std::ptr::null;

use situ_bus::{
    BlackboardReaderError, BlackboardWriterError, GetValueError, RawBlackboardReader, RawBlackboardWriter,
    SetValueError, WriterState,
};

use crate::error::{Failure, guard, guard_value, situ_error, situ_status};
use crate::node::situ_node;
use crate::types::{c_text, given, read_type, situ_type, target, text};

/// `situ_blackboard_writer`.
pub struct situ_blackboard_writer {
    raw: RawBlackboardWriter,
}

/// `situ_blackboard_reader`.
pub struct situ_blackboard_reader {
    raw: RawBlackboardReader,
    keys: Vec<CString>,
}

/// `situ_writer_state`.
pub const ALIVE: u32 = 0;
pub const DEAD: u32 = 1;
pub const LEFT: u32 = 2;

impl From<BlackboardWriterError> for Failure {
    fn from(error: BlackboardWriterError) -> Self {
        let status = match &error {
            BlackboardWriterError::InvalidName(_)
            | BlackboardWriterError::Key { .. }
            | BlackboardWriterError::Size { .. } => situ_status::InvalidArgument,
            BlackboardWriterError::Type { .. } => situ_status::Type,
            BlackboardWriterError::Written { .. } => situ_status::Busy,
            BlackboardWriterError::Forked { .. } => situ_status::Forked,
            BlackboardWriterError::Root(root) => root.into(),
            BlackboardWriterError::Memory(memory) => memory.into(),
        };
        Self::new(status, error)
    }
}

impl From<SetValueError> for Failure {
    fn from(error: SetValueError) -> Self {
        let status = match &error {
            SetValueError::Forked { .. } => situ_status::Forked,
            _ => situ_status::InvalidArgument,
        };
        Self::new(status, error)
    }
}

impl From<GetValueError> for Failure {
    fn from(error: GetValueError) -> Self {
        let status = match &error {
            GetValueError::UnknownKey { .. } | GetValueError::Size { .. } => situ_status::InvalidArgument,
            GetValueError::Overrun { .. } => situ_status::Busy,
            GetValueError::Invalid { .. } => situ_status::Malformed,
            GetValueError::Damaged { .. } => situ_status::Removed,
            GetValueError::Forked { .. } => situ_status::Forked,
        };
        Self::new(status, error)
    }
}

/// Creates a blackboard and its writer.
///
/// # Safety
/// As the header says: handles are live, texts end with a zero, pointers are null or valid; `keys` leads to
/// `key_count` texts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_blackboard_writer_create(
    node: *const situ_node,
    name: *const c_char,
    description: *const situ_type,
    keys: *const *const c_char,
    key_count: usize,
    writer: *mut *mut situ_blackboard_writer,
    error: *mut situ_error,
) -> situ_status {
    let create = || {
        let target = target(writer, "writer")?;
        // SAFETY: the caller passes a live handle, texts and valid pointers.
        let (node, name, description) =
            unsafe { (given(node, "node")?, text(name, "name")?, read_type(description)?) };
        if key_count > 0 {
            crate::types::target(keys.cast_mut(), "keys")?;
        }
        // SAFETY: one of the caller's texts.
        let key = |at| unsafe { text(*keys.add(at), "keys[i]").map(str::to_owned) };
        let keys = (0..key_count).map(key).collect::<Result<Vec<_>, _>>()?;
        let raw = RawBlackboardWriter::create(&node.node, name, &description, keys)?;
        // SAFETY: not null, and valid for writes as the caller promises.
        unsafe { target.write(Box::into_raw(Box::new(situ_blackboard_writer { raw }))) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, create) }
}

/// Destroys a writer, and removes the blackboard's name.
///
/// # Safety
/// `writer` is null, or a live handle that is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_blackboard_writer_destroy(writer: *mut situ_blackboard_writer) {
    if !writer.is_null() {
        // SAFETY: it came from `Box::into_raw`, and the caller gives it up.
        guard_value(|| drop(unsafe { Box::from_raw(writer) }));
    }
}

/// Replaces the value of the key at a position.
///
/// # Safety
/// `writer` is null or a live handle that no other thread uses; `value` is null or has `size` bytes; the
/// others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_blackboard_writer_set(
    writer: *mut situ_blackboard_writer,
    position: usize,
    value: *const c_void,
    size: usize,
    version: *mut u64,
    error: *mut situ_error,
) -> situ_status {
    let set = || {
        let value = target(value.cast_mut(), "value")?;
        // SAFETY: the caller's promise.
        let Some(writer) = (unsafe { writer.as_mut() }) else {
            return Err(Failure::argument("`writer` is NULL"));
        };
        // SAFETY: not null, and `size` bytes as the caller promises.
        let bytes = unsafe { std::slice::from_raw_parts(value.cast::<u8>(), size) };
        let number = writer.raw.set_at(position, bytes)?;
        if !version.is_null() {
            // SAFETY: not null, and valid as the caller promises.
            unsafe { version.write(number) };
        }
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, set) }
}

/// Opens a blackboard.
///
/// # Safety
/// As the header says: handles are live, texts end with a zero, pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_blackboard_reader_create(
    node: *const situ_node,
    name: *const c_char,
    description: *const situ_type,
    reader: *mut *mut situ_blackboard_reader,
    error: *mut situ_error,
) -> situ_status {
    let open = || {
        let target = target(reader, "reader")?;
        // SAFETY: the caller passes a live handle, texts and valid pointers.
        let (node, name, description) =
            unsafe { (given(node, "node")?, text(name, "name")?, read_type(description)?) };
        let raw = match RawBlackboardReader::open(node.node.root(), name, Some(&description)) {
            Ok(raw) => raw,
            Err(error) => {
                let status = match &error {
                    BlackboardReaderError::Missing { .. } => return Ok(situ_status::Empty),
                    BlackboardReaderError::Type { .. } => situ_status::Type,
                    BlackboardReaderError::Root(root) => root.into(),
                    BlackboardReaderError::Memory(memory) => memory.into(),
                };
                return Err(Failure::new(status, error));
            }
        };
        let keys = raw.keys().iter().map(|key| c_text(key)).collect();
        // SAFETY: not null, and valid for writes as the caller promises.
        unsafe { target.write(Box::into_raw(Box::new(situ_blackboard_reader { raw, keys }))) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, open) }
}

/// Destroys a reader.
///
/// # Safety
/// `reader` is null, or a live handle that is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_blackboard_reader_destroy(reader: *mut situ_blackboard_reader) {
    if !reader.is_null() {
        // SAFETY: it came from `Box::into_raw`, and the caller gives it up.
        guard_value(|| drop(unsafe { Box::from_raw(reader) }));
    }
}

/// The number of keys; 0 for a null handle.
///
/// # Safety
/// `reader` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_blackboard_reader_key_count(reader: *const situ_blackboard_reader) -> usize {
    // SAFETY: the caller's promise.
    unsafe { reader.as_ref() }.map_or(0, |reader| reader.keys.len())
}

/// The key at a position; null behind the last one.
///
/// # Safety
/// `reader` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_blackboard_reader_key(
    reader: *const situ_blackboard_reader,
    position: usize,
) -> *const c_char {
    // SAFETY: the caller's promise.
    let reader = unsafe { reader.as_ref() };
    reader.and_then(|reader| reader.keys.get(position)).map_or(null(), |key| key.as_ptr())
}

/// The position of a key.
///
/// # Safety
/// `reader` is null or a live handle, `key` null or a text; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_blackboard_reader_find(
    reader: *const situ_blackboard_reader,
    key: *const c_char,
    position: *mut usize,
    error: *mut situ_error,
) -> situ_status {
    let find = || {
        let target = target(position, "position")?;
        // SAFETY: the caller's promise.
        let (reader, key) = unsafe { (given(reader, "reader")?, text(key, "key")?) };
        let Some(found) = reader.raw.position(key) else { return Ok(situ_status::Empty) };
        // SAFETY: not null, and valid as the caller promises.
        unsafe { target.write(found) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, find) }
}

/// Copies the last value of the key at a position.
///
/// # Safety
/// `reader` is null or a live handle; `value` is null or has room for `size` bytes; the others are null or
/// valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_blackboard_reader_get(
    reader: *const situ_blackboard_reader,
    position: usize,
    value: *mut c_void,
    size: usize,
    version: *mut u64,
    error: *mut situ_error,
) -> situ_status {
    let get = || {
        let value = target(value, "value")?;
        // SAFETY: the caller's promise.
        let reader = unsafe { given(reader, "reader") }?;
        // SAFETY: not null, and `size` bytes as the caller promises, which need not be initialized.
        let into = unsafe { std::slice::from_raw_parts_mut(value.cast::<MaybeUninit<u8>>(), size) };
        let Some(number) = reader.raw.get_at(position, into)? else { return Ok(situ_status::Empty) };
        if !version.is_null() {
            // SAFETY: not null, and valid as the caller promises.
            unsafe { version.write(number) };
        }
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, get) }
}

/// How often the key at a position was set.
///
/// # Safety
/// `reader` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_blackboard_reader_version(
    reader: *const situ_blackboard_reader,
    position: usize,
) -> u64 {
    // SAFETY: the caller's promise.
    let reader = unsafe { reader.as_ref() };
    guard_value(|| reader.map_or(0, |reader| reader.raw.version_at(position)))
}

/// How many values were set.
///
/// # Safety
/// `reader` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_blackboard_reader_changes(reader: *const situ_blackboard_reader) -> u64 {
    // SAFETY: the caller's promise.
    let reader = unsafe { reader.as_ref() };
    guard_value(|| reader.map_or(0, |reader| reader.raw.changes()))
}

/// The state of the writer.
///
/// # Safety
/// `reader` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_blackboard_reader_writer(reader: *const situ_blackboard_reader) -> u32 {
    // SAFETY: the caller's promise.
    let reader = unsafe { reader.as_ref() };
    guard_value(|| match reader.map(|reader| reader.raw.writer()) {
        Some(WriterState::Alive(_)) => ALIVE,
        Some(WriterState::Dead(_)) => DEAD,
        Some(WriterState::Left) | None => LEFT,
    })
}
