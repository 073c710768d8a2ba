//! Windows of regions in programs that lock their memory: they hold what is used, not what could be.
#![cfg(not(loom))]

use std::process::Command;

use rustix::io::Errno;
use rustix::mm::{MlockAllFlags, mlockall};
use rustix::process::{Resource, Rlimit, setrlimit};
use situ_layout::region::{Options, Region, Vector};
use situ_memory::Window;

const ROLE: &str = "SITU_TEST_ROLE";
const MIB: u64 = 1 << 20;

/// The memory of this process, in bytes.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

fn regions(count: u64) -> Vec<Region<Vector<u64>, Window>> {
    let made = |number: u64| {
        let window = Window::take(1 << 20).unwrap();
        let mut region = Region::<Vector<u64>, Window>::with_backing(window, Options::default()).unwrap();
        region.root_mut().push(number).unwrap();
        region
    };
    (0..count).map(made).collect()
}

/// Locks memory; false where this process may not.
fn lock(flags: MlockAllFlags) -> bool {
    match mlockall(flags) {
        Err(Errno::PERM | Errno::NOMEM) => false,
        result => {
            result.unwrap();
            true
        }
    }
}

#[test]
#[ignore = "a role that the tests start"]
fn child() {
    let Ok(role) = std::env::var(ROLE) else { return };
    // What goes wrong must not take the machine's memory: without a limit, it would be 16 GiB.
    setrlimit(Resource::As, Rlimit { current: Some(2048 * MIB), maximum: Some(2048 * MIB) }).unwrap();
    let mut kept = Vec::new();
    if role == "after" {
        kept = regions(3);
    }
    let before = resident();
    let flags = match role.as_str() {
        "before" => MlockAllFlags::FUTURE,
        _ => MlockAllFlags::CURRENT | MlockAllFlags::FUTURE,
    };
    if !lock(flags) {
        return eprintln!("skipped: this process may not lock its memory");
    }
    // All that is mapped, the program itself included, comes by the call; what windows may take is in it.
    let locked = resident() - before;
    assert!(locked < 96 * MIB, "{locked} bytes by the call");
    let before = resident();
    kept.extend(regions(100));
    let taken = resident() - before;
    assert!(taken < 16 * MIB, "{taken} bytes for 100 regions of a number each");
    for (number, region) in kept.iter().rev().take(100).rev().enumerate() {
        assert_eq!(region.root().as_slice(), &[number as u64]);
    }
}

fn play(role: &str) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "child", "--ignored", "--nocapture"]).env(ROLE, role);
    assert!(child.status().unwrap().success());
}

#[test]
fn regions_take_what_they_use_where_memory_is_locked_from_the_start() {
    play("before");
}

#[test]
fn regions_take_what_they_use_where_memory_is_locked_later() {
    play("after");
}
