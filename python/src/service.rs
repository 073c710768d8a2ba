//! Services: clients and servers.
//!
//! Requests and replies are encoded values here, which costs a copy of each; topics carry what is large.

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
use crate::message::received;
use crate::node::NodeHandle;
use crate::process;
use crate::qos;
use crate::subscriber::take_error;
use crate::types::TypeHandle;

fn handle(of: &TypeHandle) -> TypeHandle {
    TypeHandle::new(of.types.clone(), of.id)
}

/// A client of a service.
#[pyclass(frozen, subclass, module = "situ", name = "Client")]
pub struct ClientHandle {
    endpoint: Endpoint<RawClient>,
    service: String,
    request: TypeHandle,
    reply: TypeHandle,
    flat: bool,
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
        let endpoint = Endpoint::new(raw, format!("the client of service {service:?}"));
        let (service, request, reply) = (service.to_owned(), handle(request), handle(reply));
        Ok(Self { endpoint, service, request, reply, flat })
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
    endpoint: Endpoint<RawServer>,
    service: String,
    request: TypeHandle,
    reply: TypeHandle,
    flat: bool,
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
        let endpoint = Endpoint::new(raw, format!("the server of service {service:?}"));
        let (service, request, reply) = (service.to_owned(), handle(request), handle(reply));
        Ok(Self { endpoint, service, request, reply, flat })
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
