//! The source of a writer's memory: the contract between a writer and its delegate.

use std::ptr::NonNull;

use thiserror::Error;

use super::wire::WIDE;

/// Memory for a writer.
#[derive(Clone, Copy, Debug)]
pub struct Chunk {
    /// Its first byte.
    pub start: NonNull<u8>,
    /// Its size in bytes.
    pub len: usize,
}

impl Chunk {
    /// Creates a chunk from a whole slice.
    pub fn of(slice: &mut [u8]) -> Self {
        Self { start: NonNull::from(&mut *slice).cast(), len: slice.len() }
    }
}

/// The length of a message that began in a chunk that the writer has left since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    /// The number of the chunk, from 0.
    pub chunk: u32,
    /// The offset in the chunk, in bytes.
    pub offset: u32,
    /// The bytes to store there: the length as a varint of five bytes.
    pub bytes: [u8; WIDE],
}

impl Patch {
    /// Stores the length into its chunk.
    ///
    /// # Panics
    /// If the slice is shorter than the chunk was.
    pub fn apply(&self, chunk: &mut [u8]) {
        chunk[self.offset as usize..][..WIDE].copy_from_slice(&self.bytes);
    }
}

/// Supplies a [`Writer`](super::Writer) with memory.
///
/// A writer calls [`first`](Self::first) once for each message. When a chunk is full, it calls
/// [`grow`](Self::grow). If the chunk cannot grow, the writer calls [`next`](Self::next) and leaves the
/// chunk. At the end it calls [`finish`](Self::finish), unless it is dropped before.
///
/// # Safety
/// A chunk must be valid for writing until the writer leaves it (by `next`, `finish`, or a `grow` that moves
/// it) or is dropped. Until then only the writer may read or write it. A chunk that has grown must begin with
/// the bytes of the old one.
pub unsafe trait Delegate {
    /// Returns the first chunk; called once for each message. `None`: there is no memory.
    fn first(&mut self) -> Option<Chunk>;

    /// Makes the current chunk larger. Its first `used` bytes are written; at least `more` bytes must follow
    /// them. `None`: the chunk stays as it is.
    fn grow(&mut self, used: usize, more: usize) -> Option<Chunk> {
        let _ = (used, more);
        None
    }

    /// Returns whether [`next`](Self::next) can return another chunk.
    fn has_next(&mut self) -> bool {
        false
    }

    /// Takes the current chunk and returns the next one. The first `used` bytes of the current chunk are
    /// written. `pending` lengths in it are zero until they are [patched](Self::patch). `None`: there is no
    /// other chunk.
    fn next(&mut self, used: usize, pending: usize) -> Option<Chunk> {
        let _ = (used, pending);
        None
    }

    /// Patches a chunk that the writer has left. Patches come in the order in which messages end.
    fn patch(&mut self, patch: Patch) -> Result<(), PatchListFull> {
        let _ = patch;
        Err(PatchListFull)
    }

    /// Takes the last chunk. Its first `used` bytes are written. All patches have come before.
    fn finish(&mut self, used: usize);
}

/// There is no memory left for patches.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[error("the patch list is full; give it more memory, or apply its patches earlier")]
pub struct PatchListFull;

situ_layout::debug_as_text!(PatchListFull);

/// Patches that are not applied yet, in memory that the caller allocated.
#[derive(Debug)]
pub struct PatchList<'a> {
    memory: &'a mut [Patch],
    len: usize,
}

impl<'a> PatchList<'a> {
    /// Creates an empty list with room for one patch per element of the slice.
    pub fn new(memory: &'a mut [Patch]) -> Self {
        Self { memory, len: 0 }
    }

    /// Appends a patch.
    pub fn push(&mut self, patch: Patch) -> Result<(), PatchListFull> {
        *self.memory.get_mut(self.len).ok_or(PatchListFull)? = patch;
        self.len += 1;
        Ok(())
    }

    /// The patches, in the order of arrival.
    pub fn as_slice(&self) -> &[Patch] {
        &self.memory[..self.len]
    }

    /// Returns whether there is no room for another patch.
    pub fn is_full(&self) -> bool {
        self.len == self.memory.len()
    }

    /// Removes all patches.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Removes the patches for which `done` returns true. The others keep their order.
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
