//! Weak links in packed images.

use crate::image::writer::Writer;
use crate::memory::blocks::Memory;
use crate::memory::granule::u32_at;
use crate::packed::unpack::Unpacker;

/// The link to a value that begins with this link. No other value begins so near.
const ITSELF: u32 = 1;

/// The place of the value to which the link at `at` leads, modulo 2^32.
#[inline]
pub(crate) fn target_of(image: &[u8], at: u32) -> Option<u32> {
    match u32_at(image, at) {
        0 => None,
        ITSELF => Some(at),
        link => Some(at.wrapping_add(link)),
    }
}

impl Writer<'_> {
    /// Writes the weak link at `at` to the value at `to`.
    pub(crate) fn put_packed_weak(&mut self, at: u32, to: u32) {
        self.put_u32(at, if at == to { ITSELF } else { to.wrapping_sub(at) });
    }
}

impl Unpacker<'_> {
    /// Sets the weak links of the region, when all values have their places.
    pub(crate) fn link_weak(&mut self, memory: &mut Memory) {
        for (at, value) in std::mem::take(&mut self.weak) {
            // The check found a value for each.
            let Some(block) = self.shared.get(&value).copied() else { continue };
            let weak = memory.u32(block + 4);
            memory.set_u32(block + 4, weak.wrapping_add(1));
            memory.set_u32(at, block.wrapping_sub(at));
        }
    }
}
