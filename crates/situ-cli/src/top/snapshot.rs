//! The figures of an interval between two observations, which `situ top` shows as text or JSON.

use std::collections::HashMap;
use std::time::Duration;

use serde::Serialize;
use situ::bus::inspect::TopicInfo;
use situ::bus::{NodeId, NodeInfo};

use crate::commands::topic::{encoding_name, waiting_for};
use crate::demo::latency::percentile;

/// The samples of a topic: the ages of messages when a subscriber would wake up for them, and their sizes.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// The ages in nanoseconds, in no order.
    pub ages_ns: Vec<u64>,
    /// The total size of the sampled messages.
    pub bytes: u64,
    /// The number of sampled messages.
    pub messages: u64,
}

/// One observation of all topics and nodes.
#[derive(Clone, Debug, Default)]
pub struct Look {
    /// Every topic.
    pub topics: Vec<TopicInfo>,
    /// Every node.
    pub nodes: Vec<NodeInfo>,
    /// The samples since the previous observation, by topic.
    pub samples: HashMap<String, Samples>,
}

/// The figures of an interval.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Snapshot {
    /// The length of the interval in seconds.
    pub interval_s: f64,
    /// The number of living nodes.
    pub nodes: usize,
    /// The number of dead nodes whose files still exist.
    pub dead_nodes: usize,
    /// Every topic, by name.
    pub topics: Vec<TopicFigures>,
    /// Every memory domain that a topic uses.
    pub domains: Vec<DomainFigures>,
}

/// The figures of one topic.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TopicFigures {
    pub name: String,
    #[serde(rename = "type")]
    pub type_name: String,
    pub encoding: &'static str,
    /// The number of messages published per second.
    pub rate_hz: f64,
    /// The number of bytes published per second, estimated from the sizes of the sampled messages.
    pub bytes_per_second: f64,
    /// The ages of messages when a subscriber would wake up for them; `None` if none was sampled.
    pub p50_ns: Option<u64>,
    pub p99_ns: Option<u64>,
    /// The number of messages in these percentiles.
    pub samples: usize,
    pub publishers: usize,
    pub subscribers: usize,
    pub published: u64,
    /// The number of messages that its subscribers lost: in total, and per second.
    pub lost: u64,
    pub lost_per_second: f64,
    /// The number of messages by which the slowest subscriber is behind.
    pub behind: u64,
    pub depth: u32,
    /// The memory domains of its publishers and subscribers.
    pub domains: Vec<String>,
    pub memory_bytes: u64,
    /// The publishers and subscribers.
    pub participants: Vec<Participant>,
}

/// A publisher or a subscriber of a topic.
#[derive(Clone, Debug, Serialize)]
pub struct Participant {
    pub role: &'static str,
    pub node: String,
    pub pid: Option<u32>,
    pub alive: bool,
    pub domain: String,
    /// The size of a publisher's memory.
    pub memory_bytes: u64,
    /// The messages that a subscriber took, lost, and has not read yet.
    pub taken: u64,
    pub lost: u64,
    pub behind: u64,
    /// A description of the subscriber that a publisher without room waits for.
    pub waits: Option<String>,
}

/// The figures of one memory domain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DomainFigures {
    pub domain: String,
    pub publishers: usize,
    pub subscribers: usize,
    pub memory_bytes: u64,
    /// The number of messages copied into it, and their bytes.
    pub copies: u64,
    pub bytes_copied: u64,
}

impl Snapshot {
    /// Computes the figures between two observations.
    pub fn between(before: &Look, after: &Look, interval: Duration) -> Self {
        let seconds = interval.as_secs_f64().max(1e-9);
        let nodes: HashMap<NodeId, &NodeInfo> = after.nodes.iter().map(|node| (node.id, node)).collect();
        let old: HashMap<&str, &TopicInfo> = before.topics.iter().map(|t| (t.name.as_str(), t)).collect();
        let topics = after.topics.iter().map(|topic| {
            let samples = after.samples.get(&topic.name).cloned().unwrap_or_default();
            figures(topic, old.get(topic.name.as_str()).copied(), samples, seconds, &nodes)
        });
        Self {
            interval_s: seconds,
            nodes: after.nodes.iter().filter(|node| node.alive).count(),
            dead_nodes: after.nodes.iter().filter(|node| !node.alive).count(),
            topics: topics.collect(),
            domains: domains(&after.topics),
        }
    }
}

