//! Machines for tests: each has a root and a bridge, and all are in one process.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use situ_bridge::{Bridge, BridgeOptions, Rules, SessionOptions, Status};
use situ_bus::{
    Encoding, Node, PublisherQos, RawPublisher, RawSubscriber, Root, SubscriberQos, TypeDescription,
};
use situ_schema::Schema;
use situ_testkit::Scratch;

/// Time enough for a loaded machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

const IDL: &str = "
module std_msgs { module msg { struct String { string data; }; }; };
module geometry_msgs { module msg { struct Point { double x; double y; double z; }; }; };
module example_interfaces { module srv {
    struct AddTwoInts_Request { long long a; long long b; };
    struct AddTwoInts_Response { long long sum; };
}; };
module demo {
    @flat struct Pose { unsigned long long number; double x; };
    @flat struct Cloud { unsigned long number; @bulk sequence<float> points; };
};";

/// A type of the tests.
pub fn description(name: &str) -> TypeDescription {
    let schema = Schema::from_idl(IDL).unwrap();
    let root = schema.find(name).unwrap();
    let is_flat = name != "std_msgs::msg::String";
    TypeDescription {
        name: name.to_owned(),
        schema: schema.canonical(root),
        schema_hash: schema.schema_hash(root),
        layout_hash: if is_flat { schema.layout_hash(root) } else { 0 },
        encoding: if is_flat { Encoding::Flat } else { Encoding::Xcdr1 },
        fixed_size: 0,
        user_header_size: 0,
    }
}

/// The CDR of a `std_msgs/String`, by the rules of XCDR1.
pub fn string(text: &str) -> Vec<u8> {
    let mut bytes = vec![0, 1, 0, 0];
    bytes.extend_from_slice(&(text.len() as u32 + 1).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
    bytes.push(0);
    bytes
}

/// Publishes a message as it stands.
pub fn publish(publisher: &RawPublisher, head: &[u8], body: &[u8]) {
    let mut loan = publisher.loan(head.len(), 8, body.len()).unwrap();
    loan.head_bytes().copy_from_slice(head);
    loan.body_bytes().copy_from_slice(body);
    loan.publish().unwrap();
}

/// Waits until a condition holds.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "{what}: not within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The next message: its head and its body.
pub fn take(subscriber: &RawSubscriber) -> (Vec<u8>, Vec<u8>) {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        if let Some(sample) = subscriber.take().unwrap() {
            return (sample.head_in_place().to_vec(), sample.body_in_place().to_vec());
        }
        subscriber.wait(Some(Duration::from_millis(100)));
    }
    panic!("no message on {:?} within {PATIENCE:?}", subscriber.topic());
}

/// Publishes until each subscriber has received from each publisher: Zenoh sends as soon as it knows of a
/// subscriber, which takes a moment. Afterwards, no message is under way.
pub fn meet(publishers: &[RawPublisher], subscribers: &[RawSubscriber]) {
    let end = Instant::now() + PATIENCE;
    for publisher in publishers {
        let mut missing: Vec<&RawSubscriber> = subscribers.iter().collect();
        while !missing.is_empty() {
            assert!(Instant::now() < end, "{} subscribers receive nothing", missing.len());
            publish(publisher, &[], &string("meet"));
            std::thread::sleep(Duration::from_millis(20));
            missing.retain(|subscriber| subscriber.take().unwrap().is_none());
        }
    }
    // The last of all: each subscriber takes everything up to it.
    for (number, publisher) in publishers.iter().enumerate() {
        let last = string(&format!("last {number}"));
        publish(publisher, &[], &last);
        for subscriber in subscribers {
            while take(subscriber).1 != last {}
        }
    }
}

/// A machine: a root and a bridge.
pub struct Machine {
    pub root: Root,
    pub node: Node,
    pub locators: Vec<String>,
    status: Arc<Mutex<Status>>,
    warnings: Arc<Mutex<Vec<String>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    _scratch: Option<Scratch>,
}

