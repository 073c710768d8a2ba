//! Reads pages of the kernel's ring buffers, and writes the scheduling events in them as Perfetto has them.
//!
//! ```text
//! page   | u64 time | u64 flags, and the bytes of data | data ... | u64 lost events, if a flag says so |
//! event  | u32: 5 bits of type or length, 27 bits of time since the last event | data: u16 number ... |
//! ```
//!
//! The kernel describes where the fields of an event lie, in a text for each event (`format`). The pages come
//! from the kernel, but are read like any other bytes: no content leads outside of them.

use situ_wire::protobuf::Message;

/// The flags of a page.
const MISSED: u64 = 1 << 31;
const MISSED_STORED: u64 = 1 << 30;
/// The bits of a page's length.
const LENGTH: u64 = (1 << 27) - 1;
/// The bytes before the data of a page.
pub(super) const HEAD: usize = 16;
/// Types of events without data.
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// The bits of a time in the head of an event.
const TIME_BITS: u32 = 27;
/// The bits of an absolute time; the others are those of the time before it.
const STAMP_BITS: u32 = 59;
/// The maximum number of bytes of a name.
const NAME: usize = 64;

/// Where a field lies in the data of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    at: usize,
    bytes: usize,
}

/// One of the events that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A processor changes to another thread.
    Switch,
    /// A thread becomes ready to run.
    Waking,
}

impl Kind {
    pub(super) const ALL: [Self; 2] = [Self::Switch, Self::Waking];

    /// The name that the kernel has for it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Switch => "sched_switch",
            Self::Waking => "sched_waking",
        }
    }

    /// The number of its field in Perfetto's `FtraceEvent`.
    const fn field(self) -> u32 {
        match self {
            Self::Switch => 4,
            Self::Waking => 20,
        }
    }

    /// The fields: their names in the kernel, and their numbers in Perfetto's message.
    const fn fields(self) -> &'static [(&'static str, u32)] {
        match self {
            Self::Switch => &[
                ("prev_comm", 1),
                ("prev_pid", 2),
                ("prev_prio", 3),
                ("prev_state", 4),
                ("next_comm", 5),
                ("next_pid", 6),
                ("next_prio", 7),
            ],
            Self::Waking => &[("comm", 1), ("pid", 2), ("prio", 3), ("target_cpu", 5)],
        }
    }
}

/// How the kernel writes one of the events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Format {
    kind: Kind,
    number: u16,
    pid: Place,
    places: Vec<(u32, bool, Place)>,
}

impl Format {
    /// Reads the kernel's description. `None`: a field is missing, or is no number.
    pub(super) fn parse(kind: Kind, text: &str) -> Option<Self> {
        let number = text.lines().find_map(|line| line.strip_prefix("ID:")?.trim().parse().ok())?;
        let place = |name: &str| text.lines().find_map(|line| field_of(line, name));
        let mut places = Vec::new();
        for (name, field) in kind.fields() {
            let is_text = name.ends_with("comm");
            let place = place(name)?;
            if !is_text && !matches!(place.bytes, 1 | 2 | 4 | 8) {
                return None;
            }
            places.push((*field, is_text, place));
        }
        let pid = place("common_pid").filter(|pid| pid.bytes == 4)?;
        Some(Self { kind, number, pid, places })
    }

    /// Writes an event at a time. `None`: its data are too short.
    fn write(&self, at_ns: u64, data: &[u8], bundle: &mut Message<'_>) -> Option<()> {
        let end = self.places.iter().map(|(_, _, place)| place.at.saturating_add(place.bytes)).max()?;
        let pid = number(data, self.pid)?;
        if data.len() < end {
            return None;
        }
        let mut event = bundle.message(2);
        event.uint64(1, at_ns);
        event.uint32(2, pid as u32);
        let mut own = event.message(self.kind.field());
        for (field, is_text, place) in &self.places {
            if *is_text {
                let text = &data[place.at..place.at + place.bytes.min(NAME)];
                let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
                own.string(*field, &String::from_utf8_lossy(text));
            } else {
                own.int64(*field, number(data, *place)?);
            }
        }
        Some(())
    }
}

/// Where a field with this name lies, if the line describes it: `field:char prev_comm[16]; offset:8; size:16;
/// signed:0;`.
fn field_of(line: &str, wanted: &str) -> Option<Place> {
    let mut parts = line.trim().split(';').map(str::trim);
    let declared = parts.next()?.strip_prefix("field:")?;
    let name = declared.rsplit([' ', '*']).next()?;
    if name.split('[').next()? != wanted {
        return None;
    }
    let (mut at, mut bytes) = (None, None);
    for part in parts {
        if let Some(value) = part.strip_prefix("offset:") {
            at = value.parse().ok();
        } else if let Some(value) = part.strip_prefix("size:") {
            bytes = value.parse().ok();
        }
    }
    Some(Place { at: at?, bytes: bytes? })
}

