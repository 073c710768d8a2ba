//! What clients and servers may be told when they are created.

use crate::port::placement::Placement;
use crate::qos::SubscriberQos;
use crate::trust::{Limits, Trust};

/// How many calls a client may have under way by default.
const MAX_CALLS: usize = 64;
/// How far requests and replies may run ahead of their receiver by default.
const DEPTH: usize = 64;

/// The options of a client or a server.
#[derive(Debug, Clone)]
pub struct ServiceOptions {
    /// How many calls a client may have under way at once, and thus how many final replies may wait for it. A
    /// server ignores it. The default is 64, the maximum 32,768.
    pub max_calls: usize,
    /// How many messages of this participant may wait to be taken: a client's requests by the slowest server,
    /// a server's replies by a client. The default is 64.
    pub depth: usize,
    /// How many of others' messages may wait for it: a server's requests, a client's replies. Beyond it the
    /// oldest are skipped, and no other participant waits for this one. A call whose request or reply was
    /// skipped ends by its limit or by a cancellation only; cancellations count as requests. The default is
    /// 0: all are kept, and others wait.
    pub keep_last: usize,
    /// Which participants' messages it reads in place.
    pub trust: Trust,
    /// How large the messages and pools of other participants may be.
    pub limits: Limits,
    /// How many messages of other participants it may hold at a time. The default is 256.
    pub max_held: usize,
    /// Whether its messages carry the time at which they were sent. Without it, sending does not read the
    /// clock, which takes some 20 ns. The default is true.
    pub stamps: bool,
    /// The memory domain of requests: of those that a client sends, or in which a server takes them.
    pub requests: Placement,
    /// The memory domain of replies: of those that a server sends, or in which a client takes them.
    pub replies: Placement,
    /// Up to [`MAX_USER_DATA`](crate::MAX_USER_DATA) bytes that other participants find in the graph, and
    /// that Situ does not interpret.
    pub user_data: Vec<u8>,
}

impl Default for ServiceOptions {
    fn default() -> Self {
        let SubscriberQos { trust, limits, max_held, .. } = SubscriberQos::default();
        Self {
            max_calls: MAX_CALLS,
            depth: DEPTH,
            keep_last: 0,
            trust,
            limits,
            max_held,
            stamps: true,
            requests: Placement::default(),
            replies: Placement::default(),
            user_data: Vec::new(),
        }
    }
}
