//! Situ: generated messages, built in the memory in which they are read.

use std::fmt::Debug;
use std::ops::Range;
#[cfg(feature = "bridge")]
use std::time::Duration;

use situ::bus::{Loan as BusLoan, Node, Publisher, Sample, Subscriber};
use situ::layout::{BoundError, FlatMessage, Message as BusMessage, SequenceField};

use super::{Channel, Loan, Message, Receiver, Sender, Shape, System};
use crate::failure::Failure;
use crate::messages::bench::{Bounded, Frame, FrameBulkLengths, Small, Tiny};
use crate::payload::{self, Found, HEADER, Touch};
use crate::session::Session;

const NAME: &str = "situ";

/// A node.
pub struct Situ {
    node: Node,
}

impl Situ {
    /// On this node.
    #[cfg(feature = "bridge")]
    pub fn on(node: Node) -> Self {
        Self { node }
    }

    /// The node.
    pub fn node(&self) -> &Node {
        &self.node
    }
}

/// Wraps an error of Situ.
pub fn wrap<E: Debug>(what: &'static str) -> impl FnOnce(E) -> Failure {
    Failure::system(NAME, what)
}

/// A publisher with the quality of service of the channel. It writes no time stamps, because no peer does.
pub fn publisher<T: BusMessage>(node: &Node, channel: &Channel) -> Result<Publisher<T>, Failure> {
    let builder = node.publisher::<T>(&channel.name).depth(channel.depth).without_stamps();
    let builder = if channel.reliable { builder.reliable() } else { builder };
    builder.create().map_err(wrap("PublisherBuilder::create"))
}

/// A subscriber with the quality of service of the channel.
pub fn subscriber<T: BusMessage>(node: &Node, channel: &Channel) -> Result<Subscriber<T>, Failure> {
    let builder = node.subscriber::<T>(&channel.name);
    let builder = if channel.reliable { builder.reliable() } else { builder };
    builder.create().map_err(wrap("SubscriberBuilder::create"))
}

/// Whether a channel's messages have this type.
fn has_size_of<T>(channel: &Channel) -> bool {
    channel.size == size_of::<T>()
}

impl System for Situ {
    const NAME: &'static str = NAME;
    type Sender = SituSender;
    type Receiver = SituReceiver;

    fn create(_session: &Session) -> Result<Self, Failure> {
        Ok(Self { node: Node::new("bench").map_err(wrap("Node::new"))? })
    }

    fn sender(&self, channel: &Channel) -> Result<SituSender, Failure> {
        Ok(match channel.shape {
            Shape::Bounded => SituSender::Bounded(publisher(&self.node, channel)?),
            Shape::Plain if has_size_of::<Tiny>(channel) => SituSender::Tiny(publisher(&self.node, channel)?),
            Shape::Plain if has_size_of::<Small>(channel) => {
                SituSender::Small(publisher(&self.node, channel)?)
            }
            Shape::Plain => SituSender::Frame(publisher(&self.node, channel)?),
        })
    }

    fn receiver(&self, channel: &Channel) -> Result<SituReceiver, Failure> {
        Ok(match channel.shape {
            Shape::Bounded => SituReceiver::Bounded(subscriber(&self.node, channel)?),
            Shape::Plain if has_size_of::<Tiny>(channel) => {
                SituReceiver::Tiny(subscriber(&self.node, channel)?)
            }
            Shape::Plain if has_size_of::<Small>(channel) => {
                SituReceiver::Small(subscriber(&self.node, channel)?)
            }
            Shape::Plain => SituReceiver::Frame(subscriber(&self.node, channel)?),
        })
    }
}

/// A publisher of one of the types.
pub enum SituSender {
    /// Of 48 bytes.
    Tiny(Publisher<Tiny>),
    /// Of 64 bytes.
    Small(Publisher<Small>),
    /// Of any size.
    Frame(Publisher<Frame>),
    /// Of a bounded sequence.
    Bounded(Publisher<Bounded>),
}

impl Sender for SituSender {
    type Loan<'a> = SituLoan<'a>;

