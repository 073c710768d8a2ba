//! Reading recordings for C.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::{CString, c_char, c_void};
use std::ptr::null;
use std::sync::{Arc, OnceLock};

use situ_record::{
    Channel, End, Filter, Message, Messages, ReadError, Reader, bus_encoding, bus_topic, read_type,
};

use crate::error::{Failure, guard, guard_value, situ_error, situ_status};
use crate::types::{c_text, given, number, target, text};

/// `situ_record_summary`.
#[repr(C)]
pub struct situ_record_summary {
    pub profile: *const c_char,
    pub library: *const c_char,
    pub size: u64,
    pub messages: u64,
    pub start_time: u64,
    pub end_time: u64,
    pub channels: usize,
    pub problems: usize,
    pub is_complete: u32,
}

impl Default for situ_record_summary {
    fn default() -> Self {
        Self {
            profile: null(),
            library: null(),
            size: 0,
            messages: 0,
            start_time: 0,
            end_time: 0,
            channels: 0,
            problems: 0,
            is_complete: 0,
        }
    }
}

/// `situ_record_channel`.
#[repr(C)]
pub struct situ_record_channel {
    pub topic: *const c_char,
    pub type_name: *const c_char,
    pub message_encoding: *const c_char,
    pub schema: *const c_char,
    pub problem: *const c_char,
    pub schema_hash: u64,
    pub publisher: *const c_char,
    pub node: *const c_char,
    pub messages: u64,
    pub encoding: u32,
}

/// `situ_record_filter`.
#[repr(C)]
pub struct situ_record_filter {
    pub topics: *const *const c_char,
    pub topic_count: usize,
    pub start_time: u64,
    pub end_time: u64,
}

/// `situ_record_message`.
#[repr(C)]
pub struct situ_record_message {
    pub data: *const c_void,
    pub size: usize,
    pub log_time: u64,
    pub publish_time: u64,
    pub channel: usize,
    pub sequence: u32,
}

/// What a file defines a type by, in C's texts.
struct TypeTexts {
    name: CString,
    /// The canonical schema and its hash, or why there is none.
    schema: Result<(CString, u64), CString>,
}

struct ChannelTexts {
    channel: Arc<Channel>,
    topic: CString,
    message_encoding: CString,
    publisher: CString,
    node: CString,
}

/// `situ_record_reader`.
pub struct situ_record_reader {
    reader: Reader,
    profile: CString,
    library: CString,
    channels: Vec<ChannelTexts>,
    /// The place of each channel, by its number in the file.
    places: Arc<HashMap<u16, usize>>,
    /// The types, by the numbers of their schemas. A type is read when a channel of it is asked for.
    types: BTreeMap<u16, OnceLock<TypeTexts>>,
    problems: Vec<CString>,
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        let status = match &error {
            ReadError::Io { .. } => situ_status::System,
            ReadError::NoMemory { .. }
            | ReadError::TooLarge { .. }
            | ReadError::TooMany { .. }
            | ReadError::Definitions { .. }
            | ReadError::Overlap { .. } => situ_status::NoMemory,
            _ => situ_status::Malformed,
        };
        Self::new(status, error)
    }
}

impl situ_record_reader {
    fn new(reader: Reader) -> Self {
        let texts = |channel: &Arc<Channel>| {
            let said = |key| c_text(channel.metadata.get(key).map_or("", String::as_str));
            ChannelTexts {
                topic: c_text(bus_topic(channel)),
                message_encoding: c_text(&channel.message_encoding),
                publisher: said("situ.publisher"),
                node: said("situ.node"),
                channel: channel.clone(),
            }
        };
        let channels: Vec<_> = reader.channels().values().map(texts).collect();
        let places = channels.iter().enumerate().map(|(place, it)| (it.channel.id, place)).collect();
        Self {
            profile: c_text(reader.profile()),
            library: c_text(reader.library()),
            channels,
            places: Arc::new(places),
            types: reader.schemas().keys().map(|id| (*id, OnceLock::new())).collect(),
            problems: reader.problems().iter().map(|it| c_text(it)).collect(),
            reader,
        }
    }

