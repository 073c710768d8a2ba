//! `situ node list` and `situ node info`.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use situ::bus::NodeInfo;
use situ::bus::inspect;
use situ::layout::foreign::Foreign;

use super::Context;
use crate::error::CliError;
use crate::output::table::{Cell, Column, Table};
use crate::output::{Style, units};

#[derive(Serialize)]
struct Listing {
    nodes: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    name: String,
    id: String,
    pid: u32,
    program: String,
    started_ms: u64,
    alive: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    publishes: Option<Vec<Port>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subscribes: Option<Vec<Port>>,
}

#[derive(Serialize)]
struct Port {
    topic: String,
    #[serde(rename = "type")]
    type_name: String,
}

fn row(node: &NodeInfo) -> Row {
    Row {
        name: node.name.clone(),
        id: node.id.to_string(),
        pid: node.pid,
        program: node.program.clone(),
        started_ms: node.started_ms,
        alive: node.alive,
        publishes: None,
        subscribes: None,
    }
}

/// The time for which a node has been running.
fn age(started_ms: u64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64);
    units::duration(now.saturating_sub(started_ms).saturating_mul(1_000_000))
}

/// `situ node list`.
pub fn list(context: &Context) -> Result<(), CliError> {
    let found = inspect::nodes(&context.root).map_err(CliError::failed)?;
    let nodes: Vec<Row> = found.iter().map(row).collect();
    let output = &context.output;
    if output.is_json() {
        return Ok(output.record(&Listing { nodes })?);
    }
    if nodes.is_empty() {
        return Ok(output.line(format!("No nodes in {}.", context.root.path().display()))?);
    }
    let mut table = Table::new([
        Column::left("NODE").flexible(),
        Column::right("PID"),
        Column::right("RUNNING"),
        Column::left("PROGRAM").flexible(),
        Column::left(""),
    ]);
    for node in nodes {
        table.row([
            Cell::styled(node.name, Style::Strong),
            node.pid.to_string().into(),
            age(node.started_ms).into(),
            node.program.into(),
            if node.alive { Cell::from("") } else { Cell::styled("dead", Style::Warn) },
        ]);
    }
    Ok(output.text(table.render(output))?)
}

/// `situ node info`. Several nodes may have the same name; all of them are shown.
pub fn info(context: &Context, name: &str) -> Result<(), CliError> {
    let nodes = inspect::nodes(&context.root).map_err(CliError::failed)?;
    let topics = inspect::topics(&context.root).map_err(CliError::failed)?;
    let matching: Vec<&NodeInfo> =
        nodes.iter().filter(|n| n.name == name || n.id.to_string() == name).collect();
    if matching.is_empty() {
        let known: Vec<&str> = nodes.iter().map(|n| n.name.as_str()).collect();
        let there = if known.is_empty() {
            "no node is running".into()
        } else {
            format!("there are: {}", known.join(", "))
        };
        return Err(CliError::NotFound(format!(
            "there is no node `{name}` in {}; {there}",
            context.root.path().display()
        )));
    }
    let rows: Vec<Row> = matching
        .iter()
        .map(|node| {
            let port = |t: &inspect::TopicInfo| Port {
                topic: t.name.clone(),
                type_name: t.description.name.clone(),
            };
            let publishing = topics.iter().filter(|t| t.publishers.iter().any(|p| p.node == node.id));
            let subscribing = topics.iter().filter(|t| t.subscribers.iter().any(|s| s.node == node.id));
            Row {
                publishes: Some(publishing.map(port).collect()),
                subscribes: Some(subscribing.map(port).collect()),
                ..row(node)
            }
        })
        .collect();
    let output = &context.output;
    if output.is_json() {
        return Ok(output.record(&Listing { nodes: rows })?);
    }
    for (index, node) in rows.iter().enumerate() {
        if index > 0 {
            output.line("")?;
        }
        for (label, value) in [
            ("node", output.paint(Style::Strong, &node.name)),
            ("number", node.id.clone()),
            ("process", format!("{}{}", node.pid, if node.alive { "" } else { " (dead)" })),
            ("program", Foreign(&node.program).to_string()),
            ("running", age(node.started_ms)),
        ] {
            output.line(format!("{} {value}", output.paint(Style::Dim, format!("{label:<9}"))))?;
        }
        for (label, ports) in [("publishes", &node.publishes), ("subscribes", &node.subscribes)] {
            output.line(output.paint(Style::Dim, label))?;
            for port in ports.iter().flatten() {
                output.line(format!(
                    "  {}  {}",
                    Foreign(&port.topic),
                    output.paint(Style::Dim, &port.type_name)
                ))?;
            }
        }
    }
    Ok(())
}
