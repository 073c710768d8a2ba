//! iceoryx2: the service between processes, slices of bytes loaned uninitialized, and events to wake
//! receivers.

use iceoryx2::port::listener::Listener;
use iceoryx2::port::notifier::Notifier;
use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::prelude::*;
use iceoryx2::sample::Sample;
use iceoryx2::sample_mut::SampleMut;
use iceoryx2::service::port_factory::event::PortFactory as EventService;
use iceoryx2::service::port_factory::publish_subscribe::PortFactory as TopicService;

use super::{Channel, Loan, Message, Receiver, Sender, System};
use crate::failure::Failure;
use crate::payload::{self, Found, Touch};
use crate::session::Session;

const NAME: &str = "iceoryx2";

type Service = ipc::Service;

/// A node.
pub struct Iceoryx2 {
    node: Node<Service>,
}

/// Wraps an error of iceoryx2.
pub fn wrap<E: std::fmt::Debug>(what: &'static str) -> impl FnOnce(E) -> Failure {
    Failure::system(NAME, what)
}

impl Iceoryx2 {
    /// The node.
    pub fn node(&self) -> &Node<Service> {
        &self.node
    }

    /// The topic's service, with the quality of service of the channel.
    pub fn topic(&self, channel: &Channel) -> Result<TopicService<Service, [u8], ()>, Failure> {
        let name = ServiceName::new(&channel.name).map_err(wrap("ServiceName::new"))?;
        self.node
            .service_builder(&name)
            .publish_subscribe::<[u8]>()
            .payload_alignment(Alignment::new(64).ok_or(()).map_err(wrap("Alignment::new"))?)
            .max_publishers(channel.publishers)
            .max_subscribers(channel.places)
            .max_nodes((channel.places + channel.publishers).max(20))
            .history_size(0)
            .subscriber_max_buffer_size(channel.depth)
            .subscriber_max_borrowed_samples(2)
            .enable_safe_overflow(!channel.reliable)
            .open_or_create()
            .map_err(wrap("publish_subscribe::open_or_create"))
    }

    /// A publisher's port on the service.
    pub fn publisher(
        service: &TopicService<Service, [u8], ()>,
        channel: &Channel,
    ) -> Result<Publisher<Service, [u8], ()>, Failure> {
        service
            .publisher_builder()
            .initial_max_slice_len(channel.size)
            .max_loaned_samples(2)
            .backpressure_strategy(if channel.reliable {
                BackpressureStrategy::RetryUntilDelivered
            } else {
                BackpressureStrategy::DiscardData
            })
            .create()
            .map_err(wrap("publisher_builder::create"))
    }

    fn event(&self, channel: &Channel) -> Result<Option<EventService<Service>>, Failure> {
        if !channel.blocking {
            return Ok(None);
        }
        let name = ServiceName::new(&channel.name).map_err(wrap("ServiceName::new"))?;
        let builder = self.node.service_builder(&name).event().max_notifiers(1).max_listeners(channel.places);
        builder.open_or_create().map(Some).map_err(wrap("event::open_or_create"))
    }
}

impl System for Iceoryx2 {
    const NAME: &'static str = NAME;
    type Sender = Iox2Sender;
    type Receiver = Iox2Receiver;

    fn create(session: &Session) -> Result<Self, Failure> {
        set_log_level(LogLevel::Fatal);
        let mut config = Config::default();
        let root = session.iceoryx2_root().display().to_string();
        config.global.set_root_path(&Path::new(root.as_bytes()).map_err(wrap("Path::new"))?);
        config.global.prefix =
            FileName::new(session.iceoryx2_prefix().as_bytes()).map_err(wrap("FileName::new"))?;
        let node = NodeBuilder::new()
            .config(&config)
            .signal_handling_mode(SignalHandlingMode::Disabled)
            .create::<Service>()
            .map_err(wrap("NodeBuilder::create"))?;
        Ok(Self { node })
    }

