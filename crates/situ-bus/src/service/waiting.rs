//! Waits of clients and servers, which an interrupter or a signal may end.

use std::time::Duration;

use rustix::thread::{NanosleepRelativeResult, nanosleep};

use super::client::{RawClient, RawReply};
use super::errors::ReplyError;
use super::server::RawServer;
use crate::clock::Deadline;
use crate::wait::interrupt::{Interrupted, Interrupter, Wait};

/// How long to sleep between two looks for a server.
const LOOK_FOR_SERVER: Duration = Duration::from_millis(1);

impl RawClient {
    /// Waits until the service has a server, at most for `timeout` (without a limit if `None`). Returns
    /// whether it has.
    pub fn wait_for_server(&self, timeout: Option<Duration>) -> bool {
        // Without an interrupter, the wait cannot be interrupted.
        self.wait_for_server_with(Wait::limit(timeout)).unwrap_or(false)
    }

    /// As [`wait_for_server`](Self::wait_for_server), but other events may end the wait: see [`Wait`].
    pub fn wait_for_server_with(&self, how: Wait<'_>) -> Result<bool, Interrupted> {
        let deadline = Deadline::after(how.timeout);
        loop {
            how.check()?;
            if self.servers() > 0 || self.is_inherited() {
                return Ok(true);
            }
            let Some(slice) = deadline.slice(LOOK_FOR_SERVER) else { return Ok(false) };
            how.sleep(slice)?;
        }
    }

    /// Waits for the next reply to one call, and takes it. Returns `None` if the time is over; the call
    /// remains under way then.
    pub fn receive_of(&self, call: u64, timeout: Option<Duration>) -> Result<Option<RawReply>, ReplyError> {
        self.receive_of_with(call, Wait::limit(timeout))
    }

    /// As [`receive_of`](Self::receive_of), but other events may end the wait: see [`Wait`]. The error is
    /// then [`ReplyError::Interrupted`], even if there is a reply; the call remains under way.
    pub fn receive_of_with(&self, call: u64, how: Wait<'_>) -> Result<Option<RawReply>, ReplyError> {
        how.check()?;
        let deadline = Deadline::after(how.timeout);
        loop {
            if let Some(reply) = self.take_of(call)? {
                return Ok(Some(reply));
            }
            let Some(slice) = deadline.slice(self.slice()) else { return Ok(None) };
            self.replies().wait_with(Wait { timeout: Some(slice), ..how })?;
            self.replies().empty.reset();
        }
    }

    /// Waits until [`take`](Self::take) returns a reply or an error, at most for `timeout` (without a limit
    /// if `None`). Returns whether it does.
    pub fn wait(&self, timeout: Option<Duration>) -> bool {
        // Without an interrupter, the wait cannot be interrupted.
        self.wait_with(Wait::limit(timeout)).unwrap_or(false)
    }

    /// As [`wait`](Self::wait), but other events may end the wait: see [`Wait`]. Returns an error then, even
    /// if there is something to take.
    pub fn wait_with(&self, how: Wait<'_>) -> Result<bool, Interrupted> {
        how.check()?;
        let deadline = Deadline::after(how.timeout);
        loop {
            if self.has_next() {
                return Ok(true);
            }
            let Some(slice) = deadline.slice(self.slice()) else { return Ok(false) };
            self.replies().wait_with(Wait { timeout: Some(slice), ..how })?;
        }
    }

    /// Lets an interrupter end the waits for servers that have no room: see
    /// [`RawPublisher::set_interrupter`](crate::RawPublisher::set_interrupter).
    pub fn set_interrupter(&self, interrupter: Option<&Interrupter>) {
        self.requests().set_interrupter(interrupter);
    }
}

impl RawServer {
    /// Waits until [`take`](Self::take) may return a request, at most for `timeout` (without a limit if
    /// `None`). Returns whether it may.
    pub fn wait(&self, timeout: Option<Duration>) -> bool {
        // Without an interrupter, the wait cannot be interrupted.
        self.wait_with(Wait::limit(timeout)).unwrap_or(false)
    }

    /// As [`wait`](Self::wait), but other events may end the wait: see [`Wait`]. Returns an error then, even
    /// if there is a request.
    pub fn wait_with(&self, how: Wait<'_>) -> Result<bool, Interrupted> {
        how.check()?;
        let deadline = Deadline::after(how.timeout);
        loop {
            if self.has_next() {
                return Ok(true);
            }
            let slice = self.check_every_ns().map_or(Duration::from_secs(3600), Duration::from_nanos);
            let Some(slice) = deadline.slice(slice) else { return Ok(false) };
            self.requests().wait_with(Wait { timeout: Some(slice), ..how })?;
            self.check_clients();
        }
    }
}

impl Wait<'_> {
    /// Sleeps. Returns an error if a signal ended the sleep and shall end the wait.
    fn sleep(&self, time: Duration) -> Result<(), Interrupted> {
        let Ok(time) = time.try_into() else { return Ok(()) };
        match nanosleep(&time) {
            NanosleepRelativeResult::Interrupted(_) if self.signals => Err(Interrupted::BySignal),
            _ => Ok(()),
        }
    }
}
