//! `situ blackboard list`, `get` and `watch`.

use std::time::{Duration, Instant};

use serde::Serialize;
use situ::bus::inspect;
use situ::bus::{BlackboardReaderError, Encoding, RawBlackboardReader, WriterState, blackboards};
use situ::layout::foreign::Foreign;
use situ_schema::dynamic::Value;

use super::echo::shown;
use super::{Context, Interrupt};
use crate::cli::{GetArgs, WatchArgs};
use crate::error::CliError;
use crate::message::MessageReader;
use crate::output::table::{Cell, Column, Table};
use crate::output::{Style, units};

/// How often `watch` looks.
const GLANCE: Duration = Duration::from_millis(10);
/// The interval between checks whether the blackboard is still the one of its name.
const LOOK: Duration = Duration::from_millis(500);

#[derive(Serialize)]
struct Listing {
    blackboards: Vec<Summary>,
}

#[derive(Serialize)]
struct Summary {
    name: String,
    #[serde(rename = "type")]
    type_name: String,
    keys: usize,
    changes: u64,
    /// The name of the writer's node; absent if its process has ended.
    writer: Option<String>,
}

#[derive(Serialize)]
struct Record<'a> {
    blackboard: &'a str,
    key: &'a str,
    version: u64,
    value: Option<&'a Value>,
}

/// The blackboards whose writers have died.
pub fn abandoned(context: &Context) -> Result<Vec<String>, CliError> {
    let names = blackboards(&context.root).map_err(CliError::failed)?;
    let is_abandoned = |name: &String| {
        let reader = RawBlackboardReader::open(&context.root, name, None);
        reader.is_ok_and(|reader| matches!(reader.writer(), WriterState::Dead(_)))
    };
    Ok(names.into_iter().filter(is_abandoned).collect())
}

/// `situ blackboard list`.
pub fn list(context: &Context) -> Result<(), CliError> {
    let nodes = inspect::nodes(&context.root).map_err(CliError::failed)?;
    let mut listed = Vec::new();
    for name in blackboards(&context.root).map_err(CliError::failed)? {
        let reader = match RawBlackboardReader::open(&context.root, &name, None) {
            Ok(reader) => reader,
            // Its writer has just left.
            Err(BlackboardReaderError::Missing { .. }) => continue,
            Err(error) => {
                crate::error::complain(&format!("blackboard `{name}`: {error}"));
                continue;
            }
        };
        let writer = match reader.writer() {
            WriterState::Alive(id) => {
                let node = nodes.iter().find(|node| node.id == id);
                Some(node.map_or_else(|| id.to_string(), |node| node.name.clone()))
            }
            _ => None,
        };
        let type_name = reader.description().name.clone();
        listed.push(Summary {
            name,
            type_name,
            keys: reader.keys().len(),
            changes: reader.changes(),
            writer,
        });
    }
    let output = &context.output;
    if output.is_json() {
        return Ok(output.record(&Listing { blackboards: listed })?);
    }
    if listed.is_empty() {
        return Ok(output.line(format!("No blackboards in {}.", context.root.path().display()))?);
    }
    let mut table = Table::new([
        Column::left("BLACKBOARD").flexible(),
        Column::left("TYPE").flexible().rank(2),
        Column::right("KEYS"),
        Column::right("CHANGES").rank(1),
        Column::left("WRITER").flexible(),
    ]);
    for it in listed {
        table.row([
            Cell::styled(it.name, Style::Strong),
            it.type_name.into(),
            it.keys.to_string().into(),
            it.changes.to_string().into(),
            it.writer.map_or_else(|| Cell::styled("gone", Style::Warn), Cell::from),
        ]);
    }
    Ok(output.text(table.render(output))?)
}

/// A blackboard with what is needed to print its values.
struct Opened<'a> {
    context: &'a Context,
    arguments: &'a GetArgs,
    reader: RawBlackboardReader,
    values: MessageReader,
    /// The positions of the keys to print.
    positions: Vec<usize>,
}

