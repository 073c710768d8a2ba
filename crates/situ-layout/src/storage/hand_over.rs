//! Values that one container hands over to another of a different storage: its memory, or a reference to its
//! content.

use std::borrow::Cow;

use crate::storage::ros::sequence::RosSequence;
use crate::storage::ros::text::RosString;
use crate::value::container::{SequenceField, TextField, within};
use crate::value::error::BoundError;
use crate::value::in_place::InPlace;

/// A string that hands over its memory if possible.
#[doc(hidden)]
pub trait HandOverText: TextField {
    /// Hands over the string's memory if possible. The string is empty afterwards.
    fn give(&mut self) -> GivenText<'_> {
        GivenText::Lent(self.to_text())
    }

    /// Replaces the text by one that is handed over, and reuses its memory if possible.
    fn take(&mut self, text: GivenText<'_>) -> Result<(), BoundError> {
        self.try_assign(&text.to_text())
    }
}

/// A sequence that hands over its memory if possible.
#[doc(hidden)]
pub trait HandOverList<T: InPlace>: SequenceField<T> {
    /// Whether the list takes over elements in memory that this program cannot read.
    const TAKES_OPAQUE: bool = false;

    /// Hands over the list's memory if possible. The list is empty afterwards.
    fn give(&mut self) -> GivenList<'_, T> {
        GivenList::Lent(self)
    }

    /// Replaces the elements by those that are handed over, and reuses their memory if possible.
    fn take(&mut self, elements: GivenList<'_, T>) -> Result<(), BoundError> {
        self.try_assign(elements.as_slice())
    }
}

/// A text that is handed over.
#[derive(Debug)]
pub enum GivenText<'a> {
    /// The text stays in the source.
    Lent(Cow<'a, str>),
    /// The text is in Rust's memory.
    Rust(String),
    /// The text is in C's memory.
    C(RosString),
}

impl GivenText<'_> {
    /// The text, with U+FFFD in place of bytes that are not UTF-8.
    pub fn to_text(&self) -> Cow<'_, str> {
        match self {
            Self::Lent(text) => Cow::Borrowed(text),
            Self::Rust(text) => Cow::Borrowed(text),
            Self::C(text) => text.to_string_lossy(),
        }
    }

    /// As [`into_string`](Self::into_string), but shortened to `bound` bytes if the text was not UTF-8.
    pub fn into_string_within(self, bound: usize) -> String {
        match self {
            Self::C(text) if std::str::from_utf8(text.as_bytes()).is_err() => {
                within(text.to_string_lossy(), Some(bound)).into_owned()
            }
            other => other.into_string(),
        }
    }

    /// The text in Rust's memory. It is copied unless it lies there already, or C's memory may become Rust's.
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
    /// The elements stay in the source.
    Lent(&'a [T]),
    /// The elements are in Rust's memory.
    Rust(Vec<T>),
    /// The elements are in C's memory.
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
