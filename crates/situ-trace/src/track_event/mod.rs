//! Track events: categories, slices, instants, counters, arguments and flows, and the events of the bus.
//!
//! ```text
//! macros         for programs: category!, slice!, begin!, end!, instant!, counter!
//! record         slices, instants and counters on the calling thread
//! layer          spans of `tracing` as slices, its events as messages of logs
//! join           decides when a process takes part in sessions
//! bus            the events of the bus
//!   thread       a thread's writer, and the names that it has sent
//!     bus_topics   the names of a topic's events, and its counters
//!     call_track   the tracks of calls of services
//!     track        the tracks that programs name
//!     sequence_clock  times as differences from the one before
//!     open_slices  the slices of a thread that have not ended
//!     counter event log value   the data of events, and its encoding
//!     typed      fields that a function of the program writes
//!     process    this process: its connection, its clock, its description
//!     category   groups of events that are switched on and off together
//!     names      names as numbers, and which of them a writer has sent
//! ```

mod bus;
mod bus_topics;
mod call_track;
mod category;
mod counter;
mod event;
mod join;
#[cfg(feature = "tracing")]
pub mod layer;
mod log;
mod macros;
mod names;
mod open_slices;
mod process;
mod record;
pub(crate) mod sequence_clock;
mod thread;
mod track;
mod typed;
mod value;

pub use category::Category;
pub use counter::{Counter, Unit};
pub use event::{Event, Kind};
pub use join::{install, join};
pub use log::{Log, Severity};
pub use names::{Label, Name};
pub use open_slices::SliceToken;
pub use process::{is_traced, now_ns};
pub use record::{Slice, write_count};
pub use thread::{write as write_event, write_packet};
pub use track::Track;
pub use typed::{TypedFields, typed};
pub use value::{Argument, Value};