/// A number in the data of an event, with its sign extended.
fn number(data: &[u8], place: Place) -> Option<i64> {
    let bytes = data.get(place.at..place.at.checked_add(place.bytes)?)?;
    let mut wide = [0; 8];
    wide.get_mut(..bytes.len())?.copy_from_slice(bytes);
    let unused = 64 - 8 * bytes.len() as u32;
    Some(i64::from_le_bytes(wide).wrapping_shl(unused).wrapping_shr(unused))
}

/// What a page contains.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    /// Events that were written.
    pub(super) events: u64,
    /// Events that the kernel has lost before the page.
    pub(super) lost: u64,
}

/// Writes the events of a page into a bundle.
pub(super) fn read_page(page: &[u8], formats: &[Format], bundle: &mut Message<'_>) -> Found {
    let mut found = Found::default();
    let (Some(mut time), Some(flags)) = (word(page, 0), word(page, 8)) else { return found };
    let length = (flags & LENGTH) as usize;
    let Some(mut data) = page.get(HEAD..).map(|rest| &rest[..length.min(rest.len())]) else { return found };
    if flags & MISSED != 0 {
        let stored = word(page, HEAD.saturating_add(length)).filter(|_| flags & MISSED_STORED != 0);
        found.lost = stored.unwrap_or(1);
    }
    while let Some((head, rest)) = data.split_first_chunk::<4>() {
        let head = u32::from_le_bytes(*head);
        let (kind, delta) = (head & 31, u64::from(head >> 5));
        let second = rest.first_chunk::<4>().map(|second| u32::from_le_bytes(*second));
        let (skip, length) = match (kind, second) {
            (TIME_EXTEND, Some(high)) => {
                time = time.wrapping_add(delta | u64::from(high) << TIME_BITS);
                (4, 0)
            }
            (TIME_STAMP, Some(high)) => {
                let stamp = delta | u64::from(high) << TIME_BITS;
                time = time >> STAMP_BITS << STAMP_BITS | stamp & ((1 << STAMP_BITS) - 1);
                (4, 0)
            }
            // The rest of the page is not in use.
            (PADDING, _) if delta == 0 => break,
            // The length counts itself.
            (PADDING, Some(length)) => (length.max(4) as usize, 0),
            (0, Some(length)) if length >= 4 => (4, length as usize - 4),
            (1..PADDING, _) => (0, kind as usize * 4),
            _ => break,
        };
        let Some(event) = rest.get(skip..skip.saturating_add(length)) else { break };
        if !matches!(kind, TIME_EXTEND | TIME_STAMP) {
            time = time.wrapping_add(delta);
        }
        if let Some(id) = event.first_chunk::<2>().map(|id| u16::from_le_bytes(*id))
            && let Some(format) = formats.iter().find(|format| format.number == id)
            && format.write(time, event, bundle).is_some()
        {
            found.events += 1;
        }
        data = rest.get(skip + length.next_multiple_of(4)..).unwrap_or_default();
    }
    found
}

fn word(page: &[u8], at: usize) -> Option<u64> {
    page.get(at..at.checked_add(8)?)?.first_chunk::<8>().map(|word| u64::from_le_bytes(*word))
}

#[cfg(test)]
mod tests {
    use situ_wire::protobuf::{Fields, Fixed, Value, Writer};

    use super::*;

    const SWITCH: &str = "name: sched_switch\nID: 316\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
        \tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n\
        \tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n\
        \tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n\
        \tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n\
        \tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n\
        \tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n";

    fn formats() -> Vec<Format> {
        vec![Format::parse(Kind::Switch, SWITCH).unwrap()]
    }

    fn name(text: &str) -> [u8; 16] {
        let mut name = [0; 16];
        name[..text.len()].copy_from_slice(text.as_bytes());
        name
    }

    /// The data of a switch from thread 7 to thread 9: 64 bytes.
    fn switch() -> Vec<u8> {
        let mut data = vec![60, 1, 0, 0, 7, 0, 0, 0];
        data.extend(name("arm"));
        data.extend(7_i32.to_le_bytes());
        data.extend(120_i32.to_le_bytes());
        data.extend(1_i64.to_le_bytes());
        data.extend(name("leg"));
        data.extend(9_i32.to_le_bytes());
        data.extend((-1_i32).to_le_bytes());
        data
    }

    fn event(kind: u32, delta: u32, data: &[u8]) -> Vec<u8> {
        [&(kind | delta << 5).to_le_bytes()[..], data].concat()
    }

