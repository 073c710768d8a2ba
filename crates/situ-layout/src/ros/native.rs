//! What the crates for rclrs call: between the message that a program holds and the C struct that the middleware takes.

use std::borrow::Cow;

use super::clip::clip;
use crate::take::{TakeFrom, convert, convert_owned};
use crate::value::InPlace;
use crate::visit::Structure;
use crate::{AssignError, AssignFrom};

/// The C struct of a message; one that is given away gives its memory where it can.
///
/// # Panics
/// If a member exceeds its bound, which containers with a bound never do.
pub fn native<T, R>(message: Cow<'_, T>) -> R
where
    T: Clone,
    R: InPlace + AssignFrom<T> + TakeFrom<T>,
{
    fits(match message {
        Cow::Borrowed(message) => convert(message),
        Cow::Owned(message) => convert_owned(message),
    })
}

/// The message of a C struct without bounds, which gives its memory where it can.
///
/// # Panics
/// If a member exceeds its bound. Use [`idiomatic_clipped`] if there are any.
pub fn idiomatic<R, T>(message: R) -> T
where
    T: InPlace + TakeFrom<R>,
{
    fits(convert_owned(message))
}

/// As [`idiomatic`], after cutting what exceeds its bound, which the middleware lets pass.
pub fn idiomatic_clipped<R, T>(mut message: R) -> T
where
    R: Structure,
    T: InPlace + TakeFrom<R>,
{
    clip(&mut message);
    fits(convert_owned(message))
}

/// The message, which fits because source and target have the same bounds.
fn fits<T>(converted: Result<T, AssignError>) -> T {
    converted.unwrap_or_else(|error| panic!("a message does not fit its own type: {error}"))
}
