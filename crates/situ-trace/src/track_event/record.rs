//! Records slices, instants and the values of counters on the calling thread.

use super::category::Category;
use super::counter::Counter;
use super::event::{Argument, Event, Kind};
use super::names::Name;
use super::process::now_ns;
use super::thread;

/// A slice that ends when this is dropped. Created by [`slice!`](crate::slice).
#[derive(Debug)]
#[must_use = "the slice ends when this is dropped; bind it to a name such as `_slice`"]
pub struct Slice {
    is_open: bool,
}

impl Slice {
    /// Returns a slice of a category that is off.
    #[inline(always)]
    pub const fn none() -> Self {
        Self { is_open: false }
    }

    /// Begins a slice.
    #[inline]
    pub fn begin(
        category: &'static Category,
        name: &'static Name,
        flows: &[u64],
        last_flows: &[u64],
        arguments: &[Argument<'_>],
    ) -> Self {
        write(Kind::Begin, category, name, flows, last_flows, arguments);
        Self { is_open: true }
    }

    /// Writes an instant.
    #[inline]
    pub fn instant(
        category: &'static Category,
        name: &'static Name,
        flows: &[u64],
        last_flows: &[u64],
        arguments: &[Argument<'_>],
    ) {
        write(Kind::Instant, category, name, flows, last_flows, arguments);
    }
}

fn write(
    kind: Kind,
    category: &'static Category,
    name: &'static Name,
    flows: &[u64],
    last_flows: &[u64],
    arguments: &[Argument<'_>],
) {
    let (at_ns, category, name) = (now_ns(), Some(category), Some(name));
    thread::write(&Event { kind, at_ns, category, name, flows, last_flows, arguments, log: None });
}

impl Drop for Slice {
    #[inline(always)]
    fn drop(&mut self) {
        if self.is_open {
            end();
        }
    }
}

#[inline(never)]
fn end() {
    thread::write(&Event::end(now_ns()));
}

impl Counter {
    /// Sets the counter's value from now on.
    #[inline(always)]
    pub fn set(&'static self, value: f64) {
        if self.category.is_enabled() {
            thread::count(self, now_ns(), value);
        }
    }
}
