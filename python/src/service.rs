//! Services: clients and servers.
//!
//! Requests and replies are lent and written in place, or encoded, which costs a copy.

use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use situ_bus::{
    AnswerError, CallError, Encoding, LoanError, PublishError, RawClient, RawReply, RawServer, ReplyError,
    RequestHandle, ServiceDescription, Wait,
};

use crate::content::Struct;
use crate::encode::encode;
use crate::endpoint::{Endpoint, SLICE};
use crate::errors::{Kind as Error, refused};
use crate::hold::ServiceLoan;
use crate::message::received;
use crate::node::NodeHandle;
use crate::process;
use crate::qos;
use crate::service_loan::{Locked, ReplyLoan, RequestLoan, lent as lent_message, take};
use crate::subscriber::take_error;
use crate::template::Template;
use crate::types::TypeHandle;

fn handle(of: &TypeHandle) -> TypeHandle {
    TypeHandle::new(of.types.clone(), of.id)
}

/// A client of a service.
#[pyclass(frozen, subclass, module = "situ", name = "Client")]
pub struct ClientHandle {
    endpoint: Arc<Endpoint<RawClient>>,
    service: String,
    request: TypeHandle,
    reply: TypeHandle,
    flat: bool,
    /// A new request, if requests are flat.
    template: Option<Template>,
}

/// The template of flat messages.
fn template(py: Python<'_>, flat: bool, of: &TypeHandle) -> PyResult<Option<Template>> {
    if flat { Template::of(py, &of.types) } else { Ok(None) }
}

/// Where bytes lie, and how many.
fn span(bytes: &mut [u8]) -> (usize, usize) {
    (bytes.as_mut_ptr() as usize, bytes.len())
}

/// What sending has given. A loan that was not sent, because the endpoint is closed, is returned.
fn after<L: ServiceLoan, R>(py: Python<'_>, lent: Option<L>, sent: PyResult<Option<R>>) -> PyResult<R> {
    if let Some(loan) = lent {
        Box::new(loan).take_back();
    }
    sent?.ok_or_else(|| Error::Released.error(py, "the loan was sent before"))
}

fn call_error(py: Python<'_>, error: &CallError) -> PyErr {
    let kind = match error {
        CallError::Publish(PublishError::Forked { .. }) | CallError::Loan(LoanError::Forked { .. }) => {
            Error::Forked
        }
        _ => Error::Call,
    };
    kind.error(py, error)
}

fn reply_error(py: Python<'_>, error: &ReplyError) -> PyErr {
    match error {
        ReplyError::Refused { code, text, .. } => refused(py, error, *code, text),
        ReplyError::Deadline { .. } => Error::Timeout.error(py, error),
        ReplyError::Take(error) => take_error(py, error),
        _ => Error::Call.error(py, error),
    }
}

#[pymethods]
impl ClientHandle {
    #[new]
    fn new(
        py: Python<'_>,
        node: &NodeHandle,
        service: &str,
        request: &TypeHandle,
        reply: &TypeHandle,
        flat: bool,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let node = node.node(py)?;
        let description =
            ServiceDescription { request: request.describe(flat, 0), reply: reply.describe_any_layout(0) };
        let options = qos::of_service(options)?;
        let flat = description.request.encoding == Encoding::Flat;
        let raw = process::detached(py, || RawClient::create(&node, service, &description, &options));
        let raw = raw.map_err(|error| Error::Register.error(py, error))?;
        let endpoint = Arc::new(Endpoint::new(raw, format!("the client of service {service:?}")));
        let template = template(py, flat, request)?;
        let (service, request, reply) = (service.to_owned(), handle(request), handle(reply));
        Ok(Self { endpoint, service, request, reply, flat, template })
    }

