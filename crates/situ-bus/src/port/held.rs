//! The records of the samples that a subscriber holds, their number, and its limit.

use std::sync::Arc;

use crate::port::pool_cache::Mapped;
use crate::port::sample::RawSample;
use crate::port::subscriber::{RawSubscriber, TakeError};
use crate::protocol::ledger::HOLDS;

impl RawSubscriber {
    /// An empty sample for a message of this pool. `None` if there are no more records.
    #[inline(always)]
    pub(crate) fn record_for(&self, mapped: &Arc<Mapped>) -> Option<RawSample> {
        let (records, last) = self.records();
        records.take(last, self.core().cells.as_ref(), mapped).map(RawSample::of)
    }

    /// Counts the samples that the subscriber still holds, and returns how many it may take before it has to
    /// count again. It is called only after that number of takes, so a take usually costs no count.
    ///
    /// Holding the maximum number is no error while there is no message to take: a take then returns no
    /// message.
    #[cold]
    #[inline(never)]
    pub(crate) fn count_held(&self) -> Result<usize, TakeError> {
        let core = self.core();
        let most = self.qos().max_held.clamp(1, HOLDS);
        let held = core.held();
        if held >= most && self.has_next() {
            return Err(TakeError::Held { topic: core.topic.name.clone(), held, most });
        }
        Ok(most.saturating_sub(held))
    }
}
