//! Compaction in place: blocks move down over the gaps between them, in their order, and all links are
//! updated.
//!
//! There are three passes. The first walk over the value trims capacities. The second walk sets each link to
//! its future target; the distance of each move is counted from the bitmap. The last pass moves the bytes.
//! There is no second copy of the image.

use crate::image::versions::TABLE_AT;
use crate::memory::blocks::Memory;
use crate::memory::granule::{ROOT, u32_at};
use crate::memory::slide::{Places, Slide};
use crate::value::stored::Stored;

/// The number of parts of an image whose future places are counted on the stack. In an image of up to a
/// megabyte, a part is one word of the bitmap.
const PARTS: usize = 1024;

/// Compacts a region that holds a `T`.
pub(crate) fn compact<T: Stored>(memory: &mut Memory) {
    Slide::new(memory, None).whole::<T>(ROOT);
    memory.flush_caches();
    let (mut few, mut many) = ([0; PARTS], Vec::new());
    let words = memory.bits().len();
    // Larger images get a part for each word, if there is memory for it: 1/256 of the image.
    let before = if words > PARTS && many.try_reserve_exact(words).is_ok() {
        many.resize(words, 0);
        &mut many[..]
    } else {
        &mut few[..]
    };
    let places = Places::count(memory.bits(), before);
    if !T::facts().table.is_empty() {
        let table = places.of(memory.bits(), u32_at(memory.bytes(), TABLE_AT));
        memory.set_u32(TABLE_AT, table);
    }
    Slide::new(memory, Some(places)).whole::<T>(ROOT);
    memory.close_gaps();
}
