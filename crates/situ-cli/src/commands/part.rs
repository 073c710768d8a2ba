//! `situ part`: the processes of this program that the demo and the bench start.

use serde::de::DeserializeOwned;

use super::Context;
use crate::bench;
use crate::cli::PartArgs;
use crate::demo::{device, sensor};
use crate::error::CliError;

/// Runs a part by its name, with its options as JSON.
pub fn run(context: &Context, arguments: &PartArgs) -> Result<(), CliError> {
    let [part, options] = arguments.arguments.as_slice() else {
        return Err(CliError::Usage("a part and its options are needed".into()));
    };
    match part.as_str() {
        "bench" => bench::peer(context, &parse(options)?),
        "filter" => device::run(context, &parse(options)?),
        "sensor" => sensor::run(context, &parse(options)?),
        other => Err(CliError::Usage(format!("there is no part `{other}`"))),
    }
}

fn parse<T: DeserializeOwned>(options: &str) -> Result<T, CliError> {
    serde_json::from_str(options).map_err(|e| CliError::Usage(format!("the options are invalid: {e}")))
}
