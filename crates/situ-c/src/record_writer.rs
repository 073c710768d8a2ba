//! Writing recordings for C.

use std::ffi::{c_char, c_void};
use std::path::Path;

use situ_record::{AddMessageError, AddTopicError, Compression, TopicWriter, WriteError, WriterOptions};

use crate::error::{Failure, guard, guard_value, situ_error, situ_status};
use crate::types::{number, read_type, situ_type, target, text};

/// `SITU_RECORD_NOW`.
pub const NOW: u64 = u64::MAX;

/// `situ_record_compression`.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum situ_record_compression {
    Uncompressed = 0,
    Lz4 = 1,
    Zstd = 2,
}

/// `situ_record_writer_options`.
#[repr(C)]
pub struct situ_record_writer_options {
    pub compression: u32,
    pub threads: u32,
    pub checksums: u32,
    pub overwrite: u32,
    pub chunk_size: u64,
    pub queue_size: u64,
}

/// `situ_record_written`.
#[repr(C)]
pub struct situ_record_written {
    pub messages: u64,
    pub size: u64,
    pub unwritten: u64,
}

/// `situ_record_writer`.
pub struct situ_record_writer {
    /// `None` once it is finished.
    writer: Option<TopicWriter>,
}

impl From<WriteError> for Failure {
    fn from(error: WriteError) -> Self {
        let status = match &error {
            WriteError::Exists(_) | WriteError::TooMany(_) | WriteError::TooLong(_) => {
                situ_status::InvalidArgument
            }
            WriteError::Forked(_) => situ_status::Forked,
            WriteError::Ended => situ_status::Internal,
            _ => situ_status::System,
        };
        Self::new(status, error)
    }
}

impl From<AddTopicError> for Failure {
    fn from(error: AddTopicError) -> Self {
        match error {
            AddTopicError::Write(error) => error.into(),
            AddTopicError::NoName | AddTopicError::Known(_) => Self::argument(error),
            AddTopicError::Schema { .. } | AddTopicError::Missing(_) => Self::new(situ_status::Type, error),
        }
    }
}

impl From<AddMessageError> for Failure {
    fn from(error: AddMessageError) -> Self {
        match error {
            AddMessageError::Write(error) => error.into(),
            error => Self::argument(error),
        }
    }
}

/// The options of C.
fn read_options(options: Option<&situ_record_writer_options>) -> Result<WriterOptions, Failure> {
    let mut made = WriterOptions::default();
    let Some(given) = options else { return Ok(made) };
    let is = |known: situ_record_compression| given.compression == known as u32;
    made.compression = if is(situ_record_compression::Uncompressed) {
        Compression::None
    } else if is(situ_record_compression::Lz4) {
        Compression::Lz4
    } else if is(situ_record_compression::Zstd) {
        Compression::Zstd
    } else {
        return Err(Failure::argument(format_args!(
            "`options->compression` is {}, which is not a situ_record_compression",
            given.compression
        )));
    };
    made.threads = number(given.threads.max(1).into(), "options->threads")?;
    made.checksums = given.checksums != 0;
    made.overwrite = given.overwrite != 0;
    if given.chunk_size != 0 {
        made.chunk_bytes = given.chunk_size;
    }
    if given.queue_size != 0 {
        made.queue_bytes = given.queue_size;
    }
    Ok(made)
}

/// The writer behind a handle.
///
/// # Safety
/// `writer` is null, or a live handle that no other thread uses.
unsafe fn open<'a>(writer: *mut situ_record_writer) -> Result<&'a mut TopicWriter, Failure> {
    let writer = target(writer, "writer")?;
    // SAFETY: not null; the caller's promise.
    let writer = unsafe { &mut *writer };
    writer.writer.as_mut().ok_or_else(|| Failure::argument("`writer` is finished: create another one"))
}