    fn type_of(&self, schema: u16) -> Option<&TypeTexts> {
        let (known, place) = (self.reader.schemas().get(&schema)?, self.types.get(&schema)?);
        Some(place.get_or_init(|| match read_type(&known.encoding, &known.name, &known.data) {
            Ok((types, root)) => TypeTexts {
                name: c_text(types.name(root).as_str()),
                schema: Ok((c_text(&types.canonical(root)), types.schema_hash(root))),
            },
            Err(error) => TypeTexts { name: c_text(&known.name), schema: Err(c_text(&error.to_string())) },
        }))
    }
}

/// Opens a file.
///
/// # Safety
/// All pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_record_reader_open(
    path: *const c_char,
    reader: *mut *mut situ_record_reader,
    error: *mut situ_error,
) -> situ_status {
    let open = || {
        let target = target(reader, "reader")?;
        // SAFETY: the caller's promise.
        let opened = Reader::open(unsafe { text(path, "path") }?)?;
        let made = Box::new(situ_record_reader::new(opened));
        // SAFETY: not null, and valid for writes as the caller promises.
        unsafe { target.write(Box::into_raw(made)) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, open) }
}

/// Closes a file.
///
/// # Safety
/// `reader` is null, or a live handle that is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_record_reader_close(reader: *mut situ_record_reader) {
    if !reader.is_null() {
        // SAFETY: it came from `Box::into_raw`, and the caller gives it up.
        guard_value(|| drop(unsafe { Box::from_raw(reader) }));
    }
}

/// What is in a file.
///
/// # Safety
/// `reader` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_record_reader_summary(
    reader: *const situ_record_reader,
) -> situ_record_summary {
    // SAFETY: the caller's promise.
    let Some(it) = (unsafe { reader.as_ref() }) else { return situ_record_summary::default() };
    let statistics = it.reader.statistics();
    situ_record_summary {
        profile: it.profile.as_ptr(),
        library: it.library.as_ptr(),
        size: it.reader.size(),
        messages: statistics.messages,
        start_time: statistics.start_time,
        end_time: statistics.end_time,
        channels: it.channels.len(),
        problems: it.problems.len(),
        is_complete: u32::from(*it.reader.end() == End::Whole),
    }
}

/// Describes a channel.
///
/// # Safety
/// All pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_record_reader_channel(
    reader: *const situ_record_reader,
    index: usize,
    channel: *mut situ_record_channel,
    error: *mut situ_error,
) -> situ_status {
    let describe = || {
        let target = target(channel, "channel")?;
        // SAFETY: the caller's promise.
        let reader = unsafe { given(reader, "reader") }?;
        let Some(texts) = reader.channels.get(index) else { return Ok(situ_status::Empty) };
        let known = reader.type_of(texts.channel.schema_id);
        let schema = known.and_then(|it| it.schema.as_ref().ok());
        let problem = known.and_then(|it| it.schema.as_ref().err());
        let counts = &reader.reader.statistics().channel_messages;
        let described = situ_record_channel {
            topic: texts.topic.as_ptr(),
            type_name: known.map_or(c"".as_ptr(), |it| it.name.as_ptr()),
            message_encoding: texts.message_encoding.as_ptr(),
            schema: schema.map_or(null(), |(text, _)| text.as_ptr()),
            problem: problem.map_or(null(), |text| text.as_ptr()),
            schema_hash: schema.map_or(0, |(_, hash)| *hash),
            publisher: texts.publisher.as_ptr(),
            node: texts.node.as_ptr(),
            messages: counts.get(&texts.channel.id).copied().unwrap_or(0),
            encoding: bus_encoding(&texts.channel).map_or(0, |it| it as u32),
        };
        // SAFETY: not null, and valid for writes as the caller promises.
        unsafe { target.write(described) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, describe) }
}

