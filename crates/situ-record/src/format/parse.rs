//! Reads the records of MCAP from bytes that anybody may have written.
//!
//! Nothing is allocated for a length before that many bytes are there.

use std::collections::BTreeMap;

use super::records::{AttachmentIndex, Channel, ChunkIndex, MessageHead, MetadataIndex, Schema, Statistics};
use super::{MESSAGE_HEAD, RECORD_HEAD};

/// The largest number of entries of a map: a channel does not have more names.
const MAX_ENTRIES: usize = 4096;

/// Why bytes are not a record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// They end too early.
    #[error("{what} needs {needed} bytes, and {left} are left")]
    TooShort {
        /// The part that is cut.
        what: &'static str,
        /// Its length.
        needed: u64,
        /// The bytes that are left.
        left: usize,
    },
    /// A text is not UTF-8.
    #[error("{0} is not UTF-8")]
    NotText(&'static str),
    /// A map has more entries than any file needs.
    #[error("a map has more than {MAX_ENTRIES} entries")]
    TooManyEntries,
}

/// The fields of a record, one after the other.
#[derive(Debug, Clone, Copy)]
pub struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    /// The next `count` bytes.
    pub fn take(&mut self, what: &'static str, count: u64) -> Result<&'a [u8], Malformed> {
        let left = self.0.len();
        let short = Malformed::TooShort { what, needed: count, left };
        let count = usize::try_from(count).map_err(|_| short.clone())?;
        let (taken, rest) = self.0.split_at_checked(count).ok_or(short)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], Malformed> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.take(what, N as u64)?);
        Ok(bytes)
    }

    /// The next number of two bytes.
    pub fn u16(&mut self, what: &'static str) -> Result<u16, Malformed> {
        Ok(u16::from_le_bytes(self.array(what)?))
    }

    /// The next number of four bytes.
    pub fn u32(&mut self, what: &'static str) -> Result<u32, Malformed> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    /// The next number of eight bytes.
    pub fn u64(&mut self, what: &'static str) -> Result<u64, Malformed> {
        Ok(u64::from_le_bytes(self.array(what)?))
    }

    /// The next text.
    pub fn text(&mut self, what: &'static str) -> Result<&'a str, Malformed> {
        let length = self.u32(what)?;
        std::str::from_utf8(self.take(what, length.into())?).map_err(|_| Malformed::NotText(what))
    }

    fn part(&mut self, what: &'static str) -> Result<Self, Malformed> {
        let length = self.u32(what)?;
        Ok(Fields(self.take(what, length.into())?))
    }

    fn map(&mut self, what: &'static str) -> Result<BTreeMap<String, String>, Malformed> {
        let mut part = self.part(what)?;
        let mut map = BTreeMap::new();
        while !part.0.is_empty() {
            if map.len() == MAX_ENTRIES {
                return Err(Malformed::TooManyEntries);
            }
            let (key, value) = (part.text(what)?, part.text(what)?);
            map.insert(key.to_owned(), value.to_owned());
        }
        Ok(map)
    }

    fn numbers(&mut self, what: &'static str) -> Result<BTreeMap<u16, u64>, Malformed> {
        let mut part = self.part(what)?;
        let mut map = BTreeMap::new();
        while !part.0.is_empty() {
            let (key, value) = (part.u16(what)?, part.u64(what)?);
            map.insert(key, value);
        }
        Ok(map)
    }
}

/// The kind and the length of a record, from its first bytes.
pub fn record_head(bytes: &[u8; RECORD_HEAD]) -> (u8, u64) {
    let [kind, length @ ..] = *bytes;
    (kind, u64::from_le_bytes(length))
}

/// The next whole record of `bytes`: its kind and its content. `None` if they end before its end.
pub fn next_record<'a>(bytes: &mut &'a [u8]) -> Option<(u8, &'a [u8])> {
    let (head, rest) = bytes.split_first_chunk::<RECORD_HEAD>()?;
    let (kind, length) = record_head(head);
    let (content, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    *bytes = rest;
    Some((kind, content))
}

/// A file's profile and the library that wrote it.
pub fn header(content: &[u8]) -> Result<(String, String), Malformed> {
    let mut fields = Fields(content);
    Ok((fields.text("the profile")?.to_owned(), fields.text("the library")?.to_owned()))
}

/// Where the summary begins, where its offsets begin, and its check sum.
pub fn footer(content: &[u8]) -> Result<(u64, u64, u32), Malformed> {
    let mut fields = Fields(content);
    Ok((fields.u64("the footer")?, fields.u64("the footer")?, fields.u32("the footer")?))
}

/// A schema.
pub fn schema(content: &[u8]) -> Result<Schema, Malformed> {
    let mut fields = Fields(content);
    Ok(Schema {
        id: fields.u16("a schema")?,
        name: fields.text("a schema's name")?.to_owned(),
        encoding: fields.text("a schema's encoding")?.to_owned(),
        data: fields.part("a schema's definition")?.0.to_vec(),
    })
}

/// A channel.
pub fn channel(content: &[u8]) -> Result<Channel, Malformed> {
    let mut fields = Fields(content);
    Ok(Channel {
        id: fields.u16("a channel")?,
        schema_id: fields.u16("a channel")?,
        topic: fields.text("a channel's topic")?.to_owned(),
        message_encoding: fields.text("a channel's encoding")?.to_owned(),
        metadata: fields.map("a channel's metadata")?,
    })
}

/// The numbers of a message, and its data.
#[inline]
pub fn message(content: &[u8]) -> Result<(MessageHead, &[u8]), Malformed> {
    let Some((head, data)) = content.split_first_chunk::<MESSAGE_HEAD>() else {
        let needed = MESSAGE_HEAD as u64;
        return Err(Malformed::TooShort { what: "a message", needed, left: content.len() });
    };
    let mut fields = Fields(head);
    let head = MessageHead {
        channel: fields.u16("a message")?,
        sequence: fields.u32("a message")?,
        log_time: fields.u64("a message")?,
        publish_time: fields.u64("a message")?,
    };
    Ok((head, data))
}

/// The beginning of a chunk: times, size, check sum, compression, and the length of its records.
pub fn chunk_head(fields: &mut Fields<'_>) -> Result<(ChunkIndex, u32), Malformed> {
    let (start_time, end_time) = (fields.u64("a chunk")?, fields.u64("a chunk")?);
    let (uncompressed_size, crc) = (fields.u64("a chunk")?, fields.u32("a chunk")?);
    let compression = fields.text("a chunk's compression")?.to_owned();
    let compressed_size = fields.u64("a chunk")?;
    let index = ChunkIndex {
        start_time,
        end_time,
        compression,
        compressed_size,
        uncompressed_size,
        ..ChunkIndex::default()
    };
    Ok((index, crc))
}

/// A chunk index.
pub fn chunk_index(content: &[u8]) -> Result<ChunkIndex, Malformed> {
    let mut fields = Fields(content);
    Ok(ChunkIndex {
        start_time: fields.u64("a chunk index")?,
        end_time: fields.u64("a chunk index")?,
        offset: fields.u64("a chunk index")?,
        length: fields.u64("a chunk index")?,
        message_indexes: fields.numbers("a chunk index")?,
        message_index_length: fields.u64("a chunk index")?,
        compression: fields.text("a chunk's compression")?.to_owned(),
        compressed_size: fields.u64("a chunk index")?,
        uncompressed_size: fields.u64("a chunk index")?,
    })
}

/// An attachment, its data, and its check sum. Where it lies is for the caller to fill in.
pub fn attachment(content: &[u8]) -> Result<(AttachmentIndex, &[u8], u32), Malformed> {
    let mut fields = Fields(content);
    let (log_time, create_time) = (fields.u64("an attachment")?, fields.u64("an attachment")?);
    let name = fields.text("an attachment's name")?.to_owned();
    let media_type = fields.text("an attachment's media type")?.to_owned();
    let data_size = fields.u64("an attachment")?;
    let data = fields.take("an attachment's data", data_size)?;
    let crc = fields.u32("an attachment")?;
    let index = AttachmentIndex { offset: 0, length: 0, log_time, create_time, data_size, name, media_type };
    Ok((index, data, crc))
}

/// An attachment index.
pub fn attachment_index(content: &[u8]) -> Result<AttachmentIndex, Malformed> {
    let mut fields = Fields(content);
    Ok(AttachmentIndex {
        offset: fields.u64("an attachment index")?,
        length: fields.u64("an attachment index")?,
        log_time: fields.u64("an attachment index")?,
        create_time: fields.u64("an attachment index")?,
        data_size: fields.u64("an attachment index")?,
        name: fields.text("an attachment's name")?.to_owned(),
        media_type: fields.text("an attachment's media type")?.to_owned(),
    })
}

/// Metadata: their name, and names with values.
pub fn metadata(content: &[u8]) -> Result<(String, BTreeMap<String, String>), Malformed> {
    let mut fields = Fields(content);
    Ok((fields.text("the name of metadata")?.to_owned(), fields.map("metadata")?))
}

/// A metadata index.
pub fn metadata_index(content: &[u8]) -> Result<MetadataIndex, Malformed> {
    let mut fields = Fields(content);
    Ok(MetadataIndex {
        offset: fields.u64("a metadata index")?,
        length: fields.u64("a metadata index")?,
        name: fields.text("the name of metadata")?.to_owned(),
    })
}

/// Statistics.
pub fn statistics(content: &[u8]) -> Result<Statistics, Malformed> {
    let mut fields = Fields(content);
    Ok(Statistics {
        messages: fields.u64("statistics")?,
        schemas: fields.u16("statistics")?,
        channels: fields.u32("statistics")?,
        attachments: fields.u32("statistics")?,
        metadata: fields.u32("statistics")?,
        chunks: fields.u32("statistics")?,
        start_time: fields.u64("statistics")?,
        end_time: fields.u64("statistics")?,
        channel_messages: fields.numbers("statistics")?,
    })
}
