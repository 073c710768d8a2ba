//! Characters of a game and changes to them, prepared before timing: the same values as in
//! `bench/peers/region/data.hpp`.

use std::sync::OnceLock;

use crate::random::Random;
use crate::suite::{MESSAGES, Outcome};

/// The reserved room of a new character: this many more items, path points and attributes.
pub const HEADROOM: usize = 4;

/// A plain item.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Item {
    pub id: u32,
    pub number: u32,
    pub uuid: u64,
    pub timestamp: u64,
}

/// An equip as plain values.
#[derive(Clone, Debug, Default)]
pub struct Equip {
    pub base: Item,
    pub level: u32,
    pub attributes: [f32; 8],
}

/// A character as plain values.
#[derive(Clone, Debug)]
pub struct Source {
    pub id: u64,
    pub name: String,
    pub level: u32,
    pub healthpoint: f32,
    pub manapoint: f32,
    pub speed: f32,
    pub pos: [f32; 3],
    /// In ascending order of the keys, as from another map.
    pub items: Vec<(u64, Item)>,
    pub path: Vec<[f32; 3]>,
    pub attributes: Vec<f32>,
    pub equips: Vec<Equip>,
    pub skills: Vec<(u32, u32)>,
}

/// The changes of one pass of the talk's write loop to a character.
#[derive(Clone, Debug)]
pub struct Change {
    pub equips: [Equip; 4],
    pub path: [[f32; 3]; 8],
    pub attribute: f32,
    /// Its key is in no character.
    pub item: (u64, Item),
}

fn half(random: &mut Random) -> u32 {
    (random.bits() >> 32) as u32
}

fn unit(random: &mut Random) -> f32 {
    (random.bits() >> 40) as f32 / 16_777_216.0
}

fn item(random: &mut Random) -> Item {
    Item { id: half(random), number: half(random), uuid: random.bits(), timestamp: random.bits() }
}

fn position(random: &mut Random) -> [f32; 3] {
    [unit(random), unit(random), unit(random)]
}

fn equip(random: &mut Random) -> Equip {
    let (base, level) = (item(random), half(random));
    Equip { base, level, attributes: std::array::from_fn(|_| unit(random)) }
}

fn source(random: &mut Random) -> Source {
    let id = random.bits();
    let name = (0..8).map(|_| char::from(b'a' + (random.bits() % 26) as u8)).collect();
    let (level, healthpoint, manapoint, speed) = (half(random), unit(random), unit(random), unit(random));
    let pos = position(random);
    let mut key = 0;
    let items = (0..64)
        .map(|_| {
            // Characters have even keys, changes have odd ones.
            key += 2 + random.bits() % (1 << 20) * 2;
            (key, item(random))
        })
        .collect();
    let path = (0..16).map(|_| position(random)).collect();
    let attributes = (0..16).map(|_| unit(random)).collect();
    let equips = (0..8).map(|_| equip(random)).collect();
    let skills = (0..4).map(|_| (half(random), half(random))).collect();
    Source { id, name, level, healthpoint, manapoint, speed, pos, items, path, attributes, equips, skills }
}

/// The characters, one for each message.
pub fn sources() -> &'static [Source] {
    static MADE: OnceLock<Vec<Source>> = OnceLock::new();
    MADE.get_or_init(|| {
        let mut random = Random::new(2024);
        (0..MESSAGES).map(|_| source(&mut random)).collect()
    })
}

/// The changes, one for each message.
pub fn changes() -> &'static [Change] {
    static MADE: OnceLock<Vec<Change>> = OnceLock::new();
    MADE.get_or_init(|| {
        let mut random = Random::new(4202);
        let random = &mut random;
        (0..MESSAGES)
            .map(|_| {
                let equips = std::array::from_fn(|_| equip(random));
                let path = std::array::from_fn(|_| position(random));
                let attribute = unit(random);
                let key = (random.bits() % (1 << 26)) | 1;
                Change { equips, path, attribute, item: (key, item(random)) }
            })
            .collect()
    })
}

/// A part of the sum of all fields.
pub fn sum_f32(values: &[f32]) -> u64 {
    values.iter().map(|value| u64::from(value.to_bits())).sum()
}

/// See [`sum`].
pub fn sum_item(id: u32, number: u32, uuid: u64, timestamp: u64) -> u64 {
    (u64::from(id) + u64::from(number)).wrapping_add(uuid).wrapping_add(timestamp)
}

/// See [`sum`].
pub fn sum_text(text: &str) -> u64 {
    text.len() as u64 + text.bytes().map(u64::from).sum::<u64>()
}

/// The sum of all fields of a character. Reading must return it.
pub fn sum(s: &Source) -> u64 {
    let mut total = s.id.wrapping_add(sum_text(&s.name)).wrapping_add(u64::from(s.level));
    let mut add = |part: u64| total = total.wrapping_add(part);
    add(sum_f32(&[s.healthpoint, s.manapoint, s.speed]));
    add(sum_f32(&s.pos));
    for (key, item) in &s.items {
        add(*key);
        add(sum_item(item.id, item.number, item.uuid, item.timestamp));
    }
    s.path.iter().for_each(|each| add(sum_f32(each)));
    add(sum_f32(&s.attributes));
    for each in &s.equips {
        add(sum_item(each.base.id, each.base.number, each.base.uuid, each.base.timestamp));
        add(u64::from(each.level));
        add(sum_f32(&each.attributes));
    }
    s.skills.iter().for_each(|(id, level)| add(u64::from(*id) + u64::from(*level)));
    total
}

/// Checks that the read values are the written ones.
pub fn expect_sum(i: usize, found: u64) -> Outcome<()> {
    let wanted = sum(&sources()[i]);
    if found == wanted { Ok(()) } else { Err(format!("message {i} adds up to {found}, not {wanted}").into()) }
}
