//! The quality of service in a token.
//!
//! ```text
//!   <reliability>:<durability>:<history>,<depth>:<deadline>:<lifespan>:<liveliness>,<lease>
//! ```
//!
//! The numbers are those of `rmw`; times are `<seconds>,<nanoseconds>`. An empty field has its default.
//! Bridges write all fields of which releases of rmw_zenoh had different defaults.

use std::time::Duration;

use situ_bus::{Durability, EndpointQos, History, Liveliness, Reliability};

/// The depth that an empty field means.
const DEFAULT_DEPTH: usize = 42;
/// The greatest number of seconds that is not for ever.
const MAX_SECONDS: u64 = 9_000_000_000;

/// Why a text is no quality of service.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no quality of service of a token: {part} is malformed")]
pub struct TokenQosError {
    /// The text.
    pub text: String,
    /// The malformed part.
    pub part: &'static str,
}

fn put_time(time: Option<Duration>) -> String {
    time.map_or_else(|| ",".to_owned(), |time| format!("{},{}", time.as_secs(), time.subsec_nanos()))
}

/// The text of a quality of service.
pub fn to_text(qos: &EndpointQos) -> String {
    let reliability = if qos.reliability == Reliability::Reliable { 1 } else { 2 };
    let durability = if qos.durability == Durability::TransientLocal { 1 } else { 2 };
    let history = match qos.history {
        History::KeepLast(depth) => format!("1,{}", depth.max(1)),
        History::KeepAll => "2,".to_owned(),
    };
    let liveliness = if qos.liveliness == Liveliness::ManualByTopic { "3" } else { "" };
    format!(
        "{reliability}:{durability}:{history}:{}:{}:{liveliness},{}",
        put_time(qos.deadline),
        put_time(qos.lifespan),
        put_time(qos.lease)
    )
}

/// A number, or the default of an empty field.
fn number(text: &str, default: u64) -> Option<u64> {
    if text.is_empty() { Some(default) } else { text.parse().ok() }
}

/// A time; `None` inside for one that is not limited.
fn time(seconds: &str, nanoseconds: &str) -> Option<Option<Duration>> {
    let (seconds, nanoseconds) = (number(seconds, 0)?, number(nanoseconds, 0)?);
    let nanoseconds = u32::try_from(nanoseconds).ok().filter(|it| *it < 1_000_000_000)?;
    let is_limited = seconds <= MAX_SECONDS && (seconds, nanoseconds) != (0, 0);
    Some(is_limited.then(|| Duration::new(seconds, nanoseconds)))
}

/// Reads a quality of service.
pub fn from_text(text: &str) -> Result<EndpointQos, TokenQosError> {
    let wrong = |part| TokenQosError { text: text.chars().take(100).collect(), part };
    let parts: Vec<&str> = text.splitn(7, ':').collect();
    let [reliability, durability, history, deadline, lifespan, liveliness] = parts[..] else {
        return Err(wrong("the number of parts"));
    };
    let pair = |part: &'static str, text: &str| {
        let (first, second) = text.split_once(',').ok_or_else(|| wrong(part))?;
        time(first, second).ok_or_else(|| wrong(part))
    };
    let (kind, depth) = history.split_once(',').ok_or_else(|| wrong("history"))?;
    let depth = number(depth, 0).ok_or_else(|| wrong("depth"))?;
    let depth = usize::try_from(depth).ok().filter(|depth| *depth > 0).unwrap_or(DEFAULT_DEPTH);
    let (kind_of_life, lease) = liveliness.split_once(',').ok_or_else(|| wrong("liveliness"))?;
    Ok(EndpointQos {
        reliability: match number(reliability, 0).ok_or_else(|| wrong("reliability"))? {
            2 => Reliability::BestEffort,
            _ => Reliability::Reliable,
        },
        durability: match number(durability, 0).ok_or_else(|| wrong("durability"))? {
            1 => Durability::TransientLocal,
            _ => Durability::Volatile,
        },
        history: match number(kind, 0).ok_or_else(|| wrong("history"))? {
            2 => History::KeepAll,
            _ => History::KeepLast(depth),
        },
        deadline: pair("deadline", deadline)?,
        lifespan: pair("lifespan", lifespan)?,
        liveliness: match number(kind_of_life, 0).ok_or_else(|| wrong("liveliness"))? {
            3 => Liveliness::ManualByTopic,
            _ => Liveliness::Automatic,
        },
        lease: pair("lease", lease)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_of_ros_is_reliable_volatile_and_keeps_ten() {
        let qos = from_text("::,10:,:,:,,").unwrap();
        let expected = EndpointQos {
            reliability: Reliability::Reliable,
            durability: Durability::Volatile,
            history: History::KeepLast(10),
            deadline: None,
            lifespan: None,
            liveliness: Liveliness::Automatic,
            lease: None,
        };
        assert_eq!(qos, expected);
        assert_eq!(to_text(&expected), "1:2:1,10:,:,:,,");
        assert_eq!(from_text("::,:,:,:,,").unwrap().history, History::KeepLast(42));
    }

    #[test]
    fn all_fields_are_read() {
        let qos = from_text("2:1:2,5:0,500:3,4:3,1,0").unwrap();
        let expected = EndpointQos {
            reliability: Reliability::BestEffort,
            durability: Durability::TransientLocal,
            history: History::KeepAll,
            deadline: Some(Duration::from_nanos(500)),
            lifespan: Some(Duration::new(3, 4)),
            liveliness: Liveliness::ManualByTopic,
            lease: Some(Duration::from_secs(1)),
        };
        assert_eq!(qos, expected);
        assert_eq!(to_text(&expected), "2:1:2,:0,500:3,4:3,1,0");
        // The infinite time of rmw.
        assert_eq!(from_text("::,:9223372036,854775807:,:,,").unwrap().deadline, None);
    }

    #[test]
    fn other_texts_are_errors() {
        let part = |text: &str| from_text(text).unwrap_err().part;
        assert_eq!(part(""), "the number of parts");
        assert_eq!(part("::,:,:,:,,:"), "the number of parts");
        assert_eq!(part("x::,:,:,:,,"), "reliability");
        assert_eq!(part(":x:,:,:,:,,"), "durability");
        assert_eq!(part(":::,:,:,,"), "history");
        assert_eq!(part("::,99999999999999999999:,:,:,,"), "depth");
        assert_eq!(part("::,:0,1000000000:,:,,"), "deadline");
        assert_eq!(part("::,:,:-1,0:,,"), "lifespan");
        assert_eq!(part("::,:,:,:"), "liveliness");
        assert_eq!(part("::,:,:,:1,"), "lease");
    }
}
