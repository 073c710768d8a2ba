//! `situ record cut`, `merge` and `convert`.

use std::path::Path;

use serde::Serialize;
use situ::layout::foreign::Foreign;
use situ_record::{EditOptions, Edited, Reader, Selection, edit};

use super::open;
use super::select::{select, writer};
use super::topics::FileRow;
use crate::cli::{ConvertArgs, CutArgs, FileArgs, MergeArgs, RangeArgs};
use crate::commands::{Context, Interrupt};
use crate::error::{CliError, complain};
use crate::output::units::bytes;
use crate::output::{LiveBlock, Style};

/// The first log time, and the first that is too late.
pub fn times(range: &RangeArgs, start: u64) -> (Option<u64>, Option<u64>) {
    let at =
        |time: std::time::Duration| start.saturating_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    (range.start.map(at), range.end.map(at))
}

/// `situ record cut`.
pub fn cut(context: &Context, arguments: &CutArgs) -> Result<(), CliError> {
    let reader = open(&arguments.file)?;
    let times = times(&arguments.range, reader.statistics().start_time);
    let selection = select(&arguments.topics, None, &arguments.exclude)?;
    write(context, &[reader], (&arguments.output, &arguments.how), times, selection)
}

/// `situ record merge`.
pub fn merge(context: &Context, arguments: &MergeArgs) -> Result<(), CliError> {
    let readers = arguments.files.iter().map(|file| open(file)).collect::<Result<Vec<_>, _>>()?;
    write(context, &readers, (&arguments.output, &arguments.how), (None, None), Selection::all())
}

/// `situ record convert`.
pub fn convert(context: &Context, arguments: &ConvertArgs) -> Result<(), CliError> {
    let readers = [open(&arguments.file)?];
    write(context, &readers, (&arguments.output, &arguments.how), (None, None), Selection::all())
}

fn write(
    context: &Context,
    readers: &[Reader],
    (path, how): (&Path, &FileArgs),
    (from, until): (Option<u64>, Option<u64>),
    selection: Selection,
) -> Result<(), CliError> {
    let interrupt = Interrupt::listen()?;
    let start = readers.iter().map(|reader| reader.statistics().start_time).min().unwrap_or(0);
    let end = readers.iter().map(|reader| reader.statistics().end_time).max().unwrap_or(0);
    let options = EditOptions { output: path.to_owned(), writer: writer(how), from, until, selection };
    let (output, mut block) = (&context.output, LiveBlock::default());
    let mut percent = u64::MAX;
    let mut progress = |time: u64| {
        let done =
            100 * u128::from(time.saturating_sub(start)) / u128::from(end.saturating_sub(start).max(1));
        if output.is_live() && done as u64 != percent {
            percent = done as u64;
            // A terminal that is gone ends the command elsewhere.
            let _ = output.draw(&mut block, &format!("{percent} %\n"));
        }
        !interrupt.is_set()
    };
    let edited = edit(readers, options, &mut progress).map_err(CliError::failed)?;
    if output.is_live() {
        output.draw(&mut block, "")?;
    }
    show(context, &edited)
}

#[derive(Serialize)]
struct Report<'a> {
    files: Vec<FileRow>,
    problems: &'a [String],
}

/// Shows what was written.
pub fn show(context: &Context, edited: &Edited) -> Result<(), CliError> {
    let output = &context.output;
    edited.problems.iter().for_each(complain);
    if output.is_json() {
        output.record(&Report { files: FileRow::of(&edited.written), problems: &edited.problems })?;
    } else {
        for file in &edited.written.files {
            let name = output.paint(Style::Strong, Foreign(&file.path.display().to_string()));
            output.line(format!("{name}: {} messages, {}", file.statistics.messages, bytes(file.bytes)))?;
        }
    }
    match &edited.written.error {
        Some(error) => Err(CliError::failed(error)),
        None if edited.is_stopped => Err(CliError::Interrupted),
        None => Ok(()),
    }
}
