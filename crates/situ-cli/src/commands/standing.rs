//! `situ topic create` and `situ topic remove`: topics that stand without members, with rights of groups.

use serde::Serialize;
use situ::bus::{TopicRights, make_topic, remove_topic};
use situ::layout::foreign::Foreign;

use super::{Context, publish, schema};
use crate::cli::CreateArgs;
use crate::error::CliError;

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
    let group = |name: &str| situ::memory::root::group_number(name).map_err(CliError::failed);
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
