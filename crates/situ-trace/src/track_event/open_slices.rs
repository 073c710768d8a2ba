//! The open slices of a thread: which ends are missing when a slice ends before those within it.

/// The number of open slices whose numbers a thread keeps.
const MAX_KEPT: usize = 64;

/// A slice of a thread's track, for its end. It names the thread and the slice among the thread's slices, so
/// it ends no other slice, also after its own has ended. Never 0 as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SliceToken(u64);

impl SliceToken {
    fn new(thread: u32, slice: u32) -> Self {
        Self(u64::from(thread) << 32 | u64::from(slice))
    }

    /// Returns the slice's number in its thread. `None` for another thread's.
    fn slice(self, thread: u32) -> Option<u32> {
        ((self.0 >> 32) as u32 == thread).then_some(self.0 as u32)
    }

    /// Returns it as a number, for C.
    pub fn into_raw(self) -> u64 {
        self.0
    }

    /// Restores a token. A number that was none ends nothing, or a slice of the calling thread.
    pub fn from_raw(number: u64) -> Self {
        Self(number)
    }
}

/// The numbers of a thread's open slices, the outermost first. A later slice has a greater number (until 2^32
/// have begun).
#[derive(Debug)]
pub(super) struct OpenSlices {
    numbers: [u32; MAX_KEPT],
    /// The number of open slices. Those beyond `MAX_KEPT` are only counted.
    depth: usize,
    last: u32,
}

impl Default for OpenSlices {
    fn default() -> Self {
        Self { numbers: [0; MAX_KEPT], depth: 0, last: 0 }
    }
}

impl OpenSlices {
    #[inline]
    pub(super) fn begin(&mut self) {
        self.last = self.last.wrapping_add(1).max(1);
        if let Some(place) = self.numbers.get_mut(self.depth) {
            *place = self.last;
        }
        self.depth += 1;
    }

    /// The innermost slice ends.
    #[inline]
    pub(super) fn end(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// All slices are forgotten. Their tokens are not valid any more.
    pub(super) fn clear(&mut self) {
        self.depth = 0;
    }

    /// Returns the token of the slice that began last.
    #[inline]
    pub(super) fn last(&self, thread: u32) -> SliceToken {
        SliceToken::new(thread, self.last)
    }

    /// Returns the number of slices that end when the token's slice ends: it and those within it. 0 if it is
    /// not open.
    #[inline]
    pub(super) fn down_to(&self, token: SliceToken, thread: u32) -> usize {
        let Some(slice) = token.slice(thread) else { return 0 };
        let kept = self.depth.min(MAX_KEPT);
        match self.numbers[..kept].iter().rposition(|number| *number == slice) {
            Some(place) => self.depth - place,
            // The innermost of those that are only counted.
            None => usize::from(self.depth > kept && slice == self.last),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_ends_with_those_within_it_and_only_once() {
        let mut open = OpenSlices::default();
        let begin = |open: &mut OpenSlices| {
            open.begin();
            open.last(3)
        };
        let (outer, inner) = (begin(&mut open), begin(&mut open));
        assert_eq!([outer, inner].map(|slice| open.down_to(slice, 3)), [2, 1]);
        assert_eq!(open.down_to(inner, 4), 0, "of another thread");
        assert_eq!(SliceToken::from_raw(outer.into_raw()), outer);
        assert_eq!(open.down_to(SliceToken::from_raw(0), 0), 0);
        open.end();
        open.end();
        // Others have taken their places.
        let (other, another) = (begin(&mut open), begin(&mut open));
        assert_eq!([outer, inner, other, another].map(|slice| open.down_to(slice, 3)), [0, 0, 2, 1]);
        open.clear();
        assert_eq!([other, another].map(|slice| open.down_to(slice, 3)), [0, 0]);
    }

    #[test]
    fn slices_beyond_those_that_are_kept_end_one_by_one() {
        let mut open = OpenSlices::default();
        open.begin();
        let outermost = open.last(0);
        (0..2 * MAX_KEPT).for_each(|_| open.begin());
        assert_eq!(open.down_to(open.last(0), 0), 1);
        assert_eq!(open.down_to(outermost, 0), 2 * MAX_KEPT + 1);
        (0..2 * MAX_KEPT).for_each(|_| open.end());
        assert_eq!(open.down_to(outermost, 0), 1);
    }
}
