//! Copies of small messages in rows: a reader gets the message that it asked for, or takes the slot.

use std::sync::Arc;

use loom::thread;
use situ_bus::protocol::ring::{Copied, Look, NewRow, Ring};
use situ_bus::protocol::row::{Alone, CopyRow, LONG_WORDS, Rows, SHORT_WORDS};
use situ_memory::sync::atomic::{AtomicU64, Ordering, fence};

use super::{admit, explore, slot};

/// A topic with one row, so that every message replaces the one before.
struct Topic {
    rows: Vec<CopyRow<LONG_WORDS>>,
    head: AtomicU64,
    alone: Alone,
}

/// The words of a message, different for each.
fn message<const WORDS: usize>(id: u64) -> [u64; WORDS] {
    std::array::from_fn(|word| (id + 1) * 10 + word as u64)
}

/// A message with one word in the second line.
const WORDS: usize = SHORT_WORDS + 1;

impl Topic {
    fn new() -> Arc<Self> {
        let topic = Self { rows: vec![CopyRow::new()], head: AtomicU64::new(0), alone: Alone::default() };
        topic.alone.begin(Some(0));
        Arc::new(topic)
    }

    fn ring(&self) -> Ring<'_> {
        Ring::new(Rows::Long(&self.rows), &self.head)
    }

    /// As a publisher does whose first number is `since`. The reference's slot tells the message.
    fn publish(&self, since: u64, id: u16) {
        let words = message::<WORDS>(u64::from(id));
        let copied = self.alone.is(since).then_some(Copied::new(&words));
        let row = NewRow::new(slot(id), copied.map_or(&[], |copied| copied.rest));
        let number = self.ring().publish(0, row, admit).unwrap();
        if let Some(copied) = copied {
            self.ring().complete_copy(number, copied.first, 1);
        }
    }

    /// As a reader does. Returns whether it found a copy.
    fn take(&self, number: u64) -> bool {
        let Look::Here(reference) = self.ring().look(number) else { return false };
        if self.alone.wrote(number).is_none() {
            return false;
        }
        self.check_copy(number, reference)
    }

    fn check_copy(&self, number: u64, reference: situ_bus::protocol::ring::Reference) -> bool {
        let mut words = [0; WORDS];
        let found = self.ring().read_copy(number, reference, &mut words).is_some();
        let right = message(u64::from(reference.slot));
        assert!(!found || words == right, "the copy of another message, or parts of two");
        found
    }
}

/// The publisher laps a reader at any step: the reader has the whole message, or none.
#[test]
fn a_reader_gets_the_copy_of_its_message_or_none() {
    explore(3, || {
        let topic = Topic::new();
        let theirs = topic.clone();
        let publisher = thread::spawn(move || (0..2).for_each(|id| theirs.publish(0, id)));
        topic.take(0);
        topic.take(1);
        publisher.join().unwrap();
        assert!(topic.take(1), "at rest the copy is there");
    });
}

/// A second publisher joins while the first is anywhere in a publication, also between its claim and its
/// copy.
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

/// The protocol once more, for one row and a message of a word in each line, without one of its steps.
#[derive(Default)]
struct Broken {
    reference: AtomicU64,
    stamp: AtomicU64,
    words: [AtomicU64; 2],
}

/// The steps that a variant has.
#[derive(Clone, Copy)]
struct Steps {
    clear: bool,
    check_stamp: bool,
    check_reference: bool,
}

const ALL: Steps = Steps { clear: true, check_stamp: true, check_reference: true };

fn explore_with(steps: Steps) {
    explore(3, move || {
        let row = Arc::new(Broken::default());
        let theirs = row.clone();
        let publisher = thread::spawn(move || {
            for id in 1..3 {
                let words: [u64; 2] = message(id);
                if steps.clear {
                    theirs.stamp.store(0, Ordering::Relaxed);
                    fence(Ordering::Release);
                }
                theirs.words[1].store(words[1], Ordering::Relaxed);
                theirs.reference.swap(id, Ordering::SeqCst);
                fence(Ordering::Release);
                theirs.words[0].store(words[0], Ordering::Relaxed);
                theirs.stamp.store(1, Ordering::Release);
            }
        });
        let id = row.reference.load(Ordering::SeqCst);
        let stamp = row.stamp.load(Ordering::Acquire);
        if id != 0 && stamp != 0 {
            let words = [0, 1].map(|word: usize| row.words[word].load(Ordering::Relaxed));
            fence(Ordering::Acquire);
            if (!steps.check_stamp || row.stamp.load(Ordering::Acquire) == stamp)
                && (!steps.check_reference || row.reference.load(Ordering::Relaxed) == id)
            {
                assert_eq!(words, message(id), "the copy of another message");
            }
        }
        publisher.join().unwrap();
    });
}

#[test]
fn the_protocol_with_all_its_steps_holds() {
    explore_with(ALL);
}

#[test]
#[should_panic(expected = "the copy of another message")]
fn the_stamp_must_be_cleared_before_the_claim() {
    explore_with(Steps { clear: false, ..ALL });
}

#[test]
#[should_panic(expected = "the copy of another message")]
fn the_stamp_must_be_read_again() {
    explore_with(Steps { check_stamp: false, ..ALL });
}

#[test]
#[should_panic(expected = "the copy of another message")]
fn the_reference_must_be_read_again() {
    explore_with(Steps { check_reference: false, ..ALL });
}
