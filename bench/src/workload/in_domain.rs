//! Messages in the device's memory: nodes on the device take and publish them there, in stream order. A
//! message is copied when a node in the other domain takes it, once for all such nodes.

use situ::bus::{DeviceSpan, Loan, Node, Publisher, Root, Sample, Subscriber, inspect};
use situ::memory::{DomainId, HOST, Stream};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use super::bilateral::{Bilateral, Extent, picture};
use super::device::{Device, EMULATED, Kernel, Receipt};
use super::explicit::{SEED, not_open};
use super::graph::Graph;
use super::span::Span;
use super::{Got, Lens, Rails, Sent, Station, checksum};
use crate::failure::Failure;
use crate::messages::bench::{Frame, FrameBulkLengths};
use crate::os::monotonic_ns;
use crate::session::Session;
use crate::systems::situ::wrap;

const NAME: &str = "situ";
/// Message sizes that a node on the host copies to the device eagerly, by a thread, while its subscribers are
/// being woken. Waking that thread takes longer than a smaller copy. For a larger message the wake-up is a
/// small part, and the subscribers' cores have time to copy it. Nodes on the device enqueue copies of any
/// size behind their kernels.
const EAGER: std::ops::Range<usize> = 32 << 10..256 << 10;

/// A process of Situ.
pub struct InDomain {
    session: Session,
    entered: Option<Entered>,
    filter: Option<Filter>,
}

/// A node of the bus with a device.
#[derive(Clone)]
struct Entered {
    device: Rc<Device>,
    node: Node,
}

impl<U> From<DeviceSpan<'_, U>> for Span {
    fn from(span: DeviceSpan<'_, U>) -> Self {
        Self { memory: span.memory().clone(), offset: span.offset(), len: span.size() }
    }
}

/// The number of copies of a topic's messages so far, into all domains.
fn copies_of(topic: &str) -> Result<u64, Failure> {
    let root = Root::from_environment().map_err(wrap("Root::from_environment"))?;
    let info = inspect::topic(&root, topic).map_err(wrap("inspect::topic"))?;
    Ok(info.map_or(0, |info| info.domains.iter().map(|used| used.copies).sum()))
}

impl InDomain {
    /// A process.
    pub fn new(session: Session) -> Self {
        Self { session, entered: None, filter: None }
    }

    /// The node and the device, opened on first use. A process uses one device.
    fn enter(&mut self, id: DomainId) -> Result<Entered, Failure> {
        if let Some(entered) = &self.entered {
            return Ok(entered.clone());
        }
        let device = Rc::new(Device::open(id, self.session.directory())?);
        let node = Node::new("bench").map_err(wrap("Node::new"))?;
        // Nodes and streams with the same handle share the parts that a device has once, for instance its
        // bus.
        let node = node.with_domain(device.domain().clone());
        let entered = Entered { device, node };
        self.entered = Some(entered.clone());
        Ok(entered)
    }
}

impl Entered {
    fn publisher(
        &self,
        topic: &str,
        domain: DomainId,
        size: usize,
        eager: bool,
    ) -> Result<Publisher<Frame>, Failure> {
        let builder = self.node.publisher::<Frame>(topic).depth(1).without_stamps().domain(domain);
        let builder = if eager { builder.eager_copies() } else { builder };
        // The memory to reserve at once: for the message that is read, the one that is written, and one more.
        let builder = if domain == HOST { builder } else { builder.capacity(room(size)) };
        builder.create().map_err(wrap("PublisherBuilder::create"))
    }

    fn subscriber(&self, topic: &str, domain: DomainId, size: usize) -> Result<Subscriber<Frame>, Failure> {
        let builder = self.node.subscriber::<Frame>(topic).domain(domain);
        let builder = if domain == HOST { builder } else { builder.capacity(room(size)) };
        builder.create().map_err(wrap("SubscriberBuilder::create"))
    }
}

/// Memory for a few messages of a size. Each may be rounded up by a quarter.
fn room(size: usize) -> u64 {
    4 * (size as u64 + (1 << 20))
}

fn lend(publisher: &Publisher<Frame>, size: usize, sequence: u64) -> Result<Loan<'_, Frame>, Failure> {
    let mut loan = publisher.loan_with(FrameBulkLengths { data: size }).map_err(wrap("loan_with"))?;
    loan.sequence_number = sequence;
    loan.time = 0;
    Ok(loan)
}

