//! Which messages of a topic one subscriber takes: those of publishers that match it.
//!
//! Publishers that do not match are rare. A topic that never had one says so in one word (`mixed`), and then
//! nothing here is asked. Otherwise the answer for each publisher is worked out once. It is remembered with
//! the number of the publisher's pool, because the entry may have another publisher later.

use super::file::Topic;
use super::state_word::StateWord;
use crate::protocol::ring::Look;
use crate::qos::Terms;

/// The publishers that match one subscriber.
#[derive(Debug)]
pub(crate) struct Matching {
    requested: Terms,
    /// By the number of the entry: the number of the pool, and whether its publisher matches.
    known: Vec<Option<(u64, bool)>>,
}

impl Matching {
    pub(crate) fn new(requested: Terms) -> Self {
        Self { requested, known: Vec::new() }
    }

    /// Whether the publisher matches that the row of message `number` names by its entry. `None`: the message
    /// is gone with its publisher.
    pub(crate) fn matches(&mut self, topic: &Topic, entry: u16, number: u64) -> Option<bool> {
        let index = usize::from(entry);
        let of_entry = topic.named_entry(index)?;
        let pool = of_entry.tenure.of(number)?;
        if let Some(Some((known, matches))) = self.known.get(index)
            && *known == pool
        {
            return Some(*matches);
        }
        let word = StateWord::read(&of_entry.state);
        let offered = of_entry.terms(word);
        // Without the lock: all three have to belong to the same publisher.
        if !word.is_taken() || !of_entry.is_unchanged(word) || of_entry.tenure.pool() != pool {
            return None;
        }
        // A row names no other kind of entry. If it does, the take finds out.
        let matches = !word.is_of_heads() || offered.satisfies(self.requested);
        if self.known.len() <= index {
            self.known.resize(index + 1, None);
        }
        self.known[index] = Some((pool, matches));
        Some(matches)
    }

    /// The first number from `number` on that is not a message of a publisher that does not match.
    #[cold]
    pub(crate) fn pass(&mut self, topic: &Topic, mut number: u64) -> u64 {
        // The limit ends the loop even if messages come as fast as it passes them.
        for _ in 0..topic.ring().depth() {
            match topic.ring_of(number).look(number) {
                Look::Here(row) if self.matches(topic, row.pool, number) == Some(false) => number += 1,
                _ => break,
            }
        }
        number
    }

    /// The first number to take for a subscriber that keeps the last `keep` messages and is at `number`, and
    /// how many messages it skips. Only messages of publishers that match count.
    #[cold]
    pub(crate) fn last(&mut self, topic: &Topic, number: u64, keep: u64) -> (u64, u64) {
        let end = topic.end();
        let first = number.max(end.saturating_sub(topic.ring().depth()));
        let mut is_one = |number: u64| {
            let row = topic.ring_of(number).look(number);
            matches!(row, Look::Here(row) if self.matches(topic, row.pool, number) == Some(true))
        };
        let all = (first..end).filter(|number| is_one(*number)).count() as u64;
        let skipped = all.saturating_sub(keep);
        let next = (first..end).filter(|number| is_one(*number)).nth(skipped as usize);
        (next.unwrap_or(end), skipped)
    }
}
