//! What endpoints say about themselves, and `situ topic info --verbose`.

use serde::Serialize;
use situ::bus::{
    Durability, EndpointInfo, EndpointRole, Graph, GraphTopic, History, Liveliness, NodeInfo, Reliability,
};
use situ::layout::foreign::Foreign;

use super::Context;
use super::topic::encoding_name;
use crate::error::CliError;
use crate::output::{Output, Style, units};

/// An endpoint, as JSON has it.
#[derive(Serialize)]
pub struct EndpointRow {
    role: &'static str,
    name: String,
    node: String,
    node_id: String,
    pid: u32,
    #[serde(rename = "type")]
    type_name: String,
    encoding: &'static str,
    schema_hash: String,
    layout_hash: String,
    reliability: &'static str,
    durability: &'static str,
    /// `None`: all messages.
    depth: Option<usize>,
    deadline_ns: Option<u64>,
    lifespan_ns: Option<u64>,
    liveliness: &'static str,
    lease_ns: Option<u64>,
    domain: String,
    id: String,
    user_data: String,
}

impl EndpointRow {
    pub fn of(node: &NodeInfo, endpoint: &EndpointInfo) -> Self {
        let qos = &endpoint.qos;
        let nanoseconds = |time: std::time::Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Self {
            role: role(endpoint.role),
            name: endpoint.name.clone(),
            node: node.full_name(),
            node_id: node.id.to_string(),
            pid: node.pid,
            type_name: endpoint.type_name.clone(),
            encoding: encoding_name(endpoint.encoding),
            schema_hash: format!("{:016x}", endpoint.schema_hash),
            layout_hash: format!("{:016x}", endpoint.layout_hash),
            reliability: match qos.reliability {
                Reliability::Reliable => "reliable",
                Reliability::BestEffort => "best effort",
            },
            durability: match qos.durability {
                Durability::TransientLocal => "transient local",
                Durability::Volatile => "volatile",
            },
            depth: match qos.history {
                History::KeepLast(number) => Some(number),
                History::KeepAll => None,
            },
            deadline_ns: qos.deadline.map(nanoseconds),
            lifespan_ns: qos.lifespan.map(nanoseconds),
            liveliness: match qos.liveliness {
                Liveliness::ManualByTopic => "manual by topic",
                Liveliness::Automatic => "automatic",
            },
            lease_ns: qos.lease.map(nanoseconds),
            domain: endpoint.domain.to_string(),
            id: endpoint.id.to_string(),
            user_data: hexadecimal(&endpoint.user_data),
        }
    }

    /// The lines of a text.
    fn lines(&self) -> Vec<(&'static str, String)> {
        let time = |time: Option<u64>| time.map_or_else(|| "none".to_owned(), units::duration);
        let keeps = self.depth.map_or_else(|| "all".to_owned(), |depth| depth.to_string());
        let data = if self.user_data.is_empty() { "none" } else { &*self.user_data };
        vec![
            (self.role, Foreign(&self.node).to_string()),
            ("process", self.pid.to_string()),
            ("type", Foreign(&self.type_name).to_string()),
            ("encoding", self.encoding.to_owned()),
            ("schema", self.schema_hash.clone()),
            ("layout", self.layout_hash.clone()),
            ("qos", format!("{}, {}, keeps {keeps}", self.reliability, self.durability)),
            ("deadline", time(self.deadline_ns)),
            ("lifespan", time(self.lifespan_ns)),
            ("liveliness", format!("{}, lease {}", self.liveliness, time(self.lease_ns))),
            ("domain", self.domain.clone()),
            ("id", self.id.clone()),
            ("user data", data.to_owned()),
        ]
    }
}

/// The word for a role.
pub fn role(role: EndpointRole) -> &'static str {
    match role {
        EndpointRole::Publisher => "publisher",
        EndpointRole::Subscriber => "subscriber",
        EndpointRole::Client => "client",
        EndpointRole::Server => "server",
    }
}

/// Bytes as hexadecimal digits.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[derive(Serialize)]
struct Details {
    name: String,
    types: Vec<String>,
    publishers: Vec<EndpointRow>,
    subscribers: Vec<EndpointRow>,
}

/// `situ topic info --verbose`.
pub fn info(context: &Context, name: &str) -> Result<(), CliError> {
    let graph = Graph::read(&context.root).map_err(CliError::failed)?;
    let topics = graph.topics();
    let Some(topic) = topics.iter().find(|topic| topic.name == name) else {
        // It exists without a living endpoint, or the error names those that exist.
        context.topic(name)?;
        let text = format!("the topic `{name}` has no living publisher or subscriber");
        return Err(CliError::NotFound(text));
    };
    let details = details(topic);
    let output = &context.output;
    if output.is_json() { Ok(output.record(&details)?) } else { Ok(output.text(render(&details, output))?) }
}

