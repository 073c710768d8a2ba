//! What the nodes of the tables `domains` and `graphs` do: the filter and the image of the one, the random graphs of the
//! other, the device that both work on, and the two ways to it: explicit copies between the device and messages in host
//! memory ([`explicit`]), and messages in the device's memory ([`in_domain`]). And the messages of the table `protobuf`.

pub mod bilateral;
pub mod cuda;
pub mod device;
pub mod explicit;
pub mod graph;
pub mod in_domain;
pub mod protobuf;
pub mod random;
pub mod vulkan;

use situ::memory::DomainId;

use bilateral::{Bilateral, Extent};
use graph::Graph;

use crate::failure::Failure;

/// A way for the nodes of graphs to pass messages.
pub trait Rails {
    /// A node of a graph.
    type Station: Station;
    /// Opens a node; `topic` names the topic that a node publishes on.
    fn station(
        &mut self,
        graph: &Graph,
        node: usize,
        topic: &dyn Fn(usize) -> String,
    ) -> Result<Self::Station, Failure>;
    /// Waits until no message is lost any more.
    fn settle(&self);
}

/// A node of a graph.
pub trait Station {
    /// Waits until it knows its neighbours, where that takes time.
    fn connect(&self) -> Result<(), Failure>;
    /// Takes one message from each predecessor, looks at them, writes one of its own and publishes it.
    fn round(&mut self, sequence: u64) -> Result<(), Failure>;
    /// How many copies of whole messages it made since it was opened, or others made of its messages.
    fn copies(&self) -> Result<u64, Failure>;
}

/// What happened to an image in the first node.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Before anything was done: the image lies in the memory of the first process.
    pub start: u64,
    /// When the filter began, and when it was done.
    pub kernel: (u64, u64),
    /// When the message was complete.
    pub sent: u64,
    /// How many copies of the image this took.
    pub copies: u64,
}

/// What happened to an image in the second node.
#[derive(Clone, Copy, Debug)]
pub struct Got {
    /// When the message was there.
    pub got: u64,
    /// When the filter began, and when it was done.
    pub kernel: (u64, u64),
    /// When the result lay in the memory of the second process.
    pub end: u64,
    /// How many copies of the image this took.
    pub copies: u64,
    /// A number that the result determines.
    pub checksum: u64,
}

/// A way for two filters to pass images. All times are nanoseconds of CLOCK_MONOTONIC.
pub trait Lens {
    /// Opens the first node, or the second, on this device, for images of this extent.
    fn open(&mut self, topic: &str, id: DomainId, extent: Extent, first: bool) -> Result<(), Failure>;
    /// Waits until it knows the other node, and no message is lost any more.
    fn connect(&self) -> Result<(), Failure>;
    /// Filters the picture and sends it.
    fn first(&mut self, filter: &Bilateral, sequence: u64) -> Result<Sent, Failure>;
    /// Takes the image and filters it again.
    fn second(&mut self, filter: &Bilateral, sequence: u64) -> Result<Got, Failure>;
    /// Closes what is open.
    fn close(&mut self);
}

/// A number of 48 bits that the bytes determine: FNV-1a over their words.
pub fn checksum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let step = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x0100_0000_01B3);
    let hash = words.iter().fold(0xCBF2_9CE4_8422_2325, |hash, word| step(hash, u64::from_le_bytes(*word)));
    rest.iter().fold(hash, |hash, &byte| step(hash, u64::from(byte))) >> 16
}
