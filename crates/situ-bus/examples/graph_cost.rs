//! Measures what the graph costs: reading 1,000 nodes with 10,000 endpoints, and the time from a change
//! until a watch tells of it.
//!
//! `cargo run --release -p situ-bus --example graph_cost` prints medians and the longest times. The arguments
//! `PROCESSES NODES ENDPOINTS` (10 100 10) say how many processes there are, how many nodes each has, and how
//! many endpoints each node has.

use std::error::Error;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use situ_bus::{
    Encoding, Graph, GraphWatch, Node, PublisherQos, RawPublisher, RawSubscriber, Root, SubscriberQos,
    TypeDescription,
};

type Failure = Box<dyn Error + Send + Sync>;

const ROOT: &str = "SITU_GRAPH_COST_ROOT";
/// How often a graph is read, and a change made.
const ROUNDS: usize = 50;

fn description() -> TypeDescription {
    TypeDescription {
        name: "sensor_msgs::msg::PointCloud2".to_owned(),
        schema: "struct PointCloud2 { uint64 value; };".to_owned(),
        schema_hash: 1,
        layout_hash: 2,
        encoding: Encoding::Flat,
        fixed_size: 0,
        user_header_size: 0,
    }
}

/// A process with nodes and endpoints, until its input ends.
fn take_part(root: Root, process: &str, nodes: usize, endpoints: usize) -> Result<(), Failure> {
    let user_data = vec![b'u'; 100];
    let (mut publishers, mut subscribers) = (Vec::new(), Vec::new());
    for number in 0..nodes {
        let node = Node::in_root(&format!("node_{process}_{number}"), root.clone())?;
        for endpoint in 0..endpoints {
            let topic = format!("process_{process}/topic_{number}_{}", endpoint / 2);
            if endpoint % 2 == 0 {
                let qos = PublisherQos { depth: 1, user_data: user_data.clone(), ..PublisherQos::default() };
                publishers.push(RawPublisher::create(&node, &topic, &description(), qos)?);
            } else {
                let qos = SubscriberQos { user_data: user_data.clone(), ..SubscriberQos::default() };
                subscribers.push(RawSubscriber::create(&node, &topic, &description(), qos)?);
            }
        }
    }
    println!("ready");
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

fn start(arguments: &[String], root: &str) -> Result<Child, Failure> {
    let program = std::env::current_exe()?;
    let mut command = Command::new(program);
    command.args(arguments).env(ROOT, root).stdin(Stdio::piped()).stdout(Stdio::piped());
    Ok(command.spawn()?)
}

fn wait_until_ready(child: &mut Child) -> Result<(), Failure> {
    let output = child.stdout.take().ok_or("no output")?;
    match BufReader::new(output).lines().next() {
        Some(Ok(line)) if line == "ready" => Ok(()),
        _ => Err("a process could not create its endpoints".into()),
    }
}

fn print(what: &str, mut times: Vec<Duration>) {
    times.sort();
    println!("{what}: median {:?}, longest {:?}", times[times.len() / 2], times[times.len() - 1]);
}

fn measure(root: &Root, path: &str, counts: [usize; 3]) -> Result<(), Failure> {
    let mut children = Vec::new();
    for process in 0..counts[0] {
        let arguments = [process, counts[1], counts[2]].map(|number| number.to_string());
        children.push(start(&arguments, path)?);
    }
    for child in &mut children {
        wait_until_ready(child)?;
    }
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        let graph = Graph::read(root)?;
        times.push(begin.elapsed());
        let found = (graph.nodes.len(), graph.endpoints().count());
        assert_eq!(found, (counts[0] * counts[1], counts[0] * counts[1] * counts[2]));
    }
    print("reading the graph", times);

    let node = Node::in_root("changing", root.clone())?;
    let watch = GraphWatch::new(root)?;
    let mut times = Vec::new();
    for round in 0..ROUNDS {
        while watch.wait(Some(Duration::from_millis(20)))? {}
        let publisher = std::thread::scope(|scope| {
            let waiter = scope.spawn(|| watch.wait(Some(Duration::from_secs(5))).map(|_| Instant::now()));
            std::thread::sleep(Duration::from_millis(2));
            let topic = format!("changing_{round}");
            let made = RawPublisher::create(&node, &topic, &description(), PublisherQos::default());
            let begin = Instant::now();
            let told = waiter.join().map_err(|_| "the waiting thread failed")??;
            times.push(told.saturating_duration_since(begin));
            Ok::<_, Failure>(made?)
        })?;
        drop(publisher);
    }
    print("from the end of creating a publisher until the watch tells", times);

    let mut times = Vec::new();
    for child in &mut children {
        while watch.wait(Some(Duration::from_millis(20)))? {}
        let begin = Instant::now();
        child.kill()?;
        watch.wait(Some(Duration::from_secs(5)))?;
        times.push(begin.elapsed());
        child.wait()?;
    }
    print("from killing a process until the watch tells", times);
    Ok(())
}

fn main() -> Result<(), Failure> {
    let given: Vec<usize> = std::env::args().skip(1).map(|word| word.parse()).collect::<Result<_, _>>()?;
    let number = |index: usize, usual| given.get(index).copied().unwrap_or(usual);
    if let Ok(root) = std::env::var(ROOT) {
        return take_part(Root::at(root, None), &number(0, 0).to_string(), number(1, 0), number(2, 0));
    }
    let path = format!("/dev/shm/situ-graph-cost-{}", std::process::id());
    let root = Root::at(&path, None);
    let result = measure(&root, &path, [number(0, 10), number(1, 100), number(2, 10)]);
    std::fs::remove_dir_all(&path)?;
    result
}
