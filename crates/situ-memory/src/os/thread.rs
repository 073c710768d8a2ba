//! Threads of the library's own.

use std::io;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::thread::JoinHandle;

/// Starts a thread that handles no signals: signals to the process interrupt the calls of the program's own
/// threads. An error if the system has no thread to give.
pub fn spawn<T: Send + 'static>(
    name: &str,
    run: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    let mut all = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: both may be written; the first call initializes what the second reads. Signals of faults belong
    // to a thread and stay unblocked: the program may handle them.
    let blocked = unsafe {
        libc::sigfillset(all.as_mut_ptr());
        for fault in [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP] {
            libc::sigdelset(all.as_mut_ptr(), fault);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()) == 0
    };
    // The thread begins with the mask of this one.
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(run);
    if blocked {
        // SAFETY: it was written above.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), null_mut()) };
    }
    thread
}