fn figures(
    topic: &TopicInfo,
    before: Option<&TopicInfo>,
    mut samples: Samples,
    seconds: f64,
    nodes: &HashMap<NodeId, &NodeInfo>,
) -> TopicFigures {
    samples.ages_ns.sort_unstable();
    let lost = |topic: &TopicInfo| topic.subscribers.iter().map(|s| s.lost).sum::<u64>();
    // A decreased counter was recreated in between. It then counts from zero.
    let grown = |now: u64, then: u64| now.checked_sub(then).unwrap_or(now) as f64 / seconds;
    // If the previous observation did not contain a topic, its messages so far do not count as published in
    // between.
    let rate_hz = before.map_or(0.0, |before| grown(topic.published, before.published));
    let size = if samples.messages == 0 { 0.0 } else { samples.bytes as f64 / samples.messages as f64 };
    let name = |id: NodeId| nodes.get(&id).map_or_else(|| id.to_string(), |node| node.name.clone());
    let pid = |id: NodeId| nodes.get(&id).map(|node| node.pid);
    let left = topic.publishers.iter().filter(|p| !p.alive).count();
    let publishers = topic.publishers.iter().filter(|p| p.alive).map(|p| Participant {
        role: "publisher",
        node: name(p.node),
        pid: pid(p.node),
        alive: p.alive,
        domain: p.domain.to_string(),
        memory_bytes: p.memory_bytes,
        taken: 0,
        lost: 0,
        behind: 0,
        waits: p.waits.map(|waits| waiting_for(&name(waits.subscriber), pid(waits.subscriber), waits.waited)),
    });
    // Publishers that have left share one row, so their published messages stay counted.
    let left = (left > 0).then(|| Participant {
        role: "publisher",
        node: format!("{left} that left"),
        pid: None,
        alive: false,
        domain: String::new(),
        memory_bytes: topic.publishers.iter().filter(|p| !p.alive).map(|p| p.memory_bytes).sum(),
        taken: 0,
        lost: 0,
        behind: 0,
        waits: None,
    });
    let subscribers = topic.subscribers.iter().map(|s| Participant {
        role: "subscriber",
        node: name(s.node),
        pid: pid(s.node),
        alive: s.alive,
        domain: s.domain.to_string(),
        memory_bytes: 0,
        taken: s.taken,
        lost: s.lost,
        behind: s.behind,
        waits: None,
    });
    let participants: Vec<Participant> = publishers.chain(left).chain(subscribers).collect();
    let used = participants.iter().filter(|it| !it.domain.is_empty());
    let mut domains: Vec<String> = used.map(|it| it.domain.clone()).collect();
    domains.sort();
    domains.dedup();
    TopicFigures {
        name: topic.name.clone(),
        type_name: topic.description.name.clone(),
        encoding: encoding_name(topic.description.encoding),
        rate_hz,
        bytes_per_second: rate_hz * size,
        p50_ns: (!samples.ages_ns.is_empty()).then(|| percentile(&samples.ages_ns, 50.0)),
        p99_ns: (!samples.ages_ns.is_empty()).then(|| percentile(&samples.ages_ns, 99.0)),
        samples: samples.ages_ns.len(),
        publishers: topic.publishers.iter().filter(|p| p.alive).count(),
        subscribers: topic.subscribers.iter().filter(|s| s.alive).count(),
        published: topic.published,
        lost: lost(topic),
        lost_per_second: before.map_or(0.0, |before| grown(lost(topic), lost(before))),
        behind: topic.subscribers.iter().filter(|s| s.alive).map(|s| s.behind).max().unwrap_or(0),
        depth: topic.depth,
        domains,
        memory_bytes: topic.publishers.iter().map(|p| p.memory_bytes).sum(),
        participants,
    }
}

