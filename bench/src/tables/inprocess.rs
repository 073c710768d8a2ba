//! Table `inprocess`: what a message costs without another process: the code between the accesses that processes
//! share.

use crate::bench::Bench;
use crate::context::Context;
use crate::driver::{Role, Team, Turns, alternate};
use crate::failure::Failure;
use crate::payload::Touch;
use crate::protocol::{Duty, Params, serve};
use crate::rows::Case;
use crate::systems::{Channel, Kind, Loan, Message, Receiver, Sender, System};
use crate::units;
use crate::view::{Drawing, View};

const TABLE: &str = "inprocess";
/// How many messages are timed together, because the clock takes as long as a message.
const BATCH: u64 = 64;

/// Measures the table.
pub fn run(bench: &mut Bench) -> Result<View, Failure> {
    let cpus = bench.cores(1)?;
    let roles = [Role { name: "both", index: 0, cpu: cpus[0] }];
    let mut teams = [Kind::Floor, Kind::Situ, Kind::Iceoryx2]
        .into_iter()
        .map(|kind| Team::start(bench.session(), TABLE, kind, &roles))
        .collect::<Result<Vec<_>, _>>()?;
    for size in [48, 64, 1 << 10] {
        let case = Case::named(units::size(size));
        let samples = alternate(
            &mut teams,
            &Turns {
                open: &format!("open id={} size={size}", bench.next_id()),
                warm: "run count=200",
                run: "run count=200",
                rounds: bench.scale(60, 300),
                budget: bench.budget(),
            },
        )?;
        bench.latencies(TABLE, &case, &teams, samples);
    }
    Ok(View::of("A message within one thread", Drawing::Bars { metric: "p50_ns", unit: "ns" }))
}

/// The process with both ends.
pub fn work<S: System>(context: Context) -> Result<(), Failure> {
    let system = S::create(&context.session)?;
    serve(&mut Player::<S> { system, context, ends: None, size: 0, next: 1 })
}

struct Player<S: System> {
    system: S,
    context: Context,
    ends: Option<(S::Sender, S::Receiver)>,
    size: usize,
    next: u64,
}

impl<S: System> Duty for Player<S> {
    fn open(&mut self, params: &Params) -> Result<(), Failure> {
        let id: u64 = params.get("id")?;
        self.size = params.get("size")?;
        self.next = 1;
        let channel = Channel::new(format!("{TABLE}-{id}"), self.size);
        let sender = self.system.sender(&channel)?;
        self.ends = Some((sender, self.system.receiver(&channel)?));
        Ok(())
    }

    /// Times `count` batches.
    fn run(&mut self, params: &Params) -> Result<Vec<f64>, Failure> {
        let count: u64 = params.get("count")?;
        let Some((sender, receiver)) = &self.ends else {
            return Err(Failure::Protocol { line: "run".to_owned(), why: "nothing is open" });
        };
        let clock = self.context.clock;
        let mut samples = Vec::with_capacity(count as usize);
        let mut start = clock.now();
        for _ in 0..count {
            for sequence in self.next..self.next + BATCH {
                let mut loan = sender.loan(self.size)?;
                loan.write(sequence, 0, Touch::Header)?;
                loan.publish()?;
                let got = receiver.take()?.map(|message| message.read(Touch::Header)).transpose()?;
                let got = got.map_or(0, |found| found.sequence);
                if got != sequence {
                    return Err(Failure::Wrong { system: S::NAME, expected: sequence, got });
                }
            }
            self.next += BATCH;
            let end = clock.now();
            samples.push(clock.ns(end - start) / BATCH as f64);
            start = end;
        }
        Ok(samples)
    }

    fn close(&mut self) {
        self.ends = None;
    }
}
