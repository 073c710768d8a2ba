//! Table `service`: a request of 64 bytes to another process, and its reply of 64 bytes.

use crate::bench::Bench;
use crate::context::Context;
use crate::driver::{Role, Team, Turns, alternate};
use crate::failure::Failure;
use crate::protocol::{Duty, Params, serve};
use crate::rows::Case;
use crate::systems::Kind;
use crate::view::{Drawing, View};

const TABLE: &str = "service";

/// The number of bytes of requests and replies.
pub const SIZE: usize = 64;

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
    /// Opens or creates the service and a client of it. With `sleeps`, both sides sleep until there is
    /// something; otherwise they poll.
    fn client(&self, service: &str, sleeps: bool) -> Result<Self::Client, Failure>;
    /// Opens or creates the service and a server of it.
    fn server(&self, service: &str, sleeps: bool) -> Result<Self::Server, Failure>;
}

/// A client.
pub trait Client {
    /// Lends a request, writes this number into it, sends it, waits for the reply, and returns the reply's
    /// number.
    fn call(&self, number: u64) -> Result<u64, Failure>;
}

/// A server.
pub trait Server {
    /// Waits for a request, and replies with its number.
    fn answer(&self) -> Result<(), Failure>;
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
    for (name, sleeps, count) in [("64 B, busy poll", 0, 2000), ("64 B, both sleep", 1, 500)] {
        let samples = alternate(
            &mut teams,
            &Turns {
                open: &format!("open id={} sleeps={sleeps}", bench.next_id()),
                warm: &format!("run count={count}"),
                run: &format!("run count={count}"),
                rounds: bench.scale(60, 300),
                budget: bench.budget(),
            },
        )?;
        bench.latencies(TABLE, &Case::named(name), &teams, samples);
    }
    Ok(View::of("A request and its reply, 64 bytes each", Drawing::Bars { metric: "p50_ns", unit: "ns" }))
}

/// Either process.
pub fn work<S: Services>(context: Context) -> Result<(), Failure> {
    let system = S::create(&context.session)?;
    serve(&mut Player::<S> { system, context, end: None, next: 1 })
}

enum End<S: Services> {
    Client(S::Client),
    Server(S::Server),
}

struct Player<S: Services> {
    system: S,
    context: Context,
    end: Option<End<S>>,
    next: u64,
}

impl<S: Services> Duty for Player<S> {
    fn open(&mut self, params: &Params) -> Result<(), Failure> {
        let name = format!("{TABLE}-{}", params.get::<u64>("id")?);
        let sleeps = params.get::<u8>("sleeps")? == 1;
        self.next = 1;
        self.end = Some(match self.context.role.as_str() {
            "client" => End::Client(self.system.client(&name, sleeps)?),
            _ => End::Server(self.system.server(&name, sleeps)?),
        });
        Ok(())
    }

    fn run(&mut self, params: &Params) -> Result<Vec<f64>, Failure> {
        let count: u64 = params.get("count")?;
        let clock = self.context.clock;
        let mut samples = Vec::with_capacity(count as usize);
        match &self.end {
            None => return Err(Failure::Protocol { line: "run".to_owned(), why: "nothing is open" }),
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
