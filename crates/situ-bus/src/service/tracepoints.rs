//! The events of calls that clients and servers report to a tracer.
//!
//! Several calls of a client, or of a server, are under way at once, and end in any order. So they are not
//! steps of a thread, which nest: each has a lane until it ends.

use std::sync::atomic::Ordering;

use super::calls::Call;
use super::client::{RawClient, RawReply};
use super::clients::ReplyPublisher;
use super::header::ReplyKind;
use super::request::OpenCall;
use crate::observe::hook::{self, Began, CallEnd, Event, MessageId, Role, Watcher};

impl RawClient {
    /// Reports that a call has begun, with the time before its request was published: servers see it later.
    #[cold]
    #[inline(never)]
    pub(super) fn tell_called(&self, began: Began, call: &mut Call, lane: usize) {
        call.is_traced = true;
        let (role, lane, number) = (Role::Client, lane as u32, call.request);
        let event = Event::CallBegins { role, lane, call: call.number, number };
        began.watcher.tell_at(began.at_ns, Some(self.requests().subject()), event);
    }

    /// Reports that a call has ended, if its begin was reported.
    #[inline]
    pub(super) fn note_ended(&self, call: &Call, lane: usize, end: CallEnd, reply: Option<&RawReply>) {
        if call.is_traced
            && let Some(watcher) = hook::watcher()
        {
            self.tell_ended(watcher, lane, end, reply);
        }
    }

    #[cold]
    #[inline(never)]
    fn tell_ended(&self, watcher: Watcher, lane: usize, end: CallEnd, reply: Option<&RawReply>) {
        let topic = self.replies().core().topic.header.id;
        let reply = reply.map(|reply| MessageId { topic, number: reply.sample().sequence() });
        let event = Event::CallEnds { role: Role::Client, lane: lane as u32, end, reply };
        watcher.tell(Some(self.requests().subject()), event);
    }
}

impl OpenCall {
    /// Reports that a server has taken a request.
    #[cold]
    #[inline(never)]
    pub(super) fn tell_taken(&self, watcher: Watcher, call: u64, number: u64) {
        self.is_traced.store(true, Ordering::Relaxed);
        let event = Event::CallBegins { role: Role::Server, lane: self.lane, call, number };
        watcher.tell(Some(self.topic.subject(self.member)), event);
    }

    /// Reports that a server is done with a request, unless it was reported before.
    #[cold]
    #[inline(never)]
    pub(super) fn tell_done(&self, end: CallEnd, reply: Option<MessageId>) {
        // The reply and the drop of the request may be on two threads: only one of them reports the end.
        if self.is_traced.swap(false, Ordering::Relaxed)
            && let Some(watcher) = hook::watcher()
        {
            let event = Event::CallEnds { role: Role::Server, lane: self.lane, end, reply };
            watcher.tell(Some(self.topic.subject(self.member)), event);
        }
    }
}

impl ReplyPublisher {
    /// Reports that a request was answered with the message of this number.
    #[cold]
    #[inline(never)]
    pub(super) fn tell_answered(&self, call: u64, kind: ReplyKind, number: u64) {
        let end = if kind == ReplyKind::Refusal { CallEnd::Refused } else { CallEnd::Replied };
        let reply = MessageId { topic: self.publisher.topic.header.id, number };
        if let Some(open) = self.calls.borrow().find(self.client, call) {
            open.tell_done(end, Some(reply));
        }
    }
}
