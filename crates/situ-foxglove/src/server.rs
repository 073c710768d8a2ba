//! The server: accepts connections, looks for topics, and ends the threads of clients.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use situ_bus::inspect::InspectError;
use situ_bus::{Node, Root};

use crate::connection::serve;
use crate::shared::{ClientReport, ClientState, ServerOptions, Shared};

/// How often new topics are looked for, and how often it is asked whether their directory has changed.
const LOOK: Duration = Duration::from_secs(1);
const GLANCE: Duration = Duration::from_millis(50);
/// The most clients at the same time.
const MAX_CLIENTS: usize = 16;

/// Why a server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The address cannot be used.
    #[error(
        "cannot listen on {address}: {source}; another server may use the port, and --port 0 takes a free one"
    )]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why not.
        source: std::io::Error,
    },
    /// A thread cannot be started.
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
    /// The root cannot be read.
    #[error(transparent)]
    Inspect(#[from] InspectError),
}

/// A running server. Dropped, it ends.
#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
    address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts to listen.
    pub fn start(node: &Node, root: &Root, options: ServerOptions) -> Result<Self, ServerError> {
        let wanted = options.address;
        let failed = |source| ServerError::Listen { address: wanted, source };
        let listener = TcpListener::bind(wanted).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let shared = Arc::new(Shared::new(node, root, options));
        shared.look()?;
        let thread = {
            let shared = shared.clone();
            let thread = Builder::new().name("foxglove".into());
            thread.spawn(move || run(&shared, &listener)).map_err(ServerError::Thread)?
        };
        Ok(Self { shared, address, thread: Some(thread) })
    }

    /// The address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The number of topics that are shown.
    pub fn channels(&self) -> usize {
        self.shared.channels().len()
    }

    /// The clients.
    pub fn clients(&self) -> Vec<ClientReport> {
        self.shared.reports()
    }

    /// The clients that have left since the last call, with their last counts.
    pub fn take_ended(&self) -> Vec<ClientReport> {
        self.shared.take_ended()
    }

    /// The warnings since the last call: topics that are not shown, connections that ended badly.
    pub fn take_warnings(&self) -> Vec<String> {
        self.shared.take_warnings()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.end();
        self.thread.take().map(JoinHandle::join);
    }
}

fn run(shared: &Arc<Shared>, listener: &TcpListener) {
    let (mut threads, mut next) = (Vec::new(), 0_u64);
    let (mut looked, mut changed) = (Instant::now(), None);
    while !shared.is_stopped() {
        let wait = Timespec { tv_sec: 0, tv_nsec: GLANCE.as_nanos() as _ };
        let _ = poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&wait));
        while let Ok((stream, address)) = listener.accept() {
            threads.retain(|thread: &JoinHandle<()>| !thread.is_finished());
            if threads.len() >= MAX_CLIENTS {
                shared.warn(format!("{address} is refused: there are {MAX_CLIENTS} clients already"));
                continue;
            }
            next += 1;
            match start_client(shared, next, stream, address) {
                Ok(thread) => threads.push(thread),
                Err(error) => shared.warn(format!("{address} is refused: {error}")),
            }
        }
        let now = change(&shared.root);
        if now != changed || looked.elapsed() >= LOOK {
            (changed, looked) = (now, Instant::now());
            if let Err(error) = shared.look() {
                shared.warn(format!("cannot look for topics: {error}"));
            }
        }
    }
    shared.ring();
    for thread in threads {
        let _ = thread.join();
    }
}

/// When a topic was added to the root, or removed from it.
fn change(root: &Root) -> Option<SystemTime> {
    std::fs::metadata(root.path().join("topics")).ok()?.modified().ok()
}

fn start_client(
    shared: &Arc<Shared>,
    number: u64,
    stream: TcpStream,
    address: SocketAddr,
) -> std::io::Result<JoinHandle<()>> {
    let state = Arc::new(ClientState::new(address));
    let shared = shared.clone();
    Builder::new().name("foxglove client".into()).spawn(move || {
        shared.add(number, state.clone());
        let served = serve(&shared, &state, stream);
        shared.remove(number);
        if let Err(error) = served {
            shared.warn(format!("the connection of {address} ended: {error}"));
        }
    })
}
