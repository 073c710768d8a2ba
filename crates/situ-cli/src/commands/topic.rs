//! `situ topic list` and `situ topic info`.

use std::collections::HashMap;
use std::time::Duration;

use serde::Serialize;
use situ::bus::inspect::{self, PublisherInfo, SubscriberInfo, TopicInfo};
use situ::bus::{Durability, Encoding, NodeId, NodeInfo, QosPolicy};
use situ::layout::foreign::Foreign;

use super::Context;
use crate::error::CliError;
use crate::output::table::{Cell, Column, Table};
use crate::output::{Output, Style, units};

#[derive(Serialize)]
struct Listing {
    topics: Vec<Summary>,
}

#[derive(Serialize)]
struct Summary {
    name: String,
    #[serde(rename = "type")]
    type_name: String,
    encoding: &'static str,
    publishers: usize,
    subscribers: usize,
    published: u64,
    memory_bytes: u64,
}

/// `situ topic list`.
pub fn list(context: &Context) -> Result<(), CliError> {
    let found = inspect::topics(&context.root).map_err(CliError::failed)?;
    let topics: Vec<Summary> = found.iter().map(summary).collect();
    let output = &context.output;
    if output.is_json() {
        return Ok(output.record(&Listing { topics })?);
    }
    if topics.is_empty() {
        return Ok(output.line(format!("No topics in {}.", context.root.path().display()))?);
    }
    let mut table = Table::new([
        Column::left("TOPIC").flexible(),
        Column::left("TYPE").flexible().rank(1),
        Column::left("ENCODING").rank(4),
        Column::right("PUB"),
        Column::right("SUB"),
        Column::right("MESSAGES").rank(2),
        Column::right("MEMORY").rank(3),
    ]);
    for topic in topics {
        table.row([
            Cell::styled(topic.name, Style::Strong),
            topic.type_name.into(),
            topic.encoding.into(),
            topic.publishers.to_string().into(),
            topic.subscribers.to_string().into(),
            topic.published.to_string().into(),
            units::bytes(topic.memory_bytes).into(),
        ]);
    }
    Ok(output.text(table.render(output))?)
}

fn summary(topic: &TopicInfo) -> Summary {
    Summary {
        name: topic.name.clone(),
        type_name: topic.description.name.clone(),
        encoding: encoding_name(topic.description.encoding),
        publishers: topic.publishers.iter().filter(|p| p.alive).count(),
        subscribers: topic.subscribers.iter().filter(|s| s.alive).count(),
        published: topic.published,
        memory_bytes: topic.publishers.iter().map(|p| p.memory_bytes).sum(),
    }
}

/// The word for an encoding, in tables and in JSON.
pub fn encoding_name(encoding: Encoding) -> &'static str {
    match encoding {
        Encoding::Flat => "flat",
        Encoding::Xcdr1 => "xcdr1",
        Encoding::Xcdr2 => "xcdr2",
        Encoding::Region => "region",
    }
}

#[derive(Serialize)]
struct Details {
    name: String,
    #[serde(rename = "type")]
    type_name: String,
    encoding: &'static str,
    schema_hash: String,
    layout_hash: String,
    depth: u32,
    published: u64,
    publishers: Vec<PublisherRow>,
    /// Publishers that have left, with messages that still exist.
    gone: Gone,
    subscribers: Vec<SubscriberRow>,
    /// The pairs that exchange no messages, because of their quality of service.
    incompatible: Vec<PairRow>,
    domains: Vec<DomainRow>,
}

/// A publisher and a subscriber that do not match.
#[derive(Serialize)]
struct PairRow {
    publisher: String,
    publisher_pid: Option<u32>,
    subscriber: String,
    subscriber_pid: Option<u32>,
    policies: Vec<&'static str>,
}

/// All publishers that have left, together: a list with an entry for each restart would be too long.
#[derive(Serialize)]
struct Gone {
    publishers: usize,
    held_slots: usize,
    memory_bytes: u64,
}

impl Gone {
    fn of(topic: &TopicInfo) -> Self {
        let gone = || topic.publishers.iter().filter(|publisher| !publisher.alive);
        Self {
            publishers: gone().count(),
            held_slots: gone().map(|publisher| publisher.held_slots).sum(),
            memory_bytes: gone().map(|publisher| publisher.memory_bytes).sum(),
        }
    }
}

/// The subscriber that a publisher waits for.
#[derive(Serialize)]
struct WaitRow {
    node: String,
    pid: Option<u32>,
    waited_ms: u64,
}

