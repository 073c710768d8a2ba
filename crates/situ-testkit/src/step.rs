//! Runs a child step by step, so that it can be killed at a chosen instruction.

use rustix::thread::CpuSet;

use crate::process::Role;

/// The distance to step a child before it is checked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stride {
    /// One instruction.
    Instruction = libc::PTRACE_SINGLESTEP as isize,
    /// To the next entry to or exit from a system call.
    SystemCall = libc::PTRACE_SYSCALL as isize,
}

/// Child: begins the part that its parent steps through. From here on the child runs only as far as its
/// parent lets it.
pub fn stepped(operation: impl FnOnce()) {
    // SAFETY: neither call has conditions. The parent of a stepped role is in `Steps::begin` by now.
    unsafe {
        libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0);
        libc::raise(libc::SIGSTOP);
    }
    operation();
    // SAFETY: as above.
    unsafe { libc::raise(libc::SIGSTOP) };
}

/// Parent: a child that is stopped at the beginning of the stepped part. Must stay on the thread that started
/// the child.
#[derive(Debug)]
pub struct Steps {
    thread: libc::pid_t,
}

impl Steps {
    /// Waits until the child has stopped. The child has sent its thread's number.
    pub fn begin(role: &mut Role) -> Self {
        let thread = role.number("thread").try_into().unwrap();
        // On one processor, parent and child hand it to each other. On two, each step would wake the other
        // one.
        let mut processors = CpuSet::new();
        processors.set(rustix::thread::sched_getcpu());
        for thread in [None, rustix::process::Pid::from_raw(thread)] {
            let _ = rustix::thread::sched_setaffinity(thread, &processors);
        }
        let steps = Self { thread };
        assert_eq!(steps.wait(), Some(libc::SIGSTOP), "the child stops at the beginning");
        steps
    }

    /// The signal that stopped the child; `None` if it has ended.
    fn wait(&self) -> Option<i32> {
        let mut status = 0;
        loop {
            // SAFETY: the status is a local variable.
            let waited = unsafe { libc::waitpid(self.thread, &mut status, libc::__WALL) };
            if waited == self.thread {
                return libc::WIFSTOPPED(status).then(|| libc::WSTOPSIG(status));
            }
            // Before the child asks to be traced, there is nothing to wait for.
            std::thread::yield_now();
        }
    }

    /// Lets the child take this many more steps. If it ends before, returns the number of steps that it took.
    pub fn go(&self, stride: Stride, steps: u64) -> Result<(), u64> {
        for done in 0..steps {
            // SAFETY: this thread traces the child, and the child is stopped.
            assert_eq!(unsafe { libc::ptrace(stride as libc::c_uint, self.thread, 0, 0) }, 0);
            match self.wait() {
                Some(libc::SIGTRAP) => {}
                Some(libc::SIGSTOP) => return Err(done),
                other => panic!("the child stops with {other:?} after {done} steps"),
            }
        }
        Ok(())
    }

    /// Kills the stopped child.
    pub fn kill(self, role: Role) {
        role.signal(rustix::process::Signal::KILL);
        // A traced thread must be waited for by itself before its process can end.
        let mut status = 0;
        // SAFETY: the status is a local variable.
        while unsafe { libc::waitpid(self.thread, &mut status, libc::__WALL) } == self.thread
            && libc::WIFSTOPPED(status)
        {}
        role.kill();
    }

    /// The number of steps until the child ends.
    pub fn count(&self, stride: Stride) -> u64 {
        self.go(stride, u64::MAX).expect_err("it comes to an end")
    }
}
