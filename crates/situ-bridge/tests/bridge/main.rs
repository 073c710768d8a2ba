//! Bridges between machines, each with a root of its own.

mod common;
mod interop;
mod loops;
mod namespaces;
mod network;
mod services;
mod tls;
mod topics;
