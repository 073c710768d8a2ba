//! `situ record info` and `situ record check`.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use situ::layout::foreign::Foreign;
use situ_record::{End, Filter, Reader};

use crate::commands::Context;
use crate::error::CliError;
use crate::output::table::{Cell, Column, Table};
use crate::output::units::{bytes, duration, hertz};
use crate::output::{LiveBlock, Output, Style};

/// How often the progress is shown, in messages.
const SHOW: u64 = 10_000;

#[derive(Serialize)]
struct Info {
    file: String,
    bytes: u64,
    profile: String,
    library: String,
    start_ns: u64,
    duration_ns: u64,
    messages: u64,
    chunks: u32,
    compression: Vec<String>,
    /// Whether it ends with a summary.
    complete: bool,
    end: String,
    channels: Vec<ChannelRow>,
    attachments: Vec<String>,
    metadata: BTreeMap<String, BTreeMap<String, String>>,
    problems: Vec<String>,
}

#[derive(Serialize)]
struct ChannelRow {
    id: u16,
    topic: String,
    #[serde(rename = "type")]
    type_name: String,
    encoding: String,
    schema_encoding: String,
    node: Option<String>,
    messages: u64,
    rate_hz: Option<f64>,
}

/// How a file ends, in words.
fn end(end: &End) -> String {
    match end {
        End::Whole => "whole".to_owned(),
        End::Open => "not finished: it ends behind its last chunk, without a summary".to_owned(),
        End::Cut { at, reason } => format!("not finished: {reason}, at byte {at}"),
    }
}

impl Info {
    fn of(reader: &Reader) -> Self {
        let statistics = reader.statistics();
        let time = statistics.end_time.saturating_sub(statistics.start_time);
        let mut compression: Vec<String> =
            reader.blocks().iter().map(|block| block.index.compression.clone()).collect();
        compression.sort();
        compression.dedup();
        let mut problems = reader.problems().to_vec();
        let row = |(id, channel): (&u16, &std::sync::Arc<situ_record::Channel>)| {
            let schema = reader.schemas().get(&channel.schema_id);
            let messages = statistics.channel_messages.get(id).copied().unwrap_or(0);
            ChannelRow {
                id: *id,
                topic: channel.topic.clone(),
                type_name: schema.map(|schema| schema.name.clone()).unwrap_or_default(),
                encoding: channel.message_encoding.clone(),
                schema_encoding: schema.map(|schema| schema.encoding.clone()).unwrap_or_default(),
                node: channel.metadata.get("situ.node").cloned(),
                messages,
                rate_hz: (messages > 1 && time > 0).then(|| (messages - 1) as f64 * 1e9 / time as f64),
            }
        };
        let mut channels: Vec<_> = reader.channels().iter().map(row).collect();
        channels.sort_by(|a, b| a.topic.cmp(&b.topic));
        let mut metadata = BTreeMap::new();
        for index in reader.metadata() {
            match reader.metadata_values(index) {
                Ok(values) => _ = metadata.insert(index.name.clone(), values),
                Err(error) => problems.push(error.to_string()),
            }
        }
        Self {
            file: reader.path().display().to_string(),
            bytes: reader.size(),
            profile: reader.profile().to_owned(),
            library: reader.library().to_owned(),
            start_ns: statistics.start_time,
            duration_ns: time,
            messages: statistics.messages,
            chunks: statistics.chunks,
            compression: compression.into_iter().filter(|name| !name.is_empty()).collect(),
            complete: *reader.end() == End::Whole,
            end: end(reader.end()),
            channels,
            attachments: reader.attachments().iter().map(|it| it.name.clone()).collect(),
            metadata,
            problems,
        }
    }

