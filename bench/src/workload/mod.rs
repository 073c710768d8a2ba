//! The work of the nodes in the tables `domains` and `graphs`, and the messages of table `protobuf`.
//!
//! `domains` has a filter and an image, `graphs` has random graphs, and both use a device. There are two ways
//! to the device: explicit copies between the device and messages in host memory ([`explicit`]), and messages
//! in the device's memory ([`in_domain`]).

pub mod bilateral;
pub mod cuda;
pub mod device;
pub mod explicit;
pub mod graph;
pub mod in_domain;
pub mod protobuf;
pub mod random;
pub mod span;
pub mod vulkan;

use situ::memory::DomainId;

use bilateral::{Bilateral, Extent};
use graph::Graph;

use crate::failure::Failure;

/// A way for the nodes of graphs to pass messages.
pub trait Rails {
    /// A node of a graph.
    type Station: Station;
    /// Opens a node. `topic` returns the name of the topic on which a node publishes.
    fn station(
        &mut self,
        graph: &Graph,
        node: usize,
        topic: &dyn Fn(usize) -> String,
    ) -> Result<Self::Station, Failure>;
    /// Waits until messages are no longer lost.
    fn settle(&self);
}

/// A node of a graph.
pub trait Station {
    /// Waits until the node knows its neighbours, if that takes time.
    fn connect(&self) -> Result<(), Failure>;
    /// Takes one message from each predecessor, reads them, writes its own message and publishes it.
    fn round(&mut self, sequence: u64) -> Result<(), Failure>;
    /// The number of copies of whole messages since the node was opened: its own, and others' of its
    /// messages.
    fn copies(&self) -> Result<u64, Failure>;
}

/// The times of an image in the first node.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Before any work: the image lies in the memory of the first process.
    pub start: u64,
    /// The times at which the filter began and ended.
    pub kernel: (u64, u64),
    /// The time at which the message was complete.
    pub sent: u64,
    /// The number of copies of the image.
    pub copies: u64,
}

/// The times of an image in the second node.
#[derive(Clone, Copy, Debug)]
pub struct Got {
    /// The time at which the message had arrived.
    pub got: u64,
    /// The times at which the filter began and ended.
    pub kernel: (u64, u64),
    /// The time at which the result lay in the memory of the second process.
    pub end: u64,
    /// The number of copies of the image.
    pub copies: u64,
    /// A checksum of the result.
    pub checksum: u64,
}

/// A way for two filters to pass images. All times are nanoseconds of CLOCK_MONOTONIC.
pub trait Lens {
    /// Opens the first node, or the second, on this device, for images of this extent.
    fn open(&mut self, topic: &str, id: DomainId, extent: Extent, first: bool) -> Result<(), Failure>;
    /// Waits until the node knows the other one, and messages are no longer lost.
    fn connect(&self) -> Result<(), Failure>;
    /// Filters the picture and sends it.
    fn first(&mut self, filter: &Bilateral, sequence: u64) -> Result<Sent, Failure>;
    /// Takes the image and filters it again.
    fn second(&mut self, filter: &Bilateral, sequence: u64) -> Result<Got, Failure>;
    /// Closes what is open.
    fn close(&mut self);
}

/// A checksum of 48 bits: FNV-1a over the words.
pub fn checksum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let step = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x0100_0000_01B3);
    let hash = words.iter().fold(0xCBF2_9CE4_8422_2325, |hash, word| step(hash, u64::from_le_bytes(*word)));
    rest.iter().fold(hash, |hash, &byte| step(hash, u64::from(byte))) >> 16
}
