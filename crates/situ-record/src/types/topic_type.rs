//! How the messages of a topic stand in a file, and how a channel of a file becomes a topic again.
//! `spec/record.md` specifies what a channel says.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use situ_bus::inspect::{PublisherInfo, TopicInfo};
use situ_bus::{Durability, Encoding, Liveliness, TypeDescription};
use situ_schema::Schema;
use situ_schema::model::{Type, TypeId};

use super::file_type::{self, TypeError};
use super::ros_text::package_and_name;
use crate::format::records;

/// The encoding of messages that are CDR.
pub const CDR: &str = "cdr";
/// The encoding of messages that are regions: their image (`spec/region.md`).
pub const REGION: &str = "situ-region";
/// What the channel of a service says of it. Such a channel is no topic.
pub const SERVICE_KEY: &str = "situ.service";

/// The names of what a channel says about its topic.
mod key {
    pub const QOS: &str = "offered_qos_profiles";
    pub const TOPIC: &str = "situ.topic";
    pub const TYPE: &str = "situ.type";
    pub const ENCODING: &str = "situ.encoding";
    pub const LAYOUT: &str = "situ.layout_hash";
    pub const PUBLISHER: &str = "situ.publisher";
    pub const NODE: &str = "situ.node";
}

/// The name of a topic in a file: that of ROS, if its type is of ROS.
pub fn file_topic(topic: &str, type_name: &str) -> String {
    let is_ros = package_and_name(type_name).is_some();
    if is_ros && !topic.starts_with('/') { format!("/{topic}") } else { topic.to_owned() }
}

fn encoding_name(encoding: Encoding) -> &'static str {
    match encoding {
        Encoding::Flat => "flat",
        Encoding::Xcdr1 => "xcdr1",
        Encoding::Xcdr2 => "xcdr2",
        Encoding::Region => "region",
    }
}

/// The encoding on the bus that a channel states.
pub fn bus_encoding(channel: &records::Channel) -> Option<Encoding> {
    encoding_of(channel.metadata.get(key::ENCODING)?)
}

/// The name of a channel's topic on the bus.
pub fn bus_topic(channel: &records::Channel) -> &str {
    let without = || channel.topic.strip_prefix('/').unwrap_or(&channel.topic);
    channel.metadata.get(key::TOPIC).map_or_else(without, String::as_str)
}

fn encoding_of(name: &str) -> Option<Encoding> {
    [Encoding::Flat, Encoding::Xcdr1, Encoding::Xcdr2, Encoding::Region]
        .into_iter()
        .find(|encoding| encoding_name(*encoding) == name)
}

/// What a channel says about the messages of a topic.
pub fn topic_metadata(
    topic: &str,
    description: &TypeDescription,
    encoding: Encoding,
) -> BTreeMap<String, String> {
    let mut metadata = BTreeMap::from([
        (key::TOPIC.to_owned(), topic.to_owned()),
        (key::TYPE.to_owned(), description.name.clone()),
        (key::ENCODING.to_owned(), encoding_name(encoding).to_owned()),
    ]);
    if encoding == Encoding::Region {
        metadata.insert(key::LAYOUT.to_owned(), format!("{:016x}", description.layout_hash));
    }
    metadata
}

/// What a channel says about the messages of one publisher of a topic.
pub fn channel_metadata(
    topic: &TopicInfo,
    encoding: Encoding,
    publisher: (&str, Option<&PublisherInfo>),
    node: &str,
) -> BTreeMap<String, String> {
    let (id, info) = publisher;
    let mut metadata = topic_metadata(&topic.name, &topic.description, encoding);
    metadata.insert(key::PUBLISHER.to_owned(), id.to_owned());
    metadata.insert(key::NODE.to_owned(), node.to_owned());
    if let Some(info) = info {
        metadata.insert(key::QOS.to_owned(), qos_profile(info));
    }
    metadata
}

/// Appends a time. Without a limit, rmw has this many seconds and nanoseconds.
fn put_time(text: &mut String, name: &str, time: Option<Duration>) {
    let (sec, nsec) = time.map_or((9_223_372_036, 854_775_807), |time| (time.as_secs(), time.subsec_nanos()));
    let _ = write!(text, "  {name}:\n    sec: {sec}\n    nsec: {nsec}\n");
}

/// The quality of service as rosbag2 writes it: the numbers of `rmw`.
fn qos_profile(publisher: &PublisherInfo) -> String {
    let reliability = if publisher.reliable { 1 } else { 2 };
    let durability = if publisher.durability == Durability::TransientLocal { 1 } else { 2 };
    let liveliness = if publisher.liveliness == Liveliness::ManualByTopic { 3 } else { 1 };
    let mut text = format!(
        "- history: 1\n  depth: {}\n  reliability: {reliability}\n  durability: {durability}\n",
        publisher.depth
    );
    put_time(&mut text, "deadline", publisher.deadline);
    put_time(&mut text, "lifespan", None);
    let _ = writeln!(text, "  liveliness: {liveliness}");
    put_time(&mut text, "liveliness_lease_duration", publisher.lease);
    text.push_str("  avoid_ros_namespace_conventions: false\n");
    text
}

