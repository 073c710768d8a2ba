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
//!
//! What people use stands on top of that: [`category!`], [`slice!`], [`instant!`] and [`counter!`] write events with arguments
//! and flows, and the bus is traced by itself.
//!
//! ```
//! use situ_trace::{category, counter, instant, slice};
//!
//! category!(PLANNER, "planner");
//!
//! fn plan(goal: f64, cloud: u64) {
//!     // Ends with the scope. An arrow comes from whatever had the same flow number before.
//!     let _slice = slice!(PLANNER, "plan", flow = cloud, "goal" => goal);
//!     instant!(PLANNER, "replanned", "reason" => "a pedestrian");
//!     counter!(PLANNER, "candidates", 17);
//! }
//! # plan(1.0, 2);
//! ```
//!
//! A process takes part in sessions from its first node on, or from [`join`]; `SITU_TRACE=0` keeps it out. A category that is off
//! costs one relaxed load.

#[cfg(not(loom))]
mod collector;
#[cfg(not(loom))]
mod producer;
#[cfg(not(loom))]
mod proto;
#[cfg(not(loom))]
pub mod reader;
pub mod shm;
#[cfg(not(loom))]
mod system;
#[cfg(not(loom))]
mod track_event;

#[cfg(all(not(loom), fuzzing))]
pub use self::collector::collect_any;
#[cfg(all(not(loom), feature = "tracing"))]
pub use self::track_event::layer;
#[cfg(not(loom))]
pub use self::{
    collector::{
        Collector, CollectorOptions, ProducerSummary, Sink, StartError, StopError, Summary, WriterSummary,
        clean, request_stop, running,
    },
    producer::{ConnectError, Limits, Packet, Producer, Writer},
    shm::control::{ControlError, MAX_CATEGORIES},
    shm::format::Lost,
    shm::session::{Policy, Session},
    track_event::{
        Argument, Category, Counter, Event, Kind, Name, Slice, Unit, Value, install, is_traced, join, now_ns,
        write_event,
    },
};
