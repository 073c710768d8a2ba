//! Waiting until a subscriber has something to take.

use std::time::Duration;

use situ_memory::HOST;

use crate::clock::Deadline;
use crate::copy::copy_error::CopyError;
use crate::observe::hook;
use crate::port::subscriber::{RawSubscriber, TakeError};
use crate::port::taken::Missed;
use crate::timeouts::POLL_INTERVAL;
use crate::wait::interrupt::{Interrupted, Wait};
use crate::wait::reactor::{EventFd, Watched};
use crate::wait::readiness::Readiness;
use crate::wait::wait_any::wait_any_with;
use crate::wake::SLICE;

impl RawSubscriber {
    /// The readiness of the next message.
    pub(crate) fn readiness(&self) -> Readiness {
        // Nearly always there is no message, or no device.
        if !self.has_next() {
            // The take then reports the removal.
            return if self.core().topic.is_removed() { Readiness::Ready } else { Readiness::Nothing };
        }
        if self.is_inherited() {
            return Readiness::Ready;
        }
        self.tracker().look(&self.core().topic, self.cursor()).0
    }

    /// Whether the copy of message `number`, which is published, has to be made again. An error if the take
    /// has to be put off, because the message is not complete.
    pub(crate) fn is_stale(&self, number: u64) -> Result<bool, Missed> {
        let topic = &self.core().topic;
        let mut tracker = self.tracker();
        match tracker.look_at(topic, number) {
            Readiness::Nothing | Readiness::Ready => Ok(false),
            Readiness::Stale => Ok(true),
            Readiness::Incomplete(awaited) => {
                tracker.put_off(topic, number, &awaited);
                Err(Missed::NotYet)
            }
            Readiness::TimedOut(waited) => Err(Missed::Failed(TakeError::Copy {
                topic: topic.name.clone(),
                sequence: number,
                domain: self.domain(),
                source: CopyError::Incomplete { waited },
            })),
        }
    }

    /// Waits until there is something to take, at most for `timeout` (without a limit if `None`). Returns
    /// whether there is.
    ///
    /// On the host, that is a message that is complete or will never be. On a device, where enqueued work
    /// waits for the payload, it is a message that is published.
    pub fn wait(&self, timeout: Option<Duration>) -> bool {
        let mut readiness = self.readiness();
        if readiness.is_ready() {
            return true;
        }
        self.note_thread();
        let _step = hook::watcher().map(|watcher| self.tell_waiting(watcher));
        let deadline = Deadline::after(timeout);
        // Only work in stream order can use a message that a device is still filling.
        let wake = self.core().topic.wakes().of(self.domain() == HOST);
        loop {
            match std::mem::replace(&mut readiness, Readiness::Nothing) {
                Readiness::Nothing => {}
                Readiness::Incomplete(awaited) => {
                    let Some(slice) = deadline.slice(POLL_INTERVAL) else { return false };
                    awaited.wait(&self.core().topic, slice);
                    readiness = self.readiness();
                    continue;
                }
                Readiness::Ready | Readiness::Stale | Readiness::TimedOut(_) => return true,
            }
            let announced = wake.announce();
            if self.has_next() {
                readiness = self.readiness();
                continue;
            }
            let Some(slice) = deadline.slice(SLICE) else { return false };
            wake.sleep(announced, slice);
            readiness = self.readiness();
            if matches!(readiness, Readiness::Nothing) {
                self.look_after_the_dead();
            }
        }
    }

    /// As [`wait`](Self::wait), but other events may end the wait: see [`Wait`]. Returns an error then, even
    /// if there is something to take.
    pub fn wait_with(&self, how: Wait<'_>) -> Result<bool, Interrupted> {
        wait_any_with(&[self], how).map(|index| index.is_some())
    }

    /// Waits like `wait_with`, and takes with `take`, which has to take from this subscriber.
    pub(crate) fn wait_with_and_take<S, E: From<Interrupted>>(
        &self,
        how: Wait<'_>,
        mut take: impl FnMut() -> Result<Option<S>, E>,
    ) -> Result<Option<S>, E> {
        how.check()?;
        let deadline = Deadline::after(how.timeout);
        loop {
            if let Some(sample) = take()? {
                return Ok(Some(sample));
            }
            let Some(slice) = deadline.slice(Duration::from_secs(3600)) else { return Ok(None) };
            self.wait_with(Wait { timeout: Some(slice), ..how })?;
        }
    }

    /// Waits until `take`, which has to take from this subscriber, returns a sample. Returns `None` if the
    /// time is over.
    pub(crate) fn wait_and_take<S, E>(
        &self,
        timeout: Option<Duration>,
        mut take: impl FnMut() -> Result<Option<S>, E>,
    ) -> Result<Option<S>, E> {
        let deadline = Deadline::after(timeout);
        loop {
            if let Some(sample) = take()? {
                return Ok(Some(sample));
            }
            let Some(slice) = deadline.slice(Duration::from_secs(3600)) else { return Ok(None) };
            self.wait(Some(slice));
        }
    }

    /// Returns the data that a thread needs to watch this subscriber.
    pub(crate) fn watched(&self) -> Watched {
        let (next, tracker) = (self.cursor(), self.tracker().for_watch());
        let (topic, living) = (self.core().topic.clone(), self.core().node.living.clone());
        Watched { topic, next, tracker, takes_on_host: self.domain() == HOST, living }
    }
}

impl RawSubscriber {
    /// Returns a file descriptor for epoll and similar calls. It is readable when there is something to take.
    pub fn event_fd(&self) -> std::io::Result<EventFd> {
        self.core().node.reactor()?.event_fd(self.watched())
    }
}
