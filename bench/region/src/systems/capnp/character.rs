//! The character in Cap'n Proto, as in `bench/peers/region/character.capnp`.

use std::hint::black_box;

use capnp::Word;
use capnp::message::{Builder, ReaderOptions, ScratchSpaceHeapAllocator};
use capnp::serialize::{read_message_from_flat_slice, write_message};

use super::character_capnp as cp;
use crate::character::{HEADROOM, sum_f32, sum_item, sum_text};
use crate::suite::{Outcome, Suite};
use crate::systems::characters::{self, Encoder, Reading, Shape};
use crate::systems::native;

type Segment = ScratchSpaceHeapAllocator<'static>;

/// The reused first segment, and the message in one piece.
struct Writer {
    segment: Segment,
    out: Vec<u8>,
}

impl Default for Writer {
    fn default() -> Self {
        // The segment lives until the program ends.
        let words = Word::allocate_zeroed_vec(1024).leak();
        let segment = ScratchSpaceHeapAllocator::new(Word::words_to_bytes_mut(words));
        Self { segment, out: Vec::with_capacity(8192) }
    }
}

fn set_item(mut to: cp::item::Builder<'_>, from: &native::Item) {
    to.set_id(from.id);
    to.set_number(from.number);
    to.set_uuid(from.uuid);
    to.set_timestamp(from.timestamp);
}

fn set_floats(mut to: capnp::primitive_list::Builder<'_, f32>, from: &[f32]) {
    for (at, each) in from.iter().enumerate() {
        to.set(at as u32, *each);
    }
}

fn set(mut to: cp::character::Builder<'_>, from: &impl Shape) {
    let head = from.head();
    to.set_id(head.id);
    to.set_name(head.name);
    to.set_level(head.level);
    to.set_healthpoint(head.healthpoint);
    to.set_manapoint(head.manapoint);
    to.set_speed(head.speed);
    let mut pos = to.reborrow().get_pos();
    pos.set_x(head.pos[0]);
    pos.set_y(head.pos[1]);
    pos.set_z(head.pos[2]);
    let mut items = to.reborrow().init_items(from.items().len() as u32);
    for (at, (key, item)) in from.items().enumerate() {
        let mut entry = items.reborrow().get(at as u32);
        entry.set_key(key);
        entry.set_id(item.id);
        entry.set_number(item.number);
        entry.set_uuid(item.uuid);
        entry.set_timestamp(item.timestamp);
    }
    let mut path = to.reborrow().init_path(from.path().len() as u32);
    for (at, each) in from.path().iter().enumerate() {
        let mut position = path.reborrow().get(at as u32);
        position.set_x(each[0]);
        position.set_y(each[1]);
        position.set_z(each[2]);
    }
    set_floats(to.reborrow().init_attributes(from.attributes().len() as u32), from.attributes());
    let mut equips = to.reborrow().init_equips(from.equips().len() as u32);
    for (at, (item, level, attributes)) in from.equips().enumerate() {
        let mut equip = equips.reborrow().get(at as u32);
        set_item(equip.reborrow().init_base(), &item);
        equip.set_level(level);
        set_floats(equip.init_attributes(attributes.len() as u32), attributes);
    }
    let mut skills = to.init_skills(from.skills().len() as u32);
    for (at, (id, level)) in from.skills().enumerate() {
        let mut skill = skills.reborrow().get(at as u32);
        skill.set_id(id);
        skill.set_level(level);
    }
}

impl Writer {
    fn write<R>(
        &mut self,
        from: &impl Shape,
        then: impl FnOnce(&Builder<&mut Segment>, &mut Vec<u8>) -> R,
    ) -> R {
        let mut message = Builder::new(&mut self.segment);
        set(message.init_root(), from);
        then(&message, &mut self.out)
    }
}

impl Encoder for Writer {
    fn build(&mut self, from: &impl Shape) -> Outcome<()> {
        // The segments without the copy that joins them.
        self.write(from, |message, _| {
            black_box(message.get_segments_for_output().len());
        });
        Ok(())
    }
    fn encode(&mut self, from: &impl Shape) -> Outcome<&[u8]> {
        self.write(from, |message, out| {
            out.clear();
            write_message(out, message)
        })?;
        Ok(&self.out)
    }
}