#[derive(Serialize)]
struct DomainRow {
    domain: String,
    copies: u64,
    bytes_copied: u64,
}

#[derive(Serialize)]
struct PublisherRow {
    node: String,
    pid: Option<u32>,
    alive: bool,
    reliability: &'static str,
    durability: &'static str,
    depth: u64,
    encoding: Option<&'static str>,
    domain: String,
    held_slots: usize,
    slots: usize,
    memory_bytes: u64,
    waits_for: Option<WaitRow>,
}

#[derive(Serialize)]
struct SubscriberRow {
    node: String,
    pid: Option<u32>,
    alive: bool,
    reliability: &'static str,
    durability: &'static str,
    keep_last: Option<u64>,
    domain: String,
    taken: u64,
    lost: u64,
    behind: u64,
    held: usize,
}

/// `situ topic info`.
pub fn info(context: &Context, name: &str) -> Result<(), CliError> {
    let topic = context.topic(name)?;
    let details = details(&topic, inspect::nodes(&context.root).map_err(CliError::failed)?);
    let output = &context.output;
    if output.is_json() { Ok(output.record(&details)?) } else { Ok(output.text(render(&details, output))?) }
}

fn details(topic: &TopicInfo, nodes: Vec<NodeInfo>) -> Details {
    let nodes: HashMap<NodeId, NodeInfo> = nodes.into_iter().map(|n| (n.id, n)).collect();
    let description = &topic.description;
    Details {
        name: topic.name.clone(),
        type_name: description.name.clone(),
        encoding: encoding_name(description.encoding),
        schema_hash: format!("{:016x}", description.schema_hash),
        layout_hash: format!("{:016x}", description.layout_hash),
        depth: topic.depth,
        published: topic.published,
        publishers: topic.publishers.iter().filter(|p| p.alive).map(|p| publisher(p, &nodes)).collect(),
        gone: Gone::of(topic),
        subscribers: topic.subscribers.iter().map(|s| subscriber(s, &nodes)).collect(),
        incompatible: incompatible(topic, &nodes),
        domains: topic
            .domains
            .iter()
            .map(|d| DomainRow { domain: d.domain.to_string(), copies: d.copies, bytes_copied: d.bytes })
            .collect(),
    }
}

/// The present publishers and subscribers that do not match.
fn incompatible(topic: &TopicInfo, nodes: &HashMap<NodeId, NodeInfo>) -> Vec<PairRow> {
    let subscribers = || topic.subscribers.iter().filter(|subscriber| subscriber.alive);
    let pairs = topic.publishers.iter().filter(|publisher| publisher.alive).flat_map(|publisher| {
        subscribers().map(move |subscriber| (publisher, subscriber, publisher.mismatch(subscriber)))
    });
    pairs
        .filter(|(.., mismatch)| !mismatch.is_empty())
        .map(|(publisher, subscriber, mismatch)| {
            let (publisher, publisher_pid) = named(publisher.node, nodes);
            let (subscriber, subscriber_pid) = named(subscriber.node, nodes);
            let policies = mismatch.iter().map(QosPolicy::name).collect();
            PairRow { publisher, publisher_pid, subscriber, subscriber_pid, policies }
        })
        .collect()
}

/// A node's name, or its number if its file is gone.
fn named(id: NodeId, nodes: &HashMap<NodeId, NodeInfo>) -> (String, Option<u32>) {
    nodes.get(&id).map_or_else(|| (id.to_string(), None), |n| (n.name.clone(), Some(n.pid)))
}

fn reliability(reliable: bool) -> &'static str {
    if reliable { "reliable" } else { "best effort" }
}

fn durability(durability: Durability) -> &'static str {
    match durability {
        Durability::Volatile => "volatile",
        Durability::TransientLocal => "transient local",
    }
}

fn publisher(info: &PublisherInfo, nodes: &HashMap<NodeId, NodeInfo>) -> PublisherRow {
    let (node, pid) = named(info.node, nodes);
    PublisherRow {
        node,
        pid,
        alive: info.alive,
        reliability: reliability(info.reliable),
        durability: durability(info.durability),
        depth: info.depth,
        encoding: info.encoding.map(encoding_name),
        domain: info.domain.to_string(),
        held_slots: info.held_slots,
        slots: info.slots,
        memory_bytes: info.memory_bytes,
        waits_for: info.waits.map(|waits| {
            let (node, pid) = named(waits.subscriber, nodes);
            let waited_ms = u64::try_from(waits.waited.as_millis()).unwrap_or(u64::MAX);
            WaitRow { node, pid, waited_ms }
        }),
    }
}

