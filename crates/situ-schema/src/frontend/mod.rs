//! Reads interface files: finds them, parses IDL and ROS's formats into declarations, and resolves these to a
//! schema.
//!
//! `loader` drives the others. `files` finds files, `idl` and `ros` parse them into the declarations of
//! `ast`, `overlay` adds what overlay files say, and `resolve` checks the declarations and makes a schema of
//! them.

mod ast;
pub(crate) mod files;
mod idl;
pub(crate) mod loader;
mod overlay;
mod resolve;
mod ros;
