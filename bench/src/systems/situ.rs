//! Situ: messages built in the memory where they will be read.

use situ::bus::{
    Encoding, History, Node, PublisherQos, RawLoan, RawPublisher, RawSample, RawSubscriber, Reliability,
    SubscriberQos, TypeDescription,
};

use super::{Channel, Loan, Receiver, Sender, System};
use crate::failure::Failure;
use crate::session::Session;

const NAME: &str = "situ";

/// A node.
pub struct Situ {
    node: Node,
}

fn wrap<E: std::fmt::Debug>(what: &'static str) -> impl FnOnce(E) -> Failure {
    Failure::system(NAME, what)
}

fn description() -> TypeDescription {
    TypeDescription {
        name: "bench::Bytes".to_owned(),
        schema: "module bench { struct Bytes { octet bytes; }; };".to_owned(),
        schema_hash: 1,
        layout_hash: 1,
        encoding: Encoding::Flat,
    }
}

fn reliability(channel: &Channel) -> Reliability {
    if channel.reliable { Reliability::Reliable } else { Reliability::BestEffort }
}

impl System for Situ {
    const NAME: &'static str = NAME;
    type Sender = SituSender;
    type Receiver = SituReceiver;

    fn create(_session: &Session) -> Result<Self, Failure> {
        Ok(Self { node: Node::new("bench").map_err(wrap("Node::new"))? })
    }

    fn sender(&self, channel: &Channel) -> Result<SituSender, Failure> {
        let qos = PublisherQos {
            reliability: reliability(channel),
            depth: channel.depth,
            ..PublisherQos::default()
        };
        let publisher = RawPublisher::create(&self.node, &channel.name, &description(), qos)
            .map_err(wrap("RawPublisher::create"))?;
        // No peer stamps its messages.
        Ok(SituSender { publisher: publisher.without_stamps() })
    }

    fn receiver(&self, channel: &Channel) -> Result<SituReceiver, Failure> {
        let qos = SubscriberQos {
            reliability: reliability(channel),
            history: History::KeepAll,
            ..SubscriberQos::default()
        };
        let subscriber = RawSubscriber::create(&self.node, &channel.name, &description(), qos)
            .map_err(wrap("RawSubscriber::create"))?;
        Ok(SituReceiver { subscriber })
    }
}

/// A publisher.
pub struct SituSender {
    publisher: RawPublisher,
}

impl Sender for SituSender {
    type Loan<'a> = SituLoan<'a>;

    #[inline]
    fn loan(&self, size: usize) -> Result<SituLoan<'_>, Failure> {
        Ok(SituLoan { loan: self.publisher.loan(size, 8, 0).map_err(wrap("loan"))? })
    }
}

/// A loan.
pub struct SituLoan<'a> {
    loan: RawLoan<'a>,
}

impl Loan for SituLoan<'_> {
    #[inline]
    fn bytes(&mut self) -> &mut [u8] {
        self.loan.head_bytes()
    }

    #[inline]
    fn publish(self) -> Result<(), Failure> {
        self.loan.publish().map(drop).map_err(wrap("publish"))
    }
}

/// A subscriber.
pub struct SituReceiver {
    subscriber: RawSubscriber,
}

/// A sample.
pub struct SituMessage {
    sample: RawSample,
}

impl AsRef<[u8]> for SituMessage {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        self.sample.head()
    }
}

impl Receiver for SituReceiver {
    type Message<'a> = SituMessage;

    #[inline]
    fn take(&self) -> Result<Option<SituMessage>, Failure> {
        let sample = self.subscriber.take().map_err(wrap("take"))?;
        Ok(sample.map(|sample| SituMessage { sample }))
    }

    fn wait(&self) -> Result<(), Failure> {
        self.subscriber.wait(None);
        Ok(())
    }
}