/// A text about the subscriber that a blocked publisher waits for.
pub fn waiting_for(node: &str, pid: Option<u32>, waited: Duration) -> String {
    format!("has waited {} for {}", time(waited), program(node, pid))
}

fn time(waited: Duration) -> String {
    units::duration(u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX))
}

/// A node and its process.
pub fn program(node: &str, pid: Option<u32>) -> String {
    format!("{node} ({})", process(pid))
}

fn subscriber(info: &SubscriberInfo, nodes: &HashMap<NodeId, NodeInfo>) -> SubscriberRow {
    let (node, pid) = named(info.node, nodes);
    SubscriberRow {
        node,
        pid,
        alive: info.alive,
        reliability: reliability(info.reliable),
        durability: durability(info.durability),
        keep_last: info.keep_last,
        domain: info.domain.to_string(),
        taken: info.taken,
        lost: info.lost,
        behind: info.behind,
        held: info.held,
    }
}

fn state(alive: bool) -> Cell {
    if alive { Cell::from("alive") } else { Cell::styled("gone", Style::Warn) }
}

fn process(pid: Option<u32>) -> String {
    pid.map_or_else(|| "-".into(), |p| p.to_string())
}

fn render(details: &Details, output: &Output) -> String {
    let mut text = String::new();
    for (name, value) in [
        ("topic", output.paint(Style::Strong, &details.name)),
        ("type", Foreign(&details.type_name).to_string()),
        ("encoding", details.encoding.to_owned()),
        ("schema", details.schema_hash.clone()),
        ("layout", details.layout_hash.clone()),
        ("rows", details.depth.to_string()),
        ("messages", details.published.to_string()),
    ] {
        text.push_str(&format!("{} {value}\n", output.paint(Style::Dim, format!("{name:<9}"))));
    }
    text.push_str(&format!("\n{} publisher(s)\n", details.publishers.len()));
    if !details.publishers.is_empty() {
        let mut table = Table::new([
            Column::left("NODE").flexible(),
            Column::right("PID").rank(1),
            Column::left("RELIABILITY").rank(3),
            Column::left("DURABILITY").rank(4),
            Column::right("KEEPS").rank(5),
            Column::left("DOMAIN").rank(6),
            Column::right("HELD").rank(2),
            Column::right("MEMORY").rank(1),
            Column::left("WAITS FOR"),
        ]);
        for p in &details.publishers {
            table.row([
                Cell::styled(p.node.as_str(), Style::Strong),
                process(p.pid).into(),
                p.reliability.into(),
                p.durability.into(),
                p.depth.to_string().into(),
                p.domain.as_str().into(),
                format!("{}/{}", p.held_slots, p.slots).into(),
                units::bytes(p.memory_bytes).into(),
                p.waits_for.as_ref().map_or_else(
                    || Cell::from("-"),
                    |waits| {
                        let waited = time(Duration::from_millis(waits.waited_ms));
                        let text = format!("{}, {waited} so far", program(&waits.node, waits.pid));
                        Cell::styled(text, Style::Warn)
                    },
                ),
            ]);
        }
        text.push_str(&table.render(output));
    }
    if details.gone.publishers > 0 {
        let (number, memory) = (details.gone.publishers, units::bytes(details.gone.memory_bytes));
        text.push_str(&format!("{number} more have left; their last messages are kept ({memory})\n"));
    }
    text.push_str(&format!("\n{} subscriber(s)\n", details.subscribers.len()));
    if !details.subscribers.is_empty() {
        let mut table = Table::new([
            Column::left("NODE").flexible(),
            Column::right("PID").rank(2),
            Column::left("RELIABILITY").rank(3),
            Column::left("DURABILITY").rank(4),
            Column::right("KEEPS").rank(5),
            Column::left("DOMAIN").rank(6),
            Column::right("TAKEN").rank(1),
            Column::right("LOST"),
            Column::right("BEHIND"),
            Column::right("HELD").rank(7),
            Column::left("STATE"),
        ]);
        for s in &details.subscribers {
            table.row([
                Cell::styled(s.node.as_str(), Style::Strong),
                process(s.pid).into(),
                s.reliability.into(),
                s.durability.into(),
                s.keep_last.map_or_else(|| "all".into(), |k| k.to_string()).into(),
                s.domain.as_str().into(),
                s.taken.to_string().into(),
                Cell::styled(s.lost.to_string(), if s.lost > 0 { Style::Warn } else { Style::Plain }),
                s.behind.to_string().into(),
                s.held.to_string().into(),
                state(s.alive),
            ]);
        }
        text.push_str(&table.render(output));
    }
    if !details.incompatible.is_empty() {
        text.push_str(&format!("\n{} pair(s) that do not match\n", details.incompatible.len()));
        let mut table = Table::new([
            Column::left("PUBLISHER").flexible(),
            Column::left("SUBSCRIBER").flexible(),
            Column::left("POLICIES"),
        ]);
        for pair in &details.incompatible {
            table.row([
                program(&pair.publisher, pair.publisher_pid).into(),
                program(&pair.subscriber, pair.subscriber_pid).into(),
                Cell::styled(pair.policies.join(", "), Style::Warn),
            ]);
        }
        text.push_str(&table.render(output));
    }
    // A topic that was used on the host only has no further domain to show.
    if details.domains.len() > 1 {
        text.push_str(&format!("\n{} memory domain(s)\n", details.domains.len()));
        let mut table = Table::new([
            Column::left("DOMAIN"),
            Column::right("COPIED INTO IT"),
            Column::right("BYTES"),
            Column::right("COPIES A MESSAGE"),
        ]);
        for d in &details.domains {
            let share = d.copies as f64 / details.published.max(1) as f64;
            table.row([
                Cell::styled(d.domain.as_str(), Style::Strong),
                d.copies.to_string().into(),
                units::bytes(d.bytes_copied).into(),
                format!("{share:.2}").into(),
            ]);
        }
        text.push_str(&table.render(output));
    }
    text
}

