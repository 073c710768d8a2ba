//! Table `bridge`: from a program on one machine to one on another, through two bridges, beside plain Zenoh.
//!
//! ```text
//!   situ    program -> bridge  ~~>  bridge -> program      four processes
//!   zenoh   program            ~~>            program      two processes
//! ```
//!
//! The machines are two roots on this one, and the link between them is TCP, over loopback or between two
//! network namespaces with a pair of virtual cables (veth). All processes of a machine are bound to one core.
//! Both systems write and read all bytes of a message, sleep while there is none, send small messages at
//! once, and lose none.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use crate::bench::Bench;
use crate::context::Context;
use crate::driver::{Role, Team};
use crate::failure::Failure;
use crate::network::{self, TwoNetworks};
use crate::os;
use crate::protocol::{Duty, Params, serve};
use crate::rows::Case;
use crate::stats::percentile;
use crate::systems::links::{Bridged, In, Links, Out, PlainZenoh, RunningBridge, Side};
use crate::systems::{Channel, Kind};
use crate::units;
use crate::view::{Drawing, View};

const TABLE: &str = "bridge";
/// The size of an acknowledgement.
const ACK: usize = 64;
/// How long a message may take.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long the two sides try to meet, and how often.
const MEET: Duration = Duration::from_secs(45);
const MEET_EVERY: Duration = Duration::from_millis(50);
/// How long nothing must come before the two sides have met.
const QUIET: Duration = Duration::from_millis(300);

/// What one round measures.
struct Round {
    name: String,
    size: usize,
    /// The messages of a round.
    count: u64,
    /// How many of them are on their way at once. 1: a ping-pong.
    window: u64,
    /// How many topics messages take in turn.
    topics: usize,
    /// How many other topics have a publisher, and no subscriber on the other machine.
    idle: usize,
    rounds: usize,
}

/// Between the two machines.
struct Network<'a> {
    /// The address of the first machine.
    host: &'a str,
    /// The name of the two namespaces, or `-`.
    space: &'a str,
    /// A port for each system.
    ports: [u16; 2],
}

/// Measures the table.
pub fn run(bench: &mut Bench) -> Result<View, Failure> {
    let cpus = bench.cores(2)?;
    let roles = [
        Role { name: "bridge", index: 0, cpu: cpus[0] },
        Role { name: "bridge", index: 1, cpu: cpus[1] },
        Role { name: "ping", index: 0, cpu: cpus[0] },
        Role { name: "pong", index: 1, cpu: cpus[1] },
    ];
    let start = |bench: &mut Bench| -> Result<Vec<Team>, Failure> {
        [(Kind::Situ, &roles[..]), (Kind::Zenoh, &roles[2..])]
            .into_iter()
            .map(|(kind, roles)| Team::start(bench.session(), TABLE, kind, roles))
            .collect()
    };
    let mut teams = start(bench)?;
    let ports = [free_port()?, free_port()?];
    let loopback = Network { host: "127.0.0.1", space: "-", ports };
    let scale = |normal, full| bench.scale(normal, full);
    let (short, long) = (scale(15, 60), scale(8, 30));
    let case = |size, count, window, rounds| {
        let what = if window == 1 { "" } else { ", one way" };
        let name = format!("{}{what}", units::size(size));
        Round { name, size, count, window, topics: 1, idle: 0, rounds }
    };
    let many = Round { topics: 10, idle: 990, ..case(64, 300, 1, short) };
    let cases = [
        case(64, 300, 1, short),
        case(1 << 20, 20, 1, short),
        case(8 << 20, 4, 1, short),
        case(64, 5000, 64, long),
        case(1 << 20, 60, 8, long),
        case(8 << 20, 12, 4, long),
        Round { name: "64 B, 1000 topics, 10 cross".to_owned(), ..many },
    ];
    for round in &cases {
        measure(bench, &mut teams, &loopback, round)?;
    }
    drop(teams);
    match TwoNetworks::make() {
        Ok(networks) => {
            let mut teams = start(bench)?;
            let veth = Network { host: networks.host(), space: networks.name(), ports };
            for round in cases.iter().filter(|round| round.topics == 1) {
                measure(
                    bench,
                    &mut teams,
                    &veth,
                    &Round { name: format!("veth: {}", round.name), ..*round },
                )?;
            }
        }
        Err(reason) => bench.remark(format!("no rows `veth`: {reason}")),
    }
    bench.remark(
        "both machines are this one, each with one core: a bridge takes turns with its program on it"
            .to_owned(),
    );
    Ok(View::of(
        "From machine to machine, through two bridges and by plain Zenoh",
        Drawing::Bars { metric: "p50_ns", unit: "ns" },
    ))
}

