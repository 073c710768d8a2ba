//! Table `throughput`: the number of messages a second, without loss.

use crate::bench::Bench;
use crate::context::Context;
use crate::driver::{Role, Team, Turns, alternate};
use crate::failure::Failure;
use crate::payload::Touch;
use crate::protocol::{Duty, Params, serve};
use crate::rows::Case;
use crate::stats::percentile;
use crate::systems::{Channel, Kind, Loan, Message, Receiver, Sender, System};
use crate::units;
use crate::view::{Drawing, View};

const TABLE: &str = "throughput";
/// Messages that the channel holds.
const DEPTH: usize = 256;

/// Measures the table.
pub fn run(bench: &mut Bench) -> Result<View, Failure> {
    let cpus = bench.cores(2)?;
    let roles =
        [Role { name: "sender", index: 0, cpu: cpus[0] }, Role { name: "receiver", index: 0, cpu: cpus[1] }];
    let mut teams = [Kind::Floor, Kind::Situ, Kind::Iceoryx2]
        .into_iter()
        .map(|kind| Team::start(bench.session(), TABLE, kind, &roles))
        .collect::<Result<Vec<_>, _>>()?;
    for (size, batch) in [(64, 1), (64, 16), (64, 64), (4 << 10, 1), (4 << 10, 16)] {
        let case = match batch {
            1 => Case::named(units::size(size)),
            _ => Case::named(format!("{}, batches of {batch}", units::size(size))),
        };
        let samples = alternate(
            &mut teams,
            &Turns {
                open: &format!("open id={} size={size} batch={batch}", bench.next_id()),
                warm: "run count=20000",
                run: "run count=100000",
                rounds: bench.scale(20, 100),
                budget: bench.budget(),
            },
        )?;
        for (team, mut rates) in teams.iter().zip(samples) {
            for (metric, share) in [("msg_per_s", 0.5), ("msg_per_s_min", 0.0)] {
                if let Some(rate) = percentile(&mut rates, share) {
                    bench.record(TABLE, &case, team.kind, metric, rate);
                }
            }
        }
        bench.note_absent(TABLE, &case, &teams);
    }
    Ok(View::of(
        "Lossless throughput, one way",
        Drawing::Bars { metric: "msg_per_s", unit: "messages a second" },
    ))
}

/// Runs the sender or the receiver.
pub fn work<S: System>(context: Context) -> Result<(), Failure> {
    let system = S::create(&context.session)?;
    serve(&mut Player::<S> { system, context, sender: None, receiver: None, size: 0, batch: 1, next: 1 })
}

struct Player<S: System> {
    system: S,
    context: Context,
    sender: Option<S::Sender>,
    receiver: Option<S::Receiver>,
    size: usize,
    /// How many messages a call may publish or take.
    batch: usize,
    next: u64,
}

impl<S: System> Duty for Player<S> {
    fn open(&mut self, params: &Params) -> Result<(), Failure> {
        let id: u64 = params.get("id")?;
        self.size = params.get("size")?;
        self.batch = params.get("batch")?;
        self.next = 1;
        let channel =
            Channel { depth: DEPTH, reliable: true, ..Channel::new(format!("{TABLE}-{id}"), self.size) };
        if self.context.role == "sender" {
            self.sender = Some(self.system.sender(&channel)?);
        } else {
            self.receiver = Some(self.system.receiver(&channel)?);
        }
        Ok(())
    }

    fn run(&mut self, params: &Params) -> Result<Vec<f64>, Failure> {
        let count: u64 = params.get("count")?;
        let messages = self.next..self.next + count;
        self.next += count;
        if let (Some(sender), 2..) = (&self.sender, self.batch) {
            for first in messages.clone().step_by(self.batch) {
                sender.publish_batch(self.size, first..messages.end.min(first + self.batch as u64))?;
            }
            return Ok(Vec::new());
        }
        if let Some(sender) = &self.sender {
            for sequence in messages {
                let mut loan = sender.loan(self.size)?;
                loan.write(sequence, 0, Touch::All)?;
                loan.publish()?;
            }
            return Ok(Vec::new());
        }
        let Some(receiver) = &self.receiver else {
            return Err(Failure::Protocol { line: "run".to_owned(), why: "nothing is open" });
        };
        let clock = self.context.clock;
        let mut start = 0;
        if self.batch > 1 {
            let mut expected = messages.start;
            while expected < messages.end {
                let most = self.batch.min((messages.end - expected) as usize);
                receiver.take_batch(most, |found| {
                    let got = found.sequence;
                    if got != expected {
                        return Err(Failure::Wrong { system: S::NAME, expected, got });
                    }
                    if start == 0 {
                        start = clock.now();
                    }
                    expected += 1;
                    Ok(())
                })?;
            }
            return Ok(vec![(count - 1) as f64 / clock.ns(clock.now() - start) * 1e9]);
        }
        for sequence in messages {
            let message = loop {
                if let Some(message) = receiver.take()? {
                    break message;
                }
            };
            let got = message.read(Touch::All)?.sequence;
            if got != sequence {
                return Err(Failure::Wrong { system: S::NAME, expected: sequence, got });
            }
            if start == 0 {
                start = clock.now();
            }
        }
        Ok(vec![(count - 1) as f64 / clock.ns(clock.now() - start) * 1e9])
    }

    fn close(&mut self) {
        self.sender = None;
        self.receiver = None;
    }
}