/// Creates a file.
///
/// # Safety
/// All pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_record_writer_create(
    path: *const c_char,
    options: *const situ_record_writer_options,
    writer: *mut *mut situ_record_writer,
    error: *mut situ_error,
) -> situ_status {
    let create = || {
        let target = target(writer, "writer")?;
        // SAFETY: the caller's promise.
        let (path, options) = unsafe { (text(path, "path")?, options.as_ref()) };
        let made = TopicWriter::create(Path::new(path), read_options(options)?)?;
        let made = Box::new(situ_record_writer { writer: Some(made) });
        // SAFETY: not null, and valid for writes as the caller promises.
        unsafe { target.write(Box::into_raw(made)) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, create) }
}

/// Adds a topic.
///
/// # Safety
/// `writer` is null, or a live handle that no other thread uses; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_record_writer_add_topic(
    writer: *mut situ_record_writer,
    topic: *const c_char,
    description: *const situ_type,
    number: *mut u32,
    error: *mut situ_error,
) -> situ_status {
    let add = || {
        let number = target(number, "number")?;
        // SAFETY: the caller's promise.
        let (writer, topic, description) =
            unsafe { (open(writer)?, text(topic, "topic")?, read_type(description)?) };
        let added = writer.add_topic(topic, &description)?;
        // SAFETY: not null, and valid for writes as the caller promises.
        unsafe { number.write(added.into()) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, add) }
}

/// Adds a message.
///
/// # Safety
/// `writer` is null, or a live handle that no other thread uses; `data` leads to `size` bytes, or is null;
/// `error` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_record_writer_write(
    writer: *mut situ_record_writer,
    topic: u32,
    data: *const c_void,
    size: usize,
    log_time: u64,
    publish_time: u64,
    error: *mut situ_error,
) -> situ_status {
    let write = || {
        // SAFETY: the caller's promise.
        let writer = unsafe { open(writer) }?;
        let topic = u16::try_from(topic)
            .map_err(|_| Failure::argument(format_args!("there is no topic with the number {topic}")))?;
        let data: &[u8] = if size == 0 {
            &[]
        } else {
            // SAFETY: not null, and valid for reads as the caller promises.
            unsafe { std::slice::from_raw_parts(target(data.cast_mut(), "data")?.cast(), size) }
        };
        let time = |given| (given != NOW).then_some(given);
        writer.write(topic, data, time(log_time), time(publish_time))?;
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, write) }
}

/// Waits until all messages are in the file.
///
/// # Safety
/// `writer` is null, or a live handle that no other thread uses; `error` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_record_writer_flush(
    writer: *mut situ_record_writer,
    error: *mut situ_error,
) -> situ_status {
    let flush = || {
        // SAFETY: the caller's promise.
        unsafe { open(writer) }?.writer().flush_and_wait()?;
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, flush) }
}

/// Ends a file.
///
/// # Safety
/// `writer` is null, or a live handle that no other thread uses; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_record_writer_finish(
    writer: *mut situ_record_writer,
    written: *mut situ_record_written,
    error: *mut situ_error,
) -> situ_status {
    let finish = || {
        // SAFETY: the caller's promise.
        unsafe { open(writer) }?;
        // SAFETY: as above; it is not null.
        let ended = unsafe { (*writer).writer.take() }.map(TopicWriter::finish).unwrap_or_default();
        if !written.is_null() {
            let counts = situ_record_written {
                messages: ended.files.iter().map(|file| file.statistics.messages).sum(),
                size: ended.files.iter().map(|file| file.bytes).sum(),
                unwritten: ended.unwritten,
            };
            // SAFETY: not null, and valid for writes as the caller promises.
            unsafe { written.write(counts) };
        }
        match ended.error {
            None => Ok(situ_status::Ok),
            Some(error) if ended.unwritten > 0 => {
                let text = format_args!("{} messages are not in the file: {error}", ended.unwritten);
                Err(Failure::new(situ_status::System, text))
            }
            Some(error) => Err(error.into()),
        }
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, finish) }
}

/// Frees a writer.
///
/// # Safety
/// `writer` is null, or a live handle that is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_record_writer_destroy(writer: *mut situ_record_writer) {
    if !writer.is_null() {
        // SAFETY: it came from `Box::into_raw`, and the caller gives it up.
        guard_value(|| drop(unsafe { Box::from_raw(writer) }));
    }
}
