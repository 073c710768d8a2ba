//! A terminal of a test, and what a person would see there.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::common::Sandbox;

fn size(columns: u16) -> Winsize {
    Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

/// A terminal with 24 lines: the test's end, and the program's.
pub fn terminal(columns: u16) -> (File, File) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    tcsetwinsize(&ours, size(columns)).unwrap();
    let path = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
    let theirs = OpenOptions::new().read(true).write(true).open(path).unwrap();
    (ours.into(), theirs)
}

/// Starts the command in a new session, like a shell in a window: it then learns of new sizes, and when the
/// window is closed, reads from the terminal fail.
pub fn start(sandbox: &Sandbox, theirs: File, arguments: &[&str]) -> Child {
    let mut command = Command::new("setsid");
    command.args(["--ctty", env!("CARGO_BIN_EXE_situ"), "--root", sandbox.root()]).args(arguments);
    command.env_remove("SITU_GROUP").env("NO_COLOR", "1");
    command.stdin(theirs.try_clone().unwrap()).stdout(theirs.try_clone().unwrap()).stderr(theirs);
    command.spawn().unwrap()
}

/// A program in a terminal, which shows what a person would see.
pub struct Shown {
    ours: File,
    parser: vt100::Parser,
    child: Child,
}

impl Shown {
    pub fn start(sandbox: &Sandbox, columns: u16, arguments: &[&str]) -> Self {
        let (ours, theirs) = terminal(columns);
        let child = start(sandbox, theirs, arguments);
        Self { ours, parser: vt100::Parser::new(24, columns, 0), child }
    }

    pub fn resize(&mut self, columns: u16) {
        self.parser.screen_mut().set_size(24, columns);
        tcsetwinsize(&self.ours, size(columns)).unwrap();
    }

    /// The lines that are not empty, once they are what the test waits for.
    pub fn lines(&mut self, is_there: impl Fn(&[String]) -> bool) -> Vec<String> {
        let begin = Instant::now();
        let mut chunk = [0; 4096];
        loop {
            let text = self.parser.screen().contents();
            let lines: Vec<String> =
                text.lines().map(|line| line.trim_end().to_owned()).filter(|line| !line.is_empty()).collect();
            if is_there(&lines) {
                return lines;
            }
            assert!(begin.elapsed() < Duration::from_secs(20), "the screen shows:\n{text}");
            let second = Timespec { tv_sec: 1, tv_nsec: 0 };
            if poll(&mut [PollFd::new(&self.ours, PollFlags::IN)], Some(&second)).unwrap() > 0 {
                let count = self.ours.read(&mut chunk).unwrap();
                self.parser.process(&chunk[..count]);
            }
        }
    }

    /// Types keys.
    pub fn press(&mut self, keys: &str) {
        self.ours.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for the end of the command. What it prints must fit into the terminal's buffer.
    pub fn end(&mut self) -> ExitStatus {
        let begin = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(begin.elapsed() < Duration::from_secs(20), "the command does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
