//! `situ schema show`, `check` and `hash`.

use std::path::PathBuf;

use serde::Serialize;
use situ_schema::model::{Kind, TypeId};
use situ_schema::{Loader, Schema};

use super::Context;
use crate::cli::{SchemaArgs, SourceArgs};
use crate::error::CliError;
use crate::output::table::{Column, Table};

/// Reads the definitions that the command line names.
pub fn load(sources: &SourceArgs) -> Result<Schema, CliError> {
    if sources.files.is_empty() && sources.ros.is_empty() {
        return Err(CliError::Usage("name files, or a ROS package with --ros".into()));
    }
    let mut loader = Loader::new();
    for folder in &sources.include {
        loader = loader.include(folder);
    }
    loader = loader.ament_prefix_path();
    for file in &sources.files {
        if !file.exists() {
            return Err(CliError::NotFound(format!("there is no file {}", file.display())));
        }
        loader = loader.file(file);
    }
    for name in &sources.ros {
        loader = if name.contains('/') { loader.ros_interface(name) } else { loader.ros_package(name) };
    }
    Ok(loader.load()?)
}

/// Reads the definition of the type of a topic that does not exist yet, from the named files, or from a ROS
/// prefix.
pub fn of_type(
    topic: &str,
    type_name: &str,
    files: &[PathBuf],
    include: &[PathBuf],
) -> Result<Schema, CliError> {
    if files.is_empty() && include.is_empty() {
        return Err(CliError::Usage(format!(
            "the type {type_name} is unknown: the topic `{topic}` does not exist yet; name a file with --schema, or a ROS prefix with -I"
        )));
    }
    let ros = if files.is_empty() { vec![type_name.replace("::", "/")] } else { Vec::new() };
    load(&SourceArgs { files: files.to_vec(), ros, include: include.to_vec() })
}

/// The requested schema, and its requested types: one, or all that the arguments name.
fn select(context: &Context, arguments: &SchemaArgs) -> Result<(Schema, Vec<TypeId>), CliError> {
    let (schema, wanted) = match &arguments.topic {
        Some(name) => {
            let topic = context.topic(name)?;
            let wanted = arguments.type_name.clone().unwrap_or(topic.description.name);
            (Schema::from_idl(&topic.description.schema)?, Some(wanted))
        }
        None => (load(&arguments.sources)?, arguments.type_name.clone()),
    };
    let types = match wanted {
        Some(name) => vec![find(&schema, &name)?],
        None => schema
            .definitions()
            .filter(|(id, d)| schema.is_requested(*id) && matches!(d.kind, Kind::Struct(_) | Kind::Union(_)))
            .map(|(id, _)| id)
            .collect(),
    };
    Ok((schema, types))
}

/// A type by its name, in IDL or ROS spelling.
pub fn find(schema: &Schema, name: &str) -> Result<TypeId, CliError> {
    schema.find(name).ok_or_else(|| {
        let names: Vec<String> = schema.definitions().map(|(_, d)| d.name.to_string()).take(20).collect();
        CliError::NotFound(format!("there is no type `{name}`; there are: {}", names.join(", ")))
    })
}

#[derive(Serialize)]
struct Shown {
    #[serde(rename = "type")]
    type_name: String,
    schema: String,
}

/// `situ schema show`.
pub fn show(context: &Context, arguments: &SchemaArgs) -> Result<(), CliError> {
    let (schema, types) = select(context, arguments)?;
    let output = &context.output;
    for (index, id) in types.into_iter().enumerate() {
        let shown = Shown { type_name: schema.name(id).to_string(), schema: schema.canonical(id) };
        if output.is_json() {
            output.record(&shown)?;
        } else {
            if index > 0 {
                output.line("")?;
            }
            output.text(format!("// {}\n{}\n", shown.type_name, shown.schema.trim_end()))?;
        }
    }
    Ok(())
}

#[derive(Serialize)]
struct Checked {
    types: usize,
    services: usize,
    actions: usize,
}

/// `situ schema check`.
pub fn check(context: &Context, sources: &SourceArgs) -> Result<(), CliError> {
    let schema = load(sources)?;
    let checked = Checked {
        types: schema.definitions().filter(|(id, _)| schema.is_requested(*id)).count(),
        services: schema.services().len(),
        actions: schema.actions().len(),
    };
    let output = &context.output;
    if output.is_json() {
        return Ok(output.record(&checked)?);
    }
    Ok(output.line(format!(
        "{} type(s), {} service(s), {} action(s): no mistakes.",
        checked.types, checked.services, checked.actions
    ))?)
}

#[derive(Serialize)]
struct Hashes {
    #[serde(rename = "type")]
    type_name: String,
    schema_hash: String,
    /// The hash of the flat layout, if the type has one.
    layout_hash: Option<String>,
}

/// `situ schema hash`.
pub fn hash(context: &Context, arguments: &SchemaArgs) -> Result<(), CliError> {
    let (schema, types) = select(context, arguments)?;
    let hex = |hash: u64| format!("{hash:016x}");
    let hashes = types.into_iter().map(|id| Hashes {
        type_name: schema.name(id).to_string(),
        schema_hash: hex(schema.schema_hash(id)),
        layout_hash: schema.is_flattable(id).then(|| hex(schema.layout_hash(id))),
    });
    let output = &context.output;
    if output.is_json() {
        return Ok(hashes.into_iter().try_for_each(|h| output.record(&h))?);
    }
    let mut table =
        Table::new([Column::left("TYPE").flexible(), Column::left("SCHEMA"), Column::left("LAYOUT")]);
    for h in hashes {
        let layout = h.layout_hash.unwrap_or_else(|| "cannot be flat".into());
        table.row([h.type_name.into(), h.schema_hash.into(), layout.into()]);
    }
    Ok(output.text(table.render(output))?)
}
