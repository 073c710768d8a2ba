//! Writes a file topic by topic: a program adds topics with their types, and then messages.
//!
//! Messages of all types are CDR, those of regions images, as in the files of a recorder. The messages of a
//! topic are numbered from 0 on, so that a gap in a file shows.

use std::path::Path;
use std::time::SystemTime;

use situ_bus::{Encoding, TypeDescription};
use situ_schema::{Schema, SchemaError};

use crate::types::file_type::FileType;
use crate::types::topic_type::{CDR, REGION, file_topic, topic_metadata};
use crate::write::{WriteError, Writer, WriterOptions, Written};

/// The bytes before a message of CDR, which tell its version and byte order.
const ENCAPSULATION: usize = 4;

/// Why a topic cannot be added.
#[derive(Debug, thiserror::Error)]
pub enum AddTopicError {
    /// The file cannot have it.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Its name is empty.
    #[error("a topic has no name: give it one")]
    NoName,
    /// The topic was added before.
    #[error("the file has the topic {0:?} already: write its messages with the number that it got")]
    Known(String),
    /// The schema of its type is malformed.
    #[error("the schema of {name} cannot be read: {source}")]
    Schema {
        /// The type.
        name: String,
        /// What is wrong with it.
        source: Box<SchemaError>,
    },
    /// The schema does not define its type.
    #[error("the schema of {0} does not define it")]
    Missing(String),
}

/// Why a message is not written.
#[derive(Debug, thiserror::Error)]
pub enum AddMessageError {
    /// Writing has failed.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// There is no such topic.
    #[error("there is no topic with the number {number}: the file has {count}")]
    NoTopic {
        /// The number.
        number: u16,
        /// How many topics were added.
        count: usize,
    },
    /// It is not CDR.
    #[error(
        "a message of {topic:?} has {size} bytes, and CDR begins with a header of 4 bytes: serialize it first"
    )]
    NotCdr {
        /// The topic.
        topic: String,
        /// The size of the message.
        size: usize,
    },
}

struct Topic {
    name: String,
    is_cdr: bool,
    /// The number of its next message.
    next: u32,
}

/// Writes a file topic by topic.
///
/// ```
/// use situ_bus::{Encoding, TypeDescription};
/// use situ_record::{Reader, TopicWriter, WriterOptions};
///
/// let folder = std::env::temp_dir().join(format!("situ-topics-{}", std::process::id()));
/// std::fs::create_dir_all(&folder)?;
/// let path = folder.join("numbers.mcap");
/// let number = TypeDescription {
///     name: "demo::Number".into(),
///     schema: "module demo { struct Number { uint8 data; }; };".into(),
///     schema_hash: 0,
///     layout_hash: 0,
///     encoding: Encoding::Xcdr1,
///     fixed_size: 0,
///     user_header_size: 0,
/// };
/// let mut writer = TopicWriter::create(&path, WriterOptions::default())?;
/// let topic = writer.add_topic("numbers", &number)?;
/// for number in 0..3 {
///     writer.write(topic, &[0, 1, 0, 0, number], None, None)?;
/// }
/// assert!(writer.finish().error.is_none());
/// assert_eq!(Reader::open(&path)?.statistics().messages, 3);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TopicWriter {
    writer: Writer,
    topics: Vec<Topic>,
}

fn now() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}

impl TopicWriter {
    /// Makes a file. Its profile is `ros2`, unless the options name one.
    pub fn create(path: &Path, mut options: WriterOptions) -> Result<Self, WriteError> {
        if options.profile.is_empty() {
            options.profile = "ros2".to_owned();
        }
        Ok(Self { writer: Writer::create(path, options)?, topics: Vec::new() })
    }

    /// Adds a topic, and returns its number. The name is that on the bus. With the encoding `Flat`, the
    /// messages are CDR, too, and `play` makes them flat again.
    pub fn add_topic(&mut self, name: &str, description: &TypeDescription) -> Result<u16, AddTopicError> {
        if name.is_empty() {
            return Err(AddTopicError::NoName);
        }
        if self.topics.iter().any(|topic| topic.name == name) {
            return Err(AddTopicError::Known(name.to_owned()));
        }
        let failed = |source| AddTopicError::Schema { name: description.name.clone(), source };
        let schema = Schema::from_idl(&description.schema).map_err(failed)?;
        let missing = || AddTopicError::Missing(description.name.clone());
        let root = schema.find(&description.name).ok_or_else(missing)?;
        let file = FileType::of(&schema, root);
        let id = self.writer.schema(&file.name, file.encoding, file.text.as_bytes())?;
        let is_cdr = description.encoding != Encoding::Region;
        let form = if is_cdr { CDR } else { REGION };
        let metadata = topic_metadata(name, description, description.encoding);
        let channel = self.writer.channel(id, &file_topic(name, &description.name), form, metadata)?;
        self.topics.push(Topic { name: name.to_owned(), is_cdr, next: 0 });
        Ok(channel)
    }

    /// Adds a message. Its data are copied. The times are nanoseconds since 1970: that of the recording is
    /// now by default, and that of the publication the same.
    pub fn write(
        &mut self,
        topic: u16,
        data: &[u8],
        log_time: Option<u64>,
        publish_time: Option<u64>,
    ) -> Result<(), AddMessageError> {
        let count = self.topics.len();
        let Some(known) = self.topics.get_mut(usize::from(topic)) else {
            return Err(AddMessageError::NoTopic { number: topic, count });
        };
        if known.is_cdr && data.len() < ENCAPSULATION {
            return Err(AddMessageError::NotCdr { topic: known.name.clone(), size: data.len() });
        }
        let log_time = log_time.unwrap_or_else(now);
        let sequence = known.next;
        self.writer.message(topic, sequence, log_time, publish_time.unwrap_or(log_time), data)?;
        known.next = sequence.wrapping_add(1);
        Ok(())
    }

    /// The writer, for attachments and metadata, and to write at once what waits. It must not get channels.
    pub fn writer(&mut self) -> &mut Writer {
        &mut self.writer
    }

    /// Writes the rest and the summary, and returns what was written.
    pub fn finish(self) -> Written {
        self.writer.finish()
    }
}
