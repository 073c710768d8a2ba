//! `situ service echo`: prints the requests of a service and the replies to them, without taking part.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde::Serialize;
use situ::bus::inspect;
use situ::bus::{ObservedMessage, ServiceEvent, ServiceEventKind, ServiceObserver};
use situ::layout::foreign::{Foreign, ForeignLines};
use situ_schema::dynamic::Value;

use super::echo::shown;
use super::service_types::{ServiceTypes, find};
use super::{Context, Interrupt};
use crate::cli::ServiceEchoArgs;
use crate::error::{CliError, complain};
use crate::message::MessageReader;
use crate::output::{Style, units};

/// How often it looks.
const GLANCE: Duration = Duration::from_millis(1);
/// The interval between checks whether the service still exists.
const LOOK: Duration = Duration::from_millis(500);
/// The number of calls under way whose times are kept.
const MAX_CALLS: usize = 1 << 16;

#[derive(Serialize)]
struct Echoed<'a> {
    service: &'a str,
    event: &'static str,
    call: u64,
    client: String,
    node: &'a str,
    published_at_ns: u64,
    latency_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<Refused<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a Value>,
}

#[derive(Serialize)]
struct Refused<'a> {
    code: u64,
    text: &'a str,
}

/// `situ service echo`.
pub fn run(context: &Context, arguments: &ServiceEchoArgs) -> Result<(), CliError> {
    let interrupt = Interrupt::listen()?;
    let mut echo = Echo::begin(context, arguments)?;
    let timeout = arguments.timeout.map(Duration::from_secs_f64);
    let (mut last, mut looked) = (Instant::now(), Instant::now());
    let mut left = arguments.count.unwrap_or(u64::MAX);
    while left > 0 && !interrupt.is_set() {
        for event in echo.observer.poll().iter().take(usize::try_from(left).unwrap_or(usize::MAX)) {
            echo.print(event)?;
            left -= 1;
            last = Instant::now();
        }
        echo.complain_of_missed();
        if let Some(timeout) = timeout.filter(|timeout| last.elapsed() >= *timeout) {
            let time = units::duration(timeout.as_nanos() as u64);
            return Err(CliError::TimedOut(format!("no call of service `{}` for {time}", arguments.service)));
        }
        if looked.elapsed() >= LOOK {
            looked = Instant::now();
            if !echo.observer.is_current() {
                echo.begin_again()?;
            }
        }
        std::thread::sleep(GLANCE);
    }
    Ok(())
}

/// What is known of the service.
struct Echo<'a> {
    context: &'a Context,
    arguments: &'a ServiceEchoArgs,
    types: ServiceTypes,
    observer: ServiceObserver,
    /// The messages that were missed so far.
    missed: u64,
    /// When the requests of calls under way were sent.
    requests: HashMap<(u64, u64), u64>,
    /// The names of the clients' nodes.
    nodes: HashMap<u64, String>,
}

impl<'a> Echo<'a> {
    fn begin(context: &'a Context, arguments: &'a ServiceEchoArgs) -> Result<Self, CliError> {
        let types = ServiceTypes::of(&find(context, &arguments.service)?)?;
        let observer = ServiceObserver::open(&context.root, &arguments.service).map_err(CliError::failed)?;
        // It may have ended since it was found.
        let Some(observer) = observer else {
            return Err(CliError::NotFound(format!("there is no service `{}`", arguments.service)));
        };
        let (requests, nodes) = (HashMap::new(), HashMap::new());
        Ok(Self { context, arguments, types, observer, missed: 0, requests, nodes })
    }

    /// Goes on with a service of the same name, if there is one by now.
    fn begin_again(&mut self) -> Result<(), CliError> {
        match Self::begin(self.context, self.arguments) {
            Ok(echo) => *self = echo,
            Err(CliError::NotFound(_)) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn complain_of_missed(&mut self) {
        let missed = self.observer.missed();
        if missed != self.missed {
            let more = missed.saturating_sub(self.missed);
            complain(&format!("{more} message(s) were gone before they could be read, or lie on a device"));
            self.missed = missed;
        }
    }

    fn print(&mut self, event: &ServiceEvent) -> Result<(), CliError> {
        self.find_node(event.client);
        let latency_ns = self.latency(event);
        let (context, types) = (self.context, &self.types);
        let node = self.nodes.get(&event.client).map_or("", String::as_str);
        let read = |reader: &MessageReader, it: &ObservedMessage| {
            reader.read_bytes(it.encoding, &it.head, &it.body).map_err(CliError::failed)
        };
        let (what, reader, message) = match &event.kind {
            ServiceEventKind::Request(it) => ("request", &types.request, Some(read(&types.request, it)?)),
            ServiceEventKind::Reply(it) => ("reply", &types.reply, Some(read(&types.reply, it)?)),
            ServiceEventKind::Part(it) => ("part", &types.reply, Some(read(&types.reply, it)?)),
            ServiceEventKind::Cancellation => ("cancellation", &types.request, None),
            ServiceEventKind::Refusal { .. } => ("refusal", &types.reply, None),
            _ => ("end", &types.reply, None),
        };
        let refusal = match &event.kind {
            ServiceEventKind::Refusal { code, text } => Some(Refused { code: *code, text }),
            _ => None,
        };
        let output = &context.output;
        if output.is_json() {
            return Ok(output.record(&Echoed {
                service: &self.arguments.service,
                event: what,
                call: event.call,
                client: format!("{:016x}", event.client),
                node,
                published_at_ns: event.at_ns,
                latency_ns,
                refusal,
                message: message.as_ref(),
            })?);
        }
        let after = latency_ns.map(|it| format!(", after {}", units::duration(it))).unwrap_or_default();
        let head = format!("# {what}, call {} of {}{after}", event.call, Foreign(node));
        output.line(output.paint(Style::Strong, head))?;
        if let Some(message) = &message {
            output.text(reader.print(message, &shown(self.arguments.full)))?;
        }
        if let Some(Refused { code, text }) = refusal {
            output.line(format!("({code}) {}", ForeignLines(text)))?;
        }
        Ok(output.line(output.paint(Style::Dim, "---"))?)
    }

    /// The time since the request, if it was seen.
    fn latency(&mut self, event: &ServiceEvent) -> Option<u64> {
        let call = (event.client, event.call);
        let sent_at = match event.kind {
            ServiceEventKind::Request(_) => {
                if self.requests.len() >= MAX_CALLS {
                    self.requests.clear();
                }
                self.requests.insert(call, event.at_ns);
                return None;
            }
            ServiceEventKind::Part(_) => self.requests.get(&call).copied(),
            _ => self.requests.remove(&call),
        };
        let is_stamped = |at: &u64| *at != 0 && event.at_ns != 0;
        sent_at.filter(is_stamped).map(|sent_at| event.at_ns.saturating_sub(sent_at))
    }

    /// Finds the name of a client's node, once.
    fn find_node(&mut self, client: u64) {
        if self.nodes.contains_key(&client) {
            return;
        }
        if self.nodes.len() >= MAX_CALLS {
            self.nodes.clear();
        }
        let service = find(self.context, &self.arguments.service).ok();
        let publishers = service.map(|service| service.requests.publishers).unwrap_or_default();
        let id = publishers.iter().find(|it| it.id.number == client).map(|it| it.node);
        let nodes = inspect::nodes(&self.context.root).unwrap_or_default();
        let name = nodes.into_iter().find(|node| Some(node.id) == id).map(|node| node.name);
        self.nodes.insert(client, name.unwrap_or_else(|| format!("{client:016x}")));
    }
}
