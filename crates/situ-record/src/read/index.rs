//! What is in a file: from its summary, or from a walk over its records if it has none.
//!
//! A file without a summary was not finished: its writer was killed, the disk was full, or it is still being
//! written. The walk finds all whole chunks, and the whole messages of the last one.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::error::{ReadError, ReadLimits};
use super::source::Source;
use crate::format::parse::{self, Malformed};
use crate::format::records::{AttachmentIndex, Channel, ChunkIndex, MetadataIndex, Schema, Statistics};
use crate::format::{MAGIC, RECORD_HEAD, op};

/// The bytes behind the summary: the footer and the last bytes.
const FOOTER: u64 = RECORD_HEAD as u64 + 20 + MAGIC.len() as u64;

/// How a file ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// With a summary.
    Whole,
    /// Without one: what follows from this byte on is not a whole record.
    Cut {
        /// The byte.
        at: u64,
        /// What was found there.
        reason: String,
    },
    /// All records are whole, and the last ones, which say so, are missing.
    Open,
}

/// Messages that lie together: a chunk, or messages outside of chunks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Where and when.
    pub index: ChunkIndex,
    /// Whether it is a chunk.
    pub is_chunk: bool,
    /// Whether the file ends within it.
    pub is_cut: bool,
}

/// What is in a file.
#[derive(Debug, Default)]
pub struct Index {
    /// What the messages have in common: `ros2`, or nothing.
    pub profile: String,
    /// The library that wrote it.
    pub library: String,
    /// The schemas.
    pub schemas: BTreeMap<u16, Arc<Schema>>,
    /// The bytes of the schemas and channels.
    pub definition_bytes: u64,
    /// The channels.
    pub channels: BTreeMap<u16, Arc<Channel>>,
    /// The messages.
    pub blocks: Vec<Block>,
    /// The attachments.
    pub attachments: Vec<AttachmentIndex>,
    /// The metadata.
    pub metadata: Vec<MetadataIndex>,
    /// How many of each.
    pub statistics: Statistics,
    /// How it ends.
    pub end: Option<End>,
    /// Parts that cannot be read.
    pub problems: Vec<String>,
}

impl Index {
    /// Reads it. Problems within the file do not make it fail: they are part of the result.
    pub fn read(source: &Source, path: &std::path::Path) -> Result<Self, ReadError> {
        let begin = source.bytes(0, MAGIC.len() as u64)?;
        if begin != MAGIC {
            return Err(ReadError::NotMcap { path: path.to_owned() });
        }
        let mut index = Self::default();
        if let Some((op::HEADER, length)) = source.record_head(MAGIC.len() as u64)?
            && let Ok((profile, library)) = parse::header(&source.content(MAGIC.len() as u64, length)?)
        {
            (index.profile, index.library) = (profile, library);
        }
        match index.read_summary(source) {
            Ok(true) => {
                index.end = Some(End::Whole);
                return Ok(index);
            }
            Ok(false) => {}
            Err(error) if error.ends_reading() => return Err(error),
            Err(error) => index.problems.push(format!("the summary is not used: {error}")),
        }
        Self::walk(source, index)
    }

    fn check_entries(&self, limits: &ReadLimits) -> Result<(), ReadError> {
        let entries = self.blocks.len() + self.channels.len() + self.schemas.len();
        let others = self.attachments.len() + self.metadata.len() + self.problems.len();
        if entries + others > limits.entries {
            return Err(ReadError::TooMany { limit: limits.entries });
        }
        if self.definition_bytes > limits.definitions {
            return Err(ReadError::Definitions { limit: limits.definitions });
        }
        Ok(())
    }

