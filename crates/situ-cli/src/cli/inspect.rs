//! The arguments of `situ node`, `situ service` and `situ domain`.

use clap::Subcommand;

/// `situ node`.
#[derive(Debug, Subcommand)]
pub enum NodeCommand {
    /// List the nodes that are running
    List,
    /// Show the topics that one node publishes and subscribes to
    Info {
        /// The node's name
        node: String,
    },
}

/// `situ service`.
#[derive(Debug, Subcommand)]
pub enum ServiceCommand {
    /// List the services, with their types and the number of their servers and clients
    #[command(after_help = "Examples:
  situ service list
  situ service list --json | jq -r '.services[] | select(.servers == 0) | .name'")]
    List,
    /// Show the servers and the clients of one service
    Info {
        /// The service's name
        service: String,
    },
}

/// `situ domain`.
#[derive(Debug, Subcommand)]
pub enum DomainCommand {
    /// List the memory domains of this machine, why others are absent, and which nodes use them
    #[command(after_help = "Examples:
  situ domain list
  situ domain list --json | jq -r '.domains[] | select(.present) | .domain'")]
    List,
}
