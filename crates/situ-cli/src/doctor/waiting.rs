//! The check for publishers that wait for subscribers that do not take messages.

use std::collections::HashMap;
use std::time::Duration;

use situ::bus::inspect::{self, TopicInfo};
use situ::bus::{NodeId, NodeInfo, Root};

use super::Check;
use crate::commands::topic::waiting_for;

const NAME: &str = "back-pressure";
/// Waits of up to this time are normal back-pressure.
const SHORT: Duration = Duration::from_millis(500);

/// Returns a warning if publishers have no room. Returns `None` if the root cannot be read, because another
/// check reports that.
pub fn check(root: &Root) -> Option<Check> {
    Some(judge(&inspect::nodes(root).ok()?, &inspect::topics(root).ok()?))
}

fn judge(nodes: &[NodeInfo], topics: &[TopicInfo]) -> Check {
    let nodes: HashMap<NodeId, &NodeInfo> = nodes.iter().map(|node| (node.id, node)).collect();
    let name = |id: NodeId| nodes.get(&id).map_or_else(|| id.to_string(), |node| node.name.clone());
    let pid = |id: NodeId| nodes.get(&id).map(|node| node.pid);
    let waits: Vec<String> = topics
        .iter()
        .flat_map(|topic| topic.publishers.iter().map(move |publisher| (topic, publisher)))
        .filter_map(|(topic, publisher)| {
            let waits = publisher.waits.filter(|waits| waits.waited >= SHORT)?;
            let whom = waiting_for(&name(waits.subscriber), pid(waits.subscriber), waits.waited);
            Some(format!("{} on {} {whom}", name(publisher.node), topic.name))
        })
        .collect();
    if waits.is_empty() {
        return Check::ok(NAME, "no publisher waits for a subscriber");
    }
    Check::warn(
        NAME,
        waits.join("; "),
        "These subscribers are reliable, keep all messages, and take none: check their processes (stopped, in a debugger, \
         or busy), or make them keep only the last messages.",
    )
}

#[cfg(test)]
mod tests {
    use situ::bus::inspect::Waits;

    use super::super::Status;
    use super::*;
    use crate::top::snapshot::tests::topic;

    #[test]
    fn a_wait_is_reported_with_publisher_and_subscriber() {
        let node = |id, name: &str, pid| NodeInfo {
            id: NodeId(id),
            name: name.into(),
            pid,
            program: "x".into(),
            started_ms: 0,
            alive: true,
        };
        let nodes = [node(1, "driver", 7), node(2, "viewer", 8)];
        let mut points = topic("points", 10, 0);
        assert_eq!(judge(&nodes, std::slice::from_ref(&points)).status, Status::Ok);
        points.publishers[0].waits = Some(Waits { subscriber: NodeId(2), waited: SHORT / 2 });
        assert_eq!(judge(&nodes, std::slice::from_ref(&points)).status, Status::Ok);
        points.publishers[0].waits = Some(Waits { subscriber: NodeId(2), waited: Duration::from_secs(12) });
        let check = judge(&nodes, &[points]);
        assert_eq!(check.status, Status::Warn);
        assert_eq!(check.found, "driver on points has waited 12.0 s for viewer (8)");
    }
}
