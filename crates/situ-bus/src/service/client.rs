//! A client: sends requests, and takes the replies to them.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::Weak;
use std::time::Duration;

use situ_memory::Stream;

use super::alarms::Alarms;
use super::build_in_place::build_in_place;
use super::calls::{Call, Calls};
use super::description::ServiceDescription;
use super::errors::{CallError, ReplyError};
use super::header::{ReplyHeader, ReplyKind, RequestHeader, RequestKind};
use super::options::ServiceOptions;
use super::qos;
use super::servers::{self, CHECK_NS, Servers};
use crate::clock::{coarse_ns, now_ns};
use crate::graph::endpoint_info::{EndpointInfo, EndpointRole};
use crate::graph::listing::{Listed, check_user_data};
use crate::node::endpoint::EndpointId;
use crate::node::handle::Node;
use crate::observe::hook::{self, Began, CallEnd};
use crate::port::loan::{DetachedLoan, LoanError, RawLoan};
use crate::port::publisher::RawPublisher;
use crate::port::sample::RawSample;
use crate::port::subscriber::RawSubscriber;
use crate::qos::{BLOCK, WhenFull, nanoseconds};
use crate::topic::{MissingForms, RegisterError, names};
use crate::wait::reactor::{EventFd, Watch};
use crate::wait_set::source::{Source, Waitable};
use crate::wake::SLICE;

/// The coarse clock may be so far behind. Before a deadline, the exact clock is read.
const COARSE_NS: u64 = 20_000_000;
/// A client that always finds replies looks for late calls once in this many.
const MANY: u32 = 64;

/// A client of a service whose types are known only at run time. One thread at a time; the replies may go to
/// other threads.
#[derive(Debug)]
pub struct RawClient {
    service: String,
    requests: RawPublisher,
    replies: RawSubscriber,
    calls: RefCell<Calls>,
    /// Replies of calls that were not asked for yet, in the order of their arrival.
    arrived: RefCell<VecDeque<RawReply>>,
    servers: Servers,
    /// Whether the last check found a call that no server can answer.
    has_orphans: Cell<bool>,
    /// How many replies were taken since a take found none.
    taken_in_a_row: Cell<u32>,
    /// What reports it although no reply has come.
    alarms: Alarms,
    /// Its place in the graph.
    _listed: Listed,
}

/// A reply, or a part of one.
#[derive(Debug)]
pub struct RawReply {
    call: u64,
    header: ReplyHeader,
    sample: RawSample,
}

impl RawReply {
    /// The call that it answers.
    pub fn call(&self) -> u64 {
        self.call
    }

    /// Whether the call is over with it.
    pub fn is_last(&self) -> bool {
        self.header.kind.is_last()
    }

    /// Whether it has content. The end of a streamed reply has none.
    pub fn has_content(&self) -> bool {
        self.header.kind != ReplyKind::End
    }

    /// The message.
    pub fn sample(&self) -> &RawSample {
        &self.sample
    }

    /// The message.
    pub fn into_sample(self) -> RawSample {
        self.sample
    }
}

/// Why a call is over without a reply.
#[derive(Debug, Clone, Copy)]
enum Failure {
    ServerGone,
    Deadline,
}

impl RawClient {
    /// Joins a service as client.
    pub fn create(
        node: &Node,
        service: &str,
        description: &ServiceDescription,
        options: &ServiceOptions,
    ) -> Result<Self, RegisterError> {
        Self::create_without(MissingForms::default(), node, service, description, options)
    }

