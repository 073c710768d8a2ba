//! The word in front of each chunk: its owner, and the number of finished fragments.
//!
//! ```text
//!  31            16 15          5   4      3    2     0
//!  +---------------+-------------+------+-------+-------+
//!  |  writer (16)  |  count (11) | last | first | state |
//!  +---------------+-------------+------+-------+-------+
//! ```
//!
//! The first `count` fragments of the chunk are finished: their bytes never change again. `first`: the first
//! fragment continues a packet from the writer's previous chunk. `last`: the writer's next chunk continues
//! the last fragment's packet.
//!
//! ```text
//!                 W take                  W end                    W hand in, C reclaim
//!      FREE ------------------> BUSY ------------------> IDLE ------------------------------> COMPLETE
//!       ^                        |  <------------------                                          |  ^
//!       |                        |        W begin                                                |  |
//!       |                        +----------------------- W leave; C scrape, if W is dead -------|--+
//!       +------------------------------------------ C free --------------------------------------+
//! ```
//!
//! | | by | how | publishes |
//! |---|---|---|---|
//! | take | writer | store, release | the chunk's header. The writer took its number from the list |
//! | end | writer | store, release | the fragments counted |
//! | begin | writer | compare and swap, relaxed | nothing: it only has to fail if the chunk was reclaimed |
//! | leave | writer | store, release | the fragments counted |
//! | hand in | writer | compare and swap, relaxed | nothing: *end* has published the finished fragments |
//! | reclaim | collector | compare and swap, acquire | nothing |
//! | scrape | collector | store | nothing: the writer is dead, only the collector writes the word |
//! | free | collector | store, relaxed | nothing: the list publishes it |
//!
//! In any state, the collector loads the word with acquire ordering and then reads the first `count`
//! fragments. A swap that follows a release store belongs to its release sequence. The collector need not own
//! the chunk for this read: finished fragments do not change, and only the collector frees chunks. The
//! collector therefore reads every finished fragment, even if the chunk's writer is in the middle of a
//! packet, hangs, or is dead.
//!
//! The collector can take a chunk away only between packets (IDLE). *Begin* and *reclaim* are swaps of the
//! same word, so one of them fails. A writer whose swap fails takes another chunk. Therefore no silent thread
//! blocks a chunk for other threads, and no thread loses its chunk within a packet.
//!
//! The word names its writer, and a writer has one chunk at a time (two while it moves a packet, and it
//! begins no packet meanwhile). After a chunk has had other owners, the word therefore cannot by chance have
//! the value that a writer expects (IDLE, its own number). There is no ABA problem, however long the writer
//! slept.
//!
//! A death between any two steps leaves the word in a state from which the collector continues: see *scrape*.

use situ_memory::sync::atomic::{AtomicU32, Ordering};

/// The owner of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum State {
    /// No owner: the chunk's number is in the list, or a writer has just taken it from there.
    Free = 0,
    /// A writer, within a packet.
    Busy = 1,
    /// A writer, between packets.
    Idle = 2,
    /// The collector.
    Complete = 3,
}

/// The largest number of fragments in a chunk.
pub const MAX_FRAGMENTS: u32 = (1 << 11) - 1;

const STATE_BITS: u32 = 7;
const FIRST_CONTINUES: u32 = 1 << 3;
const LAST_CONTINUES: u32 = 1 << 4;
const COUNT_SHIFT: u32 = 5;
const WRITER_SHIFT: u32 = 16;

/// A value of the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word(pub u32);

impl Word {
    /// The word that a writer stores when it has taken a chunk.
    pub const fn taken(writer: u16, first_continues: bool) -> Self {
        let first = if first_continues { FIRST_CONTINUES } else { 0 };
        Self((writer as u32) << WRITER_SHIFT | first | State::Busy as u32)
    }

    /// The same word in another state.
    #[inline]
    #[must_use]
    pub const fn with(self, state: State) -> Self {
        Self(self.0 & !STATE_BITS | state as u32)
    }

    /// The same word with `fragments` more.
    #[inline]
    #[must_use]
    pub const fn plus(self, fragments: u32) -> Self {
        Self(self.0 + (fragments << COUNT_SHIFT))
    }

