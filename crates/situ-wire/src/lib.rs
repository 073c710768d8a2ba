//! The wire: CDR, versions 1 and 2 of OMG DDS-XTypes, for Situ messages (`spec/cdr.md`), and append-only
//! [`protobuf`].
//!
//! ```
//! # use situ_layout::visit::Structure;
//! # type Error = Box<dyn std::error::Error>;
//! # fn example<T: Structure + PartialEq>(message: &T, other: &mut T) -> Result<(), Error> {
//! use situ_wire::{Encoding, decode, encode_to_vec};
//!
//! let bytes = encode_to_vec(message, Encoding::Xcdr1)?;
//! decode(other, &bytes)?;
//! assert!(message == other);
//! # Ok(())
//! # }
//! ```
//!
//! The CDR encoder and the decoder are one visitor each ([`situ_layout::visit`]) for all types and storages.
//! A message with flat storage and one with heap storage have the same bytes on the wire. Programs that
//! receive a schema at run time use [`Reader`] and [`Writer`], on which encoder and decoder are built.

mod cdr;
pub mod protobuf;

pub use cdr::*;
