//! The graph: which nodes there are, and what each publishes, subscribes to, calls and serves.
//!
//! Each node describes its endpoints in its own file. One reader of these files knows the whole graph without
//! opening a topic; a change of a file, or its closing when a process dies, is a change of the graph.
//!
//! ```text
//!   endpoint_info   what an endpoint tells about itself
//!   record          its bytes in the file of its node
//!   listing         writes the record when an endpoint is created, and clears it when that is dropped
//!   read            the graph at one time
//!   changes         what differs between the graph at two times
//!   watch           waits for changes
//! ```

pub(crate) mod changes;
pub(crate) mod endpoint_info;
pub(crate) mod listing;
pub(crate) mod read;
mod record;
pub(crate) mod watch;
