//! A live server for Foxglove: topics as channels, publishing from the screen, services, and parameters.
//!
//! ```text
//!   server      accepts connections, looks for topics, and ends the threads
//!      │
//!      ▼
//!   connection  one client: what it sees, what it asks for, and when to wait
//!      │
//!      ├──▶ subscription   a subscriber on the bus, while a client looks at its topic
//!      ├──▶ inbound        publishers on the bus, for what a client publishes
//!      ├──▶ requests       what a client asks of nodes: calls, and parameters
//!      │      ├──▶ caller       clients of services on the bus, and the calls under way
//!      │      └──▶ parameters   parameters of nodes, as screens and as nodes have them; base64
//!      ▼
//!   shared      the options, the channels, and the counts of clients
//!   channels    topics as Foxglove sees them: type, encoding, messages as CDR; services: the same of these
//!   screen      Situ's own types as those of ROS, for panels that know only these
//!   protocol    the messages of the protocol (`foxglove.websocket.v1`, `foxglove.sdk.v1`)
//!   handshake   which clients may connect
//!   stream      the bytes of a connection, and whether it accepts some
//! ```
//!
//! Each client has a thread and subscribers of its own. The history of a subscriber is the client's queue: a
//! topic keeps its newest messages for the client, and what a slow connection misses is counted. A message is
//! copied when the connection has room for it, and for no other reason. All subscribers are best effort, so
//! no publisher waits.
//!
//! The crate `foxglove` (0.30) is not used. It brings 124 crates, an asynchronous runtime among them. It
//! copies each message into the queue of each client, and does not count what it drops there. The protocol is
//! small.

mod base64;
mod caller;
mod channels;
mod connection;
mod handshake;
mod inbound;
mod parameters;
mod protocol;
mod requests;
mod screen;
mod server;
mod services;
mod shared;
mod stream;
mod subscription;

pub use server::{Server, ServerError};
pub use shared::{ClientReport, Rate, ServerOptions};
