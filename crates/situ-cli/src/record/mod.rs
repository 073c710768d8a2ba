//! `situ record`, `situ play` and `situ flashback`.
//!
//! ```text
//!   topics      `situ record`: records topics
//!   info        `situ record info` and `check`
//!   edit        `situ record cut`, `merge` and `convert`
//!   play        `situ play`
//!   flashback   `situ flashback`
//!   select      topics by patterns and regular expressions
//! ```

mod edit;
pub mod flashback;
mod info;
pub mod play;
mod select;
mod topics;

pub use select::select;
pub use topics::{Recording, Report};

use std::path::Path;

use situ_record::{ReadError, Reader};

use crate::cli::{FileCommand, RecordCommandArgs};
use crate::commands::Context;
use crate::error::CliError;

/// `situ record`.
pub fn run(context: &Context, arguments: &RecordCommandArgs) -> Result<(), CliError> {
    match &arguments.command {
        None => topics::run(context, &arguments.record),
        Some(FileCommand::Info { file }) => info::info(context, &open(file)?),
        Some(FileCommand::Check { file }) => info::check(context, &open(file)?),
        Some(FileCommand::Cut(arguments)) => edit::cut(context, arguments),
        Some(FileCommand::Merge(arguments)) => edit::merge(context, arguments),
        Some(FileCommand::Convert(arguments)) => edit::convert(context, arguments),
    }
}

/// Opens a file that must exist.
fn open(path: &Path) -> Result<Reader, CliError> {
    Reader::open(path).map_err(|error| match error {
        ReadError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            CliError::NotFound(format!("there is no file {}", path.display()))
        }
        error => CliError::failed(error),
    })
}
