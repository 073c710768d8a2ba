//! Checks of the existing topics: invalid or full ones, waiting publishers, and held memory.

use situ::bus::Root;
use situ::bus::inspect::{self, Surveyed, TopicInfo};
use situ::memory::MemoryError;

use super::Check;

/// The number of subscribers and of publishers that a topic has room for (`spec/topic.md`, *Numbers*).
const PLACES: usize = 4096;
const PUBLISHERS: usize = 8191;
/// The share of the places, in percent, from which the check warns.
const NEARLY_ALL: usize = 90;

/// Checks every topic. Returns one line if there is no problem.
pub fn checks(root: &Root) -> Vec<Check> {
    let topics = match inspect::survey(root) {
        Ok(topics) => topics,
        // The check of the root directory reports this.
        Err(_) => return Vec::new(),
    };
    judge(&topics)
}

fn judge(topics: &[Surveyed]) -> Vec<Check> {
    let mut checks: Vec<Check> =
        topics.iter().filter_map(|(name, topic)| Some(unreadable(name, topic.as_ref().err()?))).collect();
    for topic in topics.iter().filter_map(|(_, topic)| topic.as_ref().ok()) {
        checks.extend(room("subscribers", topic, alive_subscribers(topic), PLACES));
        checks.extend(room("publishers", topic, alive_publishers(topic), PUBLISHERS));
        checks.extend(held(topic));
    }
    if checks.is_empty() {
        checks.push(Check::ok("topics", format!("{} can be read, none is blocked or full", topics.len())));
    }
    checks
}

fn unreadable(name: &str, error: &MemoryError) -> Check {
    Check::fail(
        "topics",
        format!("{name:?} cannot be used: {error}"),
        "Programs that publish or subscribe to it fail. End them, then run `situ clean`; programs with different versions of Situ \
         need different roots (SITU_ROOT).",
    )
}

fn alive_subscribers(topic: &TopicInfo) -> usize {
    topic.subscribers.iter().filter(|subscriber| subscriber.alive).count()
}

fn alive_publishers(topic: &TopicInfo) -> usize {
    topic.publishers.iter().filter(|publisher| publisher.alive).count()
}

fn room(of: &'static str, topic: &TopicInfo, used: usize, places: usize) -> Option<Check> {
    let found = format!("{:?} has {used} of at most {places} {of}", topic.name);
    let advice = format!(
        "`situ topic info {}` lists them. Make a program with many of them share one, or use several topics.",
        topic.name
    );
    match used * 100 / places {
        100.. => Some(Check::fail("room in topics", found, advice)),
        NEARLY_ALL.. => Some(Check::warn("room in topics", found, advice)),
        _ => None,
    }
}

/// Returns a warning for a publisher whose memory subscribers hold. Its next loan fails or waits.
fn held(topic: &TopicInfo) -> Option<Check> {
    let publisher = topic.publishers.iter().find(|publisher| {
        publisher.alive && publisher.slots > 0 && publisher.held_slots * 100 / publisher.slots >= NEARLY_ALL
    })?;
    Some(Check::warn(
        "held memory",
        format!(
            "subscribers of {:?} hold {} of the {} slots of a publisher",
            topic.name, publisher.held_slots, publisher.slots
        ),
        format!(
            "`situ topic info {}` shows which subscribers take least. A subscriber should copy data that it keeps for long, or \
             be limited by `max_held`.",
            topic.name
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::super::Status;
    use super::*;
    use crate::top::snapshot::tests::topic;

    fn judged(topic: TopicInfo) -> Vec<Check> {
        judge(&[(topic.name.clone(), Ok(topic))])
    }

    #[test]
    fn topics_without_problems_are_one_line() {
        let checks = judged(topic("points", 3, 0));
        assert_eq!(checks, [Check::ok("topics", "1 can be read, none is blocked or full")]);
    }

    #[test]
    fn a_topic_that_cannot_be_read_fails() {
        let error = MemoryError::Malformed { path: "topics/a/topic".into(), reason: "too short".into() };
        let checks = judge(&[("a".into(), Err(error))]);
        assert_eq!(checks.len(), 1);
        assert_eq!(checks[0].status, Status::Fail);
        assert!(checks[0].found.contains("too short"), "{}", checks[0].found);
    }

    #[test]
    fn full_topics_and_held_memory_are_reported() {
        let mut full = topic("points", 3, 0);
        let subscriber = full.subscribers[0].clone();
        full.subscribers.resize(PLACES - 1, subscriber.clone());
        assert_eq!(judged(full.clone())[0].status, Status::Warn);
        full.subscribers.push(subscriber);
        assert_eq!(judged(full)[0].status, Status::Fail);

        let mut held = topic("points", 3, 0);
        held.publishers[0].held_slots = held.publishers[0].slots;
        assert!(judged(held)[0].found.contains("hold 8 of the 8 slots"));
    }
}
