//! The memory of messages that topics of other machines keep here for late subscribers, and its limit.
//!
//! A publisher of another machine that is transient local has one here, which keeps its last messages, as
//! many as its depth. How large they are, the other machine decides. So the bridge adds them up. Above the
//! limit, the topic that keeps most forgets its oldest message, until the limit holds.
//!
//! What a present subscriber has not taken stays, and does not count: it is not there for late subscribers,
//! and the depth limits it.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError, Weak};

/// A topic that keeps messages.
pub trait Keeper: Send + Sync {
    /// Forgets the oldest message of the publisher that keeps most. `gives_back` says whether its memory goes
    /// back to the system. Says with `set` how many bytes the topic keeps then.
    fn forget_one(&self, gives_back: bool, set: &dyn Fn(u64)) -> Forgot;
}

/// What a topic did that was to forget a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forgot {
    /// It forgot one.
    One,
    /// It has none that all present subscribers have passed.
    Nothing,
    /// A message comes just now. It looks at the limit itself, afterwards.
    Busy,
}

/// The limit, and what counts against it.
pub struct Kept {
    limit: u64,
    ledger: Mutex<Ledger>,
}

#[derive(Default)]
struct Ledger {
    total: u64,
    topics: HashMap<u64, (Weak<dyn Keeper>, u64)>,
    next: u64,
}

impl Ledger {
    fn set(&mut self, topic: u64, bytes: u64) {
        if let Some((_, before)) = self.topics.get_mut(&topic) {
            self.total = self.total.saturating_sub(*before).saturating_add(bytes);
            *before = bytes;
        }
    }
}

impl Kept {
    /// At most this many bytes.
    pub fn new(limit: u64) -> Self {
        Self { limit, ledger: Mutex::default() }
    }

    /// The limit, in bytes.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// How many bytes all topics keep.
    pub fn total(&self) -> u64 {
        self.ledger().total
    }

    fn ledger(&self) -> std::sync::MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a topic that keeps nothing. Returns its number.
    pub fn join(&self, topic: Weak<dyn Keeper>) -> u64 {
        let mut ledger = self.ledger();
        let number = ledger.next;
        ledger.next += 1;
        ledger.topics.insert(number, (topic, 0));
        number
    }

    /// Removes a topic.
    pub fn leave(&self, topic: u64) {
        let mut ledger = self.ledger();
        ledger.set(topic, 0);
        ledger.topics.remove(&topic);
    }

    /// Says how many bytes a topic keeps.
    pub fn set(&self, topic: u64, bytes: u64) {
        self.ledger().set(topic, bytes);
    }

    /// Lets topics forget messages until the limit holds. `active` is the topic that has just got a message:
    /// its next message takes the memory of the one that it forgets, while other topics return theirs.
    ///
    /// The caller holds no lock of a topic.
    pub fn enforce(&self, active: Option<u64>) {
        let mut tried = HashSet::new();
        loop {
            let (number, topic) = {
                let ledger = self.ledger();
                if ledger.total <= self.limit {
                    return;
                }
                let others = ledger.topics.iter().filter(|(number, _)| !tried.contains(*number));
                let Some((number, (topic, bytes))) = others.max_by_key(|(_, (_, bytes))| *bytes) else {
                    return;
                };
                if *bytes == 0 {
                    return;
                }
                (*number, topic.clone())
            };
            // Without the ledger's lock: a topic that has just got a message holds its own first.
            let set = |bytes| self.set(number, bytes);
            match topic.upgrade().map(|topic| topic.forget_one(active != Some(number), &set)) {
                Some(Forgot::One) => {}
                Some(Forgot::Nothing | Forgot::Busy) => drop(tried.insert(number)),
                None => self.leave(number),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// A topic with messages of these sizes, the oldest first.
    struct Topic {
        messages: Mutex<Vec<u64>>,
        is_busy: AtomicBool,
        gave_back: AtomicBool,
    }

    impl Topic {
        fn new(messages: &[u64]) -> Arc<Self> {
            let (is_busy, gave_back) = (AtomicBool::new(false), AtomicBool::new(false));
            Arc::new(Self { messages: Mutex::new(messages.to_vec()), is_busy, gave_back })
        }

        fn bytes(&self) -> u64 {
            self.messages.lock().unwrap().iter().sum()
        }
    }

    impl Keeper for Topic {
        fn forget_one(&self, gives_back: bool, set: &dyn Fn(u64)) -> Forgot {
            if self.is_busy.load(Ordering::Relaxed) {
                return Forgot::Busy;
            }
            self.gave_back.fetch_or(gives_back, Ordering::Relaxed);
            // The newest one is still to be taken by a subscriber.
            let mut messages = self.messages.lock().unwrap();
            if messages.len() < 2 {
                return Forgot::Nothing;
            }
            messages.remove(0);
            set(messages.iter().sum());
            Forgot::One
        }
    }

    fn join(kept: &Kept, topic: &Arc<Topic>) -> u64 {
        let weak: Weak<Topic> = Arc::downgrade(topic);
        let number = kept.join(weak);
        kept.set(number, topic.bytes());
        number
    }

    #[test]
    fn the_topic_that_keeps_most_forgets_its_oldest() {
        let kept = Kept::new(100);
        let (small, large) = (Topic::new(&[10, 10]), Topic::new(&[40, 39]));
        let (_, number) = (join(&kept, &small), join(&kept, &large));
        kept.enforce(Some(number));
        assert_eq!((small.bytes(), large.bytes()), (20, 79), "the limit holds");
        large.messages.lock().unwrap().push(30);
        kept.set(number, large.bytes());
        kept.enforce(Some(number));
        assert_eq!((small.bytes(), large.bytes()), (20, 69));
        assert!(!large.gave_back.load(Ordering::Relaxed), "it is the active one");
        kept.enforce(None);
        assert_eq!(kept.total(), 89);
        kept.leave(number);
        assert_eq!(kept.total(), 20);
    }

    #[test]
    fn topics_that_can_forget_nothing_are_left_alone() {
        let kept = Kept::new(10);
        let (busy, one, gone) = (Topic::new(&[50, 50]), Topic::new(&[70]), Topic::new(&[90, 90]));
        join(&kept, &busy);
        join(&kept, &one);
        join(&kept, &gone);
        busy.is_busy.store(true, Ordering::Relaxed);
        drop(gone);
        kept.enforce(None);
        assert_eq!((busy.bytes(), one.bytes(), kept.total()), (100, 70, 170));
        // The busy one looks itself.
        busy.is_busy.store(false, Ordering::Relaxed);
        kept.enforce(Some(0));
        assert_eq!((busy.bytes(), kept.total()), (50, 120));
    }
}
