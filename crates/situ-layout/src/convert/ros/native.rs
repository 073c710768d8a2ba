//! Conversions that the crates for rclrs call, between the program's message and the middleware's C struct.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use super::clip::clip_or_empty;
use crate::convert::assign::{AssignError, AssignFrom};
use crate::convert::take::{TakeFrom, convert, convert_owned};
use crate::storage::ros::tail::SEQUENCES_HAVE_FLAGS;
use crate::value::in_place::InPlace;
use crate::value::traits::Structure;

/// Converts a message to its C struct. An owned message hands over its memory where possible.
///
/// # Panics
/// If a member exceeds its bound. Containers with a bound never do.
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

/// Converts a C struct without bounds to its message. The struct hands over its memory where possible.
///
/// A member whose elements are in a [`OpaqueBuffer`](crate::OpaqueBuffer) is empty in the message, because
/// the caller cannot receive an error. A warning goes to standard error, once for each type of message.
///
/// # Panics
/// If a member exceeds its bound. Use [`idiomatic_clipped`] if the type has bounds.
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

/// As [`idiomatic`], but first shortens members to their bounds, which the middleware does not enforce.
pub fn idiomatic_clipped<R, T>(mut message: R) -> T
where
    R: Structure,
    T: InPlace + TakeFrom<R>,
{
    clip_and_tell(&mut message);
    fits(convert_owned(message))
}

/// Shortens members to their bounds, and empties members that are buffers.
fn clip_and_tell<R: Structure>(message: &mut R) {
    static TOLD: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    // Each failure has released one buffer.
    while let Err(error) = clip_or_empty(message) {
        let name = R::INFO.name;
        if TOLD.lock().unwrap_or_else(PoisonError::into_inner).insert(name) {
            // A program without standard error continues.
            let _ = writeln!(
                std::io::stderr(),
                "situ: a message {name} came without some of its elements. {error}. Or subscribe to the C struct, the type in \
                 module `rmw`, which keeps the buffer. This is said once."
            );
        }
    }
}

/// Returns the message. It fits because source and target have the same bounds.
fn fits<T>(converted: Result<T, AssignError>) -> T {
    converted.unwrap_or_else(|error| panic!("a message does not fit its own type: {error}"))
}
