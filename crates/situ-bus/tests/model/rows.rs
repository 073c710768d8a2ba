//! Copies of small messages in rows: a reader gets the message that it asked for, or takes the slot.

use std::sync::Arc;

use loom::thread;
use situ_bus::protocol::ring::{Look, Ring};
use situ_bus::protocol::row::{Alone, CopyRow, Rows, SHORT_WORDS};
use situ_memory::sync::atomic::{AtomicU64, Ordering, fence};

use super::{admit, explore, slot};

/// A topic with one row, so that every message replaces the one before.
struct Topic {
    rows: Vec<CopyRow<SHORT_WORDS>>,
    head: AtomicU64,
    alone: Alone,
}

/// The words of a message, different for each.
fn message(number: u64) -> [u64; 2] {
    [number * 10 + 1, number * 10 + 2]
}

impl Topic {
    fn new() -> Arc<Self> {
        let topic = Self { rows: vec![CopyRow::new()], head: AtomicU64::new(0), alone: Alone::default() };
        topic.alone.begin(Some(0));
        Arc::new(topic)
    }

    fn ring(&self) -> Ring<'_> {
        Ring::new(Rows::Short(&self.rows), &self.head)
    }

    /// As a publisher does whose first number is `since`. The reference's slot tells the publisher.
    fn publish(&self, since: u64, publisher: u16) {
        let copies = self.alone.is(since);
        let number = self.ring().publish(0, slot(publisher), admit).unwrap();
        if copies {
            self.ring().write_copy(number, &message(number), 1);
        }
    }

    /// As a reader does. Returns whether it found a copy.
    fn take(&self, number: u64) -> bool {
        let Look::Here(reference) = self.ring().look(number) else { return false };
        if !self.alone.wrote(number) {
            return false;
        }
        self.check_copy(number, reference)
    }

    fn check_copy(&self, number: u64, reference: situ_bus::protocol::ring::Reference) -> bool {
        let mut words = [0; 2];
        let found = self.ring().read_copy(number, reference, &mut words).is_some();
        assert!(!found || words == message(number), "the copy of another message, or parts of two");
        found
    }
}

/// The publisher laps a reader at any step: the reader has the whole message, or none.
#[test]
fn a_reader_gets_the_copy_of_its_message_or_none() {
    explore(3, || {
        let topic = Topic::new();
        let theirs = topic.clone();
        let publisher = thread::spawn(move || (0..2).for_each(|_| theirs.publish(0, 0)));
        topic.take(0);
        topic.take(1);
        publisher.join().unwrap();
        assert!(topic.take(1), "at rest the copy is there");
    });
}

/// A second publisher joins while the first is anywhere in a publication, also between its claim and its copy.
/// `take` reads the second one's message.
fn explore_second_publisher(take: impl Fn(&Topic, u64) + Copy + Send + Sync + 'static) {
    explore(3, move || {
        let topic = Topic::new();
        let theirs = topic.clone();
        let first = thread::spawn(move || theirs.publish(0, 0));
        topic.alone.begin(None);
        topic.publish(0, 1);
        for number in [0, 1] {
            take(&topic, number);
        }
        first.join().unwrap();
        take(&topic, 1);
    });
}

#[test]
fn a_second_publisher_ends_the_copies() {
    explore_second_publisher(|topic, number| _ = topic.take(number));
}

/// A publisher that comes after another one has gone does not inherit its copies.
#[test]
fn a_later_publisher_does_not_inherit_copies() {
    explore(3, || {
        let topic = Topic::new();
        topic.publish(0, 0);
        let theirs = topic.clone();
        let later = thread::spawn(move || {
            theirs.alone.begin(Some(1));
            theirs.publish(1, 1);
        });
        topic.take(0);
        topic.take(1);
        later.join().unwrap();
        assert!(topic.take(1));
    });
}

/// A reader that does not ask whether the publisher is alone gets the words of a publisher that was overtaken
/// between its claim and its copy.
#[test]
#[should_panic(expected = "the copy of another message")]
fn a_reader_must_ask_whether_the_publisher_is_alone() {
    explore_second_publisher(|topic, number| {
        if let Look::Here(reference) = topic.ring().look(number) {
            topic.check_copy(number, reference);
        }
    });
}

/// The protocol once more, for one row and one word of the message, without one of its steps.
#[derive(Default)]
struct Broken {
    reference: AtomicU64,
    stamp: AtomicU64,
    words: [AtomicU64; 2],
}

fn explore_without(clear: bool, check: bool) {
    explore(3, move || {
        let row = Arc::new(Broken::default());
        let theirs = row.clone();
        let publisher = thread::spawn(move || {
            for number in 1..3 {
                if clear {
                    theirs.stamp.store(0, Ordering::Relaxed);
                }
                theirs.reference.swap(number, Ordering::SeqCst);
                fence(Ordering::Release);
                for (word, value) in theirs.words.iter().zip(message(number)) {
                    word.store(value, Ordering::Relaxed);
                }
                theirs.stamp.store(1, Ordering::Release);
            }
        });
        let number = row.reference.load(Ordering::SeqCst);
        if number != 0 && row.stamp.load(Ordering::Acquire) != 0 {
            let words = [0, 1].map(|word: usize| row.words[word].load(Ordering::Relaxed));
            fence(Ordering::Acquire);
            if !check || row.reference.load(Ordering::Relaxed) == number {
                assert_eq!(words, message(number), "the copy of another message");
            }
        }
        publisher.join().unwrap();
    });
}

#[test]
fn the_protocol_with_all_its_steps_holds() {
    explore_without(true, true);
}

#[test]
#[should_panic(expected = "the copy of another message")]
fn the_stamp_must_be_cleared_before_the_claim() {
    explore_without(false, true);
}

#[test]
#[should_panic(expected = "the copy of another message")]
fn the_reference_must_be_read_again() {
    explore_without(true, false);
}
