//! The check for publishers that wait for subscribers that do not take messages.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::time::Duration;

use situ::bus::inspect::{self, TopicInfo};
use situ::bus::{NodeId, NodeInfo, Root};

use super::Check;
use crate::commands::topic::{program, waiting_for};

const NAME: &str = "back-pressure";
/// Waits of up to this time are normal back-pressure.
const SHORT: Duration = Duration::from_millis(500);

/// Returns a warning if publishers have no room. Returns `None` if the root cannot be read, because another
/// check reports that.
pub fn check(root: &Root) -> Option<Check> {
    Some(judge(&inspect::nodes(root).ok()?, &inspect::topics(root).ok()?, state_of))
}

/// What keeps a process from running, as far as that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It runs, or may run.
    Runs,
    /// A signal has stopped it.
    Stopped,
    /// A debugger has stopped it.
    Debugged,
}

fn state_of(pid: u32) -> State {
    // The name of the program, which may contain anything, is in parentheses before the state.
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    match stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()) {
        Some('T') => State::Stopped,
        Some('t') => State::Debugged,
        _ => State::Runs,
    }
}

fn judge(nodes: &[NodeInfo], topics: &[TopicInfo], state_of: impl Fn(u32) -> State) -> Check {
    let nodes: HashMap<NodeId, &NodeInfo> = nodes.iter().map(|node| (node.id, node)).collect();
    let name = |id: NodeId| nodes.get(&id).map_or_else(|| id.to_string(), |node| node.name.clone());
    let pid = |id: NodeId| nodes.get(&id).map(|node| node.pid);
    let (mut found, mut advice) = (Vec::new(), BTreeSet::new());
    for (topic, publisher) in topics.iter().flat_map(|it| it.publishers.iter().map(move |of| (it, of))) {
        let Some(waits) = publisher.waits.filter(|waits| waits.waited >= SHORT) else { continue };
        let (whom, process) = (name(waits.subscriber), pid(waits.subscriber));
        let who = program(&name(publisher.node), pid(publisher.node));
        found.push(format!("{who} on {} {}", topic.name, waiting_for(&whom, process, waits.waited)));
        let whom = program(&whom, process);
        advice.insert(match process.map(|pid| (pid, state_of(pid))) {
            Some((pid, State::Stopped)) => format!("{whom} is stopped: `kill -CONT {pid}` continues it."),
            Some((_, State::Debugged)) => {
                format!("{whom} is stopped by a debugger: continue it there, or detach the debugger.")
            }
            _ => format!(
                "{whom} takes no messages fast enough: `situ topic info {}` shows how many it is behind.",
                topic.name
            ),
        });
    }
    if found.is_empty() {
        return Check::ok(NAME, "no publisher waits for a subscriber");
    }
    let advice = advice.into_iter().collect::<Vec<_>>().join(" ");
    let rule = "A publisher waits for no subscriber that is best effort, or keeps only the last messages.";
    Check::warn(NAME, found.join("; "), format!("{advice} {rule}"))
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::Instant;

    use situ::bus::inspect::Waits;

    use super::super::Status;
    use super::*;
    use crate::top::snapshot::tests::topic;

    #[test]
    fn a_wait_is_reported_with_publisher_and_subscriber() {
        let node = |id, name: &str, pid| NodeInfo {
            id: NodeId(id),
            name: name.into(),
            namespace: "/".into(),
            user_data: Vec::new(),
            pid,
            program: "x".into(),
            started_ms: 0,
            alive: true,
        };
        let nodes = [node(1, "driver", 7), node(2, "viewer", 8)];
        let mut points = topic("points", 10, 0);
        let judge = |points: &TopicInfo, state| judge(&nodes, std::slice::from_ref(points), |_| state);
        assert_eq!(judge(&points, State::Stopped).status, Status::Ok);
        points.publishers[0].waits = Some(Waits { subscriber: NodeId(2), waited: SHORT / 2 });
        assert_eq!(judge(&points, State::Stopped).status, Status::Ok);
        points.publishers[0].waits = Some(Waits { subscriber: NodeId(2), waited: Duration::from_secs(12) });
        let check = judge(&points, State::Stopped);
        assert_eq!(check.status, Status::Warn);
        assert_eq!(check.found, "driver (7) on points has waited 12.0 s for viewer (8)");
        let advice = |state| judge(&points, state).advice.unwrap();
        assert!(advice(State::Stopped).starts_with("viewer (8) is stopped: `kill -CONT 8` continues it. "));
        assert!(advice(State::Debugged).starts_with("viewer (8) is stopped by a debugger: "));
        let busy = advice(State::Runs);
        assert!(busy.contains("viewer (8)") && busy.contains("`situ topic info points`"), "{busy}");
        // Several publishers that wait for one subscriber are one advice.
        let second = points.publishers[0].clone();
        points.publishers.push(second);
        let check = judge(&points, State::Stopped);
        assert_eq!(
            (check.found.matches("; ").count(), check.advice.unwrap().matches("CONT").count()),
            (1, 1)
        );
    }

    #[test]
    fn a_process_is_stopped_or_runs() {
        let mut process = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = process.id();
        assert_eq!(state_of(pid), State::Runs);
        let id = rustix::process::Pid::from_child(&process);
        rustix::process::kill_process(id, rustix::process::Signal::STOP).unwrap();
        let begin = Instant::now();
        while state_of(pid) != State::Stopped {
            assert!(begin.elapsed() < Duration::from_secs(20));
            std::thread::yield_now();
        }
        process.kill().unwrap();
        process.wait().unwrap();
        assert_eq!(state_of(pid), State::Runs, "it is gone");
    }
}
