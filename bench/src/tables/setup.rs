//! Table `setup`: the time until a process can publish, and the number of files that it then has open.

use crate::bench::Bench;
use crate::context::Context;
use crate::driver::{Role, Team};
use crate::failure::Failure;
use crate::os;
use crate::payload::Touch;
use crate::protocol::{Duty, Params, serve};
use crate::rows::Case;
use crate::stats::percentile;
use crate::systems::{Channel, Kind, Loan, Receiver, Sender, System};
use crate::view::{Drawing, View};

const TABLE: &str = "setup";
const SIZE: usize = 64;
const SUBSCRIBERS: usize = 8;
/// The results of a timed run, in this order.
const STEPS: [&str; 4] = ["node", "topic + publisher", "subscriber", "node + topic + publisher"];

/// Measures the table.
pub fn run(bench: &mut Bench) -> Result<View, Failure> {
    let cpus = bench.cores(2)?;
    let systems = [Kind::Floor, Kind::Situ, Kind::Iceoryx2];
    let lone = [Role { name: "lone", index: 0, cpu: cpus[0] }];
    let mut samples = vec![vec![Vec::new(); STEPS.len()]; systems.len()];
    for _ in 0..bench.scale(40, 200) {
        for (kind, samples) in systems.into_iter().zip(&mut samples) {
            // A new process each time, to measure the cost of a program's start.
            let mut team = Team::start(bench.session(), TABLE, kind, &lone)?;
            let times = team.ask(&format!("run id={}", bench.next_id()))?;
            for (samples, time) in samples.iter_mut().zip(times) {
                samples.push(time);
            }
            bench.note_absent(TABLE, &Case::named(STEPS[0]), std::slice::from_ref(&team));
        }
    }
    for (at, step) in STEPS.into_iter().enumerate() {
        let case = Case::named(step);
        for (kind, samples) in systems.into_iter().zip(&mut samples) {
            for (metric, share) in [("p50_ns", 0.5), ("p99_ns", 0.99)] {
                if let Some(value) = percentile(&mut samples[at], share) {
                    bench.record(TABLE, &case, kind, metric, value);
                }
            }
        }
    }
    let mut crowd = vec![Role { name: "publisher", index: 0, cpu: cpus[0] }];
    crowd.extend((0..SUBSCRIBERS).map(|index| Role { name: "subscriber", index, cpu: cpus[1] }));
    for (name, roles) in
        [("1 publisher + 8 subscribers, one process", &lone[..]), ("1 + 8 processes, together", &crowd[..])]
    {
        let case = Case::named(name);
        for kind in systems {
            let mut team = Team::start(bench.session(), TABLE, kind, roles)?;
            team.ask(&format!("open id={}", bench.next_id()))?;
            let files = team.ask("run count=1")?;
            if !files.is_empty() {
                bench.record(TABLE, &case, kind, "open_files", files.iter().sum());
            }
            bench.note_absent(TABLE, &case, std::slice::from_ref(&team));
        }
    }
    Ok(View::of(
        "Creating node, topic and ports in a fresh process",
        Drawing::Bars { metric: "p50_ns", unit: "ns" },
    ))
}

/// A worker that creates the objects.
pub fn work<S: System>(context: Context) -> Result<(), Failure> {
    let before = os::open_files().map_err(Failure::io("cannot count open files"))?;
    serve(&mut Player::<S> { context, before, system: None, sender: None, receivers: Vec::new() })
}

struct Player<S: System> {
    context: Context,
    /// Files open before anything was created.
    before: usize,
    // Ports are dropped before their node.
    sender: Option<S::Sender>,
    receivers: Vec<S::Receiver>,
    system: Option<S>,
}

fn channel(id: u64) -> Channel {
    Channel { places: SUBSCRIBERS, ..Channel::new(format!("{TABLE}-{id}"), SIZE) }
}

impl<S: System> Player<S> {
    /// Creates everything once, and measures each step.
    fn time(&self, id: u64) -> Result<Vec<f64>, Failure> {
        let clock = self.context.clock;
        let start = clock.now();
        let system = S::create(&self.context.session)?;
        let node = clock.now();
        let sender = system.sender(&channel(id))?;
        let publisher = clock.now();
        let receiver = system.receiver(&channel(id))?;
        let subscriber = clock.now();
        drop((receiver, sender, system));
        let steps = [node - start, publisher - node, subscriber - publisher, publisher - start];
        Ok(steps.map(|ticks| clock.ns(ticks)).to_vec())
    }
}

impl<S: System> Duty for Player<S> {
    fn open(&mut self, params: &Params) -> Result<(), Failure> {
        let id = params.get("id")?;
        let system = S::create(&self.context.session)?;
        if self.context.role != "subscriber" {
            self.sender = Some(system.sender(&channel(id))?);
        }
        let receivers = match self.context.role.as_str() {
            "lone" => SUBSCRIBERS,
            "subscriber" => 1,
            _ => 0,
        };
        for _ in 0..receivers {
            self.receivers.push(system.receiver(&channel(id))?);
        }
        self.system = Some(system);
        Ok(())
    }

    /// Times everything, or sends one message and counts the open files.
    fn run(&mut self, params: &Params) -> Result<Vec<f64>, Failure> {
        if self.system.is_none() {
            return self.time(params.get("id")?);
        }
        if let Some(sender) = &self.sender {
            let mut loan = sender.loan(SIZE)?;
            loan.write(1, 0, Touch::Header)?;
            loan.publish()?;
        }
        for receiver in &self.receivers {
            while receiver.take()?.is_none() {}
        }
        let files = os::open_files().map_err(Failure::io("cannot count open files"))?;
        Ok(vec![(files - self.before) as f64])
    }

    fn close(&mut self) {
        self.receivers.clear();
        self.sender = None;
        self.system = None;
    }
}