/// The next message, which must have this number. In stream order if a stream is given.
fn expect(
    subscriber: &Subscriber<Frame>,
    sequence: u64,
    stream: Option<&dyn Stream>,
) -> Result<Sample<Frame>, Failure> {
    loop {
        let taken = match stream {
            Some(stream) => subscriber.take_on(stream).map_err(wrap("take_on"))?,
            None => subscriber.take().map_err(wrap("take"))?,
        };
        if let Some(sample) = taken {
            if sample.sequence_number != sequence {
                return Err(Failure::Wrong { system: NAME, expected: sequence, got: sample.sequence_number });
            }
            return Ok(sample);
        }
        subscriber.wait(None);
    }
}

/// A node of a graph.
pub struct InDomainStation {
    /// Absent for nodes on the host.
    device: Option<Rc<Device>>,
    inputs: Vec<Subscriber<Frame>>,
    /// The output, its size in bytes, and its topic.
    output: Option<(Publisher<Frame>, usize, String)>,
    /// The last round's kernel, until its result is checked.
    launched: RefCell<Option<Arc<Receipt>>>,
}

impl Rails for InDomain {
    type Station = InDomainStation;

    fn station(
        &mut self,
        graph: &Graph,
        node: usize,
        topic: &dyn Fn(usize) -> String,
    ) -> Result<InDomainStation, Failure> {
        let own = &graph.nodes[node];
        let entered = self.enter(EMULATED)?;
        let device = own.device.then(|| Rc::clone(&entered.device));
        let domain = if own.device { EMULATED } else { HOST };
        let inputs = own
            .inputs
            .iter()
            .map(|&from| entered.subscriber(&topic(from), domain, graph.nodes[from].size))
            .collect::<Result<_, _>>()?;
        let elsewhere = own.outputs.iter().any(|&to| graph.nodes[to].device != own.device);
        let eager = elsewhere && (own.device || EAGER.contains(&own.size));
        let output = if own.outputs.is_empty() {
            None
        } else {
            Some((entered.publisher(&topic(node), domain, own.size, eager)?, own.size, topic(node)))
        };
        Ok(InDomainStation { device, inputs, output, launched: RefCell::default() })
    }

    fn settle(&self) {}
}

impl InDomainStation {
    /// Checks the result of the last round's kernel.
    fn look_back(&self) -> Result<(), Failure> {
        let (Some(device), Some(receipt)) = (&self.device, self.launched.take()) else { return Ok(()) };
        device.finish()?;
        receipt.check(NAME)
    }

    /// In stream order: a publisher does not wait for the device. A node without successors has its messages
    /// when its kernel has read them.
    fn on_device(&self, device: &Device, sequence: u64) -> Result<(), Failure> {
        self.look_back()?;
        let mut samples = Vec::with_capacity(self.inputs.len());
        let mut spans = Vec::with_capacity(self.inputs.len());
        for subscriber in &self.inputs {
            let sample = expect(subscriber, sequence, Some(device.stream()))?;
            spans.push(Span::from(sample.span(|frame| &frame.data)));
            samples.push(sample);
        }
        let kernel = Kernel::Produce(sequence as u8);
        let Some((publisher, size, _)) = &self.output else {
            let receipt = device.launch(kernel, spans, None)?;
            device.finish()?;
            return receipt.check(NAME);
        };
        let loan = lend(publisher, *size, sequence)?;
        let target = Span::from(loan.span(|frame| &frame.data));
        self.launched.replace(Some(device.launch(kernel, spans, Some(target))?));
        loan.publish_on(device.stream()).map_err(wrap("publish_on"))?;
        let release = |sample: Sample<Frame>| sample.release_on(device.stream()).map_err(wrap("release_on"));
        samples.into_iter().try_for_each(release)
    }

