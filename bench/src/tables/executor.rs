//! Table `executor`: the time from publishing until a callback of an executor has the message, in another
//! process.

use std::cell::RefCell;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver as Queue, channel};
use std::time::Duration;

use ::iceoryx2::port::listener::Listener;
use ::iceoryx2::prelude::{CallbackProgression, SignalHandlingMode, WaitSet, WaitSetBuilder, ipc};
use ::iceoryx2::waitset::WaitSetGuard;
use ::situ::bus::Executor;

use crate::bench::Bench;
use crate::context::Context;
use crate::driver::{Role, Team, Turns, alternate};
use crate::failure::Failure;
use crate::messages::bench::Small;
use crate::os;
use crate::payload::Touch;
use crate::protocol::{Duty, Params, serve};
use crate::rows::Case;
use crate::systems::iceoryx2::{self, Iceoryx2, Iox2Receiver};
use crate::systems::situ::{self, Situ};
use crate::systems::{Channel, Kind, Loan, Message, Receiver, Sender, System};
use crate::view::{Drawing, View};

const TABLE: &str = "executor";
const SIZE: usize = 64;
/// The time between two messages, so that the receiver sleeps again.
const GAP: Duration = Duration::from_micros(200);

/// Measures the table.
pub fn run(bench: &mut Bench) -> Result<View, Failure> {
    let cpus = bench.cores(2)?;
    let roles =
        [Role { name: "sender", index: 0, cpu: cpus[0] }, Role { name: "receiver", index: 0, cpu: cpus[1] }];
    for (way, name) in [("poll", "spinning"), ("sleep", "sleeping")] {
        for sources in [0, 1, 100, 10_000] {
            let mut teams = [Kind::Situ, Kind::Iceoryx2]
                .into_iter()
                .map(|kind| Team::start(bench.session(), TABLE, kind, &roles))
                .collect::<Result<Vec<_>, _>>()?;
            let case = Case::named(match sources {
                0 => format!("{name}, take"),
                1 => format!("{name}, callback, 1 source"),
                _ => format!("{name}, callback, {sources} sources"),
            });
            let samples = alternate(
                &mut teams,
                &Turns {
                    open: &format!("open id={} way={way} sources={sources}", bench.next_id()),
                    warm: "run count=100",
                    run: "run count=200",
                    rounds: bench.scale(30, 150),
                    budget: bench.budget(),
                },
            )?;
            bench.latencies(TABLE, &case, &teams, samples);
        }
    }
    Ok(View::of("From publishing to a callback", Drawing::Bars { metric: "p50_ns", unit: "ns" }))
}

/// When each message was published, and its number.
type Arrival = (u64, u64);

/// The arrivals that callbacks tell, each with the time when it was noticed.
type Arrivals = Queue<(Arrival, u64)>;

/// A system with callbacks.
pub trait Callbacks: System {
    /// What calls back.
    type Station;
    /// A station with a source on each channel, which tells the arrivals on the first one, and when they were
    /// noticed.
    fn station(&self, channels: &[Channel]) -> Result<(Self::Station, Arrivals), Failure>;
    /// Calls back once. Waits for something to happen if it may sleep.
    fn turn(station: &Self::Station, sleeps: bool) -> Result<(), Failure>;
}

impl Callbacks for Situ {
    type Station = Executor;

    fn station(&self, channels: &[Channel]) -> Result<(Executor, Arrivals), Failure> {
        let executor = Executor::new(self.node()).map_err(situ::wrap("Executor::new"))?;
        let (tell, arrivals) = channel();
        for channel in channels {
            let tell = tell.clone();
            let callback = move |sample: ::situ::bus::Sample<Small>| {
                // The receiver reads it until the last message was received.
                let _ = tell.send(((sample.sequence_number, sample.time), os::monotonic_ns()));
            };
            let subscriber = situ::subscriber::<Small>(self.node(), channel)?;
            executor.subscribe(subscriber, callback).map_err(situ::wrap("Executor::subscribe"))?;
        }
        Ok((executor, arrivals))
    }

    fn turn(executor: &Executor, sleeps: bool) -> Result<(), Failure> {
        if sleeps {
            executor.spin_once(None).map(drop).map_err(situ::wrap("Executor::spin_once"))
        } else {
            executor.spin_some().map(drop).map_err(situ::wrap("Executor::spin_some"))
        }
    }
}

/// The parts of a wait set of iceoryx2. The set and what is attached to it stay until the process ends,
/// because the attachments borrow both.
pub struct Iox2Station {
    set: &'static WaitSet<ipc::Service>,
    first: &'static Iox2Receiver,
    guards: Vec<WaitSetGuard<'static, 'static, ipc::Service>>,
    tell: RefCell<std::sync::mpsc::Sender<(Arrival, u64)>>,
}

impl Callbacks for Iceoryx2 {
    type Station = Iox2Station;

