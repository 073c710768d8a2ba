//! This process as a traced process: its connection, its clock, and its description.

use std::ptr::{from_ref, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError, TryLockError};

use situ_bus::Root;
use situ_wire::protobuf::Message;

use super::sequence_clock;
use crate::proto::TracePacketWriter;
use crate::system::thread_id;
use crate::{Producer, Session};

/// The names of a process's nodes.
struct Names {
    /// Without repetitions.
    all: Vec<String>,
    /// The name of the process in the trace.
    title: String,
}

/// A process that takes part in sessions, until it ends.
pub(super) struct Process {
    pub(super) producer: Producer,
    pid: u32,
    /// The name under which it joined first.
    name: String,
    names: Mutex<Names>,
    cmdline: Vec<String>,
    track: u64,
}

/// How many names of nodes are kept, and how many of them are shown.
const MAX_NAMES: usize = 256;
const SHOWN_NAMES: usize = 4;

static PROCESS: AtomicPtr<Process> = AtomicPtr::new(null_mut());

/// Returns this process, if it takes part.
#[inline(always)]
pub(super) fn current() -> Option<&'static Process> {
    let process = PROCESS.load(Ordering::Acquire);
    // SAFETY: `connect` stores only a pointer that it has leaked.
    unsafe { process.as_ref() }
}

/// Connects this process to the sessions of a root directory, unless it is connected. `changed` is called
/// with a session when it begins, with `None` when it has ended.
pub(super) fn connect(root: &Root, name: &str, changed: fn(Option<&Session>)) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _lock = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(process) = current().filter(|process| !process.producer.is_inherited()) {
        process.add_name(name);
        return;
    }
    let pid = std::process::id();
    let cmdline = command_line();
    let Ok(producer) = Producer::connect(root, name, changed) else { return };
    let name = name.to_owned();
    let names = Mutex::new(Names { all: vec![name.clone()], title: name.clone() });
    // Differs after a fork, and in a later process with the same number.
    let track = mix(mix(u64::from(pid), now_ns()), from_ref(&PROCESS).addr() as u64);
    let process = Process { producer, pid, name, names, cmdline, track };
    PROCESS.store(Box::into_raw(Box::new(process)), Ordering::Release);
}

impl Process {
    /// Adds the name of a further node.
    fn add_name(&self, name: &str) {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if names.all.len() < MAX_NAMES && !names.all.iter().any(|other| other == name) {
            names.all.push(name.to_owned());
            names.title = title(&names.all);
            self.producer.rename(&names.title);
        }
    }

    /// Calls a function with its name in the trace. Neither allocates nor waits, because events may be written
    /// in signal handlers: while a node is being added, the name is that of the first.
    fn with_title(&self, call: impl FnOnce(&str)) {
        match self.names.try_lock() {
            Ok(names) => call(&names.title),
            Err(TryLockError::Poisoned(names)) => call(&names.into_inner().title),
            Err(TryLockError::WouldBlock) => call(&self.name),
        }
    }
}

/// The name of a process with these nodes: the first ones, in their order. A name that begins with `_` is that
/// of a helper, and shown only if there is no other.
fn title(names: &[String]) -> String {
    let mut shown: Vec<&str> =
        names.iter().map(String::as_str).filter(|name| !name.starts_with('_')).collect();
    if shown.is_empty() {
        shown.extend(names.first().map(String::as_str));
    }
    let more = shown.len().saturating_sub(SHOWN_NAMES);
    let first = shown[..shown.len() - more].join(", ");
    match more {
        0 => first,
        more if names.len() == MAX_NAMES => format!("{first} and at least {more} more"),
        more => format!("{first} and {more} more"),
    }
}

/// Returns whether this process takes part in sessions.
pub fn is_traced() -> bool {
    current().is_some_and(|process| !process.producer.is_inherited())
}

/// Returns the time of the clock of traces: nanoseconds since the machine started, including sleep
/// (`CLOCK_BOOTTIME`).
#[inline]
pub fn now_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Returns the number of this process's track.
pub(super) fn process_track() -> u64 {
    current().map_or(0, |process| process.track)
}

