//! Processes of this program: started with a role, they say a line when they are ready, and a line with what they found.

use std::io::{BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use situ::bus::{Node, Placement, PublisherQos, RawPublisher, RawSubscriber, SubscriberQos, TypeDescription};
use situ::memory::DomainId;

use crate::Result;

/// Longer than anything here takes.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A process with a role. Killed when it is dropped.
pub struct Role {
    child: Child,
    said: BufReader<ChildStdout>,
}

impl Role {
    /// Starts one. Topics lie below a directory of their own.
    pub fn start(arguments: &[&str], stdin: Option<OwnedFd>) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("child").args(arguments).stdout(Stdio::piped());
        command.env("SITU_ROOT", root());
        command.stdin(stdin.map_or_else(Stdio::null, Stdio::from));
        let mut child = command.spawn()?;
        let said = BufReader::new(child.stdout.take().ok_or("a child without output")?);
        Ok(Self { child, said })
    }

    /// The next line, without its first word, which has to be this one.
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

    /// Ends it as nobody can prevent.
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

/// Where the topics of this program lie.
fn root() -> std::ffi::OsString {
    std::env::var_os("SITU_ROOT")
        .unwrap_or_else(|| format!("/dev/shm/situ-device-{}", std::process::id()).into())
}

/// A directory for the topics of a part of the program: removed with everything in it when dropped.
pub struct Scratch;

impl Scratch {
    /// Makes sure that this process uses it too.
    pub fn new() -> Self {
        // SAFETY: no other thread of this process reads the environment: threads are started later, and end with their
        // part of the program.
        unsafe { std::env::set_var("SITU_ROOT", root()) };
        Self
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(root());
    }
}

/// Plays the role that the arguments say.
pub fn play(arguments: &[String]) -> Result<()> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["exporter", domain] => crate::survive::exporter(domain.parse()?),
        ["subscriber", domain, mode, size, count] => {
            crate::hop::subscriber(domain.parse()?, mode, size.parse()?, count.parse()?)
        }
        ["floor", count] => crate::hop::floor(count.parse()?),
        ["copier", number, mode, size, count] => {
            crate::copies::receiver(number.parse()?, mode, size.parse()?, count.parse()?)
        }
        ["step", domain, from, to, size] => crate::order::step(domain.parse()?, from, to, size.parse()?),
        _ => Err(format!("no such role: {arguments:?}").into()),
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
    }
}

/// A node that has the domain.
pub fn node(name: &str, domain: DomainId) -> Result<Node> {
    Ok(Node::new(name)?.with_domain(situ::memory::find(domain)?))
}

/// A publisher of messages of a size on the domain, with room for a few.
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

/// The clock that all processes share, in nanoseconds.
pub fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
