//! How a subscriber passes over the messages of publishers that do not match it.
//!
//! All messages of a topic have one order, so the messages of such publishers are between those that the
//! subscriber takes. It holds none of them, and does not even map their publishers' pools.

use crate::port::subscriber::RawSubscriber;

impl RawSubscriber {
    /// Passes over the next messages if their publishers do not match. Returns whether there is another one
    /// behind them.
    #[cold]
    #[inline(never)]
    pub(crate) fn pass_strangers(&self) -> bool {
        if self.is_inherited() {
            return true;
        }
        let topic = &self.core().topic;
        let next = self.pools().matching().pass(topic, self.cursor());
        self.advance(next);
        topic.is_published(next)
    }

    /// The first of the last messages that it keeps, not counting those of publishers that do not match.
    #[cold]
    #[inline(never)]
    pub(crate) fn skip_to_last(&self, number: u64) -> u64 {
        let (next, skipped) =
            self.pools().matching().last(&self.core().topic, number, self.qos().history.kept());
        self.count_skipped(skipped);
        next
    }
}
