//! Table `hop`: the time of a message from one process to another that polls.

use std::ops::Range;

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

const TABLE: &str = "hop";

/// Measures the table.
pub fn run(bench: &mut Bench) -> Result<View, Failure> {
    let cpus = bench.cores(2)?;
    let roles =
        [Role { name: "ping", index: 0, cpu: cpus[0] }, Role { name: "pong", index: 0, cpu: cpus[1] }];
    let mut teams = [Kind::Floor, Kind::Situ, Kind::Iceoryx2]
        .into_iter()
        .map(|kind| Team::start(bench.session(), TABLE, kind, &roles))
        .collect::<Result<Vec<_>, _>>()?;
    for touch in [Touch::Header, Touch::All] {
        for size in [48, 64, 1 << 10, 64 << 10, 1 << 20, 4 << 20] {
            let what = if touch == Touch::All { " written+read" } else { "" };
            let name = format!("{}{what}", units::size(size));
            let case = Case::sized(name, size, usize::from(touch == Touch::All));
            hop(bench, &mut teams, &case, size, touch, false)?;
        }
    }
    hop(bench, &mut teams, &Case::named("64 B, loaned ahead"), 64, Touch::Header, true)?;
    Ok(View::of(
        "One-way latency between two processes, busy poll",
        Drawing::Sizes(&["header touched", "written and read"]),
    ))
}

/// One row of the table.
fn hop(
    bench: &mut Bench,
    teams: &mut [Team],
    case: &Case,
    size: usize,
    touch: Touch,
    ahead: bool,
) -> Result<(), Failure> {
    // A round trip writes and reads both messages. Keeps a round at a few milliseconds.
    let count = if touch == Touch::All { ((8 << 20) / size).clamp(4, 2000) } else { 2000 };
    let (full, ahead) = (u8::from(touch == Touch::All), u8::from(ahead));
    let samples = alternate(
        teams,
        &Turns {
            open: &format!("open id={} size={size} full={full} ahead={ahead}", bench.next_id()),
            warm: &format!("run count={}", count.max(20)),
            run: &format!("run count={count}"),
            rounds: bench.scale(60, 300),
            budget: bench.budget(),
        },
    )?;
    bench.latencies(TABLE, case, teams, samples);
    Ok(())
}

/// Either process of the ping-pong.
pub fn work<S: System>(context: Context) -> Result<(), Failure> {
    let system = S::create(&context.session)?;
    serve(&mut Player::<S> {
        system,
        context,
        ends: None,
        size: 0,
        touch: Touch::Header,
        ahead: false,
        next: 1,
    })
}

struct Player<S: System> {
    system: S,
    context: Context,
    ends: Option<(S::Sender, S::Receiver)>,
    size: usize,
    touch: Touch,
    /// Whether the next message is loaned while this one is on its way, as in iceoryx2's own benchmark.
    /// Otherwise a message is received, and the answer is loaned, written and published, as in programs.
    ahead: bool,
    next: u64,
}

impl<S: System> Duty for Player<S> {
    fn open(&mut self, params: &Params) -> Result<(), Failure> {
        let id: u64 = params.get("id")?;
        self.size = params.get("size")?;
        self.touch = if params.get::<u8>("full")? == 1 { Touch::All } else { Touch::Header };
        self.ahead = params.get::<u8>("ahead")? == 1;
        self.next = 1;
        let there = Channel::new(format!("{TABLE}-{id}-there"), self.size);
        let back = Channel::new(format!("{TABLE}-{id}-back"), self.size);
        let (out, into) = if self.context.role == "ping" { (there, back) } else { (back, there) };
        self.ends = Some((self.system.sender(&out)?, self.system.receiver(&into)?));
        Ok(())
    }

    fn run(&mut self, params: &Params) -> Result<Vec<f64>, Failure> {
        let count: u64 = params.get("count")?;
        let messages = self.next..self.next + count;
        self.next += count;
        let Some((sender, receiver)) = &self.ends else {
            return Err(Failure::Protocol { line: "run".to_owned(), why: "nothing is open" });
        };
        match (self.context.role.as_str(), self.ahead) {
            ("ping", false) => self.ping(sender, receiver, messages),
            ("ping", true) => self.ping_ahead(sender, receiver, messages),
            (_, false) => self.pong(sender, receiver, messages),
            (_, true) => self.pong_ahead(sender, receiver, messages),
        }
    }

    fn close(&mut self) {
        self.ends = None;
    }
}

impl<S: System> Player<S> {
    fn ping(
        &self,
        sender: &S::Sender,
        receiver: &S::Receiver,
        messages: Range<u64>,
    ) -> Result<Vec<f64>, Failure> {
        let clock = self.context.clock;
        let mut samples = Vec::with_capacity((messages.end - messages.start) as usize);
        let mut start = clock.now();
        for sequence in messages {
            let mut loan = sender.loan(self.size)?;
            loan.write(sequence, 0, self.touch)?;
            loan.publish()?;
            self.expect(receiver, sequence)?;
            let end = clock.now();
            samples.push(clock.ns(end - start) / 2.0);
            start = end;
        }
        Ok(samples)
    }

    fn pong(
        &self,
        sender: &S::Sender,
        receiver: &S::Receiver,
        messages: Range<u64>,
    ) -> Result<Vec<f64>, Failure> {
        for sequence in messages {
            self.expect(receiver, sequence)?;
            let mut loan = sender.loan(self.size)?;
            loan.write(sequence, 0, self.touch)?;
            loan.publish()?;
        }
        Ok(Vec::new())
    }

    fn ping_ahead(
        &self,
        sender: &S::Sender,
        receiver: &S::Receiver,
        messages: Range<u64>,
    ) -> Result<Vec<f64>, Failure> {
        let clock = self.context.clock;
        let mut samples = Vec::with_capacity((messages.end - messages.start) as usize);
        let mut loan = sender.loan(self.size)?;
        let mut start = clock.now();
        for sequence in messages {
            loan.write(sequence, 0, self.touch)?;
            loan.publish()?;
            loan = sender.loan(self.size)?;
            self.expect(receiver, sequence)?;
            let end = clock.now();
            samples.push(clock.ns(end - start) / 2.0);
            start = end;
        }
        Ok(samples)
    }

    fn pong_ahead(
        &self,
        sender: &S::Sender,
        receiver: &S::Receiver,
        messages: Range<u64>,
    ) -> Result<Vec<f64>, Failure> {
        for sequence in messages {
            let mut loan = sender.loan(self.size)?;
            self.expect(receiver, sequence)?;
            loan.write(sequence, 0, self.touch)?;
            loan.publish()?;
        }
        Ok(Vec::new())
    }

    /// Polls until the message with this number is there. If it never comes, the driver ends the worker.
    #[inline]
    fn expect(&self, receiver: &S::Receiver, sequence: u64) -> Result<(), Failure> {
        let message = loop {
            if let Some(message) = receiver.take()? {
                break message;
            }
        };
        let got = message.read(self.touch)?.sequence;
        if got == sequence {
            Ok(())
        } else {
            Err(Failure::Wrong { system: S::NAME, expected: sequence, got })
        }
    }
}
