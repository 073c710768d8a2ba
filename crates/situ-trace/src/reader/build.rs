//! Builds a trace from packets.

use std::collections::HashMap;

use situ_wire::protobuf::ReadError;

use super::packets::PacketReader;
use super::strings::{TextId, Texts};
use super::trace::{
    ArgumentValue, Instant, ProcessTrack, ReadTrace, Sample, SliceEnd, TimedSlice, Track, TrackKind,
};
use crate::proto::{
    DebugAnnotationReader, InternedDataReader, TracePacketReader, TrackDescriptorReader, TrackEventReader,
    track_event::Type,
};

const STATE_CLEARED: u32 = 1;
const NEEDS_STATE: u32 = 2;
/// The clock of timestamps, unless a packet names another.
const BOOT_TIME: u32 = 6;

/// The state of a sequence from its packets so far.
#[derive(Default)]
struct Sequence {
    is_valid: bool,
    track: u64,
    clock: u32,
    /// The clocks that belong to this sequence.
    clocks: HashMap<u32, OwnClock>,
    categories: HashMap<u64, TextId>,
    names: HashMap<u64, TextId>,
    annotations: HashMap<u64, TextId>,
    /// Texts of logs' messages.
    bodies: HashMap<u64, TextId>,
    /// Files and lines.
    places: HashMap<u64, (TextId, u32)>,
}

/// The numbers of clocks that belong to one sequence.
const OWN_CLOCKS: std::ops::RangeInclusive<u32> = 64..=127;

/// A clock of one sequence. Its times are at most 2^64 units of 2^64 nanoseconds, so sums saturate.
#[derive(Clone, Copy)]
struct OwnClock {
    /// The nanoseconds by which it is behind the boot time.
    behind: i128,
    unit_ns: i128,
    /// The last time, if times are differences.
    last: Option<i128>,
}

impl OwnClock {
    /// Returns the boot time of a time stamp.
    fn boot_time(&mut self, timestamp: u64) -> i128 {
        let time = i128::from(timestamp).saturating_mul(self.unit_ns);
        let time = match &mut self.last {
            Some(last) => {
                *last = last.saturating_add(time);
                *last
            }
            None => time,
        };
        time.saturating_add(self.behind)
    }
}

/// An event, before all events are sorted.
struct RawEvent {
    at_ns: u64,
    track: usize,
    kind: RawKind,
}

enum RawKind {
    Begin(Box<Details>),
    End(Box<Details>),
    Instant(Box<Details>),
    Count(f64),
}

#[derive(Default)]
struct Details {
    category: TextId,
    name: TextId,
    arguments: Vec<(TextId, ArgumentValue)>,
    flows: Vec<u64>,
}

#[derive(Default)]
struct Builder {
    trace: ReadTrace,
    sequences: HashMap<u32, Sequence>,
    /// Indices, by the tracks' numbers.
    tracks: HashMap<u64, usize>,
    processes: HashMap<u64, usize>,
    parents: HashMap<u64, u64>,
    pids: HashMap<u64, i32>,
    /// The nanoseconds by which a clock is behind the boot time, by the clock's number.
    behind: HashMap<u32, i128>,
    raw: Vec<RawEvent>,
}

impl ReadTrace {
    /// Reads the bytes of a file. [`troubles`](Self::troubles) counts packets and events that cannot be used.
    pub fn read(bytes: &[u8]) -> Self {
        let mut builder = Builder::default();
        let mut packets = PacketReader::new(bytes);
        for packet in packets.by_ref() {
            builder.trace.packets += 1;
            if builder.packet(packet).is_err() {
                builder.trace.troubles.malformed += 1;
            }
        }
        builder.trace.troubles.unread_bytes = packets.unread;
        builder.finish()
    }
}

