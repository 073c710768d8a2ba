//! The command: what crosses, on the terminal or as JSON.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::Serialize;
use situ::layout::foreign::Foreign;
use situ_bridge::{Bridge, BridgeError, BridgeOptions, CrossingStatus, SessionOptions, Status, Way};

use super::rules::rules;
use crate::cli::BridgeArgs;
use crate::commands::{Context, Interrupt};
use crate::error::{CliError, complain};
use crate::output::units::{bandwidth, hertz};
use crate::output::{LiveBlock, Output, Style};

/// The interval between checks for Ctrl-C.
const GLANCE: Duration = Duration::from_millis(100);
/// The interval between two looks at what crosses.
const REDRAW: Duration = Duration::from_secs(1);

/// A line of JSON.
#[derive(Debug, Serialize)]
struct Row<'s> {
    session: &'s str,
    domain: u32,
    listen: &'s [String],
    bridges: Vec<&'s str>,
    remote_nodes: usize,
    kept_bytes: u64,
    untyped: &'s [String],
    crossings: Vec<CrossingRow<'s>>,
}

#[derive(Debug, Serialize)]
struct CrossingRow<'s> {
    name: &'s str,
    kind: &'static str,
    way: &'static str,
    #[serde(rename = "type")]
    type_name: &'s str,
    key: &'s str,
    active: bool,
    messages: u64,
    bytes: u64,
    lost: u64,
    skipped: u64,
    refused: u64,
    echoes: u64,
}

fn way(way: Way) -> &'static str {
    match way {
        Way::Out => "out",
        Way::In => "in",
    }
}

fn row<'s>(status: &'s Status, listen: &'s [String]) -> Row<'s> {
    let crossings = status.crossings.iter().map(|it| CrossingRow {
        name: &it.name,
        kind: if it.is_service { "service" } else { "topic" },
        way: way(it.way),
        type_name: &it.type_name,
        key: &it.key,
        active: it.is_active,
        messages: it.counts.messages,
        bytes: it.counts.bytes,
        lost: it.counts.lost,
        skipped: it.counts.skipped,
        refused: it.counts.refused,
        echoes: it.counts.echoes,
    });
    Row {
        session: &status.session,
        domain: status.domain,
        listen,
        bridges: status.bridges.iter().map(|it| it.host.as_str()).collect(),
        remote_nodes: status.remote_nodes,
        kept_bytes: status.kept_bytes,
        untyped: &status.untyped,
        crossings: crossings.collect(),
    }
}

fn failed(error: BridgeError) -> CliError {
    match error {
        error @ BridgeError::Config(_) => CliError::Usage(error.to_string()),
        error => CliError::failed(error),
    }
}

/// `situ bridge`.
pub fn run(context: &Context, arguments: &BridgeArgs) -> Result<(), CliError> {
    let interrupt = Interrupt::listen()?;
    let options = BridgeOptions {
        root: context.root.clone(),
        name: format!("situ_bridge_{}", std::process::id()),
        domain: arguments.domain,
        session: SessionOptions {
            file: arguments.config.clone(),
            connect: arguments.connect.clone(),
            listen: arguments.listen.clone(),
            mode: arguments.mode.clone(),
            multicast: arguments.no_multicast.then_some(false),
        },
        rules: rules(arguments)?,
        keep_bytes: arguments.keep,
    };
    let mut bridge = Bridge::start(options).map_err(failed)?;
    bridge.take_warnings().iter().for_each(complain);
    let output = &context.output;
    if !output.is_json() {
        let listen = bridge.locators();
        let listens = if listen.is_empty() { "nothing".to_owned() } else { listen.join(", ") };
        output.line(format!(
            "bridge of domain {}, listening on {listens}; Ctrl-C ends it",
            bridge.status().domain
        ))?;
    }
    let begin = Instant::now();
    let is_over = || {
        let is_late = arguments.duration.is_some_and(|duration| begin.elapsed() >= duration);
        is_late || interrupt.is_set()
    };
    let mut view = View { listen: bridge.locators(), ..View::default() };
    let mut failure = None;
    while !is_over() && failure.is_none() {
        failure = bridge.step(GLANCE).err();
        view.clear_for(output, &bridge.take_warnings())?;
        view.show(output, &bridge)?;
    }
    view.end(output, &bridge)?;
    bridge.end();
    failure.map_or(Ok(()), |error| Err(failed(error)))
}

