//! Traces for C: categories and names in the caller's static memory, and events that the caller describes on
//! its stack.

use std::borrow::Cow;
use std::ffi::{c_char, c_void};
use std::slice;

use situ_trace::{
    Argument, Category, Counter, Event, Kind, Label, Log, Name, Severity, SliceToken, Track, Unit, Value,
};

use crate::error::guard_value;

/// `situ_trace_name`.
pub type situ_trace_name = Name;
/// `situ_trace_category`.
pub type situ_trace_category = Category;
/// `situ_trace_counter`.
pub type situ_trace_counter = Counter;

/// The maximum number of arguments of an event.
pub const MAX_ARGUMENTS: usize = 16;
/// The maximum number of arguments within arguments of an event.
pub const MAX_NESTED: usize = 64;
/// The maximum number of a track and those that enclose it.
const MAX_TRACKS: usize = 16;
/// `SITU_TRACE_KIND_BEGIN`.
pub const BEGIN: u32 = 1;
/// `SITU_TRACE_KIND_END`.
pub const END: u32 = 2;
/// `SITU_TRACE_KIND_INSTANT`.
pub const INSTANT: u32 = 3;
/// `SITU_TRACE_TEXT`.
const TEXT: u32 = 5;
/// `SITU_TRACE_POINTER`.
const POINTER: u32 = 6;
/// `SITU_TRACE_DICTIONARY`.
const DICTIONARY: u32 = 7;
/// `SITU_TRACE_ARRAY`.
const ARRAY: u32 = 8;
/// `SITU_TRACE_OF_THREAD`.
const OF_THREAD: u32 = 1;
/// `SITU_TRACE_GLOBAL`.
const GLOBAL: u32 = 2;

/// `situ_trace_value`.
#[repr(C)]
#[derive(Clone, Copy)]
pub union situ_trace_value {
    pub as_bool: u32,
    pub as_uint: u64,
    pub as_int: i64,
    pub as_double: f64,
    pub as_text: *const c_char,
    pub as_pointer: *const c_void,
    pub as_entries: *const situ_trace_argument,
}

/// `situ_trace_argument`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct situ_trace_argument {
    pub name: *mut situ_trace_name,
    pub value: situ_trace_value,
    pub length: usize,
    pub kind: u32,
    pub dynamic_length: u32,
    pub dynamic_name: *const c_char,
}

/// `situ_trace_track`.
#[repr(C)]
pub struct situ_trace_track {
    pub name: *const c_char,
    pub length: usize,
    pub id: u64,
    pub scope: u32,
    pub parent: *const situ_trace_track,
}

/// `situ_trace_log_message`.
#[repr(C)]
pub struct situ_trace_log_message {
    pub text: *const c_char,
    pub length: usize,
    pub file: *const c_char,
    pub file_length: usize,
    pub logger: *const c_char,
    pub logger_length: usize,
    pub line: u32,
    pub severity: u32,
}

/// `situ_trace_event`.
#[repr(C)]
pub struct situ_trace_event {
    pub category: *mut situ_trace_category,
    pub name: *mut situ_trace_name,
    pub flows: *const u64,
    pub flow_count: usize,
    pub last_flows: *const u64,
    pub last_flow_count: usize,
    pub arguments: *const situ_trace_argument,
    pub argument_count: usize,
    pub at_ns: u64,
    pub track: *const situ_trace_track,
    pub dynamic_name: *const c_char,
    pub dynamic_length: usize,
    pub fields: *const u8,
    pub fields_length: usize,
}

/// A slice from C, empty for null.
///
/// # Safety
/// `first` is null, or leads to `count` elements.
unsafe fn list<'a, T>(first: *const T, count: usize) -> &'a [T] {
    if first.is_null() || count == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { slice::from_raw_parts(first, count) }
}

/// Returns a text of C. Invalid UTF-8 is replaced by U+FFFD.
///
/// # Safety
/// `first` is null, or leads to `length` characters.
unsafe fn lossy<'a>(first: *const c_char, length: usize) -> Cow<'a, str> {
    // SAFETY: the caller's promise.
    String::from_utf8_lossy(unsafe { list(first.cast::<u8>(), length) })
}

