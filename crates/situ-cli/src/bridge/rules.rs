//! What shall cross, from the command line and a file.

use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use situ_bridge::{Direction, Matcher, Priority, Rule, Rules};

use crate::cli::BridgeArgs;
use crate::commands::pattern::matches;
use crate::error::CliError;

/// The names of priorities, the most urgent first.
const PRIORITIES: [(&str, Priority); 7] = [
    ("real_time", Priority::RealTime),
    ("interactive_high", Priority::InteractiveHigh),
    ("interactive_low", Priority::InteractiveLow),
    ("data_high", Priority::DataHigh),
    ("data", Priority::Data),
    ("data_low", Priority::DataLow),
    ("background", Priority::Background),
];
/// The rates that make sense, in hertz.
const RATES: RangeInclusive<f64> = 1e-6..=1e6;

/// A file of rules.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    default: Option<String>,
    #[serde(default)]
    rule: Vec<FileRule>,
}

/// A rule of a file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileRule {
    topics: Vec<String>,
    direction: Option<String>,
    max_rate: Option<f64>,
    priority: Option<String>,
    express: Option<bool>,
}

fn matcher(patterns: Vec<String>) -> Matcher {
    let bare: Vec<String> =
        patterns.iter().map(|text| text.strip_prefix('/').unwrap_or(text).to_owned()).collect();
    Box::new(move |name| bare.iter().any(|pattern| matches(pattern, name)))
}

fn direction(text: &str) -> Result<Direction, String> {
    Ok(match text {
        "both" => Direction::Both,
        "out" => Direction::Out,
        "in" => Direction::In,
        "neither" => Direction::Neither,
        _ => return Err(format!("expected the direction both, out, in or neither, not {text:?}")),
    })
}

fn priority(text: &str) -> Result<Priority, String> {
    let found = PRIORITIES.iter().find(|(name, _)| *name == text);
    found.map(|(_, priority)| *priority).ok_or_else(|| {
        let names: Vec<&str> = PRIORITIES.iter().map(|(name, _)| *name).collect();
        format!("expected a priority ({}), not {text:?}", names.join(", "))
    })
}

fn interval(rate: f64) -> Result<Duration, String> {
    if RATES.contains(&rate) {
        return Ok(Duration::from_secs_f64(1.0 / rate));
    }
    Err(format!("expected a rate in hertz, from 0.000001 to 1000000, not {rate}"))
}

/// The rules of a text.
fn parse(text: &str) -> Result<Rules, String> {
    let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
    let otherwise = file.default.as_deref().map(direction).transpose()?.unwrap_or_default();
    let mut rules = Vec::new();
    for rule in file.rule {
        rules.push(Rule {
            direction: rule.direction.as_deref().map(direction).transpose()?,
            interval: rule.max_rate.map(interval).transpose()?,
            priority: rule.priority.as_deref().map(priority).transpose()?,
            express: rule.express,
            ..Rule::about(matcher(rule.topics))
        });
    }
    Ok(Rules { otherwise, rules })
}

fn read(path: &Path) -> Result<Rules, CliError> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| CliError::Failed(format!("cannot read {}: {error}", path.display())))?;
    parse(&text).map_err(|error| CliError::Usage(format!("{}: {error}", path.display())))
}

/// The two parts of `pattern=value`.
fn pair<'t>(option: &str, text: &'t str) -> Result<(&'t str, &'t str), CliError> {
    text.rsplit_once('=')
        .filter(|(pattern, _)| !pattern.is_empty())
        .ok_or_else(|| CliError::Usage(format!("--{option}: expected PATTERN=VALUE, not `{text}`")))
}

