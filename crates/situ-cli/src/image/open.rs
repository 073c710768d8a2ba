//! Reads a file with an image, finds its type, and checks it.

use std::io::Read;
use std::path::Path;

use situ_schema::Schema;
use situ_schema::dynamic::{RegionBytes, RegionHeader, Value, check_region, from_region, from_text};
use situ_schema::model::TypeId;

use crate::cli::{ImageTypeArgs, SourceArgs};
use crate::commands::{Context, schema};
use crate::error::CliError;

/// The largest image.
const MAX_BYTES: u64 = i32::MAX as u64;

/// An image that was checked.
pub struct Image {
    pub file: String,
    pub bytes: Vec<u8>,
    pub schema: Schema,
    pub id: TypeId,
    pub header: RegionHeader,
    /// Where its bytes go; `None` of a packed image, which has no bytes to spare.
    pub counted: Option<RegionBytes>,
}

impl Image {
    /// The name of its form.
    pub fn form(&self) -> &'static str {
        form(self.header)
    }

    /// The name of its type.
    pub fn type_name(&self) -> String {
        self.schema.name(self.id).to_string()
    }
}

/// The name of the form of an image.
pub fn form(header: RegionHeader) -> &'static str {
    match (header.is_packed, header.is_canonical) {
        (true, _) => "packed",
        (false, true) => "canonical",
        (false, false) => "live",
    }
}

/// Reads the bytes of an image, and its header.
pub fn read(file: &Path) -> Result<(Vec<u8>, RegionHeader), CliError> {
    let bytes = read_bytes(file)?;
    let header =
        RegionHeader::of(&bytes).map_err(|error| CliError::Failed(format!("{}: {error}", file.display())))?;
    Ok((bytes, header))
}

fn read_bytes(file: &Path) -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(file);
    opened.and_then(|opened| opened.take(MAX_BYTES + 1).read_to_end(&mut bytes)).map_err(
        |error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                CliError::NotFound(format!("there is no file {}", file.display()))
            }
            _ => CliError::Failed(format!("cannot read {}: {error}", file.display())),
        },
    )?;
    Ok(bytes)
}

/// The schema that the command line gives.
fn schema_of(context: &Context, of: &ImageTypeArgs) -> Result<Schema, CliError> {
    match &of.topic {
        Some(name) => Ok(Schema::from_idl(&context.topic(name)?.description.schema)?),
        None if of.schema.is_empty() => Err(CliError::Usage(
            "the image names its type only by hashes: name the file that defines it with --schema, or a topic with --topic"
                .into(),
        )),
        None => schema::load(&SourceArgs {
            files: of.schema.clone(),
            ros: Vec::new(),
            include: of.include.clone(),
        }),
    }
}

/// Whether the name of a file says that it holds text.
pub fn is_text(file: &Path) -> bool {
    let extension = file.extension().and_then(|it| it.to_str());
    extension.is_some_and(|it| ["yaml", "yml", "json"].contains(&it.to_ascii_lowercase().as_str()))
}

/// A value that was read from text.
pub struct TextValue {
    pub schema: Schema,
    pub id: TypeId,
    pub value: Value,
}

/// Reads a value of a type that the command line gives, as YAML or JSON.
pub fn open_text(context: &Context, file: &Path, of: &ImageTypeArgs) -> Result<TextValue, CliError> {
    let schema = schema_of(context, of)?;
    let Some(wanted) = &of.type_name else {
        return Err(CliError::Usage("text does not say its type: name it with --type".into()));
    };
    let id = schema::find(&schema, wanted)?;
    let bytes = read_bytes(file)?;
    let failed = |error: &dyn std::fmt::Display| CliError::Failed(format!("{}: {error}", file.display()));
    let text = String::from_utf8(bytes).map_err(|error| failed(&error.utf8_error()))?;
    let value = from_text(&schema, id, &text).map_err(|error| failed(&error))?;
    Ok(TextValue { schema, id, value })
}

/// Reads an image of a type that the command line gives, and checks it.
pub fn open(context: &Context, file: &Path, of: &ImageTypeArgs) -> Result<Image, CliError> {
    let (bytes, header) = read(file)?;
    let schema = schema_of(context, of)?;
    let name = file.display().to_string();
    let (id, checked) = match &of.type_name {
        Some(wanted) => {
            let id = schema::find(&schema, wanted)?;
            (id, check(&schema, id, header, &bytes))
        }
        None => find(&schema, header, &bytes)
            .ok_or_else(|| CliError::NotFound(format!("{name}: {}", unknown(&schema, header))))?,
    };
    let counted = checked.map_err(|error| CliError::Failed(format!("{name}: {error}")))?;
    Ok(Image { file: name, bytes, schema, id, header, counted })
}

/// Checks an image. Of one that is not packed, says where its bytes go.
fn check(
    schema: &Schema,
    id: TypeId,
    header: RegionHeader,
    bytes: &[u8],
) -> Result<Option<RegionBytes>, String> {
    if header.is_packed {
        return from_region(schema, id, bytes).map(|_| None).map_err(|error| error.to_string());
    }
    check_region(schema, id, bytes).map(Some).map_err(|error| error.to_string())
}

type Found = (TypeId, Result<Option<RegionBytes>, String>);

/// Finds the type of an image: the one with its schema hash. Types that can be appended to have none, so the
/// image itself decides.
fn find(schema: &Schema, header: RegionHeader, bytes: &[u8]) -> Option<Found> {
    let with_region = || schema.definitions().map(|(id, _)| id).filter(|id| schema.has_region(*id));
    if header.schema_hash != 0 {
        let id = with_region().find(|id| schema.schema_hash(*id) == header.schema_hash)?;
        return Some((id, check(schema, id, header, bytes)));
    }
    let mut fitting = with_region().map(|id| (id, check(schema, id, header, bytes)));
    fitting.find(|(_, checked)| checked.is_ok())
}

fn unknown(schema: &Schema, header: RegionHeader) -> String {
    let names = schema.definitions().filter(|(id, _)| schema.has_region(*id));
    let names: Vec<String> = names.map(|(id, _)| schema.name(id).to_string()).take(20).collect();
    let what = match header.schema_hash {
        0 => "the image is of a type that can be appended to; name it with --type".to_owned(),
        hash => format!("the image is of a type with the schema hash {hash:016x}, and none of these has it"),
    };
    format!("{what}: {}", names.join(", "))
}