/// Returns the name of an argument or event: the static one, or the text.
///
/// # Safety
/// A static name lasts as long as the program. The text is null, or has its length.
unsafe fn label<'a>(name: *const situ_trace_name, text: *const c_char, length: usize) -> Option<Label<'a>> {
    // SAFETY: the caller's promise.
    unsafe {
        match name.as_ref() {
            Some(name) => Some(Label::Known(name)),
            None if text.is_null() => None,
            None => Some(Label::Foreign(list(text.cast(), length))),
        }
    }
}

/// Memory for what lies within arguments, and for tracks. When it is used up, the rest is omitted.
struct Room<'a> {
    arguments: &'a mut [Argument<'a>],
    values: &'a mut [Value<'a>],
    tracks: &'a mut [Track<'a>],
}

/// Takes the first `count` places, or all that are left.
fn take<'a, T>(places: &mut &'a mut [T], count: usize) -> &'a mut [T] {
    let left = std::mem::take(places);
    let (taken, rest) = left.split_at_mut(count.min(left.len()));
    *places = rest;
    taken
}

impl<'a> Room<'a> {
    /// Converts an argument. Returns `None` if it has no name or an unknown kind.
    ///
    /// # Safety
    /// As the header says: its value is of its kind, and texts and entries have their lengths.
    // Each call within a call takes a place of the room, so the depth is limited, also by a list that
    // contains itself.
    unsafe fn argument(&mut self, given: &situ_trace_argument) -> Option<Argument<'a>> {
        // SAFETY: the caller's promise.
        unsafe {
            let name = label(given.name, given.dynamic_name, given.dynamic_length as usize)?;
            Some(Argument { name, value: self.value(given)? })
        }
    }

    /// Converts the value of an argument.
    ///
    /// # Safety
    /// As for `argument`.
    unsafe fn value(&mut self, given: &situ_trace_argument) -> Option<Value<'a>> {
        // SAFETY: the caller's promise.
        let entries = || unsafe { list(given.value.as_entries, given.length) };
        // SAFETY: the caller's promise, for each union member and each entry.
        unsafe {
            Some(match given.kind {
                1 => Value::Bool(given.value.as_bool != 0),
                2 => Value::Uint(given.value.as_uint),
                3 => Value::Int(given.value.as_int),
                4 => Value::Double(given.value.as_double),
                TEXT => Value::Foreign(list(given.value.as_text.cast(), given.length)),
                POINTER => Value::Pointer(given.value.as_pointer.addr() as u64),
                DICTIONARY => {
                    let places = take(&mut self.arguments, entries().len());
                    let mut count = 0;
                    for entry in entries().iter().take(places.len()) {
                        if let Some(argument) = self.argument(entry) {
                            places[count] = argument;
                            count += 1;
                        }
                    }
                    Value::Dictionary(&places[..count])
                }
                ARRAY => {
                    let places = take(&mut self.values, entries().len());
                    let mut count = 0;
                    for entry in entries().iter().take(places.len()) {
                        if let Some(value) = self.value(entry) {
                            places[count] = value;
                            count += 1;
                        }
                    }
                    Value::Array(&places[..count])
                }
                _ => return None,
            })
        }
    }

    /// Converts a track and those that enclose it.
    ///
    /// # Safety
    /// As the header says: it and its parents are null, or last as long as the call; their names have their
    /// lengths.
    unsafe fn track(&mut self, given: *const situ_trace_track) -> Option<&'a Track<'a>> {
        let mut chain = [std::ptr::null::<situ_trace_track>(); MAX_TRACKS];
        let (mut count, mut next) = (0, given);
        // SAFETY: the caller's promise. A circle ends with the memory for the chain.
        while let Some(track) = unsafe { next.as_ref() }
            && count < chain.len()
        {
            chain[count] = track;
            (count, next) = (count + 1, track.parent);
        }
        let mut parent: Option<&'a Track<'a>> = None;
        for given in chain[..count].iter().rev() {
            // SAFETY: not null; the caller's promise.
            let (given, name) = unsafe { (&**given, list((**given).name.cast(), (**given).length)) };
            let track = match (parent, given.scope) {
                (Some(parent), _) => Track::below(parent, "", given.id),
                (None, OF_THREAD) => Track::of_thread("", given.id),
                (None, GLOBAL) => Track::global("", given.id),
                (None, _) => Track::new("", given.id),
            };
            let place = take(&mut self.tracks, 1).first_mut()?;
            *place = track.with_foreign_name(name);
            parent = Some(place);
        }
        parent
    }
}

