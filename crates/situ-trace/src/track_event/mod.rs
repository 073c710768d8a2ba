//! Track events: categories, slices, instants, counters, arguments and flows, and what the bus does.
//!
//! ```text
//! macros         what a program calls: category!, slice!, instant!, counter!
//! slice counter  what those make
//! event value    what is written, and how it is encoded
//! category       what is switched on and off as a whole
//! names          names as numbers, and which a writer has sent
//! thread         a thread's writer, and what it has sent
//! process        this process: when it takes part, and how it is described
//! bus            what the bus does, as events
//! layer          spans of `tracing` as slices
//! ```

mod bus;
mod category;
mod counter;
mod event;
#[cfg(feature = "tracing")]
pub mod layer;
mod macros;
mod names;
mod process;
mod slice;
mod thread;
mod value;

pub use category::Category;
pub use counter::{Counter, Unit};
pub use event::{Argument, Event, Kind};
pub use names::Name;
pub use process::{install, is_traced, join, now_ns};
pub use slice::Slice;
pub use thread::write as write_event;
pub use value::Value;
