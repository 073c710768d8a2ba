//! `Debug` and `PartialEq` of regions and of values in packed images.

use std::fmt::{self, Debug, Formatter};

use crate::memory::granule::{MAX_SIZE, ROOT};
use crate::memory::options::Options;
use crate::packed::handle::Packed;
use crate::packed::unpack::Unpacker;
use crate::region::Region;
use crate::value::stored::Stored;

/// The value, as for [`Ref`](crate::Ref).
impl<T: Stored, B> Debug for Region<T, B> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.root().fmt(f)
    }
}

/// As for [`Ref`](crate::Ref). Makes a copy of the value on the heap for this.
impl<T: Stored> Debug for Packed<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.unpacked() {
            Some(copy) => copy.fmt(f),
            None => f.write_str(".."),
        }
    }
}

impl<T: Stored> Packed<'_, T> {
    /// A copy of the value in a region. `None` if that would be too large.
    fn unpacked(self) -> Option<Region<T>> {
        let mut copy = Region::<T>::with_options(Options { limit: MAX_SIZE, ..Options::default() });
        let mut root = copy.root_mut();
        let unpacked = Unpacker::new(self.image(), None).whole::<T>(root.memory(), ROOT, self.at());
        unpacked.is_ok().then_some(copy)
    }
}

/// Whether the values are equal, as for [`Ref`](crate::Ref).
impl<T: Stored, A, B> PartialEq<Region<T, B>> for Region<T, A> {
    fn eq(&self, other: &Region<T, B>) -> bool {
        self.root() == other.root()
    }
}

/// As for [`Ref`](crate::Ref). Makes copies of both values on the heap for this.
impl<'b, T: Stored> PartialEq<Packed<'b, T>> for Packed<'_, T> {
    fn eq(&self, other: &Packed<'b, T>) -> bool {
        match (self.unpacked(), other.unpacked()) {
            (Some(a), Some(b)) => a == b,
            _ => false,
        }
    }
}