    #[inline]
    fn loan(&self, size: usize) -> Result<SituLoan<'_>, Failure> {
        Ok(match self {
            Self::Tiny(publisher) => SituLoan::Tiny(lend(publisher, ())?),
            Self::Small(publisher) => SituLoan::Small(lend(publisher, ())?),
            Self::Frame(publisher) => {
                SituLoan::Frame(lend(publisher, FrameBulkLengths { data: size - HEADER })?)
            }
            Self::Bounded(publisher) => SituLoan::Bounded(lend(publisher, ())?, size - HEADER),
        })
    }

    fn publish_batch(&self, size: usize, sequences: Range<u64>) -> Result<(), Failure> {
        match self {
            Self::Small(publisher) => publish_all(
                publisher,
                || (),
                SituLoan::Small,
                |loan| if let SituLoan::Small(loan) = loan { Some(loan) } else { None },
                sequences,
            ),
            Self::Frame(publisher) => publish_all(
                publisher,
                || FrameBulkLengths { data: size - HEADER },
                SituLoan::Frame,
                |loan| if let SituLoan::Frame(loan) = loan { Some(loan) } else { None },
                sequences,
            ),
            Self::Tiny(_) | Self::Bounded(_) => {
                Err(Failure::Protocol { line: "publish_batch".to_owned(), why: "no table needs it" })
            }
        }
    }
}

