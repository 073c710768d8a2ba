//! A message with a field of every type, declared for prost, filled at random, written by Situ in prost's
//! order, and read by Situ.

use std::collections::BTreeMap;

use situ_wire::protobuf::kind::*;
use situ_wire::protobuf::{Kind, Layout, Message, ReadError, ReadProblem, Table, WireType};

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// Returns a number of any magnitude.
    pub fn number(&mut self) -> u64 {
        let shift = self.below(65) as u32;
        self.next().checked_shr(shift).unwrap_or(0)
    }

    fn bytes(&mut self, most: usize) -> Vec<u8> {
        (0..self.below(most)).map(|_| self.next() as u8).collect()
    }

    fn text(&mut self) -> String {
        let letters = ['a', 'Z', '0', 'ä', '€', '🦀'];
        (0..self.below(60)).map(|_| letters[self.below(letters.len())]).collect()
    }

    fn many<T>(&mut self, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.below(40)).map(|_| make(self)).collect()
    }
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Everything {
    #[prost(int32, tag = "1")]
    pub int32: i32,
    #[prost(int64, tag = "2")]
    pub int64: i64,
    #[prost(uint32, tag = "3")]
    pub uint32: u32,
    #[prost(uint64, tag = "4")]
    pub uint64: u64,
    #[prost(sint32, tag = "5")]
    pub sint32: i32,
    #[prost(sint64, tag = "6")]
    pub sint64: i64,
    #[prost(fixed32, tag = "7")]
    pub fixed32: u32,
    #[prost(fixed64, tag = "8")]
    pub fixed64: u64,
    #[prost(sfixed32, tag = "9")]
    pub sfixed32: i32,
    #[prost(sfixed64, tag = "10")]
    pub sfixed64: i64,
    #[prost(float, tag = "11")]
    pub float: f32,
    #[prost(double, tag = "12")]
    pub double: f64,
    #[prost(bool, tag = "13")]
    pub bool: bool,
    #[prost(string, tag = "14")]
    pub string: String,
    #[prost(bytes = "vec", tag = "15")]
    pub bytes: Vec<u8>,
    #[prost(message, optional, boxed, tag = "16")]
    pub child: Option<Box<Everything>>,
    #[prost(message, repeated, tag = "17")]
    pub children: Vec<Everything>,
    #[prost(int32, repeated, tag = "18")]
    pub packed: Vec<i32>,
    #[prost(double, repeated, tag = "19")]
    pub doubles: Vec<f64>,
    #[prost(sint64, repeated, tag = "20")]
    pub zigzags: Vec<i64>,
    #[prost(bool, repeated, tag = "21")]
    pub bools: Vec<bool>,
    #[prost(string, repeated, tag = "22")]
    pub strings: Vec<String>,
    #[prost(group, optional, boxed, tag = "23")]
    pub group: Option<Box<Everything>>,
    #[prost(group, repeated, tag = "24")]
    pub groups: Vec<Everything>,
    #[prost(uint64, repeated, packed = "false", tag = "2047")]
    pub unpacked: Vec<u64>,
    #[prost(btree_map = "string, int32", tag = "2048")]
    pub scores: BTreeMap<String, i32>,
    #[prost(btree_map = "uint32, message", tag = "536870911")]
    pub named: BTreeMap<u32, Everything>,
}

