//! Table `wake`: a hop of 64 bytes to a sleeping process, and its system calls.

use crate::bench::Bench;
use crate::context::Context;
use crate::driver::{Role, Team, Turns, alternate};
use crate::failure::Failure;
use crate::os;
use crate::payload::Touch;
use crate::protocol::{Duty, Params, serve};
use crate::rows::Case;
use crate::syscalls::Counter;
use crate::systems::{Channel, Kind, Loan, Message, Receiver, Sender, System};
use crate::view::{Drawing, View};
use std::time::Duration;

const TABLE: &str = "wake";
const SIZE: usize = 64;
/// Hops in the shorter and in the longer counted pass. The difference leaves out the cost of starting and
/// ending.
const COUNTED: (u64, u64) = (50, 250);

/// Measures the table.
pub fn run(bench: &mut Bench) -> Result<View, Failure> {
    let cpus = bench.cores(2)?;
    let roles =
        [Role { name: "ping", index: 0, cpu: cpus[0] }, Role { name: "pong", index: 0, cpu: cpus[1] }];
    let mut teams = [Kind::Floor, Kind::Situ, Kind::Iceoryx2]
        .into_iter()
        .map(|kind| Team::start(bench.session(), TABLE, kind, &roles))
        .collect::<Result<Vec<_>, _>>()?;
    let case = Case::named("64 B");
    hop(bench, &case, &mut teams)?;
    if bench.let_sleep() {
        hop(bench, &Case::named("64 B, cores sleep deeply"), &mut teams)?;
        bench.keep_awake();
    }
    let open = format!("open id={}", bench.next_id());
    for team in &mut teams {
        team.ask(&open)?;
        team.ask("run count=50")?;
        match per_hop(team)? {
            Ok(Some(count)) => bench.record(TABLE, &case, team.kind, "syscalls_per_hop", count),
            Ok(None) => {}
            Err(reason) => {
                bench.remark(format!("{TABLE}: {}: system calls not counted: {reason}", team.kind.name()))
            }
        }
        team.ask("close")?;
    }
    bench.note_absent(TABLE, &case, &teams);
    Ok(View::of("Waking a sleeping process with 64 bytes", Drawing::Bars { metric: "p50_ns", unit: "ns" }))
}

fn hop(bench: &mut Bench, case: &Case, teams: &mut [Team]) -> Result<(), Failure> {
    let samples = alternate(
        teams,
        &Turns {
            open: &format!("open id={}", bench.next_id()),
            warm: "run count=500",
            run: "run count=500",
            rounds: bench.scale(40, 200),
            budget: bench.budget(),
        },
    )?;
    bench.latencies(TABLE, case, teams, samples);
    Ok(())
}

/// System calls of both processes for one hop; `None` for an absent system.
fn per_hop(team: &mut Team) -> Result<Result<Option<f64>, String>, Failure> {
    let pids: Vec<u32> = team.workers().iter().map(|worker| worker.pid()).collect();
    if pids.is_empty() {
        return Ok(Ok(None));
    }
    let mut counts = [0; 2];
    for (count, hops) in counts.iter_mut().zip([COUNTED.0, COUNTED.1]) {
        let counter = match Counter::start(&pids) {
            Ok(counter) => counter,
            Err(error) => return Ok(Err(error.to_string())),
        };
        // Each side waits a little before it answers. The other side then sleeps for certain, although
        // tracing is slow.
        let answer = team.ask(&format!("run count={hops} gap_us=300"));
        *count = counter.stop();
        answer?;
    }
    if team.absence().is_some() {
        return Ok(Ok(None));
    }
    Ok(Ok(Some((counts[1] as f64 - counts[0] as f64) / (2 * (COUNTED.1 - COUNTED.0)) as f64)))
}

/// Either process of the ping-pong.
pub fn work<S: System>(context: Context) -> Result<(), Failure> {
    let system = S::create(&context.session)?;
    serve(&mut Player::<S> { system, context, ends: None, next: 1 })
}

struct Player<S: System> {
    system: S,
    context: Context,
    ends: Option<(S::Sender, S::Receiver)>,
    next: u64,
}

impl<S: System> Duty for Player<S> {
    fn open(&mut self, params: &Params) -> Result<(), Failure> {
        let id: u64 = params.get("id")?;
        self.next = 1;
        let channel =
            |way: &str| Channel { blocking: true, ..Channel::new(format!("{TABLE}-{id}-{way}"), SIZE) };
        let (out, into) = if self.context.role == "ping" { ("there", "back") } else { ("back", "there") };
        self.ends = Some((self.system.sender(&channel(out))?, self.system.receiver(&channel(into))?));
        Ok(())
    }

    fn run(&mut self, params: &Params) -> Result<Vec<f64>, Failure> {
        let count: u64 = params.get("count")?;
        let gap = Duration::from_micros(params.get_or("gap_us", 0)?);
        let Some((sender, receiver)) = &self.ends else {
            return Err(Failure::Protocol { line: "run".to_owned(), why: "nothing is open" });
        };
        let clock = self.context.clock;
        let mut samples = Vec::new();
        let mut start = clock.now();
        for sequence in self.next..self.next + count {
            let mut loan = sender.loan(SIZE)?;
            if self.context.role == "ping" {
                loan.write(sequence, 0, Touch::Header)?;
                pause(gap);
                loan.publish()?;
                expect::<S>(receiver, sequence)?;
                let end = clock.now();
                samples.push(clock.ns(end - start) / 2.0);
                start = end;
            } else {
                expect::<S>(receiver, sequence)?;
                loan.write(sequence, 0, Touch::Header)?;
                pause(gap);
                loan.publish()?;
            }
        }
        self.next += count;
        Ok(samples)
    }

    fn close(&mut self) {
        self.ends = None;
    }
}

fn pause(gap: Duration) {
    if !gap.is_zero() {
        os::spin_for(gap);
    }
}

/// Sleeps until the message with this number has arrived.
#[inline]
fn expect<S: System>(receiver: &S::Receiver, sequence: u64) -> Result<(), Failure> {
    loop {
        if let Some(message) = receiver.take()? {
            let got = message.read(Touch::Header)?.sequence;
            let right = got == sequence;
            return if right {
                Ok(())
            } else {
                Err(Failure::Wrong { system: S::NAME, expected: sequence, got })
            };
        }
        receiver.wait()?;
    }
}
