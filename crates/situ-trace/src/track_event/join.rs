//! When a process takes part in sessions, and what a session switches on there.

use situ_bus::Root;

use super::{bus, category, process};
use crate::Session;

/// Takes part in the sessions of a root directory from now on, under a name for people to read, unless the environment says
/// `SITU_TRACE=0`; in sessions of other users only if it says `SITU_TRACE_OTHER_USERS=1`. The first directory and the first name stay; a
/// forked child has to ask for itself.
///
/// Every node does this by itself, under its own name. That it is not possible (no memory, no thread) is no reason for anybody to fail: then there is
/// no trace of this process, and [`is_traced`] says so.
pub fn join(root: &Root, name: &str) {
    if std::env::var_os("SITU_TRACE").is_none_or(|value| value != "0") {
        process::connect(root, name, changed);
    }
}

/// A session has begun, or ended.
fn changed(session: Option<&Session>) {
    category::decide_all(session.map(|session| session.categories.as_str()));
    bus::watch();
}

/// Runs before `main`: from then on every node takes part.
// Nothing else would run in a program that only links the crate, and the bus does not know it. It stores one pointer, which needs
// nothing of what `main` sets up.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = {
    extern "C" fn at_start() {
        situ_bus::hook::on_joined(join);
    }
    at_start
};

/// Has the process take part with its first node, as a program does by itself when it starts: for libraries, whose start a linker may
/// leave out.
pub fn install() {
    situ_bus::hook::on_joined(join);
}
