//! Table `service`: a request of 64 bytes to another process, and its reply of 64 bytes; the same in hops of
//! one message; and replies in many parts, beside a topic's throughput.

use crate::bench::Bench;
use crate::context::Context;
use crate::driver::{Role, Team, Turns, alternate};
use crate::failure::Failure;
use crate::protocol::{Duty, Params, serve};
use crate::rows::Case;
use crate::stats::percentile;
use crate::systems::Kind;
use crate::view::{Drawing, View};

const TABLE: &str = "service";

/// The number of bytes of requests and replies.
pub const SIZE: usize = 64;
/// How many parts of a reply the client has room for.
pub const DEPTH: usize = 64;
/// The case in which both sides poll.
const POLLED: &str = "64 B, busy poll";
/// The parts of a reply.
const PARTS: u64 = 20_000;

/// How both sides use a service.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    /// They sleep until there is something; otherwise they poll.
    pub sleeps: bool,
    /// A reply has many parts, none of which may be lost.
    pub streams: bool,
}

/// A system with services, in one process.
pub trait Services: Sized {
    /// Its name.
    const NAME: &'static str;
    /// The client.
    type Client: Client;
    /// The server.
    type Server: Server;
    /// Creates the part that each process needs once: the node.
    fn create(session: &crate::session::Session) -> Result<Self, Failure>;
    /// Opens or creates the service and a client of it.
    fn client(&self, service: &str, way: Way) -> Result<Self::Client, Failure>;
    /// Opens or creates the service and a server of it.
    fn server(&self, service: &str, way: Way) -> Result<Self::Server, Failure>;
}

/// A client.
pub trait Client {
    /// Lends a request, writes this number into it, sends it, waits for the reply, and returns the reply's
    /// number.
    fn call(&self, number: u64) -> Result<u64, Failure>;
    /// Sends a request with the first part's number, and polls for so many parts of its reply. `seen` gets
    /// the number of each.
    fn stream(
        &self,
        first: u64,
        count: u64,
        seen: impl FnMut(u64) -> Result<(), Failure>,
    ) -> Result<(), Failure>;
}

/// A server.
pub trait Server {
    /// Waits for a request, and replies with its number.
    fn answer(&self) -> Result<(), Failure>;
    /// Polls for a request, and replies with so many parts, numbered from the request's number on.
    fn answer_in_parts(&self, count: u64) -> Result<(), Failure>;
}

/// Measures the table.
pub fn run(bench: &mut Bench) -> Result<View, Failure> {
    let cpus = bench.cores(2)?;
    let roles =
        [Role { name: "client", index: 0, cpu: cpus[0] }, Role { name: "server", index: 0, cpu: cpus[1] }];
    let mut teams = [Kind::Situ, Kind::Iceoryx2]
        .into_iter()
        .map(|kind| Team::start(bench.session(), TABLE, kind, &roles))
        .collect::<Result<Vec<_>, _>>()?;
    for (name, sleeps, count) in [(POLLED, 0, 2000), ("64 B, both sleep", 1, 500)] {
        let samples = alternate(
            &mut teams,
            &Turns {
                open: &format!("open id={} sleeps={sleeps} parts=0", bench.next_id()),
                warm: &format!("run count={count}"),
                run: &format!("run count={count}"),
                rounds: bench.scale(60, 300),
                budget: bench.budget(),
            },
        )?;
        bench.latencies(TABLE, &Case::named(name), &teams, samples);
    }
    in_hops(bench, &mut teams, cpus[0], cpus[1])?;
    streamed(bench, &mut teams, cpus[0], cpus[1])?;
    Ok(View::of("A request and its reply, 64 bytes each", Drawing::Bars { metric: "p50_ns", unit: "ns" }))
}

/// Round trips of services, in turns with one message of each system and of the floor, and their ratios.
fn in_hops(bench: &mut Bench, services: &mut Vec<Team>, first: usize, second: usize) -> Result<(), Failure> {
    let roles = [Role { name: "ping", index: 0, cpu: first }, Role { name: "pong", index: 0, cpu: second }];
    let number = services.len();
    for kind in [Kind::Floor, Kind::Situ, Kind::Iceoryx2] {
        services.push(Team::start(bench.session(), "hop", kind, &roles)?);
    }
    let samples = alternate(
        services,
        &Turns {
            // The first words are for services, the others for hops.
            open: &format!("open id={} sleeps=0 parts=0 size={SIZE} full=0 ahead=0", bench.next_id()),
            warm: "run count=2000",
            run: "run count=2000",
            rounds: bench.scale(60, 300),
            budget: bench.budget(),
        },
    )?;
    let hops = services.split_off(number);
    let mut samples = samples.into_iter();
    let trips: Vec<_> = samples.by_ref().take(number).collect();
    let hop = Case::named("64 B, one message one way");
    bench.latencies(TABLE, &hop, &hops, samples.collect());
    let case = Case::named("a round trip in messages");
    let hop_of = |bench: &Bench, kind| bench.value(TABLE, &hop.name, kind, "p50_ns");
    for (team, mut times) in services.iter().zip(trips) {
        let Some(trip) = percentile(&mut times, 0.5) else { continue };
        for (metric, to) in [("of its own", team.kind), ("of the floor", Kind::Floor)] {
            if let Some(hop) = hop_of(bench, to) {
                bench.record(TABLE, &case, team.kind, metric, trip / hop);
            }
        }
    }
    Ok(())
}

