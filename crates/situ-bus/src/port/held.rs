//! The number of samples that a subscriber holds, and its limit.

use crate::port::subscriber::{RawSubscriber, TakeError};
use crate::protocol::ledger::HOLDS;

impl RawSubscriber {
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
