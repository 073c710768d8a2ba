//! Bridges between machines, each with a root of its own.

mod common;
mod interop;
mod kept;
mod loops;
mod namespaces;
mod network;
mod services;
mod tls;
mod topics;
