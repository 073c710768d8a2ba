//! Situ's services: requests and replies of a generated type, built in the memory in which they are read.

use std::task::Poll;
use std::time::Duration;

use situ::bus;

use super::situ::wrap;
use crate::failure::Failure;
use crate::messages::bench::Small;
use crate::session::Session;
use crate::tables::service::{Client, DEPTH, SIZE, Server, Services, Way};

const _: () = assert!(size_of::<Small>() == SIZE);

/// How long a client waits for its server.
const PATIENCE: Duration = Duration::from_secs(10);

/// A node.
pub struct SituServices(bus::Node);

/// A client, and whether it sleeps.
pub struct SituClient(bus::Client<Small, Small>, bool);

/// A server, and whether it sleeps.
pub struct SituServer(bus::Server<Small, Small>, bool);

impl Services for SituServices {
    const NAME: &'static str = "situ";
    type Client = SituClient;
    type Server = SituServer;

    fn create(_session: &Session) -> Result<Self, Failure> {
        Ok(Self(bus::Node::new("bench").map_err(wrap("Node::new"))?))
    }

    fn client(&self, service: &str, way: Way) -> Result<SituClient, Failure> {
        let client =
            self.0.client(service).without_stamps().create().map_err(wrap("ServiceBuilder::create"))?;
        client.wait_for_server(Some(PATIENCE));
        Ok(SituClient(client, way.sleeps))
    }

    fn server(&self, service: &str, way: Way) -> Result<SituServer, Failure> {
        let server = self.0.server(service).without_stamps().depth(DEPTH);
        Ok(SituServer(server.create().map_err(wrap("ServiceBuilder::create"))?, way.sleeps))
    }
}

impl Client for SituClient {
    #[inline]
    fn call(&self, number: u64) -> Result<u64, Failure> {
        let mut request = self.0.loan().map_err(wrap("loan"))?;
        request.sequence_number = number;
        let mut call = request.send().map_err(wrap("send"))?;
        if self.1 {
            return call.wait().map(|reply| reply.sequence_number).map_err(wrap("wait"));
        }
        loop {
            match call.poll().map_err(wrap("poll"))? {
                Poll::Pending => {}
                Poll::Ready(reply) => return Ok(reply.map_or(0, |reply| reply.sequence_number)),
            }
        }
    }

    fn stream(
        &self,
        first: u64,
        _count: u64,
        mut seen: impl FnMut(u64) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut request = self.0.loan().map_err(wrap("loan"))?;
        request.sequence_number = first;
        let mut call = request.send().map_err(wrap("send"))?;
        loop {
            match call.poll().map_err(wrap("poll"))? {
                Poll::Pending => {}
                Poll::Ready(Some(part)) => seen(part.sequence_number)?,
                Poll::Ready(None) => return Ok(()),
            }
        }
    }
}

impl SituServer {
    #[inline]
    fn request(&self) -> Result<bus::Request<Small>, Failure> {
        loop {
            if let Some(request) = self.0.take().map_err(wrap("take"))? {
                return Ok(request);
            }
            if self.1 {
                self.0.raw().wait(None);
            }
        }
    }
}

impl Server for SituServer {
    #[inline]
    fn answer(&self) -> Result<(), Failure> {
        let request = self.request()?;
        let mut reply = self.0.loan(&request).map_err(wrap("loan"))?;
        reply.sequence_number = request.sequence_number;
        reply.send().map_err(wrap("send"))
    }

    fn answer_in_parts(&self, count: u64) -> Result<(), Failure> {
        let request = self.request()?;
        let first = request.sequence_number;
        for number in first..first + count {
            let mut part = self.0.loan(&request).map_err(wrap("loan"))?;
            part.sequence_number = number;
            part.send_part_within(PATIENCE).map_err(wrap("send_part_within"))?;
        }
        self.0.end(&request).map_err(wrap("end"))
    }
}
