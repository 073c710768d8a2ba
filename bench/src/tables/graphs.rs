//! Table `graphs`: the duration of rounds of random graphs of processes, with half of the nodes on the device,
//! and with all of them on the CPU.
//!
//! Every node is a process. In each round, node 0 signals all nodes without predecessors. A node takes one
//! message from each predecessor, reads both ends of each, writes every byte of its own message and publishes
//! it. The round is over when the last node without successors has its messages. Nodes on the device read and
//! write in the device's memory.
//!
//! Only the graph runs meanwhile: node 0 signals when all nodes sleep, and no node answers the driver before
//! the round is over. The nodes go to sleep in the order of their numbers, with every system. The kernel
//! wakes sleepers on the same word in that order. If two of them share a core, the order may change the
//! duration by a quarter.

mod measured;
mod summary;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::bench::{Bench, Graphs};
use crate::context::Context;
use crate::driver::{Role, Team};
use crate::failure::Failure;
use crate::os::{Busy, Page, futex_wait, futex_wake, monotonic_ns};
use crate::protocol::{Duty, Params, serve};
use crate::systems::iceoryx::Daemon;
use crate::systems::{Kind, System};
use crate::view::View;
use crate::workload::explicit::Explicit;
use crate::workload::graph::{GRAPHS, Graph, Placement};
use crate::workload::{Rails, Station};

use measured::Measured;
use summary::summarize;

const TABLE: &str = "graphs";
/// The number of graphs that are opened together. Peers with slow discovery then need not repeat it for each
/// graph.
const BATCH: usize = 7;
/// The time for a graph: it is measured for this long, or `MOST_ROUNDS` times, if that is more than the
/// requested rounds.
const BUDGET: Duration = Duration::from_millis(200);
const MOST_ROUNDS: usize = 50;
/// The 10th and the 90th percentile need that many.
const LEAST_ROUNDS: usize = 20;
const PROCESSES: usize = 14;
const RIVALS: [Kind; 3] = [Kind::SituHost, Kind::Iceoryx2, Kind::CycloneDds];
/// Graphs above this ratio are measured again. Chance may also make a graph look faster, by as much as the
/// limit permits.
const SUSPECT: f64 = 1.0;
/// The number of the round that may begin.
const GO: usize = 0;
/// How often nodes without successors have finished.
const DONE: usize = 1;
/// The time at which the last of them finished, in nanoseconds.
const END: usize = 2;
/// The last node, other than node 0, that is about to wait for its messages or the signal.
const READY: usize = 3;
/// The time for a node to fall asleep.
const SETTLING: Duration = Duration::from_micros(100);

/// Sizes and numbers of chunks that Cyclone DDS needs from iceoryx's daemon: one size for each doubling.
fn pools() -> Vec<(usize, usize)> {
    let room = 64 << 10;
    let large = (18..=26).map(|power| ((1 << power) + room, if power > 23 { 14 } else { 28 }));
    [(8 << 10, 56), (32 << 10, 56), (128 << 10, 56)].into_iter().chain(large).collect()
}

