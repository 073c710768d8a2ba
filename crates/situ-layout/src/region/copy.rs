//! Writes the canonical image of a value: a compacting copy, depth first, with one cursor and zero padding.

use std::collections::HashMap;

use super::memory::{MemoryMut, in_granules, target, u32_at};
use super::place::Region;
use super::stored::Stored;
use super::versions::Versions;

/// Copies from an image into a canonical one. Data that does not fit is counted but not written, so the end
/// gives the needed size. Copying into an empty buffer measures.
pub struct Writer<'a> {
    pub(super) from: &'a [u8],
    pub(super) to: &'a mut [u8],
    pub(super) end: u32,
    /// The new places of the blocks of shared values.
    pub(super) shared: HashMap<u32, u32>,
    /// The versions, if the image has others than this program.
    pub(super) versions: Option<&'a Versions>,
}

impl<'a> Writer<'a> {
    /// Starts a copy whose first `begin` bytes are zero.
    pub(super) fn new(from: &'a [u8], to: &'a mut [u8], begin: u32) -> Self {
        let mut writer = Self { from, to, end: begin, shared: HashMap::new(), versions: None };
        writer.zero(0, begin);
        writer
    }

    /// The size of the image.
    pub(super) fn end(&self) -> u32 {
        self.end
    }

    /// Copies bytes.
    #[inline]
    pub fn copy(&mut self, from: u32, to: u32, count: u32) {
        let (from, to, count) = (from as usize, to as usize, count as usize);
        if let Some(to) = self.to.get_mut(to..to + count) {
            to.copy_from_slice(&self.from[from..from + count]);
        }
    }
    #[inline]
    pub(super) fn image(&self) -> &'a [u8] {
        self.from
    }
    #[inline]
    fn zero(&mut self, at: u32, count: u32) {
        if let Some(to) = self.to.get_mut(at as usize..at as usize + count as usize) {
            to.fill(0);
        }
    }

    #[inline]
    pub(super) fn put_u32(&mut self, at: u32, value: u32) {
        if let Some(to) = self.to.get_mut(at as usize..at as usize + 4) {
            to.copy_from_slice(&value.to_le_bytes());
        }
    }
    #[inline]
    pub(super) fn put_byte(&mut self, at: u32, value: u8) {
        if let Some(to) = self.to.get_mut(at as usize) {
            *to = value;
        }
    }
    #[inline]
    pub(super) fn put_bytes(&mut self, at: u32, bytes: &[u8]) {
        if let Some(to) = self.to.get_mut(at as usize..at as usize + bytes.len()) {
            to.copy_from_slice(bytes);
        }
    }

    /// Counts one more link to a shared value.
    pub(super) fn count_link(&mut self, block: u32) {
        if let Some(to) = self.to.get_mut(block as usize..block as usize + 4) {
            let links = u32::from_le_bytes([to[0], to[1], to[2], to[3]]);
            to.copy_from_slice(&links.wrapping_add(1).to_le_bytes());
        }
    }

    /// The number of members of an appendable struct to copy.
    pub fn members_of<T: Stored>(&self) -> u32 {
        self.versions.and_then(Versions::of::<T>).map_or(u32::MAX, |(members, _)| members)
    }

    /// Writes a default value. `set` may then write another default over it.
    pub fn default_value<T: Stored>(&mut self, to: u32, set: impl FnOnce(MemoryMut<'_>, u32)) {
        let mut made = Region::<T>::new();
        let mut root = made.root_mut();
        let at = root.at();
        set(MemoryMut(root.memory()), at);
        let shared = HashMap::new();
        let mut writer =
            Writer { from: made.bytes(), to: &mut *self.to, end: self.end, shared, versions: None };
        // A new value has no blocks.
        T::write(&mut writer, at, to);
    }

    /// Writes a container of 16 bytes, without its link.
    #[inline]
    pub(super) fn container(&mut self, at: u32, len: u32, cap: u32) {
        self.put_u32(at + 4, len);
        self.put_u32(at + 8, cap);
        self.put_u32(at + 12, at.wrapping_neg());
    }

    /// Places the next block, of `bytes` zeros, and sets the link at `at` to it.
    #[inline]
    pub(super) fn place(&mut self, at: u32, bytes: u64) -> u32 {
        let block = self.next(at, bytes);
        self.zero(block, self.end - block);
        block
    }

    /// Places the next block. The caller writes its first `bytes` bytes.
    #[inline]
    pub(super) fn place_dense(&mut self, at: u32, bytes: u64) -> u32 {
        let block = self.next(at, bytes);
        let used = block + bytes as u32;
        self.zero(used, self.end - used);
        block
    }
    #[inline]
    fn next(&mut self, at: u32, bytes: u64) -> u32 {
        let block = self.end;
        self.end += in_granules(bytes) as u32;
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

    /// Writes a vector of `T`, or a container built on one.
    pub(super) fn vector<T: Stored>(&mut self, from: u32, to: u32) {
        let len = u32_at(self.from, from + 4);
        self.container(to, len, len);
        if len != 0 {
            let bytes = u64::from(len) * u64::from(T::SIZE);
            let block = if T::DENSE { self.place_dense(to, bytes) } else { self.place(to, bytes) };
            self.elements::<T>(target(self.from, from), block, len);
        }
    }
}
