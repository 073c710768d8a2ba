//! Table `graphs`: how long random graphs of processes take, half of which work on the device.
//!
//! Every node is a process. In each round, node 0 gives the sign to all nodes that wait for nobody; a node takes one message
//! from each of its predecessors, looks at both ends of each, writes every byte of its own message and publishes it. The
//! round is over when the last node that nobody waits for has its messages. Nodes on the device read and write in the device's
//! memory.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::bench::{Bench, Case};
use crate::driver::{Role, Team};
use crate::failure::Failure;
use crate::os::{Page, futex_wait, futex_wake, monotonic_ns};
use crate::protocol::{Duty, Params, serve};
use crate::stats::percentile;
use crate::systems::iceoryx::Daemon;
use crate::systems::{Kind, System};
use crate::worker::Context;
use crate::workload::explicit::Explicit;
use crate::workload::graph::{GRAPHS, Graph};
use crate::workload::{Rails, Station};

const TABLE: &str = "graphs";
/// Graphs that are opened together, so that peers that discover each other slowly need not do so for each graph.
const BATCH: usize = 7;
/// A graph is measured for so long, or so often, if that is more than what is asked for.
const BUDGET: Duration = Duration::from_millis(200);
const MOST_ROUNDS: usize = 50;
const PROCESSES: usize = 14;
const RIVALS: [Kind; 3] = [Kind::SituHost, Kind::Iceoryx2, Kind::CycloneDds];
/// The round that may begin.
const GO: usize = 0;
/// How often a node without successors was done.
const DONE: usize = 1;
/// When the last such node was done, in nanoseconds.
const END: usize = 2;

/// Sizes and numbers of chunks that Cyclone DDS needs of iceoryx's daemon: a size for each doubling.
fn pools() -> Vec<(usize, usize)> {
    let room = 64 << 10;
    let large = (18..=26).map(|power| ((1 << power) + room, if power > 23 { 14 } else { 28 }));
    [(8 << 10, 56), (32 << 10, 56), (128 << 10, 56)].into_iter().chain(large).collect()
}

/// Runs the table.
pub fn run(bench: &mut Bench) -> Result<(), Failure> {
    let cpus = bench.cores(1)?;
    let roles: Vec<Role> =
        (0..PROCESSES).map(|index| Role { name: "node", index, cpu: cpus[index % cpus.len()] }).collect();
    let daemon = Daemon::start(bench.session(), &pools());
    let mut teams = std::iter::once(Kind::SituEmulated)
        .chain(RIVALS)
        .map(|kind| match &daemon {
            Err(reason) if kind.needs_daemon() => Ok(Team::absent(kind, reason)),
            _ => Team::start(bench.session(), TABLE, kind, &roles),
        })
        .collect::<Result<Vec<_>, _>>()?;
    let mut rounds = Rounds { next: 1, warm: bench.scale(1, 20), least: bench.scale(3, 200) };
    for first in (0..GRAPHS).step_by(BATCH) {
        let end = (first + BATCH).min(GRAPHS);
        for team in &mut teams {
            team.ask(&format!("open first={first} end={end}"))?;
            team.ask("run connect=1")?;
        }
        for number in first..end {
            rounds.measure(bench, &mut teams, number)?;
        }
        for team in &mut teams {
            team.ask("close")?;
        }
    }
    summarize(bench)
}

/// How the rounds go.
struct Rounds {
    /// The number of the next; all of them are different, so that words and messages tell them apart.
    next: usize,
    /// How many are dropped at the beginning.
    warm: usize,
    /// How many are kept at least.
    least: usize,
}

impl Rounds {
    fn ask(&mut self, team: &mut Team, graph: usize, count: usize) -> Result<Vec<f64>, Failure> {
        let answer = team.ask(&format!("run graph={graph} next={} count={count}", self.next))?;
        self.next += count;
        Ok(answer)
    }

    /// Measures one graph with each system in turns.
    fn measure(&mut self, bench: &mut Bench, teams: &mut [Team], number: usize) -> Result<(), Failure> {
        let graph = Graph::numbered(number);
        let case = Case::named(format!("graph {number:02}"));
        for team in teams.iter_mut() {
            self.ask(team, number, self.warm)?;
        }
        let mut samples = vec![Vec::new(); teams.len()];
        let (start, mut rounds) = (Instant::now(), 0);
        // What is over soon is measured more often.
        while rounds < self.least || (rounds < MOST_ROUNDS && start.elapsed() < BUDGET) {
            rounds += 1;
            for (samples, team) in samples.iter_mut().zip(teams.iter_mut()) {
                samples.append(&mut self.ask(team, number, 1)?);
            }
        }
        // Nobody counts before everybody is done.
        let copies = teams
            .iter_mut()
            .map(|team| Ok(team.ask(&format!("run graph={number} count=0"))?.iter().sum::<f64>()))
            .collect::<Result<Vec<_>, Failure>>()?;
        for ((team, mut samples), copies) in teams.iter().zip(samples).zip(copies) {
            let copies = copies / (self.warm + rounds) as f64;
            let over = copies - graph.copies_needed() as f64;
            if let Some(median) = percentile(&mut samples, 0.5).filter(|_| team.absence().is_none()) {
                bench.record(TABLE, &case, team.kind, "p50_ns", median);
                bench.record(TABLE, &case, team.kind, "copies_over_one_per_domain", over);
                check(&graph, &case, team.kind, copies)?;
            }
        }
        bench.note_absent(TABLE, &case, teams);
        Ok(())
    }
}

