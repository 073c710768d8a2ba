//! iceoryx2's request-response, and events to wake either side.

use iceoryx2::port::client::Client as Iox2Port;
use iceoryx2::port::listener::Listener;
use iceoryx2::port::notifier::Notifier;
use iceoryx2::port::server::Server as Iox2ServerPort;
use iceoryx2::prelude::*;
use iceoryx2::service::port_factory::request_response::PortFactory;

use super::System;
use super::iceoryx2::{Iceoryx2, wrap};
use crate::failure::Failure;
use crate::session::Session;
use crate::tables::service::{Client, DEPTH, SIZE, Server, Services, Way};

type Service = ipc::Service;
/// A request or a reply.
type Words = [u64; SIZE / 8];

/// The events with which one side wakes the other.
struct Events {
    /// Wakes the other side.
    notifier: Notifier<Service>,
    /// Wakes this side.
    listener: Listener<Service>,
}

impl Events {
    /// `into` is the end of the name of the event that wakes this side, `out` that of the other's.
    fn new(system: &Iceoryx2, service: &str, [into, out]: [&str; 2]) -> Result<Self, Failure> {
        let event = |end: &str| {
            let name = ServiceName::new(&format!("{service}-{end}")).map_err(wrap("ServiceName::new"))?;
            let builder = system.node().service_builder(&name).event().max_notifiers(1).max_listeners(1);
            builder.open_or_create().map_err(wrap("event::open_or_create"))
        };
        Ok(Self {
            listener: event(into)?.listener_builder().create().map_err(wrap("listener_builder::create"))?,
            notifier: event(out)?.notifier_builder().create().map_err(wrap("notifier_builder::create"))?,
        })
    }

    fn wake(&self) -> Result<(), Failure> {
        self.notifier.notify().map(drop).map_err(wrap("notify"))
    }

    fn sleep(&self) -> Result<(), Failure> {
        self.listener.blocking_wait(|_| {}).map(drop).map_err(wrap("blocking_wait"))
    }
}

/// A client.
pub struct Iox2Client {
    port: Iox2Port<Service, Words, (), Words, ()>,
    events: Option<Events>,
}

/// A server.
pub struct Iox2Server {
    port: Iox2ServerPort<Service, Words, (), Words, ()>,
    events: Option<Events>,
}

fn service(
    system: &Iceoryx2,
    service: &str,
    way: Way,
) -> Result<PortFactory<Service, Words, (), Words, ()>, Failure> {
    let name = ServiceName::new(service).map_err(wrap("ServiceName::new"))?;
    let builder = system.node().service_builder(&name).request_response::<Words, Words>();
    let builder = builder.max_clients(1).max_servers(1);
    let builder = match way.streams {
        true => builder.max_response_buffer_size(DEPTH).enable_safe_overflow_for_responses(false),
        false => builder,
    };
    builder.open_or_create().map_err(wrap("request_response::open_or_create"))
}

impl Services for Iceoryx2 {
    const NAME: &'static str = <Self as System>::NAME;
    type Client = Iox2Client;
    type Server = Iox2Server;

    fn create(session: &Session) -> Result<Self, Failure> {
        <Self as System>::create(session)
    }

    fn client(&self, name: &str, way: Way) -> Result<Iox2Client, Failure> {
        let events = way.sleeps.then(|| Events::new(self, name, ["client", "server"])).transpose()?;
        let port =
            service(self, name, way)?.client_builder().create().map_err(wrap("client_builder::create"))?;
        Ok(Iox2Client { port, events })
    }

    fn server(&self, name: &str, way: Way) -> Result<Iox2Server, Failure> {
        let events = way.sleeps.then(|| Events::new(self, name, ["server", "client"])).transpose()?;
        let service = service(self, name, way)?;
        // Lossless, where a reply has many parts.
        let builder = match way.streams {
            true => service.server_builder().backpressure_strategy(BackpressureStrategy::RetryUntilDelivered),
            false => service.server_builder(),
        };
        let port = builder.create().map_err(wrap("server_builder::create"))?;
        Ok(Iox2Server { port, events })
    }
}

impl Client for Iox2Client {
    #[inline]
    fn call(&self, number: u64) -> Result<u64, Failure> {
        let request = self.port.loan_uninit().map_err(wrap("loan_uninit"))?;
        // SAFETY: every byte of shared memory has a value, and any value is a number.
        let mut request = unsafe { request.assume_init() };
        request.payload_mut()[0] = number;
        let pending = request.send().map_err(wrap("send"))?;
        if let Some(events) = &self.events {
            events.wake()?;
        }
        loop {
            if let Some(response) = pending.receive().map_err(wrap("receive"))? {
                return Ok(response.payload()[0]);
            }
            if let Some(events) = &self.events {
                events.sleep()?;
            }
        }
    }

    fn stream(
        &self,
        first: u64,
        count: u64,
        mut seen: impl FnMut(u64) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let request = self.port.loan_uninit().map_err(wrap("loan_uninit"))?;
        // SAFETY: every byte of shared memory has a value, and any value is a number.
        let mut request = unsafe { request.assume_init() };
        request.payload_mut()[0] = first;
        let pending = request.send().map_err(wrap("send"))?;
        let mut left = count;
        while left > 0 {
            if let Some(response) = pending.receive().map_err(wrap("receive"))? {
                seen(response.payload()[0])?;
                left -= 1;
            }
        }
        Ok(())
    }
}

impl Server for Iox2Server {
    #[inline]
    fn answer(&self) -> Result<(), Failure> {
        let request = loop {
            if let Some(request) = self.port.receive().map_err(wrap("receive"))? {
                break request;
            }
            if let Some(events) = &self.events {
                events.sleep()?;
            }
        };
        let response = request.loan_uninit().map_err(wrap("loan_uninit"))?;
        // SAFETY: every byte of shared memory has a value, and any value is a number.
        let mut response = unsafe { response.assume_init() };
        response.payload_mut()[0] = request.payload()[0];
        response.send().map_err(wrap("send"))?;
        self.events.as_ref().map_or(Ok(()), Events::wake)
    }

    fn answer_in_parts(&self, count: u64) -> Result<(), Failure> {
        let request = loop {
            if let Some(request) = self.port.receive().map_err(wrap("receive"))? {
                break request;
            }
        };
        let first = request.payload()[0];
        for number in first..first + count {
            let response = request.loan_uninit().map_err(wrap("loan_uninit"))?;
            // SAFETY: every byte of shared memory has a value, and any value is a number.
            let mut response = unsafe { response.assume_init() };
            response.payload_mut()[0] = number;
            response.send().map_err(wrap("send"))?;
        }
        Ok(())
    }
}
