//! The types of topics and services in the root, read once for each topic and version.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use situ_bus::inspect::{self, TopicInfo};
use situ_bus::{Root, TypeDescription};

use crate::message_type::MessageType;
use crate::service_out::ServiceTypes;
use crate::wire::names::dds_service_name;
use crate::wire::token::Space;

/// The sign between the types' names of a service, and the line between their schemas.
const SEPARATORS: (&str, &str) = (" -> ", "\n---\n");

/// A topic and the hash of a schema.
type TopicType = (String, u64);

/// What is known of types in the root.
#[derive(Debug, Default)]
pub struct LocalTypes {
    topics: HashMap<TopicType, Option<Arc<MessageType>>>,
    services: HashMap<TopicType, Option<ServiceTypes>>,
    warnings: Vec<String>,
}

impl LocalTypes {
    /// The type of a topic. `None` if it cannot cross, or has gone.
    pub fn of_topic(&mut self, root: &Root, topic: &str, schema_hash: u64) -> Option<Arc<MessageType>> {
        let key = (topic.to_owned(), schema_hash);
        if let Some(known) = self.topics.get(&key) {
            return known.clone();
        }
        let info = inspect::topic(root, topic).ok().flatten()?;
        let made = match MessageType::new(&info.description) {
            Ok(made) => Some(Arc::new(made)),
            Err(error) => {
                self.warnings.push(format!("topic {topic:?} does not cross: {error}"));
                None
            }
        };
        self.topics.insert(key, made.clone());
        made
    }

    /// The types of a service.
    pub fn of_service(&mut self, root: &Root, service: &str, schema_hash: u64) -> Option<ServiceTypes> {
        let key = (service.to_owned(), schema_hash);
        if let Some(known) = self.services.get(&key) {
            return known.clone();
        }
        let services = inspect::services(root).ok()?;
        let found = services.into_iter().find(|it| it.name == service)?;
        let made = match service_types(&found.requests) {
            Ok(made) => Some(made),
            Err(reason) => {
                self.warnings.push(format!("service {service:?} does not cross: {reason}"));
                None
            }
        };
        self.services.insert(key, made.clone());
        made
    }

    /// The types of topics that are known.
    pub fn topic_types(&self) -> impl Iterator<Item = &Arc<MessageType>> {
        self.topics.values().flatten()
    }

    /// The types of services that are known.
    pub fn service_types(&self) -> impl Iterator<Item = &ServiceTypes> {
        self.services.values().flatten()
    }

    /// Removes the types of topics and services that are gone.
    pub fn keep(&mut self, used: &HashSet<TopicType>) {
        self.topics.retain(|key, _| used.contains(key));
        self.services.retain(|key, _| used.contains(key));
    }

    /// What went wrong since the last call.
    pub fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }
}

/// The types of a service, by the topic of its requests.
fn service_types(requests: &TopicInfo) -> Result<ServiceTypes, String> {
    let joined = &requests.description;
    let names = joined.name.split_once(SEPARATORS.0);
    let schemas = joined.schema.split_once(SEPARATORS.1);
    let (Some(names), Some(schemas)) = (names, schemas) else {
        return Err("it does not say its types".into());
    };
    let read = |name: &str, schema: &str| {
        let description = TypeDescription {
            name: name.to_owned(),
            schema: schema.to_owned(),
            schema_hash: 0,
            layout_hash: 0,
            encoding: joined.encoding,
            fixed_size: 0,
            user_header_size: 0,
        };
        MessageType::of_schema(&description).map(Arc::new).map_err(|error| error.to_string())
    };
    let (request, reply) = (read(names.0, schemas.0)?, read(names.1, schemas.1)?);
    let space = match dds_service_name(request.name()) {
        Some(_) if request.service_subject(&reply).hash().is_some() => Space::Ros,
        _ => Space::Situ,
    };
    Ok(ServiceTypes { request, reply, space })
}
