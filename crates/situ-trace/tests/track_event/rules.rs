//! Checks a whole trace against the rules of the format, as Perfetto's trace processor applies them. There is
//! no unknown field. Every number is explained before its use, in its own table, on its own sequence, after
//! the last clearing. Time does not run backwards on a track, and slices nest. The result has names in place
//! of numbers.

use std::collections::HashMap;

use prost::Message;

use super::perfetto::{Annotation, Packet, Trace, Value};
use super::strict;

/// An event with its names.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    pub at: u64,
    pub kind: i32,
    pub track: u64,
    pub category: String,
    pub name: String,
    pub flows: Vec<u64>,
    pub last_flows: Vec<u64>,
    pub arguments: Vec<(String, Value)>,
    pub value: Option<f64>,
    pub log: Option<Logged>,
    /// The file and the line of its own source location: a typed argument.
    pub source: Option<(String, u32)>,
}

/// A message of a log.
#[derive(Clone, Debug, PartialEq)]
pub struct Logged {
    pub priority: i32,
    pub text: String,
    /// The file and the line.
    pub place: Option<(String, u32)>,
}

/// A slice, from its begin and its end.
#[derive(Clone, Debug, PartialEq)]
pub struct Whole {
    pub track: u64,
    pub depth: usize,
    pub begin: u64,
    pub end: u64,
    pub category: String,
    pub name: String,
    pub flows: Vec<u64>,
    pub arguments: Vec<(String, Value)>,
}

#[derive(Clone, Debug, Default)]
pub struct Checked {
    pub events: Vec<Said>,
    pub slices: Vec<Whole>,
    /// By track: the process' number and name.
    pub processes: HashMap<u64, (i32, String)>,
    /// By track: the process' number, the thread's, its name, the parent track.
    pub threads: HashMap<u64, (i32, i32, String, u64)>,
    /// By track: name and parent track.
    pub counters: HashMap<u64, (String, u64)>,
    /// Other tracks: name and parent track.
    pub tracks: HashMap<u64, (String, u64)>,
    pub losses: usize,
    /// Packets whose time is a difference.
    pub differences: usize,
    /// Packets of the test's own type: time and text.
    pub own: Vec<(u64, String)>,
}

#[derive(Default)]
struct Sequence {
    is_valid: bool,
    track: u64,
    names: [HashMap<u64, String>; 4],
    places: HashMap<u64, (String, u32)>,
    /// The clock of times that name none, and the time of the sequence's own clock.
    default_clock: Option<u32>,
    clock: Option<u64>,
    /// Where it began last, which a new state does not clear.
    last_clock: Option<u64>,
}

impl Checked {
    pub fn read(bytes: &[u8]) -> Self {
        strict::check(bytes);
        let trace = Trace::decode(bytes).expect("it is protobuf");
        let mut checked = Self::default();
        let mut sequences: HashMap<u32, Sequence> = HashMap::new();
        for packet in &trace.packet {
            checked
                .packet(packet, sequences.entry(packet.sequence.expect("every packet has one")).or_default());
        }
        checked.check_tracks();
        checked.pair();
        checked
    }

