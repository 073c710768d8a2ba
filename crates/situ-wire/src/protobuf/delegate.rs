//! How a writer gets memory, and what it asks of those who supply it.

use std::ptr::NonNull;

use thiserror::Error;

use super::wire::WIDE;

/// Memory to write on.
#[derive(Clone, Copy, Debug)]
pub struct Chunk {
    /// Its first byte.
    pub start: NonNull<u8>,
    /// How many bytes it has.
    pub len: usize,
}

impl Chunk {
    /// All of a slice.
    pub fn of(slice: &mut [u8]) -> Self {
        Self { start: NonNull::from(&mut *slice).cast(), len: slice.len() }
    }
}

/// The length of a message that began in a chunk that the writer has left since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    /// Which chunk, from 0.
    pub chunk: u32,
    /// Where in it, in bytes.
    pub offset: u32,
    /// What to put there: the length as a varint of five bytes.
    pub bytes: [u8; WIDE],
}

impl Patch {
    /// Puts the length where it belongs, in the chunk that it is for.
    ///
    /// # Panics
    /// If the slice is shorter than the chunk was.
    pub fn apply(&self, chunk: &mut [u8]) {
        chunk[self.offset as usize..][..WIDE].copy_from_slice(&self.bytes);
    }
}

/// Supplies a [`Writer`](super::Writer) with memory.
///
/// A writer asks for the first chunk, then, whenever one is full, whether it can [`grow`](Self::grow); if not, whether there is
/// another, and leaves it. It ends with [`finish`](Self::finish), unless it is dropped before.
///
/// # Safety
/// A chunk must be valid for writing, and nobody else may read or write it, until the writer has left it (by `next`, `finish`
/// or a `grow` that moves it) or is dropped. A chunk that has grown must begin with the bytes of the old one.
pub unsafe trait Delegate {
    /// The first chunk; called once for each message. `None`: there is no memory.
    fn first(&mut self) -> Option<Chunk>;

    /// Makes the current chunk, of which the first `used` bytes are written, larger by at least so many bytes than is used.
    /// `None`: it stays what it is.
    fn grow(&mut self, used: usize, more: usize) -> Option<Chunk> {
        let _ = (used, more);
        None
    }

    /// Whether [`next`](Self::next) has something to give.
    fn has_next(&mut self) -> bool {
        false
    }

    /// Takes the current chunk, of which the first `used` bytes are written, and gives the next one. So many lengths in it
    /// are still to be [patched](Self::patch); until then they are zero. `None`: there is no other.
    fn next(&mut self, used: usize, pending: usize) -> Option<Chunk> {
        let _ = (used, pending);
        None
    }

    /// Patches a chunk that was left. Patches come in the order in which messages end.
    fn patch(&mut self, patch: Patch) -> Result<(), PatchListFull> {
        let _ = patch;
        Err(PatchListFull)
    }

    /// Takes the last chunk, of which the first `used` bytes are written. All patches have come.
    fn finish(&mut self, used: usize);
}

/// There is no memory left for patches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the patch list is full; give it more memory, or apply its patches earlier")]
pub struct PatchListFull;

/// Patches that wait to be applied, in memory that was allocated before.
#[derive(Debug)]
pub struct PatchList<'a> {
    memory: &'a mut [Patch],
    len: usize,
}

impl<'a> PatchList<'a> {
    /// An empty list with room for as many patches as the slice is long.
    pub fn new(memory: &'a mut [Patch]) -> Self {
        Self { memory, len: 0 }
    }

    /// Appends a patch.
    pub fn push(&mut self, patch: Patch) -> Result<(), PatchListFull> {
        *self.memory.get_mut(self.len).ok_or(PatchListFull)? = patch;
        self.len += 1;
        Ok(())
    }

    /// The patches, in the order in which they came.
    pub fn as_slice(&self) -> &[Patch] {
        &self.memory[..self.len]
    }

    /// Whether there is no room for another.
    pub fn is_full(&self) -> bool {
        self.len == self.memory.len()
    }

    /// Forgets all patches.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Forgets the patches that are done, for which `done` returns true; the others stay in their order.
    pub fn retain_pending(&mut self, mut done: impl FnMut(&Patch) -> bool) {
        let mut kept = 0;
        for index in 0..self.len {
            let patch = self.memory[index];
            if !done(&patch) {
                self.memory[kept] = patch;
                kept += 1;
            }
        }
        self.len = kept;
    }
}