    /// Joins a service as client whose type of replies lacks forms.
    pub(crate) fn create_without(
        missing: MissingForms,
        node: &Node,
        service: &str,
        description: &ServiceDescription,
        options: &ServiceOptions,
    ) -> Result<Self, RegisterError> {
        names::check_given(service)?;
        check_user_data(service, &options.user_data)?;
        let of_requests = description.of_requests();
        let requests = RawPublisher::create_hidden(
            node,
            &names::of_requests(service),
            &of_requests,
            qos::sending(options),
            &options.requests,
        )?;
        let requests = if options.stamps { requests } else { requests.without_stamps() };
        // The topic of replies exists before the first request can be published.
        let replies = RawSubscriber::create_hidden(
            missing,
            node,
            &names::of_replies(requests.id().number),
            &description.of_replies(),
            qos::taking(options),
            &options.replies,
            options.depth,
        )?;
        let this = (requests.id(), EndpointRole::Client);
        let (domain, qos) = (options.requests.domain, requests.qos().into());
        let info = EndpointInfo::new(this, service, &of_requests, domain, qos, &options.user_data);
        let _listed = node.inner.list(&info)?;
        Ok(Self {
            service: service.to_owned(),
            requests,
            replies,
            calls: RefCell::new(Calls::new(options.max_calls.min(1 << 15))),
            arrived: RefCell::default(),
            servers: Servers::default(),
            has_orphans: Cell::new(false),
            taken_in_a_row: Cell::new(0),
            alarms: Alarms::default(),
            _listed,
        })
    }

    /// The service's name.
    pub fn service(&self) -> &str {
        &self.service
    }

    /// Its id. Servers see it in its requests.
    pub fn id(&self) -> EndpointId {
        self.requests.id()
    }

    /// The number of servers at the moment.
    pub fn servers(&self) -> usize {
        servers::count(&self.requests)
    }

    /// Whether it belongs to the process that this one was forked from. Then every operation is an error.
    pub fn is_inherited(&self) -> bool {
        self.requests.is_inherited()
    }

    /// The publisher of its requests, for its statistics.
    pub fn requests(&self) -> &RawPublisher {
        &self.requests
    }

    /// The subscriber that takes its replies, for waiting together with other subscribers. A wait for it
    /// alone learns neither of deadlines nor of dead servers; [`wait`](Self::wait) does.
    pub fn replies(&self) -> &RawSubscriber {
        &self.replies
    }

