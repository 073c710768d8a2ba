//! Messages in which every byte follows from the first three words, so that a torn message is detected.

use std::collections::HashMap;

use situ_bus::{PublishError, RawPublisher, RawSample};

/// The head's size: several cache lines.
pub const HEAD: usize = 320;
const WORDS: usize = HEAD / 8;

fn word(publisher: u64, count: u64, index: usize) -> u64 {
    (publisher ^ count.rotate_left(32)).wrapping_add((index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Returns the bytes of message `count` of `publisher`, head and body.
pub fn bytes(publisher: u64, count: u64, body: usize) -> (Vec<u8>, Vec<u8>) {
    let body = body / 8;
    let words = (0..WORDS + body).map(|index| match index {
        0 => publisher,
        1 => count,
        2 => body as u64 * 8,
        _ => word(publisher, count, index),
    });
    let mut head: Vec<u8> = words.flat_map(u64::to_ne_bytes).collect();
    let body = head.split_off(HEAD);
    (head, body)
}

/// Publishes a prepared message.
pub fn send_bytes(publisher: &RawPublisher, head: &[u8], body: &[u8]) -> Result<u64, PublishError> {
    let mut loan = publisher.loan(HEAD, 8, body.len()).unwrap();
    loan.head_bytes().copy_from_slice(head);
    loan.body_bytes().copy_from_slice(body);
    loan.publish()
}

/// Publishes message `count` of `name`, with a body of this size.
pub fn send(publisher: &RawPublisher, name: u64, count: u64, body: usize) -> Result<u64, PublishError> {
    let (head, body) = bytes(name, count, body);
    send_bytes(publisher, &head, &body)
}

/// Checks every byte of a message. Returns its publisher and its count.
pub fn check(sample: &RawSample) -> (u64, u64) {
    check_bytes(sample, sample.body_in_place())
}

/// The same for a message whose body was fetched from a device.
pub fn check_bytes(sample: &RawSample, body: &[u8]) -> (u64, u64) {
    let words: Vec<u64> = sample
        .head_in_place()
        .as_chunks()
        .0
        .iter()
        .chain(body.as_chunks().0)
        .map(|bytes| u64::from_ne_bytes(*bytes))
        .collect();
    let number = sample.sequence();
    assert_eq!(sample.head_in_place().len(), HEAD, "head of message {number}");
    let (publisher, count) = (words[0], words[1]);
    assert_eq!(words[2], body.len() as u64, "body of message {number}");
    for (index, value) in words.iter().enumerate().skip(3) {
        assert_eq!(*value, word(publisher, count, index), "torn at word {index} of message {number}");
    }
    (publisher, count)
}

/// The messages of each publisher that a subscriber has seen.
#[derive(Default)]
pub struct Order {
    last: HashMap<u64, u64>,
    number: Option<u64>,
    complete: bool,
}

impl Order {
    /// `complete`: whether no message may be missing.
    pub fn new(complete: bool) -> Self {
        Self { complete, ..Self::default() }
    }

    /// Records a message. Its number and its publisher's count must be larger than those before.
    pub fn note(&mut self, sample: &RawSample) {
        self.note_bytes(sample, sample.body_in_place());
    }

    /// The same for a message whose body was fetched from a device.
    pub fn note_bytes(&mut self, sample: &RawSample, body: &[u8]) {
        let (publisher, count) = check_bytes(sample, body);
        let number = sample.sequence();
        if let Some(last) = self.number.replace(number) {
            assert!(number > last, "message {number} after {last}");
            assert!(!self.complete || number == last + 1, "message {number} after {last}: lost some");
        }
        if let Some(last) = self.last.insert(publisher, count) {
            assert!(count > last, "publisher {publisher:x}: message {count} after {last}");
            assert!(
                !self.complete || count == last + 1,
                "publisher {publisher:x}: message {count} after {last}: lost some"
            );
        }
    }
}
