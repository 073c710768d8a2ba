//! An allocation strategy of the application: memory in blocks of one size, as DMA engines like it.
//!
//! A message takes the first run of free blocks that is long enough. Blocks begin at pages, so a device that
//! translates addresses by the page needs as few entries as possible for each message.

use std::ops::Range;

use situ::memory::{Allocator, PoolSpace, Strategy};

/// A multiple of the page, and of every unit.
pub const BLOCK: u64 = 64 << 10;

/// Which blocks are in use. The list is private memory: nothing is written to the memory that it divides.
#[derive(Debug)]
pub struct Blocks {
    used: Vec<bool>,
}

impl Blocks {
    /// The strategy for a publisher: each of its pools gets an allocator of its own.
    pub fn strategy() -> Strategy {
        Strategy::own(|space: &PoolSpace| Self { used: vec![false; (space.bytes / BLOCK) as usize] })
    }
}

impl Allocator for Blocks {
    fn allocate(&mut self, size: u64) -> Option<Range<u64>> {
        let count = size.div_ceil(BLOCK) as usize;
        let first = self.used.windows(count).position(|run| run.iter().all(|used| !used))?;
        self.used[first..first + count].fill(true);
        Some(first as u64 * BLOCK..(first + count) as u64 * BLOCK)
    }

    fn deallocate(&mut self, range: Range<u64>) {
        self.used[(range.start / BLOCK) as usize..(range.end / BLOCK) as usize].fill(false);
    }
}
