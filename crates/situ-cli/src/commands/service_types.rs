//! The types of a service, from the schemas that its topic of requests carries.

use situ::bus::inspect::{self, ServiceInfo};
use situ::bus::{Encoding, ServiceDescription, TypeDescription};

use super::Context;
use crate::error::CliError;
use crate::message::MessageReader;

/// The line between the schemas of requests and replies, and the sign between their types' names.
const SEPARATORS: (&str, &str) = ("\n---\n", " -> ");

/// The types of a service's requests and replies.
pub struct ServiceTypes {
    /// Reads and writes requests.
    pub request: MessageReader,
    /// Reads replies.
    pub reply: MessageReader,
    /// With which a client joins. It takes replies in any layout, and sends requests in that of the service.
    pub description: ServiceDescription,
}

impl ServiceTypes {
    /// Reads the schemas of a service.
    pub fn of(service: &ServiceInfo) -> Result<Self, CliError> {
        let joined = &service.requests.description;
        let (schemas, names) = (joined.schema.split_once(SEPARATORS.0), joined.name.split_once(SEPARATORS.1));
        let (Some(schemas), Some(names)) = (schemas, names) else {
            return Err(CliError::Failed(format!("service `{}` does not say its types", service.name)));
        };
        let reader = |schema, name| MessageReader::new(schema, name).map_err(CliError::failed);
        let (request, reply) = (reader(schemas.0, names.0)?, reader(schemas.1, names.1)?);
        let description = ServiceDescription {
            request: request.description(joined.encoding == Encoding::Flat),
            // Replies are read by their schema, whatever their layout.
            reply: TypeDescription {
                encoding: Encoding::Region,
                layout_hash: 0,
                ..reply.description(reply.is_flat())
            },
        };
        Ok(Self { request, reply, description })
    }
}

/// A service that must have a client or a server.
pub fn find(context: &Context, name: &str) -> Result<ServiceInfo, CliError> {
    let mut services = inspect::services(&context.root).map_err(CliError::failed)?;
    if let Some(at) = services.iter().position(|service| service.name == name) {
        return Ok(services.swap_remove(at));
    }
    let known: Vec<&str> = services.iter().map(|service| service.name.as_str()).collect();
    let there = match known.is_empty() {
        true => "no service has a client or a server".to_owned(),
        false => format!("there are: {}", known.join(", ")),
    };
    let root = context.root.path().display();
    Err(CliError::NotFound(format!("there is no service `{name}` in {root}; {there}")))
}
