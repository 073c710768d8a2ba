//! The records of MCAP, and how each is written.

use std::collections::BTreeMap;

use super::op;

/// A type, as a file has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    /// Its number in the file, from 1.
    pub id: u16,
    /// The type's name, for instance `sensor_msgs/msg/Image`.
    pub name: String,
    /// The language of the definition: `ros2msg`, `ros2idl`.
    pub encoding: String,
    /// The definition.
    pub data: Vec<u8>,
}

/// A topic, as a file has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Channel {
    /// Its number in the file.
    pub id: u16,
    /// The number of its schema; 0 without one.
    pub schema_id: u16,
    /// The topic's name.
    pub topic: String,
    /// The encoding of its messages, for instance `cdr`.
    pub message_encoding: String,
    /// What else is known about it.
    pub metadata: BTreeMap<String, String>,
}

/// Where a chunk lies, and what is in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChunkIndex {
    /// The log time of its first message, in nanoseconds.
    pub start_time: u64,
    /// The log time of its last message.
    pub end_time: u64,
    /// Where the chunk's record begins in the file.
    pub offset: u64,
    /// The length of the chunk's record, its head included.
    pub length: u64,
    /// Where the message index of each channel lies.
    pub message_indexes: BTreeMap<u16, u64>,
    /// The length of all message indexes behind the chunk.
    pub message_index_length: u64,
    /// `zstd`, `lz4` or nothing.
    pub compression: String,
    /// The size of the records as they lie in the file.
    pub compressed_size: u64,
    /// The size of the records when they are decompressed.
    pub uncompressed_size: u64,
}

/// A file within the file, without its data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttachmentIndex {
    /// Where its record begins in the file.
    pub offset: u64,
    /// The length of its record.
    pub length: u64,
    /// When it was recorded.
    pub log_time: u64,
    /// When it was made.
    pub create_time: u64,
    /// The size of its data.
    pub data_size: u64,
    /// Its name.
    pub name: String,
    /// Its media type, for instance `text/plain`.
    pub media_type: String,
}

/// Where metadata lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetadataIndex {
    /// Where the record begins in the file.
    pub offset: u64,
    /// The length of the record.
    pub length: u64,
    /// The name of the metadata.
    pub name: String,
}

/// How many of each a file has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Statistics {
    /// Messages.
    pub messages: u64,
    /// Schemas.
    pub schemas: u16,
    /// Channels.
    pub channels: u32,
    /// Attachments.
    pub attachments: u32,
    /// Records of metadata.
    pub metadata: u32,
    /// Chunks.
    pub chunks: u32,
    /// The log time of the first message.
    pub start_time: u64,
    /// The log time of the last message.
    pub end_time: u64,
    /// The messages of each channel.
    pub channel_messages: BTreeMap<u16, u64>,
}

/// Appends a record whose content `fill` appends.
pub fn put(out: &mut Vec<u8>, kind: u8, fill: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind);
    let at = out.len();
    out.extend_from_slice(&[0; 8]);
    fill(out);
    let length = (out.len() - at - 8) as u64;
    out[at..at + 8].copy_from_slice(&length.to_le_bytes());
}

fn put_u16(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn put_u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put_u32(out, text.len() as u32);
    out.extend_from_slice(text.as_bytes());
}

fn put_map(out: &mut Vec<u8>, map: &BTreeMap<String, String>) {
    let size: usize = map.iter().map(|(key, value)| 8 + key.len() + value.len()).sum();
    put_u32(out, size as u32);
    for (key, value) in map {
        put_text(out, key);
        put_text(out, value);
    }
}

fn put_numbers(out: &mut Vec<u8>, map: &BTreeMap<u16, u64>) {
    put_u32(out, map.len() as u32 * 10);
    for (key, value) in map {
        put_u16(out, *key);
        put_u64(out, *value);
    }
}

/// Appends the header of a file.
pub fn put_header(out: &mut Vec<u8>, profile: &str, library: &str) {
    put(out, op::HEADER, |out| {
        put_text(out, profile);
        put_text(out, library);
    });
}

impl Schema {
    /// Appends its record.
    pub fn put(&self, out: &mut Vec<u8>) {
        put(out, op::SCHEMA, |out| {
            put_u16(out, self.id);
            put_text(out, &self.name);
            put_text(out, &self.encoding);
            put_u32(out, self.data.len() as u32);
            out.extend_from_slice(&self.data);
        });
    }
}

impl Channel {
    /// Appends its record.
    pub fn put(&self, out: &mut Vec<u8>) {
        put(out, op::CHANNEL, |out| {
            put_u16(out, self.id);
            put_u16(out, self.schema_id);
            put_text(out, &self.topic);
            put_text(out, &self.message_encoding);
            put_map(out, &self.metadata);
        });
    }
}

/// The numbers of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MessageHead {
    /// The number of its channel.
    pub channel: u16,
    /// Its number among those of its publisher, modulo 2^32.
    pub sequence: u32,
    /// When it was recorded, in nanoseconds since 1970.
    pub log_time: u64,
    /// When it was published.
    pub publish_time: u64,
}