    /// Reads the summary, if there is one that tells where all messages are.
    fn read_summary(&mut self, source: &Source) -> Result<bool, ReadError> {
        let Some(at) = source.size.checked_sub(FOOTER).filter(|at| *at >= MAGIC.len() as u64) else {
            return Ok(false);
        };
        let bytes = source.bytes(at, FOOTER)?;
        let mut rest = bytes.as_slice();
        let Some((op::FOOTER, content)) = parse::next_record(&mut rest) else { return Ok(false) };
        if rest != MAGIC {
            return Ok(false);
        }
        let malformed = |at| move |source| ReadError::Malformed { at, source };
        let (start, _, said) = parse::footer(content).map_err(malformed(at))?;
        if start < MAGIC.len() as u64 || start > at {
            return Ok(false);
        }
        let summary = source.bytes(start, at - start)?;
        if said != 0 {
            let mut crc = crc32fast::Hasher::new();
            crc.update(&summary);
            crc.update(&bytes[..RECORD_HEAD + 16]);
            let found = crc.finalize();
            if found != said {
                return Err(ReadError::Checksum { what: "summary", at: start, found, said });
            }
        }
        let mut found = Self::default();
        let mut has_statistics = false;
        let mut rest = summary.as_slice();
        while let Some((kind, content)) = parse::next_record(&mut rest) {
            let at = start;
            match kind {
                op::CHUNK_INDEX => {
                    let index = parse::chunk_index(content).map_err(malformed(at))?;
                    found.blocks.push(Block { index, is_chunk: true, is_cut: false });
                }
                op::STATISTICS => {
                    found.statistics = parse::statistics(content).map_err(malformed(at))?;
                    has_statistics = true;
                }
                op::ATTACHMENT_INDEX => {
                    found.attachments.push(parse::attachment_index(content).map_err(malformed(at))?);
                }
                op::METADATA_INDEX => {
                    found.metadata.push(parse::metadata_index(content).map_err(malformed(at))?)
                }
                kind => found.define(kind, content).map_err(malformed(at))?,
            }
            found.check_entries(&source.limits)?;
        }
        let statistics = &found.statistics;
        let tells_all = has_statistics
            && rest.is_empty()
            && statistics.chunks as usize == found.blocks.len()
            && (statistics.messages == 0 || !found.blocks.is_empty())
            && statistics.attachments as usize == found.attachments.len()
            && statistics.metadata as usize == found.metadata.len()
            && statistics.channels as usize == found.channels.len();
        if tells_all {
            let (profile, library) = (std::mem::take(&mut self.profile), std::mem::take(&mut self.library));
            *self = Self { profile, library, ..found };
        }
        Ok(tells_all)
    }

    /// Adds a schema or a channel. Of two with one number, the first stays.
    fn define(&mut self, kind: u8, content: &[u8]) -> Result<(), Malformed> {
        let before = self.schemas.len() + self.channels.len();
        match kind {
            op::SCHEMA => {
                let schema = parse::schema(content)?;
                self.schemas.entry(schema.id).or_insert_with(|| Arc::new(schema));
            }
            op::CHANNEL => {
                let channel = parse::channel(content)?;
                self.channels.entry(channel.id).or_insert_with(|| Arc::new(channel));
            }
            _ => {}
        }
        if self.schemas.len() + self.channels.len() > before {
            self.definition_bytes += content.len() as u64;
        }
        Ok(())
    }

    /// Walks over all records.
    fn walk(source: &Source, begun: Self) -> Result<Self, ReadError> {
        let Self { profile, library, problems, .. } = begun;
        let mut index = Self { profile, library, problems, ..Self::default() };
        let mut at = MAGIC.len() as u64;
        let mut end = None;
        while end.is_none() {
            if at == source.size {
                end = Some(End::Open);
                break;
            }
            let cut = |reason: String| Some(End::Cut { at, reason });
            let Some((kind, length)) = source.record_head(at)? else {
                end = cut("the file ends in the head of a record".into());
                break;
            };
            let next = at.checked_add(RECORD_HEAD as u64).and_then(|at| at.checked_add(length));
            let next = next.filter(|next| *next <= source.size);
            match (kind, next) {
                (op::CHUNK, next) => {
                    let is_cut = next.is_none();
                    match index.add_chunk(source, at, is_cut) {
                        Ok(()) => {}
                        Err(error) if error.ends_reading() => return Err(error),
                        Err(error) if !is_cut => index.problems.push(error.to_string()),
                        Err(_) => {}
                    }
                    if is_cut {
                        end = cut("the file ends within a chunk".into());
                    }
                }
                (op::MESSAGE, Some(next)) => index.add_message(source, at, next)?,
                (op::FOOTER, Some(next)) => {
                    let is_whole = source.bytes(next, MAGIC.len() as u64)? == MAGIC;
                    let cut = || cut("the last bytes of the file are missing".into());
                    end = if is_whole { Some(End::Whole) } else { cut() };
                }
                (kind, Some(_)) if (op::HEADER..=op::DATA_END).contains(&kind) => {
                    index.add_record(source, at, (kind, length))?;
                }
                // Records of kinds that are not known are skipped, as the specification asks for.
                (kind, Some(_)) if kind >= 0x80 => {}
                (0, _) => end = cut("there is no record".into()),
                (kind, None) => end = cut(format!("the file ends within a record of kind {kind:#04x}")),
                (kind, Some(_)) => {
                    index.problems.push(format!("the record at byte {at} has the unknown kind {kind:#04x}"))
                }
            }
            index.check_entries(&source.limits)?;
            let Some(next) = next else { break };
            at = next;
        }
        index.end = end;
        index.count();
        Ok(index)
    }

