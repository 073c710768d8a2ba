//! The picture: traces that Perfetto opens, written by many processes without a lock or a system call.
//!
//! A [`Producer`] is a process that can be traced; each of its threads has a [`Writer`], which encodes packets straight into a ring of
//! chunks in shared memory. A [`Collector`], in any process, takes them from there and writes the file. Nothing that was finished is
//! lost, whoever dies, and what is lost because there is no room is counted. The format is `spec/trace.md`.
//!
//! ```text
//!    thread: Writer ----+        ring of one producer                     Collector
//!                       |   +------+------+------+------+------+
//!    thread: Writer ----+-> | idle | full | busy | free | free | --------> reassembles, patches,
//!                           +------+------+------+------+------+           writes Trace.packet
//!                              a word in front of each says who has it
//! ```

#[cfg(not(loom))]
mod collector;
#[cfg(not(loom))]
mod control;
#[cfg(not(loom))]
mod feed;
#[cfg(not(loom))]
mod fork;
#[cfg(not(loom))]
mod format;
pub mod free;
#[cfg(not(loom))]
mod producer;
#[cfg(not(loom))]
mod ring;
#[cfg(not(loom))]
mod session;
#[cfg(not(loom))]
mod system;
pub mod word;
#[cfg(not(loom))]
mod writer;

#[cfg(not(loom))]
pub use self::{
    collector::{
        Collector, CollectorOptions, ProducerSummary, Sink, StartError, StopError, Summary, WriterSummary,
        clean, request_stop, running,
    },
    control::{ControlError, MOST_CATEGORIES},
    producer::{ConnectError, Producer},
    session::{Policy, Session},
    writer::{Lost, Packet, Writer},
};
