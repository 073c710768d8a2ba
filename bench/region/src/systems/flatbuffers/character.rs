//! The character in FlatBuffers, as in `bench/peers/region/character.fbs`.

use std::hint::black_box;

use flatbuffers::{
    FlatBufferBuilder, Follow, ForwardsUOffset, InvalidFlatbuffer, Table, Vector, Verifiable, Verifier,
    WIPOffset,
};

use super::{Builder, Bytes, put};
use crate::character::{sum_f32, sum_item, sum_text};
use crate::suite::{Outcome, Suite};
use crate::systems::characters::{self, Encoder, Head, Reading, Shape};
use crate::systems::native;

type Skill = Bytes<8, 4>;
type Item = Bytes<24, 8>;
type Entry = Bytes<32, 8>;
type Position = Bytes<12, 4>;

table!(Equip<'a> { base: 4 Item, level: 6 u32, attributes: 8 ForwardsUOffset<Vector<'a, f32>> });
table!(Character<'a> {
    id: 4 u64, name: 6 ForwardsUOffset<&'a str>, level: 8 u32, healthpoint: 10 f32, manapoint: 12 f32,
    speed: 14 f32, pos: 16 Position, items: 18 ForwardsUOffset<Vector<'a, Entry>>,
    path: 20 ForwardsUOffset<Vector<'a, Position>>, attributes: 22 ForwardsUOffset<Vector<'a, f32>>,
    equips: 24 ForwardsUOffset<Vector<'a, ForwardsUOffset<Equip<'a>>>>,
    skills: 26 ForwardsUOffset<Vector<'a, Skill>>,
});

fn put_item<const SIZE: usize>(to: &mut (Bytes<SIZE, 8>, usize), from: &native::Item) {
    put(to, from.id.to_le_bytes());
    put(to, from.number.to_le_bytes());
    put(to, from.uuid.to_le_bytes());
    put(to, from.timestamp.to_le_bytes());
}

fn position(from: [f32; 3]) -> Position {
    let mut made = Position::new();
    from.into_iter().for_each(|each| put(&mut made, each.to_le_bytes()));
    made.0
}

/// A builder, and the tables of equips before they become a vector.
struct Writer {
    builder: Builder,
    equips: Vec<WIPOffset<Equip<'static>>>,
}

impl Default for Writer {
    fn default() -> Self {
        Self { builder: FlatBufferBuilder::with_capacity(8192), equips: Vec::new() }
    }
}

impl Encoder for Writer {
    fn build(&mut self, from: &impl Shape) -> Outcome<()> {
        black_box(self.encode(from)?);
        Ok(())
    }
    fn encode(&mut self, from: &impl Shape) -> Outcome<&[u8]> {
        let b = &mut self.builder;
        b.reset();
        self.equips.clear();
        for (item, level, attributes) in from.equips() {
            let mut base = Item::new();
            put_item(&mut base, &item);
            let attributes = b.create_vector(attributes);
            self.equips.push(write_table!(b, 4 base.0, 8 attributes, 6 level));
        }
        let equips = b.create_vector(&self.equips);
        let items = b.create_vector_from_iter(from.items().map(|(key, item)| {
            let mut entry = Entry::new();
            put(&mut entry, key.to_le_bytes());
            put_item(&mut entry, &item);
            entry.0
        }));
        let path = b.create_vector_from_iter(from.path().iter().map(|each| position(*each)));
        let attributes = b.create_vector(from.attributes());
        let skills = b.create_vector_from_iter(from.skills().map(|(id, level)| {
            let mut skill = Skill::new();
            put(&mut skill, id.to_le_bytes());
            put(&mut skill, level.to_le_bytes());
            skill.0
        }));
        let Head { id, name, level, healthpoint, manapoint, speed, pos } = from.head();
        let name = b.create_string(name);
        let root: WIPOffset<Character<'static>> = write_table!(
            b, 4 id, 26 skills, 24 equips, 22 attributes, 20 path, 18 items, 16 position(pos), 14 speed, 12 manapoint,
            10 healthpoint, 8 level, 6 name
        );
        b.finish_minimal(root);
        Ok(b.finished_data())
    }
}

