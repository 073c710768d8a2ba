//! `situ graph`.

use std::collections::HashMap;
use std::fmt::Write;

use serde::Serialize;
use situ::bus::{EndpointRole, Graph, GraphNode};
use situ::layout::foreign::Foreign;

use super::Context;
use super::endpoints::{EndpointRow, hexadecimal, role};
use crate::cli::GraphArgs;
use crate::error::CliError;
use crate::output::{Output, Style};

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
    user_data: String,
    endpoints: Vec<EndpointRow>,
}

/// `situ graph`.
pub fn run(context: &Context, arguments: &GraphArgs) -> Result<(), CliError> {
    let graph = Graph::read(&context.root).map_err(CliError::failed)?;
    let output = &context.output;
    if arguments.dot {
        return Ok(output.text(dot(&graph))?);
    }
    if output.is_json() {
        return Ok(output.record(&Listing { nodes: graph.nodes.iter().map(row).collect() })?);
    }
    if graph.nodes.is_empty() {
        return Ok(output.line(format!("No nodes in {}.", context.root.path().display()))?);
    }
    Ok(output.text(render(&graph, output))?)
}

fn row(GraphNode { info, endpoints }: &GraphNode) -> Row {
    Row {
        name: info.name.clone(),
        namespace: info.namespace.clone(),
        full_name: info.full_name(),
        id: info.id.to_string(),
        pid: info.pid,
        user_data: hexadecimal(&info.user_data),
        endpoints: endpoints.iter().map(|endpoint| EndpointRow::of(info, endpoint)).collect(),
    }
}

/// What a node does with a topic or service of this role.
fn verb(role: EndpointRole) -> &'static str {
    match role {
        EndpointRole::Publisher => "publishes",
        EndpointRole::Subscriber => "subscribes",
        EndpointRole::Client => "calls",
        EndpointRole::Server => "serves",
    }
}

fn render(graph: &Graph, output: &Output) -> String {
    let mut text = String::new();
    for (index, node) in graph.nodes.iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        let process = output.paint(Style::Dim, format!("({})", node.info.pid));
        let name = output.paint(Style::Strong, Foreign(&node.info.full_name()));
        text.push_str(&format!("{name} {process}\n"));
        for endpoint in &node.endpoints {
            let verb = output.paint(Style::Dim, format!("{:<11}", verb(endpoint.role)));
            let type_name = output.paint(Style::Dim, Foreign(&endpoint.type_name));
            text.push_str(&format!("  {verb}{}  {type_name}\n", Foreign(&endpoint.name)));
        }
    }
    let (topics, services) = (graph.topics().len(), graph.services().len());
    text.push_str(&format!("\n{} node(s), {topics} topic(s), {services} service(s)\n", graph.nodes.len()));
    text
}

/// A text in quotes, as Graphviz reads it.
fn quoted(text: &str) -> String {
    format!("\"{}\"", Foreign(text).to_string().replace('\\', "\\\\").replace('"', "\\\""))
}

/// The graph in the language of Graphviz. Nodes are named by their ids, because several may have one name.
fn dot(graph: &Graph) -> String {
    let mut text = String::from("digraph situ {\n  rankdir=LR;\n");
    let mut names: HashMap<(bool, &str), String> = HashMap::new();
    for (number, topic) in graph.topics().iter().enumerate() {
        let _ = writeln!(text, "  topic{number} [shape=box, label={}];", quoted(topic.name));
        names.insert((false, topic.name), format!("topic{number}"));
    }
    for (number, service) in graph.services().iter().enumerate() {
        let _ = writeln!(text, "  service{number} [shape=diamond, label={}];", quoted(service.name));
        names.insert((true, service.name), format!("service{number}"));
    }
    for node in &graph.nodes {
        let id = format!("node_{}", node.info.id);
        let _ = writeln!(text, "  {id} [shape=ellipse, label={}];", quoted(&node.info.full_name()));
        let mut edges: Vec<String> = Vec::new();
        for endpoint in &node.endpoints {
            let Some(other) = names.get(&(endpoint.role.is_of_service(), &*endpoint.name)) else { continue };
            let edge = match endpoint.role {
                EndpointRole::Publisher | EndpointRole::Client => format!("{id} -> {other}"),
                EndpointRole::Subscriber | EndpointRole::Server => format!("{other} -> {id}"),
            };
            // Several publishers of a node are one arrow.
            let line = format!("  {edge} [tooltip={}];\n", quoted(role(endpoint.role)));
            if !edges.contains(&line) {
                edges.push(line);
            }
        }
        text.extend(edges);
    }
    text.push_str("}\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::endpoints::tests::graph;

    #[test]
    fn the_graph_lists_what_each_node_does() {
        assert_eq!(
            render(&graph(), &Output::plain(100)),
            "/robot/driver (7)\n\
             \x20 publishes  pose  demo::Pose\n\
             \x20 serves     add  demo::Pose\n\
             \n\
             /view\"er (7)\n\
             \x20 subscribes pose  demo::Pose\n\
             \x20 calls      add  demo::Pose\n\
             \n\
             2 node(s), 1 topic(s), 1 service(s)\n"
        );
    }

    #[test]
    fn graphviz_gets_names_in_quotes_and_an_arrow_for_each_endpoint() {
        assert_eq!(
            dot(&graph()),
            "digraph situ {\n\
             \x20 rankdir=LR;\n\
             \x20 topic0 [shape=box, label=\"pose\"];\n\
             \x20 service0 [shape=diamond, label=\"add\"];\n\
             \x20 node_0000000000000001 [shape=ellipse, label=\"/robot/driver\"];\n\
             \x20 node_0000000000000001 -> topic0 [tooltip=\"publisher\"];\n\
             \x20 service0 -> node_0000000000000001 [tooltip=\"server\"];\n\
             \x20 node_0000000000000002 [shape=ellipse, label=\"/view\\\"er\"];\n\
             \x20 topic0 -> node_0000000000000002 [tooltip=\"subscriber\"];\n\
             \x20 node_0000000000000002 -> service0 [tooltip=\"client\"];\n\
             }\n"
        );
    }
}