/// Holds the counters of a round against what the graph asks for.
fn check(graph: &Graph, case: &Case, kind: Kind, copies: f64) -> Result<(), Failure> {
    let wrong = match kind {
        // Never more than one for each message and further domain.
        _ if kind.is_own() => copies > graph.copies_needed() as f64,
        Kind::SituHost | Kind::Iceoryx2 => copies != graph.copies_explicit() as f64,
        _ => false,
    };
    if wrong {
        let (name, needed, explicit) = (kind.name(), graph.copies_needed(), graph.copies_explicit());
        return Err(Failure::Worker(format!(
            "{}: {name} made {copies} copies a round; {needed} are needed, {explicit} if all are explicit",
            case.name
        )));
    }
    Ok(())
}

/// Draws the ratios, and says what they amount to.
fn summarize(bench: &mut Bench) -> Result<(), Failure> {
    let mut lines = Vec::new();
    for rival in RIVALS {
        let mut ratios = bench.ratios(TABLE, "p50_ns", Kind::SituEmulated, rival);
        let Some(median) = percentile(&mut ratios, 0.5) else { continue };
        let slower = ratios.iter().filter(|&&ratio| ratio > 1.0).count();
        let too_slow = ratios.iter().filter(|&&ratio| ratio > 1.05).count();
        let (best, worst) = (percentile(&mut ratios, 0.0), percentile(&mut ratios, 1.0));
        bench.remark(format!(
            "{} / {}: median {median:.2}, best {:.2}, worst {:.2}; slower in {slower} of {} graphs, by more than 5 % in {too_slow}",
            Kind::SituEmulated.name(),
            rival.name(),
            best.unwrap_or(median),
            worst.unwrap_or(median),
            ratios.len(),
        ));
        lines.push((rival, ratios));
    }
    bench.plot_ratios(TABLE, "98 random graphs: Situ's latency divided by a rival's", &lines)
}

/// A process of rivals, which copy explicitly.
pub fn work<S: System>(context: Context) -> Result<(), Failure> {
    let system = S::create(&context.session)?;
    play(Explicit::new(system, context.session.directory()), context)
}

/// A process, whatever passes its messages.
pub fn play<R: Rails>(rails: R, context: Context) -> Result<(), Failure> {
    serve(&mut Player { rails, context, first: 0, stations: Vec::new() })
}

struct Player<R: Rails> {
    rails: R,
    context: Context,
    /// The first graph that is open.
    first: usize,
    /// This process's node in each graph that is open, if it has one.
    stations: Vec<Option<(Graph, R::Station)>>,
}

impl<R: Rails> Duty for Player<R> {
    fn open(&mut self, params: &Params) -> Result<(), Failure> {
        self.first = params.get("first")?;
        let (end, node) = (params.get("end")?, self.context.index);
        for number in self.first..end {
            let graph = Graph::numbered(number);
            let station = if node < graph.nodes.len() {
                let topic = |node: usize| format!("{TABLE}-{number}-{node}");
                Some((graph.clone(), self.rails.station(&graph, node, &topic)?))
            } else {
                None
            };
            self.stations.push(station);
        }
        Ok(())
    }

    fn run(&mut self, params: &Params) -> Result<Vec<f64>, Failure> {
        if params.get_or("connect", 0)? == 1 {
            for (_, station) in self.stations.iter().flatten() {
                station.connect()?;
            }
            self.rails.settle();
            return Ok(Vec::new());
        }
        let number: usize = params.get("graph")?;
        let count: u64 = params.get("count")?;
        let Some(open) = self.stations.get_mut(number - self.first) else {
            return Err(Failure::Protocol { line: format!("graph={number}"), why: "it is not open" });
        };
        let Some((graph, station)) = open else { return Ok(Vec::new()) };
        if count == 0 {
            return Ok(vec![station.copies()? as f64]);
        }
        let next: u64 = params.get("next")?;
        let mut answer = Vec::new();
        for sequence in next..next + count {
            if let Some(latency) = round(&self.context.page, graph, self.context.index, station, sequence)? {
                answer.push(latency);
            }
        }
        Ok(answer)
    }

    fn close(&mut self) {
        self.stations.clear();
    }
}

/// One node's part in a round; node 0 returns how long the round took, in nanoseconds.
fn round(
    page: &Page,
    graph: &Graph,
    node: usize,
    station: &mut impl Station,
    sequence: u64,
) -> Result<Option<f64>, Failure> {
    let (go, done) = (page.half(GO), page.half(DONE));
    let expected = done.load(Ordering::Acquire).wrapping_add(graph.sinks() as u32);
    let mut start = 0;
    if node == 0 {
        // The other nodes are waiting, or not yet: then they find the word as it is.
        start = monotonic_ns();
        go.store(sequence as u32, Ordering::Release);
        futex_wake(go);
    } else if graph.nodes[node].inputs.is_empty() {
        while go.load(Ordering::Acquire) != sequence as u32 {
            let seen = go.load(Ordering::Acquire);
            if seen != sequence as u32 {
                futex_wait(go, seen);
            }
        }
    }
    station.round(sequence)?;
    if graph.nodes[node].outputs.is_empty() {
        page.word(END).fetch_max(monotonic_ns(), Ordering::AcqRel);
        done.fetch_add(1, Ordering::AcqRel);
        futex_wake(done);
    }
    if node != 0 {
        return Ok(None);
    }
    loop {
        let seen = done.load(Ordering::Acquire);
        if seen == expected {
            return Ok(Some((page.word(END).load(Ordering::Acquire) - start) as f64));
        }
        futex_wait(done, seen);
    }
}
