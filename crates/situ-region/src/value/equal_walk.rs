//! A comparison in progress of two values, which may lie in two regions.
//!
//! A comparison follows links by recursion for some levels, and compares deeper ones later, so chains have
//! any length. It remembers which shared values it has compared with each other, as classes of equal values:
//! each shared value is compared about once, however many links lead to it.

use std::collections::HashMap;

use crate::memory::later::{Later, Place};

/// The targets of two links of one type, in a comparison.
pub(crate) trait EqualBehind {
    /// Whether the targets are equal. What lies deeper may be compared later.
    fn equals(equal: &mut Equal<'_, '_>, place: Place) -> bool;
}

/// A comparison that comes later.
type Visit = fn(&mut Equal<'_, '_>, Place) -> bool;

/// A comparison in progress, of values of two images.
pub struct Equal<'a, 'b> {
    a: &'a [u8],
    b: &'b [u8],
    later: Later<Visit>,
    /// For shared values, those of `a` at even numbers: another one of the same class.
    classes: HashMap<u64, u64>,
    /// The number of links and containers still to compare. Valid images have not more than this.
    left: usize,
}

impl<'a, 'b> Equal<'a, 'b> {
    pub(crate) fn a(&self) -> &'a [u8] {
        self.a
    }
    pub(crate) fn b(&self) -> &'b [u8] {
        self.b
    }

    pub(crate) fn new(a: &'a [u8], b: &'b [u8]) -> Self {
        let left = a.len() + b.len();
        Self { a, b, later: Later::default(), classes: HashMap::new(), left }
    }

    /// Makes the comparisons that were left for later.
    pub(crate) fn rest(&mut self) -> bool {
        while let Some((visit, place)) = self.later.next() {
            if !visit(self, place) {
                return false;
            }
        }
        true
    }

    /// Compares the targets of two links: now, or after everything else.
    pub(crate) fn behind<B: EqualBehind>(&mut self, place: Place) -> bool {
        let Some(left) = self.left.checked_sub(1) else {
            // Another process changes an image.
            return false;
        };
        self.left = left;
        if !self.later.enter(B::equals, place) {
            return true;
        }
        let equals = B::equals(self, place);
        self.later.leave();
        equals
    }

    /// Whether two shared values are known to be equal, if all comparisons succeed. They are from now on.
    pub(crate) fn are_joined(&mut self, a: u32, b: u32) -> bool {
        let (a, b) = (self.class(u64::from(a) << 1), self.class(u64::from(b) << 1 | 1));
        self.classes.insert(a, b);
        a == b
    }

    /// The value that stands for the class of a shared value.
    fn class(&mut self, of: u64) -> u64 {
        let mut last = of;
        while let Some(next) = self.classes.get(&last).filter(|next| **next != last) {
            last = *next;
        }
        // Shortens the path for the next time.
        let mut at = of;
        while let Some(next) = self.classes.insert(at, last).filter(|next| *next != last && *next != at) {
            at = next;
        }
        last
    }
}
