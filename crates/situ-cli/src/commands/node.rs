//! `situ node list` and `situ node info`.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use situ::bus::{EndpointRole, Graph, NodeId, NodeInfo, inspect};
use situ::layout::foreign::Foreign;

use super::Context;
use super::endpoints::hexadecimal;
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
    namespace: String,
    full_name: String,
    id: String,
    pid: u32,
    program: String,
    started_ms: u64,
    alive: bool,
    user_data: String,
    #[serde(flatten)]
    ports: Option<Ports>,
}

/// What a node takes part in.
#[derive(Serialize)]
struct Ports {
    publishes: Vec<Port>,
    subscribes: Vec<Port>,
    serves: Vec<Port>,
    calls: Vec<Port>,
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
        namespace: node.namespace.clone(),
        full_name: node.full_name(),
        id: node.id.to_string(),
        pid: node.pid,
        program: node.program.clone(),
        started_ms: node.started_ms,
        alive: node.alive,
        user_data: hexadecimal(&node.user_data),
        ports: None,
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
            Cell::styled(node.full_name, Style::Strong),
            node.pid.to_string().into(),
            age(node.started_ms).into(),
            node.program.into(),
            if node.alive { Cell::from("") } else { Cell::styled("dead", Style::Warn) },
        ]);
    }
    Ok(output.text(table.render(output))?)
}

/// The topics or services of a node in one role.
fn ports(graph: &Graph, node: NodeId, role: EndpointRole) -> Vec<Port> {
    let endpoints = graph.nodes.iter().filter(|it| it.info.id == node).flat_map(|it| &it.endpoints);
    let mut ports: Vec<Port> = Vec::new();
    for endpoint in endpoints.filter(|endpoint| endpoint.role == role) {
        if ports.last().is_none_or(|last| last.topic != endpoint.name) {
            ports.push(Port { topic: endpoint.name.clone(), type_name: endpoint.type_name.clone() });
        }
    }
    ports
}

/// `situ node info`. Several nodes may have the same name; all of them are shown.
pub fn info(context: &Context, name: &str) -> Result<(), CliError> {
    let nodes = inspect::nodes(&context.root).map_err(CliError::failed)?;
    let graph = Graph::read(&context.root).map_err(CliError::failed)?;
    let is_meant =
        |node: &&NodeInfo| node.full_name() == name || node.name == name || node.id.to_string() == name;
    let matching: Vec<&NodeInfo> = nodes.iter().filter(is_meant).collect();
    if matching.is_empty() {
        let known: Vec<String> = nodes.iter().map(NodeInfo::full_name).collect();
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
            let ports = |role| ports(&graph, node.id, role);
            let ports = Ports {
                publishes: ports(EndpointRole::Publisher),
                subscribes: ports(EndpointRole::Subscriber),
                serves: ports(EndpointRole::Server),
                calls: ports(EndpointRole::Client),
            };
            Row { ports: Some(ports), ..row(node) }
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
            ("node", output.paint(Style::Strong, Foreign(&node.full_name))),
            ("number", node.id.clone()),
            ("process", format!("{}{}", node.pid, if node.alive { "" } else { " (dead)" })),
            ("program", Foreign(&node.program).to_string()),
            ("running", age(node.started_ms)),
            ("user data", if node.user_data.is_empty() { "none".into() } else { node.user_data.clone() }),
        ] {
            output.line(format!("{} {value}", output.paint(Style::Dim, format!("{label:<9}"))))?;
        }
        let Some(ports) = &node.ports else { continue };
        for (label, ports) in [
            ("publishes", &ports.publishes),
            ("subscribes", &ports.subscribes),
            ("serves", &ports.serves),
            ("calls", &ports.calls),
        ] {
            output.line(output.paint(Style::Dim, label))?;
            for port in ports {
                let type_name = output.paint(Style::Dim, Foreign(&port.type_name));
                output.line(format!("  {}  {type_name}", Foreign(&port.topic)))?;
            }
        }
    }
    Ok(())
}
