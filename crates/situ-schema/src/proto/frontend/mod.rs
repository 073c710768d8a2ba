//! Reads `.proto` files into descriptors, and checks them by rules of protoc.

pub mod descriptor;
mod edition;
pub mod load;
mod position;
pub mod rules;
