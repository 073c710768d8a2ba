//! Weak links in checks and copies. They decide neither the place of a block nor how long a value lives, so
//! both look at them when everything else is done.
//!
//! An *expired* block is what is left of a shared value to which only weak links lead: one granule of a live
//! image, with no links, the number of weak links, and zeros.

use std::any::TypeId;

use situ_layout::{Invalid, InvalidProblem};

use crate::error::invalid;
use crate::image::check::{Check, mark};
use crate::image::writer::{WeakLink, Writer};
use crate::memory::granule::{GRANULE, ROOT, u32_at};
use crate::memory::reached::{Met, MetWeak};

impl<const CANONICAL: bool> Check<'_, CANONICAL> {
    /// Notes the weak link at `at`, which leads to `to`. Its target is checked at the end.
    pub(crate) fn weak_link<T: 'static>(&mut self, at: u32, to: u32) -> Result<(), Invalid> {
        if self.walks {
            return Ok(());
        }
        if self.weak.try_reserve(1).is_err() {
            let bytes = (self.weak.len() as u64 + 1) * size_of::<MetWeak>() as u64;
            return invalid(at, InvalidProblem::NoMemory { bytes });
        }
        self.weak.push(MetWeak { at, to, of: TypeId::of::<T>() });
        Ok(())
    }

    /// Checks that each weak link leads to a shared value of its type or, in a live image, to an expired
    /// block.
    pub(crate) fn weak_links_lead_to_values(&mut self) -> Result<(), Invalid> {
        for MetWeak { at, to, of } in std::mem::take(&mut self.weak) {
            if !self.shared.contains_key(&to) {
                let weak_count = if CANONICAL { None } else { self.expired(at, to)? };
                let Some(weak_count) = weak_count else {
                    return invalid(at, InvalidProblem::WeakTarget { to });
                };
                let met = Met { of, links: 0, count: 0, weak: 0, weak_count, open: false };
                self.shared.insert(to, met);
            }
            if let Some(met) = self.shared.get_mut(&to) {
                if met.of != of {
                    return invalid(at, InvalidProblem::OtherShared { to });
                }
                met.weak += 1;
            }
        }
        Ok(())
    }

    /// Claims an expired block of a live image. Returns the number of weak links that it states; `None` if no
    /// such block is there.
    fn expired(&mut self, at: u32, to: u32) -> Result<Option<u32>, Invalid> {
        let size = self.image().len() as u32;
        if to < ROOT || size < GRANULE || to > size - GRANULE {
            return invalid(at, InvalidProblem::Outside { to: i64::from(to as i32), size });
        }
        if !to.is_multiple_of(GRANULE) {
            return invalid(at, InvalidProblem::Unaligned { to });
        }
        let block = &self.image()[to as usize..(to + GRANULE) as usize];
        let is_expired = u32_at(block, 0) == 0 && block[8..].iter().all(|byte| *byte == 0);
        let weak_count = u32_at(block, 4);
        Ok((is_expired && mark(self.bits, to / GRANULE, 1)).then_some(weak_count))
    }

    /// Checks the weak links, and that the numbers of links that shared values state equal those found.
    pub(crate) fn links_are_counted(&mut self) -> Result<(), Invalid> {
        self.weak_links_lead_to_values()?;
        // An image with more members has links that this program does not know.
        let differ = |count: u32, found: u32| count < found || (count > found && !self.newer());
        for (block, met) in &self.shared {
            if differ(met.count, met.links) {
                let problem = InvalidProblem::WrongLinks { count: met.count, found: met.links };
                return invalid(*block, problem);
            }
            if differ(met.weak_count, met.weak) {
                let problem = InvalidProblem::WrongWeakLinks { count: met.weak_count, found: met.weak };
                return invalid(*block, problem);
            }
        }
        Ok(())
    }
}

impl Writer<'_> {
    /// Writes the weak link at `at` to what has the place of the block `old`, now or when it has one. Without
    /// any, the link leads nowhere.
    pub(crate) fn weak_link(&mut self, old: u32, at: u32, is_counted: bool) {
        self.weak.push(WeakLink { at, old, is_counted });
    }

    /// Writes the weak links when all blocks have their places.
    pub(crate) fn place_weak_links(&mut self) {
        for WeakLink { at, old, is_counted } in std::mem::take(&mut self.weak) {
            let Some(new) = self.shared.get(&old).copied() else { continue };
            if is_counted {
                self.put_u32(at, new.wrapping_sub(at));
                self.count_link(new + 4);
            } else {
                self.put_packed_weak(at, new);
            }
        }
    }
}
