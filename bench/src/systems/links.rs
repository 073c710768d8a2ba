//! Two machines: links between them for table `bridge`, by plain Zenoh and by two bridges of Situ.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use situ::bus::{Node, Root};
use situ_bridge::{Bridge, BridgeOptions, Rules, SessionOptions};
use zenoh::bytes::ZBytes;
use zenoh::qos::{CongestionControl, Reliability};
use zenoh::{Session as Zenoh, Wait};

use super::situ::{Situ, SituReceiver, SituSender, wrap};
use super::{Channel, Loan, Message, Receiver, Sender, System};
use crate::failure::Failure;
use crate::payload::{self, Touch};
use crate::session::Session;

/// Up to this size, Zenoh sends at once, without waiting for other messages to send with them. It is what a
/// bridge does.
const EXPRESS: usize = 4096;
/// How long a step of a bridge takes at most.
const STEP: Duration = Duration::from_millis(100);

/// One of the two machines: where it listens, or to which endpoint it connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The first machine.
    First,
    /// The second one.
    Second,
}

/// A system between two machines.
pub trait Links: Sized {
    /// Its name.
    const NAME: &'static str;
    /// What sends.
    type Out: Out;
    /// What receives.
    type In: In;
    /// The part that each process needs once.
    fn create(session: &Session, side: Side, endpoint: &str) -> Result<Self, Failure>;
    /// Creates a publisher.
    fn sender(&self, channel: &Channel) -> Result<Self::Out, Failure>;
    /// Creates a subscriber.
    fn receiver(&self, channel: &Channel) -> Result<Self::In, Failure>;
}

/// A publisher.
pub trait Out {
    /// Writes all bytes of a message, and sends it.
    fn send(&self, size: usize, sequence: u64) -> Result<(), Failure>;
}

/// A subscriber.
pub trait In {
    /// Waits for the next message, reads all its bytes, and returns its number. `None`: there is none in
    /// time.
    fn next(&self, limit: Duration) -> Result<Option<u64>, Failure>;
}

/// Where the root of a side lies.
fn root(session: &Session, side: Side) -> PathBuf {
    session.file(if side == Side::First { "machine-1" } else { "machine-2" })
}

/// Situ, with a bridge of its own process on each side.
pub struct Bridged {
    situ: Situ,
}

impl Links for Bridged {
    const NAME: &'static str = "situ";
    type Out = SituSender;
    type In = SituReceiver;

    fn create(session: &Session, side: Side, _endpoint: &str) -> Result<Self, Failure> {
        let root = Root::at(root(session, side), None);
        Ok(Self { situ: Situ::on(Node::in_root("bench", root).map_err(wrap("Node::in_root"))?) })
    }

    fn sender(&self, channel: &Channel) -> Result<SituSender, Failure> {
        self.situ.sender(channel)
    }

    fn receiver(&self, channel: &Channel) -> Result<SituReceiver, Failure> {
        self.situ.receiver(channel)
    }
}

impl Out for SituSender {
    fn send(&self, size: usize, sequence: u64) -> Result<(), Failure> {
        let mut loan = self.loan(size)?;
        loan.write(sequence, 0, Touch::All)?;
        loan.publish()
    }
}

impl In for SituReceiver {
    fn next(&self, limit: Duration) -> Result<Option<u64>, Failure> {
        if let Some(message) = self.take()? {
            return Ok(Some(message.read(Touch::All)?.sequence));
        }
        self.wait_at_most(limit);
        self.take()?.map(|message| Ok(message.read(Touch::All)?.sequence)).transpose()
    }
}

