//! Services: requests, and replies that reach their client alone. See `spec/service.md`.
//!
//! A service consists of topics. All clients publish their requests on one topic, which all servers take
//! from. Each client has a topic of its own for its replies. A server joins it when it first answers that
//! client. User headers relate replies to requests. So all that topics have, services have too: messages
//! without copies, memory domains, repair after deaths.
//!
//! ```text
//!   header        the user headers of requests and replies
//!   description   the types of a service
//!   options       the options of clients and servers
//!   errors        why operations fail
//!   qos           the quality of service of the topics
//!   calls         the calls of a client that are under way
//!   alarms        how clients and servers are made to look again although no message has come
//!   servers       whether the servers of a call are alive
//!   client        sends requests, and takes replies
//!   build_in_place  what requests and replies under construction have in common
//!   request       requests as a server takes them
//!   clients       a server's publishers of replies, one for each client
//!   server        takes requests, and sends replies
//!   answer        a reply that is being built
//!   waiting       waits of clients and servers
//!   tracepoints   the events of calls for a tracer
//! ```

mod alarms;
pub(crate) mod answer;
mod build_in_place;
mod calls;
pub(crate) mod client;
mod clients;
pub(crate) mod description;
pub(crate) mod errors;
pub(crate) mod header;
pub(crate) mod options;
mod qos;
pub(crate) mod request;
pub(crate) mod server;
mod servers;
mod tracepoints;
mod waiting;

#[cfg(test)]
mod tests;
