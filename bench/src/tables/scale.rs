//! Table `scale`: what thousands of participants cost: publishing to them, joining them, their topic's
//! memory, and finding out who is there.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ::iceoryx2::config::Config;
use ::iceoryx2::node::Node as Iox2Node;
use ::iceoryx2::prelude::{CallbackProgression, Service, ipc};
use ::situ::bus::GraphWatch;

use crate::bench::Bench;
use crate::clock::Clock;
use crate::context::Context;
use crate::driver::{Role, Team, Turns, alternate};
use crate::failure::Failure;
use crate::os;
use crate::payload::{Found, Touch};
use crate::protocol::{Duty, Params, serve};
use crate::rows::Case;
use crate::stats::percentile;
use crate::systems::iceoryx2::{self, Iceoryx2};
use crate::systems::situ::{self, Situ};
use crate::systems::{Channel, Kind, Loan, Message, Receiver, Sender, System};
use crate::tables::fanout;
use crate::view::{Drawing, View};

const TABLE: &str = "scale";
const SIZE: usize = 64;
/// The time between two publications: as long as a thousand subscribers need to take a message, and the same
/// for fewer, because code and memory that were used lately are faster.
const INTERVAL_US: u64 = 300;
/// The nodes of the graph.
const NODES: usize = 1000;
/// On how many topics each of them has a publisher and a subscriber.
const TOPICS_OF_NODE: [usize; 2] = [1, 5];
/// How many nodes share a topic.
const NODES_OF_TOPIC: usize = 10;

/// Measures the table.
pub fn run(bench: &mut Bench) -> Result<View, Failure> {
    let cpus = bench.cores(2)?;
    let systems = [Kind::Situ, Kind::Iceoryx2];
    let start_of = |bench: &Bench, kind, names: [&'static str; 2]| {
        let roles = [0, 1].map(|at| Role { name: names[at], index: 0, cpu: cpus[at] });
        Team::start(bench.session(), TABLE, kind, &roles)
    };
    let start = |bench: &Bench, names: [&'static str; 2]| {
        systems.into_iter().map(|kind| start_of(bench, kind, names)).collect::<Result<Vec<_>, _>>()
    };

    for subscribers in [1, 64, 1000] {
        let mut teams = start(bench, ["publisher", "subscriber"])?;
        let case = Case::named(format!("publish, {subscribers} subscribers"));
        let id = bench.next_id();
        let samples = alternate(
            &mut teams,
            &Turns {
                open: &format!(
                    "open id={id} subscribers={subscribers} places={subscribers} processes=1 blocking=0 interval_us={INTERVAL_US}"
                ),
                warm: "run count=2100",
                run: "run count=500",
                rounds: bench.scale(20, 100),
                budget: bench.budget(),
            },
        )?;
        bench.latencies(TABLE, &case, &teams, samples);
    }

    for (members, nodes, name) in
        [(1, 1, ""), (64, 1, ""), (1000, 1, ""), (4096, 1, ""), (1000, 1000, ", each with a node")]
    {
        let mut teams = start(bench, ["newcomer", "crowd"])?;
        if nodes > 1 {
            // iceoryx2 did not create so many nodes on one service within a minute.
            teams.retain(|team| team.kind == Kind::Situ);
        }
        let case = Case::named(format!("join {members} participants{name}"));
        for team in &mut teams {
            let before = memory(bench, team.kind);
            team.ask(&format!("open id={} members={members} nodes={nodes}", bench.next_id()))?;
            let after = memory(bench, team.kind);
            if team.absence().is_none() && nodes == 1 {
                bench.record(TABLE, &case, team.kind, "topic_bytes", after.saturating_sub(before) as f64);
            }
            // A newcomer of each kind at a time: subscriber, publisher.
            let mut times = [Vec::new(), Vec::new()];
            for _ in 0..bench.scale(20, 100) {
                for (times, time) in times.iter_mut().zip(team.ask("run count=1")?) {
                    times.push(time);
                }
            }
            for (times, metrics) in times.iter_mut().zip([
                [("subscriber_p50_ns", 0.5), ("subscriber_p99_ns", 0.99)],
                [("publisher_p50_ns", 0.5), ("publisher_p99_ns", 0.99)],
            ]) {
                for (metric, share) in metrics {
                    if let Some(value) = percentile(times, share) {
                        bench.record(TABLE, &case, team.kind, metric, value);
                    }
                }
            }
            team.ask("close")?;
        }
        bench.note_absent(TABLE, &case, &teams);
    }

    for topics in TOPICS_OF_NODE {
        let mut teams = start(bench, ["watcher", "graph"])?;
        let case = Case::named(format!("graph of {NODES} nodes and {} endpoints", NODES * topics * 2));
        let samples = alternate(
            &mut teams,
            &Turns {
                open: &format!("open id={} topics={topics}", bench.next_id()),
                warm: "run count=1",
                run: "run count=1",
                rounds: bench.scale(10, 50),
                budget: bench.budget(),
            },
        )?;
        bench.latencies(TABLE, &case, &teams, samples);
    }

    // iceoryx2 tells of no changes.
    let mut teams = vec![start_of(bench, Kind::Situ, ["seer", "changer"])?];
    let case = Case::named("graph change seen, the call that made it included");
    let samples = alternate(
        &mut teams,
        &Turns {
            open: &format!("open id={}", bench.next_id()),
            warm: "run count=5",
            run: "run count=20",
            rounds: bench.scale(20, 100),
            budget: bench.budget(),
        },
    )?;
    bench.latencies(TABLE, &case, &teams, samples);
    Ok(View::of("Thousands of participants", Drawing::Bars { metric: "p50_ns", unit: "ns" }))
}

