//! Child processes of tests: the test's own program, started again to play a role.
//!
//! A role is a test that does nothing unless [`role`] says so, because other tests start it. It is usually
//! named `child` and marked `#[ignore]`.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::scratch::Scratch;

const ROLE: &str = "SITU_TEST_ROLE";
const ROOT: &str = "SITU_TEST_ROOT";
const RUNNER: &str = "SITU_TEST_RUNNER";

/// The role that this process plays, if a test has started it as a child.
pub fn role() -> Option<String> {
    std::env::var(ROLE).ok()
}

/// The role of this process and its root directory, if a test has started it by [`command`].
pub fn role_in_root() -> Option<(String, Scratch)> {
    let root = std::env::var_os(ROOT)?;
    Some((role()?, Scratch::shared(root.into())))
}

/// A command that starts this test's program again.
///
/// The words of `SITU_TEST_RUNNER` come first. `scripts/arm64.sh` names an emulator there: the system cannot
/// execute the program of another architecture without it.
pub fn this_program() -> Command {
    let program = std::env::current_exe().unwrap();
    let runner = std::env::var(RUNNER).unwrap_or_default();
    let mut words = runner.split_whitespace();
    let Some(first) = words.next() else { return Command::new(program) };
    let mut command = Command::new(first);
    command.args(words).arg(program);
    command
}

/// A command that runs one test of this program in a process of its own, in this role.
pub fn rerun(test: &str, role: &str) -> Command {
    let mut command = this_program();
    command.args(["--exact", test, "--include-ignored", "--nocapture", "--test-threads=1"]).env(ROLE, role);
    command
}

/// A command that lets the test `child` play a role in a root directory.
pub fn command(root: &Path, role: &str) -> Command {
    let mut command = rerun("child", role);
    // The child may open the domains that messages of other processes lie in.
    command
        .env(ROOT, root)
        .env("SITU_DOMAINS", "vulkan:0,cuda:0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    command
}

/// A child, killed when dropped.
#[derive(Debug)]
pub struct Role {
    /// The process.
    pub child: Child,
    output: BufReader<ChildStdout>,
}

impl Role {
    /// Starts the test `child` in a root directory.
    pub fn start(root: &Path, role: &str) -> Self {
        Self::of(command(root, role))
    }

    /// Starts a command whose standard output is a pipe.
    pub fn of(mut command: Command) -> Self {
        Self::try_of(&mut command).unwrap()
    }

    /// The same for a command that the system may refuse.
    pub fn try_of(command: &mut Command) -> std::io::Result<Self> {
        let mut child = command.spawn()?;
        let output = BufReader::new(child.stdout.take().unwrap());
        Ok(Self { child, output })
    }

    /// Its number.
    pub fn pid(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(&self.child)
    }

    /// Waits for a line that the child [says](say).
    pub fn wait_for(&mut self, word: &str) {
        self.find_line(word, |line| (line == word).then_some(()));
    }

    /// Waits for a line with a number: the word, a space, the number.
    pub fn number(&mut self, word: &str) -> u64 {
        self.find_line(word, |line| Some(line.strip_prefix(word)?.trim().parse().unwrap()))
    }

    fn find_line<T>(&mut self, word: &str, found: impl Fn(&str) -> Option<T>) -> T {
        let mut line = String::new();
        while self.output.read_line(&mut line).unwrap() > 0 {
            if let Some(found) = found(line.trim()) {
                return found;
            }
            line.clear();
        }
        panic!("the child ended without saying {word:?}: {:?}", self.child.wait());
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: rustix::process::Signal) {
        let _ = rustix::process::kill_process(self.pid(), signal);
    }

    /// Kills it and waits for its end.
    pub fn kill(mut self) -> ExitStatus {
        let _ = self.child.kill();
        self.child.wait().unwrap()
    }

    /// Waits until it ends by itself; fails if it takes longer than `timeout`.
    pub fn end(mut self, timeout: Duration) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(start.elapsed() < timeout, "the child does not end");
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

/// Child: prints a line for its parent.
pub fn say(word: &str) {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    // On a line of its own, because the test harness may have begun one.
    write!(out, "\n{word}\n").and_then(|()| out.flush()).unwrap();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    const TIMEOUT: Duration = Duration::from_secs(20);

    #[test]
    #[ignore = "a role that the other tests start"]
    fn child() {
        let Some((role, root)) = role_in_root() else { return };
        say(&format!("number {}", root.files().len()));
        say("ready");
        if role == "sleep" {
            std::thread::sleep(2 * TIMEOUT);
        }
    }

    fn start(root: &Path, role: &str) -> Role {
        let mut child = rerun("process::tests::child", role);
        child.env(ROOT, root).stdout(Stdio::piped());
        Role::of(child)
    }

    #[test]
    fn a_child_plays_its_role_and_ends_or_is_killed() {
        let root = Scratch::created("process");
        std::fs::write(root.join("file"), "text").unwrap();
        let mut ends = start(&root, "end");
        assert_eq!(ends.number("number"), 1);
        ends.wait_for("ready");
        assert!(ends.end(TIMEOUT).success());
        let mut sleeps = start(&root, "sleep");
        sleeps.wait_for("ready");
        assert_eq!(sleeps.kill().signal(), Some(libc::SIGKILL));
        assert!(root.exists(), "the child does not remove it");
    }
}