/// A part of a file that cannot be read.
///
/// # Safety
/// `reader` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_record_reader_problem(
    reader: *const situ_record_reader,
    index: usize,
) -> *const c_char {
    // SAFETY: the caller's promise.
    let problem = unsafe { reader.as_ref() }.and_then(|it| it.problems.get(index));
    problem.map_or(null(), |text| text.as_ptr())
}

/// `situ_record_cursor`.
pub struct situ_record_cursor {
    messages: Messages<'static>,
    places: Arc<HashMap<u16, usize>>,
    /// Keeps the data of the last message.
    last: Option<Message>,
}

/// The filter of C.
///
/// # Safety
/// `filter` is null or valid, and its topics are texts.
unsafe fn read_filter(filter: *const situ_record_filter) -> Result<Filter<'static>, Failure> {
    // SAFETY: the caller's promise.
    let Some(filter) = (unsafe { filter.as_ref() }) else { return Ok(Filter::default()) };
    let mut made = Filter {
        from: Some(filter.start_time),
        until: (filter.end_time != 0).then_some(filter.end_time),
        channel: None,
    };
    if !filter.topics.is_null() {
        let mut topics = HashSet::new();
        for index in 0..number(filter.topic_count as u64, "filter->topic_count")? {
            // SAFETY: the caller's promise.
            let topic = unsafe { text(*filter.topics.add(index), "filter->topics") }?;
            topics.insert(topic.to_owned());
        }
        made.channel = Some(Box::new(move |channel| topics.contains(bus_topic(channel))));
    }
    Ok(made)
}

/// Begins before the first message.
///
/// # Safety
/// All pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_record_cursor_create(
    reader: *const situ_record_reader,
    filter: *const situ_record_filter,
    cursor: *mut *mut situ_record_cursor,
    error: *mut situ_error,
) -> situ_status {
    let create = || {
        let target = target(cursor, "cursor")?;
        // SAFETY: the caller's promise.
        let (reader, filter) = unsafe { (given(reader, "reader")?, read_filter(filter)?) };
        let messages = reader.reader.messages(filter);
        let made = Box::new(situ_record_cursor { messages, places: reader.places.clone(), last: None });
        // SAFETY: not null, and valid for writes as the caller promises.
        unsafe { target.write(Box::into_raw(made)) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, create) }
}

/// Destroys a cursor.
///
/// # Safety
/// `cursor` is null, or a live handle that is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_record_cursor_destroy(cursor: *mut situ_record_cursor) {
    if !cursor.is_null() {
        // SAFETY: it came from `Box::into_raw`, and the caller gives it up.
        guard_value(|| drop(unsafe { Box::from_raw(cursor) }));
    }
}

/// The next message.
///
/// # Safety
/// `cursor` is null, or a live handle that no other thread uses; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_record_cursor_next(
    cursor: *mut situ_record_cursor,
    message: *mut situ_record_message,
    error: *mut situ_error,
) -> situ_status {
    let next = || {
        let (message, cursor) = (target(message, "message")?, target(cursor, "cursor")?);
        // SAFETY: a live handle, which only this call uses.
        let cursor = unsafe { &mut *cursor };
        cursor.last = None;
        let Some(next) = cursor.messages.next() else { return Ok(situ_status::Empty) };
        let next = next?;
        let Some(channel) = cursor.places.get(&next.channel.id) else {
            let id = next.channel.id;
            let text =
                format_args!("a message is of channel {id}, which the summary of the file does not have");
            return Err(Failure::new(situ_status::Malformed, text));
        };
        let last = cursor.last.insert(next);
        let found = situ_record_message {
            data: last.data().as_ptr().cast(),
            size: last.data().len(),
            log_time: last.log_time,
            publish_time: last.publish_time,
            channel: *channel,
            sequence: last.sequence,
        };
        // SAFETY: not null, and valid for writes as the caller promises.
        unsafe { message.write(found) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, next) }
}
