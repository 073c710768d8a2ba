//! `situ image stat`: where the bytes of an image go.

use serde::Serialize;
use situ_schema::dynamic::{MemberBytes, RegionHeader};

use super::open::{form, open, read};
use crate::cli::ImageArgs;
use crate::commands::Context;
use crate::error::CliError;
use crate::output::table::{Column, Table};
use crate::output::units::bytes;

#[derive(Serialize)]
struct Report {
    file: String,
    #[serde(rename = "type")]
    type_name: Option<String>,
    form: &'static str,
    schema_hash: String,
    layout_hash: String,
    bytes: u64,
    parts: Vec<Part>,
}

/// Bytes of one kind. All parts together are the image.
#[derive(Serialize)]
struct Part {
    part: String,
    kind: &'static str,
    blocks: u64,
    data: u64,
    room: u64,
    rounding: u64,
}

impl Part {
    fn of(part: &str, kind: &'static str, data: u64) -> Self {
        Self { part: part.to_owned(), kind, blocks: 0, data, room: 0, rounding: 0 }
    }

    fn total(&self) -> u64 {
        self.data + self.room + self.rounding
    }
}

impl From<MemberBytes> for Part {
    fn from(it: MemberBytes) -> Self {
        let MemberBytes { path, kind, blocks, used, room, rounding } = it;
        Self { part: path, kind, blocks, data: used, room, rounding }
    }
}

/// `situ image stat`.
pub fn stat(context: &Context, arguments: &ImageArgs) -> Result<(), CliError> {
    let file = arguments.file.display().to_string();
    let (header, type_name, parts) = if arguments.of.schema.is_empty() && arguments.of.topic.is_none() {
        (read(&arguments.file)?.1, None, Vec::new())
    } else {
        let image = open(context, &arguments.file, &arguments.of)?;
        let Some(counted) = image.counted.clone() else {
            // All bytes of a packed image are data.
            return show(context, file, image.header, Some(image.type_name()), Vec::new());
        };
        let mut parts = vec![Part::of("(header)", "header", 64), Part::of("(root)", "root", counted.root)];
        if counted.versions > 0 {
            parts.push(Part::of("(versions)", "table of versions", counted.versions));
        }
        let mut members: Vec<Part> = counted.members.into_iter().map(Part::from).collect();
        members.sort_by_key(|part| std::cmp::Reverse(part.total()));
        parts.extend(members);
        if counted.free > 0 {
            parts.push(Part::of("(free)", if counted.is_newer { "free or unknown" } else { "free" }, 0));
            if let Some(free) = parts.last_mut() {
                free.room = counted.free;
            }
        }
        (counted.header, Some(image.type_name()), parts)
    };
    show(context, file, header, type_name, parts)
}

fn show(
    context: &Context,
    file: String,
    header: RegionHeader,
    type_name: Option<String>,
    parts: Vec<Part>,
) -> Result<(), CliError> {
    let output = &context.output;
    let report = Report {
        file,
        type_name,
        form: form(header),
        schema_hash: format!("{:016x}", header.schema_hash),
        layout_hash: format!("{:016x}", header.layout_hash),
        bytes: u64::from(header.size),
        parts,
    };
    if output.is_json() {
        return Ok(output.record(&report)?);
    }
    let of = report.type_name.as_deref().map(|name| format!(" of {name}")).unwrap_or_default();
    let Report { file, form, schema_hash, layout_hash, .. } = &report;
    output.line(format!(
        "{file}: a {form} image{of}, {}, schema hash {schema_hash}, layout hash {layout_hash}",
        bytes(report.bytes)
    ))?;
    if report.parts.is_empty() {
        return Ok(());
    }
    let mut table = Table::new([
        Column::left("PART").flexible(),
        Column::left("KIND").rank(3),
        Column::right("BLOCKS").rank(2),
        Column::right("BYTES"),
        Column::right("%"),
        Column::right("DATA").rank(1),
        Column::right("ROOM"),
        Column::right("ROUNDING").rank(4),
    ]);
    for part in &report.parts {
        let share = 100.0 * part.total() as f64 / report.bytes as f64;
        table.row([
            part.part.as_str().into(),
            part.kind.into(),
            part.blocks.to_string().into(),
            part.total().to_string().into(),
            format!("{share:.1}").into(),
            part.data.to_string().into(),
            part.room.to_string().into(),
            part.rounding.to_string().into(),
        ]);
    }
    Ok(output.text(table.render(output))?)
}
