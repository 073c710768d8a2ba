//! What a publisher keeps for late subscribers, and forgetting it before the depth ends it.

use crate::port::publisher::RawPublisher;
use crate::port::publisher_state::retire;

impl RawPublisher {
    /// The memory of the messages that it keeps for late subscribers only, in bytes: they are still
    /// available, and all present subscribers have passed them. Bodies in another domain than the host count,
    /// too.
    pub fn kept_bytes(&self) -> u64 {
        if self.is_inherited() {
            return 0;
        }
        let inner = self.inner.borrow();
        let passed = self.passed();
        let body = |slot| {
            let bodies = inner.bodies.as_ref()?;
            Some(bodies.pool.place(bodies.of(slot)?).1)
        };
        let bytes = |slot| inner.pool.place(slot).1 + body(slot).unwrap_or(0);
        let kept = inner.published.iter().take_while(|(number, _)| *number < passed);
        kept.map(|(_, slot)| bytes(*slot)).sum()
    }

    /// Retires its oldest available message, as if its depth had ended it. Then late subscribers that ask for
    /// earlier messages do not get it. Returns false if there is none, or if a present subscriber has not
    /// passed it: no present subscriber loses a message.
    ///
    /// The memory can be lent again once no subscriber holds the message; [`trim`](Self::trim) returns it to
    /// the system. A small message that the topic copies into its rows stays available there.
    pub fn forget_oldest(&self) -> bool {
        if self.is_inherited() {
            return false;
        }
        let inner = &mut *self.inner.borrow_mut();
        let Some(&(number, slot)) = inner.published.front() else { return false };
        if number >= self.passed() {
            return false;
        }
        inner.published.pop_front();
        retire(inner, slot);
        true
    }

    /// All present subscribers have passed messages with smaller numbers.
    fn passed(&self) -> u64 {
        if self.topic.places.map_all().is_err() {
            // It cannot see some of them.
            return 0;
        }
        self.topic.places.active().map(|place| place.cursor()).min().unwrap_or(u64::MAX)
    }
}
