//! Situ's regions: the character.

use std::hint::black_box;
use std::rc::Rc;
use std::time::Instant;

use situ_region::{Buffer, Full, Mut, Ref, Region, SortedMap, Text, Vector, view};
use situ_region::{region_plain, region_struct};

use super::situ_sets;
use crate::character::{self, Change, HEADROOM, Source, changes, expect_sum, sources};
use crate::character::{sum_f32, sum_item, sum_text};
use crate::suite::{Aligned, MESSAGES, Outcome, Parameters, Received, Suite, sizes, timed};

region_plain! { struct Skill { id: u32, level: u32 } }
region_plain! { struct Item { id: u32, number: u32, uuid: u64, timestamp: u64 } }
region_plain! { struct Position { x: f32, y: f32, z: f32 } }
region_struct! {
    struct Equip: EquipRef, EquipMut { base: Item, level: u32, attributes: Vector<f32> }
}
region_struct! {
    struct Character: CharacterRef, CharacterMut {
        id: u64,
        name: Text,
        level: u32,
        healthpoint: f32,
        manapoint: f32,
        speed: f32,
        pos: Position,
        items: SortedMap<u64, Item>,
        path: Vector<Position>,
        attributes: Vector<f32>,
        equips: Vector<Equip>,
        skills: Vector<Skill>,
    }
}
region_struct! {
    struct Numbers: NumbersRef, NumbersMut { values: Vector<u32> }
}

fn item(from: &character::Item) -> Item {
    Item { id: from.id, number: from.number, uuid: from.uuid, timestamp: from.timestamp }
}

fn position([x, y, z]: [f32; 3]) -> Position {
    Position { x, y, z }
}

fn set_equip(mut equip: Mut<'_, Equip>, from: &character::Equip) -> Result<(), Full> {
    *equip.base() = item(&from.base);
    *equip.level() = from.level;
    equip.attributes().set(&from.attributes[..])
}

fn fill(mut c: Mut<'_, Character>, s: &Source, reserve: bool) -> Result<(), Full> {
    *c.id() = s.id;
    c.name().set(s.name.as_str())?;
    *c.level() = s.level;
    *c.healthpoint() = s.healthpoint;
    *c.manapoint() = s.manapoint;
    *c.speed() = s.speed;
    *c.pos() = position(s.pos);
    if reserve {
        c.items().reserve(s.items.len() + HEADROOM)?;
        c.path().reserve(s.path.len() + HEADROOM)?;
        c.attributes().reserve(s.attributes.len() + HEADROOM)?;
        c.equips().reserve(s.equips.len())?;
        c.skills().reserve(s.skills.len())?;
    }
    let mut items = c.items();
    for (key, value) in &s.items {
        items.insert(*key, item(value))?;
    }
    let mut path = c.path();
    for each in &s.path {
        path.push(position(*each))?;
    }
    c.attributes().set(&s.attributes[..])?;
    let mut equips = c.equips();
    for each in &s.equips {
        set_equip(equips.push_default()?, each)?;
    }
    let mut skills = c.skills();
    for &(id, level) in &s.skills {
        skills.push(Skill { id, level })?;
    }
    Ok(())
}

fn read(c: Ref<'_, Character>) -> u64 {
    let mut total = c.id().wrapping_add(sum_text(c.name().as_str())).wrapping_add(u64::from(*c.level()));
    let mut add = |part: u64| total = total.wrapping_add(part);
    let of_position = |p: &Position| sum_f32(&[p.x, p.y, p.z]);
    let of_item = |i: &Item| sum_item(i.id, i.number, i.uuid, i.timestamp);
    add(sum_f32(&[*c.healthpoint(), *c.manapoint(), *c.speed()]));
    add(of_position(&c.pos()));
    for (key, value) in c.items().iter() {
        add(key);
        add(of_item(&value));
    }
    c.path().as_slice().iter().for_each(|each| add(of_position(each)));
    add(sum_f32(c.attributes().as_slice()));
    for each in c.equips().iter() {
        add(of_item(&each.base()));
        add(u64::from(*each.level()));
        add(sum_f32(each.attributes().as_slice()));
    }
    c.skills().as_slice().iter().for_each(|each| add(u64::from(each.id) + u64::from(each.level)));
    total
}

/// Makes the compiler assume that all memory was used and may have changed, like `keep` in C++. A black box
/// around a handle would also hide that the handle is the same one, which has no counterpart there.
fn keep() {
    black_box(());
}

