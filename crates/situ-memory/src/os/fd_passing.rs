//! Hands memory that is no file to other processes, by descriptors.
//!
//! The owner of such a pool listens on a Unix socket. Its name, in the abstract name space, follows from the
//! pool's number. A client that connects and has access gets one message with the descriptor, and nothing
//! else. The owner reads nothing and waits for no client, so a client that stalls or never stops connecting
//! delays the others only briefly. One thread does this for all pools of a process. It starts with the first
//! pool and ends with the last.
//!
//! Both sides ask the kernel for the other's user. The owner answers its own user, the superuser, and members
//! of the group that the pool's files belong to. The importer trusts only the user that owns the pool's
//! control file, and the superuser: any user could have taken the name.
//!
//! When the owner dies, the kernel closes the socket. Later connections are refused, which shows that the
//! pool is gone. A descriptor that is on its way when the owner dies still arrives.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout, socket_peercred};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect,
    listen, recvmsg, sendmsg, socket_with,
};

use crate::os::fork::Process;
use crate::os::mapping::MemoryError;

const MAGIC: u64 = u64::from_le_bytes(*b"SITUPASS");
/// How many clients may wait for an answer.
const BACKLOG: i32 = 128;
/// How many clients of one pool are answered before the next pool's turn.
const TURN: usize = 32;
/// How long to wait when no descriptors are left.
const REST: Duration = Duration::from_millis(20);

/// A pool whose descriptor is handed out until this is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    id: u64,
    process: Process,
}

/// One pool of the server.
#[derive(Debug, Clone)]
struct Shared {
    id: u64,
    group: Option<u32>,
    size: u64,
    listener: Arc<OwnedFd>,
    descriptor: Arc<OwnedFd>,
}

/// What the thread and the [`Share`]s have in common.
#[derive(Debug)]
struct Server {
    shared: Vec<Shared>,
    /// Wakes the thread when `shared` has changed; made with the first thread, and kept.
    wake: Option<Arc<OwnedFd>>,
    running: bool,
    /// The process that runs the thread.
    process: Option<Process>,
}

static SERVER: Mutex<Server> =
    Mutex::new(Server { shared: Vec::new(), wake: None, running: false, process: None });

fn server() -> MutexGuard<'static, Server> {
    SERVER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The socket's name.
fn name(id: u64) -> String {
    format!("situ-pool-{id:016x}")
}

fn address(id: u64) -> Result<SocketAddrUnix, Errno> {
    SocketAddrUnix::new_abstract_name(name(id).as_bytes())
}

fn system(action: &'static str, id: u64, source: impl Into<io::Error>) -> MemoryError {
    MemoryError::System { action, path: PathBuf::from(format!("@{}", name(id))), source: source.into() }
}

impl Share {
    /// Begins to hand out the descriptor of the pool `id`, whose memory has `size` bytes.
    pub(crate) fn begin(
        id: u64,
        group: Option<u32>,
        descriptor: OwnedFd,
        size: u64,
    ) -> Result<Self, MemoryError> {
        let bound = || {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let listener = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
            bind(&listener, &address(id)?)?;
            listen(&listener, BACKLOG)?;
            Ok::<_, Errno>(listener)
        };
        let listener = Arc::new(bound().map_err(|source| system("listen on", id, source))?);
        let mut server = server();
        let process = Process::this();
        if server.process != Some(process) {
            // A forked child begins with its parent's list, with its parent's sockets, and without the
            // thread.
            *server = Server { shared: Vec::new(), wake: None, running: false, process: Some(process) };
        }
        let wake = match &server.wake {
            Some(wake) => wake.clone(),
            None => {
                let made = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
                let made = Arc::new(made.map_err(|source| system("make a signal for", id, source))?);
                server.wake.insert(made).clone()
            }
        };
        if !server.running {
            let wake = wake.clone();
            crate::os::thread::spawn("situ-share", move || serve(&wake))
                .map_err(|source| system("start a thread for", id, source))?;
            server.running = true;
        }
        server.shared.push(Shared { id, group, size, listener, descriptor: Arc::new(descriptor) });
        drop(server);
        ring(&wake);
        Ok(Self { id, process })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if !self.process.is_this() {
            return;
        }
        let mut server = server();
        server.shared.retain(|shared| shared.id != self.id);
        let wake = server.wake.clone();
        drop(server);
        // The thread closes the socket when it wakes up.
        wake.iter().for_each(|wake| ring(wake));
    }
}

