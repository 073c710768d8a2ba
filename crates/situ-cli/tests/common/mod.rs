//! Common parts of the command's tests: a root for each test, and processes that do not outlive it.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use situ_testkit::Scratch;

/// A root directory for one test, removed at its end.
pub struct Sandbox {
    root: Scratch,
    scratch: Scratch,
}

impl Sandbox {
    pub fn new() -> Self {
        Self { root: Scratch::new("cli"), scratch: Scratch::on_disk("cli") }
    }

    #[allow(dead_code, reason = "not every test file needs it")]
    pub fn root(&self) -> &str {
        self.root.to_str().unwrap()
    }

    /// A path that is removed with the sandbox.
    #[allow(dead_code, reason = "not every test file needs it")]
    pub fn path(&self, name: &str) -> String {
        self.scratch.join(name).to_str().unwrap().to_owned()
    }

    /// A file with some text.
    #[allow(dead_code, reason = "not every test file needs it")]
    pub fn file(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_situ"));
        command
            .env("SITU_ROOT", self.root.path())
            .env_remove("SITU_GROUP")
            .env("COLUMNS", "100")
            .args(arguments);
        command
    }

    /// Runs the command to its end.
    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Starts the command, in a process group of its own.
    #[allow(dead_code, reason = "not every test file needs it")]
    pub fn spawn(&self, arguments: &[&str]) -> Process {
        self.spawn_command(self.command(arguments))
    }

    /// Starts any program, in the same way.
    #[allow(dead_code, reason = "not every test file needs it")]
    pub fn spawn_command(&self, command: Command) -> Process {
        // A shell that runs the tests in the background makes them ignore Ctrl-C. The command must not ignore
        // it.
        let mut heedful = Command::new("env");
        heedful.arg("--default-signal=INT").arg(command.get_program()).args(command.get_args());
        for (key, value) in command.get_envs() {
            match value {
                Some(value) => heedful.env(key, value),
                None => heedful.env_remove(key),
            };
        }
        let child = heedful
            .process_group(0)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let process = Process { child };
        while process.ignores_interrupts() {
            std::thread::yield_now();
        }
        process
    }

    /// Waits until messages are published.
    #[allow(dead_code, reason = "not every test file needs it")]
    pub fn wait_for_topic(&self, topic: &str) {
        let begin = Instant::now();
        loop {
            let list = json(&self.run(&["--json", "topic", "list"]));
            let topics = list["topics"].as_array().unwrap();
            if topics.iter().any(|t| t["name"] == topic && t["published"].as_u64() > Some(0)) {
                return;
            }
            assert!(begin.elapsed() < Duration::from_secs(20), "no message is published on {topic}: {list}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Returns all files below the root, except the file that announces recordings to programs: that one
    /// stays.
    #[allow(dead_code, reason = "not every test file needs it")]
    pub fn files(&self) -> Vec<String> {
        let files = self.root.files().into_iter().filter(|path| !path.ends_with("trace/control"));
        files.map(|path| path.display().to_string()).collect()
    }
}

/// A running command; killed when dropped.
pub struct Process {
    child: Child,
}

impl Process {
    #[allow(dead_code, reason = "not every test file needs it")]
    pub fn take_stdout(&mut self) -> ChildStdout {
        self.child.stdout.take().unwrap()
    }

    /// Sends Ctrl-C. Returns the output of the command.
    #[allow(dead_code, reason = "not every test file needs it")]
    pub fn interrupt(&mut self) -> Output {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        self.wait(Duration::from_secs(20))
    }

    #[allow(dead_code, reason = "not every test file needs it")]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    #[allow(dead_code, reason = "not every test file needs it")]
    pub fn signal(&self, signal: rustix::process::Signal) {
        let process = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(process, signal).unwrap();
    }

    /// Sends these signals in quick succession. Returns the output of the command.
    #[allow(dead_code, reason = "not every test file needs it")]
    pub fn end_by(&mut self, signals: &[rustix::process::Signal]) -> Output {
        let process = rustix::process::Pid::from_child(&self.child);
        signals.iter().for_each(|signal| rustix::process::kill_process(process, *signal).unwrap());
        self.wait(Duration::from_secs(20))
    }

    /// Returns whether `env` has not reset the signals yet, so that Ctrl-C would be lost. Returns false if
    /// the process has ended.
    #[allow(dead_code, reason = "not every test file needs it")]
    fn ignores_interrupts(&self) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        // Bit 1 is signal 2, SIGINT.
        ignored.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).is_ok_and(|mask| mask & 2 != 0))
    }

    /// Sends Ctrl-C as a terminal does: to the command and to all its child processes.
    #[allow(dead_code, reason = "not every test file needs it")]
    pub fn interrupt_group(&mut self) -> Output {
        let group = format!("-{}", self.child.id());
        assert!(Command::new("kill").args(["-INT", "--", &group]).status().unwrap().success());
        self.wait(Duration::from_secs(20))
    }

    #[allow(dead_code, reason = "not every test file needs it")]
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    #[allow(dead_code, reason = "not every test file needs it")]
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub fn wait(&mut self, timeout: Duration) -> Output {
        let begin = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(begin.elapsed() < timeout, "the command does not end");
            std::thread::sleep(Duration::from_millis(5));
        };
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        if let Some(mut out) = self.child.stdout.take() {
            out.read_to_end(&mut stdout).unwrap();
        }
        if let Some(mut err) = self.child.stderr.take() {
            err.read_to_end(&mut stderr).unwrap();
        }
        Output { status, stdout, stderr }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the output of a command that must have succeeded.
pub fn text(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Returns the JSON of a command that must have succeeded.
pub fn json(output: &Output) -> Value {
    serde_json::from_str(&text(output)).unwrap()
}