/// How a machine's bridge is made.
pub struct Setup {
    pub listen: bool,
    /// Zenoh's configuration file.
    pub config: Option<PathBuf>,
    /// Where it listens; otherwise on any port of this machine.
    pub listen_on: Option<String>,
    pub connect: Vec<String>,
    pub mode: Option<&'static str>,
    pub rules: Rules,
    pub keep_bytes: u64,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            listen: true,
            config: None,
            listen_on: None,
            connect: Vec::new(),
            mode: None,
            rules: Rules::default(),
            keep_bytes: BridgeOptions::DEFAULT_KEPT,
        }
    }
}

impl Machine {
    pub fn new(setup: Setup) -> Self {
        let scratch = Scratch::created("bridge");
        let root = Root::at(scratch.path().join("root"), None);
        Self::on(root, Some(scratch), setup)
    }

    /// One that listens, for others to connect to.
    pub fn listening() -> Self {
        Self::new(Setup::default())
    }

    /// One that connects to another.
    pub fn connected(to: &Self) -> Self {
        Self::new(Setup { connect: to.locators.clone(), ..Setup::default() })
    }

    /// One with a root that exists.
    pub fn on(root: Root, scratch: Option<Scratch>, setup: Setup) -> Self {
        let node = Node::in_root("test", root.clone()).unwrap();
        let listen = setup.listen_on.unwrap_or_else(|| "tcp/127.0.0.1:0".into());
        let listen = setup.listen.then_some(listen);
        let session = SessionOptions {
            file: setup.config,
            connect: setup.connect,
            listen: listen.into_iter().collect(),
            mode: setup.mode.map(str::to_owned),
            multicast: Some(false),
        };
        let options = BridgeOptions {
            root: root.clone(),
            name: "bridge".into(),
            domain: Some(0),
            session,
            rules: setup.rules,
            keep_bytes: setup.keep_bytes,
        };
        let (sender, receiver) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            let mut bridge = Bridge::start(options).unwrap();
            let status = Arc::new(Mutex::new(bridge.status()));
            let warnings = Arc::new(Mutex::new(Vec::new()));
            sender.send((bridge.locators(), status.clone(), warnings.clone())).unwrap();
            while !stopped.load(Ordering::Relaxed) {
                bridge.step(Duration::from_millis(20)).unwrap();
                *status.lock().unwrap() = bridge.status();
                warnings.lock().unwrap().extend(bridge.take_warnings());
            }
            bridge.end();
        });
        let (locators, status, warnings) = receiver.recv().unwrap();
        Self { root, node, locators, status, warnings, stop, thread: Some(thread), _scratch: scratch }
    }

    pub fn status(&self) -> Status {
        self.status.lock().unwrap().clone()
    }

    pub fn warnings(&self) -> Vec<String> {
        self.warnings.lock().unwrap().clone()
    }

    /// Ends the bridge. The root stays.
    pub fn end_bridge(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }

    pub fn publisher(&self, topic: &str, name: &str, qos: PublisherQos) -> RawPublisher {
        RawPublisher::create(&self.node, topic, &description(name), qos).unwrap()
    }

    pub fn subscriber(&self, topic: &str, name: &str) -> RawSubscriber {
        self.subscriber_with(topic, name, SubscriberQos::default())
    }

    pub fn subscriber_with(&self, topic: &str, name: &str, qos: SubscriberQos) -> RawSubscriber {
        RawSubscriber::create(&self.node, topic, &description(name), qos).unwrap()
    }

    /// Waits until a topic has a number of subscribers, with those of bridges.
    pub fn wait_for_subscribers(&self, publisher: &RawPublisher, count: usize) {
        let has_count = || publisher.subscribers() == count;
        until(&format!("{count} subscribers of {:?}; {:?}", publisher.topic(), self.warnings()), has_count);
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.end_bridge();
    }
}
