//! Reads a trace from a file.

use std::path::Path;

use situ::trace::reader::ReadTrace;

use crate::error::CliError;

/// Reads a file, which must be a trace.
pub fn read(file: &Path) -> Result<ReadTrace, CliError> {
    let bytes = std::fs::read(file).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => CliError::NotFound(format!("there is no file {}", file.display())),
        _ => CliError::Failed(format!("cannot read {}: {error}", file.display())),
    })?;
    let trace = ReadTrace::read(&bytes);
    if trace.packets == 0 || trace.troubles.malformed == trace.packets {
        return Err(CliError::Failed(format!(
            "{} is not a trace; `situ trace record` records one",
            file.display()
        )));
    }
    Ok(trace)
}
