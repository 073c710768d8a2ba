//! The commands, one file each.
//!
//! ```text
//!   topic, node, service, domain   their lists and details: `list` and `info`
//!   blackboard            blackboards: list, values, changes
//!   standing              topics and services that stand without members, with rights of groups
//!   service_call          calls a service; service_echo watches one; service_types reads its schemas
//!   graph, endpoints      the whole graph; what the endpoints of a topic say about themselves
//!   echo, measure         print and measure the messages of topics, by subscribers of `listen`
//!   pattern               names and patterns of topics
//!   publish               a publisher without a compiled-in type, of messages that `messages_file` reads
//!   schema, generate      schema files, and code from them
//!   new                   writes projects from templates
//!   clean                 removes the files of dead processes
//!   manual                completions and manual pages
//!   part                  the processes that the demo and the bench start
//! ```

pub mod blackboard;
pub mod clean;
pub mod domain;
pub mod echo;
pub mod endpoints;
pub mod generate;
pub mod graph;
pub mod listen;
pub mod manual;
pub mod measure;
mod messages_file;
pub mod new;
pub mod node;
pub mod part;
pub mod pattern;
pub mod proto;
pub mod publish;
pub mod schema;
pub mod service;
pub mod service_call;
pub mod service_echo;
mod service_types;
pub mod standing;
pub mod topic;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::Serialize;
use situ::bus::inspect::{self, TopicInfo};
use situ::bus::{Interrupter, Node, Root, now_ns};

use crate::demo::children::{ChildError, Part};
use crate::error::CliError;
use crate::output::Output;

/// The context of every command: its root and its output.
#[derive(Debug)]
pub struct Context {
    /// The directory of topics and nodes.
    pub root: Root,
    /// The destination of results.
    pub output: Output,
}

impl Context {
    /// Uses the root and the graph domain of the command line, or those of the environment.
    pub fn new(root: Option<PathBuf>, graph_domain: Option<u32>, output: Output) -> Result<Self, CliError> {
        let environment = Root::from_environment().map_err(CliError::failed)?;
        let graph_domain = graph_domain.unwrap_or(environment.graph_domain());
        let root = match root {
            Some(path) => Root::at(path, environment.group()),
            None => environment,
        };
        Ok(Self { root: root.in_graph_domain(graph_domain).map_err(CliError::failed)?, output })
    }

    /// A node for the command.
    pub fn node(&self) -> Result<Node, CliError> {
        self.named_node(&format!("situ_{}", std::process::id()))
    }

    /// A node with a given name.
    pub fn named_node(&self, name: &str) -> Result<Node, CliError> {
        Node::in_root(name, self.root.clone()).map_err(CliError::failed)
    }

    /// Starts another process of this program as a part of a larger command, in the same root.
    pub fn start_part(&self, part: &'static str, options: &impl Serialize) -> Result<Part, ChildError> {
        let start = |source| ChildError::Start { name: part, program: "situ".into(), source };
        let program = std::env::current_exe().map_err(start)?;
        let options = serde_json::to_string(options).map_err(|e| start(e.into()))?;
        let root = self.root.base().to_string_lossy();
        let domain = self.root.graph_domain().to_string();
        let arguments = ["--json", "--root", &root, "--domain-id", &domain, "part", part, &options];
        Part::start(part, &program, &arguments)
    }

    /// A topic that must exist.
    pub fn topic(&self, name: &str) -> Result<TopicInfo, CliError> {
        match inspect::topic(&self.root, name) {
            Ok(Some(topic)) => Ok(topic),
            Ok(None) => Err(CliError::NotFound(self.no_such_topic(name))),
            Err(error) => Err(CliError::failed(error)),
        }
    }

    /// Returns the name of a topic that exists and differs from this one only in slashes.
    pub fn alike(&self, name: &str) -> Option<String> {
        let known = inspect::topics(&self.root).unwrap_or_default();
        known.into_iter().map(|topic| topic.name).find(|known| pattern::are_alike(known, name))
    }

    fn no_such_topic(&self, name: &str) -> String {
        if let Some(alike) = self.alike(name) {
            return format!(
                "there is no topic `{name}`, but there is `{alike}`: a `/` in front is part of a name"
            );
        }
        let known = inspect::topics(&self.root).unwrap_or_default();
        let names: Vec<&str> = known.iter().map(|t| t.name.as_str()).collect();
        let there = match names.as_slice() {
            [] => "there are no topics".to_owned(),
            names => format!("there are: {}", names.join(", ")),
        };
        format!("there is no topic `{name}` in {}; {there}", self.root.path().display())
    }
}

/// Set by Ctrl-C and by a request to terminate. The command then ends in order and leaves no files. If it is
/// still running after a while, a further signal ends the process at once. Earlier signals do not, because
/// `timeout` and closing terminals send several.
#[derive(Clone, Debug)]
pub struct Interrupt(Interrupter);

/// The time after the first signal from which on a further signal ends the process.
const TIMEOUT: Duration = Duration::from_secs(1);

impl Interrupt {
    /// Starts to listen for the signals.
    pub fn listen() -> Result<Self, CliError> {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        let interrupter = Interrupter::new();
        let first = Arc::new(AtomicU64::new(0));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let (interrupter, first) = (interrupter.clone(), Arc::clone(&first));
            let heard = move || {
                let now = now_ns();
                let since = first.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
                match since {
                    Err(since) if now.saturating_sub(since) > TIMEOUT.as_nanos() as u64 => {
                        signal_hook::low_level::exit(130)
                    }
                    _ => interrupter.interrupt(),
                }
            };
            // SAFETY: the handler reads a clock, exchanges a word, and calls an interrupter or ends the
            // process. A signal handler may do all of these.
            unsafe { signal_hook::low_level::register(signal, heard) }
                .map_err(|e| CliError::Failed(format!("cannot listen for signals: {e}")))?;
        }
        Ok(Self(interrupter))
    }

    /// The interrupter that ends waits when the flag is set.
    pub fn interrupter(&self) -> &Interrupter {
        &self.0
    }

    /// Whether to stop.
    pub fn is_set(&self) -> bool {
        self.0.is_interrupted()
    }
}