    /// Lends a request: see [`RawPublisher::loan`].
    #[inline]
    pub fn loan(
        &self,
        head_size: usize,
        head_align: usize,
        body_size: usize,
    ) -> Result<RawRequestLoan<'_>, LoanError> {
        Ok(RawRequestLoan { loan: self.requests.loan(head_size, head_align, body_size)?, client: self })
    }

    /// Lends a request that grows in place: see [`RawPublisher::loan_growing`].
    pub fn loan_growing(&self, body_size: usize, room: usize) -> Result<RawRequestLoan<'_>, LoanError> {
        Ok(RawRequestLoan { loan: self.requests.loan_growing(body_size, room)?, client: self })
    }

    /// Takes back a detached loan of a request.
    ///
    /// # Safety
    /// The loan was detached from a loan of this very client.
    #[inline]
    pub unsafe fn attach(&self, loan: DetachedLoan) -> RawRequestLoan<'_> {
        // SAFETY: the caller's promise: the client's loans are those of its publisher.
        RawRequestLoan { loan: unsafe { self.requests.attach(loan) }, client: self }
    }

    /// Begins a call, and publishes its request. On failure, returns the loan along with the reason.
    #[inline]
    fn begin<'c>(
        &self,
        mut loan: RawLoan<'c>,
        limit: Option<Duration>,
        when_full: WhenFull,
        on: Option<&dyn Stream>,
    ) -> Result<u64, (Box<CallError>, RawLoan<'c>)> {
        if self.is_inherited() {
            return Err((Box::new(self.requests.publish_forked().into()), loan));
        }
        if !self.servers.is_there(&self.requests) {
            return Err((Box::new(CallError::NoServer { service: self.service.clone() }), loan));
        }
        let (started_ns, deadline_ns) = match limit {
            None => (0, u64::MAX),
            Some(limit) => {
                let now = now_ns();
                (now, now.saturating_add(nanoseconds(Some(limit))))
            }
        };
        let Some(call) = self.calls.borrow_mut().begin(started_ns, deadline_ns) else {
            return Err((Box::new(self.too_many()), loan));
        };
        let deadline_ns = if limit.is_some() { deadline_ns } else { 0 };
        RequestHeader { call, deadline_ns, kind: RequestKind::Call }.write(loan.user_header_mut());
        self.requests.when_full.set(when_full);
        let began = hook::watcher().map(|watcher| Began { watcher, at_ns: watcher.now_ns() });
        let published = match on {
            None => loan.publish_or_return(),
            Some(stream) => loan.publish_on_or_return(stream),
        };
        let mut calls = self.calls.borrow_mut();
        match published {
            Ok(number) => {
                let slot = calls.slot(call);
                if let Some(call) = calls.get(call) {
                    call.request = number;
                    if let Some(began) = began {
                        self.tell_called(began, call, slot);
                    }
                }
                drop(calls);
                self.set_alarm();
                self.update_source();
                Ok(call)
            }
            Err((error, loan)) => {
                calls.end(call);
                Err((Box::new(error.into()), loan))
            }
        }
    }

    #[cold]
    fn too_many(&self) -> CallError {
        CallError::TooMany { service: self.service.clone(), most: self.calls.borrow().most() }
    }

    /// Takes the next reply to any call, if there is one. An error that names a call ends it.
    pub fn take(&self) -> Result<Option<RawReply>, ReplyError> {
        let taken = self.take_next();
        self.update_source();
        taken
    }

    fn take_next(&self) -> Result<Option<RawReply>, ReplyError> {
        if let Some(late) = self.late_among_many(None) {
            return Err(self.fail(late, Failure::Deadline));
        }
        let arrived = self.arrived.borrow_mut().pop_front();
        if let Some(reply) = arrived {
            return self.deliver(reply).map(Some);
        }
        if let Some(reply) = self.receive()? {
            return self.deliver(reply).map(Some);
        }
        self.taken_in_a_row.set(0);
        let Some((call, failure)) = self.failure_now_and_then(None) else {
            self.set_alarm();
            return Ok(None);
        };
        // A server may have answered directly before it ended.
        match self.receive()? {
            Some(reply) => self.deliver(reply).map(Some),
            None => Err(self.fail(call, failure)),
        }
    }

    /// Takes the next reply to one call, if there is one. Replies to other calls are kept for them.
    #[inline]
    pub fn take_of(&self, call: u64) -> Result<Option<RawReply>, ReplyError> {
        let taken = self.take_next_of(call);
        self.update_source();
        taken
    }

    #[inline]
    fn take_next_of(&self, call: u64) -> Result<Option<RawReply>, ReplyError> {
        if self.calls.borrow_mut().get(call).is_none() {
            return Err(self.unknown(call));
        }
        if let Some(reply) = self.arrived_for(call) {
            return self.deliver(reply).map(Some);
        }
        let mut failed = None;
        loop {
            match self.receive()? {
                Some(reply) if reply.call == call => return self.deliver(reply).map(Some),
                Some(reply) => {
                    self.arrived.borrow_mut().push_back(reply);
                    if let Some(late) = self.late_among_many(Some(call)) {
                        return Err(self.fail(late, Failure::Deadline));
                    }
                }
                None => match failed {
                    Some((call, failure)) => return Err(self.fail(call, failure)),
                    None => {
                        failed = self.failure_now_and_then(Some(call));
                        if failed.is_none() {
                            self.set_alarm();
                            return Ok(None);
                        }
                    }
                },
            }
        }
    }

    #[inline]
    fn arrived_for(&self, call: u64) -> Option<RawReply> {
        let mut arrived = self.arrived.borrow_mut();
        if arrived.is_empty() {
            return None;
        }
        let index = arrived.iter().position(|reply| reply.call == call)?;
        arrived.remove(index)
    }

    /// Whether [`take`](Self::take) returns a reply or an error.
    pub fn has_next(&self) -> bool {
        if !self.arrived.borrow().is_empty() || self.replies.has_next() {
            return true;
        }
        let has_failed = self.failure(None).is_some();
        if has_failed {
            // The next take finds it.
            self.replies.empty.reset();
        }
        has_failed
    }

    /// A file descriptor for epoll and similar calls. It is readable when [`take`](Self::take) may return a
    /// reply or an error. While calls are under way it also becomes readable every few milliseconds, so that
    /// the next take checks deadlines and servers: clear it, and take until there is nothing.
    pub fn event_fd(&self) -> std::io::Result<EventFd> {
        let fd = self.replies.event_fd()?;
        self.add_watch(fd.watch());
        Ok(fd)
    }

    /// Has a watch report while calls are under way.
    pub(crate) fn add_watch(&self, watch: Weak<Watch>) {
        self.alarms.add(watch);
        self.set_alarm();
    }

    /// Sets the alarms of watches to the next check that is due.
    #[inline]
    fn set_alarm(&self) {
        if self.alarms.has_watches() && !self.calls.borrow().is_empty() {
            self.alarms.report_after(self.next_check_ns());
        }
    }

    /// Tells a wait set what it cannot see at the topic of replies: replies that are kept, and when the next
    /// check is due.
    #[inline]
    fn update_source(&self) {
        // In a forked child, a thread of the parent may hold the timer's lock for ever.
        if self.alarms.has_source() && !self.is_inherited() {
            let is_calling = !self.calls.borrow().is_empty();
            let has_kept = !self.arrived.borrow().is_empty();
            self.alarms.tell_source(has_kept, is_calling.then(|| self.next_check_ns()));
        }
    }

    /// When the next check is due, in nanoseconds from now. The first take then makes it, however many takes
    /// without the clock came before.
    #[cold]
    fn next_check_ns(&self) -> u64 {
        self.replies.empty.reset();
        self.slice().as_nanos() as u64
    }

    /// The number of replies that wait for their calls to be asked for.
    pub(crate) fn arrived(&self) -> usize {
        self.arrived.borrow().len()
    }

    /// How long a wait may sleep before it checks deadlines and servers.
    pub(crate) fn slice(&self) -> Duration {
        let calls = self.calls.borrow();
        match calls.is_empty() {
            true => SLICE,
            false => {
                // A deadline in the past belongs to a call that is over, or that was not asked for yet.
                let left = calls.earliest_ns().checked_sub(now_ns());
                Duration::from_nanos(left.unwrap_or(CHECK_NS).clamp(1_000, CHECK_NS))
            }
        }
    }

    /// Ends a call, and tells the servers. Replies that have arrived are dropped, and those that still come
    /// are ignored. An error if the servers could not be told; the call is over all the same.
    pub fn cancel(&self, call: u64) -> Result<(), CallError> {
        let Some(ended) = self.end(call, CallEnd::Cancelled, None) else { return Ok(()) };
        self.arrived.borrow_mut().retain(|reply| reply.call != call);
        self.update_source();
        if ended.is_over {
            return Ok(());
        }
        let mut loan = self.requests.loan(size_of::<u64>(), align_of::<u64>(), 0)?;
        loan.head_bytes().fill(0);
        RequestHeader { call, deadline_ns: 0, kind: RequestKind::Cancel }.write(loan.user_header_mut());
        self.requests.when_full.set(WhenFull::Fail);
        loan.publish()?;
        Ok(())
    }

    /// Ends a call. Returns it if it was there.
    #[inline]
    fn end(&self, call: u64, end: CallEnd, reply: Option<&RawReply>) -> Option<Call> {
        let mut calls = self.calls.borrow_mut();
        let (slot, ended) = (calls.slot(call), calls.end(call)?);
        self.note_ended(&ended, slot, end, reply);
        Some(ended)
    }

    /// Whether a call is under way, or has replies that were not taken.
    pub fn is_under_way(&self, call: u64) -> bool {
        self.calls.borrow_mut().get(call).is_some()
    }

    /// Takes the next message of the topic of replies that belongs to a call.
    #[inline]
    fn receive(&self) -> Result<Option<RawReply>, ReplyError> {
        loop {
            let Some(sample) = self.replies.take()? else { return Ok(None) };
            let Some(header) = ReplyHeader::read(sample.user_header()) else {
                return Err(self.malformed(&sample));
            };
            let mut calls = self.calls.borrow_mut();
            // Replies to calls that are over are dropped: of a second server, or after a cancellation.
            let Some(call) = calls.get(header.call).filter(|call| !call.is_over) else { continue };
            let server = sample.publisher_id();
            if *call.server.get_or_insert(server) != server {
                continue;
            }
            call.is_over = header.kind.is_last();
            return Ok(Some(RawReply { call: header.call, header, sample }));
        }
    }

    /// Hands a reply out. The last one ends its call.
    #[inline]
    fn deliver(&self, reply: RawReply) -> Result<RawReply, ReplyError> {
        if reply.header.kind.is_last() {
            let is_refused = reply.header.kind == ReplyKind::Refusal;
            let end = if is_refused { CallEnd::Refused } else { CallEnd::Replied };
            self.end(reply.call, end, Some(&reply));
        }
        if reply.header.kind == ReplyKind::Refusal {
            return Err(self.refused(&reply));
        }
        Ok(reply)
    }

    /// As [`failure`](Self::failure), after a take of replies that found none: only if that take has read the
    /// clock (see [`EmptyTakes`](crate::port::empty_takes::EmptyTakes)).
    #[inline]
    fn failure_now_and_then(&self, only: Option<u64>) -> Option<(u64, Failure)> {
        if self.replies.empty.has_just_read() { self.failure(only) } else { None }
    }

    /// A call that is over without a reply: this one, or any.
    #[inline]
    fn failure(&self, only: Option<u64>) -> Option<(u64, Failure)> {
        if self.calls.borrow().is_empty() {
            return None;
        }
        if let Some(late) = self.late(only) {
            return Some((late, Failure::Deadline));
        }
        if !self.has_orphans.get() && !self.servers.is_due() {
            return None;
        }
        self.find_orphan(only)
    }

    /// A call whose time is over, this one or any, although replies to others keep coming. Looks once in
    /// [`MANY`] replies.
    #[inline]
    fn late_among_many(&self, only: Option<u64>) -> Option<u64> {
        self.taken_in_a_row.set(self.taken_in_a_row.get() + 1);
        if self.taken_in_a_row.get() < MANY {
            return None;
        }
        self.taken_in_a_row.set(0);
        self.late(only)
    }

    /// A call whose time is over: this one, or any. Without a deadline that is near, it reads only the coarse
    /// clock, which is no system call.
    #[inline]
    fn late(&self, only: Option<u64>) -> Option<u64> {
        let mut calls = self.calls.borrow_mut();
        if calls.earliest_ns() > coarse_ns().saturating_add(COARSE_NS) {
            return None;
        }
        let now = now_ns();
        // Also finds the next deadline.
        let any = calls.late(now);
        let late = match only {
            None => any,
            Some(call) => calls.get(call).filter(|call| call.deadline_ns <= now && !call.is_over).copied(),
        };
        late.map(|call| call.number)
    }

    /// A call that no server can answer any more.
    #[cold]
    fn find_orphan(&self, only: Option<u64>) -> Option<(u64, Failure)> {
        if self.servers.is_due() {
            self.servers.check(&self.requests);
        }
        let calls = self.calls.borrow();
        let is_orphan = |call: &&Call| !Servers::may_answer(&self.requests, &self.replies, call);
        let orphan = calls.waiting().find(is_orphan).map(|call| call.number);
        self.has_orphans.set(orphan.is_some());
        let found = match only {
            None => orphan,
            Some(only) => {
                calls.waiting().filter(is_orphan).map(|call| call.number).find(|call| *call == only)
            }
        };
        Some((found?, Failure::ServerGone))
    }

    #[cold]
    fn fail(&self, call: u64, failure: Failure) -> ReplyError {
        let service = self.service.clone();
        let end = match failure {
            Failure::ServerGone => CallEnd::ServerGone,
            Failure::Deadline => CallEnd::Deadline,
        };
        let Some(ended) = self.end(call, end, None) else { return self.unknown(call) };
        match failure {
            Failure::ServerGone => ReplyError::ServerGone { service, call },
            Failure::Deadline => {
                let waited = Duration::from_nanos(now_ns().saturating_sub(ended.started_ns));
                ReplyError::Deadline { service, call, waited }
            }
        }
    }

    #[cold]
    fn unknown(&self, call: u64) -> ReplyError {
        ReplyError::Unknown { service: self.service.clone(), call }
    }

    #[cold]
    fn malformed(&self, sample: &RawSample) -> ReplyError {
        ReplyError::Malformed { service: self.service.clone(), server: sample.publisher_id() }
    }

    #[cold]
    fn refused(&self, reply: &RawReply) -> ReplyError {
        let text = String::from_utf8_lossy(reply.sample.head_in_place()).into_owned();
        let (service, call, code) = (self.service.clone(), reply.call, reply.header.code);
        ReplyError::Refused { service, call, code, text }
    }
}