impl Everything {
    pub fn random(random: &mut Random, levels: usize) -> Self {
        if levels == 0 {
            return Self { int64: random.number() as i64, string: random.text(), ..Self::default() };
        }
        // Nested messages have a length in front, or are groups.
        let (child, group) = match random.below(4) {
            0 => (Some(Box::new(Self::random(random, levels - 1))), None),
            1 => (None, Some(Box::new(Self::random(random, levels - 1)))),
            _ => (None, None),
        };
        let (mut children, mut groups) = (Vec::new(), Vec::new());
        for _ in 0..random.below(3) {
            let list = if random.below(2) == 1 { &mut children } else { &mut groups };
            list.push(Self::random(random, levels - 1));
        }
        Self {
            int32: random.number() as i32,
            int64: random.number() as i64,
            uint32: random.number() as u32,
            uint64: random.number(),
            sint32: random.number() as i32,
            sint64: random.number() as i64,
            fixed32: random.number() as u32,
            fixed64: random.number(),
            sfixed32: random.number() as i32,
            sfixed64: random.number() as i64,
            float: random.below(1000) as f32 / 8.0,
            double: random.below(100_000) as f64 / -16.0 - 0.5,
            bool: random.below(2) == 1,
            string: random.text(),
            bytes: random.bytes(300),
            child,
            children,
            group,
            groups,
            packed: random.many(|it| it.number() as i32),
            doubles: random.many(|it| it.below(1000) as f64 / 32.0),
            zigzags: random.many(|it| it.number() as i64),
            bools: random.many(|it| it.below(2) == 1),
            strings: random.many(Random::text),
            unpacked: random.many(Random::number),
            scores: (0..random.below(4)).map(|_| (random.text(), 1 + random.below(1000) as i32)).collect(),
            named: (0..random.below(2))
                .map(|_| (1 + random.next() as u32 / 2, Self::random(random, 0)))
                .collect(),
        }
    }

    /// Writes all nonzero fields, in the order of their numbers.
    pub fn write(&self, it: &mut Message<'_>) {
        macro_rules! scalars {
            ($($number:literal $name:ident)*) => {$(
                if self.$name != Default::default() {
                    it.$name($number, self.$name);
                }
            )*};
        }
        scalars!(1 int32 2 int64 3 uint32 4 uint64 5 sint32 6 sint64 7 fixed32 8 fixed64 9 sfixed32 10 sfixed64);
        scalars!(11 float 12 double 13 bool);
        if !self.string.is_empty() {
            it.string(14, &self.string);
        }
        if !self.bytes.is_empty() {
            it.bytes(15, &self.bytes);
        }
        if let Some(child) = &self.child {
            child.write(&mut it.message(16));
        }
        for child in &self.children {
            child.write(&mut it.message(17));
        }
        it.packed_int32(18, &self.packed);
        it.packed_fixed(19, &self.doubles);
        it.packed_sint64(20, &self.zigzags);
        it.packed_bool(21, &self.bools);
        self.strings.iter().for_each(|text| it.string(22, text));
        if let Some(group) = &self.group {
            group.write(&mut it.group(23));
        }
        for group in &self.groups {
            group.write(&mut it.group(24));
        }
        self.unpacked.iter().for_each(|number| it.uint64(2047, *number));
        for (key, value) in &self.scores {
            let mut entry = it.entry(2048);
            if !key.is_empty() {
                entry.string(1, key);
            }
            entry.int32(2, *value);
        }
        for (key, value) in &self.named {
            let mut entry = it.entry(536_870_911);
            entry.uint32(1, *key);
            // Prost omits a value without fields.
            if *value != Everything::default() {
                value.write(&mut entry.message(2));
            }
        }
    }
}

/// Situ's layout of [`Everything`].
pub enum Fields {}

/// The number of its fields.
pub const COUNT: usize = 27;

impl Layout<COUNT> for Fields {
    fn slot(number: u32, wire: WireType) -> Option<usize> {
        use WireType as W;
        let slot = match number {
            1..=24 => number as usize - 1,
            2047 => 24,
            2048 => 25,
            536_870_911 => 26,
            _ => return None,
        };
        let fits = match number {
            1..=6 | 13 => wire == W::Varint,
            7 | 9 | 11 => wire == W::Fixed32,
            8 | 10 | 12 => wire == W::Fixed64,
            18 | 20 | 21 | 2047 => matches!(wire, W::Varint | W::Bytes),
            23 | 24 => wire == W::GroupStart,
            19 => matches!(wire, W::Fixed64 | W::Bytes),
            _ => wire == W::Bytes,
        };
        fits.then_some(slot)
    }
}

