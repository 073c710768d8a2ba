//! Situ with heap storage: a message in the process's own memory is serialized into shared memory and decoded
//! by the subscriber.

use std::cell::{RefCell, RefMut};

use situ::bus::{Node, Publisher, Sample, Subscriber};
use situ::layout::{BoundError, Heap, SequenceField};

use super::situ::{publisher, subscriber, wrap};
use super::{Channel, Loan, Message, Receiver, Sender, System};
use crate::failure::Failure;
use crate::messages::bench::Bounded;
use crate::payload::{self, Found, HEADER, Touch};
use crate::session::Session;

/// A node.
pub struct SituSerialized {
    node: Node,
}

impl System for SituSerialized {
    const NAME: &'static str = "situ-serialized";
    type Sender = SerializedSender;
    type Receiver = SerializedReceiver;

    fn create(_session: &Session) -> Result<Self, Failure> {
        Ok(Self { node: Node::new("bench").map_err(wrap("Node::new"))? })
    }

    fn sender(&self, channel: &Channel) -> Result<SerializedSender, Failure> {
        Ok(SerializedSender { publisher: publisher(&self.node, channel)?, value: RefCell::default() })
    }

    fn receiver(&self, channel: &Channel) -> Result<SerializedReceiver, Failure> {
        Ok(SerializedReceiver { subscriber: subscriber(&self.node, channel)? })
    }
}

/// A publisher, and the message that it publishes again and again.
pub struct SerializedSender {
    publisher: Publisher<Bounded<Heap>>,
    value: RefCell<Bounded<Heap>>,
}

impl Sender for SerializedSender {
    type Loan<'a> = SerializedLoan<'a>;

    fn loan(&self, size: usize) -> Result<SerializedLoan<'_>, Failure> {
        Ok(SerializedLoan { publisher: &self.publisher, value: self.value.borrow_mut(), len: size - HEADER })
    }
}

/// The message, for writing.
pub struct SerializedLoan<'a> {
    publisher: &'a Publisher<Bounded<Heap>>,
    value: RefMut<'a, Bounded<Heap>>,
    len: usize,
}

impl Loan for SerializedLoan<'_> {
    fn write(&mut self, sequence: u64, time: u64, _touch: Touch) -> Result<(), Failure> {
        self.value.sequence_number = sequence;
        self.value.time = time;
        self.value.data.clear();
        // SAFETY: every new element is written.
        unsafe {
            self.value.data.try_extend_with(self.len, |data| {
                payload::fill_fresh(data, sequence);
                Ok::<(), BoundError>(())
            })
        }
        .map_err(wrap("try_extend_with"))
    }

    fn data(&mut self) -> &mut [u8] {
        &mut self.value.data
    }

    fn publish(self) -> Result<(), Failure> {
        self.publisher.publish(&self.value).map(drop).map_err(wrap("publish"))
    }
}

/// A subscriber.
pub struct SerializedReceiver {
    subscriber: Subscriber<Bounded<Heap>>,
}

/// A decoded message.
pub struct SerializedMessage {
    sample: Sample<Bounded<Heap>>,
}

impl Message for SerializedMessage {
    fn read(&self, touch: Touch) -> Result<Found, Failure> {
        let sample = &self.sample;
        payload::find(SituSerialized::NAME, sample.sequence_number, sample.time, &sample.data, touch)
    }

    fn data(&self) -> &[u8] {
        &self.sample.data
    }
}

impl Receiver for SerializedReceiver {
    type Message<'a> = SerializedMessage;

    fn take(&self) -> Result<Option<SerializedMessage>, Failure> {
        let sample = self.subscriber.take().map_err(wrap("take"))?;
        Ok(sample.map(|sample| SerializedMessage { sample }))
    }

    fn wait(&self) -> Result<(), Failure> {
        self.subscriber.wait(None);
        Ok(())
    }
}
