//! Tracing for people: categories, slices, instants, counters, arguments and flows, and what the bus does.

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
