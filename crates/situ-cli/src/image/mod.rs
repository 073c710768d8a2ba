//! `situ image`: images of regions in files, read by the schema of their type.
//!
//! ```text
//!   open     reads a file, and finds its type
//!   stat     where the bytes go
//!   diff     which members differ
//! ```

mod diff;
mod open;
mod stat;

pub use diff::diff;
pub use stat::stat;

use std::io::Write;

use situ_schema::dynamic::{self, PrintOptions, Value};
use situ_wire::Encoding;

use crate::cli::{ImageArgs, ImageConvertArgs, ImageEncoding};
use crate::commands::Context;
use crate::error::CliError;

use open::{Image, open};

impl Image {
    /// Reads its value. The image was checked before.
    fn value(&self) -> Result<Value, CliError> {
        dynamic::from_region(&self.schema, self.id, &self.bytes)
            .map_err(|error| CliError::Failed(format!("{}: {error}", self.file)))
    }

    fn yaml(&self) -> Result<String, CliError> {
        Ok(self.value()?.to_yaml_with_units(&PrintOptions::default(), &self.schema, self.id))
    }
}

/// `situ image check`.
pub fn check(context: &Context, arguments: &ImageArgs) -> Result<(), CliError> {
    let image = open(context, &arguments.file, &arguments.of)?;
    let (header, form) = (image.header, image.form());
    let is_newer = image.counted.as_ref().is_some_and(|counted| counted.is_newer);
    let output = &context.output;
    if output.is_json() {
        return Ok(output.record(&serde_json::json!({
            "file": image.file,
            "type": image.type_name(),
            "form": form,
            "bytes": header.size,
            "newer": is_newer,
        }))?);
    }
    output.line(format!("{}: a {form} image of {}, {} bytes", image.file, image.type_name(), header.size))?;
    if is_newer {
        output.line("It has members that this schema does not know. They were not checked.")?;
    }
    Ok(())
}

/// `situ image print`.
pub fn print(context: &Context, arguments: &ImageArgs) -> Result<(), CliError> {
    let image = open(context, &arguments.file, &arguments.of)?;
    let output = &context.output;
    if output.is_json() {
        let message = serde_json::to_value(image.value()?).map_err(CliError::failed)?;
        return Ok(output.record(&serde_json::json!({ "type": image.type_name(), "message": message }))?);
    }
    Ok(output.text(image.yaml()?)?)
}

/// `situ image convert`.
pub fn convert(context: &Context, arguments: &ImageConvertArgs) -> Result<(), CliError> {
    let image = open(context, &arguments.file, &arguments.of)?;
    let encode = |version| {
        dynamic::to_cdr(&image.schema, image.id, &image.value()?, version).map_err(CliError::failed)
    };
    let bytes = match arguments.to {
        ImageEncoding::Cdr => encode(Encoding::Xcdr1)?,
        ImageEncoding::Xcdr2 => encode(Encoding::Xcdr2)?,
        ImageEncoding::Yaml => image.yaml()?.into_bytes(),
        ImageEncoding::Json => (image.value()?.to_json() + "\n").into_bytes(),
    };
    let Some(path) = &arguments.output else {
        let mut output = std::io::stdout().lock();
        output.write_all(&bytes)?;
        return Ok(output.flush()?);
    };
    std::fs::write(path, &bytes)
        .map_err(|error| CliError::Failed(format!("cannot write {}: {error}", path.display())))?;
    let (file, count) = (path.display().to_string(), bytes.len());
    let output = &context.output;
    if output.is_json() {
        return Ok(output.record(&serde_json::json!({ "file": file, "bytes": count }))?);
    }
    Ok(output.line(format!("{file}: {count} bytes"))?)
}