impl<'a> Opened<'a> {
    fn open(context: &'a Context, arguments: &'a GetArgs) -> Result<Self, CliError> {
        let name = &arguments.blackboard;
        let reader = match RawBlackboardReader::open(&context.root, name, None) {
            Ok(reader) => reader,
            Err(BlackboardReaderError::Missing { .. }) => {
                return Err(CliError::NotFound(no_such_blackboard(context, name)));
            }
            Err(error) => return Err(CliError::failed(error)),
        };
        let description = reader.description();
        let values = MessageReader::new(&description.schema, &description.name).map_err(CliError::failed)?;
        let positions = match &arguments.key {
            None => (0..reader.keys().len()).collect(),
            Some(key) => match reader.position(key) {
                Some(position) => vec![position],
                None => {
                    let known: Vec<_> =
                        reader.keys().iter().take(20).map(|it| Foreign(it).to_string()).collect();
                    let text =
                        format!("blackboard `{name}` has no key `{key}`; it has: {}", known.join(", "));
                    return Err(CliError::NotFound(text));
                }
            },
        };
        Ok(Self { context, arguments, reader, values, positions })
    }

    /// Prints the value at a position, and returns its version.
    fn print(&self, position: usize) -> Result<u64, CliError> {
        let key = &self.reader.keys()[position];
        let found = self.reader.get(key).map_err(CliError::failed)?;
        let version = found.as_ref().map_or(0, |(_, version)| *version);
        let value = match &found {
            None => None,
            Some((bytes, _)) => {
                let read = self.values.read_bytes(Encoding::Flat, bytes, &[]);
                Some(read.map_err(|error| CliError::Failed(format!("key `{}`: {error}", Foreign(key))))?)
            }
        };
        let output = &self.context.output;
        if output.is_json() {
            let blackboard = &self.arguments.blackboard;
            output.record(&Record { blackboard, key, version, value: value.as_ref() })?;
            return Ok(version);
        }
        let state = if value.is_some() { format!("version {version}") } else { "never set".to_owned() };
        output.line(output.paint(Style::Strong, format!("# {}, {state}", Foreign(key))))?;
        if let Some(value) = &value {
            output.text(self.values.print(value, &shown(self.arguments.full)))?;
        }
        Ok(version)
    }
}

fn no_such_blackboard(context: &Context, name: &str) -> String {
    let known = blackboards(&context.root).unwrap_or_default();
    let there = match known.is_empty() {
        true => "there are no blackboards".to_owned(),
        false => format!("there are: {}", known.join(", ")),
    };
    format!("there is no blackboard `{name}` in {}; {there}", context.root.path().display())
}

/// `situ blackboard get`.
pub fn get(context: &Context, arguments: &GetArgs) -> Result<(), CliError> {
    let opened = Opened::open(context, arguments)?;
    opened.positions.iter().try_for_each(|position| opened.print(*position).map(|_| ()))
}

/// `situ blackboard watch`.
pub fn watch(context: &Context, arguments: &WatchArgs) -> Result<(), CliError> {
    let interrupt = Interrupt::listen()?;
    let mut opened = Opened::open(context, &arguments.get)?;
    let mut versions = vec![0; opened.reader.keys().len()];
    let timeout = arguments.timeout.map(Duration::from_secs_f64);
    let (mut last, mut looked) = (Instant::now(), Instant::now());
    let mut left = arguments.count.unwrap_or(u64::MAX);
    while left > 0 && !interrupt.is_set() {
        for &position in &opened.positions {
            if left > 0 && opened.reader.changed_since(position, versions[position]) {
                versions[position] = opened.print(position)?;
                left -= 1;
                last = Instant::now();
            }
        }
        if let Some(timeout) = timeout.filter(|timeout| left > 0 && last.elapsed() >= *timeout) {
            let time = units::duration(timeout.as_nanos() as u64);
            let name = &arguments.get.blackboard;
            return Err(CliError::TimedOut(format!("no value of blackboard `{name}` changed for {time}")));
        }
        if looked.elapsed() >= LOOK {
            looked = Instant::now();
            if opened.reader.writer() == WriterState::Left {
                match Opened::open(context, &arguments.get) {
                    Ok(again) => {
                        versions = vec![0; again.reader.keys().len()];
                        opened = again;
                    }
                    // Until its next writer comes.
                    Err(CliError::NotFound(_)) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        std::thread::sleep(GLANCE);
    }
    Ok(())
}
