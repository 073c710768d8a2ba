//! What bridges and nodes of rmw_zenoh say to each other: keys, tokens, attachments, hashes of types.
//!
//! ```text
//!   attachment   the bytes beside each message: its number, its time, its publisher, its origin
//!   token        the keys by which nodes and endpoints show that they are alive
//!   token_qos    the quality of service in such a key
//!   names        names of topics and types as ROS and as DDS write them, and keys of topics
//!   type_hash    the hash of a type (RIHS01) from its schema
//!   schema_text  a type of Situ, as one bridge tells it another
//! ```
//!
//! All of this is read from the network: nothing here panics, and sizes are limited before memory is taken.

pub mod attachment;
pub mod names;
pub mod schema_text;
pub mod token;
pub mod token_qos;
pub mod type_hash;