/// The memory of a system's files.
fn memory(bench: &Bench, kind: Kind) -> u64 {
    let session = bench.session();
    match kind {
        Kind::Iceoryx2 => {
            let prefix = session.iceoryx2_prefix();
            let is_its = |path: &PathBuf| {
                path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix))
            };
            let shared: u64 =
                entries(Path::new("/dev/shm")).into_iter().filter(is_its).map(|path| bytes(&path)).sum();
            shared + bytes(&session.iceoryx2_root())
        }
        _ => bytes(&session.file(kind.name()).join("topics")),
    }
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// The memory of a file, or of all files below a directory.
fn bytes(path: &Path) -> u64 {
    let Ok(found) = path.symlink_metadata() else { return 0 };
    found.blocks() * 512 + if found.is_dir() { entries(path).iter().map(|path| bytes(path)).sum() } else { 0 }
}

/// What a system tells about its participants.
pub trait Graph: System {
    /// Finds all nodes, and all topics, of which each node is on so many; Situ finds their participants, too.
    /// Returns the number of nodes.
    fn survey(&self, topics_of_node: usize) -> Result<usize, Failure>;
    /// What waits for changes of the graph.
    type Watch: Watch;
    /// Begins to watch the graph.
    fn watch(&self) -> Result<Self::Watch, Failure>;
    /// A channel's maximum of participants of both kinds.
    fn channel(name: String, members: usize) -> Channel {
        Channel { places: members, ..Channel::new(name, SIZE) }
    }
}

/// Waits for changes of the graph.
pub trait Watch {
    /// Waits until it has changed. Returns whether it has within this time.
    fn wait(&self, limit: Duration) -> Result<bool, Failure>;
}

impl Watch for GraphWatch {
    fn wait(&self, limit: Duration) -> Result<bool, Failure> {
        GraphWatch::wait(self, Some(limit)).map_err(situ::wrap("GraphWatch::wait"))
    }
}

/// Of a system that tells of no changes.
pub struct NoWatch;

impl Watch for NoWatch {
    fn wait(&self, _limit: Duration) -> Result<bool, Failure> {
        Ok(false)
    }
}

impl Graph for Situ {
    type Watch = GraphWatch;

    fn watch(&self) -> Result<GraphWatch, Failure> {
        self.node().watch_graph().map_err(situ::wrap("Node::watch_graph"))
    }

    fn survey(&self, topics_of_node: usize) -> Result<usize, Failure> {
        let graph = self.node().graph().map_err(situ::wrap("Node::graph"))?;
        let (expected, got) = (NODES * topics_of_node * 2, graph.endpoints().count());
        if got != expected {
            return Err(Failure::Wrong { system: Self::NAME, expected: expected as u64, got: got as u64 });
        }
        Ok(graph.nodes.iter().filter(|node| node.info.name == "bench").count())
    }
}

