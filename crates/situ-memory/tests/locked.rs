//! Windows of regions in programs that lock their memory: only the used part takes memory.
#![cfg(not(loom))]

use rustix::mm::{MlockAllFlags, mlockall, munlockall};
use rustix::process::{Resource, Rlimit, setrlimit};
use situ_memory::AddressWindow;
use situ_region::{Options, Region, Vector};
use situ_testkit::process::{rerun, role};

const MIB: u64 = 1 << 20;
/// The exit code of a child that may not lock its memory.
const NO_PERMISSION: i32 = 77;

/// The memory of this process, in bytes.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

fn regions(count: u64) -> Vec<Region<Vector<u64>, AddressWindow>> {
    let made = |number: u64| {
        let window = AddressWindow::take(1 << 20).unwrap();
        let mut region =
            Region::<Vector<u64>, AddressWindow>::with_backing(window, Options::default()).unwrap();
        region.root_mut().push(number).unwrap();
        region
    };
    (0..count).map(made).collect()
}

#[test]
#[ignore = "a role that the tests start"]
fn child() {
    let Some(role) = role() else { return };
    // A failure must not take all the machine's memory: without a limit, it would be 16 GiB.
    setrlimit(Resource::As, Rlimit { current: Some(2048 * MIB), maximum: Some(2048 * MIB) }).unwrap();
    // Permission is asked before windows exist: a later failure is a defect of the windows.
    if mlockall(MlockAllFlags::CURRENT).is_err() {
        std::process::exit(NO_PERMISSION);
    }
    munlockall().unwrap();
    let mut kept = Vec::new();
    if role == "after" {
        kept = regions(3);
    }
    let before = resident();
    let flags = match role.as_str() {
        "before" => MlockAllFlags::FUTURE,
        _ => MlockAllFlags::CURRENT | MlockAllFlags::FUTURE,
    };
    mlockall(flags).unwrap();
    // The call finds memory for everything that is mapped, the program itself and the writable part of
    // windows included.
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
    let status = rerun("child", role).status().unwrap();
    if status.code() == Some(NO_PERMISSION) {
        return eprintln!("skipped: this process may not lock its memory");
    }
    assert!(status.success(), "{status}");
}

#[test]
fn regions_take_what_they_use_where_memory_is_locked_from_the_start() {
    play("before");
}

#[test]
fn regions_take_what_they_use_where_memory_is_locked_later() {
    play("after");
}
