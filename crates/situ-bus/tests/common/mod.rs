//! Shared by the tests of the bus: a root directory for each test, and a type known only at run time.
#![allow(dead_code, reason = "each test file uses its part")]

pub mod messages;
pub mod pattern;
pub mod registered;
pub mod service;
pub mod watched;

use std::ops::Deref;
use std::path::PathBuf;

use situ_bus::{Encoding, Node, RawPublisher, RawSubscriber, Root, TypeDescription};

/// A root directory for a test.
pub struct Scratch(situ_testkit::Scratch);

impl Scratch {
    pub fn new() -> Self {
        Self(situ_testkit::Scratch::new("bus"))
    }

    pub fn root(&self) -> Root {
        Root::at(self.path(), None)
    }

    pub fn node(&self, name: &str) -> Node {
        Node::in_root(name, self.root()).unwrap()
    }

    /// The directory of a topic.
    pub fn topic(&self, name: &str) -> PathBuf {
        self.join("topics").join(name)
    }
}

impl Scratch {
    /// The number of slots that subscribers of a topic hold.
    pub fn held(&self, topic: &str) -> usize {
        let topic = situ_bus::inspect::topic(&self.root(), topic).unwrap();
        topic.map_or(0, |topic| topic.subscribers.iter().map(|subscriber| subscriber.held).sum())
    }
}

impl Deref for Scratch {
    type Target = situ_testkit::Scratch;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

/// The role of this process and its root directory, if a test has started it as a child.
pub fn role() -> Option<(String, Scratch)> {
    let (role, scratch) = situ_testkit::process::role_in_root()?;
    Some((role, Scratch(scratch)))
}

pub fn numbers() -> TypeDescription {
    TypeDescription {
        name: "test::Numbers".to_owned(),
        schema: "module test {\n  struct Numbers {\n    uint64 value;\n  };\n};\n".to_owned(),
        schema_hash: 0x1234,
        layout_hash: 0x5678,
        encoding: Encoding::Flat,
        fixed_size: 0,
        user_header_size: 0,
    }
}

/// Publishes a number in the head, and `body` bytes of it in the body.
pub fn publish(publisher: &RawPublisher, value: u64, body: usize) -> u64 {
    let mut loan = publisher.loan(8, 8, body).unwrap();
    // SAFETY: the head has 8 bytes, aligned to 64, and only this loan reaches it.
    unsafe { loan.head().cast::<u64>().write(value) };
    loan.body_bytes().fill(value as u8);
    loan.publish().unwrap()
}

/// Takes one number and checks its body.
pub fn take(subscriber: &RawSubscriber) -> Option<(u64, u64)> {
    let sample = subscriber.take().unwrap()?;
    let value = u64::from_ne_bytes(sample.head_in_place().try_into().unwrap());
    assert!(sample.body_in_place().iter().all(|byte| *byte == value as u8));
    Some((sample.sequence(), value))
}