impl Builder {
    fn packet(&mut self, bytes: &[u8]) -> Result<(), ReadError> {
        let packet = TracePacketReader::new(bytes)?;
        let number = packet.trusted_packet_sequence_id();
        let flags = packet.sequence_flags();
        let sequence = self.sequences.entry(number).or_default();
        if packet.previous_packet_dropped() {
            self.trace.troubles.losses += 1;
            sequence.is_valid = false;
        }
        if flags & STATE_CLEARED != 0 {
            *sequence = Sequence { is_valid: true, clock: BOOT_TIME, ..Sequence::default() };
        }
        if flags & NEEDS_STATE != 0 && !sequence.is_valid {
            self.trace.troubles.without_state += 1;
            return Ok(());
        }
        if let Some(defaults) = packet.trace_packet_defaults()? {
            sequence.clock = defaults.timestamp_clock_id();
            sequence.track = defaults.track_event_defaults()?.map_or(0, |defaults| defaults.track_uuid());
        }
        if let Some(data) = packet.interned_data()? {
            sequence.learn(&data, &mut self.trace.texts)?;
        }
        if let Some(snapshot) = packet.clock_snapshot()? {
            let clocks = snapshot.clocks().collect::<Result<Vec<_>, _>>()?;
            if let Some(boot) = clocks.iter().find(|clock| clock.clock_id() == BOOT_TIME) {
                for clock in &clocks {
                    let unit_ns = i128::from(clock.unit_multiplier_ns().max(1));
                    let time = i128::from(clock.timestamp()).saturating_mul(unit_ns);
                    let behind = i128::from(boot.timestamp()).saturating_sub(time);
                    if OWN_CLOCKS.contains(&clock.clock_id()) {
                        let last = clock.is_incremental().then_some(time);
                        sequence.clocks.insert(clock.clock_id(), OwnClock { behind, unit_ns, last });
                    } else {
                        self.behind.insert(clock.clock_id(), behind);
                    }
                }
            }
        }
        if let Some(stats) = packet.trace_stats()? {
            for buffer in stats.buffer_stats() {
                let damaged = &mut self.trace.troubles.damaged;
                *damaged = damaged.saturating_add(buffer?.abi_violations());
            }
        }
        if let Some(descriptor) = packet.track_descriptor()? {
            self.descriptor(&descriptor)?;
        }
        let at_ns = self.time(number, &packet);
        if let Some(event) = packet.track_event()? {
            match at_ns {
                Some(at_ns) => self.event(number, at_ns, &event)?,
                None => self.trace.troubles.malformed += 1,
            }
        }
        Ok(())
    }

    /// Returns the boot time of a packet. Moves on the clock of its sequence.
    fn time(&mut self, number: u32, packet: &TracePacketReader<'_>) -> Option<u64> {
        let sequence = self.sequences.get_mut(&number)?;
        let clock = match packet.has_timestamp_clock_id() {
            true => packet.timestamp_clock_id(),
            false => sequence.clock,
        };
        let at_ns = match clock {
            _ if !packet.has_timestamp() => return Some(0),
            0 | BOOT_TIME => i128::from(packet.timestamp()),
            clock if OWN_CLOCKS.contains(&clock) => {
                sequence.clocks.get_mut(&clock)?.boot_time(packet.timestamp())
            }
            clock => i128::from(packet.timestamp()).saturating_add(*self.behind.get(&clock)?),
        };
        u64::try_from(at_ns).ok()
    }

    fn descriptor(&mut self, descriptor: &TrackDescriptorReader<'_>) -> Result<(), ReadError> {
        let uuid = descriptor.uuid();
        let mut name = descriptor.name()?.to_owned();
        if descriptor.has_parent_uuid() {
            self.parents.insert(uuid, descriptor.parent_uuid());
        }
        if let Some(process) = descriptor.process()? {
            if let (Some(first), true) = (process.cmdline().next(), process.process_name()?.is_empty()) {
                name = first?.to_owned();
            } else if !process.process_name()?.is_empty() {
                name = process.process_name()?.to_owned();
            }
            let name = self.trace.texts.id(&name);
            let track = ProcessTrack { uuid, pid: process.pid(), name };
            let index = *self.processes.entry(uuid).or_insert(self.trace.processes.len());
            match self.trace.processes.get_mut(index) {
                Some(process) => *process = track,
                None => self.trace.processes.push(track),
            }
            return Ok(());
        }
        let mut kind = TrackKind::Other;
        if let Some(thread) = descriptor.thread()? {
            kind = TrackKind::Thread(thread.tid());
            if !thread.thread_name()?.is_empty() {
                name = thread.thread_name()?.to_owned();
            }
            self.pids.insert(uuid, thread.pid());
        } else if descriptor.counter()?.is_some() {
            kind = TrackKind::Counter;
        }
        let index = self.track(uuid);
        let name = self.trace.texts.id(&name);
        let track = &mut self.trace.tracks[index];
        (track.kind, track.name) = (kind, name);
        Ok(())
    }

