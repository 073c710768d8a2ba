//! `situ topic create` and `remove`, `situ service create` and `remove`: topics and services that stand
//! without members, with rights of groups.

use serde::Serialize;
use situ::bus::{ServiceDescription, ServiceRights, TopicRights, make_service, make_topic, remove_topic};
use situ::layout::foreign::Foreign;

use super::{Context, publish, schema};
use crate::cli::{CreateArgs, ServiceCreateArgs};
use crate::error::CliError;

fn group(name: &str) -> Result<u32, CliError> {
    situ::memory::root::group_number(name).map_err(CliError::failed)
}

#[derive(Serialize)]
struct Created<'a> {
    topic: &'a str,
    #[serde(rename = "type")]
    type_name: &'a str,
    publishers: u32,
    subscribers: u32,
}

/// `situ topic create`.
pub fn create(context: &Context, arguments: &CreateArgs) -> Result<(), CliError> {
    let CreateArgs { topic, type_name, schemas, include, .. } = arguments;
    let schema = schema::of_type(topic, type_name, schemas, include)?;
    let description = publish::describe(&schema, schema::find(&schema, type_name)?, None);
    let rights = TopicRights {
        publishers: group(&arguments.publishers)?,
        subscribers: group(&arguments.subscribers)?,
    };
    make_topic(&context.root, topic, &description, arguments.depth as usize, rights)
        .map_err(CliError::failed)?;
    let output = &context.output;
    if output.is_json() {
        let (publishers, subscribers) = (rights.publishers, rights.subscribers);
        return Ok(output.record(&Created {
            topic,
            type_name: &description.name,
            publishers,
            subscribers,
        })?);
    }
    Ok(output.line(format!(
        "topic {}: group {} may publish, group {} may subscribe",
        Foreign(topic),
        Foreign(&arguments.publishers),
        Foreign(&arguments.subscribers)
    ))?)
}

#[derive(Serialize)]
struct Removed<'a> {
    removed: &'a str,
}

/// `situ topic remove`.
pub fn remove(context: &Context, topic: &str) -> Result<(), CliError> {
    if !remove_topic(&context.root, topic).map_err(CliError::failed)? {
        return Err(CliError::NotFound(context.no_such_topic(topic)));
    }
    let output = &context.output;
    if output.is_json() {
        return Ok(output.record(&Removed { removed: topic })?);
    }
    Ok(output.line(format!("removed topic {}", Foreign(topic)))?)
}

#[derive(Serialize)]
struct CreatedService<'a> {
    service: &'a str,
    #[serde(rename = "type")]
    type_name: String,
    callers: u32,
    servers: u32,
}

/// `situ service create`.
pub fn create_service(context: &Context, arguments: &ServiceCreateArgs) -> Result<(), CliError> {
    let ServiceCreateArgs { service, type_name, schemas, include, .. } = arguments;
    let schema = schema::of_type(service, type_name, schemas, include)?;
    let wanted = type_name.replace('/', "::");
    let found = schema.services().iter().find(|it| it.name.to_string() == wanted).ok_or_else(|| {
        let names: Vec<String> = schema.services().iter().map(|it| it.name.to_string()).take(20).collect();
        CliError::NotFound(format!("there is no service type `{type_name}`; there are: {}", names.join(", ")))
    })?;
    let description = ServiceDescription {
        request: publish::describe(&schema, found.request, None),
        reply: publish::describe(&schema, found.response, None),
    };
    let rights = ServiceRights { callers: group(&arguments.callers)?, servers: group(&arguments.servers)? };
    make_service(&context.root, service, &description, arguments.depth as usize, rights)
        .map_err(CliError::failed)?;
    let output = &context.output;
    if output.is_json() {
        let ServiceRights { callers, servers } = rights;
        return Ok(output.record(&CreatedService { service, type_name: wanted, callers, servers })?);
    }
    Ok(output.line(format!(
        "service {}: group {} may call, group {} may serve",
        Foreign(service),
        Foreign(&arguments.callers),
        Foreign(&arguments.servers)
    ))?)
}

/// `situ service remove`.
pub fn remove_service(context: &Context, service: &str) -> Result<(), CliError> {
    if !situ::bus::remove_service(&context.root, service).map_err(CliError::failed)? {
        let root = context.root.path().display();
        return Err(CliError::NotFound(format!("there is no service `{}` in {root}", Foreign(service))));
    }
    let output = &context.output;
    if output.is_json() {
        return Ok(output.record(&Removed { removed: service })?);
    }
    Ok(output.line(format!("removed service {}", Foreign(service)))?)
}
