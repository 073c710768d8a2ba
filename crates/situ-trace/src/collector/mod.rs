//! The collector: announces a session, empties the rings of all producers, and writes the trace.
//!
//! ```text
//! session            begins and ends a session, which one thread collects
//!   worker           that thread: rounds over all rings
//!     ring_reader    one producer's ring; checks all data that it reads
//!       assembler    fragments of one writer -> packets
//!     sink           packets -> a file, or memory that keeps the newest
//!       evicted_state  the state from evicted packets that newer ones need
//!       kept_categories  events of categories with memory of their own
//!       trigger    the events at which the memory is written
//!       event_names  names of events, for both
//!     scheduling     the kernel's scheduling events, by ftrace
//!       sched_pages  pages of the kernel's ring buffers -> Perfetto's events
//!     clocks         snapshots of the clocks
//!     damage         how many parts of rings were damaged
//! options summary    the settings and the result of a session
//! cleanup            removes rings that a dead collector left
//! fuzz               any bytes as the actions of a producer
//! ```

mod assembler;
mod cleanup;
mod clocks;
mod damage;
mod event_names;
mod evicted_state;
#[cfg(any(test, fuzzing))]
mod fuzz;
mod kept_categories;
mod options;
mod ring_reader;
mod sched_pages;
mod scheduling;
mod session;
mod sink;
mod summary;
mod trigger;
mod worker;

pub use cleanup::clean;
#[cfg(fuzzing)]
pub use fuzz::collect_any;
pub use kept_categories::KeptCategories;
pub use options::{CollectorOptions, Sink};
pub use session::{Collector, StartError, StopError, request_stop, running};
pub use summary::{ProducerSummary, Summary, WriterSummary};
pub use trigger::Trigger;