impl MessageHead {
    /// Appends the record of a message up to its data, which has this size.
    #[inline]
    pub fn put(&self, out: &mut Vec<u8>, size: usize) {
        let mut bytes = [0; super::RECORD_HEAD + super::MESSAGE_HEAD];
        bytes[0] = op::MESSAGE;
        bytes[1..9].copy_from_slice(&(super::MESSAGE_HEAD as u64 + size as u64).to_le_bytes());
        bytes[9..11].copy_from_slice(&self.channel.to_le_bytes());
        bytes[11..15].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[15..23].copy_from_slice(&self.log_time.to_le_bytes());
        bytes[23..31].copy_from_slice(&self.publish_time.to_le_bytes());
        out.extend_from_slice(&bytes);
    }
}

/// Appends the record of a chunk up to its records, which have `index.compressed_size` bytes.
pub fn put_chunk_head(out: &mut Vec<u8>, index: &ChunkIndex, crc: u32) {
    let length = 8 + 8 + 8 + 4 + 4 + index.compression.len() as u64 + 8 + index.compressed_size;
    out.push(op::CHUNK);
    put_u64(out, length);
    put_u64(out, index.start_time);
    put_u64(out, index.end_time);
    put_u64(out, index.uncompressed_size);
    put_u32(out, crc);
    put_text(out, &index.compression);
    put_u64(out, index.compressed_size);
}

/// Appends where the messages of a channel lie in a chunk: their log times and offsets.
pub fn put_message_index(out: &mut Vec<u8>, channel: u16, entries: &[(u64, u64)]) {
    put(out, op::MESSAGE_INDEX, |out| {
        put_u16(out, channel);
        put_u32(out, entries.len() as u32 * 16);
        for (time, offset) in entries {
            put_u64(out, *time);
            put_u64(out, *offset);
        }
    });
}

impl ChunkIndex {
    /// Appends its record.
    pub fn put(&self, out: &mut Vec<u8>) {
        put(out, op::CHUNK_INDEX, |out| {
            put_u64(out, self.start_time);
            put_u64(out, self.end_time);
            put_u64(out, self.offset);
            put_u64(out, self.length);
            put_numbers(out, &self.message_indexes);
            put_u64(out, self.message_index_length);
            put_text(out, &self.compression);
            put_u64(out, self.compressed_size);
            put_u64(out, self.uncompressed_size);
        });
    }
}

/// Appends an attachment. Its check sum covers all of its content.
pub fn put_attachment(out: &mut Vec<u8>, index: &AttachmentIndex, data: &[u8]) {
    put(out, op::ATTACHMENT, |out| {
        let begin = out.len();
        put_u64(out, index.log_time);
        put_u64(out, index.create_time);
        put_text(out, &index.name);
        put_text(out, &index.media_type);
        put_u64(out, data.len() as u64);
        out.extend_from_slice(data);
        let crc = crc32fast::hash(&out[begin..]);
        put_u32(out, crc);
    });
}

impl AttachmentIndex {
    /// Appends its record.
    pub fn put(&self, out: &mut Vec<u8>) {
        put(out, op::ATTACHMENT_INDEX, |out| {
            put_u64(out, self.offset);
            put_u64(out, self.length);
            put_u64(out, self.log_time);
            put_u64(out, self.create_time);
            put_u64(out, self.data_size);
            put_text(out, &self.name);
            put_text(out, &self.media_type);
        });
    }
}

/// Appends metadata.
pub fn put_metadata(out: &mut Vec<u8>, name: &str, values: &BTreeMap<String, String>) {
    put(out, op::METADATA, |out| {
        put_text(out, name);
        put_map(out, values);
    });
}

impl MetadataIndex {
    /// Appends its record.
    pub fn put(&self, out: &mut Vec<u8>) {
        put(out, op::METADATA_INDEX, |out| {
            put_u64(out, self.offset);
            put_u64(out, self.length);
            put_text(out, &self.name);
        });
    }
}

impl Statistics {
    /// Appends its record.
    pub fn put(&self, out: &mut Vec<u8>) {
        put(out, op::STATISTICS, |out| {
            put_u64(out, self.messages);
            put_u16(out, self.schemas);
            put_u32(out, self.channels);
            put_u32(out, self.attachments);
            put_u32(out, self.metadata);
            put_u32(out, self.chunks);
            put_u64(out, self.start_time);
            put_u64(out, self.end_time);
            put_numbers(out, &self.channel_messages);
        });
    }
}

/// Appends the end of the data, without a check sum of them.
pub fn put_data_end(out: &mut Vec<u8>) {
    put(out, op::DATA_END, |out| put_u32(out, 0));
}

/// Appends where the records of a kind lie in the summary.
pub fn put_summary_offset(out: &mut Vec<u8>, kind: u8, start: u64, length: u64) {
    put(out, op::SUMMARY_OFFSET, |out| {
        out.push(kind);
        put_u64(out, start);
        put_u64(out, length);
    });
}

/// Appends the footer and the last bytes of a file. `summary` is the summary, which lies before them and
/// begins at `start`. The check sum covers the summary and the footer before it.
pub fn put_footer(out: &mut Vec<u8>, summary: &[u8], start: u64, offsets: u64) {
    let begin = out.len();
    put(out, op::FOOTER, |out| {
        put_u64(out, start);
        put_u64(out, offsets);
        put_u32(out, 0);
    });
    let end = out.len();
    let mut crc = crc32fast::Hasher::new();
    crc.update(summary);
    crc.update(&out[begin..end - 4]);
    out[end - 4..].copy_from_slice(&crc.finalize().to_le_bytes());
    out.extend_from_slice(&super::MAGIC);
}
