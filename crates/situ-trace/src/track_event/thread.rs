//! The state of a traced thread: its writer, and the names that it has sent.
//!
//! A thread that ends leaves this state to a later thread. A thousand threads one after another therefore
//! need one writer, one entry in the ring and one sequence of the trace, and the collector has one entry to
//! free, not a thousand.

use std::cell::RefCell;
use std::sync::Mutex;

use super::bus_topics::TopicCache;
use super::call_track::CallTrack;
use super::counter::Counter;
use super::event::Event;
use super::names::{MAX_INTERNED, Sent, Table};
use super::process::{self, Process, ThreadDescription};
use crate::Writer;

thread_local! {
    static THREAD: RefCell<OwnThread> = const { RefCell::new(OwnThread(None)) };
}

/// The maximum number of threads whose state is kept for reuse: more than usually end before others begin.
/// Each takes about 10 KiB, and an entry in the ring.
const MAX_REUSABLE: usize = 256;

/// The state of threads that have ended. It is locked for a moment when a thread begins to write and when it
/// ends. A thread that does not get the lock at once continues without it. (In a forked child the lock may
/// stay held for ever.)
static REUSABLE: Mutex<Vec<Box<Thread>>> = Mutex::new(Vec::new());

/// A thread's own state. It is kept for reuse when the thread ends.
struct OwnThread(Option<Box<Thread>>);

impl Drop for OwnThread {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take()
            && process::current().is_some_and(|process| std::ptr::eq(process, thread.process))
            && let Ok(mut left) = REUSABLE.try_lock()
            && left.len() < MAX_REUSABLE
        {
            left.push(thread);
        }
    }
}

pub(super) struct Thread {
    writer: Writer,
    /// The writer's process. A forked child has another one.
    process: &'static Process,
    /// The writer's epoch in which `sent` is valid.
    epoch: u64,
    sent: Sent,
    /// The session in which the thread was described, and its description.
    described: (u32, ThreadDescription),
    /// The topics of this thread's bus events.
    pub(super) topics: TopicCache,
}

/// Calls `work` with this thread's state. Does nothing if the process is not traced, at the very end of a
/// thread, and within `work` itself (a signal handler).
#[inline]
pub(super) fn with(work: impl FnOnce(&mut Thread)) {
    let _ = THREAD.try_with(|thread| {
        let Ok(mut thread) = thread.try_borrow_mut() else { return };
        match (&mut thread.0, process::current()) {
            (Some(thread), Some(process)) if std::ptr::eq(thread.process, process) => work(thread),
            (_, None) => {}
            (place, Some(process)) => work(place.insert(Thread::begin(process))),
        }
    });
}

/// Writes an event on this thread's track, if this process is traced.
#[inline]
pub fn write(event: &Event<'_>) {
    with(|thread| thread.write(event));
}

/// Writes the value of a counter.
pub(super) fn count(counter: &'static Counter, at_ns: u64, value: f64) {
    with(|thread| thread.count(counter, at_ns, value));
}

impl Thread {
    /// Prepares the state for a thread's first event.
    #[cold]
    fn begin(process: &'static Process) -> Box<Self> {
        let left = REUSABLE.try_lock().ok().and_then(|mut left| left.pop());
        // After a fork they belong to the parent.
        let Some(mut thread) = left.filter(|thread| std::ptr::eq(thread.process, process)) else {
            return Self::new(process);
        };
        thread.writer.adopt();
        // The sequence begins anew, with this thread's description.
        thread.epoch = 0;
        thread.described = (0, ThreadDescription::new());
        thread
    }

    fn new(process: &'static Process) -> Box<Self> {
        Box::new(Self {
            writer: process.producer.writer(),
            process,
            epoch: 0,
            sent: Sent::empty(),
            described: (0, ThreadDescription::new()),
            topics: TopicCache::default(),
        })
    }

    #[inline]
    pub(super) fn write(&mut self, event: &Event<'_>) {
        if self.is_ready()
            && let Some(mut packet) = self.writer.packet()
        {
            event.write(packet.message(), &mut self.sent);
        }
    }

    /// Writes an event on the track of a call.
    pub(super) fn write_call(&mut self, event: &Event<'_>, track: &CallTrack<'_>) {
        if !self.is_ready() {
            return;
        }
        if !self.sent.has_track(track.uuid()) {
            if !self.describe(|message, _| track.describe(message)) {
                return;
            }
            self.sent.add_track(track.uuid());
        }
        if let Some(mut packet) = self.writer.packet() {
            event.write_on(Some(track.uuid()), packet.message(), &mut self.sent);
        }
    }

    pub(super) fn count(&mut self, counter: &'static Counter, at_ns: u64, value: f64) {
        if !self.is_ready() {
            return;
        }
        let is_known = self.sent.has(Table::Counters, counter.number());
        if counter.is_repeated(value) && is_known {
            return;
        }
        // A number that is too high for `sent` is described each time.
        let is_new = counter.number() >= MAX_INTERNED || self.sent.add(Table::Counters, counter.number());
        if is_new && !self.describe(|message, _| counter.describe(message)) {
            return;
        }
        if let Some(mut packet) = self.writer.packet() {
            counter.write(packet.message(), at_ns, value, &mut self.sent);
        }
    }

    /// Returns whether there is a session, and its reader has this thread's description.
    #[inline(always)]
    fn is_ready(&mut self) -> bool {
        let epoch = self.writer.state_epoch();
        epoch == self.epoch && epoch != 0 || self.describe_all(epoch)
    }

    /// Describes the process and the thread anew. Returns whether no packet was lost.
    #[cold]
    #[inline(never)]
    fn describe_all(&mut self, epoch: u64) -> bool {
        self.epoch = epoch;
        self.sent.clear();
        if epoch == 0 {
            return false;
        }
        let session = self.writer.session();
        if self.described.0 != session {
            // The thread's name may have changed.
            self.described = (session, ThreadDescription::new());
        }
        self.describe(process::describe_process) && self.describe(process::describe_thread)
    }

    /// Writes a packet on which others depend. Returns whether it was not lost.
    fn describe(&mut self, write: impl FnOnce(situ_wire::protobuf::Message<'_>, &ThreadDescription)) -> bool {
        match self.writer.packet() {
            Some(mut packet) => write(packet.message(), &self.described.1),
            None => return false,
        }
        let is_delivered = self.writer.state_epoch() == self.epoch;
        if !is_delivered {
            // The next event repeats all descriptions.
            self.epoch = 0;
        }
        is_delivered
    }
}