    /// Lends a request, with these numbers of elements of bulk members. `None` if requests are serialized.
    fn _loan<'py>(
        &self,
        py: Python<'py>,
        sizes: &Bound<'py, PyDict>,
    ) -> PyResult<Option<Bound<'py, Struct>>> {
        let Some(template) = &self.template else { return Ok(None) };
        let (descriptors, end) = template.lay_out(py, Some(sizes))?;
        let lent = self.endpoint.with(py, |raw| {
            raw.loan(template.head.len(), template.align, end as usize).map(|mut loan| {
                template.fill(loan.head_bytes(), &descriptors);
                let spans = (span(loan.head_bytes()), span(loan.body_bytes()));
                (Locked(loan.detach()), spans)
            })
        })?;
        let (loan, spans) = lent.map_err(|error| call_error(py, &error.into()))?;
        let loan = RequestLoan { client: self.endpoint.clone(), loan };
        lent_message(py, &self.request, Box::new(loan), spans).map(Some)
    }

    /// The service's name.
    #[getter]
    fn service(&self) -> &str {
        &self.service
    }

    /// The class of requests.
    #[getter]
    fn request<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.request.types.class(py, self.request.id)
    }

    /// The number of servers at the moment.
    #[getter]
    fn servers(&self, py: Python<'_>) -> PyResult<usize> {
        self.endpoint.with(py, RawClient::servers)
    }

    /// Waits for a server. Returns whether there is one.
    #[pyo3(signature = (timeout = None))]
    fn wait_for_server(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<bool> {
        let limit = qos::limit(py, "timeout", timeout)?;
        self.endpoint.wait(py, limit, |raw, how| raw.wait_for_server_with(how).unwrap_or(false))
    }

    /// Sends a request, and returns the number of the call. `timeout` is how long the reply may take.
    #[pyo3(signature = (message, timeout = None))]
    fn send(&self, py: Python<'_>, message: &Bound<'_, PyAny>, timeout: Option<f64>) -> PyResult<u64> {
        let limit = qos::limit(py, "timeout", timeout)?;
        let own = |loan: &RequestLoan| Arc::ptr_eq(&loan.client, &self.endpoint);
        let mut lent = take(py, message, own)?;
        if lent.is_some() {
            let sent = self.endpoint.with_detached(py, |raw| {
                lent.take().map(|RequestLoan { loan, .. }| {
                    // SAFETY: the loan is one of this client.
                    unsafe { raw.attach(loan.into_inner()) }.send(limit)
                })
            });
            return after(py, lent, sent)?.map_err(|error| call_error(py, &error));
        }
        let encoded = encode(py, &self.request, self.flat, message)?;
        let sent = self.endpoint.with_detached(py, |raw| {
            let mut loan =
                raw.loan(encoded.head.len(), encoded.align, encoded.body.len()).map_err(CallError::from)?;
            loan.head_bytes().copy_from_slice(&encoded.head);
            loan.body_bytes().copy_from_slice(&encoded.body);
            loan.send(limit)
        })?;
        sent.map_err(|error| call_error(py, &error))
    }

    /// The next reply to a call, or `None` if there is none yet: `(message, whether the call is over)`. The
    /// end of a streamed reply has no message. `wait`: waits for it, without a limit but that of the call.
    #[pyo3(signature = (call, wait = true))]
    fn take_reply<'py>(
        &self,
        py: Python<'py>,
        call: u64,
        wait: bool,
    ) -> PyResult<Option<(Option<Bound<'py, Struct>>, bool)>> {
        loop {
            let taken = if wait {
                let how = Wait::at_most(SLICE).until_a_signal();
                self.endpoint.with_detached(py, |raw| match raw.receive_of_with(call, how) {
                    Err(ReplyError::Interrupted { .. }) => Ok(None),
                    other => other,
                })?
            } else {
                self.endpoint.with(py, |raw| raw.take_of(call))?
            };
            match taken.map_err(|error| reply_error(py, &error))? {
                Some(reply) => return self.unpack(py, reply).map(Some),
                None if wait => {}
                None => return Ok(None),
            }
        }
    }

    /// Ends a call. Its replies are dropped.
    fn cancel(&self, py: Python<'_>, call: u64) -> PyResult<()> {
        self.endpoint.with(py, |raw| raw.cancel(call))?.map_err(|error| call_error(py, &error))
    }

    /// A descriptor that is readable when there may be a reply.
    fn fileno(&self, py: Python<'_>) -> PyResult<i32> {
        self.endpoint.fileno(py, RawClient::event_fd)
    }

    /// Makes the descriptor unreadable until the next reply.
    fn clear_fd(&self) {
        self.endpoint.clear_fd();
    }

    /// Leaves the service. Calls that are under way get no reply.
    fn close(&self, py: Python<'_>) {
        self.endpoint.close(py);
    }
}