fn u32_of<const SIZE: usize, const ALIGN: usize>(from: &Bytes<SIZE, ALIGN>, at: usize) -> u32 {
    u32::from_le_bytes([from.0[at], from.0[at + 1], from.0[at + 2], from.0[at + 3]])
}

fn u64_of<const SIZE: usize, const ALIGN: usize>(from: &Bytes<SIZE, ALIGN>, at: usize) -> u64 {
    u64::from(u32_of(from, at)) | u64::from(u32_of(from, at + 4)) << 32
}

fn item_of<const SIZE: usize>(from: &Bytes<SIZE, 8>, at: usize) -> native::Item {
    native::Item {
        id: u32_of(from, at),
        number: u32_of(from, at + 4),
        uuid: u64_of(from, at + 8),
        timestamp: u64_of(from, at + 16),
    }
}

fn position_of(from: &Position) -> [f32; 3] {
    [from.f32_at(0), from.f32_at(4), from.f32_at(8)]
}

fn sum(c: Character<'_>) -> Option<u64> {
    let mut total = c.id()?.wrapping_add(sum_text(c.name()?)).wrapping_add(u64::from(c.level()?));
    let mut add = |part: u64| total = total.wrapping_add(part);
    let of_item = |i: native::Item| sum_item(i.id, i.number, i.uuid, i.timestamp);
    add(sum_f32(&[c.healthpoint()?, c.manapoint()?, c.speed()?]));
    add(sum_f32(&position_of(c.pos()?)));
    for each in c.items()? {
        add(u64_of(each, 0));
        add(of_item(item_of(each, 8)));
    }
    c.path()?.iter().for_each(|each| add(sum_f32(&position_of(each))));
    c.attributes()?.iter().for_each(|each| add(u64::from(each.to_bits())));
    for each in c.equips()? {
        add(of_item(item_of(each.base()?, 0)));
        add(u64::from(each.level()?));
        each.attributes()?.iter().for_each(|each| add(u64::from(each.to_bits())));
    }
    c.skills()?.iter().for_each(|each| add(u64::from(u32_of(each, 0)) + u64::from(u32_of(each, 4))));
    Some(total)
}

fn with_room<T>(from: impl ExactSizeIterator<Item = T>, more: usize) -> Vec<T> {
    let mut made = Vec::with_capacity(from.len() + more);
    made.extend(from);
    made
}

fn native_of(c: Character<'_>) -> Option<native::Character> {
    Some(native::Character {
        id: c.id()?,
        name: c.name()?.to_owned(),
        level: c.level()?,
        healthpoint: c.healthpoint()?,
        manapoint: c.manapoint()?,
        speed: c.speed()?,
        pos: position_of(c.pos()?),
        items: c.items()?.iter().map(|each| (u64_of(each, 0), item_of(each, 8))).collect(),
        path: with_room(c.path()?.iter().map(position_of), crate::character::HEADROOM),
        attributes: with_room(c.attributes()?.iter(), crate::character::HEADROOM),
        equips: c
            .equips()?
            .iter()
            .map(|each| {
                Some(native::Equip {
                    base: item_of(each.base()?, 0),
                    level: each.level()?,
                    attributes: each.attributes()?.iter().collect(),
                })
            })
            .collect::<Option<_>>()?,
        skills: c
            .skills()?
            .iter()
            .map(|each| native::Skill { id: u32_of(each, 0), level: u32_of(each, 4) })
            .collect(),
    })
}

/// Adds the measurements of characters.
pub fn add(suite: &mut Suite) -> Outcome<()> {
    characters::add::<Writer>(
        suite,
        Reading {
            read: |bytes| Ok(sum(unchecked!(Character, bytes)).ok_or("a member is missing")?),
            validate: Some(|bytes| {
                black_box(flatbuffers::root::<Character<'_>>(bytes)?.table.loc());
                Ok(())
            }),
            decode: |bytes| {
                Ok(native_of(flatbuffers::root::<Character<'_>>(bytes)?).ok_or("a member is missing")?)
            },
        },
    )
}