fn ring(wake: &OwnedFd) {
    let _ = rustix::io::write(wake, &1u64.to_ne_bytes());
}

/// The thread's loop, until there is nothing left to share.
fn serve(wake: &OwnedFd) {
    loop {
        let shared = {
            let mut server = server();
            if server.shared.is_empty() {
                // Under the lock: the next `begin` starts another thread.
                server.running = false;
                return;
            }
            server.shared.clone()
        };
        let mut polled: Vec<PollFd<'_>> = Vec::with_capacity(shared.len() + 1);
        polled.push(PollFd::from_borrowed_fd(wake.as_fd(), PollFlags::IN));
        polled.extend(
            shared.iter().map(|shared| PollFd::from_borrowed_fd(shared.listener.as_fd(), PollFlags::IN)),
        );
        if poll(&mut polled, None).is_err() {
            continue;
        }
        if !polled[0].revents().is_empty() {
            let _ = rustix::io::read(wake, &mut [0u8; 8]);
        }
        let mut rest = false;
        for (shared, polled) in shared.iter().zip(&polled[1..]) {
            if !polled.revents().is_empty() {
                rest |= !answer_some(shared);
            }
        }
        if rest {
            let pause = Timespec { tv_sec: 0, tv_nsec: REST.subsec_nanos().into() };
            let _ = poll(&mut [], Some(&pause));
        }
    }
}

/// Answers up to [`TURN`] waiting clients of a pool. Returns false if no descriptor is left to accept one
/// with.
fn answer_some(shared: &Shared) -> bool {
    for _ in 0..TURN {
        match accept_with(&shared.listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
            Ok(client) => {
                // A client that does not take its answer gets none.
                let _ = answer(shared, client.as_fd());
            }
            Err(Errno::INTR | Errno::CONNABORTED) => {}
            Err(Errno::AGAIN) => return true,
            Err(_) => return false,
        }
    }
    true
}

fn answer(shared: &Shared, client: BorrowedFd<'_>) -> rustix::io::Result<()> {
    let peer = socket_peercred(client)?;
    let allowed = peer.uid == rustix::process::geteuid()
        || peer.uid.is_root()
        || shared.group.is_some_and(|group| peer.gid.as_raw() == group);
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors = [shared.descriptor.as_fd()];
    if allowed {
        control.push(SendAncillaryMessage::ScmRights(&descriptors));
    }
    let message = [MAGIC, shared.id, shared.size].map(u64::to_le_bytes);
    // It fits the socket's empty buffer, so this waits for nothing.
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    sendmsg(client, &[IoSlice::new(message.as_flattened())], &mut control, flags).map(drop)
}

/// The owner's answer.
#[derive(Debug)]
pub(crate) enum Answer {
    /// The descriptor.
    Descriptor(OwnedFd),
    /// No process listens: the owner is dead, or has dropped the pool.
    Gone,
    /// The owner did not answer in time: it is stopped, or too many clients ask it.
    Late,
}

