//! The state of a traced thread: its writer, and the names that it has sent.
//!
//! A thread that ends leaves this state to a later thread. A thousand threads one after another therefore
//! need one writer, one entry in the ring and one sequence of the trace, and the collector has one entry to
//! free, not a thousand.

use std::cell::RefCell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use situ_wire::protobuf::{Fields, Message};

use super::bus_topics::TopicCache;
use super::call_track::CallTrack;
use super::counter::{Counter, CounterTrack};
use super::event::{Event, Kind, NEEDS_STATE};
use super::names::{MAX_INTERNED, Sent, Table};
use super::open_slices::{OpenSlices, SliceToken};
use super::process::{self, Process, ThreadDescription, now_ns};
use super::sequence_clock::{SequenceClock, Stamp};
use super::track::Track;
use crate::Writer;
use crate::proto::TracePacketWriter;

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
    clock: SequenceClock,
    /// The session in which the thread was described, and its description.
    described: (u32, ThreadDescription),
    /// Its number among all threads that wrote events, for [`SliceToken`].
    number: u32,
    /// The slices that this thread has begun and not ended in this session.
    open: OpenSlices,
    /// The topics of this thread's bus events.
    pub(super) topics: TopicCache,
}

/// Returns a number for a thread.
fn take_number() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
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

/// Writes an event, if this process is traced.
#[inline]
pub fn write(event: &Event<'_>) {
    with(|thread| thread.write(event));
}

/// Begins a slice on this thread's track. `None`: this process is not traced.
#[inline]
pub(super) fn begin(event: &Event<'_>) -> Option<SliceToken> {
    let mut token = None;
    with(|thread| token = thread.begin_slice(event));
    token
}

/// Ends a slice of this thread, and those within it. If another thread began it, nothing is written: the
/// slice ends with the one around it.
pub(super) fn end(token: SliceToken, at_ns: u64) {
    with(|thread| thread.end_slice(token, at_ns));
}

/// Begins a slice on another track than the thread's. Returns the track's number.
pub(super) fn begin_on(event: &Event<'_>, track: &Track<'_>) -> Option<u64> {
    let mut uuid = None;
    with(|thread| {
        thread.write(event);
        uuid = Some(track.uuid(thread.described.1.track()));
    });
    uuid
}

/// Ends the innermost slice of a track that has this number.
pub(super) fn end_on(track: u64, at_ns: u64) {
    with(|thread| thread.write_to(&Event::end(at_ns), Some(track)));
}

/// Writes a packet of the program's own type, if this process is traced: its time and these encoded fields of
/// Perfetto's `TracePacket`, usually an extension. Returns whether there was a session.
///
/// Nothing is written if the bytes are not whole fields, or contain a field that describes the sequence: its
/// clock (8, 58), names and defaults (12, 13, 59), or what only a collector sets (10, 42, 87). `at_ns` is the
/// time, by [`now_ns`]; 0: now.
pub fn write_packet(at_ns: u64, fields: &[u8]) -> bool {
    let mut is_written = false;
    if process::current().is_some() && may_be_in_a_packet(fields) {
        with(|thread| is_written = thread.write_packet(at_ns, fields));
    }
    is_written
}

/// Whether a program may write these fields into a packet.
fn may_be_in_a_packet(fields: &[u8]) -> bool {
    const RESERVED: [u32; 8] = [8, 10, 12, 13, 42, 58, 59, 87];
    Fields::new(fields).all(|field| field.is_ok_and(|field| !RESERVED.contains(&field.number)))
}

/// Writes the value of a counter.
pub(super) fn count(counter: &'static Counter, at_ns: u64, value: f64) {
    with(|thread| thread.count(counter, at_ns, value));
}

