//! What the tests of the bus share: a root directory of their own, and a type known only at run time.
#![allow(dead_code, reason = "each test file uses its part")]

pub mod messages;
pub mod pattern;
pub mod process;
pub mod registered;
pub mod step;
pub mod watched;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use situ_bus::{Encoding, Node, RawPublisher, RawSubscriber, Root, TypeDescription};

/// A root directory that is removed when dropped, by its maker.
pub struct Scratch(pub PathBuf, bool);

impl Scratch {
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        Self(PathBuf::from(format!("/dev/shm/situ-test-bus-{}-{count}", std::process::id())), true)
    }

    /// A root that belongs to another user.
    pub fn shared(path: PathBuf) -> Self {
        Self(path, false)
    }

    pub fn root(&self) -> Root {
        Root::at(&self.0, None)
    }

    pub fn node(&self, name: &str) -> Node {
        Node::in_root(name, self.root()).unwrap()
    }

    /// The directory of a topic.
    pub fn topic(&self, name: &str) -> PathBuf {
        self.0.join("topics").join(name)
    }

    /// All files below the root.
    pub fn files(&self) -> Vec<PathBuf> {
        fn walk(path: &std::path::Path, files: &mut Vec<PathBuf>) {
            for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
                if entry.path().is_dir() { walk(&entry.path(), files) } else { files.push(entry.path()) }
            }
        }
        let mut files = Vec::new();
        walk(&self.0, &mut files);
        files
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.1 {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

pub fn numbers() -> TypeDescription {
    TypeDescription {
        name: "test::Numbers".to_owned(),
        schema: "module test {\n  struct Numbers {\n    uint64 value;\n  };\n};\n".to_owned(),
        schema_hash: 0x1234,
        layout_hash: 0x5678,
        encoding: Encoding::Flat,
    }
}

/// Publishes one number in the head and as many bytes of it in the body.
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
