//! Messages in host memory: every node on the device copies its inputs in and its output out.

use std::cell::Cell;
use std::path::PathBuf;
use std::rc::Rc;

use situ::memory::DomainId;

use super::bilateral::{Bilateral, Extent, picture};
use super::device::{Device, EMULATED, Kernel};
use super::graph::Graph;
use super::span::Span;
use super::{Got, Lens, Rails, Sent, Station, checksum};
use crate::failure::Failure;
use crate::os::monotonic_ns;
use crate::payload::{HEADER, Touch};
use crate::systems::{Channel, Loan, Message, Receiver, Sender, System};

/// The picture's seed.
pub const SEED: u64 = 8;

/// A process of a system with messages in host memory.
pub struct Explicit<S: System> {
    system: S,
    directory: PathBuf,
    device: Option<Rc<Device>>,
    filter: Option<Filter<S>>,
}

/// A channel for one message at a time, with sleeping receivers.
fn channel(topic: String, size: usize, places: usize) -> Channel {
    Channel { depth: 1, places, blocking: true, ..Channel::new(topic, HEADER + size) }
}

/// The next message, which must have this number.
fn expect<S: System>(
    receiver: &S::Receiver,
    sequence: u64,
) -> Result<<S::Receiver as Receiver>::Message<'_>, Failure> {
    loop {
        if let Some(message) = receiver.take()? {
            let got = message.read(Touch::Header)?.sequence;
            if got != sequence {
                return Err(Failure::Wrong { system: S::NAME, expected: sequence, got });
            }
            return Ok(message);
        }
        receiver.wait()?;
    }
}

impl<S: System> Explicit<S> {
    /// A process. Files of its device's memory go into the directory.
    pub fn new(system: S, directory: PathBuf) -> Self {
        Self { system, directory, device: None, filter: None }
    }

    /// The device, opened on first use. A process uses one device.
    fn device(&mut self, id: DomainId) -> Result<Rc<Device>, Failure> {
        if let Some(device) = &self.device {
            return Ok(Rc::clone(device));
        }
        let device = Rc::new(Device::open(id, self.directory.clone())?);
        self.device = Some(Rc::clone(&device));
        Ok(device)
    }
}

/// A node of a graph.
pub struct ExplicitStation<S: System> {
    /// Absent for nodes on the host.
    device: Option<Rc<Device>>,
    /// The inputs, and their places on the device.
    inputs: Vec<(S::Receiver, Option<Span>)>,
    /// The output, its size in bytes, and its place on the device.
    output: Option<(S::Sender, usize, Option<Span>)>,
    /// The number of copies that the system itself has made.
    inner: Cell<u64>,
    explicit: Cell<u64>,
}

impl<S: System> Rails for Explicit<S> {
    type Station = ExplicitStation<S>;

    fn station(
        &mut self,
        graph: &Graph,
        node: usize,
        topic: &dyn Fn(usize) -> String,
    ) -> Result<ExplicitStation<S>, Failure> {
        let own = &graph.nodes[node];
        let device = if own.device { Some(self.device(EMULATED)?) } else { None };
        let buffer = |size| device.as_ref().map(|device| device.buffer(size)).transpose();
        let mut inputs = Vec::new();
        for &from in &own.inputs {
            let other = &graph.nodes[from];
            let receiver = self.system.receiver(&channel(topic(from), other.size, other.outputs.len()))?;
            inputs.push((receiver, buffer(other.size)?));
        }
        let output = if own.outputs.is_empty() {
            None
        } else {
            let sender = self.system.sender(&channel(topic(node), own.size, own.outputs.len()))?;
            Some((sender, own.size, buffer(own.size)?))
        };
        Ok(ExplicitStation { device, inputs, output, inner: Cell::new(0), explicit: Cell::new(0) })
    }

    fn settle(&self) {
        std::thread::sleep(S::SETTLING);
    }
}

impl<S: System> ExplicitStation<S> {
    fn on_device(&self, device: &Device, sequence: u64) -> Result<(), Failure> {
        let mut messages = Vec::with_capacity(self.inputs.len());
        let mut spans = Vec::with_capacity(self.inputs.len());
        for (receiver, span) in &self.inputs {
            let message = expect::<S>(receiver, sequence)?;
            if let Some(span) = span {
                // SAFETY: the message is held until the stream has passed the copy.
                unsafe { device.copy_in(message.data(), span) }?;
                spans.push(span.clone());
            }
            messages.push(message);
        }
        let Some((sender, size, Some(target))) = &self.output else {
            let receipt = device.launch(Kernel::Produce(sequence as u8), spans, None)?;
            device.finish()?;
            return receipt.check(S::NAME);
        };
        let receipt = device.launch(Kernel::Produce(sequence as u8), spans, Some(target.clone()))?;
        let mut loan = sender.loan(HEADER + size)?;
        loan.write(sequence, 0, Touch::Header)?;
        // SAFETY: the loan is not used until the stream has passed the copy.
        unsafe { device.copy_out(target, loan.data()) }?;
        device.finish()?;
        receipt.check(S::NAME)?;
        // The sender of the next message then finds this one's memory free.
        drop(messages);
        loan.publish()
    }

