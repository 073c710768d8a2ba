//! What clients publish: their channels as publishers on the bus.

use std::collections::HashMap;
use std::sync::Arc;

use situ_bus::inspect::{self, InspectError};
use situ_bus::{
    Encoding, LoanError, Node, PublishError, PublisherQos, RawPublisher, RegisterError, Root,
    TypeDescription, WhenFull,
};
use situ_record::{TypeError, read_type};
use situ_schema::dynamic::{ReadError, TextError, WriteError, from_cdr, from_text, to_cdr, to_flat};
use situ_schema::model::{Type, TypeId};
use situ_schema::{Schema, SchemaError};

use crate::channels::{CDR, Channel};
use crate::protocol::ClientChannel;

/// The encodings in which clients may publish.
pub const ENCODINGS: [&str; 2] = [CDR, JSON];
/// The name of the second one.
pub const JSON: &str = "json";
/// The most channels of a client.
const MAX_CHANNELS: usize = 64;
/// The largest flat message of a new topic. Larger types are published as CDR, which has the size of its
/// content.
const MAX_FLAT: u64 = 16 << 20;
/// The longest JSON text of a message.
pub const MAX_JSON: usize = 1 << 20;

/// Why a client's channel or message is refused.
#[derive(Debug, thiserror::Error)]
pub enum InboundError {
    /// The server does not let clients publish.
    #[error("clients may not publish on {0:?}; see `situ foxglove --publish`")]
    Forbidden(String),
    /// The client has too many channels.
    #[error("a client has at most {MAX_CHANNELS} channels")]
    TooMany,
    /// The number of a channel is in use.
    #[error("the channel {0} is advertised already")]
    Used(u32),
    /// The number of a channel is not known.
    #[error("there is no channel {0}")]
    Unknown(u32),
    /// Messages have another encoding.
    #[error("messages encoded as {0:?} are not published; cdr and json are")]
    Encoding(String),
    /// The topic has another type.
    #[error("the topic {topic:?} has the type {is}, not {said}")]
    OtherType {
        /// The topic.
        topic: String,
        /// The type of the topic.
        is: String,
        /// The type that the client says.
        said: String,
    },
    /// The type has no definition.
    #[error("the type {0} is not known: the client gives no definition, and no topic has the type")]
    NoType(String),
    /// The root cannot be read.
    #[error(transparent)]
    Inspect(#[from] InspectError),
    /// The client's definition is wrong.
    #[error(transparent)]
    Type(#[from] TypeError),
    /// The definition that the topic carries is wrong.
    #[error("the schema that the topic carries cannot be read: {0}")]
    Schema(#[from] Box<SchemaError>),
    /// The topic does not let the server join.
    #[error(transparent)]
    Register(#[from] Box<RegisterError>),
    /// The message is malformed.
    #[error("the message is malformed: {0}")]
    Read(#[from] ReadError),
    /// The message is malformed.
    #[error("the message is malformed: {0}")]
    Text(#[from] TextError),
    /// The message is no text, or too much of it.
    #[error("the message is not a text of at most {MAX_JSON} bytes")]
    NotText,
    /// The message has no form that fits the topic.
    #[error("the message does not fit the topic: {0}")]
    Write(#[from] WriteError),
    /// There is no memory for the message.
    #[error(transparent)]
    Loan(#[from] Box<LoanError>),
    /// The message cannot be published.
    #[error(transparent)]
    Publish(#[from] Box<PublishError>),
}

struct Publishing {
    publisher: RawPublisher,
    schema: Schema,
    root: TypeId,
    encoding: Encoding,
    is_json: bool,
}

/// The channels of a client.
#[derive(Default)]
pub struct Inbound {
    channels: HashMap<u32, Publishing>,
}

/// `geometry_msgs::msg::Twist` of `geometry_msgs/msg/Twist` or `geometry_msgs/Twist`.
fn full_name(name: &str, is_idl: bool) -> String {
    match name.split('/').collect::<Vec<_>>().as_slice() {
        [package, name] if !is_idl => format!("{package}::msg::{name}"),
        _ => name.replace('/', "::"),
    }
}

impl Inbound {
    /// Joins the topic of a channel as publisher.
    pub fn advertise(
        &mut self,
        (node, root): (&Node, &Root),
        known: &[Arc<Channel>],
        channel: &ClientChannel,
        may_publish: impl Fn(&str) -> bool,
    ) -> Result<(), InboundError> {
        if self.channels.contains_key(&channel.id) {
            return Err(InboundError::Used(channel.id));
        }
        if self.channels.len() >= MAX_CHANNELS {
            return Err(InboundError::TooMany);
        }
        if !ENCODINGS.contains(&channel.encoding.as_str()) {
            return Err(InboundError::Encoding(channel.encoding.clone()));
        }
        // The topic as it is shown, otherwise with the name that a node of ROS would give it.
        let shown = known.iter().find(|it| it.name == channel.topic);
        let topic = match shown {
            Some(shown) => shown.topic.clone(),
            None => channel.topic.strip_prefix('/').unwrap_or(&channel.topic).to_owned(),
        };
        if !may_publish(&topic) {
            return Err(InboundError::Forbidden(channel.topic.clone()));
        }
        let is_idl = channel.schema_encoding.as_deref().is_some_and(|it| it.ends_with("idl"));
        let name = full_name(&channel.schema_name, is_idl);
        let existing = inspect::topic(root, &topic)?;
        let (schema, type_id) = match &existing {
            Some(info) => {
                let is_shown = shown.is_some_and(|it| it.shown.name.replace('/', "::") == name);
                if info.description.name != name && !is_shown {
                    let (is, said) = (info.description.name.clone(), channel.schema_name.clone());
                    return Err(InboundError::OtherType { topic, is, said });
                }
                let schema = Schema::from_idl(&info.description.schema)?;
                let id =
                    schema.find(&info.description.name).ok_or_else(|| InboundError::NoType(name.clone()))?;
                (schema, id)
            }
            None => type_of(channel, &name, known)?,
        };
        let is_flat = match &existing {
            Some(info) => info.description.encoding == Encoding::Flat,
            // Messages of ROS with a fixed size lie in shared memory as they are: see the page on ROS.
            None if name.contains("::msg::") => schema.is_plain(&Type::Named(type_id)),
            None => schema.is_flat(type_id),
        };
        let size = schema.flat_layout(type_id).map(|it| it.extent.size);
        // The client defines the type of a new topic, and each message of a flat type takes room for the
        // longest sequences.
        let is_small = existing.is_some() || size.is_some_and(|size| size <= MAX_FLAT);
        let is_flat = is_flat && is_small && schema.is_flattable(type_id);
        let fixed = size.filter(|_| is_small).and_then(|size| size.try_into().ok());
        let description = TypeDescription {
            name: schema.name(type_id).to_string(),
            schema: schema.canonical(type_id),
            schema_hash: schema.schema_hash(type_id),
            layout_hash: if is_flat { schema.layout_hash(type_id) } else { 0 },
            encoding: if is_flat { Encoding::Flat } else { Encoding::Xcdr1 },
            fixed_size: fixed.unwrap_or_default(),
            user_header_size: existing.map_or(0, |info| info.description.user_header_size),
        };
        // A subscriber that is slow must not stop the server.
        let qos = PublisherQos { when_full: WhenFull::Fail, best_available: true, ..PublisherQos::default() };
        let publisher = RawPublisher::create(node, &topic, &description, qos).map_err(Box::new)?;
        let (encoding, is_json) = (description.encoding, channel.encoding == JSON);
        self.channels.insert(channel.id, Publishing { publisher, schema, root: type_id, encoding, is_json });
        Ok(())
    }

    /// Leaves the topic of a channel.
    pub fn unadvertise(&mut self, id: u32) -> Result<(), InboundError> {
        self.channels.remove(&id).map(|_| ()).ok_or(InboundError::Unknown(id))
    }

    /// Publishes a message.
    pub fn publish(&self, id: u32, content: &[u8]) -> Result<(), InboundError> {
        let channel = self.channels.get(&id).ok_or(InboundError::Unknown(id))?;
        let (schema, root) = (&channel.schema, channel.root);
        // The content comes from the network: it is read in full before it is published.
        let value = if channel.is_json {
            let text = std::str::from_utf8(content).ok().filter(|text| text.len() <= MAX_JSON);
            from_text(schema, root, text.ok_or(InboundError::NotText)?)?
        } else {
            from_cdr(schema, root, content)?
        };
        let (head, body, align) = if channel.encoding == Encoding::Flat {
            let flat = to_flat(schema, root, &value)?;
            (flat.head, flat.body, schema.flat_layout(root).map_or(1, |it| it.extent.align as usize))
        } else {
            (Vec::new(), to_cdr(schema, root, &value, situ_wire::Encoding::Xcdr1)?, 1)
        };
        let mut loan = channel.publisher.loan(head.len(), align, body.len()).map_err(Box::new)?;
        loan.head_bytes().copy_from_slice(&head);
        loan.body_bytes().copy_from_slice(&body);
        loan.publish().map_err(Box::new)?;
        Ok(())
    }
}

/// The type of a new topic: as the client defines it, or as another topic does.
fn type_of(
    channel: &ClientChannel,
    name: &str,
    known: &[Arc<Channel>],
) -> Result<(Schema, TypeId), InboundError> {
    if let (Some(text), Some(language)) = (&channel.schema, &channel.schema_encoding)
        && !text.is_empty()
    {
        return Ok(read_type(language, &channel.schema_name, text.as_bytes())?);
    }
    for known in known {
        if let Some(id) = known.schema.find(name) {
            let text = known.schema.canonical(id);
            let schema = Schema::from_idl(&text)?;
            let id = schema.find(name).ok_or_else(|| InboundError::NoType(name.to_owned()))?;
            return Ok((schema, id));
        }
    }
    Err(InboundError::NoType(channel.schema_name.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_types_have_both_forms() {
        assert_eq!(full_name("geometry_msgs/Twist", false), "geometry_msgs::msg::Twist");
        assert_eq!(full_name("geometry_msgs/msg/Twist", false), "geometry_msgs::msg::Twist");
        assert_eq!(full_name("demo/Pose", true), "demo::Pose");
        assert_eq!(full_name("Pose", false), "Pose");
    }
}
