//! Decides when a process takes part in sessions, and switches categories and the bus's events.

use situ_bus::Root;

use super::{bus, category, process};
use crate::Session;

/// Takes part in the sessions of a root directory from now on, unless `SITU_TRACE=0`. `name` appears in the
/// trace. The process takes part in sessions of other users only with `SITU_TRACE_OTHER_USERS=1`. The first
/// directory stays. Further names are added: the trace shows the first four that do not begin with `_`. A
/// forked child must call this itself.
///
/// Every node calls this under its own name. If it fails (no memory, no thread), the node works nevertheless,
/// the process is not traced, and [`is_traced`](crate::is_traced) returns false.
pub fn join(root: &Root, name: &str) {
    if std::env::var_os("SITU_TRACE").is_none_or(|value| value != "0") {
        process::connect(root, name, changed);
    }
}

/// Called when a session has begun, or ended.
fn changed(session: Option<&Session>) {
    category::decide_all(session.map(|session| session.categories.as_str()));
    bus::watch();
}

/// Runs before `main`, so that every node takes part.
// A program that only links the crate runs no other code of it, and the bus has no reference to it. The
// function stores one pointer, which does not depend on the work of `main`.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = {
    extern "C" fn at_start() {
        situ_bus::hook::on_joined(join);
    }
    at_start
};

/// Makes the process take part with its first node. Programs do so automatically before `main`. Libraries
/// call this, because a linker may drop their initializers.
pub fn install() {
    situ_bus::hook::on_joined(join);
}
