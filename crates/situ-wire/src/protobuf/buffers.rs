//! Memory for a writer: a fixed array, a growing vector, chunks, or a buffer that is passed on piece by
//! piece.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use super::delegate::{Chunk, Delegate, Patch, PatchList, PatchListFull};

/// An array of fixed size. A message that does not fit causes an error.
#[derive(Debug)]
pub struct Fixed<'a> {
    start: NonNull<u8>,
    len: usize,
    written: usize,
    memory: PhantomData<&'a mut [u8]>,
}

// SAFETY: it is an exclusive borrow of bytes.
unsafe impl Send for Fixed<'_> {}
// SAFETY: a shared reference to it gives only shared access to the bytes.
unsafe impl Sync for Fixed<'_> {}

impl<'a> Fixed<'a> {
    /// Creates a buffer over a slice.
    #[inline]
    pub fn new(slice: &'a mut [u8]) -> Self {
        let len = slice.len();
        Self { start: NonNull::from(slice).cast(), len, written: 0, memory: PhantomData }
    }

    /// Creates a buffer over memory that need not be initialized.
    #[inline]
    pub fn uninit(slice: &'a mut [MaybeUninit<u8>]) -> Self {
        let len = slice.len();
        Self { start: NonNull::from(slice).cast(), len, written: 0, memory: PhantomData }
    }

    /// The last finished message; empty before the first.
    #[inline]
    pub fn written(&self) -> &[u8] {
        // SAFETY: the writer has initialized that number of bytes, which are borrowed for 'a.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.written) }
    }
}

// SAFETY: the slice is borrowed exclusively for as long as this lives.
unsafe impl Delegate for Fixed<'_> {
    #[inline]
    fn first(&mut self) -> Option<Chunk> {
        self.written = 0;
        Some(Chunk { start: self.start, len: self.len })
    }

    #[inline]
    fn finish(&mut self, used: usize) {
        self.written = used;
    }
}

/// A growing vector. The message is in one piece, so every length is minimal.
#[derive(Clone, Debug, Default)]
pub struct Growing {
    bytes: Vec<u8>,
}

impl Growing {
    /// Creates a vector with memory for `capacity` bytes.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { bytes: Vec::with_capacity(capacity) }
    }

    /// The last finished message; empty before the first.
    pub fn written(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the message as a vector.
    pub fn into_vec(self) -> Vec<u8> {
        self.bytes
    }

    fn chunk(&mut self) -> Chunk {
        let len = self.bytes.capacity();
        // A vector's pointer is never null. Without capacity it dangles, and the chunk has no bytes.
        Chunk { start: NonNull::new(self.bytes.as_mut_ptr()).unwrap_or(NonNull::dangling()), len }
    }
}

// SAFETY: the vector is not used between the calls, and `reserve` keeps the first `len` bytes. `len` is set
// to the number of bytes in use.
unsafe impl Delegate for Growing {
    fn first(&mut self) -> Option<Chunk> {
        self.bytes.clear();
        Some(self.chunk())
    }

    fn grow(&mut self, used: usize, more: usize) -> Option<Chunk> {
        // SAFETY: the writer has initialized `used` bytes, within the capacity.
        unsafe { self.bytes.set_len(used) };
        self.bytes.try_reserve(more.max(64)).ok()?;
        Some(self.chunk())
    }

    fn finish(&mut self, used: usize) {
        // SAFETY: as above.
        unsafe { self.bytes.set_len(used) };
    }
}

/// Chunks on the heap, all of the same size. They are kept for the next message.
#[derive(Debug)]
pub struct Scattered {
    chunks: Vec<Box<[u8]>>,
    used: Vec<usize>,
    chunk_size: usize,
}

impl Scattered {
    /// Creates a buffer with chunks of `chunk_size` bytes.
    pub fn new(chunk_size: usize) -> Self {
        Self { chunks: Vec::new(), used: Vec::new(), chunk_size }
    }

    /// The last finished message, piece by piece.
    pub fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        self.chunks.iter().zip(&self.used).map(|(chunk, used)| &chunk[..*used])
    }

    /// The last finished message, in one piece.
    pub fn to_vec(&self) -> Vec<u8> {
        self.pieces().collect::<Vec<_>>().concat()
    }

    fn chunk(&mut self) -> Option<Chunk> {
        if self.chunks.len() == self.used.len() {
            self.chunks.push(vec![0; self.chunk_size].into_boxed_slice());
        }
        let at = self.used.len();
        Some(Chunk::of(&mut self.chunks[at]))
    }
}

// SAFETY: a box does not move, and only `patch` accesses it, after the writer has left it.
unsafe impl Delegate for Scattered {
    fn first(&mut self) -> Option<Chunk> {
        self.used.clear();
        self.chunk()
    }

    fn has_next(&mut self) -> bool {
        true
    }

    fn next(&mut self, used: usize, _pending: usize) -> Option<Chunk> {
        self.used.push(used);
        self.chunk()
    }

    fn patch(&mut self, patch: Patch) -> Result<(), PatchListFull> {
        patch.apply(&mut self.chunks[patch.chunk as usize]);
        Ok(())
    }

    fn finish(&mut self, used: usize) {
        self.used.push(used);
    }
}

/// The argument of the sink of [`Streamed`].
#[derive(Clone, Copy, Debug)]
pub enum Piece<'a> {
    /// The next piece of the message.
    Chunk {
        /// Its number, from 0.
        number: u32,
        /// Its bytes.
        bytes: &'a [u8],
        /// The number of lengths in it that are patched later.
        pending: usize,
    },
    /// Lengths for chunks that were passed on before.
    Patches(&'a [Patch]),
}

/// Passes chunks on while the message is still being written, and patches later. A message of any length
/// needs no other memory than one buffer.
pub struct Streamed<'a, F> {
    buffer: &'a mut [u8],
    patches: PatchList<'a>,
    number: u32,
    sink: F,
}

impl<'a, F: FnMut(Piece<'_>)> Streamed<'a, F> {
    /// Creates a buffer that calls `sink` whenever `buffer` is full, and whenever `patches` is.
    pub fn new(buffer: &'a mut [u8], patches: &'a mut [Patch], sink: F) -> Self {
        Self { buffer, patches: PatchList::new(patches), number: 0, sink }
    }

    fn give(&mut self, used: usize, pending: usize) {
        (self.sink)(Piece::Chunk { number: self.number, bytes: &self.buffer[..used], pending });
        self.number += 1;
    }

    fn give_patches(&mut self) {
        if !self.patches.as_slice().is_empty() {
            (self.sink)(Piece::Patches(self.patches.as_slice()));
            self.patches.clear();
        }
    }
}

// SAFETY: the buffer is borrowed exclusively while this lives, and is read only after the writer has left it.
unsafe impl<F: FnMut(Piece<'_>)> Delegate for Streamed<'_, F> {
    fn first(&mut self) -> Option<Chunk> {
        self.number = 0;
        self.patches.clear();
        Some(Chunk::of(self.buffer))
    }

    fn has_next(&mut self) -> bool {
        true
    }

    fn next(&mut self, used: usize, pending: usize) -> Option<Chunk> {
        self.give(used, pending);
        Some(Chunk::of(self.buffer))
    }

    fn patch(&mut self, patch: Patch) -> Result<(), PatchListFull> {
        if self.patches.is_full() {
            self.give_patches();
        }
        self.patches.push(patch)
    }

    fn finish(&mut self, used: usize) {
        self.give(used, 0);
        self.give_patches();
    }
}
