//! Bridges topics and services to other machines by Zenoh, in the form of ROS 2's rmw_zenoh.
//!
//! See the page *Past one machine* of the book.
//!
//! ```text
//!   bridge        holds what crosses, and changes it with the graph here and the tokens of others
//!      │
//!      ▼
//!   discovery     changes of the graph, tokens of others, types that are told
//!   heard         what the tokens of others say now
//!   plan          what should cross: decided from the graph, the tokens and the rules
//!   outbound      a topic that leaves: a thread that sends held samples
//!   inbound       a topic that comes: written once into loans
//!   kept          what such topics keep for late subscribers, and its limit
//!   service_out   a service that is served here; service_in: one that is served elsewhere
//!   room          replies that wait in service_in
//!   local_types   the types of topics and services here
//!   ros_types     common types of ROS, for topics that no program here uses
//!   message_type  messages between the bus and the network
//!   shared        the session, and what all parts know; counts, status, rules, config
//!   exposure      whether machines that nobody has allowed may connect
//!   wire          keys, tokens, attachments and hashes of types
//! ```
//!
//! Zenoh routes, resends and encrypts; nothing here does. No message leaves a machine twice: what a bridge
//! has published is not sent by another bridge, and what comes back to its root is dropped.

mod bridge;
mod config;
mod counts;
mod discovery;
mod error;
mod exposure;
mod heard;
mod inbound;
mod kept;
mod local_types;
mod message_type;
mod outbound;
mod plan;
mod room;
mod ros_types;
mod rules;
mod service_in;
mod service_out;
mod shared;
mod status;
mod wire;

pub use bridge::{Bridge, BridgeOptions, Waker};
pub use config::{ConfigError, SessionOptions};
pub use counts::CountValues;
pub use error::BridgeError;
pub use rules::{Crossing, Direction, Matcher, Priority, Rule, Rules};
pub use status::{CrossingStatus, PeerStatus, Status, Way};