    /// Returns the index of a track. Adds an unknown track.
    fn track(&mut self, uuid: u64) -> usize {
        let tracks = &mut self.trace.tracks;
        *self.tracks.entry(uuid).or_insert_with(|| {
            tracks.push(Track { uuid, process: None, name: Texts::EMPTY, kind: TrackKind::Other });
            tracks.len() - 1
        })
    }

    fn event(&mut self, number: u32, at_ns: u64, event: &TrackEventReader<'_>) -> Result<(), ReadError> {
        let uuid = match (event.has_track_uuid(), self.sequences.get(&number)) {
            (true, _) => event.track_uuid(),
            (false, Some(sequence)) => sequence.track,
            (false, None) => 0,
        };
        let track = self.track(uuid);
        let kind = match event.r#type() {
            Type::TYPE_SLICE_BEGIN => RawKind::Begin(Box::new(self.details(number, event)?)),
            Type::TYPE_SLICE_END => RawKind::End(Box::new(self.details(number, event)?)),
            Type::TYPE_INSTANT => RawKind::Instant(Box::new(self.details(number, event)?)),
            Type::TYPE_COUNTER if event.has_double_counter_value() => {
                RawKind::Count(event.double_counter_value())
            }
            Type::TYPE_COUNTER => RawKind::Count(event.counter_value() as f64),
            _ => return Ok(()),
        };
        self.raw.push(RawEvent { at_ns, track, kind });
        Ok(())
    }

    fn details(&mut self, number: u32, event: &TrackEventReader<'_>) -> Result<Details, ReadError> {
        let unknown = Sequence::default();
        let sequence = self.sequences.get(&number).unwrap_or(&unknown);
        let texts = &mut self.trace.texts;
        let mut details = Details::default();
        if let Some(iid) = event.category_iids().next() {
            details.category = sequence.categories.get(&iid?).copied().unwrap_or(Texts::EMPTY);
        } else if let Some(name) = event.categories().next() {
            details.category = texts.id(name?);
        }
        details.name = if event.has_name_iid() {
            sequence.names.get(&event.name_iid()).copied().unwrap_or(Texts::EMPTY)
        } else {
            texts.id(event.name()?)
        };
        details.flows = event.flow_ids().chain(event.terminating_flow_ids()).collect::<Result<_, _>>()?;
        for annotation in event.debug_annotations() {
            arguments(&annotation?, "", 0, sequence, texts, &mut details.arguments)?;
        }
        if let Some(message) = event.log_message()? {
            // As arguments, like Perfetto.
            if let Some(body) = sequence.bodies.get(&message.body_iid()) {
                details.arguments.push((texts.id("message"), ArgumentValue::Text(*body)));
            }
            if let Some((file, line)) = sequence.places.get(&message.source_location_iid()) {
                details.arguments.push((texts.id("file"), ArgumentValue::Text(*file)));
                details.arguments.push((texts.id("line"), ArgumentValue::Uint(u64::from(*line))));
            }
        }
        Ok(details)
    }

    /// Sorts the events, and pairs the ends of slices with their beginnings.
    fn finish(mut self) -> ReadTrace {
        for track in &mut self.trace.tracks {
            let parent = self.parents.get(&track.uuid);
            let by_parent = parent.and_then(|parent| self.processes.get(parent)).copied();
            let pid = self.pids.get(&track.uuid);
            let processes = &self.trace.processes;
            track.process =
                by_parent.or_else(|| processes.iter().rposition(|process| Some(&process.pid) == pid));
        }
        let mut raw = std::mem::take(&mut self.raw);
        raw.sort_by_key(|event| event.at_ns);
        // For each track, the indices of its open slices.
        let mut open: Vec<Vec<usize>> = vec![Vec::new(); self.trace.tracks.len()];
        let trace = &mut self.trace;
        for RawEvent { at_ns, track, kind } in raw {
            match kind {
                RawKind::Begin(details) => {
                    let Details { category, name, arguments, flows } = *details;
                    let depth = open[track].len() as u32;
                    open[track].push(trace.slices.len());
                    trace.slices.push(TimedSlice {
                        track,
                        depth,
                        begin_ns: at_ns,
                        end: SliceEnd::Open,
                        category,
                        name,
                        arguments,
                        flows,
                    });
                }
                RawKind::End(details) => match open[track].pop() {
                    Some(index) => {
                        let slice = &mut trace.slices[index];
                        slice.end = SliceEnd::At(at_ns);
                        slice.arguments.extend(details.arguments);
                        slice.flows.extend(details.flows);
                    }
                    None => trace.troubles.ends_without_begin += 1,
                },
                RawKind::Instant(details) => {
                    let Details { category, name, arguments, flows } = *details;
                    trace.instants.push(Instant { track, at_ns, category, name, arguments, flows });
                }
                RawKind::Count(value) => trace.samples.push(Sample { track, at_ns, value }),
            }
        }
        self.trace
    }
}

