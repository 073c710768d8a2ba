//! A server: takes requests, and sends the replies to them.

use std::cell::{Cell, RefCell};
use std::collections::{HashSet, VecDeque};
use std::rc::Rc;
use std::sync::Weak;
use std::time::Duration;

use super::alarms::Alarms;
use super::answer::{DetachedReplyLoan, RawReplyLoan};
use super::clients::Clients;
use super::description::ServiceDescription;
use super::errors::{AnswerError, RequestError};
use super::header::{ReplyHeader, ReplyKind, RequestHeader, RequestKind};
use super::options::ServiceOptions;
use super::qos;
use super::request::{OpenCalls, RawRequest, RequestId};
use crate::clock::{coarse_ns, now_ns};
use crate::graph::endpoint_info::{EndpointInfo, EndpointRole};
use crate::graph::listing::{Listed, check_user_data};
use crate::node::endpoint::EndpointId;
use crate::node::handle::Node;
use crate::port::loan::{LoanError, RawLoan};
use crate::port::publisher::RawPublisher;
use crate::port::sample::RawSample;
use crate::port::subscriber::RawSubscriber;
use crate::qos::WhenFull;
use crate::topic::{MissingForms, RegisterError, TypeDescription, names};
use crate::wait::interrupt::Interrupter;
use crate::wait::reactor::{EventFd, Watch};
use crate::wait_set::source::{Source, Waitable};

/// How many requests a server collects before it stops to look for cancellations.
const MAX_COLLECTED: usize = 64;
/// How often a server that has nothing to do checks whether its clients have ended.
const CHECK_NS: u64 = 100_000_000;
/// How often a server with open requests checks the clients of these.
const CHECK_OPEN_NS: u64 = 5_000_000;
/// Of how many clients without open requests a check looks whether they have ended.
const MAX_CHECKED: usize = 64;
/// How many topics of replies a check joins at most, so that it does not hold up the server of many clients.
const MAX_JOINED: usize = 8;
/// After this time, a server tries again to join topics of replies that it could not join.
const JOIN_AGAIN_NS: u64 = 1_000_000_000;

/// A server of a service whose types are known only at run time. One thread at a time; the requests may go to
/// other threads, and come back to be answered.
#[derive(Debug)]
pub struct RawServer {
    service: String,
    node: Node,
    requests: RawSubscriber,
    reply: TypeDescription,
    options: ServiceOptions,
    clients: RefCell<Clients>,
    calls: Rc<RefCell<OpenCalls>>,
    /// Requests that were taken while the server looked for cancellations.
    collected: RefCell<VecDeque<RawRequest>>,
    /// Ends the waits for clients that have no room.
    interrupter: RefCell<Option<Interrupter>>,
    expired: Cell<u64>,
    /// When it last checked all clients that it knows.
    checked_ns: Cell<u64>,
    /// When it last checked the clients of open requests, or found that there are none.
    checked_open_ns: Cell<u64>,
    /// The clients of open requests at the last check. The memory is used again by the next one.
    open_clients: RefCell<HashSet<EndpointId>>,
    /// Clients whose topics of replies it could not join, and since when it collects them.
    not_joined: RefCell<(HashSet<u64>, u64)>,
    /// Its place in the graph.
    _listed: Listed,
    /// What reports it although no request has come.
    alarms: Alarms,
}

// SAFETY: The publishers in `clients`, and `calls`, which they refer to, are shared with reply loans only.
// These borrow the server and cannot be sent to another thread, so all references are on the thread that has
// the server. A loan that was forgotten (`mem::forget`) is never used again.
unsafe impl Send for RawServer {}

impl RawServer {
    /// Joins a service as server.
    pub fn create(
        node: &Node,
        service: &str,
        description: &ServiceDescription,
        options: &ServiceOptions,
    ) -> Result<Self, RegisterError> {
        Self::create_without(MissingForms::default(), node, service, description, options)
    }

