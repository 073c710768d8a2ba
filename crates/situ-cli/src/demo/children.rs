//! The demo's other processes: starts them, reads their reports, stops and reaps them.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// The time limit for a process to stop before it is killed.
const TIMEOUT: Duration = Duration::from_secs(2);
/// The interval between checks of a process that should stop.
const GLANCE: Duration = Duration::from_millis(5);
/// The maximum size of the standard error that is kept of a process.
const LONGEST_COMPLAINT: u64 = 16 << 10;

/// The report that a process of the demo writes to its standard output, one JSON object per line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Report {
    /// Whether it takes part in its topics.
    pub ready: bool,
    /// The frames that it has published.
    pub frames: u64,
    /// The copies of frames that it made, serialization included.
    pub copies: u64,
    /// Bytes in those copies.
    pub bytes_copied: u64,
    /// The time that it has spent on the work itself, not on moving messages, in nanoseconds.
    pub busy_ns: u64,
}

/// The reason that a process could not be started or did not finish its work.
#[derive(Debug, thiserror::Error)]
pub enum ChildError {
    /// The program cannot be started.
    #[error("cannot start the {name} ({program}): {source}")]
    Start {
        /// Its part.
        name: &'static str,
        /// The program.
        program: String,
        /// The error of the system.
        source: std::io::Error,
    },
    /// It ended before its work was done.
    #[error("the {name} ended early ({status}){}", said(complaint))]
    Ended {
        /// Its part.
        name: &'static str,
        /// The exit status.
        status: ExitStatus,
        /// What it wrote to its standard error.
        complaint: String,
    },
    /// It did not become ready.
    #[error("the {name} was not ready after {seconds} s")]
    NotReady {
        /// Its part.
        name: &'static str,
        /// The time limit in seconds.
        seconds: u64,
    },
    /// The system call for its state failed.
    #[error("cannot wait for the {name}: {source}")]
    Wait {
        /// Its part.
        name: &'static str,
        /// The error of the system.
        source: std::io::Error,
    },
}

fn said(complaint: &str) -> String {
    match complaint.trim() {
        "" => String::new(),
        text => format!("; its output: {text}"),
    }
}

/// A process of the demo. Dropping it stops and reaps it.
#[derive(Debug)]
pub struct Part {
    name: &'static str,
    child: Child,
    report: Arc<Mutex<Report>>,
    listener: Option<JoinHandle<()>>,
    complaint: Option<JoinHandle<String>>,
    ended: Option<ExitStatus>,
}

impl Part {
    /// Starts a program with the given arguments.
    pub fn start(name: &'static str, program: &Path, arguments: &[&str]) -> Result<Self, ChildError> {
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|source| ChildError::Start { name, program: program.display().to_string(), source })?;
        let report = Arc::new(Mutex::new(Report::default()));
        let listener = child.stdout.take().map(|out| {
            let report = Arc::clone(&report);
            std::thread::spawn(move || {
                for line in BufReader::new(out).lines().map_while(Result::ok) {
                    if let Ok(said) = serde_json::from_str(&line) {
                        *lock(&report) = said;
                    }
                }
            })
        });
        let complaint = child.stderr.take().map(|mut err| {
            std::thread::spawn(move || {
                let mut kept = Vec::new();
                // An unreadable standard error is ignored; the exit status gives the result.
                let _ = err.by_ref().take(LONGEST_COMPLAINT).read_to_end(&mut kept);
                let _ = std::io::copy(&mut err, &mut std::io::sink());
                String::from_utf8_lossy(&kept).into_owned()
            })
        });
        Ok(Self { name, child, report, listener, complaint, ended: None })
    }

    /// Its latest report.
    pub fn report(&self) -> Report {
        *lock(&self.report)
    }

    /// Returns an error if the process has ended.
    pub fn check(&mut self) -> Result<(), ChildError> {
        let name = self.name;
        match self.child.try_wait().map_err(|source| ChildError::Wait { name, source })? {
            None => Ok(()),
            Some(status) => {
                self.ended = Some(status);
                let complaint = self.complaint.take().and_then(|t| t.join().ok()).unwrap_or_default();
                Err(ChildError::Ended { name, status, complaint })
            }
        }
    }

    /// Waits until the process takes part in its topics.
    pub fn wait_ready(&mut self, timeout: Duration, stop: impl Fn() -> bool) -> Result<(), ChildError> {
        let begin = Instant::now();
        while !self.report().ready && !stop() {
            self.check()?;
            if begin.elapsed() > timeout {
                return Err(ChildError::NotReady { name: self.name, seconds: timeout.as_secs() });
            }
            std::thread::sleep(GLANCE);
        }
        Ok(())
    }

    /// Asks the process to stop, kills it if it does not stop, and returns its latest report.
    pub fn stop(mut self) -> Report {
        self.end();
        self.report()
    }

    fn end(&mut self) {
        if self.ended.is_none() {
            if let Some(pid) = rustix::process::Pid::from_raw(self.child.id().cast_signed()) {
                // The process may have ended a moment ago; the signal then has no receiver.
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
            }
            let begin = Instant::now();
            while matches!(self.child.try_wait(), Ok(None)) {
                if begin.elapsed() > TIMEOUT {
                    let _ = self.child.kill();
                    let _ = self.child.wait();
                    break;
                }
                std::thread::sleep(GLANCE);
            }
            self.ended = Some(ExitStatus::default());
        }
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
        if let Some(complaint) = self.complaint.take() {
            let _ = complaint.join();
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.end();
    }
}

/// A report is plain data, so it is valid even if a thread panicked with the lock.
fn lock(report: &Mutex<Report>) -> MutexGuard<'_, Report> {
    report.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Part {
        Part::start("shell", Path::new("/bin/sh"), &["-c", script]).unwrap()
    }

    #[test]
    fn reports_arrive_and_a_term_signal_ends_it() {
        let mut part = shell("echo '{\"ready\":true,\"frames\":3}'; echo noise; exec sleep 30");
        part.wait_ready(Duration::from_secs(10), || false).unwrap();
        let begin = Instant::now();
        assert_eq!(part.stop(), Report { ready: true, frames: 3, ..Report::default() });
        assert!(begin.elapsed() < TIMEOUT, "a process that stops by itself is not killed");
    }

    #[test]
    fn one_that_ignores_the_signal_is_killed() {
        let mut part = shell("trap '' TERM; echo '{\"ready\":true}'; while :; do sleep 0.05; done");
        part.wait_ready(Duration::from_secs(10), || false).unwrap();
        let pid = part.child.id();
        part.stop();
        assert!(!Path::new(&format!("/proc/{pid}")).exists(), "process {pid} is still there");
    }

    #[test]
    fn an_early_end_is_reported_with_its_output() {
        let mut part = shell("echo 'no such topic' >&2; exit 7");
        let error = part.wait_ready(Duration::from_secs(10), || false).unwrap_err().to_string();
        assert_eq!(error, "the shell ended early (exit status: 7); its output: no such topic");
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = Part::start("filter", Path::new("/none/filter"), &[]).unwrap_err().to_string();
        assert!(error.starts_with("cannot start the filter (/none/filter): "), "{error}");
    }
}
