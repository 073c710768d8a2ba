//! The arguments of `situ foxglove`.

use std::net::IpAddr;

use clap::Args;

use super::rate;

/// `situ foxglove`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  situ foxglove                               all topics, for programs of this machine
  situ foxglove 'camera/**' lidar/points --max-rate 'camera/**=10'
  situ foxglove --publish cmd_vel             the screen may publish on this topic
  situ foxglove --call 'arm/**' --set-parameters camera
  situ foxglove --host 0.0.0.0                also for other machines

In Foxglove, open a connection of the kind \"Foxglove WebSocket\" to the address that the command prints. A topic
costs nothing as long as nobody looks at it. No publisher waits for a screen: what a slow connection misses is
counted as dropped. There are no passwords: every program that reaches the port sees the topics and the parameters
of nodes of ROS, and with --publish, --call and --set-parameters it may do what these allow.")]
pub struct FoxgloveArgs {
    /// Topics, or patterns of their names (`'lidar/*'`; `**` also stands for `/`) [default: all]. Those that
    /// appear later are added
    #[arg(value_name = "TOPIC")]
    pub topics: Vec<String>,
    /// Not these topics, or those that match this pattern. May be given several times
    #[arg(short = 'x', long, value_name = "PATTERN")]
    pub exclude: Vec<String>,
    /// The most messages a second, of all topics or of those that match a pattern. May be given several
    /// times; the last that matches counts
    #[arg(long, value_name = "[PATTERN=]HZ", value_parser = topic_rate)]
    pub max_rate: Vec<(String, f64)>,
    /// Let screens publish on these topics, or those that match this pattern; without a pattern on all. May
    /// be given several times
    #[arg(long, value_name = "PATTERN", num_args = 0..=1, default_missing_value = "**")]
    pub publish: Vec<String>,
    /// Let screens call these services, or those that match this pattern; without a pattern all. May be given
    /// several times
    #[arg(long, value_name = "PATTERN", num_args = 0..=1, default_missing_value = "**")]
    pub call: Vec<String>,
    /// Let screens set parameters of these nodes of ROS, or of those that match this pattern; without a
    /// pattern of all. May be given several times. They may read the parameters of all nodes
    #[arg(long, value_name = "PATTERN", num_args = 0..=1, default_missing_value = "**")]
    pub set_parameters: Vec<String>,
    /// Port; 0 is any that is free
    #[arg(long, value_name = "NUMBER", default_value_t = 8765)]
    pub port: u16,
    /// Address of the interface; 0.0.0.0 is all
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub host: IpAddr,
    /// Let this web page connect, too (`https://example.org`); `*` is all. May be given several times
    #[arg(long, value_name = "URL")]
    pub origin: Vec<String>,
}

/// A rate, for all topics or for a pattern.
fn topic_rate(text: &str) -> Result<(String, f64), String> {
    let (pattern, number) = text.rsplit_once('=').unwrap_or(("**", text));
    Ok((pattern.to_owned(), rate(number)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_a_pattern_or_are_for_all() {
        assert_eq!(topic_rate("10"), Ok(("**".into(), 10.0)));
        assert_eq!(topic_rate("camera/*=2.5"), Ok(("camera/*".into(), 2.5)));
        for text in ["", "camera", "camera=", "camera=0", "=", "camera=nan"] {
            assert!(topic_rate(text).is_err(), "{text}");
        }
    }
}