    fn station(&self, channels: &[Channel]) -> Result<(Iox2Station, Arrivals), Failure> {
        let builder = WaitSetBuilder::new().signal_handling_mode(SignalHandlingMode::Disabled);
        let set = builder.create::<ipc::Service>().map_err(iceoryx2::wrap("WaitSetBuilder::create"))?;
        let set: &'static WaitSet<ipc::Service> = Box::leak(Box::new(set));
        let (mut guards, mut first) = (Vec::new(), None);
        for channel in channels {
            let receiver: &'static Iox2Receiver = Box::leak(Box::new(self.receiver(channel)?));
            let listener: &'static Listener<ipc::Service> =
                receiver.listener().ok_or(()).map_err(iceoryx2::wrap("listener"))?;
            let guard =
                set.attach_notification(listener).map_err(iceoryx2::wrap("WaitSet::attach_notification"))?;
            guards.push(guard);
            first.get_or_insert(receiver);
        }
        let first = first.ok_or(()).map_err(iceoryx2::wrap("channels"))?;
        let (tell, arrivals) = channel();
        Ok((Iox2Station { set, first, guards, tell: RefCell::new(tell) }, arrivals))
    }

    fn turn(station: &Iox2Station, sleeps: bool) -> Result<(), Failure> {
        let mut failed = None;
        let on_event = |attachment: ::iceoryx2::waitset::WaitSetAttachmentId<ipc::Service>| {
            if attachment.has_event_from(&station.guards[0]) {
                failed = station.take().err();
            }
            CallbackProgression::Continue
        };
        let result = if sleeps {
            station.set.wait_and_process_once(on_event)
        } else {
            station.set.wait_and_process_once_with_timeout(on_event, Duration::ZERO)
        };
        result.map_err(iceoryx2::wrap("WaitSet::wait_and_process_once"))?;
        failed.map_or(Ok(()), Err)
    }
}

impl Iox2Station {
    fn take(&self) -> Result<(), Failure> {
        if let Some(listener) = self.first.listener() {
            listener.try_wait(|_| {}).map_err(iceoryx2::wrap("Listener::try_wait"))?;
        }
        while let Some(message) = self.first.take()? {
            let found = message.read(Touch::Header)?;
            // As above.
            let _ = self.tell.borrow().send(((found.sequence, found.time), os::monotonic_ns()));
        }
        Ok(())
    }
}

/// Either process.
pub fn work<S: Callbacks>(context: Context) -> Result<(), Failure> {
    os::allow_files().map_err(Failure::io("cannot raise the number of files"))?;
    let system = S::create(&context.session)?;
    serve(&mut Player::<S> { system, context, sender: None, end: None, sleeps: false, next: 1 })
}

/// How the receiver takes.
enum End<S: Callbacks> {
    Plain(S::Receiver),
    Station(S::Station, Arrivals),
}

struct Player<S: Callbacks> {
    system: S,
    context: Context,
    sender: Option<S::Sender>,
    end: Option<End<S>>,
    sleeps: bool,
    next: u64,
}

impl<S: Callbacks> Duty for Player<S> {
    fn open(&mut self, params: &Params) -> Result<(), Failure> {
        let id: u64 = params.get("id")?;
        let sources: usize = params.get("sources")?;
        self.sleeps = params.get::<String>("way")? == "sleep";
        self.next = 1;
        // iceoryx2's wait set waits for events alone, also where it polls.
        let blocking = self.sleeps || sources > 0;
        let channel = |at: usize| Channel { blocking, ..Channel::new(format!("{TABLE}-{id}-{at}"), SIZE) };
        self.context.page.word(0).store(0, Ordering::Relaxed);
        if self.context.role == "sender" {
            self.sender = Some(self.system.sender(&channel(0))?);
        } else if sources == 0 {
            self.end = Some(End::Plain(self.system.receiver(&channel(0))?));
        } else {
            let channels: Vec<_> = (0..sources).map(channel).collect();
            let (station, arrivals) = self.system.station(&channels)?;
            self.end = Some(End::Station(station, arrivals));
        }
        Ok(())
    }

    fn run(&mut self, params: &Params) -> Result<Vec<f64>, Failure> {
        let count: u64 = params.get("count")?;
        let messages = self.next..self.next + count;
        self.next += count;
        let taken = self.context.page.word(0);
        if let Some(sender) = &self.sender {
            for sequence in messages {
                os::spin_for(GAP);
                let mut loan = sender.loan(SIZE)?;
                loan.write(sequence, os::monotonic_ns(), Touch::Header)?;
                loan.publish()?;
                while taken.load(Ordering::Acquire) < sequence {}
            }
            return Ok(Vec::new());
        }
        let Some(end) = &self.end else {
            return Err(Failure::Protocol { line: "run".to_owned(), why: "nothing is open" });
        };
        let mut samples = Vec::with_capacity(count as usize);
        for sequence in messages {
            let ((got, published), arrived) = end.next(self.sleeps)?;
            if got != sequence {
                return Err(Failure::Wrong { system: S::NAME, expected: sequence, got });
            }
            samples.push(arrived.saturating_sub(published) as f64);
            taken.store(sequence, Ordering::Release);
        }
        Ok(samples)
    }

    fn close(&mut self) {
        self.sender = None;
        self.end = None;
    }
}

impl<S: Callbacks> End<S> {
    /// The next message, and when it was noticed.
    fn next(&self, sleeps: bool) -> Result<(Arrival, u64), Failure> {
        loop {
            match self {
                Self::Plain(receiver) => {
                    if let Some(message) = receiver.take()? {
                        let arrived = os::monotonic_ns();
                        let found = message.read(Touch::Header)?;
                        return Ok(((found.sequence, found.time), arrived));
                    }
                    if sleeps {
                        receiver.wait()?;
                    }
                }
                Self::Station(station, arrivals) => {
                    S::turn(station, sleeps)?;
                    if let Ok(arrival) = arrivals.try_recv() {
                        return Ok(arrival);
                    }
                }
            }
        }
    }
}