/// A bridge, until it is dropped.
pub struct RunningBridge {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl RunningBridge {
    /// Starts the bridge of a side.
    pub fn start(session: &Session, side: Side, endpoint: &str) -> Result<Self, Failure> {
        let own = vec![endpoint.to_owned()];
        // Without an endpoint, a session of a bridge listens on all interfaces.
        let none = vec!["tcp/127.0.0.1:0".to_owned()];
        let (listen, connect) = if side == Side::First { (own, Vec::new()) } else { (none, own) };
        let options = BridgeOptions {
            root: Root::at(root(session, side), None),
            name: "bridge".to_owned(),
            domain: Some(0),
            session: SessionOptions { listen, connect, multicast: Some(false), ..SessionOptions::default() },
            rules: Rules::default(),
            keep_bytes: BridgeOptions::DEFAULT_KEPT,
        };
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let (sender, started) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let mut bridge = match Bridge::start(options) {
                Ok(bridge) => bridge,
                Err(error) => return drop(sender.send(Err(error.to_string()))),
            };
            let _ = sender.send(Ok(()));
            while !stopped.load(Ordering::Relaxed) && bridge.step(STEP).is_ok() {
                for warning in bridge.take_warnings() {
                    eprintln!("bridge: {warning}");
                }
            }
            bridge.end();
        });
        let outcome = started.recv().unwrap_or_else(|_| Err("it ended".to_owned()));
        outcome.map_err(|error| Failure::Worker(format!("the bridge does not start: {error}")))?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for RunningBridge {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().map(JoinHandle::join);
    }
}

/// Plain Zenoh: a session in each program, connected by one link.
pub struct PlainZenoh {
    session: Zenoh,
}

fn failed<E: std::fmt::Debug>(what: &'static str) -> impl FnOnce(E) -> Failure {
    Failure::system(PlainZenoh::NAME, what)
}

impl Links for PlainZenoh {
    const NAME: &'static str = "zenoh";
    type Out = ZenohOut;
    type In = ZenohIn;

    fn create(_session: &Session, side: Side, endpoint: &str) -> Result<Self, Failure> {
        let mut config = zenoh::Config::default();
        let key = if side == Side::First { "listen/endpoints" } else { "connect/endpoints" };
        let none = if side == Side::First { "connect/endpoints" } else { "listen/endpoints" };
        for (key, value) in [
            (key, format!("[\"{endpoint}\"]")),
            (none, "[]".to_owned()),
            ("scouting/multicast/enabled", "false".to_owned()),
        ] {
            config.insert_json5(key, &value).map_err(failed("Config::insert_json5"))?;
        }
        Ok(Self { session: zenoh::open(config).wait().map_err(failed("open"))? })
    }

    fn sender(&self, channel: &Channel) -> Result<ZenohOut, Failure> {
        let publisher = self.session.declare_publisher(format!("bench/{}", channel.name));
        let publisher = publisher
            .congestion_control(CongestionControl::Block)
            .reliability(Reliability::Reliable)
            .express(channel.size <= EXPRESS);
        Ok(ZenohOut { publisher: publisher.wait().map_err(failed("declare_publisher"))? })
    }

    fn receiver(&self, channel: &Channel) -> Result<ZenohIn, Failure> {
        let (sender, inbox) = mpsc::channel();
        let subscriber = self.session.declare_subscriber(format!("bench/{}", channel.name));
        let subscriber = subscriber.callback(move |sample| drop(sender.send(sample.payload().clone())));
        Ok(ZenohIn { inbox, _subscriber: subscriber.wait().map_err(failed("declare_subscriber"))? })
    }
}

/// A publisher of Zenoh.
pub struct ZenohOut {
    publisher: zenoh::pubsub::Publisher<'static>,
}

impl Out for ZenohOut {
    fn send(&self, size: usize, sequence: u64) -> Result<(), Failure> {
        let mut bytes = vec![0; size];
        payload::write(&mut bytes, sequence, 0, Touch::All);
        self.publisher.put(bytes).wait().map_err(failed("put"))
    }
}

/// A subscriber of Zenoh.
pub struct ZenohIn {
    inbox: mpsc::Receiver<ZBytes>,
    _subscriber: zenoh::pubsub::Subscriber<()>,
}

impl In for ZenohIn {
    fn next(&self, limit: Duration) -> Result<Option<u64>, Failure> {
        let Ok(bytes) = self.inbox.recv_timeout(limit) else { return Ok(None) };
        // Borrowed if the message is in one piece, otherwise joined.
        Ok(Some(payload::read(PlainZenoh::NAME, &bytes.to_bytes(), Touch::All)?.sequence))
    }
}