/// Replies in many parts, in turns with messages of a topic.
fn streamed(bench: &mut Bench, services: &mut Vec<Team>, first: usize, second: usize) -> Result<(), Failure> {
    let roles =
        [Role { name: "receiver", index: 0, cpu: first }, Role { name: "sender", index: 0, cpu: second }];
    let number = services.len();
    for kind in [Kind::Situ, Kind::Iceoryx2] {
        services.push(Team::start(bench.session(), "throughput", kind, &roles)?);
    }
    let samples = alternate(
        services,
        &Turns {
            // The first words are for services, the others for topics.
            open: &format!("open id={} sleeps=0 parts=1 size={SIZE} batch=1", bench.next_id()),
            warm: &format!("run count={PARTS}"),
            run: &format!("run count={PARTS}"),
            rounds: bench.scale(20, 100),
            budget: bench.budget(),
        },
    )?;
    let cases = [Case::named("64 B, streamed replies"), Case::named("64 B, messages of a topic")];
    for (index, (team, mut rates)) in services.iter().zip(samples).enumerate() {
        let case = &cases[usize::from(index >= number)];
        for (metric, share) in [("msg_per_s", 0.5), ("msg_per_s_min", 0.0)] {
            if let Some(rate) = percentile(&mut rates, share) {
                bench.record(TABLE, case, team.kind, metric, rate);
            }
        }
    }
    bench.note_absent(TABLE, &cases[0], &services[..number]);
    bench.note_absent(TABLE, &cases[1], &services[number..]);
    services.truncate(number);
    Ok(())
}

/// Either process.
pub fn work<S: Services>(context: Context) -> Result<(), Failure> {
    let system = S::create(&context.session)?;
    serve(&mut Player::<S> { system, context, end: None, streams: false, next: 1 })
}

enum End<S: Services> {
    Client(S::Client),
    Server(S::Server),
}

struct Player<S: Services> {
    system: S,
    context: Context,
    end: Option<End<S>>,
    streams: bool,
    next: u64,
}

impl<S: Services> Duty for Player<S> {
    fn open(&mut self, params: &Params) -> Result<(), Failure> {
        let name = format!("{TABLE}-{}", params.get::<u64>("id")?);
        let way = Way { sleeps: params.get::<u8>("sleeps")? == 1, streams: params.get::<u8>("parts")? == 1 };
        self.streams = way.streams;
        self.next = 1;
        self.end = Some(match self.context.role.as_str() {
            "client" => End::Client(self.system.client(&name, way)?),
            _ => End::Server(self.system.server(&name, way)?),
        });
        Ok(())
    }

    fn run(&mut self, params: &Params) -> Result<Vec<f64>, Failure> {
        let count: u64 = params.get("count")?;
        let clock = self.context.clock;
        let mut samples = Vec::with_capacity(count as usize);
        match &self.end {
            None => return Err(Failure::Protocol { line: "run".to_owned(), why: "nothing is open" }),
            Some(End::Server(server)) if self.streams => server.answer_in_parts(count)?,
            Some(End::Client(client)) if self.streams => {
                let (mut expected, mut start) = (self.next, 0);
                client.stream(self.next, count, |got| {
                    if got != expected {
                        return Err(Failure::Wrong { system: S::NAME, expected, got });
                    }
                    if start == 0 {
                        start = clock.now();
                    }
                    expected += 1;
                    Ok(())
                })?;
                let got = expected - self.next;
                if got != count {
                    return Err(Failure::Wrong { system: S::NAME, expected: count, got });
                }
                samples.push((count - 1) as f64 / clock.ns(clock.now() - start) * 1e9);
            }
            Some(End::Server(server)) => {
                for _ in 0..count {
                    server.answer()?;
                }
            }
            Some(End::Client(client)) => {
                let mut start = clock.now();
                for number in self.next..self.next + count {
                    let got = client.call(number)?;
                    if got != number {
                        return Err(Failure::Wrong { system: S::NAME, expected: number, got });
                    }
                    let end = clock.now();
                    samples.push(clock.ns(end - start));
                    start = end;
                }
            }
        }
        self.next += count;
        Ok(samples)
    }

    fn close(&mut self) {
        self.end = None;
    }
}
