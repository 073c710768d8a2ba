//! A message with a field of every type, declared for prost, filled at random, and written by Situ in prost's order.

use std::collections::{BTreeMap, HashMap};

use situ_wire::protobuf::Message;

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

    /// A number of any magnitude.
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
    #[prost(uint64, repeated, packed = "false", tag = "2047")]
    pub unpacked: Vec<u64>,
    #[prost(btree_map = "string, int32", tag = "2048")]
    pub scores: BTreeMap<String, i32>,
    #[prost(map = "uint32, message", tag = "536870911")]
    pub named: HashMap<u32, Everything>,
}

impl Everything {
    pub fn random(random: &mut Random, levels: usize) -> Self {
        if levels == 0 {
            return Self { int64: random.number() as i64, string: random.text(), ..Self::default() };
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
            child: (random.below(2) == 1).then(|| Box::new(Self::random(random, levels - 1))),
            children: (0..random.below(3)).map(|_| Self::random(random, levels - 1)).collect(),
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

    /// Writes all fields that are not zero, in the order of their numbers.
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
            // Prost leaves a value out that has no fields.
            if *value != Everything::default() {
                value.write(&mut entry.message(2));
            }
        }
    }
}