impl Waitable for RawClient {
    /// It is ready when [`take`](RawClient::take) returns a reply or an error. While calls are under way it
    /// is also ready every few milliseconds, so that the next take checks deadlines and servers: take until
    /// there is nothing.
    fn source(&self) -> Source {
        let source = Source::with_alarm(&self.replies, self.alarms.source());
        self.update_source();
        source
    }
}

/// A request under construction, in the memory where servers will read it. Dropping it sends nothing. Its
/// user header belongs to the service.
#[derive(Debug)]
pub struct RawRequestLoan<'c> {
    pub(crate) loan: RawLoan<'c>,
    client: &'c RawClient,
}

impl<'c> RawRequestLoan<'c> {
    /// Sends the request, and returns the number of the call. With a limit, the call is over when that time
    /// has passed. A server that does not take its requests holds the client back for the same time, or for a
    /// second without a limit.
    #[inline]
    pub fn send(self, limit: Option<Duration>) -> Result<u64, CallError> {
        self.send_with(limit, WhenFull::Block(Some(limit.unwrap_or(BLOCK))), None)
            .map_err(|(error, _)| *error)
    }

    /// As [`send`](Self::send), but never waits: it is an error at once if a server has no room.
    pub fn send_now(self, limit: Option<Duration>) -> Result<u64, CallError> {
        self.send_with(limit, WhenFull::Fail, None).map_err(|(error, _)| *error)
    }