fn change(mut c: Mut<'_, Character>, by: &Change) -> Result<(), Full> {
    *c.level() = c.level().wrapping_add(1);
    *c.healthpoint() -= 1.0;
    *c.manapoint() += 1.0;
    *c.speed() -= 1.0;
    let mut pos = c.pos();
    pos.x += 1.0;
    pos.y -= 1.0;
    pos.z += 1.0;
    let mut equips = c.equips();
    for (at, each) in by.equips.iter().enumerate() {
        if let Some(equip) = equips.get_mut(at) {
            set_equip(equip, each)?;
        }
    }
    let mut path = c.path();
    for each in &by.path {
        path.push(position(*each))?;
        keep();
        path.pop();
    }
    let mut attributes = c.attributes();
    attributes.push(by.attribute)?;
    keep();
    attributes.pop();
    let mut items = c.items();
    items.insert(by.item.0, item(&by.item.1))?;
    keep();
    items.remove(by.item.0);
    Ok(())
}

fn made(i: usize) -> Result<Region<Character>, Full> {
    let mut r = Region::<Character>::new();
    fill(r.root_mut(), &sources()[i], true)?;
    Ok(r)
}

/// The growth of a fresh process's resident memory while it creates 10,000 characters, in bytes.
fn memory(parameters: &Parameters) -> Outcome<Vec<f64>> {
    if parameters.text("growth") != "200" || parameters.text("preallocate") != "0" {
        return Ok(Vec::new());
    }
    let resident = || -> Outcome<f64> {
        let text = std::fs::read_to_string("/proc/self/statm")?;
        Ok(text.split(' ').nth(1).unwrap_or("0").parse::<f64>()? * 4096.0)
    };
    let before = resident()?;
    let units = (0..10_000)
        .map(|i| {
            let mut r = Region::<Character>::new();
            fill(r.root_mut(), &sources()[i % MESSAGES], false)?;
            Ok(r)
        })
        .collect::<Result<Vec<_>, Full>>()?;
    black_box(&units);
    Ok(vec![resident()? - before])
}

/// One push within the capacity, in a vector of 1024 numbers that is cleared in between.
fn push_back(parameters: &Parameters) -> Outcome<Vec<f64>> {
    let mut region = Region::<Numbers>::new();
    let mut numbers = region.root_mut();
    numbers.values().reserve(1024)?;
    (0..parameters.rounds())
        .map(|_| {
            let mut values = numbers.values();
            values.clear();
            let begin = Instant::now();
            for i in 0..1024 {
                values.push(i)?;
                keep();
            }
            Ok(begin.elapsed().as_nanos() as f64 / 1024.0)
        })
        .collect()
}

/// All operations of the system.
pub fn suite() -> Outcome<Suite> {
    let mut suite = Suite::default();
    let regions = (0..MESSAGES).map(made).collect::<Result<Vec<_>, Full>>()?;
    for (i, each) in regions.iter().enumerate() {
        expect_sum(i, read(each.root()))?;
    }
    let canonical: Vec<Vec<u8>> = regions.iter().map(Region::canonical).collect();
    suite.add("sizes", move |_| sizes(canonical.iter().map(Vec::as_slice)));
    let received: Vec<Aligned> = regions.iter().map(|each| Aligned::new(each.bytes())).collect();
    suite.add("build", |parameters| {
        timed(
            parameters,
            &mut (),
            |()| (),
            |(), i| {
                black_box(made(i)?.bytes());
                Ok(())
            },
        )
    });
    let regions = Rc::new(regions);
    let of = Rc::clone(&regions);
    let native_read = move |parameters: &Parameters| {
        timed(
            parameters,
            &mut (),
            |()| (),
            |(), i| {
                black_box(read(of[i].root()));
                Ok(())
            },
        )
    };
    suite.add("read", native_read.clone());
    suite.add("native_read", native_read);
    let mut of = (0..MESSAGES).map(made).collect::<Result<Vec<_>, Full>>()?;
    suite.add("native_write", move |parameters| {
        timed(
            parameters,
            &mut of,
            |_| (),
            |of, i| {
                change(of[i].root_mut(), &changes()[i])?;
                black_box(of[i].bytes());
                Ok(())
            },
        )
    });
    suite.add("validate", move |parameters| {
        timed(
            parameters,
            &mut (),
            |()| (),
            |(), i| {
                black_box(view::<Character>(received[i].as_ref())?);
                Ok(())
            },
        )
    });
    for (name, and_change) in [("mutate_send", true), ("decode", false)] {
        let mut of = Received::new(regions.iter().map(|each| each.bytes().to_vec()).collect());
        suite.add(name, move |parameters| {
            timed(parameters, &mut of, Received::restore, |of, i| {
                let mut r = Region::<Character, Buffer>::adopt_in_place(of.buffer(i))?;
                if and_change {
                    change(r.root_mut(), &changes()[i])?;
                }
                black_box(r.bytes());
                Ok(())
            })
        });
    }
    suite.add("encode", move |parameters| {
        timed(
            parameters,
            &mut (),
            |()| (),
            |(), i| {
                black_box(regions[i].bytes());
                Ok(())
            },
        )
    });
    suite.add("memory", memory);
    suite.add("push_back", push_back);
    situ_sets::add(&mut suite)?;
    Ok(suite)
}
