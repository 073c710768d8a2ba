//! What the crates for rclrs call: between the message that a program holds and the C struct that the middleware takes.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use super::clip::clip_or_empty;
use super::tail::SEQUENCES_HAVE_FLAGS;
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
/// A member whose elements are in a [`RosidlBuffer`](super::RosidlBuffer) is empty in it, because nobody could be given an
/// error; standard error is told so, once for each type of message.
///
/// # Panics
/// If a member exceeds its bound. Use [`idiomatic_clipped`] if there are any.
pub fn idiomatic<R, T>(mut message: R) -> T
where
    R: Structure,
    T: InPlace + TakeFrom<R>,
{
    if SEQUENCES_HAVE_FLAGS {
        clip_and_tell(&mut message);
    }
    fits(convert_owned(message))
}

/// As [`idiomatic`], after cutting what exceeds its bound, which the middleware lets pass.
pub fn idiomatic_clipped<R, T>(mut message: R) -> T
where
    R: Structure,
    T: InPlace + TakeFrom<R>,
{
    clip_and_tell(&mut message);
    fits(convert_owned(message))
}

/// Cuts what exceeds its bound, and empties what lies in buffers.
fn clip_and_tell<R: Structure>(message: &mut R) {
    static TOLD: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    // Each time that it fails, it has let one buffer go.
    while let Err(error) = clip_or_empty(message) {
        let name = R::INFO.name;
        if TOLD.lock().unwrap_or_else(PoisonError::into_inner).insert(name) {
            // A program without standard error goes on as well.
            let _ = writeln!(
                std::io::stderr(),
                "situ: a message {name} came without some of its elements. {error}. Or subscribe to the C struct, the type in \
                 module `rmw`, which keeps the buffer. This is said once."
            );
        }
    }
}

/// The message, which fits because source and target have the same bounds.
fn fits<T>(converted: Result<T, AssignError>) -> T {
    converted.unwrap_or_else(|error| panic!("a message does not fit its own type: {error}"))
}
