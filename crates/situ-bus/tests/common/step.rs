//! Runs a child step by step, so that it can be killed at a chosen instruction.

use rustix::thread::CpuSet;

use super::process::Role;

/// How far a child is taken between two looks at it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Stride {
    Instruction = libc::PTRACE_SINGLESTEP as isize,
    /// To the next entry to or exit from a system call.
    SystemCall = libc::PTRACE_SYSCALL as isize,
}

/// Child: what its parent steps through. From here on it runs only as far as it is let.
pub fn stepped(operation: impl FnOnce()) {
    // SAFETY: neither call has conditions; the parent of a stepped role is in `Steps::begin` by now.
    unsafe {
        libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0);
        libc::raise(libc::SIGSTOP);
    }
    operation();
    // SAFETY: as above.
    unsafe { libc::raise(libc::SIGSTOP) };
}

/// Parent: a child that stands at the beginning of what it shall be stepped through. Must stay on the thread
/// that started the child.
pub struct Steps {
    thread: libc::pid_t,
}

impl Steps {
    /// Waits until the child, which said its thread's number, stands.
    pub fn begin(role: &mut Role) -> Self {
        let thread = role.number("thread").try_into().unwrap();
        // On one processor, they hand it to each other; on two, each step would wake the other up.
        let mut processors = CpuSet::new();
        processors.set(rustix::thread::sched_getcpu());
        for thread in [None, rustix::process::Pid::from_raw(thread)] {
            let _ = rustix::thread::sched_setaffinity(thread, &processors);
        }
        let steps = Self { thread };
        assert_eq!(steps.wait(), Some(libc::SIGSTOP), "the child stops at the beginning");
        steps
    }

    /// The signal that stopped it; nothing if it ended.
    fn wait(&self) -> Option<i32> {
        let mut status = 0;
        loop {
            // SAFETY: the status is ours to write.
            let waited = unsafe { libc::waitpid(self.thread, &mut status, libc::__WALL) };
            if waited == self.thread {
                return libc::WIFSTOPPED(status).then(|| libc::WSTOPSIG(status));
            }
            // It is no child of ours to wait for until it asks to be traced.
            std::thread::yield_now();
        }
    }

    /// Takes the child this many steps further. Returns how many steps it took until its end, if it ended
    /// before.
    pub fn go(&self, stride: Stride, steps: u64) -> Result<(), u64> {
        for done in 0..steps {
            // SAFETY: the child is traced by this thread and stands.
            assert_eq!(unsafe { libc::ptrace(stride as libc::c_uint, self.thread, 0, 0) }, 0);
            match self.wait() {
                Some(libc::SIGTRAP) => {}
                Some(libc::SIGSTOP) => return Err(done),
                other => panic!("the child stops with {other:?} after {done} steps"),
            }
        }
        Ok(())
    }

    /// Kills the child where it stands.
    pub fn kill(self, role: Role) {
        role.signal(rustix::process::Signal::KILL);
        // A traced thread has to be waited for by itself before its process can end.
        let mut status = 0;
        // SAFETY: the status is ours to write.
        while unsafe { libc::waitpid(self.thread, &mut status, libc::__WALL) } == self.thread
            && libc::WIFSTOPPED(status)
        {}
        role.kill();
    }

    /// How many steps it takes to its end.
    pub fn count(&self, stride: Stride) -> u64 {
        self.go(stride, u64::MAX).expect_err("it comes to an end")
    }
}
