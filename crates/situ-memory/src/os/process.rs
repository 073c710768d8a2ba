//! Which process something in shared memory belongs to, and whether that process has ended.
//!
//! The number of a process alone is not enough: it is reused, and in another namespace it is another
//! process's number. An [`Identity`] therefore also says when the process began and in which namespaces both
//! numbers were read. From an identity of other namespaces than the caller's this module concludes nothing.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open, test_kill_process};

use crate::os::fork::Process;

/// A process's identity, as other processes can check it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Identity {
    /// Its number.
    pub pid: u32,
    /// When it began, in the kernel's ticks since the machine's start; 0 if unknown.
    pub born: u64,
    /// The namespaces in which these were read, 0 if unknown. The upper half is the inode of the process
    /// namespace, the lower half that of the clock namespace.
    pub namespaces: u64,
}

/// Whether a process has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It exists.
    Runs,
    /// It does not exist any more, or is a zombie that its parent has not waited for: all its files are
    /// closed.
    Ended,
    /// It cannot be looked up from here: it is in another namespace, or this system does not show it.
    Unknown,
}

impl Identity {
    /// This process.
    pub fn of_this() -> Self {
        let pid = std::process::id();
        let namespaces = namespaces();
        let born = if namespaces == 0 { None } else { born(pid) };
        Self { pid, born: born.unwrap_or_default(), namespaces }
    }

    /// Whether its numbers mean the same to this process.
    fn can_be_looked_up(&self) -> bool {
        self.pid != 0 && self.born != 0 && self.namespaces != 0 && self.namespaces == namespaces()
    }

    /// Whether it has ended.
    pub fn state(&self) -> State {
        Watch::of(*self).state()
    }
}

/// A process that is checked repeatedly: by one system call, where the kernel has descriptors of processes.
#[derive(Debug)]
pub struct Watch {
    identity: Identity,
    descriptor: Option<OwnedFd>,
}

impl Watch {
    /// Begins to watch a process.
    pub fn of(identity: Identity) -> Self {
        let descriptor = identity.can_be_looked_up().then(|| {
            let descriptor = pidfd_open(Pid::from_raw(identity.pid as i32)?, PidfdFlags::empty()).ok()?;
            // Checked after the descriptor was opened: if this number is the right process now, so is the
            // descriptor.
            (born(identity.pid) == Some(identity.born)).then_some(descriptor)
        });
        Self { identity, descriptor: descriptor.flatten() }
    }

    /// The process.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// A descriptor of it, readable when it has ended, if there is one.
    pub fn into_descriptor(self) -> Option<OwnedFd> {
        self.descriptor
    }

    /// Whether it has ended.
    pub fn state(&self) -> State {
        if let Some(descriptor) = &self.descriptor {
            let mut polled = [PollFd::new(descriptor, PollFlags::IN)];
            return match poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) {
                Ok(0) => State::Runs,
                Ok(_) => State::Ended,
                Err(_) => State::Unknown,
            };
        }
        let Identity { pid, born: then, .. } = self.identity;
        if !self.identity.can_be_looked_up() {
            return State::Unknown;
        }
        match born(pid) {
            // Another process has its number by now.
            Some(born) if born != then => State::Ended,
            // Its first thread may have ended while others have not.
            Some(_) if threads_ended(pid) => State::Ended,
            Some(_) => State::Runs,
            // It does not exist, or the system hides it.
            None => match Pid::from_raw(pid as i32).map(test_kill_process) {
                Some(Err(rustix::io::Errno::SRCH)) => State::Ended,
                _ => State::Unknown,
            },
        }
    }
}

/// Whether all threads of a process have ended.
fn threads_ended(pid: u32) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return true };
    threads.flatten().all(|thread| match fs::read_to_string(thread.path().join("stat")) {
        Ok(stat) => matches!(fields(&stat).next(), Some("Z" | "X")),
        Err(_) => true,
    })
}

/// When a process began.
///
/// It began when its first thread did. That thread's file is read, because emulators of other machines
/// (qemu-user) show a process a `/proc/self/stat` of their own, in which each thread finds another time.
fn born(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/task/{pid}/stat")).ok()?;
    fields(&stat).nth(19)?.parse().ok()
}

/// What the kernel writes behind a process's name, which may contain anything: its state first.
fn fields(stat: &str) -> impl Iterator<Item = &str> {
    stat.rsplit(')').next().unwrap_or_default().split_whitespace()
}

/// The namespaces of this process, as in an [`Identity`]. They never change while it lives, so they are read
/// once.
fn namespaces() -> u64 {
    static OF: AtomicU64 = AtomicU64::new(0);
    static KNOWN: AtomicU64 = AtomicU64::new(0);
    // A forked child may be in other namespaces. Both numbers distinguish it, because its pid in its own
    // namespace may be its parent's.
    let this = u64::from(Process::this().generation()) << 32 | u64::from(std::process::id());
    // Acquire: `KNOWN` was stored before `OF`.
    if OF.load(Ordering::Acquire) == this {
        return KNOWN.load(Ordering::Relaxed);
    }
    let found = look_up_namespaces().unwrap_or_default();
    KNOWN.store(found, Ordering::Relaxed);
    OF.store(this, Ordering::Release);
    found
}

fn look_up_namespaces() -> Option<u64> {
    // In the `/proc` of an outer namespace our numbers are other processes'. There, this process has a second
    // number.
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    if numbers.is_some_and(|numbers| numbers.split_whitespace().count() != 1) {
        return None;
    }
    let inode = |name: &str| fs::metadata(format!("/proc/self/ns/{name}")).map(|file| file.ino());
    // Kernels give these inodes numbers of 32 bits. Before Linux 5.6 all processes have the same clocks.
    Some(inode("pid").ok()? << 32 | inode("time").unwrap_or_default() & u64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_ends_before_it_is_waited_for() {
        let this = Identity::of_this();
        assert_eq!(this.state(), State::Runs);
        assert_eq!(std::thread::spawn(Identity::of_this).join().unwrap(), this, "all threads agree");
        assert_eq!(Identity { born: this.born + 1, ..this }.state(), State::Ended, "its number came again");
        assert_eq!(Identity { namespaces: this.namespaces + 1, ..this }.state(), State::Unknown);
        assert_eq!(Identity { namespaces: 0, ..this }.state(), State::Unknown);
        let mut child = std::process::Command::new("sleep").arg("100").spawn().unwrap();
        let of_child = Identity { pid: child.id(), born: born(child.id()).unwrap(), ..this };
        let watch = Watch::of(of_child);
        let blind = Watch { identity: of_child, descriptor: None };
        assert_eq!((watch.state(), blind.state()), (State::Runs, State::Runs));
        child.kill().unwrap();
        while watch.state() != State::Ended {
            std::thread::yield_now();
        }
        assert_eq!((of_child.state(), blind.state()), (State::Ended, State::Ended), "a zombie");
        child.wait().unwrap();
        assert_eq!(
            (watch.state(), of_child.state(), blind.state()),
            (State::Ended, State::Ended, State::Ended)
        );
    }
}
