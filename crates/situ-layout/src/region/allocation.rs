//! Who decides which granules of a region a block takes: a bitmap behind caches by default, or an [`Allocator`] of one's own.

use std::fmt;

use super::memory::{GRANULE, Memory};

/// Which allocator a region has.
#[derive(Clone, Copy, Default)]
pub enum Allocation {
    /// Freed blocks of up to 128 bytes are used again at once, seven of each size; larger ones by the first run of free granules
    /// that is long enough.
    #[default]
    Bitmap,
    /// Another one, such as [`Monotonic`].
    By(&'static dyn Allocator),
}

impl PartialEq for Allocation {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Bitmap, Self::Bitmap) => true,
            // Allocators hold nothing, so that two of one name do the same.
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

/// Decides which granules, of 16 bytes, a block takes. It holds nothing itself: all it knows are the [`Granules`], of which one can
/// be taken only while it is free. So a wrong allocator finds no room, or wastes it. (One that returned what it took from another
/// region could spoil values, but not memory: all access is checked.)
pub trait Allocator: Sync {
    /// What it is called.
    fn name(&self) -> &'static str;

    /// Takes `count` granules one behind the other, by [`Granules::take`] or [`Granules::grow`]; the first of them.
    fn take(&self, granules: &mut Granules<'_>, count: u32) -> Option<Taken>;

    /// Granules are no longer in use. They are free when this is called, and the image may have become shorter.
    fn freed(&self, _granules: &mut Granules<'_>, _from: u32, _count: u32) {}
}

/// The granules of a region: those of the image, and which of them are in use.
pub struct Granules<'a>(pub(super) &'a mut Memory);

/// Granules that were taken, to be returned.
#[derive(Debug, PartialEq, Eq)]
pub struct Taken {
    pub(super) from: u32,
    pub(super) count: u32,
    pub(super) fresh: bool,
}

impl Granules<'_> {
    /// How many granules the image has.
    pub fn end(&self) -> u32 {
        self.0.size() / GRANULE
    }

    /// The first free granule from `from` on.
    pub fn next_free(&self, from: u32) -> u32 {
        self.0.next(from, false, self.end())
    }

    /// The first granule in use from `from` on; the end if there is none.
    pub fn next_used(&self, from: u32) -> u32 {
        self.0.next(from, true, self.end())
    }

    /// Takes `count` granules from `from` on, if they are all free, within the image.
    pub fn take(&mut self, from: u32, count: u32) -> Option<Taken> {
        let to = from.checked_add(count).filter(|to| *to <= self.end())?;
        (count != 0 && self.next_used(from) >= to).then(|| {
            self.0.take_at(from, count);
            Taken { from, count, fresh: false }
        })
    }

    /// Makes the image longer by `count` granules, and takes them. None if it may not become so long.
    pub fn grow(&mut self, count: u32) -> Option<Taken> {
        let from = self.end();
        self.0.extend_end(count).ok()?;
        Some(Taken { from, count, fresh: true })
    }
}

/// Takes each block behind the last one, and none that was freed: the fewest instructions, for regions that are built, sent and
/// thrown away. Freed memory at the end is used again; the rest comes back when the region is compacted.
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