impl Sequence {
    fn learn(&mut self, data: &InternedDataReader<'_>, texts: &mut Texts) -> Result<(), ReadError> {
        for entry in data.event_categories() {
            let entry = entry?;
            self.categories.insert(entry.iid(), texts.id(entry.name()?));
        }
        for entry in data.event_names() {
            let entry = entry?;
            self.names.insert(entry.iid(), texts.id(entry.name()?));
        }
        for entry in data.debug_annotation_names() {
            let entry = entry?;
            self.annotations.insert(entry.iid(), texts.id(entry.name()?));
        }
        for entry in data.log_message_body() {
            let entry = entry?;
            self.bodies.insert(entry.iid(), texts.id(entry.body()?));
        }
        for entry in data.source_locations() {
            let entry = entry?;
            self.places.insert(entry.iid(), (texts.id(entry.file_name()?), entry.line_number()));
        }
        Ok(())
    }
}

/// The maximum number of arguments around an argument, and of arguments of an event: a file may hold more
/// than a reader can show.
const MAX_NESTING: u32 = 32;
const MAX_ARGUMENTS: usize = 4096;
/// The maximum length of a name with those around it. A longer one is that of the argument alone, so that the
/// names take not much more memory than the file.
const MAX_NAME: usize = 256;

/// Returns a name, or nothing in place of one that is too long.
fn short(name: &str) -> &str {
    if name.len() <= MAX_NAME { name } else { "" }
}

/// Adds an argument, and those within it under names such as `pose.x` and `joints[0]`.
fn arguments(
    annotation: &DebugAnnotationReader<'_>,
    outer: &str,
    depth: u32,
    sequence: &Sequence,
    texts: &mut Texts,
    to: &mut Vec<(TextId, ArgumentValue)>,
) -> Result<(), ReadError> {
    let mut name = if annotation.has_name_iid() {
        sequence.annotations.get(&annotation.name_iid()).copied().unwrap_or(Texts::EMPTY)
    } else {
        texts.id(annotation.name()?)
    };
    if !outer.is_empty() {
        let own = texts.get(name);
        if outer.len() + own.len() <= MAX_NAME {
            let whole = if own.is_empty() { outer.to_owned() } else { format!("{outer}.{own}") };
            name = texts.id(&whole);
        }
    }
    if let Some(value) = value(annotation, texts)? {
        to.push((name, value));
    }
    if depth == MAX_NESTING {
        return Ok(());
    }
    for entry in annotation.dict_entries() {
        if to.len() >= MAX_ARGUMENTS {
            return Ok(());
        }
        let outer = short(texts.get(name)).to_owned();
        arguments(&entry?, &outer, depth + 1, sequence, texts, to)?;
    }
    for (index, entry) in annotation.array_values().enumerate() {
        if to.len() >= MAX_ARGUMENTS {
            return Ok(());
        }
        let outer = format!("{}[{index}]", short(texts.get(name)));
        arguments(&entry?, &outer, depth + 1, sequence, texts, to)?;
    }
    Ok(())
}

fn value(
    annotation: &DebugAnnotationReader<'_>,
    texts: &mut Texts,
) -> Result<Option<ArgumentValue>, ReadError> {
    Ok(if annotation.has_bool_value() {
        Some(ArgumentValue::Bool(annotation.bool_value()))
    } else if annotation.has_uint_value() {
        Some(ArgumentValue::Uint(annotation.uint_value()))
    } else if annotation.has_int_value() {
        Some(ArgumentValue::Int(annotation.int_value()))
    } else if annotation.has_double_value() {
        Some(ArgumentValue::Double(annotation.double_value()))
    } else if annotation.has_string_value() {
        Some(ArgumentValue::Text(texts.id(annotation.string_value()?)))
    } else if annotation.has_pointer_value() {
        Some(ArgumentValue::Text(texts.id(&format!("{:#x}", annotation.pointer_value()))))
    } else {
        None
    })
}