    fn on_host(&self, sequence: u64) -> Result<(), Failure> {
        let byte = sequence as u8;
        for subscriber in &self.inputs {
            let sample = expect(subscriber, sequence, None)?;
            let data = sample.bulk(|frame| &frame.data);
            if (data.first(), data.last()) != (Some(&byte), Some(&byte)) {
                let got = data.last().copied().unwrap_or_default();
                return Err(Failure::Wrong { system: NAME, expected: sequence, got: u64::from(got) });
            }
        }
        let Some((publisher, size, _)) = &self.output else { return Ok(()) };
        let mut loan = lend(publisher, *size, sequence)?;
        loan.bulk_mut(|frame| &frame.data).fill(byte);
        loan.publish().map(drop).map_err(wrap("publish"))
    }
}

impl Station for InDomainStation {
    fn connect(&self) -> Result<(), Failure> {
        Ok(())
    }

    fn round(&mut self, sequence: u64) -> Result<(), Failure> {
        match &self.device {
            None => self.on_host(sequence),
            Some(device) => self.on_device(device, sequence),
        }
    }

    fn copies(&self) -> Result<u64, Failure> {
        self.look_back()?;
        self.output.as_ref().map_or(Ok(0), |(_, _, topic)| copies_of(topic))
    }
}

/// A node with a filter.
struct Filter {
    topic: String,
    device: Rc<Device>,
    extent: Extent,
    end: FilterEnd,
}

enum FilterEnd {
    /// The first node: its publisher, the camera's picture, and the picture's place.
    First(Publisher<Frame>, Vec<u8>, Span),
    /// The second node: its subscriber, the device memory of the result, and the result's place.
    Second(Subscriber<Frame>, Span, Vec<u8>),
}

impl Lens for InDomain {
    fn open(&mut self, topic: &str, id: DomainId, extent: Extent, first: bool) -> Result<(), Failure> {
        let size = extent.bytes();
        let entered = self.enter(id)?;
        let buffer = entered.device.buffer(size)?;
        let end = if first {
            FilterEnd::First(entered.publisher(topic, id, size, false)?, picture(extent, SEED), buffer)
        } else {
            FilterEnd::Second(entered.subscriber(topic, id, size)?, buffer, vec![1; size])
        };
        self.filter = Some(Filter { topic: topic.to_owned(), device: entered.device, extent, end });
        Ok(())
    }

    fn connect(&self) -> Result<(), Failure> {
        Ok(())
    }

    fn first(&mut self, filter: &Bilateral, sequence: u64) -> Result<Sent, Failure> {
        let Some(Filter { device, extent, end: FilterEnd::First(publisher, picture, input), .. }) =
            &self.filter
        else {
            return Err(not_open());
        };
        let before = device.copies();
        let start = monotonic_ns();
        // SAFETY: the picture is never written.
        unsafe { device.copy_in(picture, input) }?;
        let loan = lend(publisher, picture.len(), sequence)?;
        let output = Span::from(loan.span(|frame| &frame.data));
        let kernel = Kernel::Filter(filter.clone(), *extent);
        let receipt = device.launch(kernel, vec![input.clone()], Some(output))?;
        loan.publish_on(device.stream()).map_err(wrap("publish_on"))?;
        device.finish()?;
        // The message is complete when the filter is.
        let kernel = receipt.times();
        Ok(Sent { start, kernel, sent: kernel.1, copies: device.copies() - before })
    }

    fn second(&mut self, filter: &Bilateral, sequence: u64) -> Result<Got, Failure> {
        let Some(Filter { topic, device, extent, end: FilterEnd::Second(subscriber, output, result) }) =
            &mut self.filter
        else {
            return Err(not_open());
        };
        let before = device.copies() + copies_of(topic)?;
        let sample = expect(subscriber, sequence, Some(device.stream()))?;
        let input = Span::from(sample.span(|frame| &frame.data));
        let kernel = Kernel::Filter(filter.clone(), *extent);
        let receipt = device.launch(kernel, vec![input], Some(output.clone()))?;
        // SAFETY: the result is not used until the stream has passed the copy.
        unsafe { device.copy_out(output, result) }?;
        device.finish()?;
        let end = monotonic_ns();
        drop(sample);
        let kernel = receipt.times();
        let copies = device.copies() + copies_of(topic)? - before;
        // The node has the message when its filter begins.
        Ok(Got { got: kernel.0, kernel, end, copies, checksum: checksum(result) })
    }

    fn close(&mut self) {
        self.filter = None;
    }
}
