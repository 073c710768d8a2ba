//! Topics as Foxglove sees them: a name, a type with its definition, and messages as CDR.

use situ_bus::inspect::TopicInfo;
use situ_bus::{Encoding, RawSample, TypeDescription};
use situ_layout::NoMemory;
use situ_record::{FileType, ProjectError, Projected, Projection, file_topic};
use situ_schema::dynamic::{ReadError, Value, WriteError, from_cdr, from_flat, from_region, to_cdr};
use situ_schema::model::TypeId;
use situ_schema::{Schema, SchemaError};

use crate::screen::Screen;

/// The name of the encoding of all channels.
pub const CDR: &str = "cdr";

/// A topic.
#[derive(Debug)]
pub struct Channel {
    /// Its number, which no other channel of the server ever has.
    pub id: u32,
    /// The name of the topic on the bus.
    pub topic: String,
    /// The name that is shown: with a `/` in front, if the type is of ROS.
    pub name: String,
    /// The type that is shown.
    pub shown: FileType,
    /// The type on the bus.
    pub description: TypeDescription,
    /// Its definition.
    pub schema: Schema,
    /// The type of the messages.
    pub root: TypeId,
    projection: Projection,
    screen: Option<Screen>,
}

/// Why a topic is not shown.
#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    /// Its schema is malformed.
    #[error("the schema that the topic carries cannot be read: {0}")]
    Schema(#[from] Box<SchemaError>),
    /// Its schema does not define its type.
    #[error("the schema that the topic carries does not define {0}")]
    Missing(String),
}

/// Why a message is not shown.
#[derive(Debug, thiserror::Error)]
pub enum MessageError {
    /// It is malformed, or has no CDR form.
    #[error(transparent)]
    Project(#[from] ProjectError),
    /// It is malformed.
    #[error("the message is malformed: {0}")]
    Read(#[from] ReadError),
    /// It cannot be written as CDR.
    #[error("the message has no CDR form: {0}")]
    Write(#[from] WriteError),
    /// There is no memory for it.
    #[error(transparent)]
    Memory(#[from] NoMemory),
}

impl Channel {
    /// The channel of a topic.
    pub fn of(id: u32, info: &TopicInfo) -> Result<Self, ChannelError> {
        let description = info.description.clone();
        let schema = Schema::from_idl(&description.schema)?;
        let root =
            schema.find(&description.name).ok_or_else(|| ChannelError::Missing(description.name.clone()))?;
        let screen = Screen::of(&schema, root);
        let shown = match &screen {
            Some(screen) => FileType::of(&screen.schema, screen.root),
            None => FileType::of(&schema, root),
        };
        Ok(Self {
            id,
            topic: info.name.clone(),
            name: file_topic(&info.name, &description.name),
            shown,
            projection: Projection::new(&schema, root),
            description,
            schema,
            root,
            screen,
        })
    }

    /// Whether it is the channel of this topic with this type.
    pub fn is(&self, info: &TopicInfo) -> bool {
        let (own, other) = (&self.description, &info.description);
        self.topic == info.name && own.name == other.name && own.schema_hash == other.schema_hash
    }

    /// Appends a message as CDR. This is the only copy of its bytes.
    pub fn put(
        &self,
        sample: &RawSample,
        scratch: &mut Projected,
        into: &mut Vec<u8>,
    ) -> Result<(), MessageError> {
        match (&self.screen, sample.encoding()) {
            (Some(screen), _) if !screen.is_same => {
                let value = screen.adapt(self.read(sample)?);
                append(into, &to_cdr(&screen.schema, screen.root, &value, situ_wire::Encoding::Xcdr1)?)
            }
            (_, Encoding::Flat) => {
                let parts = (sample.head_in_place(), sample.body_in_place());
                self.projection.project((&self.schema, self.root), parts, usize::MAX, scratch)?;
                append(into, &scratch.bytes)
            }
            (_, Encoding::Region) => {
                let value = self.read(sample)?;
                append(into, &to_cdr(&self.schema, self.root, &value, situ_wire::Encoding::Xcdr1)?)
            }
            (_, Encoding::Xcdr1 | Encoding::Xcdr2) => append(into, sample.body_in_place()),
        }
    }

    /// Reads a private copy, because the bytes that are checked must be those that are read.
    fn read(&self, sample: &RawSample) -> Result<Value, MessageError> {
        let body = sample.body().try_to_vec()?;
        Ok(match sample.encoding() {
            Encoding::Flat => from_flat(&self.schema, self.root, &sample.head().try_to_vec()?, &body)?,
            Encoding::Xcdr1 | Encoding::Xcdr2 => from_cdr(&self.schema, self.root, &body)?,
            Encoding::Region => from_region(&self.schema, self.root, &body)?,
        })
    }
}

fn append(into: &mut Vec<u8>, bytes: &[u8]) -> Result<(), MessageError> {
    into.try_reserve(bytes.len()).map_err(|_| NoMemory { bytes: bytes.len() })?;
    into.extend_from_slice(bytes);
    Ok(())
}
