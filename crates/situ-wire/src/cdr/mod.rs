//! CDR, versions 1 and 2 of OMG DDS-XTypes (`spec/cdr.md`).
//!
//! ```text
//! encode     one visitor writes a message of any type and storage
//!   writer   writes its parts: numbers, strings, delimited parts, parameters
//! decode     one visitor reads a message of any type and storage
//!   reader   reads its parts and checks each of them
//! encoding   the encodings, and the header that names them
//! error      the errors, and where they occurred
//! ```

mod decode;
mod encode;
mod encoding;
mod error;
mod reader;
mod writer;

pub use decode::{MAX_MEMORY, bulk_lengths, decode, decode_with_body};
pub use encode::{
    encode_into, encode_into_with_body, encode_to_vec, encode_to_vec_with_body, encoded_size,
    encoded_size_with_body,
};
pub use encoding::{ByteOrder, Encapsulation, Encoding, HEADER_SIZE, MAX_DEPTH};
pub use error::{DecodeError, DecodeProblem, EncodeError, EncodeProblem};
pub use reader::{Parameter, Reader, Scope, TextBuffer, WideUnits};
pub use writer::{BytesSink, Counter, Delimiter, ParameterMark, Sink, SliceSink, Writer};
