//! Sets of messages of several topics that belong together by their time stamps.
//!
//! ```text
//!   policy        which messages form a set, and the error for settings that make no sense
//!   queues        the stamps of the queued messages of each topic
//!   exact         sets of equal stamps
//!   approximate   sets of the nearest stamps
//!   matcher       stamps in, decisions about messages out; knows neither messages nor topics of the bus
//!   stamped       a subscriber with the stamps of its messages, and tuples of them
//!   synchronizer  takes messages from subscribers, and returns sets of samples
//! ```
//!
//! The rules and their test vectors are in `spec/vectors/synchronizer`.

mod approximate;
mod exact;
mod matcher;
pub(crate) mod policy;
pub(crate) mod queues;
pub(crate) mod stamped;
pub(crate) mod synchronizer;

#[cfg(test)]
mod tests;