fn domains(topics: &[TopicInfo]) -> Vec<DomainFigures> {
    let mut found: Vec<DomainFigures> = Vec::new();
    let mut entry = |domain: String, count: &dyn Fn(&mut DomainFigures)| {
        let at = found.iter().position(|known| known.domain == domain).unwrap_or_else(|| {
            found.push(DomainFigures { domain, ..DomainFigures::default() });
            found.len() - 1
        });
        count(&mut found[at]);
    };
    for topic in topics {
        for publisher in &topic.publishers {
            entry(publisher.domain.to_string(), &|figures| {
                figures.publishers += 1;
                figures.memory_bytes += publisher.memory_bytes;
            });
        }
        for usage in topic.domains.iter().filter(|usage| usage.copies > 0) {
            entry(usage.domain.to_string(), &|figures| {
                figures.copies += usage.copies;
                figures.bytes_copied += usage.bytes;
            });
        }
        for subscriber in &topic.subscribers {
            entry(subscriber.domain.to_string(), &|figures| figures.subscribers += 1);
        }
    }
    found.sort_by(|a, b| a.domain.cmp(&b.domain));
    found
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use situ::bus::inspect::{PublisherInfo, SubscriberInfo, Waits};
    use situ::bus::{Durability, Encoding, EndpointId, Liveliness, TypeDescription};

    /// A topic with one publisher of 1 MiB and one subscriber, both of node 1.
    pub fn topic(name: &str, published: u64, lost: u64) -> TopicInfo {
        TopicInfo {
            name: name.into(),
            description: TypeDescription {
                name: "demo::Pose".into(),
                schema: String::new(),
                schema_hash: 1,
                layout_hash: 2,
                encoding: Encoding::Flat,
                fixed_size: 0,
                user_header_size: 0,
            },
            depth: 1024,
            published,
            publishers: vec![PublisherInfo {
                id: EndpointId { node: NodeId(1), number: 2 },
                node: NodeId(1),
                alive: true,
                reliable: true,
                durability: Durability::Volatile,
                deadline: None,
                liveliness: Liveliness::Automatic,
                lease: None,
                depth: 8,
                encoding: Some(Encoding::Flat),
                domain: situ::memory::HOST,
                held_slots: 0,
                slots: 8,
                memory_bytes: 1 << 20,
                waits: None,
            }],
            domains: Vec::new(),
            subscribers: vec![SubscriberInfo {
                id: EndpointId { node: NodeId(1), number: 3 },
                node: NodeId(1),
                alive: true,
                reliable: false,
                backpressure: false,
                durability: Durability::Volatile,
                deadline: None,
                liveliness: Liveliness::Automatic,
                lease: None,
                keep_last: None,
                taken: 5,
                lost,
                behind: 3,
                domain: situ::memory::HOST,
                held: 0,
            }],
        }
    }

    #[test]
    fn waits_and_publishers_that_left_are_listed() {
        let mut topic = topic("a", 10, 0);
        let waits = Waits { subscriber: NodeId(1), waited: Duration::from_secs(12) };
        topic.publishers[0].waits = Some(waits);
        for _ in 0..15 {
            let gone = PublisherInfo { alive: false, waits: None, ..topic.publishers[0].clone() };
            topic.publishers.push(gone);
        }
        let look = Look { topics: vec![topic], nodes: vec![node()], ..Look::default() };
        let snapshot = Snapshot::between(&look, &look, Duration::from_secs(1));
        let participants = &snapshot.topics[0].participants;
        assert_eq!(participants.len(), 3, "15 that left are one line");
        assert_eq!(participants[0].waits.as_deref(), Some("has waited 12.0 s for lidar (7)"));
        let left = &participants[1];
        assert_eq!((left.node.as_str(), left.alive, left.memory_bytes), ("15 that left", false, 15 << 20));
    }

    fn node() -> NodeInfo {
        NodeInfo {
            id: NodeId(1),
            namespace: "/".into(),
            user_data: Vec::new(),
            name: "lidar".into(),
            pid: 7,
            program: "x".into(),
            started_ms: 0,
            alive: true,
        }
    }

    #[test]
    fn rates_count_the_messages_of_the_interval() {
        let samples = Samples { ages_ns: vec![30, 10, 20], bytes: 300, messages: 3 };
        let before = Look { topics: vec![topic("a", 100, 2)], nodes: vec![node()], ..Look::default() };
        let after = Look {
            topics: vec![topic("a", 150, 6), topic("new", 70, 0)],
            nodes: vec![node()],
            samples: [("a".to_owned(), samples)].into(),
        };
        let snapshot = Snapshot::between(&before, &after, Duration::from_millis(500));
        let a = &snapshot.topics[0];
        assert_eq!((a.rate_hz, a.lost, a.lost_per_second, a.behind), (100.0, 6, 8.0, 3));
        assert_eq!(a.bytes_per_second, 10_000.0, "100 bytes each, 100 a second");
        assert_eq!((a.p50_ns, a.p99_ns, a.samples), (Some(20), Some(30), 3));
        assert_eq!(a.domains, ["host"]);
        assert_eq!((a.participants[0].node.as_str(), a.participants[0].pid), ("lidar", Some(7)));
        let new = &snapshot.topics[1];
        assert_eq!((new.rate_hz, new.p50_ns), (0.0, None), "there is no earlier observation");
        let host = DomainFigures {
            domain: "host".into(),
            publishers: 2,
            subscribers: 2,
            memory_bytes: 2 << 20,
            ..DomainFigures::default()
        };
        assert_eq!(snapshot.domains, [host]);
    }

    #[test]
    fn a_topic_that_was_made_anew_counts_from_its_beginning() {
        let before = Look { topics: vec![topic("a", 1000, 0)], ..Look::default() };
        let after = Look { topics: vec![topic("a", 10, 0)], ..Look::default() };
        let snapshot = Snapshot::between(&before, &after, Duration::from_secs(1));
        assert_eq!(snapshot.topics[0].rate_hz, 10.0);
        assert_eq!(snapshot.topics[0].participants[0].node, NodeId(1).to_string(), "its node is not known");
    }
}
