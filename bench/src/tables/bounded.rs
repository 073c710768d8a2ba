//! Table `bounded`: a `sequence<uint8, N>`, timed from just before its payload is written until it is
//! received.

use std::sync::atomic::Ordering;

use crate::bench::Bench;
use crate::context::Context;
use crate::driver::{Role, Team, Turns, alternate};
use crate::failure::Failure;
use crate::os::{futex_wait, futex_wake, monotonic_ns};
use crate::payload::Touch;
use crate::protocol::{Duty, Params, serve};
use crate::rows::Case;
use crate::systems::iceoryx::{BOUNDED_POOLS, Daemon};
use crate::systems::{Channel, Kind, Loan, Message, Receiver, Sender, Shape, System};
use crate::units;
use crate::view::{Drawing, View};

const TABLE: &str = "bounded";
/// The word in which the subscriber acknowledges a message.
const ACKNOWLEDGED: usize = 0;

/// Measures the table.
pub fn run(bench: &mut Bench) -> Result<View, Failure> {
    let cpus = bench.cores(2)?;
    let roles = [
        Role { name: "subscriber", index: 0, cpu: cpus[1] },
        Role { name: "publisher", index: 0, cpu: cpus[0] },
    ];
    let daemon = Daemon::start(bench.session(), &BOUNDED_POOLS);
    let mut teams = [
        Kind::Floor,
        Kind::Situ,
        Kind::SituSerialized,
        Kind::Iceoryx2,
        Kind::Iceoryx,
        Kind::CycloneDds,
        Kind::CycloneDdsLoan,
        Kind::FastDds,
        Kind::FastDdsLoan,
    ]
    .into_iter()
    .map(|kind| match &daemon {
        Err(reason) if kind.needs_daemon() => Ok(Team::absent(kind, reason)),
        _ => Team::start(bench.session(), TABLE, kind, &roles),
    })
    .collect::<Result<Vec<_>, _>>()?;
    for size in [1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 8 << 20] {
        let count = ((8 << 20) / size).clamp(8, 100);
        let samples = alternate(
            &mut teams,
            &Turns {
                open: &format!("open id={} size={size}", bench.next_id()),
                warm: &format!("run count={count}"),
                run: &format!("run count={count}"),
                rounds: bench.scale(10, 50),
                budget: bench.budget(),
            },
        )?;
        bench.latencies(TABLE, &Case::sized(units::size(size), size, 0), &teams, samples);
    }
    Ok(View::of("End-to-end latency of sequence<uint8, N>, payload written each time", Drawing::Sizes(&[""])))
}

/// Runs the publisher or the subscriber.
pub fn work<S: System>(context: Context) -> Result<(), Failure> {
    let system = S::create(&context.session)?;
    serve(&mut Player::<S> { system, context, sender: None, receiver: None, size: 0, next: 1 })
}

struct Player<S: System> {
    system: S,
    context: Context,
    sender: Option<S::Sender>,
    receiver: Option<S::Receiver>,
    size: usize,
    next: u64,
}

impl<S: System> Duty for Player<S> {
    fn open(&mut self, params: &Params) -> Result<(), Failure> {
        let id: u64 = params.get("id")?;
        self.size = params.get("size")?;
        self.next = 1;
        let shape = Shape::Bounded;
        let channel = Channel { depth: 1, shape, ..Channel::new(format!("{TABLE}-{id}"), self.size) };
        if self.context.role == "publisher" {
            self.sender = Some(self.system.sender(&channel)?);
        } else {
            self.context.page.half(ACKNOWLEDGED).store(0, Ordering::Relaxed);
            self.receiver = Some(self.system.receiver(&channel)?);
        }
        Ok(())
    }

    fn run(&mut self, params: &Params) -> Result<Vec<f64>, Failure> {
        let count: u64 = params.get("count")?;
        let messages = self.next..self.next + count;
        self.next += count;
        let acknowledged = self.context.page.half(ACKNOWLEDGED);
        if let Some(sender) = &self.sender {
            for sequence in messages {
                let time = monotonic_ns();
                let mut loan = sender.loan(self.size)?;
                loan.write(sequence, time, Touch::All)?;
                loan.publish()?;
                // The publisher sleeps, so that the helper threads of a system have the core.
                loop {
                    let seen = acknowledged.load(Ordering::Acquire);
                    if u64::from(seen) >= sequence {
                        break;
                    }
                    futex_wait(acknowledged, seen);
                }
            }
            return Ok(Vec::new());
        }
        let Some(receiver) = &self.receiver else {
            return Err(Failure::Protocol { line: "run".to_owned(), why: "nothing is open" });
        };
        let mut samples = Vec::with_capacity(count as usize);
        for sequence in messages {
            let message = loop {
                if let Some(message) = receiver.take()? {
                    break message;
                }
            };
            let now = monotonic_ns();
            let found = message.read(Touch::Ends)?;
            let ends = (sequence as u8, sequence as u8);
            if found.sequence != sequence || found.size != self.size || found.ends != ends {
                return Err(Failure::Wrong { system: S::NAME, expected: sequence, got: found.sequence });
            }
            samples.push((now - found.time) as f64);
            drop(message);
            acknowledged.store(sequence as u32, Ordering::Release);
            futex_wake(acknowledged);
        }
        Ok(samples)
    }

    fn close(&mut self) {
        self.sender = None;
        self.receiver = None;
    }
}