    fn count(&mut self) {
        let statistics = &mut self.statistics;
        statistics.schemas = self.schemas.len() as u16;
        statistics.channels = self.channels.len() as u32;
        statistics.attachments = self.attachments.len() as u32;
        statistics.metadata = self.metadata.len() as u32;
        statistics.chunks = self.blocks.iter().filter(|block| block.is_chunk).count() as u32;
    }

    fn note_message(&mut self, channel: u16, time: u64, block: &mut ChunkIndex, is_first: bool) {
        let all = &mut self.statistics;
        all.start_time = if all.messages == 0 { time } else { all.start_time.min(time) };
        all.end_time = all.end_time.max(time);
        all.messages += 1;
        *all.channel_messages.entry(channel).or_default() += 1;
        block.start_time = if is_first { time } else { block.start_time.min(time) };
        block.end_time = if is_first { time } else { block.end_time.max(time) };
    }

    fn add_chunk(&mut self, source: &Source, at: u64, is_cut: bool) -> Result<(), ReadError> {
        let records = source.chunk(at, is_cut)?;
        let head = source.bytes(at + RECORD_HEAD as u64, 64 + 8)?;
        let mut index = match parse::chunk_head(&mut parse::Fields(&head)) {
            Ok((index, _)) => index,
            Err(source) => return Err(ReadError::Malformed { at, source }),
        };
        index.offset = at;
        index.length =
            source.record_head(at)?.map_or(0, |(_, length)| length.saturating_add(RECORD_HEAD as u64));
        if is_cut {
            // What it states is what it was to become.
            index.length = index.length.min(source.size.saturating_sub(at));
            index.uncompressed_size = records.len() as u64;
        }
        let (mut rest, mut is_first) = (records.as_slice(), true);
        while let Some((kind, content)) = parse::next_record(&mut rest) {
            let malformed = |source| ReadError::Malformed { at, source };
            if kind == op::MESSAGE {
                let (head, _) = parse::message(content).map_err(malformed)?;
                self.note_message(head.channel, head.log_time, &mut index, is_first);
                is_first = false;
            } else {
                self.define(kind, content).map_err(malformed)?;
                self.check_entries(&source.limits)?;
            }
        }
        if !is_first {
            self.blocks.push(Block { index, is_chunk: true, is_cut });
        }
        Ok(())
    }

    /// Adds a message outside of chunks to the messages right before it.
    fn add_message(&mut self, source: &Source, at: u64, next: u64) -> Result<(), ReadError> {
        /// The size at which messages outside of chunks become another block.
        const MOST: u64 = 4 << 20;
        let content = source.content(at, crate::format::MESSAGE_HEAD as u64)?;
        let (head, _) = match parse::message(&content) {
            Ok(message) => message,
            Err(error) => {
                self.problems.push(format!("the message at byte {at} is malformed: {error}"));
                return Ok(());
            }
        };
        let ends_here = |block: &Block| {
            let index = &block.index;
            !block.is_chunk && index.offset + index.length == at && index.length < MOST
        };
        let mut block = match self.blocks.pop_if(|block| ends_here(block)) {
            Some(block) => block,
            None => {
                let index = ChunkIndex { offset: at, ..ChunkIndex::default() };
                Block { index, is_chunk: false, is_cut: false }
            }
        };
        let is_first = block.index.length == 0;
        self.note_message(head.channel, head.log_time, &mut block.index, is_first);
        block.index.length = next - block.index.offset;
        self.blocks.push(block);
        Ok(())
    }

    fn add_record(&mut self, source: &Source, at: u64, (kind, length): (u8, u64)) -> Result<(), ReadError> {
        let total = RECORD_HEAD as u64 + length;
        let added = match kind {
            op::SCHEMA | op::CHANNEL => self.define(kind, &source.content(at, length)?),
            op::ATTACHMENT => parse::attachment(&source.content(at, length)?).map(|(index, ..)| {
                self.attachments.push(AttachmentIndex { offset: at, length: total, ..index });
            }),
            op::METADATA => parse::metadata(&source.content(at, length)?).map(|(name, _)| {
                self.metadata.push(MetadataIndex { offset: at, length: total, name });
            }),
            _ => Ok(()),
        };
        if let Err(error) = added {
            self.problems.push(format!("the record at byte {at} is malformed: {error}"));
        }
        Ok(())
    }
}
