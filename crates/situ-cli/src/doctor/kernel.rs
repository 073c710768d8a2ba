//! Checks of the kernel: the system calls that Situ uses to wait.

use rustix::io::Errno;
use rustix::thread::futex;

use super::Check;

/// Tries each kernel feature.
pub fn checks() -> Vec<Check> {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    vec![waiting_on_many(&release)]
}

/// A kernel that supports the call returns "invalid argument" for a wait without futexes.
fn waiting_on_many(release: &str) -> Check {
    let answer = futex::waitv(&[], futex::WaitvFlags::empty(), None, rustix::thread::ClockId::Monotonic);
    known(
        "futex_waitv",
        answer.err(),
        release,
        "Waiting on several topics at once checks them every 200 µs instead of sleeping. Linux 5.16 has the call; a \
         container's seccomp profile may forbid it.",
    )
}

fn known(name: &'static str, error: Option<Errno>, release: &str, advice: &str) -> Check {
    match error {
        Some(e @ (Errno::NOSYS | Errno::PERM | Errno::ACCESS)) => {
            Check::warn(name, format!("not available in Linux {release}: {e}"), advice)
        }
        _ => Check::ok(name, format!("available in Linux {release}")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Status;
    use super::*;

    #[test]
    fn a_missing_call_and_a_refused_argument_are_distinguished() {
        assert_eq!(known("x", Some(Errno::NOSYS), "4.19", "").status, Status::Warn);
        assert_eq!(known("x", Some(Errno::PERM), "6.1", "").status, Status::Warn);
        assert_eq!(known("x", Some(Errno::INVAL), "6.1", "").status, Status::Ok);
        assert_eq!(known("x", None, "6.1", "").status, Status::Ok);
    }
}
