//! Why operations of clients and servers fail.

use std::time::Duration;

use situ_layout::foreign::Foreign;

use super::request::RequestId;
use crate::node::endpoint::EndpointId;
use crate::port::loan::LoanError;
use crate::port::publish_error::PublishError;
use crate::port::take_error::TakeError;
use crate::topic::RegisterError;
use crate::wait::interrupt::Interrupted;

/// Why a request could not be sent.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The service has no server.
    #[error(
        "service {service:?} has no server: start one, or wait for it (`wait_for_server`) before the call"
    )]
    NoServer {
        /// The service.
        service: String,
    },
    /// As many calls are under way as the client may have.
    #[error(
        "{most} calls of service {service:?} are under way, which is the limit of this client: take their replies, cancel \
         some, or allow more (`max_calls`)"
    )]
    TooMany {
        /// The service.
        service: String,
        /// The limit.
        most: usize,
    },
    /// No memory could be lent for it.
    #[error(transparent)]
    Loan(#[from] LoanError),
    /// It could not be published. A server that does not take its requests is named in `Full`.
    #[error(transparent)]
    Publish(#[from] PublishError),
}

situ_layout::debug_as_text!(CallError);

/// Why there is no reply to a call, or why a reply could not be received.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ReplyError {
    /// Every server that could have answered has ended. The call is over.
    #[error(
        "call {call} of service {service:?} gets no reply: the servers that had the request have ended; call again once \
         another one is there"
    )]
    ServerGone {
        /// The service.
        service: String,
        /// The call.
        call: u64,
    },
    /// The call's time is over. The call is over, too.
    #[error("call {call} of service {service:?} has no reply after {waited:?}, which was its limit")]
    Deadline {
        /// The service.
        service: String,
        /// The call.
        call: u64,
        /// How long the call took.
        waited: Duration,
    },
    /// The server refused the request. The call is over.
    #[error("service {service:?} refused call {call} ({code}): {text}", text = Foreign(.text))]
    Refused {
        /// The service.
        service: String,
        /// The call.
        call: u64,
        /// The server's number for the reason.
        code: u64,
        /// The server's text.
        text: String,
    },
    /// No such call is under way.
    #[error(
        "call {call} of service {service:?} is not under way: it is over, was cancelled, or belongs to another client"
    )]
    Unknown {
        /// The service.
        service: String,
        /// The call.
        call: u64,
    },
    /// A message on the topic of replies is malformed. It is skipped.
    #[error(
        "a reply of service {service:?}, by {server}, has no valid header: the server is broken or hostile"
    )]
    Malformed {
        /// The service.
        service: String,
        /// The publisher of the message.
        server: EndpointId,
    },
    /// A reply could not be taken.
    #[error(transparent)]
    Take(#[from] TakeError),
    /// The wait was interrupted. The call remains under way.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

situ_layout::debug_as_text!(ReplyError);

impl ReplyError {
    /// The call that is over with it. `None` if it belongs to no call.
    pub fn call(&self) -> Option<u64> {
        match self {
            Self::ServerGone { call, .. }
            | Self::Deadline { call, .. }
            | Self::Refused { call, .. }
            | Self::Unknown { call, .. } => Some(*call),
            Self::Malformed { .. } | Self::Take(_) | Self::Interrupted(_) => None,
        }
    }
}

/// Why a request could not be taken.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// It could not be taken.
    #[error(transparent)]
    Take(#[from] TakeError),
    /// A message on the topic of requests is malformed. It is skipped.
    #[error(
        "a request of service {service:?}, by {client}, has no valid header: the client is broken or hostile"
    )]
    Malformed {
        /// The service.
        service: String,
        /// The publisher of the message.
        client: EndpointId,
    },
}

situ_layout::debug_as_text!(RequestError);

/// Why a request could not be answered.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// The client has ended, or is no client of this service any more.
    #[error(
        "client {client} of service {service:?} has ended: nothing waits for the reply to its call {call}"
    )]
    ClientGone {
        /// The service.
        service: String,
        /// The client.
        client: EndpointId,
        /// The call.
        call: u64,
    },
    /// The topic of the client's replies cannot be joined.
    #[error(transparent)]
    Register(#[from] RegisterError),
    /// No memory could be lent for the reply.
    #[error(transparent)]
    Loan(#[from] LoanError),
    /// The reply could not be published. `Full`: the client has not taken earlier replies.
    #[error(transparent)]
    Publish(#[from] PublishError),
}

situ_layout::debug_as_text!(AnswerError);

impl AnswerError {
    pub(super) fn client_gone(service: &str, request: &RequestId) -> Self {
        let RequestId { client, call, .. } = *request;
        Self::ClientGone { service: service.to_owned(), client, call }
    }
}
