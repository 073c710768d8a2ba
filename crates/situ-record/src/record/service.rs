//! A recorded service: requests and replies, each with its type, on two topics of the file.
//!
//! A subscriber of the requests would count as a server. Therefore an observer reads the messages in place,
//! and neither clients nor servers see it. A message whose memory is used again before the observer has read
//! it is counted as lost.

use std::collections::{BTreeMap, HashMap};

use situ_bus::inspect::{InspectError, ServiceInfo};
use situ_bus::{Encoding, ObservedMessage, Root, ServiceEvent, ServiceEventKind, ServiceObserver, now_ns};
use situ_schema::Schema;
use situ_schema::dynamic::{from_region, to_cdr};
use situ_schema::model::TypeId;

use super::topic::{MANY_CHANNELS, MessageError, TopicCounts, TopicError};
use crate::types::file_type::FileType;
use crate::types::projection::{ProjectError, Projected, Projection};
use crate::types::topic_type::{CDR, SERVICE_KEY};
use crate::write::{WriteError, Writer};

/// From this number of channels of a service on, further clients share one for each side: a file has 65535,
/// and other services and topics need some.
const MANY_CLIENTS: usize = 10_000;
/// The number of the clients that share a channel.
const ALL_CLIENTS: u64 = u64::MAX;
/// The type of refusals, which is Situ's own.
const REFUSAL: &str =
    "module situ { module service { struct Refusal { unsigned long long code; string text; }; }; };";

/// A side of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Side {
    Request,
    Reply,
    Refusal,
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Reply => "reply",
            Self::Refusal => "refusal",
        }
    }
}

/// The type of a side.
struct SideType {
    schema: Schema,
    root: TypeId,
    projection: Projection,
    /// Its number in the file.
    id: Option<u16>,
}

impl SideType {
    fn read(text: &str, name: &str) -> Result<Self, TopicError> {
        let schema = Schema::from_idl(text)?;
        let root = schema.find(name).ok_or_else(|| TopicError::Missing(name.to_owned()))?;
        let projection = Projection::new(&schema, root);
        Ok(Self { schema, root, projection, id: None })
    }

    fn project(&self, message: &ObservedMessage, into: &mut Projected) -> Result<(), ProjectError> {
        match message.encoding {
            Encoding::Flat => {
                let parts = (message.head.as_slice(), message.body.as_slice());
                self.projection.project((&self.schema, self.root), parts, usize::MAX, into)
            }
            Encoding::Region => {
                let value = from_region(&self.schema, self.root, &message.body)?;
                into.bytes = to_cdr(&self.schema, self.root, &value, situ_wire::Encoding::Xcdr1)?;
                Ok(())
            }
            Encoding::Xcdr1 | Encoding::Xcdr2 => {
                into.bytes.clear();
                into.bytes.extend_from_slice(&message.body);
                Ok(())
            }
        }
    }
}

/// A service that is recorded.
pub struct RecordedService {
    /// Its name.
    pub name: String,
    /// What was recorded of it.
    counts: TopicCounts,
    observer: ServiceObserver,
    /// What earlier observers of the service missed.
    missed_before: u64,
    types: HashMap<Side, SideType>,
    channels: HashMap<(u64, Side), u16>,
    projected: Projected,
}

impl RecordedService {
    /// Begins to watch a service. `None` if it has ended.
    pub fn open(root: &Root, service: &ServiceInfo) -> Result<Option<Self>, ServiceError> {
        let joined = &service.requests.description;
        let types = (joined.schema.split_once("\n---\n"), joined.name.split_once(" -> "));
        let (Some(schemas), Some(names)) = types else { return Err(ServiceError::NoTypes) };
        let refusal = SideType::read(REFUSAL, "situ::service::Refusal")?;
        let types = [
            (Side::Request, SideType::read(schemas.0, names.0)?),
            (Side::Reply, SideType::read(schemas.1, names.1)?),
            (Side::Refusal, refusal),
        ];
        let counts = TopicCounts {
            topic: format!("{} (service)", service.name),
            type_name: joined.name.clone(),
            ..TopicCounts::default()
        };
        let Some(observer) = ServiceObserver::open(root, &service.name)? else { return Ok(None) };
        Ok(Some(Self {
            name: service.name.clone(),
            counts,
            observer,
            missed_before: 0,
            types: HashMap::from(types),
            channels: HashMap::new(),
            projected: Projected::default(),
        }))
    }