/// A channel of a file as a topic.
#[derive(Debug)]
pub struct FileTopic {
    /// The topic's name.
    pub topic: String,
    /// Its types.
    pub schema: Schema,
    /// The type of its messages.
    pub root: TypeId,
    /// The encoding of its messages in the file.
    pub in_file: Encoding,
    /// The type as a publisher registers it, with the encoding in which it publishes.
    pub description: TypeDescription,
    /// Whether its publisher kept messages for late subscribers.
    pub keeps: bool,
    /// Whether its publisher was reliable.
    pub reliable: bool,
    /// How many messages its publisher kept.
    pub depth: usize,
}

/// Why a channel cannot become a topic.
#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    /// It has the requests or replies of a service.
    #[error("{topic} is a part of the service {service:?}, and services are not played")]
    Service {
        /// The topic.
        topic: String,
        /// The service.
        service: String,
    },
    /// Its messages have an encoding that Situ does not publish.
    #[error("the messages of {topic} are encoded as {encoding:?}; Situ plays cdr and situ-region")]
    Encoding {
        /// The topic.
        topic: String,
        /// The encoding.
        encoding: String,
    },
    /// It has no type.
    #[error("the channel of {topic} has no schema")]
    NoSchema {
        /// The topic.
        topic: String,
    },
    /// Its type cannot be used.
    #[error("topic {topic}: {source}")]
    Type {
        /// The topic.
        topic: String,
        /// What is wrong with the type.
        source: TypeError,
    },
}

/// A value of the first profile of quality of service, as rosbag2 writes it: a number, or in newer files a
/// word.
fn qos_value<'m>(profile: &'m str, name: &str) -> Option<&'m str> {
    profile.lines().find_map(|line| {
        let line = line.trim_start_matches(['-', ' ']);
        line.strip_prefix(name)?.strip_prefix(':').map(str::trim)
    })
}

impl FileTopic {
    /// The topic that a channel was.
    pub fn of(channel: &records::Channel, schema: Option<&records::Schema>) -> Result<Self, ChannelError> {
        let topic = bus_topic(channel).to_owned();
        if let Some(service) = channel.metadata.get(SERVICE_KEY) {
            return Err(ChannelError::Service { topic, service: service.clone() });
        }
        let Some(schema) = schema else { return Err(ChannelError::NoSchema { topic }) };
        let read = file_type::read(&schema.encoding, &schema.name, &schema.data);
        let (types, root) = match read {
            Ok(read) => read,
            Err(source) => return Err(ChannelError::Type { topic, source }),
        };
        let said = bus_encoding(channel);
        let (in_file, published) = match (channel.message_encoding.as_str(), said) {
            (REGION, _) => (Encoding::Region, Encoding::Region),
            (CDR, Some(Encoding::Region)) => (Encoding::Xcdr1, Encoding::Region),
            (CDR, Some(said)) => (Encoding::Xcdr1, said),
            // Messages of ROS with a fixed size lie in shared memory as they are: see the page on ROS.
            (CDR, None) if types.is_plain(&Type::Named(root)) => (Encoding::Xcdr1, Encoding::Flat),
            (CDR, None) => (Encoding::Xcdr1, Encoding::Xcdr1),
            (other, _) => return Err(ChannelError::Encoding { topic, encoding: other.to_owned() }),
        };
        let flat = published == Encoding::Flat && types.is_flattable(root);
        let published = if published == Encoding::Flat && !flat { Encoding::Xcdr1 } else { published };
        let layout = || u64::from_str_radix(channel.metadata.get(key::LAYOUT)?, 16).ok();
        let layout_hash = match published {
            Encoding::Flat => types.layout_hash(root),
            Encoding::Region => layout().unwrap_or_default(),
            _ => 0,
        };
        let fixed = types.flat_layout(root).filter(|_| types.is_plain(&Type::Named(root)));
        let description = TypeDescription {
            name: types.name(root).to_string(),
            schema: types.canonical(root),
            schema_hash: types.schema_hash(root),
            layout_hash,
            encoding: published,
            fixed_size: fixed.and_then(|it| u32::try_from(it.extent.size).ok()).unwrap_or_default(),
            user_header_size: 0,
        };
        let profile = channel.metadata.get(key::QOS).map_or("", String::as_str);
        let keeps = matches!(qos_value(profile, "durability"), Some("1" | "transient_local"));
        let reliable = !matches!(qos_value(profile, "reliability"), Some("2" | "best_effort"));
        let depth = qos_value(profile, "depth").and_then(|depth| depth.parse().ok()).unwrap_or(0);
        let depth = usize::clamp(depth, 8, 1024);
        Ok(Self { topic, schema: types, root, in_file, description, keeps, reliable, depth })
    }
}
