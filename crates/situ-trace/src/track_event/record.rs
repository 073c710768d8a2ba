//! Records slices, instants and the values of counters on the calling thread.

use super::category::Category;
use super::counter::{Counter, CounterTrack, Unit};
use super::event::Event;
use super::open_slices::SliceToken;
use super::process::now_ns;
use super::thread;
use super::track::Track;

impl SliceToken {
    /// Begins a slice of the calling thread. `None`: nothing is recorded, or the event has another track.
    #[inline]
    pub fn begin(event: &Event<'_>) -> Option<Self> {
        thread::begin(event)
    }

    /// Ends the slice, and the slices that began within it and have not ended. `at_ns` is the time, by
    /// [`now_ns`]; 0: now. Does nothing on another thread than the slice's: the slice then ends with the one
    /// around it.
    pub fn end(self, at_ns: u64) {
        thread::end(self, if at_ns == 0 { now_ns() } else { at_ns });
    }
}

/// What a slice ends.
#[derive(Debug, Clone, Copy)]
enum Open {
    /// Nothing: its category is off.
    Nothing,
    /// A slice of the thread that began it.
    OfThread(SliceToken),
    /// The innermost slice of the track with this number.
    OnTrack(u64),
}

/// A slice that ends when this is dropped, together with the slices that began within it. Created by
/// [`slice!`](crate::slice).
///
/// A slice with a track of its own (`track = `) may end in any thread. Any other one ends in the thread in
/// which it began: if another thread drops it, it ends with the slice around it.
#[derive(Debug)]
#[must_use = "the slice ends when this is dropped; bind it to a name such as `_slice`"]
pub struct Slice {
    open: Open,
}

impl Slice {
    /// Returns a slice of a category that is off.
    #[inline(always)]
    pub const fn none() -> Self {
        Self { open: Open::Nothing }
    }

    /// Begins a slice with an event of kind [`Begin`](crate::Kind::Begin).
    #[inline]
    pub fn begin(event: &Event<'_>) -> Self {
        let open = match event.track {
            None => SliceToken::begin(event).map(Open::OfThread),
            Some(track) => thread::begin_on(event, track).map(Open::OnTrack),
        };
        Self { open: open.unwrap_or(Open::Nothing) }
    }

    /// Ends the slice at a time by [`now_ns`](crate::now_ns).
    pub fn end_at(mut self, at_ns: u64) {
        end(std::mem::replace(&mut self.open, Open::Nothing), at_ns);
    }
}

impl Drop for Slice {
    #[inline(always)]
    fn drop(&mut self) {
        if !matches!(self.open, Open::Nothing) {
            end(self.open, 0);
        }
    }
}

#[inline(never)]
fn end(open: Open, at_ns: u64) {
    match open {
        Open::Nothing => {}
        Open::OfThread(token) => token.end(at_ns),
        Open::OnTrack(track) => thread::end_on(track, at_ns),
    }
}

impl Counter {
    /// Sets the counter's value from now on.
    #[inline(always)]
    pub fn set(&'static self, value: f64) {
        self.set_at(value, 0);
    }

    /// Sets the counter's value from a time on, by [`now_ns`](crate::now_ns); 0: now.
    #[inline(always)]
    pub fn set_at(&'static self, value: f64, at_ns: u64) {
        if self.category.is_enabled() {
            thread::count(self, if at_ns == 0 { now_ns() } else { at_ns }, value);
        }
    }
}

/// Writes the value of a counter with the name, the number and the parent of a track, from a time on, by
/// [`now_ns`](crate::now_ns); 0: now. Does nothing while the category is off. The name may be computed. The
/// macro [`counter!`](crate::counter) calls it.
pub fn write_count(category: &'static Category, track: &Track<'_>, unit: Unit, value: f64, at_ns: u64) {
    if category.is_enabled() {
        let at_ns = if at_ns == 0 { now_ns() } else { at_ns };
        thread::count_on(&CounterTrack { category, track, unit }, at_ns, value);
    }
}
