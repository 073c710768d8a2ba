//! What one container hands over to another of a different storage: its memory, or a look at it.

use std::borrow::Cow;

use super::{RosSequence, RosString};
use crate::value::InPlace;

/// The text; if U+FFFD took the place of what was not UTF-8, which may be shorter, as much of it as the bound allows.
pub(crate) fn within(text: Cow<'_, str>, bound: Option<usize>) -> Cow<'_, str> {
    match (text, bound) {
        (Cow::Owned(mut text), Some(bound)) => {
            text.truncate(text.floor_char_boundary(bound));
            Cow::Owned(text)
        }
        (text, _) => text,
    }
}

/// A text that is handed over.
#[derive(Debug)]
pub enum GivenText<'a> {
    /// It stays where it is.
    Lent(Cow<'a, str>),
    /// Rust's memory.
    Rust(String),
    /// C's memory.
    C(RosString),
}

impl GivenText<'_> {
    /// The text, with U+FFFD for what is not UTF-8.
    pub fn to_text(&self) -> Cow<'_, str> {
        match self {
            Self::Lent(text) => Cow::Borrowed(text),
            Self::Rust(text) => Cow::Borrowed(text),
            Self::C(text) => text.to_string_lossy(),
        }
    }

    /// As [`into_string`](Self::into_string), of at most `bound` bytes if it was not UTF-8.
    pub fn into_string_within(self, bound: usize) -> String {
        match self {
            Self::C(text) if std::str::from_utf8(text.as_bytes()).is_err() => {
                within(text.to_string_lossy(), Some(bound)).into_owned()
            }
            other => other.into_string(),
        }
    }

    /// The text in Rust's memory; copied unless it lies there, or C's memory may become Rust's.
    pub fn into_string(self) -> String {
        match self {
            Self::Lent(text) => text.into_owned(),
            Self::Rust(text) => text,
            Self::C(text) => text.into_string(),
        }
    }
}

/// The elements of a sequence that are handed over.
#[derive(Debug)]
pub enum GivenList<'a, T: InPlace> {
    /// They stay where they are.
    Lent(&'a [T]),
    /// Rust's memory.
    Rust(Vec<T>),
    /// C's memory.
    C(RosSequence<T>),
}

impl<T: InPlace> GivenList<'_, T> {
    /// The elements.
    pub fn as_slice(&self) -> &[T] {
        match self {
            Self::Lent(elements) => elements,
            Self::Rust(elements) => elements,
            Self::C(elements) => elements,
        }
    }
}