fn item_of(from: cp::item::Reader<'_>) -> native::Item {
    native::Item {
        id: from.get_id(),
        number: from.get_number(),
        uuid: from.get_uuid(),
        timestamp: from.get_timestamp(),
    }
}

fn entry_of(from: cp::entry::Reader<'_>) -> (u64, native::Item) {
    let item = native::Item {
        id: from.get_id(),
        number: from.get_number(),
        uuid: from.get_uuid(),
        timestamp: from.get_timestamp(),
    };
    (from.get_key(), item)
}

fn position_of(from: cp::position::Reader<'_>) -> [f32; 3] {
    [from.get_x(), from.get_y(), from.get_z()]
}

fn sum(c: cp::character::Reader<'_>) -> Outcome<u64> {
    let name = c.get_name()?.to_str()?;
    let mut total = c.get_id().wrapping_add(sum_text(name)).wrapping_add(u64::from(c.get_level()));
    let mut add = |part: u64| total = total.wrapping_add(part);
    let of_item = |i: native::Item| sum_item(i.id, i.number, i.uuid, i.timestamp);
    add(sum_f32(&[c.get_healthpoint(), c.get_manapoint(), c.get_speed()]));
    let pos = c.get_pos();
    add(sum_f32(&[pos.get_x(), pos.get_y(), pos.get_z()]));
    for each in c.get_items()?.iter() {
        let (key, item) = entry_of(each);
        add(key);
        add(of_item(item));
    }
    c.get_path()?.iter().for_each(|each| add(sum_f32(&position_of(each))));
    c.get_attributes()?.iter().for_each(|each| add(u64::from(each.to_bits())));
    for each in c.get_equips()?.iter() {
        add(of_item(item_of(each.get_base()?)));
        add(u64::from(each.get_level()));
        each.get_attributes()?.iter().for_each(|each| add(u64::from(each.to_bits())));
    }
    c.get_skills()?.iter().for_each(|each| add(u64::from(each.get_id()) + u64::from(each.get_level())));
    Ok(total)
}

fn with_room<T>(from: impl ExactSizeIterator<Item = T>, more: usize) -> Vec<T> {
    let mut made = Vec::with_capacity(from.len() + more);
    made.extend(from);
    made
}

fn native_of(c: cp::character::Reader<'_>) -> Outcome<native::Character> {
    let pos = c.get_pos();
    let equip = |each: cp::equip::Reader<'_>| -> Outcome<native::Equip> {
        Ok(native::Equip {
            base: item_of(each.get_base()?),
            level: each.get_level(),
            attributes: each.get_attributes()?.iter().collect(),
        })
    };
    Ok(native::Character {
        id: c.get_id(),
        name: c.get_name()?.to_string()?,
        level: c.get_level(),
        healthpoint: c.get_healthpoint(),
        manapoint: c.get_manapoint(),
        speed: c.get_speed(),
        pos: [pos.get_x(), pos.get_y(), pos.get_z()],
        items: c.get_items()?.iter().map(entry_of).collect(),
        path: with_room(c.get_path()?.iter().map(position_of), HEADROOM),
        attributes: with_room(c.get_attributes()?.iter(), HEADROOM),
        equips: c.get_equips()?.iter().map(equip).collect::<Outcome<_>>()?,
        skills: c
            .get_skills()?
            .iter()
            .map(|each| native::Skill { id: each.get_id(), level: each.get_level() })
            .collect(),
    })
}

/// Adds the measurements of characters.
pub fn add(suite: &mut Suite) -> Outcome<()> {
    fn with_root<R>(bytes: &[u8], then: fn(cp::character::Reader<'_>) -> Outcome<R>) -> Outcome<R> {
        let message = read_message_from_flat_slice(&mut &bytes[..], ReaderOptions::new())?;
        then(message.get_root()?)
    }
    characters::add::<Writer>(
        suite,
        Reading {
            read: |bytes| with_root(bytes, sum),
            validate: None,
            decode: |bytes| with_root(bytes, native_of),
        },
    )
}
