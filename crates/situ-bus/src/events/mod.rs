//! Events of publishers and subscribers: matched, incompatible, deadlines, liveliness, lost messages.
//!
//! ```text
//!   status           what each event tells, and the counts behind it
//!   event            one event of one endpoint: taken, waited for, called back
//!   endpoint_events  the events of one endpoint, and what they are worked out from
//!   members          the endpoints on the other side, as this one last saw them
//!   peers            the processes of these endpoints, and which of them have ended
//!   deadline_clock   how many deadlines were missed
//!   lease            a publisher's own signs of life
//!   monitor          the thread that looks when something changes, for endpoints that are waited for
//! ```
//!
//! An endpoint of which the program asks for no events has no such state, except the clock of its deadline
//! and its lease. Nothing runs for it.

pub(crate) mod deadline_clock;
pub(crate) mod endpoint_events;
pub(crate) mod event;
pub(crate) mod lease;
mod members;
pub(crate) mod monitor;
pub(crate) mod peers;
pub(crate) mod status;