fn free_port() -> Result<u16, Failure> {
    let address = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    Ok(address.map_err(Failure::io("cannot find a free port"))?.port())
}

fn cpu_of(team: &mut Team) -> u64 {
    team.workers().iter().map(|worker| os::cpu_ns(worker.pid()).unwrap_or(0)).sum()
}

/// One case: the systems take turns.
fn measure(bench: &mut Bench, teams: &mut [Team], network: &Network, round: &Round) -> Result<(), Failure> {
    let Round { size, count, window, topics, idle, .. } = *round;
    let id = bench.next_id();
    for (team, port) in teams.iter_mut().zip(network.ports) {
        let channels = format!("window={window} topics={topics} idle={idle}");
        let place = format!("space={} host={} port={port}", network.space, network.host);
        team.ask(&format!("open id={id} size={size} {channels} {place}"))?;
    }
    for team in teams.iter_mut() {
        team.ask(&format!("run count={count}"))?;
    }
    let (mut samples, mut cpu) = (vec![Vec::new(); teams.len()], vec![Vec::new(); teams.len()]);
    let start = Instant::now();
    for number in 0..round.rounds {
        if number >= 3 && start.elapsed() > 4 * bench.budget() {
            break;
        }
        for (index, team) in teams.iter_mut().enumerate() {
            let before = cpu_of(team);
            samples[index].append(&mut team.ask(&format!("run count={count}"))?);
            let spent = cpu_of(team).saturating_sub(before);
            cpu[index].push(spent as f64 / count as f64 / if window == 1 { 2.0 } else { 1.0 });
        }
    }
    let case = Case::named(round.name.clone());
    for ((team, mut samples), mut cpu) in teams.iter_mut().zip(samples).zip(cpu) {
        team.ask("close")?;
        if team.absence().is_some() {
            continue;
        }
        let metrics: &[(&'static str, f64)] =
            if window == 1 { &[("p50_ns", 0.5), ("p99_ns", 0.99)] } else { &[("msg_per_s", 0.5)] };
        for (metric, share) in metrics {
            if let Some(value) = percentile(&mut samples, *share) {
                bench.record(TABLE, &case, team.kind, metric, value);
            }
        }
        if let Some(value) = percentile(&mut cpu, 0.5) {
            bench.record(TABLE, &case, team.kind, "cpu_ns", value);
        }
    }
    bench.note_absent(TABLE, &case, teams);
    Ok(())
}

/// Any of the processes.
pub fn work(kind: Kind, context: Context) -> Result<(), Failure> {
    os::allow_files().map_err(Failure::io("cannot raise the number of files"))?;
    match (kind, context.role.as_str()) {
        (_, "bridge") => serve(&mut Bridging { context, bridge: None }),
        (Kind::Zenoh, _) => serve(&mut Player::<PlainZenoh>::new(context)),
        _ => serve(&mut Player::<Bridged>::new(context)),
    }
}

fn side(context: &Context) -> Side {
    if context.index == 0 { Side::First } else { Side::Second }
}

/// The endpoint of the first machine. Enters the machine's network first.
fn endpoint(context: &Context, params: &Params) -> Result<String, Failure> {
    let (space, host): (String, String) = (params.get("space")?, params.get("host")?);
    if space != "-" {
        network::enter(&space, context.index)?;
    }
    Ok(format!("tcp/{host}:{}", params.get::<u16>("port")?))
}

/// The process of a bridge. It stays from case to case.
struct Bridging {
    context: Context,
    bridge: Option<RunningBridge>,
}

impl Duty for Bridging {
    fn open(&mut self, params: &Params) -> Result<(), Failure> {
        if self.bridge.is_none() {
            let side = side(&self.context);
            self.bridge =
                Some(RunningBridge::start(&self.context.session, side, &endpoint(&self.context, params)?)?);
        }
        Ok(())
    }

    fn run(&mut self, _params: &Params) -> Result<Vec<f64>, Failure> {
        Ok(Vec::new())
    }

    fn close(&mut self) {}
}

/// The process of a program.
struct Player<L: Links> {
    context: Context,
    links: Option<L>,
    ends: Option<Ends<L>>,
    next: u64,
}

/// The ping sends on each topic in turn, and the pong on one.
struct Ends<L: Links> {
    outs: Vec<L::Out>,
    ins: Vec<L::In>,
    /// Publishers of topics that do not cross.
    _idle: Vec<L::Out>,
    size: usize,
    window: u64,
    has_met: bool,
}

impl<L: Links> Player<L> {
    fn new(context: Context) -> Self {
        Self { context, links: None, ends: None, next: 1 }
    }
}

impl<L: Links> Duty for Player<L> {
    fn open(&mut self, params: &Params) -> Result<(), Failure> {
        let (id, size): (u64, usize) = (params.get("id")?, params.get("size")?);
        let window: u64 = params.get("window")?;
        let (topics, idle): (usize, usize) = (params.get("topics")?, params.get("idle")?);
        if self.links.is_none() {
            self.links = Some(L::create(
                &self.context.session,
                side(&self.context),
                &endpoint(&self.context, params)?,
            )?);
        }
        let Some(links) = &self.links else {
            return Err(Failure::Protocol { line: "open".to_owned(), why: "there is no session" });
        };
        let channel = |name: String, size| Channel {
            depth: 2 * window.max(8) as usize,
            reliable: true,
            blocking: true,
            ..Channel::new(name, size)
        };
        let is_ping = self.context.role == "ping";
        let numbers = if is_ping { 0..idle } else { 0..0 };
        let idle = numbers.map(|number| links.sender(&channel(format!("{TABLE}-{id}-idle-{number}"), ACK)));
        let idle = idle.collect::<Result<_, _>>()?;
        let there: Vec<_> =
            (0..topics).map(|number| channel(format!("{TABLE}-{id}-there-{number}"), size)).collect();
        let back = [channel(format!("{TABLE}-{id}-back"), if window == 1 { size } else { ACK })];
        let (outs, ins) = if is_ping { (&there[..], &back[..]) } else { (&back[..], &there[..]) };
        let size = outs.first().map_or(ACK, |channel| channel.size);
        let outs = outs.iter().map(|channel| links.sender(channel)).collect::<Result<_, _>>()?;
        let ins = ins.iter().map(|channel| links.receiver(channel)).collect::<Result<_, _>>()?;
        self.next = 1;
        self.ends = Some(Ends { outs, ins, _idle: idle, size, window, has_met: false });
        Ok(())
    }

    fn run(&mut self, params: &Params) -> Result<Vec<f64>, Failure> {
        let count: u64 = params.get("count")?;
        let (first, last) = (self.next, self.next + count - 1);
        self.next += count;
        let clock = self.context.clock;
        let Some(ends) = &mut self.ends else {
            return Err(Failure::Protocol { line: "run".to_owned(), why: "nothing is open" });
        };
        if self.context.role == "pong" {
            return ends.pong(first, last).map(|()| Vec::new());
        }
        ends.meet()?;
        if ends.window > 1 {
            let start = clock.now();
            ends.stream(first, last)?;
            return Ok(vec![count as f64 / clock.ns(clock.now() - start) * 1e9]);
        }
        let mut samples = Vec::with_capacity(count as usize);
        for sequence in first..=last {
            let start = clock.now();
            ends.send(sequence)?;
            ends.expect(sequence)?;
            samples.push(clock.ns(clock.now() - start) / 2.0);
        }
        Ok(samples)
    }

    fn close(&mut self) {
        self.ends = None;
    }
}

impl<L: Links> Ends<L> {
    /// Sends messages with the number 0 until one comes back: it takes a moment until a subscriber is known
    /// on the other machine. Afterwards none is on its way.
    fn meet(&mut self) -> Result<(), Failure> {
        if std::mem::replace(&mut self.has_met, true) {
            return Ok(());
        }
        let end = Instant::now() + MEET;
        for out in &self.outs {
            while self.ins[0].next(MEET_EVERY)?.is_none() {
                if Instant::now() > end {
                    return Err(Failure::Worker(format!("{}: the two sides do not meet", L::NAME)));
                }
                out.send(self.size, 0)?;
            }
            while self.ins[0].next(QUIET)?.is_some() {}
        }
        Ok(())
    }

    /// Sends a message on its topic.
    fn send(&self, sequence: u64) -> Result<(), Failure> {
        self.outs[(sequence % self.outs.len() as u64) as usize].send(self.size, sequence)
    }

    /// Sends messages, `window` of them at once.
    fn stream(&self, first: u64, last: u64) -> Result<(), Failure> {
        let mut acknowledged = first - 1;
        for sequence in first..=last {
            while sequence - acknowledged > self.window {
                acknowledged = self.take()?;
            }
            self.send(sequence)?;
        }
        while acknowledged < last {
            acknowledged = self.take()?;
        }
        Ok(())
    }

    /// Answers messages: each, or with a window, half of it at a time.
    fn pong(&self, first: u64, last: u64) -> Result<(), Failure> {
        let mut expected = first;
        // The first message comes when the two sides have met.
        let limit = if first == 1 { MEET } else { PATIENCE };
        while expected <= last {
            match self.next(expected, limit)? {
                None => return Err(Failure::Worker(format!("{}: no message {expected}", L::NAME))),
                Some(0) => self.send(0)?,
                Some(got) if got != expected => {
                    return Err(Failure::Wrong { system: L::NAME, expected, got });
                }
                Some(got) => {
                    expected += 1;
                    if got == last || got % (self.window / 2).max(1) == 0 {
                        self.send(got)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The next message: this one on its topic, or one by which the ping finds out whether a topic crosses.
    fn next(&self, expected: u64, limit: Duration) -> Result<Option<u64>, Failure> {
        let own = (expected % self.ins.len() as u64) as usize;
        if self.ins.len() == 1 {
            return self.ins[own].next(limit);
        }
        let end = Instant::now() + limit;
        while Instant::now() < end {
            if let Some(found) = self.ins[own].next(MEET_EVERY)? {
                return Ok(Some(found));
            }
            for other in &self.ins {
                if let Some(found) = other.next(Duration::ZERO)? {
                    return Ok(Some(found));
                }
            }
        }
        Ok(None)
    }

    fn take(&self) -> Result<u64, Failure> {
        let message = self.ins[0].next(PATIENCE)?;
        message.ok_or_else(|| Failure::Worker(format!("{}: no message comes back", L::NAME)))
    }

    fn expect(&self, expected: u64) -> Result<(), Failure> {
        match self.take()? {
            got if got == expected => Ok(()),
            got => Err(Failure::Wrong { system: L::NAME, expected, got }),
        }
    }
}