impl ClientHandle {
    fn unpack<'py>(&self, py: Python<'py>, reply: RawReply) -> PyResult<(Option<Bound<'py, Struct>>, bool)> {
        let (has_content, is_last) = (reply.has_content(), reply.is_last());
        let message = match has_content {
            true => Some(received(py, &self.reply.types, reply.into_sample(), None)?),
            false => None,
        };
        Ok((message, is_last))
    }

    /// The source by which a wait set waits for it.
    pub fn source(&self, py: Python<'_>) -> PyResult<situ_bus::Source> {
        self.endpoint.with(py, situ_bus::Waitable::source)
    }
}

/// A server of a service.
#[pyclass(frozen, subclass, module = "situ", name = "Server")]
pub struct ServerHandle {
    endpoint: Arc<Endpoint<RawServer>>,
    service: String,
    request: TypeHandle,
    reply: TypeHandle,
    flat: bool,
    /// A new reply, if replies are flat.
    template: Option<Template>,
}

/// A request that a server has taken.
#[pyclass(frozen, module = "situ", name = "Request")]
pub struct RequestObject {
    server: Py<ServerHandle>,
    handle: RequestHandle,
    /// The request itself.
    #[pyo3(get)]
    message: Py<Struct>,
}

fn answer_error(py: Python<'_>, error: &AnswerError) -> PyErr {
    Error::Call.error(py, error)
}

#[pymethods]
impl ServerHandle {
    #[new]
    fn new(
        py: Python<'_>,
        node: &NodeHandle,
        service: &str,
        request: &TypeHandle,
        reply: &TypeHandle,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let node = node.node(py)?;
        let is_flat = reply.types.schema.is_flat(reply.id);
        let is_request_flat = request.types.schema.is_flat(request.id);
        let description = ServiceDescription {
            request: if is_request_flat { request.describe(true, 0) } else { request.describe_any_layout(0) },
            reply: reply.describe(is_flat, 0),
        };
        let options = qos::of_service(options)?;
        let flat = description.reply.encoding == Encoding::Flat;
        let raw = process::detached(py, || RawServer::create(&node, service, &description, &options));
        let raw = raw.map_err(|error| Error::Register.error(py, error))?;
        let endpoint = Arc::new(Endpoint::new(raw, format!("the server of service {service:?}")));
        let template = template(py, flat, reply)?;
        let (service, request, reply) = (service.to_owned(), handle(request), handle(reply));
        Ok(Self { endpoint, service, request, reply, flat, template })
    }

    /// The service's name.
    #[getter]
    fn service(&self) -> &str {
        &self.service
    }

    /// The class of replies.
    #[getter]
    fn reply<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.reply.types.class(py, self.reply.id)
    }

    /// The number of clients at the moment.
    #[getter]
    fn clients(&self, py: Python<'_>) -> PyResult<usize> {
        self.endpoint.with(py, RawServer::clients)
    }

    /// Takes the next request, or `None` if there is none.
    fn take(slf: &Bound<'_, Self>) -> PyResult<Option<RequestObject>> {
        let (py, this) = (slf.py(), slf.get());
        let taken = this.endpoint.with(py, RawServer::take)?.map_err(|error| Error::Take.error(py, error))?;
        let Some(request) = taken else { return Ok(None) };
        let (sample, handle) = request.into_parts();
        let message = received(py, &this.request.types, sample, None)?.unbind();
        Ok(Some(RequestObject { server: slf.clone().unbind(), handle, message }))
    }

    /// Waits until there is a request. Returns whether there is.
    #[pyo3(signature = (timeout = None))]
    fn wait(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<bool> {
        let limit = qos::limit(py, "timeout", timeout)?;
        self.endpoint.wait(py, limit, |raw, how| raw.wait_with(how).unwrap_or(false))
    }

    /// A descriptor that is readable when there may be a request.
    fn fileno(&self, py: Python<'_>) -> PyResult<i32> {
        self.endpoint.fileno(py, RawServer::event_fd)
    }

    /// Makes the descriptor unreadable until the next request.
    fn clear_fd(&self) {
        self.endpoint.clear_fd();
    }

    /// Leaves the service.
    fn close(&self, py: Python<'_>) {
        self.endpoint.close(py);
    }

    /// Whether it is closed.
    #[getter]
    fn is_closed(&self) -> bool {
        self.endpoint.is_closed()
    }
}

