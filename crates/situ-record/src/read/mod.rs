//! Reading MCAP files, whole ones and broken ones.
//!
//! ```text
//!   error      limits, and why a file cannot be read
//!   source     a file as a source of records
//!   index      what is in a file
//!   messages   its messages, in the order of their times
//! ```

mod error;
mod index;
mod messages;
mod source;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use error::{ReadError, ReadLimits};
pub use index::{Block, End};
pub use messages::{Filter, Message, Messages, Wants};

use crate::format::parse;
use crate::format::records::{AttachmentIndex, Channel, MetadataIndex, Schema, Statistics};
use index::Index;
use source::Source;

/// Reads an MCAP file. A file that was not finished is read as far as it goes: see [`end`](Self::end).
#[derive(Debug)]
pub struct Reader {
    source: Arc<Source>,
    path: PathBuf,
    index: Index,
}

impl Reader {
    /// Opens a file, with the usual limits.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        Self::open_with(path, ReadLimits::default())
    }

    /// Opens a file.
    pub fn open_with(path: impl AsRef<Path>, limits: ReadLimits) -> Result<Self, ReadError> {
        let path = path.as_ref();
        let source = Arc::new(Source::open(path, limits)?);
        let index = Index::read(&source, path)?;
        Ok(Self { source, path: path.to_owned(), index })
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file's size in bytes.
    pub fn size(&self) -> u64 {
        self.source.size
    }

    /// What the messages have in common: `ros2`, or nothing.
    pub fn profile(&self) -> &str {
        &self.index.profile
    }

    /// The library that wrote it.
    pub fn library(&self) -> &str {
        &self.index.library
    }

    /// The channels, by their numbers.
    pub fn channels(&self) -> &BTreeMap<u16, Arc<Channel>> {
        &self.index.channels
    }

    /// The schemas, by their numbers.
    pub fn schemas(&self) -> &BTreeMap<u16, Arc<Schema>> {
        &self.index.schemas
    }

    /// The chunks, and the messages outside of chunks.
    pub fn blocks(&self) -> &[Block] {
        &self.index.blocks
    }

    /// How many messages, channels and so on it has, and of which times.
    pub fn statistics(&self) -> &Statistics {
        &self.index.statistics
    }

    /// How it ends.
    pub fn end(&self) -> &End {
        self.index.end.as_ref().unwrap_or(&End::Open)
    }

    /// Parts that cannot be read, as far as opening it has found them.
    pub fn problems(&self) -> &[String] {
        &self.index.problems
    }

    /// The messages that a filter wants, in the order of their log times. They may outlive the reader.
    pub fn messages<'f>(&self, filter: Filter<'f>) -> Messages<'f> {
        Messages::new(self.source.clone(), &self.index, filter)
    }

    /// The attachments.
    pub fn attachments(&self) -> &[AttachmentIndex] {
        &self.index.attachments
    }

    /// The data of an attachment.
    pub fn attachment(&self, index: &AttachmentIndex) -> Result<Vec<u8>, ReadError> {
        let at = index.offset;
        let content = self.source.content(at, index.length.saturating_sub(9))?;
        let parsed = parse::attachment(&content);
        let (_, data, said) = parsed.map_err(|source| ReadError::Malformed { at, source })?;
        let found = crc32fast::hash(&content[..content.len() - 4]);
        if said != 0 && found != said {
            return Err(ReadError::Checksum { what: "attachment", at, found, said });
        }
        Ok(data.to_vec())
    }

    /// Where metadata lie.
    pub fn metadata(&self) -> &[MetadataIndex] {
        &self.index.metadata
    }

    /// The names and values of metadata.
    pub fn metadata_values(&self, index: &MetadataIndex) -> Result<BTreeMap<String, String>, ReadError> {
        let at = index.offset;
        let content = self.source.content(at, index.length.saturating_sub(9))?;
        let parsed = parse::metadata(&content);
        parsed.map(|(_, values)| values).map_err(|source| ReadError::Malformed { at, source })
    }
}
