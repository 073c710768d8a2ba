//! Traces that Perfetto opens, written by many processes without a lock or a system call.
//!
//! A [`Producer`] is a process that can be traced. Each of its threads has a [`Writer`], which encodes
//! packets straight into a ring of chunks in shared memory. A [`Collector`], in any process, reads the
//! packets from there and writes the file. No finished packet is lost, even if its thread or process dies.
//! Packets for which there is no room are lost and counted. The format is `spec/trace.md`.
//!
//! ```text
//!    thread: Writer ----+        ring of one producer                     Collector
//!                       |   +------+------+------+------+------+
//!    thread: Writer ----+-> | idle | full | busy | free | free | --------> reassembles, patches,
//!                           +------+------+------+------+------+           writes Trace.packet
//!                              a word in front of each names its owner
//! ```
//!
//! Programs use the layer above: [`category!`], [`slice!`], [`instant!`] and [`counter!`] write events with
//! arguments and flows. The bus writes its own events.
//!
//! ```
//! use situ_trace::{category, counter, instant, slice};
//!
//! category!(PLANNER, "planner");
//!
//! fn plan(goal: f64, cloud: u64) {
//!     // Ends with the scope. An arrow connects it to the last event with the same flow number.
//!     let _slice = slice!(PLANNER, "plan", flow = cloud, "goal" => goal);
//!     instant!(PLANNER, "replanned", "reason" => "a pedestrian");
//!     counter!(PLANNER, "candidates", 17);
//! }
//! # plan(1.0, 2);
//! ```
//!
//! A process takes part in sessions as soon as it has a node, or calls [`join`]. With `SITU_TRACE=0` it takes
//! part in none. A category that is off costs one relaxed load.

#[cfg(all(not(loom), feature = "collector"))]
mod collector;
#[cfg(not(loom))]
mod producer;
#[cfg(not(loom))]
mod proto;
#[cfg(all(not(loom), feature = "collector"))]
pub mod reader;
#[cfg_attr(not(feature = "collector"), allow(dead_code, reason = "what the collector does with it"))]
pub mod shm;
#[cfg_attr(not(feature = "collector"), allow(dead_code, reason = "what the collector asks for"))]
#[cfg(not(loom))]
mod system;
#[cfg(not(loom))]
mod track_event;

#[cfg(all(not(loom), fuzzing))]
pub use self::collector::collect_any;
#[cfg(all(not(loom), feature = "collector"))]
pub use self::collector::{
    Collector, CollectorOptions, KeptCategories, ProducerSummary, Sink, StartError, StopError, Summary,
    Trigger, WriterSummary, clean, request_stop, running,
};
#[cfg(all(not(loom), feature = "tracing"))]
pub use self::track_event::layer;
#[cfg(not(loom))]
pub use self::{
    producer::{ConnectError, Limits, Packet, Producer, Writer},
    shm::control::{ControlError, MAX_CATEGORIES},
    shm::format::Lost,
    shm::session::{Policy, Session},
    track_event::{
        Argument, Category, Counter, Event, Kind, Label, Log, Name, Severity, Slice, SliceToken, Track,
        TypedFields, Unit, Value, install, is_traced, join, now_ns, typed, write_count, write_event,
        write_packet,
    },
};
