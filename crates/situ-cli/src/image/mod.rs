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

use situ_schema::Schema;
use situ_schema::dynamic::{self, Form, PrintOptions, Value};
use situ_schema::model::TypeId;
use situ_wire::Encoding;

use crate::cli::{ImageArgs, ImageConvertArgs, ImageEncoding};
use crate::commands::Context;
use crate::error::CliError;

use open::{Image, TextValue, is_text, open, open_text};

impl Image {
    /// Reads its value. The image was checked before.
    fn value(&self) -> Result<Value, CliError> {
        dynamic::from_region(&self.schema, self.id, &self.bytes)
            .map_err(|error| CliError::Failed(format!("{}: {error}", self.file)))
    }

    /// Its image in another form.
    fn rewritten(&self, form: Form) -> Result<Vec<u8>, CliError> {
        dynamic::rewrite_region(&self.schema, self.id, &self.bytes, form)
            .map_err(|error| CliError::Failed(format!("{}: {error}", self.file)))
    }
}

fn yaml(schema: &Schema, id: TypeId, value: &Value) -> String {
    value.to_yaml_with_units(&PrintOptions::default(), schema, id)
}

/// A value in an encoding.
fn encoded(schema: &Schema, id: TypeId, value: &Value, to: ImageEncoding) -> Result<Vec<u8>, CliError> {
    let encoded = match to {
        ImageEncoding::Canonical => dynamic::to_region(schema, id, value),
        ImageEncoding::Packed => dynamic::to_packed(schema, id, value),
        ImageEncoding::Cdr => dynamic::to_cdr(schema, id, value, Encoding::Xcdr1),
        ImageEncoding::Xcdr2 => dynamic::to_cdr(schema, id, value, Encoding::Xcdr2),
        ImageEncoding::Yaml => Ok(yaml(schema, id, value).into_bytes()),
        ImageEncoding::Json => Ok((value.to_json() + "\n").into_bytes()),
    };
    encoded.map_err(CliError::failed)
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
    Ok(output.text(yaml(&image.schema, image.id, &image.value()?))?)
}

/// `situ image convert`.
pub fn convert(context: &Context, arguments: &ImageConvertArgs) -> Result<(), CliError> {
    let bytes = if is_text(&arguments.file) {
        let TextValue { schema, id, value } = open_text(context, &arguments.file, &arguments.of)?;
        encoded(&schema, id, &value, arguments.to)?
    } else {
        let image = open(context, &arguments.file, &arguments.of)?;
        match arguments.to {
            ImageEncoding::Canonical => image.rewritten(Form::Canonical)?,
            ImageEncoding::Packed => image.rewritten(Form::Packed)?,
            to => encoded(&image.schema, image.id, &image.value()?, to)?,
        }
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