/// Measures the table.
pub fn run(bench: &mut Bench) -> Result<View, Failure> {
    let cpus = bench.cores(1)?;
    let roles: Vec<Role> =
        (0..PROCESSES).map(|index| Role { name: "node", index, cpu: cpus[index % cpus.len()] }).collect();
    let Graphs { only: chosen, rounds: chosen_rounds, busy } = bench.graphs();
    let (chosen, chosen_rounds) = (chosen.clone(), *chosen_rounds);
    let _busy = busy.then(|| Busy::keep(&cpus)).transpose().map_err(Failure::io("cannot start threads"))?;
    let rivals = if chosen.is_empty() { &RIVALS[..] } else { &RIVALS[..1] };
    let daemon = if rivals.iter().any(|kind| kind.needs_daemon()) {
        Daemon::start(bench.session(), &pools())
    } else {
        Err("no system needs it".to_owned())
    };
    let mut teams = std::iter::once(Kind::SituEmulated)
        .chain(rivals.iter().copied())
        .map(|kind| match &daemon {
            Err(reason) if kind.needs_daemon() => Ok(Team::absent(kind, reason)),
            _ => Team::start(bench.session(), TABLE, kind, &roles),
        })
        .collect::<Result<Vec<_>, _>>()?;
    let all: Vec<usize> = if chosen.is_empty() { (0..GRAPHS).collect() } else { chosen };
    let first = Rounds {
        warm: bench.scale(2, 20),
        least: chosen_rounds.unwrap_or(bench.scale(LEAST_ROUNDS, 200)),
        most: chosen_rounds.unwrap_or(MOST_ROUNDS),
        budget: BUDGET,
    };
    let mut next = 1;
    let mut results = first.measure_all(&mut teams, &all, Placement::Mixed, &mut next)?;
    // Some of them are slow by chance. They are measured again, with more rounds and with new processes each
    // time, and only these measurements count. The placement of a process's memory changes its times by a few
    // percent for as long as it lives.
    let slow: Vec<usize> =
        results.iter().filter(|result| result.ratio() > SUSPECT).map(|it| it.number).collect();
    let before = slow.len();
    if !slow.is_empty() && chosen_rounds.is_none() {
        let again = Rounds { least: bench.scale(20, 100), most: 100, budget: BUDGET * 5, ..first };
        for _ in 0..bench.scale(3, 7) {
            let kinds = [Kind::SituEmulated, Kind::SituHost];
            let mut others = kinds
                .map(|kind| Team::start(bench.session(), TABLE, kind, &roles))
                .into_iter()
                .collect::<Result<Vec<_>, _>>()?;
            for better in again.measure_all(&mut others, &slow, Placement::Mixed, &mut next)? {
                if let Some(result) = results.iter_mut().find(|result| result.number == better.number) {
                    result.repeat(better);
                }
            }
        }
    }
    // A system that fails from here on keeps these rows.
    for result in &results {
        result.record(bench, &teams)?;
    }
    let on_host = first.measure_all(&mut teams, &all, Placement::Host, &mut next)?;
    for result in &on_host {
        result.record(bench, &teams)?;
    }
    results.extend(on_host);
    Ok(summarize(bench, &results, before))
}

/// The number of rounds.
#[derive(Clone, Copy)]
struct Rounds {
    /// Rounds that are dropped at the beginning.
    warm: usize,
    /// The minimum of rounds. Up to `most` rounds are measured within `budget`.
    least: usize,
    most: usize,
    budget: Duration,
}

impl Rounds {
    /// Measures graphs, a batch at a time. `next` is the number of the next round. All rounds have different
    /// numbers, so that words and messages can be told apart.
    fn measure_all(
        self,
        teams: &mut [Team],
        numbers: &[usize],
        placement: Placement,
        next: &mut usize,
    ) -> Result<Vec<Measured>, Failure> {
        let mut results: Vec<Measured> = Vec::new();
        let half =
            Self { least: self.least.div_ceil(2), most: self.most / 2, budget: self.budget / 2, ..self };
        for batch in numbers.chunks(BATCH) {
            let list: Vec<String> = batch.iter().map(usize::to_string).collect();
            let open =
                format!("open graphs={} host={}", list.join(","), u8::from(placement == Placement::Host));
            // The first process to touch its memory gets other pages than the last one, and large messages
            // may take a tenth longer. Each batch is therefore measured in either order.
            for backwards in [false, true] {
                let turns = in_turn(teams.len(), backwards);
                for &index in &turns {
                    teams[index].ask(&open)?;
                    teams[index].ask("run connect=1")?;
                }
                for &number in batch {
                    let measured = half.measure(teams, number, placement, next, &turns)?;
                    match results.iter_mut().find(|known| known.number == number) {
                        Some(known) => known.add(measured),
                        None => results.push(measured),
                    }
                }
                for team in teams.iter_mut() {
                    team.ask("close")?;
                }
            }
        }
        Ok(results)
    }

    /// Measures one graph, with the systems in turns, beginning in this order.
    fn measure(
        self,
        teams: &mut [Team],
        number: usize,
        placement: Placement,
        next: &mut usize,
        turns: &[usize],
    ) -> Result<Measured, Failure> {
        let nodes = Graph::numbered(number).nodes.len();
        let mut ask = |team: &mut Team, count: usize| {
            let line = format!("run graph={number} next={next} count={count}");
            let answer = team.ask_first(nodes, &line);
            *next += count;
            answer
        };
        for &index in turns {
            ask(&mut teams[index], self.warm)?;
        }
        let mut samples = vec![Vec::new(); teams.len()];
        let (start, mut rounds) = (Instant::now(), 0);
        // Short rounds are measured more often.
        while rounds < self.least || (rounds < self.most && start.elapsed() < self.budget) {
            for turn in 0..teams.len() {
                // Rotates the order: each system runs with the caches that the one before has left.
                let index = (turn + rounds) % teams.len();
                samples[index].append(&mut ask(&mut teams[index], 1)?);
            }
            rounds += 1;
        }
        // Reads the counters after all nodes have finished.
        let copies = teams
            .iter_mut()
            .map(|team| {
                let all = team.ask(&format!("run graph={number} count=0"))?.iter().sum::<f64>();
                Ok(all / (self.warm + rounds) as f64)
            })
            .collect::<Result<Vec<_>, Failure>>()?;
        Ok(Measured::new(number, placement, samples, copies))
    }
}

