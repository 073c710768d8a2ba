//! Signals interrupt only the program's own threads: its handlers never run on a thread of the library.
#![cfg(not(loom))]

mod common;

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use situ_memory::vulkan::VulkanDomain;
use situ_memory::{Domain, EmulatedDomain, EmulatedOptions};

use common::{Scratch, TIMEOUT, role};
use situ_testkit::process::Role;

static HANDLED: AtomicUsize = AtomicUsize::new(0);
/// The threads that ran the handler, in order.
static HANDLERS: [AtomicI32; 4096] = [const { AtomicI32::new(0) }; 4096];

fn this_thread() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

extern "C" fn handle(_: c_int) {
    let turn = HANDLED.fetch_add(1, Ordering::SeqCst);
    if let Some(place) = HANDLERS.get(turn) {
        place.store(this_thread(), Ordering::SeqCst);
    }
}

/// Blocks SIGUSR1 in this thread, or lets it through.
fn mask(how: c_int) {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the set may be written, and is empty before a signal is put into it.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGUSR1);
        libc::pthread_sigmask(how, set.as_ptr(), null_mut());
    }
}

fn thread_names() -> Vec<(i32, String)> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let named = |task: std::fs::DirEntry| {
        let name = std::fs::read_to_string(task.path().join("comm")).ok()?;
        Some((task.file_name().to_str()?.parse().ok()?, name.trim().to_owned()))
    };
    tasks.filter_map(named).collect()
}

#[test]
#[ignore = "a role that the test starts"]
fn child() {
    let Some((_, scratch)) = role() else { return };
    let handler: extern "C" fn(c_int) = handle;
    // SAFETY: the handler only changes atomic numbers.
    unsafe { libc::signal(libc::SIGUSR1, handler as libc::sighandler_t) };
    let collector = scratch.collect(|_| {});
    let producer = scratch.producer("signals");
    let emulated = EmulatedDomain::new(EmulatedOptions::default()).stream().unwrap();
    let vulkan: Vec<_> =
        VulkanDomain::all().into_iter().flatten().map(|device| device.stream().unwrap()).collect();
    // Blocks the signal on this thread only. The library's threads exist already and must block it
    // themselves.
    mask(libc::SIG_BLOCK);
    // Each thread gives itself its name.
    let expected = ["situ-collector", "situ-trace", "situ-emulated"];
    let are_there = |all: &[(i32, String)]| expected.iter().all(|it| all.iter().any(|(_, name)| name == it));
    let begin = Instant::now();
    let all = loop {
        let all = thread_names();
        if are_there(&all) {
            break all;
        }
        assert!(begin.elapsed() < TIMEOUT, "{expected:?} among {all:?}");
        std::thread::sleep(Duration::from_millis(1));
    };
    let threads: Vec<_> = all.iter().filter(|(_, name)| name.starts_with("situ-")).collect();
    for (thread, _) in &threads {
        // Sent to the process, where the kernel chooses a thread, and to this thread, where it stays pending
        // if blocked.
        for _ in 0..100 {
            // SAFETY: the handler is installed.
            unsafe {
                libc::kill(libc::getpid(), libc::SIGUSR1);
                libc::syscall(libc::SYS_tgkill, libc::getpid(), *thread, libc::SIGUSR1);
            }
        }
    }
    std::thread::sleep(Duration::from_millis(50));
    let met: Vec<i32> = HANDLERS.iter().map(|thread| thread.load(Ordering::SeqCst)).collect();
    let library: Vec<_> = threads.iter().filter(|(thread, _)| met.contains(thread)).collect();
    assert!(library.is_empty(), "the handler ran on {library:?}");
    mask(libc::SIG_UNBLOCK);
    assert!(HANDLED.load(Ordering::SeqCst) > 0, "no signal came at all");
    drop((collector, producer, emulated, vulkan));
}

#[test]
fn handlers_of_the_program_run_on_its_own_threads() {
    let scratch = Scratch::new();
    let status = Role::start(&scratch, "signals").end(TIMEOUT);
    assert!(status.success(), "{status}");
}
