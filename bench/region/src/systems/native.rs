//! The character in Rust's own containers. Other systems decode into it. As the system `std-rust`, it shows
//! the cost of the same work without receiving or sending. `bench/peers/region/standard.cpp` is its
//! counterpart.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::rc::Rc;
use std::time::Instant;

use rkyv::{Archive, Deserialize, Serialize};

use crate::character::{self, Change, HEADROOM, Source, changes, expect_sum, sources};
use crate::character::{sum_f32, sum_item, sum_text};
use crate::suite::{Outcome, Parameters, Suite, timed};

/// An item.
#[derive(Archive, Serialize, Deserialize, Clone, Copy)]
pub struct Item {
    pub id: u32,
    pub number: u32,
    pub uuid: u64,
    pub timestamp: u64,
}

/// A skill.
#[derive(Archive, Serialize, Deserialize, Clone, Copy)]
pub struct Skill {
    pub id: u32,
    pub level: u32,
}

/// An equip.
#[derive(Archive, Serialize, Deserialize, Clone)]
pub struct Equip {
    pub base: Item,
    pub level: u32,
    pub attributes: Vec<f32>,
}

/// A character.
#[derive(Archive, Serialize, Deserialize, Clone)]
pub struct Character {
    pub id: u64,
    pub name: String,
    pub level: u32,
    pub healthpoint: f32,
    pub manapoint: f32,
    pub speed: f32,
    pub pos: [f32; 3],
    pub items: BTreeMap<u64, Item>,
    pub path: Vec<[f32; 3]>,
    pub attributes: Vec<f32>,
    pub equips: Vec<Equip>,
    pub skills: Vec<Skill>,
}

/// An item from its plain values.
pub fn item(from: &character::Item) -> Item {
    Item { id: from.id, number: from.number, uuid: from.uuid, timestamp: from.timestamp }
}

fn with_room<T: Copy>(from: &[T], more: usize) -> Vec<T> {
    let mut made = Vec::with_capacity(from.len() + more);
    made.extend_from_slice(from);
    made
}

/// The character of a source, with room for more elements.
pub fn made(s: &Source) -> Character {
    Character {
        id: s.id,
        name: s.name.clone(),
        level: s.level,
        healthpoint: s.healthpoint,
        manapoint: s.manapoint,
        speed: s.speed,
        pos: s.pos,
        items: s.items.iter().map(|(key, value)| (*key, item(value))).collect(),
        path: with_room(&s.path, HEADROOM),
        attributes: with_room(&s.attributes, HEADROOM),
        equips: s
            .equips
            .iter()
            .map(|e| Equip { base: item(&e.base), level: e.level, attributes: e.attributes.to_vec() })
            .collect(),
        skills: s.skills.iter().map(|&(id, level)| Skill { id, level }).collect(),
    }
}

/// The sum of all fields.
pub fn read(c: &Character) -> u64 {
    let mut total = c.id.wrapping_add(sum_text(&c.name)).wrapping_add(u64::from(c.level));
    let mut add = |part: u64| total = total.wrapping_add(part);
    let of_item = |i: &Item| sum_item(i.id, i.number, i.uuid, i.timestamp);
    add(sum_f32(&[c.healthpoint, c.manapoint, c.speed]));
    add(sum_f32(&c.pos));
    for (key, value) in &c.items {
        add(*key);
        add(of_item(value));
    }
    c.path.iter().for_each(|each| add(sum_f32(each)));
    add(sum_f32(&c.attributes));
    for each in &c.equips {
        add(of_item(&each.base));
        add(u64::from(each.level));
        add(sum_f32(&each.attributes));
    }
    c.skills.iter().for_each(|each| add(u64::from(each.id) + u64::from(each.level)));
    total
}

/// Makes the compiler assume that a value is used and may have changed, like `keep` in C++.
fn keep<T>(value: &T) {
    black_box(value);
}

/// The talk's write loop.
pub fn change(c: &mut Character, by: &Change) {
    c.level = c.level.wrapping_add(1);
    c.healthpoint -= 1.0;
    c.manapoint += 1.0;
    c.speed -= 1.0;
    c.pos[0] += 1.0;
    c.pos[1] -= 1.0;
    c.pos[2] += 1.0;
    for (equip, from) in c.equips.iter_mut().zip(&by.equips) {
        equip.base = item(&from.base);
        equip.level = from.level;
        equip.attributes.clear();
        equip.attributes.extend_from_slice(&from.attributes);
    }
    for each in &by.path {
        c.path.push(*each);
        keep(&c.path);
        c.path.pop();
    }
    c.attributes.push(by.attribute);
    keep(&c.attributes);
    c.attributes.pop();
    c.items.insert(by.item.0, item(&by.item.1));
    keep(&c.items);
    c.items.remove(&by.item.0);
}

/// One push within the capacity, in a vector of 1024 numbers that is cleared in between.
fn push_back(parameters: &Parameters) -> Outcome<Vec<f64>> {
    let mut numbers = Vec::<u32>::with_capacity(1024);
    (0..parameters.rounds())
        .map(|_| {
            numbers.clear();
            let begin = Instant::now();
            for i in 0..1024 {
                numbers.push(i);
                keep(&numbers);
            }
            Ok(begin.elapsed().as_nanos() as f64 / 1024.0)
        })
        .collect()
}

/// All operations of the system.
pub fn suite() -> Outcome<Suite> {
    let mut suite = Suite::default();
    let characters: Vec<Character> = sources().iter().map(made).collect();
    for (i, each) in characters.iter().enumerate() {
        expect_sum(i, read(each))?;
    }
    let characters = Rc::new(characters);
    for name in ["read", "native_read"] {
        let of = Rc::clone(&characters);
        suite.add(name, move |parameters| {
            timed(
                parameters,
                &mut (),
                |()| (),
                |(), i| {
                    black_box(read(&of[i]));
                    Ok(())
                },
            )
        });
    }
    for name in ["mutate_send", "native_write"] {
        let mut of: Vec<Character> = sources().iter().map(made).collect();
        suite.add(name, move |parameters| {
            timed(
                parameters,
                &mut of,
                |_| (),
                |of, i| {
                    change(&mut of[i], &changes()[i]);
                    keep(&of[i]);
                    Ok(())
                },
            )
        });
    }
    suite.add("build", |parameters| {
        timed(
            parameters,
            &mut (),
            |()| (),
            |(), i| {
                keep(&made(&sources()[i]));
                Ok(())
            },
        )
    });
    suite.add("push_back", push_back);
    Ok(suite)
}