/// The teams in their order, or backwards.
fn in_turn(teams: usize, backwards: bool) -> Vec<usize> {
    if backwards { (0..teams).rev().collect() } else { (0..teams).collect() }
}

/// A worker of a system with explicit copies.
pub fn work<S: System>(context: Context) -> Result<(), Failure> {
    let system = S::create(&context.session)?;
    play(Explicit::new(system, context.session.directory()), context)
}

/// A worker of any system.
pub fn play<R: Rails>(rails: R, context: Context) -> Result<(), Failure> {
    serve(&mut Player { rails, context, stations: Vec::new() })
}

struct Player<R: Rails> {
    rails: R,
    context: Context,
    /// The open graphs with their numbers, and this process's node in each, if it has one.
    stations: Vec<(usize, Graph, Option<R::Station>)>,
}

impl<R: Rails> Duty for Player<R> {
    fn open(&mut self, params: &Params) -> Result<(), Failure> {
        let (list, node): (String, usize) = (params.get("graphs")?, self.context.index);
        let placement = if params.get_or("host", 0)? == 1 { Placement::Host } else { Placement::Mixed };
        for number in list.split(',') {
            let wrong = |_| Failure::Protocol { line: list.clone(), why: "bad value" };
            let number: usize = number.parse().map_err(wrong)?;
            let graph = Graph::placed(number, placement);
            let topic = |node: usize| format!("{TABLE}-{number}-{node}");
            let there = node < graph.nodes.len();
            let station = there.then(|| self.rails.station(&graph, node, &topic)).transpose()?;
            self.stations.push((number, graph, station));
        }
        Ok(())
    }

    fn run(&mut self, params: &Params) -> Result<Vec<f64>, Failure> {
        if params.get_or("connect", 0)? == 1 {
            for station in self.stations.iter().filter_map(|(.., station)| station.as_ref()) {
                station.connect()?;
            }
            self.rails.settle();
            return Ok(Vec::new());
        }
        let number: usize = params.get("graph")?;
        let Some((_, graph, station)) = self.stations.iter_mut().find(|(known, ..)| *known == number) else {
            return Err(Failure::Protocol { line: format!("graph={number}"), why: "the graph is not open" });
        };
        let Some(station) = station else { return Ok(Vec::new()) };
        let count: u64 = params.get("count")?;
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

/// One node's part in a round. Node 0 returns the duration of the round in nanoseconds.
fn round(
    page: &Page,
    graph: &Graph,
    node: usize,
    station: &mut impl Station,
    sequence: u64,
) -> Result<Option<f64>, Failure> {
    let (go, done, ready) = (page.half(GO), page.half(DONE), page.half(READY));
    // No node finishes before all have read this word: they become ready after reading, and node 0 signals
    // after that.
    let expected = done.load(Ordering::Acquire).wrapping_add(graph.sinks() as u32);
    let mut start = 0;
    if node == 0 {
        futex_wait_until(ready, |ready| ready as usize == graph.nodes.len() - 1);
        std::thread::sleep(SETTLING);
        ready.store(0, Ordering::Relaxed);
        start = monotonic_ns();
        go.store(sequence as u32, Ordering::Release);
        futex_wake(go);
    } else {
        futex_wait_until(ready, |ready| ready as usize == node - 1);
        if node > 1 {
            std::thread::sleep(SETTLING);
        }
        ready.store(node as u32, Ordering::Release);
        futex_wake(ready);
        if graph.nodes[node].inputs.is_empty() {
            futex_wait_until(go, |go| go == sequence as u32);
        }
    }
    station.round(sequence)?;
    if graph.nodes[node].outputs.is_empty() {
        page.word(END).fetch_max(monotonic_ns(), Ordering::AcqRel);
        if done.fetch_add(1, Ordering::AcqRel).wrapping_add(1) == expected {
            futex_wake(done);
        }
    }
    futex_wait_until(done, |done| done == expected);
    Ok((node == 0).then(|| (page.word(END).load(Ordering::Acquire) - start) as f64))
}

/// Sleeps until the condition holds. The writer of the word wakes the sleepers.
fn futex_wait_until(word: &AtomicU32, is_over: impl Fn(u32) -> bool) {
    loop {
        let seen = word.load(Ordering::Acquire);
        if is_over(seen) {
            return;
        }
        futex_wait(word, seen);
    }
}
