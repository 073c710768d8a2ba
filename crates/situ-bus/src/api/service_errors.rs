//! Why operations of clients and servers of generated types fail.

use situ_layout::Message;
use situ_region::StoreError;
use situ_wire::EncodeError;

use crate::api::typed::ReceiveError;
use crate::api::write::WriteFailure;
use crate::service::errors::{AnswerError, CallError, ReplyError, RequestError};
use crate::wait::interrupt::Interrupted;

/// Why a request could not be sent from a value.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum CallValueError {
    /// It could not be sent.
    #[error(transparent)]
    Call(#[from] CallError),
    /// It cannot be serialized.
    #[error("{type_name} cannot be serialized: {source}")]
    Encode {
        /// The type.
        type_name: &'static str,
        /// Why it cannot be serialized.
        source: EncodeError,
    },
    /// The value cannot be stored in a region.
    #[error("{type_name} cannot be stored in a region: {source}")]
    Store {
        /// The type.
        type_name: &'static str,
        /// Why it cannot be stored.
        source: StoreError,
    },
    /// The value refers to bulk data, but has no body that could hold them.
    #[error("{type_name} has bulk data, which only a loan has room for: use `loan_with` and fill its body")]
    BulkWithoutBody {
        /// The type.
        type_name: &'static str,
    },
}

situ_layout::debug_as_text!(CallValueError);

/// Why a request could not be answered with a value.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum AnswerValueError {
    /// It could not be answered.
    #[error(transparent)]
    Answer(#[from] AnswerError),
    /// The reply cannot be serialized.
    #[error("{type_name} cannot be serialized: {source}")]
    Encode {
        /// The type.
        type_name: &'static str,
        /// Why it cannot be serialized.
        source: EncodeError,
    },
    /// The value cannot be stored in a region.
    #[error("{type_name} cannot be stored in a region: {source}")]
    Store {
        /// The type.
        type_name: &'static str,
        /// Why it cannot be stored.
        source: StoreError,
    },
    /// The value refers to bulk data, but has no body that could hold them.
    #[error("{type_name} has bulk data, which only a loan has room for: use `loan_with` and fill its body")]
    BulkWithoutBody {
        /// The type.
        type_name: &'static str,
    },
}

situ_layout::debug_as_text!(AnswerValueError);

macro_rules! from_failure {
    ($error:ident) => {
        impl $error {
            pub(super) fn of<T: Message, E: Into<Self>>(failure: WriteFailure<E>) -> Self {
                match failure {
                    WriteFailure::Lend(error) => error.into(),
                    WriteFailure::Encode(source) => Self::Encode { type_name: T::NAME, source },
                    WriteFailure::BulkWithoutBody => Self::BulkWithoutBody { type_name: T::NAME },
                }
            }
        }
    };
}

from_failure!(CallValueError);
from_failure!(AnswerValueError);

/// Why there is no reply of the expected type.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ReceiveReplyError {
    /// There is no reply.
    #[error(transparent)]
    Reply(#[from] ReplyError),
    /// The reply, or a part of it, is not a valid message of the type.
    #[error(transparent)]
    Receive(#[from] ReceiveError),
    /// A single reply was expected, and the server ended the call without any.
    #[error(
        "the server of {service:?} ended call {call} without a reply: use `next` for replies that are streamed"
    )]
    Empty {
        /// The service.
        service: String,
        /// The call.
        call: u64,
    },
}

situ_layout::debug_as_text!(ReceiveReplyError);

/// Why a request of the expected type could not be taken. The next call continues behind it.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ReceiveRequestError {
    /// It could not be taken.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// It is not a valid message of the type. Its client gets a refusal with the code 2^64 − 1.
    #[error(transparent)]
    Receive(#[from] ReceiveError),
    /// The wait was interrupted. No request is skipped.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

situ_layout::debug_as_text!(ReceiveRequestError);

/// The code with which a typed server refuses requests that are not valid messages of its type.
pub const INVALID_REQUEST: u64 = u64::MAX;