fn details(topic: &GraphTopic<'_>) -> Details {
    let rows = |endpoints: &[(&NodeInfo, &EndpointInfo)]| {
        endpoints.iter().map(|(node, endpoint)| EndpointRow::of(node, endpoint)).collect()
    };
    Details {
        name: topic.name.to_owned(),
        types: topic.type_names.iter().map(|&name| name.to_owned()).collect(),
        publishers: rows(&topic.publishers),
        subscribers: rows(&topic.subscribers),
    }
}

fn render(details: &Details, output: &Output) -> String {
    let label = |label: &str| output.paint(Style::Dim, format!("{label:<10}"));
    let mut text = format!("{} {}\n", label("topic"), output.paint(Style::Strong, Foreign(&details.name)));
    for name in &details.types {
        text.push_str(&format!("{} {}\n", label("type"), Foreign(name)));
    }
    for (what, rows) in [("publisher", &details.publishers), ("subscriber", &details.subscribers)] {
        text.push_str(&format!("\n{} {what}(s)\n", rows.len()));
        for (index, row) in rows.iter().enumerate() {
            if index > 0 {
                text.push('\n');
            }
            for (name, value) in row.lines() {
                text.push_str(&format!("{} {value}\n", label(name)));
            }
        }
    }
    text
}

#[cfg(test)]
pub mod tests {
    use std::time::Duration;

    use situ::bus::{Encoding, EndpointId, EndpointQos, GraphNode, NodeId};
    use situ::memory::HOST;

    use super::*;

    /// A graph of two nodes with a topic, and a service.
    pub fn graph() -> Graph {
        let endpoint = |node, role, name: &str| EndpointInfo {
            id: EndpointId { node: NodeId(node), number: 0xab },
            role,
            name: name.to_owned(),
            type_name: "demo::Pose".to_owned(),
            schema_hash: 1,
            layout_hash: 2,
            encoding: Encoding::Flat,
            domain: HOST,
            qos: EndpointQos {
                reliability: Reliability::Reliable,
                durability: Durability::Volatile,
                history: History::KeepLast(8),
                deadline: Some(Duration::from_millis(20)),
                lifespan: None,
                liveliness: Liveliness::ManualByTopic,
                lease: Some(Duration::from_millis(30)),
            },
            user_data: vec![0x0a, 0xff],
        };
        let node = |id, namespace: &str, name: &str, endpoints| GraphNode {
            info: NodeInfo {
                id: NodeId(id),
                name: name.to_owned(),
                namespace: namespace.to_owned(),
                user_data: Vec::new(),
                pid: 7,
                program: "x".to_owned(),
                started_ms: 0,
                alive: true,
            },
            endpoints,
        };
        let driver =
            vec![endpoint(1, EndpointRole::Publisher, "pose"), endpoint(1, EndpointRole::Server, "add")];
        let viewer =
            vec![endpoint(2, EndpointRole::Subscriber, "pose"), endpoint(2, EndpointRole::Client, "add")];
        Graph { nodes: vec![node(1, "/robot", "driver", driver), node(2, "/", "view\"er", viewer)] }
    }

    #[test]
    fn every_endpoint_is_shown_with_all_that_it_says() {
        let graph = graph();
        let text = render(&details(&graph.topics()[0]), &Output::plain(100));
        assert_eq!(
            text,
            "topic      pose\n\
             type       demo::Pose\n\
             \n\
             1 publisher(s)\n\
             publisher  /robot/driver\n\
             process    7\n\
             type       demo::Pose\n\
             encoding   flat\n\
             schema     0000000000000001\n\
             layout     0000000000000002\n\
             qos        reliable, volatile, keeps 8\n\
             deadline   20.0 ms\n\
             lifespan   none\n\
             liveliness manual by topic, lease 30.0 ms\n\
             domain     host\n\
             id         0000000000000001-00000000000000ab\n\
             user data  0aff\n\
             \n\
             1 subscriber(s)\n\
             subscriber /view\"er\n\
             process    7\n\
             type       demo::Pose\n\
             encoding   flat\n\
             schema     0000000000000001\n\
             layout     0000000000000002\n\
             qos        reliable, volatile, keeps 8\n\
             deadline   20.0 ms\n\
             lifespan   none\n\
             liveliness manual by topic, lease 30.0 ms\n\
             domain     host\n\
             id         0000000000000002-00000000000000ab\n\
             user data  0aff\n"
        );
    }
}
