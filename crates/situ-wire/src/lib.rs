//! The wire: CDR, versions 1 and 2 of OMG DDS-XTypes, for Situ messages (`spec/cdr.md`), and append-only [`protobuf`].
//!
//! ```
//! # fn example<T: situ_layout::visit::Structure + PartialEq>(message: &T, other: &mut T) -> Result<(), Box<dyn std::error::Error>> {
//! use situ_wire::{Encoding, decode, encode_to_vec};
//!
//! let bytes = encode_to_vec(message, Encoding::Xcdr1)?;
//! decode(other, &bytes)?;
//! assert!(message == other);
//! # Ok(())
//! # }
//! ```
//!
//! Encoding and decoding are each one visitor ([`situ_layout::visit`]), built once for all types and storages; a message
//! with flat storage and one with heap storage have the same bytes on the wire. [`Reader`] and [`Writer`] are what they
//! stand on, for programs that know a schema only at run time.

mod cdr;
pub mod protobuf;

pub use cdr::*;
