//! What a thread keeps while it is traced: its writer, and what that has sent.

use std::cell::RefCell;

use super::counter::Counter;
use super::event::Event;
use super::names::{MOST_INTERNED, Sent, Table};
use super::process::{self, Description, Process};
use crate::Writer;

thread_local! {
    static THREAD: RefCell<Option<Box<Thread>>> = const { RefCell::new(None) };
}

pub(super) struct Thread {
    writer: Writer,
    /// Whose writer it is: after a fork that is another one.
    process: &'static Process,
    /// The writer's epoch that `sent` is of.
    epoch: u64,
    sent: Sent,
    /// How it was described in a session, and in which.
    described: (u32, Description),
    /// Whatever the bus' events need to be found again quickly.
    pub(super) topics: super::bus::Known,
}

/// Calls `work` with what this thread keeps. Not in a process that is not traced, nor at the very end of a thread, nor within itself
/// (a signal handler).
#[inline]
pub(super) fn with(work: impl FnOnce(&mut Thread)) {
    let _ = THREAD.try_with(|thread| {
        let Ok(mut thread) = thread.try_borrow_mut() else { return };
        match (&mut *thread, process::current()) {
            (Some(thread), Some(process)) if std::ptr::eq(thread.process, process) => work(thread),
            (_, None) => {}
            (place, Some(process)) => work(place.insert(Thread::new(process))),
        }
    });
}

/// Writes an event on this thread's track, if this process is being traced.
#[inline]
pub fn write(event: &Event<'_>) {
    with(|thread| thread.write(event));
}

/// Writes the value of a counter.
pub(super) fn count(counter: &'static Counter, at_ns: u64, value: f64) {
    with(|thread| thread.count(counter, at_ns, value));
}

impl Thread {
    #[cold]
    fn new(process: &'static Process) -> Box<Self> {
        Box::new(Self {
            writer: process.producer.writer(),
            process,
            epoch: 0,
            sent: Sent::nothing(),
            described: (0, Description::new()),
            topics: super::bus::Known::default(),
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

    pub(super) fn count(&mut self, counter: &'static Counter, at_ns: u64, value: f64) {
        if !self.is_ready() {
            return;
        }
        let is_known = self.sent.has(Table::Counters, counter.number());
        if counter.is_repeated(value) && is_known {
            return;
        }
        // One whose number is too high to be remembered is described each time.
        let is_new = counter.number() >= MOST_INTERNED || self.sent.add(Table::Counters, counter.number());
        if is_new && !self.describe(|message, _| counter.describe(message)) {
            return;
        }
        if let Some(mut packet) = self.writer.packet() {
            counter.write(packet.message(), at_ns, value, &mut self.sent);
        }
    }

    /// Whether there is a session, and whoever reads it knows what this thread is.
    #[inline(always)]
    fn is_ready(&mut self) -> bool {
        let epoch = self.writer.state_epoch();
        epoch == self.epoch && epoch != 0 || self.introduce(epoch)
    }

    /// Says everything anew. Whether that was heard.
    #[cold]
    #[inline(never)]
    fn introduce(&mut self, epoch: u64) -> bool {
        self.epoch = epoch;
        self.sent.clear();
        if epoch == 0 {
            return false;
        }
        let session = self.writer.session();
        if self.described.0 != session {
            // It may have another name by now.
            self.described = (session, Description::new());
        }
        self.describe(process::describe_process) && self.describe(process::describe_thread)
    }

    /// Writes a packet that others depend on. Whether it was not lost.
    fn describe(&mut self, write: impl FnOnce(situ_wire::protobuf::Message<'_>, &Description)) -> bool {
        match self.writer.packet() {
            Some(mut packet) => write(packet.message(), &self.described.1),
            None => return false,
        }
        let is_heard = self.writer.state_epoch() == self.epoch;
        if !is_heard {
            // So that the next event says everything again.
            self.epoch = 0;
        }
        is_heard
    }
}
