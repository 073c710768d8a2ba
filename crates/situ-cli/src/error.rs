//! The errors of commands, and their exit codes.

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use situ::layout::foreign::ForeignLines;

use crate::output::fit_for_json;

/// The reason that a command fails.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The operation failed.
    #[error("{0}")]
    Failed(String),
    /// Definitions are invalid.
    #[error("{0}")]
    Schema(#[from] Box<situ_schema::SchemaError>),
    /// A check found a problem, which is already printed.
    #[error("a check failed")]
    CheckFailed,
    /// A server refused the request.
    #[error("service `{service}` refused the request ({code}): {text}")]
    Refused {
        /// The service.
        service: String,
        /// The server's number for the reason.
        code: u64,
        /// The server's text.
        text: String,
    },
    /// The command line is invalid.
    #[error("{0}")]
    Usage(String),
    /// The object named on the command line does not exist.
    #[error("{0}")]
    NotFound(String),
    /// The time limit has passed.
    #[error("{0}")]
    TimedOut(String),
    /// Ctrl-C, or a request to terminate, came before the command was done.
    #[error("interrupted")]
    Interrupted,
    /// The output cannot be written.
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
}

impl CliError {
    /// Wraps an error with a complete message.
    pub fn failed(error: impl std::fmt::Display) -> Self {
        CliError::Failed(error.to_string())
    }

    /// The documented exit code.
    pub fn code(&self) -> u8 {
        match self {
            CliError::Failed(_) | CliError::Schema(_) | CliError::CheckFailed | CliError::Output(_) => 1,
            CliError::Refused { .. } => 1,
            CliError::Usage(_) => 2,
            CliError::NotFound(_) => 3,
            CliError::TimedOut(_) => 4,
            CliError::Interrupted => 130,
        }
    }

    /// Prints the error on standard error and returns its exit code. A reader that has closed the pipe (`situ
    /// ... | head`) is not an error.
    pub fn report(&self, json: bool) -> ExitCode {
        match self {
            CliError::Output(e) if e.kind() == io::ErrorKind::BrokenPipe => return ExitCode::SUCCESS,
            CliError::CheckFailed | CliError::Interrupted => {}
            CliError::Schema(errors) if json => {
                let diagnostics = errors.diagnostics().iter().map(|d| {
                    let (file, line, column) = errors.position(d).unwrap_or_default();
                    serde_json::json!({ "file": file, "line": line, "column": column, "message": d.message, "help": d.help })
                });
                let report = serde_json::json!({ "error": self.to_string(), "code": self.code(), "diagnostics": diagnostics.collect::<Vec<_>>() });
                eprintln!("{}", fit_for_json(&report.to_string()));
            }
            // The text shows parts of files, with escapes for characters that control the terminal.
            CliError::Schema(errors) => eprint!("{}", errors.render(io::stderr().is_terminal())),
            CliError::Refused { code, text, .. } if json => {
                let refusal = serde_json::json!({ "code": code, "text": text });
                let report =
                    serde_json::json!({ "error": self.to_string(), "code": self.code(), "refusal": refusal });
                eprintln!("{}", fit_for_json(&report.to_string()));
            }
            _ if json => {
                let report = serde_json::json!({ "error": self.to_string(), "code": self.code() });
                eprintln!("{}", fit_for_json(&report.to_string()));
            }
            _ => complain(self),
        }
        ExitCode::from(self.code())
    }
}

/// Prints an error on standard error. Its text may contain names of other processes.
pub fn complain(error: &impl std::fmt::Display) {
    eprintln!("situ: {}", ForeignLines(&error.to_string()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_the_help() {
        let text = |s: &str| s.to_owned();
        let errors = [
            (CliError::Failed(text("x")), 1),
            (CliError::CheckFailed, 1),
            (CliError::Usage(text("x")), 2),
            (CliError::NotFound(text("x")), 3),
            (CliError::TimedOut(text("x")), 4),
            (CliError::Interrupted, 130),
        ];
        for (error, code) in errors {
            assert_eq!(error.code(), code);
        }
    }
}
