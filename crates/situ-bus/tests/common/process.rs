//! Child processes of the tests: the test's own program, run again to play one role.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::Scratch;

const ROLE: &str = "SITU_TEST_ROLE";
const ROOT: &str = "SITU_TEST_ROOT";

/// Whether this process is a child, and if so, which role it plays in which root directory. To be asked by a
/// test named `child`, marked `#[ignore]`, that does nothing else.
pub fn role() -> Option<(String, Scratch)> {
    let role = std::env::var(ROLE).ok()?;
    let root = std::env::var_os(ROOT)?;
    Some((role, Scratch::shared(root.into())))
}

/// A child, killed when dropped.
pub struct Role {
    pub child: Child,
    output: BufReader<ChildStdout>,
}

/// A command that plays a role in the same root directory.
pub fn command(scratch: &Scratch, role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "child", "--ignored", "--nocapture", "--test-threads=1"])
        .env(ROLE, role)
        .env(ROOT, &scratch.0)
        // What messages of others lie in may be opened.
        .env("SITU_DOMAINS", "vulkan:0,cuda:0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    command
}

impl Role {
    pub fn start(scratch: &Scratch, role: &str) -> Self {
        Self::of(command(scratch, role))
    }

    pub fn of(mut command: Command) -> Self {
        Self::try_of(&mut command).unwrap()
    }

    pub fn try_of(command: &mut Command) -> std::io::Result<Self> {
        let mut child = command.spawn()?;
        let output = BufReader::new(child.stdout.take().unwrap());
        Ok(Self { child, output })
    }

    pub fn pid(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(&self.child)
    }

    /// Waits for a line that the child says.
    pub fn wait_for(&mut self, word: &str) {
        let mut line = String::new();
        while self.output.read_line(&mut line).unwrap() > 0 {
            if line.trim() == word {
                return;
            }
            line.clear();
        }
        panic!("the child ended without saying {word:?}: {:?}", self.child.wait());
    }

    /// Waits for a line that says a number: the word, a space, the number.
    pub fn number(&mut self, word: &str) -> u64 {
        let mut line = String::new();
        while self.output.read_line(&mut line).unwrap() > 0 {
            if let Some(number) = line.trim().strip_prefix(word) {
                return number.trim().parse().unwrap();
            }
            line.clear();
        }
        panic!("the child ended without saying {word:?}: {:?}", self.child.wait());
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        let _ = rustix::process::kill_process(self.pid(), signal);
    }

    /// Kills it and waits for its end.
    pub fn kill(mut self) -> ExitStatus {
        let _ = self.child.kill();
        self.child.wait().unwrap()
    }

    /// Waits for its end by itself.
    pub fn end(mut self, patience: Duration) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(start.elapsed() < patience, "the child does not end");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Role {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Child: tells its parent.
pub fn say(word: &str) {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    // On a line of its own, whatever the test harness has begun to say.
    write!(out, "\n{word}\n").and_then(|()| out.flush()).unwrap();
}

/// Numbers that are random enough and can be had again from their seed.
pub struct Random(pub u64);

impl Random {
    /// From the seed that the environment gives, or another each time. Says which.
    pub fn seeded(what: &str) -> Self {
        let seed = std::env::var("SITU_CHAOS_SEED").ok().and_then(|seed| seed.parse().ok());
        let now = || std::time::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_nanos() as u64);
        let seed = seed.unwrap_or_else(|| now() ^ u64::from(std::process::id()) << 40);
        println!("{what}: SITU_CHAOS_SEED={seed}");
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}
