//! How many samples a subscriber holds, and how many it may.

use crate::port::subscriber::{RawSubscriber, TakeError};

impl RawSubscriber {
    /// Counts how many samples the subscriber still holds, and returns how many it may take before it has to
    /// count again. It is called only when the subscriber has taken as many as that, so taking costs no
    /// count.
    ///
    /// With nothing to take it is no error to hold as many as one may: then a take finds nothing, and takes
    /// none.
    #[cold]
    #[inline(never)]
    pub(crate) fn count_held(&self) -> Result<usize, TakeError> {
        let core = self.core();
        let most = self.qos().max_held.max(1);
        let held = self.pools().held(&core.topic, core.place, most);
        if held >= most && self.has_next() {
            return Err(TakeError::Held { topic: core.topic.name.clone(), held, most });
        }
        Ok(most.saturating_sub(held))
    }
}
