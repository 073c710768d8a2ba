//! Finds sets of messages with equal stamps.

use crate::synchronize::queues::{MessageQueues, Queues};

/// Takes all complete sets, and drops each message whose stamp another topic has passed without it.
pub(super) fn settle(queues: &mut Queues, messages: &mut impl MessageQueues) {
    loop {
        // The earliest stamp that each topic can still contribute: that of its first message, or, since its
        // stamps never decrease, its last one. No set can be earlier than the latest of these.
        let earliest = (0..queues.topics())
            .filter_map(|topic| queues.stamp(topic, 0).or(queues.last(topic)))
            .max()
            .unwrap_or(i64::MIN);
        let (mut dropped, mut complete) = (false, true);
        for topic in 0..queues.topics() {
            while queues.stamp(topic, 0).is_some_and(|stamp| stamp < earliest) {
                queues.drop_unmatched(topic, messages);
                dropped = true;
            }
            complete &= queues.stamp(topic, 0) == Some(earliest);
        }
        if complete {
            queues.take_set(messages);
        } else if !dropped {
            return;
        }
    }
}