    fn packet(&mut self, packet: &Packet, sequence: &mut Sequence) {
        let flags = packet.flags.unwrap_or_default();
        if packet.previous_packet_dropped == Some(true) {
            self.losses += 1;
            sequence.is_valid = false;
        }
        if flags & 1 != 0 {
            let last_clock = sequence.last_clock;
            *sequence = Sequence { is_valid: true, last_clock, ..Sequence::default() };
        }
        assert!(flags & 2 == 0 || sequence.is_valid, "a packet comes before its state: {packet:?}");
        if let Some(defaults) = &packet.defaults {
            sequence.default_clock = defaults.timestamp_clock_id;
        }
        if let Some(snapshot) = &packet.clock_snapshot {
            let at = |id| snapshot.clocks.iter().find(|clock| clock.clock_id == Some(id));
            if let Some(own) = at(64) {
                assert_eq!(own.is_incremental, Some(true));
                assert_eq!(own.timestamp, at(6).unwrap().timestamp, "it begins with the boot time");
                assert!(sequence.last_clock <= own.timestamp, "it runs backwards: {packet:?}");
                (sequence.clock, sequence.last_clock) = (own.timestamp, own.timestamp);
            }
        }
        let time = match (packet.timestamp, packet.timestamp_clock_id.or(sequence.default_clock)) {
            (Some(difference), Some(64)) => {
                let clock = sequence.clock.as_mut().expect("the clock has begun");
                *clock += difference;
                self.differences += 1;
                Some(*clock)
            }
            (None, _) => None,
            (time, clock) => {
                assert!(clock.is_none_or(|clock| clock == 6), "the boot time: {packet:?}");
                time
            }
        };
        if let Some(defaults) = packet.defaults.as_ref().and_then(|defaults| defaults.track_event.as_ref()) {
            sequence.track = defaults.track_uuid.unwrap_or_default();
        }
        if let Some(data) = &packet.interned_data {
            for (names, entries) in sequence.names.iter_mut().zip([
                &data.event_categories,
                &data.event_names,
                &data.debug_annotation_names,
                &data.log_message_body,
            ]) {
                for entry in entries {
                    let (iid, name) = (entry.iid.unwrap(), entry.name.clone().unwrap());
                    assert!(iid != 0, "0 is not a number of a name: {packet:?}");
                    let old = names.insert(iid, name.clone());
                    assert!(old.is_none_or(|old| old == name), "{iid} has two names: {packet:?}");
                }
            }
        }
        for place in packet.interned_data.iter().flat_map(|data| &data.source_locations) {
            let known = (place.file_name.clone().unwrap(), place.line_number.unwrap_or_default());
            let old = sequence.places.insert(place.iid.unwrap(), known.clone());
            assert!(old.is_none_or(|old| old == known), "a number has two places: {packet:?}");
        }
        if let Some(track) = &packet.track_descriptor {
            let (uuid, parent) = (track.uuid.unwrap(), track.parent_uuid.unwrap_or_default());
            if let Some(process) = &track.process {
                self.processes.insert(uuid, (process.pid.unwrap(), process.name.clone().unwrap()));
            } else if let Some(thread) = &track.thread {
                let name = thread.name.clone().unwrap();
                self.threads.insert(uuid, (thread.pid.unwrap(), thread.tid.unwrap(), name, parent));
            } else if track.counter.is_some() {
                self.counters.insert(uuid, (track.name.clone().unwrap(), parent));
            } else {
                self.tracks.insert(uuid, (track.name.clone().unwrap(), parent));
            }
        }
        let at = || time.expect("an event has a time");
        if let Some(own) = &packet.for_testing {
            self.own.push((at(), own.text.clone().unwrap()));
        }
        let Some(event) = &packet.track_event else { return };
        assert!(flags & 2 != 0, "a packet with numbers needs the state: {packet:?}");
        let name = |which: usize, iid: &u64| {
            sequence.names[which]
                .get(iid)
                .cloned()
                .unwrap_or_else(|| panic!("{iid} was never explained: {packet:?}"))
        };
        let categories = event.category_iids.iter().map(|iid| name(0, iid)).chain(event.categories.clone());
        self.events.push(Said {
            at: at(),
            kind: event.kind.unwrap(),
            track: event.track_uuid.unwrap_or(sequence.track),
            category: categories.collect(),
            name: event.name.clone().or(event.name_iid.as_ref().map(|iid| name(1, iid))).unwrap_or_default(),
            flows: event.flow_ids.clone(),
            last_flows: event.terminating_flow_ids.clone(),
            arguments: event
                .debug_annotations
                .iter()
                .flat_map(|it| flat("", it, &|iid| name(2, iid)))
                .collect(),
            source: event
                .source_location
                .as_ref()
                .map(|place| (place.file_name.clone().unwrap(), place.line_number.unwrap())),
            value: event.double_counter_value.or(event.counter_value.map(|value| value as f64)),
            log: event.log_message.as_ref().map(|log| Logged {
                priority: log.prio.unwrap(),
                text: name(3, &log.body_iid.unwrap()),
                place: log.source_location_iid.map(|iid| sequence.places[&iid].clone()),
            }),
        });
    }

    fn check_tracks(&self) {
        let mut last: HashMap<u64, u64> = HashMap::new();
        for event in &self.events {
            let known = self.threads.contains_key(&event.track)
                || self.counters.contains_key(&event.track)
                || self.tracks.contains_key(&event.track);
            assert!(known, "no packet described the track of {event:?}");
            let last = last.entry(event.track).or_default();
            assert!(*last <= event.at, "time runs backwards at {event:?}");
            *last = event.at;
        }
        let parents =
            self.threads.values().map(|thread| thread.3).chain(self.counters.values().map(|it| it.1));
        let parents = parents.chain(self.tracks.values().map(|it| it.1));
        parents.for_each(|parent| {
            let known = self.processes.contains_key(&parent)
                || self.threads.contains_key(&parent)
                || self.tracks.contains_key(&parent);
            assert!(known || parent == 0, "the parent track is unknown");
        });
    }

    fn pair(&mut self) {
        let mut open: HashMap<u64, Vec<Whole>> = HashMap::new();
        for event in self.events.clone() {
            let open = open.entry(event.track).or_default();
            match event.kind {
                1 => open.push(Whole {
                    track: event.track,
                    depth: open.len(),
                    begin: event.at,
                    end: 0,
                    category: event.category,
                    name: event.name,
                    flows: event.flows,
                    arguments: event.arguments,
                }),
                2 => {
                    let Some(mut slice) = open.pop() else { continue };
                    slice.end = event.at;
                    slice.flows.extend(event.flows);
                    slice.arguments.extend(event.arguments);
                    self.slices.push(slice);
                }
                _ => {}
            }
        }
    }

    /// The slices with a name.
    pub fn named(&self, name: &str) -> Vec<&Whole> {
        self.slices.iter().filter(|slice| slice.name == name).collect()
    }
}

/// The values of an argument, by the names that Perfetto gives to those within it.
fn flat(outer: &str, it: &Annotation, name: &dyn Fn(&u64) -> String) -> Vec<(String, Value)> {
    let own = it.name.clone().or(it.name_iid.as_ref().map(name));
    let whole = match (outer, own) {
        ("", own) => own.expect("an argument has a name"),
        (outer, Some(own)) => format!("{outer}.{own}"),
        (outer, None) => outer.to_owned(),
    };
    let entries = it.dict_entries.iter().flat_map(|entry| flat(&whole, entry, name));
    let values = (0..).zip(&it.array_values);
    let values = values.flat_map(|(index, value)| flat(&format!("{whole}[{index}]"), value, name));
    let value = it.value.clone().map(|value| (whole.clone(), value));
    value.into_iter().chain(entries).chain(values).collect()
}