impl ServerHandle {
    /// The source by which a wait set waits for it.
    pub fn source(&self, py: Python<'_>) -> PyResult<situ_bus::Source> {
        self.endpoint.with(py, situ_bus::Waitable::source)
    }
}

#[pymethods]
impl RequestObject {
    /// Lends a reply to it, which is written in place. `sizes` are the numbers of elements of bulk members.
    /// Send it with `answer`.
    #[pyo3(signature = (**sizes))]
    fn loan<'py>(&self, py: Python<'py>, sizes: Option<&Bound<'py, PyDict>>) -> PyResult<Bound<'py, PyAny>> {
        let server = self.server.get();
        let sizes = sizes.map_or_else(|| PyDict::new(py), Clone::clone);
        let Some(template) = &server.template else {
            if !sizes.is_empty() {
                let text =
                    format!("replies of service {:?} are serialized, and need no sizes", server.service);
                return Err(PyTypeError::new_err(text));
            }
            return server.reply.types.class(py, server.reply.id)?.call0();
        };
        let (descriptors, end) = template.lay_out(py, Some(&sizes))?;
        let id = self.handle.id();
        let lent = server.endpoint.with(py, |raw| {
            raw.loan(&id, template.head.len(), template.align, end as usize).map(|mut loan| {
                template.fill(loan.head_bytes(), &descriptors);
                let spans = (span(loan.head_bytes()), span(loan.body_bytes()));
                (Locked(loan.detach()), spans)
            })
        })?;
        let (loan, spans) = lent.map_err(|error| answer_error(py, &error))?;
        let loan = ReplyLoan { server: server.endpoint.clone(), id, loan };
        Ok(lent_message(py, &server.reply, Box::new(loan), spans)?.into_any())
    }

    /// Answers it. With `more`, this is a part of the reply, and `end` or another answer follows.
    ///
    /// The reply is a message or a dict; instead of it, its members can be given.
    #[pyo3(signature = (message = None, *, more = false, **members))]
    fn answer(
        &self,
        py: Python<'_>,
        message: Option<&Bound<'_, PyAny>>,
        more: bool,
        members: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let server = self.server.get();
        let own =
            |loan: &ReplyLoan| Arc::ptr_eq(&loan.server, &server.endpoint) && loan.id == self.handle.id();
        let mut lent = message.map(|message| take(py, message, own)).transpose()?.flatten();
        if lent.is_some() {
            let sent = server.endpoint.with_detached(py, |raw| {
                lent.take().map(|ReplyLoan { loan, .. }| {
                    // SAFETY: the loan is one of this server.
                    let loan = unsafe { raw.attach(loan.into_inner()) };
                    if more { loan.send_part() } else { loan.send() }
                })
            });
            return after(py, lent, sent)?.map_err(|error| answer_error(py, &error));
        }
        let members = members.map_or_else(|| PyDict::new(py), Clone::clone).into_any();
        let encoded = encode(py, &server.reply, server.flat, message.unwrap_or(&members))?;
        let id = self.handle.id();
        let sent = server.endpoint.with_detached(py, |raw| {
            let mut loan = raw.loan(&id, encoded.head.len(), encoded.align, encoded.body.len())?;
            loan.head_bytes().copy_from_slice(&encoded.head);
            loan.body_bytes().copy_from_slice(&encoded.body);
            if more { loan.send_part() } else { loan.send() }
        })?;
        sent.map_err(|error| answer_error(py, &error))
    }

    /// Ends a reply of several parts.
    fn end(&self, py: Python<'_>) -> PyResult<()> {
        let id = self.handle.id();
        let ended = self.server.get().endpoint.with(py, |raw| raw.end(&id))?;
        ended.map_err(|error| answer_error(py, &error))
    }

    /// Refuses it, with a number and a text, which the client's `RefusedError` has.
    fn refuse(&self, py: Python<'_>, code: u64, text: &str) -> PyResult<()> {
        let id = self.handle.id();
        let ended = self.server.get().endpoint.with(py, |raw| raw.refuse(&id, code, text))?;
        ended.map_err(|error| answer_error(py, &error))
    }

    /// Whether nothing waits for the reply any more.
    #[getter]
    fn is_cancelled(&self, py: Python<'_>) -> PyResult<bool> {
        self.server.get().endpoint.with(py, |raw| raw.collect().is_err())?;
        Ok(self.handle.is_cancelled())
    }
}
