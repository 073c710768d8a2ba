//! The arguments of `situ node`, `situ service`, `situ graph` and `situ domain`.

use clap::{Args, Subcommand};

use super::{ServiceCreateArgs, seconds, seconds_or_none};

/// `situ node`.
#[derive(Debug, Subcommand)]
pub enum NodeCommand {
    /// List the nodes that are running
    #[command(after_help = "Examples:
  situ node list
  situ node list --json | jq -r '.nodes[].full_name'")]
    List,
    /// Show what one node publishes, subscribes to, serves and calls
    #[command(after_help = "Examples:
  situ node info /robot/camera
  situ node info camera                       every node of this name, in any namespace")]
    Info {
        /// The node's name, with or without its namespace, or its id
        node: String,
    },
}

/// `situ graph`.
#[derive(Debug, Args)]
#[command(
    after_help = "The graph has the living nodes, the topics with their publishers and subscribers, and the services with \
their servers and clients. A program waits for its changes with `GraphWatch` (Rust), `situ_graph_watch` (C)
or `graph_watch` (C++).

Examples:
  situ graph
  situ graph --dot | dot -Tsvg > graph.svg    a picture, by Graphviz
  situ graph --json | jq '.nodes[] | select(.endpoints == []) | .full_name'
  situ --domain-id 7 graph                    another graph domain"
)]
pub struct GraphArgs {
    /// Print the graph in the language of Graphviz: nodes are ellipses, topics boxes, services diamonds
    #[arg(long, conflicts_with = "json")]
    pub dot: bool,
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
    /// Send a request written as YAML or JSON, and print the reply
    #[command(after_help = "Examples:
  situ service call add '{a: 40, b: 2}'
  situ service call add '{a: 40}' --json | jq .message.sum
  situ service call drive --timeout 60 --wait         wait for a server; default values

The service carries its types. Absent fields keep their default values. A reply in parts is printed as
the parts come. If the server refuses the request, the command fails, with its code and text. Ctrl-C
cancels the call.")]
    Call(CallArgs),
    /// Print requests and replies as they pass
    #[command(after_help = "Examples:
  situ service echo add
  situ service echo add --json | jq 'select(.event == \"reply\") | .latency_ns'
  situ service echo add -n 2 --timeout 10

It does not take part in the service: it is no server, holds no message, and no client waits for it. It
looks once a millisecond. If the memory of a message is used again before that, the message is missed and
counted; messages of at most 88 bytes stay longer. It also misses messages in the memory of devices, and a client that came
and went between two looks. The time of a reply is measured from publication
to publication.")]
    Echo(ServiceEchoArgs),
    /// Make a service that stands without members, with groups that may call it and serve it
    Create(ServiceCreateArgs),
    /// Remove a service that has no clients and no servers
    Remove {
        /// The service's name
        service: String,
    },
}

/// `situ service call`.
#[derive(Debug, Args)]
pub struct CallArgs {
    /// The service's name
    pub service: String,
    /// The request, as YAML or JSON; `{}` has the default values
    #[arg(default_value = "{}")]
    pub request: String,
    /// How long the call may take, with all parts of its reply
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds)]
    pub timeout: f64,
    /// Wait at most this many seconds for a server; 0 does not wait, and without a number it is 1000000
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = seconds_or_none,
        num_args = 0..=1, default_missing_value = "1000000")]
    pub wait: f64,
    /// Print long arrays and strings in full
    #[arg(long)]
    pub full: bool,
}

/// `situ service echo`.
#[derive(Debug, Args)]
pub struct ServiceEchoArgs {
    /// The service's name
    pub service: String,
    /// Stop after N requests, replies and parts
    #[arg(short = 'n', long, value_name = "N")]
    pub count: Option<u64>,
    /// Print long arrays and strings in full
    #[arg(long)]
    pub full: bool,
    /// Give up when there is no call for this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub timeout: Option<f64>,
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
