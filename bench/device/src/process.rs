//! Processes of this program. Each has a role. It prints one line when it is ready, and one line with its
//! results.

use std::io::{BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use situ::bus::{Node, Placement, PublisherQos, RawPublisher, RawSubscriber, SubscriberQos, TypeDescription};
use situ::memory::DomainId;

use crate::Result;

/// Longer than any step takes.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// A process with a role. It is killed on drop.
pub struct Role {
    child: Child,
    said: BufReader<ChildStdout>,
}

impl Role {
    /// Starts a process. Its topics lie in a directory of this run.
    pub fn start(arguments: &[&str], stdin: Option<OwnedFd>) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("child").args(arguments).stdout(Stdio::piped());
        command.env("SITU_ROOT", root());
        command.stdin(stdin.map_or_else(Stdio::null, Stdio::from));
        let mut child = command.spawn()?;
        let said = BufReader::new(child.stdout.take().ok_or("a child without output")?);
        Ok(Self { child, said })
    }

    /// The next line, without its first word, which must be `word`.
    pub fn hear(&mut self, word: &str) -> Result<String> {
        let mut line = String::new();
        self.said.read_line(&mut line)?;
        let line = line.trim();
        match line.strip_prefix(word) {
            Some(rest) => Ok(rest.trim().to_owned()),
            None if line.is_empty() => Err(format!("a child ended ({})", self.child.wait()?).into()),
            None => Err(line.to_owned().into()),
        }
    }

    /// Kills the process with SIGKILL.
    pub fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Role {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Prints times for the process that started this one.
pub fn say_times(times: &[u64]) {
    let texts: Vec<String> = times.iter().map(u64::to_string).collect();
    println!("times {}", texts.join(" "));
}

/// Parses the times that a process printed.
pub fn times(text: &str) -> Result<Vec<u64>> {
    Ok(text.split_whitespace().map(str::parse).collect::<std::result::Result<_, _>>()?)
}

/// The directory of this program's topics.
fn root() -> std::ffi::OsString {
    std::env::var_os("SITU_ROOT")
        .unwrap_or_else(|| format!("/dev/shm/situ-device-{}", std::process::id()).into())
}

/// A directory for the topics of one part of the table. It is removed with its content on drop.
pub struct Scratch;

impl Scratch {
    /// Makes this process use the directory too.
    pub fn new() -> Self {
        // SAFETY: no other thread of this process reads the environment. Threads are started later, and end
        // with their part of the table.
        unsafe { std::env::set_var("SITU_ROOT", root()) };
        Self
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(root());
    }
}

/// The type of the messages: a time in the head, bytes in the body.
pub fn timed() -> TypeDescription {
    TypeDescription {
        name: "device::Timed".to_owned(),
        schema: "module device {\n  @flat struct Timed {\n    uint64 time;\n    @bulk sequence<octet> data;\n  };\n};\n"
            .to_owned(),
        schema_hash: 0x5D1,
        layout_hash: 0x5D2,
        encoding: situ::bus::Encoding::Flat,
        fixed_size: 0,
        user_header_size: 0,
    }
}

/// A node with the domain.
pub fn node(name: &str, domain: DomainId) -> Result<Node> {
    Ok(Node::new(name)?.with_domain(situ::memory::find(domain)?))
}

/// A publisher on the domain, with room for a few messages of `size` bytes.
pub fn publisher(node: &Node, topic: &str, domain: DomainId, size: u64) -> Result<RawPublisher> {
    let qos = PublisherQos { depth: 2, ..PublisherQos::default() };
    let capacity = Some((size * 6).max(16 << 20));
    let placement = Placement { domain, capacity, ..Placement::default() };
    Ok(RawPublisher::create_in(node, topic, &timed(), qos, &placement)?)
}

/// A subscriber in the domain.
pub fn subscriber(node: &Node, topic: &str, domain: DomainId) -> Result<RawSubscriber> {
    let placement = Placement { domain, ..Placement::default() };
    Ok(RawSubscriber::create_in(node, topic, &timed(), SubscriberQos::default(), &placement)?)
}

/// CLOCK_MONOTONIC in nanoseconds. All processes share this clock.
pub fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
