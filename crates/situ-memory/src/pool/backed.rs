//! Which pages of a pool have memory, for strategies that use memory in any order.

use super::format::PAGE;
use super::table::Table;
use super::{AllocateError, GRANULE};

/// Granules per page.
const GRANULES: u32 = (PAGE / GRANULE) as u32;

/// Ranges in granules, of whole pages, that have memory: in order, and no two touch.
#[derive(Default)]
pub(super) struct Backed(Vec<(u32, u32)>);

impl Backed {
    /// Makes sure that a range in granules has memory. Only pages that had none call the system.
    #[inline]
    pub(super) fn ensure(&mut self, table: &mut Table, offset: u32, size: u32) -> Result<(), AllocateError> {
        let (first, end) = pages(offset, offset + size);
        let at = self.0.partition_point(|range| range.1 < end);
        if self.0.get(at).is_some_and(|range| range.0 <= first && end <= range.1) {
            return Ok(());
        }
        self.add(table, first, end)
    }

    #[cold]
    fn add(&mut self, table: &mut Table, first: u32, end: u32) -> Result<(), AllocateError> {
        for (from, to) in gaps((first, end), &self.0) {
            table.back(from, to - from)?;
            table.statistics.bytes += bytes(to - from);
            self.note(from, to);
        }
        Ok(())
    }

    /// Adds a range that had no memory.
    fn note(&mut self, from: u32, to: u32) {
        let at = self.0.partition_point(|range| range.1 < from);
        let touched = self.0[at..].iter().take_while(|range| range.0 <= to).count();
        let joined = self.0[at..at + touched]
            .iter()
            .fold((from, to), |(from, to), range| (from.min(range.0), to.max(range.1)));
        self.0.splice(at..at + touched, [joined]);
    }

    /// Gives back the memory of all pages without a byte of `used`, which are ranges in granules, in order.
    /// Returns how many bytes that are.
    pub(super) fn give_back(&mut self, table: &mut Table, used: impl Iterator<Item = (u32, u32)>) -> u64 {
        if table.is_registered() {
            return 0;
        }
        let mut kept = Self::default();
        used.for_each(|(begin, end)| {
            let (first, end) = pages(begin, end);
            kept.note(first, end);
        });
        let mut given = 0;
        for range in &self.0 {
            for (from, to) in gaps(*range, &kept.0) {
                table.unback(from, to - from);
                given += bytes(to - from);
            }
        }
        table.statistics.bytes -= given;
        *self = kept;
        given
    }
}

/// The parts of a range that are in none of `others`, which are in order.
fn gaps((first, end): (u32, u32), others: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let begin = others.partition_point(|range| range.1 <= first);
    let mut gaps = Vec::new();
    let mut at = first;
    for (from, to) in others[begin..].iter().take_while(|range| range.0 < end) {
        if at < *from {
            gaps.push((at, *from));
        }
        at = *to;
    }
    if at < end {
        gaps.push((at, end));
    }
    gaps
}

/// A range with the rest of its first and last page.
fn pages(begin: u32, end: u32) -> (u32, u32) {
    (begin / GRANULES * GRANULES, end.next_multiple_of(GRANULES))
}

fn bytes(granules: u32) -> u64 {
    u64::from(granules) * GRANULE as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_what_no_other_range_has() {
        assert_eq!(gaps((10, 20), &[]), [(10, 20)]);
        assert_eq!(gaps((10, 20), &[(0, 10), (20, 30)]), [(10, 20)]);
        assert_eq!(gaps((10, 20), &[(0, 12), (14, 15), (18, 40)]), [(12, 14), (15, 18)]);
        assert_eq!(gaps((10, 20), &[(0, 40)]), []);
    }

    #[test]
    fn ranges_that_touch_become_one() {
        let mut backed = Backed::default();
        for (from, to) in [(64, 128), (192, 256), (0, 64), (512, 576), (128, 192)] {
            backed.note(from, to);
        }
        assert_eq!(backed.0, [(0, 256), (512, 576)]);
        backed.note(256, 640);
        assert_eq!(backed.0, [(0, 640)]);
    }
}