    /// The same word, with the last fragment's packet continued in the next chunk.
    #[must_use]
    pub const fn continued(self) -> Self {
        Self(self.0 | LAST_CONTINUES)
    }

    /// The state, or `None` if the bits name no state.
    #[inline]
    pub const fn state(self) -> Option<State> {
        Some(match self.0 & STATE_BITS {
            0 => State::Free,
            1 => State::Busy,
            2 => State::Idle,
            3 => State::Complete,
            _ => return None,
        })
    }

    /// The number of finished fragments.
    #[inline]
    pub const fn count(self) -> u32 {
        self.0 >> COUNT_SHIFT & MAX_FRAGMENTS
    }

    /// The index of the writer's entry.
    #[inline]
    pub const fn writer(self) -> u16 {
        (self.0 >> WRITER_SHIFT) as u16
    }

    /// Whether the first fragment continues a packet from the previous chunk.
    pub const fn first_continues(self) -> bool {
        self.0 & FIRST_CONTINUES != 0
    }

    /// Whether the next chunk continues the last fragment's packet.
    pub const fn last_continues(self) -> bool {
        self.0 & LAST_CONTINUES != 0
    }
}

/// The word in shared memory. Zeroed memory is the word of a free chunk.
#[repr(transparent)]
#[derive(Debug)]
pub struct ChunkWord(AtomicU32);

impl ChunkWord {
    /// The word of a free chunk, in private memory.
    #[allow(clippy::new_without_default, reason = "words in shared memory begin as zeroes instead")]
    pub fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Writer: take, end, leave.
    #[inline]
    pub fn publish(&self, word: Word) {
        self.0.store(word.0, Ordering::Release);
    }

    /// Writer: begin. `idle` is the word that the writer published last. Returns false if the collector owns
    /// the chunk, or has owned it since.
    #[inline]
    #[must_use]
    pub fn begin(&self, idle: Word) -> bool {
        self.swap(idle, State::Busy, Ordering::Relaxed)
    }

    /// Writer: hand in. Returns false if the collector has reclaimed the chunk.
    #[inline]
    pub fn hand_in(&self, idle: Word) -> bool {
        self.swap(idle, State::Complete, Ordering::Relaxed)
    }

    /// Collector: loads the word, and with it all finished fragments.
    #[inline]
    pub fn load(&self) -> Word {
        Word(self.0.load(Ordering::Acquire))
    }

    /// Collector: reclaim a chunk that was seen idle. Returns false if its writer has begun another packet.
    #[must_use]
    pub fn reclaim(&self, idle: Word) -> bool {
        self.swap(idle, State::Complete, Ordering::Acquire)
    }

    /// Collector: free, before the number goes back to the list.
    #[inline]
    pub fn free(&self) {
        self.0.store(State::Free as u32, Ordering::Relaxed);
    }

    #[inline]
    fn swap(&self, from: Word, state: State, ordering: Ordering) -> bool {
        self.0.compare_exchange(from.0, from.with(state).0, ordering, Ordering::Relaxed).is_ok()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_word_holds_what_the_format_says() {
        let word = Word::taken(0x1234, true).plus(3).with(State::Idle);
        assert_eq!(word.0, 0x1234_0000 | 3 << 5 | 1 << 3 | 2);
        assert_eq!((word.state(), word.count(), word.writer()), (Some(State::Idle), 3, 0x1234));
        assert!(word.first_continues() && !word.last_continues());
        let left = word.plus(MAX_FRAGMENTS - 3).with(State::Complete).continued();
        assert_eq!(left.0, 0x1234_fff8 | 3);
        assert!(left.last_continues() && left.count() == 2047);
        assert_eq!(Word(5).state(), None);
    }

    #[test]
    fn either_the_writer_begins_or_the_collector_reclaims() {
        let (chunk, idle) = (ChunkWord::new(), Word::taken(1, false).plus(1).with(State::Idle));
        chunk.publish(idle);
        assert!(chunk.begin(idle) && !chunk.reclaim(idle));
        chunk.publish(idle);
        assert!(chunk.reclaim(idle) && !chunk.begin(idle) && !chunk.hand_in(idle));
        assert_eq!(chunk.load().state(), Some(State::Complete));
    }
}