    fn page(time: u64, flags: u64, events: &[Vec<u8>]) -> Vec<u8> {
        let data = events.concat();
        [&time.to_le_bytes()[..], &(flags | data.len() as u64).to_le_bytes(), &data].concat()
    }

    fn read(page: &[u8]) -> (Found, Vec<u8>) {
        let mut memory = vec![0; 1 << 16];
        let mut buffer = Fixed::new(&mut memory);
        let mut writer = Writer::new(&mut buffer);
        let found = read_page(page, &formats(), &mut writer.message());
        writer.finish().unwrap();
        (found, buffer.written().to_vec())
    }

    /// The message of the switch at a time of one byte, by hand.
    fn written(time: u8) -> Vec<u8> {
        let mut own = vec![0x0a, 3, b'a', b'r', b'm', 0x10, 7, 0x18, 120, 0x20, 1, 0x2a, 3, b'l', b'e', b'g'];
        own.extend([0x30, 9, 0x38, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]);
        let mut event = vec![8, time, 0x10, 7, 0x22, own.len() as u8];
        event.extend(own);
        [vec![0x12, event.len() as u8], event].concat()
    }

    /// Lengths may have more bytes than they need.
    fn shortest(message: &[u8]) -> Vec<u8> {
        let mut short = Vec::new();
        for field in Fields::new(message) {
            let field = field.unwrap();
            match field.value {
                Value::Bytes(bytes) => {
                    let is_message = matches!(field.number, 2 | 4) && bytes.len() > 8;
                    let bytes = if is_message { shortest(bytes) } else { bytes.to_vec() };
                    short.extend([(field.number << 3 | 2) as u8, bytes.len() as u8]);
                    short.extend(bytes);
                }
                Value::Varint(mut value) => {
                    short.push((field.number << 3) as u8);
                    while value >= 0x80 {
                        short.push(value as u8 | 0x80);
                        value >>= 7;
                    }
                    short.push(value as u8);
                }
                _ => unreachable!(),
            }
        }
        short
    }

    #[test]
    fn switches_have_their_fields_and_times() {
        let long = [&68_u32.to_le_bytes()[..], &switch()].concat();
        let (found, bytes) = read(&page(
            10,
            0,
            &[
                event(16, 5, &switch()),
                event(TIME_EXTEND, 3, &0_u32.to_le_bytes()),
                event(0, 2, &long),
                // A discarded event, whose length counts itself.
                event(PADDING, 1, &[8, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]),
                event(TIME_STAMP, 100, &0_u32.to_le_bytes()),
                event(16, 1, &switch()),
                // Another event.
                event(1, 1, &[9, 9, 0, 0]),
                event(PADDING, 0, &[]),
                event(16, 1, &switch()),
            ],
        ));
        assert_eq!(found, Found { events: 3, lost: 0 });
        assert_eq!(shortest(&bytes), [written(15), written(20), written(101)].concat());
    }

    #[test]
    fn losses_are_counted() {
        let mut lost = page(10, MISSED | MISSED_STORED, &[event(16, 5, &switch())]);
        lost.extend(7_u64.to_le_bytes());
        assert_eq!(read(&lost).0, Found { events: 1, lost: 7 });
        assert_eq!(read(&page(10, MISSED, &[])).0, Found { events: 0, lost: 1 });
    }

    #[test]
    fn descriptions_without_the_fields_are_refused() {
        assert_eq!(Format::parse(Kind::Waking, SWITCH), None);
        for (from, to) in
            [("ID: 316", "ID: x"), ("next_prio", "next"), ("size:8", "size:3"), ("offset:60", "offset:-1")]
        {
            assert_eq!(Format::parse(Kind::Switch, &SWITCH.replace(from, to)), None, "{to}");
        }
        let mut far = formats();
        far[0].places[6].2.at = usize::MAX - 3;
        let mut memory = vec![0; 1 << 12];
        let mut buffer = Fixed::new(&mut memory);
        let mut writer = Writer::new(&mut buffer);
        let page = page(1, 0, &[event(16, 5, &switch())]);
        assert_eq!(read_page(&page, &far, &mut writer.message()).events, 0);
    }

    #[test]
    fn any_bytes_are_read_to_their_end() {
        let good = page(
            10,
            0,
            &[event(16, 5, &switch()), event(PADDING, 1, &[4, 0, 0, 0]), event(16, 1, &switch())],
        );
        let mut seed = 7_u64;
        let mut random = move || {
            seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (seed >> 33) as usize
        };
        for _ in 0..20_000 {
            let mut bad = good.clone();
            for _ in 0..=random() % 4 {
                let at = random() % bad.len();
                bad[at] = random() as u8;
            }
            bad.truncate(random() % (bad.len() + 40));
            assert!(read(&bad).0.events <= bad.len() as u64);
        }
    }
}
