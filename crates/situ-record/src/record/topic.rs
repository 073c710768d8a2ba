//! A recorded topic: its channels, and its messages as the file has them.
//!
//! Each publisher of a topic has a channel of its own, so that sequence numbers and losses are those of the
//! publisher.

use std::collections::HashMap;
use std::sync::Arc;

use situ_bus::inspect::{self, TopicInfo};
use situ_bus::{Encoding, EndpointId, RawSample, RawSubscriber, Root};
use situ_schema::dynamic::{ReadError, from_region, to_cdr};
use situ_schema::model::TypeId;
use situ_schema::{Schema, SchemaError};

use crate::format::records::MessageHead;
use crate::types::file_type::FileType;
use crate::types::projection::{Part, ProjectError, Projected, Projection};
use crate::types::topic_type::{CDR, REGION, channel_metadata, file_topic};
use crate::write::{HELD_FROM, Piece, WriteError, Writer};

/// From this number of channels on, further publishers of a topic share one: a file has 65535.
pub const MANY_CHANNELS: usize = 60_000;

/// The memory of a message, held for as long as the file needs it.
struct Held {
    sample: Arc<RawSample>,
    part: Part,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        match self.part {
            Part::Head => self.sample.head_in_place(),
            Part::Body => self.sample.body_in_place(),
        }
    }
}

fn held(sample: &Arc<RawSample>, part: Part) -> Arc<dyn AsRef<[u8]> + Send + Sync> {
    Arc::new(Held { sample: sample.clone(), part })
}

/// Why a message is not recorded.
#[derive(Debug, thiserror::Error)]
pub enum MessageError {
    /// The file cannot take it.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// It is malformed.
    #[error(transparent)]
    Project(#[from] ProjectError),
}

/// Why a topic cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub enum TopicError {
    /// Its schema is malformed.
    #[error("the schema that the topic carries cannot be read: {0}")]
    Schema(#[from] Box<SchemaError>),
    /// Its schema does not define its type.
    #[error("the schema that the topic carries does not define {0}")]
    Missing(String),
}

/// Counts of a topic.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TopicCounts {
    /// Its name.
    pub topic: String,
    /// Its type.
    pub type_name: String,
    /// Messages that were given to the file.
    pub messages: u64,
    /// The bytes of their data.
    pub bytes: u64,
    /// Messages that were published and not taken: overwritten before, or [`missed`](Self::missed).
    pub lost: u64,
    /// Those of the lost messages that were published before the recorder joined the topic. Only a topic that
    /// appears during the recording has such messages.
    pub missed: u64,
    /// Messages that could not be read.
    pub unreadable: u64,
}

/// A recorded topic.
pub struct RecordedTopic {
    /// Its subscriber; none if the topic was removed.
    pub subscriber: Option<RawSubscriber>,
    /// What was recorded of it.
    pub counts: TopicCounts,
    /// Whether the missed messages were reported.
    pub told_missed: bool,
    /// The losses of earlier subscribers of the topic.
    lost_before: u64,
    info: TopicInfo,
    schema: Schema,
    root: TypeId,
    projection: Projection,
    projected: Projected,
    projects_regions: bool,
    /// The number of its type in the file.
    schema_id: Option<u16>,
    channels: HashMap<(EndpointId, Encoding), u16>,
    last: Option<(EndpointId, Encoding, u16)>,
}

impl RecordedTopic {
    /// A topic that is about to be joined.
    pub fn new(info: TopicInfo, projects_regions: bool) -> Result<Self, TopicError> {
        let description = &info.description;
        let schema = Schema::from_idl(&description.schema)?;
        let root =
            schema.find(&description.name).ok_or_else(|| TopicError::Missing(description.name.clone()))?;
        let counts = TopicCounts {
            topic: info.name.clone(),
            type_name: info.description.name.clone(),
            ..TopicCounts::default()
        };
        let projection = Projection::new(&schema, root);
        Ok(Self {
            subscriber: None,
            counts,
            told_missed: false,
            lost_before: 0,
            info,
            schema,
            root,
            projection,
            projected: Projected::default(),
            projects_regions,
            schema_id: None,
            channels: HashMap::new(),
            last: None,
        })
    }

    /// Whether it is this topic with this type.
    pub fn is(&self, topic: &TopicInfo) -> bool {
        let (own, other) = (&self.info.description, &topic.description);
        self.info.name == topic.name && own.name == other.name && own.schema_hash == other.schema_hash
    }

    /// The number of the next message that will be published.
    pub fn end(&self, root: &Root) -> u64 {
        inspect::topic(root, &self.info.name).ok().flatten().map_or(0, |topic| topic.published)
    }

    /// The messages before this number that were not taken.
    pub fn left(&self, end: u64) -> u64 {
        self.subscriber.as_ref().map_or(0, |subscriber| end.saturating_sub(subscriber.cursor()))
    }

    /// The messages that were overwritten before they were taken, so far.
    pub fn overwritten(&self) -> u64 {
        self.lost_before + self.subscriber.as_ref().map_or(0, RawSubscriber::lost)
    }

    /// Gives up the subscriber of a topic that was removed. Its losses stay counted.
    pub fn leave(&mut self) {
        self.lost_before = self.overwritten();
        self.subscriber = None;
    }

    /// What was taken so far.
    pub fn counts(&self) -> TopicCounts {
        TopicCounts { lost: self.overwritten() + self.counts.missed, ..self.counts.clone() }
    }