    fn show(&self, output: &Output) -> Result<(), CliError> {
        let compression = match self.compression.as_slice() {
            [] => "not compressed".to_owned(),
            names => names.join(", "),
        };
        let name = output.paint(Style::Strong, Foreign(&self.file));
        output.line(format!("{name}  {}, {compression}, {} chunks", bytes(self.bytes), self.chunks))?;
        let library = format!("{}, profile {:?}", self.library, self.profile);
        output.line(format!("written by  {}", Foreign(&library)))?;
        output.line(format!("messages    {} in {}", self.messages, duration(self.duration_ns)))?;
        let style = if self.complete { Style::Plain } else { Style::Warn };
        output.line(format!("end         {}", output.paint(style, Foreign(&self.end))))?;
        for (name, values) in &self.metadata {
            for (key, value) in values {
                output.line(format!("metadata    {}", Foreign(&format!("{name}: {key}={value}"))))?;
            }
        }
        for name in &self.attachments {
            output.line(format!("attachment  {}", Foreign(name)))?;
        }
        for problem in &self.problems {
            output.line(output.paint(Style::Bad, Foreign(problem)))?;
        }
        let mut table = Table::new([
            Column::left("TOPIC").flexible(),
            Column::left("TYPE").flexible().rank(1),
            Column::left("ENCODING").rank(3),
            Column::left("NODE").flexible().rank(2),
            Column::right("MESSAGES"),
            Column::right("RATE"),
        ]);
        for channel in &self.channels {
            table.row([
                Cell::styled(&channel.topic, Style::Strong),
                channel.type_name.as_str().into(),
                channel.encoding.as_str().into(),
                channel.node.as_deref().unwrap_or("-").into(),
                channel.messages.to_string().into(),
                channel.rate_hz.map_or_else(|| "-".to_owned(), hertz).into(),
            ]);
        }
        Ok(output.text(table.render(output))?)
    }
}

/// `situ record info`.
pub fn info(context: &Context, reader: &Reader) -> Result<(), CliError> {
    let (info, output) = (Info::of(reader), &context.output);
    if output.is_json() { Ok(output.record(&info)?) } else { info.show(output) }
}

#[derive(Serialize)]
struct Check {
    file: String,
    messages: u64,
    bytes: u64,
    complete: bool,
    end: String,
    /// When the last message was recorded, in nanoseconds since 1970.
    last_ns: u64,
    /// Messages that a publisher published and the file does not have, by topic.
    gaps: BTreeMap<String, u64>,
    problems: Vec<String>,
}

/// `situ record check`.
pub fn check(context: &Context, reader: &Reader) -> Result<(), CliError> {
    let output = &context.output;
    let mut check = Check {
        file: reader.path().display().to_string(),
        messages: 0,
        bytes: 0,
        complete: *reader.end() == End::Whole,
        end: end(reader.end()),
        last_ns: 0,
        gaps: BTreeMap::new(),
        problems: reader.problems().to_vec(),
    };
    let mut block = LiveBlock::default();
    let mut sequences: HashMap<u16, u32> = HashMap::new();
    for message in reader.messages(Filter::default()) {
        let message = match message {
            Ok(message) => message,
            Err(error) => {
                check.problems.push(error.to_string());
                continue;
            }
        };
        check.messages += 1;
        check.bytes += message.data().len() as u64;
        check.last_ns = message.log_time;
        // Only Situ's files promise that numbers follow each other.
        if message.channel.metadata.contains_key("situ.publisher") {
            let before = sequences.insert(message.channel.id, message.sequence);
            let gap = before.map_or(0, |before| message.sequence.wrapping_sub(before).wrapping_sub(1));
            if gap != 0 && gap < u32::MAX / 2 {
                *check.gaps.entry(message.channel.topic.clone()).or_default() += u64::from(gap);
            }
        }
        if check.messages.is_multiple_of(SHOW) && output.is_live() {
            let of = reader.statistics().messages;
            output.draw(&mut block, &format!("read {} of {of} messages\n", check.messages))?;
        }
    }
    if output.is_live() {
        output.draw(&mut block, "")?;
    }
    let said = reader.statistics().messages;
    if check.complete && said != check.messages {
        check.problems.push(format!("the summary says {said} messages, and {} were read", check.messages));
    }
    show_check(output, &check)?;
    if check.complete && check.problems.is_empty() { Ok(()) } else { Err(CliError::CheckFailed) }
}

fn show_check(output: &Output, check: &Check) -> Result<(), CliError> {
    if output.is_json() {
        return Ok(output.record(check)?);
    }
    output.line(format!(
        "{}: {} messages, {}, {}",
        output.paint(Style::Strong, Foreign(&check.file)),
        check.messages,
        bytes(check.bytes),
        output.paint(if check.complete { Style::Good } else { Style::Warn }, Foreign(&check.end))
    ))?;
    for (topic, gap) in &check.gaps {
        output.line(format!("{}: {gap} messages were lost when it was recorded", Foreign(topic)))?;
    }
    for problem in &check.problems {
        output.line(output.paint(Style::Bad, Foreign(problem)))?;
    }
    if !check.complete {
        output.line(format!(
            "To make a whole file of it: situ record convert {} -o whole.mcap",
            Foreign(&check.file)
        ))?;
    }
    Ok(())
}
