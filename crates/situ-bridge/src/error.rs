//! Why a bridge cannot begin or go on.

use situ_bus::inspect::InspectError;
use situ_bus::{GraphWatchError, NodeError};

use crate::config::{ConfigError, reason};

/// Why a bridge cannot begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum BridgeError {
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// There is no session.
    #[error("Zenoh cannot open a session: {reason}")]
    Open {
        /// Why not.
        reason: String,
    },
    /// Zenoh refuses what every bridge declares.
    #[error("Zenoh refuses {what}: {reason}")]
    Declare {
        /// What it refuses.
        what: &'static str,
        /// Why.
        reason: String,
    },
    /// There is no node.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// The graph cannot be watched.
    #[error(transparent)]
    Watch(#[from] GraphWatchError),
    /// The graph cannot be read.
    #[error(transparent)]
    Inspect(#[from] InspectError),
    /// A thread cannot be started.
    #[error("cannot start a thread: {0}")]
    Thread(#[from] std::io::Error),
}

impl BridgeError {
    /// What Zenoh's refusal of a declaration becomes.
    pub(crate) fn declare(what: &'static str) -> impl Fn(zenoh::Error) -> Self {
        move |error| Self::Declare { what, reason: reason(&error) }
    }
}