    fn on_host(&self, sequence: u64) -> Result<(), Failure> {
        for (receiver, _) in &self.inputs {
            let message = expect::<S>(receiver, sequence)?;
            let found = message.read(Touch::Ends)?;
            if found.ends != (sequence as u8, sequence as u8) {
                return Err(Failure::Wrong {
                    system: S::NAME,
                    expected: sequence,
                    got: u64::from(found.ends.1),
                });
            }
        }
        let Some((sender, size, _)) = &self.output else { return Ok(()) };
        let mut loan = sender.loan(HEADER + size)?;
        loan.write(sequence, 0, Touch::All)?;
        loan.publish()
    }
}

impl<S: System> Station for ExplicitStation<S> {
    fn connect(&self) -> Result<(), Failure> {
        self.inputs.iter().try_for_each(|(receiver, _)| receiver.connect())?;
        self.output.iter().try_for_each(|(sender, ..)| sender.connect())
    }

    fn round(&mut self, sequence: u64) -> Result<(), Failure> {
        let (inputs, outputs) = (self.inputs.len() as u64, u64::from(self.output.is_some()));
        self.inner.set(self.inner.get() + outputs * S::COPIES.0 + inputs * S::COPIES.1);
        match &self.device {
            None => self.on_host(sequence),
            Some(device) => {
                let before = device.copies();
                self.on_device(device, sequence)?;
                self.explicit.set(self.explicit.get() + device.copies() - before);
                Ok(())
            }
        }
    }

    fn copies(&self) -> Result<u64, Failure> {
        Ok(self.inner.get() + self.explicit.get())
    }
}

/// A node with a filter.
struct Filter<S: System> {
    device: Rc<Device>,
    extent: Extent,
    input: Span,
    output: Span,
    end: FilterEnd<S>,
}

enum FilterEnd<S: System> {
    /// The first node: its publisher, and the camera's picture.
    First(S::Sender, Vec<u8>),
    /// The second node: its subscriber, and the place of the result.
    Second(S::Receiver, Vec<u8>),
}

/// The error for a part that was not opened.
pub fn not_open() -> Failure {
    Failure::Protocol { line: "run".to_owned(), why: "nothing is open for this part" }
}

impl<S: System> Lens for Explicit<S> {
    fn open(&mut self, topic: &str, id: DomainId, extent: Extent, first: bool) -> Result<(), Failure> {
        let device = self.device(id)?;
        let size = extent.bytes();
        let (input, output) = (device.buffer(size)?, device.buffer(size)?);
        let channel = channel(topic.to_owned(), size, 1);
        let end = if first {
            FilterEnd::First(self.system.sender(&channel)?, picture(extent, SEED))
        } else {
            FilterEnd::Second(self.system.receiver(&channel)?, vec![1; size])
        };
        self.filter = Some(Filter { device, extent, input, output, end });
        Ok(())
    }

    fn connect(&self) -> Result<(), Failure> {
        match self.filter.as_ref().map(|filter| &filter.end) {
            Some(FilterEnd::First(sender, _)) => sender.connect()?,
            Some(FilterEnd::Second(receiver, _)) => receiver.connect()?,
            None => return Err(not_open()),
        }
        std::thread::sleep(S::SETTLING);
        Ok(())
    }

    fn first(&mut self, filter: &Bilateral, sequence: u64) -> Result<Sent, Failure> {
        let Some(Filter { device, extent, input, output, end: FilterEnd::First(sender, picture) }) =
            &self.filter
        else {
            return Err(not_open());
        };
        let before = device.copies();
        let start = monotonic_ns();
        // SAFETY: the picture is never written.
        unsafe { device.copy_in(picture, input) }?;
        let kernel = Kernel::Filter(filter.clone(), *extent);
        let receipt = device.launch(kernel, vec![input.clone()], Some(output.clone()))?;
        let mut loan = sender.loan(HEADER + picture.len())?;
        loan.write(sequence, 0, Touch::Header)?;
        // SAFETY: the loan is not used until the stream has passed the copy.
        unsafe { device.copy_out(output, loan.data()) }?;
        device.finish()?;
        let sent = monotonic_ns();
        loan.publish()?;
        let copies = device.copies() - before + S::COPIES.0;
        Ok(Sent { start, kernel: receipt.times(), sent, copies })
    }

    fn second(&mut self, filter: &Bilateral, sequence: u64) -> Result<Got, Failure> {
        let Some(Filter { device, extent, input, output, end: FilterEnd::Second(receiver, result) }) =
            &mut self.filter
        else {
            return Err(not_open());
        };
        let before = device.copies();
        let message = expect::<S>(receiver, sequence)?;
        let got = monotonic_ns();
        // SAFETY: the message is held until the stream has passed the copy.
        unsafe { device.copy_in(message.data(), input) }?;
        let kernel = Kernel::Filter(filter.clone(), *extent);
        let receipt = device.launch(kernel, vec![input.clone()], Some(output.clone()))?;
        // SAFETY: the result is not used until the stream has passed the copy.
        unsafe { device.copy_out(output, result) }?;
        device.finish()?;
        let end = monotonic_ns();
        drop(message);
        let copies = device.copies() - before + S::COPIES.1;
        Ok(Got { got, kernel: receipt.times(), end, copies, checksum: checksum(result) })
    }

    fn close(&mut self) {
        self.filter = None;
    }
}
