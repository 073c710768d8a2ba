//! Two network namespaces that a pair of virtual cables connects: two machines, for programs.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};

use crate::failure::Failure;

/// The network of each namespace. The addresses are of a block for documentation.
const HOSTS: [&str; 2] = ["192.0.2.129", "192.0.2.130"];

/// Both namespaces, until this is dropped.
pub struct TwoNetworks {
    name: String,
}

impl TwoNetworks {
    /// Makes them. Gives the reason if this program may not.
    pub fn make() -> Result<Self, String> {
        let made = Self { name: format!("situ-bench-{}", std::process::id()) };
        let [first, second] = [0, 1].map(|index| namespace(&made.name, index));
        let (left, right) = ("situ-bench-0", "situ-bench-1");
        ip(&format!("netns add {first}"))?;
        ip(&format!("netns add {second}"))?;
        ip(&format!("link add {left} netns {first} type veth peer name {right} netns {second}"))?;
        for (index, (space, link)) in [(&first, left), (&second, right)].into_iter().enumerate() {
            ip(&format!("-n {space} addr add {}/30 dev {link}", HOSTS[index]))?;
            ip(&format!("-n {space} link set {link} up"))?;
            ip(&format!("-n {space} link set lo up"))?;
        }
        Ok(made)
    }

    /// The name by which [`enter`] finds them.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The address of the first machine.
    pub fn host(&self) -> &'static str {
        HOSTS[0]
    }
}

impl Drop for TwoNetworks {
    fn drop(&mut self) {
        for index in 0..2 {
            let _ = ip(&format!("netns del {}", namespace(&self.name, index)));
        }
    }
}

fn namespace(name: &str, index: usize) -> String {
    format!("{name}-{index}")
}

fn ip(arguments: &str) -> Result<(), String> {
    let output = Command::new("ip").args(arguments.split(' ')).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("ip: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("ip {arguments}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}

/// Moves this thread, and those that it starts later, into one of the namespaces.
pub fn enter(name: &str, index: usize) -> Result<(), Failure> {
    let path = format!("/run/netns/{}", namespace(name, index));
    let file = File::open(path).map_err(Failure::io("cannot open a network namespace"))?;
    // SAFETY: the descriptor is open; the call changes only the network of this thread.
    if unsafe { libc::setns(file.as_raw_fd(), libc::CLONE_NEWNET) } != 0 {
        let error = std::io::Error::last_os_error();
        return Err(Failure::io("cannot enter a network namespace")(error));
    }
    Ok(())
}
