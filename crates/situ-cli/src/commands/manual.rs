//! `situ completions` and `situ man`: what shells and `man` know about the command, made from its options.

use std::io::Write;
use std::path::Path;
use std::{fs, io};

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::error::CliError;

/// `situ completions`.
pub fn completions(shell: Shell) -> Result<(), CliError> {
    // The generator panics if its output is closed, so it writes to memory.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "situ", &mut script);
    Ok(io::stdout().write_all(&script)?)
}

/// `situ man`: `situ.1`, `situ-topic.1`, `situ-topic-echo.1` and so on.
pub fn man(folder: &Path) -> Result<(), CliError> {
    let failed = |error| CliError::Failed(format!("cannot write to {}: {error}", folder.display()));
    fs::create_dir_all(folder).map_err(failed)?;
    clap_mangen::generate_to(Cli::command(), folder).map_err(failed)
}