/// Asks the owner of the pool `id`, which runs as the user `owner`, for its descriptor.
pub(crate) fn ask(id: u64, owner: u32, size: u64, timeout: Duration) -> Result<Answer, MemoryError> {
    let start = Instant::now();
    let left = || timeout.saturating_sub(start.elapsed()).max(Duration::from_millis(1));
    let asked = || {
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        // Connecting waits if too many clients are waiting already.
        set_socket_timeout(&socket, Timeout::Send, Some(left()))?;
        let address = address(id)?;
        while let Err(error) = connect(&socket, &address) {
            if error != Errno::INTR {
                return Err(error);
            }
        }
        Ok::<_, Errno>(socket)
    };
    let socket = match asked() {
        Ok(socket) => socket,
        Err(Errno::CONNREFUSED | Errno::CONNRESET) => return Ok(Answer::Gone),
        Err(Errno::AGAIN) => return Ok(Answer::Late),
        Err(source) => return Err(system("connect to", id, source)),
    };
    let peer = socket_peercred(&socket).map_err(|source| system("look at", id, source))?;
    if peer.uid.as_raw() != owner && !peer.uid.is_root() {
        return Err(system("trust", id, Errno::PERM));
    }
    let mut message = [0u8; 24];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = loop {
        set_socket_timeout(&socket, Timeout::Recv, Some(left()))
            .map_err(|source| system("listen to", id, source))?;
        let mut parts = [IoSliceMut::new(&mut message)];
        match recvmsg(&socket, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC | RecvFlags::WAITALL) {
            Ok(received) => break received.bytes,
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Ok(Answer::Late),
            Err(Errno::CONNRESET) => return Ok(Answer::Gone),
            Err(source) => return Err(system("listen to", id, source)),
        }
    };
    if received == 0 {
        return Ok(Answer::Gone);
    }
    let words = [0, 8, 16].map(|at| u64::from_le_bytes(std::array::from_fn(|byte| message[at + byte])));
    if received != message.len() || words != [MAGIC, id, size] {
        return Err(system("understand", id, Errno::PROTO));
    }
    let descriptors = control.drain().find_map(|part| match part {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    match descriptors {
        Some(descriptor) => Ok(Answer::Descriptor(descriptor)),
        // The owner refused access to this user.
        None => Err(system("import memory from", id, Errno::ACCESS)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(20);

    /// A number that no other test and no other process uses.
    fn unique() -> u64 {
        use std::sync::atomic::{AtomicU64, Ordering};
        static NEXT: AtomicU64 = AtomicU64::new(0);
        u64::from(std::process::id()) << 32 | NEXT.fetch_add(1, Ordering::Relaxed)
    }

    fn file() -> OwnedFd {
        std::fs::File::open("/proc/self/exe").unwrap().into()
    }

    fn me() -> u32 {
        rustix::process::geteuid().as_raw()
    }

    fn inode(descriptor: &OwnedFd) -> (u64, u64) {
        let stat = rustix::fs::fstat(descriptor).unwrap();
        (stat.st_dev, stat.st_ino)
    }

    #[test]
    fn a_descriptor_arrives_until_the_share_ends() {
        for _ in 0..20 {
            let id = unique();
            let share = Share::begin(id, None, file(), 77).unwrap();
            let Ok(Answer::Descriptor(got)) = ask(id, me(), 77, TIMEOUT) else { panic!("no descriptor") };
            assert_eq!(inode(&got), inode(&file()));
            drop(share);
            // The socket goes when the thread wakes up; then no process listens.
            let start = Instant::now();
            while !matches!(ask(id, me(), 77, TIMEOUT), Ok(Answer::Gone)) {
                assert!(start.elapsed() < TIMEOUT);
            }
        }
    }

    #[test]
    fn who_does_not_read_delays_nobody() {
        let id = unique();
        let _share = Share::begin(id, None, file(), 1).unwrap();
        let address = address(id).unwrap();
        let stalled: Vec<OwnedFd> = (0..300)
            .map(|_| {
                let socket =
                    socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
                connect(&socket, &address).unwrap();
                socket
            })
            .collect();
        assert!(matches!(ask(id, me(), 1, TIMEOUT), Ok(Answer::Descriptor(_))));
        drop(stalled);
    }

    #[test]
    fn a_stranger_with_the_right_name_is_not_believed() {
        let id = unique();
        let flags = SocketFlags::CLOEXEC;
        let listener = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap();
        bind(&listener, &address(id).unwrap()).unwrap();
        listen(&listener, 1).unwrap();
        // Another user than the owner of the control file, as far as the importer can tell.
        if me() != 0 {
            assert!(matches!(ask(id, me() + 1, 1, TIMEOUT), Err(MemoryError::System { .. })));
        }
        // The right user, which does not answer, and then answers nonsense.
        assert!(matches!(ask(id, me(), 1, Duration::from_millis(20)), Ok(Answer::Late)));
        let talk = std::thread::spawn(move || {
            for _ in 0..3 {
                let Ok(client) = accept_with(&listener, flags) else { return };
                let _ = sendmsg(
                    &client,
                    &[IoSlice::new(&[0x5a; 24])],
                    &mut SendAncillaryBuffer::default(),
                    SendFlags::NOSIGNAL,
                );
            }
        });
        let answers: Vec<_> = (0..2).map(|_| ask(id, me(), 1, TIMEOUT)).collect();
        assert!(
            answers.iter().any(|answer| matches!(answer, Err(MemoryError::System { .. }))),
            "{answers:?}"
        );
        drop(ask(id, me(), 1, Duration::from_millis(20)));
        talk.join().unwrap();
        assert!(matches!(ask(unique(), me(), 1, TIMEOUT), Ok(Answer::Gone)));
        let taken = unique();
        let _share = Share::begin(taken, None, file(), 1).unwrap();
        assert!(Share::begin(taken, None, file(), 1).is_err(), "two pools of one number");
    }
}