/// Calls `work` with an event from C.
///
/// # Safety
/// As the header says: names and categories last as long as the program, the rest as long as the call.
unsafe fn with_event<R>(
    kind: Kind,
    event: *const situ_trace_event,
    work: impl FnOnce(&Event<'_>) -> R,
) -> Option<R> {
    // SAFETY: the caller's promise.
    let event = unsafe { event.as_ref() }?;
    // SAFETY: as above.
    let given = unsafe { list(event.arguments, event.argument_count) };
    let is_nested = |argument: &situ_trace_argument| matches!(argument.kind, DICTIONARY | ARRAY);
    // SAFETY: as above. Most events need no room within arguments, which takes time to prepare.
    unsafe {
        if event.track.is_null() && !given.iter().any(is_nested) {
            with_room::<0, 0, R>(kind, event, given, work)
        } else {
            with_room::<MAX_NESTED, MAX_TRACKS, R>(kind, event, given, work)
        }
    }
}

/// Calls `work` with an event from C, for which there is this much room.
///
/// # Safety
/// As for `with_event`.
#[inline(always)]
unsafe fn with_room<const NESTED: usize, const TRACKS: usize, R>(
    kind: Kind,
    event: &situ_trace_event,
    given: &[situ_trace_argument],
    work: impl FnOnce(&Event<'_>) -> R,
) -> Option<R> {
    let none = Argument { name: Label::Text(""), value: Value::Bool(false) };
    let (mut arguments, mut values) = ([none; NESTED], [Value::Bool(false); NESTED]);
    let mut tracks = [Track::new("", 0); TRACKS];
    let mut room = Room { arguments: &mut arguments, values: &mut values, tracks: &mut tracks };
    let mut first = [none; MAX_ARGUMENTS];
    let mut count = 0;
    for argument in given.iter().take(MAX_ARGUMENTS) {
        // SAFETY: the caller's promise.
        if let Some(argument) = unsafe { room.argument(argument) } {
            first[count] = argument;
            count += 1;
        }
    }
    // SAFETY: as above.
    let (category, name, track, flows, last_flows, fields): (Option<&'static Category>, _, _, _, _, _) = unsafe {
        (
            event.category.as_ref(),
            label(event.name, event.dynamic_name, event.dynamic_length),
            room.track(event.track),
            list(event.flows, event.flow_count),
            list(event.last_flows, event.last_flow_count),
            list(event.fields, event.fields_length),
        )
    };
    if name.is_none() && kind != Kind::End {
        return None;
    }
    Some(work(&Event {
        at_ns: event.at_ns,
        track,
        flows,
        last_flows,
        arguments: &first[..count],
        fields,
        ..Event::new(kind, category, name)
    }))
}

/// Registers a category on first use. Returns whether it is on.
///
/// # Safety
/// `category` is null, or lasts as long as the program.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_trace_register(category: *mut situ_trace_category) -> u32 {
    guard_value(|| {
        // SAFETY: the caller's promise; its layout is that of the header.
        let category: Option<&'static Category> = unsafe { category.as_ref() };
        u32::from(category.is_some_and(Category::is_enabled))
    })
}

/// Writes an event.
///
/// # Safety
/// As the header says: names and categories last as long as the program, the rest as long as the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_trace_write(kind: u32, event: *const situ_trace_event) {
    guard_value(|| {
        let kind = match kind {
            BEGIN => Kind::Begin,
            END => Kind::End,
            INSTANT => Kind::Instant,
            _ => return,
        };
        // SAFETY: the caller's promise.
        unsafe { with_event(kind, event, situ_trace::write_event) };
    });
}

/// Begins a slice of this thread, for `situ_trace_end_slice`.
///
/// # Safety
/// As for `situ_trace_write`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_trace_begin_slice(event: *const situ_trace_event) -> u64 {
    guard_value(|| {
        // SAFETY: the caller's promise.
        let token = unsafe { with_event(Kind::Begin, event, SliceToken::begin) };
        token.flatten().map_or(0, SliceToken::into_raw)
    })
}

/// Ends a slice, and those within it.
#[unsafe(no_mangle)]
pub extern "C" fn situ_trace_end_slice(slice: u64, at_ns: u64) {
    guard_value(|| {
        if slice != 0 {
            SliceToken::from_raw(slice).end(at_ns);
        }
    });
}

