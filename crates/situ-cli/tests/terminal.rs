//! `situ top` in a terminal of its own.

#[allow(dead_code, reason = "not every test file needs everything")]
mod common;

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::process::Command;
use std::time::{Duration, Instant};

use common::Sandbox;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// A terminal of 100 x 24: the test's end, and the program's.
fn terminal() -> (File, File) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    tcsetwinsize(&ours, Winsize { ws_row: 24, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    let path = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
    let theirs = OpenOptions::new().read(true).write(true).open(path).unwrap();
    (ours.into(), theirs)
}

#[test]
fn top_ends_with_its_terminal() {
    let sandbox = Sandbox::new();
    let (mut ours, theirs) = terminal();
    // In a new session, like a shell in a window: when the window is closed, reads from the terminal fail.
    let mut command = Command::new("setsid");
    command.args(["--ctty", env!("CARGO_BIN_EXE_situ"), "--root", sandbox.root(), "top"]);
    command.stdin(theirs.try_clone().unwrap()).stdout(theirs.try_clone().unwrap()).stderr(theirs);
    let mut top = command.spawn().unwrap();
    drop(command);
    let (mut seen, mut chunk) = (Vec::new(), [0; 4096]);
    while !String::from_utf8_lossy(&seen).contains("No topics yet.") {
        let count = ours.read(&mut chunk).unwrap();
        seen.extend_from_slice(&chunk[..count]);
    }
    // Waits, because the program is waiting for a key most of the time.
    std::thread::sleep(Duration::from_millis(250));
    drop(ours);
    let closed = Instant::now();
    let status = loop {
        if let Some(status) = top.try_wait().unwrap() {
            break status;
        }
        if closed.elapsed() > Duration::from_secs(20) {
            top.kill().unwrap();
            panic!("it keeps running without a terminal");
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    assert!(!status.success(), "{status}");
}
