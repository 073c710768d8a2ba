//! Counts the system calls of child processes with ptrace, as strace does. This needs no tool and no
//! privilege.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Traces processes from a thread of its own: only the tracing thread may wait for them.
pub struct Counter {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<u64>,
}

impl Counter {
    /// Starts counting.
    pub fn start(pids: &[u32]) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let (ready, started) = std::sync::mpsc::channel();
        let (pids, flag) = (pids.to_vec(), stop.clone());
        let thread = std::thread::spawn(move || match attach(&pids) {
            Ok(threads) => {
                // The receiver waits for this message.
                let _ = ready.send(Ok(()));
                count(threads, &flag)
            }
            Err(error) => {
                let _ = ready.send(Err(error));
                0
            }
        });
        match started.recv() {
            Ok(Ok(())) => Ok(Self { stop, thread }),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(io::Error::other("the tracing thread ended")),
        }
    }

    /// Stops, and returns the number of system calls that were entered.
    pub fn stop(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or(0)
    }
}

fn ptrace(request: libc::c_uint, pid: i32, data: usize) -> io::Result<()> {
    // SAFETY: none of the requests used here writes through the data argument.
    let rc = unsafe { libc::ptrace(request, pid, std::ptr::null_mut::<libc::c_void>(), data) };
    if rc == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn attach(pids: &[u32]) -> io::Result<HashMap<i32, bool>> {
    let mut threads = HashMap::new();
    for pid in pids {
        for entry in std::fs::read_dir(format!("/proc/{pid}/task"))? {
            let Some(thread) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            ptrace(libc::PTRACE_SEIZE, thread, libc::PTRACE_O_TRACESYSGOOD as usize)?;
            ptrace(libc::PTRACE_INTERRUPT, thread, 0)?;
            // Counts as outside of a system call.
            threads.insert(thread, false);
        }
    }
    Ok(threads)
}

/// Runs the threads from one entry or exit of a system call to the next until told to stop, then detaches.
fn count(mut threads: HashMap<i32, bool>, stop: &AtomicBool) -> u64 {
    let mut calls = 0;
    let mut leaving = false;
    while !threads.is_empty() {
        if !leaving && stop.load(Ordering::Relaxed) {
            leaving = true;
            for &thread in threads.keys() {
                // The loop below finds threads that are stopped already, or gone.
                let _ = ptrace(libc::PTRACE_INTERRUPT, thread, 0);
            }
        }
        let mut status = 0;
        // SAFETY: `status` is writable.
        let thread =
            unsafe { libc::waitpid(-1, &mut status, libc::__WALL | libc::__WNOTHREAD | libc::WNOHANG) };
        if thread == 0 {
            std::thread::sleep(Duration::from_micros(20));
            continue;
        }
        if thread < 0 {
            break;
        }
        if !libc::WIFSTOPPED(status) {
            threads.remove(&thread);
            continue;
        }
        let signal = libc::WSTOPSIG(status);
        if signal == libc::SIGTRAP | 0x80
            && let Some(inside) = threads.get_mut(&thread)
        {
            *inside = !*inside;
            calls += u64::from(*inside && !leaving);
        }
        if leaving {
            // The process continues. It may also be gone already.
            let _ = ptrace(libc::PTRACE_DETACH, thread, 0);
            threads.remove(&thread);
            continue;
        }
        let event = status >> 16;
        let deliver = if signal == libc::SIGTRAP | 0x80 || event != 0 { 0 } else { signal as usize };
        if ptrace(libc::PTRACE_SYSCALL, thread, deliver).is_err() {
            threads.remove(&thread);
        }
    }
    calls
}