impl Graph for Iceoryx2 {
    type Watch = NoWatch;

    fn watch(&self) -> Result<NoWatch, Failure> {
        Ok(NoWatch)
    }

    fn survey(&self, topics_of_node: usize) -> Result<usize, Failure> {
        let config: &Config = self.node().config();
        let (mut nodes, mut services) = (0, 0);
        Iox2Node::<ipc::Service>::list(config, |_| {
            nodes += 1;
            CallbackProgression::Continue
        })
        .map_err(iceoryx2::wrap("Node::list"))?;
        ipc::Service::list(config, |_| {
            services += 1;
            CallbackProgression::Continue
        })
        .map_err(iceoryx2::wrap("Service::list"))?;
        let expected = NODES * topics_of_node / NODES_OF_TOPIC;
        if services != expected {
            let (expected, got) = (expected as u64, services as u64);
            return Err(Failure::Wrong { system: Self::NAME, expected, got });
        }
        Ok(nodes)
    }
}

/// Runs any of the processes.
pub fn work<S: Graph>(context: Context) -> Result<(), Failure> {
    os::allow_files().map_err(Failure::io("cannot raise the number of files"))?;
    if matches!(context.role.as_str(), "publisher" | "subscriber") {
        return fanout::work::<S>(context);
    }
    let system = S::create(&context.session)?;
    let (crowd, systems) = (Vec::new(), Vec::new());
    let (channel, watched) = (None, None);
    serve(&mut Player::<S> { system, context, crowd, systems, channel, topics_of_node: 0, watched, next: 0 })
}

/// A member of the crowd: a subscriber, a publisher, or both.
type Member<S> = (Option<<S as System>::Receiver>, Option<<S as System>::Sender>);

struct Player<S: Graph> {
    system: S,
    context: Context,
    crowd: Vec<Member<S>>,
    /// The nodes of the crowd, except the first.
    systems: Vec<S>,
    channel: Option<Channel>,
    topics_of_node: usize,
    /// The watch, and what takes the times of changes.
    watched: Option<(S::Watch, S::Receiver)>,
    next: u64,
}

/// The time between two changes of the graph: all that one of them causes is over by then.
const BETWEEN_CHANGES: Duration = Duration::from_millis(4);
/// The longest time that a change is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

impl<S: Graph> Player<S> {
    /// Changes the graph, and says when each change began.
    fn change(&mut self, count: u64) -> Result<(), Failure> {
        let Some((_, Some(times))) = self.crowd.first() else {
            return Err(Failure::Protocol { line: "run".to_owned(), why: "nothing is open" });
        };
        let mut made = Vec::new();
        for _ in 0..count {
            std::thread::sleep(BETWEEN_CHANGES);
            let start = self.context.clock.now();
            let channel = S::channel(format!("{TABLE}-change-{}", self.next), 1);
            made.push((Some(self.system.receiver(&channel)?), None));
            let mut loan = times.loan(SIZE)?;
            loan.write(self.next, start, Touch::Header)?;
            loan.publish()?;
            self.next += 1;
        }
        self.crowd.extend(made);
        Ok(())
    }

    /// Waits for these changes. Returns how long after its begin each was seen.
    fn see(&mut self, count: u64) -> Result<Vec<f64>, Failure> {
        let clock = self.context.clock;
        let Some((watch, times)) = &self.watched else {
            return Err(Failure::Protocol { line: "run".to_owned(), why: "nothing is open" });
        };
        let mut samples = Vec::new();
        for expected in self.next..self.next + count {
            let (seen, found) = loop {
                let seen = next_change::<S>(watch, clock)?;
                // A change may be told in several steps, of which the first counts.
                let Some(found) = self.next_time(times)? else { continue };
                break match found.time > seen {
                    // It was a later step of the change before.
                    true => (next_change::<S>(watch, clock)?, found),
                    false => (seen, found),
                };
            };
            if found.sequence != expected {
                return Err(Failure::Wrong { system: S::NAME, expected, got: found.sequence });
            }
            samples.push(clock.ns(seen.saturating_sub(found.time)));
        }
        self.next += count;
        Ok(samples)
    }

