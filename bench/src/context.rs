//! A worker's role in the table, and what it shares with the other workers.

use crate::clock::Clock;
use crate::os::Page;
use crate::session::Session;

/// A worker's role in the table, and what it shares with the other workers.
pub struct Context {
    /// The files of the run.
    pub session: Session,
    /// The role.
    pub role: String,
    /// The index among workers with the same role.
    pub index: usize,
    /// The words that are shared with the other workers.
    pub page: Page,
    /// The clock.
    pub clock: Clock,
}