/// Ends the last slice that began on this thread.
#[unsafe(no_mangle)]
pub extern "C" fn situ_trace_end() {
    guard_value(|| situ_trace::write_event(&Event::new(Kind::End, None, None)));
}

/// Writes a packet of the program's own type.
///
/// # Safety
/// `fields` is null, or leads to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_trace_packet(at_ns: u64, fields: *const u8, length: usize) -> u32 {
    guard_value(|| {
        // SAFETY: the caller's promise.
        u32::from(situ_trace::write_packet(at_ns, unsafe { list(fields, length) }))
    })
}

/// Returns the time of the clock of traces.
#[unsafe(no_mangle)]
pub extern "C" fn situ_trace_now() -> u64 {
    guard_value(situ_trace::now_ns)
}

/// Writes a message of a log, if its category is on. NULL is the category `log`.
///
/// # Safety
/// `category` is null, or lasts as long as the program. `message` is null, or its texts have their lengths.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_trace_log(
    category: *mut situ_trace_category,
    message: *const situ_trace_log_message,
) {
    static LOG: Category = Category::new("log");
    static LOGGER: Name = Name::new("logger");
    guard_value(|| {
        // SAFETY: the caller's promise; its layout is that of the header.
        let category: &'static Category = unsafe { category.as_ref() }.unwrap_or(&LOG);
        if !category.is_enabled() {
            return;
        }
        // SAFETY: the caller's promise.
        let Some(message) = (unsafe { message.as_ref() }) else { return };
        // SAFETY: the caller's promise, for each text.
        let (text, file, logger) = unsafe {
            (
                lossy(message.text, message.length),
                lossy(message.file, message.file_length),
                lossy(message.logger, message.logger_length),
            )
        };
        let severity = severity(message.severity);
        let arguments = [Argument { name: Label::Known(&LOGGER), value: Value::Text(&logger) }];
        let arguments = if logger.is_empty() { &[][..] } else { &arguments };
        let log = Log { severity, text: &text, file: &file, line: message.line };
        situ_trace::write_event(&Event::log(category, log, arguments));
    });
}

/// Returns the severity with a number of `situ_trace_severity`. Other numbers are those of the nearest one.
fn severity(number: u32) -> Severity {
    match number {
        ..=2 => Severity::Trace,
        3 => Severity::Debug,
        4 => Severity::Info,
        5 => Severity::Warn,
        6 => Severity::Error,
        7.. => Severity::Fatal,
    }
}

/// Records a new value of a counter.
///
/// # Safety
/// `counter` is null, or lasts as long as the program, as does its category.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_trace_count(counter: *mut situ_trace_counter, value: f64) {
    guard_value(|| {
        // SAFETY: the caller's promise; its layout is that of the header.
        let counter: Option<&'static Counter> = unsafe { counter.as_ref() };
        if let Some(counter) = counter {
            counter.set(value);
        }
    });
}

/// Records the value of a counter from a time on; 0 is now.
///
/// # Safety
/// As for `situ_trace_count`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_trace_count_at(counter: *mut situ_trace_counter, value: f64, at_ns: u64) {
    guard_value(|| {
        // SAFETY: the caller's promise; its layout is that of the header.
        let counter: Option<&'static Counter> = unsafe { counter.as_ref() };
        if let Some(counter) = counter {
            counter.set_at(value, at_ns);
        }
    });
}

/// Records the value of a counter with the name, number and parent of a track, from a time on; 0 is now.
///
/// # Safety
/// `category` is null, or lasts as long as the program. `track` and its parents are null, or last as long as
/// the call; their names have their lengths.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_trace_count_on(
    category: *mut situ_trace_category,
    track: *const situ_trace_track,
    unit: u32,
    value: f64,
    at_ns: u64,
) {
    guard_value(|| {
        // SAFETY: the caller's promise; its layout is that of the header.
        let Some(category): Option<&'static Category> = (unsafe { category.as_ref() }) else { return };
        let mut tracks = [Track::new("", 0); MAX_TRACKS];
        let mut room = Room { arguments: &mut [], values: &mut [], tracks: &mut tracks };
        // SAFETY: the caller's promise.
        let Some(track) = (unsafe { room.track(track) }) else { return };
        let unit = match unit {
            1 => Unit::Bytes,
            2 => Unit::Nanoseconds,
            _ => Unit::Count,
        };
        situ_trace::write_count(category, track, unit, value, at_ns);
    });
}