#[cfg(test)]
mod tests {
    use situ::bus::inspect::Waits;

    use super::*;
    use crate::top::snapshot::tests::topic;

    const TABLES: &str = "\
topic     points
type      demo::Pose
encoding  flat
schema    0000000000000001
layout    0000000000000002
rows      1024
messages  10

2 publisher(s)
NODE    PID  RELIABILITY  DURABILITY  KEEPS  DOMAIN  HELD    MEMORY  WAITS FOR
driver    7  reliable     volatile        8  host     0/8  1.00 MiB  viewer (812), 12.3 s so far
viewer  812  reliable     volatile        8  host     0/8  1.00 MiB  -
1 more have left; their last messages are kept (1.00 MiB)

2 subscriber(s)
NODE              PID  RELIABILITY  DURABILITY  KEEPS  DOMAIN  TAKEN  LOST  BEHIND  HELD  STATE
viewer            812  best effort  volatile      all  host        5     4       3     0  alive
0000000000000009    -  best effort  volatile      all  host        5     4       3     0  gone
";

    fn node(id: u64, name: &str, pid: u32) -> NodeInfo {
        NodeInfo {
            id: NodeId(id),
            name: name.into(),
            namespace: "/".into(),
            user_data: Vec::new(),
            pid,
            program: "x".into(),
            started_ms: 0,
            alive: true,
        }
    }

    #[test]
    fn every_column_has_a_name() {
        let mut topic = topic("points", 10, 4);
        topic.subscribers.push(SubscriberInfo {
            alive: false,
            node: NodeId(9),
            ..topic.subscribers[0].clone()
        });
        topic.subscribers[0].node = NodeId(2);
        let publisher = topic.publishers[0].clone();
        topic.publishers.push(PublisherInfo { node: NodeId(2), ..publisher.clone() });
        topic.publishers.push(PublisherInfo { alive: false, ..publisher });
        topic.publishers[0].waits =
            Some(Waits { subscriber: NodeId(2), waited: Duration::from_millis(12_345) });
        let nodes = || vec![node(1, "driver", 7), node(2, "viewer", 812)];
        assert_eq!(render(&details(&topic, nodes()), &Output::plain(120)), TABLES);
        // A narrow terminal still shows which subscriber the publisher waits for.
        let narrow = render(&details(&topic, nodes()), &Output::plain(38));
        assert!(narrow.contains("driver  viewer (812), 12.3 s so far\n"), "{narrow}");
    }

    #[test]
    fn pairs_that_do_not_match_are_shown() {
        let mut topic = topic("points", 10, 4);
        topic.publishers[0].reliable = false;
        topic.subscribers[0].reliable = true;
        topic.subscribers[0].durability = Durability::TransientLocal;
        topic.subscribers[0].node = NodeId(2);
        let nodes = vec![node(1, "driver", 7), node(2, "viewer", 812)];
        let text = render(&details(&topic, nodes), &Output::plain(120));
        let expected = "
1 pair(s) that do not match
PUBLISHER   SUBSCRIBER    POLICIES
driver (7)  viewer (812)  reliability, durability
";
        assert!(text.ends_with(expected), "{text}");
    }
}