/// What was shown last.
#[derive(Default)]
struct View {
    block: LiveBlock,
    drawn: Option<Instant>,
    /// Of each crossing, whether it was active, and its messages and bytes.
    before: BTreeMap<(String, Way), (bool, u64, u64)>,
    bridges: Vec<String>,
    listen: Vec<String>,
}

impl View {
    fn clear_for(&mut self, output: &Output, warnings: &[String]) -> Result<(), CliError> {
        if !warnings.is_empty() && output.is_live() {
            output.draw(&mut self.block, "")?;
        }
        warnings.iter().for_each(complain);
        Ok(())
    }

    fn show(&mut self, output: &Output, bridge: &Bridge) -> Result<(), CliError> {
        let since = self.drawn.map_or(REDRAW, |drawn| drawn.elapsed());
        if since < REDRAW {
            return Ok(());
        }
        self.drawn = Some(Instant::now());
        let status = bridge.status();
        if output.is_json() {
            output.record(&row(&status, &self.listen))?;
        } else if output.is_live() {
            let text = self.table(output, &status, since);
            output.draw(&mut self.block, &text)?;
        } else {
            self.changes(output, &status)?;
        }
        self.remember(&status);
        Ok(())
    }

    fn remember(&mut self, status: &Status) {
        let place = |it: &CrossingStatus| {
            ((it.key.clone(), it.way), (it.is_active, it.counts.messages, it.counts.bytes))
        };
        self.before = status.crossings.iter().map(place).collect();
        self.bridges = status.bridges.iter().map(|it| it.host.clone()).collect();
    }

    /// Lines for what has begun or ended to cross, for a log.
    fn changes(&self, output: &Output, status: &Status) -> Result<(), CliError> {
        let hosts: Vec<String> = status.bridges.iter().map(|it| it.host.clone()).collect();
        if hosts != self.bridges {
            output.line(format!(
                "bridges: {}",
                if hosts.is_empty() { "none".into() } else { hosts.join(", ") }
            ))?;
        }
        for it in &status.crossings {
            let was = self.before.get(&(it.key.clone(), it.way)).is_some_and(|before| before.0);
            if was != it.is_active {
                let verb = if it.is_active { "crosses" } else { "does not cross any more" };
                let kind = if it.is_service { "service" } else { "topic" };
                let line = format!(
                    "{kind} {} {verb} ({}, {})",
                    Foreign(&it.name),
                    way(it.way),
                    Foreign(&it.type_name)
                );
                output.line(line)?;
            }
        }
        Ok(())
    }

    /// What crosses now.
    fn table(&self, output: &Output, status: &Status, since: Duration) -> String {
        let seconds = since.as_secs_f64().max(1e-3);
        let hosts: Vec<&str> = status.bridges.iter().map(|it| it.host.as_str()).collect();
        let hosts = if hosts.is_empty() { "no other bridge".to_owned() } else { hosts.join(", ") };
        let active = status.crossings.iter().filter(|it| it.is_active).count();
        let mut text = format!(
            "{hosts}; {} nodes elsewhere; {active} of {} topics and services cross\n",
            status.remote_nodes,
            status.crossings.len()
        );
        for it in status.crossings.iter().filter(|it| it.is_active) {
            let before = self.before.get(&(it.key.clone(), it.way)).copied().unwrap_or_default();
            let messages = it.counts.messages.saturating_sub(before.1) as f64 / seconds;
            let bytes = it.counts.bytes.saturating_sub(before.2) as f64 / seconds;
            let arrow = if it.way == Way::Out { "->" } else { "<-" };
            let lost = match it.counts.lost + it.counts.refused {
                0 => String::new(),
                lost => output.paint(Style::Bad, format!(", {lost} lost")),
            };
            text.push_str(&format!(
                "  {arrow} {}  {}, {}{lost}\n",
                Foreign(&it.name),
                hertz(messages),
                bandwidth(bytes)
            ));
        }
        text
    }

    fn end(&mut self, output: &Output, bridge: &Bridge) -> Result<(), CliError> {
        let status = bridge.status();
        if output.is_json() {
            output.record(&row(&status, &self.listen))?;
            return Ok(());
        }
        if output.is_live() {
            output.draw(&mut self.block, "")?;
        }
        for it in status.crossings.iter().filter(|it| it.counts.messages > 0 || it.counts.lost > 0) {
            let counts = it.counts;
            output.line(format!(
                "{} {}: {} messages, {} lost, {} refused",
                way(it.way),
                Foreign(&it.name),
                counts.messages,
                counts.lost,
                counts.refused
            ))?;
        }
        Ok(())
    }
}
