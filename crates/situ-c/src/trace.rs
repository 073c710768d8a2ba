//! Traces for C: categories and names in the caller's static memory, and events that the caller describes on
//! its stack.

use std::borrow::Cow;
use std::ffi::c_char;
use std::slice;

use situ_trace::{Argument, Category, Counter, Event, Kind, Log, Name, Severity, Value};

use crate::error::guard_value;

/// `situ_trace_name`.
pub type situ_trace_name = Name;
/// `situ_trace_category`.
pub type situ_trace_category = Category;
/// `situ_trace_counter`.
pub type situ_trace_counter = Counter;

/// The maximum number of arguments of an event.
pub const MAX_ARGUMENTS: usize = 16;
/// `SITU_TRACE_KIND_BEGIN`.
pub const BEGIN: u32 = 1;
/// `SITU_TRACE_KIND_INSTANT`.
pub const INSTANT: u32 = 3;
/// `SITU_TRACE_TEXT`.
const TEXT: u32 = 5;

/// `situ_trace_value`.
#[repr(C)]
pub union situ_trace_value {
    pub as_bool: u32,
    pub as_uint: u64,
    pub as_int: i64,
    pub as_double: f64,
    pub as_text: *const c_char,
}

/// `situ_trace_argument`.
#[repr(C)]
pub struct situ_trace_argument {
    pub name: *mut situ_trace_name,
    pub value: situ_trace_value,
    pub length: usize,
    pub kind: u32,
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

/// Returns the text of an argument, if it has one. Invalid UTF-8 is replaced by U+FFFD, as in names.
///
/// # Safety
/// The value is of its kind, and a text has its length.
unsafe fn text(argument: &situ_trace_argument) -> Cow<'_, str> {
    if argument.kind != TEXT {
        return Cow::Borrowed("");
    }
    // SAFETY: the caller's promise.
    unsafe { lossy(argument.value.as_text, argument.length) }
}

/// Returns a text of C. Invalid UTF-8 is replaced by U+FFFD.
///
/// # Safety
/// `first` is null, or leads to `length` characters.
unsafe fn lossy<'a>(first: *const c_char, length: usize) -> Cow<'a, str> {
    // SAFETY: the caller's promise.
    String::from_utf8_lossy(unsafe { list(first.cast::<u8>(), length) })
}

/// Returns the value of an argument, for texts from `text`. Returns `None` for an unknown kind.
///
/// # Safety
/// The value is of its kind.
unsafe fn value<'a>(argument: &situ_trace_argument, text: &'a str) -> Option<Value<'a>> {
    // SAFETY: the caller's promise.
    unsafe {
        Some(match argument.kind {
            1 => Value::Bool(argument.value.as_bool != 0),
            2 => Value::Uint(argument.value.as_uint),
            3 => Value::Int(argument.value.as_int),
            4 => Value::Double(argument.value.as_double),
            TEXT => Value::Text(text),
            _ => return None,
        })
    }
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
            INSTANT => Kind::Instant,
            _ => return,
        };
        // SAFETY: the caller's promise.
        let Some(event) = (unsafe { event.as_ref() }) else { return };
        // SAFETY: as above.
        let (category, name): (Option<&'static Category>, Option<&'static Name>) =
            unsafe { (event.category.as_ref(), event.name.as_ref()) };
        let Some(name) = name else { return };
        // SAFETY: as above.
        let given = unsafe { list(event.arguments, event.argument_count) };
        let mut texts = [const { Cow::Borrowed("") }; MAX_ARGUMENTS];
        for (text_of, argument) in texts.iter_mut().zip(given) {
            // SAFETY: as above.
            *text_of = unsafe { text(argument) };
        }
        let mut arguments = [Argument { name, value: Value::Bool(false) }; MAX_ARGUMENTS];
        let mut count = 0;
        for (argument, text) in given.iter().zip(&texts) {
            // SAFETY: as above.
            if let (Some(name), Some(value)) = unsafe { (argument.name.as_ref(), value(argument, text)) } {
                arguments[count] = Argument { name, value };
                count += 1;
            }
        }
        // SAFETY: as above.
        let (flows, last_flows) =
            unsafe { (list(event.flows, event.flow_count), list(event.last_flows, event.last_flow_count)) };
        situ_trace::write_event(&Event {
            kind,
            at_ns: situ_trace::now_ns(),
            category,
            name: Some(name),
            flows,
            last_flows,
            arguments: &arguments[..count],
            log: None,
        });
    });
}

/// Ends the last slice that began on this thread.
#[unsafe(no_mangle)]
pub extern "C" fn situ_trace_end() {
    guard_value(|| {
        situ_trace::write_event(&Event {
            kind: Kind::End,
            at_ns: situ_trace::now_ns(),
            category: None,
            name: None,
            flows: &[],
            last_flows: &[],
            arguments: &[],
            log: None,
        });
    });
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
        let arguments = [Argument { name: &LOGGER, value: Value::Text(&logger) }];
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
