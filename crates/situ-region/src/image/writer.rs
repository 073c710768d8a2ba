//! Writes the canonical image of a value: a compacting copy, depth first, with one cursor and zero padding.

use std::collections::HashMap;

use crate::dynamic::types::Types;
use crate::image::versions::Versions;
use crate::memory::granule::in_granules;
use crate::memory::later::{Later, Place};

/// The target of a link of one type, in a copy.
pub(crate) trait WriteBehind {
    fn write(writer: &mut Writer<'_>, place: Place);
}

/// Writes the target of a link to a value of the described type with a number; of other types, which the
/// function knows, the number has no meaning.
pub(crate) type Write = fn(&mut Writer<'_>, u32, Place);
type Visit = (Write, u32);

/// A weak link that a writer has written, and the block to which the original link leads.
pub(crate) struct WeakLink {
    pub at: u32,
    pub old: u32,
    /// Whether the shared value counts it. Values of packed images do not.
    pub is_counted: bool,
}

/// Copies from an image into a canonical one. Data that does not fit is counted but not written, so the end
/// gives the needed size. Copying into an empty buffer measures.
pub struct Writer<'a> {
    pub(crate) from: &'a [u8],
    pub(crate) to: &'a mut [u8],
    pub(crate) end: u32,
    /// The new places of the blocks of shared values.
    pub(crate) shared: HashMap<u32, u32>,
    /// The versions, if the image has others than this program.
    pub(crate) versions: Option<&'a Versions>,
    /// The types of a region whose types are known only when the program runs.
    pub(crate) types: Option<&'a Types>,
    pub(crate) later: Later<Visit>,
    /// Weak links whose targets had no place yet when the links were written.
    pub(crate) weak: Vec<WeakLink>,
}

impl<'a> Writer<'a> {
    /// Starts a copy whose first `begin` bytes are zero.
    pub(crate) fn new(from: &'a [u8], to: &'a mut [u8], begin: u32) -> Self {
        let mut writer = Self::behind(from, to, begin);
        writer.zero(0, begin);
        writer
    }

    /// Copies from an image into another one. Blocks are placed from `end` on.
    pub(crate) fn behind(from: &'a [u8], to: &'a mut [u8], end: u32) -> Self {
        Self {
            from,
            to,
            end,
            shared: HashMap::new(),
            versions: None,
            types: None,
            later: Later::default(),
            weak: Vec::new(),
        }
    }

    /// Writes the target of a link: now, or after everything else.
    #[inline]
    pub(crate) fn linked<B: WriteBehind>(&mut self, place: Place) {
        if self.later.enter((|writer, _, place| B::write(writer, place), 0), place) {
            B::write(self, place);
            self.later.leave();
        }
    }

    /// As [`linked`](Self::linked), for the described type with a number.
    pub(crate) fn linked_described(&mut self, write: Write, of: u32, place: Place) {
        if self.later.enter((write, of), place) {
            write(self, of, place);
            self.later.leave();
        }
    }

    /// Writes what was left for later, and the weak links.
    pub(crate) fn rest(&mut self) {
        while let Some(((write, of), place)) = self.later.next() {
            write(self, of, place);
        }
        self.place_weak_links();
    }

    /// The size of the image.
    pub(crate) fn end(&self) -> u32 {
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
    pub(crate) fn image(&self) -> &'a [u8] {
        self.from
    }
    #[inline]
    pub(crate) fn zero(&mut self, at: u32, count: u32) {
        if let Some(to) = self.to.get_mut(at as usize..at as usize + count as usize) {
            to.fill(0);
        }
    }

    #[inline]
    pub(crate) fn put_u32(&mut self, at: u32, value: u32) {
        if let Some(to) = self.to.get_mut(at as usize..at as usize + 4) {
            to.copy_from_slice(&value.to_le_bytes());
        }
    }
    #[inline]
    pub(crate) fn put_byte(&mut self, at: u32, value: u8) {
        if let Some(to) = self.to.get_mut(at as usize) {
            *to = value;
        }
    }
    #[inline]
    pub(crate) fn put_bytes(&mut self, at: u32, bytes: &[u8]) {
        if let Some(to) = self.to.get_mut(at as usize..at as usize + bytes.len()) {
            to.copy_from_slice(bytes);
        }
    }

    #[inline]
    pub(crate) fn put_words(&mut self, at: u32, words: &[u32]) {
        if let Some(to) = self.to.get_mut(at as usize..at as usize + words.len() * 4) {
            for (to, word) in to.as_chunks_mut().0.iter_mut().zip(words) {
                *to = word.to_le_bytes();
            }
        }
    }

    /// Whether bytes from `at` on are written, and not only counted.
    pub(crate) fn has(&self, at: u32) -> bool {
        self.to.len() > at as usize
    }

    /// Counts one more link to a shared value; its block begins with their number.
    pub(crate) fn count_link(&mut self, block: u32) {
        if let Some(to) = self.to.get_mut(block as usize..block as usize + 4) {
            let links = u32::from_le_bytes([to[0], to[1], to[2], to[3]]);
            to.copy_from_slice(&links.wrapping_add(1).to_le_bytes());
        }
    }

    /// The number of members of an appendable struct to copy.
    pub fn members_of<T: 'static>(&self) -> u32 {
        self.versions.and_then(Versions::of::<T>).map_or(u32::MAX, |(members, _)| members)
    }

    /// Writes a container of 16 bytes, without its link.
    #[inline]
    pub(crate) fn container(&mut self, at: u32, len: u32, cap: u32) {
        self.put_u32(at + 4, len);
        self.put_u32(at + 8, cap);
        self.put_u32(at + 12, at.wrapping_neg());
    }

    /// Places the next block, of `bytes` zeros, and sets the link at `at` to it.
    #[inline]
    pub(crate) fn place(&mut self, at: u32, bytes: u64) -> u32 {
        let block = self.next(at, bytes);
        self.zero(block, self.end - block);
        block
    }

    /// Places the next block. The caller writes its first `bytes` bytes.
    #[inline]
    pub(crate) fn place_dense(&mut self, at: u32, bytes: u64) -> u32 {
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
}
