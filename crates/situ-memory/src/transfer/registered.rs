//! Which pages of a mapping of host memory are registered with a device's driver: each once, slot by slot,
//! until the mapping goes.
//!
//! Pools of the host are far larger than the part in use, so they cannot be registered as a whole: the driver
//! would find memory for all of it. But slots are reused, so after some messages all copies are from and to
//! registered pages.

use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::domain::traits::{Domain, DomainKind, Memory};

const PAGE: u64 = 4096;
/// From this size on, registering the pages of a copy pays.
const LEAST: u64 = 64 << 10;
/// After this many refusals no more pages are offered to a domain: drivers and systems have limits.
const MAX_REFUSALS: u32 = 4;

/// The registered pages of one mapping. To be dropped after the mapping was given up, so that it can be
/// unmapped at once.
#[derive(Default)]
pub struct Registered {
    /// In bytes of the mapping, whole pages; the ranges of one kind do not overlap.
    ranges: Vec<(DomainKind, Range<u64>)>,
    registrations: Vec<Box<dyn Any + Send>>,
    refusals: u32,
}

impl fmt::Debug for Registered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registered").field("ranges", &self.ranges).finish_non_exhaustive()
    }
}

impl Registered {
    /// Registers the pages of a slot that are not registered yet, if that helps streams of `domain` to copy
    /// `len` bytes from or to it.
    ///
    /// The caller holds the slot, and `note` writes that it is registered, if that is possible:
    /// [`SlotControl::note_registered`](crate::SlotControl::note_registered). The caller also knows that the
    /// slot's place, an offset and a length, lies in the memory. Pages that are registered for one device are
    /// registered for all devices of its kind.
    pub fn add(
        &mut self,
        domain: &dyn Domain,
        memory: &Arc<dyn Memory>,
        len: u64,
        (note, (offset, size)): (&dyn Fn() -> bool, (u64, u64)),
    ) {
        if len < LEAST
            || self.refusals >= MAX_REFUSALS
            || !matches!(memory.host(0, 0), Ok(Some(_)))
            || !domain.registers()
        {
            return;
        }
        // Mappings are whole pages.
        let pages = offset / PAGE * PAGE..(offset + size).next_multiple_of(PAGE);
        let kind = domain.id().kind;
        let taken = self.ranges.iter().filter(|(of, _)| *of == kind).map(|(_, pages)| pages);
        for pages in without(pages, taken) {
            match domain.register(memory, pages.start, pages.end - pages.start) {
                // While the slot is held, its pages stay the file's, and from the note on for good. A process
                // that dies in between uses them no more.
                Ok(registration) if note() => {
                    self.registrations.push(registration);
                    self.ranges.push((kind, pages));
                }
                // It is copied with a detour.
                Ok(_) | Err(_) => self.refusals += 1,
            }
        }
    }
}

/// The parts of a range that lie in none of `taken`.
fn without<'r>(range: Range<u64>, taken: impl IntoIterator<Item = &'r Range<u64>>) -> Vec<Range<u64>> {
    let mut left = vec![range];
    for taken in taken {
        left = left
            .into_iter()
            .flat_map(|part| {
                let before = part.start..part.end.min(taken.start);
                let after = part.start.max(taken.end)..part.end;
                [before, after].into_iter().filter(|part| part.start < part.end)
            })
            .collect();
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_page_is_registered_twice() {
        let left = |taken: &[(u64, u64)]| {
            let taken: Vec<_> = taken.iter().map(|(start, end)| *start..*end).collect();
            without(10..20, &taken).into_iter().map(|part| (part.start, part.end)).collect::<Vec<_>>()
        };
        assert_eq!(left(&[]), [(10, 20)]);
        assert_eq!(left(&[(0, 10), (20, 30)]), [(10, 20)]);
        assert_eq!(left(&[(0, 12), (15, 16)]), [(12, 15), (16, 20)]);
        assert_eq!(left(&[(15, 40), (0, 11)]), [(11, 15)]);
        assert_eq!(left(&[(5, 25)]), []);
        assert_eq!(left(&[(10, 15), (15, 20)]), []);
    }
}
