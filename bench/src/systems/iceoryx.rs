//! RouDi, classic iceoryx's daemon, which iceoryx and Cyclone DDS need. Their workers are C++ programs in
//! bench/peers.

use std::fmt::Write;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use crate::session::Session;

const PROGRAM: &str = "iox-roudi";
/// Sizes and numbers of chunks for table `bounded`. The sizes include room for the headers of iceoryx and of
/// Cyclone DDS.
pub const BOUNDED_POOLS: [(usize, usize); 8] = [
    (2 << 10, 64),
    (6 << 10, 64),
    (20 << 10, 64),
    (72 << 10, 32),
    (272 << 10, 32),
    ((1 << 20) + (64 << 10), 16),
    ((4 << 20) + (64 << 10), 16),
    ((8 << 20) + (64 << 10), 16),
];

/// A running RouDi. Dropping it ends the process.
pub struct Daemon {
    child: Child,
}

impl Daemon {
    /// Starts RouDi with these pools (sizes and numbers of chunks), and waits until it is ready.
    pub fn start(session: &Session, pools: &[(usize, usize)]) -> Result<Self, String> {
        let mut config = "[general]\nversion = 1\n\n[[segment]]\n".to_owned();
        for (size, count) in pools {
            // Writing to a string cannot fail.
            let _ = write!(config, "\n[[segment.mempool]]\nsize = {size}\ncount = {count}\n");
        }
        let path = session.file("roudi.toml");
        std::fs::write(&path, config).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        let mut command = Command::new(PROGRAM);
        command
            .arg("--config-file")
            .arg(&path)
            .args(["--monitoring-mode", "off", "--log-level", "error"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        // SAFETY: makes only a system call that is allowed between fork and exec.
        unsafe {
            command.pre_exec(|| {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
                Ok(())
            });
        }
        let child = command
            .spawn()
            .map_err(|error| format!("cannot start {PROGRAM}: {error}; run bench/setup.sh"))?;
        let mut daemon = Self { child };
        daemon.wait_until_ready()?;
        Ok(daemon)
    }

    fn wait_until_ready(&mut self) -> Result<(), String> {
        let (Some(output), Some(errors)) = (self.child.stdout.take(), self.child.stderr.take()) else {
            return Err(format!("{PROGRAM} has no pipes"));
        };
        let (said, lines) = channel();
        let other = said.clone();
        // The threads read until the daemon ends. It therefore never blocks on a full pipe.
        std::thread::spawn(move || {
            BufReader::new(output).lines().map_while(Result::ok).for_each(|line| drop(said.send(line)))
        });
        std::thread::spawn(move || {
            BufReader::new(errors).lines().map_while(Result::ok).for_each(|line| drop(other.send(line)))
        });
        let deadline = Instant::now() + Duration::from_secs(15);
        let mut heard = String::new();
        loop {
            match lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) if line.contains("ready for clients") => return Ok(()),
                Ok(line) => heard = line,
                Err(_) => return Err(format!("{PROGRAM} did not become ready; its last output: {heard}")),
            }
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // SAFETY: the signal goes to a child that has not been waited for, so the process id is still the
        // child's.
        unsafe { libc::kill(self.child.id() as libc::pid_t, libc::SIGTERM) };
        let deadline = Instant::now() + Duration::from_secs(5);
        while Instant::now() < deadline {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        // The daemon had its time to clean up.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
