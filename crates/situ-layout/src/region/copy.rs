//! The canonical image of a value: a compacting copy, depth first, one cursor, all padding zero.

use super::memory::{in_granules, target, u32_at};
use super::stored::Stored;

/// Copies from an image into a canonical one, which begins as zeros and grows with the cursor.
pub struct Writer<'a> {
    from: &'a [u8],
    to: Vec<u8>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(from: &'a [u8], begin: u32) -> Self {
        Self { from, to: vec![0; begin as usize] }
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.to
    }

    /// Copies bytes.
    pub fn copy(&mut self, from: u32, to: u32, count: u32) {
        let (from, to, count) = (from as usize, to as usize, count as usize);
        self.to[to..to + count].copy_from_slice(&self.from[from..from + count]);
    }

    pub(super) fn image(&self) -> &'a [u8] {
        self.from
    }

    pub(super) fn put_u32(&mut self, at: u32, value: u32) {
        self.to[at as usize..at as usize + 4].copy_from_slice(&value.to_le_bytes());
    }

    pub(super) fn put_byte(&mut self, at: u32, value: u8) {
        self.to[at as usize] = value;
    }

    /// A container of 16 bytes, still without its link.
    pub(super) fn container(&mut self, at: u32, len: u32, cap: u32) {
        self.put_u32(at + 4, len);
        self.put_u32(at + 8, cap);
        self.put_u32(at + 12, at.wrapping_neg());
    }

    /// The next block, of `bytes`, to which the link at `at` leads.
    pub(super) fn place(&mut self, at: u32, bytes: u64) -> u32 {
        let block = self.to.len() as u32;
        self.to.resize(self.to.len() + in_granules(bytes) as usize, 0);
        self.put_u32(at, block.wrapping_sub(at));
        block
    }

    pub(super) fn elements<T: Stored>(&mut self, from: u32, to: u32, count: u32) {
        if T::DENSE {
            self.copy(from, to, count * T::SIZE);
        } else {
            for i in 0..count {
                T::write(self, from + i * T::SIZE, to + i * T::SIZE);
            }
        }
    }

    /// A vector of T, or what is made of one.
    pub(super) fn vector<T: Stored>(&mut self, from: u32, to: u32) {
        let len = u32_at(self.from, from + 4);
        self.container(to, len, len);
        if len != 0 {
            let block = self.place(to, u64::from(len) * u64::from(T::SIZE));
            self.elements::<T>(target(self.from, from), block, len);
        }
    }
}