/// An entry of a map: key and value.
enum Entry<K> {
    _Never(K),
}

impl<K: Key> Layout<2> for Entry<K> {
    fn slot(number: u32, wire: WireType) -> Option<usize> {
        match number {
            1 if wire == K::KEY => Some(0),
            2 if wire == K::VALUE => Some(1),
            _ => None,
        }
    }
}

trait Key {
    const KEY: WireType;
    const VALUE: WireType;
}

enum TextToNumber {}
enum NumberToMessage {}

impl Key for TextToNumber {
    const KEY: WireType = WireType::Bytes;
    const VALUE: WireType = WireType::Varint;
}

impl Key for NumberToMessage {
    const KEY: WireType = WireType::Varint;
    const VALUE: WireType = WireType::Bytes;
}

impl Everything {
    /// Reads the whole message with Situ.
    pub fn read(it: &Table<'_, Fields, COUNT>) -> Result<Self, ReadError> {
        fn number<K: Kind>(it: &Table<'_, Fields, COUNT>, slot: usize) -> K::Value {
            it.get::<K>(slot).unwrap_or_default()
        }
        if it.unknown().any(|field| matches!(field.number, 2048 | 536_870_911)) {
            // Prost reads these as entries, so they cannot be compared.
            return Err(ReadError { at: 0, problem: ReadProblem::InvalidTag });
        }
        let mut message = Self {
            int32: number::<Int32>(it, 0),
            int64: number::<Int64>(it, 1),
            uint32: number::<Uint32>(it, 2),
            uint64: number::<Uint64>(it, 3),
            sint32: number::<Sint32>(it, 4),
            sint64: number::<Sint64>(it, 5),
            fixed32: number::<Fixed32>(it, 6),
            fixed64: number::<Fixed64>(it, 7),
            sfixed32: number::<Sfixed32>(it, 8),
            sfixed64: number::<Sfixed64>(it, 9),
            float: number::<Float>(it, 10),
            double: number::<Double>(it, 11),
            bool: number::<Bool>(it, 12),
            string: it.string(13)?.unwrap_or_default().to_owned(),
            bytes: it.bytes(14).unwrap_or_default().to_vec(),
            packed: it.all::<Int32>(17).collect::<Result<_, _>>()?,
            doubles: it.all::<Double>(18).collect::<Result<_, _>>()?,
            zigzags: it.all::<Sint64>(19).collect::<Result<_, _>>()?,
            bools: it.all::<Bool>(20).collect::<Result<_, _>>()?,
            strings: it.all_strings(21).map(|text| text.map(str::to_owned)).collect::<Result<_, _>>()?,
            unpacked: it.all::<Uint64>(24).collect::<Result<_, _>>()?,
            ..Self::default()
        };
        if let Some(child) = it.nested(15)? {
            message.child = Some(Box::new(Self::read(&child.table()?)?));
        }
        for child in it.all_nested(16) {
            message.children.push(Self::read(&child?.table()?)?);
        }
        if let Some(group) = it.group(22)? {
            message.group = Some(Box::new(Self::read(&group.table()?)?));
        }
        for group in it.all_nested(23) {
            message.groups.push(Self::read(&group?.table()?)?);
        }
        for entry in it.all_nested(25) {
            let entry: Table<'_, Entry<TextToNumber>, 2> = entry?.table()?;
            let key = entry.string(0)?.unwrap_or_default().to_owned();
            message.scores.insert(key, entry.get::<Int32>(1).unwrap_or_default());
        }
        for entry in it.all_nested(26) {
            let entry: Table<'_, Entry<NumberToMessage>, 2> = entry?.table()?;
            let value = match entry.nested(1)? {
                Some(value) => Self::read(&value.table()?)?,
                None => Self::default(),
            };
            message.named.insert(entry.get::<Uint32>(0).unwrap_or_default(), value);
        }
        Ok(message)
    }
}
