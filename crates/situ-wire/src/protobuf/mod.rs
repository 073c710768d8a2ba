//! Append-only protobuf: messages are encoded straight into their destination (`spec/protobuf.md`).
//!
//! ```
//! use situ_wire::protobuf::{Fixed, Writer};
//!
//! let mut memory = [0; 64];
//! let mut buffer = Fixed::new(&mut memory);
//! let mut writer = Writer::new(&mut buffer);
//! let mut person = writer.message();
//! person.int32(1, 150);
//! {
//!     let mut address = person.message(2);
//!     address.string(1, "Rue Saint-Jacques");
//! } // The address ends here, and its length is written.
//! person.packed_uint32(3, &[3, 270, 86942]);
//! drop(person);
//! assert_eq!(writer.finish()?, 32);
//! assert_eq!(buffer.written()[..6], [0x08, 0x96, 0x01, 0x12, 19, 0x0a]);
//! # Ok::<(), situ_wire::protobuf::WriteError>(())
//! ```
//!
//! A nested message borrows its parent. To write the parent while the child is open does not compile:
//!
//! ```compile_fail,E0499
//! # let mut buffer = situ_wire::protobuf::Growing::default();
//! # let mut writer = situ_wire::protobuf::Writer::new(&mut buffer);
//! let mut parent = writer.message();
//! let mut child = parent.message(1);
//! parent.int32(2, 7); // the child is still open
//! child.int32(1, 8);
//! ```
//!
//! It also does not compile to end the parent before the child,
//!
//! ```compile_fail,E0505
//! # let mut buffer = situ_wire::protobuf::Growing::default();
//! # let mut writer = situ_wire::protobuf::Writer::new(&mut buffer);
//! let mut parent = writer.message();
//! let mut child = parent.message(1);
//! drop(parent);
//! child.int32(1, 8);
//! ```
//!
//! to finish the writer while a message is open,
//!
//! ```compile_fail,E0499
//! # let mut buffer = situ_wire::protobuf::Growing::default();
//! # let mut writer = situ_wire::protobuf::Writer::new(&mut buffer);
//! let mut message = writer.message();
//! writer.finish();
//! message.int32(1, 8);
//! ```
//!
//! to open two children at once,
//!
//! ```compile_fail,E0499
//! # let mut buffer = situ_wire::protobuf::Growing::default();
//! # let mut writer = situ_wire::protobuf::Writer::new(&mut buffer);
//! let mut parent = writer.message();
//! let (mut one, mut two) = (parent.message(1), parent.message(2));
//! one.int32(1, 8);
//! ```
//!
//! or to read the buffer while the writer uses it:
//!
//! ```compile_fail,E0502
//! # let mut buffer = situ_wire::protobuf::Growing::default();
//! let mut writer = situ_wire::protobuf::Writer::new(&mut buffer);
//! let early = buffer.written();
//! writer.finish();
//! ```
//!
//! ```text
//! writer      the writer and its handles: message, text, bytes, packed
//!   core      its state: a cursor in a chunk, and the open messages
//! delegate    the source of a writer's memory
//!   buffers   memory to write on: fixed, growing, scattered, streamed
//! fields      the fields of an encoded message, one after the other
//!   kinds     the scalar types that are read
//!   table     fields found in one pass, looked up in one step
//! wire error  tags and varints; the errors
//! ```

mod buffers;
mod core;
mod delegate;
mod error;
mod fields;
mod kinds;
mod table;
mod wire;
mod writer;

/// The scalar types, as parameters of [`Table::get`] and [`Table::all`].
pub mod kind {
    pub use super::kinds::{
        Bool, Double, Fixed32, Fixed64, Float, Int32, Int64, Sfixed32, Sfixed64, Sint32, Sint64, Uint32,
        Uint64,
    };
}

pub use self::core::{MAX_LEVELS, MIN_CHUNK};
pub use buffers::{Fixed, Growing, Piece, Scattered, Streamed};
pub use delegate::{Chunk, Delegate, Patch, PatchList, PatchListFull};
pub use error::{ReadError, ReadProblem, WriteError};
pub use fields::{Field, Fields, MAX_READ_LEVELS, Value};
pub use kinds::Kind;
pub use table::{Layout, Nested, Numbers, Table};
pub use wire::{
    MAX_FIELD, MAX_LENGTH, WireType, tag, unzigzag32, unzigzag64, varint_size, zigzag32, zigzag64,
};
pub use writer::{BytesInPieces, Message, Packed, PackedElement, TextInPieces, Writer};