/// Writes the value of a counter on a track of the program.
pub(super) fn count_on(counter: &CounterTrack<'_>, at_ns: u64, value: f64) {
    with(|thread| thread.count_on(counter, at_ns, value));
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
        (thread.number, thread.open) = (take_number(), OpenSlices::default());
        thread
    }

    fn new(process: &'static Process) -> Box<Self> {
        Box::new(Self {
            writer: process.producer.writer(),
            process,
            epoch: 0,
            sent: Sent::empty(),
            clock: SequenceClock::default(),
            described: (0, ThreadDescription::new()),
            number: take_number(),
            open: OpenSlices::default(),
            topics: TopicCache::default(),
        })
    }

    #[inline]
    pub(super) fn write(&mut self, event: &Event<'_>) {
        match event.track {
            None => self.write_to(event, None),
            Some(track) => self.write_on(event, track),
        }
    }

    /// Writes an event on the thread's track, or on one that was described.
    #[inline]
    fn write_to(&mut self, event: &Event<'_>, track: Option<u64>) {
        if !self.is_ready() {
            return;
        }
        if track.is_none() {
            match event.kind {
                Kind::Begin => self.open.begin(),
                Kind::End => self.open.end(),
                Kind::Instant => {}
            }
        }
        let stamp = self.stamp(event.at_ns);
        if let Some(mut packet) = self.writer.packet() {
            event.write(stamp, track, packet.message(), &mut self.sent);
        }
    }

    /// Writes an event on a track of the program.
    #[inline(never)]
    fn write_on(&mut self, event: &Event<'_>, track: &Track<'_>) {
        if self.is_ready() && std::iter::once(track).chain(track.parents()).all(|it| self.describe_track(it))
        {
            self.write_to(event, Some(track.uuid(self.described.1.track())));
        }
    }

    /// Describes a track of the program, if that was not done. Returns whether no packet was lost.
    fn describe_track(&mut self, track: &Track<'_>) -> bool {
        let uuid = track.uuid(self.described.1.track());
        if !self.sent.has_track(uuid) {
            if !self.describe(|message, thread| track.describe(message, thread.track())) {
                return false;
            }
            self.sent.add_track(uuid);
        }
        true
    }

    /// Begins a slice. `None` if there is no session, or if it lies on another track.
    #[inline]
    fn begin_slice(&mut self, event: &Event<'_>) -> Option<SliceToken> {
        self.write(event);
        (event.track.is_none() && self.epoch != 0).then(|| self.open.last(self.number))
    }

    /// Ends a slice, and those within it that are still open.
    #[inline]
    fn end_slice(&mut self, token: SliceToken, at_ns: u64) {
        // A new session begins without open slices.
        if self.is_ready() {
            for _ in 0..self.open.down_to(token, self.number) {
                self.write_to(&Event::end(at_ns), None);
            }
        }
    }

    fn write_packet(&mut self, at_ns: u64, fields: &[u8]) -> bool {
        if !self.is_ready() {
            return false;
        }
        let stamp = self.stamp(at_ns);
        let Some(packet) = &mut self.writer.packet() else { return false };
        let mut packet = TracePacketWriter(packet.message());
        stamp.put(&mut packet);
        packet.set_sequence_flags(NEEDS_STATE);
        packet.0.raw(fields);
        true
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
        self.write_to(event, Some(track.uuid()));
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
        let stamp = self.stamp(at_ns);
        if let Some(mut packet) = self.writer.packet() {
            counter.write(packet.message(), stamp, value, &mut self.sent);
        }
    }

    fn count_on(&mut self, counter: &CounterTrack<'_>, at_ns: u64, value: f64) {
        if !self.is_ready() || !counter.track.parents().all(|it| self.describe_track(it)) {
            return;
        }
        let thread = self.described.1.track();
        let uuid = counter.uuid(thread);
        if !self.sent.has_track(uuid) {
            if !self.describe(|message, thread| counter.describe(message, thread.track())) {
                return;
            }
            self.sent.add_track(uuid);
        }
        let stamp = self.stamp(at_ns);
        if let Some(mut packet) = self.writer.packet() {
            counter.write(packet.message(), stamp, thread, value, &mut self.sent);
        }
    }

    /// Returns the stamp of the next packet.
    #[inline]
    fn stamp(&mut self, at_ns: u64) -> Stamp {
        match at_ns {
            0 => self.clock.next(now_ns()),
            // The packets after one that lies far ahead would all have absolute times, so it has one itself.
            at_ns if self.clock.is_far_ahead(at_ns) && at_ns > now_ns() => Stamp::Absolute(at_ns),
            at_ns => self.clock.next(at_ns),
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
            self.open.clear();
        }
        let begin = self.clock.begin(now_ns());
        self.describe(|message, thread| process::begin_sequence(message, thread, begin))
            && self.describe(process::describe_process)
            && self.describe(process::describe_thread)
    }

    /// Writes a packet on which others depend. Returns whether it was not lost.
    fn describe(&mut self, write: impl FnOnce(Message<'_>, &ThreadDescription)) -> bool {
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

#[cfg(test)]
mod tests {
    use super::may_be_in_a_packet;

    #[test]
    fn packets_of_programs_do_not_describe_their_sequence() {
        // Field 900 as a message of two bytes, and as a number.
        assert!(may_be_in_a_packet(&[0xa2, 0x38, 2, 0x08, 1]) && may_be_in_a_packet(&[0xa0, 0x38, 1]));
        assert!(may_be_in_a_packet(&[]));
        // Fields 8, 10, 12, 42 and 87; cut off; no wire type.
        for fields in [&[0x40, 1][..], &[0x50, 1], &[0x62, 0], &[0xd0, 2, 1], &[0xb8, 5, 1]] {
            assert!(!may_be_in_a_packet(fields), "{fields:?}");
        }
        assert!(!may_be_in_a_packet(&[0xa2, 0x38, 2, 0x08]) && !may_be_in_a_packet(&[0x07]));
    }
}
