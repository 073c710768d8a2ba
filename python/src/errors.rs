//! The package's exceptions. They are classes of Python, in `situ/_errors.py`; Rust raises them by name.

use std::fmt::Display;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyModule;

/// An exception of the package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `Error`, the base of all.
    Error,
    /// A schema cannot be read, or lacks a type.
    Schema,
    /// A value does not fit its type.
    Conversion,
    /// The bytes of a message are invalid.
    Malformed,
    /// A participant cannot join.
    Register,
    /// A message cannot be published.
    Publish,
    /// The room of a region that is written is used up.
    RegionFull,
    /// A message cannot be taken.
    Take,
    /// The subscriber holds as many messages as it may.
    Held,
    /// The message, loan or endpoint has been given back.
    Released,
    /// Arrays of a loan still exist.
    Borrowed,
    /// It belongs to the process that this one was forked from.
    Forked,
    /// The time is over.
    Timeout,
    /// There is no such topic, service or blackboard.
    NotFound,
    /// A blackboard has no such key.
    Key,
    /// A call of a service cannot be made, or gets no reply.
    Call,
    /// A recording cannot be read, written or played.
    Record,
}

impl Kind {
    fn class(self) -> &'static str {
        match self {
            Self::Error => "Error",
            Self::Schema => "SchemaError",
            Self::Conversion => "ConversionError",
            Self::Malformed => "MalformedError",
            Self::Register => "RegisterError",
            Self::Publish => "PublishError",
            Self::RegionFull => "RegionFullError",
            Self::Take => "TakeError",
            Self::Held => "HeldError",
            Self::Released => "ReleasedError",
            Self::Borrowed => "BorrowedError",
            Self::Forked => "ForkedError",
            Self::Timeout => "TimeoutError",
            Self::NotFound => "NotFoundError",
            Self::Key => "UnknownKeyError",
            Self::Call => "CallError",
            Self::Record => "RecordError",
        }
    }

    /// Whether an exception is of this kind.
    pub fn is(self, py: Python<'_>, error: &PyErr) -> bool {
        let class = module(py, &ERRORS, "situ._errors").and_then(|module| module.getattr(self.class()));
        class.is_ok_and(|class| error.is_instance(py, &class))
    }

    /// The exception with this text.
    #[cold]
    pub fn error(self, py: Python<'_>, text: impl Display) -> PyErr {
        raise(py, self.class(), (text.to_string(),))
    }
}

/// The exception of a request that was refused, with the server's number and text.
#[cold]
pub fn refused(py: Python<'_>, text: impl Display, code: u64, reason: &str) -> PyErr {
    raise(py, "RefusedError", (text.to_string(), code, reason))
}

fn raise<'py>(py: Python<'py>, class: &str, arguments: impl pyo3::call::PyCallArgs<'py>) -> PyErr {
    let made = module(py, &ERRORS, "situ._errors").and_then(|module| module.getattr(class)?.call1(arguments));
    match made {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}

static ERRORS: PyOnceLock<Py<PyModule>> = PyOnceLock::new();

/// A module of the package, imported at its first use.
pub fn module<'py>(
    py: Python<'py>,
    cell: &PyOnceLock<Py<PyModule>>,
    name: &str,
) -> PyResult<Bound<'py, PyModule>> {
    Ok(cell.get_or_try_init(py, || Ok::<_, PyErr>(py.import(name)?.unbind()))?.bind(py).clone())
}