/// A thread's description in the trace. It is read from the system once in a session, not after each loss.
pub(super) struct ThreadDescription {
    id: u32,
    track: u64,
    name: String,
}

impl ThreadDescription {
    pub(super) fn new() -> Self {
        let id = thread_id();
        Self { id, track: mix(process_track(), u64::from(id) | 1 << 63), name: thread_name(id) }
    }

    /// Returns the number of the thread's track.
    pub(super) fn track(&self) -> u64 {
        self.track
    }
}

/// Combines two numbers into one that other pairs hardly ever give (the finalizer of splitmix64). Never
/// returns 0.
pub(super) fn mix(one: u64, other: u64) -> u64 {
    let mut mixed = one.wrapping_add(other.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ mixed >> 31).max(1)
}

/// Writes the packet that begins a thread's sequence anew, with its clock at this time.
pub(super) fn begin_sequence(message: Message<'_>, thread: &ThreadDescription, at_ns: u64) {
    let mut packet = TracePacketWriter(message);
    packet.set_sequence_flags(1);
    {
        let mut defaults = packet.set_trace_packet_defaults();
        defaults.set_timestamp_clock_id(sequence_clock::INCREMENTAL);
        defaults.set_track_event_defaults().set_track_uuid(thread.track);
    }
    sequence_clock::describe(&mut packet, at_ns);
}

/// Writes the packet that describes the process.
pub(super) fn describe_process(message: Message<'_>, _: &ThreadDescription) {
    let Some(process) = current() else { return };
    let mut packet = TracePacketWriter(message);
    packet.set_sequence_flags(2);
    let mut track = packet.set_track_descriptor();
    track.set_uuid(process.track);
    let mut description = track.set_process();
    description.set_pid(process.pid as i32);
    process.cmdline.iter().for_each(|argument| description.add_cmdline(argument));
    process.with_title(|title| description.set_process_name(title));
}

/// Writes the packet that describes a thread.
pub(super) fn describe_thread(message: Message<'_>, thread: &ThreadDescription) {
    let Some(process) = current() else { return };
    let mut packet = TracePacketWriter(message);
    packet.set_sequence_flags(2);
    let mut descriptor = packet.set_track_descriptor();
    descriptor.set_uuid(thread.track);
    descriptor.set_parent_uuid(process.track);
    let mut description = descriptor.set_thread();
    description.set_pid(process.pid as i32);
    description.set_tid(thread.id as i32);
    description.set_thread_name(&thread.name);
}

/// Returns the system's name of a thread.
fn thread_name(id: u32) -> String {
    let path = format!("/proc/self/task/{id}/comm");
    let name = std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned());
    name.unwrap_or_else(|_| id.to_string())
}

fn command_line() -> Vec<String> {
    let bytes = std::fs::read("/proc/self/cmdline").unwrap_or_default();
    let arguments =
        bytes.split(|byte| *byte == 0).map(|argument| String::from_utf8_lossy(argument).into_owned());
    let mut arguments: Vec<String> = arguments.take(64).collect();
    while arguments.last().is_some_and(String::is_empty) {
        arguments.pop();
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::{mix, title};

    #[test]
    fn a_process_is_named_after_its_first_nodes() {
        let of = |names: &[&str]| title(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["camera"]), "camera");
        assert_eq!(of(&["_helper"]), "_helper");
        assert_eq!(of(&["_helper", "camera", "filter"]), "camera, filter");
        assert_eq!(of(&["a", "b", "c", "d"]), "a, b, c, d");
        assert_eq!(of(&["a", "b", "_c", "d", "e", "f", "g"]), "a, b, d, e and 2 more");
    }

    #[test]
    fn numbers_are_mixed_as_splitmix64_does() {
        // The first outputs that the generator's authors publish for the seed 1234567.
        let published = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        for (index, number) in (0..).zip(published) {
            assert_eq!(mix(1_234_567, index), number);
        }
        // The finalizer gives 0 for this input; 0 is not a flow number.
        assert_eq!(mix(0, u64::MAX), 1);
    }
}
