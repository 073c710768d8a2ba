//! `situ demo`: a sensor, a filter and a viewer in three processes.
pub mod children;
pub mod input;
pub mod latency;
mod picture;
mod plot;
mod scene;
