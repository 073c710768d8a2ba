//! `situ foxglove`: a live server to which Foxglove connects.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde::Serialize;
use situ_foxglove::{ClientReport, Rate, Server, ServerOptions};

use crate::cli::FoxgloveArgs;
use crate::commands::{Context, Interrupt};
use crate::error::{CliError, complain};
use crate::output::table::{Cell, Column, Table};
use crate::output::units::bandwidth;
use crate::output::{LiveBlock, Output, Style};
use crate::record::select;

/// The interval between checks for Ctrl-C.
const GLANCE: Duration = Duration::from_millis(100);
/// The interval between updates of the table, and between JSON objects.
const REDRAW: Duration = Duration::from_secs(1);

#[derive(Serialize)]
struct Served {
    address: String,
    channels: usize,
    clients: Vec<ClientRow>,
}

#[derive(Serialize)]
struct ClientRow {
    address: String,
    subscriptions: u64,
    messages: u64,
    bytes: u64,
    dropped: u64,
    published: u64,
}

impl ClientRow {
    fn of(report: &ClientReport) -> Self {
        Self {
            address: report.address.to_string(),
            subscriptions: report.subscriptions,
            messages: report.messages,
            bytes: report.bytes,
            dropped: report.dropped,
            published: report.published,
        }
    }
}

fn options(arguments: &FoxgloveArgs) -> Result<ServerOptions, CliError> {
    let rate = |(pattern, hertz): &(String, f64)| {
        Ok(Rate { topics: select(std::slice::from_ref(pattern), None, &[])?, hertz: *hertz })
    };
    let allowed = |patterns: &[String]| match patterns {
        [] => Ok(None),
        patterns => select(patterns, None, &[]).map(Some),
    };
    Ok(ServerOptions {
        address: SocketAddr::new(arguments.host, arguments.port),
        name: "situ".to_owned(),
        selection: select(&arguments.topics, None, &arguments.exclude)?,
        rates: arguments.max_rate.iter().map(rate).collect::<Result<_, CliError>>()?,
        publish: allowed(&arguments.publish)?,
        call: allowed(&arguments.call)?,
        set_parameters: allowed(&arguments.set_parameters)?,
        origins: arguments.origin.clone(),
    })
}

/// `situ foxglove`.
pub fn run(context: &Context, arguments: &FoxgloveArgs) -> Result<(), CliError> {
    let interrupt = Interrupt::listen()?;
    let node = context.node()?;
    let server = Server::start(&node, &context.root, options(arguments)?).map_err(CliError::failed)?;
    let output = &context.output;
    let mut screen = Screen { before: Vec::new(), at: Instant::now(), block: LiveBlock::default() };
    if !output.is_json() {
        let address = server.address();
        let url = match address.ip().is_unspecified() {
            true => format!("ws://<address of this machine>:{}", address.port()),
            false => format!("ws://{address}"),
        };
        let address = output.paint(Style::Strong, url);
        output.line(format!("Serving {} topic(s) on {address}, until Ctrl-C.", server.channels()))?;
    }
    let mut drawn = None;
    while !interrupt.is_set() {
        server.take_warnings().iter().for_each(complain);
        if drawn.is_none_or(|at: Instant| at.elapsed() >= REDRAW) {
            drawn = Some(Instant::now());
            screen.draw(output, &server)?;
        }
        std::thread::sleep(GLANCE);
    }
    Ok(())
}

/// What was drawn last.
struct Screen {
    before: Vec<ClientReport>,
    at: Instant,
    block: LiveBlock,
}

impl Screen {
    fn draw(&mut self, output: &Output, server: &Server) -> Result<(), CliError> {
        let clients = server.clients();
        if output.is_json() {
            let clients = clients.iter().map(ClientRow::of).collect();
            let address = server.address().to_string();
            output.record(&Served { address, channels: server.channels(), clients })?;
        } else if output.is_live() {
            let time = self.at.elapsed().as_secs_f64().max(0.001);
            let text = if clients.is_empty() {
                "No screen is connected.\n".to_owned()
            } else {
                self.table(&clients, time).render(output)
            };
            output.draw(&mut self.block, &text)?;
        } else {
            let is_in =
                |all: &[ClientReport], one: &ClientReport| all.iter().any(|it| it.address == one.address);
            for new in clients.iter().filter(|it| !is_in(&self.before, it)) {
                output.line(format!("{} is connected.", new.address))?;
            }
            for gone in server.take_ended() {
                output.line(format!(
                    "{} is gone: {} messages, {} dropped, {} published.",
                    gone.address, gone.messages, gone.dropped, gone.published
                ))?;
            }
        }
        (self.before, self.at) = (clients, Instant::now());
        Ok(())
    }

    fn table(&self, clients: &[ClientReport], time: f64) -> Table {
        let mut table = Table::new([
            Column::left("CLIENT").flexible(),
            Column::right("TOPICS"),
            Column::right("MESSAGES"),
            Column::right("BANDWIDTH"),
            Column::right("DROPPED"),
            Column::right("PUBLISHED").rank(1),
        ]);
        for client in clients {
            let before = self.before.iter().find(|it| it.address == client.address);
            // A new client may have the address of an earlier one.
            let bytes = client.bytes.saturating_sub(before.map_or(0, |it| it.bytes));
            let style = if client.dropped == 0 { Style::Plain } else { Style::Bad };
            table.row([
                Cell::styled(client.address.to_string(), Style::Strong),
                client.subscriptions.to_string().into(),
                client.messages.to_string().into(),
                bandwidth(bytes as f64 / time).into(),
                Cell::styled(client.dropped.to_string(), style),
                client.published.to_string().into(),
            ]);
        }
        table
    }
}
