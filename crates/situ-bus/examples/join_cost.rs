//! Measures what joining and leaving a topic costs that has thousands of members.
//!
//! `cargo run --release -p situ-bus --example join_cost` prints medians, 99th percentiles and the longest
//! times of a subscriber and of a publisher. The arguments `SUBSCRIBERS PUBLISHERS NODES` say how many
//! members the topic has, which are all in one other process, and to how many nodes they belong. Without
//! them, several topics are measured.

use std::error::Error;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use situ_bus::{
    Encoding, Node, PublisherQos, RawPublisher, RawSubscriber, Root, SubscriberQos, TypeDescription,
};

type Failure = Box<dyn Error + Send + Sync>;

const ROOT: &str = "SITU_JOIN_COST_ROOT";
const TOPIC: &str = "crowded";
/// How often a newcomer joins.
const ROUNDS: usize = 500;

fn description() -> TypeDescription {
    TypeDescription {
        name: "situ::Number".to_owned(),
        schema: "struct Number { uint64 value; };".to_owned(),
        schema_hash: 1,
        layout_hash: 2,
        encoding: Encoding::Flat,
        fixed_size: 0,
        user_header_size: 0,
    }
}

/// Joins with all members, until its input ends.
fn take_part(root: &Root, [subscribers, publishers, nodes]: [usize; 3]) -> Result<(), Failure> {
    // Each publisher has a file open, and each node.
    let mut limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    limit.current = limit.maximum;
    rustix::process::setrlimit(rustix::process::Resource::Nofile, limit)?;
    let node = |number| Node::in_root(&format!("node_{number}"), root.clone());
    let nodes = (0..nodes).map(node).collect::<Result<Vec<_>, _>>()?;
    let node = |number: usize| &nodes[number % nodes.len()];
    let qos = PublisherQos { depth: 1, ..PublisherQos::default() };
    let joined = (0..publishers).map(|at| RawPublisher::create(node(at), TOPIC, &description(), qos.clone()));
    let _publishers = joined.collect::<Result<Vec<_>, _>>()?;
    let qos = SubscriberQos::default();
    let joined =
        (0..subscribers).map(|at| RawSubscriber::create(node(at), TOPIC, &description(), qos.clone()));
    let _subscribers = joined.collect::<Result<Vec<_>, _>>()?;
    println!("ready");
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

fn start(members: [usize; 3], root: &str) -> Result<Child, Failure> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(members.map(|number| number.to_string()));
    let mut child = command.env(ROOT, root).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let output = child.stdout.take().ok_or("no output")?;
    match BufReader::new(output).lines().next() {
        Some(Ok(line)) if line == "ready" => Ok(child),
        _ => Err("the crowd could not join".into()),
    }
}

fn print(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    println!("  {what}: median {:?}, p99 {:?}, longest {:?}", at(0.5), at(0.99), at(1.0));
}

fn measure(root: &Root, path: &str, members: [usize; 3]) -> Result<(), Failure> {
    let mut child = start(members, path)?;
    let [subscribers, publishers, nodes] = members;
    println!("{subscribers} subscribers and {publishers} publishers of {nodes} nodes");
    let node = Node::in_root("newcomer", root.clone())?;
    let timed = |times: &mut Vec<Duration>, begin: Instant| times.push(begin.elapsed());
    let (mut joined, mut left) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        let member = RawSubscriber::create(&node, TOPIC, &description(), SubscriberQos::default())?;
        timed(&mut joined, begin);
        let begin = Instant::now();
        drop(member);
        timed(&mut left, begin);
    }
    print("a subscriber joins", joined);
    print("a subscriber leaves", left);
    let (mut joined, mut left) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        let member = RawPublisher::create(&node, TOPIC, &description(), PublisherQos::default())?;
        timed(&mut joined, begin);
        let begin = Instant::now();
        drop(member);
        timed(&mut left, begin);
    }
    print("a publisher joins", joined);
    print("a publisher leaves", left);
    child.kill()?;
    child.wait()?;
    Ok(())
}

fn main() -> Result<(), Failure> {
    let given: Vec<usize> = std::env::args().skip(1).map(|word| word.parse()).collect::<Result<_, _>>()?;
    let given: Option<[usize; 3]> = given.try_into().ok();
    if let Ok(root) = std::env::var(ROOT) {
        return take_part(&Root::at(root, None), given.ok_or("no members")?);
    }
    let usual = [[1, 1, 1], [1000, 1, 1], [4095, 1, 1], [1, 1000, 1], [1, 4096, 1], [1000, 1000, 1000]];
    for members in given.map_or(usual.to_vec(), |given| vec![given]) {
        let path = format!("/dev/shm/situ-join-cost-{}", std::process::id());
        let result = measure(&Root::at(&path, None), &path, members);
        std::fs::remove_dir_all(&path)?;
        result?;
    }
    Ok(())
}
