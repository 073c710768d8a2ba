//! The results of takes of messages that cannot be handed out as they are.

use situ_memory::{PoolView, SlotId, ViewError, guard};

use crate::port::sample::RawSample;
use crate::port::subscriber::{RawSubscriber, TakeError};
use crate::port::taken::Missed;
use crate::protocol::ledger::HOLDS;

impl RawSubscriber {
    /// The result for a message whose slot has another one by now: `None`, or an error if the slot only looks
    /// so because the pool's files were truncated.
    #[inline]
    pub(super) fn recycled(&self, view: &PoolView, number: u64) -> Result<Option<RawSample>, Missed> {
        if guard::has_damage() {
            self.check_damage(view, number)?;
        }
        Ok(None)
    }

    /// Returns an error if a file of the pool was truncated.
    #[cold]
    pub(super) fn check_damage(&self, view: &PoolView, number: u64) -> Result<(), TakeError> {
        view.damage().map_or(Ok(()), |source| Err(self.pool_error(number, source.into())))
    }

    /// Makes a private copy of a message whose publisher is not trusted.
    #[cold]
    pub(super) fn privately(&self, sample: RawSample) -> Result<RawSample, TakeError> {
        let (topic, sequence) = (&self.core().topic.name, sample.sequence());
        let own = sample.into_private();
        own.map_err(|source| TakeError::Private { topic: topic.clone(), sequence, source })
    }

    /// The result for a message without memory: `None` if its pool is gone, otherwise an error.
    #[cold]
    pub(super) fn not_found(&self, number: u64, source: ViewError) -> Result<Option<RawSample>, Missed> {
        match source {
            ViewError::Gone(_) => Ok(None),
            source => Err(self.pool_error(number, source).into()),
        }
    }

    /// Returns the reason why a slot has no memory.
    #[cold]
    pub(crate) fn no_place(&self, sequence: u64, pool: &PoolView, slot: SlotId) -> TakeError {
        let topic = self.core().topic.name.clone();
        if let Some(end) = pool.metadata().beyond_reach(slot) {
            return TakeError::TooFar { topic, sequence, end, limit: self.qos().limits.pool };
        }
        match pool.unreachable(slot) {
            Some(source) => self.pool_error(sequence, source),
            None => {
                let reason = "its slot lies outside of the pool".to_owned();
                TakeError::Malformed { topic, sequence, reason }
            }
        }
    }

    #[cold]
    pub(super) fn too_large(&self, sequence: u64, bytes: u64) -> TakeError {
        let (topic, limit) = (self.core().topic.name.clone(), self.qos().limits.message);
        TakeError::TooLarge { topic, sequence, bytes, limit }
    }

    pub(crate) fn pool_error(&self, sequence: u64, source: ViewError) -> TakeError {
        TakeError::Pool { topic: self.core().topic.name.clone(), sequence, source }
    }

    /// The result of a take without a free word in the ledger.
    #[cold]
    pub(super) fn full(&self) -> Missed {
        let topic = self.core().topic.name.clone();
        Missed::Held(TakeError::Held { topic, held: self.core().held(), most: HOLDS })
    }
}
