//! Members that this participant found dead and could not mark, with the state words that they had.
//!
//! The count in a state word differs for each member that takes the place or entry (`StateWord::next`), so
//! the next member is not taken for the dead one.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use super::state_word::StateWord;

/// State words by the numbers of their places or entries; 0: none. Allocated with the first one.
#[derive(Debug)]
pub(super) struct StateList {
    words: OnceLock<Box<[AtomicU32]>>,
    len: u32,
}

impl StateList {
    /// A list for this many places or entries.
    pub(super) fn new(len: u32) -> Self {
        Self { words: OnceLock::new(), len }
    }

    /// Whether the member with this state word is listed.
    #[inline]
    pub(super) fn contains(&self, index: usize, word: StateWord) -> bool {
        self.words.get().is_some_and(|words| words[index].load(Ordering::Relaxed) == word.0)
    }

    /// Lists a member. Returns whether it was not listed before.
    pub(super) fn insert(&self, index: usize, word: StateWord) -> bool {
        let words = self.words.get_or_init(|| (0..self.len).map(|_| AtomicU32::new(0)).collect());
        words[index].swap(word.0, Ordering::Relaxed) != word.0
    }
}
