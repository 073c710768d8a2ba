//! `situ clean`: removes the files of dead processes.

use serde::Serialize;
use situ::bus::{self, inspect};
use situ::layout::foreign::Foreign;

use super::{Context, blackboard};
use crate::cli::CleanArgs;
use crate::error::CliError;

#[derive(Serialize)]
struct Report {
    dry_run: bool,
    nodes: Vec<String>,
    topics: Vec<String>,
    blackboards: Vec<String>,
}

/// Topics without participants.
pub fn abandoned_topics(topics: &[inspect::TopicInfo]) -> Vec<String> {
    let abandoned = |t: &&inspect::TopicInfo| {
        !t.publishers.iter().any(|p| p.alive) && !t.subscribers.iter().any(|s| s.alive)
    };
    topics.iter().filter(abandoned).map(|t| t.name.clone()).collect()
}

/// `situ clean`.
pub fn run(context: &Context, arguments: &CleanArgs) -> Result<(), CliError> {
    let report = if arguments.dry_run {
        let nodes = inspect::nodes(&context.root).map_err(CliError::failed)?;
        let topics = inspect::topics(&context.root).map_err(CliError::failed)?;
        Report {
            dry_run: true,
            nodes: nodes.into_iter().filter(|n| !n.alive).map(|n| n.name).collect(),
            topics: abandoned_topics(&topics),
            blackboards: blackboard::abandoned(context)?,
        }
    } else {
        situ::trace::clean(&context.root).map_err(CliError::failed)?;
        let mut cleaned = bus::clean(&context.root).map_err(CliError::failed)?;
        cleaned.topics.extend(bus::clean_topics(&context.root).map_err(CliError::failed)?);
        let blackboards = bus::clean_blackboards(&context.root).map_err(CliError::failed)?;
        Report { dry_run: false, nodes: cleaned.nodes, topics: cleaned.topics, blackboards }
    };
    let output = &context.output;
    if output.is_json() {
        return Ok(output.record(&report)?);
    }
    if report.nodes.is_empty() && report.topics.is_empty() && report.blackboards.is_empty() {
        return Ok(output.line("There is nothing to remove.")?);
    }
    let verb = if report.dry_run { "would remove" } else { "removed" };
    for node in &report.nodes {
        output.line(format!("{verb} node {}", Foreign(node)))?;
    }
    for topic in &report.topics {
        output.line(format!("{verb} topic {}", Foreign(topic)))?;
    }
    for blackboard in &report.blackboards {
        output.line(format!("{verb} blackboard {}", Foreign(blackboard)))?;
    }
    Ok(())
}