    /// The channel of a publisher's messages.
    #[inline]
    fn channel(&mut self, writer: &mut Writer, root: &Root, sample: &RawSample) -> Result<u16, WriteError> {
        let (id, encoding) = (sample.publisher_id(), sample.encoding());
        match self.last {
            Some((last, form, channel)) if last == id && form == encoding => Ok(channel),
            _ => {
                let channel = self.find_channel(writer, root, id, encoding)?;
                self.last = Some((id, encoding, channel));
                Ok(channel)
            }
        }
    }

    #[cold]
    fn find_channel(
        &mut self,
        writer: &mut Writer,
        root: &Root,
        id: EndpointId,
        encoding: Encoding,
    ) -> Result<u16, WriteError> {
        if let Some(channel) = self.channels.get(&(id, encoding)) {
            return Ok(*channel);
        }
        let other =
            self.channels.iter().find(|((_, form), _)| *form == encoding).map(|(_, channel)| *channel);
        if writer.channels().len() >= MANY_CHANNELS
            && let Some(shared) = other
        {
            return Ok(shared);
        }
        let schema_id = match self.schema_id {
            Some(id) => id,
            None => {
                let file = FileType::of(&self.schema, self.root);
                writer.schema(&file.name, file.encoding, file.text.as_bytes())?
            }
        };
        self.schema_id = Some(schema_id);
        // The publisher may have joined after the topic was looked at. It may also be gone already.
        let present = inspect::topic(root, &self.info.name).ok().flatten();
        let info = present.as_ref().unwrap_or(&self.info);
        let publisher = info.publishers.iter().find(|publisher| publisher.id == id);
        let nodes = inspect::nodes(root).unwrap_or_default();
        let node = nodes.iter().find(|node| node.id == id.node).map(|node| node.full_name());
        let metadata =
            channel_metadata(&self.info, encoding, (&id.to_string(), publisher), &node.unwrap_or_default());
        let is_region = encoding == Encoding::Region && !self.projects_regions;
        let form = if is_region { REGION } else { CDR };
        let topic = file_topic(&self.info.name, &self.info.description.name);
        let channel = writer.channel(schema_id, &topic, form, metadata)?;
        self.channels.insert((id, encoding), channel);
        Ok(channel)
    }

    /// Gives a message to the file. `offset` is the time from the bus' clock to that of the file.
    pub fn record(
        &mut self,
        writer: &mut Writer,
        root: &Root,
        sample: RawSample,
        offset: u64,
    ) -> Result<(), MessageError> {
        let channel = self.channel(writer, root, &sample)?;
        let log_time = sample.received_at_ns().wrapping_add(offset);
        let published = sample.published_at_ns();
        let head = MessageHead {
            channel,
            sequence: sample.publisher_sequence() as u32,
            log_time,
            publish_time: if published == 0 { log_time } else { published.wrapping_add(offset) },
        };
        let size = match sample.encoding() {
            Encoding::Flat => self.record_flat(writer, head, sample)?,
            Encoding::Region if self.projects_regions => {
                // The bytes that are checked must be those that are read.
                let body = sample.body().try_to_vec().map_err(ReadError::from).map_err(ProjectError::from)?;
                let value = from_region(&self.schema, self.root, &body).map_err(ProjectError::from)?;
                let cdr = to_cdr(&self.schema, self.root, &value, situ_wire::Encoding::Xcdr1);
                let cdr = cdr.map_err(ProjectError::from)?;
                let size = cdr.len();
                writer.message_of(head, vec![Piece::Bytes(cdr)])?;
                size
            }
            Encoding::Xcdr1 | Encoding::Xcdr2 | Encoding::Region => {
                let size = sample.body_in_place().len();
                if size < HELD_FROM {
                    add_small(writer, &head, sample.body_in_place())?;
                } else {
                    let piece = Piece::Held(held(&Arc::new(sample), Part::Body), 0..size);
                    writer.message_of(head, vec![piece])?;
                }
                size
            }
        };
        self.counts.messages += 1;
        self.counts.bytes += size as u64;
        Ok(())
    }

    fn record_flat(
        &mut self,
        writer: &mut Writer,
        head: MessageHead,
        sample: RawSample,
    ) -> Result<usize, MessageError> {
        let projected = &mut self.projected;
        let (flat, body) = (sample.head_in_place(), sample.body_in_place());
        self.projection.project((&self.schema, self.root), (flat, body), HELD_FROM, projected)?;
        if projected.cuts.is_empty() {
            let size = projected.bytes.len();
            add_small(writer, &head, &projected.bytes)?;
            return Ok(size);
        }
        let sample = Arc::new(sample);
        let (mut pieces, mut from) = (Vec::with_capacity(2 * projected.cuts.len() + 1), 0);
        for (at, part, range) in projected.cuts.drain(..) {
            pieces.push(Piece::Bytes(projected.bytes[from..at].to_vec()));
            pieces.push(Piece::Held(held(&sample, part), range));
            from = at;
        }
        pieces.push(Piece::Bytes(projected.bytes[from..].to_vec()));
        let size = pieces.iter().map(|piece| piece.bytes().len()).sum();
        writer.message_of(head, pieces)?;
        Ok(size)
    }
}

#[inline]
fn add_small(writer: &mut Writer, head: &MessageHead, data: &[u8]) -> Result<(), WriteError> {
    writer.message(head.channel, head.sequence, head.log_time, head.publish_time, data)
}