/// The rules of the command line and of the file that it names.
pub fn rules(arguments: &BridgeArgs) -> Result<Rules, CliError> {
    let mut rules = arguments.rules.as_deref().map(read).transpose()?.unwrap_or_default();
    let all = |patterns: &[String], direction| Rule {
        direction: Some(direction),
        ..Rule::about(matcher(patterns.to_vec()))
    };
    if !arguments.names.is_empty() {
        // The file says how they cross, the command line which.
        let named = matcher(arguments.names.clone());
        let others =
            Rule { direction: Some(Direction::Neither), ..Rule::about(Box::new(move |name| !named(name))) };
        rules.rules.push(others);
        if arguments.rules.is_none() {
            rules.otherwise = Direction::Both;
        }
    }
    rules.rules.push(all(&arguments.out, Direction::Out));
    rules.rules.push(all(&arguments.into, Direction::In));
    rules.rules.push(all(&arguments.exclude, Direction::Neither));
    for text in &arguments.rate {
        let (pattern, rate) = pair("rate", text)?;
        let rate = rate.parse().map_err(|_| CliError::Usage(format!("--rate: `{rate}` is no number")))?;
        let interval = interval(rate).map_err(|error| CliError::Usage(format!("--rate: {error}")))?;
        rules.rules.push(Rule { interval: Some(interval), ..Rule::about(matcher(vec![pattern.to_owned()])) });
    }
    for text in &arguments.priority {
        let (pattern, name) = pair("priority", text)?;
        let priority = priority(name).map_err(|error| CliError::Usage(format!("--priority: {error}")))?;
        rules.rules.push(Rule { priority: Some(priority), ..Rule::about(matcher(vec![pattern.to_owned()])) });
    }
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    fn of(line: &[&str]) -> Result<Rules, CliError> {
        let line = ["situ", "bridge"].iter().chain(line);
        let Command::Bridge(arguments) = Cli::try_parse_from(line).unwrap().command else { unreachable!() };
        rules(&arguments)
    }

    #[test]
    fn names_and_exclusions_choose() {
        let rules = of(&["camera/**", "/tf", "-x", "**/debug", "--in", "cmd"]).unwrap();
        for (name, expected) in [
            ("camera/left/image", Direction::Both),
            ("/tf", Direction::Both),
            ("camera/debug", Direction::Neither),
            ("lidar", Direction::Neither),
            ("cmd", Direction::In),
        ] {
            assert_eq!(rules.of(name).direction, expected, "{name}");
        }
        assert_eq!(of(&[]).unwrap().of("anything").direction, Direction::Both);
    }

    #[test]
    fn rates_and_priorities_have_patterns() {
        let rules = of(&["--rate", "camera/*=10", "--priority", "joints=real_time"]).unwrap();
        assert_eq!(rules.of("camera/a").interval, Some(Duration::from_millis(100)));
        assert_eq!(rules.of("joints").priority, Some(Priority::RealTime));
        assert_eq!(rules.of("joints").interval, None);
        for bad in ["a", "a=0", "a=-1", "a=1e-300", "a=1e7", "a=nan", "a=x", "=5"] {
            assert!(matches!(of(&["--rate", bad]), Err(CliError::Usage(_))), "{bad}");
        }
        assert!(matches!(of(&["--priority", "a=b"]), Err(CliError::Usage(_))));
        let slowest = of(&["--rate", "a=1e-6"]).unwrap().of("a").interval;
        assert_eq!(slowest, Some(Duration::from_secs(1_000_000)));
    }

    #[test]
    fn files_have_rules() {
        let rules = parse(
            "default = \"neither\"\n[[rule]]\ntopics = [\"a/**\"]\ndirection = \"out\"\nmax_rate = 4\n\
             express = true\n\
             [[rule]]\ntopics = [\"a/b\"]\npriority = \"background\"\n",
        )
        .unwrap();
        let crossing = rules.of("a/b");
        assert_eq!(
            (crossing.direction, crossing.interval),
            (Direction::Out, Some(Duration::from_millis(250)))
        );
        assert_eq!((crossing.priority, crossing.express), (Some(Priority::Background), Some(true)));
        assert_eq!(rules.of("x").direction, Direction::Neither);
        for bad in [
            "default = \"up\"",
            "[[rule]]",
            "[[rule]]\ntopics = [\"a\"]\nrate = 1",
            "[[rule]]\ntopics = [\"a\"]\nmax_rate = -1",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