/// Publishes several messages by one call.
fn publish_all<'p, T: FlatMessage>(
    publisher: &'p Publisher<T>,
    lengths: impl Fn() -> T::BulkLengths,
    wrapped: impl Fn(BusLoan<'p, T>) -> SituLoan<'p>,
    unwrapped: impl Fn(SituLoan<'p>) -> Option<BusLoan<'p, T>>,
    sequences: Range<u64>,
) -> Result<(), Failure> {
    let mut loans = Vec::with_capacity((sequences.end - sequences.start) as usize);
    for sequence in sequences {
        let mut loan = wrapped(lend(publisher, lengths())?);
        loan.write(sequence, 0, Touch::All)?;
        loans.extend(unwrapped(loan));
    }
    publisher.publish_all(&mut loans).map(drop).map_err(wrap("publish_all"))
}

/// Takes several messages by one call.
fn take_many<T: BusMessage>(
    subscriber: &Subscriber<T>,
    most: usize,
    read: impl FnMut(&Sample<T>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut samples = Vec::new();
    if subscriber.raw().has_next() {
        samples.reserve(most);
    }
    subscriber.take_many(most, &mut samples).map_err(wrap("take_many"))?;
    samples.iter().try_for_each(read)
}

#[inline]
fn lend<T: FlatMessage>(
    publisher: &Publisher<T>,
    lengths: T::BulkLengths,
) -> Result<BusLoan<'_, T>, Failure> {
    publisher.loan_with(lengths).map_err(wrap("loan"))
}

/// A loan of one of the types.
pub enum SituLoan<'a> {
    /// 48 bytes.
    Tiny(BusLoan<'a, Tiny>),
    /// 64 bytes.
    Small(BusLoan<'a, Small>),
    /// A head and a body.
    Frame(BusLoan<'a, Frame>),
    /// A bounded sequence, and the number of elements to write.
    Bounded(BusLoan<'a, Bounded>, usize),
}

impl Loan for SituLoan<'_> {
    #[inline]
    fn write(&mut self, sequence: u64, time: u64, touch: Touch) -> Result<(), Failure> {
        match self {
            Self::Tiny(loan) => {
                loan.sequence_number = sequence;
                loan.time = time;
                payload::fill(&mut loan.data, sequence, touch);
            }
            Self::Small(loan) => {
                loan.sequence_number = sequence;
                loan.time = time;
                payload::fill(&mut loan.data, sequence, touch);
            }
            Self::Frame(loan) => {
                loan.sequence_number = sequence;
                loan.time = time;
                if touch == Touch::All {
                    payload::fill(loan.bulk_mut(|frame| &frame.data), sequence, touch);
                }
            }
            Self::Bounded(loan, len) => {
                loan.sequence_number = sequence;
                loan.time = time;
                // SAFETY: every new element is written.
                unsafe {
                    loan.data.try_extend_with(*len, |data| {
                        payload::fill_fresh(data, sequence);
                        Ok::<(), BoundError>(())
                    })
                }
                .map_err(wrap("try_extend_with"))?;
            }
        }
        Ok(())
    }

    fn data(&mut self) -> &mut [u8] {
        match self {
            Self::Tiny(loan) => &mut loan.data,
            Self::Small(loan) => &mut loan.data,
            Self::Frame(loan) => loan.bulk_mut(|frame| &frame.data),
            Self::Bounded(loan, _) => &mut loan.data,
        }
    }

    #[inline]
    fn publish(self) -> Result<(), Failure> {
        match self {
            Self::Tiny(loan) => loan.publish(),
            Self::Small(loan) => loan.publish(),
            Self::Frame(loan) => loan.publish(),
            Self::Bounded(loan, _) => loan.publish(),
        }
        .map(drop)
        .map_err(wrap("publish"))
    }
}

/// A subscriber to one of the types.
pub enum SituReceiver {
    /// Of 48 bytes.
    Tiny(Subscriber<Tiny>),
    /// Of 64 bytes.
    Small(Subscriber<Small>),
    /// Of any size.
    Frame(Subscriber<Frame>),
    /// Of a bounded sequence.
    Bounded(Subscriber<Bounded>),
}

/// A sample of one of the types.
pub enum SituMessage {
    /// 48 bytes.
    Tiny(Sample<Tiny>),
    /// 64 bytes.
    Small(Sample<Small>),
    /// A head and a body.
    Frame(Sample<Frame>),
    /// A bounded sequence.
    Bounded(Sample<Bounded>),
}

impl Message for SituMessage {
    #[inline]
    fn read(&self, touch: Touch) -> Result<Found, Failure> {
        match self {
            Self::Tiny(sample) => {
                payload::find(NAME, sample.sequence_number, sample.time, &sample.data, touch)
            }
            Self::Small(sample) => {
                payload::find(NAME, sample.sequence_number, sample.time, &sample.data, touch)
            }
            Self::Frame(sample) => {
                let data = sample.bulk(|frame| &frame.data);
                payload::find(NAME, sample.sequence_number, sample.time, data, touch)
            }
            Self::Bounded(sample) => {
                payload::find(NAME, sample.sequence_number, sample.time, &sample.data, touch)
            }
        }
    }

    fn data(&self) -> &[u8] {
        match self {
            Self::Tiny(sample) => &sample.data,
            Self::Small(sample) => &sample.data,
            Self::Frame(sample) => sample.bulk(|frame| &frame.data),
            Self::Bounded(sample) => &sample.data,
        }
    }
}

#[cfg(feature = "bridge")]
impl SituReceiver {
    /// Sleeps until there may be a message, at most for this time.
    pub fn wait_at_most(&self, limit: Duration) {
        match self {
            Self::Tiny(subscriber) => subscriber.wait(Some(limit)),
            Self::Small(subscriber) => subscriber.wait(Some(limit)),
            Self::Frame(subscriber) => subscriber.wait(Some(limit)),
            Self::Bounded(subscriber) => subscriber.wait(Some(limit)),
        };
    }
}

impl Receiver for SituReceiver {
    type Message<'a> = SituMessage;

    #[inline]
    fn take(&self) -> Result<Option<SituMessage>, Failure> {
        match self {
            Self::Tiny(subscriber) => subscriber.take().map(|sample| sample.map(SituMessage::Tiny)),
            Self::Small(subscriber) => subscriber.take().map(|sample| sample.map(SituMessage::Small)),
            Self::Frame(subscriber) => subscriber.take().map(|sample| sample.map(SituMessage::Frame)),
            Self::Bounded(subscriber) => subscriber.take().map(|sample| sample.map(SituMessage::Bounded)),
        }
        .map_err(wrap("take"))
    }

    fn take_batch(
        &self,
        most: usize,
        mut read: impl FnMut(Found) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut find =
            |sequence, time, data: &[u8]| read(payload::find(NAME, sequence, time, data, Touch::All)?);
        match self {
            Self::Small(subscriber) => {
                take_many(subscriber, most, |sample| find(sample.sequence_number, sample.time, &sample.data))
            }
            Self::Frame(subscriber) => take_many(subscriber, most, |sample| {
                find(sample.sequence_number, sample.time, sample.bulk(|frame| &frame.data))
            }),
            Self::Tiny(_) | Self::Bounded(_) => {
                Err(Failure::Protocol { line: "take_batch".to_owned(), why: "no table needs it" })
            }
        }
    }

    fn wait(&self) -> Result<(), Failure> {
        match self {
            Self::Tiny(subscriber) => subscriber.wait(None),
            Self::Small(subscriber) => subscriber.wait(None),
            Self::Frame(subscriber) => subscriber.wait(None),
            Self::Bounded(subscriber) => subscriber.wait(None),
        };
        Ok(())
    }
}
