//! `situ proto print` and `situ proto parse`.

use std::io::{Read, Write};
use std::path::Path;

use situ_schema::proto::{ProtoError, TextFormat};

use super::Context;
use crate::cli::ProtoArgs;
use crate::error::CliError;

/// The largest message that protobuf allows.
const MAX_BYTES: u64 = i32::MAX as u64;

/// `situ proto print`.
pub fn print(context: &Context, arguments: &ProtoArgs) -> Result<(), CliError> {
    let types = types(arguments)?;
    let bytes = read(arguments.file.as_deref())?;
    let text = types.print(&arguments.type_name, &bytes).map_err(CliError::failed)?;
    if context.output.is_json() {
        return Ok(context.output.record(&serde_json::json!({ "text": text }))?);
    }
    Ok(context.output.text(text)?)
}

/// `situ proto parse`.
pub fn parse(arguments: &ProtoArgs) -> Result<(), CliError> {
    let types = types(arguments)?;
    let text = String::from_utf8(read(arguments.file.as_deref())?)
        .map_err(|error| CliError::Failed(format!("the text is not UTF-8: {}", error.utf8_error())))?;
    let bytes = types.parse(&arguments.type_name, &text).map_err(CliError::failed)?;
    let mut output = std::io::stdout().lock();
    output.write_all(&bytes)?;
    Ok(output.flush()?)
}

fn types(arguments: &ProtoArgs) -> Result<TextFormat, CliError> {
    for file in &arguments.proto {
        if !file.exists() {
            return Err(CliError::NotFound(format!("there is no file {}", file.display())));
        }
    }
    let loaded = match &arguments.descriptors {
        Some(file) => TextFormat::from_descriptors(&read(Some(file))?),
        None => TextFormat::load(&arguments.proto, &arguments.include),
    };
    loaded.map_err(|error| match error {
        ProtoError::Schema(error) => CliError::Schema(error),
        other => CliError::failed(other),
    })
}

/// Reads the file, or the standard input.
fn read(file: Option<&Path>) -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    let (name, result) = match file {
        None => {
            let input = std::io::stdin().lock();
            ("the standard input".to_owned(), input.take(MAX_BYTES + 1).read_to_end(&mut bytes))
        }
        Some(path) => {
            let file = std::fs::File::open(path);
            let read = file.and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes));
            (path.display().to_string(), read)
        }
    };
    result.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => CliError::NotFound(format!("there is no file {name}")),
        _ => CliError::Failed(format!("cannot read {name}: {error}")),
    })?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(CliError::Failed(format!(
            "{name} has more than {MAX_BYTES} bytes, the most of protobuf"
        )));
    }
    Ok(bytes)
}
