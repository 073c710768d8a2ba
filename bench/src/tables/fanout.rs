//! Table `fanout`: the cost of publishing for the publisher, by the number of subscribers.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::bench::Bench;
use crate::context::Context;
use crate::driver::{Role, Team, Turns, alternate};
use crate::failure::Failure;
use crate::os;
use crate::payload::Touch;
use crate::protocol::{Duty, Params, serve};
use crate::rows::Case;
use crate::systems::{Channel, Kind, Loan, Message, Receiver, Sender, System};
use crate::view::{Drawing, View};

const TABLE: &str = "fanout";
const SIZE: usize = 64;
/// Processes in the case with one subscriber each.
const PROCESSES: usize = 8;
/// The publisher waits this long after the last subscriber has taken a message, so that all sleep again.
const SETTLE: Duration = Duration::from_micros(100);

/// Measures the table.
pub fn run(bench: &mut Bench) -> Result<View, Failure> {
    let cpus = bench.cores(2)?;
    let systems = [Kind::Floor, Kind::Situ, Kind::Iceoryx2];
    let publisher = Role { name: "publisher", index: 0, cpu: cpus[0] };
    let start = |bench: &Bench, processes: usize| {
        let mut roles = vec![publisher];
        // More processes than cores share the cores that the publisher leaves free.
        roles.extend((0..processes).map(|index| Role {
            name: "subscriber",
            index,
            cpu: cpus[1 + index % (cpus.len() - 1)],
        }));
        systems
            .into_iter()
            .map(|kind| Team::start(bench.session(), TABLE, kind, &roles))
            .collect::<Result<Vec<_>, _>>()
    };

    let mut teams = start(bench, 1)?;
    for (name, subscribers, places) in [
        ("1 subscriber", 1, 1),
        ("8 subscribers", 8, 8),
        ("64 subscribers", 64, 64),
        ("1 subscriber, 256 places", 1, 256),
    ] {
        let case = Case::named(name);
        let id = bench.next_id();
        let samples = alternate(
            &mut teams,
            &Turns {
                open: &format!(
                    "open id={id} subscribers={subscribers} places={places} processes=1 blocking=0"
                ),
                warm: "run count=200",
                run: "run count=500",
                rounds: bench.scale(20, 100),
                budget: bench.budget(),
            },
        )?;
        bench.latencies(TABLE, &case, &teams, samples);
    }
    drop(teams);

    let mut teams = start(bench, PROCESSES)?;
    let case = Case::named(format!("{PROCESSES} sleeping processes"));
    let id = bench.next_id();
    let samples = alternate(
        &mut teams,
        &Turns {
            open: &format!("open id={id} subscribers=1 places={PROCESSES} processes={PROCESSES} blocking=1"),
            warm: "run count=50",
            run: "run count=100",
            rounds: bench.scale(20, 100),
            budget: bench.budget(),
        },
    )?;
    bench.latencies(TABLE, &case, &teams, samples);
    Ok(View::of("Publishing: the publisher's call", Drawing::Bars { metric: "p50_ns", unit: "ns" }))
}

/// Runs the publisher or the subscribers.
pub fn work<S: System>(context: Context) -> Result<(), Failure> {
    let system = S::create(&context.session)?;
    let ends =
        Ends { sender: None, receivers: Vec::new(), processes: 1, blocking: false, interval: Duration::ZERO };
    serve(&mut Player::<S> { system, context, ends, next: 1 })
}

struct Ends<S: System> {
    sender: Option<S::Sender>,
    receivers: Vec<S::Receiver>,
    processes: usize,
    blocking: bool,
    /// The shortest time between two publications.
    interval: Duration,
}

struct Player<S: System> {
    system: S,
    context: Context,
    ends: Ends<S>,
    next: u64,
}

impl<S: System> Duty for Player<S> {
    fn open(&mut self, params: &Params) -> Result<(), Failure> {
        let id: u64 = params.get("id")?;
        self.next = 1;
        self.ends.processes = params.get("processes")?;
        self.ends.blocking = params.get::<u8>("blocking")? == 1;
        self.ends.interval = Duration::from_micros(params.get_or("interval_us", 0)?);
        let channel = Channel {
            places: params.get("places")?,
            blocking: self.ends.blocking,
            ..Channel::new(format!("{TABLE}-{id}"), SIZE)
        };
        if self.context.role == "publisher" {
            self.ends.sender = Some(self.system.sender(&channel)?);
        } else {
            self.context.page.word(self.context.index).store(0, Ordering::Relaxed);
            for _ in 0..params.get("subscribers")? {
                self.ends.receivers.push(self.system.receiver(&channel)?);
            }
        }
        Ok(())
    }

    fn run(&mut self, params: &Params) -> Result<Vec<f64>, Failure> {
        let count: u64 = params.get("count")?;
        let messages = self.next..self.next + count;
        self.next += count;
        match &self.ends.sender {
            Some(sender) => publish::<S>(sender, &self.ends, &self.context, messages),
            None => drain::<S>(&self.ends, &self.context, messages).map(|()| Vec::new()),
        }
    }

    fn close(&mut self) {
        self.ends.sender = None;
        self.ends.receivers.clear();
    }
}

fn publish<S: System>(
    sender: &S::Sender,
    ends: &Ends<S>,
    context: &Context,
    messages: std::ops::Range<u64>,
) -> Result<Vec<f64>, Failure> {
    let clock = context.clock;
    let mut samples = Vec::with_capacity((messages.end - messages.start) as usize);
    for sequence in messages {
        let start = clock.now();
        let mut loan = sender.loan(SIZE)?;
        loan.write(sequence, 0, Touch::Header)?;
        loan.publish()?;
        samples.push(clock.ns(clock.now() - start));
        // Every subscriber takes the message before the next one is published: no queue overflows, and no
        // side blocks.
        for process in 0..ends.processes {
            while context.page.word(process).load(Ordering::Acquire) < sequence {}
        }
        if ends.blocking {
            os::spin_for(SETTLE);
        }
        if !ends.interval.is_zero() {
            while clock.ns(clock.now() - start) < ends.interval.as_nanos() as f64 {}
        }
    }
    Ok(samples)
}

fn drain<S: System>(
    ends: &Ends<S>,
    context: &Context,
    messages: std::ops::Range<u64>,
) -> Result<(), Failure> {
    for sequence in messages {
        for receiver in &ends.receivers {
            let got = loop {
                if let Some(message) = receiver.take()? {
                    break message.read(Touch::Header)?.sequence;
                }
                if ends.blocking {
                    receiver.wait()?;
                }
            };
            if got != sequence {
                return Err(Failure::Wrong { system: S::NAME, expected: sequence, got });
            }
        }
        context.page.word(context.index).store(sequence, Ordering::Release);
    }
    Ok(())
}