    /// The message about a change that was just seen, if there is one.
    fn next_time(&self, times: &S::Receiver) -> Result<Option<Found>, Failure> {
        let start = Instant::now();
        while start.elapsed() < BETWEEN_CHANGES / 2 {
            if let Some(message) = times.take()? {
                return message.read(Touch::Header).map(Some);
            }
        }
        Ok(None)
    }
}

/// Waits for a change, and returns when it was told.
fn next_change<S: Graph>(watch: &S::Watch, clock: Clock) -> Result<u64, Failure> {
    match watch.wait(PATIENCE)? {
        true => Ok(clock.now()),
        false => Err(Failure::Worker(format!("{}: no change was told for {PATIENCE:?}", S::NAME))),
    }
}

impl<S: Graph> Duty for Player<S> {
    fn open(&mut self, params: &Params) -> Result<(), Failure> {
        let id: u64 = params.get("id")?;
        match self.context.role.as_str() {
            "graph" => {
                let topics: usize = params.get("topics")?;
                for index in 0..NODES {
                    let node = S::create(&self.context.session)?;
                    for topic in 0..topics {
                        let name = format!("{TABLE}-{id}-{topic}-{}", index / NODES_OF_TOPIC);
                        let channel = S::channel(name, NODES_OF_TOPIC);
                        let channel = Channel { publishers: NODES_OF_TOPIC, ..channel };
                        self.crowd.push((Some(node.receiver(&channel)?), Some(node.sender(&channel)?)));
                    }
                    self.systems.push(node);
                }
            }
            "watcher" => self.topics_of_node = params.get("topics")?,
            role @ ("seer" | "changer") => {
                let times = S::channel(format!("{TABLE}-{id}-times"), 1);
                self.next = 0;
                if role == "changer" {
                    self.crowd.push((None, Some(self.system.sender(&times)?)));
                } else {
                    self.watched = Some((self.system.watch()?, self.system.receiver(&times)?));
                }
            }
            _ => {
                let members: usize = params.get("members")?;
                let nodes: usize = params.get("nodes")?;
                let channel = Channel { publishers: 2, ..S::channel(format!("{TABLE}-{id}"), members) };
                if self.context.role == "crowd" {
                    // The newcomer is the last member, and one of the others publishes.
                    for index in 1..members.max(2) {
                        if nodes > 1 {
                            self.systems.push(S::create(&self.context.session)?);
                        }
                        let system = self.systems.last().unwrap_or(&self.system);
                        self.crowd.push(if index == 1 {
                            (None, Some(system.sender(&channel)?))
                        } else {
                            (Some(system.receiver(&channel)?), None)
                        });
                    }
                }
                self.channel = Some(channel);
            }
        }
        Ok(())
    }

    fn run(&mut self, params: &Params) -> Result<Vec<f64>, Failure> {
        let clock = self.context.clock;
        match self.context.role.as_str() {
            "seer" => return self.see(params.get("count")?),
            "changer" => return self.change(params.get("count")?).map(|()| Vec::new()),
            _ => {}
        }
        match (self.context.role.as_str(), &self.channel) {
            ("newcomer", Some(channel)) => {
                let start = clock.now();
                let receiver = self.system.receiver(channel)?;
                let joined = clock.now();
                drop(receiver);
                let again = clock.now();
                let sender = self.system.sender(channel)?;
                let end = clock.now();
                drop(sender);
                Ok(vec![clock.ns(joined - start), clock.ns(end - again)])
            }
            ("watcher", _) => {
                let start = clock.now();
                let found = self.system.survey(self.topics_of_node)?;
                let time = clock.ns(clock.now() - start);
                // Those of the graph, its process's own, and this one.
                let expected = NODES as u64 + 2;
                if found as u64 != expected {
                    return Err(Failure::Wrong { system: S::NAME, expected, got: found as u64 });
                }
                Ok(vec![time])
            }
            _ => Ok(Vec::new()),
        }
    }

    fn close(&mut self) {
        self.crowd.clear();
        self.systems.clear();
        self.channel = None;
        self.watched = None;
    }
}
