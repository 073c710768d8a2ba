//! A value that one writer replaces, and that any number of readers copy without stopping the writer.
//!
//! ```text
//!   0        8        16                  16 + size of a buffer
//!   +--------+--------+-------------------+-------------------+
//!   | begun  |  done  |  even buffer      |  odd buffer       |
//!   +--------+--------+-------------------+-------------------+
//! ```
//!
//! Writes have numbers from 1 on. The value of number *n* lies in the buffer of *n*'s parity.
//!
//! ```text
//!   writer of number n                        reader
//!   1. begun = n  (release); fence (release)  1. n = done; 0: there is no value yet   (acquire)
//!   2. the words of n's buffer                2. the words of n's buffer
//!   3. done = n                  (release)    3. fence (acquire)
//!                                             4. begun: below n + 2? Otherwise again  (acquire)
//! ```
//!
//! A reader that reaches the end has the words of write *n* and of no other:
//!
//! - It saw 3 of write *n*, so it sees the words of *n* or later ones.
//! - The next write to the same buffer is *n* + 2. Suppose that the reader reads a word of that write or of a
//!   later one. The writer's fence in 1 and the reader's in 3 then order `begun = n + 2` before the reader's
//!   4, which finds *n* + 2 or more.
//!
//! The writer may die at any step. Between 1 and 3 of write *n*, `done` is *n* - 1, and the buffer of *n* - 1
//! is not touched: readers get that value, at the first attempt. The next writer begins *n* again.
//!
//! A reader starts again only if a whole write ended, and the next one began, while it copied. If it found
//! `begun = m`, then it finds *m* - 1 at least in `done`: so each attempt begins with a newer value. The
//! number of its attempts is limited, because the writer may be hostile.

use std::mem::MaybeUninit;

use situ_memory::sync::atomic::{AtomicU64, Ordering, fence};

/// The words before the buffers.
pub const HEAD_WORDS: usize = 2;
/// How often a reader tries. A reader that is as fast as the writer needs a few attempts.
pub const MAX_ATTEMPTS: usize = 1000;

/// What a reader found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Nothing was ever written.
    Nothing,
    /// The value with this number was copied.
    Value(u64),
    /// The writer replaced the value during every attempt.
    Overrun,
}

/// A cell in memory. Zeroed memory is a cell without a value.
#[derive(Debug, Clone, Copy)]
pub struct Cell<'a> {
    begun: &'a AtomicU64,
    done: &'a AtomicU64,
    buffers: [&'a [AtomicU64]; 2],
}

impl<'a> Cell<'a> {
    /// The number of words of a cell for values of `size` bytes.
    pub const fn words(size: usize) -> usize {
        HEAD_WORDS + 2 * size.div_ceil(8)
    }

    /// The cell in these words: [`words`](Self::words) of them.
    #[inline]
    pub fn new(words: &'a [AtomicU64]) -> Self {
        let (head, buffers) = words.split_at(HEAD_WORDS);
        let (even, odd) = buffers.split_at(buffers.len() / 2);
        Self { begun: &head[0], done: &head[1], buffers: [even, odd] }
    }

    /// The number of the last write that is complete; 0: there was none.
    #[inline]
    pub fn version(self) -> u64 {
        self.done.load(Ordering::Acquire)
    }

    #[inline]
    fn buffer(self, number: u64) -> &'a [AtomicU64] {
        self.buffers[(number & 1) as usize]
    }

    /// Replaces the value, and returns its number. Only one thread of all processes may write a cell at a
    /// time. Bytes beyond the size of a buffer are ignored.
    #[inline]
    pub fn write(self, bytes: &[u8]) -> u64 {
        let number = self.done.load(Ordering::Relaxed).wrapping_add(1);
        self.begun.store(number, Ordering::Release);
        fence(Ordering::Release);
        for (word, bytes) in self.buffer(number).iter().zip(bytes.chunks(8)) {
            let mut value = [0; 8];
            value[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_ne_bytes(value), Ordering::Relaxed);
        }
        self.done.store(number, Ordering::Release);
        number
    }

    /// Copies the last value. `into` is at most as long as a buffer. If there is a value, all of it is
    /// written; otherwise it holds anything.
    #[inline]
    pub fn read(self, into: &mut [MaybeUninit<u8>]) -> Found {
        for _ in 0..MAX_ATTEMPTS {
            let number = self.version();
            if number == 0 {
                return Found::Nothing;
            }
            for (bytes, word) in into.chunks_mut(8).zip(self.buffer(number)) {
                let value = word.load(Ordering::Relaxed).to_ne_bytes().map(MaybeUninit::new);
                bytes.copy_from_slice(&value[..bytes.len()]);
            }
            fence(Ordering::Acquire);
            if self.begun.load(Ordering::Acquire).wrapping_sub(number) < 2 {
                return Found::Value(number);
            }
            std::hint::spin_loop();
        }
        Found::Overrun
    }
}
