//! Which topics and services cross, in which direction, how often and how urgently.

use std::fmt;
use std::time::Duration;

pub use zenoh::qos::Priority;

/// Which way messages cross.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Direction {
    /// From this machine to others.
    Out,
    /// From others to this machine.
    In,
    /// Both.
    #[default]
    Both,
    /// Not at all.
    Neither,
}

impl Direction {
    /// Whether messages leave this machine.
    pub fn leaves(self) -> bool {
        matches!(self, Self::Out | Self::Both)
    }

    /// Whether messages come to this machine.
    pub fn arrives(self) -> bool {
        matches!(self, Self::In | Self::Both)
    }
}

/// How a topic crosses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crossing {
    /// Which way.
    pub direction: Direction,
    /// The shortest time between two messages of one publisher that leave. Messages in between are not sent.
    pub interval: Option<Duration>,
    /// The priority with which messages leave. Without one, that of data.
    pub priority: Option<Priority>,
    /// Whether messages are sent at once, without waiting for others that could be sent with them. Without
    /// it, small messages are.
    pub express: Option<bool>,
}

impl Default for Crossing {
    fn default() -> Self {
        Self { direction: Direction::Both, interval: None, priority: None, express: None }
    }
}

/// Whether a rule is about a topic or service, by its name without a `/` in front.
pub type Matcher = Box<dyn Fn(&str) -> bool + Send + Sync>;

/// A part of the rules: for some topics, how they cross.
pub struct Rule {
    /// Which topics and services it is about.
    pub matches: Matcher,
    /// Which way; not changed if `None`.
    pub direction: Option<Direction>,
    /// See [`Crossing::interval`].
    pub interval: Option<Duration>,
    /// See [`Crossing::priority`].
    pub priority: Option<Priority>,
    /// See [`Crossing::express`].
    pub express: Option<bool>,
}

impl Rule {
    /// A rule about topics, that says nothing yet.
    pub fn about(matches: Matcher) -> Self {
        Self { matches, direction: None, interval: None, priority: None, express: None }
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rule").field("direction", &self.direction).finish_non_exhaustive()
    }
}

/// The rules. Later ones win over earlier ones, each in what it says.
#[derive(Debug)]
pub struct Rules {
    /// How topics cross about which no rule says anything.
    pub otherwise: Direction,
    /// The rules.
    pub rules: Vec<Rule>,
}

impl Default for Rules {
    fn default() -> Self {
        Self { otherwise: Direction::Both, rules: Vec::new() }
    }
}

impl Rules {
    /// How a topic or service crosses.
    pub fn of(&self, name: &str) -> Crossing {
        let name = name.strip_prefix('/').unwrap_or(name);
        let mut crossing = Crossing { direction: self.otherwise, ..Crossing::default() };
        for rule in self.rules.iter().filter(|rule| (rule.matches)(name)) {
            crossing.direction = rule.direction.unwrap_or(crossing.direction);
            crossing.interval = rule.interval.or(crossing.interval);
            crossing.priority = rule.priority.or(crossing.priority);
            crossing.express = rule.express.or(crossing.express);
        }
        crossing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_rules_win_in_what_they_say() {
        let starts = |text: &'static str| -> Matcher { Box::new(move |name| name.starts_with(text)) };
        let rules = Rules {
            otherwise: Direction::Neither,
            rules: vec![
                Rule { direction: Some(Direction::Out), ..Rule::about(starts("camera")) },
                Rule { interval: Some(Duration::from_millis(100)), ..Rule::about(starts("camera/raw")) },
                Rule { direction: Some(Direction::Neither), ..Rule::about(starts("camera/secret")) },
            ],
        };
        assert_eq!(rules.of("lidar").direction, Direction::Neither);
        assert_eq!(rules.of("/camera/a"), Crossing { direction: Direction::Out, ..Crossing::default() });
        let raw = rules.of("camera/raw");
        assert_eq!((raw.direction, raw.interval), (Direction::Out, Some(Duration::from_millis(100))));
        assert_eq!(rules.of("camera/secret").direction, Direction::Neither);
        assert!(Rules::default().of("x").direction.leaves() && Rules::default().of("x").direction.arrives());
    }
}
