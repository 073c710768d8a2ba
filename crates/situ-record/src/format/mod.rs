//! The bytes of MCAP files (<https://mcap.dev/spec>).
//!
//! ```text
//!   records   the records, and how each is written
//!   parse     the same records, read from bytes that anybody may have written
//! ```

pub mod parse;
pub mod records;

/// The bytes with which a file begins and ends.
pub const MAGIC: [u8; 8] = [0x89, b'M', b'C', b'A', b'P', b'0', b'\r', b'\n'];
/// The bytes before the content of a record: its kind, and the length of the content.
pub const RECORD_HEAD: usize = 9;
/// The bytes of a message before its data: channel, sequence, two times.
pub const MESSAGE_HEAD: usize = 22;

/// The kinds of records.
pub mod op {
    /// The first record of a file.
    pub const HEADER: u8 = 0x01;
    /// The last record of a file.
    pub const FOOTER: u8 = 0x02;
    /// A type.
    pub const SCHEMA: u8 = 0x03;
    /// A topic.
    pub const CHANNEL: u8 = 0x04;
    /// A message.
    pub const MESSAGE: u8 = 0x05;
    /// Messages, possibly compressed.
    pub const CHUNK: u8 = 0x06;
    /// Where the messages of a channel lie in the chunk before.
    pub const MESSAGE_INDEX: u8 = 0x07;
    /// Where a chunk lies.
    pub const CHUNK_INDEX: u8 = 0x08;
    /// A file within the file.
    pub const ATTACHMENT: u8 = 0x09;
    /// Where an attachment lies.
    pub const ATTACHMENT_INDEX: u8 = 0x0A;
    /// How many of each there are.
    pub const STATISTICS: u8 = 0x0B;
    /// Names with values.
    pub const METADATA: u8 = 0x0C;
    /// Where metadata lie.
    pub const METADATA_INDEX: u8 = 0x0D;
    /// Where the records of a kind lie in the summary.
    pub const SUMMARY_OFFSET: u8 = 0x0E;
    /// The end of the data.
    pub const DATA_END: u8 = 0x0F;
}