    fn sender(&self, channel: &Channel) -> Result<Self::Sender, Failure> {
        let service = self.topic(channel)?;
        let publisher = Self::publisher(&service, channel)?;
        let notifier = match self.event(channel)? {
            Some(event) => Some(event.notifier_builder().create().map_err(wrap("notifier_builder::create"))?),
            None => None,
        };
        Ok(Iox2Sender { publisher, notifier })
    }

    fn receiver(&self, channel: &Channel) -> Result<Self::Receiver, Failure> {
        // Creates the listener first: a publisher that finds the subscriber must also find a listener to
        // notify.
        let listener = match self.event(channel)? {
            Some(event) => Some(event.listener_builder().create().map_err(wrap("listener_builder::create"))?),
            None => None,
        };
        let service = self.topic(channel)?;
        let subscriber = service.subscriber_builder().create().map_err(wrap("subscriber_builder::create"))?;
        Ok(Iox2Receiver { subscriber, listener })
    }
}

/// A publisher and, on blocking channels, a notifier.
pub struct Iox2Sender {
    publisher: Publisher<Service, [u8], ()>,
    notifier: Option<Notifier<Service>>,
}

impl Sender for Iox2Sender {
    type Loan<'a> = Iox2Loan<'a>;

    #[inline]
    fn loan(&self, size: usize) -> Result<Iox2Loan<'_>, Failure> {
        let sample = self.publisher.loan_slice_uninit(size).map_err(wrap("loan_slice_uninit"))?;
        // SAFETY: every byte of shared memory has a value, and any value is a `u8`.
        let sample = unsafe { sample.assume_init() };
        Ok(Iox2Loan { sample, notifier: self.notifier.as_ref() })
    }
}

/// A loaned sample.
pub struct Iox2Loan<'a> {
    sample: SampleMut<Service, [u8], ()>,
    notifier: Option<&'a Notifier<Service>>,
}

impl Loan for Iox2Loan<'_> {
    #[inline]
    fn write(&mut self, sequence: u64, time: u64, touch: Touch) -> Result<(), Failure> {
        payload::write(self.sample.payload_mut(), sequence, time, touch);
        Ok(())
    }

    fn data(&mut self) -> &mut [u8] {
        &mut self.sample.payload_mut()[payload::HEADER..]
    }

    #[inline]
    fn publish(self) -> Result<(), Failure> {
        self.sample.send().map_err(wrap("send"))?;
        if let Some(notifier) = self.notifier {
            notifier.notify().map_err(wrap("notify"))?;
        }
        Ok(())
    }
}

/// A subscriber and, on blocking channels, a listener.
pub struct Iox2Receiver {
    subscriber: Subscriber<Service, [u8], ()>,
    listener: Option<Listener<Service>>,
}

impl Iox2Receiver {
    /// The listener of a blocking channel.
    pub fn listener(&self) -> Option<&Listener<Service>> {
        self.listener.as_ref()
    }
}

/// A received sample.
pub struct Iox2Message {
    sample: Sample<Service, [u8], ()>,
}

impl Message for Iox2Message {
    #[inline]
    fn read(&self, touch: Touch) -> Result<Found, Failure> {
        payload::read(NAME, self.sample.payload(), touch)
    }

    fn data(&self) -> &[u8] {
        &self.sample.payload()[payload::HEADER..]
    }
}

impl Receiver for Iox2Receiver {
    type Message<'a> = Iox2Message;

    #[inline]
    fn take(&self) -> Result<Option<Iox2Message>, Failure> {
        let sample = self.subscriber.receive().map_err(wrap("receive"))?;
        Ok(sample.map(|sample| Iox2Message { sample }))
    }

    fn wait(&self) -> Result<(), Failure> {
        if let Some(listener) = &self.listener {
            listener.blocking_wait(|_| {}).map_err(wrap("blocking_wait"))?;
        }
        Ok(())
    }
}
