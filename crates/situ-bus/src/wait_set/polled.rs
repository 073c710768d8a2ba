//! The descriptors of a set: those that were attached, and the one by which other event loops poll the set.
//!
//! ```text
//!   epoll ──┬── eventfd   the bell: topics, guard conditions, changed timers and clocks
//!           ├── timerfd   the timer that is due next
//!           └── attached descriptors
//! ```
//!
//! An epoll descriptor is itself readable while one of its descriptors is ready.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, epoll};
use rustix::io::Errno;
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags};

use crate::clock::now_ns;
use crate::wait_set::bell::Bell;
use crate::wait_set::source::{AttachError, Descriptor, IoReadiness};

/// No source has this key: its generation would be the last one.
const INTERNAL: u64 = u64::MAX;
/// How many descriptors one call reports.
const EVENTS: usize = 64;

/// The epoll descriptor of a set.
#[derive(Debug)]
pub(crate) struct Polled {
    epoll: Arc<OwnedFd>,
    timer: OwnedFd,
    /// What `timer` is set to: a time of the steady clock.
    armed_ns: u64,
    /// The number of attached descriptors.
    attached: usize,
}

fn timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: time.as_secs().try_into().unwrap_or(i64::MAX), tv_nsec: time.subsec_nanos().into() }
}

impl Polled {
    /// Makes the bell readable through a new descriptor.
    pub(crate) fn new(bell: &Bell) -> io::Result<Self> {
        let epoll = Arc::new(epoll::create(epoll::CreateFlags::CLOEXEC)?);
        let event = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = rustix::time::timerfd_create(TimerfdClockId::Monotonic, flags)?;
        let internal = epoll::EventData::new_u64(INTERNAL);
        epoll::add(&*epoll, &event, internal, epoll::EventFlags::IN)?;
        epoll::add(&*epoll, &timer, internal, epoll::EventFlags::IN)?;
        bell.write_to(event);
        Ok(Self { epoll, timer, armed_ns: u64::MAX, attached: 0 })
    }

    /// The descriptor that is readable while something is ready.
    pub(crate) fn fd(&self) -> &Arc<OwnedFd> {
        &self.epoll
    }

    pub(crate) fn attach(&mut self, descriptor: &Descriptor, key: u64) -> Result<(), AttachError> {
        let file = descriptor.file.as_fd();
        epoll::add(&*self.epoll, file, epoll::EventData::new_u64(key), interest(descriptor))
            .map_err(|source| AttachError::Descriptor { fd: file.as_raw_fd(), source: source.into() })?;
        self.attached += 1;
        Ok(())
    }

    pub(crate) fn detach(&mut self, descriptor: &Descriptor) {
        self.attached -= 1;
        // An error means that the program has closed it, which detached it already.
        let _ = epoll::delete(&*self.epoll, descriptor.file.as_fd());
    }

    /// Stops reporting a descriptor, or begins again.
    pub(crate) fn set_reporting(&self, descriptor: &Descriptor, key: u64, on: bool) {
        let flags = if on { interest(descriptor) } else { epoll::EventFlags::ONESHOT };
        // An error means that the program has closed it.
        let data = epoll::EventData::new_u64(key);
        let _ = epoll::modify(&*self.epoll, descriptor.file.as_fd(), data, flags);
    }

    /// Calls `ready` with the key of each descriptor that is ready. No system call if none is attached.
    pub(crate) fn collect(&self, mut ready: impl FnMut(u64, IoReadiness)) {
        if self.attached == 0 {
            return;
        }
        let none = epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) };
        let mut events = [none; EVENTS];
        let Ok(count) = epoll::wait(&*self.epoll, &mut events[..], Some(&timespec(Duration::ZERO))) else {
            return;
        };
        for event in events.into_iter().take(count).filter(|event| event.data.u64() != INTERNAL) {
            // Copied, because the kernel's structure is packed.
            let flags = event.flags;
            let closed = epoll::EventFlags::HUP | epoll::EventFlags::ERR | epoll::EventFlags::RDHUP;
            let readiness = IoReadiness {
                readable: flags.contains(epoll::EventFlags::IN),
                writable: flags.contains(epoll::EventFlags::OUT),
                closed: flags.intersects(closed),
            };
            ready(event.data.u64(), readiness);
        }
    }

    /// Makes the descriptor readable after this time, or at no time.
    pub(crate) fn arm(&mut self, left: Option<Duration>) {
        let left_ns = left.map(|left| u64::try_from(left.as_nanos()).unwrap_or(u64::MAX));
        let due_ns = left_ns.map_or(u64::MAX, |left| now_ns().saturating_add(left));
        // The same timer gives nearly the same time at each call. A time that has come is set again, which
        // makes the descriptor unreadable until then.
        let is_same = self.armed_ns.abs_diff(due_ns) < 1_000 && now_ns() < self.armed_ns;
        if is_same || (due_ns == u64::MAX && self.armed_ns == u64::MAX) {
            return;
        }
        self.armed_ns = due_ns;
        let at = match due_ns {
            u64::MAX => Duration::ZERO,
            // Zero would stop it.
            due_ns => Duration::from_nanos(due_ns.max(1)),
        };
        let value = Itimerspec { it_interval: timespec(Duration::ZERO), it_value: timespec(at) };
        let _ = rustix::time::timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &value);
    }
}

/// Sleeps until the descriptor is readable, or for `time`.
pub(crate) fn sleep(fd: BorrowedFd<'_>, time: Duration) -> io::Result<()> {
    let mut polled = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
    // `poll` has a time limit in nanoseconds on every kernel.
    match rustix::event::poll(&mut polled, Some(&timespec(time))) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn interest(descriptor: &Descriptor) -> epoll::EventFlags {
    let mut flags = epoll::EventFlags::RDHUP;
    flags.set(epoll::EventFlags::IN, descriptor.readable);
    flags.set(epoll::EventFlags::OUT, descriptor.writable);
    flags
}
