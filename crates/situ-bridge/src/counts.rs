//! Counts of what crosses, which threads share.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts of a topic or service in one direction.
#[derive(Debug, Default)]
pub struct Counts {
    messages: AtomicU64,
    bytes: AtomicU64,
    lost: AtomicU64,
    skipped: AtomicU64,
    refused: AtomicU64,
    echoes: AtomicU64,
}

/// The values of counts at one time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CountValues {
    /// Messages that crossed.
    pub messages: u64,
    /// The bytes of their content.
    pub bytes: u64,
    /// Messages that were overwritten before they could be sent, or found no room here.
    pub lost: u64,
    /// Messages that were not sent because they came sooner than a rule allows.
    pub skipped: u64,
    /// Messages that are malformed, or cannot be converted.
    pub refused: u64,
    /// Messages that came back to the root that they were from.
    pub echoes: u64,
}

impl Counts {
    /// Counts a message that crossed.
    pub fn add(&self, bytes: usize) {
        self.messages.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Counts lost messages.
    pub fn add_lost(&self, messages: u64) {
        self.lost.fetch_add(messages, Ordering::Relaxed);
    }

    /// Counts a message that came too soon.
    pub fn add_skipped(&self) {
        self.skipped.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a message that cannot cross.
    pub fn add_refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a message that came back.
    pub fn add_echo(&self) {
        self.echoes.fetch_add(1, Ordering::Relaxed);
    }

    /// The values.
    pub fn values(&self) -> CountValues {
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        CountValues {
            messages: get(&self.messages),
            bytes: get(&self.bytes),
            lost: get(&self.lost),
            skipped: get(&self.skipped),
            refused: get(&self.refused),
            echoes: get(&self.echoes),
        }
    }
}