    /// As [`send`](Self::send), before the request is complete: see [`RawLoan::publish_on`].
    pub fn send_on(self, stream: &dyn Stream, limit: Option<Duration>) -> Result<u64, CallError> {
        let when_full = WhenFull::Block(Some(limit.unwrap_or(BLOCK)));
        self.send_with(limit, when_full, Some(stream)).map_err(|(error, _)| *error)
    }

    /// Sends the request, with all that may be told about it: the limit of the call, what happens if a server
    /// has no room, and the stream that completes the request. On failure, returns the loan along with the
    /// reason.
    #[inline]
    pub fn send_with(
        self,
        limit: Option<Duration>,
        when_full: WhenFull,
        on: Option<&dyn Stream>,
    ) -> Result<u64, (Box<CallError>, Self)> {
        let client = self.client;
        client.begin(self.loan, limit, when_full, on).map_err(|(error, loan)| (error, Self { loan, client }))
    }

    /// Detaches the loan from the client's lifetime, for languages without lifetimes. The slot stays lent
    /// until [`RawClient::attach`] takes the loan back, or the client is gone.
    #[inline]
    pub fn detach(self) -> DetachedLoan {
        self.loan.detach()
    }
}

impl<'c> Deref for RawRequestLoan<'c> {
    type Target = RawLoan<'c>;

    fn deref(&self) -> &RawLoan<'c> {
        &self.loan
    }
}

build_in_place!(RawRequestLoan);
