//! What a walk over a region visits later: the targets at the ends of long chains of links.
//!
//! A walk follows links by recursion, up to [`LEVELS`] of them in a chain. It then notes the target of the
//! next link, and visits it after everything else, with a chain that begins there. A chain may therefore have
//! any length. Check and copy visit what they noted in the order in which they noted it, because the places
//! of blocks in canonical images follow from this order.

use std::collections::VecDeque;

/// The number of links of a chain that a walk follows by recursion.
pub(crate) const LEVELS: u32 = 64;

/// Where something lies behind a link, and how much: offsets and counts.
pub(crate) type Place = [u32; 3];

/// What a walk of copies or compactions visits later.
pub(crate) struct Later<F> {
    depth: u32,
    noted: VecDeque<(F, Place)>,
}

impl<F> Default for Later<F> {
    fn default() -> Self {
        Self { depth: 0, noted: VecDeque::new() }
    }
}

impl<F> Later<F> {
    /// Begins one level more. False if `visit` was noted instead.
    #[inline]
    pub(crate) fn enter(&mut self, visit: F, place: Place) -> bool {
        if self.depth < LEVELS {
            self.depth += 1;
            return true;
        }
        self.note(visit, place)
    }

    /// Notes a visit. Without memory for this, the walk goes on by recursion.
    #[cold]
    #[inline(never)]
    fn note(&mut self, visit: F, place: Place) -> bool {
        if self.noted.try_reserve(1).is_err() {
            self.depth += 1;
            return true;
        }
        self.noted.push_back((visit, place));
        false
    }

    #[inline]
    pub(crate) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Whether a walk is at its beginning, and has noted something.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.depth == 0 && !self.noted.is_empty()
    }

    /// The next visit.
    pub(crate) fn next(&mut self) -> Option<(F, Place)> {
        let next = self.noted.pop_front();
        if self.noted.is_empty() {
            self.noted = VecDeque::new();
        }
        next
    }
}
