//! Decides which granules of a region a block takes: by a bitmap with caches by default, or by a user's
//! [`Allocator`].

use std::fmt;

use crate::memory::space::Space;

/// The allocator of a region.
#[derive(Clone, Copy, Default)]
pub enum Allocation {
    /// Reuses a freed block of up to 128 bytes at once and keeps up to seven of each size. A larger block
    /// takes the first run of free granules that is long enough.
    #[default]
    Bitmap,
    /// A user's allocator, such as [`Monotonic`].
    By(&'static dyn Allocator),
}

impl PartialEq for Allocation {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Bitmap, Self::Bitmap) => true,
            // Allocators have no state, so two with the same name behave alike.
            (Self::By(a), Self::By(b)) => a.name() == b.name(),
            _ => false,
        }
    }
}

impl Eq for Allocation {}

impl fmt::Debug for Allocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bitmap => "Bitmap",
            Self::By(allocator) => allocator.name(),
        })
    }
}

/// Decides which granules, of 16 bytes each, a block takes. An allocator has no state of its own. It reads
/// the [`Granules`], of which only free ones can be taken, so a wrong allocator finds no room or wastes it.
/// An allocator that returned granules of another region could corrupt values, but not memory, because all
/// access is checked.
pub trait Allocator: Sync {
    /// The name of the allocator.
    fn name(&self) -> &'static str;

    /// Takes `count` consecutive granules by [`Granules::take`] or [`Granules::grow`], and returns them.
    fn take(&self, granules: &mut Granules<'_>, count: u32) -> Option<Taken>;

    /// Called when granules are no longer in use. They are free at that time, and the image may have become
    /// shorter.
    fn freed(&self, _granules: &mut Granules<'_>, _from: u32, _count: u32) {}
}

/// The granules of a region's image, with their state.
pub struct Granules<'a>(pub(crate) &'a mut Space);

/// Granules that an allocator has taken and returns.
#[derive(Debug, PartialEq, Eq)]
pub struct Taken {
    pub(crate) from: u32,
    pub(crate) count: u32,
    pub(crate) fresh: bool,
}

impl Granules<'_> {
    /// The number of granules of the image.
    pub fn end(&self) -> u32 {
        self.0.end()
    }

    /// The first free granule from `from` on.
    pub fn next_free(&self, from: u32) -> u32 {
        self.0.next(from, false, self.end())
    }

    /// The first granule in use from `from` on; the end if there is none.
    pub fn next_used(&self, from: u32) -> u32 {
        self.0.next(from, true, self.end())
    }

    /// Takes `count` granules from `from` on, if all of them are free and lie within the image.
    pub fn take(&mut self, from: u32, count: u32) -> Option<Taken> {
        let to = from.checked_add(count).filter(|to| *to <= self.end())?;
        (count != 0 && self.next_used(from) >= to).then(|| {
            self.0.take_at(from, count);
            Taken { from, count, fresh: false }
        })
    }

    /// Makes the image longer by `count` granules and takes them; `None` if the limit does not allow it.
    pub fn grow(&mut self, count: u32) -> Option<Taken> {
        let from = self.end();
        self.0.extend_end(count).ok()?;
        Some(Taken { from, count, fresh: true })
    }
}

/// Takes each block after the last one and reuses no freed block. This needs the fewest instructions and
/// suits regions that are built, sent and discarded. Freed memory at the end is reused; compaction recovers
/// the rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Monotonic;

impl Allocator for Monotonic {
    fn name(&self) -> &'static str {
        "Monotonic"
    }
    fn take(&self, granules: &mut Granules<'_>, count: u32) -> Option<Taken> {
        granules.grow(count)
    }
}