    /// Goes on with a service of the same name, if there is another one by now.
    pub fn refresh(&mut self, root: &Root) -> Result<(), InspectError> {
        if !self.observer.is_current()
            && let Some(observer) = ServiceObserver::open(root, &self.name)?
        {
            self.missed_before += self.observer.missed();
            self.observer = observer;
        }
        Ok(())
    }

    /// What was recorded so far.
    pub fn counts(&self) -> TopicCounts {
        TopicCounts { lost: self.missed_before + self.observer.missed(), ..self.counts.clone() }
    }

    /// Gives the messages since the last call to the file. Returns whether there were some, and the problem
    /// of a message that cannot be read.
    pub fn record(
        &mut self,
        writer: &mut Writer,
        offset: u64,
    ) -> Result<(bool, Option<ProjectError>), WriteError> {
        let events = self.observer.poll();
        let (found, mut problem) = (!events.is_empty(), None);
        for event in events {
            match self.record_event(writer, &event, offset) {
                Ok(()) => {}
                Err(MessageError::Write(error)) => return Err(error),
                Err(MessageError::Project(error)) => {
                    self.counts.unreadable += 1;
                    problem = Some(error);
                }
            }
        }
        Ok((found, problem))
    }

    fn record_event(
        &mut self,
        writer: &mut Writer,
        event: &ServiceEvent,
        offset: u64,
    ) -> Result<(), MessageError> {
        let (side, message) = match &event.kind {
            ServiceEventKind::Request(message) => (Side::Request, Some(message)),
            ServiceEventKind::Reply(message) | ServiceEventKind::Part(message) => {
                (Side::Reply, Some(message))
            }
            ServiceEventKind::Refusal { .. } => (Side::Refusal, None),
            // They have no content.
            _ => return Ok(()),
        };
        let channel = self.channel(writer, event.client, side)?;
        if let (Some(message), Some(side)) = (message, self.types.get(&side)) {
            side.project(message, &mut self.projected)?;
        }
        if let ServiceEventKind::Refusal { code, text } = &event.kind {
            let (length, bound) = (text.len() as u64, u64::from(u32::MAX) - 1);
            let size = u32::try_from(length + 1).map_err(|_| ProjectError::TooLong { length, bound })?;
            let bytes = &mut self.projected.bytes;
            bytes.clear();
            bytes.extend_from_slice(&[0, 1, 0, 0]);
            bytes.extend_from_slice(&code.to_le_bytes());
            bytes.extend_from_slice(&size.to_le_bytes());
            bytes.extend_from_slice(text.as_bytes());
            bytes.push(0);
        }
        let log_time = now_ns().wrapping_add(offset);
        let publish_time = if event.at_ns == 0 { log_time } else { event.at_ns.wrapping_add(offset) };
        // Modulo 2^32, as the file has it.
        writer.message(channel, event.call as u32, log_time, publish_time, &self.projected.bytes)?;
        self.counts.messages += 1;
        self.counts.bytes += self.projected.bytes.len() as u64;
        Ok(())
    }

    /// The channel of a client's messages.
    fn channel(&mut self, writer: &mut Writer, client: u64, side: Side) -> Result<u16, WriteError> {
        if let Some(channel) = self.channels.get(&(client, side)) {
            return Ok(*channel);
        }
        let is_full = self.channels.len() >= MANY_CLIENTS || writer.channels().len() >= MANY_CHANNELS;
        let client = if is_full { ALL_CLIENTS } else { client };
        if let Some(channel) = self.channels.get(&(client, side)) {
            return Ok(*channel);
        }
        let mut schema = 0;
        if let Some(of_side) = self.types.get_mut(&side) {
            schema = match of_side.id {
                Some(id) => id,
                None => {
                    let file = FileType::of(&of_side.schema, of_side.root);
                    writer.schema(&file.name, file.encoding, file.text.as_bytes())?
                }
            };
            of_side.id = Some(schema);
        }
        let metadata = BTreeMap::from([
            (SERVICE_KEY.to_owned(), self.name.clone()),
            ("situ.client".to_owned(), format!("{client:016x}")),
        ]);
        let topic = format!("{}/{}", self.name, side.name());
        let channel = writer.channel(schema, &topic, CDR, metadata)?;
        self.channels.insert((client, side), channel);
        Ok(channel)
    }
}

/// Why a service cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// It does not state its types.
    #[error("it does not state its types")]
    NoTypes,
    /// Its types cannot be used.
    #[error(transparent)]
    Type(#[from] TopicError),
    /// The root cannot be read.
    #[error(transparent)]
    Inspect(#[from] InspectError),
}