    /// Joins a service as server whose type of requests lacks forms.
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
        let requests = RawSubscriber::create_hidden(
            missing,
            node,
            &names::of_requests(service),
            &of_requests,
            qos::taking(options),
            &options.requests,
            options.depth,
        )?;
        let calls = OpenCalls::new(requests.core().topic.clone(), requests.core().own.index);
        let this = (requests.id(), EndpointRole::Server);
        let (domain, qos) = (options.requests.domain, requests.qos().into());
        let info = EndpointInfo::new(this, service, &of_requests, domain, qos, &options.user_data);
        let _listed = node.inner.list(&info)?;
        Ok(Self {
            service: service.to_owned(),
            node: node.clone(),
            requests,
            reply: description.of_replies(),
            options: options.clone(),
            clients: RefCell::default(),
            calls: Rc::new(RefCell::new(calls)),
            collected: RefCell::default(),
            interrupter: RefCell::default(),
            expired: Cell::new(0),
            checked_ns: Cell::new(0),
            checked_open_ns: Cell::new(0),
            open_clients: RefCell::default(),
            not_joined: RefCell::default(),
            _listed,
            alarms: Alarms::default(),
        })
    }

    /// The service's name.
    pub fn service(&self) -> &str {
        &self.service
    }

    /// Its id.
    pub fn id(&self) -> EndpointId {
        self.requests.id()
    }

    /// The number of clients at the moment.
    pub fn clients(&self) -> usize {
        self.requests.publishers()
    }

    /// The number of clients that have not ended, as far as it knows. It knows clients that it has answered,
    /// and clients with open requests once it has checked them.
    pub fn answered_clients(&self) -> usize {
        self.clients.borrow().len()
    }

    /// The number of requests that it skipped because their time was over when it came to them.
    pub fn expired(&self) -> u64 {
        self.expired.get()
    }

    /// Whether it belongs to the process that this one was forked from. Then every operation is an error.
    pub fn is_inherited(&self) -> bool {
        self.requests.is_inherited()
    }

    /// The subscriber that takes its requests, for waiting together with other subscribers, and for its
    /// statistics.
    pub fn requests(&self) -> &RawSubscriber {
        &self.requests
    }

    /// Takes the next request, if there is one.
    #[inline]
    pub fn take(&self) -> Result<Option<RawRequest>, RequestError> {
        let collected = self.collected.borrow_mut().pop_front();
        if collected.is_some() {
            self.update_source();
            return Ok(collected);
        }
        let request = self.next()?;
        if request.is_none() && self.requests.empty.has_just_read() {
            self.check_clients();
        }
        if request.is_none() && self.alarms.has_watches() {
            self.set_alarm();
        }
        self.update_source();
        Ok(request)
    }

    /// Takes what clients have sent meanwhile, so that
    /// [`RequestHandle::is_cancelled`](crate::RequestHandle::is_cancelled) knows of cancellations. Requests
    /// are kept for the next [`take`](Self::take). A server with long work calls it from time to time.
    pub fn collect(&self) -> Result<(), RequestError> {
        let collected = self.collect_some();
        self.update_source();
        collected?;
        self.check_clients();
        Ok(())
    }

    fn collect_some(&self) -> Result<(), RequestError> {
        while self.collected.borrow().len() < MAX_COLLECTED {
            let Some(request) = self.next()? else { break };
            self.collected.borrow_mut().push_back(request);
        }
        Ok(())
    }

    /// A file descriptor for epoll and similar calls. It is readable when [`take`](Self::take) may return a
    /// request. While clients have to be watched it also becomes readable now and then, so that the next take
    /// checks them: clear it, and take until there is nothing.
    pub fn event_fd(&self) -> std::io::Result<EventFd> {
        let fd = self.requests.event_fd()?;
        self.add_watch(fd.watch());
        Ok(fd)
    }

    /// Has a watch report while clients have to be watched.
    pub(crate) fn add_watch(&self, watch: Weak<Watch>) {
        self.alarms.add(watch);
        self.set_alarm();
    }

    /// Whether [`take`](Self::take) may return a request.
    pub fn has_next(&self) -> bool {
        !self.collected.borrow().is_empty() || self.requests.has_next()
    }

    /// Lends a reply to a request, or a part of one: see [`RawPublisher::loan`].
    #[inline]
    pub fn loan(
        &self,
        request: &RequestId,
        head_size: usize,
        head_align: usize,
        body_size: usize,
    ) -> Result<RawReplyLoan<'_>, AnswerError> {
        self.lend(request, |publisher| publisher.loan(head_size, head_align, body_size))
    }

    /// Lends a reply that grows in place: see [`RawPublisher::loan_growing`].
    pub fn loan_growing(
        &self,
        request: &RequestId,
        body_size: usize,
        room: usize,
    ) -> Result<RawReplyLoan<'_>, AnswerError> {
        self.lend(request, |publisher| publisher.loan_growing(body_size, room))
    }

    #[inline]
    fn lend(
        &self,
        request: &RequestId,
        lend: impl for<'p> FnOnce(&'p RawPublisher) -> Result<RawLoan<'p>, LoanError>,
    ) -> Result<RawReplyLoan<'_>, AnswerError> {
        if self.is_inherited() {
            return Err(LoanError::Forked { topic: self.requests.topic().to_owned() }.into());
        }
        let create = || self.join_replies(request.client.number);
        let Some(client) = self.clients.borrow_mut().of(&self.service, &self.calls, request, create)? else {
            return Err(self.client_gone(request));
        };
        Ok(RawReplyLoan::new(client, *request, |client| lend(&client.publisher))?)
    }

    /// Takes back a detached loan of a reply.
    ///
    /// # Safety
    /// The loan was detached from a loan of this very server.
    #[inline]
    pub unsafe fn attach(&self, loan: DetachedReplyLoan) -> RawReplyLoan<'_> {
        loan.attach()
    }

    /// Joins the topic of a client's replies. If the client has left, this creates the topic, and leaving it
    /// removes it again.
    #[cold]
    fn join_replies(&self, client: u64) -> Result<RawPublisher, RegisterError> {
        let publisher = RawPublisher::create_hidden(
            &self.node,
            &names::of_replies(client),
            &self.reply,
            qos::sending(&self.options),
            &self.options.replies,
        )?;
        let publisher = if self.options.stamps { publisher } else { publisher.without_stamps() };
        publisher.set_interrupter(self.interrupter.borrow().as_ref());
        Ok(publisher)
    }

    /// Lets an interrupter end the waits for clients that have no room. Sending then fails with
    /// [`PublishError::Interrupted`](crate::PublishError::Interrupted) whenever it would have to wait, until
    /// the interrupter is reset. Without an interrupter, these waits cannot be interrupted.
    pub fn set_interrupter(&self, interrupter: Option<&Interrupter>) {
        self.interrupter.replace(interrupter.cloned());
        for publisher in self.clients.borrow().publishers() {
            publisher.set_interrupter(interrupter);
        }
    }

    /// Ends a reply that was streamed.
    pub fn end(&self, request: &RequestId) -> Result<(), AnswerError> {
        self.end_with(request, WhenFull::Fail)
    }

    /// As [`end`](Self::end), but waits for room, at most for `limit`.
    pub fn end_within(&self, request: &RequestId, limit: Duration) -> Result<(), AnswerError> {
        self.end_with(request, WhenFull::Block(Some(limit)))
    }

    fn end_with(&self, request: &RequestId, when_full: WhenFull) -> Result<(), AnswerError> {
        let mut loan = self.loan(request, size_of::<u64>(), align_of::<u64>(), 0)?;
        loan.head_bytes().fill(0);
        loan.publish(ReplyKind::End, when_full, None)
    }

    /// Refuses a request, with a number and a text of the program's choice. The client's call ends with an
    /// error that has both.
    pub fn refuse(&self, request: &RequestId, code: u64, text: &str) -> Result<(), AnswerError> {
        let (loan, header) = self.refusal(request, code, text)?;
        loan.publish_with(header, WhenFull::Fail, None).map_err(|(error, _)| *error)
    }

    /// The same, and a client that has no room gets some time: see [`RawReplyLoan::send_patiently`].
    pub(crate) fn refuse_patiently(
        &self,
        request: &RequestId,
        code: u64,
        text: &str,
    ) -> Result<(), AnswerError> {
        let (loan, header) = self.refusal(request, code, text)?;
        loan.publish_patiently(header)
    }

    fn refusal(
        &self,
        request: &RequestId,
        code: u64,
        text: &str,
    ) -> Result<(RawReplyLoan<'_>, ReplyHeader), AnswerError> {
        let mut loan = self.loan(request, text.len(), 1, 0)?;
        loan.head_bytes().copy_from_slice(text.as_bytes());
        Ok((loan, ReplyHeader { call: request.call, code, kind: ReplyKind::Refusal }))
    }

    /// The next request on the topic of requests. Cancellations and requests whose time is over are passed.
    #[inline]
    fn next(&self) -> Result<Option<RawRequest>, RequestError> {
        loop {
            let Some(sample) = self.requests.take()? else { return Ok(None) };
            let Some(header) = RequestHeader::read(sample.user_header()) else {
                return Err(self.malformed(&sample));
            };
            match header.kind {
                RequestKind::Cancel => {
                    self.calls.borrow().cancel(sample.publisher_id(), header.call);
                }
                RequestKind::Call if header.deadline_ns != 0 && header.deadline_ns <= now_ns() => {
                    self.expired.set(self.expired.get() + 1);
                }
                RequestKind::Call => {
                    return Ok(Some(RawRequest::new(sample, header, &mut self.calls.borrow_mut())));
                }
            }
        }
    }

    /// How long it may sleep, in nanoseconds, before it checks whether clients have ended: those with open
    /// requests, and those that it knows. `None` if there are none.
    pub(super) fn check_every_ns(&self) -> Option<u64> {
        let has_open = self.calls.borrow().clients().next().is_some();
        let known = self.answered_clients();
        let every = if has_open || known > MAX_CHECKED { CHECK_OPEN_NS } else { CHECK_NS };
        (has_open || known > 0).then_some(every)
    }

    /// The same, for a sleep that begins now. The first take after it makes the check, however many takes
    /// without the clock came before.
    fn next_check_ns(&self) -> Option<u64> {
        let every = self.check_every_ns()?;
        self.requests.empty.reset();
        Some(every)
    }

    /// Sets the alarms of watches to the next check that is due.
    #[cold]
    fn set_alarm(&self) {
        if let Some(next_ns) = self.next_check_ns() {
            self.alarms.report_after(next_ns);
        }
    }

    /// Leaves the topics of clients that have ended, from time to time.
    #[inline]
    pub(super) fn check_clients(&self) {
        let now = coarse_ns();
        if now.saturating_sub(self.checked_open_ns.get()) >= CHECK_OPEN_NS {
            self.forget_gone(now);
        }
    }

    #[cold]
    fn forget_gone(&self, now: u64) {
        self.checked_open_ns.set(now);
        let mut open = self.open_clients.borrow_mut();
        open.clear();
        open.extend(self.calls.borrow().clients());
        self.join_open_clients(&open, now);
        let mut clients = self.clients.borrow_mut();
        // Of many clients, some at a time, so that no check takes long.
        let every_ns = if clients.len() > MAX_CHECKED { CHECK_OPEN_NS } else { CHECK_NS };
        let mut others = 0;
        if now.saturating_sub(self.checked_ns.get()) >= every_ns {
            self.checked_ns.set(now);
            others = MAX_CHECKED;
        }
        let gone = clients.forget_gone(&open, others);
        let calls = self.calls.borrow();
        gone.into_iter().for_each(|client| calls.cancel_all(client));
    }

    /// Joins the replies of clients that have open requests and that it has not answered, so that it sees
    /// their end. What it cannot join, it tries again a second later; an answer reports the error.
    fn join_open_clients(&self, open: &HashSet<EndpointId>, now: u64) {
        let mut clients = self.clients.borrow_mut();
        let mut not_joined = self.not_joined.borrow_mut();
        let (failed, since) = &mut *not_joined;
        if now.saturating_sub(*since) >= JOIN_AGAIN_NS {
            failed.clear();
            *since = now;
        }
        let mut joined = 0;
        for &client in open {
            if joined == MAX_JOINED {
                break;
            }
            if clients.knows(client.number) || failed.contains(&client.number) {
                continue;
            }
            joined += 1;
            match self.join_replies(client.number) {
                Ok(publisher) => drop(clients.add(&self.service, &self.calls, client, publisher)),
                Err(_) => drop(failed.insert(client.number)),
            }
        }
    }

    #[cold]
    fn client_gone(&self, request: &RequestId) -> AnswerError {
        self.calls.borrow().cancel_all(request.client);
        AnswerError::client_gone(&self.service, request)
    }

    /// Tells a wait set what it cannot see at the topic: whether requests are kept, and when clients are to
    /// be checked.
    #[inline]
    fn update_source(&self) {
        // In a forked child, a thread of the parent may hold the lock of the alarm's timer for ever.
        if self.alarms.has_source() && !self.is_inherited() {
            self.alarms.tell_source(!self.collected.borrow().is_empty(), self.next_check_ns());
        }
    }

    #[cold]
    fn malformed(&self, sample: &RawSample) -> RequestError {
        RequestError::Malformed { service: self.service.clone(), client: sample.publisher_id() }
    }
}

impl Waitable for RawServer {
    /// It is ready when [`take`](RawServer::take) may return a request. While clients have to be watched it
    /// is also ready now and then, so that the next take checks them: take until there is nothing.
    fn source(&self) -> Source {
        let source = Source::with_alarm(&self.requests, self.alarms.source());
        self.update_source();
        source
    }
}
