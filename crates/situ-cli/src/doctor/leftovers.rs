//! The check for files of dead processes.

use situ::bus::inspect::{self, TopicInfo};
use situ::bus::{NodeInfo, Root};

use super::Check;
use crate::commands::clean::abandoned_topics;
use crate::output::units;

const NAME: &str = "leftovers";

/// Finds dead nodes and topics without participants.
pub fn check(root: &Root) -> Check {
    match (inspect::nodes(root), inspect::topics(root)) {
        (Ok(nodes), Ok(topics)) => judge(&nodes, &topics),
        (Err(error), _) | (_, Err(error)) => Check::fail(
            NAME,
            format!("{} cannot be read: {error}", root.path().display()),
            "Check its owner, or set SITU_ROOT to another directory.",
        ),
    }
}

fn judge(nodes: &[NodeInfo], topics: &[TopicInfo]) -> Check {
    let dead: Vec<&str> = nodes.iter().filter(|n| !n.alive).map(|n| n.name.as_str()).collect();
    let abandoned = abandoned_topics(topics);
    if dead.is_empty() && abandoned.is_empty() {
        return Check::ok(
            NAME,
            format!("none ({} node(s) and {} topic(s) in use)", nodes.len(), topics.len()),
        );
    }
    let memory: u64 = topics
        .iter()
        .filter(|t| abandoned.contains(&t.name))
        .flat_map(|t| &t.publishers)
        .map(|p| p.memory_bytes)
        .sum();
    Check::warn(
        NAME,
        format!(
            "{} dead node(s), {} abandoned topic(s), {}",
            dead.len(),
            abandoned.len(),
            units::bytes(memory)
        ),
        "The next node that starts removes them; `situ clean` removes them now.",
    )
}

#[cfg(test)]
mod tests {
    use super::super::Status;
    use super::*;
    use situ::bus::NodeId;

    fn node(alive: bool) -> NodeInfo {
        NodeInfo {
            id: NodeId(1),
            namespace: "/".into(),
            user_data: Vec::new(),
            name: "lidar".into(),
            pid: 1,
            program: "x".into(),
            started_ms: 0,
            alive,
        }
    }

    #[test]
    fn dead_nodes_are_reported() {
        assert_eq!(judge(&[node(true)], &[]).status, Status::Ok);
        let check = judge(&[node(true), node(false)], &[]);
        assert_eq!(check.status, Status::Warn);
        assert!(check.found.starts_with("1 dead node(s), 0 abandoned"), "{}", check.found);
    }
}
